"""Torch's switches for a fair and repeatable run, and a record of where it ran."""

from __future__ import annotations

import contextlib
import math
import os
import platform
from pathlib import Path
from typing import Any

import torch

CPU_MAX = Path("/sys/fs/cgroup/cpu.max")


def threads() -> int:
    """Return how many threads this process may really use: affinity, OMP_NUM_THREADS and the container's quota."""
    affinity = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    wanted = os.environ.get("OMP_NUM_THREADS", "")
    limits = [affinity] + ([int(wanted)] if wanted.isdigit() and int(wanted) else [])
    with contextlib.suppress(OSError, ValueError):
        quota, period = CPU_MAX.read_text(encoding="ascii").split()
        limits.append(math.ceil(int(quota) / int(period)))
    return max(min(limits), 1)


def apply() -> None:
    """Make float32 mean float32, and runs repeatable where that is cheap.

    TF32 is torch's default for convolutions on a GPU, and a student's module may have switched it on on import, so this
    is called again before each run. The fused encoder layer is off: under autocast it loses 2.7 x what the same layer
    loses op by op, which is torch's doing and not the student's.
    """
    torch.set_num_threads(threads())
    torch.set_float32_matmul_precision("highest")
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.allow_tf32 = False
    torch.backends.cudnn.benchmark = False
    if torch.cuda.is_available():
        # Only there: CPU kernels repeat anyway, and this call loads the compiler, which takes 6 seconds.
        torch.use_deterministic_algorithms(True, warn_only=True)
    # Filling uninitialised memory with NaN would judge a program that nobody else runs.
    torch.utils.deterministic.fill_uninitialized_memory = False  # type: ignore[attr-defined]
    torch.backends.mha.set_fastpath_enabled(False)


def device(accelerator: str) -> torch.device:
    """Return where to run: the CPU for `cpu`, else the first GPU; without a name a GPU if there is one.

    Raises RuntimeError when a GPU is named and PyTorch sees none: whatever came of a run on the CPU instead, such as a
    time limit that it cannot meet, would be held against the model.
    """
    found = torch.cuda.is_available()
    if accelerator not in ("", "cpu") and not found:
        raise RuntimeError(f"PyTorch sees no GPU on this machine, so nothing can be proven on {accelerator}")
    return torch.device("cuda" if accelerator != "cpu" and found else "cpu")


def environment(where: torch.device) -> dict[str, Any]:
    """Describe the machine: torch, python, device, threads, TF32; plain texts and numbers."""
    facts: dict[str, Any] = {"torch": str(torch.__version__), "python": platform.python_version(), "cpu": cpu_name()}
    facts |= {"device": where.type, "device_name": facts["cpu"], "threads": torch.get_num_threads()}
    facts["tf32"] = bool(torch.backends.cuda.matmul.allow_tf32 or torch.backends.cudnn.allow_tf32)
    facts["float32_matmul_precision"] = torch.get_float32_matmul_precision()
    if where.type == "cuda":
        major, minor = torch.cuda.get_device_capability(where)
        facts |= {"device_name": torch.cuda.get_device_name(where), "compute_capability": f"{major}.{minor}"}
        facts["cuda"] = str(torch.version.cuda)
    return facts


def cpu_name() -> str:
    """Return the processor's name as the system tells it."""
    with contextlib.suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()
