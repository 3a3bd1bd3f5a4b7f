"""Which cases of a test run every time, and which in `make test-slow` alone."""

import pytest


def rest_slow(cases, quick=1):
    """Return the cases for `parametrize`, all but the first few marked as slow."""
    return [case if at < quick else pytest.param(case, marks=pytest.mark.slow) for at, case in enumerate(cases)]


def slow_if(condition, *case):
    """Return one case for `parametrize`, marked as slow where the condition holds."""
    return pytest.param(*case, marks=pytest.mark.slow if condition else ())
