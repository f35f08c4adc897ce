"""What a started cluster is filled with, and its description."""

import json
from collections.abc import Callable
from typing import Any

from testcluster import build, forge, gpus, host, images, kube, registry, store
from testcluster import layout as at
from testcluster.layout import NODES, Layout
from testcluster.part import Program
from testcluster.versions import Versions


def fill(layout: Layout, versions: Versions, program: Program, bare: bool, say: Callable[[str], None]) -> str:
    """Images, Argo's CRDs, GPUs, a token and a bucket; the answer is the text of cluster.json."""
    token, keys = forge.credentials(layout, program("gitea")), store.keys(layout)
    store.make_bucket(program("weed"))
    gpus.simulate(layout)
    references: dict[str, str] = {}
    if not bare:
        kube.kubectl(layout, "apply", "--server-side", "-k", str(crds(program)), seconds=180)
        say("Argo's CRDs applied")
        references = images.push(images.make(versions, build.tools_folder(), program))
        say("images pushed")
        preload(layout, references)
        say("images on every node")
    return json.dumps(description(layout, str(token), str(keys), references, program), indent=2) + "\n"


def preload(layout: Layout, references: dict[str, str]) -> None:
    """Have each node unpack the large images before a test waits for it; what a node has takes no time."""
    for node in NODES:
        for name in ("runtime-cpu", "steps"):
            line = ["ctr", "--address", str(layout.containerd(node)), "--namespace", "k8s.io", "images", "pull"]
            host.run(*line, "--hosts-dir", str(layout.file("certs.d")), references[name])


def crds(program: Program) -> Any:
    """The folder with Argo's full CRDs."""
    return program("argo").parents[1] / "share/manifests/base/crds/full"


def description(layout: Layout, token: str, keys: str, references: dict[str, str], program: Program) -> dict[str, Any]:
    """The addresses and files by which others use the cluster."""
    return {
        "kubeconfig": str(layout.kubeconfig),
        "kubectl": str(program("kubectl")),
        "apiserver": f"https://{at.NODE_IP}:{at.API}",
        "node_ip": at.NODE_IP,
        "pod_range": at.POD_RANGE,
        "service_range": at.SERVICE_RANGE,
        "dns": f"{at.NODE_IP}:{at.DNS}",
        "nodes": [{"name": node.name, "gpu": node.gpu, "gpus": node.gpus} for node in NODES],
        "registry": registry.HOST,
        "forge": {"kind": "gitea", "url": forge.URL, "admin": forge.ADMIN, "token_file": token},
        "s3": {"endpoint": store.URL, "bucket": store.BUCKET, "keys_file": keys},
        "images": references,
        "argo": {"cli": str(program("argo")), "crds": str(crds(program))},
    }
