"""`course.toml` from text to `Course`: every problem at once, one line each, as for `lab.toml`."""

import tomllib
from pathlib import Path

from pydantic import ValidationError

from gpulab.contract.finding import ContractError, Finding
from gpulab.course.course import Course
from gpulab.course.explain import distinct, explain

LARGEST_FILE = 1 << 20
"""Bytes; a course's answers are a page."""


def read_course(path: Path) -> Course:
    """The course of a file.

    Raises:
        ContractError: there is no such file, or it is not a course.
    """
    try:
        if path.stat().st_size > LARGEST_FILE:
            raise _error(path.name, "", f"larger than {LARGEST_FILE} bytes", "Name the course's file.")
        text = path.read_bytes().decode("utf-8")
    except FileNotFoundError:
        raise _error(str(path), "", "missing", "Ask your teacher for the file, or leave out --course.") from None
    except UnicodeDecodeError:
        raise _error(path.name, "", "not UTF-8 text", "Save the file as UTF-8 in your editor.") from None
    except OSError as error:
        raise _error(path.name, "", f"cannot be read: {error.strerror}", "It has to be a readable file.") from None
    return parse_course(text, path.name)


def parse_course(text: str, name: str = "course.toml") -> Course:
    """The course from a file's text; `name` is what messages call it.

    Raises:
        ContractError: with every problem.
    """
    try:
        document = tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise _error(name, "", f"not TOML: {error}", 'Type: key = "text", below its [table].') from None
    try:
        return Course.model_validate(document)
    except ValidationError as error:
        details = distinct(error.errors(include_url=False))
        raise ContractError([explain(name, one) for one in details]) from None


def _error(file: str, where: str, message: str, hint: str) -> ContractError:
    return ContractError([Finding("error", file, where, message, hint)])
