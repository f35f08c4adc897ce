"""From a project's git remote and the environment to its forge and to Argo; no token is ever stored.

Variables: GPULAB_FORGE_TOKEN (else what `git credential` gives), GPULAB_FORGE_API; GPULAB_ARGO_URL, GPULAB_ARGO_TOKEN
(or …_TOKEN_FILE), GPULAB_ARGO_CA_FILE, GPULAB_NAMESPACE.
"""

import os
import re
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from gpulab.cli.remote_project import RemoteProject
from gpulab.engines.argo import paths, settings
from gpulab.engines.argo.engine import ArgoEngine
from gpulab.errors import InputError, without_credentials
from gpulab.forges.connected import hosted_forge
from gpulab.forges.http import RefusedError
from gpulab.forges.local.connect import working_tree
from gpulab.forges.protocol import Forge
from gpulab.home import FOLDER

ORIGIN = "origin"
TOKEN, API = "GPULAB_FORGE_TOKEN", "GPULAB_FORGE_API"
NO_LINKS = "https://argo.invalid"
"""Stands in a status's link when Argo's address is not known here; only `gpulab cancel`, which needs it, sets one."""

WEB = re.compile(r"(?P<scheme>https?)://(?:[^@/]*@)?(?P<place>[^/]+)/(?P<path>.+)")
SSH = re.compile(
    r"ssh://(?:[^@/]+@)?(?P<host>[^:/]+)(?::\d+)?/(?P<path>.+)|(?:[^@/]+@)?(?P<name>[\w.-]+):(?P<place>[^/\\].*)"
)
"""`ssh://USER@HOST:PORT/PATH`, or `USER@HOST:PATH`."""


@dataclass(frozen=True)
class Address:
    """Where a repository is on the web: `root` is the forge's own address, `repository` is `owner/name`."""

    root: str
    repository: str

    @property
    def clone(self) -> str:
        """The URL to clone, without credentials."""
        return f"{self.root}/{self.repository}.git"

    def commit(self, revision: str) -> str:
        """The page of a commit, with its statuses and their links."""
        return f"{self.root}/{self.repository}/commit/{revision}"

    def api(self, kind: str) -> str:
        """The forge's API."""
        if kind == "gitea":
            return f"{self.root}/api/v1"
        return "https://api.github.com" if self.root == "https://github.com" else f"{self.root}/api/v3"


def address(url: str) -> Address:
    """The address that a git remote's URL means; one of SSH is taken to be served by HTTPS as well.

    Raises:
        InputError: it is none of a forge.
    """
    web, ssh = WEB.fullmatch(url), SSH.fullmatch(url)
    path = web["path"] if web else (ssh["path"] or ssh["place"]) if ssh else ""
    parts = path.removesuffix("/").removesuffix(".git").strip("/").split("/")
    if len(parts) < 2:
        found = without_credentials(url)
        raise InputError(
            f"remote {ORIGIN}: found {found!r}, allowed: https://FORGE/OWNER/NAME.git or git@FORGE:OWNER/NAME"
        )
    root = f"{web['scheme']}://{web['place']}" if web else f"https://{ssh['host'] or ssh['name']}" if ssh else ""
    return Address("/".join([root, *parts[:-2]]), "/".join(parts[-2:]))


def remote_project(root: Path, slug: str, kind: str) -> RemoteProject:
    """The project of a folder whose contract names a forge; nothing is asked yet."""
    namespace = os.environ.get(settings.NAMESPACE) or f"{slug}-ci"
    argo = os.environ.get(settings.URL, "").rstrip("/")

    def page(run: str, revision: str) -> str:
        return paths.page(argo, namespace, run) if argo else origin(root).commit(revision)

    return RemoteProject(
        root,
        slug,
        ORIGIN,
        open_forge=lambda: open_forge(root, kind, argo, namespace, os.environ),
        open_engine=lambda: open_engine(root, namespace, os.environ),
        link=page,
    )


def origin(root: Path) -> Address:
    """Where the remote `origin` leads.

    Raises:
        InputError: there is none, with what to type.
    """
    done = working_tree(root).run("remote", "get-url", ORIGIN, check=False)
    url = done.stdout.decode(errors="replace").strip()
    if done.returncode != 0 or not url:
        raise InputError(
            f"this project has no remote {ORIGIN}. Type: git remote add {ORIGIN} https://FORGE/OWNER/NAME.git"
        )
    return address(url)


def open_forge(root: Path, kind: str, argo: str, namespace: str, environ: Mapping[str, str]) -> Forge:
    """The forge as the person who types sees it.

    Raises:
        InputError: it does not show this person the repository.
        PlatformError: it does not answer.
    """
    place = origin(root)
    variables = {
        "GPULAB_FORGE_KIND": kind,
        "GPULAB_FORGE_API": environ.get(API) or place.api(kind),
        "GPULAB_FORGE_REPOSITORY": place.repository,
        "GPULAB_FORGE_CLONE": place.clone,
        "GPULAB_ARGO_URL": argo or NO_LINKS,
        "GPULAB_NAMESPACE": namespace,
    }
    forge = hosted_forge(variables, environ.get(TOKEN, "").strip() or credential(root, place))
    try:
        forge.api.http.ask("GET", f"repos/{place.repository}")
    except RefusedError as error:
        way = f"Is the remote {ORIGIN} right? Log in with git, or type: export {TOKEN}=…"
        raise InputError(
            f"{place.root} does not show you {place.repository} ({error.status} {error.reason}). {way}"
        ) from None
    return forge


def open_engine(root: Path, namespace: str, environ: Mapping[str, str]) -> ArgoEngine | None:
    """Argo's server; None when its address or token is not set."""
    if not settings.configured(environ):
        return None
    return ArgoEngine(settings.from_environment(environ, namespace, root / FOLDER / "argo"))


def credential(root: Path, place: Address) -> str:
    """The password or token that git's own credential helpers give for a repository; empty when none does."""
    scheme, _, rest = place.clone.partition("://")
    host, _, path = rest.partition("/")
    asked = f"protocol={scheme}\nhost={host}\npath={path}\n\n"
    silent = os.environ | {"GIT_TERMINAL_PROMPT": "0", "GIT_ASKPASS": "", "SSH_ASKPASS": "", "GCM_INTERACTIVE": "never"}
    command = ["git", "-C", str(root), "-c", "core.askPass=", "credential", "fill"]
    try:
        done = subprocess.run(command, input=asked, env=silent, capture_output=True, text=True, timeout=30, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    given = dict(line.partition("=")[::2] for line in done.stdout.splitlines())
    return given.get("password", "") if done.returncode == 0 else ""
