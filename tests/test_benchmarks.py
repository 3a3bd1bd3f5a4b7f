"""The programs behind the tables of the docs run, on a few small data sets."""

import re

import numpy as np
import pytest
from benchmarks import accuracy, calibration, power, residuals

import enmesh as em

pytestmark = pytest.mark.filterwarnings("ignore::enmesh.HazardWarning")


def cells(line):
    return [cell.strip() for cell in line.strip("|").split("|")]


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
    assert asked >= {em.Gaussian, em.KSG, em.Combined, em.Mixed, em.Ordinal, em.Discrete}


def test_a_table_of_calibration_has_a_row_for_each_length(monkeypatch):
    name = "Gaussian(rank), chi-square"
    monkeypatch.setattr(calibration, "MEMBERS", {name: calibration.MEMBERS[name]})
    _, _, *rows = calibration.member_table(0.001, 1)
    assert [cells(row)[:2] for row in rows] == [[name, "300"], [name, "1000"]]
    assert all(len(cells(row)) == 7 for row in rows)


def test_sections_that_were_not_made_stay():
    page = "# old\n\n## False links of infer\n\nkept\n\n## Every estimator\n\nold\n"
    made = {"## Every estimator": "## Every estimator\n\nnew"}
    written = calibration.with_sections(page, made)
    assert written.startswith("# Calibration")
    assert written.endswith("## Every estimator\n\nnew\n\n## False links of infer\n\nkept\n")
    assert calibration.with_sections(written, made) == written
    with open(calibration.PAGE) as file:
        assert calibration.heading(calibration.SPURIOUS) in file.read()


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
