"""Files of another form than gpulab writes are named in words, whatever is in them."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import typer
from gpulab.cli.local_project import LocalProject
from gpulab.cli.project import here
from gpulab.cli.promote import promote
from gpulab.cli.records import results_of, shape
from gpulab.cli.rollback import rollback
from gpulab.cli.runs import watch
from gpulab.cli.status import status
from gpulab.engines.local import record
from gpulab.engines.protocol import Phase, RunStatus
from gpulab.errors import GpulabError, InputError, PlatformError
from gpulab.events import TEACHING, sync_context
from gpulab.forges.local import LocalForge
from gpulab.forges.local.git import Git
from gpulab.forges.protocol import Status
from gpulab.steps.release_file import RELEASE, Release

RUN = "push-0123456789ab-123456"
GATE = {"name": "x", "verdict": "PASS", "value": 1.0, "bound": None, "unit": "", "why": "", "change": ""}
GOOD = {"schema": "gpulab/results/v1", "verdict": "PASS", "summary": "PASS: x", "exit_code": 0, "gates": [GATE]}
WRONG: list[Any] = [
    [],
    None,
    "x",
    7,
    {},
    {"schema": "gpulab/results/v1"},
    GOOD | {"schema": "v0"},
    GOOD | {"verdict": None},
    GOOD | {"summary": []},
    GOOD | {"exit_code": "0"},
    GOOD | {"gates": {}},
    GOOD | {"gates": ["x"]},
    GOOD | {"gates": [{}]},
    GOOD | {"gates": [GATE | {"value": "1"}]},
    GOOD | {"gates": [GATE | {"why": None}]},
]


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> LocalProject:
    """A project with one run that has ended, and its release in teaching."""
    root = tmp_path / "project"
    shutil.copytree(Path(__file__).parent / "resources" / "projects" / "valid", root)
    monkeypatch.chdir(root)
    project = here()
    assert isinstance(project, LocalProject)
    project.home.root.mkdir()
    Git(root).run("init", "--quiet", "--bare", "-b", "main", str(project.home.repository))
    folder = project.home.runs / RUN
    folder.mkdir(parents=True)
    record.save(folder, RunStatus(RUN, Phase.SUCCEEDED, started_at=record.now(), finished_at=record.now()))
    forge = LocalForge(project.home, lambda _: None)
    release = Release(project.slug, "teaching", "a" * 40, "r", f"sha256:{'d' * 64}", RUN, "cpu")
    head = forge.commit(TEACHING, {RELEASE: release.to_json()}, "release", None)
    forge.set_status(head, Status(sync_context("teaching"), "success", "answered", "sync-x"))
    return project


def stored(project: LocalProject, document: Any) -> Path:
    path = project.stored(RUN, "results.json")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(document if isinstance(document, str) and document == "{" else json.dumps(document))
    return path


def test_what_a_run_writes_is_read(project: LocalProject) -> None:
    assert results_of(project, RUN) is None
    stored(project, GOOD)
    assert results_of(project, RUN) == GOOD
    assert shape(GOOD) is None


@pytest.mark.parametrize("document", [*WRONG, "{"])
def test_results_of_another_form_are_named_by_every_verb(
    project: LocalProject, document: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    path = stored(project, document)
    for verb in (lambda: watch(RUN), promote):
        with pytest.raises(PlatformError, match=r"results\.json"):
            verb()
    status()
    assert str(path) in capsys.readouterr().out


@pytest.mark.parametrize("text", ["{", "[]", '"x"', "{}", '{"source": 1, "digest": "d", "revision": "r"}'])
def test_a_release_of_another_form_is_named(project: LocalProject, text: str) -> None:
    folder = project.home.cluster("teaching")
    folder.mkdir(parents=True)
    (folder / "release.json").write_text(text)
    with pytest.raises(PlatformError, match=r"release\.json"):
        status()


@pytest.mark.parametrize(("environment", "words"), [("mars", "teaching"), ("production", "nothing to go back to")])
def test_a_rollback_that_cannot_be_says_why(project: LocalProject, environment: str, words: str) -> None:
    with pytest.raises(InputError, match=words):
        rollback(environment)


@pytest.mark.parametrize("folder", ["statuses", "pulls"])
@pytest.mark.parametrize("text", ["{", "[1]", '{"x": 1}', '{"x": {"y": 1}}'])
def test_a_damaged_file_of_the_forge_is_named(project: LocalProject, folder: str, text: str) -> None:
    path = project.home.root / folder / f"{'f' * 40}.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    with pytest.raises(GpulabError, match=f"{'f' * 40}.json"):
        status()


def test_a_run_that_left_nothing_says_why_it_ended(project: LocalProject, capsys: pytest.CaptureFixture[str]) -> None:
    folder = project.home.runs / RUN
    record.save(folder, RunStatus(RUN, Phase.FAILED, "Stopped with strategy 'Terminate'", record.now(), record.now()))
    forge = LocalForge(project.home, lambda _: None)
    forge.set_status("b" * 40, Status("gpulab/push", "error", "stopped by hand; gpulab run", RUN))
    with pytest.raises(typer.Exit) as ended:
        watch(RUN)
    assert ended.value.exit_code == 3
    assert "stopped by hand" in capsys.readouterr().out
