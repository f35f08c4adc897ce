"""What differs between systems: the part of it that any system can try."""

import io
import os
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from gpulab.cli import words
from gpulab.system import SYSTEM, patience


def test_a_lock_is_held_until_its_file_is_closed(tmp_path: Path) -> None:
    first, second = (os.open(tmp_path / "lock", os.O_RDWR | os.O_CREAT) for _ in range(2))
    assert SYSTEM.lock(first, wait=True)
    assert not SYSTEM.lock(second, wait=False)
    os.close(first)
    assert SYSTEM.lock(second, wait=False)
    os.close(second)


def test_a_file_in_use_is_replaced_as_soon_as_it_is_free(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(patience, "PAUSE", 0)
    tries = []

    def action() -> None:
        tries.append(1)
        if len(tries) < 5:
            raise PermissionError

    patience.retried(action)
    assert len(tries) == 5


def test_a_file_that_is_never_free_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(patience, "PAUSE", 0)

    def action() -> None:
        raise PermissionError("held")

    with pytest.raises(PermissionError, match="held"):
        patience.retried(action)


def test_whoever_asks_is_heard_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(patience, "POLL_SECONDS", 0.01)
    heard = threading.Event()
    thread = patience.listen(tmp_path, heard.set)
    assert not heard.is_set()
    patience.ask(tmp_path)
    thread.join(timeout=10)
    assert heard.is_set()


def test_the_reaper_gives_the_exit_code_and_ends_when_its_input_is_closed(tmp_path: Path) -> None:
    def start(code: str) -> "subprocess.Popen[bytes]":
        command = [*SYSTEM.reaper, "0.1", sys.executable, "-c", code]
        return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, **SYSTEM.own_group())

    assert start("raise SystemExit(7)").wait(timeout=30) == 7
    endless = start("import time; print('up', flush=True); time.sleep(600)")
    assert endless.stdin and endless.stdout
    assert endless.stdout.readline().strip() == b"up"
    endless.stdin.close()
    assert endless.wait(timeout=30) != 0


@pytest.mark.skipif(shutil.which("ps") is None, reason="there is no ps here")
def test_the_reaper_ends_where_only_ps_tells_the_processes() -> None:
    """As on macOS, which has no /proc: ps lists itself, and what is dead, and neither can be waited for."""
    main = "from gpulab.system.posix_reaper import main; raise SystemExit(main(0.1, ['sh', '-c', 'sleep 60 & exit 7']))"
    code = f"import os; os.path.isdir = lambda _: False; {main}"
    begun = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, **SYSTEM.own_group())
    assert begun.wait(timeout=30) == 7


def test_what_is_piped_is_utf8_and_never_costs_a_verdict(monkeypatch: pytest.MonkeyPatch) -> None:
    piped = io.TextIOWrapper(io.BytesIO(), encoding="cp1252")
    monkeypatch.setattr(sys, "stdout", piped)
    words.speak_utf8()
    words.say("ν ≤ 1.5 ── \udcff")
    written = piped.buffer
    assert isinstance(written, io.BytesIO)
    assert written.getvalue().decode("utf-8") == "ν ≤ 1.5 ── \\udcff" + os.linesep
