"""The one error a user meets for bad input, and the one warning for a statistical hazard."""


class InputError(ValueError):
    """Input that cannot be used as given. The message says what was given, what is needed and what to do."""


class HazardWarning(UserWarning):
    """A result may mislead. The message carries the number that says so."""
