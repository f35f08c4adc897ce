"""A file that a person writes, as text; what is wrong with the file itself is told in words."""

from pathlib import Path

from gpulab.contract.finding import ContractError, Finding

LARGEST_FILE = 1 << 20
"""Bytes; what a person writes here is a page."""


def read_text(path: Path, name: str, *, missing: str, too_large: str) -> str:
    """The text of a file.

    Args:
        name: what findings call it.
        missing: what to type when there is no such file.
        too_large: what to do when it is larger than LARGEST_FILE.

    Raises:
        ContractError: it is missing, too large, not UTF-8, or cannot be read.
    """
    try:
        if path.stat().st_size > LARGEST_FILE:
            raise _wrong(name, "", f"larger than {LARGEST_FILE} bytes", too_large)
        return path.read_bytes().decode("utf-8")
    except FileNotFoundError:
        raise _wrong(name, "", "missing", missing) from None
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        raise _wrong(name, f"line {line}", "not UTF-8 text", "Save the file as UTF-8 in your editor.") from None
    except OSError as error:
        raise _wrong(name, "", f"cannot be read: {error.strerror}", "It has to be a readable file.") from None


def _wrong(name: str, where: str, message: str, hint: str) -> ContractError:
    return ContractError([Finding("error", name, where, message, hint)])
