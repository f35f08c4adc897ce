"""Rules about RUN and ADD: what is installed, and from where."""

import re
from collections.abc import Iterator
from itertools import pairwise

from gpulab.contract.dockerfile.base_images import last_lane, repository_of
from gpulab.contract.dockerfile.rule import Hit, Rule
from gpulab.contract.dockerfile.shell import Command, commands, installs
from gpulab.contract.dockerfile.syntax import Dockerfile, Instruction

BARE_SYSTEMS = frozenset({"ubuntu", "debian", "cuda"})
"""Last parts of base images that bring no pip."""

_PIP_WITH_VALUE = re.compile(
    r"-[rciftp]|--(?:requirement|constraint|index-url|extra-index-url|find-links|target|prefix|root|python-version|"
    r"platform|only-binary|no-binary|timeout|retries|trusted-host|cache-dir|progress-bar|python)"
)
_INTERPRETER = re.compile(r"(?:ba|da|z)?sh|python[0-9.]*|perl|node")


def _runs(dockerfile: Dockerfile) -> Iterator[tuple[Instruction, tuple[Command, ...]]]:
    for entry in dockerfile.instructions:
        if entry.name == "RUN":
            yield entry, commands(entry)


def _installs(dockerfile: Dockerfile, manager: str) -> Iterator[tuple[Instruction, tuple[str, ...]]]:
    for entry, found in _runs(dockerfile):
        for command in found:
            if (words := installs(command, manager)) is not None:
                yield entry, words


def _packages(words: tuple[str, ...]) -> list[str]:
    return [word for word in words if not word.startswith("-")]


def apt_answers_yes(dockerfile: Dockerfile) -> Iterator[Hit]:
    """Nobody answers apt's question in a build."""
    for entry, words in _installs(dockerfile, "apt"):
        if not any(re.fullmatch(r"--yes|--assume-yes|-[a-z]*y[a-z]*|-qq", word) for word in words):
            again = " ".join(_packages(words)) or "…"
            hint = f"Type: apt-get install -y --no-install-recommends {again}"
            yield Hit(entry.line, "apt-get install without -y waits for an answer that never comes", hint)


def apt_knows_its_packages(dockerfile: Dockerfile) -> Iterator[Hit]:
    """Images ship without package lists, and a list from an earlier layer gets old in the cache."""
    for entry, found in _runs(dockerfile):
        updated = False
        for command in found:
            updated = updated or (command.name in ("apt", "apt-get") and "update" in command.words)
            if installs(command, "apt") is not None and not updated:
                hint = "Type: RUN apt-get update && apt-get install -y …, in one RUN."
                yield Hit(entry.line, "apt-get install without apt-get update in the same RUN", hint)
                break


def apt_leaves_the_driver(dockerfile: Dockerfile) -> Iterator[Hit]:
    """The driver belongs to the node, CUDA to the lane's wheels: a second one breaks both."""
    for entry, words in _installs(dockerfile, "apt"):
        for package in _packages(words):
            if re.match(r"cuda(?:-|$)|nvidia-|libnvidia-|libcudnn", package):
                message = f"{package} from apt: the driver belongs to the node and CUDA comes with the lane"
                yield Hit(entry.line, message, f"Delete {package}, and build FROM a CUDA lane.")


def pip_is_there(dockerfile: Dockerfile) -> Iterator[Hit]:
    """A bare system image has no pip until python3-pip is installed."""
    for stage in dockerfile.stages:
        has_pip = repository_of(stage.image or "").rsplit("/", 1)[-1] not in BARE_SYSTEMS
        for entry in stage.body:
            for command in commands(entry) if entry.name == "RUN" else ():
                packages = installs(command, "apt") or ()
                has_pip = has_pip or "python3-pip" in packages or command.name in ("venv", "get-pip.py", "uv")
                has_pip = has_pip or "venv" in command.words or "ensurepip" in command.words
                if not has_pip and installs(command, "pip") is not None and command.name != "uv":
                    hint = "Type: RUN apt-get update && apt-get install -y python3-pip, above this line."
                    yield Hit(entry.line, f"{command.name} is used, but nothing has installed python3-pip", hint)
                    has_pip = True


def pip_is_pinned(dockerfile: Dockerfile) -> Iterator[Hit]:
    """An unpinned package is another one next week."""
    for entry, words in _installs(dockerfile, "pip"):
        if loose := [name for name in _requirements(words) if not _is_pinned(name)]:
            hint = f"Type: {loose[0]}==version, or pip install -r requirements.lock"
            yield Hit(entry.line, f"pip install without a version: {', '.join(loose)}", hint)


def _requirements(words: tuple[str, ...]) -> Iterator[str]:
    if any(word in ("-c", "--constraint") or word.startswith("--constraint=") for word in words):
        return
    skip = False
    for word in words:
        if not skip and not word.startswith("-"):
            yield word
        skip = _PIP_WITH_VALUE.fullmatch(word) is not None


def _is_pinned(requirement: str) -> bool:
    return bool(re.search(r"==|@|\$|/|^\.|\.(?:whl|tar\.gz|zip)$", requirement))


def pip_leaves_torch(dockerfile: Dockerfile) -> Iterator[Hit]:
    """The lane's PyTorch matches its CUDA; another one may not."""
    if last_lane(dockerfile) is None:
        return
    for entry, words in _installs(dockerfile, "pip"):
        if any(re.match(r"torch(?:$|[=<>~!\[ ])", word) for word in words):
            yield Hit(
                entry.line, "torch is installed over the lane's own", "Delete torch from the line: the lane has it."
            )


def nothing_is_piped_into_a_shell(dockerfile: Dockerfile) -> Iterator[Hit]:
    """What a server sends today is run unseen."""
    for entry, found in _runs(dockerfile):
        for before, after in pairwise(found):
            if after.piped and before.name in ("curl", "wget") and _INTERPRETER.fullmatch(after.name):
                hint = "Type: curl -fsSLo FILE URL && echo 'SHA256  FILE' | sha256sum -c && sh FILE"
                yield Hit(entry.line, f"{before.name} is piped into {after.name}: nobody sees what runs", hint)


def build_is_unprivileged(dockerfile: Dockerfile) -> Iterator[Hit]:
    """Builds are rootless: there are no privileges to give."""
    for entry in dockerfile.instructions:
        found = (
            re.search(r"--privileged|--security=insecure|--network=host", entry.text) if entry.name == "RUN" else None
        )
        if found:
            yield Hit(entry.line, f"{found[0]} asks for what a rootless build does not have", f"Delete {found[0]}.")


def nothing_is_added_from_the_net(dockerfile: Dockerfile) -> Iterator[Hit]:
    """ADD of a URL has no checksum and is never cached right."""
    for entry in dockerfile.instructions:
        found = re.search(r"(?:https?|git|ftp)://\S+|git@\S+", entry.text) if entry.name == "ADD" else None
        if found and "--checksum=" not in entry.text:
            hint = f"Type: ADD --checksum=sha256:… {found[0]} …"
            yield Hit(entry.line, f"ADD {found[0]} takes whatever is there", hint)


RULES = (
    Rule("apt-yes", "error", apt_answers_yes),
    Rule("apt-update", "error", apt_knows_its_packages),
    Rule("apt-cuda", "error", apt_leaves_the_driver),
    Rule("pip-missing", "error", pip_is_there),
    Rule("pip-unpinned", "warning", pip_is_pinned),
    Rule("pip-torch", "warning", pip_leaves_torch),
    Rule("pipe-to-shell", "error", nothing_is_piped_into_a_shell),
    Rule("privileged", "error", build_is_unprivileged),
    Rule("add-url", "error", nothing_is_added_from_the_net),
)
