"""The report's own words in every language, and how both languages stand in one file."""

import tomllib
from functools import cache
from importlib.resources import files

from markupsafe import Markup

LANGUAGES = ("en", "zh")
# The separator shows only where no style sheet hides one of the languages.
_BOTH = Markup('<span lang="en">{en}</span><span class="sep"> / </span><span lang="zh">{zh}</span>')


@cache
def texts() -> dict[str, dict[str, dict[str, str]]]:
    """Return section -> name -> language -> text with named holes."""
    source = files("model_tests.report").joinpath("labels.toml").read_text(encoding="utf-8")
    return tomllib.loads(source)


def text(key: str, language: str, **values: object) -> str:
    """Return one label ("section.name") in one language as plain text; KeyError for an unknown key."""
    section, _, name = key.partition(".")
    return texts()[section][name][language].format(**values)


def label(key: str, **values: object) -> Markup:
    """Return one label in both languages as HTML; `values` are escaped unless they are Markup."""
    section, _, name = key.partition(".")
    found = texts()[section][name]
    return both(*(Markup(found[language]).format(**values) for language in LANGUAGES))  # noqa: S704 - our own file


def unit(name: str) -> Markup:
    """Return a gate's unit in both languages, as it is when the labels do not know it."""
    found = texts()["unit"].get(name, dict.fromkeys(LANGUAGES, name))
    return both(*(found[language] for language in LANGUAGES))


def both(en: str, zh: str) -> Markup:
    """Return two texts (escaped unless they are Markup) as a switchable fragment, or as one text if they are equal."""
    return Markup("{}").format(en) if en == zh else _BOTH.format(en=en, zh=zh)
