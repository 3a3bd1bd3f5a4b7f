"""The answer in words: who drives whom, after how long, how strongly, how sure, what next; cautions as a plan."""

import dataclasses
import re

import numpy as np
import pytest

import enmesh as em
from enmesh.cli import show
from enmesh.draw import answer, cautions
from enmesh.draw.arrows import signs_of
from enmesh.draw.report import cite, words
from enmesh.draw.report.page import contents, page
from enmesh.draw.subject import all_tests
from tests import networks


def with_time(network, every):
    return dataclasses.replace(network, provenance={**network.provenance, "every": every})


@pytest.mark.parametrize(
    ("every", "lag", "said"),
    [
        ("0.004 s", 2, "8 ms"),
        ("0.5 s", 3, "1.5 s"),
        ("1 day", 1, "1 day"),
        ("1 day", 4, "4 days"),
        ("1 month", 3, "3 months"),
        ("2 h", 1, "2 h"),
        ("", 1, "1 sample"),
        ("", 5, "5 samples"),
        ("0.02", 2, "2 samples (0.04 time units)"),
    ],
)
def test_lags_are_told_in_the_unit_of_the_recording(every, lag, said):
    assert answer.later(with_time(networks.three(), every), lag) == said


def test_three_sentences_say_who_when_and_how_strong():
    network = networks.thirty()
    said = answer.sentences(network)
    assert len(said) == 3
    top = network.edges.iloc[0]
    assert said[0].startswith(f"{top.source} drives {top.target} after 1 sample: {top.te:.3g} nats")
    assert "drives the most nodes" in said[2]
    few = answer.sentences(networks.three(nulls=0))
    assert [line.split(" after")[0] for line in sorted(few)] == ["a drives b", "b drives c"]


def test_doubtful_links_may_drive():
    tests = [dataclasses.replace(c, q_value=0.4) for c in networks.three().candidates]
    network = networks.three(candidates=tuple(tests))
    assert all(" may drive " in line for line in answer.sentences(network))
    assert str(answer.surety(network)) == "0 solid, 2 doubtful"


def test_links_left_out_are_counted_and_told():
    network = networks.three(removed=(("c", "a"),))
    assert str(answer.surety(network)).endswith(", 1 left out")
    assert "c → a (dotted)" in answer.feedback(network)
    assert answer.heard(network)[-1] == "c → a was left out because it would close a loop."


def test_feedback_is_told():
    assert answer.loops(networks.ring(4)) == [("x0", "x1", "x2", "x3")]
    assert "loop of x0, x1, x2, x3" in answer.feedback(networks.ring(4))
    assert answer.feedback(networks.make(("a", "b"), [(0, 1), (1, 0)])) == "Feedback: a ⇄ b."
    assert answer.loops(networks.five()) == []


def test_no_link_says_what_would_have_been_missed():
    said = " ".join(answer.sentences(networks.empty(options=networks.options(0))))
    assert re.search(r"With 2,000 samples, 4 of 5 linear links of 0\.00\d+ nats are found", said)
    assert "The smallest p-value is" in said


def test_every_network_says_what_it_could_show():
    network = em.infer(em.simulate.var("a>b", n=300, seed=0))
    smallest = em.power(network).smallest
    assert f"With 300 samples, 4 of 5 linear links of {smallest:.2g} nats are found" in answer.reach(network)
    assert answer.reach(networks.make(("a",), [])) == ""


def about(effect, error, bend=0.0):
    x = np.linspace(-2, 2, 32)
    curve = np.column_stack([x, (1 - bend) * x + bend * x**2])
    return {"effect": effect, "effect_error": error, "q_value": 0.01, "curve": curve}


def test_a_sign_needs_two_errors_and_a_straight_shape():
    assert answer.effect_sign(about(0.3, 0.1)) == "up"
    assert answer.effect_sign(about(-0.3, 0.1)) == "down"
    assert answer.effect_sign(about(0.008, 0.03)) == ""
    assert answer.effect_sign(about(0.3, 0.1, bend=1.0)) == "curved"
    doubtful = about(0.3, 0.1, bend=1.0) | {"q_value": 0.3}
    assert answer.effect_sign(doubtful) == "up"
    linear = about(0.3, 0.1, bend=1.0) | {"te": 9 / 2000, "chance": answer.CHI2 / 2000}  # t = 3 of 1,000 samples
    assert answer.effect_sign(linear) == "up"
    assert answer.effect_sign(linear | {"te": 0.02}) == "curved"
    assert answer.effect_sign(None) == answer.effect_sign({"effect": None}) == ""


def test_noise_has_no_sign_and_effects_have_errors():
    rng = np.random.default_rng(5)
    values = rng.normal(size=(600, 3))
    values[1:, 1] += 0.5 * values[:-1, 0]
    values[1:, 2] += values[:-1, 0] ** 2
    net = em.infer(em.Series(values, names=["a", "b", "c"]), required=[("b", "a"), ("a", "c")], acyclic=False,
                   score=em.TEA(estimator=em.Regression(), embedding=em.Embedding()))  # fmt: skip
    signs = {(net.names[i], net.names[j]): sign for (i, j), sign in signs_of(net.with_evidence()).items()}
    assert (signs["a", "b"], signs["b", "a"], signs["a", "c"]) == ("up", "", "curved")
    # The standard error of a linear effect of unit noise is 1 / sqrt(n).
    assert net.explain("a", "b").effect_error == pytest.approx(600**-0.5, rel=0.25)


WARNED = (
    "slow: samples until the autocorrelation is below 1/e: 12 (a), 9 (c). Circular shifts allow for this",
    "trend: slope of a straight line over time, in standard errors: 20 (b). Remove it with series.detrend()",
    "season: a, b share a period of about 12 samples. Remove it with series.deseason(period=12)",
)


def test_cautions_are_a_plan_with_a_command_and_badges():
    known = networks.provenance(3) | {"command": "enmesh infer rec.csv --out res"}
    network = networks.three(warnings=WARNED, provenance=known)
    steps = cautions.plan(network)
    assert [step.nodes for step in steps] == [("b",), ("a", "b"), ("a", "c")]
    assert [step.command for step in steps[:2]] == [
        "enmesh infer rec.csv --out res --detrend",
        "enmesh infer rec.csv --out res --season 12",
    ]
    assert cautions.plan(networks.three(warnings=WARNED))[0].command == "em.infer(series.detrend())"
    assert answer.following(network) == ("Remove the trend of b.", "enmesh infer rec.csv --out res --detrend")


def test_the_first_command_says_which_cautions_it_removes(capsys):
    rng = np.random.default_rng(0)
    values = rng.normal(size=(400, 2)) + np.outer(np.arange(400), [0.02, 0.0])
    series = em.Series(values, names=["first", "second"])
    with pytest.warns(em.HazardWarning, match="trend"):
        net = em.infer(series, score=em.TEA(embedding=em.Embedding()))
    step = cautions.planned(net)[0]
    assert step.command == "em.infer(series.detrend())"
    assert step.removes is not None
    assert step.removes >= 1
    count = len(net.warnings)
    assert f"Cautions now: {count}. With this command: {count - step.removes}, if" in page(net)
    show.network(net)
    assert f"(cautions now: {count}; with this command: {count - step.removes})" in capsys.readouterr().out
    assert not any("trend" in finding.kind for finding in em.diagnose(series.detrend()))


PARAGRAPHS = ["five", "three", "thirty", "ring"]


@pytest.mark.parametrize("maker", PARAGRAPHS)
def test_every_work_that_is_cited_is_listed(maker):
    for nulls in (0, 99):
        network = getattr(networks, maker)(nulls=nulls)
        listed = words.references(network)
        for author, year in cite.citations(words.paragraph(network)):
            assert any(cite.is_of(work, author, year) for work in listed) or author in ("Cliff",), (author, year)


def test_no_text_lists_every_node():
    network = networks.fifty()
    for said in (words.paragraph(network), words.caption(network), words.standing(network), *answer.sentences(network)):
        assert sum(name in said for name in network.names) <= 3


def test_works_of_the_default_run_are_listed():
    graph = {f"n{k}": [f"n{k - 1}"] * (k > 0) for k in range(9)}
    network = em.infer(em.simulate.var(graph, n=300, seed=0))
    said, listed = words.paragraph(network), words.references(network)
    assert "a regression test of each link" in said
    assert "up to lag 5 were chosen by forward selection" in said
    assert "choice of its lags, but not for the choice of the other sources" in said
    assert "surrogates made the same choice" not in said
    for author, year in (("Wilks", "1932"), ("Liu", "2020")):
        assert any(cite.is_of(work, author, year) for work in listed)
    bib = cite.bibtex(listed)
    assert bib.count("@") == len(listed)
    assert len(set(re.findall(r"@\w+\{(\w+),", bib))) == len(listed)
    assert "author = {Wilks, S. S.}" in bib
    assert "journal = {Biometrika}" in bib


def test_what_would_be_found_is_said_at_the_level_of_the_run():
    series = em.simulate.var("a>b", n=300, seed=0)
    strict, loose = (em.infer(series, level=level) for level in (0.001, 0.02))
    assert em.power(loose).level == 0.02
    named = em.infer(series, score=em.TEA(embedding=em.Embedding(), alpha=0.95))
    assert em.power(named).level == pytest.approx(0.05)
    unknown = networks.three(options={})
    assert em.power(unknown).level == 0.01
    for network in (named, unknown):
        assert f"links of {em.power(network).smallest:.2g} nats" in answer.reach(network)
    smallest = [float(re.search(r"links of ([\d.]+) nats", answer.reach(net))[1]) for net in (strict, loose)]
    assert smallest[0] > smallest[1]


def test_every_pair_that_was_tested_is_told_at_any_size():
    graph = {f"n{k}": [f"n{k - 1}"] * (k > 0) for k in range(24)}
    network = em.infer(em.simulate.var(graph, n=400, seed=0), max_lag=1)
    possible = 24 * 23
    assert len(network.candidates) < possible == len(all_tests(network)) == len(network.pairs)
    assert words.headline(network).endswith(f"of {possible} possible links found.")
    assert "were tested" not in words.headline(network)
    shown = contents(network)
    told = {
        (network.names[i], network.names[j]): rest for i, j, *rest in shown["pairs"] + [r[:5] for r in shown["links"]]
    }
    for row in network.pairs.itertuples():
        te, p_value, q_value, *_ = told[row.source, row.target]
        assert (te, p_value, q_value) == pytest.approx((row.te, row.p_value, row.q_value), rel=1e-8)


def test_events_have_a_next_step():
    known = networks.provenance(3) | {"events": 400, "duration": 60.0}
    said, command = answer.following(networks.three(provenance=known))
    assert said.startswith("Test the link with the largest p-value, ")
    assert command.startswith("em.significance(events, '")
    nearest, _ = answer.following(networks.empty(provenance=known))
    assert "pair with the smallest p-value" in nearest


def test_values_that_are_wrong_come_first_in_the_plan():
    said = (*WARNED, "sentinels: -999 in b lies far from all other values; read it so with na='-999'",
            "within one sample: a and b depend on each other beyond all pasts")  # fmt: skip
    kinds = [step.kind for step in cautions.plan(networks.three(warnings=said))]
    assert kinds == ["sentinels", "trend", "season", "within one sample", "slow"]


def test_a_command_of_the_plan_can_be_run_as_it_stands():
    said = ("changing: the variance differs between the first and the second half, in standard errors: 9 (a); look at "
            "parts of the record", "sentinels: -999 in b lies far; read it so with na='-999'")  # fmt: skip
    known = networks.provenance(3) | {"file": "rec.csv"}
    first, second = cautions.plan(networks.three(warnings=said, provenance=known))
    assert first.command == "em.infer(em.read('rec.csv', na=['-999']))"
    assert second.command == "em.windows(series, width=250, step=62)"


def test_headline_says_how_many_pairs_were_tested():
    network = networks.five()
    few = networks.five(candidates=network.candidates[:12])
    assert words.headline(few).endswith("12 of 20 possible pairs were tested.")
    assert "of 20 possible links found" in words.headline(network)
    for finished in ("Proven", "optimal", "families"):
        assert finished not in words.headline(network)


def faulty():
    """Return a recording with a spike, a stuck sensor, a number for missing values, a copy and a trend."""
    values = np.random.default_rng(0).normal(size=(600, 5))
    values[100, 1], values[200:260, 2], values[300, 3] = 99.5, 0.3, -999
    values[:, 4] = values[:, 0] + 1e-4 * values[:, 4]
    return em.Series(values, names=["a", "b", "c", "d", "e"])


FAULTS = {
    "spikes": "em.infer(series.mask(slice(100, 101)))",
    "stuck": "em.infer(series.mask(slice(200, 260)))",
    "sentinels": "em.infer(series.mask((series.values == -999).any(axis=1)))",
    "synchronised": "em.infer(series.select(['a', 'b', 'c', 'd']))",
}


@pytest.mark.filterwarnings("ignore:missing or masked")
@pytest.mark.parametrize("kind", FAULTS)
def test_commands_on_wrong_values_run_and_say_what_is_left(kind):
    series = faulty()
    found = {one.message.partition(":")[0]: one.message for one in em.diagnose(series, max_parents=1)}
    network = networks.make(series.names, [(0, 1)], warnings=(found[kind],), series=series)
    (step,) = cautions.planned(network)
    assert step.command == FAULTS[kind]
    left = [one.message for one in em.diagnose(eval(step.command[len("em.infer(") : -1]), max_parents=1)]
    assert not any(one.startswith(kind) for one in left)
    assert step.removes == len(found) - len(left) >= 1
    typed = dataclasses.replace(network, provenance=network.provenance | {"command": "enmesh infer rec.csv"})
    flags = {"spikes": "--mask 101:101", "stuck": "--mask 201:260", "sentinels": "--na -999",
             "synchronised": "--columns a,b,c,d"}  # fmt: skip
    assert cautions.plan(typed)[0].command == f"enmesh infer rec.csv {flags[kind]}"


def test_no_command_has_a_gap():
    said = ("spikes: distance from the median: 30 (a); mask them with series.mask(rows)",
            "max_parents=3 left out significant sources of b; raise max_parents",
            "changing: the variance differs, in standard errors: 9 (a); look at parts of the record",
            "no direction within one sample: a and c depend on each other, and both directions fit.")  # fmt: skip
    known = {name: value for name, value in networks.provenance(3).items() if name != "samples"}
    commands = [step.command for step in cautions.plan(networks.three(warnings=said, provenance=known))]
    tiers = "em.infer(series, within_sample=True, tiers=[['a'], ['c']])"
    assert commands == ["", "em.infer(series, max_parents=6)", tiers, ""]


def test_a_word_that_looks_like_a_node_is_none():
    network = networks.three()
    assert cautions.named(network, "nearly deterministic: 0.01 (b); sources add little, and a long past hides") == (
        "b",
    )
    assert cautions.named(network, "sentinels: -999 in c lies far from all") == ("c",)
    assert cautions.named(network, "a and b depend on each other: a -> c") == ("a", "b", "c")


def test_power_of_events_follows_the_spread_of_surrogates_and_the_length():
    known = networks.provenance(3) | {"events": 400, "duration": 60.0}
    said = [answer.reach(networks.three(provenance=known | {"duration": time})) for time in (60.0, 600.0)]
    sizes = [float(re.search(r"links of ([\d.]+) nats per unit of time are found", one)[1]) for one in said]
    assert sizes[0] > sizes[1] > 0
    assert answer.reach(networks.three(provenance=known, nulls=0)) == ""


@pytest.mark.slow
def test_links_of_events_are_found_as_often_as_is_said():
    found = {}
    for strength in (1.2, 3.0):
        hits, sizes, said = [], [], []
        for seed in range(9400, 9420):
            events = em.simulate.coupled_events("a>b", duration=400, strength=strength, seed=seed)
            net = em.infer(events, score=em.TEE(estimator=em.PointProcess(), n_surrogates=99))
            (link,) = [c for c in net.candidates if (c.source, c.target) == ("a", "b")]
            hits.append(link.selected)
            sizes.append(link.te - np.mean(link.null))
            said.append(float(re.search(r"links of ([\d.]+) nats", answer.reach(net))[1]))
        found[strength] = np.mean(hits), np.mean(sizes) / np.mean(said)
    (seldom, weak), (often, strong) = found.values()
    assert weak < 1 < strong
    assert seldom < 0.8 < often
