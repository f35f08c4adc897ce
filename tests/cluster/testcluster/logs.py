"""What the parts printed."""

from testcluster.errors import UsageError
from testcluster.layout import Layout

LINES = 200


def shown(layout: Layout, part: str | None) -> str:
    """The end of one log, or the list of logs; raises UsageError for an unknown part."""
    files = sorted(layout.log("none").parent.glob("*.log"))
    if part is None:
        return "\n".join(str(file) for file in files) or f"no logs below {layout.run}: type up first"
    if layout.log(part) not in files:
        known = ", ".join(file.stem for file in files) or "none yet"
        raise UsageError(f"no log of {part!r}; there are: {known}")
    return "\n".join(layout.log(part).read_text(errors="replace").splitlines()[-LINES:])
