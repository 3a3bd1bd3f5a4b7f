"""Hazards: collected and shown once, by the user's filters, which nothing here touches."""

import threading
import warnings

import pytest

from enmesh.errors import HazardWarning, collected_hazards, hazard


def shown(act):
    with warnings.catch_warnings(record=True) as met:
        warnings.simplefilter("always")
        act()
    return [str(one.message) for one in met]


def test_each_is_collected_and_shown_once():
    def act():
        with collected_hazards() as met:
            for message in ("few", "tied", "few"):
                hazard(message)
        assert met == ["few", "tied"]

    assert shown(act) == ["few", "tied"]
    assert shown(act) == ["few", "tied"]  # and again in the next run


def test_what_is_part_of_another_is_heard_by_both_and_quiet_if_either_is():
    def act():
        with collected_hazards(show=outside) as outer, collected_hazards(show=inside) as inner:
            hazard("few")
        hazard("alone")
        assert outer == inner == ["few"]

    for outside, inside in ((True, True), (True, False), (False, True)):
        assert shown(act) == (["few"] if outside and inside else []) + ["alone"]


def test_filters_of_the_user_decide_and_are_left_alone():
    with warnings.catch_warnings():
        warnings.simplefilter("error", HazardWarning)
        before, how = list(warnings.filters), warnings.showwarning
        with pytest.raises(HazardWarning, match="few"), collected_hazards() as met:
            hazard("few")
        assert met == ["few"]
        assert (list(warnings.filters), warnings.showwarning) == (before, how)
        warnings.simplefilter("ignore", HazardWarning)
        with collected_hazards() as met:
            hazard("few")
        assert met == ["few"]


def test_another_thread_is_another_run():
    def run(name):
        with collected_hazards(show=False) as met:
            hazard(name)
            barrier.wait(5)  # both are collecting now
            hazard(f"{name} again")
        found[name] = met

    barrier, found = threading.Barrier(2), {}
    threads = [threading.Thread(target=run, args=(name,)) for name in "ab"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == {"a": ["a", "a again"], "b": ["b", "b again"]}


def test_it_points_at_the_line_outside_the_package():
    with pytest.warns(HazardWarning) as met:
        hazard("few")
    assert met[0].filename == __file__


def test_a_hazard_of_several_columns_is_one_line():
    import numpy as np

    import enmesh as em

    values = np.round(np.random.default_rng(0).normal(size=(300, 7)), 1)
    said = shown(lambda: em.te_matrix(em.Series(values), estimator=em.KSG(), n_surrogates=0))
    (line,) = [message for message in said if "repeat an earlier one" in message]
    assert "x0: " in line
    assert "x4: " in line
    assert "and 2 more" in line
    same = values[:, :1] + 1e-3 * np.random.default_rng(1).normal(size=(300, 4))
    findings = [found for found in em.diagnose(em.Series(same)) if found.kind == "synchronisation"]
    assert len(findings) == 1
    assert findings[0].nodes == ("x0", "x1", "x2", "x3")
    assert "and 1 more. " in findings[0].message


def test_a_hazard_that_differs_in_numbers_alone_is_said_once():
    from enmesh.errors import collected_hazards, hazard

    with collected_hazards(show=False) as met:
        hazard("only 165 shifts exist: no p-value under 0.006")
        hazard("only 171 shifts exist: no p-value under 0.0058")
        hazard("x1 -> x2 at lag 5")
        hazard("x1 -> x3 at lag 5")
    assert met == [
        "only 165 shifts exist: no p-value under 0.006", "x1 -> x2 at lag 5", "x1 -> x3 at lag 5"
    ]  # fmt: skip
