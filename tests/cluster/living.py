"""A student with a repository on the forge: what they type, and what they and the cluster see afterwards."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from .installing import NODE_PORT, kubectl

PATIENCE = 900
"""Seconds for a run on two cores; nothing here asserts a time."""


@dataclass(frozen=True)
class Forge:
    """Gitea, as its administrator."""

    url: str
    token: str

    def ask(self, method: str, path: str, **body: Any) -> Any:
        """One request to the API; its JSON."""
        headers = {"Authorization": f"token {self.token}"}
        answer = httpx.request(method, f"{self.url}/api/v1/{path}", headers=headers, json=body or None, timeout=60)
        assert answer.is_success, f"{method} {path}: {answer.status_code} {answer.text[:300]}"
        return answer.json() if answer.content else None


@dataclass(frozen=True)
class Student:
    """One project: its folder, its repository, and the environment that its owner types in."""

    root: Path
    slug: str
    repository: str
    forge: Forge
    environment: dict[str, str]

    def git(self, *words: str, check: bool = True) -> str:
        """Git in the project."""
        done = subprocess.run(["git", *words], cwd=self.root, env=self.environment, capture_output=True, text=True)
        assert not check or done.returncode == 0, done.stderr
        return done.stdout.strip()

    def gpulab(self, *words: str) -> "subprocess.CompletedProcess[str]":
        """`gpulab …` in the project."""
        line = [sys.executable, "-m", "gpulab.cli", *words]
        return subprocess.run(line, cwd=self.root, env=self.environment, capture_output=True, text=True, check=False)

    def edit(self, path: str, before: str, after: str) -> None:
        """Change a file, and commit."""
        file = self.root / path
        text = file.read_text(encoding="utf-8")
        assert before in text, f"{path} does not hold {before!r}"
        file.write_text(text.replace(before, after, 1), encoding="utf-8")
        self.git("commit", "-qam", f"Edit {path}")

    def push(self, branch: str = "main") -> str:
        """`git push`; the commit."""
        self.git("push", "-q", "origin", branch)
        return self.git("rev-parse", branch)

    def statuses(self, revision: str) -> dict[str, tuple[str, str]]:
        """What is said about a commit: by context, state and words; the newest counts."""
        found: dict[str, tuple[str, str]] = {}
        listed = self.forge.ask("GET", f"repos/{self.repository}/commits/{revision}/statuses?limit=50")
        for one in sorted(listed, key=lambda one: one["id"]):
            found[one["context"]] = (one["status"], one["description"])
        return found

    def settled(self, revision: str, context: str) -> tuple[str, str]:
        """The status of a commit when it is no longer pending."""
        return wait_for(
            lambda: (said := self.statuses(revision).get(context)) and said[0] != "pending" and said,
            f"{context} of {revision[:12]} in {self.repository}",
        )

    def leave(self) -> None:
        """Everything that connecting made is taken away again."""
        done = self.gpulab("project", "disconnect", self.slug, "--repository", self.repository, "--yes", self.slug)
        assert done.returncode == 0, done.stderr

    def head(self, branch: str) -> str:
        """The commit of a branch on the forge."""
        self.git("fetch", "-q", "origin", branch)
        return self.git("rev-parse", "FETCH_HEAD")


def wait_for(question: Callable[[], Any], what: str, seconds: float = PATIENCE) -> Any:
    """The first answer that is true."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if answer := question():
            return answer
        time.sleep(1)
    raise AssertionError(f"{what}: nothing after {seconds:.0f} s")


def objects(cluster: dict[str, Any], namespace: str, kind: str) -> list[dict[str, Any]]:
    """Every object of a kind in a namespace."""
    found: list[dict[str, Any]] = json.loads(kubectl(cluster, "get", kind, "-n", namespace, "-o", "json"))["items"]
    return found


def enrol(cluster: dict[str, Any], forge: Forge, folder: Path, name: str, *options: str) -> Student:
    """`gpulab new`, a repository on the forge, `gpulab project connect`; not pushed yet."""
    typed = ["new", "--defaults", "--name", name, "--forge", "gitea", "--registry", cluster["registry"], *options]
    environment = os.environ | {"HOME": str(folder), "KUBECONFIG": cluster["kubeconfig"]}
    environment |= {"GPULAB_FORGE_ADMIN_TOKEN": forge.token, "GPULAB_FORGE_TOKEN": forge.token}
    environment |= {f"GIT_{who}_{what}": "a@b.invalid" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    environment |= {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": f"http.{forge.url}/.extraHeader"}
    environment |= {"GIT_CONFIG_VALUE_0": f"Authorization: token {forge.token}"}
    line = [sys.executable, "-m", "gpulab.cli"]
    made = subprocess.run([*line, *typed], cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert made.returncode == 0, made.stderr
    slug = name.lower().replace(" ", "-")
    owner = forge.ask("GET", "user")["login"]
    forge.ask("POST", "user/repos", name=slug, private=True, default_branch="main")
    student = Student(folder / slug, slug, f"{owner}/{slug}", forge, environment)
    if not (student.root / ".git").is_dir():
        student.git("init", "-q", "-b", "main")
    if student.git("status", "--porcelain"):
        student.git("add", "-A")
        student.git("commit", "-qm", "Start")
    student.edit("gitops/overlays/production/resources.yaml", 'cpu: "1"', "cpu: 100m")  # all of it runs on two cores
    student.git("remote", "add", "origin", f"{forge.url}/{student.repository}.git")
    student.push()
    connected = student.gpulab("project", "connect", slug, "--repository", student.repository)
    assert connected.returncode == 0, connected.stdout + connected.stderr
    token = kubectl(cluster, "create", "token", "gpulab-student", "-n", f"{slug}-ci", "--duration=8h").strip()
    environment |= {"GPULAB_ARGO_URL": f"http://{cluster['node_ip']}:{NODE_PORT}", "GPULAB_ARGO_TOKEN": token}
    return student
