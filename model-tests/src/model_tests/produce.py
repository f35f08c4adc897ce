"""Run the student's code on the drawn inputs and write what it gave: `python3 -m model_tests.produce`.

Runs in the student's image. The student's code runs in a child process (producing/child.py) that can only hand over
files; this process checks them, writes `record.json` and exits 0, whatever the child does: a failed container would
keep the judge from starting.

The student's folders come with PYTHONPATH, before the standard library: a file `random.py` in them would take this
process down. So it leaves them, before it imports anything, and only the child gets them, after its own imports.
"""

import os
import sys
from collections.abc import Sequence


def leave_pythonpath() -> list[str]:
    """Take the folders of PYTHONPATH off sys.path, all but the one of this package, and return them."""
    ours = os.path.realpath(os.path.join(os.path.dirname(__file__), ".."))  # noqa: PTH118, PTH120
    given = [path for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if path]
    left = [os.path.abspath(path) for path in given if os.path.realpath(path) != ours]  # noqa: PTH100
    sys.path[:] = [path for path in sys.path if os.path.abspath(path) not in left]  # noqa: PTH100
    return left


def main(argv: Sequence[str] | None = None) -> int:
    """Command line; always 0 once the arguments are read."""
    sources = leave_pythonpath()
    from model_tests.producing import parent

    return parent.main(argv, sources)


if __name__ == "__main__":
    raise SystemExit(main())
