"""The programs behind the tables of the docs run, on a few small data sets."""

import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from benchmarks import accuracy, calibration, field, power, residuals

import enmesh as em

pytestmark = pytest.mark.filterwarnings("ignore::enmesh.HazardWarning")


def cells(line):
    return [cell.strip() for cell in line.strip("|").split("|")]


@pytest.mark.slow
def test_power_counts_links_and_other_pairs(monkeypatch, capsys):
    kept = {name: power.ESTIMATORS[name] for name in ("Gaussian", "KSG, rank", "Ordinal, order 3")}
    monkeypatch.setattr(power, "ESTIMATORS", kept)
    monkeypatch.setattr(power, "SURROGATES", 99)
    header, _, *rows = power.table(300, 1, 1)
    assert cells(header) == ["N = 300", *power.SYSTEMS]
    assert [cells(row)[0] for row in rows] == [*kept, "links, other pairs"]
    assert cells(rows[-1])[1:] == ["4, 8", "12, 18", "4, 8", "4, 8", "4, 8"]
    assert all(re.fullmatch(r"[01]\.\d\d, \d+", cell) for row in rows[:-1] for cell in cells(row)[1:])
    assert "15 of 15 data sets" in capsys.readouterr().err


@pytest.mark.parametrize("name", calibration.MEMBERS)
def test_every_estimator_can_be_calibrated(name):
    member = calibration.MEMBERS[name]
    assert len(calibration.keeps_spurious(member.score(), 60, 1, 0, member.data)) == len(calibration.ALPHAS)
    assert 0 < member.single(60, 0) <= 1


def test_every_estimator_has_a_row_of_calibration():
    asked = {type(member.estimator) for member in calibration.MEMBERS.values()}
    assert asked >= {em.Gaussian, em.KSG, em.Mixed, em.Ordinal, em.Discrete}


def test_a_table_of_calibration_has_a_row_for_each_length(monkeypatch):
    name = "Gaussian(rank), chi-square"
    monkeypatch.setattr(calibration, "MEMBERS", {name: calibration.MEMBERS[name]})
    _, _, *rows = calibration.member_table(0.001, 1)
    assert [cells(row)[:2] for row in rows] == [[name, "300"], [name, "1000"]]
    assert all(len(cells(row)) == 7 for row in rows)


def test_only_the_tables_that_were_made_are_replaced():
    table = "| a |\n|---|\n| {} |"
    page = "# Page\n\n## False links of infer\n\n{}\n\n## Every estimator\n\nWords.\n\n{}\n\nMore words.\n"
    made = {"## Every estimator": table.format("new")}
    written = calibration.with_tables(page.format(table.format(1), table.format(2)), made)
    assert written == page.format(table.format(1), table.format("new"))
    headings = {line.strip() for line in calibration.PAGE.open(encoding="utf-8") if line.startswith("## ")}
    assert {heading for heading, _ in calibration.SECTIONS.values()} <= headings


def test_states_stay_states_in_mixed_data():
    assert calibration.states_and_numbers(50, 0).kinds == ("integer", "integer", "float")
    chains = calibration.chains(4000, 0).values
    assert np.mean(chains[1:, 1] == chains[:-1, 1]) == pytest.approx(0.7, abs=0.03)


def test_the_data_of_residuals_have_the_known_value():
    for make in (residuals.DATA | residuals.HARMLESS).values():
        x, y, z = make(20_000, 0)
        if make is not residuals.chaotic_past:
            assert em.cmi(x, y, z, estimator=em.Gaussian()) == pytest.approx(residuals.KNOWN, abs=0.01)
    row = residuals.errors("no z", 200, "none", 4, 5)
    assert re.fullmatch(r"-?\d\.\d{3} \(\d\.\d{4}\)", str(row))


def test_scalings_are_compared_side_by_side():
    cases = [accuracy.known("maps", em.simulate.coupled_map("a>b", n=150, coupling=0.4, noise=0.02, seed=0))]
    *_, row = accuracy.scaling_table(cases, 1)
    assert cells(row)[:2] == ["maps", "1"]
    assert all(re.fullmatch(r"[01]\.\d\d, \d / \d / \d", cell) for cell in cells(row)[2:])
    *_, row = accuracy.default_table(cases, 1)
    assert len(cells(row)) == 6


@pytest.mark.slow
def test_the_field_runs_goes_on_and_makes_tables(tmp_path):
    results, script = tmp_path / "field.jsonl", field.__file__
    ask = [
        sys.executable,
        script,
        "--results",
        results,
        "--no-page",
        "--jobs",
        "1",
        "--only",
        "mixed, heavy tails, T = 250",
    ]
    ask += ["--methods", "enmesh, linear", "--data", tmp_path / "none"]
    subprocess.run([*ask, "--seeds", "1"], check=True, capture_output=True, timeout=300)
    (first,) = results.read_text().splitlines()
    row = json.loads(first)
    assert (row["status"], row["seed"], row["version"]) == ("done", 90000, em.__version__)
    true, _, missed, *_ = row["answers"]["links"]
    assert true + missed == 2  # a chain
    told = subprocess.run([*ask, "--seeds", "2"], check=True, capture_output=True, text=True, timeout=300)
    assert results.read_text().splitlines()[0] == first
    assert "1 of 1 cells" in told.stderr  # the first is not asked again
    assert "enmesh, linear (Gaussian())" in told.stdout


@pytest.mark.slow
def test_the_field_ends_what_takes_too_long(tmp_path):
    cell = field.Cell("enmesh, linear", "Novelli var, 100 nodes, T = 10000", 90000)
    assert field.asked(cell, 0.3, tmp_path / "none", field.__file__)["status"] == "over"
    settings = dict(field.systems.settings(tmp_path / "none"))
    row = {**cell._asdict(), "data": "Novelli var, 40 nodes, T = 10000", "status": "over"}
    assert field.field_page.ended_before([row], cell.method, cell.data, settings)
    assert not field.field_page.ended_before([row], cell.method, "Novelli map, 100 nodes, T = 10000", settings)


def test_the_field_judges_as_by_hand():
    assert field.counts({(0, 1): 2, (1, 0): 1}, {(0, 1): 2, (0, 2): 1}) == [1, 1, 1, 1, 1]
    p = np.array([[0, 0.1, 0.3], [0.2, 0, 0.3], [0.9, 0.9, 0]])
    area, precision = field.curves(p, {(0, 1): 1, (0, 2): 1})
    # a link, a false one, a link and a false one tied, two false ones: (4 + 2.5) of 2 x 4 pairs are in order
    assert area == pytest.approx(6.5 / 8)
    assert precision == pytest.approx(0.5 * 1 + 0.5 * 2 / 4)


def row_of_the_field(seed, **changed):
    row = {"method": "enmesh", "data": "mixed, heavy tails, T = 250", "seed": seed, "status": "done"}
    row |= {"answers": {"links": [2, 0, 0, 1, 2]}, "auroc": 1.0, "auprc": 1.0, "seconds": 0.1}
    return row | {"version": "1", "machine": "one"} | changed


def test_the_page_of_the_field_has_a_place_for_every_table():
    page = (Path(field.__file__).parents[1] / "docs" / "field.md").read_text(encoding="utf-8")
    places = set(re.findall(r"<!-- made: (\S+) -->", page))
    settings = dict(field.systems.settings(Path("none")))
    made = field.field_page.parts(field.field_page.entries([row_of_the_field(90000)], settings), {}, settings)
    assert places == made.keys()
    assert "| enmesh (defaults) | 1.00 |" in made["systems"]  # alone it is not the best of anything


def test_the_best_of_each_column_is_bold():
    rows, values = [["a", "1", "4"], ["b", "2", ""], ["c", "2", "3"]], [[1.0, 4.0], [2.0, None], [2.0, 3.0]]
    made = field.field_page.marked(rows, values, lowest=[1])
    assert made == [["a", "1", "4"], ["b", "**2**", ""], ["c", "**2**", "**3**"]]


def test_the_page_of_the_field_is_made_from_its_table():
    page = (field.field_page.DOCS / "field.md").read_text(encoding="utf-8")
    texts = [(field.field_page.DOCS / "_static" / f"{name}.csv").read_text(encoding="utf-8")
             for name in ("field", "field-slow")]  # fmt: skip
    settings = dict(field.systems.settings(Path("none")))  # public files are not there; their numbers stay
    records = [field.field_page.read(text) for text in texts]
    for record, text in zip(records, texts):
        assert field.field_page.as_csv(field.field_page.Summary(record, settings)) == text
    assert field.field_page.filled(page, field.field_page.parts(*records, settings)) == page
    summary = field.field_page.Summary(records[0], settings)
    for group in ("systems", "variants"):  # not hidden by a method that was asked about few of them
        assert field.field_page.common(summary, summary.of(group))[0] == summary.of(group)


def test_new_rows_of_the_field_replace_what_they_are_about():
    settings = dict(field.systems.settings(Path("none")))

    def entries(rows):
        return field.field_page.entries(rows, settings)

    line = row_of_the_field(90000, method="enmesh, linear", answers={"links": [1, 1, 1, 1, 1]})
    kept = entries([row_of_the_field(90000), row_of_the_field(90001), line])
    key = ("mixed, heavy tails, T = 250", "enmesh", "defaults")
    one = {"answers": {"links": [1, 0, 1, 0, 1]}, "version": "2"}
    fewer = entries([row_of_the_field(90000, **one)])
    assert field.field_page.updated(kept, fewer) == kept
    assert field.field_page.updated(kept, fewer, replace=True) == kept | fewer
    elsewhere = entries([row_of_the_field(90000, **one, seconds=7, machine="two")])
    costs = {**kept[key].values, "CPU s": (7.0, None)}
    assert field.field_page.with_costs(kept, elsewhere) == kept | {key: kept[key]._replace(values=costs, machine="two")}
    failed = entries([row_of_the_field(seed, status="error") for seed in range(90000, 90003)])
    assert field.field_page.updated(kept, failed) == kept
    more = [row_of_the_field(seed, **one) for seed in (90000, 90001)]
    more.append(row_of_the_field(90002, seconds=7, machine="two"))
    new = field.field_page.updated(kept, entries(more))
    assert new[key].files == 3
    assert new[key].values["F1"][0] == pytest.approx((2 / 3 + 2 / 3 + 1) / 3)
    assert new[key].values["CPU s"] == pytest.approx((0.1, 0))  # of the machine of most files
    assert (new[key].version, new[key].machine) == ("1, 2", "one")
    assert {other: new[other] for other in kept if other != key} == {
        other: kept[other] for other in kept if other != key
    }
    text = field.field_page.as_csv(field.field_page.Summary(new, settings))
    assert field.field_page.as_csv(field.field_page.Summary(field.field_page.read(text), settings)) == text
    assert "4 runs" in field.field_page.parts(new, {}, settings)["run"]
