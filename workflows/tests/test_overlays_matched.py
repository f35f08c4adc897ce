"""Kustomize says nothing when an `images:` entry or a patch changes nothing; these tests hold us against kustomize."""

import shutil
from pathlib import Path

import pytest
from gpulab.rendering import kustomize
from gpulab.rendering.documents import read_documents
from gpulab.rendering.matched import images_and_patches_matched
from gpulab.rendering.read_kustomizations import read_build

PROJECT = Path(__file__).parent / "resources/projects/valid"
TEACHING = "gitops/overlays/teaching"
BASE = "resources: [../../base]\n"


@pytest.fixture
def lab(tmp_path: Path) -> Path:
    return Path(shutil.copytree(PROJECT, tmp_path / "lab"))


def write(lab: Path, path: str, text: str) -> None:
    (lab / path).parent.mkdir(parents=True, exist_ok=True)
    (lab / path).write_text(text, encoding="utf-8")


def rendered(lab: Path) -> str:
    return kustomize.build(lab / TEACHING, TEACHING)


def unmatched(lab: Path) -> list[str]:
    reading = read_build(lab, lab / TEACHING)
    assert reading.build is not None
    assert not reading.problems
    return list(map(str, images_and_patches_matched(reading.build, read_documents(rendered(lab)))))


def patch(target: str, change: str = "- {op: replace, path: /metadata/annotations, value: {a: b}}") -> str:
    return f"{BASE}patches: [{{target: {target}, patch: '{change}'}}]\n"


def strategic(change: str) -> str:
    return f'{BASE}patches: [{{patch: "apiVersion: v1\\nkind: Service\\n{change}"}}]\n'


# an overlay's kustomization in which everything changes something
MATCHING = {
    "nothing to match": BASE,
    "the image": f"{BASE}images: [{{name: gpulab.local/gpu-lab-1, newTag: v1}}]\n",
    "a kind": patch("{kind: Deployment}"),
    "a pattern of names": patch("{kind: Service, name: gpu-.*}"),
    "a name that a generator gave": patch("{kind: ConfigMap, name: settings}"),
    "group and version": patch("{group: apps, version: v1, kind: Deployment}"),
    "the empty group": patch("{version: v1, kind: Service}"),
    "any name": patch("{name: gpu-lab-1}"),
    "a name with a prefix, before it gets it": f"namePrefix: x-\n{patch('{kind: Service, name: gpu-lab-1}')}",
    "a document of its own": strategic("metadata: {name: gpu-lab-1, labels: {a: b}}"),
    "a deleted resource": strategic("metadata: {name: gpu-lab-1}\\n$patch: delete"),
    "an image that a patch brings": (
        f"{BASE}patches: [{{target: {{kind: Deployment}}, patch: '- "
        "{op: add, path: /spec/template/spec/containers/-, value: {name: b, image: side:1}}'}]\n"
        "images: [{name: side, newTag: '2'}]\n"
    ),
    "an image that a patch replaces": (
        f"{BASE}patches: [{{target: {{kind: Deployment}}, patch: '- "
        "{op: replace, path: /spec/template/spec/containers/0/image, value: other:1}'}]\n"
        "images: [{name: other, newTag: '2'}]\n"
    ),
}

# an overlay's kustomization in which something changes nothing -> the line
SILENT = {
    "a mistyped image": (
        f"{BASE}images: [{{name: gpulab.local/gpu-lab, newTag: v1}}]\n",
        f'{TEACHING}/kustomization.yaml: images: found "gpulab.local/gpu-lab", but no manifest uses that image, only '
        'gpulab.local/gpu-lab-1; did you mean "gpulab.local/gpu-lab-1"? Type: name: gpulab.local/gpu-lab-1',
    ),
    "an image with its tag": (
        f"{BASE}images: [{{name: 'gpulab.local/gpu-lab-1:v1', newTag: v2}}]\n",
        f'{TEACHING}/kustomization.yaml: images: found "gpulab.local/gpu-lab-1:v1", but no manifest uses that image, '
        'only gpulab.local/gpu-lab-1; did you mean "gpulab.local/gpu-lab-1"? Type: name: gpulab.local/gpu-lab-1',
    ),
    "a kind that is not there": (
        patch("{kind: StatefulSet}"),
        f'{TEACHING}/kustomization.yaml: patches: the target {{"kind": "StatefulSet"}} selects nothing, there are ',
    ),
    "half a name": (patch("{kind: Service, name: gpu-lab}"), f"{TEACHING}/kustomization.yaml: patches: the target "),
    "another group": (patch("{group: batch, kind: Deployment}"), f"{TEACHING}/kustomization.yaml: patches: "),
    "another version": (patch("{version: v2, kind: Service}"), f"{TEACHING}/kustomization.yaml: patches: "),
    "a label that nothing has": (
        patch('{labelSelector: "app=other"}'),
        f"{TEACHING}/kustomization.yaml: patches: the target ",
    ),
}


@pytest.mark.parametrize("case", MATCHING)
def test_what_changes_something_is_no_finding(lab: Path, case: str) -> None:
    write(lab, f"{TEACHING}/kustomization.yaml", MATCHING[case])
    assert unmatched(lab) == []


@pytest.mark.parametrize("case", [case for case in MATCHING if case != "nothing to match"])
def test_what_we_call_a_change_changes_what_kustomize_renders(lab: Path, case: str) -> None:
    """The other direction: each of the cases above is really one in which kustomize did something."""
    write(lab, f"{TEACHING}/kustomization.yaml", BASE)
    before = rendered(lab)
    write(lab, f"{TEACHING}/kustomization.yaml", MATCHING[case])
    assert rendered(lab) != before


@pytest.mark.parametrize("case", SILENT)
def test_what_changes_nothing_is_found_although_kustomize_says_nothing(lab: Path, case: str) -> None:
    write(lab, f"{TEACHING}/kustomization.yaml", BASE)
    before = rendered(lab)
    text, line = SILENT[case]
    write(lab, f"{TEACHING}/kustomization.yaml", text)
    assert rendered(lab) == before
    (found,) = unmatched(lab)
    assert found.startswith(line)


def test_entries_deep_in_a_build_are_looked_at(lab: Path) -> None:
    path = "gitops/base/kustomization.yaml"
    write(lab, path, (lab / path).read_text() + "images: [{name: nothing, newTag: v1}]\n")
    (line,) = unmatched(lab)
    assert line.startswith("gitops/base/kustomization.yaml: images: ")


def test_a_component_changes_what_the_overlay_gives_it(lab: Path) -> None:
    component = "kind: Component\nimages: [{name: gpulab.local/gpu-lab-1, newTag: v3}]\n"
    write(lab, "gitops/more/kustomization.yaml", component + "patches: [{target: {kind: Service}, path: p.yaml}]\n")
    write(lab, "gitops/more/p.yaml", "- op: add\n  path: /metadata/labels\n  value: {a: b}\n")
    write(lab, f"{TEACHING}/kustomization.yaml", f"{BASE}components: [../../more]\n")
    assert unmatched(lab) == []
    assert "gpu-lab-1:v3" in rendered(lab)


def test_a_renamed_image_is_known_by_its_new_name_only(lab: Path) -> None:
    path = "gitops/base/kustomization.yaml"
    write(lab, path, (lab / path).read_text() + "images: [{name: gpulab.local/gpu-lab-1, newName: mirror.local/lab}]\n")
    write(lab, f"{TEACHING}/kustomization.yaml", f"{BASE}images: [{{name: gpulab.local/gpu-lab-1, newTag: v1}}]\n")
    (line,) = unmatched(lab)
    assert "only mirror.local/lab" in line
    write(lab, f"{TEACHING}/kustomization.yaml", f"{BASE}images: [{{name: mirror.local/lab, newTag: v1}}]\n")
    assert unmatched(lab) == []
    assert "mirror.local/lab:v1" in rendered(lab)
