"""Image lanes: which CUDA image runs on which accelerators. Sources of the numbers are in `lanes.toml`."""

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files

from gpulab.contract import known
from gpulab.contract.cuda_compat import Answer, Device, Image, compatible


@dataclass(frozen=True)
class Lane:
    """One kind of image; `lanes.toml` explains each field."""

    name: str
    title: str
    image: str
    base: str
    cuda: str
    wheels: str
    torch: str
    min_driver: str
    architectures: tuple[str, ...]
    python: str
    installed: Mapping[str, str] = field(hash=False)

    def runs_on(self, compute_capability: str) -> bool:
        """Whether it has code for a device ("" = a CPU, on which every lane runs), whatever the driver."""
        return self.on(Device(compute_capability)).ok

    def on(self, device: Device) -> Answer:
        """Whether it runs on a device with its driver, in words."""
        return compatible(device, Image(self.cuda, self.architectures))


@cache
def lanes() -> tuple[Lane, ...]:
    """All lanes, the preferred first."""
    rows = tomllib.loads(files("gpulab.contract").joinpath("lanes.toml").read_text(encoding="utf-8"))
    return tuple(Lane(name=name, **{**row, "architectures": tuple(row["architectures"])}) for name, row in rows.items())


def lane_for(accelerator: str) -> Lane:
    """The lane of one accelerator of the catalogue.

    Raises:
        KeyError: no such accelerator.
        LookupError: no lane runs on it.
    """
    lane = common_lane([accelerator])
    if lane is None:
        raise LookupError(f"no image lane runs on {accelerator}")
    return lane


def common_lane(accelerators: Iterable[str]) -> Lane | None:
    """The first lane that runs on all of them: a project has one image. None when there is none.

    Raises:
        KeyError: an accelerator that is not in the catalogue.
    """
    catalogue = known.accelerators()
    needed = {catalogue[name].compute_capability for name in accelerators}
    return next((lane for lane in lanes() if all(map(lane.runs_on, needed))), None)


def device_of(accelerator: str, driver: str = "") -> Device:
    """What decides about CUDA, of one accelerator of the catalogue.

    Raises:
        KeyError: no such accelerator.
    """
    row = known.accelerators()[accelerator]
    return Device(row.compute_capability, driver, row.data_centre, row.last_driver)


def suggested(device: Device) -> Lane | None:
    """The first lane that runs on a device with its driver; None when there is none."""
    fitting = (lane for lane in lanes() if lane.on(device).ok)
    return next(fitting, None)
