"""Print the lowest versions that pyproject.toml allows, one ``name==version`` a line, as pip reads them.

    python tools/lowest_versions.py test > lowest.txt

Named are the package's own dependencies and those of the extras that are given, through extras that name others.
What has no lower bound (stubs of the type checker) is left out.
"""

import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

PROJECT = Path(__file__).parents[1] / "pyproject.toml"
REQUIREMENT = re.compile(r"(?P<name>[\w.-]+)(?:\[(?P<extras>[\w.,-]+)\])?(?:>=(?P<lowest>[\d.]+))?")


def requirements(project: dict, extras: list[str]) -> Iterator[str]:
    """Yield what the package needs with the given extras, each requirement once."""
    yield from project["dependencies"]
    waiting, seen = list(extras), set()
    while waiting:
        extra = waiting.pop(0)
        if extra in seen:
            continue
        seen.add(extra)
        for requirement in project["optional-dependencies"][extra]:
            named = REQUIREMENT.fullmatch(requirement)
            if named and named["name"] == project["name"]:
                waiting += named["extras"].split(",")
            else:
                yield requirement


def lowest(requirement: str) -> str | None:
    """Return a requirement with its lower bound as its version; None where it has none.

    >>> lowest("dask[distributed]>=2024.1")
    'dask[distributed]==2024.1'
    """
    named = REQUIREMENT.fullmatch(requirement)
    if named is None:
        raise SystemExit(f"cannot read {requirement!r} in {PROJECT.name}; write it as name>=version")
    extras = f"[{named['extras']}]" if named["extras"] else ""
    return f"{named['name']}{extras}=={named['lowest']}" if named["lowest"] else None


def main() -> None:
    """Print the pins."""
    project = tomllib.loads(PROJECT.read_text(encoding="utf-8"))["project"]
    print("\n".join(filter(None, map(lowest, requirements(project, sys.argv[1:])))))


if __name__ == "__main__":
    main()
