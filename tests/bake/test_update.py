"""`cruft update` from the first release to this one keeps what a student wrote: real cruft, real git."""

import json
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import cruft
import pytest

from .conftest import away_from_home, files_of, run_git, run_in
from .test_origin import URL, instead_of

FIRST_RELEASE = Path(__file__).parent / "resources" / "template-0.1.0.tar.gz"
"""`git archive 5d8e2a0 cookiecutter.json hooks {{cookiecutter.project_slug}}`: a shallow clone lacks that commit."""

MINE = "src/gpu_lab_1/model.py"


@pytest.fixture
def server(tmp_path) -> Path:
    """A template repository with the first release alone."""
    folder = tmp_path / "server"
    with tarfile.open(FIRST_RELEASE) as archive:
        archive.extractall(folder, filter="data")
    with away_from_home(tmp_path):
        run_git(folder, "init", "--quiet", "-b", "main")
        run_git(folder, "add", "--all")
        run_git(folder, "commit", "--quiet", "-m", "the first release")
    return folder


def release_again(server: Path, template: Path) -> None:
    """Commit this release's files over the first one's."""
    run_git(server, "rm", "-rq", ".")
    shutil.copytree(template, server, ignore=shutil.ignore_patterns(".git"), dirs_exist_ok=True)
    run_git(server, "add", "--all")
    run_git(server, "commit", "--quiet", "-m", "this release")


def made_by_cookiecutter(bake, server: Path, tmp_path: Path) -> Path:
    """Plain cookiecutter; the first release's hook wrote .cruft.json and made the first commit."""
    clone = tmp_path / "clone"
    with away_from_home(tmp_path, **instead_of(URL, server)):
        run_git(tmp_path, "clone", "--quiet", URL, str(clone))
    return bake(source=clone)


def made_by_cruft(_bake, server: Path, tmp_path: Path) -> Path:
    with away_from_home(tmp_path, **instead_of(URL, server)):
        made = cruft.create(URL, output_dir=tmp_path, default_config=True, no_input=True)
    run_git(made, "init", "--quiet", "-b", "main")
    run_git(made, "add", "--all")
    run_git(made, "commit", "--quiet", "-m", "Generate the project")
    return made


def edit(project: Path) -> dict[str, str]:
    """What a student does: a changed line and a new function, another size, a test, a word in the README."""
    model, lab, readme = project / MINE, project / "lab.toml", project / "README.md"
    source = model.read_text(encoding="utf-8").replace("eps: float = 1e-5", "eps: float = 1e-6")
    model.write_text(source + "\n\ndef mine() -> int:\n    return 1\n", encoding="utf-8")
    lab.write_text(lab.read_text(encoding="utf-8").replace("\nlayers = 4\n", "\nlayers = 2\n"), encoding="utf-8")
    readme.write_text(readme.read_text(encoding="utf-8") + "\nMy notes.\n", encoding="utf-8")
    test = "from gpu_lab_1.model import mine\n\n\ndef test_mine():\n    assert mine() == 1\n"
    (project / "tests" / "test_mine.py").write_text(test, encoding="utf-8")
    run_git(project, "add", "--all")
    run_git(project, "commit", "--quiet", "-m", "mine")
    return {name: (project / name).read_text(encoding="utf-8") for name in (MINE, "tests/test_mine.py")}


@pytest.mark.parametrize("make", [made_by_cookiecutter, made_by_cruft])
def test_an_update_from_the_first_release_keeps_edits_and_brings_the_rest(
    bake, template, server, project, tmp_path, make
):
    old = make(bake, server, tmp_path)
    kept = edit(old)
    release_again(server, template)
    with away_from_home(tmp_path, **instead_of(URL, server)):
        assert cruft.update(old, skip_apply_ask=True)
        assert cruft.check(old)
    assert files_of(old) == sorted([*files_of(project), ".cruft.json", "tests/test_mine.py"])
    for name, text in kept.items():
        assert (old / name).read_text(encoding="utf-8") == text
    edited = {MINE, "lab.toml", "README.md", "requirements-platform.txt"}
    for name in set(files_of(project)) - edited:
        assert (old / name).read_bytes() == (project / name).read_bytes(), name
    assert "\nlayers = 2\n" in (old / "lab.toml").read_text(encoding="utf-8")
    assert (old / "README.md").read_text(encoding="utf-8").endswith("\nMy notes.\n")
    head = run_git(server, "rev-parse", "HEAD")
    assert json.loads((old / ".cruft.json").read_text(encoding="utf-8"))["commit"] == head
    assert head in (old / "requirements-platform.txt").read_text(encoding="utf-8")
    checks_pass(old)


@pytest.mark.parametrize(("profile", "accelerator"), [("student", "h100"), ("production", "cpu")])
def test_an_answer_can_be_changed_later(bake, baked, template, server, tmp_path, profile, accelerator):
    release_again(server, template)
    project = made_by_cookiecutter(bake, server, tmp_path)
    edit(project)
    changed = {"profile": profile, "accelerator": accelerator}
    with away_from_home(tmp_path, **instead_of(URL, server)):
        assert cruft.update(project, skip_apply_ask=True, extra_context=changed)
    wanted = baked(profile, "llama", accelerator)
    assert files_of(project) == sorted([*files_of(wanted), ".cruft.json", "tests/test_mine.py"])
    for name in ("Dockerfile", "pyproject.toml", *(name for name in files_of(wanted) if name.startswith("gitops/"))):
        assert (project / name).read_bytes() == (wanted / name).read_bytes(), name
    assert "def mine() -> int:" in (project / MINE).read_text(encoding="utf-8")
    assert f'accelerators = ["{accelerator}"]' in (project / "lab.toml").read_text(encoding="utf-8")


def checks_pass(project: Path) -> None:
    """The updated project is committed, passes its own checks, and its own tests still run."""
    run_git(project, "add", "--all")
    run_git(project, "commit", "--quiet", "-m", "update")
    for command in (
        ["make", "check", "render", f"PYTHON={sys.executable}"],
        [sys.executable, "-m", "pytest", "-q", "tests/test_mine.py", "tests/test_serve.py"],
    ):
        done: subprocess.CompletedProcess[str] = run_in(project, *command)
        assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
