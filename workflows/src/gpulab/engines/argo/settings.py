"""Where Argo's server is and who asks: from the environment, the token from a variable or a file."""

import ssl
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from gpulab.errors import InputError, without_credentials

URL, NAMESPACE = "GPULAB_ARGO_URL", "GPULAB_NAMESPACE"
TOKEN, TOKEN_FILE, CA_FILE = "GPULAB_ARGO_TOKEN", "GPULAB_ARGO_TOKEN_FILE", "GPULAB_ARGO_CA_FILE"


@dataclass(frozen=True)
class ArgoSettings:
    """One namespace behind one Argo server.

    Attributes:
        url: without a path's last slash, e.g. `https://argo.example.org` or `https://example.org/argo`.
        token: Argo's bearer token, without `Bearer`.
        ca_file: the certificates to trust instead of the system's; empty for the system's.
        cache: where artifacts are downloaded to.
    """

    url: str
    namespace: str
    token: str = field(repr=False)
    cache: Path
    ca_file: str = ""

    def verify(self) -> ssl.SSLContext | bool:
        """How a certificate is checked; never not at all.

        Raises:
            InputError: the file of certificates cannot be read.
        """
        if not self.ca_file:
            return True
        try:
            return ssl.create_default_context(cafile=self.ca_file)
        except (OSError, ssl.SSLError) as error:
            raise InputError(
                f"{CA_FILE}: {self.ca_file} cannot be read as certificates in PEM form ({error})"
            ) from None


def configured(environ: Mapping[str, str]) -> bool:
    """Whether Argo's address and a token are set."""
    return bool(environ.get(URL) and (environ.get(TOKEN) or environ.get(TOKEN_FILE)))


def from_environment(environ: Mapping[str, str], namespace: str, cache: Path) -> ArgoSettings:
    """The settings that the variables GPULAB_ARGO_URL, …_TOKEN (or …_TOKEN_FILE) and …_CA_FILE describe.

    Args:
        environ: the process's environment.
        namespace: where runs are when GPULAB_NAMESPACE says nothing.
        cache: where artifacts are downloaded to.

    Raises:
        InputError: naming the variable, what was found and what to type.
    """
    token = _token(environ).strip().removeprefix("Bearer ").strip()
    if not token:
        raise InputError(f"{TOKEN} is not set. Ask your course for Argo's token, then: export {TOKEN}=…")
    if not (token.isascii() and token.isprintable()):
        raise InputError(f"{TOKEN}: has characters that no token has. Copy it again, as one line.")
    return ArgoSettings(
        _url(environ.get(URL, "").strip()),
        environ.get(NAMESPACE) or namespace,
        token,
        cache,
        environ.get(CA_FILE, ""),
    )


def _token(environ: Mapping[str, str]) -> str:
    file = environ.get(TOKEN_FILE, "")
    if environ.get(TOKEN) or not file:
        return environ.get(TOKEN, "")
    try:
        return Path(file).read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise InputError(f"{TOKEN_FILE}: {file} cannot be read ({error})") from None


def _url(url: str) -> str:
    expected = "https://ARGO-SERVER"
    if not url:
        raise InputError(f"{URL} is not set. Type: export {URL}={expected}")
    try:
        parts = urlsplit(url)
        fine = parts.scheme in ("https", "http") and bool(parts.hostname) and (parts.port or 443) > 0
    except ValueError:
        fine = False
    if not fine or "@" in parts.netloc or parts.query or parts.fragment:
        found = without_credentials(url)
        raise InputError(f"{URL}: found {found!r}, allowed: {expected}, without user, query and fragment")
    return url.rstrip("/")
