"""What may be laid out below a folder; with tarfile's own filters and, as on Python 3.11.2, without."""

import io
import tarfile

import pytest
from model_tests import tar_files
from model_tests.tar_files import OutsideError, extract


@pytest.fixture(params=["with", "without"])
def filters(request, monkeypatch):
    """Without them nothing but our own rules holds."""
    monkeypatch.setattr(tar_files, "FILTER", tar_files.FILTER if request.param == "with" else {})


def tar_of(*members):
    """An open tar of (name, kind, content or target)."""
    written = io.BytesIO()
    with tarfile.open(fileobj=written, mode="w") as tar:
        for name, kind, content in members:
            member = tarfile.TarInfo(name)
            member.type = kind
            member.mode = 0o6777
            if kind == tarfile.REGTYPE:
                member.size = len(content)
                tar.addfile(member, io.BytesIO(content))
            else:
                member.linkname = content
                tar.addfile(member)
    return tarfile.open(fileobj=io.BytesIO(written.getvalue()))


def test_files_folders_and_links_inside_are_laid_out(filters, tmp_path):
    members = [("a", tarfile.DIRTYPE, ""), ("a/b", tarfile.REGTYPE, b"1"), ("c", tarfile.SYMTYPE, "a/b")]
    with tar_of(*members, ("a/up", tarfile.SYMTYPE, "../c")) as tar:
        extract(tar, tmp_path / "x")
    assert (tmp_path / "x" / "a" / "up").read_bytes() == b"1"
    assert (tmp_path / "x" / "a" / "b").stat().st_mode & 0o7022 == 0


@pytest.mark.parametrize(
    "members",
    [
        [("../out", tarfile.REGTYPE, b"1")],
        [("a/../../out", tarfile.REGTYPE, b"1")],
        [("/tmp/gpulab-out", tarfile.REGTYPE, b"1")],
        [("l", tarfile.SYMTYPE, "/etc/hostname")],
        [("l", tarfile.SYMTYPE, "..")],
        [("l", tarfile.SYMTYPE, "../out")],
        [("a", tarfile.DIRTYPE, ""), ("a/l", tarfile.SYMTYPE, "../../out")],
        [("d", tarfile.DIRTYPE, ""), ("l", tarfile.SYMTYPE, "d"), ("l/m", tarfile.SYMTYPE, "../../out")],
        [("d", tarfile.DIRTYPE, ""), ("d/e", tarfile.SYMTYPE, ".."), ("d/e/f", tarfile.SYMTYPE, "../out")],
        [("p", tarfile.FIFOTYPE, "")],
        [("c", tarfile.CHRTYPE, "")],
        [("h", tarfile.LNKTYPE, "/etc/hostname")],
    ],
)
def test_nothing_leads_out(filters, tmp_path, members):
    with tar_of(*members) as tar, pytest.raises(OutsideError) as error:
        extract(tar, tmp_path / "x")
    assert error.value.name == members[-1][0]
    assert [path.name for path in tmp_path.iterdir()] == ["x"]
