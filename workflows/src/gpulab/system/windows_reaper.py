"""The first process of a container on Windows: `-m gpulab.system.windows_reaper GRACE COMMAND…`.

It makes a job of itself, so that everything the command starts ends with it. When its standard input is closed,
because the run was cancelled or the supervisor was killed, the command gets Ctrl-Break and, GRACE seconds later, all
end. Exit code: the command's, 137 when it was ended by force, 64 if it cannot start.
"""

import contextlib
import os
import signal
import subprocess
import sys
import threading
from typing import Any

KILLED, NOT_STARTED = 137, 64

if sys.platform == "win32":
    from model_tests.windows_job import Job

    def stop_when_closed(child: "subprocess.Popen[Any]", job: Job, grace: float) -> None:
        """Wait for the end of standard input, then end the job."""
        while os.read(0, 4096):
            pass
        with contextlib.suppress(OSError):
            child.send_signal(signal.CTRL_BREAK_EVENT)
        with contextlib.suppress(subprocess.TimeoutExpired):
            child.wait(timeout=grace)
            return
        job.terminate(KILLED)

    def main(grace: float, command: list[str]) -> int:
        """Run the command to its end."""
        job = Job()
        job.add(os.getpid())
        try:
            group = subprocess.CREATE_NEW_PROCESS_GROUP
            child = subprocess.Popen(command, stdin=subprocess.DEVNULL, creationflags=group)
        except OSError as error:
            print(f"cannot start {command[0]}: {error.strerror}", file=sys.stderr)
            return NOT_STARTED
        threading.Thread(target=stop_when_closed, args=(child, job, grace), daemon=True).start()
        code = child.wait()
        job.terminate(code)  # what the command left behind, and ourselves
        return code

    if __name__ == "__main__":
        raise SystemExit(main(float(sys.argv[1]), sys.argv[2:]))
