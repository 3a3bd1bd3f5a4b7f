"""Pictures: every kind at every size, in the axes given, the same every time, arrows off the labels."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib.figure import Figure

from enmesh.draw import plot
from enmesh.draw.layout import arrange, curve, shorten
from enmesh.errors import InputError
from tests import networks

MAKERS = ["three", "five", "thirty", "fifty", "ring", "tangle", "odd", "empty"]


@pytest.fixture(autouse=True)
def _no_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


@pytest.mark.parametrize("kind", list(plot.KINDS))
@pytest.mark.parametrize("maker", ["three", "thirty", "odd"])
def test_every_kind_draws_into_the_axes_given(maker, kind, tmp_path):
    ax = Figure(figsize=(8, 6)).subplots()
    assert plot.draw(getattr(networks, maker)(), tmp_path / "net.png", kind=kind, ax=ax) is ax
    assert (tmp_path / "net.png").read_bytes().startswith(b"\x89PNG")
    assert ax.patches or ax.images or ax.child_axes


@pytest.mark.parametrize("maker", MAKERS)
def test_a_shaft_and_a_head_per_edge_and_a_pill_per_node(maker):
    network = getattr(networks, maker)()
    ax = plot.graph(network, Figure().subplots())
    kinds = [type(patch).__name__ for patch in ax.patches]
    assert kinds.count("FancyBboxPatch") == len(network.names)
    assert kinds.count("FancyArrowPatch") == 2 * network.adjacency.sum()


def test_wider_is_stronger_and_dashed_is_doubtful():
    network = networks.thirty()
    ax = plot.graph(network, Figure().subplots())
    shafts = [p for p in ax.patches if type(p).__name__ == "FancyArrowPatch" and p.get_linewidth() > 0]
    tests = {(c.source, c.target): c for c in network.candidates}
    edges = [tests[network.names[i], network.names[j]] for i, j in np.argwhere(network.adjacency)]
    widths, te = [s.get_linewidth() for s in shafts], [t.te for t in edges]
    assert np.array_equal(np.argsort(widths), np.argsort(te))
    assert [s.get_linestyle() != "-" for s in shafts] == [t.q_value > plot.LEVEL for t in edges]
    assert len({s.get_edgecolor() for s in shafts}) == len({t.q_value for t in edges}) > 1


def test_untested_edges_are_drawn():
    ax = plot.graph(networks.three(candidates=()), Figure().subplots())
    assert sum(type(p).__name__ == "FancyArrowPatch" for p in ax.patches) == 4


@pytest.mark.parametrize("suffix", [".png", ".svg", ".pdf"])
def test_same_network_same_bytes(suffix, tmp_path):
    for name in "ab":
        networks.ring(12).plot(tmp_path / (name + suffix))
    first, second = ((tmp_path / (name + suffix)).read_bytes() for name in "ab")
    assert first == second


def test_matrix_shows_source_in_rows():
    network = networks.three()
    ax = plot.matrix(network, Figure().subplots())
    shown = ax.images[0].get_array()
    for tested in network.candidates:
        place = network.names.index(tested.source), network.names.index(tested.target)
        assert shown[place] == tested.te
    frames = {(round(p.get_y() + 0.5), round(p.get_x() + 0.5)) for p in ax.patches}
    assert frames == set(map(tuple, np.argwhere(network.adjacency).tolist()))


def test_nulls_show_each_link_with_its_value():
    network = networks.five()
    ax = plot.nulls(network, Figure().subplots())
    lines = sorted(panel.lines[0].get_xdata()[0] for panel in ax.child_axes)
    assert lines == sorted(c.te for c in network.candidates if c.selected)
    counts = [sum(patch.get_height() for patch in panel.patches) for panel in ax.child_axes]
    assert counts == [99] * 5


def test_nulls_without_a_link_show_the_nearest_pairs():
    network = networks.empty()
    ax = plot.nulls(network, Figure().subplots())
    assert len(ax.child_axes) == 12


def test_embedding_marks_the_choice():
    network = networks.three()
    ax = plot.embedding(network, Figure().subplots())
    for panel, table in zip(ax.child_axes, network.criteria.values(), strict=True):
        (column,), (row,) = panel.lines[0].get_data()
        assert [table["dims"][row], table["delays"][column]] == table["best"]


@pytest.mark.parametrize(
    ("network", "path", "kind", "said"),
    [
        (networks.three(), "net.jpeg", "graph", "end the name in .png, .svg, .pdf"),
        (networks.three(), "net", "graph", "cannot tell the format"),
        (networks.three(), "absent/net.png", "graph", "there is no folder"),
        (networks.three(), None, "pie", "choose one of graph, matrix, embedding, nulls"),
        (networks.three(nulls=0), "net.png", "nulls", "no surrogate values"),
        (networks.three(criteria=False), "net.png", "embedding", "given, not chosen"),
    ],
)
def test_what_cannot_be_drawn_is_said(network, path, kind, said, tmp_path):
    with pytest.raises(InputError, match=said):
        network.plot(path and tmp_path / path, kind=kind)
    assert not list(tmp_path.iterdir())


def test_a_folder_in_the_place_of_the_file_is_said(tmp_path):
    (tmp_path / "net.png").mkdir()
    with pytest.raises(InputError, match="cannot write"):
        networks.three().plot(tmp_path / "net.png")


def test_saving_leaves_the_backend_alone(tmp_path):
    import subprocess
    import sys

    code = (
        "import sys; from tests import networks\n"
        f"networks.three().plot({str(tmp_path / 'net.svg')!r})\n"
        "assert 'matplotlib.pyplot' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True, cwd=__file__.rsplit("/tests/", 1)[0])


def layout_of(network):
    return arrange(network.names, [tuple(edge) for edge in np.argwhere(network.adjacency).tolist()])


@pytest.mark.parametrize("maker", MAKERS)
def test_pills_never_overlap(maker):
    drawing = layout_of(getattr(networks, maker)())
    for a in range(len(drawing.labels)):
        for b in range(a):
            dx, dy = np.abs(drawing.centres[a] - drawing.centres[b])
            assert dx >= (drawing.widths[a] + drawing.widths[b]) / 2 or dy >= 1


@pytest.mark.parametrize("maker", ["three", "five", "thirty", "odd"])
def test_acyclic_arrows_point_right(maker):
    drawing = layout_of(getattr(networks, maker)())
    assert all(drawing.centres[i, 0] < drawing.centres[j, 0] for i, j in drawing.bends)


@pytest.mark.parametrize(
    ("maker", "allowed"), [("three", 0), ("five", 0), ("ring", 0), ("thirty", 2), ("tangle", 2)]
)
def test_arrows_keep_off_other_labels(maker, allowed):
    drawing = layout_of(getattr(networks, maker)())
    hit = 0
    for (i, j), bend in drawing.bends.items():
        points = curve(drawing.centres[i], drawing.centres[j], bend)
        for n in set(range(len(drawing.labels))) - {i, j}:
            away = np.abs(points - drawing.centres[n]) / [drawing.widths[n] / 2, 0.5]
            hit += bool((away.max(1) < 1).any())
    assert hit <= allowed


def test_opposite_arrows_lie_apart():
    drawing = layout_of(networks.ring())
    there, back = (
        curve(drawing.centres[i], drawing.centres[j], drawing.bends[i, j]) for i, j in [(0, 1), (1, 0)]
    )
    assert np.linalg.norm(there[24] - back[24]) > 0.3


@settings(max_examples=30, deadline=None)
@given(
    st.integers(1, 14).flatmap(
        lambda n: st.tuples(st.just(n), st.sets(st.tuples(*[st.integers(0, n - 1)] * 2)))
    )
)
def test_any_graph_has_a_drawing(case):
    size, pairs = case
    drawing = arrange([f"n{i}" for i in range(size)], [(i, j) for i, j in pairs if i != j])
    assert np.isfinite(drawing.centres).all()
    gaps = np.abs(drawing.centres[:, None] - drawing.centres[None])
    apart = (gaps[..., 0] >= 1.6) | (gaps[..., 1] >= 0.999)
    assert (apart | np.eye(size, dtype=bool)).all()


def test_labels_are_short_and_on_one_line():
    assert shorten("a\nb") == "a b"
    assert shorten(" ") == "·"
    assert len(shorten("x" * 99)) == 18
