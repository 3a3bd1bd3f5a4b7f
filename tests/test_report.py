"""The page as a file: complete, self-contained, the same every time, safe whatever the nodes are called."""

import base64
import hashlib
import html
import json
import math
import re
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest

import enmesh as em
from enmesh import InputError, Series
from enmesh.draw.answer import surety
from enmesh.draw.report.more import comparison_page, group_section, windows_section
from enmesh.draw.report.page import contents, embed, histogram, page
from enmesh.draw.report.words import headline, paragraph, past, recording, references, standing
from enmesh.sureness.compare import Comparison
from enmesh.sureness.group import Group
from enmesh.sureness.windows import Windows
from tests import networks

MAKERS = ["three", "five", "thirty", "ring", "odd", "empty"]
SECTIONS = {"network", "links", "meaning", "nulls", "matrix", "series", "embedding", "choices", "methods"}


class Reader(HTMLParser):
    """What a browser would find: elements, ids, addresses, the data block, and whether all tags close."""

    VOID = ("meta", "link", "input", "br")

    def __init__(self, text):
        super().__init__()
        self.open, self.tags, self.ids, self.loads, self.words, self.data = [], [], set(), [], "", ""
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        self.tags.append(tag)
        self.ids |= {attrs["id"]} if "id" in attrs else set()
        self.loads += [attrs[key] for key in ("src", "href", "srcset", "action") if key in attrs]
        if tag not in self.VOID:
            self.open.append((tag, attrs.get("id")))

    def handle_endtag(self, tag):
        assert self.open, tag
        assert self.open.pop()[0] == tag

    def handle_data(self, text):
        if self.open and self.open[-1] == ("script", "data"):
            self.data += text
        elif self.open and self.open[-1][0] not in ("script", "style"):
            self.words += text


@pytest.mark.parametrize("maker", MAKERS)
def test_page_is_whole_and_loads_nothing(maker):
    network = getattr(networks, maker)()
    text = page(network)
    read = Reader(text)
    assert not read.open
    assert read.ids >= SECTIONS | {"provenance", "warnings"}
    anchors = {address[1:] for address in read.loads if address.startswith("#")}
    assert anchors <= read.ids  # the contents
    assert [address for address in read.loads if not address.startswith("#")] == ["data:,"]
    assert not re.search(r"@import|url\(|\bfetch\(|XMLHttpRequest|\bimport\(", text)
    assert set(re.findall(r"https?://[^\s\"'<]+", text)) == {"http://www.w3.org/2000/svg"}
    assert read.tags.count("script") == 2
    assert headline(network) in read.words


@pytest.mark.parametrize("maker", MAKERS)
def test_data_block_holds_the_network(maker):
    network = getattr(networks, maker)()
    data = json.loads(Reader(page(network)).data)
    assert data["names"] == list(network.names)
    assert len(data["links"]) == len(network.candidates)
    selected = {(data["names"][row[0]], data["names"][row[1]]) for row in data["links"] if row[6]}
    assert selected == {(s, t) for t in network.names for s in network.parents[t]}
    tests = {(c.source, c.target): c for c in network.candidates}
    for i, j, te, p, q, lags, _, hist, effect, lag in data["links"]:
        test = tests[data["names"][i], data["names"][j]]
        assert [te, p, q] == pytest.approx([test.te, test.p_value, test.q_value], rel=1e-4)
        assert (lags, sum(hist[2]), effect, lag) == ([test.lag], len(test.null), None, test.lag)


def test_odd_names_stay_names():
    network = networks.odd()
    text = page(network)
    assert "<script>alert" not in text
    assert "<b>bold" not in text
    assert json.loads(Reader(text).data)["names"] == list(networks.ODD_NAMES)


def test_text_from_the_network_is_escaped():
    bad = "<img src=x onerror=alert(1)>"
    network = networks.three(
        warnings=(bad,), choices=((bad, bad, bad),), provenance={bad: bad}, options={"score": {"type": bad}},
        removed=((bad, bad),), optimal=False,
    )  # fmt: skip
    text = page(network)
    assert bad not in text
    assert "img" not in Reader(text).tags
    assert Reader(text).words.count(bad) >= 7


def test_names_that_templates_and_scripts_would_read():
    names = ("$data", "${script}", "<!--", "\u2028", "\\u003c")
    text = page(networks.make(names, [(0, 1)]))
    assert json.loads(Reader(text).data)["names"] == list(names)


def test_embedded_json_cannot_end_its_element():
    text = embed(["</script>", "<!--", "]]>", "&lt;", "\u2029"])
    assert not set("<>&\u2029") & set(text)
    assert json.loads(text) == ["</script>", "<!--", "]]>", "&lt;", "\u2029"]


def test_same_network_same_page():
    assert page(networks.tangle()) == page(networks.tangle())
    assert page(networks.tangle()) != page(networks.tangle(seed=1))


def test_stability_is_on_the_page_and_in_a_notebook():
    network = networks.three(
        stability={"a>b": 1.0, "b>c": 0.25, "a>c": 0.1}, options=networks.options(99) | {"bootstrap": 40}
    )
    rows = contents(network)["links"]
    assert {(i, j): rest[-1] for i, j, *rest in rows if rest[-1] is not None} == {
        (0, 1): 1.0,
        (1, 2): 0.25,
        (0, 2): 0.1,
    }
    assert "Stability is the share" in Reader(page(network)).words
    assert "repeated on 40 halves" in paragraph(network)
    assert any("Samworth" in work for work in references(network))
    assert re.search("<th[^>]*>stability</th>", network._repr_html_())
    assert re.search(r">0\.25</td></tr>", network._repr_html_())
    plain = networks.three()
    assert {len(row) for row in contents(plain)["links"]} == {10}
    assert "stability" not in Reader(page(plain)).words.lower()
    assert not re.search("<th[^>]*>stability</th>", plain._repr_html_())


def test_further_sections_escape_names_and_numbers_that_are_not_known():
    names = [*networks.ODD_NAMES, "<img src=x onerror=alert(1)>"]
    values = np.linspace(-1, 1, 36).reshape(6, 6)
    np.fill_diagonal(values, np.nan)
    frame, sure = (pd.DataFrame(part, names, names) for part in (values, abs(values)))
    network = networks.make(tuple(names), [(i, (i + 1) % 6) for i in range(6)])
    own, over_time = {"<img src=x>": network.adjacency}, np.stack([values] * 2)
    results = [
        Comparison(frame, frame, -frame, sure, sure, "x", ("<b>bold", "&"), (network, network)),
        Group(network, sure, frame, sure, sure, 4, own),
        Windows(over_time, abs(over_time), abs(over_time), np.arange(2), 10, network, 1.0),
    ]
    texts = [
        comparison_page(results[0]), group_section(results[1]), windows_section(results[2]),
        *(result._repr_html_() for result in results),
    ]  # fmt: skip
    for text in texts:
        assert "<img" not in text
        assert "<b>bold" not in text
        assert "nan" not in Reader(text).words
        assert not Reader(text).open
    nothing = np.full((1, 6, 6), np.nan)
    assert windows_section(Windows(nothing, nothing, nothing, np.arange(1), 10, network, 1.0))


def test_many_surrogates_stay_small():
    network = networks.fifty(nulls=199)
    size = len(page(network))
    assert size < 600_000
    many = {len(c.null): histogram(c.null) for c in networks.three(nulls=999).candidates}
    assert len(many[999][2]) <= 24


def test_histogram_counts_every_value():
    rng = np.random.default_rng(0)
    values = rng.normal(size=199)
    low, high, counts = histogram(values.tolist())
    assert (low, high) == pytest.approx((values.min(), values.max()), rel=1e-4)
    assert sum(counts) == 199
    assert sum(histogram([0.5] * 9)[2]) == 9
    assert histogram([]) is None


def test_gaps_and_unknown_numbers_become_null():
    network = networks.three(gap=math.nan, candidates=())
    data = contents(network)
    assert None in data["preview"][0]
    assert [row[2:6] for row in data["links"]] == [[None, None, None, []]] * 2
    assert "NaN" not in Reader(page(network)).data


def test_analytic_test_has_no_histogram():
    network = networks.three(nulls=0)
    assert all(row[7] is None for row in contents(network)["links"])
    assert "against its analytic null distribution" in paragraph(network)


def test_numpy_numbers_are_fine():
    import dataclasses

    network = networks.three()
    tests = [dataclasses.replace(c, lag=np.int64(1), te=np.float64(c.te)) for c in network.candidates]
    assert page(networks.three(candidates=tuple(tests))) == page(network)


def test_long_previews_are_thinned():
    values = np.zeros(5000)
    values[4701] = 7
    shown = contents(networks.three(preview=dict.fromkeys("abc", tuple(values))))["preview"][0]
    assert len(shown) <= 720
    assert shown.index(7) / len(shown) == pytest.approx(4701 / 5000, abs=0.005)


@pytest.mark.parametrize(
    ("network", "said"),
    [
        (networks.five(), "4 of 20 possible links found. 1 more is doubtful."),
        (networks.empty(), "No link found among 12 possible."),
        (networks.make(("alone",), []), "One node: no link is possible."),
    ],
)
def test_headline(network, said):
    assert headline(network) == said


def test_standing_says_what_is_proven():
    assert "(proven)" in standing(networks.three())
    assert "without feedback and at most 3 drivers of a node" in standing(networks.three())
    assert "0.05 higher" in standing(networks.three(optimal=False))
    assert "may exist" in standing(networks.three(optimal=False, bound=math.inf))
    assert "Left out to avoid cycles: c → a." in standing(networks.three(removed=(("c", "a"),)))


def test_sure_links_are_counted_by_q():
    network = networks.five()
    sure = sum(c.q_value <= 0.05 for c in network.candidates if c.selected)
    assert 0 < sure < 5
    assert str(surety(network)) == f"{sure} solid, {5 - sure} doubtful"
    assert f"{sure} with q up to 0.05" in paragraph(network)


def test_notes_fit_the_network():
    assert "Feedback was not allowed" in page(networks.five())
    allowed = page(networks.five(options={"acyclic": False}))
    assert "Feedback was not allowed" not in allowed
    assert "Feedback was allowed" in allowed
    assert "A negative value is no error" in page(networks.five())
    assert "A negative value is no error" not in page(networks.five(candidates=()))
    assert "data-if" not in page(networks.five())


def test_methods_follow_the_options():
    said = paragraph(networks.five())
    for part in ("5 nodes (2000 samples)", "k = 4", "dimension 2, delay 1", "Ragwitz", "99 surrogates",
                 "α = 0.99", "at most 3 parents", "exact", "proven optimal", "20 possible"):  # fmt: skip
        assert part in said
    cited = references(networks.five())
    assert cited[0].startswith("Cliff, O. M., Prokopenko, M. and Fitch, R.")
    assert "Inferring Coupling of Distributed Dynamical Systems via Transfer Entropy" in cited[0]
    assert any("Kraskov" in work for work in cited)


def test_methods_of_other_options():
    network = networks.three(nulls=0, criteria=False)
    said = paragraph(network)
    assert "linear-Gaussian" in said
    assert "TEA" in said
    assert "Ragwitz" not in said
    assert not any("Kraskov" in work or "Ragwitz" in work for work in references(network))
    score = network.options["score"] | {"embedding": {"dim": [["a", 1], ["b", 3], ["c", 2]], "delay": 1, "lag": 2}}
    said = paragraph(
        networks.three(options={"score": score, "search": {"type": "Tabu"}, "acyclic": False}, optimal=False)
    )
    for part in ("dimension 1 to 3", "source lag 2", "tabu search", "cycles allowed", "not proven optimal"):
        assert part in said


def test_methods_say_that_pairs_were_screened_out():
    network = networks.five()
    said = paragraph(networks.five(candidates=network.candidates[:12]))
    assert "Each of 12 candidate links" in said
    assert "counting all 20 possible links" in said


@pytest.mark.parametrize("method", ["Ragwitz", "ActiveStorage", "Cao"])
def test_embedding_method_is_cited(method):
    table = {"dims": [1, 2], "delays": [3], "values": [[0.5], [math.nan]], "best": [1, 3], "method": method}
    network = networks.three(criteria={"a": table | {"e2": [math.nan, 1.0]}})
    year = {"Ragwitz": "(2002)", "ActiveStorage": "2012", "Cao": "(1997)"}[method]
    assert year in paragraph(network)
    assert any(year.strip("()") in work for work in references(network))
    shown = {"dims": [1, 2], "delays": [3], "best": [1, 3], "values": [[0.5], [None]]}
    shown["error"] = method == "Ragwitz"
    assert contents(network)["criteria"] == [shown, None, None]
    assert json.loads(Reader(page(network)).data)


def test_a_criterion_of_an_unknown_method_is_best_where_the_choice_is():
    table = {"dims": [1, 2], "delays": [1], "values": [[0.2], [0.9]], "method": "another"}
    for best, is_error in (([1, 1], True), ([2, 1], False)):
        (shown, *_) = contents(networks.three(criteria={"a": table | {"best": best}}))["criteria"]
        assert shown["error"] is is_error


def test_methods_without_options():
    said = paragraph(networks.three(options={}, provenance={}, candidates=(), criteria={}))
    assert "None" not in said
    assert said.startswith("Directed coupling among 3 nodes")


def test_write_returns_the_path_and_says_what_is_wrong(tmp_path):
    path = networks.three().report(tmp_path / "report.html")
    assert path.read_text(encoding="utf-8") == page(networks.three())
    with pytest.raises(InputError, match="there is no folder"):
        networks.three().report(tmp_path / "absent" / "report.html")
    with pytest.raises(InputError, match="cannot write"):
        networks.three().report(tmp_path)


def test_json_round_trip_gives_the_same_page():
    network = networks.odd()
    assert page(type(network).from_json(network.to_json())) == page(network)


@pytest.mark.parametrize("maker", MAKERS)
def test_notebook_shows_a_network(maker):
    network = getattr(networks, maker)()
    shown = network._repr_html_()
    read = Reader(shown)
    assert not read.open
    assert headline(network) in read.words
    assert read.tags.count("tr") == (min(12, len(network.edges)) + 1 if len(network.edges) else 0)
    assert "<b>bold" not in shown


@pytest.mark.parametrize("maker", MAKERS)
def test_notebook_frame_is_whole_and_loads_nothing(maker):
    network = getattr(networks, maker)()
    frames = re.findall(r'<iframe [^>]*srcdoc="([^"]*)"', network._repr_html_())
    assert len(frames) == 1
    text = html.unescape(frames[0])
    read = Reader(text)
    assert not read.open
    assert read.loads == []
    assert set(re.findall(r"https?://[^\s\"'<]+", text)) == {"http://www.w3.org/2000/svg"}
    assert "default-src 'none'" in text
    data = json.loads(read.data)
    assert data["names"] == list(network.names)
    assert len(data["links"]) == int(network.adjacency.sum())
    assert "preview" not in data


def test_notebook_shows_a_series():
    values = np.random.default_rng(0).normal(size=(300, 14))
    values[20:30, 1] = np.nan
    series = Series(values, names=["<i>x</i>", *(f"n{i}" for i in range(13))], missing="drop")
    shown = series._repr_html_()
    read = Reader(shown)
    assert not read.open
    assert read.tags.count("svg") == 12
    assert "i" not in read.tags
    assert "nan" not in shown
    assert "and 2 more nodes" in read.words


def test_page_names_the_recording_and_its_origin():
    known = {"enmesh": "0.1.0", "data": "5f1c" * 16, "file": "C:\\runs\\<b>heart.csv", "date": "2024-05-01"}
    known |= {"command": "enmesh infer heart.csv", "python": "3.11.7", "numpy": "2.1.0", "lab": "north & south"}
    text = page(networks.three(provenance=known))
    assert "<title>&lt;b&gt;heart.csv: No sure link among 6 possible; 2 are doubtful.</title>" in text
    read = Reader(text)
    shown = read.words[read.words.rindex("Provenance") :]
    for value in known.values():
        assert value in shown
    order = [shown.index(known[key]) for key in ("file", "date", "command", "data", "enmesh", "python", "lab")]
    assert order == sorted(order)
    assert recording(networks.three()) == ""  # a digest is no name
    assert recording(networks.three(provenance={})) == ""
    assert "<title>No sure link among 6" in page(networks.three(provenance={}))


def test_choice_of_the_past_is_explained():
    assert "often not the darkest cell" in past(networks.three())
    assert "was given" in past(networks.three(criteria=False))
    assert "Lags were chosen from the data" in past(networks.three(criteria={"a": {"lags": [1, 3]}}))
    chosen = networks.three(criteria=False, choices=(("lags", "1 to 2", "a linear test bears all at once"),))
    assert past(chosen) == "Lags were chosen from the data: 1 to 2."
    assert "often not the darkest cell" in Reader(page(networks.three())).words


@pytest.mark.parametrize(
    ("provenance", "span"),
    [
        ({"samples": 2000, "trials": 1, "dt": 1.0}, [1999, "samples"]),
        ({"samples": 2000, "trials": 1, "dt": 0.05}, [99.95, "units of time, dt = 0.05"]),
        ({"samples": 150, "trials": 1}, [149, "samples"]),
        ({"samples": 2000, "trials": 4, "dt": 0.05}, None),
        ({"samples": 2000, "trials": 2, "lengths": [800, 1200]}, [799, "samples"]),
        ({}, None),
    ],
)
def test_time_axis_covers_what_is_shown(provenance, span):
    assert contents(networks.three(provenance=provenance))["span"] == span


def test_previews_of_old_files_end_where_they_did():
    old = {name: tuple(range(400)) for name in "abc"}  # every second of 1000 samples, 400 of them
    assert contents(networks.three(preview=old, provenance={"samples": 1000, "trials": 1}))["span"] == [798, "samples"]


def test_layouts_of_the_page_are_those_of_the_picture():
    network = networks.tangle()
    data = contents(network)
    edges = {(i, j) for i, j in np.argwhere(network.adjacency).tolist()}
    for layout in data["layouts"]:
        assert {(i, j) for i, j, _ in layout["paths"]} == edges
        assert all(len(flat) % 6 == 2 for _, _, flat in layout["paths"])
        assert [len(layout[key]) for key in ("x", "y", "width", "height", "turn", "lines")] == [30] * 6
    assert sorted(data["order"]) == list(range(30))


def test_a_page_made_in_python_names_the_file_that_was_read(tmp_path):
    path = tmp_path / "herd.csv"
    em.simulate.var("a>b", n=120, seed=0).to_dataframe().to_csv(path, index=False)
    series = em.read(path)
    network = em.infer(series.select(["b", "a"]), score="tea", estimator="gaussian", max_lag=1)
    assert network.provenance["file"] == str(path)
    page = network.report(tmp_path / "page.html").read_text(encoding="utf-8")
    assert re.search(r"<title>[^<]*herd", page)


def test_a_page_names_its_scripts_by_hash_and_no_other_may_run(tmp_path):
    series = em.simulate.var("a>b", n=200, seed=0)
    network = em.infer(series, score=em.TEA(estimator=em.Gaussian(), embedding=em.Embedding()))

    def allowed(page):
        policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page)[1]
        assert "script-src 'sha256-" in policy
        assert "script-src 'unsafe" not in policy
        return policy

    def hashes(page):
        for part in re.findall(r"<script>(.*?)</script>|<style[^>]*>(.*?)</style>", page, re.DOTALL):
            digest = hashlib.sha256("".join(part).encode()).digest()
            yield f"'sha256-{base64.b64encode(digest).decode()}'"

    one = network.report(tmp_path / "one.html").read_text(encoding="utf-8")
    assert all(part in allowed(one) for part in hashes(one))
    both = em.report({"x": network, "y": network}, tmp_path / "both.html").read_text(encoding="utf-8")
    frames = [html.unescape(frame) for frame in re.findall('srcdoc="([^"]*)"', both)]
    assert len(frames) == 2
    for whole in (both, *frames):  # a page in a frame obeys the policy of the outer one too
        assert all(part in allowed(both) for part in hashes(whole))
