"""Errors that a user sees, with the program's exit codes: 2 the user's input, 3 the machine or the network."""


class ShownError(Exception):
    """Shown as one message, without a traceback."""

    code = 3


class UsageError(ShownError):
    """The user can mend it by what they type or install."""

    code = 2


class PlatformError(ShownError):
    """Something outside failed; trying again may help."""
