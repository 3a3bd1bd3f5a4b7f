"""What went wrong with arguments, graphs and networks as files, and what is said about it now."""

import contextlib
import io
import json
import pickle
import warnings

import numpy as np
import pandas as pd
import pytest

import enmesh as em
from enmesh.estimators.base import Estimator
from enmesh.methods import members
from enmesh.options import option, whole

N = 120
RNG = np.random.default_rng(5)
A = RNG.normal(size=N)
FRAME = pd.DataFrame({"a": A, "b": np.r_[0.0, 0.8 * A[:-1]] + 0.3 * RNG.normal(size=N)})
SERIES = em.simulate.var("a>b, b>c", n=300, seed=0)
PLAIN = em.TEA(estimator=em.Gaussian(), embedding=em.Embedding())


@pytest.fixture
def run(tmp_path, monkeypatch, shell):
    """Run a command line in a folder with ``data.csv``; return its exit code, stdout and stderr."""
    monkeypatch.chdir(tmp_path)
    FRAME.to_csv("data.csv", index=False)
    return shell


def test_and_b10_names_of_own_classes_are_guarded():
    def define(name, cli_name):
        body = {"cli_name": cli_name, "__module__": "mine", "__annotations__": {}, "condition": None, "_prepare": None}
        return option(type(name, (Estimator,), {**body, "entropy": None, "__doc__": "Mine."}))

    with pytest.raises(
        em.InputError, match=r"there is a class KSG already, in enmesh.estimators.ksg; give yours another"
    ):
        define("KSG", "mine")
    from enmesh import options

    try:
        define("Mine", "gaussian")
        with pytest.raises(em.InputError, match="Gaussian and Mine have the same cli_name, 'gaussian'"):
            members(Estimator)
    finally:
        options._CLASSES.pop("Mine", None)

    class Plain(em.Gaussian):
        """Without @option."""

    with pytest.raises(em.InputError, match="the class Plain is no option; put @option"):
        options.describe(Plain())


def test_numbers_of_numpy_go_wherever_numbers_go():
    one, many, seed = np.int64(1), np.int64(99), np.int64(3)
    series = em.Series(FRAME)
    assert em.KSG(k=np.int64(4)) == em.KSG(k=4)
    same = em.significance(series, "a", "b", estimator="gaussian", n_surrogates=99, seed=3)
    assert em.significance(series, "a", "b", estimator="gaussian", n_surrogates=many, seed=seed).p_value == same.p_value
    score = em.TEE(estimator=em.Gaussian(), embedding=em.Embedding(dim=one), n_surrogates=many, seed=seed)
    network = em.infer(series, score=score, max_parents=one, seed=seed, n_jobs=one, max_lag=None)
    assert em.Network.from_json(network.to_json()).parents == network.parents
    assert em.lag_profile(series, "a", "b", max_lag=np.int64(2), estimator="gaussian", n_surrogates=0).best == 1
    assert em.Series(FRAME, dt=np.float32(0.5), sfreq=None).dt == 0.5
    assert em.Series(FRAME.to_numpy(), sfreq=np.int32(4)).dt == 0.25
    assert (
        em.Series(FRAME.assign(k=np.arange(N) % 7 + 1), na=np.int64(3), missing="drop").missing[0].sum() == (N + 4) // 7
    )


def test_every_function_takes_what_infer_takes(tmp_path):
    path = tmp_path / "x.csv"
    FRAME.to_csv(path, index=False)
    pl, xr = pytest.importorskip("polars"), pytest.importorskip("xarray")
    forms = {
        "DataFrame": FRAME,
        "path": path,
        "text of a path": str(path),
        "open file": io.BytesIO(path.read_bytes()),
        "polars": pl.from_pandas(FRAME),
        "lazy": pl.from_pandas(FRAME).lazy(),
        "arrow": pl.from_pandas(FRAME).to_arrow(),
        "mapping": FRAME.to_dict("list"),
        "xarray": xr.DataArray(FRAME.to_numpy(), dims=("time", "node"), coords={"node": ["a", "b"]}),
        "list of paths": [path],
    }
    series, how = em.Series(FRAME), {"estimator": em.Gaussian()}
    calls = {
        "transfer_entropy": lambda x: em.transfer_entropy(x, "a", "b", **how),
        "active_information": lambda x: em.active_information(x, "a", **how),
        "conditional_entropy": lambda x: em.conditional_entropy(x, "b", "a", **how),
        "stochastic_interaction": lambda x: em.stochastic_interaction(x, **how),
        "kl_divergence": lambda x: em.kl_divergence(x, "a>b", **how),
        "instantaneous_dependence": lambda x: em.instantaneous_dependence(x, **how),
        "log_likelihood": lambda x: em.log_likelihood(x, "a>b", **how),
        "significance": lambda x: em.significance(x, "a", "b", n_surrogates=0, **how).p_value,
        "te_matrix": lambda x: em.te_matrix(x, **how).te.loc["a", "b"],
        "lag_profile": lambda x: em.lag_profile(x, "a", "b", max_lag=2, n_surrogates=0, **how).best,
        "choose_embedding": lambda x: em.choose_embedding(x, em.ActiveStorage(**how, max_dim=2, max_delay=1)),
        "embedding_criteria": lambda x: (
            em.embedding_criteria(x, em.ActiveStorage(**how, max_dim=2, max_delay=1))["a"].best
        ),
        "diagnose": lambda x: em.diagnose(x),
        "score": lambda x: em.score(x, "a>b", PLAIN).total,
        "interval": lambda x: em.interval(x, "a", "b", **how).low,
        "infer": lambda x: em.infer(x, score=PLAIN).parents,
        "windows": lambda x: em.windows(x, width=60, step=60, score=PLAIN).te[0, 0, 1],
    }
    for name, call in calls.items():
        expected = call(series)
        for kind in ("DataFrame", "path", "polars") if name != "transfer_entropy" else forms:
            assert call(forms[kind]) == expected, (name, kind)
    array = FRAME.to_numpy()
    assert em.transfer_entropy(array, 0, 1, **how) == em.transfer_entropy(array.tolist(), 0, 1, **how)
    assert em.compare(path, FRAME, 19, score=PLAIN).difference.loc["a", "b"] == 0


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda s: em.transfer_entropy(s, "a", "b", embedding=2), "embedding=2 is no embedding; give Embedding(dim=2)"),
        (lambda s: em.significance(s, "a", "b", surrogate="shft"), "surrogate='shft' is not known; use "),
        (lambda s: em.significance(s, "a", "b", n_surrogates=1.5), "n_surrogates=1.5 is not possible"),
        (lambda s: em.significance(s, "a", "b", seed="x"), "seed='x' is not possible"),
        (lambda s: em.score(s, "a>b", em.TEA), "score=TEA is a class; give an instance"),
        (lambda s: em.infer(s, max_parents=1.5), "max_parents=1.5 is not possible"),
    ],
)
def test_wrong_kinds_are_refused_in_a_line(call, said):
    with pytest.raises(em.InputError) as caught:
        call(em.Series(FRAME))
    assert said in str(caught.value)


def test_surrogates_by_name():
    how = {"estimator": "gaussian", "n_surrogates": 39}
    by_name = em.significance(FRAME, "a", "b", surrogate="permute", **how)
    assert by_name.p_value == em.significance(FRAME, "a", "b", surrogate=em.Permute(), **how).p_value


def test_python_habits(tmp_path):
    series = em.Series(FRAME)
    assert pickle.loads(pickle.dumps(series)) == series
    assert series != em.Series(FRAME * 2)
    with pytest.raises(em.InputError, match="5 samples of 40 nodes; pass transpose=True"):
        em.Series(np.zeros((5, 40)) + RNG.normal(size=(5, 40)))
    network = em.infer(series, score=PLAIN)
    with pytest.raises(em.InputError, match="cannot write"):
        network.to_json(tmp_path / "missing" / "net.json")
    with pytest.raises(TypeError, match="cannot be changed"):
        network.parents.clear()
    assert pickle.loads(pickle.dumps(network)).parents == network.parents
    held = io.BytesIO()
    network.plot(held)
    assert held.getvalue().startswith(b"\x89PNG")


@pytest.fixture(scope="module")
def network():
    return em.infer(SERIES, score=PLAIN)


def test_odd_arguments_are_refused_or_taken(network):
    with pytest.raises(em.InputError, match=r"1\.5 names no node; the nodes are a, b, c"):
        em.transfer_entropy(SERIES, 1.5, "b")
    with pytest.raises(em.InputError, match="candidates='a' names no sources of targets"):
        em.infer(SERIES, candidates="a", score=PLAIN)
    assert em.infer(SERIES, required=None, forbidden=None, score=PLAIN) == network
    assert "c" in em.infer(SERIES, required="a>c", score=PLAIN).parents["c"] + ("c",)
    assert "a" in em.infer(SERIES, required="a>c", score=PLAIN)["c"]
    with pytest.raises(em.InputError, match="a is no edge; write edges as 'a>b, b>c'"):
        em.infer(SERIES, required="a", score=PLAIN)
    assert hash(network) == hash(em.infer(SERIES, score=PLAIN))
    assert ("a" in network, "z" in network, ("a", "b") in network) == (True, False, True)
    assert em.score(SERIES, network.adjacency, PLAIN).total == em.score(SERIES, network, PLAIN).total
    turned = SERIES.select(["c", "a", "b"])
    adjacency = em.infer(turned, score=PLAIN).adjacency
    assert em.score(turned, adjacency, PLAIN).total == pytest.approx(em.score(SERIES, network, PLAIN).total)
    with pytest.raises(em.InputError, match=r"a matrix of shape \(2, 2\) for 3 nodes"):
        em.score(SERIES, np.eye(2), PLAIN)


def test_numbers_of_numpy_are_taken_and_words_for_switches_are_not(network):
    for number in (np.float32(0.05), np.float64(0.05)):
        assert em.infer(SERIES, level=number, max_lag=1) == em.infer(SERIES, level=float(number), max_lag=1)
    with pytest.warns(em.HazardWarning, match="give level=0.05"):
        em.infer(SERIES, alpha=np.float32(0.95), max_lag=1)
    assert em.infer(SERIES, score=PLAIN, max_parents=np.int64(1)).names == SERIES.names
    assert em.infer(SERIES, score=PLAIN, acyclic=np.bool_(True)).names == SERIES.names
    for call in (em.transfer_entropy, em.te_matrix, em.active_information):
        how = {em.transfer_entropy: {"source": "a", "target": "b", "local": "no"}, em.te_matrix: {"conditional": "no"}}
        with pytest.raises(em.InputError, match="='no' is not possible; give True or False"):
            call(SERIES, **how.get(call, {"target": "b", "local": "no"}))
    for word in ("acyclic", "within_sample", "progress"):
        for wrong in ("no", "yes", 2, []):
            with pytest.raises(em.InputError, match=f"{word}="):
                em.infer(SERIES, score=PLAIN, **{word: wrong})


def test_networks_are_no_recordings(network):
    with pytest.raises(em.InputError, match="this is a network, not a recording"):
        em.compare(network, network)


@pytest.mark.parametrize("text", ["a<b", "a:b", "a|b", "{a}", "a=b", "a>", ">b", "[a]", "a->b<c"])
def test_graphs_in_other_notations_are_refused_with_ours(text):
    with pytest.raises(em.InputError, match="write edges as 'a>b, b>c'"):
        em.simulate.var(text, n=50)


def test_arrows_of_all_kinds_and_names_with_marks_are_taken():
    for text in ("a>b", "a->b", "a=>b", "a\u2192b"):
        assert em.simulate.var(text, n=50).truth == {"a": (), "b": ("a",)}
    marked = em.Series(SERIES.values, names=["x:1", "y", "z"])
    assert em.score(marked, "x:1>y", PLAIN).total == em.score(SERIES, "a>b", PLAIN).total


def damaged(network):
    """Yield networks as JSON, each with one part that is null."""
    whole = json.loads(network.to_json())

    def places(value, path=()):
        yield path
        items = value.items() if isinstance(value, dict) else enumerate(value[:2]) if isinstance(value, list) else ()
        for key, one in items:
            yield from places(one, (*path, key))

    for path in [one for one in places(whole) if one]:
        copy = json.loads(json.dumps(whole))
        part = copy
        for key in path[:-1]:
            part = part[key]
        part[path[-1]] = None
        yield ".".join(map(str, path)), json.dumps(copy)


def test_network_that_is_loaded_can_be_used(tmp_path):
    network = em.infer(SERIES[:100], score=PLAIN)
    tried, loaded = 0, 0
    for place, text in damaged(network):
        tried += 1
        try:
            one = em.Network.from_json(text)
        except em.InputError as error:
            message = str(error)
            assert "damaged network" in message or "not a network" in message, place
            continue
        loaded += 1
        assert repr(one), place
        assert len(one.edges) == len(network.edges)
        one.to_networkx(), one.to_json()
        if loaded % 4 == 1:  # both hold the whole page
            one._repr_html_() if loaded % 8 == 1 else one.report(tmp_path / "x.html")
        for ends in one:
            with contextlib.suppress(em.InputError):  # nothing is kept of a link whose evidence is gone
                one.explain(*ends)
    assert tried > 150
    assert loaded > 20


def test_every_part_of_an_explanation_is_checked(network, tmp_path):
    """Found by damaged files: a part of the evidence that no check knew."""
    from dataclasses import fields

    from enmesh.explain import Explanation

    whole = json.loads(network.to_json())
    link = next(iter(whole["evidence"]))
    for name in (one.name for one in fields(Explanation)):
        copy = json.loads(json.dumps(whole))
        copy["evidence"][link][name] = {"x": None}
        with pytest.raises(em.InputError, match="damaged network"):
            em.Network.from_json(json.dumps(copy))


@pytest.mark.parametrize(
    ("typed", "told"),
    [
        ("te data.csv a b --surrogates 1000000000000", "would take 27,778 hours or more; give at most 10,000,000"),
        ("infer data.csv --bins 100000000 --quiet", "leaves fewer than 3 of 120 samples in each bin"),
        ("infer data.csv --bins 10000 --quiet --estimator discrete", "give at most 40, and few enough to count"),
        ("te data.csv a b --lag 100000000000000000000", "give at most 1,000,000"),
        ("infer data.csv --max-lag 1000000000 --quiet", "give at most 1,000,000"),
        ("infer data.csv --bootstrap 100000000000 --quiet", "give at most 1,000,000"),
        ("simulate var --graph a>b -n 1000000000000", "give at most 1,000,000,000"),
    ],
)
def test_numbers_that_nothing_can_bear_are_refused_with_what_can(run, typed, told):
    code, _, err = run(typed)
    assert (code, err.count("\n")) == (2, 1), err
    assert told in err


@pytest.mark.parametrize("how", [{}, {"estimator": "gaussian"}, {"estimator": "ksg", "score": "tee"}])
def test_lag_that_cannot_be_looked_at_is_refused(how):
    series = em.simulate.var("a>b", n=400, seed=0)
    with pytest.raises(em.InputError, match="max_lag=130 is too large for 400 samples; give at most 100"):
        em.infer(series, max_lag=130, **how)


@pytest.mark.parametrize(
    ("option", "told"),
    [
        ({"surrogate": em.Permute(), "n_surrogates": 19}, "surrogate has no effect on the default test"),
        ({"n_surrogates": 19}, "n_surrogates has no effect on the default test"),
        ({"n_surrogates": -5}, "n_surrogates=-5 is not possible"),
        ({"n_surrogates": "99"}, "n_surrogates='99' is not possible"),
        ({"seed": "x"}, "seed='x' is not possible"),
        ({"surrogate": em.Permute(), "score": "bic"}, "surrogate has no effect on the score bic"),
    ],
)
def test_an_option_that_is_not_used_or_wrong_is_refused(option, told):
    with pytest.raises(em.InputError, match=told):
        em.infer(SERIES, **option)


def test_functions_check_what_they_do_not_use():
    for call in (em.lag_profile, em.interval, em.significance):
        with pytest.raises(em.InputError, match="seed='x' is not possible"):
            call(SERIES, "a", "b", seed="x")
    for call in (em.stability, em.te_matrix):
        with pytest.raises(em.InputError, match="seed='x' is not possible"):
            call(SERIES, seed="x")
    with pytest.raises(em.InputError, match="surrogate has no effect without n_surrogates"):
        em.te_matrix(SERIES, surrogate=em.Permute())
    for level in (0, 1, 2, "x"):
        with pytest.raises(em.InputError, match="is not possible; give an error rate"):
            em.te_matrix(SERIES, level=level)
    with pytest.warns(em.HazardWarning, match="no tier has c: its links"):
        em.infer(SERIES, tiers=[["a"], ["b"]], score=PLAIN)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        em.infer(SERIES, tiers=[["a"], ["b", "c"]], score=PLAIN)


@pytest.mark.parametrize("wrong", [np.ones(3), 0, [], "x", em.KSG()])
def test_what_is_no_embedding_is_refused_everywhere(wrong):
    calls = [
        lambda: em.transfer_entropy(SERIES, "a", "b", embedding=wrong),
        lambda: em.significance(SERIES, "a", "b", embedding=wrong),
        lambda: em.lag_profile(SERIES, "a", "b", embedding=wrong, max_lag=2),
        lambda: em.interval(SERIES, "a", "b", embedding=wrong),
        lambda: em.te_matrix(SERIES, embedding=wrong),
        lambda: em.infer(SERIES, embedding=wrong),
        lambda: em.infer(SERIES, score=em.TEA(embedding=wrong)),
        lambda: em.score(SERIES, "a>b", em.TEA(embedding=wrong)),
        lambda: em.diagnose(SERIES, wrong),
        lambda: em.stochastic_interaction(SERIES, embedding=wrong),
    ]
    for call in calls:
        with pytest.raises(em.InputError, match=r"is no embedding; give Embedding\(dim=2\)"):
            call()


@pytest.mark.parametrize("how", [{}, {"estimator": "gaussian"}, {"score": "tee", "estimator": "gaussian"}])
def test_numbers_in_a_message_are_those_that_were_given(how, run):
    for alpha in (0.05, 0.145):
        with pytest.raises(em.InputError) as refused:
            em.infer(SERIES, alpha=alpha, **how)
        assert str(refused.value) == f"alpha={alpha} is a confidence level; give level={alpha} for an error rate"
    line = " ".join(f"--{name} {value}" for name, value in how.items())
    code, _, err = run(f"infer data.csv --alpha 0.145 {line}")
    assert code == 2
    assert "--level 0.145" in err
    assert "0.855" not in err


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("te d.csv a b --surrogates 1000000000000", "--surrogates 1000000000000 would take"),
        ("te d.csv a b --lag 100000000000000000000", "--lag 100000000000000000000 is more"),
        ("infer d.csv --seed -1", "--seed -1 is not possible"),
        ("infer d.csv --max-lag 130", "--max-lag 130 is too large"),
        ("infer d.csv --bins 10000", "--bins 10000 leaves"),
        ("infer d.csv --alpha 0.145", "for a 0.145 test write --level 0.145"),
        ("infer d.csv --level 0.95", "--level 0.95 is an error rate, not a confidence level; give one below 0.5"),
        ("infer d.csv --score bic --level 0.05", "level has no effect on the score bic"),
    ],
)
def test_messages_of_the_command_line_have_what_was_typed(line, told, tmp_path, monkeypatch, shell):
    monkeypatch.chdir(tmp_path)
    SERIES.to_csv("d.csv")
    code, _, err = shell(line)
    assert (code, err.count("\n")) == (2, 1), err
    assert told in err


def test_a_confidence_level_given_as_an_error_rate_is_refused():
    for call in (em.infer, em.te_matrix, em.regimes):
        with pytest.raises(em.InputError, match=r"level=0.95 is an error rate, not a confidence level"):
            call(SERIES, level=0.95)
    with pytest.raises(em.InputError, match=r"fdr=0.9 is an error rate"):
        em.infer(SERIES, fdr=0.9)
    with pytest.raises(em.InputError, match=r"level=0.99 is an error rate"):
        em.plan(nodes=5, te=0.02, level=0.99)
    assert em.te_matrix(SERIES, level=np.float32(0.05)).te.shape == (3, 3)
    with pytest.warns(em.HazardWarning, match=r"alpha=0.145 is a confidence level; for an error rate of 0.145 give"):
        em.TEA(estimator=em.Gaussian(), embedding=em.Embedding(), alpha=0.145)


def test_a_number_is_named_as_it_was_given():
    with pytest.raises(em.InputError, match="n_surrogates=1000000000000 would take"):
        whole("n_surrogates", 10**12)
    for huge, told in ((10**5000, "n_surrogates=so many is more"), (-(10**5000), "a number of so many digits")):
        with pytest.raises(em.InputError, match=told):
            whole("n_surrogates", huge)


@pytest.fixture(scope="module")
def model():
    return em.infer(SERIES, max_lag=1).fit(SERIES)


@pytest.mark.parametrize("wrong", ["x", -1, 1.5, None, [], {}, object, np.ones(3), em.KSG()])
def test_models_refuse_arguments_of_another_type(model, wrong):
    calls = [
        lambda: model.skill(SERIES, seed=wrong),
        lambda: model.skill(SERIES, first=wrong),
        lambda: model.skill(SERIES, horizons=wrong if isinstance(wrong, (str, em.KSG, type)) else (wrong,)),
        lambda: model.forecast(SERIES, seed=wrong),
        lambda: model.effect("a", "b", seed=wrong),
        lambda: model.intervene({"a": 1.0}, seed=wrong),
        lambda: model.simulate(50, seed=wrong),
        lambda: em.plan(nodes=3, te=0.05, memory=wrong),
        lambda: em.power(model, seed=wrong, n=10, samples=(100,)),
        lambda: em.power(model, samples=wrong if wrong is not None else 5, n=10),
        lambda: em.simulate.coupled_flow("a>b", n=20, obs_noise=wrong),
        lambda: em.simulate.coupled_flow("a>b", n=20, obs_noise=[[0.1], [0.1, 0.2]]),
    ]
    for call in calls:
        try:
            call()
        except em.InputError:
            continue


def test_one_node_is_refused_by_name(tmp_path, monkeypatch, shell):
    monkeypatch.chdir(tmp_path)
    SERIES.to_csv("d.csv")
    SERIES.select(["a"]).to_csv("one.csv")
    for line, told in {
        "lags d.csv a b --columns a": "there is no node 'b'",
        "power one.csv --te 0.02": "needs at least 2 nodes",
        "infer one.csv": "needs at least 2 nodes",
        "lags one.csv a a": "do not name it again",
    }.items():
        code, _, err = shell(line)
        assert code == 2, err
        assert told in err
    code, out, _ = shell("score one.csv --graph a --json")
    assert (code, json.loads(out)["total"]) == (0, 0)


def test_a_graph_that_can_be_read_in_two_ways_is_refused_with_both():
    with pytest.raises(em.InputError, match=r"write 'a>b, b>c', or 'a>b b, b b>c'"):
        em.simulate.var("a>b b>c", n=50)
    assert em.simulate.var("a>b, b>c", n=50).truth == {"a": (), "b": ("a",), "c": ("b",)}
    assert em.simulate.var("a>b b, b b>c", n=50).truth == {"a": (), "b b": ("a",), "c": ("b b",)}
    with pytest.raises(em.InputError, match="write edges as"):
        em.simulate.var("b~a", n=50)
    named = em.Series(SERIES.values, names=["a", "b b", "c"])
    assert em.score(named, "a>b b>c", PLAIN).total == em.score(SERIES, "a>b, b>c", PLAIN).total


def test_a_network_whose_criteria_are_lists_is_reported(tmp_path):
    whole_one = json.loads(em.infer(SERIES, score=PLAIN).to_json())
    for table in ([], [[1.0]]):
        network = em.Network.from_json(json.dumps({**whole_one, "criteria": {"a": table}}))
        assert "Gaussian" in network.report(tmp_path / "x.html").read_text()


def test_contradictions_are_refused():
    with pytest.raises(em.InputError, match="max_parents=0 is less than the 1 required sources of b"):
        em.infer(SERIES, required="a>b", max_parents=0, max_lag=1)
    assert em.infer(SERIES, required="a>b", max_parents=1, max_lag=1).parents["b"] == ("a",)
    with pytest.raises(em.InputError, match="context names every node"):
        em.infer(SERIES, context=["a", "b", "c"], max_lag=1)


def test_advice_about_a_short_record_can_be_followed(model):
    with pytest.raises(em.InputError, match="at least 20 are needed: give a longer record"):
        em.windows(SERIES, width=10, step=5)
    with pytest.raises(em.InputError, match="no node is selected; name at least one of a, b, c"):
        SERIES.select([])
    with pytest.raises(em.InputError, match="every row is masked"):
        SERIES.mask(range(300))
    with pytest.raises(em.InputError, match=r"n=1,000,000,000 needs about .* GiB"):
        model.simulate(10**9)


def test_a_network_of_events_says_that_it_cannot_be_fitted():
    network = em.infer(em.simulate.coupled_events("a>b", duration=60, seed=0))
    for data in (None, SERIES):
        with pytest.raises(em.InputError, match="a network of events has no equations"):
            network.fit(data)


def test_kinds_of_numbers_that_cannot_be_shown_are_refused():
    from decimal import Decimal
    from fractions import Fraction

    for odd in (Fraction(1, 20), Decimal("0.05")):
        with pytest.raises(em.InputError, match="is not possible; give an error rate"):
            em.infer(SERIES, level=odd)
        with pytest.raises(em.InputError, match="is not possible; give a"):
            em.TEA(estimator=em.Gaussian(), embedding=em.Embedding(), alpha=odd)
    with pytest.raises(em.InputError, match=r"write def shown\(done, total, what\)"):
        em.infer(SERIES, progress=lambda done: None)


@pytest.mark.parametrize("source", ["", "/nowhere.json", "[]", "{", "{}"])
def test_what_is_no_network_is_refused_with_what_to_give(source):
    with pytest.raises(em.InputError, match=r"; give (the path of a network\.json|what to_json\(\) wrote)"):
        em.Network.from_json(source)


def test_arrays_and_words_for_options_of_comparisons_are_refused():
    other = em.simulate.var("a>b, b>c", n=300, seed=1)
    odd = pd.Series([1.0, 2.0])
    calls = [
        lambda: em.stability(SERIES, n=2, max_lag=odd),
        lambda: em.compare(SERIES, other, 19, labels=np.ones(3)),
        lambda: em.compare(SERIES, other, 19, labels=("a", "b", "c")),
        lambda: em.compare(SERIES, other, 19, paired="no"),
        lambda: em.simulate.random_dag(10**6),
    ]
    for call in calls:
        with pytest.raises(em.InputError, match="; give"):
            call()


@pytest.mark.parametrize("odd", [np.array([]), np.ones(3), pd.Series([1.0, 2.0]), [["a"], ["b", "c"]], object, "x"])
def test_options_that_are_arrays_are_refused_in_one_line(odd, model):
    events = em.simulate.coupled_events("a>b", duration=30, seed=0)
    times = {"a": [1.0, 2, 3], "b": [2.0, 3.5]}
    calls = [
        lambda: em.infer(events, max_lag=odd),
        lambda: em.infer(events, embedding=odd),
        lambda: em.Events(times, duration=odd),
        lambda: em.Events(times, windows=odd),
        lambda: em.Events(times, windows=[odd]),
        lambda: em.power(SERIES, test=odd),
        lambda: model.effect("a", "b", graph=odd),
        lambda: model.effect("a", "b", hold=odd),
        lambda: em.interval(SERIES, "a", "b", network=odd),
        lambda: em.simulate.coupled_flow("a>b", n=20, noise=odd),
        lambda: em.simulate.coupled_map("a>b", n=20, obs_noise=odd),
    ]
    for call in calls:
        with pytest.raises(em.InputError):
            call()


@pytest.mark.parametrize("n_jobs", [10**6, 10**20])
def test_more_workers_than_a_machine_can_use_are_refused(n_jobs):
    for call in (em.infer, em.stability):
        with pytest.raises(em.InputError, match=r"is more workers than a machine of .* give -1 for all cores"):
            call(SERIES, n_jobs=n_jobs, max_lag=1)
