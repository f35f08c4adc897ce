"""A working copy whose lab.toml is broken or gone: what was pushed can still be read."""

import subprocess
import sys
from pathlib import Path

import pytest
from gpulab.cli.project import here, with_runs
from gpulab.contract.finding import ContractError
from gpulab.errors import InputError
from gpulab.forges.local.connect import connect


@pytest.fixture
def pushed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Connected, with a forge, as after a push."""
    subprocess.run(["git", "init", "-q", "-b", "main", str(tmp_path)], check=True)
    connect(tmp_path, "my-lab")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("text", ["not = = toml", "[project]\nslug = 5\n", None])
def test_reading_verbs_need_only_the_name_that_was_connected(pushed: Path, text: str | None) -> None:
    if text is not None:
        (pushed / "lab.toml").write_text(text)
    assert with_runs().slug == "my-lab"
    assert with_runs().root == pushed
    with pytest.raises(ContractError):
        here()
    done = subprocess.run([sys.executable, "-m", "gpulab.cli", "status"], capture_output=True, text=True, cwd=pushed)
    assert done.returncode == 0, done.stderr


def test_what_was_never_connected_still_needs_its_contract(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "lab.toml").write_text("not = = toml")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ContractError):
        with_runs()


def test_a_folder_without_both_is_no_project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match=r"no lab\.toml"):
        with_runs()
