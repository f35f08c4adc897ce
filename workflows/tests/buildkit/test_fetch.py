"""`gpulab-fetch` with real git: the tree of exactly one commit, by a token that no other program sees."""

import os
import subprocess
from base64 import b64decode
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

FETCH = Path(__file__).parents[3] / "images" / "buildkit" / "gpulab-fetch"
TOKEN = "a secret $(id) \\ 'token"  # noqa: S105  nobody's
pytestmark = pytest.mark.skipif(os.name == "nt", reason="a shell script, for a Linux image")


def fetch(url: str, commit: str, folder: Path, tmp_path: Path) -> subprocess.CompletedProcess[str]:
    files = {"GPULAB_MESSAGE_FILE": str(tmp_path / "message"), "GPULAB_TOKEN_FILE": str(tmp_path / "token")}
    env = {"PATH": os.environ["PATH"], "HOME": str(tmp_path)} | files
    return subprocess.run([str(FETCH), url, commit, str(folder)], env=env, capture_output=True, text=True, check=False)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """Two commits; the branch points to the second."""
    folder = tmp_path / "repository"
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@b.c", "-C", str(folder)]
    subprocess.run(["git", "init", "-q", "-b", "main", str(folder)], check=True)
    for text in ("first\n", "second\r\n"):
        (folder / "file").write_bytes(text.encode())
        subprocess.run([*git, "add", "file"], check=True)
        subprocess.run([*git, "commit", "-q", "-m", text.strip()], check=True)
    return folder


def commits(repository: Path) -> list[str]:
    command = ["git", "-C", str(repository), "log", "--format=%H"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()


def test_the_tree_of_a_commit_and_nothing_else(repository: Path, tmp_path: Path) -> None:
    head, first = commits(repository)
    for commit, content in ((head, b"second\r\n"), (first, b"first\n")):
        done = fetch(repository.as_uri(), commit, tmp_path / commit, tmp_path)
        assert done.returncode == 0, done.stderr
        assert [path.name for path in (tmp_path / commit).iterdir()] == ["file"]
        assert (tmp_path / commit / "file").read_bytes() == content


def test_a_commit_that_is_not_there_is_told_and_is_no_verdict(repository: Path, tmp_path: Path) -> None:
    done = fetch(repository.as_uri(), "0123456789" * 4, tmp_path / "tree", tmp_path)
    assert done.returncode == 3
    assert "cannot fetch 0123456789" in (tmp_path / "message").read_text()


class Forge(BaseHTTPRequestHandler):
    """Refuses everybody, and remembers how they logged in."""

    logins: list[str] = []  # noqa: RUF012  the server makes an object per request

    def do_GET(self) -> None:
        login = self.headers.get("Authorization", "")
        self.logins.append(login)
        self.send_response(401 if not login else 403)
        self.send_header("WWW-Authenticate", "Basic realm=forge")
        self.end_headers()

    def log_message(self, *arguments: object) -> None: ...


@pytest.fixture
def forge() -> Iterator[str]:
    Forge.logins.clear()
    server = ThreadingHTTPServer(("127.0.0.1", 0), Forge)
    Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/course/lab.git"
    server.shutdown()
    server.server_close()


def test_the_token_reaches_the_forge_whatever_is_in_it_and_no_log(forge: str, tmp_path: Path) -> None:
    (tmp_path / "token").write_text(TOKEN)
    done = fetch(forge, "0" * 40, tmp_path / "tree", tmp_path)
    assert b64decode(Forge.logins[-1].removeprefix("Basic ")).decode() == f"x-access-token:{TOKEN}"
    assert done.returncode == 3
    assert TOKEN not in done.stdout + done.stderr + (tmp_path / "message").read_text()


def test_without_a_token_nobody_waits_for_a_password(forge: str, tmp_path: Path) -> None:
    assert fetch(forge, "0" * 40, tmp_path / "tree", tmp_path).returncode == 3
    assert Forge.logins == [""]
