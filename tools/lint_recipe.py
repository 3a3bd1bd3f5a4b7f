"""Read a conda recipe as rattler-build does, and hold what it needs against pyproject.toml.

python tools/lint_recipe.py conda/recipe.yaml
"""

import re
import sys
import tomllib
from pathlib import Path

from rattler_build import Stage0Recipe, VariantConfig

PROJECT = Path(__file__).parents[1] / "pyproject.toml"
CONDA = {"matplotlib": "matplotlib-base"}  # called otherwise there


def main(path: str) -> None:
    """Refuse a recipe that cannot be rendered, or that asks for other libraries than the package."""
    text = Path(path).read_text(encoding="utf-8")
    (rendered,) = Stage0Recipe.from_yaml(text).render(VariantConfig())
    needed = tomllib.loads(PROJECT.read_text(encoding="utf-8"))["project"]["dependencies"]
    named = [re.fullmatch(r"([\w-]+)(.*)", one) for one in needed]
    wanted = {f"{CONDA.get(one[1], one[1])} {one[2]}" for one in named if one}
    run = text[text.index("  run:") : text.index("\ntests:")]
    asked = {one for one in re.findall(r"^    - (.+)$", run, re.M) if not one.startswith("python ")}
    if asked != wanted:
        raise SystemExit(f"{path} and {PROJECT.name} differ in {sorted(asked ^ wanted)}")
    print(f"{path}: {rendered.recipe.package.name}, {len(asked)} requirements")


if __name__ == "__main__":
    main(*sys.argv[1:])
