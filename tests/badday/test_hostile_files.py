"""What a student's code may leave where the parent and the judge read: a pipe, a link, a device, a file without end."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from verifying import Bench

TERABYTE = 2**40
PLANT = """
    out = os.path.dirname(sys.argv[sys.argv.index("--out") + 1])
    for name in ("record.json", "log.txt", "float32.pt"):
        if os.path.exists(os.path.join(out, name)): os.unlink(os.path.join(out, name))
        os.mkfifo(os.path.join(out, name))
""".strip()


def sparse(file: Path) -> None:
    with file.open("wb") as stream:
        stream.truncate(TERABYTE)


KINDS: dict[str, Callable[[Path], object]] = {
    "pipe": os.mkfifo,
    "folder": Path.mkdir,
    "endless device": lambda file: file.symlink_to("/dev/zero"),
    "link to itself": lambda file: file.symlink_to(file.name),
    "sparse terabyte": sparse,
}


@pytest.fixture(scope="module")
def clean(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    bench = Bench(tmp_path_factory.mktemp("clean"))
    record, _, result = bench.verify()
    assert (record["status"], result["verdict"]) == ("ok", "PASS")
    return bench


@pytest.mark.timeout(60)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ["record.json", "float32.pt", "float16.pt", "golden.pt"])
def test_the_judge_waits_for_nothing(clean: Bench, tmp_path: Path, name: str, kind: str) -> None:
    shutil.copytree(clean.folder, tmp_path, dirs_exist_ok=True)
    (tmp_path / "out" / name).unlink()
    KINDS[kind](tmp_path / "out" / name)
    code, result = Bench(tmp_path).judge()
    assert result["verdict"] == "INCONCLUSIVE"
    assert code == (0 if name == "golden.pt" else 3)


@pytest.mark.timeout(60)
@pytest.mark.parametrize("kind", KINDS)
def test_the_parent_waits_for_nothing(tmp_path: Path, kind: str) -> None:
    from model_tests.producing.parent import gather
    from model_tests.producing.supervise import Outcome
    from model_tests.spec import Spec
    from verifying import SPEC

    for name in ("stage.txt", "report.json", "log.txt"):
        KINDS[kind](tmp_path / name)
    record = gather(Spec.from_dict(SPEC), tmp_path, tmp_path, Outcome("exited", 5, 1.0, 1))
    assert (record["status"], record["stage"]) == ("crashed", "start")


@pytest.mark.timeout(120)
def test_pipes_in_the_parents_own_folder_change_nothing(tmp_path: Path) -> None:
    record, code, result = Bench(tmp_path).verify(build=PLANT)
    assert (record["status"], result["verdict"], code) == ("ok", "PASS", 0)
    assert (tmp_path / "out" / "record.json").is_file()


@pytest.mark.timeout(60)
def test_a_volume_with_a_file_without_end_is_guarded_at_once(tmp_path: Path) -> None:
    from gpulab.engines.local.volumes import ReadOnly

    sparse(tmp_path / "huge.pt")
    guard = ReadOnly({"work": tmp_path})
    assert guard.release() == []
