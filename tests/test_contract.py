"""Every call that the package promises: it runs as written, and what it returns has the promised type and fields.

One table for each part. A line is a name, the call on a small recording, and what must hold of the result.
"""

import json
import warnings
from functools import cached_property

import numpy as np
import pandas as pd
import pytest

import enmesh as em
from enmesh.options import describe, restore

pytestmark = pytest.mark.filterwarnings("ignore")
GRAPH = {"b": ["a"], "c": ["b"]}


class World:
    """A recording, its network and its model, each made once, and a folder."""

    def __init__(self, folder):
        self.folder, self.emb, self.gaussian = folder, em.Embedding(dim=2, delay=1), em.Gaussian()
        self.values = em.simulate.var(GRAPH, n=300, seed=5).values
        self.series = em.Series(self.values, names=["a", "b", "c"])
        self.how = {"estimator": self.gaussian, "embedding": self.emb}
        self.score = em.TEA(estimator=em.Gaussian(), embedding=self.emb, alpha=0.99)
        self.frame = pd.DataFrame(self.values, columns=["a", "b", "c"])
        rng = np.random.default_rng(6)
        self.times = {name: np.sort(rng.uniform(0, 60, 40)) for name in "ab"}

    @cached_property
    def net(self):
        return em.infer(self.series)

    @cached_property
    def model(self):
        return self.net.fit(self.series)

    @cached_property
    def events(self):
        return em.Events(self.times, duration=60.0)

    def write(self, name, text, encoding="utf-8"):
        path = self.folder / name
        path.write_text(text, encoding=encoding)
        return str(path)

    @cached_property
    def csv(self):
        self.series.to_csv(self.folder / "recording.csv")
        return str(self.folder / "recording.csv")


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    return World(tmp_path_factory.mktemp("contract"))


def number(value):
    return isinstance(value, float) and np.isfinite(value)


def fields(*names):
    """Every name is a field of the result; one with a dot is a field of a field."""

    def check(found):
        for name in names:
            part = found
            for word in name.split("."):
                part = getattr(part, word)
        return True

    return check


def columns(*names):
    return lambda frame: isinstance(frame, pd.DataFrame) and set(names) <= set(frame.columns)


def square(frame):
    return isinstance(frame, pd.DataFrame) and list(frame.index) == list(frame.columns) == ["a", "b", "c"]


def is_a(kind):
    return lambda value: isinstance(value, kind)


def option(value):
    """A frozen option: it prints, hashes and comes back from its description."""
    return restore(describe(value)) == value and hash(value) == hash(restore(describe(value)))


def parents_of_chain(net):
    return net.parents == {"a": (), "b": ("a",), "c": ("b",)}


def outlook(found):
    return all(isinstance(getattr(found, name), pd.DataFrame) for name in ("mean", "low", "high"))


def excel(w):
    with pd.ExcelWriter(w.folder / "two.xlsx") as file:
        pd.DataFrame({"a": [1.0]}).to_excel(file, sheet_name="run 1", index=False)
        w.frame.to_excel(file, sheet_name="run 2", index=False)
    return str(w.folder / "two.xlsx")


def mne_raw(w):
    mne = pytest.importorskip("mne")
    return mne.io.RawArray(w.values.T, mne.create_info(["a", "b", "c"], 100.0), verbose="error")


def long_table(w):
    return w.frame.assign(time=range(len(w.frame))).melt("time")


def of_subjects(w):
    half = len(w.frame) // 2
    return pd.concat([w.frame[:half].assign(subject=1, t=range(half)), w.frame[half:].assign(subject=2, t=range(half))])


EDGES = ("source", "target", "te", "p_value", "q_value", "lag")
CONTRACT = {
    "data": {
        "Series": (lambda w: em.Series(w.values, names=["a", "b", "c"], dt=0.05), lambda s: s.dt == 0.05),
        "Series of trials": (
            lambda w: em.Series(np.stack([w.values[:150], w.values[150:]]), names="abc"),
            lambda s: len(s.trials) == 2,
        ),
        "Series of a list": (lambda w: em.Series([w.values, w.values[:90]], names="abc"), lambda s: len(s.trials) == 2),
        "Series of a DataFrame": (lambda w: em.Series(w.frame), lambda s: s.names == ("a", "b", "c")),
        "Series.kinds": (
            lambda w: em.Series(w.frame.assign(d=1 + np.arange(300) % 2, e=["u", "v", "v"] * 100)).kinds,
            lambda kinds: len(set(kinds)) == 3,
        ),
        "read": (lambda w: em.read(w.csv), lambda s: s.names == ("a", "b", "c")),
        "read decimal, thousands, na": (
            lambda w: em.read(
                w.write("d.csv", "a;b\n1.000,5;2,5\n-999;3,5\n?;1,0\n2,0;2,0\n"),
                decimal=",",
                thousands=".",
                na=["-999", "?"],
                missing="drop",
            ),
            lambda s: s.values[0, 0] == 1000.5,
        ),
        "read skip, units": (
            lambda w: em.read(w.write("u.csv", "made by\nb m\na,b\nV,m\n1,2\n2,1\n3,5\n"), skip=2, units=True),
            lambda s: s.names == ("a", "b") and len(s) == 3,
        ),
        "read date_format": (
            lambda w: em.read(
                w.write("t.csv", "time,a\n" + "".join(f"{d:02}.01.2024,{d % 3}\n" for d in range(1, 9))),
                date_format="%d.%m.%Y",
            ),
            lambda s: s.dt == 86400,
        ),
        "read encoding": (
            lambda w: em.read(w.write("l.csv", "für,b\n1,2\n2,1\n3,3\n", "latin-1"), encoding="latin-1"),
            lambda s: s.names == ("für", "b"),
        ),
        "read sheet": (lambda w: em.read(excel(w), sheet="run 2"), lambda s: s.shape[-2] == 300),
        "Series trials, time": (
            lambda w: em.Series(of_subjects(w), trials="subject", time="t"),
            lambda s: len(s.trials) == 2,
        ),
        "Series pivot": (
            lambda w: em.Series(long_table(w), pivot=("time", "variable", "value")),
            lambda s: s.names == ("a", "b", "c"),
        ),
        "Series sfreq, transpose": (
            lambda w: em.Series(w.values.T, sfreq=250, transpose=True),
            lambda s: s.dt == 0.004,
        ),
        "Series of MNE": (lambda w: em.Series(mne_raw(w)), lambda s: s.names == ("a", "b", "c")),
        "Series dims": (
            lambda w: em.Series(np.stack([w.values[:150].T, w.values[150:].T]), dims=("trial", "node", "time")),
            lambda s: len(s.trials) == 2,
        ),
        "Series time='ignore'": (
            lambda w: em.Series(w.frame.set_index(pd.Index([*range(299), 500])), time="ignore"),
            is_a(em.Series),
        ),
        "Series time='sort'": (lambda w: em.Series(w.frame[::-1], time="sort"), lambda s: s.values[0, 0] == s["a"][0]),
        "datasets.names": (
            lambda w: em.datasets.names(),
            lambda names: "gas-furnace" in [str(n).replace("_", "-") for n in names],
        ),
        "datasets.gas_furnace": (lambda w: em.datasets.gas_furnace(), is_a(em.Series)),
        "difference": (lambda w: w.series.difference(), is_a(em.Series)),
        "detrend": (lambda w: w.series.detrend(), is_a(em.Series)),
        "deseason": (lambda w: w.series.deseason(period=12), is_a(em.Series)),
        "standardise": (lambda w: w.series.standardise(), is_a(em.Series)),
        "mask": (lambda w: w.series.mask(range(100, 120)), is_a(em.Series)),
        "shape, one node": (
            lambda w: (w.series.shape, w.series["a"]),
            lambda two: two[0][-2:] == (300, 3) and len(two[1]) == 300,
        ),
        "slice": (lambda w: w.series[:100], lambda s: len(s) == 100),
        "to_csv": (
            lambda w: (w.series.to_csv(w.folder / "x.csv"), em.read(w.folder / "x.csv"))[1],
            lambda s: s.names == ("a", "b", "c"),
        ),
    },
    "one number": {
        "transfer_entropy": (lambda w: em.transfer_entropy(w.series, "a", "b", **w.how), number),
        "KSG": (lambda w: em.transfer_entropy(w.series, "a", "b", estimator=em.KSG(k=4), embedding=w.emb), number),
        "collective": (lambda w: em.transfer_entropy(w.series, ["a", "c"], "b", **w.how), number),
        "conditional": (lambda w: em.transfer_entropy(w.series, "a", "b", given=["c"], **w.how), number),
        "local": (
            lambda w: em.transfer_entropy(w.series, "a", "b", estimator=em.KSG(), embedding=w.emb, local=True),
            lambda values: values.ndim == 1 and np.isfinite(values).all(),
        ),
        "as infer asks": (lambda w: em.transfer_entropy(w.series, "a", "b"), number),
        "Lags": (lambda w: em.transfer_entropy(w.series, "a", "b", embedding=em.Lags({("a", "b"): (3,)})), number),
        "significance": (
            lambda w: em.significance(
                w.series, "a", "b", **w.how, surrogate=em.CircularShift(), n_surrogates=39, seed=0
            ),
            lambda s: number(s.value) and 0 < s.p_value <= 1 and len(s.null) == 39,
        ),
        "significance max_lag": (lambda w: em.significance(w.series, "a", "b", max_lag=5), lambda s: 1 <= s.lag <= 5),
        "significance of a path": (lambda w: em.significance(w.csv, "a", "b", max_lag=5).value, number),
        "te_matrix": (
            lambda w: em.te_matrix(w.series, **w.how, conditional=False, n_surrogates=0),
            lambda m: square(m.te) and square(m.p_value),
        ),
        "te_matrix as infer asks": (lambda w: em.te_matrix(w.series).te, square),
        "active_information": (
            lambda w: em.active_information(w.series, "b", estimator=em.KSG(), embedding=w.emb),
            number,
        ),
        "stochastic_interaction": (lambda w: em.stochastic_interaction(w.series, **w.how), number),
        "kl_divergence": (lambda w: em.kl_divergence(w.series, {"b": ["a"]}, **w.how), number),
        "log_likelihood": (lambda w: em.log_likelihood(w.series, {"b": ["a"]}, **w.how), number),
        "cmi": (lambda w: em.cmi(*w.values.T, estimator=em.KSG(k=4)), number),
        "lag_profile": (
            lambda w: em.lag_profile(w.series, "a", "b", max_lag=6, estimator=em.KSG(), n_surrogates=19),
            lambda p: len(p.lags) == len(p.te) == 6 and 0 < p.p_value <= 1 and p.best in p.lags,
        ),
        "lag_profile plot": (
            lambda w: em.lag_profile(w.frame, "a", "b", max_lag=4).plot(w.folder / "lags.png"),
            lambda path: True,
        ),
        "interval": (lambda w: em.interval(w.series, "a", "b", level=0.95), lambda i: 0 <= i.low <= i.value <= i.high),
        "interval of a network": (
            lambda w: em.interval(w.series, "b", "c", network=w.net),
            lambda i: 0 <= i.low <= i.value <= i.high,
        ),
    },
    "estimators": {
        **{
            f"{name}()": (lambda w, name=name: getattr(em, name)(), option)
            for name in ("Gaussian", "Discrete", "Mixed", "Ordinal", "Regression", "KSG")
        },
        "Kernel": (lambda w: em.Kernel(width=0.5), option),
        "KSG options": (
            lambda w: em.KSG(k=4, algorithm=1, theiler=0, noise=1e-8, normalise="zscore", device="cpu"),
            option,
        ),
        "KSG rank": (lambda w: em.KSG(normalise="rank"), option),
        **{
            f"KSG {kind}": (lambda w, kind=kind: em.KSG(residual=kind), option)
            for kind in ("none", "linear", "quadratic", "features")
        },
        "Gaussian rank": (lambda w: em.Gaussian(normalise="rank"), option),
        "Mixed k": (lambda w: em.Mixed(k=4), option),
        "Ordinal order": (lambda w: em.Ordinal(order=3, delay=1), option),
        **{
            f"Discrete {kind}": (lambda w, kind=kind: em.Discrete(correction=kind), option)
            for kind in ("none", "miller-madow", "grassberger")
        },
        **{
            f"Regression {kind}": (lambda w, kind=kind: em.Regression(features=kind), option)
            for kind in ("linear", "quadratic", "fourier")
        },
        "Regression scale": (lambda w: em.Regression(normalise="rank", device="cpu"), option),
        "Regression basis": (lambda w: em.Regression(features="basis", responses=4), option),
    },
    "embedding": {
        "Ragwitz": (
            lambda w: em.choose_embedding(w.series, method=em.Ragwitz(max_dim=2, max_delay=1)),
            is_a(em.Embedding),
        ),
        "ActiveStorage": (
            lambda w: em.choose_embedding(w.series, method=em.ActiveStorage(max_dim=2, max_delay=1)),
            is_a(em.Embedding),
        ),
        "Cao": (lambda w: em.choose_embedding(w.series, method=em.Cao()), is_a(em.Embedding)),
        "per node": (lambda w: em.Embedding(dim={"a": 3, "b": 2}, lag=1), option),
        "Lags": (lambda w: em.Lags({("a", "b"): (1, 4), ("b", "b"): (1, 2)}), option),
        "NonUniform": (lambda w: em.choose_embedding(w.series, method=em.NonUniform(max_lag=3)), is_a(em.Lags)),
        "NonUniform by regression": (
            lambda w: em.choose_embedding(
                w.series, method=em.NonUniform(max_lag=4, estimator=em.Regression(features="linear"))
            ),
            is_a(em.Lags),
        ),
        "SmallTse": (lambda w: em.choose_embedding(w.series, method=em.SmallTse(max_window=5)), is_a(em.Embedding)),
    },
    "scores and searches": {
        "TEA": (lambda w: em.score(w.series, GRAPH, w.score), lambda s: number(s.total) and set(s.local) == set("abc")),
        "TEA shift": (lambda w: em.TEA(estimator=em.Regression(), embedding=w.emb, alpha=0.99, null="shift"), option),
        "TEE": (
            lambda w: em.TEE(
                estimator=em.KSG(), embedding=w.emb, alpha=0.99, surrogate=em.CircularShift(), n_surrogates=199, seed=0
            ),
            option,
        ),
        **{
            f"Criterion {kind}": (
                lambda w, kind=kind: (
                    em.score(w.series, GRAPH, em.Criterion(kind, estimator=em.Gaussian(), embedding=w.emb)).total
                ),
                number,
            )
            for kind in ("aic", "bic", "ml")
        },
        "score as infer asks": (lambda w: em.score(w.series, GRAPH).total, number),
        **{
            name: (lambda w, name=name: getattr(em, name)(), option)
            for name in ("Exact", "Exhaustive", "Tabu", "BasinFlooding", "RPDAG", "Independent")
        },
        "HillClimb": (lambda w: em.HillClimb(restarts=5), option),
    },
    "infer": {
        "infer": (lambda w: em.infer(w.series), parents_of_chain),
        "of a path": (lambda w: em.infer(w.csv), parents_of_chain),
        "of a table": (lambda w: em.infer(w.frame, required="a>b", estimator="Gaussian"), parents_of_chain),
        "by the paper": (
            lambda w: em.infer(
                w.series,
                score=w.score,
                search=em.Exact(),
                max_parents=3,
                acyclic=True,
                required=[("a", "b")],
                forbidden=[("c", "a")],
                n_jobs=-1,
                store=w.folder / "run.db",
                progress=True,
                seed=0,
            ),
            parents_of_chain,
        ),
        "by names": (lambda w: em.infer(w.series, score="tea", search="exact", estimator="gaussian"), parents_of_chain),
        "max_lag": (lambda w: em.infer(w.series, max_lag=5).edges, columns("lag", "lags")),
        "level, acyclic, context, fdr": (
            lambda w: em.infer(w.series, level=0.05, acyclic=True, context=["a"], fdr=0.05),
            is_a(em.Network),
        ),
        "fdr": (lambda w: em.infer(w.series, fdr=0.05), parents_of_chain),
        "tiers": (lambda w: em.infer(w.series, tiers=[["a"], ["b", "c"]]), parents_of_chain),
        "within_sample": (lambda w: em.infer(w.series, within_sample=True), is_a(em.Network)),
        "bootstrap": (lambda w: em.infer(w.series, bootstrap=4).edges["stability"], lambda s: s.between(0, 1).all()),
        "events": (lambda w: em.infer(w.events, n_surrogates=99), is_a(em.Network)),
    },
    "network": {
        "parents": (lambda w: w.net, parents_of_chain),
        "edges": (lambda w: w.net.edges, columns(*EDGES, "significant", "stability", "effect", "partner", "robust")),
        "pairs": (lambda w: w.net.pairs, lambda t: columns(*EDGES)(t) and len(t) == 6),
        "score, optimal, gap": (
            lambda w: (w.net.score, w.net.optimal, w.net.gap),
            lambda t: number(t[0]) and t[1] in (True, False) and number(t[2]),
        ),
        "adjacency": (lambda w: w.net.adjacency, lambda a: a.dtype == bool and a[0, 1] and not a[1, 0]),
        "within": (lambda w: w.net.within, columns("a", "b", "mark", "p_value", "reason")),
        "instantaneous": (lambda w: w.net.instantaneous, is_a(pd.DataFrame)),
        "explain": (lambda w: w.net.explain("a", "b"), lambda e: e.plot is not None and len(e.null) > 0),
        "len, item, in": (
            lambda w: (len(w.net), w.net["b"], ("a", "b") in w.net, "a" in w.net),
            lambda t: t == (2, ("a",), True, True),
        ),
        "hash": (lambda w: hash(w.net), is_a(int)),
        "to_networkx": (lambda w: w.net.to_networkx(), lambda g: set(g.edges) == {("a", "b"), ("b", "c")}),
        "to_json, from_json": (
            lambda w: (w.net.to_json(w.folder / "net.json"), em.Network.from_json(w.folder / "net.json"))[1],
            parents_of_chain,
        ),
        "to_xarray": (lambda w: pytest.importorskip("xarray") and w.net.to_xarray(), lambda x: x is not None),
        "to_mne_connectivity": (
            lambda w: pytest.importorskip("mne_connectivity") and w.net.to_mne_connectivity(),
            lambda x: x is not None,
        ),
        "to_igraph": (lambda w: pytest.importorskip("igraph") and w.net.to_igraph(), lambda g: g.ecount() == 2),
        "plot": (lambda w: w.net.plot(w.folder / "net.png"), lambda drawn: True),
        "report": (lambda w: w.net.report(w.folder / "report.html"), lambda path: path.stat().st_size > 10_000),
    },
    "how sure": {
        "stability": (
            lambda w: em.stability(w.series, n=4, seed=0, n_jobs=2, store=w.folder / "boot.db").frequency,
            square,
        ),
        "bootstrap": (lambda w: em.bootstrap(w.series, n=4, seed=0).frequency, square),
        "compare": (
            lambda w: em.compare(w.series[:150], w.series[150:], n_permutations=19),
            lambda c: square(c.difference) and square(c.p_value) and square(c.q_value) and callable(c.plot),
        ),
        "group": (
            lambda w: em.group([w.series[:150], w.series[150:]]),
            lambda g: parents_of_chain(g.network) and square(g.share) and g.p_value is not None,
        ),
        "windows": (
            lambda w: em.windows(w.series, width=150, step=75),
            lambda v: np.shape(v.te) == (3, 3, 3) and np.shape(v.p_value) == (3, 3, 3) and callable(v.plot),
        ),
    },
    "after the arrows": {
        "fit": (lambda w: w.net.fit(w.series), is_a(em.Model)),
        "forecast": (lambda w: w.model.forecast(w.series, horizon=5), outlook),
        "skill": (lambda w: w.model.skill(w.series), lambda s: s is not None),
        "simulate": (lambda w: w.model.simulate(n=100, seed=0), lambda s: len(s) == 100),
        "effect": (
            lambda w: w.model.effect("a", "b", change=1.0, horizon=5),
            lambda e: (
                len(e.total) == 5 and fields("low", "high", "direct", "plot")(e) and isinstance(e.through, pd.DataFrame)
            ),
        ),
        "effect hold": (
            lambda w: w.model.effect("a", "b", change=1.0, horizon=5, hold=True),
            lambda e: len(e.total) == 5,
        ),
        "intervene": (
            lambda w: w.model.intervene({"a": 2.0}, horizon=5),
            lambda i: outlook(i) and fields("baseline", "plot")(i),
        ),
        "power": (
            lambda w: em.power(w.series, level=0.01, links=[("a", "b")]),
            lambda p: fields("smallest", "plot")(p) and p.samples_needed(0.02) > 0,
        ),
        "plan": (
            lambda w: em.plan(nodes=10, te=0.02),
            lambda p: p.samples_needed(0.02) > 0 and abs(p.smallest - 0.02) < 1e-4 and callable(p.plot),
        ),
        "parts": (
            lambda w: em.parts(w.series, ["a", "c"], "b", network=w.net, n_surrogates=19),
            fields("unique", "redundant", "synergistic"),
        ),
    },
    "events": {
        "Events": (lambda w: w.events, is_a(em.Events)),
        "transfer_entropy": (
            lambda w: em.transfer_entropy(
                w.events, "a", "b", estimator=em.PointProcess(k=4, target_history=2, source_history=1)
            ),
            number,
        ),
        "simulate": (lambda w: em.simulate.coupled_events("a>b, b>c", duration=100, seed=0), is_a(em.Events)),
    },
    "systems with known truth": {
        "coupled_map": (
            lambda w: em.simulate.coupled_map(
                GRAPH, n=100, map="logistic", r=4.0, coupling=0.3, noise=0.01, obs_noise=0.0, seed=0
            ),
            lambda s: s.shape[-2:] == (100, 3),
        ),
        "coupled_map lags": (lambda w: em.simulate.coupled_map("a>b, b>c", n=100, lags=3), is_a(em.Series)),
        "coupled_flow": (
            lambda w: em.simulate.coupled_flow(
                GRAPH, n=100, system={"a": "lorenz", "b": "rossler", "c": "lorenz"}, coupling=2.0, dt=0.05, seed=0
            ),
            lambda s: s.dt == 0.05,
        ),
        "var": (lambda w: em.simulate.var(GRAPH, n=100, seed=0), is_a(em.Series)),
        "var lags": (
            lambda w: em.simulate.var({"b": ["a"]}, n=100, lags={("a", "b"): 4}),
            lambda s: s.truth_lags == {("a", "b"): (4,)},
        ),
    },
}
LINES = {f"{part}: {name}": line for part, lines in CONTRACT.items() for name, line in lines.items()}


@pytest.mark.parametrize("name", LINES)
def test_the_call_runs_as_promised(name, world):
    call, check = LINES[name]
    assert check(call(world))


def test_the_scikit_learn_estimator(world):
    from sklearn.base import clone

    from enmesh.sklearn import NetworkInference

    made = clone(NetworkInference(level=0.05)).fit([world.values])
    assert made.get_params()["level"] == 0.05
    assert len(made.networks_) == len(made.adjacency_) == 1


COMMANDS = (
    "infer {csv} --out {out}/1 --force",
    "infer {csv} --estimator gaussian --score tea --alpha 0.99 --max-parents 3 --search exact --jobs 2 --seed 0"
    " --out {out}/2",
    "infer {csv} --allow-cycles --require a:b --forbid c:a --out {out}/3 --resume",
    "infer {csv} --max-lag 5 --detrend --season 12 --bootstrap 4 --tiers 'a | b c' --out {out}/4",
    "infer {csv} --time ignore --out {out}/5",
    "infer {csv} --max-lag 4 --na -999 --out {out}/6",
    "infer {csv} --level 0.05 --acyclic --context a --within-sample --out {out}/7",
    "te {csv} a b --given c --estimator ksg --dim 2 --surrogates 19",
    "te {csv} a b",
    "embed {csv}",
    "score {csv} --graph 'a>b, b>c' --score tea",
    "simulate logistic --graph 'a>b, b>c' -n 100 --seed 0 --out {out}/data.csv",
    "lags {csv} a b --max-lag 6 --out {out}/lags.png",
    "compare {csv} {csv2} --permutations 19 --out {out}/difference",
    "infer {spikes} --events --out {out}/8",
    "datasets gas-furnace --out {out}/rec.csv",
    "inspect {csv} --json",
    "whatif {out}/1 a b --change 1 --horizon 5 --out {out}/effect.png",
    "power {csv} --te 0.02",
    "open --help",
    "demo --help",
    "reproduce fig1 --help",
)


def test_the_commands_run_as_promised(world, tmp_path, monkeypatch):
    import shlex

    from enmesh.cli import main

    monkeypatch.chdir(tmp_path)
    second = em.simulate.var(GRAPH, n=300, seed=9)
    second.to_csv(tmp_path / "second.csv")
    rows = sorted((time, name) for name, times in world.times.items() for time in times)
    (tmp_path / "spikes.csv").write_text("node,time\n" + "".join(f"{name},{time:.6f}\n" for time, name in rows))
    files = {"csv": world.csv, "csv2": "second.csv", "spikes": "spikes.csv", "out": tmp_path}
    failed = []
    for line in COMMANDS:
        with warnings.catch_warnings(), monkeypatch.context() as patch:
            warnings.simplefilter("ignore")
            if line.startswith("infer") and line != COMMANDS[0]:  # one run draws its pictures
                patch.setattr(em.Network, "plot", lambda network, path: path.touch())
            try:
                code = main(shlex.split(line.format(**files)))
            except SystemExit as ended:
                code = ended.code
        if code:
            failed.append((line, code))
    assert not failed
    assert (tmp_path / "1" / "network.json").exists()
    assert json.loads((tmp_path / "1" / "network.json").read_text())
