"""How a step ends when its run is stopped."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

STEP = """
import sys, time
from pathlib import Path
from gpulab.steps.outcome import truthful

@truthful
def step():
    try:
        print("started", flush=True)
        time.sleep(60)
    finally:
        Path(sys.argv[1]).write_text("removed")

step()
"""


@pytest.mark.skipif(os.name == "nt", reason="Windows has no SIGTERM to send")
def test_a_stopped_step_removes_what_it_started(tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", STEP, str(tmp_path / "left")], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline().strip() == b"started"
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 128 + signal.SIGTERM
    assert (tmp_path / "left").read_text() == "removed"
