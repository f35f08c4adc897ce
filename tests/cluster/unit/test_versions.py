"""versions.toml and the cache keys."""

from dataclasses import replace

import pytest
from testcluster import build, versions

VERSIONS = versions.load()


def test_each_group_has_its_lock_or_its_checksum():
    for group in VERSIONS.groups:
        lock = build.MODULES / group.name / "go.sum"
        assert bool(group.sum) != lock.exists(), group.name


def test_locks_have_the_versions_of_the_file():
    for group in VERSIONS.groups:
        lock = build.MODULES / group.name / "go.mod"
        if lock.exists():
            assert f"{group.module} {group.version}" in lock.read_text(), group.name


def test_a_program_is_found_by_any_of_its_names():
    assert VERSIONS.group_of("kubelet").name == "kubernetes"
    assert VERSIONS.group_of("argoexec").name == "argo"
    with pytest.raises(KeyError):
        VERSIONS.group_of("docker")


def test_a_key_changes_with_what_changes_the_program_only():
    group = VERSIONS.groups[0]
    key = versions.key(group, b"lock", "1.26")
    assert versions.key(replace(group, seconds=1), b"lock", "1.26") == key
    changed = [replace(group, version="v0"), replace(group, ldflags="-X a=b"), replace(group, cgo=not group.cgo)]
    others = [versions.key(other, b"lock", "1.26") for other in changed]
    others += [versions.key(group, b"other", "1.26"), versions.key(group, b"lock", "1.27")]
    assert len({key, *others}) == 6


def test_an_unknown_field_is_refused():
    text = versions.FILE.read_text().replace("seconds = 400", "secnods = 400", 1)
    with pytest.raises(TypeError, match="secnods"):
        versions.parse(text)
