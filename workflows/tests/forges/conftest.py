"""A real Gitea for the tests that are marked `cluster`: one server for the session, a new repository per test.

The program is GPULAB_TEST_GITEA, or what the test cluster built; its templates and options lie in `share` beside it.
"""

import base64
import contextlib
import os
import secrets
import socket
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest
from gpulab.events import PRODUCTION, TEACHING
from gpulab.forges.connected import hosted_forge
from gpulab.forges.hosted import HostedForge
from gpulab.forges.local.git import Git
from gpulab.forges.start import store_start

ADMIN = "teacher"
CONFIG = """\
APP_NAME = tests
RUN_MODE = prod
WORK_PATH = {work}
[server]
HTTP_ADDR = 127.0.0.1
HTTP_PORT = {port}
ROOT_URL = http://127.0.0.1:{port}/
STATIC_ROOT_PATH = {static}
APP_DATA_PATH = {work}/data
DISABLE_SSH = true
OFFLINE_MODE = true
[database]
DB_TYPE = sqlite3
PATH = {work}/gitea.db
[security]
INSTALL_LOCK = true
SECRET_KEY = {secret}
INTERNAL_TOKEN =
PASSWORD_HASH_ALGO = pbkdf2$1000$50
[repository]
ROOT = {work}/repos
DEFAULT_BRANCH = main
[webhook]
ALLOWED_HOST_LIST = loopback
[service]
DISABLE_REGISTRATION = true
[log]
LEVEL = Error
[cron]
ENABLED = false
[actions]
ENABLED = false
[packages]
ENABLED = false
"""


@dataclass(frozen=True)
class Gitea:
    """A running server; `token` is its administrator's."""

    url: str
    token: str

    @property
    def api(self) -> str:
        return f"{self.url}/api/v1"

    def forge(self, repository: str, namespace: str = "lab-ci") -> HostedForge:
        """A repository as the platform's steps see it, and where its runs' pages are."""
        variables = {
            "GPULAB_FORGE_KIND": "gitea",
            "GPULAB_FORGE_API": self.api,
            "GPULAB_FORGE_REPOSITORY": repository,
            "GPULAB_FORGE_CLONE": f"{self.url}/{repository}.git",
            "GPULAB_ARGO_URL": "https://argo.example",
            "GPULAB_NAMESPACE": namespace,
        }
        return hosted_forge(variables, self.token)

    def started(self, repository: str) -> HostedForge:
        """The same, with the deploy branches as `gpulab project connect` leaves them."""
        forge = self.forge(repository)
        for branch in (TEACHING, PRODUCTION):
            forge.clone.push(branch, store_start(forge.clone.git), None)
        return forge

    def call(self, method: str, path: str, **body: object) -> httpx.Response:
        answer = httpx.request(
            method,
            f"{self.api}/{path}",
            json=body or None,
            headers={"Authorization": f"token {self.token}"},
            timeout=30,
            trust_env=False,
        )
        assert answer.is_success, f"{method} {path}: {answer.status_code} {answer.text}"
        return answer


def program() -> tuple[Path, Path] | None:
    """Gitea and the folder that holds its templates; None when there is none."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    tools = Path(os.environ.get("GPULAB_CLUSTER_TOOLS") or cache / "gpulab" / "cluster-tools")
    found = Path(os.environ.get("GPULAB_TEST_GITEA") or tools / "bin" / "gitea")
    if not os.access(found, os.X_OK):
        return None
    share = Path(os.environ.get("GPULAB_TEST_GITEA_SHARE") or found.resolve().parents[1] / "share")
    return (found, share) if (share / "templates").is_dir() else None


@pytest.fixture(scope="session")
def gitea(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gitea]:
    there = program()
    if there is None:
        pytest.skip("no Gitea here: set GPULAB_TEST_GITEA, or build the test cluster's programs")
    binary, share = there
    work = tmp_path_factory.mktemp("gitea")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    config = work / "app.ini"
    config.write_text(CONFIG.format(work=work, port=port, static=share, secret=secrets.token_hex(16)))
    environment = os.environ | {"GITEA_WORK_DIR": str(work), "GITEA_I_AM_BEING_UNSAFE_RUNNING_AS_ROOT": "true"}
    command = [str(binary), "--config", str(config)]
    run = {"env": environment, "check": True, "capture_output": True, "text": True}
    subprocess.run([*command, "migrate"], **run)
    words = ["--username", ADMIN, "--random-password", "--email", "t@localhost", "--must-change-password=false"]
    tokens = ["--access-token", "--access-token-name", "tests", "--access-token-scopes", "all"]
    made = subprocess.run([*command, "admin", "user", "create", "--admin", *words, *tokens], **run)
    token = made.stdout.split("Access token was successfully created... ")[1].split()[0]
    with (work / "log").open("wb") as log:
        server = subprocess.Popen([*command, "web"], env=environment, stdout=log, stderr=log)
        try:
            yield wait_for(Gitea(f"http://127.0.0.1:{port}", token))
        finally:
            server.terminate()
            server.wait()


def wait_for(gitea: Gitea) -> Gitea:
    for _ in range(300):
        with contextlib.suppress(httpx.TransportError, AssertionError):
            gitea.call("GET", "version")
            return gitea
        time.sleep(0.1)
    raise AssertionError("Gitea did not answer within 30 s")


@pytest.fixture
def repository(gitea: Gitea) -> str:
    """A new private repository with one commit in main."""
    name = f"lab-{secrets.token_hex(4)}"
    gitea.call("POST", "user/repos", name=name, private=True, auto_init=False, default_branch="main")
    content = base64.b64encode(b"print('hello')\n").decode()
    gitea.call("POST", f"repos/{ADMIN}/{name}/contents/src/model.py", content=content, message="start\n\nbody")
    return f"{ADMIN}/{name}"


@pytest.fixture
def bare(tmp_path: Path) -> Git:
    """A repository that serves partial clones, as forges do."""
    git = Git(tmp_path / "bare")
    git.folder.mkdir()
    git.run("init", "--quiet", "--bare", "-b", "main")
    for key in ("uploadpack.allowFilter", "uploadpack.allowAnySHA1InWant"):
        git.run("config", key, "true")
    return git
