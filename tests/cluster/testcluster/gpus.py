"""Nodes that say they have GPUs, as the device plugin and GPU feature discovery would have them say."""

import json
from typing import Any

from testcluster import kube
from testcluster.layout import NODES, Layout, Node

FACTS = {  # memory (MiB) and compute capability as the labels have them
    "Tesla-T4": ("15360", "7", "5"),
    "Tesla-V100-SXM2-16GB": ("16384", "7", "0"),
}
DRIVER = "580"


def labels(node: Node) -> dict[str, str]:
    """Labels of GPU feature discovery."""
    memory, major, minor = FACTS[node.gpu]
    found = {
        "present": "true",
        "product": node.gpu,
        "count": str(node.gpus),
        "memory": memory,
        "compute.major": major,
        "compute.minor": minor,
    }
    driver = {"nvidia.com/cuda.driver-version.major": DRIVER, "nvidia.com/cuda.driver.major": DRIVER}
    return {**{f"nvidia.com/gpu.{name}": value for name, value in found.items()}, **driver}


def capacity(node: Node) -> list[dict[str, Any]]:
    """A JSON patch of the node's status; it holds until the kubelet registers again."""
    places = ("/status/capacity", "/status/allocatable")
    return [{"op": "add", "path": f"{place}/nvidia.com~1gpu", "value": str(node.gpus)} for place in places]


def simulate(layout: Layout) -> None:
    """Label the GPU nodes and give them capacity."""
    for node in NODES:
        if node.gpus:
            patch = json.dumps({"metadata": {"labels": labels(node)}})
            kube.kubectl(layout, "patch", "node", node.name, "--type=merge", "-p", patch)
            status = json.dumps(capacity(node))
            kube.kubectl(layout, "patch", "node", node.name, "--subresource=status", "--type=json", "-p", status)
