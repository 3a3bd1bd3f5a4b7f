"""Print the conda recipe of a release: its version and checksum are those of the sdist, which is at an address.

python tools/conda_recipe.py dist/enmesh-1.0.0.tar.gz ADDRESS > recipe.yaml
"""

import hashlib
import re
import sys
from pathlib import Path

RECIPE = Path(__file__).parents[1] / "conda" / "recipe.yaml"


def filled(sdist: Path, address: str) -> str:
    """Return the recipe of a release."""
    version = re.fullmatch(r"enmesh-(.+)\.tar\.gz", sdist.name)
    if version is None:
        raise SystemExit(f"{sdist.name} is no sdist of enmesh; build one: python -m build --sdist")
    text = RECIPE.read_text(encoding="utf-8")
    text = re.sub(r"^#.*\n", "", text, flags=re.M)
    text = re.sub(r"url: .*", lambda _: f"url: {address}", text)
    text = text.replace('version: "0"', f'version: "{version[1]}"')
    return text.replace("0" * 64, hashlib.sha256(sdist.read_bytes()).hexdigest())


if __name__ == "__main__":
    print(filled(Path(sys.argv[1]), sys.argv[2]), end="")
