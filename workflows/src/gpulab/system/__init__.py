"""What Linux and macOS do in one way and Windows in another: locks, replacing files, ending processes.

`SYSTEM` is the one of this machine. Nothing else in gpulab asks which system it runs on.
"""

import sys

from gpulab.system.protocol import System

if sys.platform == "win32":
    from gpulab.system import windows as _module
else:
    from gpulab.system import posix as _module

SYSTEM: System = _module
