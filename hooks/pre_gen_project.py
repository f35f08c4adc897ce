"""Refuse, in one line and before a file is written, the answers that could not be taken over as they are.

An answer is data: quotes, backslashes, emoji and any script of the world are fine. What is left are names that
Kubernetes, Python or Windows would refuse later, and characters that a reader cannot see.
"""

import json
import keyword
import re
import sys
import unicodedata
from collections.abc import Iterator

ANSWERS = json.loads(r"""
{{ cookiecutter | tojson }}
""")

SLUG = re.compile(r"[a-z](?:[-a-z0-9]{0,38}[a-z0-9])?")
COURSE = re.compile(r"[a-z0-9](?:[-a-z0-9]{0,38}[a-z0-9])?")
REGISTRY = re.compile(
    r"[a-z0-9](?:[-a-z0-9.]*[a-z0-9])?(?::[0-9]{1,5})?(?:/[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*)*"
)
LONGEST = 120

JINJA = ("{" + "{", "{" + "%", "{" + "#")
INVISIBLE = {"Cc", "Cs", "Zl", "Zp"}  # control characters, halves of characters, line and paragraph separators
TURNS = set("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")  # change the reading direction unseen

WINDOWS = {"con", "prn", "aux", "nul", *(f"{port}{n}" for port in ("com", "lpt") for n in range(1, 10))}
INSTALLED = {
    "accelerate", "anyio", "conftest", "distutils", "fastapi", "functorch", "gpulab", "gpulab_model_tests", "h11",
    "hera", "httpcore", "httpx", "huggingface_hub", "idna", "jinja2", "kubectl", "matplotlib", "model_tests", "numpy",
    "pip", "pluggy", "prometheus_client", "pydantic", "pydantic_core", "pytest", "rich", "ruff", "safetensors", "scipy",
    "setuptools", "sitecustomize", "src", "starlette", "sympy", "test", "tests", "tokenizers", "tomlkit", "torch",
    "torchgen", "torchvision", "transformers", "triton", "typer", "typing_extensions", "usercustomize", "uv", "uvicorn",
    "yaml",
}
SCALARS = {"null", "true", "false", "yes", "no", "on", "off", "y", "n"}


def free_text(key: str, default: str) -> Iterator[str]:
    """Why an answer cannot stand on one line of lab.toml."""
    text = ANSWERS[key]
    if not text.strip():
        yield f"{key} is empty: type one, for example {default}"
    if len(text) > LONGEST:
        yield f"{key} has {len(text)} characters, up to {LONGEST} are allowed: try {shown(text[:30].strip())}"
    if any(sign in text for sign in JINJA):
        yield f"{key} {shown(text)} contains template syntax ({' '.join(JINJA)}): write it without doubled braces"
    if any(hidden(letter) for letter in text):
        clean = " ".join("".join(" " if hidden(letter) else letter for letter in text).split())
        yield f"{key} {shown(text)} contains characters that cannot be seen or break the line: try {shown(clean)}"


def hidden(letter: str) -> bool:
    """Whether a character is invisible or changes how the rest is read."""
    return letter in TURNS or unicodedata.category(letter) in INVISIBLE


def shown(text: str) -> str:
    """The text on one line, at most 60 characters, in ASCII so that any terminal can print it."""
    return json.dumps(text if len(text) <= 60 else text[:57] + "...")


def names() -> Iterator[str]:
    """Why folder, namespace or package could not be named after the project."""
    slug, package = ANSWERS["project_slug"], ANSWERS["__package"]
    if (slug, package) != (ANSWERS["__slug"], ANSWERS["__slug"].replace("-", "_")):
        yield f"folder {shown(slug)} and package {shown(package)} must follow from project_name: do not set them"
    elif slug == "-":
        yield f"project_name {shown(ANSWERS['project_name'])} has no letter or digit to name a folder: try GPU Lab 1"
    elif not SLUG.fullmatch(slug):
        yield f"project_name gives the folder name {shown(slug)}, which must start with a letter: try lab-{slug[:30]}"
    elif taken(slug, package):
        yield f"project_name gives the name {slug}, which {taken(slug, package)}: try {slug}-lab"


def taken(slug: str, package: str) -> str:
    """Who else owns the name; empty when nobody does."""
    if slug in WINDOWS:
        return "Windows keeps for a device"
    if slug in SCALARS:
        return "YAML reads as a value"
    if keyword.iskeyword(package):
        return "is a word of the Python language"
    if package in sys.stdlib_module_names:
        return "would hide Python's own module"
    return "would hide an installed package" if package in INSTALLED else ""


def course() -> Iterator[str]:
    """A course is part of labels and of namespaces."""
    name = ANSWERS["course"]
    if name and not COURSE.fullmatch(name):
        letters = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode().lower()
        better = "-".join(re.findall(r"[a-z0-9]+", letters))[:40].strip("-") or "none"
        yield f"course {shown(name)} may have lower-case letters, digits and dashes, up to 40: try {better}"


def registry() -> Iterator[str]:
    """Why images cannot be kept there."""
    place = ANSWERS["registry"]
    if place == "local":
        return
    if not REGISTRY.fullmatch(place) or len(place) > LONGEST:
        better = re.sub(r"^[a-z]+://", "", place.strip().lower()).strip("/")
        better = better if REGISTRY.fullmatch(better) and len(better) <= LONGEST else "registry.example.org/team"
        yield f"registry {shown(place)} must be a host with a path, in lower case, without https://: try {better}"
    elif ANSWERS["forge"] == "local":
        yield f"registry {shown(place)} is for images built in a cluster, and forge is local: try local"


def main() -> int:
    """The first problem only: one line, and what to type instead."""
    texts = (*free_text("project_name", "GPU Lab 1"), *names(), *course(), *free_text("author", "blue-heron"))
    for problem in (*texts, *registry()):
        print(f"ERROR: {problem}", file=sys.stderr)
        return 1
    return 0


raise SystemExit(main())
