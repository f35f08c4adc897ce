"""Small files that must never be half written: atomic text and JSON, and a lock per folder."""

import contextlib
import json
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from gpulab.errors import PlatformError
from gpulab.system import SYSTEM


def write_json(path: Path, document: Any) -> None:
    """Write a JSON file at once or not at all.

    Raises:
        PlatformError: the folder is full or not writable.
    """
    write_text(path, json.dumps(document, indent=2, ensure_ascii=False, sort_keys=True) + "\n")


def write_text(path: Path, text: str, executable: bool = False) -> None:
    """Write a file at once or not at all: temporary file, flush to disk, rename. Lines end as the text says.

    Raises:
        PlatformError: the folder is full or not writable.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        with _removed_on_failure(Path(temporary)):
            with os.fdopen(handle, "w", encoding="utf-8", newline="") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
            if executable:
                Path(temporary).chmod(0o755)
            SYSTEM.replace(Path(temporary), path)
    except OSError as error:
        raise PlatformError(
            f"cannot write {path}: {error.strerror}. Make room or make it writable, then retry."
        ) from error


@contextlib.contextmanager
def _removed_on_failure(temporary: Path) -> Iterator[None]:
    try:
        yield
    except OSError:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise


def read_json(path: Path, default: Any = None) -> Any:
    """The document in a JSON file; `default` when there is no file.

    Raises:
        PlatformError: the file is there and is no JSON.
    """
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return default
    except (OSError, ValueError) as error:
        raise PlatformError(f"{path} cannot be read as JSON ({error}). Move it away, then try again.") from error


@contextlib.contextmanager
def readable(path: Path) -> Iterator[None]:
    """Turn a document of another form than expected into an error that names its file."""
    try:
        yield
    except (TypeError, AttributeError, KeyError, ValueError) as error:
        raise PlatformError(f"{path} is not what gpulab wrote ({error}). Move it away, then try again.") from error


@contextlib.contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Hold the lock of a folder; other processes wait.

    Raises:
        PlatformError: the folder cannot be written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        file = (folder / ".lock").open("ab")
    except OSError as error:
        raise PlatformError(f"cannot write to {folder}: {error.strerror}. Make it writable, then retry.") from error
    with file:
        SYSTEM.lock(file.fileno(), wait=True)
        yield
