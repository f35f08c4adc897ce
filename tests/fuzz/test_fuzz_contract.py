"""`lab.toml`, `course.toml`, Dockerfile, requirements: refused in lines, or taken for exactly what they say."""

import json
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
import tomlkit
from generating import cases, disturbed, edited
from gpulab.contract import ContractError, parse_lab, spec_of
from gpulab.contract.dockerfile import lint
from gpulab.contract.plan import make_plan
from gpulab.contract.read import read_lab, validate_lab
from gpulab.contract.repository import facts_of
from gpulab.course.read import parse_course
from hypothesis import given
from model_tests.spec import Spec

PROJECT = Path(__file__).parents[2] / "workflows/tests/resources/projects/valid"
TEXT = (PROJECT / "lab.toml").read_text(encoding="utf-8")
DOCKERFILE = (PROJECT / "Dockerfile").read_text(encoding="utf-8")
REQUIREMENTS = "torch>=2.6 ; python_version >= '3.11'\n-r more.txt\nfastapi[all]==0.115.*  # web\n--hash=sha256:ab \\\n"
COURSE = """
schema = 1
[course]
name = "gpu-101"
[answers]
profile = "student"
accelerator = "t4"
[allowed]
model = ["llama", "resnet50"]
"""
CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f\u202a-\u202e]")

pytestmark = pytest.mark.usefixtures("nothing_executed")


def one_line_each(error: ContractError) -> None:
    for line in map(str, error.problems):
        assert "\n" not in line
        assert not CONTROL.search(line), ascii(line)
        assert len(line) < 1500


def taken_for_what_it_says(document: dict[str, Any]) -> None:
    """What is accepted reads the same again, and everybody behind the contract can use it."""
    lab = validate_lab(document)
    assert validate_lab(tomllib.loads(tomlkit.dumps(json.loads(lab.model_dump_json(by_alias=True, exclude_none=True)))))
    spec = json.loads(json.dumps(spec_of(lab), allow_nan=False))
    assert Spec.from_dict(spec).factory == lab.model.factory
    assert re.fullmatch(r"[a-z]([-a-z0-9]{0,38}[a-z0-9])?", lab.project.slug)
    assert not CONTROL.search(lab.project.name + lab.project.author)
    assert set(document) <= set(type(lab).model_fields) | {"schema"}


@cases(1500)
@given(edited(TEXT))
def test_a_text_near_a_contract(text: str) -> None:
    try:
        parse_lab(text)
    except ContractError as error:
        one_line_each(error)
    else:
        taken_for_what_it_says(tomllib.loads(text))


@cases(1000)
@given(disturbed(tomllib.loads(TEXT)))
def test_a_document_near_a_contract(document: dict[str, Any]) -> None:
    try:
        validate_lab(document)
    except ContractError as error:
        one_line_each(error)
    else:
        taken_for_what_it_says(document)


@cases(400)
@given(edited(COURSE))
def test_a_text_near_a_course(text: str) -> None:
    try:
        course = parse_course(text)
    except ContractError as error:
        one_line_each(error)
    else:
        assert re.fullmatch(r"[a-z0-9](?:[-a-z0-9]{0,38}[a-z0-9])?", course.course.name)


@cases(800)
@given(edited(DOCKERFILE))
def test_a_text_near_a_dockerfile(text: str) -> None:
    for finding in lint(text, ["t4"]):
        assert "\n" not in str(finding)
        assert re.fullmatch(r"line \d+( \[[a-z0-9-]+\])?", finding.where)


@pytest.fixture(scope="module")
def elsewhere(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("project")
    (folder / "lab.toml").write_text(TEXT)
    (folder / "Dockerfile").write_text(DOCKERFILE)
    return folder


@cases(300)
@given(edited(REQUIREMENTS))
def test_requirements_of_any_kind_give_a_plan_or_reasons(elsewhere: Path, text: str) -> None:
    (elsewhere / "requirements.txt").write_text(text, encoding="utf-8", errors="replace")
    try:
        plan = make_plan(read_lab(elsewhere), facts_of(elsewhere), "a" * 40)
    except ContractError as error:
        one_line_each(error)
    else:
        json.dumps(plan, allow_nan=False)
