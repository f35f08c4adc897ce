"""`gpulab new`: make a project from the template that this gpulab came with."""

import json
import logging
import subprocess
from contextlib import suppress
from importlib.metadata import distribution
from pathlib import Path
from typing import Annotated
from urllib.parse import unquote, urlparse

import typer

from gpulab.cli.project import make_ready
from gpulab.course import answers_for, read_course
from gpulab.errors import GpulabError, InputError, PlatformError

TEMPLATE_SYNTAX = ("{{", "{%", "{#")
COURSE_QUESTIONS = {
    "project_name": "Name of the project, e.g. GPU Lab 1",
    "author": "Your pseudonym, which reports and releases show",
}


def new(
    name: Annotated[str, typer.Option("--name", help="The project's name, e.g. 'GPU Lab 1'.")] = "",
    author: Annotated[str, typer.Option("--author", help="A pseudonym.")] = "",
    output: Annotated[Path, typer.Option("--output", help="Where the project's folder is made.")] = Path(),
    template: Annotated[str, typer.Option("--template", help="A folder or git address; default: gpulab's own.")] = "",
    defaults: Annotated[bool, typer.Option("--defaults", help="Ask nothing: defaults for what is not given.")] = False,
    course: Annotated[
        Path | None, typer.Option("--course", help="A course.toml: its answers, without questions.")
    ] = None,
    profile: Annotated[str, typer.Option("--profile", help="student or production.")] = "",
    model: Annotated[str, typer.Option("--model", help="The model to start from, e.g. llama.")] = "",
    accelerator: Annotated[str, typer.Option("--accelerator", help="The hardware that proves it, e.g. cpu.")] = "",
    forge: Annotated[str, typer.Option("--forge", help="Where git pushes to: local, gitea or github.")] = "",
    registry: Annotated[str, typer.Option("--registry", help="Where images are kept, e.g. registry.example.org.")] = "",
) -> None:
    """Ask the template's questions and make a project."""
    answers = given(project_name=name, author=author)
    chosen = given(profile=profile, model=model, accelerator=accelerator, forge=forge, registry=registry)
    if course is not None:
        chosen = answers_for(read_course(course), chosen)
        answers |= {} if defaults else asked(answers)
    answers |= chosen
    refuse_template_syntax(answers)
    source, checkout = (template, None) if template else own_template()
    made = Path(generate(source, checkout, answers, output, no_input=defaults or course is not None))
    with suppress(GpulabError):  # without git there is nothing to connect yet; `gpulab push` says what to type
        make_ready(made)


def given(**answers: str) -> dict[str, str]:
    """The options that were typed."""
    return {key: value for key, value in answers.items() if value}


def asked(answers: dict[str, str]) -> dict[str, str]:
    """A project name and a pseudonym: all that a course leaves to ask.

    Raises:
        InputError: nobody answers.
    """
    try:
        return {key: answers.get(key) or typer.prompt(question) for key, question in COURSE_QUESTIONS.items()}
    except typer.Abort:
        raise InputError("no answer, so no project. Or type: gpulab new --course FILE --name … --author …") from None


def refuse_template_syntax(answers: dict[str, str]) -> None:
    """Cookiecutter renders answers given from outside as templates, so these must hold no template.

    Raises:
        InputError: naming the answer.
    """
    for key, value in answers.items():
        found = next((syntax for syntax in TEMPLATE_SYNTAX if syntax in value), None)
        if found:
            raise InputError(f"{key}: found {found!r} in {value!r}; an answer is text, not a template. Leave it out.")


def generate(template: str, checkout: str | None, answers: dict[str, str], output: Path, no_input: bool) -> str:
    """Run cookiecutter; the new project's folder.

    Args:
        checkout: a commit of the template; None: its newest.

    Raises:
        InputError: the folder exists, the template cannot be had, or an answer was refused.
    """
    for logger in ("cookiecutter.hooks", "cookiecutter.vcs"):  # they would show a traceback for what is refused
        logging.getLogger(logger).disabled = True
    from cookiecutter import exceptions
    from cookiecutter.main import cookiecutter

    try:
        made: str = cookiecutter(
            template,
            checkout=checkout,
            no_input=no_input,
            extra_context=answers,
            output_dir=str(output),
            default_config=True,
        )
    except exceptions.OutputDirExistsException as error:
        raise InputError(f"{error}. Choose another name, or delete that folder.") from None
    except exceptions.FailedHookException:
        raise InputError("an answer was refused; the line above says which, and what is allowed.") from None
    except ValueError as error:  # an answer that is not among the choices, in cookiecutter's own words
        raise InputError(f"no project was made: {error}") from None
    except subprocess.CalledProcessError as error:
        said = (error.output or b"").decode(errors="replace").strip().splitlines()
        raise PlatformError(f"the template {template} cannot be fetched: {said[-1] if said else error}") from None
    except (typer.Abort, EOFError):
        raise InputError("no answer, so no project. To be asked nothing: gpulab new --defaults") from None
    except exceptions.CookiecutterException as error:
        raise InputError(f"no project was made: {error}") from None
    return made


def own_template() -> tuple[str, str | None]:
    """Where this gpulab was installed from: its working copy as it is, or its git address and commit.

    Raises:
        InputError: it came from a package index, which carries no template.
    """
    origin = json.loads(distribution("gpulab").read_text("direct_url.json") or "{}")
    url = urlparse(origin.get("url", ""))
    folder = Path(unquote(url.path)).parent
    if url.scheme == "file" and (folder / "cookiecutter.json").is_file():
        return str(folder), None
    if "vcs_info" in origin:
        return f"git+{origin['url']}", str(origin["vcs_info"]["commit_id"])
    raise InputError("this gpulab does not know its template. Type: gpulab new --template ADDRESS_OF_THE_REPOSITORY")
