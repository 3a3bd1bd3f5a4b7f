"""Networks in the forms of other libraries: each is made, drawn, written or read by the library itself."""

import json
import os
import subprocess
import sys
from pathlib import Path

import networkx as nx
import numpy as np
import pytest

import enmesh as em
from enmesh.cli import main

ROOT = Path(__file__).parents[1]
PLACES = {"a": (0, 0, 10), "b": (20, 5, 10), "c": (40, 0, 12.5)}


@pytest.fixture(scope="module")
def net():
    return em.infer(em.simulate.var("a>b, b>c", n=400, lags=2, seed=0))


def links(matrix, names):
    return {(names[i], names[j]) for i, j in np.argwhere(matrix)}


def test_xarray_has_the_numbers_and_survives_netcdf(net, tmp_path):
    xarray = pytest.importorskip("xarray")
    pytest.importorskip("h5netcdf")
    made = net.to_xarray(positions=PLACES)
    for row in net.edges.itertuples():
        assert float(made.te.sel(source=row.source, target=row.target)) == row.te
        acts = made.at_lag.sel(source=row.source, target=row.target)
        assert tuple(acts["at"].values[acts.values == 1]) == row.lags
    for row in net.pairs.itertuples():
        assert float(made.p_value.sel(source=row.source, target=row.target)) == row.p_value
    assert links(made.link.values, net.names) == set(net)
    assert np.isnan(made.te.sel(source="a", target="a"))
    assert made.position.sel(source="c").values.tolist() == [40, 0, 12.5]
    made.to_netcdf(tmp_path / "net.nc", engine="h5netcdf")
    xarray.testing.assert_identical(made, xarray.load_dataset(tmp_path / "net.nc", engine="h5netcdf"))


def test_an_empty_network_is_a_dataset_too(tmp_path):
    xarray = pytest.importorskip("xarray")
    pytest.importorskip("h5netcdf")
    made = em.infer(np.random.default_rng(0).normal(size=(300, 2)), level=1e-6).to_xarray()
    assert made.sizes["at"] == 0
    made.to_netcdf(tmp_path / "net.nc", engine="h5netcdf")
    xarray.testing.assert_identical(made, xarray.load_dataset(tmp_path / "net.nc", engine="h5netcdf"))


@pytest.mark.filterwarnings("ignore")
def test_mne_connectivity_draws_and_keeps_it(net, tmp_path):
    mne_connectivity = pytest.importorskip("mne_connectivity")
    made = net.to_mne_connectivity()
    dense = np.nan_to_num(made.get_data("dense"))
    assert links(dense, made.names) == set(net)
    ends = tuple(map(np.array, made.indices))
    figure, axes = mne_connectivity.viz.plot_connectivity_circle(made.get_data(), made.names, indices=ends, show=False)
    curves = [patch for patch in axes.patches if type(patch).__name__ == "PathPatch"]
    assert len(curves) == len(net)
    figure.savefig(tmp_path / "circle.png")
    made.save(tmp_path / "net.nc")
    again = mne_connectivity.read_connectivity(tmp_path / "net.nc")
    np.testing.assert_allclose(again.get_data(), made.get_data())
    assert list(again.names) == list(net.names)
    lags = net.to_mne_connectivity("lag").get_data()
    assert sorted(lags) == sorted(net.edges.lag)
    with pytest.raises(em.InputError, match="value='weight' is not a number of a link"):
        net.to_mne_connectivity("weight")


def test_igraph_finds_paths_in_it(net):
    pytest.importorskip("igraph")
    graph = net.to_igraph()
    assert graph.is_directed()
    assert graph.vs["name"] == list(net.names)
    assert {(graph.vs[e.source]["name"], graph.vs[e.target]["name"]) for e in graph.es} == set(net)
    assert graph.distances("a", "c", weights=None) == [[2]]
    assert sorted(graph.es["te"]) == sorted(net.edges.te)


@pytest.mark.parametrize(("form", "read"), [("graphml", nx.read_graphml), ("gexf", nx.read_gexf)])
def test_files_of_graphs_are_read_by_others(net, form, read, tmp_path):
    path = getattr(net, f"to_{form}")(tmp_path / f"net.{form}")
    again = read(path)
    assert set(again.edges) == set(net)
    for row in net.edges.itertuples():
        kept = again.edges[row.source, row.target]
        assert (kept["te"], kept["lag"], kept["lags"]) == (row.te, row.lag, " ".join(map(str, row.lags)))
    if form == "graphml" and (igraph := pytest.importorskip("igraph")):
        assert igraph.Graph.Read_GraphML(str(path)).ecount() == len(net)


def test_the_command_line_writes_gexf(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    em.simulate.var("a>b", n=300, seed=0).to_csv("rec.csv")
    assert main(["infer", "rec.csv", "--quiet", "--format", "gexf"]) == 0
    assert set(nx.read_gexf("rec-results/network.gexf").edges) == {("a", "b")}


def test_brainnet_files_have_the_columns_of_its_manual(net, tmp_path):
    nodes, edges = net.to_brainnet(tmp_path / "brain", PLACES)
    rows = [line.split("\t") for line in nodes.read_text().splitlines()]
    assert [[float(x) for x in row[:3]] for row in rows] == [list(map(float, p)) for p in PLACES.values()]
    assert [row[5] for row in rows] == list(net.names)
    assert [int(row[4]) for row in rows] == [1, 2, 1]
    matrix = np.loadtxt(edges)
    assert links(matrix, net.names) == set(net)
    with pytest.raises(em.InputError, match="positions have no place for c"):
        net.to_brainnet(tmp_path / "brain", {"a": (0, 0, 0), "b": (1, 1, 1)})


@pytest.mark.parametrize(
    ("method", "module", "extra"),
    [
        ("to_xarray", "xarray", "xarray"),
        ("to_mne_connectivity", "mne_connectivity", "mne-connectivity"),
        ("to_igraph", "igraph", "igraph"),
    ],
)
def test_a_library_that_is_not_there_is_named(net, method, module, extra, monkeypatch):
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(em.InputError, match=rf"pip install 'enmesh\[{extra}\]'"):
        getattr(net, method)()


# --- pandas -------------------------------------------------------------------------------------------------

ACCESSOR = "frame.enmesh.series().names == ('a', 'b')"


@pytest.mark.parametrize("imports", ["import enmesh as em, pandas", "import pandas, enmesh as em"])
def test_frames_have_the_accessor_in_any_order_of_imports(imports):
    code = f"{imports}\nframe = em.simulate.var('a>b', n=50, seed=0).to_dataframe()\nassert {ACCESSOR}"
    subprocess.run([sys.executable, "-c", code], check=True, env=os.environ)


def test_the_accessor_asks_what_the_functions_ask():
    series = em.simulate.var("a>b", n=400, seed=0)
    frame = series.to_dataframe()
    assert frame.enmesh.infer(max_lag=3).edges.equals(em.infer(series, max_lag=3).edges)
    assert frame.enmesh.significance("a", "b").p_value == em.significance(series, "a", "b").p_value
    assert frame.enmesh.series().digest == series.digest
    assert frame.enmesh.inspect().ready
    assert frame.enmesh.lag_profile("a", "b", max_lag=2, n_surrogates=19).lags == (1, 2)


# --- scikit-learn -------------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore")
def test_scikit_learn_accepts_the_estimator():
    """Its checks have as few as ten samples, for which the paper's procedure at lag 1 is asked."""
    checks = pytest.importorskip("sklearn.utils.estimator_checks")
    from enmesh.sklearn import NetworkInference

    ran = checks.check_estimator(NetworkInference(estimator="gaussian", embedding=em.Embedding()), on_fail=None)
    failed = {one["check_name"]: one["exception"] for one in ran if one["status"] not in ("passed", "skipped")}
    assert not failed
    assert sum(one["status"] == "passed" for one in ran) > 30


def test_a_record_too_short_for_the_test_within_one_sample_says_so():
    """The estimator that is given needs fewer samples than that test."""
    few = np.random.default_rng(0).normal(size=(12, 2))
    with pytest.warns(em.HazardWarning, match="one sample is not tested: lags up to 1 leave 11 of 12 samples"):
        net = em.infer(few, estimator="gaussian", embedding=em.Embedding())
    assert net.instantaneous.empty
    assert any("not tested" in said for said in net.warnings)


def test_it_works_in_a_pipeline_and_names_columns():
    pipeline = pytest.importorskip("sklearn.pipeline")
    from sklearn.base import clone
    from sklearn.preprocessing import StandardScaler

    from enmesh.sklearn import NetworkInference

    series = em.simulate.var("a>b, b>c", n=400, seed=0)
    scaler = StandardScaler().set_output(transform="pandas")
    made = pipeline.make_pipeline(scaler, NetworkInference(max_lag=3)).fit(series.to_dataframe())
    (network,) = made[-1].networks_
    assert set(network) == {("a", "b"), ("b", "c")} == links(made[-1].adjacency_, network.names)
    fresh = clone(made).set_params(networkinference__max_lag=2)
    assert fresh[-1].get_params()["max_lag"] == 2
    assert not hasattr(fresh[-1], "networks_")


def test_several_recordings_make_several_networks():
    pytest.importorskip("sklearn")
    from enmesh.sklearn import NetworkInference

    recordings = [em.simulate.var("a>b", n=n, seed=n).values for n in (400, 500)]
    found = NetworkInference(max_lag=2).fit(recordings)
    assert found.adjacency_.shape == (2, 2, 2)
    assert found.adjacency_[:, 0, 1].all()
    alike = NetworkInference(max_lag=2).fit(np.stack([r[:400] for r in recordings]))
    assert len(alike.networks_) == 2
    with pytest.raises(ValueError, match="2 features"):
        NetworkInference().fit([recordings[0], np.ones((400, 3))])


# --- schemas ------------------------------------------------------------------------------------------------


def schema(name):
    return json.loads((Path(em.__file__).parent / "schemas" / name).read_text(encoding="utf-8"))


def test_the_schemas_are_those_of_the_code():
    sys.path.insert(0, str(ROOT / "tools"))
    from schemas import FOLDER, schemas, text

    for name, made in schemas().items():
        assert (FOLDER / name).read_text(encoding="utf-8") == text(made), "run tools/schemas.py"


@pytest.mark.parametrize(
    "damage",
    [
        {"parents": {"a": "b"}},
        {"names": "ab"},
        {"optimal": 1},
        {"candidates": [{"source": "a"}]},
        {"format": "enmesh network 0"},
        {"removed": [["a", "b", "c"]]},
    ],
)
def test_the_schema_of_a_network_takes_networks_and_nothing_else(net, damage):
    jsonschema = pytest.importorskip("jsonschema")
    check = jsonschema.Draft202012Validator(schema("network.schema.json"))
    check.check_schema(check.schema)
    whole = json.loads(net.to_json())
    check.validate(whole)
    assert not check.is_valid(whole | damage)
    with pytest.raises(em.InputError):
        em.Network.from_json(json.dumps(whole | damage))


def test_networks_of_all_kinds_fit_the_schema():
    jsonschema = pytest.importorskip("jsonschema")
    check = jsonschema.Draft202012Validator(schema("network.schema.json"))
    series = em.simulate.var("a>b", n=300, seed=0)
    events = em.simulate.coupled_events("a>b", duration=200, seed=0)
    for made in (
        em.infer(series, score="tee", estimator="ksg", max_lag=1, n_surrogates=19, alpha=0.9),
        em.infer(series, score="tea", acyclic=True, bootstrap=2),
        em.infer(events, n_surrogates=19, alpha=0.9),
    ):
        check.validate(json.loads(made.to_json()))


# --- spike trains -------------------------------------------------------------------------------------------

SPANS = np.array([[0.0, 50.0], [60.0, 100.0]])


@pytest.fixture(scope="module")
def spikes():
    events = em.simulate.coupled_events("a>b", duration=100, seed=0)
    inside = {name: np.asarray(events[name]) for name in events.names}
    return {name: t[(t <= 50) | ((t >= 60) & (t <= 100))] for name, t in inside.items()}


def same(found, spikes, names=("a", "b"), spans=SPANS):
    assert found.names == tuple(names)
    assert [(s.start, s.stop) for s in found.stretches] == [tuple(span) for span in spans]
    for name, times in zip(names, spikes.values()):
        np.testing.assert_allclose(found[name], times)


def test_pynapple_is_read_with_its_support(spikes):
    nap = pytest.importorskip("pynapple")
    support = nap.IntervalSet(SPANS[:, 0], SPANS[:, 1])
    trains = {name: nap.Ts(times, time_support=support) for name, times in spikes.items()}
    same(em.Events(trains), spikes)
    group = nap.TsGroup(dict(enumerate(trains.values())), time_support=support)
    same(em.Events(group), spikes, names=("0", "1"))


def nwb_file(spikes, **more):
    pynwb = pytest.importorskip("pynwb")
    from datetime import UTC, datetime

    made = pynwb.NWBFile(
        session_description="two units", identifier="1", session_start_time=datetime(2020, 1, 1, tzinfo=UTC)
    )
    for times in spikes.values():
        made.add_unit(spike_times=times, **more)
    return made


def test_nwb_is_read_from_its_objects_and_from_a_file(spikes, tmp_path, capsys):
    pynwb = pytest.importorskip("pynwb")
    made = nwb_file(spikes, obs_intervals=SPANS)
    for data in (made, made.units):
        same(em.Events(data), spikes, names=("0", "1"))
    path = tmp_path / "session.nwb"
    with pynwb.NWBHDF5IO(path, "w") as file:
        file.write(made)
    same(em.Events(path), spikes, names=("0", "1"))
    assert main(["te", str(path), "0", "1", "--events", "--surrogates", "9"]) == 0
    assert "transfer entropy 0 > 1" in capsys.readouterr().out


def test_nwb_without_spikes_is_refused(tmp_path):
    pytest.importorskip("pynwb")
    with pytest.raises(em.InputError, match="no table of units"):
        em.Events(nwb_file({}))
    (tmp_path / "odd.nwb").write_text("no nwb")
    with pytest.raises(em.InputError, match="cannot be read as NWB"):
        em.Events(tmp_path / "odd.nwb")
    with pytest.raises(em.InputError, match="there is no file"):
        em.Events(tmp_path / "none.nwb")


def test_neo_is_read_in_all_its_containers(spikes):
    neo = pytest.importorskip("neo")
    import quantities as pq

    segment = neo.Segment()
    segment.spiketrains = [
        neo.SpikeTrain(times * 1000 * pq.ms, t_stop=100 * pq.s, name=name) for name, times in spikes.items()
    ]
    block = neo.Block()
    block.segments.append(segment)
    for data in (block, segment, segment.spiketrains, list(segment.spiketrains)):
        same(em.Events(data), spikes, spans=[(0, 100)])
