"""Configuration files of the parts: pure, data in, text out."""

import json

import yaml

from testcluster.layout import (
    API_SERVICE,
    BRIDGE,
    CGROUP,
    DNS,
    FIRST_POD,
    NODE_IP,
    POD_RANGE,
    REGISTRY,
    Layout,
    Node,
)

PAUSE = f"{NODE_IP}:{REGISTRY}/gpulab/pause:1"


def containerd(layout: Layout, node: Node) -> str:
    """A node's containerd (configuration version 2, which 1.6 and 1.7 read)."""
    return f"""\
version = 2
root = "{layout.data}/containerd/{node.name}"
state = "{layout.run}/containerd/{node.name}"
disabled_plugins = ["io.containerd.snapshotter.v1.aufs", "io.containerd.snapshotter.v1.zfs",
  "io.containerd.snapshotter.v1.btrfs", "io.containerd.snapshotter.v1.devmapper", "io.containerd.internal.v1.opt"]
[grpc]
  address = "{layout.containerd(node)}"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "{PAUSE}"
  # without CAP_SYS_RESOURCE, as on most nested hosts, runc may not lower a score
  restrict_oom_score_adj = true
  netns_mounts_under_state_dir = true
  [plugins."io.containerd.grpc.v1.cri".containerd]
    snapshotter = "overlayfs"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
      runtime_type = "io.containerd.runc.v2"
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "/usr/lib/cni"
    conf_dir = "{layout.file("cni")}"
  [plugins."io.containerd.grpc.v1.cri".registry]
    config_path = "{layout.file("certs.d")}"
"""


def registry_hosts() -> str:
    """Tells containerd that the local registry speaks plain HTTP."""
    return f'[host."http://{NODE_IP}:{REGISTRY}"]\ncapabilities = ["pull", "resolve"]\n'


def cni(layout: Layout) -> str:
    """The pods' network: one bridge; masquerading is one nftables rule of ours, so pods leave no chains behind."""
    ranges = [[{"subnet": POD_RANGE, "rangeStart": FIRST_POD, "gateway": NODE_IP}]]
    ipam = {
        "type": "host-local",
        "ranges": ranges,
        "routes": [{"dst": "0.0.0.0/0"}],
        "dataDir": str(layout.run / "cni-addresses"),
    }
    bridge = {"type": "bridge", "bridge": BRIDGE, "isGateway": True, "hairpinMode": True, "ipam": ipam}
    plugins = [bridge, {"type": "loopback"}]
    return json.dumps({"cniVersion": "0.4.0", "name": "gpulab", "plugins": plugins}, indent=1)


def kubelet(layout: Layout, node: Node) -> str:
    """A node's kubelet; it keeps to its own control group, since another's pods would look like orphans."""
    return yaml.safe_dump(
        {
            "apiVersion": "kubelet.config.k8s.io/v1beta1",
            "kind": "KubeletConfiguration",
            "address": NODE_IP,
            "port": node.port,
            "healthzPort": node.health,
            "authentication": {
                "anonymous": {"enabled": False},
                "webhook": {"enabled": True},
                "x509": {"clientCAFile": str(layout.pki("ca.crt"))},
            },
            "authorization": {"mode": "Webhook"},
            "cgroupDriver": "cgroupfs",
            "cgroupRoot": f"/{CGROUP}/{node.name}",
            "failCgroupV1": False,
            "clusterDNS": [NODE_IP],
            "clusterDomain": "cluster.local",
            "containerRuntimeEndpoint": f"unix://{layout.containerd(node)}",
            "enforceNodeAllocatable": ["pods"],
            "evictionHard": {"memory.available": "200Mi", "nodefs.available": "1%", "imagefs.available": "1%"},
            "failSwapOn": False,
            "imageGCHighThresholdPercent": 100,
            "makeIPTablesUtilChains": False,
            "podLogsDir": str(layout.data / "kubelet" / f"{node.name}-logs"),
            "registerWithTaints": _taints(node),
            "serializeImagePulls": False,
            "tlsCertFile": str(layout.pki("kubelet.crt")),
            "tlsPrivateKeyFile": str(layout.pki("kubelet.key")),
        }
    )


def kube_proxy(layout: Layout, node: Node) -> str:
    """Services as nftables rules, for the whole machine."""
    return yaml.safe_dump(
        {
            "apiVersion": "kubeproxy.config.k8s.io/v1alpha1",
            "kind": "KubeProxyConfiguration",
            "mode": "nftables",
            "clientConnection": {"kubeconfig": str(layout.config("kube-proxy"))},
            "clusterCIDR": POD_RANGE,
            "hostnameOverride": node.name,
            "conntrack": {"maxPerCore": 0},
            "healthzBindAddress": "127.0.0.1:10256",
            "metricsBindAddress": "127.0.0.1:10249",
        }
    )


def coredns(layout: Layout) -> str:
    """Names of services, and everything else from where this machine asks."""
    return f"""\
.:{DNS} {{
    bind {NODE_IP}
    errors
    ready 127.0.0.1:8181
    kubernetes cluster.local in-addr.arpa {{
        kubeconfig {layout.config("coredns")}
        pods insecure
    }}
    forward . /etc/resolv.conf
    cache 10
}}
"""


def kubeconfig(layout: Layout, user: str) -> str:
    """Access as `user`, whose certificate has the same name; everything is in the one file."""
    cluster = {"server": f"https://{NODE_IP}:6443", "certificate-authority": str(layout.pki("ca.crt"))}
    keys = {"client-certificate": str(layout.pki(f"{user}.crt")), "client-key": str(layout.pki(f"{user}.key"))}
    return yaml.safe_dump(
        {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "gpulab", "cluster": cluster}],
            "users": [{"name": user, "user": keys}],
            "contexts": [{"name": "gpulab", "context": {"cluster": "gpulab", "user": user}}],
            "current-context": "gpulab",
        }
    )


def docker_registry(layout: Layout) -> str:
    """The image registry, plain HTTP, on the bridge's address only."""
    return yaml.safe_dump(
        {
            "version": "0.1",
            "log": {"accesslog": {"disabled": True}, "level": "warn"},
            "storage": {"filesystem": {"rootdirectory": str(layout.data / "registry")}, "delete": {"enabled": True}},
            "http": {"addr": f"{NODE_IP}:{REGISTRY}"},
        }
    )


def _taints(node: Node) -> list[dict[str, str]]:
    return [{"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"}] if node.gpus else []


SUBJECT_NAMES = f"IP:{NODE_IP},IP:{API_SERVICE},IP:127.0.0.1,DNS:localhost," + ",".join(
    f"DNS:kubernetes{rest}" for rest in ("", ".default", ".default.svc", ".default.svc.cluster.local")
)
