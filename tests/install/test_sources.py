"""The files of `gitops/` themselves, and the vendored definitions of Argo's kinds."""

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml

from .conftest import GITOPS, ROOT

FILES = sorted(file for file in GITOPS.rglob("*.yaml") if file.name != "kustomization.yaml")
CRDS = sorted((GITOPS / "crds").glob("*.json"))
ALLOWED_EVERYWHERE = {
    "pods": "the controller makes, stops and deletes the pods of workflows",
    "events": "both say there what went wrong",
}
"""What a ClusterRole of ours may write besides Argo's own kinds, and why."""


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(GITOPS)))
def test_a_file_is_one_resource(file: Path) -> None:
    assert len([one for one in yaml.safe_load_all(file.read_text(encoding="utf-8")) if one]) == 1


@pytest.mark.parametrize("folder", sorted({file.parent for file in FILES}), ids=lambda folder: folder.name)
def test_no_file_is_forgotten(folder: Path) -> None:
    listed = next(
        file for file in (folder / "kustomization.yaml", folder.parent / "kustomization.yaml") if file.exists()
    )
    text = listed.read_text(encoding="utf-8")
    assert [file.name for file in folder.glob("*.yaml") if file.name not in text and file != listed] == []


def rules(*kinds: str) -> list[tuple[str, dict[str, list[str]]]]:
    """The rules of all roles, each with the role's name."""
    found = [yaml.safe_load(file.read_text(encoding="utf-8")) for file in FILES]
    roles = [one for one in found if isinstance(one, dict) and one.get("kind") in (kinds or ("ClusterRole", "Role"))]
    return [(role["metadata"]["name"], rule) for role in roles for rule in role["rules"]]


def test_no_rule_has_a_wildcard() -> None:
    assert len(rules()) > 10
    assert [(name, rule) for name, rule in rules() if any("*" in one for one in rule.values())] == []


def test_nothing_but_pods_and_argos_kinds_is_written_in_the_whole_cluster() -> None:
    writes = {"create", "update", "patch", "delete", "deletecollection"}
    for name, rule in rules("ClusterRole"):
        if rule["apiGroups"] != ["argoproj.io"] and writes & set(rule["verbs"]):
            assert {one.split("/")[0] for one in rule["resources"]} <= ALLOWED_EVERYWHERE.keys(), name


def test_secrets_are_read_where_a_role_is_bound_and_nowhere_else() -> None:
    readers = {name for name, rule in rules() if "secrets" in rule["resources"]}
    assert readers == {"argo-server", "gpulab-argo-server-tenant"}
    bound = [file for file in FILES if "gpulab-argo-server-tenant" in file.read_text(encoding="utf-8")]
    assert [file.name for file in bound] == ["argo-server-clusterrole.yaml"]


@pytest.mark.parametrize("file", CRDS, ids=lambda file: file.stem)
def test_a_definition_is_complete_and_small_enough_for_etcd(file: Path) -> None:
    text = file.read_text(encoding="utf-8")
    document = json.loads(text)
    assert len(text) < 1_000_000
    assert document["kind"] == "CustomResourceDefinition"
    schema = document["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    spec = schema["properties"].get("spec", {})
    assert "x-kubernetes-preserve-unknown-fields" not in spec


def test_argos_rules_are_in_the_definitions() -> None:
    text = (GITOPS / "crds" / "clusterworkflowtemplates.json").read_text(encoding="utf-8")
    assert text.count("x-kubernetes-validations") > 10


def test_the_definitions_are_those_of_the_pinned_module() -> None:
    """Only where the module is in Go's cache: this test downloads nothing."""
    source = tomllib.loads((GITOPS / "crds" / "source.toml").read_text(encoding="utf-8"))
    cached = Path.home() / "go/pkg/mod/cache/download" / source["module"] / "@v" / f"{source['version']}.zip"
    if not cached.is_file():
        pytest.skip("the module is not in Go's cache")
    done = subprocess.run([sys.executable, GITOPS / "tools" / "crds.py", "--check"], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


def test_no_image_of_the_sources_is_called_latest() -> None:
    for file in (*FILES, *GITOPS.rglob("*.env"), *GITOPS.rglob("kustomization.yaml")):
        assert not re.search(r":latest\b", file.read_text(encoding="utf-8")), file


def test_the_chart_of_the_repository_names_every_overlay() -> None:
    readme = (GITOPS / "README.md").read_text(encoding="utf-8")
    assert [one.name for one in (GITOPS / "overlays").iterdir() if f"overlays/{one.name}" not in readme] == []
    assert ROOT.joinpath("docs/install.md").is_file()
