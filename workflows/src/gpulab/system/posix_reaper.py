"""The first process of a container (like tini) on Linux and macOS: `posix_reaper.py GRACE COMMAND…`.

It starts the command in a session of its own, and when that ends, kills whatever it left behind. When its standard
input (a pipe that the supervisor holds, its lifeline) is closed, because the run was cancelled or the supervisor was
killed, all processes get SIGTERM and, GRACE seconds later, SIGKILL. Exit code: the command's, 128 + n for signal n, 64
if it cannot start.

It is run as a file with `python -I -S`, so it imports the standard library only.
"""

import contextlib
import os
import select
import signal
import subprocess
import sys
import time

if sys.platform == "win32":
    raise ImportError("see windows_reaper")

_SET_CHILD_SUBREAPER = 36
LIFELINE = 0


def adopt_orphans() -> None:
    """Become the parent of descendants whose own parent ended (Linux only; elsewhere the session is all we know)."""
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None).prctl(_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def table() -> dict[int, tuple[int, int]]:
    """Every living process: its parent and its process group."""
    if not os.path.isdir("/proc/self"):  # noqa: PTH112  pathlib costs a third of this program's start
        lister = subprocess.Popen(["ps", "-A", "-o", "pid=,ppid=,pgid=,stat="], stdout=subprocess.PIPE, text=True)
        rows = [line.split() for line in lister.communicate()[0].splitlines()]
        living = [row for row in rows if len(row) == 4 and not row[3].startswith("Z")]
        return {int(row[0]): (int(row[1]), int(row[2])) for row in living if int(row[0]) != lister.pid}
    found = {}
    for name in os.listdir("/proc"):  # noqa: PTH208
        with contextlib.suppress(OSError, ValueError, IndexError):
            with open(f"/proc/{int(name)}/stat", "rb") as file:  # noqa: PTH123
                fields = file.read().rpartition(b")")[2].split()
            if fields[0] != b"Z":
                found[int(name)] = (int(fields[1]), int(fields[2]))
    return found


def kill_all(group: int, number: int) -> bool:
    """Signal every descendant and every member of the command's process group; False when there was none."""
    processes = table()
    mine = {os.getpid()}
    size = 0
    while len(mine) > size:
        size = len(mine)
        mine |= {pid for pid, (parent, _) in processes.items() if parent in mine}
    targets = (mine | {pid for pid, (_, own) in processes.items() if own == group}) - {os.getpid()}
    for pid in targets:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, number)
    return bool(targets)


def reap(child: int) -> int | None:
    """Collect ended children; the command's wait status once it is among them, "killed" when it was lost."""
    status = None
    try:
        while (ended := os.waitpid(-1, os.WNOHANG))[0]:
            if ended[0] == child:
                status = ended[1]
    except ChildProcessError:
        return signal.SIGKILL if status is None else status
    return status


def wait(child: int, grace: float, wakeup: int) -> int:
    """The command's wait status, however it comes about."""
    watched, deadline = [LIFELINE, wakeup], float("inf")
    while True:
        left = max(0.0, deadline - time.monotonic())
        ready = select.select(watched, [], [], None if left == float("inf") else left)[0]
        if wakeup in ready:
            os.read(wakeup, 4096)
        if LIFELINE in ready:
            watched.remove(LIFELINE)
            kill_all(child, signal.SIGTERM)
            deadline = time.monotonic() + grace
        if time.monotonic() >= deadline:
            kill_all(child, signal.SIGKILL)
            deadline = time.monotonic() + 1
        status = reap(child)
        if status is not None:
            return status


def main(grace: float, command: list[str]) -> int:
    """Run the command to its end."""
    adopt_orphans()
    wakeup, writer = os.pipe()
    os.set_blocking(writer, False)
    signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    try:
        started = subprocess.Popen(command, stdin=subprocess.DEVNULL, start_new_session=True)
    except OSError as error:
        print(f"cannot start {command[0]}: {error.strerror}", file=sys.stderr)
        return 64
    child = started.pid  # `started` has to live on: when it is forgotten, it collects the child's exit code itself
    status = wait(child, grace, wakeup)
    while kill_all(child, signal.SIGKILL):
        reap(child)
        time.sleep(0.005)
    code = os.waitstatus_to_exitcode(status)
    return code if code >= 0 else 128 - code


if __name__ == "__main__":
    sys.exit(main(float(sys.argv[1]), sys.argv[2:]))
