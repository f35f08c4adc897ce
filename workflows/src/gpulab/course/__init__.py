"""What a teacher decides for all projects of a course: `course.toml`, read for `gpulab new --course FILE`."""

from gpulab.course.choose import answers_for
from gpulab.course.course import Course
from gpulab.course.read import parse_course, read_course

__all__ = ["Course", "answers_for", "parse_course", "read_course"]
