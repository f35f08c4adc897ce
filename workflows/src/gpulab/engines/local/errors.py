"""How a template tells its caller that it does not run now."""


class TemplateError(Exception):
    """A template cannot be started; the node says why."""


class Saturated(Exception):  # noqa: N818  no error: a reason to wait
    """`parallelism` is used up; try again after something has ended."""
