"""`gpulab trigger` against a real HTTP server on this machine, and what it refuses to send."""

import hashlib
import hmac
import json
import os
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from gpulab.engines.event_endpoint import request_of, send
from gpulab.errors import GpulabError, InputError
from gpulab.events import push_run

VALID = Path(__file__).parent / "resources" / "projects" / "valid"
PATH = "/api/v1/events/gpu-lab-1-ci/gpulab"
TOKEN = "v2:not-a-real-token"  # noqa: S105


class ArgoServer(ThreadingHTTPServer):
    """Keeps what it is asked, and answers with one status."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.status, self.asked = 200, list[tuple[str, dict[str, str], bytes]]()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}{PATH}"


class Handler(BaseHTTPRequestHandler):
    server: ArgoServer

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        headers = {name.lower(): value for name, value in self.headers.items()}
        self.server.asked.append((self.path, headers, body))
        self.send_response(self.server.status)
        self.send_header("Location", f"{self.server.url}?again")
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"{}")

    do_GET = do_POST  # noqa: N815  http.server finds it by this name

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def server() -> Iterator[ArgoServer]:
    with ArgoServer() as made:
        threading.Thread(target=made.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
        yield made
        made.shutdown()


def git(folder: Path, *arguments: str) -> str:
    command = ["git", "-c", "user.name=s", "-c", "user.email=s@localhost", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True).stdout.strip()


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = Path(shutil.copytree(VALID, tmp_path / "project"))
    git(folder, "init", "-qb", "main")
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", 'Say "hello" to $(HOME) and größe')
    return folder


def trigger(project: Path, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    kept = {name: value for name, value in os.environ.items() if not name.lower().endswith("_proxy")}
    command = [sys.executable, "-m", "gpulab.cli", "trigger", *arguments]
    return subprocess.run(command, cwd=project, env=kept | variables, capture_output=True, text=True, check=False)


def test_the_event_is_githubs_push_with_the_bearer_token(project: Path, server: ArgoServer) -> None:
    done = trigger(project, GPULAB_EVENTS_URL=server.url, GPULAB_TOKEN=f"Bearer {TOKEN}")
    assert done.returncode == 0, done.stderr
    head = git(project, "rev-parse", "HEAD")
    assert push_run(head, "refs/heads/main") in done.stdout
    assert TOKEN not in done.stdout + done.stderr
    ((path, headers, body),) = server.asked
    assert path == PATH
    assert headers["x-github-event"] == "push"
    assert headers["authorization"] == f"Bearer {TOKEN}"
    payload = json.loads(body)
    assert (payload["after"], payload["ref"]) == (head, "refs/heads/main")
    assert payload["head_commit"]["message"].startswith('Say "hello" to $(HOME) and größe')


def test_the_payload_has_every_field_that_the_bindings_read(project: Path, server: ArgoServer) -> None:
    trigger(project, GPULAB_EVENTS_URL=server.url, GPULAB_TOKEN=TOKEN)
    payload = json.loads(server.asked[0][2])
    bindings = (Path(__file__).parents[1] / "src/gpulab/rendered/event-bindings.yaml").read_text(encoding="utf-8")
    read = set(re.findall(r"payload\.([a-z_]+)", bindings))
    assert {"after", "ref"} <= read
    assert read - {"action", "pull_request"} <= set(payload)


def test_a_webhook_secret_signs_the_body_as_github_does(project: Path, server: ArgoServer) -> None:
    assert trigger(project, GPULAB_EVENTS_URL=server.url, **{"GPULAB_WEBHOOK_SECRET": "s3"}).returncode == 0
    ((_, headers, body),) = server.asked
    assert headers["x-hub-signature-256"] == f"sha256={hmac.new(b's3', body, hashlib.sha256).hexdigest()}"
    assert "authorization" not in headers


def test_ci_names_commit_and_ref_on_a_detached_head(project: Path, server: ArgoServer) -> None:
    first = git(project, "rev-parse", "HEAD")
    git(project, "commit", "-q", "--allow-empty", "-m", "second")
    git(project, "checkout", "-q", "--detach")
    settings = {"GPULAB_EVENTS_URL": server.url, "GPULAB_TOKEN": TOKEN}
    told = trigger(project, **settings)
    assert (told.returncode, server.asked) == (2, [])
    assert "--ref refs/heads/main" in told.stderr
    assert trigger(project, GPULAB_REF="refs/heads/main", GPULAB_REVISION=first, **settings).returncode == 0
    assert json.loads(server.asked[0][2])["after"] == first


def sent(url: str) -> GpulabError:
    """The error that sending to a server of this machine ends with."""
    request = request_of(b"{}", {"GPULAB_EVENTS_URL": url, "GPULAB_TOKEN": TOKEN})
    with pytest.MonkeyPatch.context() as patch, pytest.raises(GpulabError) as raised:
        patch.setenv("no_proxy", "*")
        send(request)
    return raised.value


@pytest.mark.parametrize(
    ("status", "code", "words"),
    [
        (401, 2, "GPULAB_TOKEN"),
        (403, 2, "GPULAB_TOKEN"),
        (404, 2, "GPULAB_EVENTS_URL"),
        (307, 2, "GPULAB_EVENTS_URL"),
        (429, 3, "try again"),
        (500, 3, "try again"),
        (503, 3, "try again"),
    ],
)
def test_an_answer_that_is_no_yes_says_whose_matter_it_is(
    server: ArgoServer, status: int, code: int, words: str
) -> None:
    server.status = status
    error = sent(server.url)
    assert error.exit_code == code
    assert words in str(error)
    assert str(status) in str(error)
    assert len(server.asked) == 1  # a redirect is not followed: it would take the token along


def test_a_server_that_cannot_be_reached_is_the_platforms_matter(project: Path, server: ArgoServer) -> None:
    url = server.url
    server.shutdown()
    server.server_close()
    done = trigger(project, GPULAB_EVENTS_URL=url, GPULAB_TOKEN=TOKEN)
    assert (done.returncode, "Traceback" in done.stderr) == (3, False)
    assert "try again" in done.stderr


SETTINGS = {"GPULAB_EVENTS_URL": f"https://argo.example.invalid{PATH}", "GPULAB_TOKEN": TOKEN}


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"GPULAB_EVENTS_URL": ""}, "GPULAB_EVENTS_URL is not set"),
        ({"GPULAB_TOKEN": ""}, "GPULAB_TOKEN is not set"),
        ({"GPULAB_TOKEN": "two\nlines: x"}, "GPULAB_TOKEN"),
        ({"GPULAB_EVENTS_URL": f"http://argo.example.invalid{PATH}"}, "allowed: https://"),
        ({"GPULAB_EVENTS_URL": f"https://name:passw0rd@argo.example.invalid{PATH}"}, "allowed: https://"),
        ({"GPULAB_EVENTS_URL": f"https://argo.example.invalid{PATH}/more"}, "allowed: https://"),
        ({"GPULAB_EVENTS_URL": f"https://argo.example.invalid{PATH}?x=1"}, "allowed: https://"),
        ({"GPULAB_EVENTS_URL": f"https://argo.example.invalid:port{PATH}"}, "allowed: https://"),
        ({"GPULAB_EVENTS_URL": "file:///etc/passwd"}, "allowed: https://"),
    ],
)
def test_settings_that_are_missing_or_would_leak_are_refused(changed: dict[str, str], words: str) -> None:
    with pytest.raises(InputError, match=re.escape(words)) as raised:
        request_of(b"{}", SETTINGS | changed)
    assert "passw0rd" not in str(raised.value)


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"GPULAB_EVENTS_URL": ""}, "GPULAB_EVENTS_URL is not set"),
        ({"GPULAB_REF": "main"}, "refs/heads/main"),
        ({"GPULAB_REF": "refs/heads/$(TOKEN)"}, "refs/heads/"),
        ({"GPULAB_REVISION": "no-such-commit"}, "no-such-commit"),
    ],
)
def test_a_mistake_of_whoever_types_it_is_one_sentence(project: Path, changed: dict[str, str], words: str) -> None:
    done = trigger(project, **SETTINGS | changed)
    assert (done.returncode, "Traceback" in done.stderr) == (2, False), done.stderr
    assert words in done.stderr


@pytest.mark.parametrize(
    ("subject", "ref"), [("[skip ci] docs", "refs/heads/main"), ("x", "refs/heads/deploy/staging")]
)
def test_what_would_start_nothing_is_not_sent(project: Path, server: ArgoServer, subject: str, ref: str) -> None:
    git(project, "commit", "-q", "--allow-empty", "-m", subject)
    done = trigger(project, "--ref", ref, GPULAB_EVENTS_URL=server.url, GPULAB_TOKEN=TOKEN)
    assert (done.returncode, server.asked) == (0, [])
    assert "nothing was sent" in done.stdout
