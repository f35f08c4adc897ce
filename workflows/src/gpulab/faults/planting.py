"""Plant a fault in a source text and take it out again: text in, text out."""

from gpulab.faults.catalogue import Fault, faults
from gpulab.faults.error import FaultError


def planted(source: str) -> Fault | None:
    """The fault whose text stands in `source`; None when it is whole."""
    return next((fault for fault in faults() if _as_in(source, fault.after) in source), None)


def plant(source: str, fault: Fault) -> str:
    """`source` with the fault in it.

    Raises:
        FaultError: a fault is planted already, or the starter's lines were edited.
    """
    other = planted(source)
    if other is not None:
        raise FaultError(f"{other.file}: the fault {other.name!r} is planted already. Type: gpulab break --undo")
    return _replace(source, fault.before, fault.after, fault)


def undo(source: str) -> str:
    """`source` without its planted fault; other edits stay.

    Raises:
        FaultError: no fault is planted, or its text stands there more than once.
    """
    fault = planted(source)
    if fault is None:
        raise FaultError("no planted fault found, so there is nothing to undo. To see your own edits, type: git diff")
    return _replace(source, fault.after, fault.before, fault)


def _replace(source: str, old: str, new: str, fault: Fault) -> str:
    old, new = _as_in(source, old), _as_in(source, new)
    count = source.count(old)
    if count != 1:
        found = f"stands there {count} times" if count else "is not there any more"
        text = " ⏎ ".join(line.strip() for line in old.splitlines())
        raise FaultError(
            f"{fault.file}: {fault.name!r} replaces exactly one piece of text, which {found}: {text} "
            "(nothing was changed). To bring the starter's line back, type: git checkout -p"
        )
    return source.replace(old, new)


def _as_in(source: str, text: str) -> str:
    """The text with the line ends of the file it is looked for in."""
    return text.replace("\n", "\r\n") if "\r\n" in source else text
