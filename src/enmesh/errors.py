"""The one error a user meets for bad input, and the one warning for a statistical hazard."""

import sys
import warnings
from pathlib import Path

PACKAGE = str(Path(__file__).parent)


class InputError(ValueError):
    """Input that cannot be used as given. The message says what was given, what is needed and what to do.

    Examples
    --------
    >>> import enmesh as em
    >>> try:
    ...     em.KSG(k=0)
    ... except em.InputError as refused:
    ...     print(refused)
    k=0 is not possible; give a whole number of neighbours, 4 is usual
    """


class HazardWarning(UserWarning):
    """A result may mislead. The message carries the number that says so.

    Examples
    --------
    >>> import warnings
    >>> import enmesh as em
    >>> with warnings.catch_warnings(record=True) as met:
    ...     warnings.simplefilter("always")
    ...     matrix = em.te_matrix(em.simulate.var("a>b", n=100), estimator=em.Gaussian(), n_surrogates=9)
    >>> print(met[0].message)
    9 surrogates cannot bring a single link among 2 to a q-value of 0.05: the smallest is 0.2; 39 surrogates are needed
    """


def hazard(message: str) -> None:
    """Warn of a statistical hazard; the warning points at the line outside this package that led to it."""
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_code.co_filename.startswith(PACKAGE):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, HazardWarning, stacklevel=level)


def was_stopped(error: BaseException | None) -> bool:
    """Say whether the user stopped what ended in this error; compiled code turns a stop into a SystemError."""
    if isinstance(error, SystemError):
        return isinstance(error.__cause__ or error.__context__, KeyboardInterrupt)
    return isinstance(error, KeyboardInterrupt)
