"""The cluster's processes: what each is started with and how one sees that it is ready. Pure."""

from testcluster import control_plane
from testcluster import layout as at
from testcluster.layout import NODE_IP, NODES, Layout, Node
from testcluster.part import Part, Program, Ready


def node_parts(layout: Layout, program: Program, node: Node) -> list[Part]:
    """A node: its containerd and its kubelet."""
    config = layout.file(f"{node.name}-containerd.toml")
    runtime = ["/usr/bin/containerd", "--config", str(config)]
    kubelet_config = layout.file(f"{node.name}-kubelet.yaml")
    kubelet = [
        str(program("kubelet")),
        f"--config={kubelet_config}",
        f"--kubeconfig={layout.config(node.name)}",
        f"--hostname-override={node.name}",
        f"--node-ip={NODE_IP}",
        f"--root-dir={layout.data}/kubelet/{node.name}",
        f"--cert-dir={layout.run}/kubelet/{node.name}",
    ]
    return [
        Part(f"containerd-{node.name}", runtime, Ready("socket", str(layout.containerd(node))), (config,)),
        Part(f"kubelet-{node.name}", kubelet, Ready("node", node.name), (kubelet_config,)),
    ]


def network_parts(layout: Layout, program: Program) -> list[Part]:
    """Services, names and policies. One of each serves all nodes, which share the machine and its address."""
    proxy, names = layout.file("kube-proxy.yaml"), layout.file("Corefile")
    router = [
        str(program("kube-router")),
        "--run-firewall=true",
        "--run-router=false",
        "--run-service-proxy=false",
        f"--kubeconfig={layout.config('kube-router')}",
        f"--hostname-override={NODES[0].name}",
        f"--service-cluster-ip-range={at.SERVICE_RANGE}",
        f"--health-port={at.ROUTER_HEALTH}",
        "--metrics-port=0",
    ]
    names_line = [str(program("coredns")), f"-conf={names}"]
    here = {"NODE_NAME": NODES[0].name}
    return [
        Part(
            "kube-proxy",
            [str(program("kube-proxy")), f"--config={proxy}"],
            Ready("url", "http://127.0.0.1:10256/healthz"),
            (proxy,),
        ),
        Part("coredns", names_line, Ready("url", "http://127.0.0.1:8181/ready"), (names,)),
        Part("kube-router", router, Ready("url", f"http://127.0.0.1:{at.ROUTER_HEALTH}/healthz"), environment=here),
    ]


def services(layout: Layout, program: Program) -> list[Part]:
    """What a platform has beside its cluster: images, repositories, artifacts."""
    images, forge = layout.file("registry.yaml"), layout.file("gitea.ini")
    keys, store = layout.file("s3.json"), layout.data / "seaweedfs"
    weed = [
        str(program("weed")),
        "server",
        "-s3",
        f"-s3.config={keys}",
        f"-s3.port={at.S3}",
        "-s3.port.iceberg=0",
        "-s3.port.lance=0",
        f"-s3.ip.bind={NODE_IP}",
        # the filer asks for no keys: pods must not reach it
        "-ip=127.0.0.1",
        "-ip.bind=127.0.0.1",
        f"-dir={store}",
        "-volume.max=50",
        "-volume.preStopSeconds=0",
        "-master.volumeSizeLimitMB=64",
        "-master.port=9333",
        "-volume.port=8380",
        "-filer.port=8888",
    ]
    return [
        Part("registry", ["/usr/bin/docker-registry", "serve", str(images)], _url(at.REGISTRY, "/v2/"), (images,)),
        Part(
            "gitea",
            [str(program("gitea")), "web", "--config", str(forge)],
            _url(at.FORGE, "/api/healthz"),
            (forge,),
            {"GITEA_I_AM_BEING_UNSAFE_RUNNING_AS_ROOT": "true", "HOME": str(layout.data / "gitea")},
        ),
        Part("seaweedfs", weed, _url(at.S3, "/healthz"), (keys,)),
    ]


def stages(layout: Layout, program: Program) -> list[list[Part]]:
    """All parts; those of one stage start together, once the stage before is ready."""
    etcd, apiserver, *control = control_plane.parts(layout, program)
    nodes = [node_parts(layout, program, node) for node in NODES]
    runtimes, kubelets = [runtime for runtime, _ in nodes], [kubelet for _, kubelet in nodes]
    return [
        [etcd, *services(layout, program), *runtimes],
        [apiserver],
        [*control, *kubelets],
        network_parts(layout, program),  # kube-router looks for its node as it starts
    ]


def _url(port: int, path: str) -> Ready:
    return Ready("url", f"http://{NODE_IP}:{port}{path}")
