"""Every generated case runs where something that was executed would be seen; the same cases each time.

`GPULAB_FUZZ=10` makes ten times as many.
"""

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

EXECUTED = {"os.system", "subprocess.Popen", "os.exec", "os.posix_spawn", "os.fork", "os.forkpty", "socket.connect"}
seen: list[str] = []
watching = False


def _watch(event: str, arguments: tuple[object, ...]) -> None:
    if watching and event in EXECUTED:
        seen.append(f"{event} {arguments!r:.200}")


sys.addaudithook(_watch)


@pytest.fixture
def nothing_executed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """An empty folder to be in, still empty afterwards; no process was started meanwhile."""
    global watching
    folder, before = tmp_path_factory.mktemp("canary"), Path.cwd()
    os.chdir(folder)
    seen.clear()
    watching = True
    yield folder
    watching = False
    os.chdir(before)
    assert seen == []
    assert [path.name for path in folder.iterdir()] == []
