"""A network as an object or a file of other libraries: xarray, MNE-Connectivity, igraph, Gephi, BrainNet Viewer.

Every form has the source in rows and the target in columns.
"""

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from enmesh.data.sources import library, write_whole
from enmesh.draw.places import coordinates
from enmesh.draw.subject import Network
from enmesh.errors import InputError, refuse_if

TESTS = {
    "te": "transfer entropy in nats, given the other parents of the target",
    "p_value": "p-value of the link",
    "q_value": "q-value among all possible pairs",
    "lag": "strongest lag in samples",
    "effect": "standardised linear effect at the strongest lag",
}


def matrices(network: Network) -> dict[str, np.ndarray]:
    """Return each number of `TESTS` as a matrix, source in rows, NaN where a pair was not tested."""
    size, place = len(network.names), {name: i for i, name in enumerate(network.names)}
    made = {name: np.full((size, size), np.nan) for name in TESTS}
    for table in (network.pairs, network.edges):
        for row in table.to_dict("records"):
            at = place[row["source"]], place[row["target"]]
            for name in TESTS.keys() & row.keys():
                made[name][at] = row[name]
    return made


def to_xarray(network: Network, positions: Any = None) -> Any:
    """Return a network as an xarray Dataset; see `Network.to_xarray`."""
    xarray = library("xarray", "a Dataset", "xarray")
    ends = ("source", "target")
    numbers = {name: (ends, matrix, {"long_name": TESTS[name]}) for name, matrix in matrices(network).items()}
    rows = network.edges.to_dict("records")
    lags = sorted({lag for row in rows for lag in row["lags"]})
    acts = np.zeros((*network.adjacency.shape, len(lags)), np.int8)
    for row in rows:
        at = network.names.index(row["source"]), network.names.index(row["target"])
        acts[at][[lags.index(lag) for lag in row["lags"]]] = 1
    about = {
        "link": (ends, network.adjacency.astype(np.int8), {"long_name": "1 where the source drives the target"}),
        "at_lag": ((*ends, "at"), acts, {"long_name": "1 where the source acts at this lag"}),
    }
    names = list(network.names)
    coords: dict[str, Any] = {"source": names, "target": names, "at": np.array(lags, float)}
    if positions is not None:
        about["position"] = (("source", "axis"), coordinates(names, positions), {"long_name": "place of a node"})
        coords["axis"] = ["x", "y", "z"]
    known = {key: str(network.provenance[key]) for key in ("enmesh", "data") if key in network.provenance}
    about_all = {"title": "network of transfer entropies", "score": network.score, **known}
    return xarray.Dataset(numbers | about, coords, about_all)


def to_mne_connectivity(network: Network, value: str = "te") -> Any:
    """Return a network as a Connectivity of MNE-Connectivity; see `Network.to_mne_connectivity`."""
    from enmesh.data.table import listed

    if value not in TESTS:
        raise InputError(f"value={value!r} is not a number of a link; use {listed(TESTS)}")
    mne = library("mne_connectivity", "a Connectivity", "mne-connectivity")
    matrix = matrices(network)[value]
    ends = [np.array(side, int) for side in np.nonzero(network.adjacency)]
    # Attributes of a Connectivity are kept by its `save`, as text and numbers.
    return mne.Connectivity(
        matrix[tuple(ends)], n_nodes=len(network.names), names=list(network.names), indices=tuple(ends),
        method=f"enmesh {TESTS[value]}",
    )  # fmt: skip


def to_igraph(network: Network) -> Any:
    """Return a network as a directed igraph Graph; see `Network.to_igraph`."""
    igraph = library("igraph", "an igraph Graph", "igraph")
    return igraph.Graph.from_networkx(network.to_networkx(), vertex_attr_hashable="name")


def to_graphml(network: Network, path: str | Path) -> Path:
    """Write GraphML, for Gephi, Cytoscape and yEd."""
    import networkx as nx

    graph = network.to_networkx()
    return write_whole(path, lambda file: nx.write_graphml(graph, file))


def to_gexf(network: Network, path: str | Path) -> Path:
    """Write GEXF, for Gephi."""
    import networkx as nx

    graph = network.to_networkx()
    for *_, link in graph.edges(data=True):
        link["weight"] = link["te"]
    return write_whole(path, lambda file: nx.write_gexf(graph, file))


def to_brainnet(network: Network, path: str | Path, positions: Any) -> tuple[Path, Path]:
    """Write the .node and .edge files of BrainNet Viewer; see `Network.to_brainnet`."""
    points = coordinates(network.names, positions)
    degree = network.adjacency.sum(axis=0) + network.adjacency.sum(axis=1)
    labels = ["_".join(name.split()) for name in network.names]
    nodes = [
        "\t".join([*(f"{x:.6g}" for x in point), "1", str(size), label])
        for point, size, label in zip(points, degree, labels)
    ]
    weights = np.where(network.adjacency, matrices(network)["te"], 0.0)
    refuse_if(np.isnan(weights).any(), "a link has no transfer entropy, which this file needs; infer it again")
    edges = ["\t".join(f"{te:.6g}" for te in row) for row in weights]
    made = []
    for ending, lines in ((".node", nodes), (".edge", edges)):
        text = "\n".join(lines) + "\n"
        made.append(write_whole(f"{path}{ending}", partial(Path.write_text, data=text, encoding="utf-8")))
    return made[0], made[1]
