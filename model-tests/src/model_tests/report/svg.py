"""Turn matplotlib's SVG file into an element that can stand inside the page, several times, with a name and a text."""

import re
from collections.abc import Mapping
from itertools import product
from xml.etree import ElementTree

from model_tests.report.palette import themed

_NAMESPACE = re.compile(r"^\{[^}]*\}")
_LONG_NUMBER = re.compile(r"-?\d+\.\d{3,}")
_FONT_FAMILY = re.compile(r"font-family:[^;]*;\s*")
_DROPPED = {"metadata", "style"}
_NUMERIC = {"d", "x", "y", "transform", "points", "width", "height"}


def inline(svg: str, prefix: str, names: Mapping[str, tuple[str, str]]) -> str:
    """Return the file `svg` as one <svg> element whose ids start with `prefix`; matplotlib's global style is dropped.

    `names` is language -> (title, description). The page repeats them in the elements `prefix`-title and
    `prefix`-desc, which follow the reader's choice of language and are the accessible name.
    """
    root = ElementTree.fromstring(svg)  # noqa: S314 - matplotlib wrote it, and escaped the names in it
    for parent in root.iter():
        for child in [child for child in parent if _local(child.tag) in _DROPPED]:
            parent.remove(child)
    for element in root.iter():
        element.tag = _local(element.tag)
        element.attrib = {_attribute(key): _value(key, value, prefix) for key, value in element.attrib.items()}
    root.attrib = _root_attributes(root.attrib["viewBox"], prefix)
    for position, (tag, language) in enumerate(product(("title", "desc"), names)):
        named = ElementTree.Element(tag, lang=language)
        named.text = names[language][tag == "desc"]
        root.insert(position, named)
    return ElementTree.tostring(root, encoding="unicode")


def _local(name: str) -> str:
    return _NAMESPACE.sub("", name)


def _attribute(key: str) -> str:
    return _local(key)  # xlink:href became href in SVG 2


def _value(key: str, value: str, prefix: str) -> str:
    match _local(key):
        case "id":
            return f"{prefix}-{value}"
        case "href":
            return value.replace("#", f"#{prefix}-", 1)
        case "clip-path":
            return value.replace("url(#", f"url(#{prefix}-", 1)
        case "style":
            return themed(_FONT_FAMILY.sub("", value))
        case name if name in _NUMERIC:
            return _LONG_NUMBER.sub(lambda match: f"{float(match[0]):.2f}", value)
        case _:
            return value


def _root_attributes(view_box: str, prefix: str) -> dict[str, str]:
    _, _, width, height = view_box.split()
    return {
        "class": "chart",
        "viewBox": view_box,
        "width": width,
        "height": height,
        "role": "img",
        "aria-labelledby": f"{prefix}-title",
        "aria-describedby": f"{prefix}-desc",
        "stroke-linejoin": "round",
        "font-family": "sans-serif",
    }
