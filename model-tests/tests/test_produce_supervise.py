"""The supervisor: limits, capture, and nothing left behind. No torch is needed to try it."""

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from model_tests.producing.log import HEAD, TAIL, capture, last_line
from model_tests.producing.processes import members, resident
from model_tests.producing.supervise import Limits, supervise

MIB = 2**20
ROOMY = Limits(seconds=30, memory=512 * MIB)


def run(code, tmp_path, limits=ROOMY):
    return supervise([sys.executable, "-c", code], dict(os.environ), tmp_path / "log.txt", limits)


def gone(pid):
    """Tell whether a process has ended; a zombie that nobody has collected has."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except FileNotFoundError:
        return True


def wait_until(condition, seconds=5.0):
    deadline = time.monotonic() + seconds
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.02)
    return condition()


@pytest.mark.parametrize(("code", "expected"), [("pass", 0), ("raise SystemExit(7)", 7), ("import os; os.abort()", -6)])
def test_an_end_of_its_own_is_reported_with_its_code(code, expected, tmp_path):
    outcome = run(code, tmp_path)
    assert (outcome.how, outcome.code) == ("exited", expected)


def test_output_is_captured_from_both_streams(tmp_path):
    run("import sys; print('out', flush=True); print('err', file=sys.stderr)", tmp_path)
    assert (tmp_path / "log.txt").read_text().split() == ["out", "err"]
    assert last_line(tmp_path / "log.txt") == "err"


def test_a_hang_is_ended_at_the_limit(tmp_path):
    started = time.monotonic()
    outcome = run("import time; time.sleep(60)", tmp_path, Limits(0.3, 512 * MIB))
    assert outcome.how == "timeout"
    assert time.monotonic() - started < 5


def test_a_command_that_ignores_signals_is_ended_all_the_same(tmp_path):
    code = "import signal, time; [signal.signal(s, signal.SIG_IGN) for s in (1, 2, 15)]; time.sleep(60)"
    assert run(code, tmp_path, Limits(0.5, 512 * MIB)).how == "timeout"


def test_a_memory_eater_is_ended_at_the_limit(tmp_path):
    code = "import time\na = []\nwhile True:\n    a.append(bytearray(2**20)); time.sleep(0.001)"
    outcome = run(code, tmp_path, Limits(30, 100 * MIB))
    assert outcome.how == "out-of-memory"
    assert outcome.peak > 100 * MIB


@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
def test_children_count_as_memory_of_the_command(tmp_path):
    code = (
        "import subprocess, sys, time\n"
        "subprocess.Popen([sys.executable, '-c', 'a = bytearray(150 * 2**20); a[::4096] = a[::4096]; "
        "import time; time.sleep(60)'])\n"
        "time.sleep(60)"
    )
    assert run(code, tmp_path, Limits(30, 100 * MIB)).how == "out-of-memory"


@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
@pytest.mark.parametrize("session", [False, True], ids=["in the session", "in a session of its own"])
def test_no_process_is_left_behind(session, tmp_path):
    code = (
        "import subprocess, sys\n"
        "p = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)'], "
        f"start_new_session={session}, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)\n"
        "print(p.pid)"
    )
    outcome = run(code, tmp_path)
    assert outcome.how == "exited"
    stray = int(last_line(tmp_path / "log.txt"))
    assert wait_until(lambda: gone(stray))


def test_endless_output_keeps_its_head_and_tail_and_fills_no_disk(tmp_path):
    code = "import sys\nprint('first line')\nfor n in range(60000): print('garbage ' * 4, n)\nprint('last line')"
    assert run(code, tmp_path).how == "exited"
    text = (tmp_path / "log.txt").read_bytes()
    assert text.startswith(b"first line")
    assert text.endswith(b"last line\n")
    assert b"bytes left out" in text
    assert len(text) < HEAD + TAIL + 3 * 65536


def test_output_that_is_no_text_is_kept_as_it_is(tmp_path):
    run(r"import os; os.write(1, b'\xff\x00\xfe\n')", tmp_path)
    assert (tmp_path / "log.txt").read_bytes() == b"\xff\x00\xfe\n"


def test_a_log_that_cannot_be_written_does_not_stop_the_reading(tmp_path):
    read, write = os.pipe()
    os.write(write, b"x" * 1000)
    os.close(write)
    with os.fdopen(read, "rb") as stream:
        capture(stream, tmp_path / "no such folder" / "log.txt")
        assert stream.read() == b""


@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
def test_sigterm_ends_the_command_and_is_reported(tmp_path):
    code = (
        "import os, sys\n"
        "from pathlib import Path\n"
        "from model_tests.producing.supervise import Limits, supervise\n"
        "o = supervise([sys.executable, '-c', 'import os, time; print(os.getpid(), flush=True); time.sleep(60)'],"
        f" dict(os.environ), Path({str(tmp_path / 'log.txt')!r}), Limits(60, 2**29))\n"
        "print(o.how)"
    )
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    log = tmp_path / "log.txt"
    assert wait_until(lambda: log.exists() and last_line(log).isdigit(), 20)
    process.send_signal(signal.SIGTERM)
    out, _ = process.communicate(timeout=20)
    assert out.strip() == "stopped"
    assert gone(int(last_line(log)))


def test_it_can_run_outside_the_main_thread(tmp_path):
    outcomes = []
    thread = threading.Thread(target=lambda: outcomes.append(run("pass", tmp_path)))
    thread.start()
    thread.join()
    assert outcomes[0].how == "exited"


def test_resident_memory_is_that_of_the_process():
    assert 5 * MIB < resident({os.getpid()}) < 2**40
    assert resident({2**30}) == 0
    assert os.getpid() in members(os.getsid(0))
