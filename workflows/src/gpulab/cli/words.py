"""How the command line speaks: plain lines, colour only at a terminal."""

import io
import os
import sys

COLOURS = {"PASS": "32", "FAIL": "31", "WARN": "33", "INCONCLUSIVE": "33", "error": "31", "warning": "33", "info": "36"}
MARK = {"error": "error  ", "warning": "warning", "info": "info   "}


def say(line: str = "") -> None:
    """Print a line at once."""
    print(line, flush=True)


def speak_utf8() -> None:
    """What is piped or redirected is UTF-8 on every system; a character that cannot be shown costs no verdict."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding=None if stream.isatty() else "utf-8", errors="backslashreplace")


def is_terminal() -> bool:
    """Whether a person watches: a terminal, no NO_COLOR, no dumb terminal."""
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def coloured(word: str) -> str:
    """A verdict in its colour at a terminal, plain elsewhere; the word says it in any case."""
    code = COLOURS.get(word)
    return f"\033[{code}m{word}\033[0m" if code and is_terminal() else word
