"""Windows: a job object holds a process with everything it starts, and ends them together.

See https://learn.microsoft.com/windows/win32/procthread/job-objects. Never run by its authors, who had no Windows:
`.github/workflows/ci.yml` runs the demo there.
"""

import ctypes
import sys
from collections.abc import Iterable

KILL_ON_JOB_CLOSE = 0x2000
EXTENDED_LIMITS, PROCESS_IDS = 9, 3
SET_QUOTA_AND_TERMINATE, QUERY = 0x0101, 0x1000
MOST = 4096
"""Processes that a job's list has room for."""


class _Basic(ctypes.Structure):
    _fields_ = (
        ("PerProcessUserTimeLimit", ctypes.c_int64),
        ("PerJobUserTimeLimit", ctypes.c_int64),
        ("LimitFlags", ctypes.c_uint32),
        ("MinimumWorkingSetSize", ctypes.c_size_t),
        ("MaximumWorkingSetSize", ctypes.c_size_t),
        ("ActiveProcessLimit", ctypes.c_uint32),
        ("Affinity", ctypes.c_size_t),
        ("PriorityClass", ctypes.c_uint32),
        ("SchedulingClass", ctypes.c_uint32),
    )


class _Extended(ctypes.Structure):
    _fields_ = (
        ("BasicLimitInformation", _Basic),
        ("IoInfo", ctypes.c_uint64 * 6),
        ("MemoryLimitsAndPeaks", ctypes.c_size_t * 4),
    )


class _ProcessIds(ctypes.Structure):
    _fields_ = (("Assigned", ctypes.c_uint32), ("Listed", ctypes.c_uint32), ("Ids", ctypes.c_size_t * MOST))


class _Memory(ctypes.Structure):
    _fields_ = (("Size", ctypes.c_uint32), ("PageFaults", ctypes.c_uint32), ("Counters", ctypes.c_size_t * 8))


if sys.platform == "win32":
    _KERNEL = ctypes.WinDLL("kernel32", use_last_error=True)
    for _name in ("CreateJobObjectW", "OpenProcess", "GetCurrentProcess"):
        getattr(_KERNEL, _name).restype = ctypes.c_void_p

    def _done(result: int) -> None:
        if not result:
            raise ctypes.WinError(ctypes.get_last_error())

    class Job:
        """All processes of a job end when the process that made it ends, however that comes about."""

        def __init__(self) -> None:
            self._handle = ctypes.c_void_p(_KERNEL.CreateJobObjectW(None, None))
            _done(self._handle.value or 0)
            limits = _Extended()
            limits.BasicLimitInformation.LimitFlags = KILL_ON_JOB_CLOSE
            size = ctypes.sizeof(limits)
            _done(_KERNEL.SetInformationJobObject(self._handle, EXTENDED_LIMITS, ctypes.byref(limits), size))

        def add(self, pid: int) -> None:
            """Take in a process; what it starts from now on belongs to the job too."""
            process = ctypes.c_void_p(_KERNEL.OpenProcess(SET_QUOTA_AND_TERMINATE, False, pid))
            _done(process.value or 0)
            try:
                _done(_KERNEL.AssignProcessToJobObject(self._handle, process))
            finally:
                _KERNEL.CloseHandle(process)

        def members(self) -> set[int]:
            """The living processes."""
            listed = _ProcessIds()
            size = ctypes.sizeof(listed)
            _done(_KERNEL.QueryInformationJobObject(self._handle, PROCESS_IDS, ctypes.byref(listed), size, None))
            return set(listed.Ids[: listed.Listed])

        def terminate(self, code: int) -> None:
            """End them all with this exit code, the caller too when it is one of them."""
            _KERNEL.TerminateJobObject(self._handle, code)

    def resident(pids: Iterable[int]) -> int:
        """The bytes that these processes hold in memory (their working sets)."""
        return sum(map(_working_set, pids))

    def _working_set(pid: int) -> int:
        process = ctypes.c_void_p(_KERNEL.OpenProcess(QUERY, False, pid))
        if not process.value:
            return 0
        memory = _Memory(Size=ctypes.sizeof(_Memory))
        found = _KERNEL.K32GetProcessMemoryInfo(process, ctypes.byref(memory), memory.Size)
        _KERNEL.CloseHandle(process)
        return int(memory.Counters[1]) if found else 0
