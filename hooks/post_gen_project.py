"""Finish a generated project: put the chosen starter and profile in place, then the conveniences.

The conveniences pin the platform, remember the template, make the first commit and say what comes next. None of them
may fail the generation, because cookiecutter would then delete the project: without git, an identity, a network or a
home folder the project is complete all the same. Without its starter it is not, so that step may.
"""

import json
import os
import re
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

CONTEXT = json.loads(r"""
{{ cookiecutter | tojson }}
""")

ANSWERS = ("project_name", "profile", "model", "accelerator", "course", "author", "forge", "registry")
ABBREVIATIONS = {"gh": "https://github.com/{0}.git", "gl": "https://gitlab.com/{0}.git", "bb": "https://bitbucket.org/{0}"}
PLATFORM = "requirements-platform.txt"
HERE = {"GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_COMMON_DIR", "GIT_PREFIX"}
NOBODY = ("-c", "user.name=gpulab template", "-c", "user.email=template@gpulab.invalid")


def choose() -> None:
    """Lay the chosen starter and profile over the project and remove what was not chosen.

    Raises:
        OSError: the template lacks it, or a file cannot be moved; the project would not be whole.
    """
    starter = Path("starters", CONTEXT["model"])
    if not (starter / "src").is_dir():
        raise FileNotFoundError(f"the template has no {(starter / 'src').as_posix()}")
    lay(starter / "src", Path("src", CONTEXT["__package"]))
    lay(starter / "tests", Path("tests"))
    lay(Path("profiles", CONTEXT["profile"]), Path())
    if (starter / "requirements.txt").is_file():
        more = (starter / "requirements.txt").read_text(encoding="utf-8")
        with Path("requirements.txt").open("a", encoding="utf-8", newline="\n") as file:
            file.write(more)
    for folder in filter(os.path.isdir, ("starters", "profiles")):
        shutil.rmtree(folder)


def lay(folder: Path, onto: Path) -> None:
    """Move every file of a folder to the same place below another; a file that is there already is replaced."""
    for file in sorted(path for path in folder.rglob("*") if path.is_file()):
        place = onto / file.relative_to(folder)
        place.parent.mkdir(parents=True, exist_ok=True)
        file.replace(place)


def git(*arguments: str, folder: Path | str = ".") -> str | None:
    """What git says, or None when it is missing, fails or hangs. Variables of a hook around us are not passed on."""
    environment = {name: value for name, value in os.environ.items() if name not in HERE}
    try:
        done = subprocess.run(
            ["git", *arguments], cwd=folder, capture_output=True, text=True, encoding="utf-8", errors="replace",
            stdin=subprocess.DEVNULL, timeout=60, env=environment | {"GIT_TERMINAL_PROMPT": "0"},
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip() if done.returncode == 0 else None


def template_folder() -> Path | None:
    """The template on this machine, when it is a git repository of its own.

    cookiecutter names it relative to the folder that it was started in, which a hook can only guess.
    """
    named = CONTEXT.get("_repo_dir") or CONTEXT["_template"]
    for start in (os.environ.get("PWD", ""), CONTEXT.get("_output_dir") or "", ".."):
        folder = Path(start, named)
        if (folder / "cookiecutter.json").is_file() and (folder / "hooks" / "post_gen_project.py").is_file():
            top = git("rev-parse", "--show-toplevel", folder=folder)
            return folder if top and Path(top).resolve() == folder.resolve() else None
    return None


def public(address: str) -> str:
    """A URL that others can fetch, without a password in it; empty when the address is a path of this machine."""
    short = re.fullmatch(r"(gh|gl|bb):(.+)", address)
    address = ABBREVIATIONS[short[1]].format(short[2]) if short else address.removeprefix("git+")
    secure_shell = re.fullmatch(r"([\w.-]+@[\w.-]+):(?!/)(.+)", address)
    if secure_shell:
        address = f"ssh://{secure_shell[1]}/{secure_shell[2]}"
    parts = urlsplit(address)
    if parts.scheme not in ("https", "http", "ssh", "git") or not parts.hostname:
        return ""
    place = parts.netloc if parts.scheme == "ssh" else parts.netloc.rpartition("@")[2]
    return urlunsplit((parts.scheme, place, parts.path, "", ""))


def source(folder: Path | None) -> tuple[str, str]:
    """URL and commit of the template, each empty when unknown: a commit that nobody can fetch has no URL."""
    commit = CONTEXT.get("_commit") or (git("rev-parse", "HEAD", folder=folder) if folder else None) or ""
    url = public(CONTEXT["_template"])
    if not url and folder and commit:
        published = git("for-each-ref", "--count=1", "--contains", commit, "refs/remotes", folder=folder)
        url = public(git("remote", "get-url", "origin", folder=folder) or "") if published else ""
    return url, commit


def pin_platform(url: str, commit: str) -> None:
    """Write which gpulab this project was made for: the template's own commit, or its version when there is none."""
    if not commit:
        return  # the file as generated names the version
    where = f"git+{url or '${GPULAB_TEMPLATE}'}@{commit}#subdirectory="
    lines = ["# gpulab as it was when this project was generated; `cruft update` moves it.", ""]
    if not url:
        lines[1:] = ["# Set GPULAB_TEMPLATE to where the template lies, for example file:///home/me/gpulab.", ""]
    lines += [f"gpulab @ {where}workflows", f"gpulab-model-tests[torch] @ {where}model-tests"]
    Path(PLATFORM).write_text("\n".join(lines) + "\n", encoding="utf-8", newline="\n")


def link_template(url: str, commit: str) -> bool:
    """Write .cruft.json, so that `cruft update` works although plain cookiecutter made the project."""
    if not (url and commit):
        return False
    answers = {key: value for key, value in CONTEXT.items() if not key.startswith("_")}
    link = {"template": url, "commit": commit, "checkout": CONTEXT.get("_checkout")}
    link |= {"context": {"cookiecutter": answers}, "directory": None}
    Path(".cruft.json").write_text(json.dumps(link, indent=2) + "\n", encoding="utf-8", newline="\n")
    return True


def first_commit() -> bool:
    """Make the folder a repository with one commit on main, and the local forge its remote; leave an existing one."""
    if Path(".git").exists():
        return True
    if git("init", "--quiet") is None:
        return False
    git("symbolic-ref", "HEAD", "refs/heads/main")
    if CONTEXT["forge"] == "local":
        git("remote", "add", "lab", "./.gpulab/forge.git")
    known = git("config", "user.email") or os.environ.get("GIT_AUTHOR_EMAIL")
    options = ("-c", f"core.hooksPath={os.devnull}", *(() if known else NOBODY))
    commit = ("commit", "--quiet", "--no-gpg-sign", "-m", "Generate the project from the gpulab template")
    return git("add", "--all") is not None and git(*options, *commit) is not None


def next_steps(cruft: bool, linked: bool, committed: bool) -> list[str]:
    """The answers that were used, and what to type now."""
    lines = ["", "Your project was made with these answers:"]
    lines += [f"  {key:<13} {CONTEXT[key] or '(none)'}" for key in ANSWERS]
    if cruft or not committed:
        lines += ["", f"First make it a repository, in the folder {CONTEXT['project_slug']}:"]
        local = " && git remote add lab ./.gpulab/forge.git" if CONTEXT["forge"] == "local" else ""
        lines += [f"  git init -b main{local}"]
        lines += ["  git add --all && git commit -m 'Generate the project'"]
    if not (cruft or linked):
        lines += ["", "To take updates of the template later: cruft link <URL of the template>"]
    lines += ["", "Next:", *numbered(commands(CONTEXT["project_slug"], complete()))]
    if CONTEXT["forge"] != "local":
        lines += ["", "Once per project, whoever looks after the cluster types there: gpulab project connect"]
    return [*lines, ""]


def numbered(lines: list[str]) -> list[str]:
    """`  1. …`, `  2. …`."""
    return [f"  {number}. {line}" for number, line in enumerate(lines, 1)]


def commands(folder: str, installed: bool) -> list[str]:
    """What to type; without make where there is none, without a setup where nothing is left to install."""
    host = {"gitea": "https://YOUR-GITEA", "github": "https://github.com"}.get(CONTEXT["forge"])
    remote = f"git remote add origin {host}/OWNER/{folder}.git" if host else ""
    if os.name == "nt":
        setup = [] if installed else ["gpulab setup"]
        return [f"cd {folder}", *setup, "gpulab check", "gpulab test", *filter(None, [remote]), "gpulab push"]
    push = f"{remote} && make push" if remote else "make push"
    return [f"cd {folder}" + ("" if installed else " && make setup"), "make check test", push]


def complete() -> bool:
    """Whether the environment that runs this hook has all that a project needs: one can serve many projects."""
    return all(find_spec(name) for name in ("gpulab", "torch", "pytest", "ruff", "fastapi"))


def main() -> None:
    """The conveniences, the most useful first."""
    folder = template_folder()
    url, commit = source(folder)
    cruft = "_commit" in CONTEXT  # cruft writes its own .cruft.json after this hook, so a commit now would miss it
    pin_platform(url, commit)
    linked = not cruft and link_template(url, commit)
    committed = not cruft and first_commit()
    print("\n".join(next_steps(cruft, linked, committed)))


for stream in (sys.stdout, sys.stderr):
    stream.reconfigure(errors="backslashreplace")  # a terminal that lacks a character must not cost the project
try:
    choose()
except OSError as error:
    raise SystemExit(f"ERROR: the chosen starter could not be put in place, so no project was made: {error}") from None
try:
    main()
except Exception as error:  # see the module's first lines
    print(f"The project is complete; a convenience failed: {type(error).__name__}: {error}", file=sys.stderr)
