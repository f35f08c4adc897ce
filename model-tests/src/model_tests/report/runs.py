"""The runs of a model, in the order in which a reader wants them."""

from typing import Any

from model_tests.report.tidy import line, mapping

ORDER = ("float32", "float16", "bfloat16", "float16-autocast", "bfloat16-autocast")


def runs(table: object) -> list[tuple[str, Any]]:
    """Return (name, entry) of a mapping by run: float32 first, then the candidates, then what else there is."""
    named = [(line(name), entry) for name, entry in mapping(table).items()]
    return sorted(named, key=lambda item: ORDER.index(item[0]) if item[0] in ORDER else len(ORDER))
