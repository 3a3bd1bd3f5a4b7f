"""Power against simulation, parts against closed forms, and the two commands."""

import json

import numpy as np
import pytest

import enmesh as em
from enmesh.cli import main
from enmesh.estimators.wilks import wilks_p
from enmesh.model import fit
from enmesh.model.parts import RULES, kind_of, lattice, parts_of_informations, parts_of_table
from tests.marks import rest_slow

# --- power ------------------------------------------------------------------------------------------------------------


def simulated(n, coupling, level, repetitions, rng):
    """Share of regressions of y on z and x in which x is significant."""
    z, x, e = rng.standard_normal((3, repetitions, n))
    y = coupling * x + 0.3 * z + e
    hits = 0
    for one in range(repetitions):
        design = np.column_stack([np.ones(n), z[one], x[one]])
        left = [y[one] - d @ np.linalg.lstsq(d, y[one], rcond=None)[0] for d in (design[:, :2], design)]
        te = np.log((left[0] @ left[0]) / (left[1] @ left[1])) / 2
        hits += wilks_p(2 * te, 1, 1, n - 3) <= level
    return hits / repetitions


@pytest.mark.parametrize(("n", "coupling", "level"), [(30, 0.6, 0.05), (60, 0.4, 0.01), (200, 0.2, 0.01)])
def test_power_is_that_of_simulations(n, coupling, level):
    te = np.log(1 + coupling**2) / 2
    predicted = em.plan(te=te, samples=n + 1, level=level, test="linear").of(te)
    assert predicted == pytest.approx(simulated(n, coupling, level, 1500, np.random.default_rng(n)), abs=0.04)


def test_no_link_is_found_at_the_level():
    linear = {"samples": 100, "test": "linear"}
    assert em.plan(level=0.01, **linear).of(1e-12) == pytest.approx(0.01, abs=1e-6)
    assert em.plan(level=0.01, max_lag=5, **linear).of(1e-12) == pytest.approx(0.002, abs=1e-6)
    assert em.plan(level=0.05, states=3, samples=100).of(1e-12) == pytest.approx(0.05, abs=1e-6)
    assert 0.02 < em.plan(level=0.05, samples=100).of(1e-12) <= 0.055  # shifts make it careful


def test_levels_and_lags_are_those_of_infer():
    assert em.plan(nodes=10, te=0.02).level == 0.01
    assert em.plan(nodes=20, te=0.02).level == pytest.approx(1 / 380)
    assert em.plan(te=0.02).lags == 5
    with pytest.raises(em.InputError, match="test='shift' is not known"):
        em.plan(te=0.02, test="shift")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("n", "own", "coupling", "lag"), [(200, 0.5, 0.25, 1), (300, 0.0, 0.2, 2), (1000, 0.5, 0.1, 3), (500, 0.8, 0.1, 1)]
)
def test_power_is_that_of_infer(n, own, coupling, lag):
    te = np.log(1 + coupling**2 / (1 - own**2)) / 2  # at lags over 1 the own past says next to nothing of the source
    found = 0
    for seed in range(300):
        series = em.simulate.var("a>b", n=n, own=own, coupling=coupling, lags=lag, seed=40_000 + seed)
        found += "a" in em.infer(series, max_lag=5).parents["b"]
    assert em.plan(te=te, samples=n, memory=own).of(te) == pytest.approx(found / 300, abs=0.08)


def test_samples_needed_and_smallest_are_inverse():
    found = em.plan(te=0.02)
    needed = found.samples_needed()
    assert found.of(0.02, needed) >= 0.8 > found.of(0.02, needed - 2)
    assert em.plan(samples=needed).smallest == pytest.approx(0.02, rel=0.01)
    long = em.plan(samples=needed, te=0.02)
    assert (found.smallest, found.used_samples, found.of(0.01)) == (long.smallest, long.used_samples, long.of(0.01))
    assert found.table.smallest.tolist() == [found.smallest]


def test_power_of_a_recording_and_of_a_network():
    series = em.simulate.var("a>b, b>c", n=300, seed=0)
    found = em.power(series)
    assert found.smallest == pytest.approx(em.plan(nodes=3, samples=300).smallest)
    assert "With 300 samples linear links of at least" in found.sentence
    assert len(found.table) == 6
    net = em.infer(series, score="tea", estimator="gaussian", max_lag=3)
    with_lags = em.power(net, links=[("a", "c")])
    assert (with_lags.lags, with_lags.level) == (3, 0.01)
    assert with_lags.smallest > em.plan(samples=300, test="linear").smallest
    assert em.power(em.infer(series)).smallest == pytest.approx(found.smallest, rel=0.1)
    two = em.power(em.Series([series.values[:150], series.values[150:]], names=series.names))
    assert two.used_samples == 290


def test_states_are_asked_about_as_their_test_sees_them():
    series = em.simulate.markov("a>b", n=500, states=3, seed=6)
    assert em.power(series).smallest == em.plan(samples=500).smallest  # `infer` takes states for numbers
    counted = em.power(em.infer(series, estimator="discrete", max_lag=1))
    assert counted.smallest == em.plan(samples=500, states=3).smallest
    assert "500 samples links of at least" in counted.sentence
    for ask, said in (
        (lambda: em.plan(te=0.1, states=2, test="linear"), "goes with test='counting'"),
        (lambda: em.power(em.simulate.var("a>b", n=50), test="counting"), "counting needs states throughout"),
    ):
        with pytest.raises(em.InputError, match=said):
            ask()


def test_memory_of_a_source_shows_a_link_at_more_lags_and_raises_what_chance_gives():
    slowest, slow, quick = (em.plan(samples=500, memory=one).of(0.013) for one in (0.95, 0.8, 0.0))
    assert slow > quick + 0.01 > slowest + 0.05
    alone = [em.plan(samples=500, max_lag=1, memory=one).of(0.013) for one in (0.0, 0.8, 0.95)]
    assert alone[0] > alone[1] + 0.02 > alone[2] + 0.1
    with pytest.raises(em.InputError, match="memory=1 is not possible"):
        em.plan(samples=500, memory=1)


def test_power_from_a_pilot():
    pilot = em.simulate.var("a>b", n=500, coupling=0.3, seed=0)
    found = em.power(fit(pilot, pilot.truth), samples=[20, 200], n=40, estimator="gaussian", n_surrogates=0)
    assert found.table.power.iloc[1] > 0.9 > found.table.power.iloc[0]
    assert 20 < found.samples_needed("a", "b") < 200
    assert found.table.te.iloc[0] == pytest.approx(
        em.transfer_entropy(pilot, "a", "b", estimator=em.Gaussian()), abs=0.02
    )


@pytest.mark.parametrize(
    ("ask", "said"),
    [
        (lambda: em.plan(), "give te="),
        (lambda: em.plan(te=-1), "te=-1 is not possible"),
        (lambda: em.plan(te=0.1, level=2), "level=2 is not possible"),
        (lambda: em.power(em.simulate.var("a>b", n=50), samples=[10]), "go with a model"),
        (lambda: em.power(em.simulate.var("a>b", n=50), links=[("a", "q")]), "there is no node 'q'"),
    ],
)
def test_faults_of_power_are_said(ask, said):
    with pytest.raises(em.InputError, match=said):
        ask()


# --- parts ------------------------------------------------------------------------------------------------------------


def gate(rule):
    counts = np.zeros((1, 2, 2, 2))
    for a in (0, 1):
        for b in (0, 1):
            counts[0, a, b, rule(a, b)] += 1
    return counts


COPY = np.zeros((1, 2, 2, 2))
COPY[0, 0, 0, 0] = COPY[0, 1, 1, 1] = 1
AND = 0.75 * np.log2(4 / 3)  # bits that a and b tell alike of their conjunction
GATES = {  # redundant, unique a, unique b, synergistic, in bits
    "xor": (gate(lambda a, b: a ^ b), (0, 0, 0, 1)),
    "and": (gate(lambda a, b: a & b), (AND, 0, 0, 0.5)),
    "or": (gate(lambda a, b: a | b), (AND, 0, 0, 0.5)),
    "unique": (gate(lambda a, b: a), (0, 1, 0, 0)),
    "copy": (COPY, (1, 0, 0, 0)),
}


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("name", GATES)
def test_logic_gates(name, rule):
    counts, bits = GATES[name]
    found = parts_of_table(counts, rule)
    expected = dict(zip(lattice(2), np.array(bits) * np.log(2)))
    # 3/4 log2(4/3) = .3113 bits: a conjunction is what the smaller information of each outcome gives
    for atom, value in expected.items():
        assert found[atom] == pytest.approx(value, abs=1e-3)


@pytest.mark.parametrize("rule", RULES)
def test_parts_of_states_add_up(rule):
    counts = np.random.default_rng(0).random((3, 2, 3, 2, 4))
    p = counts / counts.sum()
    total = sum(parts_of_table(counts, rule).values())
    joint = p.reshape(3, 12, 4)
    cell, source, target = joint.sum((1, 2)), joint.sum(2), joint.sum(1)
    ratio = joint * cell[:, None, None] / (source[:, :, None] * target[:, None, :])
    assert total == pytest.approx(np.sum(joint * np.log(ratio)))


def test_the_lattice_of_three():
    assert len(lattice(3)) == 18
    atoms = parts_of_informations(
        {one: float(len(one)) for one in [(0,), (1,), (2,), (0, 1), (0, 2), (1, 2), (0, 1, 2)]}
    )
    assert sum(atoms.values()) == pytest.approx(3)
    assert {kind_of(atom) for atom in atoms} == {"unique", "redundant", "synergistic"}


def test_gaussian_parts_are_the_closed_form():
    rng = np.random.default_rng(0)
    x = rng.multivariate_normal([0, 0], [[1, 0.4], [0.4, 1]], 3000)
    y = np.r_[0.0, 0.6 * x[:-1, 0] + 0.3 * x[:-1, 1] + rng.standard_normal(2999)]
    series = em.Series(np.column_stack([x, y]), names=["a", "b", "y"])
    found = em.parts(series, ["a", "b"], "y", estimator="gaussian", n_surrogates=19)
    own = fit(series, {"y": ["a", "b"]}).nodes[2].own
    columns = [x[:-1, 0], x[:-1, 1], *(np.r_[np.zeros(lag - 1), y[: len(y) - lag]] for lag in range(1, own + 1)), y[1:]]
    s = np.cov(np.array(columns)[:, own:] if own else np.array(columns))
    told = [-np.log(1 - s[i, -1] ** 2 / (s[i, i] * s[-1, -1])) / 2 for i in (0, 1)]
    both = np.log(s[-1, -1] / (s[-1, -1] - s[-1, :2] @ np.linalg.solve(s[:2, :2], s[:2, -1]))) / 2
    assert own == 0
    atoms = found.atoms.set_index("part").value
    assert atoms["a | b"] == pytest.approx(min(told), abs=1e-6)
    assert atoms["a"] == pytest.approx(told[0] - told[1], abs=1e-6)
    assert atoms["b"] == pytest.approx(0, abs=1e-6)
    assert atoms["a + b"] == pytest.approx(both - max(told), abs=1e-6)
    assert found.total == pytest.approx(both, abs=1e-6)


def test_products_are_synergy():
    rng = np.random.default_rng(1)
    a, b, e = rng.standard_normal((3, 700))
    c = np.r_[0.0, a[:-1] * b[:-1] + 0.5 * e[1:]]
    series = em.Series(np.column_stack([a, b, c]), names=["a", "b", "c"])
    found = em.parts(series, ["a", "b"], "c", n_surrogates=39)
    assert found.estimator == "basis"
    assert found.synergistic > 0.5 > 10 * abs(found.redundant)
    assert found.atoms.set_index("part").p_value["a + b"] == pytest.approx(1 / 40)


def test_parts_given_a_network():
    series = em.simulate.var("a>d, b>d, c>d", n=600, seed=4)
    net = em.infer(series, score="tea", estimator="gaussian", max_lag=1)
    found = em.parts(series, ["a", "b"], "d", network=net, n_surrogates=19)
    assert found.given == ("c",)
    model = net.fit(series)
    assert found.total > 0.1
    assert model.parents["d"] == ("a", "b", "c")


@pytest.mark.parametrize(
    ("ask", "said"),
    [
        (lambda s: em.parts(s, ["a"], "c"), "1 sources; give two or three"),
        (lambda s: em.parts(s, ["a", "c"], "c"), "c is the target and a source"),
        (lambda s: em.parts(s, ["a", "b"], "c", estimator="ksg"), "estimator='ksg' is not known"),
        (lambda s: em.parts(s, ["a", "b"], "c", rule="surd"), "rule='surd' is for states"),
        (lambda s: em.parts(s, ["a", "b"], "c", estimator="states"), "counting needs states throughout"),
    ],
)
def test_faults_of_parts_are_said(ask, said):
    with pytest.raises(em.InputError, match=said):
        ask(em.simulate.var("a>c, b>c", n=100, seed=0))


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["gaussian", "basis", "states"])
def test_false_synergy_is_at_the_level(kind):
    false = 0
    for seed in range(300):
        rng = np.random.default_rng(seed)
        if kind != "states":
            series = em.simulate.var("a>c", n=200, seed=seed)
            series = em.Series(np.column_stack([series.values, rng.standard_normal(200)]), names=["a", "c", "b"])
        else:
            a, b = rng.integers(0, 2, (2, 200))
            c = np.r_[0, a[:-1] ^ (rng.random(199) < 0.2)]
            series = em.Series(np.column_stack([a, b, c]), names=["a", "b", "c"])
        found = em.parts(series, ["a", "b"], "c", estimator=kind, n_surrogates=99, seed=seed)
        false += found.atoms.set_index("part").p_value["a + b"] <= 0.05
    assert 0.02 < false / 300 < 0.08


@pytest.mark.parametrize("kind", rest_slow(["power", "by samples", "parts", "pilot"], 3))
def test_power_and_parts_draw_themselves(kind, tmp_path):
    series = em.simulate.var("a>c, b>c", n=200, seed=0)
    ask = {
        "power": lambda: em.power(series),
        "by samples": lambda: em.plan(te=0.05),
        "pilot": lambda: em.power(fit(series, series.truth), samples=[50, 100], n=10),
        "parts": lambda: em.parts(series, ["a", "b"], "c", n_surrogates=19),
    }
    found = ask[kind]()
    found.plot(tmp_path / "it.svg")
    assert (tmp_path / "it.svg").stat().st_size > 5000
    assert repr(found)
    assert found._repr_html_()


# --- on the command line ----------------------------------------------------------------------------------------------


def test_whatif_and_power_on_the_command_line(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["simulate", "var", "--graph", "a>b, b>c", "-n", "400", "--out", "rec.csv"]) == 0
    assert main(["infer", "rec.csv", "--estimator", "gaussian", "--score", "tea", "--max-lag", "1", "-q"]) == 0
    capsys.readouterr()
    assert main(["whatif", "rec-results", "a", "c", "--change", "1", "--horizon", "3", "--out", "effect.png"]) == 0
    said = capsys.readouterr().out
    assert "A change of a by 1 for one sample moves c by" in said
    assert "This assumes:" in said
    assert (tmp_path / "effect.png").exists()
    assert (tmp_path / "rec-results" / "model.json").exists()
    (tmp_path / "rec.csv").unlink()
    assert main(["whatif", "rec-results", "a", "c", "--horizon", "3", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [row["horizon"] for row in found["effect"]] == [1, 2, 3]
    assert found["assumptions"]
    assert main(["whatif", "rec-results", "a", "z"]) == 2
    assert "there is no node 'z'" in capsys.readouterr().err
    (tmp_path / "rec-results" / "model.json").unlink()
    assert main(["whatif", "rec-results", "a", "c"]) == 2
    assert "give --data FILE" in capsys.readouterr().err


def test_power_on_the_command_line(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    em.simulate.var("a>b", n=200, seed=0).to_dataframe().to_csv("pilot.csv", index=False)
    assert main(["power", "pilot.csv", "--te", "0.02", "--out", "power.png"]) == 0
    assert "A linear link of 0.02 nats is found" in capsys.readouterr().out
    assert main(["power", "--nodes", "10", "--te", "0.02", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["samples_needed"] == em.plan(nodes=10, te=0.02).samples_needed()
    assert main(["power", "pilot.csv", "--nodes", "3"]) == 2
    assert "--nodes has no effect" in capsys.readouterr().err
    assert main(["power"]) == 2
