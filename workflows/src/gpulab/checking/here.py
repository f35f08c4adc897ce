"""What this machine cannot prove: a model that is declared for a GPU, where there is none."""

import shutil
import subprocess

from gpulab.contract.finding import LAB, Finding
from gpulab.contract.lab import Lab
from gpulab.contract.words import one_of

SECONDS = 20
CPU = "cpu"


def unproven_here(lab: Lab) -> list[Finding]:
    """A warning when the local engine, which judges what is pushed to the local forge, could not prove it."""
    if lab.delivery.forge != "local":
        return []
    named = [name for name in lab.hardware.accelerators if name != CPU]
    return [unproven(named)] if named and not has_gpu() else []


def unproven(named: list[str]) -> Finding:
    """Why, and the two ways out."""
    message = f"this machine has no NVIDIA GPU, so nothing can be proven on {one_of(named)} here"
    hint = 'Push from a machine with that GPU, or type: accelerators = ["cpu"] and build from the lane runtime-cpu.'
    return Finding("warning", LAB, "[hardware] accelerators", message, hint)


def has_gpu() -> bool:
    """Whether the driver lists an NVIDIA GPU (`nvidia-smi -L`); which one it is, the run itself records."""
    program = shutil.which("nvidia-smi")
    if program is None:
        return False
    try:
        listed = subprocess.run([program, "-L"], capture_output=True, text=True, timeout=SECONDS, check=False)
    except (OSError, subprocess.SubprocessError):
        return False
    return listed.returncode == 0 and listed.stdout.startswith("GPU ")
