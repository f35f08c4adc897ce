"""The GPUs of this machine, as NVML tells them (package nvidia-ml-py, when it is installed and a driver is there)."""

import importlib
from dataclasses import dataclass
from typing import Any

from gpulab.contract import known

GIB = 2**30


@dataclass(frozen=True)
class Found:
    """One GPU; `name` is the catalogue's, "" when it is not in there."""

    title: str
    name: str
    memory_gib: float
    compute_capability: str
    driver: str


def found_gpus() -> list[Found]:
    """All GPUs of this machine; [] without NVML, without a driver, or when NVML fails."""
    try:
        nvml = importlib.import_module("pynvml")
    except ImportError:
        return []
    try:
        nvml.nvmlInit()
        return [_found(nvml, place) for place in range(nvml.nvmlDeviceGetCount())]
    except (nvml.NVMLError, OSError):
        return []


def _found(nvml: Any, place: int) -> Found:
    handle = nvml.nvmlDeviceGetHandleByIndex(place)
    title = _text(nvml.nvmlDeviceGetName(handle))
    major, minor = nvml.nvmlDeviceGetCudaComputeCapability(handle)
    return Found(
        title=title,
        name=catalogue_name(title),
        memory_gib=nvml.nvmlDeviceGetMemoryInfo(handle).total / GIB,
        compute_capability=f"{major}.{minor}",
        driver=_text(nvml.nvmlSystemGetDriverVersion()),
    )


def catalogue_name(title: str) -> str:
    """The catalogue's name of what NVML calls a device: its node label has dashes for blanks."""
    label = title.replace(" ", "-")
    rows = known.accelerators().items()
    return next((name for name, row in rows if row.product_label and row.product_label == label), "")


def _text(value: str | bytes) -> str:
    """Older versions of the package return bytes."""
    return value.decode() if isinstance(value, bytes) else value
