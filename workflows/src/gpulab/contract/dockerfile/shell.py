"""The commands in a RUN instruction, well enough to look at: words, and what is piped into what."""

import json
import re
import shlex
from dataclasses import dataclass

from gpulab.contract.dockerfile.syntax import Instruction

_BEFORE_A_COMMAND = frozenset({"sudo", "env", "exec", "then", "do", "else", "if", "(", "{", "!"})


@dataclass(frozen=True)
class Command:
    """A simple command; `piped` says that it reads the output of the one before."""

    words: tuple[str, ...]
    piped: bool = False

    @property
    def name(self) -> str:
        """The program's file name."""
        return self.words[0].rsplit("/", 1)[-1]


def commands(entry: Instruction) -> tuple[Command, ...]:
    """The commands of a RUN, in order, without flags of RUN, variable assignments and sudo."""
    text = re.sub(r"^(?:--\S+\s+)*", "", entry.text)
    if text.startswith("["):
        return _exec_form(text)
    found: list[Command] = []
    words: list[str] = []
    piped = False
    for word in [*_words(text), ";"]:
        if word.strip(";&|\n"):
            words.append(word)
            continue
        if words := _without_prefix(words):
            found.append(Command(tuple(words), piped))
        words, piped = [], word == "|"
    return tuple(found)


def _exec_form(text: str) -> tuple[Command, ...]:
    try:
        words = json.loads(text)
    except ValueError:
        return ()
    return (Command(tuple(map(str, words))),) if isinstance(words, list) and words else ()


def _words(text: str) -> list[str]:
    """Words and operators; quotes are respected, lines of a here-document end a command."""
    script = "\n".join(line for line in text.split("\n") if not line.lstrip().startswith("#"))
    lexer = shlex.shlex(script, posix=True, punctuation_chars=";&|\n")
    lexer.whitespace, lexer.whitespace_split, lexer.commenters = " \t\r", True, ""
    try:
        return list(lexer)
    except ValueError:
        return text.split()


def _without_prefix(words: list[str]) -> list[str]:
    while words and (words[0] in _BEFORE_A_COMMAND or re.fullmatch(r"\w+=.*", words[0], re.DOTALL)):
        words = words[1:]
    return words


def installs(command: Command, manager: str) -> tuple[str, ...] | None:
    """The arguments after `install` of "apt" or "pip"; None when the command is something else."""
    names = {"apt": r"apt(?:-get)?", "pip": r"pip[0-9.]*"}[manager]
    words = command.words
    if manager == "pip" and re.fullmatch(r"python[0-9.]*", command.name) and words[1:3] == ("-m", "pip"):
        words = words[2:]
    if manager == "pip" and command.name == "uv" and words[1:2] == ("pip",):
        words = words[1:]
    if not words or not re.fullmatch(names, words[0].rsplit("/", 1)[-1]) or "install" not in words:
        return None
    return tuple(words[1 : words.index("install")] + words[words.index("install") + 1 :])
