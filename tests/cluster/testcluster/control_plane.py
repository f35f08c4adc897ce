"""etcd, the API server and what acts on it: command lines. Pure."""

from testcluster import layout as at
from testcluster.layout import NODE_IP, Layout
from testcluster.part import Part, Program, Ready


def parts(layout: Layout, program: Program) -> list[Part]:
    """etcd, the API server and what acts on it."""
    return [
        _etcd(layout, program),
        _apiserver(layout, program),
        _kube_part(layout, program, "kube-controller-manager", 10257, _controller_flags(layout)),
        _kube_part(layout, program, "kube-scheduler", 10259, []),
    ]


def _etcd(layout: Layout, program: Program) -> Part:
    own, peer = f"https://127.0.0.1:{at.ETCD}", f"http://127.0.0.1:{at.ETCD_PEER}"
    line = [
        str(program("etcd")),
        f"--data-dir={layout.data}/etcd",
        f"--listen-client-urls={own}",
        f"--advertise-client-urls={own}",
        f"--listen-peer-urls={peer}",
        f"--initial-advertise-peer-urls={peer}",
        f"--initial-cluster=default={peer}",
        f"--cert-file={layout.pki('etcd.crt')}",
        f"--key-file={layout.pki('etcd.key')}",
        f"--trusted-ca-file={layout.pki('ca.crt')}",
        "--client-cert-auth",
        "--unsafe-no-fsync",  # a cluster for tests may lose its last second when the machine stops
        "--log-level=warn",
    ]
    return Part("etcd", line, Ready("url", f"{own}/readyz"))


def _apiserver(layout: Layout, program: Program) -> Part:
    pki = layout.pki
    flags = {
        "advertise-address": NODE_IP,
        "bind-address": NODE_IP,
        "secure-port": at.API,
        "service-cluster-ip-range": at.SERVICE_RANGE,
        "allow-privileged": "true",
        "authorization-mode": "Node,RBAC",
        "enable-admission-plugins": "NodeRestriction",
        "client-ca-file": pki("ca.crt"),
        "tls-cert-file": pki("apiserver.crt"),
        "tls-private-key-file": pki("apiserver.key"),
        "etcd-servers": f"https://127.0.0.1:{at.ETCD}",
        "etcd-cafile": pki("ca.crt"),
        "etcd-certfile": pki("apiserver-etcd.crt"),
        "etcd-keyfile": pki("apiserver-etcd.key"),
        "kubelet-client-certificate": pki("apiserver-kubelet.crt"),
        "kubelet-client-key": pki("apiserver-kubelet.key"),
        "kubelet-certificate-authority": pki("ca.crt"),
        "kubelet-preferred-address-types": "InternalIP",
        "service-account-issuer": "https://kubernetes.default.svc.cluster.local",
        "service-account-key-file": pki("accounts.key"),
        "service-account-signing-key-file": pki("accounts.key"),
        # aggregated APIs (Kueue's): without these, namespaces can not be deleted
        "requestheader-client-ca-file": pki("front-proxy-ca.crt"),
        "requestheader-allowed-names": "front-proxy-client",
        "requestheader-username-headers": "X-Remote-User",
        "requestheader-group-headers": "X-Remote-Group",
        "requestheader-extra-headers-prefix": "X-Remote-Extra-",
        "proxy-client-cert-file": pki("front-proxy.crt"),
        "proxy-client-key-file": pki("front-proxy.key"),
    }
    line = [str(program("kube-apiserver")), *(f"--{name}={value}" for name, value in flags.items())]
    return Part("kube-apiserver", line, Ready("url", f"https://{NODE_IP}:{at.API}/readyz"))


def _controller_flags(layout: Layout) -> list[str]:
    return [
        f"--root-ca-file={layout.pki('ca.crt')}",
        f"--service-account-private-key-file={layout.pki('accounts.key')}",
        "--use-service-account-credentials=true",
    ]


def _kube_part(layout: Layout, program: Program, name: str, port: int, more: list[str]) -> Part:
    access = str(layout.config(name))
    line = [str(program(name)), f"--kubeconfig={access}", f"--authentication-kubeconfig={access}"]
    line += [f"--authorization-kubeconfig={access}", "--leader-elect=false", "--bind-address=127.0.0.1", *more]
    return Part(name, line, Ready("url", f"https://127.0.0.1:{port}/healthz"))
