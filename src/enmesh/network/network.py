"""Network: what an inference found, how sure it is, and everything needed to repeat it."""

import json
import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from enmesh.data.sources import write_whole
from enmesh.data.table import can_be_seen, listed, visible
from enmesh.draw.subject import LEVEL
from enmesh.errors import InputError
from enmesh.explain import Explainer, Explanation, explain, lag_grid
from enmesh.network.network_json import check_agreement, check_network
from enmesh.options import plain
from enmesh.tasks import single_thread
from enmesh.within.hidden import fragile, robustness

if TYPE_CHECKING:
    import networkx as nx
    import pandas as pd

    from enmesh.model.model import Model

FORMAT = "enmesh network 1"
HIDDEN = ("robust", "strongest", "hidden")  # what is said of hidden drivers
MOST_EXPLAINED = 400  # links of which the file and the page keep the evidence


@dataclass(frozen=True, kw_only=True)
class Candidate:
    """One possible edge, tested given the target's other parents.

    ``te`` is the conditional transfer entropy in nats, ``null`` the surrogate values of an empirical test, ``lags`` are
    all lags at which the source is asked about, ``lag`` is the strongest, ``effect`` the linear effect at that lag
    (`explain.effects`), NaN where it is not known; ``partner`` is the other source where two act only together;
    ``strongest`` is the strength of the strongest other driver of the target, in partial R squared
    (`within.hidden`), and ``hidden`` says whether a hidden driver is suspected behind a link.
    """

    source: str
    target: str
    te: float
    p_value: float
    q_value: float
    lag: int
    selected: bool
    null: tuple[float, ...] = ()
    lags: tuple[int, ...] = ()
    effect: float = math.nan
    partner: str = ""
    strongest: float = field(default=math.nan, compare=False)  # NaN, which is not itself, where there is no other
    hidden: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "lags", tuple(self.lags) or (self.lag,))


@dataclass(frozen=True)
class PairTests:
    """Tests of possible pairs given the selected parents: names by position, and a row for each pair."""

    sources: tuple[int, ...] = ()
    targets: tuple[int, ...] = ()
    te: tuple[float, ...] = ()
    p_value: tuple[float, ...] = ()
    q_value: tuple[float, ...] = ()
    lag: tuple[float, ...] = ()

    @classmethod
    def of_rows(cls, names: tuple[str, ...], rows: Iterable[tuple[str, str, float, float, int, float]]) -> "PairTests":
        """Return rows ``(source, target, te, p-value, lag, q-value)`` with positions for names."""
        place = {name: i for i, name in enumerate(names)}
        made = [(place[s], place[t], te, p, q, lag) for s, t, te, p, lag, q in rows]
        return cls(*map(tuple, zip(*made))) if made else cls()

    @classmethod
    def of(cls, names: tuple[str, ...], tests: Iterable[Candidate]) -> "PairTests":
        """Return the pairs that candidate edges are."""
        return cls.of_rows(names, ((c.source, c.target, c.te, c.p_value, c.lag, c.q_value) for c in tests))


class FrozenDict(dict[str, tuple[str, ...]]):
    """A mapping that cannot be changed: a network stays what was inferred."""

    def _refuse(self, *_: Any, **__: Any) -> Any:
        raise TypeError("the parents of a network cannot be changed; dict(net.parents) is a copy that can")

    def __reduce__(self) -> Any:
        return FrozenDict, (dict(self),)

    __setitem__ = __delitem__ = clear = pop = popitem = setdefault = update = __ior__ = _refuse


@dataclass(frozen=True, kw_only=True)
class Network:
    """A graph of who drives whom, with scores and tests.

    Attributes
    ----------
    names, parents
        Nodes in the order of the series, and ``{target: (source, ...)}`` for every node.
    local
        Score of each node with its parents; they add up to ``score``.
    optimal, bound
        Whether the graph is proven to have the best score of all that were allowed, and a proven upper bound on it.
    gap, removed
        Score lost to acyclicity, NaN where it is not known, and the edges ``(source, target)`` that the best graph with
        cycles allowed has and this one has not.
    evaluated
        Number of families (target, parents) whose score was computed.
    candidates
        Every possible edge with its test; the selected ones make `edges`.
    options, provenance
        Options of the run as plain data (`enmesh.options.describe`), seed included; version, data hash and shape, time.
    choices
        ``(what, value, reason)`` for each choice that was made for the user.
    warnings
        Statistical hazards that were met, in plain words.
    preview
        A thinned copy of the series for pictures, ``{name: (value, ...)}``.
    criteria
        Per node the table of the embedding criterion, where the embedding was chosen from the data.
    together
        Pairs that were tested for dependence within one sample: two names, value, p-value, q-value.
    marks
        Pairs that depend on each other within one sample: two names, mark, reason, p-value; `within` shows them.
    stability
        ``{"a>b": share}`` of cuts into halves in which both have an edge, where a bootstrap was made.
    pair_tests
        The test of every possible pair, which `pairs` shows.
    evidence
        ``{"a>b": ...}``: what `explain` says of each link, as plain data; filled where the network is written.
    series
        The data, as long as the network is in memory.

    Examples
    --------
    >>> import enmesh as em
    >>> series = em.simulate.var("a>b, b>c", n=500, seed=0)
    >>> net = em.infer(series, score="tea", estimator="gaussian", max_lag=1)
    >>> net.parents
    {'a': (), 'b': ('a',), 'c': ('b',)}
    >>> ("a", "b") in net, len(net)
    (True, 2)
    >>> net.edges[["source", "target", "lag"]].to_dict("records")
    [{'source': 'b', 'target': 'c', 'lag': 1}, {'source': 'a', 'target': 'b', 'lag': 1}]
    """

    names: tuple[str, ...]
    parents: Mapping[str, tuple[str, ...]]
    local: Mapping[str, float]
    optimal: bool
    bound: float
    gap: float = float("nan")
    removed: tuple[tuple[str, str], ...] = ()
    evaluated: int = 0
    candidates: tuple[Candidate, ...] = ()
    options: Mapping[str, Any] = field(default_factory=dict)
    provenance: Mapping[str, Any] = field(default_factory=dict)
    choices: tuple[tuple[str, str, str], ...] = ()
    warnings: tuple[str, ...] = ()
    preview: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    criteria: Mapping[str, Any] = field(default_factory=dict)
    together: tuple[tuple[str, str, float, float, float], ...] = ()
    marks: tuple[tuple[str, str, str, str, float], ...] = ()
    stability: Mapping[str, float] = field(default_factory=dict)
    pair_tests: PairTests = field(default_factory=PairTests, repr=False)
    evidence: Mapping[str, Any] = field(default_factory=dict, compare=False, repr=False)
    series: Any = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "parents", FrozenDict(self.parents))

    def __len__(self) -> int:
        """Return the number of edges."""
        return sum(len(sources) for sources in self.parents.values())

    def __bool__(self) -> bool:
        return True

    def __iter__(self) -> Iterator[tuple[str, str]]:
        """Go through the edges ``(source, target)``."""
        return ((source, target) for target in self.names for source in self.parents[target])

    def __hash__(self) -> int:
        return hash((self.names, tuple(self)))

    def __contains__(self, edge: object) -> bool:
        """Say whether ``(source, target)`` is an edge, or a name that of a node."""
        if isinstance(edge, str):
            return edge in self.names
        if not isinstance(edge, (tuple, list)) or len(edge) != 2:
            raise InputError(f"{edge!r} is not an edge; ask for (source, target) or for the name of a node")
        return tuple(edge) in set(self)

    def __getitem__(self, target: str) -> tuple[str, ...]:
        """Return the parents of a node."""
        if not isinstance(target, str) or target not in self.parents:
            raise InputError(f"there is no node {visible(repr(target))}; the nodes are {listed(self.names)}")
        return self.parents[target]

    @property
    def score(self) -> float:
        """Total score: the sum of the local ones."""
        return math.fsum(self.local[name] for name in self.names)

    @property
    def edges(self) -> "pd.DataFrame":
        """DataFrame with a row per edge, strongest first.

        Columns: source, target, te, p_value, q_value, lag (the strongest), lags (all), significant (q at most 0.05),
        stability (share of cuts into halves in which both have the edge; NaN without a bootstrap), effect: by how
        many of its standard deviations the target moves, linearly, with one of the source at the strongest lag, given
        the target's own past and other parents; partner, the other source where two act only together; robust, the
        partial R squared that a hidden driver must have with both source and target to explain the link away;
        strongest, that of the strongest other driver of the target in the network; hidden, whether the data suggest a
        hidden driver: the target depends within one sample on the source, or on a node that the source drives; and
        fragile, whether a hidden driver as strong as the median link would leave the link not significant.
        """
        columns = ["source", "target", "te", "p_value", "q_value", "lag", "lags"]
        tested, rows = {(c.source, c.target): c for c in self.candidates}, []
        unknown: Any = {"te": math.nan, "p_value": math.nan, "q_value": math.nan, "lag": 1, "selected": True}
        for source, target in self:
            test = tested.get((source, target)) or Candidate(source=source, target=target, **unknown)
            share = self.stability.get(f"{source}>{target}", math.nan)
            rated = math.isfinite(test.te) and "events" not in self.provenance  # a rate has no partial R squared
            needed = float(robustness(test.te)) if rated else math.nan
            known = [getattr(test, name) for name in columns]
            more = test.effect, test.partner, needed, test.strongest, test.hidden
            rows.append((*known, bool(test.q_value <= LEVEL), share, *more))
        columns += ["significant", "stability", "effect", "partner", *HIDDEN]
        frame = _sorted(rows, columns, {"te": False, "source": True, "target": True})
        level = (self.options.get("score") or {}).get("level", LEVEL)
        te, p, robust = frame[["te", "p_value", "robust"]].to_numpy(float).T
        frame["fragile"] = fragile(np.where(np.isfinite(robust), te, np.nan), p, level)
        return frame

    @property
    def pairs(self) -> "pd.DataFrame":
        """DataFrame with a row for every possible pair, smallest p-value first.

        Columns: source, target, te, p_value, q_value and lag, given the selected parents of the target.
        """
        tests, names = self.pair_tests, np.array(self.names, object)
        data = {
            "source": names[list(tests.sources)],
            "target": names[list(tests.targets)],
            **{name: list(getattr(tests, name)) for name in ("te", "p_value", "q_value", "lag")},
        }
        return _sorted(data, None, dict.fromkeys(("p_value", "source", "target"), True))

    @property
    def instantaneous(self) -> "pd.DataFrame":
        """DataFrame of pairs that depend on each other within one sample, given all pasts: those with q at most 0.05.

        Such a pair is sampled too coarsely to see which one is first, or shares a driver that was not recorded.
        """
        rows = [row for row in self.together if row[4] <= LEVEL]
        return _sorted(rows, ["first", "second", "value", "p_value", "q_value"], {"value": False, "first": True})

    @property
    def within(self) -> "pd.DataFrame":
        """DataFrame of pairs that depend on each other within one sample: a, b, mark, p_value and reason.

        Marks: ``"-->"`` a acts on b, ``"<--"`` b on a, ``"---"`` not known, ``"<->"`` a hidden common driver is
        suspected. Without ``within_sample=True`` no pair is oriented.
        """
        rows = [(a, b, mark, p, reason) for a, b, mark, reason, p in self.marks]
        return _sorted(rows, ["a", "b", "mark", "p_value", "reason"], dict.fromkeys(("p_value", "a", "b"), True))

    @property
    def adjacency(self) -> np.ndarray:
        """Boolean ``(M, M)`` array, ``[i, j]`` true when i drives j."""
        rows = [[source in self.parents[target] for target in self.names] for source in self.names]
        return np.array(rows, bool).reshape((len(self.names),) * 2)

    def to_networkx(self) -> "nx.DiGraph":
        """Return a networkx DiGraph; edges carry te, p_value, q_value, lag, lags and effect."""
        import networkx as nx

        graph: nx.DiGraph = nx.DiGraph()
        for name in self.names:
            graph.add_node(name, score=float(self.local[name]))
        for row in self.edges.to_dict("records"):
            shown = ["te", "p_value", "q_value", "lag"] + ["effect"] * math.isfinite(row["effect"])
            values = {key: plain(row[key]) for key in shown}
            graph.add_edge(row["source"], row["target"], **values, lags=" ".join(map(str, row["lags"])))
        return graph

    def to_igraph(self) -> Any:
        """Return an igraph Graph with the attributes of `to_networkx`; needs ``pip install 'enmesh[igraph]'``."""
        from enmesh.exchange.graphs import to_igraph

        return to_igraph(self)

    def to_xarray(self, *, positions: Any = None) -> Any:
        """Return an xarray Dataset; needs ``pip install 'enmesh[xarray]'``.

        Dimensions are ``source``, ``target`` and ``at``, the lags of the network. Variables are te, p_value, q_value,
        lag and effect of every pair that was tested, NaN elsewhere; ``link`` and ``at_lag``, 1 where the source drives
        the target (at this lag); and ``position`` of every node where ``positions`` are given, as for `plot`. The
        Dataset can be written as NetCDF and read again.
        """
        from enmesh.exchange.graphs import to_xarray

        return to_xarray(self, positions)

    def to_mne_connectivity(self, value: str = "te") -> Any:
        """Return a Connectivity of MNE-Connectivity; needs ``pip install 'enmesh[mne-connectivity]'``.

        Its ``indices`` are the links, sources first; its values are te, or p_value, q_value, lag or effect.
        """
        from enmesh.exchange.graphs import to_mne_connectivity

        return to_mne_connectivity(self, value)

    def to_graphml(self, path: str | Path) -> Path:
        """Write GraphML, for Gephi, Cytoscape and yEd, and return the path."""
        from enmesh.exchange.graphs import to_graphml

        return to_graphml(self, path)

    def to_gexf(self, path: str | Path) -> Path:
        """Write GEXF, for Gephi, with transfer entropies as weights, and return the path."""
        from enmesh.exchange.graphs import to_gexf

        return to_gexf(self, path)

    def to_brainnet(self, path: str | Path, positions: Any) -> tuple[Path, Path]:
        """Write ``path.node`` and ``path.edge`` for BrainNet Viewer and return both paths.

        ``positions`` are MNI coordinates in millimetres, ``{name: (x, y, z)}``, or an MNE montage. The size of a node
        is the number of its links; entry (i, j) of the edges is the transfer entropy from i to j, 0 without a link.
        """
        from enmesh.exchange.graphs import to_brainnet

        return to_brainnet(self, path, positions)

    def to_dbn(self) -> "nx.DiGraph":
        """Return the paper's two-slice network (2TBN) as a networkx DiGraph.

        Nodes are ``("X" or "Y", name, slice)`` with slice 0 for n and 1 for n+1: states X and observations Y. Each
        state depends on its own and its parents' states one slice before (eq. dynamics); each observation on its
        state alone (eq. observation).
        """
        import networkx as nx

        graph: nx.DiGraph = nx.DiGraph()
        for name in self.names:
            for part in (0, 1):
                graph.add_edge(("X", name, part), ("Y", name, part))
            for source in (name, *self.parents[name]):
                graph.add_edge(("X", source, 0), ("X", name, 1))
        return graph

    def to_json(self, path: str | Path | None = None) -> str:
        """Return the network as JSON text, and write it to ``path`` if one is given."""
        kept = self.with_evidence()
        data = {"format": FORMAT, "score": self.score}
        data |= {f.name: getattr(kept, f.name) for f in fields(kept) if f.name not in ("series", "evidence")}
        data["candidates"] = [vars(test) for test in kept.candidates]
        data["pair_tests"] = vars(kept.pair_tests)
        text = json.dumps(plain(data), indent=1, allow_nan=False)
        behind = json.dumps(plain(kept.evidence), separators=(",", ":"))  # in one line: it is long
        text = f'{text[:-2]},\n "evidence": {behind}\n}}'
        if path is not None:
            write_whole(path, lambda file: file.write_text(text, encoding="utf-8"))
        return text

    @classmethod
    def from_json(cls, source: str | Path) -> "Network":
        """Return the network that `to_json` wrote; ``source`` is a path or the text itself."""
        data = _loaded(source)
        try:
            check_network(data)
            network = cls(**_revived(data))
            _refuse_inconsistent(network)
            check_agreement(data)
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
            reason = f"{error} is missing" if isinstance(error, KeyError) else " ".join(str(error).split())
            damaged = f"{_short(source)} is a damaged network of enmesh"
            raise InputError(f"{damaged}: {visible(reason)[:160]}; take a sound copy, or infer it again") from None
        return network

    def explain(self, source: str, target: str) -> Explanation:
        """Return the evidence of a link, or of any pair: scatter, lags, chance, local values, limits, a sentence.

        A network that was read from a file has it for its links alone.

        >>> import enmesh as em
        >>> net = em.infer(em.simulate.var("a>b", n=500, seed=0), estimator="gaussian", max_lag=1)
        >>> about = net.explain("a", "b")
        >>> about.lag, about.low < about.te < about.high, about.effect > 0
        (1, True, True)
        """
        for name in (source, target):
            self[name]  # says which nodes there are
        return explain(self, source, target)

    def fit(self, series: Any = None, *, own_past: int | None = None, basis: str | None = None) -> "Model":
        """Return the model of the network: for each node its distribution given its parents and its own past.

        ``series`` is by default the one that the network was inferred from; ``own_past`` and ``basis`` are chosen for
        each node where they are not given (`enmesh.model.fit`).

        >>> import enmesh as em
        >>> series = em.simulate.var("a>b", n=500, seed=0)
        >>> model = em.infer(series, estimator="gaussian", max_lag=1).fit(series)
        >>> model.forecast(series, horizon=3).mean.shape
        (3, 2)
        """
        from enmesh.model.model import fit

        data = self.series if series is None else series
        if hasattr(data, "stretches") or "events" in self.provenance:
            raise InputError("a network of events has no equations to fit; infer one from samples")
        if data is None:
            raise InputError("the samples are not in memory; give the series that the network was inferred from")
        edges: Any = self.edges.itertuples()
        lags = {(row.source, row.target): tuple(row.lags) for row in edges}
        parents = {target: self.parents[target] for target in self.names}
        with single_thread():
            return fit(data, parents, lags, own_past=own_past, basis=basis, stability=self.stability)

    def lag_grid(self) -> tuple[tuple[int, ...], np.ndarray, np.ndarray]:
        """Return lags, and for every pair transfer entropy at each of them and what chance gives."""
        return lag_grid(self)

    def with_evidence(self) -> "Network":
        """Return the network with `evidence` for its links, the strongest `MOST_EXPLAINED` of them."""
        if self.evidence or not hasattr(self.series, "trials") or not self.options.get("score"):
            return self
        explained, links = Explainer(self), self.edges[["source", "target"]][:MOST_EXPLAINED]
        found = {f"{s}>{t}": explained(s, t).to_dict() for s, t in links.itertuples(index=False)}
        return replace(self, evidence=found)

    def plot(
        self,
        path: str | Path | None = None,
        *,
        kind: str = "graph",
        ax: Any = None,
        theme: str = "auto",
        colour: str = "auto",
        fade: bool = True,
        positions: Any = None,
        projection: str = "",
        background: Any = None,
    ) -> Any:
        """Draw the network, save the picture to ``path`` if one is given, and return the axes.

        ``kind`` is ``"graph"``, ``"matrix"`` (ordered by blocks), ``"timegraph"`` (nodes and lags), ``"circle"``,
        ``"lags"`` (every pair at every lag), ``"intervals"`` or ``"nulls"``; ``theme`` is ``"light"``,
        ``"dark"``, ``"grey"`` or ``"auto"``; ``colour`` of arrows is ``"effect"``, ``"te"``, ``"lag"`` or ``"auto"``;
        see `draw.plot.draw`. Where `stability` is known, arrows of ``"graph"`` and ``"circle"`` are the paler the less
        stable they are, unless ``fade`` is False.

        ``positions`` puts the nodes of ``"graph"`` where they are: ``{name: (x, y)}``, ``{name: (x, y, z)}`` or an MNE
        montage; ``projection="geographic"`` takes longitude and latitude, ``"head"`` looks from above. ``background``
        is a picture behind them, or ``(picture, (left, right, bottom, top))``.
        """
        from enmesh.draw import plot

        shown = self if fade else replace(self, stability={})
        places = {"positions": positions, "projection": projection, "background": background}
        return plot.draw(shown, path, kind=kind, ax=ax, theme=theme, colour=colour, places=places)

    def report(self, path: str | Path, *, title: str = "", notes: str = "", **places: Any) -> Path:
        """Write the self-contained HTML page and return its path; ``title`` and ``notes`` are one's own words on it.

        ``positions``, ``projection`` and ``background`` are those of `plot`.
        """
        from enmesh.draw.report import write

        with single_thread():
            return write(self, path, title=title, notes=notes, **places)

    def _repr_html_(self) -> str:
        from enmesh.draw.report.notebook import network_html

        return network_html(self)

    def __repr__(self) -> str:
        edges = ", ".join(f"{visible(s)}->{visible(t)}" for s, t in self) or "no edges"
        proof = "optimal" if self.optimal else f"bound {self.bound:.6g}"
        return f"Network({edges}; score {self.score:.6g}, {proof})"


def _sorted(rows: Any, columns: list[str] | None, by: dict[str, bool]) -> "pd.DataFrame":
    """Return rows as a table, sorted by columns that rise (True) or fall."""
    import pandas as pd

    frame = pd.DataFrame(rows, columns=columns)
    return frame.sort_values([*by], ascending=[*by.values()], ignore_index=True)


def _loaded(source: str | Path) -> dict[str, Any]:
    """Return what the JSON of a network holds, or say why it is none."""
    text = str(source)
    try:
        if not text.lstrip().startswith("{"):
            text = Path(source).read_text(encoding="utf-8")
        data = json.loads(text)
    except OSError as error:
        told = f"cannot read {_short(source)}: {error.strerror}"
        raise InputError(f"{told}; give the path of a network.json, or its text") from None
    except (ValueError, RecursionError) as error:
        raise InputError(f"{_short(source)} is not JSON: {error}; give what to_json() wrote") from None
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise InputError(
            f"{_short(source)} is not a network of enmesh (no {FORMAT!r} in it); give what to_json() wrote"
        )
    return data


def _revived(data: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of a network with tuples and numbers where JSON has lists and null."""
    made = {name: value for name, value in data.items() if name not in ("format", "score")}
    made["names"] = tuple(data["names"])
    made["parents"] = {target: tuple(sources) for target, sources in data["parents"].items()}
    made["local"] = {name: _number(score) for name, score in data["local"].items()}
    made["optimal"] = bool(data["optimal"])
    made["removed"] = tuple((source, target) for source, target in data["removed"])
    made["candidates"] = tuple(map(_candidate, data["candidates"]))
    made["pair_tests"] = PairTests(**{k: tuple(v) for k, v in data.get("pair_tests", {}).items()})
    made["gap"], made["bound"] = _number(data["gap"]), _number(data["bound"], math.inf)
    made["choices"] = tuple(map(tuple, data["choices"]))
    made["warnings"] = tuple(map(str, data["warnings"]))
    made["together"] = tuple((a, b, *map(float, rest)) for a, b, *rest in data.get("together", ()))
    made["marks"] = tuple((*words, float(p)) for *words, p in data.get("marks", ()))
    made["preview"] = {name: tuple(map(_number, values)) for name, values in data["preview"].items()}
    return made


def _refuse_inconsistent(network: Network) -> None:
    """Refuse nodes that are named twice or not at all, and links of nodes that are not there."""
    known = set(network.names)
    if not known or len(known) < len(network.names) or not all(isinstance(one, str) for one in known):
        raise ValueError("its names are no list of different texts")
    if not all(map(can_be_seen, known)):
        raise ValueError("one of its names is not visible")
    for what, keys in (("parents", network.parents), ("local", network.local)):
        if set(keys) != known:
            raise ValueError(f"its {what} are not those of its names")
    tested = [(one.source, one.target) for one in network.candidates]
    for edge in (*network, *network.removed, *tested):
        for odd in sorted({*edge} - known):
            raise ValueError(f"{odd} drives or is driven but is not among its names")
        if len({*edge}) == 1:
            raise ValueError(f"{edge[0]} drives itself")
    if len(set(network)) < len(network):
        raise ValueError("a parent is named twice")


def _candidate(data: Mapping[str, Any]) -> Candidate:
    numbers = {name: _number(data.get(name)) for name in ("te", "p_value", "q_value", "effect", "strongest")}
    null, lags = tuple(map(_number, data["null"])), tuple(data.get("lags", ()))
    return Candidate(**{**data, **numbers, "null": null, "lags": lags})


def _number(value: Any, unknown: float = math.nan) -> float:
    return unknown if value is None else float(value)


def _short(source: str | Path) -> str:
    return visible(source) if len(str(source)) < 200 else "the text"
