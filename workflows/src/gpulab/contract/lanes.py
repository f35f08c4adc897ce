"""Image lanes: which CUDA image runs on which accelerators. Sources of the numbers are in `lanes.toml`."""

import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from gpulab.contract import known


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
    compute_capabilities: tuple[str, ...]

    def runs_on(self, compute_capability: str) -> bool:
        """Whether its wheels hold code for a device ("" = a CPU, on which every lane runs)."""
        if not compute_capability:
            return True
        major, minor = map(int, compute_capability.split("."))
        built = [tuple(map(int, entry.split("."))) for entry in self.compute_capabilities]
        return any(own_major == major and own_minor <= minor for own_major, own_minor in built)


@cache
def lanes() -> tuple[Lane, ...]:
    """All lanes, the preferred first."""
    rows = tomllib.loads(files("gpulab.contract").joinpath("lanes.toml").read_text(encoding="utf-8"))
    return tuple(
        Lane(name=name, **{**row, "compute_capabilities": tuple(row["compute_capabilities"])})
        for name, row in rows.items()
    )


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
