"""Where the cluster's files and addresses are."""

from dataclasses import dataclass
from pathlib import Path

BRIDGE = "gpulab0"
NODE_IP = "10.88.0.1"  # the bridge's own address: host and pods reach everything there
POD_RANGE = "10.88.0.0/16"
FIRST_POD = "10.88.1.0"
SERVICE_RANGE = "10.96.0.0/16"
API_SERVICE = "10.96.0.1"  # the service range's first address, which the apiserver gives to itself
CGROUP = "gpulab-cluster"
NFT_TABLE = "gpulab_cluster"
MARK = "GPULAB_CLUSTER"  # environment variable by which our processes know, and show, whose they are

API, REGISTRY, FORGE, S3, DNS = 6443, 5000, 3000, 8333, 53
ETCD, ETCD_PEER, ROUTER_HEALTH = 2379, 2380, 20244


@dataclass(frozen=True)
class Node:
    """One kubelet with its own containerd; all share the machine and its address, so ports differ."""

    name: str
    port: int
    health: int
    gpu: str = ""  # the product as GPU feature discovery labels it
    gpus: int = 0


NODES = (
    Node("node-cpu", 10250, 10248),
    Node("node-t4", 10251, 10247, "Tesla-T4", 2),
    Node("node-v100", 10252, 10246, "Tesla-V100-SXM2-16GB", 2),
)


@dataclass(frozen=True)
class Layout:
    """`run` has sockets, keys, logs and records; `data` what is large: images, etcd, repositories."""

    run: Path
    data: Path

    @classmethod
    def at(cls, run: Path) -> "Layout":
        """Data of a state folder below /run (which is memory) goes to /var/lib, of any other one inside it."""
        below_run = run.parts[:2] == ("/", "run")
        return cls(run, Path("/var/lib") / run.name if below_run else run / "data")

    @property
    def description(self) -> Path:
        """What others read: addresses, files, image digests."""
        return self.run / "cluster.json"

    @property
    def kubeconfig(self) -> Path:
        """The administrator's."""
        return self.config("admin")

    @property
    def records(self) -> Path:
        """One file for each process that was started."""
        return self.run / "processes"

    def config(self, user: str) -> Path:
        """The kubeconfig of one part."""
        return self.run / "kubeconfig" / f"{user}.yaml"

    def pki(self, name: str) -> Path:
        """A key or certificate."""
        return self.run / "pki" / name

    def log(self, part: str) -> Path:
        """What a part printed."""
        return self.run / "logs" / f"{part}.log"

    def file(self, *names: str) -> Path:
        """A configuration file."""
        return self.run.joinpath("config", *names)

    def containerd(self, node: Node) -> Path:
        """A node's containerd socket."""
        return self.run / "containerd" / f"{node.name}.sock"
