"""What a build does, and does not begin."""

from pathlib import Path

import pytest
from testcluster import plan, versions

JOBS = [plan.Job("a", 10, True), plan.Job("b", 20, False), plan.Job("c", 30, False)]


def test_only_what_is_missing_is_built_in_order():
    assert [job.name for job in plan.chosen(JOBS, None)] == ["b", "c"]
    assert [job.name for job in plan.chosen(JOBS, "c")] == ["c"]
    assert plan.chosen(JOBS, "a") == []


def test_an_unknown_name_is_answered_with_the_known_ones():
    with pytest.raises(ValueError, match=r"--only d.*a, b, c"):
        plan.chosen(JOBS, "d")


def test_nothing_is_begun_that_would_end_too_late():
    assert plan.fits(JOBS[1], 0, None)
    assert plan.fits(JOBS[1], 5, 25)
    assert not plan.fits(JOBS[1], 6, 25)


def test_the_last_line_names_what_is_missing():
    assert plan.unfinished(JOBS[1:], 15) == "not built within 15 s: b (about 20 s), c (about 30 s)"
    assert plan.announced(JOBS, 1) == "b: about 20 s, then c"
    assert plan.announced(JOBS, 2) == "c: about 30 s, the last"


def test_a_group_counts_as_built_when_its_folder_is_complete(tmp_path):
    found = versions.load()
    keys = {group.name: "k" for group in found.groups}
    first = found.groups[0].name
    (tmp_path / first / "k").mkdir(parents=True)
    assert not any(step.built for step in plan.plan(found, tmp_path, keys))
    (tmp_path / first / "k" / ".complete").touch()
    assert [step.group.name for step in plan.plan(found, tmp_path, keys) if step.built] == [first]


def test_the_callers_flags_do_not_reach_the_compiler():
    group = versions.load().group_of("etcd")
    got = plan.environment(group, {"PATH": "/bin", "GOFLAGS": "-race", "GOARCH": "arm64", "HOME": "/root"})
    assert got["GOFLAGS"] == "-buildvcs=false"
    assert "GOARCH" not in got
    assert got["CGO_ENABLED"] == "0"
    assert got["HOME"] == "/root"


def test_the_build_line_is_stripped_and_without_paths_of_this_machine():
    group = versions.load().group_of("gitea")
    line = plan.command(group, ".", Path("/out"))
    assert line[:3] == ["go", "build", "-trimpath"]
    assert line[line.index("-ldflags") + 1] == "-s -w -X main.Version=1.26.0"


@pytest.mark.parametrize(
    ("found", "enough"), [("go1.26.8", True), ("go1.26", True), ("go1.27.1", True), ("go1.25.9", False)]
)
def test_the_compiler_is_new_enough(found, enough):
    assert plan.new_enough(found, "1.26") is enough
