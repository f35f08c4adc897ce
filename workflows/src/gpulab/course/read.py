"""`course.toml` from text to `Course`: every problem at once, one line each, as for `lab.toml`."""

from pathlib import Path

from pydantic import ValidationError

from gpulab.contract.explain import distinct
from gpulab.contract.finding import ContractError
from gpulab.contract.text_file import read_text
from gpulab.contract.toml_file import parse_toml
from gpulab.course.course import Course
from gpulab.course.explain import explain, keys_at


def read_course(path: Path) -> Course:
    """The course of a file.

    Raises:
        ContractError: there is no such file, or it is not a course.
    """
    text = read_text(
        path,
        str(path),
        missing="Ask your teacher for the file, or leave out --course.",
        too_large="Name the course's file.",
    )
    return parse_course(text, path.name)


def parse_course(text: str, name: str = "course.toml") -> Course:
    """The course from a file's text; `name` is what messages call it.

    Raises:
        ContractError: with every problem.
    """
    document = parse_toml(text, name)
    try:
        return Course.model_validate(document)
    except ValidationError as error:
        details = distinct(error.errors(include_url=False), keys_at)
        raise ContractError([explain(name, one) for one in details]) from None
