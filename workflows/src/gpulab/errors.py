"""Errors that a person reads: one sentence, what to do next, and an exit code."""

import contextlib
import re
from pathlib import Path


class GpulabError(Exception):
    """The base of all errors that are shown without a traceback."""

    exit_code = 3


class InputError(GpulabError):
    """The user's own mistake: exit code 2, and nothing was lost."""

    exit_code = 2


class PlatformError(GpulabError):
    """The platform's trouble: exit code 3, worth another try, never counted against a student."""

    exit_code = 3


def one_line(message: str, limit: int) -> str:
    """A message on one line of at most `limit` characters; a long one loses its middle.

    Its beginning says what happened, its end what is there now.
    """
    message = " ".join(message.split())
    end = limit * 3 // 10
    return message if len(message) <= limit else f"{message[: limit - end - 3]} … {message[-end:]}"


def without_credentials(url: str) -> str:
    """A URL as it may be shown: a password must not get into a log."""
    return re.sub(r"//[^/]*@", "//…@", url)


def leave_message(path: str | None, message: str) -> None:
    """Write the sentence that the engine shows as the node's message; at most 1 KiB, one line.

    Kubernetes cuts a termination message at 4096 bytes, and Argo shows it in a table cell.
    """
    if path:
        with contextlib.suppress(OSError):  # the exit code says the same, also on a full disk
            Path(path).write_bytes(" ".join(message.split()).encode()[:1024])
