"""What the generated cases are made of: hostile snippets, edits of valid texts, values that are nearly right."""

import copy
import os
from typing import Any

from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st

HOSTILE = [
    *(
        "$(touch canary)",
        "`touch canary`",
        "${HOME}",
        "$((1/0))",
        "; touch canary #",
        "| touch canary",
        "&& touch canary",
    ),
    *("{{=6*7}}", "{{workflow.name}}", "{{ 7*7 }}", "{% raw %}", "{{cookiecutter.author}}", "%s%n", "{0.__class__}"),
    *("__import__('os').system('touch canary')", "!!python/object/apply:os.system ['touch canary']", "&a [*a,*a]"),
    *("../../etc/passwd", "/dev/zero", "~root", "-rf", "--upload-pack=touch canary", "@{u}", "refs/heads/main^{}"),
    *("\x00", "\x1b[31m", "\u202e", "\ud800".encode("utf-8", "surrogatepass").decode("utf-8", "replace"), "\ufeff"),
    *("\r\n", "\n", "\t", " ", "'", '"', '"""', "\\", "\\u0000", "#", "[", "]", "{", "}", "=", ":", ",", ".", "<!--"),
    *("é", "😀", "ﬁ", "١٢", "０", "null", "true", "1e999", "nan", "-0", "0x10", "1_000", "9" * 400, "A" * 5000),
]
snippets = st.sampled_from(HOSTILE) | st.text(max_size=6)

VALUES: list[Any] = [
    *(None, True, False, 0, 1, -1, 2**31, 2**63, 2**200, 0.5, -0.0, 1e308, float("inf"), float("nan")),
    *("", "x", [], {}, [[]], [None], {"": None}, {"name": "x"}, ["x", 1], [{}], b"x"),
    *HOSTILE,
]
values = st.sampled_from(VALUES).map(copy.deepcopy)  # they are edited further


def cases(number: int) -> settings:
    """Settings of a test of that many cases; the same ones each time."""
    return settings(
        max_examples=int(number * float(os.environ.get("GPULAB_FUZZ", "1"))),
        derandomize=True,
        database=None,
        phases=[Phase.explicit, Phase.generate, Phase.shrink],
        suppress_health_check=[*HealthCheck],
    )


@st.composite
def edited(draw: st.DrawFn, text: str) -> str:
    """A text with up to four pieces replaced, removed, doubled or put in."""
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(text)))
        end = min(len(text), start + draw(st.sampled_from([0, 0, 1, 3, 12, 60])))
        piece = draw(snippets) if draw(st.booleans()) else text[start:end] * draw(st.integers(0, 3))
        text = text[:start] + piece + text[end:]
    return text


def places(value: Any, here: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    """Every place of a document where a value stands."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [here, *(place for key, item in items for place in places(item, (*here, key)))]


@st.composite
def disturbed(draw: st.DrawFn, document: Any) -> Any:
    """A document with up to three values replaced, removed, added or moved to another place."""
    document = copy.deepcopy(document)
    for _ in range(draw(st.integers(1, 3))):
        known = [place for place in places(document) if place]
        if not known:
            return document
        *way, last = draw(st.sampled_from(known))
        parent = document
        for key in way:
            parent = parent[key]
        edit = draw(st.sampled_from(["replace", "remove", "add", "text", "swap"]))
        if edit == "remove":
            del parent[last]
        elif edit == "add" and isinstance(parent, dict):
            parent[draw(st.sampled_from(["name", "default", "{{x}}"]) | snippets)] = draw(values)
        elif edit == "text" and isinstance(parent[last], str):
            parent[last] = draw(edited(parent[last]))
        elif edit == "swap":
            parent[last] = copy.deepcopy(reach(document, draw(st.sampled_from(known))))
        else:
            parent[last] = draw(values)
    return document


def reach(document: Any, place: tuple[str | int, ...]) -> Any:
    """The value at a place, None when it is gone by now."""
    for key in place:
        try:
            document = document[key]
        except (KeyError, IndexError, TypeError):
            return None
    return document
