"""The one error a user meets for bad input, and the one warning for a statistical hazard."""

import sys
import warnings
from pathlib import Path

PACKAGE = str(Path(__file__).parent)


class InputError(ValueError):
    """Input that cannot be used as given. The message says what was given, what is needed and what to do."""


class HazardWarning(UserWarning):
    """A result may mislead. The message carries the number that says so."""


def hazard(message: str) -> None:
    """Warn of a statistical hazard; the warning points at the line outside this package that led to it."""
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_code.co_filename.startswith(PACKAGE):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, HazardWarning, stacklevel=level - 1)


def was_stopped(error: BaseException | None) -> bool:
    """Say whether the user stopped what ended in this error; compiled code turns a stop into a SystemError."""
    if isinstance(error, SystemError):
        return isinstance(error.__cause__ or error.__context__, KeyboardInterrupt)
    return isinstance(error, KeyboardInterrupt)
