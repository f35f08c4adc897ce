"""Write every part's configuration file."""

import json

from testcluster import configs, forge, pki, registry, store
from testcluster.files import write
from testcluster.layout import NODES, Layout
from testcluster.part import Program


def write_all(layout: Layout, program: Program) -> None:
    """All files that `parts` names; what has not changed is left alone."""
    for user in (*pki.USERS, *(node.name for node in NODES)):
        write(layout.config(user), configs.kubeconfig(layout, user))
    for node in NODES:
        write(layout.file(f"{node.name}-containerd.toml"), configs.containerd(layout, node))
        write(layout.file(f"{node.name}-kubelet.yaml"), configs.kubelet(layout, node))
    write(layout.file("cni", "10-gpulab.conflist"), configs.cni(layout))
    write(layout.file("certs.d", registry.HOST, "hosts.toml"), configs.registry_hosts())
    write(layout.file("kube-proxy.yaml"), configs.kube_proxy(layout, NODES[0]))
    write(layout.file("Corefile"), configs.coredns(layout))
    write(layout.file("registry.yaml"), configs.docker_registry(layout))
    write(layout.file("s3.json"), store.config(json.loads(store.keys(layout).read_text())))
    share = program("gitea").parents[1] / "share"
    write(layout.file("gitea.ini"), forge.config(layout, share, forge.fresh_secret(layout)))
    for folder in ("etcd", "registry", "gitea", "seaweedfs", "containerd", "kubelet"):
        (layout.data / folder).mkdir(parents=True, exist_ok=True)
    (layout.run / "containerd").mkdir(parents=True, exist_ok=True)
