"""The one error of this package."""

from gpulab.errors import InputError


class FaultError(InputError):
    """A fault cannot be planted or taken out; nothing was changed."""
