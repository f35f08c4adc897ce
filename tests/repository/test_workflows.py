"""GitHub's workflows, of this repository and of a generated project: pinned, bounded, without rights by default."""

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[2]
PROJECT = next(path for path in ROOT.iterdir() if path.name.startswith("{{"))
WORKFLOWS = sorted((*ROOT.glob(".github/workflows/*.yml"), *PROJECT.glob(".github/workflows/*.yml")))
FILES = sorted((*WORKFLOWS, *ROOT.glob(".github/actions/*/action.yml")))
PINNED = re.compile(r"(?:[\w.-]+/)+[\w.-]+@[0-9a-f]{40} # v\d+(?:\.\d+)*|\./\.github/actions/[\w-]+")


def name(path: Path) -> str:
    return "/".join(path.parts[-3:])


def load(path: Path) -> dict[Any, Any]:
    document: dict[Any, Any] = yaml.safe_load(path.read_text(encoding="utf-8"))
    return document


def steps(jobs: dict[str, Any]) -> list[dict[str, Any]]:
    return [step for job in jobs.values() for step in job["steps"]]


def test_both_repositories_have_workflows() -> None:
    assert {path.is_relative_to(PROJECT) for path in WORKFLOWS} == {True, False}


@pytest.mark.parametrize("path", FILES, ids=name)
def test_every_action_is_pinned_by_its_commit(path: Path) -> None:
    used = re.findall(r"^\s*(?:- )?uses: (.+)$", path.read_text(encoding="utf-8"), re.MULTILINE)
    assert used
    assert [one for one in used if not PINNED.fullmatch(one)] == []


def test_an_action_has_one_commit_everywhere() -> None:
    found: dict[str, set[str]] = {}
    for path in FILES:
        for action, commit in re.findall(r"uses: ([\w./-]+)@([0-9a-f]{40} # \S+)", path.read_text(encoding="utf-8")):
            found.setdefault(action, set()).add(commit)
    assert {action: commits for action, commits in found.items() if len(commits) > 1} == {}


@pytest.mark.parametrize("path", WORKFLOWS, ids=name)
def test_a_workflow_has_no_rights_and_one_run_per_branch(path: Path) -> None:
    workflow = load(path)
    assert workflow["permissions"] == {}
    assert workflow["concurrency"]["group"]


def test_every_test_of_the_repository_is_run_by_a_job() -> None:
    jobs = load(ROOT / ".github" / "workflows" / "ci.yml")["jobs"]
    said = " ".join([*jobs["tests"]["strategy"]["matrix"]["part"], *(step.get("run", "") for step in steps(jobs))])
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["pytest"]["ini_options"]
    folders = {file.parent for one in settings["testpaths"] for file in (ROOT / one).rglob("test_*.py")}
    paths = [folder.relative_to(ROOT) for folder in folders if "resources" not in folder.parts]
    run = {Path(word) for word in said.split()}
    left = {path for path in paths if not run & {path, *path.parents}}
    assert left <= {Path("tests/cluster")}  # what `make e2e` runs


@pytest.mark.parametrize("path", WORKFLOWS, ids=name)
def test_no_push_replaces_another_that_waits(path: Path) -> None:
    """GitHub keeps one waiting run per group: a group of a whole branch loses graded commits in a project."""
    group = load(path)["concurrency"]["group"]
    assert "github.sha" in group or path.is_relative_to(ROOT / ".github")


@pytest.mark.parametrize("path", WORKFLOWS, ids=name)
def test_a_job_names_its_rights_ends_in_time_and_keeps_no_token(path: Path) -> None:
    for job in load(path)["jobs"].values():
        assert job["timeout-minutes"] <= 60
        assert set(job["permissions"].values()) <= {"read"}
        for step in job["steps"]:
            if step.get("uses", "").startswith("actions/checkout@"):
                assert step["with"]["persist-credentials"] is False


@pytest.mark.parametrize("path", FILES, ids=name)
def test_no_expression_is_spliced_into_a_script(path: Path) -> None:
    document = load(path)
    jobs = document.get("jobs") or {"action": document["runs"]}
    assert [step for job in jobs.values() for step in job["steps"] if "${{" in step.get("run", "")] == []
