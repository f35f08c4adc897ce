"""The memory of a project's own code, measured by `model_tests.memory.dryrun` in a process of its own."""

import json
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from gpulab.contract.lab import Lab
from gpulab.contract.spec import spec_of
from gpulab.errors import InputError

GIB = 2**30
SECONDS = 300


def measure(root: Path, lab: Lab) -> dict[str, float]:
    """GiB that a forward pass needs, with context and fragmentation, by dtype.

    Raises:
        InputError: the code does not run on fake tensors, or not in time.
    """
    from model_tests.memory.estimate import overhead

    with TemporaryDirectory() as folder:
        spec = Path(folder) / "spec.json"
        spec.write_text(json.dumps(spec_of(lab)), encoding="utf-8")
        command = [sys.executable, "-P", "-m", "model_tests.memory.dryrun"]
        command += ["--spec", str(spec), "--source", str(root / "src")]
        try:
            done = subprocess.run(command, cwd=root, capture_output=True, text=True, timeout=SECONDS, check=False)
        except subprocess.TimeoutExpired:
            raise InputError(f"the dry run of {lab.model.factory} did not end in {SECONDS} s") from None
    if done.returncode != 0:
        said = done.stderr.strip().splitlines()
        raise InputError(f"{lab.model.factory}: {said[-1] if said else 'the dry run failed'}")
    found = json.loads(done.stdout.splitlines()[-1])
    return {dtype: (one["peak"] + overhead(one["peak"])) / GIB for dtype, one in found.items()}
