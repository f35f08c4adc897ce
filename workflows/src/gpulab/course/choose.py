"""From a course and a student's options to the template's answers."""

from collections.abc import Mapping

from gpulab.contract.words import did_you_mean, one_of, shown
from gpulab.course.course import Course
from gpulab.errors import InputError


def answers_for(course: Course, chosen: Mapping[str, str]) -> dict[str, str]:
    """All answers but the project's name and the author.

    Args:
        chosen: question -> a student's choice; only what the course leaves open.

    Raises:
        InputError: a choice is not the course's to give.
    """
    given: dict[str, str] = course.answers.model_dump()
    for question, choice in chosen.items():
        allowed = choices(course, question)
        if choice not in allowed:
            raise InputError(
                f"--{question}: found {shown(choice)}, allowed in {course.course.name}: {one_of(allowed)}"
                f"{did_you_mean(choice, allowed)}"
            )
    return {"course": course.course.name, **given, **chosen}


def choices(course: Course, question: str) -> list[str]:
    """The course's own answer first, then what it allows beside."""
    return list(dict.fromkeys([getattr(course.answers, question), *getattr(course.allowed, question, ())]))
