"""The baselines' sources come from an older commit of the student's: nothing in the archive is trusted."""

import io
import json
import tarfile

import pytest
from model_tests.speed import baselines
from model_tests.speed.baselines import Baseline, comparable, from_plan, unpack

ROW = {"name": "teaching", "commit": "a" * 40, "reason": "", "factory": "m:build", "seed": 0}


def archive(path, *members):
    with tarfile.open(path, "w", format=tarfile.PAX_FORMAT) as tar:
        for name, data, changes in members:
            member = tarfile.TarInfo(name)
            member.size = len(data)
            for key, value in changes.items():
                setattr(member, key, value)
            tar.addfile(member, io.BytesIO(data))
    return path


def test_sources_are_laid_out_by_the_name_of_their_baseline(tmp_path):
    tar = archive(tmp_path / "b.tar", ("teaching/src/m.py", b"new", {}), ("anchor/src/p/m.py", b"old", {}))
    unpack(tar, tmp_path / "out")
    assert (tmp_path / "out/teaching/src/m.py").read_bytes() == b"new"
    assert (tmp_path / "out/anchor/src/p/m.py").read_bytes() == b"old"


@pytest.mark.parametrize("content", [None, b""])
def test_no_archive_is_no_baseline(tmp_path, content):
    if content is not None:
        (tmp_path / "b.tar").write_bytes(content)
    unpack(tmp_path / "b.tar", tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("name", ["../evil", "teaching/../../evil", "/evil"])
def test_nothing_leaves_the_folder(tmp_path, name):
    tar = archive(tmp_path / "b.tar", (name, b"x", {}))
    with pytest.raises(ValueError, match="cannot be unpacked"):
        unpack(tar, tmp_path / "sub" / "out")
    assert not list(tmp_path.rglob("evil"))


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.FIFOTYPE])
def test_only_plain_files_are_taken(tmp_path, kind):
    changes = {"type": kind, "linkname": "/etc/passwd"}
    tar = archive(tmp_path / "b.tar", ("teaching/src/link", b"", changes), ("teaching/src/m.py", b"x", {}))
    unpack(tar, tmp_path / "out")
    assert [path.name for path in (tmp_path / "out").rglob("*") if not path.is_dir()] == ["m.py"]


def test_a_bomb_is_refused_before_it_is_written(tmp_path, monkeypatch):
    monkeypatch.setattr(baselines, "LARGEST", 4096)
    tar = archive(tmp_path / "b.tar", ("teaching/src/m.py", b"0" * 8192, {}))
    with pytest.raises(ValueError, match="more than 4096 bytes"):
        unpack(tar, tmp_path / "out")
    monkeypatch.setattr(baselines, "MOST_MEMBERS", 3)
    tar = archive(tmp_path / "c.tar", *((f"teaching/src/{n}.py", b"", {}) for n in range(4)))
    with pytest.raises(ValueError, match="more than"):
        unpack(tar, tmp_path / "out")


@pytest.mark.parametrize("data", [b"no tar", b"\x1f\x8b" + b"0" * 600, b"x" * 10_240])
def test_what_is_no_plain_tar_is_refused(tmp_path, data):
    (tmp_path / "b.tar").write_bytes(data)
    with pytest.raises(ValueError, match="cannot be unpacked"):
        unpack(tmp_path / "b.tar", tmp_path / "out")


@pytest.mark.parametrize(
    "changes",
    [
        {"name": "../x"}, {"name": None}, {"commit": "a"}, {"commit": 3}, {"reason": "because"}, {"factory": None},
        {"seed": "0"}, {"more": 1},
    ],
)  # fmt: skip
def test_rows_that_we_did_not_write_are_not_read(tmp_path, changes):
    (tmp_path / "plan.json").write_text(json.dumps({"baselines": [ROW | changes, ROW]}))
    assert from_plan(tmp_path / "plan.json") == [Baseline(**ROW)]


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"baselines": null}', '{"baselines": [3]}'])
def test_a_plan_without_baselines_has_none(tmp_path, text):
    (tmp_path / "plan.json").write_text(text)
    assert from_plan(tmp_path / "plan.json") == []


def test_only_those_without_a_reason_are_timed():
    rows = [Baseline("teaching", "a" * 40), Baseline("anchor", "a" * 40, "same-as-teaching")]
    assert comparable(rows) == rows[:1]
