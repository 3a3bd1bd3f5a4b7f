"""Pictures: every kind at every size, in the axes given, the same every time, arrows and labels apart."""

import dataclasses
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from rich.cells import cell_len

from enmesh.draw import plot
from enmesh.draw.arrows import links_of, tags_of
from enmesh.draw.labels import key, short, wrap
from enmesh.draw.layout import arrange, crossed
from enmesh.draw.plot import DOT, ROW
from enmesh.draw.shapes import corners, passes, sampled
from enmesh.draw.style import THEMES
from enmesh.draw.tags import tag_size
from enmesh.errors import InputError
from enmesh.network.network import Candidate
from tests import networks
from tests.marks import rest_slow, slow_if

MAKERS = ["three", "five", "thirty", "fifty", "ring", "tangle", "odd", "empty"]


@pytest.fixture(autouse=True)
def _no_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


ALONE = [kind for kind in plot.KINDS if kind not in ("lags", "intervals")]  # drawn without the data


@pytest.mark.parametrize("kind", ALONE)
@pytest.mark.parametrize("maker", ["three", "odd", pytest.param("thirty", marks=pytest.mark.slow)])
def test_every_kind_draws_into_the_axes_given(maker, kind, tmp_path):
    ax = Figure(figsize=(8, 6)).subplots()
    assert plot.draw(getattr(networks, maker)(), tmp_path / "net.png", kind=kind, ax=ax) is ax
    assert (tmp_path / "net.png").read_bytes().startswith(b"\x89PNG")
    assert ax.patches or ax.images or ax.child_axes


@pytest.mark.parametrize("maker", MAKERS)
def test_a_shaft_and_a_head_per_edge_and_a_pill_per_node(maker):
    network = getattr(networks, maker)()
    ax = plot.draw(network, ax=Figure().subplots())
    named = [patch.get_gid() or "" for patch in ax.patches]
    assert sum(name.startswith("node-") for name in named) == len(network.names)
    assert {name for name in named if name.startswith("link-")} == {
        f"link-{i}-{j}" for i, j in np.argwhere(network.adjacency)
    }
    assert sum(type(patch).__name__ == "Polygon" for patch in ax.patches) == network.adjacency.sum()


def is_cut(figure):
    """Whether anything is written or drawn beyond the border of a figure."""
    figure.draw_without_rendering()
    boxes = [ax.get_tightbbox() for ax in figure.axes]
    return any((box.min < figure.bbox.min - 1).any() or (box.max > figure.bbox.max + 1).any() for box in boxes)


SIZES = ["pair", "three", "thirty", "odd", "long", "lags", "key"]


@pytest.mark.parametrize(
    ("maker", "kind"), [slow_if(maker in ("thirty", "key"), maker, kind) for maker in SIZES for kind in ALONE]
)
def test_no_words_leave_the_picture(maker, kind, tmp_path):
    made = {
        "pair": lambda: lagged(networks.make(("a", "b"), [(0, 1), (1, 0)]), 1, 3),
        "long": lambda: networks.make(LONG, CHAIN),
        "lags": lambda: several(networks.make(LONG[:3], FEEDBACK), *LAGS),
        "key": lambda: networks.make(tuple("x" * 60 + c + "x" * 60 for c in "abc"), [(0, 1), (1, 2)]),
    }
    network = made.get(maker, getattr(networks, maker, None))()
    assert not is_cut(plot.draw(network, tmp_path / "net.svg", kind=kind).figure)


LONG = tuple(f"temperature, north riser, no. {i:012d}" for i in range(6))
CHAIN = [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (0, 5)]


def test_words_that_are_cut_are_seen():
    ax = Figure(figsize=(2, 2)).subplots()
    ax.set_title("a title that is much longer than two inches of paper can hold")
    assert is_cut(ax.figure)


def test_a_long_chain_goes_down_the_sheet():
    wide, tall = (plot._layout(networks.make(names, CHAIN)) for names in ("abcdef", LONG))
    assert (np.diff(wide.centres[:, 0]) > 0).all()
    assert (np.diff(tall.centres[:, 1]) < 0).all()


def shafts_of(ax):
    return {p.get_gid(): p for p in ax.patches if (p.get_gid() or "").startswith("link-")}


def test_wider_is_stronger_and_dashed_is_doubtful():
    network = networks.thirty()
    drawn = shafts_of(plot.draw(network, ax=Figure().subplots()))
    shafts = [drawn[f"link-{i}-{j}"] for i, j in np.argwhere(network.adjacency)]
    tests = {(c.source, c.target): c for c in network.candidates}
    edges = [tests[network.names[i], network.names[j]] for i, j in np.argwhere(network.adjacency)]
    widths, te = [s.get_linewidth() for s in shafts], [t.te for t in edges]
    assert np.array_equal(np.argsort(widths), np.argsort(te))
    assert [s.get_linestyle() != "-" for s in shafts] == [t.q_value > plot.LEVEL for t in edges]
    assert len({s.get_edgecolor() for s in shafts}) > len(edges) / 2


def test_untested_edges_are_drawn():
    ax = plot.draw(networks.three(candidates=()), ax=Figure().subplots())
    assert set(shafts_of(ax)) == {"link-0-1", "link-1-2"}


def test_unstable_arrows_are_pale_unless_told_otherwise():
    network = networks.three(stability={"a>b": 1.0, "b>c": 0.25, "a>c": 0.1})
    for kind in ("graph", "circle"):
        ax = network.plot(kind=kind, ax=Figure().subplots())
        assert {gid: shaft.get_alpha() for gid, shaft in shafts_of(ax).items()} == pytest.approx(
            {"link-0-1": 1.0, "link-1-2": 0.4}
        )
        assert "pale: seldom found again" in ax.get_title(loc="left")
    plain = network.plot(ax=Figure().subplots(), fade=False)
    assert {shaft.get_alpha() for shaft in shafts_of(plain).values()} == {1.0}
    assert "pale" not in plain.get_title(loc="left")
    assert "pale" not in networks.three().plot(ax=Figure().subplots()).get_title(loc="left")


@pytest.mark.parametrize("suffix", [".png", ".svg", ".pdf"])
def test_same_network_same_bytes(suffix, tmp_path):
    for name in "ab":
        networks.ring(12).plot(tmp_path / (name + suffix))
    first, second = ((tmp_path / (name + suffix)).read_bytes() for name in "ab")
    assert first == second


def test_matrix_shows_source_in_rows():
    network = networks.thirty()
    ax = plot.draw(network, kind="matrix", ax=Figure().subplots())
    shown = ax.images[0].get_array()
    names = [tick.get_text() for tick in ax.get_yticklabels()]
    assert names == [tick.get_text() for tick in ax.get_xticklabels()]
    for tested in network.candidates:
        assert shown[names.index(tested.source), names.index(tested.target)] == tested.te
    frames = {(names[round(p.get_y() + 0.5)], names[round(p.get_x() + 0.5)]) for p in ax.patches}
    assert frames == {(s, t) for t in network.names for s in network.parents[t]}


def test_matrix_is_ordered_by_blocks():
    inside = [(i, j) for i in range(12) for j in range(12) if i != j and i % 3 == j % 3]
    order, borders = plot.block_order(networks.make([f"n{i}" for i in range(12)], [*inside, (0, 1)]))
    assert order == [0, 3, 6, 9, 1, 4, 7, 10, 2, 5, 8, 11]
    assert borders == [4, 8]


# Linear light as seen without one kind of cone (Machado, Oliveira and Fernandes 2009), and by all three.
SIGHTS = {
    "all": np.eye(3),
    "no red": np.array([[0.152, 1.053, -0.205], [0.115, 0.786, 0.099], [-0.004, -0.048, 1.052]]),
    "no green": np.array([[0.367, 0.861, -0.228], [0.280, 0.673, 0.047], [-0.012, 0.043, 0.969]]),
    "no blue": np.array([[1.256, -0.077, -0.179], [-0.078, 0.931, 0.148], [0.005, 0.691, 0.304]]),
}


@pytest.mark.parametrize("sight", SIGHTS)
@pytest.mark.parametrize("theme", THEMES)
def test_colours_stand_out_in_grey_and_without_a_kind_of_cone(theme, sight):
    colours = THEMES[theme]

    def light(colour):
        parts = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in to_rgb(colour)]
        return float(np.clip(SIGHTS[sight] @ parts, 0, 1) @ [0.2126, 0.7152, 0.0722])

    def contrast(a, b):
        low, high = sorted((light(a), light(b)))
        return (high + 0.05) / (low + 0.05)

    for ramp, order in ((colours.ramp, True), (colours.strength, False)):
        off_paper = [contrast(colour, colours.paper) for colour in ramp]
        assert off_paper == sorted(off_paper, reverse=order)
        assert min(off_paper) > 1.7
    for colour in (colours.neutral, colours.negative, colours.positive):
        assert contrast(colour, colours.paper) > 2
    assert contrast(colours.text, colours.paper) > 7
    assert contrast(colours.text, colours.box) > 7
    assert contrast(colours.faint, colours.paper) > 4.5


def test_theme_follows_the_figure():
    dark = Figure(facecolor="black").subplots()
    plot.draw(networks.three(), ax=dark)
    boxes = [p for p in dark.patches if (p.get_gid() or "").startswith("node-")]
    assert all(p.get_facecolor()[:3] == to_rgb(THEMES["dark"].box) for p in boxes)
    with pytest.raises(InputError, match="choose one of auto, light, dark, grey"):
        plot.draw(networks.three(), theme="pink")


@dataclasses.dataclass(frozen=True, kw_only=True)
class Several(Candidate):
    """A tested pair with several lags."""

    lags: tuple[int, ...] = ()


def several(network, *lags):
    """Return the network with the tuples of lags given, in turn, at its edges."""
    turn = iter(lags * 99)
    tests = []
    for test in network.candidates:
        known = {field.name: getattr(test, field.name) for field in dataclasses.fields(Candidate)}
        found = next(turn) if test.selected else (1,)
        tests.append(Several(**known | {"lag": found[0], "lags": found}))
    return dataclasses.replace(network, candidates=tuple(tests))


def lagged(network, *lags):
    """Return the network with the lags given, in turn, at its edges."""
    return several(network, *((lag,) for lag in lags))


def test_timegraph_has_an_arrow_per_lag():
    network = lagged(networks.three(), 1, 3)
    ax = plot.draw(network, kind="timegraph", ax=Figure().subplots())
    drawn = shafts_of(ax)
    assert set(drawn) == {"link-0-1-lag-1", "link-1-2-lag-3"}
    start, end = (drawn["link-1-2-lag-3"].get_path().vertices[at] for at in (0, -1))
    times = ax.get_xticks()
    assert [label.get_text() for label in ax.get_xticklabels()] == ["t", "t − 1", "t − 3"]  # lags in use
    assert abs(start[0] - times[-1]) < 1
    assert abs(end[0] - times[0]) < 1.5
    rows = ax.get_yticks()
    assert (np.argmin(np.abs(rows - start[1])), np.argmin(np.abs(rows - end[1]))) == (1, 2)


@pytest.mark.parametrize(("rows", "lags"), [(5, 4), (12, 8), (40, 3)])
def test_timegraph_arrows_pass_no_third_dot_and_keep_to_their_time(rows, lags):
    heights, times = -ROW * np.arange(rows), 5.0 * np.arange(-lags, 1)
    dots = np.array([(time, height) for height in heights for time in times])
    rng = np.random.default_rng(rows)
    for _ in range(20):
        i, j = rng.choice(rows, 2, replace=False)
        start, end = np.array([times[rng.integers(lags)], heights[i]]), np.array([0.0, heights[j]])
        path = plot._path(start, end, dots)
        ends = [np.abs(dots - end_).max(1) < 1e-9 for end_ in (start, end)]
        others = dots[~ends[0] & ~ends[1]]
        assert not any(passes(path, dot, np.full(2, 2 * DOT), 0.0) for dot in others)
        assert (path[:, 0] >= start[0]).all()
        assert (path[:, 0] <= end[0]).all()


def test_several_lags_are_written_and_drawn_one_by_one():
    network = several(networks.three(), (1, 4), (1, 2, 3, 4, 9))
    assert tags_of(links_of(network)) == {(0, 1): "1, 4", (1, 2): "1–4, 9"}
    many = several(networks.three(), (1, 2, 4, 5), (1, 2, 4, 5, 7, 8, 9))
    assert tags_of(links_of(many)) == {(0, 1): "1, 2, 4, 5", (1, 2): "1, 2, …, 7–9"}
    drawn = shafts_of(plot.draw(network, kind="timegraph", ax=Figure().subplots()))
    assert set(drawn) == {
        *(f"link-0-1-lag-{lag}" for lag in (1, 4)),
        *(f"link-1-2-lag-{lag}" for lag in (1, 2, 3, 4, 9)),
    }


def test_lags_that_all_links_share_are_said_once():
    network = several(networks.three(), (1, 2))
    assert tags_of(links_of(network)) == {}
    ax = plot.draw(network, ax=Figure().subplots())
    assert "lags of every link: 1, 2 samples" in ax.get_title("left")
    alike = lagged(networks.three(), 3)
    assert tags_of(links_of(alike)) == {}
    title = plot.draw(alike, ax=Figure().subplots()).get_title("left")
    assert "lag of every link: 3 samples" in " ".join(title.split())


def test_the_usual_lag_is_said_once_and_others_are_written():
    network = networks.five()
    mostly = several(network, (1,), (1,), (1,), (1,), (4,))
    assert tags_of(links_of(mostly)) == {(3, 4): "4"}
    title = plot.draw(mostly, ax=Figure().subplots()).get_title("left")
    assert "1 sample where none is written" in " ".join(title.split())


def test_lags_are_written_where_one_is_not_one():
    assert tags_of(links_of(networks.three())) == {}
    assert tags_of(links_of(lagged(networks.three(), 1, 3))) == {(0, 1): "1", (1, 2): "3"}
    ax = plot.draw(lagged(networks.three(), 1, 3), ax=Figure().subplots())
    assert sum(p.get_gid() == "lag" for p in ax.patches) == 2


def test_nulls_show_each_link_with_its_value():
    network = networks.five()
    ax = plot.draw(network, kind="nulls", ax=Figure().subplots())
    lines = sorted(panel.lines[0].get_xdata()[0] for panel in ax.child_axes)
    assert lines == sorted(c.te for c in network.candidates if c.selected)
    counts = [sum(patch.get_height() for patch in panel.patches) for panel in ax.child_axes]
    assert counts == [99] * 5


def test_nulls_without_a_link_show_the_nearest_pairs():
    network = networks.empty()
    ax = plot.draw(network, kind="nulls", ax=Figure().subplots())
    assert len(ax.child_axes) == 12


@pytest.mark.parametrize(
    ("network", "path", "kind", "said"),
    [
        (networks.three(), "net.jpeg", "graph", "end the name in .png, .svg, .pdf"),
        (networks.three(), "net", "graph", "cannot tell the format"),
        (networks.three(), "absent/net.png", "graph", "there is no folder"),
        (networks.three(), None, "pie", "choose one of graph, matrix, timegraph, circle"),
        (networks.three(nulls=0), "net.png", "nulls", "no surrogate values"),
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


def random_edges(size, count, seed, acyclic=False):
    rng = np.random.default_rng(seed)
    found = set()
    while len(found) < count:
        i, j = rng.choice(size, 2, replace=False).tolist()
        found.add((min(i, j), max(i, j)) if acyclic else (i, j))
    return sorted(found)


def touching(first, second):
    """Whether two convex shapes overlap: no side of either separates them."""
    for shape in (first, second):
        for a, b in zip(shape, np.roll(shape, -1, 0)):
            normal = np.array([b[1] - a[1], a[0] - b[0]])
            one, other = first @ normal, second @ normal
            if one.max() <= other.min() + 1e-9 or other.max() <= one.min() + 1e-9:
                return False
    return True


def overlaps(drawing, texts=()):
    """Pairs among boxes and the words on arrows that overlap."""
    centres = np.array([drawing.tags[edge] for edge in texts]).reshape(-1, 2)
    sizes = np.array([tag_size(texts[edge]) for edge in texts]).reshape(-1, 2)
    shapes = [*corners(drawing.centres, drawing.sizes, drawing.turns), *corners(centres, sizes, np.zeros(len(centres)))]
    low, high = np.array([[shape.min(0), shape.max(0)] for shape in shapes]).transpose(1, 0, 2)
    near = ((low[:, None] < high) & (low < high[:, None])).all(-1)
    return [(a, b) for a, b in np.argwhere(np.tril(near, -1)).tolist() if touching(shapes[a], shapes[b])]


@pytest.mark.parametrize("acyclic", [True, False])
@pytest.mark.parametrize("seed", rest_slow(range(10), 1))
def test_forty_nodes_keep_labels_and_arrows_apart(seed, acyclic):
    """No label overlaps a node or another label; no arrow passes through a third node's box."""
    edges = random_edges(40, 60, seed, acyclic)
    texts = {edge: ("3", "1, 4", "12")[at % 3] for at, edge in enumerate(edges)}
    for tall in (False, True):
        drawing = arrange([f"channel {i:02d}" for i in range(40)], edges, tall=tall, words=texts)
        assert set(drawing.paths) == set(edges)
        assert crossed(drawing, range(40)) == []
        assert overlaps(drawing, texts) == []


@pytest.mark.parametrize("seed", rest_slow(range(3)))
def test_a_hundred_nodes_go_on_a_circle_with_the_arrows_inside(seed):
    edges = random_edges(100, 300, seed)
    drawing = arrange([f"region of interest {i:02d}" for i in range(100)], edges)
    assert crossed(drawing, range(100)) == []
    assert overlaps(drawing) == []
    assert len(set(drawing.turns.tolist())) == 100


@pytest.mark.parametrize("maker", MAKERS)
def test_made_networks_keep_apart(maker):
    network = getattr(networks, maker)()
    edges = [(i, j) for i, j in np.argwhere(network.adjacency).tolist()]
    texts = dict.fromkeys(edges, "2")
    for tall in (False, True):
        drawing = arrange(network.names, edges, tall=tall, words=texts)
        assert crossed(drawing, range(len(drawing.labels))) == []
        assert overlaps(drawing, texts) == []


def test_the_measures_of_overlap_can_fail():
    drawing = layout_of(networks.three())
    moved = dataclasses.replace(drawing, centres=drawing.centres[[0, 1, 1]])
    assert overlaps(moved) == [(2, 1)]
    through = {(0, 2): np.linspace(drawing.centres[0], drawing.centres[2], 4)}
    assert crossed(dataclasses.replace(drawing, paths=through), range(3)) == [((0, 2), 1)]


def test_a_thin_box_between_two_points_of_a_long_curve_is_seen():
    path = np.linspace([0.0, 0.0], [100.0, 50.0], 4)
    for at in np.linspace(0.1, 0.9, 41):
        assert passes(path, at * path[-1], np.array([0.02, 0.02]), 0.3)
        assert not passes(path, at * path[-1] + [0.0, 0.05], np.array([0.02, 0.02]), 0.3)


def test_many_arrows_at_one_node_end_apart():
    drawing = arrange([f"n{i}" for i in range(9)], [(i, 8) for i in range(8)])
    ends = np.sort([path[-1, 1] for path in drawing.paths.values()])
    assert np.diff(ends).min() > 0.29


@pytest.mark.parametrize("seed", range(3))
def test_lags_lie_on_no_head_and_seldom_on_another_arrow(seed):
    edges = random_edges(40, 60, seed, acyclic=True)
    drawing = arrange([f"channel {i:02d}" for i in range(40)], edges, words=dict.fromkeys(edges, "12"))
    half, ways = np.array(tag_size("12")) / 2, {edge: sampled(path) for edge, path in drawing.paths.items()}
    behind = [
        (edge, other)
        for edge in edges
        for other in edges
        if other != edge and (np.abs(ways[other] - drawing.tags[edge]) < half).all(1).any()
    ]
    assert len(behind) <= 6  # in the middle of their arrows 42 were on another
    for edge in edges:
        assert np.hypot(*(ways[edge][-1] - drawing.tags[edge])) > 0.7


LAGS = ((1, 2, 4), (1, 3, 5, 7, 9, 11), (45,), (1,), (2, 7), (1, 2, 4, 5, 7, 8, 120, 121))
FEEDBACK = [(0, 1), (1, 0), (1, 2), (2, 1)]
WITH_WORDS = {
    "one": lambda: networks.make("ab", [(0, 1)]),
    "pair": lambda: networks.make("ab", [(0, 1), (1, 0)]),
    "chain": networks.three,
    "feedback": lambda: networks.make("abc", FEEDBACK),
    "five": networks.five,
    "ring": networks.ring,
    "fan": lambda: networks.make("abcdefg", [*((0, i) for i in range(1, 6)), *((i, 6) for i in range(1, 6))]),
    "long": lambda: networks.make(LONG, CHAIN),
    "long feedback": lambda: networks.make(LONG[:3], FEEDBACK),
    "twelve": lambda: networks.make([f"node {i}" for i in range(12)], random_edges(12, 16, 3)),
    "tangle": networks.tangle,
    "forty": lambda: networks.make([f"channel {i:02d}" for i in range(40)], random_edges(40, 60, 1, True)),
}


def lag_boxes(ax):
    """Lower left and upper right corners of the words at arrows, ``(L, 2, 2)``."""
    boxes = [patch.get_bbox() for patch in ax.patches if patch.get_gid() == "lag"]
    return np.array([(box.min, box.max) for box in boxes])


def hidden(way, boxes):
    """Whether each of many points along a broken line lies in one of the boxes."""
    far = np.concatenate([[0], np.cumsum(np.hypot(*np.diff(way, axis=0).T))])
    points = np.column_stack([np.interp(np.linspace(0, far[-1], 400), far, axis) for axis in way.T])[:, None]
    return ((points > boxes[:, 0]) & (points < boxes[:, 1])).all(-1).any(1)


QUICK = ("pair", "feedback", "fan", "long")


@pytest.mark.parametrize("kind", ["graph", "circle"])
@pytest.mark.parametrize("maker", [slow_if(maker not in QUICK, maker) for maker in WITH_WORDS])
def test_lags_leave_heads_and_half_of_every_shaft_to_be_seen(maker, kind):
    """Lags cover no head, neither end of a shaft nor more than half of it, and stay in the picture."""
    network = WITH_WORDS[maker]()
    for turn in range(0, len(LAGS), 2):
        ax = plot.draw(several(network, *LAGS[turn:], *LAGS[:turn]), kind=kind, ax=Figure().subplots())
        boxes = lag_boxes(ax)
        shapes = corners(boxes.mean(1), boxes[:, 1] - boxes[:, 0], np.zeros(len(boxes)))
        heads = [patch.get_xy()[[0, 1, 3]] for patch in ax.patches if type(patch).__name__ == "Polygon"]
        assert len(boxes) == len(heads) == network.adjacency.sum()
        assert not any(touching(head, shape) for head in heads for shape in shapes)
        for shaft in shafts_of(ax).values():
            covered = hidden(shaft.get_path().vertices, boxes)
            assert covered.mean() <= 0.52
            assert not covered[0]
            assert not covered[-1]
        limits = np.array([ax.get_xlim(), ax.get_ylim()])
        assert (boxes.min((0, 1)) > limits[:, 0]).all()
        assert (boxes.max((0, 1)) < limits[:, 1]).all()


@pytest.mark.parametrize("way", ["wide", "tall", "circle"])
@pytest.mark.parametrize("maker", WITH_WORDS)
def test_lags_overlap_neither_nodes_nor_each_other(maker, way):
    network = several(WITH_WORDS[maker](), *LAGS)
    links = links_of(network)
    drawing = arrange(network.names, links, words=tags_of(links), tall=way == "tall", circle=way == "circle")
    assert overlaps(drawing, drawing.words) == []


@pytest.mark.parametrize("maker", MAKERS)
def test_arrows_go_from_the_source_to_the_target(maker):
    drawing = layout_of(getattr(networks, maker)())
    for (i, j), path in drawing.paths.items():
        for node, end in ((i, path[0]), (j, path[-1])):
            turn = np.exp(-1j * drawing.turns[node]) * complex(*(end - drawing.centres[node]))
            away = np.abs([turn.real, turn.imag]) - drawing.sizes[node] / 2
            assert np.hypot(*np.clip(away, 0, None)) < 0.2


@pytest.mark.parametrize("maker", ["three", "five", "thirty", "odd"])
def test_acyclic_arrows_point_right(maker):
    drawing = layout_of(getattr(networks, maker)())
    assert all(drawing.centres[i, 0] < drawing.centres[j, 0] for i, j in drawing.paths)


@pytest.mark.parametrize("circle", [True, False])
@pytest.mark.parametrize("size", [3, 6, 20])
def test_opposite_arrows_lie_apart(size, circle):
    edges = [*((i, (i + 1) % size) for i in range(size)), (1, 0)]
    drawing = arrange([f"x{i}" for i in range(size)], edges, circle=circle)
    there, back = (sampled(drawing.paths[edge]) for edge in [(0, 1), (1, 0)])
    assert np.hypot(*(there[:, None] - back[None]).T).min() > 0.1


@settings(max_examples=30)
@given(
    st.integers(1, 14).flatmap(lambda n: st.tuples(st.just(n), st.sets(st.tuples(*[st.integers(0, n - 1)] * 2)))),
    st.booleans(),
)
def test_any_graph_has_a_drawing(case, circle):
    size, pairs = case
    edges = [(i, j) for i, j in pairs if i != j]
    drawing = arrange([f"n{i}" for i in range(size)], edges, circle=circle)
    assert np.isfinite(drawing.centres).all()
    assert overlaps(drawing) == []
    assert crossed(drawing, range(size)) == []


def test_long_names_that_differ_at_the_end_stay_apart():
    names = [f"temperature of the north riser, sensor {i:02d}" for i in range(12)]
    drawing = arrange(names, random_edges(12, 16, 3))
    assert drawing.labels == tuple(names)
    assert [" ".join(lines) for lines in drawing.lines] == names
    assert all(cell_len(line) <= 24 for lines in drawing.lines for line in lines)
    assert crossed(drawing, range(12)) == []


def test_labels_are_never_two_of_the_same():
    assert short(["a\nb", " "]) == ("a b", "·")
    same = ["x" * 60 + "a" + "x" * 60, "x" * 60 + "b" + "x" * 60, "y"]
    labels = short(same)
    assert len(set(labels)) == 3
    assert max(map(len, labels)) <= 80
    assert [line.split(" = ") for line in key(same, labels)] == [[a, b] for a, b in zip(labels[:2], same[:2])]
    ax = plot.draw(networks.make(tuple(same), [(0, 1)]), ax=Figure().subplots())
    assert any(same[0] in text.get_text().replace("\n", "") for text in ax.texts)


@settings(max_examples=60)
@given(st.lists(st.text(min_size=1, max_size=60), min_size=2, max_size=6), st.integers(12, 40))
def test_labels_differ_where_names_do(names, longest):
    names = [" ".join(name.split()) or "·" for name in names]
    labels = short(names, longest)
    for a, one in zip(names, labels):
        for b, other in zip(names, labels):
            assert (a == b) or (one != other)


@given(st.text(alphabet=st.characters(categories=["L", "P", "Zs"]), max_size=90))
def test_wrapping_loses_nothing(text):
    flat = " ".join(text.split()) or "·"
    assert "".join("".join(wrap(flat)).split()) == "".join(flat.split())
