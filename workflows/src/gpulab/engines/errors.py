"""What an engine refuses, beside `gpulab.errors`: three cases that a caller may want to tell apart."""

from gpulab.errors import InputError


class AlreadyExists(InputError):  # noqa: N818  Kubernetes' word
    """A run of that name exists: the name is derived from commit and branch, so this is a replayed event."""


class RunNotFound(InputError):  # noqa: N818
    """There is no run of that name."""


class CorruptRun(InputError):  # noqa: N818
    """A file of the run cannot be read any more."""
