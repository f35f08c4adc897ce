"""Keys and certificates of the cluster, made by openssl."""

from dataclasses import dataclass
from pathlib import Path

from testcluster import host
from testcluster.configs import SUBJECT_NAMES
from testcluster.layout import NODES, Layout

DAYS = 30
KEY = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-noenc")


@dataclass(frozen=True)
class Certificate:
    """A certificate that one of the two authorities signs."""

    name: str  # of the files
    common_name: str
    organisation: str = ""
    alternative: str = ""
    authority: str = "ca"

    @property
    def subject(self) -> str:
        """As openssl takes it."""
        return (f"/O={self.organisation}" if self.organisation else "") + f"/CN={self.common_name}"


CERTIFICATES = (
    Certificate("apiserver", "kube-apiserver", alternative=SUBJECT_NAMES),
    Certificate("etcd", "etcd", alternative="IP:127.0.0.1"),
    Certificate("apiserver-etcd", "kube-apiserver"),
    Certificate("apiserver-kubelet", "kube-apiserver", "system:masters"),
    Certificate("kubelet", "kubelet", alternative=SUBJECT_NAMES),
    Certificate("front-proxy", "front-proxy-client", authority="front-proxy-ca"),
    Certificate("admin", "admin", "system:masters"),
    Certificate("kube-controller-manager", "system:kube-controller-manager"),
    Certificate("kube-scheduler", "system:kube-scheduler"),
    Certificate("kube-proxy", "system:kube-proxy"),
    Certificate("coredns", "gpulab:coredns"),
    Certificate("kube-router", "gpulab:kube-router"),
    *(Certificate(node.name, f"system:node:{node.name}", "system:nodes") for node in NODES),
)
USERS = ("admin", "kube-controller-manager", "kube-scheduler", "kube-proxy", "coredns", "kube-router")


def authority_line(name: str, folder: Path) -> list[str]:
    """Makes an authority's key and certificate."""
    return [*_request(name, f"/CN=gpulab-{name}", folder), "-addext", "keyUsage=critical,keyCertSign,digitalSignature"]


def certificate_line(certificate: Certificate, folder: Path) -> list[str]:
    """Makes a key and has its certificate signed."""
    line = _request(certificate.name, certificate.subject, folder)
    authority = folder / certificate.authority
    line += ["-CA", f"{authority}.crt", "-CAkey", f"{authority}.key"]
    line += ["-addext", "basicConstraints=critical,CA:FALSE", "-addext", "extendedKeyUsage=serverAuth,clientAuth"]
    return line + (["-addext", f"subjectAltName={certificate.alternative}"] if certificate.alternative else [])


def make(layout: Layout) -> None:
    """Everything that is not there yet; a key without its certificate is made again."""
    folder = layout.pki("")
    folder.mkdir(parents=True, exist_ok=True)
    folder.chmod(0o700)
    for name in ("ca", "front-proxy-ca"):
        if not (folder / f"{name}.crt").exists():
            host.run(*authority_line(name, folder))
    for certificate in CERTIFICATES:
        if not (folder / f"{certificate.name}.crt").exists():
            host.run(*certificate_line(certificate, folder))
    key = folder / "accounts.key"
    if not key.exists():
        host.run(*["openssl", "genpkey", "-quiet", "-algorithm", "RSA", "-out", str(key)])


def _request(name: str, subject: str, folder: Path) -> list[str]:
    files = ["-keyout", str(folder / f"{name}.key"), "-out", str(folder / f"{name}.crt")]
    return ["openssl", "req", "-x509", "-days", str(DAYS), *KEY, "-subj", subject, *files]
