"""A hosted repository through real git: a bare partial clone that fetches what is asked for, and guarded pushes.

Credentials travel in git's environment (`GIT_CONFIG_*`), bound to the repository's own URL: they are in no argument,
no URL and no file. The folder is temporary and ends with the process.
"""

import base64
import os
import re
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from subprocess import CompletedProcess

from gpulab.errors import PlatformError
from gpulab.forges import contents
from gpulab.forges.http import BUDGET_SECONDS, FIRST_PAUSE, LONGEST_PAUSE
from gpulab.forges.local.git import Git
from gpulab.forges.writing import moved

ORIGIN = "origin"
NO_SUCH = re.compile(
    r"not our ref|couldn't find remote ref|unadvertised object|no such remote ref|invalid refspec", re.IGNORECASE
)
FOR_GOOD = re.compile(r"authentication failed|could not read username|returned error: 4(?!29|08)\d\d|not found", re.I)
"""What another try does not change."""


@dataclass(frozen=True)
class Clone:
    """A repository on a forge.

    Attributes:
        url: without credentials.
        token: "" for none.
    """

    url: str
    token: str = field(default="", repr=False)
    sleep: Callable[[float], None] = time.sleep
    clock: Callable[[], float] = time.monotonic

    @cached_property
    def _folder(self) -> tempfile.TemporaryDirectory[str]:
        return tempfile.TemporaryDirectory(prefix="gpulab-clone-")

    @cached_property
    def git(self) -> Git:
        """The bare clone; nothing is fetched yet."""
        git = Git(Path(self._folder.name), environment(self.url, self.token))
        git.run("init", "--quiet", "--bare")
        git.run("remote", "add", ORIGIN, self.url)
        for key, value in (("promisor", "true"), ("partialclonefilter", "blob:none")):
            git.run("config", f"remote.{ORIGIN}.{key}", value)
        return git

    def heads(self, *branches: str) -> dict[str, str]:
        """The branches (all when none is named) and their commits, as they are now."""
        wanted = [f"refs/heads/{branch}" for branch in branches]
        heads = contents.heads(self._network("ls-remote", "--heads", ORIGIN, *wanted).stdout)
        return {branch: commit for branch, commit in heads.items() if not branches or branch in branches}

    def fetched(self, revision: str) -> str | None:
        """The full id of a commit or ref, which is here now; None when the repository has none."""
        if re.fullmatch(r"[0-9a-f]{40}", revision) and self._has(revision):
            return revision
        fetch = ("fetch", "--quiet", "--no-tags", "--filter=blob:none", "--end-of-options", ORIGIN, revision)
        done = self._network(*fetch, missing_ok=True)
        return self.git.commit_id("FETCH_HEAD") if done.returncode == 0 else None

    def _has(self, revision: str) -> bool:
        """Whether an object is here, without asking the forge for it."""
        listed = self.git.run("rev-list", "--no-walk", "--missing=allow-any", revision, check=False)
        return listed.returncode == 0 and listed.stdout.startswith(revision.encode())

    def blobs(self, revision: str) -> None:
        """Fetch all files of a commit at once; git alone would ask for each of them."""
        listed = self.git.text("rev-list", "--objects", "--no-walk", "--missing=print", revision)
        missing = [line[1:] for line in listed.split("\n") if line.startswith("?")]  # paths may hold other ends of line
        if missing:
            fetch = ("fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--filter=blob:none", "--stdin", ORIGIN)
            self._network("-c", "fetch.negotiationAlgorithm=noop", *fetch, stdin="\n".join(missing).encode())

    def push(self, branch: str, commit: str, expected: str | None) -> None:
        """Move a branch from `expected` (None: it does not exist) to a commit; doing it again changes nothing.

        Raises:
            PlatformError: the branch is elsewhere, or the forge refuses.
        """
        lease = f"--force-with-lease=refs/heads/{branch}:{expected or ''}"
        target = f"{commit}:refs/heads/{branch}"
        done = self._network("push", "--porcelain", "--no-verify", lease, ORIGIN, target, missing_ok=True)
        if done.returncode == 0:
            return
        said = next((line for line in done.stdout.decode(errors="replace").splitlines() if line[:1] == "!"), "")
        if re.search(r"stale info|failed to update ref|cannot lock ref|fetch first|incorrect old value", said):
            raise moved(branch, expected)
        told = [line for line in done.stderr.decode(errors="replace").splitlines() if line.startswith("remote: ")]
        reason = "; ".join([said.rpartition("\t")[2], *(line.removeprefix("remote: ").strip() for line in told)])
        raise PlatformError(f"{self.url} refused a push to {branch}: {reason[:300]}")

    def _network(self, *arguments: str, stdin: bytes = b"", missing_ok: bool = False) -> CompletedProcess[bytes]:
        """A git command that talks to the forge, tried again on trouble.

        Raises:
            PlatformError: it fails for good, or to the end of the budget; not for an answer that `missing_ok` allows.
        """
        ends, pause = self.clock() + BUDGET_SECONDS, FIRST_PAUSE
        while True:
            done = self.git.run(*arguments, stdin=stdin, check=False)
            answered = done.returncode == 0 or (missing_ok and _answered(done))
            if answered:
                return done
            verb = next(one for one in arguments if one in ("fetch", "push", "ls-remote"))
            if FOR_GOOD.search(done.stderr.decode(errors="replace")) or self.clock() + pause > ends:
                raise PlatformError(f"git {verb} of {self.url} failed: {_last(done)}. Try again later.")
            self.sleep(pause)
            pause = min(2 * pause, LONGEST_PAUSE)


def _answered(done: CompletedProcess[bytes]) -> bool:
    """The forge said no: no such commit, or a refused push."""
    refused = any(line[:1] == b"!" for line in done.stdout.splitlines())
    return refused or NO_SUCH.search(done.stderr.decode(errors="replace")) is not None


def _last(done: CompletedProcess[bytes]) -> str:
    lines = done.stderr.decode(errors="replace").strip().splitlines()
    return lines[-1] if lines else f"exit code {done.returncode}"


def environment(url: str, token: str) -> dict[str, str]:
    """Git's settings for one forge: its credentials, no helper that would keep or ask for them, no redirect.

    A forge takes a token as the password of any user name (GitHub's documents name `x-access-token`).
    """
    settings = {
        "credential.helper": "",
        "http.followRedirects": "false",
        "http.lowSpeedLimit": "1000",  # bytes per second …
        "http.lowSpeedTime": "30",  # … for so many seconds are a dead connection
        "gc.auto": "0",
    }
    authorities = os.environ.get("GIT_SSL_CAINFO") or os.environ.get("SSL_CERT_FILE")
    if authorities:
        settings["http.sslCAInfo"] = authorities
    if token:
        basic = base64.b64encode(f"x-access-token:{token}".encode()).decode()
        settings[f"http.{url}.extraHeader"] = f"Authorization: Basic {basic}"
    pairs = list(settings.items())
    made = {"GIT_TERMINAL_PROMPT": "0", "GIT_ASKPASS": "echo", "LC_ALL": "C", "GIT_CONFIG_COUNT": str(len(pairs))}
    for number, (key, value) in enumerate(pairs):
        made |= {f"GIT_CONFIG_KEY_{number}": key, f"GIT_CONFIG_VALUE_{number}": value}
    return made
