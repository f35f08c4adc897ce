"""What is judged: factory, inputs, candidates and limits, as one frozen value (JSON form `gpulab/spec/v1`)."""

from __future__ import annotations

import json
import math
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from model_tests import fields
from model_tests.fields import SpecError
from model_tests.references import REFERENCES

SCHEMA = "gpulab/spec/v1"
CANDIDATES = ("float16", "bfloat16", "float16-autocast", "bfloat16-autocast")
INT8_SCHEMES = ("weight-only", "dynamic")
SERVING_DTYPES = ("float32", "float16", "bfloat16")
FACTORY = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*")
# Where lab.toml keeps what the spec has at its top level, for error messages.
LAB_KEYS = {
    "factory": "model.factory",
    "reference": "model.reference",
    "output": "model.output",
    "family": "model.family",
    "config": "model.config",
    "seed": "model.seed",
    "candidates": "precision.candidates",
    "allow_float32": "precision.allow_float32",
    "max_ratio": "precision.max_ratio",
    "iterations": "benchmark.iterations",
    "max_slowdown": "benchmark.max_slowdown",
    "budget_seconds": "benchmark.budget_seconds",
    "gpus": "hardware.gpus",
    "timeout_seconds": "limits.timeout_seconds",
    "memory_gib": "limits.memory_gib",
    "serving_dtype": "serving.dtype",
}
# 2**31 values of a drawn input: more is a typing error, and would fill the platform's memory, not the student's.
LARGEST_INPUT = 2**31


@dataclass(frozen=True)
class InputSpec:
    """One argument of the model's forward, drawn by the platform.

    `shape` starts with the batch. dtype int64 draws low <= x < high; float32 draws a standard normal.
    """

    name: str
    shape: tuple[int, ...]
    dtype: str
    low: int | None = None
    high: int | None = None

    @classmethod
    def from_dict(cls, raw: object, key: str) -> InputSpec:
        """Read one item of `inputs`; SpecError names `key`."""
        table = fields.table(raw, key, {"name", "shape", "dtype", "low", "high"})
        dtype = fields.choice(table.get("dtype"), ("int64", "float32"), f"{key}.dtype")
        low, high = table.get("low"), table.get("high")
        if dtype == "int64":
            low, high = fields.integer(low, f"{key}.low", -(2**63)), fields.integer(high, f"{key}.high", -(2**63))
            if low >= high:
                raise SpecError(f"{key}.high", high, f"an integer above low = {low}")
        elif low is not None or high is not None:
            raise SpecError(f"{key}.low", low, "no low and high for float32 inputs, which are standard normal")
        return cls(
            fields.text(table.get("name"), f"{key}.name"), _shape(table.get("shape"), f"{key}.shape"), dtype, low, high
        )

    def to_dict(self) -> dict[str, Any]:
        """JSON form; low and high are null for float32."""
        return {"name": self.name, "shape": list(self.shape), "dtype": self.dtype, "low": self.low, "high": self.high}


@dataclass(frozen=True)
class Int8Spec:
    """INT8 forms to compare with float32; `max_loss` is in the unit of the task's metric."""

    schemes: tuple[str, ...]
    max_loss: float = 0.05
    evaluation: str = ""

    @classmethod
    def from_dict(cls, raw: object, key: str) -> Int8Spec | None:
        """Read the JSON form; None when nothing is asked for. SpecError names `key`."""
        if raw is None:
            return None
        table = fields.table(raw, key, {"schemes", "max_loss", "evaluation"})
        return cls(
            schemes=fields.choices(table.get("schemes"), INT8_SCHEMES, f"{key}.schemes"),
            max_loss=fields.number(table.get("max_loss", 0.05), f"{key}.max_loss", 0.0),
            evaluation=_text_or_empty(table.get("evaluation", ""), f"{key}.evaluation"),
        )

    def to_dict(self) -> dict[str, Any]:
        """JSON form."""
        return {"schemes": list(self.schemes), "max_loss": self.max_loss, "evaluation": self.evaluation}


def _text_or_empty(raw: object, key: str) -> str:
    return "" if raw == "" else fields.text(raw, key)


@dataclass(frozen=True)
class Spec:
    """Everything `draw`, `produce` and `judge` need to know about a project; see lab.toml for the meaning of each."""

    factory: str
    inputs: tuple[InputSpec, ...]
    reference: str = ""
    output: str = "tensor"
    family: str = "custom"
    config: Mapping[str, Any] = field(default_factory=dict)
    seed: int = 0
    candidates: tuple[str, ...] = CANDIDATES
    allow_float32: tuple[str, ...] = ()
    max_ratio: float | None = None
    int8: Int8Spec | None = None
    iterations: int = 20
    max_slowdown: float | None = None
    budget_seconds: float = 60.0
    gpus: int = 1
    timeout_seconds: float = 300.0
    memory_gib: float = 8.0
    serving_dtype: str = "float32"

    @classmethod
    def from_dict(cls, raw: object) -> Spec:
        """Read the JSON form; unknown keys are refused. SpecError names the key."""
        keys = {"schema", *cls.__dataclass_fields__}
        table = fields.table(raw, "spec", keys)
        if table.get("schema", SCHEMA) != SCHEMA:
            raise SpecError("schema", table["schema"], SCHEMA)
        factory = fields.text(table.get("factory"), "factory")
        if not FACTORY.fullmatch(factory):
            raise SpecError("factory", factory, 'module:function, as in "gpu_lab_1.model:build"')
        ratio, slowdown = table.get("max_ratio"), table.get("max_slowdown")
        return cls(
            factory=factory,
            inputs=_inputs(table.get("inputs")),
            reference=fields.choice(table.get("reference", ""), ("", *REFERENCES), "reference"),
            output=fields.choice(table.get("output", "tensor"), ("logits", "tensor"), "output"),
            family=fields.text(table.get("family", "custom"), "family"),
            config=_config(table.get("config", {})),
            seed=fields.integer(table.get("seed", 0), "seed", 0),
            candidates=fields.choices(table.get("candidates", list(CANDIDATES)), CANDIDATES, "candidates"),
            allow_float32=tuple(
                fields.text(p, "allow_float32") for p in fields.items(table.get("allow_float32", []), "allow_float32")
            ),
            max_ratio=None if ratio is None else fields.number(ratio, "max_ratio", 1.0),
            int8=Int8Spec.from_dict(table.get("int8"), "int8"),
            iterations=fields.integer(table.get("iterations", 20), "iterations", 1),
            max_slowdown=None if slowdown is None else fields.number(slowdown, "max_slowdown", 0.0),
            budget_seconds=fields.number(table.get("budget_seconds", 60), "budget_seconds", 1.0),
            gpus=fields.integer(table.get("gpus", 1), "gpus", 1),
            timeout_seconds=fields.number(table.get("timeout_seconds", 300), "timeout_seconds", 1.0),
            memory_gib=fields.number(table.get("memory_gib", 8.0), "memory_gib", 0.25),
            serving_dtype=fields.choice(table.get("serving_dtype", "float32"), SERVING_DTYPES, "serving_dtype"),
        )

    def to_dict(self) -> dict[str, Any]:
        """JSON form `gpulab/spec/v1`."""
        values = {name: getattr(self, name) for name in self.__dataclass_fields__}
        values |= {"inputs": [i.to_dict() for i in self.inputs], "config": dict(self.config)}
        values |= {"candidates": list(self.candidates), "allow_float32": list(self.allow_float32)}
        values |= {"int8": self.int8.to_dict() if self.int8 else None}
        return {"schema": SCHEMA, **values}

    @classmethod
    def from_file(cls, path: Path) -> Spec:
        """Read a spec, or a plan that has it under the key `spec`, from a JSON file."""
        try:
            raw = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise SpecError("file", path.name, f"a JSON file with a spec ({type(error).__name__})") from error
        if isinstance(raw, dict) and isinstance(raw.get("spec"), dict):
            raw = raw["spec"]
        return cls.from_dict(raw)

    @classmethod
    def from_lab(cls, path: Path) -> Spec:
        """Read what judges precision from lab.toml (the pytest plugin's way in; gpulab checks the whole file)."""
        try:
            lab = tomllib.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise SpecError("file", path.name, f"a TOML file ({error})", source=path.name) from error
        try:
            return cls.from_dict(_from_lab(lab))
        except SpecError as error:
            key = next(
                (new + error.key[len(old) :] for old, new in LAB_KEYS.items() if error.key.startswith(old)), error.key
            )
            raise SpecError(key, error.found, error.allowed, source=path.name) from error


def _from_lab(lab: Mapping[str, Any]) -> dict[str, Any]:
    """Map the tables of lab.toml to the spec's keys; what the spec does not know is left to gpulab's contract."""
    model = fields.table(lab.get("model"), "model", {"family", "factory", "reference", "output", "seed", "config"})
    precision = fields.table(lab.get("precision", {}), "precision", {"candidates", "allow_float32", "max_ratio"})
    limits = fields.table(lab.get("limits", {}), "limits", {"timeout_seconds", "memory_gib"})
    raw = {**model, **precision, **limits, "inputs": lab.get("inputs")}
    timing = {"iterations", "max_slowdown", "budget_seconds"}
    benchmark = fields.table(lab.get("benchmark", {}), "benchmark", {*timing, "anchor"})
    raw |= {name: benchmark[name] for name in timing & set(benchmark)}
    dtype, gpus = lab.get("serving", {}).get("dtype", "float32"), lab.get("hardware", {}).get("gpus", 1)
    return {**raw, "int8": lab.get("int8"), "gpus": gpus, "serving_dtype": dtype}


def _shape(raw: object, key: str) -> tuple[int, ...]:
    shape = tuple(fields.integer(size, key, 1) for size in fields.items(raw, key))
    if not shape or math.prod(shape) > LARGEST_INPUT:
        raise SpecError(key, list(shape), "sizes from 1 up, the batch first, together at most 2**31 values")
    return shape


def _inputs(raw: object) -> tuple[InputSpec, ...]:
    inputs = tuple(InputSpec.from_dict(item, f"inputs[{n}]") for n, item in enumerate(fields.items(raw, "inputs")))
    if not inputs or len({i.name for i in inputs}) != len(inputs):
        raise SpecError("inputs", [i.name for i in inputs], "at least one input, each name once")
    if len({i.shape[0] for i in inputs}) > 1:
        raise SpecError("inputs", [i.shape[0] for i in inputs], "the same batch (first size) in every input")
    return inputs


def _config(raw: object) -> dict[str, Any]:
    if not isinstance(raw, dict) or not all(isinstance(k, str) and k.isidentifier() for k in raw):
        raise SpecError("config", raw, "a table of keyword arguments of the factory")
    return dict(raw)
