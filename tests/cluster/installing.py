"""The overlay of the test cluster, as a user writes one, and the two commands of docs/install.md."""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
NAMES = {
    "gpulab.local/steps": "steps",
    "gpulab.local/buildkit": "buildkit",
    "quay.io/argoproj/workflow-controller": "workflow-controller",
    "quay.io/argoproj/argocli": "argo",
    "quay.io/argoproj/argoexec": "argoexec",
}
"""Image of the installation → image of cluster.json."""

NODE_PORT = 32746  # overlays/local


def settings(cluster: dict[str, Any]) -> dict[str, str]:
    """`platform.env`."""
    forge, argo = cluster["forge"]["url"].rstrip("/"), f"http://{cluster['node_ip']}:{NODE_PORT}"
    return {
        "GPULAB_FORGE_KIND": "gitea",
        "GPULAB_FORGE_API": f"{forge}/api/v1",
        "GPULAB_FORGE_URL": forge,
        "GPULAB_REGISTRY": cluster["registry"],
        "GPULAB_S3_ENDPOINT": cluster["s3"]["endpoint"].partition("//")[2] or cluster["s3"]["endpoint"],
        "GPULAB_S3_BUCKET": cluster["s3"]["bucket"],
        "GPULAB_ARGO_URL": argo,
        "GPULAB_WEBHOOK_URL": argo,
        "GPULAB_LANE_CPU": cluster["images"]["runtime-cpu"],
    }


def write_overlay(
    folder: Path, cluster: dict[str, Any], overlay: str = "local", components: tuple[str, ...] = ()
) -> Path:
    """A kustomization on top of one of ours."""
    gitops = Path(os.path.relpath(ROOT / "gitops", folder.resolve()))
    images = []
    for name, short in NAMES.items():
        repository, _, digest = cluster["images"][short].partition("@")
        images.append({"name": name, "newName": repository, "digest": digest})
    generator = {
        "name": "gpulab-platform",
        "namespace": "gpulab",
        "behavior": "merge",
        "envs": ["platform.env"],
        "options": {"disableNameSuffixHash": True},
    }
    kustomization = {
        "apiVersion": "kustomize.config.k8s.io/v1beta1",
        "kind": "Kustomization",
        "resources": [str(gitops / "overlays" / overlay)],
        "components": [str(gitops / "components" / one) for one in components],
        "images": images,
        "configMapGenerator": [generator],
    }
    lines = "".join(f"{key}={value}\n" for key, value in settings(cluster).items())
    (folder / "platform.env").write_text(lines, encoding="utf-8")
    (folder / "kustomization.yaml").write_text(json.dumps(kustomization, indent=2), encoding="utf-8")
    return folder


def install(cluster: dict[str, Any], overlay: Path) -> None:
    """Definitions, then the overlay; returns when controller and server are ready."""
    for folder in (ROOT / "gitops" / "crds", overlay):
        kubectl(cluster, "apply", "--server-side", "--force-conflicts", "-k", str(folder))
    for name in ("workflow-controller", "argo-server"):
        kubectl(cluster, "-n", "argo", "rollout", "status", f"deployment/{name}", "--timeout=180s")


def kubectl(cluster: dict[str, Any], *words: str, text: str | None = None) -> str:
    """What kubectl prints."""
    line = [cluster["kubectl"], f"--kubeconfig={cluster['kubeconfig']}", *words]
    done = subprocess.run(line, input=text, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{' '.join(words)}: {done.stderr}"
    return done.stdout
