"""The names that `model_tests` knows, read without importing torch."""

from functools import cache
from typing import Any


@cache
def accelerators() -> dict[str, Any]:
    """The catalogue: name -> `model_tests.hardware.Accelerator`, in the catalogue's order."""
    from model_tests import hardware

    return dict(hardware.catalogue())


@cache
def references() -> tuple[str, ...]:
    """Platform-owned references that `[model] reference` may name."""
    from model_tests.references import REFERENCES

    return tuple(REFERENCES)


def keywords_of(family: str) -> tuple[str, ...]:
    """The keyword arguments that the memory estimate of a family needs, each a whole number."""
    from model_tests.memory import llama

    return llama.REQUIRED if family == "llama" else ()
