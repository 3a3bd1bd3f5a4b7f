"""What commands print: tables that are coloured on a terminal and plain elsewhere, or strict JSON."""

import json
import math
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from enmesh.options import plain

if TYPE_CHECKING:
    from enmesh.inference.network import Network


def table(columns: Sequence[str], rows: Iterable[Sequence[Any]], title: str | None = None) -> None:
    """Print a table; numbers are aligned to the right."""
    rows = [[_cell(value) for value in row] for row in rows]
    right = [all(_is_number(row[i]) for row in rows) for i in range(len(columns))]
    if sys.stdout.isatty():
        _print_rich(columns, rows, right, title)
        return
    if title:
        print(title)
    widths = [max(len(cell) for cell in column) for column in zip(columns, *rows)]
    for row in [columns, *rows]:
        cells = [
            cell.rjust(width) if number else cell.ljust(width)
            for cell, width, number in zip(row, widths, right)
        ]
        print("  ".join(cells).rstrip())


def _print_rich(
    columns: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[bool], title: str | None
) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    view = Table(title=title, title_justify="left", header_style="bold")
    for name, number in zip(columns, right):
        view.add_column(name, justify="right" if number else "left")
    for row in rows:
        view.add_row(*map(Text, row))
    Console().print(view)


def _cell(value: Any) -> str:
    if isinstance(value, float):
        return "" if math.isnan(value) else f"{value:.4g}"
    return str(value)


def _is_number(text: str) -> bool:
    try:
        float(text or "0")
    except ValueError:
        return False
    return True


def as_json(data: Any) -> None:
    """Print data as strict JSON: what is not a finite number becomes null."""
    print(json.dumps(plain(data), indent=1, allow_nan=False))


def embedding(value: Any, names: Sequence[str]) -> str:
    """Say an embedding as the options that give it; one number where all nodes share it."""
    parts = []
    for field, numbers in value.per_node(tuple(names)).items():
        if field != "lag" or set(numbers) != {1}:
            each = ",".join(f"{name}={number}" for name, number in zip(names, numbers))
            parts.append(f"--{field} {numbers[0] if len(set(numbers)) == 1 else each}")
    return " ".join(parts)


def network(
    found: "Network", files: Sequence[Path] = (), truth: Mapping[str, Sequence[str]] | None = None
) -> None:
    """Print the links of a network, how good it is, what was chosen and where the files are."""
    from enmesh.draw.report.words import headline

    edges = found.edges
    columns = ["source", "target", "TE (nats)", "p", "q", "lag"]
    lags = [", ".join(str(lag) for lag in found) for found in edges["lags"]]
    rows = [[*row[:5], said] for row, said in zip(edges.itertuples(index=False), lags)]
    if edges["stability"].notna().any():
        columns.append("stability")
        rows = [[*row, share] for row, share in zip(rows, edges["stability"])]
    if truth is not None:
        columns.append("in truth")
        for row in rows:
            row.append("yes" if row[0] in truth[row[1]] else "no")
    print(headline(found))
    if rows:
        table(columns, rows)
    if truth is not None:
        print(_against(found, truth))
    print(verdict(found))
    for what, value, reason in found.choices:
        print(f"chosen {what}: {value} ({reason})")
    if files:
        print(f"files in {files[0].parent}: {', '.join(file.name for file in files)}")


def verdict(found: "Network") -> str:
    """Say in one sentence whether the network is the best there is, and what acyclicity cost."""
    if found.optimal:
        said = f"Proven optimal: score {found.score:.6g}"
    elif math.isfinite(found.bound):
        said = (
            f"Best found: score {found.score:.6g}, proven to be at most {found.bound - found.score:.3g} short"
        )
    else:
        said = f"Best found: score {found.score:.6g}, without proof"
    if not found.options.get("acyclic", True):
        return f"{said}; cycles allowed."
    if not found.removed:
        return f"{said}; acyclicity cost nothing." if found.gap == 0 else f"{said}."
    listed = ", ".join(f"{source}>{target}" for source, target in found.removed)
    return f"{said}; acyclicity costs {found.gap:.3g} and removed {listed}."


def _against(found: "Network", truth: Mapping[str, Sequence[str]]) -> str:
    true = {(source, target) for target, sources in truth.items() for source in sources}
    mine = {(source, target) for target, sources in found.parents.items() for source in sources}
    missed = ", ".join(f"{s}>{t}" for s, t in sorted(true - mine)) or "none"
    extra = ", ".join(f"{s}>{t}" for s, t in sorted(mine - true)) or "none"
    return f"Truth has {len(true)} links; {len(true & mine)} found, missed: {missed}, false: {extra}."


def network_json(found: "Network", files: Sequence[Path] = ()) -> dict[str, Any]:
    """Return what `infer --json` prints."""
    keep = ("names", "parents", "score", "optimal", "bound", "gap", "removed", "options", "provenance")
    return {
        **{name: getattr(found, name) for name in keep},
        "edges": found.edges.to_dict("records"),
        "choices": [dict(zip(("what", "value", "reason"), choice)) for choice in found.choices],
        "warnings": found.warnings,
        "files": [str(file) for file in files],
    }
