"""Does a list of CUDA architectures hold code for a card? The rules of cubins and PTX.

CUDA C++ Programming Guide, "Binary compatibility" and "PTX compatibility": a cubin runs on its own major version from
its own minor version on; PTX is compiled by the driver for every card from its own version on; the suffix `a` ties
either to one card, `f` to one family (major version).
"""

import re
from collections.abc import Iterable
from enum import Enum

_ARCHITECTURE = re.compile(r"(sm|compute)_([1-9]\d*)(\d)([af]?)")


class Code(Enum):
    """What there is for a card, the best first."""

    NATIVE = "native"
    PTX = "ptx"
    UNKNOWN = "unknown"
    NONE = "none"


def code_for(capability: tuple[int, ...], architectures: Iterable[str]) -> Code:
    """The best code for a compute capability; UNKNOWN when there is no list.

    Args:
        architectures: as `torch.cuda.get_arch_list()` gives them, e.g. sm_75, sm_90a, compute_120.

    Raises:
        ValueError: a name that is no architecture.
    """
    names = tuple(architectures)
    if not names:
        return Code.UNKNOWN
    kinds = {kind for kind, built, suffix in map(_parsed, names) if _runs(kind, built, suffix, capability[:2])}
    return Code.NATIVE if "sm" in kinds else Code.PTX if "compute" in kinds else Code.NONE


def _parsed(name: str) -> tuple[str, tuple[int, int], str]:
    found = _ARCHITECTURE.fullmatch(name)
    if found is None:
        raise ValueError(f"{name!r} is no CUDA architecture; they look like sm_75 or compute_120")
    return found[1], (int(found[2]), int(found[3])), found[4]


def _runs(kind: str, built: tuple[int, int], suffix: str, capability: tuple[int, ...]) -> bool:
    if suffix == "a":
        return built == capability
    if kind == "sm" or suffix == "f":
        return built[0] == capability[0] and built <= capability
    return built <= capability
