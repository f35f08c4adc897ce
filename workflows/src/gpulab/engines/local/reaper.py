"""The first process of a container (like tini): `reaper.py LIFELINE GRACE COMMAND…`.

It starts the command in a session of its own, and when that ends, kills whatever it left behind. When the lifeline (a
pipe that the supervisor holds) is closed, because the run was cancelled or the supervisor was killed, all processes
get SIGTERM and, GRACE seconds later, SIGKILL. Exit code: the command's, 128 + n for signal n, 64 if it cannot start.

It is run as a file with `python -I -S`, so it imports the standard library only.
"""

import contextlib
import os
import select
import signal
import subprocess
import sys
import time

_SET_CHILD_SUBREAPER = 36


def adopt_orphans() -> None:
    """Become the parent of descendants whose own parent ended (Linux only; elsewhere the session is all we know)."""
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None).prctl(_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def table() -> dict[int, tuple[int, int]]:
    """Every living process: its parent and its process group."""
    if not os.path.isdir("/proc/self"):  # noqa: PTH112  pathlib costs a third of this program's start
        listed = subprocess.run(["ps", "-A", "-o", "pid=,ppid=,pgid="], capture_output=True, text=True, check=False)
        rows = [line.split() for line in listed.stdout.splitlines()]
        return {int(row[0]): (int(row[1]), int(row[2])) for row in rows if len(row) == 3}
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


def wait(child: int, lifeline: int, grace: float, wakeup: int) -> int:
    """The command's wait status, however it comes about."""
    watched, deadline = [lifeline, wakeup], float("inf")
    while True:
        left = max(0.0, deadline - time.monotonic())
        ready = select.select(watched, [], [], None if left == float("inf") else left)[0]
        if wakeup in ready:
            os.read(wakeup, 4096)
        if lifeline in ready:
            watched.remove(lifeline)
            kill_all(child, signal.SIGTERM)
            deadline = time.monotonic() + grace
        if time.monotonic() >= deadline:
            kill_all(child, signal.SIGKILL)
            deadline = time.monotonic() + 1
        status = reap(child)
        if status is not None:
            return status


def main(lifeline: int, grace: float, command: list[str]) -> int:
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
    status = wait(child, lifeline, grace, wakeup)
    while kill_all(child, signal.SIGKILL):
        reap(child)
        time.sleep(0.005)
    code = os.waitstatus_to_exitcode(status)
    return code if code >= 0 else 128 - code


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), float(sys.argv[2]), sys.argv[3:]))
