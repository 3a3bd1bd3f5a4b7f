"""Print the conda recipe of a release: version and checksum of the sdist, its address, and the homepage of the project.

python tools/conda_recipe.py dist/enmesh-1.0.0.tar.gz ADDRESS > recipe.yaml
"""

import hashlib
import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
RECIPE = ROOT / "conda" / "recipe.yaml"


def filled(sdist: Path, address: str) -> str:
    """Return the recipe of a release."""
    version = re.fullmatch(r"enmesh-(.+)\.tar\.gz", sdist.name)
    if version is None:
        raise SystemExit(f"{sdist.name} is no sdist of enmesh; build one: python -m build --sdist")
    text = RECIPE.read_text(encoding="utf-8")
    text = re.sub(r"^#.*\n", "", text, flags=re.M)
    urls = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["urls"]
    text = re.sub(r"url: .*", lambda _: f"url: {address}", text)
    text = re.sub(r"homepage: .*", lambda _: f"homepage: {urls['Homepage']}", text)
    text = text.replace('version: "0"', f'version: "{version[1]}"')
    return text.replace("0" * 64, hashlib.sha256(sdist.read_bytes()).hexdigest())


if __name__ == "__main__":
    print(filled(Path(sys.argv[1]), sys.argv[2]), end="")
