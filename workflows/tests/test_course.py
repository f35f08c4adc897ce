"""`course.toml`: what a course may decide, and one sentence for everything else."""

import json
from pathlib import Path
from typing import get_args

import pytest
from gpulab.contract import known
from gpulab.contract.finding import ContractError
from gpulab.course import answers_for, parse_course, read_course
from gpulab.course.course import Answers
from gpulab.errors import InputError
from hypothesis import given
from hypothesis import strategies as st

ROOT = Path(__file__).parents[2]
COURSE = 'schema = 1\n[course]\nname = "gpu-101"\n'


def test_a_course_answers_every_question_but_name_and_author() -> None:
    asked = json.loads((ROOT / "cookiecutter.json").read_text(encoding="utf-8"))
    questions = {key for key in asked if not key.startswith("_")} - {"project_name", "author"}
    answers = answers_for(parse_course(COURSE), {})
    assert set(answers) == questions
    offered = {key: asked[key] for key in questions - {"course"}}
    defaults = {key: one if isinstance(one, str) else one[0] for key, one in offered.items()}
    assert answers == {"course": "gpu-101", **defaults}


def test_the_choices_of_a_course_are_those_of_the_template() -> None:
    asked = json.loads((ROOT / "cookiecutter.json").read_text(encoding="utf-8"))
    for question in ("profile", "model", "forge"):
        assert list(get_args(Answers.model_fields[question].annotation)) == asked[question]
    assert list(known.accelerators()) == asked["accelerator"]


def test_students_choose_among_what_the_course_allows() -> None:
    course = parse_course(f'{COURSE}[answers]\nmodel = "resnet50"\n[allowed]\nmodel = ["llama"]\n')
    assert answers_for(course, {})["model"] == "resnet50"
    assert answers_for(course, {"model": "llama"})["model"] == "llama"
    for choice in ({"model": "custom"}, {"accelerator": "h100"}, {"profile": "production"}):
        with pytest.raises(InputError, match="allowed in gpu-101: ") as refused:
            answers_for(course, choice)
        assert refused.value.exit_code == 2


@pytest.mark.parametrize("place", ["local", "registry.example.org/team", "10.0.0.1:5000"])
def test_a_course_names_its_registry(place: str) -> None:
    course = parse_course(f'{COURSE}[answers]\nforge = "gitea"\nregistry = "{place}"\n')
    assert (answers_for(course, {})["forge"], answers_for(course, {})["registry"]) == ("gitea", place)


MISTAKES = {
    "": ["schema: missing. Type: schema = 1", "[course]: missing. Type: [course]"],
    "x": ["not TOML"],
    "schema = true\n[course]\nname = 'a'": ["schema: found true, allowed: 1"],
    "schema = 1\n[course]\nnmae = 'a'": ['[course] nmae: unknown key, allowed: name; did you mean "name"?'],
    "schema = 1\n[course]\nname = 'GPU 101'": ['[course] name: found "GPU 101", allowed: lower-case letters'],
    "schema = 1\n[[course]]\nname = 'a'": ["[course]: found "],
    f"{COURSE}[answers]\nmodel = 'lama'": ['[answers] model: found "lama", allowed: llama, resnet50', '"llama"?'],
    f"{COURSE}[answers]\nregistry = 'https://x'": ['registry: found "https://x", allowed: local, or a host'],
    f"{COURSE}[answers]\naccelerator = 'H100'": ['did you mean "h100"?'],
    f"{COURSE}[answers]\ntoken = 'x'": ["[answers] token: unknown key, allowed: profile, model", "Delete the line."],
    f"{COURSE}[allowed]\nmodel = 'llama'": ["[allowed] model: ", "a list of llama", 'model = ["llama", "resnet50"]'],
    f"{COURSE}[allowed]\nmodel = [1]": ["[allowed] model: found 1, allowed: llama, resnet50, custom"],
    f"{COURSE}[allowed]\nmodel = ['llama', 'llama']": ["more than once"],
    f"{COURSE}[grading]\npoints = 1": ["grading: unknown key, allowed: schema, course, answers, allowed"],
}


@pytest.mark.parametrize("text", MISTAKES)
def test_a_mistake_is_one_line_with_what_is_allowed(text: str) -> None:
    with pytest.raises(ContractError) as refused:
        parse_course(text, "mine.toml")
    lines = str(refused.value).splitlines()
    assert all(line.startswith("mine.toml: ") for line in lines)
    for words in MISTAKES[text]:
        assert any(words in line for line in lines), lines


def test_a_file_that_cannot_be_read_is_told(tmp_path: Path) -> None:
    (tmp_path / "latin.toml").write_bytes(b'schema = 1 # \xfc\n[course]\nname = "a"\n')
    for path, words in (
        (tmp_path / "none.toml", "missing"),
        (tmp_path, "readable"),
        (tmp_path / "latin.toml", "UTF-8"),
    ):
        with pytest.raises(ContractError, match=words):
            read_course(path)


VALUES = st.recursive(
    st.text(max_size=8) | st.integers() | st.booleans(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)
KEYS = st.sampled_from(["schema", "course", "answers", "allowed", "name", "model", "accelerator"]) | st.text(max_size=4)


@given(st.dictionaries(KEYS, VALUES | st.dictionaries(KEYS, VALUES, max_size=3), max_size=4))
def test_no_document_is_a_traceback(document: dict[str, object]) -> None:
    import tomlkit

    try:
        parse_course(tomlkit.dumps(document))
    except ContractError as refused:
        assert refused.problems


def test_a_mistake_in_toml_is_told_as_in_lab_toml() -> None:
    with pytest.raises(ContractError) as error:
        parse_course("[course]\nname = GPU 101\n", "gpu-101.toml")
    assert str(error.value).startswith(
        'gpu-101.toml: line 2: not TOML: Invalid value, found "name = GPU 101". Type: text'
    )
