"""The GPU engine against the CPU: counts, means, surrogates drawn on the device, batches, errors."""

import numpy as np
import pytest

import enmesh as em
from enmesh import neighbours
from enmesh.errors import InputError
from enmesh.neighbours import engine
from enmesh.surrogates import Bootstrap, CircularShift, LocalPermute, Permute
from tests import naive

SURROGATES = [Permute(), Bootstrap(), CircularShift(min_shift=5), LocalPermute()]


@pytest.fixture
def cuda():
    """The GPU engine's module, or a skip that says what is missing."""
    try:
        engine("cuda")
    except InputError as missing:
        pytest.skip(str(missing))
    from enmesh.neighbours import cuda

    return cuda


def autoregressive(seed, n, d):
    noise = np.random.default_rng(seed).normal(size=(n, d))
    for t in range(1, n):
        noise[t] += 0.6 * noise[t - 1]
    return noise


def blocks(seed, n, dx, dy, dz, b=None):
    """x (n, dx) or (b, n, dx), y and z, dependent on one another."""
    rng = np.random.default_rng(seed)
    z = autoregressive(seed, n, dz)
    y = autoregressive(seed + 1, n, dy) + (z[:, :1] if dz else 0)
    x = rng.normal(size=(n, dx) if b is None else (b, n, dx)) + 0.5 * y[:, :1]
    return x, y, z


DEGENERATE = {
    "ties": lambda a: a.round(0),
    "constant": lambda a: np.zeros_like(a),
    "outlier": lambda a: np.where(np.arange(a.shape[-2])[:, None] == 3, 1e6, a),
    "wide": lambda a: np.exp(5 * a),
}


@pytest.mark.gpu
@pytest.mark.parametrize("kind", DEGENERATE)
@pytest.mark.parametrize("b", [2, 9])
def test_counts_on_awkward_data(cuda, b, kind):
    x, y, z = (DEGENERATE[kind](a) for a in blocks(3, 300, 2, 1, 2, b=b))
    prepared = cuda.Neighbours(y, z, theiler=2, precision="double")
    for algorithm in (1, 2):
        for s, got in enumerate(zip(*prepared.ksg(x, 3, algorithm))):
            np.testing.assert_array_equal(got, naive.ksg_counts(x[s], y, z, 3, algorithm, theiler=2))
    for s, got in enumerate(zip(*prepared.within(x, 0.5))):
        np.testing.assert_array_equal(got, naive.box_counts(x[s], y, z, 0.5, theiler=2))


STATES = {
    "rounded": lambda a: a.round(0),
    "constant": lambda a: np.zeros_like(a),
    "states": lambda a: np.digitize(a, [-1, 0, 1]) * 2.0**40,
    "rare states": lambda a: np.floor(20 * a) * 2.0**40,
    "beside numbers": lambda a: np.where(np.arange(a.shape[-1]) % 2, a, np.digitize(a, [0]) * 2.0**40),
}


@pytest.mark.gpu
@pytest.mark.parametrize("kind", STATES)
@pytest.mark.parametrize("precision", ["single", "double"])
@pytest.mark.parametrize("dz", [0, 2])
@pytest.mark.parametrize("b", [2, 9])
def test_counts_with_ties(cuda, b, dz, precision, kind):
    blocks_of_kind = (STATES[kind](a) for a in blocks(14, 300, 2, 1, dz, b=b))
    x, y, z = (a.astype(np.float32).astype(float) for a in blocks_of_kind)
    prepared = cuda.Neighbours(y, z, precision=precision)
    for far in (np.inf, 2.0**39):
        for s, got in enumerate(zip(*prepared.tied(x, 3, far))):
            want = naive.tied_counts(x[s], y, z, 3, far)
            if precision == "double":
                np.testing.assert_array_equal(got, want)
            else:  # differences of numbers round, those of states do not
                assert np.mean(np.array(got) == want) > 0.999


@pytest.mark.gpu
def test_states_and_numbers_are_tested_as_on_the_cpu(cuda):
    rng = np.random.default_rng(15)
    state = rng.integers(0, 3, 500)
    values = rng.normal(size=500) + np.r_[0, state[:-1]]
    series = em.Series({"a": state, "b": values, "c": rng.normal(size=500).round(1)})
    tests = [
        em.significance(series, "a", "b", given="c", estimator=em.Mixed(device=device, precision="double"))
        for device in ("cpu", "cuda")
    ]
    np.testing.assert_allclose(tests[1].null, tests[0].null, atol=1e-9)
    assert tests[1].value == pytest.approx(tests[0].value, abs=1e-9)
    assert tests[1].p_value == tests[0].p_value == 0.005


@pytest.mark.gpu
@pytest.mark.parametrize("n", [33, 4097, 20_001])
@pytest.mark.parametrize("kind", ["normal", "constant", "tied"])
def test_runs_of_the_kd_order_are_cells(cuda, kind, n):
    import cupy

    points = np.random.default_rng(n).normal(size=(n, 3))
    points = {"normal": points, "constant": np.zeros_like(points), "tied": points.round()}[kind]
    order = cuda._kd_order(cupy.asarray(points)).get()
    np.testing.assert_array_equal(np.sort(order), np.arange(n))
    size = 64
    while size < 2 * n:
        for begin in range(0, n, size):
            low, high = (points[order[begin : begin + size // 2]], points[order[begin + size // 2 : begin + size]])
            assert not len(high) or (low.max(0) <= high.min(0)).any()
        size *= 2


@pytest.mark.gpu
@pytest.mark.parametrize("algorithm", [1, 2])
@pytest.mark.parametrize("k", [1, 7, 20])
def test_large_samples_equal_the_cpu(cuda, k, algorithm):
    x, y, z = blocks(4, 3011, 3, 1, 3, b=9)
    for few in (x[:1], x):
        want, got = (engine(device)(y, z).ksg(few, k, algorithm) for device in ("cpu", "cuda"))
        np.testing.assert_array_equal(got, want)


@pytest.mark.gpu
@pytest.mark.parametrize("b", [1, 9])
@pytest.mark.parametrize("algorithm", [1, 2])
def test_single_counts_are_those_of_single_distances(cuda, algorithm, b):
    x, y, z = (a.astype(np.float32) for a in blocks(5, 200, 2, 1, 3, b=b))
    got = engine("cuda", "single")(y, z).ksg(x, 4, algorithm)
    for s in range(b):
        np.testing.assert_array_equal([g[s] for g in got], naive.ksg_counts(x[s], y, z, 4, algorithm))


@pytest.mark.gpu
@pytest.mark.parametrize("b", [1, 9])
def test_trials_share_times(cuda, b):
    x, y, z = blocks(6, 240, 1, 1, 2, b=b)
    times = np.concatenate([np.arange(120), 2**40 + np.arange(120)])
    for s, got in enumerate(zip(*engine("cuda")(y, z, times=times, theiler=3).ksg(x, 4))):
        np.testing.assert_array_equal(got, naive.ksg_counts(x[s], y, z, 4, times=times, theiler=3))


RESIDUALS = ["linear", "quadratic", "features"]
ESTIMATORS = [
    em.KSG(),
    em.KSG(algorithm=2),
    em.KSG(theiler=3, k=2),
    *(em.KSG(residual=kind) for kind in RESIDUALS),
    em.Kernel(),
    em.Kernel(theiler=2),
    em.Mixed(),
    em.Mixed(k=7),
]


def on(estimator, device, precision="double"):
    return type(estimator)(**{**vars(estimator), "device": device, "precision": precision})


@pytest.mark.gpu
@pytest.mark.parametrize("dz", [0, 3])
@pytest.mark.parametrize("estimator", ESTIMATORS, ids=repr)
def test_estimates_equal_the_cpu(cuda, estimator, dz):
    x, y, z = blocks(7, 1500, 2, 1, dz, b=10)
    want = on(estimator, "cpu").prepare(y, z).cmi(x)
    np.testing.assert_allclose(on(estimator, "cuda").prepare(y, z).cmi(x), want, atol=1e-9)
    np.testing.assert_allclose(on(estimator, "cuda", "single").prepare(y, z).cmi(x), want, atol=1e-3)
    local = on(estimator, "cuda").prepare(y, z).cmi(x[0], local=True)
    np.testing.assert_allclose(local.mean(), want[0], atol=1e-9)


@pytest.mark.gpu
@pytest.mark.parametrize("surrogate", SURROGATES, ids=repr)
def test_the_device_draws_the_same_surrogates(cuda, surrogate):
    import cupy

    x, _, z = blocks(8, 300, 2, 1, 2)
    draw = surrogate.plan(x, z, starts=np.array([0, 100, 300]), span=2)
    for first, count in ((0, 40), (7, 5)):
        np.testing.assert_array_equal(draw(11, first, count, cupy).get(), draw(11, first, count))


@pytest.mark.gpu
@pytest.mark.parametrize("surrogate", SURROGATES, ids=repr)
def test_null_values_equal_the_cpu(cuda, surrogate):
    series = em.Series(autoregressive(9, 600, 3))
    options = {"given": [2], "surrogate": surrogate, "seed": 4}
    tests = [
        em.significance(series, [0], 1, estimator=em.KSG(device=device, precision="double"), **options)
        for device in ("cpu", "cuda")
    ]
    np.testing.assert_allclose(tests[1].null, tests[0].null, atol=1e-9)
    assert tests[1].p_value == tests[0].p_value


@pytest.mark.gpu
@pytest.mark.parametrize("residual", RESIDUALS)
def test_residuals_of_surrogates_on_the_device_equal_the_cpu(cuda, residual):
    x, y, z = blocks(13, 500, 2, 1, 2)
    y[:] += 5 * z[:, :1]
    draw = CircularShift().plan(x, z, starts=np.array([0, 500]), span=2)
    for itself in (False, True):
        want, got = (
            em.KSG(residual=residual, device=device, precision="double")
            .prepare(y, z)
            .surrogates(x, draw, 5)
            .ask(3, 40, itself)()
            for device in ("cpu", "cuda")
        )
        np.testing.assert_allclose(got, want, atol=1e-9)


@pytest.mark.gpu
@pytest.mark.parametrize("residual", ["none", "features"])
def test_batches_do_not_change_results(cuda, monkeypatch, residual):
    x, y, z = blocks(10, 400, 2, 1, 2, b=100)
    estimator = em.KSG(device="cuda", residual=residual)
    want = estimator.prepare(y, z).cmi(x)
    monkeypatch.setattr(cuda, "SMALL", 0)
    monkeypatch.setattr(cuda, "FREE_SHARE", 1e-12)
    tolerance = 0 if residual == "none" else 1e-6  # products of matrices round by their shape
    np.testing.assert_allclose(estimator.prepare(y, z).cmi(x), want, rtol=0, atol=tolerance)
    monkeypatch.setattr(cuda, "MANY", 1000)
    np.testing.assert_allclose(estimator.prepare(y, z).cmi(x), want, rtol=0, atol=tolerance)


@pytest.mark.gpu
@pytest.mark.parametrize("share", [0.5, 1e-12])
def test_a_test_in_one_launch_is_value_and_surrogates(cuda, monkeypatch, share):
    monkeypatch.setattr(cuda, "SMALL", 0)
    monkeypatch.setattr(cuda, "FREE_SHARE", share)
    x, y, z = blocks(12, 400, 2, 1, 2)
    draw = CircularShift().plan(x, z, starts=np.array([0, 400]), span=2)
    for estimator in (em.KSG(device="cuda"), em.Kernel(device="cuda")):
        prepared = estimator.prepare(y, z)
        for count in (0, 3, 31, 99):
            surrogates = prepared.surrogates(x, draw, 5)
            value, *null = surrogates.ask(0, count, itself=True)()
            assert value == prepared.cmi(x)
            if count:
                np.testing.assert_array_equal(null, surrogates.ask(0, count)())
                np.testing.assert_array_equal(null[1:], surrogates.ask(1, count - 1)())


@pytest.mark.gpu
def test_threads_do_not_change_results(cuda):
    series = em.simulate.coupled_map("a>b, b>c, a>c, c>d", n=700, noise=0.01, seed=2)
    score = em.TEE(estimator=em.KSG(device="cuda"), embedding=em.Embedding(), n_surrogates=99)
    networks = [em.infer(series, score=score, n_jobs=jobs) for jobs in (1, 6, None)]
    tested = [[(c.te, c.null) for c in network.candidates] for network in networks]
    assert tested[0] == tested[1] == tested[2]
    assert networks[0].local == networks[1].local == networks[2].local


def test_unknown_device_and_precision_are_refused():
    with pytest.raises(InputError, match="'cpu', 'cuda', 'auto'"):
        em.KSG(device="tpu")
    with pytest.raises(InputError, match="'single' or 'double'"):
        em.Kernel(precision="half")


@pytest.mark.gpu
@pytest.mark.parametrize("features", ["quadratic", "fourier"])
@pytest.mark.parametrize("dims", [(1, 1, 0), (2, 1, 3), (1, 2, 2)])
def test_regression_is_that_of_the_cpu(cuda, features, dims):
    x, y, z = blocks(7, 400, *dims, b=12)
    ours, theirs = (em.Regression(features, device=device).prepare(y, z) for device in ("cuda", "cpu"))
    np.testing.assert_allclose(ours.cmi(x), theirs.cmi(x), atol=1e-10)
    np.testing.assert_allclose(ours.cmi(x, local=True), theirs.cmi(x, local=True), atol=1e-8)
    for one, other in zip(ours.variance_weights(x[0]), theirs.variance_weights(x[0])):
        np.testing.assert_allclose(one, other, atol=1e-9)
    trials, shifts = np.array([0, 250, 400]), np.arange(3, 140, 7)
    np.testing.assert_allclose(
        ours.over_shifts(x[0], trials, shifts), theirs.over_shifts(x[0], trials, shifts), atol=1e-9
    )


@pytest.fixture
def no_gpu(monkeypatch):
    monkeypatch.setattr(neighbours, "_missing_for_cuda", lambda: "CuPy is not installed")
    neighbours.chosen.cache_clear()
    yield
    neighbours.chosen.cache_clear()


def test_without_a_gpu_the_error_names_the_extra(no_gpu):
    with pytest.raises(InputError, match=r"CuPy is not installed; install enmesh\[gpu\]"):
        em.KSG(device="cuda").prepare(np.zeros((50, 1)))


def test_auto_takes_the_cpu_and_says_so(no_gpu, caplog):
    y = np.random.default_rng(0).normal(size=(50, 1))
    with caplog.at_level("INFO", logger="enmesh"):
        value = em.KSG(device="auto").prepare(y).cmi(y + 1)
    assert value == em.KSG().prepare(y).cmi(y + 1)
    assert "device='auto' uses cpu: CuPy is not installed" in caplog.text


@pytest.mark.parametrize("lags", [(2,), (1, 3)])
def test_surrogates_that_choose_their_lags_are_those_of_the_cpu(cuda, lags):
    series = em.simulate.var("a>b", n=400, lags=2, seed=0)
    pasts = em.Lags({("a", "b"): lags}, searched=4)
    found = [
        em.significance(series, "a", "b", embedding=pasts, estimator=estimator, n_surrogates=39, seed=1)
        for estimator in (em.KSG(), em.KSG(device="cuda", precision="double"))
    ]
    np.testing.assert_allclose(found[1].null, found[0].null, atol=1e-9)
    assert found[1].value == pytest.approx(found[0].value, abs=1e-9)


def spans_of(rng, n, long):
    """Two spans (start, end) of points, (n, 4), that end at their times."""
    ends = np.sort(rng.uniform(0, n, n))[:, None]
    return np.hstack([ends - rng.exponential(long, (n, 1)), ends, ends - rng.exponential(long, (n, 1)), ends])


@pytest.mark.gpu
@pytest.mark.parametrize("kind", ["apart", "tied", "few"])
@pytest.mark.parametrize("k", [1, 4, 9])
@pytest.mark.parametrize("dims", [1, 3, 7])
def test_brackets_between_two_sets_equal_the_cpu(cuda, dims, k, kind):
    from scipy.special import digamma

    from enmesh.neighbours import cross

    rng = np.random.default_rng(dims)
    n, m = (12, 11) if kind == "few" else (1003, 1541)
    points, others = rng.exponential(size=(n, dims)), rng.exponential(size=(m, dims))
    if kind == "tied":
        points[:, -1], others[:, -1] = points[:, -1].round(1), others[:, -1].round(1)
    spans, other_spans = spans_of(rng, n, 3.0), spans_of(rng, m, 3.0)
    psi = np.concatenate([[np.nan], digamma(np.arange(1, n + m + 1))])
    want, got = (device.brackets(points, others, spans, other_spans, k, psi) for device in (cross, cuda))
    assert np.isfinite(want).any() or kind == "few"
    np.testing.assert_allclose(got, want, rtol=0, atol=1e-10)


@pytest.mark.gpu
def test_events_are_tested_as_on_the_cpu(cuda):
    events = em.simulate.coupled_events("a>b, b>c", duration=300, seed=0)
    for surrogate in (em.NearbyHistories(), em.CircularShift()):
        tests = [
            em.significance(
                events,
                "a",
                "b",
                given="c",
                estimator=em.PointProcess(device=device),
                surrogate=surrogate,
                n_surrogates=39,
            )
            for device in ("cpu", "cuda")
        ]
        np.testing.assert_allclose(tests[1].null, tests[0].null, rtol=0, atol=1e-10)
        assert tests[1].value == pytest.approx(tests[0].value, abs=1e-10)
        assert tests[1].p_value == tests[0].p_value
    nets = [em.infer(events, estimator=em.PointProcess(device=device)) for device in ("cpu", "cuda")]
    assert nets[1].parents == nets[0].parents
