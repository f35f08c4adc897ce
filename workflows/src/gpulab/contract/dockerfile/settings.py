"""Rules about ARG, ENV, USER and CMD: secrets, devices, who it runs as and how it is stopped."""

import re
from collections.abc import Iterator

from gpulab.contract.dockerfile.base_images import base_of, lane_of
from gpulab.contract.dockerfile.rule import Hit, Rule
from gpulab.contract.dockerfile.syntax import Dockerfile, Instruction, settings

_SECRET_WORDS = frozenset({"PASSWORD", "PASSWD", "SECRET", "TOKEN", "CREDENTIAL", "CREDENTIALS", "APIKEY"})
_SECRET_PAIRS = re.compile(r"(?:API|ACCESS|PRIVATE|SECRET|SSH)_KEY")
_TEXT_TOKENS = frozenset({"PAD", "EOS", "BOS", "UNK", "SEP", "CLS", "MASK"})
"""Tokens of a tokenizer, which are no secret."""

_SECRET_VALUE = re.compile(
    r"hf_[A-Za-z0-9]{20,}|gh[pousr]_[A-Za-z0-9]{30,}|github_pat_\w{20,}|glpat-[\w-]{20,}|AKIA[0-9A-Z]{16}|"
    r"-----BEGIN [A-Z ]*PRIVATE KEY"
)


def _settings(dockerfile: Dockerfile) -> Iterator[tuple[Instruction, str]]:
    for entry in dockerfile.instructions:
        if entry.name in ("ARG", "ENV"):
            for name, _ in settings(entry):
                yield entry, name


def _is_secret(name: str) -> bool:
    words = name.upper().split("_")
    text = len(words) > 1 and words[-1] == "TOKEN" and words[-2] in _TEXT_TOKENS
    return not text and bool(_SECRET_WORDS & set(words) or _SECRET_PAIRS.search(name.upper()))


def no_secret_names(dockerfile: Dockerfile) -> Iterator[Hit]:
    """ARG and ENV stay in the image's history, for everyone who can pull it."""
    for entry, name in _settings(dockerfile):
        if _is_secret(name):
            hint = f"Type: RUN --mount=type=secret,id={name.lower()} … and read /run/secrets/{name.lower()}"
            yield Hit(entry.line, f"{entry.name} {name} would stay in the image's history", hint)


def no_secret_values(dockerfile: Dockerfile) -> Iterator[Hit]:
    """A key that was pasted is known to everyone who can read the repository."""
    for entry in dockerfile.instructions:
        if found := _SECRET_VALUE.search(entry.text):
            message = f"found what looks like a key ({found[0][:8]}…)"
            yield Hit(entry.line, message, "Revoke the key, then delete it from the line.")


def devices_come_from_the_scheduler(dockerfile: Dockerfile) -> Iterator[Hit]:
    """NVIDIA_VISIBLE_DEVICES in an image shows a pod GPUs that it has not asked for."""
    for entry, name in _settings(dockerfile):
        if name == "NVIDIA_VISIBLE_DEVICES":
            yield Hit(entry.line, f"{name} would pass by the scheduler", "Delete the line: Kubernetes gives the GPU.")


def _last_user(dockerfile: Dockerfile) -> Instruction | None:
    body = dockerfile.stages[-1].body if dockerfile.stages else ()
    return next((entry for entry in reversed(body) if entry.name == "USER"), None)


def is_not_root(dockerfile: Dockerfile) -> Iterator[Hit]:
    """Pod Security `restricted` starts no container as root; a lane (which ARG may name later) has its user."""
    user, base = _last_user(dockerfile), base_of(dockerfile)
    if user is None and base is not None and base.image is not None and lane_of(base) is None:
        last = dockerfile.instructions[-1]
        yield Hit(last.line, "no USER: the container would run as root and not be started", "Type: USER 1000")
    if user is not None and re.split(r"[:\s]", user.text)[0] in ("root", "0"):
        yield Hit(
            user.line, f"USER {user.text}: the container would not be started", "Type: USER 1000, as the last USER."
        )


def is_a_number(dockerfile: Dockerfile) -> Iterator[Hit]:
    """The kubelet cannot tell from a name that a user is not root (runAsNonRoot)."""
    user = _last_user(dockerfile)
    name = re.split(r"[:\s]", user.text)[0] if user else ""
    if user is not None and name != "root" and not re.fullmatch(r"\d+|\$.*", name):
        message = f"USER {name}: Kubernetes cannot see that this is not root"
        yield Hit(user.line, message, "Type: USER 1000, the number of that user.")


def is_stopped_by_a_signal(dockerfile: Dockerfile) -> Iterator[Hit]:
    """In shell form a shell gets SIGTERM and the service is killed 30 seconds later."""
    for entry in dockerfile.stages[-1].body if dockerfile.stages else ():
        if entry.name in ("CMD", "ENTRYPOINT") and not entry.text.startswith("["):
            words = ", ".join(f'"{word}"' for word in entry.text.split())
            yield Hit(
                entry.line, f"{entry.name} in shell form does not pass SIGTERM on", f"Type: {entry.name} [{words}]"
            )


RULES = (
    Rule("secret-name", "error", no_secret_names),
    Rule("secret-value", "error", no_secret_values),
    Rule("visible-devices", "error", devices_come_from_the_scheduler),
    Rule("user-root", "error", is_not_root),
    Rule("user-name", "warning", is_a_number),
    Rule("shell-form", "warning", is_stopped_by_a_signal),
)
