# ruff: noqa: E501 (a table with wide rows)
"""Every error says what to do next, and that works: messages are collected from the code, and forty are followed."""

import ast
import io
import re
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import enmesh as em

SOURCE = Path(em.__file__).parent
# What to do, in the imperative; or what is needed or possible, of which one can be taken.
STEP = re.compile(
    r"\b(give|pass|use|name|write|take|leave|choose|say|make|set|ask|save|pip install|correct|remove|replace|lower|raise"
    r"|record|keep|put|move|restore|wait|unpack|read|select|sort|add|drop|divide|multiply|cut|fill|start|download|send"
    r"|try|turn|run|fix|convert|begin|split|join|resample|close|pack|copy|call|look|infer|simulate|allow|change|open"
    r"|at least\s+(?:\S+\s+)?(?:in a row )?are needed|needs at least|rename|count|the (?:nodes|columns|words|links|axes) are|it has|its states are"
    r"|KSG has|Discrete has|are usual|the model needs|need more than)\b",
    re.IGNORECASE,
)


def words_of(node, known):
    """Yield the text that an expression is made of; names stand for what was assigned to them in the function."""
    match node:
        case ast.Constant(value=str(text)):
            yield text
        case ast.Name(id=name):
            for one in known.get(name, ()):
                yield from words_of(one, {key: held for key, held in known.items() if key != name})
        case _:
            for one in ast.iter_child_nodes(node):
                yield from words_of(one, known)


def assigned(tree):
    known = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign):
            ends = node.targets[0]
            if isinstance(ends, ast.Name):
                known.setdefault(ends.id, []).append(node.value)
            elif isinstance(ends, ast.Tuple) and isinstance(node.value, ast.Tuple):
                for end, value in zip(ends.elts, node.value.elts):
                    if isinstance(end, ast.Name):
                        known.setdefault(end.id, []).append(value)
        elif isinstance(node, (ast.AugAssign, ast.AnnAssign)) and isinstance(node.target, ast.Name) and node.value:
            known.setdefault(node.target.id, []).append(node.value)
    return known


def messages():
    """Yield the place and the words of each error that the package raises."""
    for file in sorted(SOURCE.rglob("*.py")):
        tree = ast.parse(file.read_text(encoding="utf-8"))
        whole = assigned(ast.Module([node for node in tree.body if isinstance(node, ast.Assign)], []))
        for function in (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)):
            known = whole | assigned(function)
            for call in (node for node in ast.walk(function) if isinstance(node, ast.Call)):
                name = getattr(call.func, "id", getattr(call.func, "attr", ""))
                at = {"InputError": 0, "error": 0, "refuse_if": 1}.get(name)
                if at is not None and len(call.args) > at:
                    text = " ".join(words_of(call.args[at], known))
                    if len(text) > 8:
                        yield f"{file.relative_to(SOURCE)}:{call.lineno}", text


def test_every_message_has_a_next_step():
    found = dict(messages())
    assert len(found) > 300
    whole = {place: text for place, text in found.items() if re.search(r"\w[^;:]*$", text) and "(line|row)" not in text}
    assert not {place: text for place, text in whole.items() if not STEP.search(text)}


# --- advice that is followed -----------------------------------------------------------------------------------

N = 60
RNG = np.random.default_rng(3)
FRAME = pd.DataFrame(RNG.normal(size=(N, 2)), columns=["a", "b"]).round(4)
DAYS = pd.date_range("2020-01-01", periods=N)
DATED = FRAME.set_axis(DAYS)
LONG = FRAME.assign(time=range(N)).melt("time")
CUBE = RNG.normal(size=(8, 80, 30))
SERIES = em.simulate.var("a>b", n=200, seed=0)


def text(frame, **how):
    return frame.to_csv(index=False, **how)


def read(content, **how):
    return em.read(io.BytesIO(content) if isinstance(content, bytes) else io.StringIO(content), **how)


def series(data):
    return lambda **how: em.Series(data, **how)


def file(content):
    return lambda **how: read(content, **how)


MIXED = pd.DataFrame({"x": [f"{i}" for i in range(1, N + 1)], "a": FRAME.a, "b": FRAME.b})
AMBIGUOUS = [f"{1 + i % 12:02d}/{1 + i // 12:02d}/2020" for i in range(N)]
THOUSANDS = "a;b\n" + "\n".join(f"{i},{j};{k}" for i, j, k in RNG.integers(100, 999, (N, 3)))
UNEVEN = FRAME.assign(time=np.cumsum(RNG.choice([1.0, 1.0, 2.4], N)))
# What is refused, the advice in the message, and the words of the call that follows it.
FOLLOWED = {
    "newest first": (series(DATED[::-1]), "pass time='sort'", {"time": "sort"}),
    "newest first in a file": (file(DATED[::-1].to_csv()), "pass time='sort'", {"time": "sort"}),
    "a gap": (series(DATED.drop(DAYS[20:23])), "pass missing='drop'", {"missing": "drop"}),
    "a gap that is none": (series(DATED.drop(DAYS[20:23])), "pass time='ignore'", {"time": "ignore"}),
    "business days": (series(FRAME.set_axis(pd.bdate_range("2020-01-01", periods=N))), "time='ignore'", {"time": "ignore"}),
    "missing values": (series(FRAME.mask(FRAME.a > 1)), "pass missing='drop'", {"missing": "drop"}),
    "missing in an array": (series(FRAME.mask(FRAME.a > 1).to_numpy()), "missing='drop'", {"missing": "drop"}),
    "wide": (series(RNG.normal(size=(5, 40))), "pass transpose=True", {"transpose": True}),
    "wide as it is": (series(RNG.normal(size=(10, 40))), "transpose=False", {"transpose": False}),
    "epochs": (series(RNG.normal(size=(9, 30, 40))), "pass transpose=True", {"transpose": True}),
    "a cube": (series(CUBE), "dims=('trial', 'time', 'node')", {"dims": ("trial", "time", "node")}),
    "a cube of Matlab": (series(CUBE), "dims=('node', 'time', 'trial')", {"dims": ("node", "time", "trial")}),
    "a list of epochs": (series([*RNG.normal(size=(4, 30, 40))]), "transpose=True", {"transpose": True}),
    "trials that lie down": (series([FRAME.T.to_numpy(), FRAME[:50].T.to_numpy()]), "transpose=True", {"transpose": True}),
    "dead": (series(FRAME.assign(c=1.0)), "drop_constant=True", {"drop_constant": True}),
    "empty": (series(FRAME.assign(c=np.nan)), "missing='drop'", {"missing": "drop", "drop_constant": True}),
    "placeholder": (file(text(FRAME.astype(object).mask(FRAME > 2, "?").assign(a=["?", *FRAME.a[1:]]))), "na='?'",
                    {"na": "?", "missing": "drop"}),
    "preamble": (file(f"made by\nsomebody, once\n{text(FRAME.assign(c=FRAME.a * FRAME.b))}"), "pass skip=2", {"skip": 2}),
    "decimal comma": (file(THOUSANDS), "decimal=','", {"decimal": ","}),
    "thousands": (file(THOUSANDS), "thousands=','", {"thousands": ","}),
    "names that count": (file("0,1\n" + "\n".join(f"{i % 7},{i % 5}" for i in range(N))), "header=True", {"header": True}),
    "no names": (file("0,1\n" + "\n".join(f"{i % 7},{i % 5}" for i in range(N))), "header=False", {"header": False}),
    "day or month": (series(FRAME.assign(date=AMBIGUOUS)), "date_format='%d/%m/%Y'", {"date_format": "%d/%m/%Y", "time": ["date", "ignore"]}),
    "a long table": (series(LONG), "pass pivot=('time', 'variable', 'value')", {"pivot": ("time", "variable", "value")}),
    "latin": (file("ä,b\n".encode("latin-1") + text(FRAME).partition("\n")[2].encode()), "encoding='latin-1'", {"encoding": "latin-1"}),
    "labels": (series(FRAME.set_axis([f"{i} days ago" for i in range(N)])), "pass time='ignore'", {"time": "ignore"}),
    "a doubtful clock": (series(FRAME.assign(x=np.arange(N) % 12)), "columns=", {"columns": ["a", "b"]}),
    "uneven": (lambda **how: em.Series(UNEVEN, **how or {"missing": "drop"}), "resample=True", {"resample": True, "missing": "drop"}),
    "unordered": (series(FRAME.assign(time=RNG.permutation(N))), "time='sort'", {"time": "sort"}),
    "a time twice": (series(FRAME.assign(time=np.arange(N) // 2)), "pass time='ignore'", {"time": "ignore"}),
    "dims and transpose": (lambda **how: em.Series(CUBE, dims="trial,time,node", **how or {"transpose": True}), "give one of them", {"na": None}),
    "sfreq": (lambda **how: em.Series(FRAME, **how or {"sfreq": -1}), "such as 250", {"sfreq": 250}),
    "rows": (lambda **how: em.Series(FRAME, **how or {"rows": "1-20"}), "such as '101:500'", {"rows": "1:50"}),
    "bins": (lambda **how: SERIES.discretise(**how or {"levels": 1000}), "give at most 66", {"levels": 66}),
    "k": (lambda **how: em.cmi(FRAME.a, FRAME.b, estimator=em.KSG(**how or {"k": 0})), "at least 1", {"k": 1}),
    "graph": (lambda **how: em.simulate.var(**how or {"graph": "a<b", "n": 50}), "write edges as 'a>b, b>c'", {"graph": "a>b, b>c", "n": 50}),
    "a loop in a graph": (lambda **how: em.simulate.var(**how or {"graph": "a>a", "n": 50}), "leave it out", {"graph": "a", "n": 50}),
    "score": (lambda score=em.TEA, **how: em.infer(SERIES, score=score(estimator=em.KSG(), embedding=em.Embedding()), **how),
              "use TEE", {"score": em.TEE}),
    "discrete": (lambda data=SERIES, **how: em.infer(data, score=em.TEA(estimator=em.Discrete(), embedding=em.Embedding())),
                 "Series.discretise()", {"data": SERIES.discretise(2)}),
    "names": (lambda **how: em.Series(FRAME.to_numpy(), **how or {"names": ["a"]}), "give one name per column", {"names": ["u", "v"]}),
    "twin columns": (lambda **how: em.Series(FRAME.assign(c=FRAME.a), **how), "leave one out", {"columns": ["a", "b"]}),
    "period": (lambda **how: SERIES.deseason(**how or {"period": 150}), "needs two periods, 300", {"period": 100}),
    "node": (lambda target="z": em.significance(SERIES, "a", target, n_surrogates=9), "the nodes are a, b", {"target": "b"}),
    "a slice": (lambda **how: SERIES[how.get("rows", slice(0, 50, 2))], "without a step", {"rows": slice(0, 50)}),
}  # fmt: skip


@pytest.mark.parametrize("fault", FOLLOWED)
def test_advice_leads_to_a_result(fault):
    call, advice, how = FOLLOWED[fault]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(em.InputError) as refused:
            call()
        assert advice in str(refused.value)
        assert call(**how) is not None


def test_at_least_forty_are_followed():
    assert len(FOLLOWED) >= 40


@pytest.mark.parametrize(
    ("line", "advice", "further"),
    [
        ("te newest.csv a b", "use --time sort", "--time sort"),
        ("te gap.csv a b", "use --missing drop", "--missing drop"),
        ("te dead.csv a b", "--drop-constant", "--drop-constant"),
        ("te wide.npy x0 x1", "use --transpose", "--transpose"),
        ("te cube.npy x0 x1", "--dims node,time,trial", "--dims node,time,trial"),
    ],
)
def test_advice_of_the_command_line_leads_to_a_result(line, advice, further, tmp_path, monkeypatch, shell):
    monkeypatch.chdir(tmp_path)
    DATED[::-1].to_csv("newest.csv")
    DATED.drop(DAYS[20:23]).to_csv("gap.csv")
    FRAME.assign(c=1).to_csv("dead.csv", index=False)
    np.save("wide.npy", RNG.normal(size=(5, 40)))
    np.save("cube.npy", CUBE)
    code, _, err = shell(line)
    assert code == 2
    assert advice in err
    code, out, err = shell(f"{line} {further} --estimator gaussian --max-lag 1")
    assert code == 0, err
    assert "p-value" in out
