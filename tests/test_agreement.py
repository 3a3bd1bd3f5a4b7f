"""One question, one answer: te, lags, score, infer, em.significance, the JSON and the page, over kinds of data."""

import json
import re
import shlex
from itertools import permutations

import numpy as np
import pandas as pd
import pytest

import enmesh as em
from enmesh.cli import main

GRAPH = "a>b, b>c"


def trials():
    parts = [em.simulate.var(GRAPH, n=120, lags={("a", "b"): 2}, seed=seed).to_dataframe() for seed in range(3)]
    return pd.concat([part.assign(subject=f"s{i}") for i, part in enumerate(parts)])


def smooth():
    noise = np.random.default_rng(3).normal(size=(360, 3))
    x = np.zeros_like(noise)
    for t in range(2, len(x)):
        x[t] = 1.6 * x[t - 1] - 0.8 * x[t - 2] + noise[t]
        x[t, 1] += 0.5 * x[t - 1, 0]
    return pd.DataFrame(x[60:], columns=list("abc"))


def driven(law, n=400, seed=5):
    """Three nodes, of which b follows a law of a and c one sample before."""
    rng = np.random.default_rng(seed)
    x, noise = np.zeros((n, 3)), rng.normal(size=(n, 3))
    for t in range(1, n):
        a, b, c = x[t - 1]
        x[t] = 0.4 * a + noise[t, 0], law(a, b, c, noise[t, 1]), 0.4 * c + noise[t, 2]
    return pd.DataFrame(x, columns=list("abc"))


KINDS = {
    "linear": lambda: em.simulate.var(GRAPH, n=300, lags={("a", "b"): 3}, seed=0).to_dataframe(),
    "maps": lambda: em.simulate.coupled_map(GRAPH, n=300, noise=0.05, seed=0).to_dataframe(),
    "states": lambda: em.simulate.markov(GRAPH, n=300, states=2, seed=1).to_dataframe(),
    "trials": trials,
    "smooth": smooth,
    "sines": lambda: driven(lambda a, b, c, e: 0.4 * b + np.sin(2 * a) + e),
    "variances": lambda: driven(lambda a, b, c, e: 0.4 * b + e * np.sqrt(0.2 + a * a)),
    "products": lambda: driven(lambda a, b, c, e: 0.4 * b + 0.7 * a * c + e),
    "uneven": lambda: driven(lambda a, b, c, e: 0.4 * b + 0.3 * a + e * np.exp(np.tanh(2 * b))),
    "counts": lambda: driven(lambda a, b, c, e: 0.2 * b + 0.7 * a + e).round().clip(0),
}


def printed(capsys, line):
    assert main(shlex.split(line)) == 0
    return json.loads(capsys.readouterr().out)


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """Return per kind of data its file with the options that read it, its series, and where infer wrote."""
    made = {}

    def record(kind):
        if kind not in made:
            folder = tmp_path_factory.mktemp(kind)
            frame, file = KINDS[kind](), folder / "data.csv"
            frame.to_csv(file, index=False)
            how = {"trials": "subject"} if kind == "trials" else {}
            words = f"{file} {' '.join(f'--{name} {value}' for name, value in how.items())}"
            out = folder / "out"
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(em.Network, "plot", lambda network, path: path.touch())
                assert main(shlex.split(f"infer {words} --allow-cycles --out {out} --quiet")) == 0
            made[kind] = words, em.read(file, **how), em.Network.from_json(out / "network.json"), out
        return made[kind]

    return record


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("kind", "ends"),
    [
        pytest.param(kind, ends, id=f"{kind}-{'>'.join(ends)}", marks=[pytest.mark.slow] * (not quick))
        for kind in KINDS
        for at, ends in enumerate(permutations("abc", 2))
        for quick in [at == 0 or kind in ("linear", "trials") or (at == 4 and kind in ("maps", "states", "smooth"))]
    ],
)
def test_a_link_has_one_value_one_p_and_the_same_lags(kind, ends, recorded, capsys):
    words, series, network, _ = recorded(kind)
    (source, target), link = ends, next(c for c in network.candidates if (c.source, c.target) == ends)
    given = [name for name in network.parents[target] if name != source]
    asked = f"{words.split()[0]} {source} {target} {' '.join(words.split()[1:])}"
    asked += f" --given {','.join(given)}" if given else ""
    te, profile = printed(capsys, f"te {asked} --json"), printed(capsys, f"lags {asked} --json")
    test, mine = (ask(series, source, target, given=given) for ask in (em.significance, em.lag_profile))
    assert {te["te"], profile["value"], test.value, mine.value} == {link.te}
    assert len({te["p_value"], profile["p_value"], test.p_value, mine.p_value}) == 1
    assert tuple(te["lags"][source]) == tuple(profile["tested"]) == mine.tested == link.lags
    assert te["lag"] == test.lag == link.lag
    assert profile["te"] == mine.te.tolist()
    if len(link.lags) == 1 and profile["te"][link.lags[0] - 1] != pytest.approx(link.te):
        assert max(profile["te"]) < link.te  # the linear regression on all lags together is the strongest
    if link.selected or not link.null:
        assert link.p_value == test.p_value
    else:  # the test of a link that is not in the network stops when it is clear that it cannot be
        assert min(link.p_value, test.p_value) > 0.05


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", KINDS)
def test_score_json_and_page_say_what_infer_says(kind, recorded, capsys):
    words, series, network, out = recorded(kind)
    graph = ", ".join([*network.names, *(f"{source}>{target}" for source, target in network)])
    found = printed(capsys, f'score {words} --graph "{graph}" --json')
    assert found["total"] == pytest.approx(network.score)
    assert found["local"] == pytest.approx(network.local)
    alone = em.infer(series, acyclic=False)
    assert alone.candidates == network.candidates
    written = json.loads((out / "network.json").read_text())
    assert {(c["source"], c["target"]): c["p_value"] for c in written["candidates"]} == {
        (c.source, c.target): c.p_value for c in network.candidates
    }
    page = json.loads(re.search(r'id="data">(.*?)</script>', (out / "report.html").read_text(), re.S)[1])
    shown = {(page["names"][i], page["names"][j]): rest for i, j, *rest in page["links"]}
    for c in network.candidates:
        te, p_value, q_value, lags, selected, *_ = shown[c.source, c.target]
        assert (te, p_value, q_value) == pytest.approx((c.te, c.p_value, c.q_value), rel=1e-8)
        assert (tuple(lags), bool(selected)) == (c.lags, c.selected)
