"""Would this image's CUDA code run on this GPU with this driver? Facts in, an answer in words out.

Sources: docs.nvidia.com/deploy/cuda-compatibility (minor version and forward compatibility), the CUDA Toolkit release
notes (driver of each toolkit) and the CUDA C++ Programming Guide (binary and PTX compatibility).
"""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from gpulab.contract.cuda_code import Code, code_for

Version = tuple[int, ...]

DRIVER_CUDA: Sequence[tuple[int, Version]] = (
    *((418, (10, 1)), (440, (10, 2)), (450, (11, 0)), (455, (11, 1)), (460, (11, 2)), (465, (11, 3)), (470, (11, 4))),
    *((495, (11, 5)), (510, (11, 6)), (515, (11, 7)), (520, (11, 8)), (525, (12, 0)), (530, (12, 1)), (535, (12, 2))),
    *((545, (12, 3)), (550, (12, 4)), (555, (12, 5)), (560, (12, 6)), (565, (12, 7)), (570, (12, 8)), (575, (12, 9))),
    *((580, (13, 0)), (590, (13, 1)), (595, (13, 2)), (610, (13, 3))),
)
"""Driver branch -> the CUDA version that it brings; a branch between two has the older one's."""

OLDEST_DRIVER = {11: 450, 12: 525, 13: 580}
"""CUDA major -> the oldest branch that runs all its minor versions."""

FORWARD_DRIVER = {11: 418, 12: 470, 13: 535}
"""CUDA major -> the oldest branch on which its cuda-compat package replaces the driver's user-mode part."""

OLDEST_DRIVER_OF = (((12, 0), 570), ((10, 0), 570), ((9, 0), 525), ((8, 9), 525), ((8, 6), 455), ((8, 0), 450))
"""Compute capability, newest first -> the first branch that drives it (older cards: every branch above)."""

TOOLKIT_DROPS = (((7, 5), 13), ((5, 0), 12), ((3, 5), 11))
"""Compute capability below the first -> the toolkit's major version that no longer has code for it."""


class Answer(NamedTuple):
    """`reason` is a stable word for programs; `message` says it to people, without a full stop."""

    ok: bool
    reason: str
    message: str


@dataclass(frozen=True)
class Device:
    """What is known of a GPU; `compute_capability` "" is a CPU, `driver` "" is not known.

    `data_centre`: NVIDIA supports cuda-compat packages on these only. `last_driver`: newest branch, "" = still driven.
    """

    compute_capability: str
    driver: str = ""
    data_centre: bool = True
    last_driver: str = ""


@dataclass(frozen=True)
class Image:
    """What is known of an image.

    Attributes:
        cuda: version of its CUDA toolkit; "" has none.
        architectures: as `torch.cuda.get_arch_list()` gives them (sm_75, compute_120); empty is not known.
        compat: version of the cuda-compat package inside; "" has none.
    """

    cuda: str
    architectures: tuple[str, ...] = ()
    compat: str = ""


def compatible(device: Device, image: Image) -> Answer:
    """Whether the image's GPU code runs; what is not known is not held against it.

    Raises:
        ValueError: a version that is none.
    """
    if not device.compute_capability:
        return Answer(True, "cpu", "runs on the CPU")
    if not image.cuda:
        return Answer(False, "no-cuda", "the image has no CUDA, so that PyTorch would compute on the CPU")
    capability, toolkit = version(device.compute_capability), version(image.cuda)
    return (
        _driven(device, capability)
        or _dropped(capability, toolkit, image)
        or _by_driver(device, image, code_for(capability, image.architectures))
    )


def oldest_driver(cuda: str) -> str:
    """The oldest driver branch that runs a toolkit without a cuda-compat package; "" for none."""
    return str(OLDEST_DRIVER.get(version(cuda)[0], "")) if cuda else ""


def version(text: str) -> Version:
    """`550.54.15` -> (550, 54, 15).

    Raises:
        ValueError: not numbers with dots between them.
    """
    return tuple(int(part) for part in text.split("."))


def driver_cuda(branch: int) -> Version:
    """The CUDA version that a driver branch brings; (0,) before the table."""
    place = bisect_right(DRIVER_CUDA, branch, key=lambda row: row[0])
    return DRIVER_CUDA[place - 1][1] if place else (0,)


def _driven(device: Device, capability: Version) -> Answer | None:
    """A driver that does not drive the card at all."""
    if not device.driver:
        return None
    branch = version(device.driver)[0]
    if device.last_driver and branch > int(device.last_driver):
        message = (
            f"driver {device.driver} no longer drives compute capability {device.compute_capability}; "
            f"R{device.last_driver} is the last branch that does"
        )
        return Answer(False, "driver-too-new", message)
    first = next((first for newest, first in OLDEST_DRIVER_OF if capability >= newest), 0)
    if branch < first:
        message = f"driver {device.driver} is older than this card, which needs R{first} or newer"
        return Answer(False, "driver-before-card", message)
    return None


def _dropped(capability: Version, toolkit: Version, image: Image) -> Answer | None:
    """Libraries (cuBLAS, cuDNN) and compilers of a toolkit have no code for the architectures that it dropped."""
    for oldest, major in TOOLKIT_DROPS:
        if capability < oldest and toolkit[0] >= major:
            message = (
                f"CUDA {image.cuda} has no code for compute capability {_dotted(capability)}; "
                f"CUDA {major - 1} is the last that has"
            )
            return Answer(False, "toolkit-dropped", message)
    return None


def _by_driver(device: Device, image: Image, code: Code) -> Answer:
    needed = oldest_driver(image.cuda)
    if code is Code.NONE:
        message = (
            f"PyTorch in the image is built for {', '.join(image.architectures)}, which has nothing for compute "
            f"capability {device.compute_capability}: no kernel image is available"
        )
        return Answer(False, "no-kernel", message)
    if not device.driver:
        return Answer(True, "driver-unknown", f"needs driver R{needed} or newer" if needed else "any driver")
    branch, toolkit = version(device.driver)[0], version(image.cuda)[:2]
    brings = driver_cuda(branch)
    if brings >= toolkit:
        how = "compiled from PTX when first used" if code is Code.PTX else "native code"
        return Answer(True, "driver-as-new", f"driver {device.driver} brings CUDA {_dotted(brings)}: {how}")
    if brings[0] == toolkit[0]:
        return _minor_version(device, image, code, brings)
    return _forward(device, image, branch, needed)


def _minor_version(device: Device, image: Image, code: Code, brings: Version) -> Answer:
    if code is Code.PTX and not (device.data_centre and _has_package(image)):
        message = (
            f"the image has only PTX for this card, and driver {device.driver} (CUDA {_dotted(brings)}) cannot compile "
            f"the PTX of CUDA {image.cuda}"
        )
        return Answer(False, "ptx-needs-driver", message)
    message = f"driver {device.driver} (CUDA {_dotted(brings)}) runs CUDA {image.cuda}: minor version compatibility"
    return Answer(True, "minor-version", message)


def _forward(device: Device, image: Image, branch: int, needed: str) -> Answer:
    """An older major version: only a cuda-compat package helps, and only on data-centre cards."""
    old = f"driver {device.driver} is too old for CUDA {image.cuda}, which needs R{needed} or newer"
    has_package = _has_package(image)
    if has_package and not device.data_centre:
        message = f"{old}; the image's cuda-compat package works on data-centre cards only, not on this one"
        return Answer(False, "forward-not-on-this-card", message)
    if has_package and branch >= FORWARD_DRIVER.get(version(image.cuda)[0], branch + 1):
        message = f"driver {device.driver} with the image's cuda-compat package runs CUDA {image.cuda}"
        return Answer(True, "forward", message)
    return Answer(False, "driver-too-old", old)


def _has_package(image: Image) -> bool:
    """Whether the image's cuda-compat package is as new as its toolkit."""
    return bool(image.compat) and version(image.compat)[:2] >= version(image.cuda)[:2]


def _dotted(parts: Version) -> str:
    return ".".join(map(str, parts))
