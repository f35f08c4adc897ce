"""Rules of `lab.toml` that need more than one key, or a list that another package owns.

A rule gets the tables it needs, already valid by themselves, so that a mistake in one table does not hide those in
another.
"""

import keyword
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from gpulab.contract import known
from gpulab.contract.finding import Finding, wrong
from gpulab.contract.float32_rules import exceptions_stay_exceptions
from gpulab.contract.input_rules import inputs_are_distinct, inputs_can_be_drawn, tokens_fit_the_llama
from gpulab.contract.int8_rules import labels_need_classes
from gpulab.contract.lab import Hardware, Model, Precision, Project, Serving
from gpulab.contract.llama_rules import heads_divide
from gpulab.contract.words import as_toml, did_you_mean, nearest, one_of, shown

PLATFORM_RATIO = {"cpu": 1.5, "gpu": 2.0}
"""The platform's bounds of the precision ratio (design: Precision 4)."""

TAKEN_NAMES = frozenset(
    {
        *("torch", "numpy", "model_tests", "gpulab", "fastapi", "uvicorn", "prometheus_client"),
        *("pytest", "test", "tests", "src", "conftest", "sitecustomize", "usercustomize"),
    }
)
"""Packages that a project's own would hide, beside the standard library's."""


def package_hides_nothing(project: Project) -> Iterator[Finding]:
    """`src/` stands first in the path: a package named `torch` would be imported instead of PyTorch."""
    word = keyword.iskeyword(project.package)
    if word or project.package in TAKEN_NAMES | sys.stdlib_module_names:
        other = f"{project.package}_lab"
        why = "is a word of the Python language" if word else "hides another package of that name"
        yield wrong(
            "[project] package",
            f"found {shown(project.package)}, which {why}",
            f"Type: {as_toml('package', other)} and rename src/{project.package} to src/{other}.",
        )


def reference_is_known(model: Model) -> Iterator[Finding]:
    """A reference belongs to the platform: a project only names it."""
    names = known.references()
    if model.reference and model.reference not in names:
        meant = did_you_mean(model.reference, names)
        yield wrong(
            "[model] reference",
            f'found {shown(model.reference)}, allowed: "" (none), {one_of(names)}{meant}',
            f"Type: {as_toml('reference', nearest(model.reference, names) or '')}",
        )


def family_has_its_keys(model: Model) -> Iterator[Finding]:
    """What the memory estimate of a family cannot do without."""
    needed = known.keywords_of(model.family)
    for key in needed:
        value = model.config.get(key)
        if isinstance(value, int) and not isinstance(value, bool) and value > 0:
            continue
        others = set(model.config) - set(needed) if key not in model.config else set()
        found = f"found {shown(value)}, allowed: a whole number above 0" if key in model.config else "missing"
        meant = f"; did you write {shown(near)}?" if (near := nearest(key, others)) else ""
        hint = f'Type: {key} = a number, or family = "custom" in [model] if the model has no such thing.'
        yield wrong(f"[model.config] {key}", f"{found} (family {shown(model.family)} needs it){meant}", hint)


def accelerators_are_known(hardware: Hardware) -> Iterator[Finding]:
    """Names of the catalogue (`model_tests.hardware`)."""
    names = tuple(known.accelerators())
    for place, name in enumerate(hardware.accelerators):
        if name in names:
            continue
        right = [*hardware.accelerators]
        right[place] = nearest(name, names) or "cpu"
        yield wrong(
            f"[hardware] accelerators[{place}]",
            f"found {shown(name)}, allowed: {one_of(names)}{did_you_mean(name, names)}",
            f"Type: {as_toml('accelerators', list(dict.fromkeys(right)))}",
        )


def several_are_gpus(hardware: Hardware) -> Iterator[Finding]:
    """A pod on the CPU holds no GPU, and its share of the CPU is the platform's business."""
    if hardware.gpus > 1 and "cpu" in hardware.accelerators:
        message = f"found {hardware.gpus}, but accelerators names cpu, which has no GPUs"
        hint = f"Type: {as_toml('gpus', 1)}, or only GPUs in accelerators."
        yield wrong("[hardware] gpus", message, hint)


def ratio_only_tightens(precision: Precision, hardware: Hardware) -> Iterator[Finding]:
    """A floor set by the platform cannot be lowered by a project."""
    bound = PLATFORM_RATIO["cpu" if set(hardware.accelerators) == {"cpu"} else "gpu"]
    if precision.max_ratio is not None and precision.max_ratio > bound:
        yield wrong(
            "[precision] max_ratio",
            f"found {precision.max_ratio}, allowed: above 1 and up to {bound}, the platform's own bound on "
            f"{one_of(hardware.accelerators)} (a project can only tighten it)",
            f"Type: {as_toml('max_ratio', bound)}",
        )


def what_is_served_is_proven(precision: Precision, serving: Serving) -> Iterator[Finding]:
    """A release in half precision rests on the proof of that very dtype."""
    if serving.dtype != "float32" and serving.dtype not in precision.candidates:
        candidates = [*precision.candidates, serving.dtype]
        yield wrong(
            "[serving] dtype",
            f"found {shown(serving.dtype)}, which is not among the candidates of [precision], so nothing proves it",
            f"Type: {as_toml('dtype', 'float32')} or {as_toml('candidates', candidates)}",
        )


@dataclass(frozen=True)
class Rule:
    """A check of some tables, in the order of its function's parameters."""

    needs: tuple[str, ...]
    check: Callable[..., Iterator[Finding]]


RULES = (
    Rule(("project",), package_hides_nothing),
    Rule(("model",), reference_is_known),
    Rule(("model",), family_has_its_keys),
    Rule(("inputs",), inputs_are_distinct),
    Rule(("inputs",), inputs_can_be_drawn),
    Rule(("model", "inputs"), tokens_fit_the_llama),
    Rule(("model",), heads_divide),
    Rule(("precision", "model"), exceptions_stay_exceptions),
    Rule(("hardware",), accelerators_are_known),
    Rule(("hardware",), several_are_gpus),
    Rule(("precision", "hardware"), ratio_only_tightens),
    Rule(("precision", "serving"), what_is_served_is_proven),
    Rule(("int8", "model"), labels_need_classes),
)


def broken_rules(tables: Mapping[str, Any]) -> Iterator[Finding]:
    """Findings of every rule whose tables are all there.

    Args:
        tables: name of a table -> its validated model (`inputs`: a tuple of them); invalid ones are left out.
    """
    for rule in RULES:
        if all(name in tables for name in rule.needs):
            yield from rule.check(*(tables[name] for name in rule.needs))
