"""Where a project comes from: pins of the platform, `.cruft.json`, and every way to name the template."""

import json
import shutil
from pathlib import Path

import cruft
import pytest
from gpulab import __version__
from packaging.requirements import Requirement

from .conftest import away_from_home, files_of, run_git

URL = "https://git.example.invalid/lab/gpulab.git"


def platform_of(project: Path) -> str:
    return (project / "requirements-platform.txt").read_text(encoding="utf-8")


def link_of(project: Path) -> dict:
    return json.loads((project / ".cruft.json").read_text(encoding="utf-8"))


def instead_of(url: str, folder: Path) -> dict[str, str]:
    """git settings that fetch `url` from a folder: a server without a network."""
    return {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": f"url.{folder}.insteadOf", "GIT_CONFIG_VALUE_0": url}


@pytest.fixture
def server(template, tmp_path) -> Path:
    """A template repository of this test alone, to be fetched as URL."""
    return Path(shutil.copytree(template, tmp_path / "server"))


@pytest.fixture
def clone(server, tmp_path) -> Path:
    folder = tmp_path / "clone"
    with away_from_home(tmp_path, **instead_of(URL, server)):
        run_git(tmp_path, "clone", "--quiet", URL, str(folder))
    return folder


def test_a_template_without_a_public_address_is_pinned_through_a_variable(project, template):
    commit = run_git(template, "rev-parse", "HEAD")
    assert platform_of(project).splitlines()[-2:] == [
        f"gpulab @ git+${{GPULAB_TEMPLATE}}@{commit}#subdirectory=workflows",
        f"gpulab-model-tests[torch] @ git+${{GPULAB_TEMPLATE}}@{commit}#subdirectory=model-tests",
    ]
    assert not (project / ".cruft.json").exists()


def test_pip_can_read_every_kind_of_pin(bake, project, clone, template, tmp_path):
    plain = Path(shutil.copytree(template, tmp_path / "plain", ignore=shutil.ignore_patterns(".git")))
    for made in (project, bake(source=clone), bake(source=plain)):
        lines = platform_of(made).replace("${GPULAB_TEMPLATE}", "file:///somewhere").splitlines()
        pins = [Requirement(line) for line in lines if line and not line.startswith("#")]
        assert [(pin.name, pin.extras) for pin in pins] == [("gpulab", set()), ("gpulab-model-tests", {"torch"})]


def test_a_clone_of_a_public_template_is_pinned_to_its_address_and_linked(bake, clone):
    project = bake(source=clone)
    commit = run_git(clone, "rev-parse", "HEAD")
    assert f"gpulab @ git+{URL}@{commit}#subdirectory=workflows" in platform_of(project)
    link = link_of(project)
    assert (link["template"], link["commit"], link["checkout"]) == (URL, commit, None)
    assert set(link["context"]["cookiecutter"]) >= {"project_name", "author", "project_slug"}
    assert not [key for key in link["context"]["cookiecutter"] if key.startswith("_")]
    assert run_git(project, "status", "--porcelain") == ""


def test_a_commit_that_was_never_pushed_is_not_pinned_to_the_public_address(bake, clone):
    run_git(clone, "commit", "--quiet", "--allow-empty", "-m", "mine")
    project = bake(source=clone)
    assert URL not in platform_of(project)
    assert run_git(clone, "rev-parse", "HEAD") in platform_of(project)
    assert not (project / ".cruft.json").exists()


def test_a_template_named_by_its_address(bake, server):
    project = bake(source=URL, env=instead_of(URL, server))
    assert f"git+{URL}@{run_git(server, 'rev-parse', 'HEAD')}#" in platform_of(project)
    assert link_of(project)["template"] == URL


@pytest.mark.parametrize(
    ("typed", "told"),
    [
        ("https://user:hunter2@git.example.invalid/lab/gpulab.git", URL),
        ("git@git.example.invalid:lab/gpulab.git", "ssh://git@git.example.invalid/lab/gpulab.git"),
        ("git+https://git.example.invalid/lab/gpulab.git", URL),
        ("gh:lab/gpulab", "https://github.com/lab/gpulab.git"),
    ],
)
def test_no_password_and_no_shorthand_gets_into_the_project(bake, server, typed, told):
    fetched = "https://github.com/lab/gpulab.git" if typed.startswith("gh:") else typed.removeprefix("git+")
    project = bake(source=typed, env=instead_of(fetched, server))
    assert f"git+{told}@" in platform_of(project)
    assert link_of(project)["template"] == told
    for name in files_of(project):
        assert "hunter2" not in (project / name).read_text(encoding="utf-8")


def test_a_folder_without_git_and_an_archive_are_pinned_by_version(bake, template, tmp_path, project):
    shutil.copytree(template, tmp_path / "zip" / "gpulab", ignore=shutil.ignore_patterns(".git"))
    archive = shutil.make_archive(str(tmp_path / "gpulab"), "zip", tmp_path / "zip", "gpulab")
    for source in (tmp_path / "zip" / "gpulab", Path(archive)):
        made = bake(source=source)
        assert files_of(made) == files_of(project)
        assert platform_of(made).splitlines()[-2:] == ["gpulab==0.1.0", "gpulab-model-tests[torch]==0.1.0"]


def test_a_template_named_relative_to_the_current_folder_is_found(bake, template, monkeypatch):
    monkeypatch.chdir(template.parent)
    project = bake(source=Path(template.name), env={"PWD": str(template.parent)})
    assert run_git(template, "rev-parse", "HEAD") in platform_of(project)


def test_the_version_named_is_the_platforms_own(template):
    asked = json.loads((template / "cookiecutter.json").read_text(encoding="utf-8"))
    assert asked["_platform_version"] == __version__


def test_no_path_of_this_machine_gets_into_the_project(bake, clone, template, tmp_path, project):
    for made in (project, bake(source=clone)):
        for file in made.rglob("*"):
            if file.is_file():
                content = file.read_bytes()
                for path in (template, template.parent, tmp_path, made.parent, Path.home()):
                    assert str(path).encode() not in content, file


def test_cruft_makes_what_cookiecutter_makes(template, tmp_path, project):
    with away_from_home(tmp_path):
        made = cruft.create(str(template), output_dir=tmp_path, default_config=True, no_input=True)
    assert files_of(made) == sorted([*files_of(project), ".cruft.json"])
    for name in files_of(project):
        assert (made / name).read_bytes() == (project / name).read_bytes(), name


def test_cruft_update_keeps_the_students_edits(bake, clone, server, tmp_path):
    project = bake(source=clone)
    model = project / "src" / "gpu_lab_1" / "model.py"
    model.write_text(model.read_text(encoding="utf-8") + "\nMINE = 1\n", encoding="utf-8")
    run_git(project, "commit", "--quiet", "-am", "mine")

    makefile = next(server.glob("{{*")) / "Makefile"
    makefile.write_text(makefile.read_text(encoding="utf-8") + "\n# v2\n", encoding="utf-8")
    run_git(server, "commit", "--quiet", "-am", "v2")
    with away_from_home(tmp_path, **instead_of(URL, server)):
        assert not cruft.check(project)
        assert cruft.update(project, skip_apply_ask=True)
        assert cruft.check(project)
    assert "# v2" in (project / "Makefile").read_text(encoding="utf-8")
    assert "MINE = 1" in model.read_text(encoding="utf-8")
    assert run_git(server, "rev-parse", "HEAD") in platform_of(project)
    assert not [name for name in files_of(project) if name.endswith((".rej", ".orig"))]
    assert run_git(project, "log", "--format=%s") == "mine\nGenerate the project from the gpulab template"
