"""`gpulab project` as it is typed, against an API server on a port of its own."""

import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
import pytest
import yaml

if TYPE_CHECKING:
    from conftest import ApiServer

CONNECT = ["connect", "gpu-lab-1", "--repository", "teacher/gpu-lab-1"]
DISCONNECT = ["disconnect", *CONNECT[1:]]


@pytest.fixture
def kubeconfig(server: "ApiServer", tmp_path: Path) -> Iterator[Path]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            assert self.headers["Authorization"] == "Bearer of-the-context"
            answer = server(httpx.Request("GET", f"http://cluster{self.path}"))
            self.send_response(answer.status_code)
            self.send_header("Content-Length", str(len(answer.content)))
            self.end_headers()
            self.wfile.write(answer.content)

        def log_message(self, *_: Any) -> None:
            pass

    listening = HTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=listening.serve_forever, daemon=True).start()
    names = {"cluster": "c", "user": "u"}
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "c", "cluster": {"server": f"http://127.0.0.1:{listening.server_port}"}}],
        "users": [{"name": "u", "user": {"token": "of-the-context"}}],
        "contexts": [{"name": "lab", "context": names}],
    }
    file = tmp_path / "kubeconfig"
    file.write_text(yaml.safe_dump(document))
    yield file
    listening.shutdown()
    listening.server_close()


def gpulab(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "gpulab.cli", "project", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=cwd)


def test_a_dry_run_changes_nothing_and_tells_all_but_secrets(
    kubeconfig: Path, server: "ApiServer", tmp_path: Path
) -> None:
    before = dict(server.objects)
    done = gpulab(*CONNECT, "--dry-run", "--kubeconfig", str(kubeconfig), "--context", "lab", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    kinds = {one["kind"] for one in yaml.safe_load_all(done.stdout)}
    assert {"Namespace", "Role", "Secret", "NetworkPolicy", "WorkflowEventBinding", "CronWorkflow"} <= kinds
    assert "seen-" not in done.stdout + done.stderr
    assert server.objects == before
    again = gpulab(*CONNECT, "--dry-run", "--kubeconfig", str(kubeconfig), "--context", "lab", cwd=tmp_path)
    assert again.stdout == done.stdout


def test_what_is_missing_is_said_in_words(kubeconfig: Path, tmp_path: Path) -> None:
    where = ["--kubeconfig", str(kubeconfig), "--context", "lab"]
    for arguments, word in (
        ([*CONNECT, *where], "--forge-token-file FILE, or GPULAB_FORGE_ADMIN_TOKEN"),
        ([*CONNECT, *where, "--forge-token-file", "none"], "none cannot be read"),
        ([*DISCONNECT, *where], "add: --yes gpu-lab-1"),
        ([*DISCONNECT, *where, "--yes", "gpu-lab-2"], "add: --yes gpu-lab-1"),
        (["connect", "Lab!", "--repository", "a/b", *where], "found the project 'Lab!'"),
    ):
        done = gpulab(*arguments, cwd=tmp_path)
        assert (done.returncode, word in done.stderr, "Traceback" in done.stderr) == (2, True, False), done.stderr


def test_no_cluster_is_the_platforms_trouble(tmp_path: Path) -> None:
    done = gpulab(*CONNECT, "--dry-run", "--kubeconfig", str(tmp_path / "none"), cwd=tmp_path)
    assert (done.returncode, "Traceback" in done.stderr) == (3, False), done.stderr
