"""The one error a user meets for bad input, and the one warning for a statistical hazard."""


class InputError(ValueError):
    """Input that cannot be used as given. The message says what was given, what is needed and what to do."""


class HazardWarning(UserWarning):
    """A result may mislead. The message carries the number that says so."""


def was_stopped(error: BaseException | None) -> bool:
    """Say whether the user stopped what ended in this error; compiled code turns a stop into a SystemError."""
    if isinstance(error, SystemError):
        return isinstance(error.__cause__ or error.__context__, KeyboardInterrupt)
    return isinstance(error, KeyboardInterrupt)
