"""A network as a folder of results: JSON, edge table, pictures, page and further formats."""

import errno
import json
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from enmesh.data.sources import is_there, shorter, write_whole
from enmesh.data.table import guarded, listed, visible
from enmesh.errors import InputError
from enmesh.network.network import Network
from enmesh.options import plain

FILES = ("network.json", "edges.csv", "network.png", "network.svg", "report.html")


def results_folder(folder: Path) -> Path:
    """Make a folder if it is not there, and see to it that it can be written to."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        reason = "it is a file" if error.errno in (errno.EEXIST, errno.ENOTDIR) else error.strerror or error
        raise InputError(f"cannot write to the folder {shorter(folder)}: {reason}; give another --out") from None
    return folder


def refuse_foreign(
    folder: Path, names: Sequence[str], kind: str, inputs: Iterable[Path] = (), force: bool = False
) -> None:
    """Refuse to write files of these names into a folder where they are somebody else's.

    A folder is ours if the first of them is there and says that it is of our ``kind``. What was read is never
    overwritten; files of others only with ``force``.
    """
    there = [folder / name for name in names if is_there(folder / name)]
    read = [one for one in inputs if str(one) != "-" and one.exists()]
    for file in there:
        if any(file.samefile(one) for one in read):
            told = f"{visible(file)} is what was read and would be overwritten"
            raise InputError(f"{told}; give another folder")
    if there and not force and not _is_ours(folder / names[0], kind):
        held = f"{listed(file.name for file in there)}, which enmesh did not write"
        advice = "give another folder, or use force=True to overwrite"
        raise InputError(f"{visible(folder)} holds {held}; {advice}")


def _is_ours(path: Path, kind: str) -> bool:
    try:
        with path.open(encoding="utf-8") as file:
            return f'"format": "enmesh {kind}' in file.read(200)
    except (OSError, UnicodeDecodeError):
        return False


def write_results(network: Network, folder: Path, names: Sequence[str] = FILES) -> list[Path]:
    """Write a network into a folder, as files of these names; all but network.json have `with_visible_names`."""
    network = network.with_evidence()
    seen = with_visible_names(network)
    edges = seen.edges.assign(lags=[" ".join(map(str, lags)) for lags in seen.edges["lags"]])
    writers: dict[str, Callable[[Path], object]] = {
        "network.json": network.to_json,
        "edges.csv": partial(write_links, edges),
        **dict.fromkeys(("network.png", "network.svg"), seen.plot),
        "report.html": seen.report,
        "network.graphml": seen.to_graphml,
        "network.gexf": seen.to_gexf,
        "network.dot": partial(_write_dot, seen),
    }
    return [write_whole(folder / name, writers[name]) for name in names]


def write_answer(folder: Path, names: Sequence[str], made: Mapping[str, Any], links: Any, found: Any) -> list[Path]:
    """Write what was found as files of these names: JSON, the table of links, two pictures, and a page to share."""
    text = json.dumps(plain(made), indent=1)
    writers: list[Callable[[Path], object]] = [
        lambda file: file.write_text(text, encoding="utf-8"), partial(write_links, links), found.plot, found.plot,
        found.report,
    ]  # fmt: skip
    return [write_whole(results_folder(folder) / name, write) for name, write in zip(names, writers)]


def with_visible_names(network: Network) -> Network:
    """Return the network with everything in its names that cannot be seen written as an escape."""
    odd = {name: visible(name) for name in network.names if visible(name) != name}
    if not odd:
        return network
    taken = set(network.names)
    for name, seen in odd.items():
        while seen in taken:
            seen += "'"
        odd[name] = seen
        taken.add(seen)
    return Network.from_json(json.dumps(_renamed(json.loads(network.to_json()), odd)))


def _renamed(value: Any, names: Mapping[str, str]) -> Any:
    if isinstance(value, dict):
        return {_renamed(key, names): _renamed(item, names) for key, item in value.items()}
    if isinstance(value, list):
        return [_renamed(item, names) for item in value]
    if isinstance(value, str):
        for name, seen in names.items():
            value = value.replace(name, seen)
    return value


def write_links(links: Any, file: Path) -> None:
    """Write a table of links; a name that a spreadsheet would take for a formula gets a quote in front."""
    ends = {end: [guarded(str(name)) for name in links[end]] for end in ("source", "target")}
    links.assign(**ends).to_csv(file, index=False)


def _write_dot(network: Network, file: Path) -> None:
    """Write Graphviz text; the width of an arrow grows with its transfer entropy."""
    rows, quoted = network.edges.to_dict("records"), partial(json.dumps, ensure_ascii=False)
    strongest = max([row["te"] for row in rows if row["te"] > 0], default=1.0)
    lines = [f"  {quoted(name)};" for name in network.names]
    for row in rows:
        width = 1 + 3 * row["te"] / strongest if row["te"] > 0 else 1
        about = f'label="{row["te"]:.3g}", penwidth={width:.2f}, q_value="{row["q_value"]:.3g}"'
        lines.append(f"  {quoted(row['source'])} -> {quoted(row['target'])} [{about}, lag={row['lag']}];")
    file.write_text("\n".join(["digraph enmesh {", *lines, "}"]) + "\n", encoding="utf-8")
