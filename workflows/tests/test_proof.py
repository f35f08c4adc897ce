"""A deploy branch proves nothing by itself: each forgery of one is found, with real git and real kustomize."""

import dataclasses
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from gpulab.forges.local import LocalForge
from gpulab.rendering.overlays import render_overlay
from gpulab.steps.proof import prove
from gpulab.steps.release_commit import commit_release
from gpulab.steps.release_file import MANIFESTS, RELEASE, Release

SLUG = "gpu-lab-1"
IMAGE = "gpulab.local/gpu-lab-1"
Files = dict[str, bytes]


def record_of(release: Release) -> dict[str, Any]:
    return {
        "schema": "gpulab/results/v1",
        "verdict": "PASS",
        "revision": release.source,
        "project": {"slug": release.project},
        "image": {"digest": release.digest, "repository": release.repository},
    }


def test_a_release_that_was_proven_has_no_problems(forge: LocalForge, release: Release) -> None:
    commit = commit_release(forge, release, "deploy/teaching", None, "release")
    proven = prove(forge, commit, SLUG, "teaching", record_of(release))
    assert proven.problems == []
    assert {document["kind"] for document in proven.documents} >= {"Deployment", "Service"}


def another_image(files: Files) -> Files:
    return files | {MANIFESTS: re.sub(rb"@sha256:\w+", b"@sha256:" + b"b" * 64, files[MANIFESTS])}


def more_replicas(files: Files) -> Files:
    return files | {MANIFESTS: files[MANIFESTS].replace(b"replicas: 1", b"replicas: 9")}


def a_secret(files: Files) -> Files:
    secret = b"\n---\napiVersion: v1\nkind: Secret\nmetadata: {name: a, namespace: gpu-lab-1-teaching}\n"
    return files | {MANIFESTS: files[MANIFESTS] + secret}


def another_file(files: Files) -> Files:
    return files | {"README.md": b"hello"}


def no_manifests(files: Files) -> Files:
    return {RELEASE: files[RELEASE]}


def not_yaml(files: Files) -> Files:
    return files | {MANIFESTS: b"a: [\n"}


FORGERIES = [another_image, more_replicas, a_secret, another_file, no_manifests, not_yaml]


@pytest.mark.parametrize("forge_it", FORGERIES, ids=lambda one: one.__name__)
def test_a_forged_branch_is_refused(
    forge: LocalForge, release: Release, tmp_path: Path, forge_it: Callable[[Files], Files]
) -> None:
    source = tmp_path / "source"
    forge.checkout(release.source, source)
    manifests = render_overlay(source, "teaching", IMAGE, release.digest).encode()
    files = forge_it({MANIFESTS: manifests, RELEASE: release.to_json()})
    assert files != {MANIFESTS: manifests, RELEASE: release.to_json()}
    commit = forge.commit("deploy/teaching", files, "forged", None)
    assert prove(forge, commit, SLUG, "teaching", record_of(release)).problems


def test_a_release_of_another_source_is_refused(forge: LocalForge, release: Release) -> None:
    commit = commit_release(forge, release, "deploy/teaching", None, "release")
    other = dataclasses.replace(release, source="f" * 40)
    assert prove(forge, commit, SLUG, "teaching", record_of(other)).problems


def test_teachings_release_is_not_productions(forge: LocalForge, release: Release) -> None:
    commit = commit_release(forge, release, "deploy/production", None, "release")
    assert prove(forge, commit, SLUG, "production", record_of(release)).problems


def test_without_a_record_nothing_is_proven(forge: LocalForge, release: Release) -> None:
    commit = commit_release(forge, release, "deploy/teaching", None, "release")
    assert "no record" in prove(forge, commit, SLUG, "teaching", None).problems[0]


@pytest.mark.parametrize(
    "changes", [{"image": "text"}, {"image": ["x"]}, {"project": "lab"}, {"project": 7}, {"verdict": ["PASS"]}]
)
def test_a_record_of_another_form_proves_nothing_and_is_no_traceback(
    forge: LocalForge, release: Release, changes: dict[str, Any]
) -> None:
    commit = commit_release(forge, release, "deploy/teaching", None, "release")
    assert prove(forge, commit, SLUG, "teaching", record_of(release) | changes).problems


@pytest.mark.parametrize("record", [[], "text", 7, True])
def test_a_record_that_is_no_object_proves_nothing(forge: LocalForge, release: Release, record: Any) -> None:
    commit = commit_release(forge, release, "deploy/teaching", None, "release")
    assert prove(forge, commit, SLUG, "teaching", record).problems
