"""The catalogue of accelerators: what one row says, and how a name is looked up."""

import difflib
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from types import MappingProxyType
from typing import Any

MIB_PER_GIB = 1024
GIGA, TERA = 10**9, 10**12


class UnknownAcceleratorError(ValueError):
    """A name that is not in the catalogue; the message says what was found and what is allowed."""


@dataclass(frozen=True)
class Accelerator:
    """One kind of device that a pod can ask for; the TOML file beside this module explains each field and its source.

    Units: `memory_gib` in GiB, `bandwidth_gbs` in 10^9 bytes per second, `peak_tflops` in 10^12 operations per second
    by dtype (with "tfloat32"); None or empty where the device sets none (CPU).
    """

    name: str
    title: str
    memory_gib: float | None
    bandwidth_gbs: float | None
    compute_capability: str
    native_dtypes: tuple[str, ...]
    emulated_dtypes: tuple[str, ...]
    last_driver: str
    last_toolkit: str
    lane: str
    product_label: str
    peak_tflops: Mapping[str, float] = field(hash=False)
    data_centre: bool

    @property
    def bandwidth(self) -> float | None:
        """Peak memory bandwidth in bytes per second; None when the catalogue has none."""
        return None if self.bandwidth_gbs is None else self.bandwidth_gbs * GIGA

    def peak_flops(self, dtype: str) -> float | None:
        """Peak of dense matrix products in `dtype`, operations per second; None when the catalogue has none."""
        peak = self.peak_tflops.get(dtype)
        return None if peak is None else peak * TERA

    def support(self, dtype: str) -> str:
        """How the device computes in `dtype`: "native", "emulated, slow" or "none"."""
        if dtype in self.native_dtypes:
            return "native"
        return "emulated, slow" if dtype in self.emulated_dtypes else "none"


@cache
def _rows() -> dict[str, Accelerator]:
    text = files("model_tests.hardware").joinpath("accelerators.toml").read_text(encoding="utf-8")
    return {name: _accelerator(name, row) for name, row in tomllib.loads(text).items()}


def _accelerator(name: str, row: dict[str, Any]) -> Accelerator:
    mib, bandwidth = row.get("memory_mib"), row.get("bandwidth_gbs")
    return Accelerator(
        name=name,
        title=row["title"],
        memory_gib=None if mib is None else mib / MIB_PER_GIB,
        bandwidth_gbs=None if bandwidth is None else float(bandwidth),
        compute_capability=row["compute_capability"],
        native_dtypes=tuple(row["native_dtypes"]),
        emulated_dtypes=tuple(row["emulated_dtypes"]),
        last_driver=row["last_driver"],
        last_toolkit=row["last_toolkit"],
        lane=row["lane"],
        product_label=row["product_label"],
        peak_tflops=MappingProxyType({dtype: float(peak) for dtype, peak in row.get("peak_tflops", {}).items()}),
        data_centre=row.get("data_centre", True),
    )


def catalogue() -> dict[str, Accelerator]:
    """Return every accelerator by name, in the file's order (CPU first); the caller may change the dict."""
    return dict(_rows())


def find(name: str) -> Accelerator:
    """Return the accelerator called `name`; UnknownAcceleratorError names what is allowed and what is nearest."""
    rows = _rows()
    if name in rows:
        return rows[name]
    near = _near(str(name).lower(), rows)
    hint = f" Did you mean {' or '.join(near)}?" if near else ""
    raise UnknownAcceleratorError(
        f'lab.toml: [hardware] accelerators: "{name}" is not in the catalogue; allowed: {", ".join(rows)}.{hint}'
    )


def _near(name: str, rows: Iterable[str]) -> list[str]:
    variants = [row for row in rows if name and row.startswith(f"{name}-")]
    return variants or difflib.get_close_matches(name, list(rows), n=1)
