"""Damaged files of every format: each gives a series (or a network) or one InputError, and none takes long.

``ENMESH_FUZZ_EXAMPLES`` sets the number of files of each format, ``ENMESH_FUZZ_SEED`` which they are.
"""

import gzip
import io
import json
import os
import time
import warnings
import zipfile

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

import enmesh as em
from enmesh.data.files import read
from tests import corpus

EXAMPLES = int(os.environ.get("ENMESH_FUZZ_EXAMPLES", "2000"))
SLOWEST = 20.0
RNG = np.random.default_rng(4)
VALUES = RNG.normal(size=(12, 3)).round(3)
FRAME = pd.DataFrame(VALUES, columns=["a", "b", "c"])
DAYS = pd.date_range("2020-01-01", periods=12)
WORDS = [
    "",
    ",",
    ";",
    "\t",
    "\n",
    "\r\n",
    '"',
    '""',
    "'",
    "#",
    "%",
    "nan",
    "NA",
    "inf",
    "-inf",
    "1e309",
    "1e-320",
    "0x1",
]
WORDS += [
    "time",
    "trial",
    "year",
    "date",
    "2020-01-01",
    "2020-13-45",
    "31/12/2020",
    "12:30",
    "=1+1",
    "\u200b",
    "\x1b[2J",
]
WORDS += ["9999999999999999999999", "-1", "1,5", "True", "1j", "\ufeff", "\x00", " ", "é", "1_000", "٣", "Unnamed: 0"]


def text_seeds():
    yield FRAME.to_csv(index=False)
    yield FRAME.to_csv()
    yield FRAME.set_axis(DAYS).to_csv()
    yield FRAME.assign(date=DAYS.strftime("%d/%m/%Y"), trial=[0, 1] * 6, s=["up", "down"] * 6).to_csv(index=False)
    yield FRAME.assign(year=2000 + np.arange(12), month=3).to_csv(index=False)
    yield FRAME.to_csv(index=False, sep=";", decimal=",")
    yield f"# made\n% a,b,c\n{FRAME.to_csv(index=False, header=False)}"
    yield f'"x\ny","p;q",r\n{FRAME.to_csv(index=False, header=False)}'


def array_bytes(array):
    held = io.BytesIO()
    np.save(held, array)
    return held.getvalue()


def archive(**members):
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w") as target:
        for name, data in members.items():
            target.writestr(f"{name}.npy", data)
    return held.getvalue()


def matlab_bytes(packed=False, **arrays):
    from scipy.io import savemat

    held = io.BytesIO()
    savemat(held, arrays, do_compression=packed)
    return held.getvalue()


def sparse_matrix():
    from scipy.sparse import csc_matrix

    return csc_matrix(np.eye(3))


def parquet_bytes(frame):
    held = io.BytesIO()
    frame.to_parquet(held)
    return held.getvalue()


def new_matlab_bytes():
    import h5py

    held = io.BytesIO()
    with h5py.File(held, "w") as book:
        book["eeg/data"], book["eeg/fs"] = VALUES.T, np.array([[250.0]])
    return held.getvalue()


def workbook_bytes(frame):
    held = io.BytesIO()
    frame.to_excel(held, index=False)
    return held.getvalue()


def edf_bytes():
    import edfio

    held = io.BytesIO()
    edfio.Edf([edfio.EdfSignal(VALUES[:, i].repeat(10), 10, label=f"ch{i}") for i in range(2)]).write(held)
    return held.getvalue()


def network_text():
    return em.infer(VALUES.repeat(4, 0) + RNG.normal(size=(48, 3)), score=em.TEA(estimator=em.Gaussian())).to_json()


ARRAYS = [VALUES, VALUES.astype(np.float32), RNG.integers(0, 3, (12, 2)), VALUES.reshape(2, 6, 3), VALUES > 0]
MEMBERS = {"names": np.array(["a", "b", "c"]), "dt": np.array(0.5), "kinds": np.array(["float", "text", "integer"])}
MEMBERS |= {"labels": np.array('{"b": ["u", "v"]}')}
SEEDS = {
    "csv": lambda: [text.encode() for text in text_seeds()],
    "npy": lambda: [array_bytes(array) for array in ARRAYS],
    "npz": lambda: [archive(x=array_bytes(VALUES)), archive(x=array_bytes(ARRAYS[2]), y=array_bytes(VALUES[0]))],
    "mat": lambda: [
        *(matlab_bytes(x=array) for array in ARRAYS[:3]),
        matlab_bytes(x=VALUES, s={"y": 1, "z": {"w": VALUES}}, t="words", c=np.array(["a", "b"], object)),
        matlab_bytes(x=VALUES, z=VALUES * 1j, sparse=sparse_matrix()),
        matlab_bytes(packed=True, x=VALUES, t="words"),
        new_matlab_bytes(),
    ],
    "parquet": lambda: [parquet_bytes(FRAME), parquet_bytes(FRAME.set_axis(DAYS).assign(s=["u", "v"] * 6))],
    "xlsx": lambda: [workbook_bytes(FRAME), workbook_bytes(FRAME.assign(date=DAYS))],
    "edf": lambda: [edf_bytes()],
    "txt": lambda: [file.data for file in corpus.files()],
    "gz": lambda: [gzip.compress(FRAME.to_csv(index=False).encode())],
    "json": lambda: [network_text().encode()],
}


@st.composite
def damaged(draw, seeds):
    """Return a seed with bytes changed, cut out, doubled, or put in."""
    data = bytearray(draw(st.sampled_from(seeds)))
    for _ in range(draw(st.integers(0, 4))):
        if not data:
            break
        at = draw(st.integers(0, len(data) - 1))
        size = draw(st.integers(1, 40))
        change = draw(st.sampled_from(["byte", "cut", "double", "word", "end", "swap"]))
        if change == "byte":
            data[at] = draw(st.integers(0, 255))
        elif change == "cut":
            del data[at : at + size]
        elif change == "double":
            data[at:at] = data[at : at + size] * draw(st.integers(1, 3))
        elif change == "word":
            data[at : at + draw(st.integers(0, 4))] = draw(st.sampled_from(WORDS)).encode()
        elif change == "end":
            del data[at:]
        else:
            other = draw(st.integers(0, len(data) - 1))
            data[at], data[other] = data[other], data[at]
    return bytes(data)


@st.composite
def damaged_archive(draw):
    """Return an archive that is whole but whose members are not."""
    mixed = np.column_stack([VALUES[:, 0], RNG.integers(0, 2, 12), RNG.integers(0, 5, 12)])
    members = {name: array_bytes(array) for name, array in {"x": mixed, **MEMBERS}.items()}
    for name in draw(st.lists(st.sampled_from(sorted(members)), max_size=2)):
        members[name] = draw(damaged([members[name]]))
    return archive(**members)


@st.composite
def typed(draw):
    """Return a table of odd cells."""
    width, length = draw(st.integers(1, 4)), draw(st.integers(0, 8))
    cell = st.one_of(
        st.sampled_from(WORDS), st.floats().map(str), st.integers().map(str), st.text(max_size=6), st.dates().map(str)
    )
    mark = draw(st.sampled_from([",", ";", "\t"]))
    rows = [mark.join(draw(cell) for _ in range(width)) for _ in range(length + 1)]
    return "\n".join(rows).encode("utf-8", "replace")


def inputs(kind):
    seeds = SEEDS[kind]()
    found = damaged(seeds)
    extra = {"csv": typed(), "npz": damaged_archive()}
    return st.one_of(found, extra[kind]) if kind in extra else found


OPTIONS = st.fixed_dictionaries(
    {},
    optional={
        "time": st.sampled_from(["sort", "ignore", False, ("sort", "ignore"), "a"]),
        "missing": st.sampled_from(["drop", "raise", "interpolate:2"]),
        "trials": st.sampled_from([False, "a"]),
        "states": st.just(["b"]),
        "transpose": st.booleans(),
        "rows": st.sampled_from(["2:9", ":5"]),
        "na": st.sampled_from(["-1", ["?", "nan"]]),
    },
)
TEXT_OPTIONS = st.fixed_dictionaries(
    {},
    optional={
        "header": st.booleans(),
        "decimal": st.sampled_from([",", "."]),
        "skip": st.integers(0, 3),
        "units": st.booleans(),
        "encoding": st.sampled_from(["latin-1", "utf-16", "utf-8"]),
        "date_format": st.sampled_from(["%Y-%m-%d", "%d/%m/%Y"]),
        "pivot": st.just("a,b,c"),
    },
)


@pytest.mark.parametrize("kind", SEEDS)
def test_little_damage_ends_in_no_other_exception(tmp_path, kind):
    fuzz(tmp_path, kind, 25)


@pytest.mark.slow
@pytest.mark.parametrize("kind", SEEDS)
def test_no_damage_ends_in_another_exception(tmp_path, kind):
    found = fuzz(tmp_path, kind, EXAMPLES)
    assert found["read"] > 0
    assert found["refused"] > 0


def fuzz(folder, kind, count):
    """Read so many damaged files of a kind; return how many were read and refused, and how long the slowest took."""
    path = folder / f"x.{kind}"
    found = {"tried": 0, "read": 0, "refused": 0, "lines": 0, "longest": 0.0}
    words = st.one_of(st.just({}), OPTIONS, TEXT_OPTIONS) if kind in ("csv", "txt") else st.one_of(st.just({}), OPTIONS)

    @seed(int(os.environ.get("ENMESH_FUZZ_SEED", "20260101")))
    @settings(max_examples=count, database=None, suppress_health_check=list(HealthCheck), phases=[Phase.generate])
    @given(inputs(kind), words)
    def attempt(data, options):
        path.write_bytes(data)
        began = time.monotonic()
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                taken = em.Network.from_json(path) if kind == "json" else read(path, **options)
            assert isinstance(taken, (em.Series, em.Network))
            found["read"] += 1
        except em.InputError as error:
            found["refused"] += 1
            found["lines"] = max(found["lines"], len(str(error).splitlines()))
        found["tried"] += 1
        found["longest"] = max(found["longest"], time.monotonic() - began)

    attempt()
    print(kind, json.dumps(found))
    assert found["longest"] < SLOWEST
    assert found["lines"] <= 1
    return found
