"""`git push` with words: which branch goes, what must not go, and what a refusal means."""

import os
import re
import subprocess

from gpulab.cli.project import Project
from gpulab.errors import GpulabError, InputError, PlatformError
from gpulab.events import NAMES, PUSHED_REF, RESERVED
from gpulab.forges.local.git import Git, clean_environment
from gpulab.forges.local.hook import QUIET

BEHIND = ("fetch first", "non-fast-forward", "cannot lock ref", "failed to update ref", "stale info")
"""How git says that the branch holds what this push does not, or that another push was faster."""


def branch_to_push(project: Project, allow_dirty: bool) -> str:
    """The current branch: no commits, no main, a name that starts no run, or changes left out are refused.

    Raises:
        InputError: saying what to type.
    """
    git = project.git
    if git.commit_id("HEAD") is None:
        raise InputError("this repository has no commit yet. Type: git add -A && git commit -m 'Start'")
    if git.commit_id("refs/heads/main") is None:
        raise InputError("there is no branch main here. Type: git branch -m main")
    branch = current_branch(git)
    if not branch:
        raise InputError("you are on no branch. Type: git switch main, or git switch -c A-NEW-BRANCH")
    refuse_name(branch)
    if not allow_dirty:
        refuse_changes(git)
    return branch


def current_branch(git: Git) -> str:
    """The branch of HEAD; empty when it is on none. Not git's short name, which a tag of the same name changes."""
    done = git.run("symbolic-ref", "--quiet", "HEAD", check=False)
    return done.stdout.decode(errors="replace").strip().removeprefix("refs/heads/")


def refuse_name(branch: str) -> None:
    """A branch that would start no run, or is the platform's.

    Raises:
        InputError: with the way out.
    """
    ref = f"refs/heads/{branch}"
    if re.match(RESERVED, ref):
        raise InputError(f"{branch} is a branch of gpulab's own. Type: git switch main, or git branch -m ANOTHER-NAME")
    if re.fullmatch(PUSHED_REF[1:-1], ref) is None:
        raise InputError(f"branch {branch[:80]!r}: a name may use {NAMES} characters. Type: git branch -m ANOTHER-NAME")


def refuse_changes(git: Git) -> None:
    """Changes that the push would silently leave out.

    Raises:
        InputError: naming them.
    """
    changed = git.run("status", "--porcelain").stdout.decode(errors="replace").splitlines()
    if changed:
        files = ", ".join(line[3:] for line in changed[:5])
        more = " …" if len(changed) > 5 else ""
        raise InputError(
            f"not committed: {files}{more}. Type: git add -A && git commit -m 'What I changed', "
            "or `gpulab push --allow-dirty` to push the last commit without it"
        )


def git_push(project: Project, branch: str) -> None:
    """`git push REMOTE BRANCH`; git's own words pass through. A local hook starts the run and does not follow it.

    Raises:
        InputError: the forge holds commits that this branch lacks, or its hook refused what is pushed.
        PlatformError: git could not push.
    """
    ref = f"refs/heads/{branch}"
    command = ["git", "-C", str(project.root), "push", "--porcelain", project.remote, f"{ref}:{ref}"]
    environment = clean_environment() | {QUIET: "1"} | _ssh()
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, check=False)
    if done.returncode != 0:
        raise refusal(done.stdout.decode(errors="replace"), branch, project.remote)


def refusal(porcelain: str, branch: str, remote: str) -> GpulabError:
    """The error that git's machine-readable answer (`!\\tFROM:TO\\t[rejected] (why)`) stands for."""
    rows = [line.split("\t") for line in porcelain.splitlines() if line.startswith("!\t")]
    why = rows[0][-1] if rows else ""
    if any(one in why for one in BEHIND):
        return InputError(
            f"the forge's {branch} holds commits that yours lacks. Your commits are where they were. "
            f"Type: git pull --rebase {remote} {branch} && gpulab push   (to throw the forge's commits away instead: "
            f"git push --force-with-lease {remote} {branch})"
        )
    if "shallow update" in why:
        return InputError(
            "this is a shallow clone, which the forge does not take. Type: git fetch --unshallow && gpulab push"
        )
    if "hook declined" in why:
        return InputError("the push was refused; the line above says why. Your commits are where they were.")
    reason = f" ({why})" if why else ""
    return PlatformError(f"git could not push{reason}; it says why above. Your commits are safe. Try: gpulab push")


def _ssh() -> dict[str, str]:
    return {name: os.environ[name] for name in ("GIT_SSH", "GIT_SSH_COMMAND", "GIT_ASKPASS") if name in os.environ}
