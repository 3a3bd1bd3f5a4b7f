"""What enmesh does with damaged input, damaged stores and kills: ``python benchmarks/reliability.py all``.

- ``inputs``: damaged files, networks, stores, options, graphs, events and command lines; each must end in a
  result or in one `InputError`, within 20 s of processor time; what waits for 200 s ends the benchmark.
- ``flips``: one bit of a store is flipped, and the run is resumed: the same network, or the file is refused.
- ``kills``: a run is killed at random moments and resumed, with 6, 30 and 100 nodes: the same network to the last bit.

Each writes its rows to ``reliability-*.csv`` in the folder ``--out``; ``docs/reliability.md`` shows them.
"""

import argparse
import contextlib
import csv
import faulthandler
import inspect
import io
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import enmesh as em
from enmesh.cli import main
from enmesh.inference.store import Store, runs
from enmesh.inference.work import Question

sys.path.insert(0, str(Path(__file__).parents[1]))
SLOWEST = 20.0
NAMES = ("a", "b", "c")
SERIES = em.simulate.var("a>b, b>c", n=120, seed=0)
PLAIN = em.TEA(estimator=em.Gaussian(), embedding=em.Embedding())
QUICK: dict[str, Any] = {"estimator": "gaussian", "max_lag": 1}


REACHED = Counter[str]()  # calls with odd data that gave a result, by function


class TooSlow(Exception):
    """Raised by the alarm."""


class SilentChange(Exception):
    """A damaged input gave another result than the whole one, though it has checksums."""


# --- inputs ----------------------------------------------------------------------------------------------------

Try = Callable[[], object]


def scrambled(data: bytes, rng: random.Random, words: list[str]) -> bytes:
    """Return bytes changed, cut out, doubled or put in, at up to four places."""
    made = bytearray(data)
    for _ in range(rng.choice([1, 1, 1, 2, 4])):
        if not made:
            break
        at, size, change = (rng.randrange(len(made)), rng.randint(1, 40), rng.randrange(6))
        if change == 0:
            made[at] = rng.randrange(256)
        elif change == 1:
            del made[at : at + size]
        elif change == 2:
            made[at:at] = made[at : at + size] * rng.randint(1, 3)
        elif change == 3:
            made[at : at + rng.randint(0, 4)] = rng.choice(words).encode()
        elif change == 4:
            del made[at:]
        else:
            other = rng.randrange(len(made))
            made[at], made[other] = made[other], made[at]
    return bytes(made)


def readers(rng: random.Random, folder: Path) -> Iterator[Try]:
    """Damaged files of every format, with and without options; formats with checksums must give what they held."""
    from tests.test_fuzz import SEEDS, WORDS

    seeds = {kind: make() for kind, make in SEEDS.items() if kind != "json"}
    options = {"time": ["sort", "ignore", False, "a"], "missing": ["drop", "interpolate:2"], "trials": [False, "a"]}
    options |= {"transpose": [True, False], "rows": ["2:9"], "na": ["-1"], "drop_constant": [True], "resample": [0.5]}

    def attempt(path: Path, whole: bytes, how: dict[str, Any]) -> None:
        found = em.read(path, **how)
        if path.suffix[1:] in ("npz", "xlsx", "gz"):
            path.write_bytes(whole)
            if found != em.read(path, **how):
                raise SilentChange(path.suffix)

    while True:
        kind = rng.choice(list(seeds))
        path, whole = folder / f"x.{kind}", rng.choice(seeds[kind])
        path.write_bytes(scrambled(whole, rng, WORDS))
        how = {word: rng.choice(values) for word, values in options.items() if rng.random() < 0.15}
        yield partial(attempt, path, whole, how)


def wrong_parts(value: Any, rng: random.Random) -> Any:
    """Return JSON data with one part replaced by something else."""
    if isinstance(value, dict) and value and rng.random() < 0.9:
        key = rng.choice(list(value))
        return {**value, key: wrong_parts(value[key], rng)}
    if isinstance(value, list) and value and rng.random() < 0.9:
        at = rng.randrange(len(value))
        return [*value[:at], wrong_parts(value[at], rng), *value[at + 1 :]]
    return rng.choice([None, "x", -3, 1.5, [], {}, [None], {"x": None}, True, 1e400, "\u0000"])


def used(network: em.Network, folder: Path) -> None:
    """Do with a network what one does."""
    (repr(network), hash(network), network.edges, network.adjacency, network.to_networkx(), network.to_json())
    network.report(folder / "x.html")
    for ends in network:
        with contextlib.suppress(em.InputError):
            network.explain(*ends)


def networks(rng: random.Random, folder: Path) -> Iterator[Try]:
    """Damaged networks as JSON, loaded and used."""
    from tests.test_fuzz import WORDS

    text = em.infer(SERIES, **QUICK).to_json()
    whole = json.loads(text)
    while True:
        damaged = json.dumps(wrong_parts(whole, rng))
        if rng.random() < 0.5:
            damaged = scrambled(text.encode(), rng, WORDS).decode("utf-8", "replace")
        yield lambda damaged=damaged: used(em.Network.from_json(damaged), folder)


def stores(rng: random.Random, folder: Path) -> Iterator[Try]:
    """Damaged stores, read, written and listed; an answer that differs is a fault."""
    path, about = (folder / "run.db", {"data": "d", "names": ["a"], "score": {"type": "TEA"}, "code": "0/1"})
    answers = {Question("family", (i, (j,))): i + j / 7 for i in range(12) for j in range(20)}
    with Store(path, "key", about) as store:
        store.write(answers)
    data = path.read_bytes()

    def attempt() -> None:
        runs(path)
        with Store(path, "key", about) as store:
            for _ in range(2):
                found = store.read(answers)
                if any(found[question] != answers[question] for question in found):
                    raise SilentChange("a stored answer")
                store.write({one: answers[one] for one in answers if one not in found})

    while True:
        for beside in folder.glob("run.db-*"):
            beside.unlink()
        path.write_bytes(scrambled(data, rng, ["answers", "\0", "runs"]))
        yield attempt


ODD = [
    None,
    -1,
    0,
    1,
    2,
    3,
    1.5,
    np.nan,
    np.inf,
    "",
    "a",
    "b",
    "x",
    "gaussian",
    "tea",
    "bic",
    [],
    {},
    ["a"],
    ("a", "b"),
]
ODD += [np.float32(0.95), True, False, 10**20, -5, "99", [("a", "b")], {"b": ["a"]}, b"x", object, np.ones(3), "a>b"]


def columns(rng: random.Random) -> Any:
    """Return data of odd kinds: ties, states, spikes, few samples, trials, words, nearly equal columns."""
    n, draw = (rng.choice([3, 5, 8, 20, 60, 150]), np.random.default_rng(rng.randrange(2**32)))
    x = draw.normal(size=(n, 3))
    kind = rng.randrange(10)
    if kind == 0:
        x = x.round(0)
    elif kind == 1:
        x = draw.integers(0, 3, (n, 3))
    elif kind == 2:
        x[:, 1] = x[:, 0] + 1e-9 * x[:, 1]
    elif kind == 3:
        x = np.exp(8 * x)
    elif kind == 4:
        return pd.DataFrame({"a": x[:, 0], "b": draw.integers(0, 2, n), "c": draw.choice(["u", "v"], n)})
    elif kind == 5:
        x[rng.randrange(n)] = np.nan
        with contextlib.suppress(em.InputError):
            return em.Series(x, names=NAMES, missing="drop")
    elif kind == 6:
        return em.Series([draw.normal(size=(20, 3)) for _ in range(4)], names=NAMES)
    elif kind == 7:
        x = np.cumsum(x, axis=0) * 10.0 ** rng.choice([-100, 100])
    elif kind == 8:
        x[1:, 1] = x[:-1, 0]
    return em.Series(x, names=NAMES) if rng.random() < 0.8 else x


def calls(rng: random.Random, folder: Path) -> Iterator[Try]:
    """Functions on odd data with odd and usual options, computed to their end."""
    words = ("estimator", "score", "max_lag", "n_surrogates", "seed", "max_parents", "acyclic", "required", "forbidden")
    words += ("tiers", "candidates", "search", "given", "embedding", "n_jobs", "screen", "missing", "n", "level")
    estimators = [em.Gaussian(), em.KSG(), em.Discrete(), em.Mixed(), em.Kernel(), em.Ordinal(), "gaussian", "ksg"]
    while True:
        try:
            data, estimator = columns(rng), rng.choice(estimators)
        except em.InputError:
            continue
        how: dict[str, Any] = {rng.choice(words): rng.choice(ODD) for _ in range(rng.choice([0, 0, 1, 2]))}
        how.setdefault("estimator", estimator)
        graph = rng.choice(["a>b", "a>b, b>c", {"c": ["a", "b"]}, [("a", "c")], "a, b, c", np.eye(3) * 0, {"a": None}])
        score = rng.choice([em.TEA, em.TEE, em.TE, partial(em.Criterion, "bic")])
        method = rng.choice(estimators[:-2])
        quick = QUICK | _but(how, "estimator", "given", "n", "level", "missing")
        name, call = rng.choice(
            [
                ("te", partial(em.transfer_entropy, data, "a", "b", **_only(how, "given", "embedding"))),
                ("te", partial(em.significance, data, "a", "b", n_surrogates=9, **_only(how, "given", "seed"))),
                ("score", partial(_scored, data, graph, score, method)),
                ("compare", partial(em.compare, data, rng.choice([data, SERIES]), 19, **quick)),
                ("te_matrix", partial(em.te_matrix, data, **_only(how, "embedding", "n_surrogates", "seed"))),
                ("infer", partial(em.infer, data, **QUICK | _but(how, "given", "n", "level", "missing"))),
                ("lag_profile", partial(em.lag_profile, data, "a", "b", max_lag=2, **_only(how, "given", "seed"))),
                ("interval", partial(em.interval, data, "a", "b", **_only(how, "given", "seed"))),
            ]
        )
        yield partial(_reached, name, call)


def _scored(data: Any, graph: Any, score: Any, estimator: Any) -> object:
    return em.score(data, graph, score(estimator=estimator, embedding=em.Embedding()))


def _reached(name: str, call: Try) -> None:
    call()
    REACHED[name] += 1


def bases() -> list[tuple[Callable[..., Any], dict[str, Any]]]:
    """Return the functions of the package, each with arguments that are right."""
    other, events = (em.simulate.var("a>b, b>c", n=120, seed=1), em.simulate.coupled_events("a>b", duration=40, seed=0))
    network = em.infer(SERIES, max_lag=1)
    model, one, ends = (network.fit(SERIES), {"series": SERIES}, {"source": "a", "target": "b"})
    plain, once = one | {"estimator": "gaussian"}, one | {"max_lag": 1}
    found: list[tuple[Callable[..., Any], dict[str, Any]]] = [
        (em.infer, once), (em.transfer_entropy, plain | ends), (em.te_matrix, plain),
        (em.interval, one | ends | {"n": 10}),
        (em.significance, plain | ends | {"n_surrogates": 9, "surrogate": em.Permute()}),
        (em.stability, once | {"n": 2}),
        (em.lag_profile, one | ends | {"max_lag": 2}), (em.windows, once | {"width": 60, "step": 30}),
        (em.regimes, once | {"shortest": 40}),
        (em.compare, {"first": SERIES, "second": other, "n_permutations": 19, "max_lag": 1}), (em.inspect, one),
        (em.group, {"subjects": [SERIES, other], "max_lag": 1}), (em.score, one | {"graph": "a>b"}), (em.diagnose, one),
        (em.parts, one | {"sources": ["a", "c"], "target": "b", "n_surrogates": 19}),
        (em.plan, {"nodes": 3, "te": 0.05}),
        (em.power, {"pilot": SERIES, "max_lag": 1}), (em.active_information, one | {"target": "b"}),
        (em.cmi, {"x": SERIES["a"], "y": SERIES["b"], "z": SERIES["c"]}), (em.stochastic_interaction, plain),
        (em.conditional_entropy, one | {"target": "b", "given": "a"}), (em.kl_divergence, plain | {"graph": "a>b"}),
        (em.log_likelihood, plain | {"graph": "a>b"}), (em.instantaneous_dependence, plain), (em.choose_embedding, one),
        (em.embedding_criteria, one), (em.Series, {"values": SERIES.values}), (SERIES.deseason, {"period": 12}),
        (SERIES.difference, {}), (SERIES.detrend, {}), (SERIES.mask, {"rows": [1, 2]}),
        (SERIES.discretise, {"levels": 3}),
        (SERIES.select, {"nodes": ["a", "b"]}), (network.fit, one), (network.explain, ends),
        (model.simulate, {"n": 20}),
        (model.forecast, one | {"horizon": 3}), (model.effect, ends | {"change": 1.0, "horizon": 3}),
        (model.skill, one),
        (model.intervene, {"values": {"a": 2.0}, "horizon": 3}), (em.simulate.random_dag, {"n_nodes": 4}),
        (em.simulate.coupled_events, {"graph": "a>b", "duration": 20}),
        (em.simulate.coupled_flow, {"graph": "a>b", "n": 20}),
        (em.Events, {"data": {"a": [1.0, 2, 3], "b": [2.0, 3.5]}, "duration": 10.0}), (em.Embedding, {}), (em.KSG, {}),
        (em.Lags, {"lags": {("a", "b"): (1,)}}), (em.Kernel, {}), (em.Discrete, {}), (em.Regression, {}), (em.Tabu, {}),
        (em.TEE, {"estimator": em.Gaussian(), "embedding": em.Embedding()}), (em.HillClimb, {}),
        (em.infer, {"series": events}), (em.transfer_entropy, {"series": events} | ends),
        (em.significance, {"series": events, "n_surrogates": 9} | ends),
    ]  # fmt: skip
    simulations = (em.simulate.var, em.simulate.coupled_map, em.simulate.boolean)
    return found + [(simulation, {"graph": "a>b", "n": 50}) for simulation in simulations]


def arguments(rng: random.Random, folder: Path) -> Iterator[Try]:
    """Every function with right arguments but for one or two, which are something else."""
    odd: list[Any] = [
        *ODD,
        (1, 2),
        {"a": 1},
        {"a": "b"},
        {1: 2},
        [np.nan],
        {"a": ["b"]},
        [["a"], ["b", "c"]],
        1e-300,
        1e300,
    ]
    odd += ["a,b", SERIES, pd.Series([1.0, 2, 3]), pd.DataFrame({"a": [1.0, 2]}), lambda *given: None, set(), range(3)]
    odd += [
        1 + 2j,
        np.array(5),
        np.array([]),
        pd.NaT,
        np.datetime64("2020-01-01"),
        "x" * 5000,
        em.KSG(),
        em.Embedding(),
    ]
    functions = bases()
    for function, right in functions:
        function(**right)  # what is right must be taken
    further = [name for name in inspect.signature(em.infer).parameters if name != "series"]
    while True:
        function, right = rng.choice(functions)
        known = inspect.signature(function).parameters.values()
        names = [one.name for one in known if one.kind not in (one.VAR_KEYWORD, one.VAR_POSITIONAL)]
        names += further if function in (em.compare, em.group, em.stability, em.windows, em.regimes) else []
        wrong = {rng.choice(names): rng.choice(odd) for _ in range(rng.choice([1, 1, 2])) if names}
        for name in ("n_jobs", "burn_in", "progress", "command", "map"):  # hundreds of workers, hours, functions
            wrong.pop(name, None)
        yield lambda function=function, given=right | wrong: repr(function(**given))


def _only(how: dict[str, Any], *words: str) -> dict[str, Any]:
    return {word: how[word] for word in ("estimator", *words) if word in how}


def _but(how: dict[str, Any], *words: str) -> dict[str, Any]:
    return {word: value for word, value in how.items() if word not in words}


def graphs(rng: random.Random, folder: Path) -> Iterator[Try]:
    """Graphs as text and as objects, simulated and scored."""
    marks = ["a", "b", "c", "d", ">", "->", ",", " ", "<", ":", ";", "\n", "|", "{", "x y", ">>", "é", "\u200b", "1"]
    while True:
        text = "".join(rng.choice(marks) for _ in range(rng.randint(1, 9)))
        odd = rng.choice([text, text, text, [(rng.choice(ODD), "b")], {"a": rng.choice(ODD)}, rng.choice(ODD)])
        simulate = rng.choice([em.simulate.var, em.simulate.coupled_map, em.simulate.boolean])
        yield rng.choice([lambda o=odd, s=simulate: s(o, n=20), lambda o=odd: em.score(SERIES, o, PLAIN)])


def events(rng: random.Random, folder: Path) -> Iterator[Try]:
    """Tables of events, damaged; estimates of what is read."""
    from tests.test_fuzz import WORDS

    text = em.simulate.coupled_events("a>b", duration=40, seed=0).to_dataframe().to_csv(index=False)
    path = folder / "events.csv"

    def attempt() -> None:
        mend = rng.choice([(), ("sort",), ("duplicates",), ("sort", "duplicates", "outside")])
        taken = em.Events(str(path), rng.choice([None, 40.0, 10.0, 0.0, -1]), mend=mend)
        if taken.n_nodes > 1:
            em.transfer_entropy(taken, taken.names[0], taken.names[1])

    while True:
        path.write_bytes(scrambled(text.encode(), rng, WORDS))
        yield attempt


def lines(rng: random.Random, folder: Path) -> Iterator[Try]:
    """Command lines with odd words; exit code 0 or 2, one line of error, no unexpected one."""
    SERIES.to_csv(folder / "d.csv")
    flags = [
        "--max-lag",
        "--estimator",
        "--score",
        "--surrogates",
        "--time",
        "--columns",
        "--missing",
        "--rows",
        "--dim",
    ]
    flags += ["--season", "--bins", "--mask", "--trials", "--na", "--given", "--seed", "--require", "--tiers", "--dims"]
    flags += ["--decimal", "--skip", "--sfreq", "--resample", "--pivot", "--sheet", "--detrend", "--drop-constant"]
    words = [
        "1",
        "2",
        "-1",
        "a",
        "b",
        "a:b",
        "a>b",
        "x",
        "gaussian",
        "ksg",
        "tea",
        "bic",
        "sort",
        "drop",
        "1:50",
        "1e9",
    ]
    words += ["99999999999999999999", "nan", ",", "a,b", "", "'", "%d", "\x1b[2J", "a=1,b=2", "|", "a | b", "none"]

    def attempt(typed: list[str]) -> None:
        err = io.StringIO()
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(err):
            code = main(typed)
        said = [line for line in err.getvalue().splitlines() if "warning:" not in line and "compiling" not in line]
        if code not in (0, 2) or "enmesh: unexpected" in err.getvalue() or len(said) > 1:
            raise ValueError(f"exit code {code}: {err.getvalue()[:300]} of {typed}")
        if code == 2:
            raise em.InputError(said[0] if said else "refused")

    while True:
        command = rng.choice([["te", "d.csv", "a", "b"], ["score", "d.csv", "--graph", "a>b"], ["embed", "d.csv"]])
        command = rng.choice([command, ["lags", "d.csv", "a", "b"], ["te", "d.csv", *rng.choices(words, k=2)]])
        typed = [*command, *(one for _ in range(rng.randint(0, 2)) for one in (rng.choice(flags), rng.choice(words)))]
        yield lambda typed=typed: attempt(typed)


KINDS: dict[str, tuple[Callable[[random.Random, Path], Iterator[Try]], float]] = {
    "files of ten formats": (readers, 0.4), "networks as JSON, loaded and used": (networks, 0.1),
    "stores": (stores, 0.1), "calls with odd data and options": (calls, 0.1),
    "arguments of another type": (arguments, 0.1), "graphs": (graphs, 0.1),
    "tables of events": (events, 0.05), "command lines": (lines, 0.05),
}  # fmt: skip


COUNTED = ("result", "refused", "traceback", "silent change", "over 20 s", "two lines")


def inputs(count: int, out: Path, seed: int, only: str = "") -> None:
    """Try damaged inputs of every kind and write a row for each."""

    def alarm(number: int, frame: object) -> None:
        raise TooSlow

    signal.signal(signal.SIGPROF, alarm)  # processor time: that of the clock depends on what else the machine does
    warnings.simplefilter("ignore")
    rows = []
    for name, (make, share) in KINDS.items():
        if only and only not in name:
            continue
        found, slowest, faults = Counter[str](), 0.0, []
        with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
            attempts = make(random.Random(f"{seed} {name}"), Path(folder))
            for _ in range(round(count * share)):
                attempt = next(attempts)
                faulthandler.dump_traceback_later(10 * SLOWEST, exit=True)
                signal.setitimer(signal.ITIMER_PROF, SLOWEST)
                began = time.process_time()
                try:
                    attempt()
                    found["result"] += 1
                except SilentChange as error:
                    found["silent change"] += 1
                    faults.append(f"silent change: {error}")
                except em.InputError as error:
                    found["refused"] += 1
                    found["two lines"] += len(str(error).splitlines()) > 1
                except Exception as error:
                    found["over 20 s" if isinstance(error, TooSlow) else "traceback"] += 1
                    frames = traceback.extract_tb(error.__traceback__)
                    place = ", ".join(f"{Path(one.filename).name}:{one.lineno}" for one in frames[-8:])
                    faults.append(f"{type(error).__name__}: {error} ({place})"[-300:])
                finally:
                    signal.setitimer(signal.ITIMER_PROF, 0)
                    faulthandler.cancel_dump_traceback_later()
                slowest = max(slowest, time.process_time() - began)
        tried = sum(found[kind] for kind in ("result", "refused", "over 20 s", "traceback", "silent change"))
        shown = {kind: found[kind] for kind in COUNTED}
        rows.append({"what": name, "tried": tried, **shown, "slowest (s)": round(slowest, 1)})
        print(rows[-1], flush=True)
        for fault, times in Counter(faults).most_common(20):
            print("   ", times, fault, flush=True)
    write(out / "reliability-inputs.csv", rows)
    if REACHED:
        print("calls with odd data that gave a result:", dict(REACHED), flush=True)
        write(out / "reliability-calls.csv", [{"function": name, "results": n} for name, n in REACHED.items()])


# --- stores and kills ------------------------------------------------------------------------------------------


def plain(network: em.Network) -> str:
    """Return what must be the same whenever a run is resumed."""
    kept = json.loads(network.to_json())
    return json.dumps({name: kept[name] for name in ("parents", "local", "candidates", "choices", "score", "gap")})


def recording(nodes: int) -> em.Series:
    """Return a sparse linear system of so many nodes."""
    graph = em.simulate.random_dag(nodes, density=2 / nodes, seed=3)
    return em.simulate.var(graph, n=400 if nodes > 10 else 300, coupling=0.25, seed=4)


def flips(count: int, out: Path, seed: int) -> None:
    """Flip one bit of a store and resume."""
    warnings.simplefilter("ignore")
    rng, found = random.Random(seed), Counter[str]()
    series = em.simulate.var("a>b, b>c", n=150, seed=1)
    how: dict[str, Any] = {"score": em.TEE(estimator=em.Gaussian(), embedding=em.Embedding(), n_surrogates=199)}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run.db"
        truth = plain(em.infer(series, store=path, progress=False, **how))
        data = path.read_bytes()
        for _ in range(count):
            for beside in Path(folder).iterdir():
                beside.unlink()
            damaged = bytearray(data)
            bit = rng.randrange(8 * len(data))
            damaged[bit // 8] ^= 1 << bit % 8
            path.write_bytes(damaged)
            try:
                runs(path)
                same = plain(em.infer(series, store=path, progress=False, **how)) == truth
                found["same network" if same else "another network"] += 1
            except em.InputError:
                found["refused"] += 1
            except Exception as error:
                found["traceback"] += 1
                print("   ", type(error).__name__, error, flush=True)
    kinds = ("same network", "refused", "another network", "traceback")
    row = {"what": "one bit of a store flipped", "tried": count, **{kind: found[kind] for kind in kinds}}
    print(row, flush=True)
    write(out / "reliability-flips.csv", [row])


def job(store: str, result: str, nodes: int) -> None:
    """Infer with a store; a process of its own, to be killed."""
    from enmesh.inference import workers

    workers.CHUNK = 0.02  # seconds: the more often, the more there is to lose
    warnings.simplefilter("ignore")
    print("started", flush=True)
    Path(result).write_text(plain(em.infer(recording(nodes), store=store, progress=False)))


def kills(count: int, out: Path, seed: int) -> None:
    """Kill a run at random moments, resume it, and compare with one that was left alone."""
    rows = []
    for nodes, times in ((6, count - 2 * (count // 10)), (30, count // 10), (100, count // 10)):
        rng, done = random.Random(f"{seed} {nodes}"), Counter[str]()
        with tempfile.TemporaryDirectory() as folder:
            path, result = Path(folder) / "run.db", Path(folder) / "result.json"
            began = time.monotonic()
            started(path, result, nodes).wait()
            seconds, truth = time.monotonic() - began, result.read_text()
            while done["kills"] < times or done["open"]:
                if not done["open"]:
                    for file in Path(folder).iterdir():
                        file.unlink()
                process = started(path, result, nodes)
                try:
                    process.wait(timeout=rng.uniform(0, seconds) if done["kills"] < times else None)
                except subprocess.TimeoutExpired:
                    process.kill()
                    process.wait()
                    done["kills"] += 1
                    done["open"] += 1
                    continue
                if process.returncode:
                    raise RuntimeError(process.stderr.read() if process.stderr else "failed")
                same = result.read_text() == truth
                done["same"] += done["open"] * same
                done["other"] += done["open"] * (not same)
                done["open"] = 0
        row = {"what": f"kills of a run with {nodes} nodes", "tried": done["kills"], "same network": done["same"]}
        rows.append(row | {"another network": done["other"], "seconds of a run": round(seconds, 1)})
        print(rows[-1], flush=True)
    write(out / "reliability-kills.csv", rows)


def started(path: Path, result: Path, nodes: int) -> subprocess.Popen[str]:
    """Start a job and return once it is at work."""
    line = [sys.executable, __file__, "job", "--store", str(path), "--result", str(result), "--nodes", str(nodes)]
    process = subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    process.stdout.readline()
    return process


def write(path: Path, rows: list[dict[str, Any]]) -> None:
    """Write rows as csv."""
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("inputs", "flips", "kills", "all", "job"))
    parser.add_argument("--count", type=int, help="20,000 inputs, 500 flips or 100 kills by default")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default="", help="kinds of inputs with this in their name")
    parser.add_argument("--out", type=Path, default=Path("."))
    for name in ("--store", "--result"):
        parser.add_argument(name, help=argparse.SUPPRESS)
    parser.add_argument("--nodes", type=int, help=argparse.SUPPRESS)
    given = parser.parse_args()
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    if given.what == "job":
        job(given.store, given.result, given.nodes)
    if given.what in ("inputs", "all"):
        inputs(given.count or 20_000, given.out, given.seed, given.only)
    if given.what in ("flips", "all"):
        flips(given.count or 500, given.out, given.seed)
    if given.what in ("kills", "all"):
        kills(given.count or 100, given.out, given.seed)
