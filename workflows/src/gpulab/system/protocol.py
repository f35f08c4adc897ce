"""What gpulab needs of an operating system; `posix` and `windows` are the two modules that offer it."""

import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Protocol


class System(Protocol):
    """The system's own ways."""

    @property
    def inherits_locks(self) -> bool:
        """Whether a child that inherits a descriptor holds its lock too."""

    @property
    def has_shell(self) -> bool:
        """Whether steps can be written for `sh`, which splits words, and links are for everybody to make."""

    @property
    def path(self) -> str:
        """The PATH of a container whose image names none."""

    @property
    def reaper(self) -> list[str]:
        """The command that runs a container's command and ends all it leaves behind: add GRACE and the command.

        It stops when its standard input is closed.
        """

    def lock(self, descriptor: int, *, wait: bool, shared: bool = False) -> bool:
        """Lock an open file until it is closed; False when another holds it and we do not `wait`."""

    def replace(self, source: Path, target: Path) -> None:
        """Rename a file over another, which a reader may have open."""

    def own_group(self) -> dict[str, Any]:
        """Options of `Popen` for a child that gets none of our terminal's signals."""

    def end_group(self, process: "subprocess.Popen[bytes]", grace: float) -> None:
        """End a child that was started with `own_group`, and its children; by force after `grace` seconds."""

    def start_detached(
        self, command: Sequence[str], folder: Path, lock: int, **options: Any
    ) -> "subprocess.Popen[Any]":
        """Start a process that outlives us, in `folder`, as the holder of `lock` (-1 where locks are not inherited)."""

    def hold(self, argument: str, lock_file: Path) -> int:
        """In that process: the lock it has from now on; `argument` is the last word of its command."""

    def on_stop(self, folder: Path, stop: Callable[[], None]) -> None:
        """In that process: call `stop` each time somebody asks it to end; deaf to the terminal from now on."""

    def ask_to_stop(self, pid: int, folder: Path) -> None:
        """Ask that process to end."""

    def kill(self, pid: int) -> None:
        """End a process at once."""

    def environment(self, home: str, scratch: str) -> dict[str, str]:
        """The variables that say where home and scratch are, and those without which no program starts here."""
