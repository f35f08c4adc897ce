"""Write the sample results beside this file: one per way a run can end. `python make_samples.py [FOLDER]`.

The numbers are drawn, their shapes and sizes are those of the LLaMA starter (4 layers, hidden size 128, 4 × 64 tokens).
"""

import json
import random
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from model_tests.hardware import card
from model_tests.messages import explain

Json = dict[str, Any]
REVISION = "0a1b2c3d4e5f60718293a4b5c6d7e8f901234567"
DIGEST = "sha256:4f0c6c1a3f2b5d7e9081726354453627180f9e8d7c6b5a4938271605f4e3d2c1"
IMAGE = {"reference": f"gpulab.local/gpu-lab-1@{DIGEST}", "digest": DIGEST, "kind": "source artifact"}
CANDIDATES = ["float16", "bfloat16", "float16-autocast", "bfloat16-autocast"]
CONFIG = {
    "vocab_size": 512,
    "hidden_size": 128,
    "layers": 4,
    "heads": 8,
    "kv_heads": 2,
    "ffn_size": 384,
    "context": 128,
}
SPEC: Json = {
    "schema": "gpulab/spec/v1",
    "factory": "gpu_lab_1.model:build",
    "reference": "llama",
    "output": "logits",
    "family": "llama",
    "config": CONFIG,
    "seed": 0,
    "inputs": [{"name": "tokens", "shape": [4, 64], "dtype": "int64", "low": 0, "high": 512}],
    "candidates": CANDIDATES,
    "allow_float32": [],
    "max_ratio": 1.5,
    "iterations": 20,
    "timeout_seconds": 300,
    "memory_gib": 8.0,
    "serving_dtype": "float32",
}
UNITS = {
    "fp32.finite": "values not finite",
    "fp32.right": "ν (fp32 rounding errors)",
    "census": "not as declared",
    "finite": "values not finite",
    "precision.unstable": "× between floors",
    "precision": "× noise floor",
    "tests": "failed tests",
    "int8.kl": "nats",
    "speed": "× the time",
}
PARTS = [
    ("attention_norm", "RMSNorm", 128),
    ("attention.wq", "Linear", 128),
    ("attention.wk", "Linear", 32),
    ("attention.wv", "Linear", 32),
    ("attention.wo", "Linear", 128),
    ("attention", "Attention", 128),
    ("ffn_norm", "RMSNorm", 128),
    ("feed_forward.gate", "Linear", 384),
    ("feed_forward.up", "Linear", 384),
    ("feed_forward.down", "Linear", 128),
    ("feed_forward", "FeedForward", 128),
]


def modules() -> list[tuple[str, str, list[int]]]:
    """Name, kind and output shape of every module in execution order."""
    found = [("embed", "Embedding", [4, 64, 128])]
    for layer in range(4):
        found += [(f"layers.{layer}.{name}", kind, [4, 64, width]) for name, kind, width in PARTS]
        found.append((f"layers.{layer}", "Block", [4, 64, 128]))
    return [
        *found,
        ("norm", "RMSNorm", [4, 64, 128]),
        ("head", "Linear", [4, 64, 512]),
        ("(model)", "Llama", [4, 64, 512]),
    ]


def measured(seed: int, ratio: Callable[[int], float], broken_from: int | None = None) -> list[Json]:
    """Rows of result.json's `modules` for one candidate."""
    draw = random.Random(seed)  # noqa: S311 - sample data
    rows = []
    for index, (name, kind, shape) in enumerate(modules()):
        floor = (3.2 + 0.28 * index / 12) ** 0.5 * (0.35 + 0.65 * index / 50) * draw.uniform(0.9, 1.1)
        found = ratio(index) * draw.uniform(0.97, 1.03)
        row = {"name": name, "kind": kind, "shape": shape, "nu": round(floor * found, 4), "floor": round(floor, 4)}
        row |= {"ratio": round(found, 4), "max_abs": round(draw.uniform(0.9, 4.4), 4), "nonfinite": 0}
        if broken_from is not None and index >= broken_from:
            row |= {"nu": None, "ratio": None, "max_abs": None, "nonfinite": 1024 if index == broken_from else 32768}
        rows.append(row)
    return rows


def gate(
    name: str, key: str, verdict: str = "PASS", value: float | None = None, bound: float | None = None, **params: Any
) -> Json:
    """A gate with the keys every gate has; module and shape are parameters of its sentences too."""
    facts = {"value": value, "bound": bound, **params}
    why, change = explain(key, "en", facts)
    unit = next((unit for prefix, unit in UNITS.items() if key.startswith(prefix)), "")
    place = {"module": params.get("module"), "shape": params.get("shape")}
    return {"name": name, "verdict": verdict, "value": value, "bound": bound, "unit": unit, **place,
            "key": key, "params": facts, "why": why, "change": change}  # fmt: skip


def precision_gate(
    name: str, value: float | None, key: str = "precision.passed", verdict: str = "PASS", **more: Any
) -> Json:
    """The gate of one candidate with its sub-measures."""
    numbers = {"ratio": value, "row_max_ratio": 1.04, "kl_ratio": 0.97, "gain_bias": 0.00011, "floor_spread": 1.06}
    return gate(f"precision/{name}", key, verdict, value, 1.5, candidate=name, **(numbers | more))


def verify() -> Json:
    """A passing result.json of the cpu."""
    ratios = dict(zip(CANDIDATES, (0.99, 0.98, 0.78, 0.77), strict=True))
    gates = [
        gate("smoke", "smoke.passed", shape=[4, 64, 512], parameters=885_888) | {"shape": None},
        gate("fp32/finite", "fp32.finite-passed", value=0, bound=0, values=131_072),
        gate("fp32/right", "fp32.right-passed", value=9.87, bound=101.0, nu=9.87),
    ]
    for name in CANDIDATES:
        gates += [
            gate(f"census/{name}", "census.passed", value=0, bound=0, gemm=37, expected=name.removesuffix("-autocast")),
            gate(f"finite/{name}", "finite.passed", value=0, bound=0, values=131_072, max_abs=4.31, at=" (head)"),
            precision_gate(name, ratios[name]),
        ]
    gates.append(gate("benchmark", "benchmark.information", "NOT APPLICABLE", float32_ms=3.1))
    proof = [
        {"name": n, "kind": k, "shape": s, "nu": round(2.4 + 0.15 * i, 3)} for i, (n, k, s) in enumerate(modules())
    ]
    return {
        "schema": "gpulab/verify/v1",
        "accelerator": "cpu",
        "device": {"kind": "cpu", "name": "AMD EPYC 7B13"},
        "verdict": "PASS",
        "exit_code": 0,
        "message": "15 of 15 gates passed",
        "gates": gates,
        "fp32": {"mode": "reference", "nu": 9.87, "bound": 101.0, "modules": proof},
        "modules": {
            name: measured(seed, lambda _, r=ratios[name]: r)
            for seed, name in enumerate(CANDIDATES)
        },
        "census": {name: census(name) for name in CANDIDATES},
        "timing": {
            name: {"median_ms": ms, "p90_ms": round(ms * 1.09, 2), "iterations": 20}
            for name, ms in zip(["float32", *CANDIDATES], (3.1, 13.4, 14.6, 9.8, 10.3), strict=True)
        },
        "memory": {"parameters": 885_888, "weights_bytes": 3_543_552},
        "environment": {"torch": "2.15.0", "python": "3.11.7", "cpu": "AMD EPYC 7B13", "threads": 1, "tf32": False,
                        "seconds": 12.3},
    }  # fmt: skip


def census(candidate: str) -> Json:
    """The data types of one candidate; autocast keeps parameters in float32."""
    dtype = candidate.removesuffix("-autocast")
    held = "float32" if candidate != dtype else dtype
    return {
        "expected": dtype,
        "gemm": {dtype: 37},
        "parameters": {held: 39},
        "buffers": {"float32": 1},
        "offenders": [],
    }


def results(verified: Json | None, gates: list[Json], verdict: str, code: int, summary: str) -> Json:
    """A results.json around the result of one accelerator, or none."""
    measured_gates = [{**found, "accelerator": "cpu"} for found in (verified or {}).get("gates", [])]
    return {
        "schema": "gpulab/results/v1",
        "run": "gpu-lab-1-0a1b2c3d4e5f-1a2b3c4d",
        "project": {"name": "GPU Lab 1", "slug": "gpu-lab-1", "author": "blue-heron", "profile": "student",
                    "course": ""},
        "revision": REVISION,
        "ref": "refs/heads/main",
        "engine": "local",
        "verdict": verdict,
        "exit_code": code,
        "summary": summary,
        "gates": gates + measured_gates,
        "verify": {"cpu": verified} if verified else {},
        "tests": {"total": 12, "failed": 0, "skipped": 1, "failures": []} if verified else {},
        "image": IMAGE if verified else {},
        "plan": {
            "schema": "gpulab/plan/v1",
            "spec": SPEC,
            "accelerators": ["cpu"],
            "lane": "cpu",
            "seed": 20261130,
            "hardware": card(SPEC, ["cpu", "t4", "v100-16", "a100-40", "h100"]),
            "notes": [],
        },
        "provenance": {"gpulab": "0.1.0", "templates": "push-v0-1-0", "started": "2026-11-30T10:15:02Z",
                       "finished": "2026-11-30T10:15:41Z", "host": "lab-7"},
        "reproduce": f"gpulab run {REVISION[:12]}",
    }  # fmt: skip


COMMON = [
    gate("contract", "contract.kept", detail="lab.toml"),
    gate("image", "image.built", detail=DIGEST[:19]),
    gate("tests", "tests.passed", value=0, bound=0, detail="11 passed, 1 skipped"),
]


def replaced(verified: Json, *gates: Json) -> None:
    """Put gates in the place of those with the same name, and the verdict that follows."""
    new = {found["name"]: found for found in gates}
    verified["gates"] = [new.get(found["name"], found) for found in verified["gates"]]
    failed = [found["name"] for found in verified["gates"] if found["verdict"] == "FAIL"]
    verified |= {"verdict": "FAIL", "exit_code": 1, "message": f"failed: {', '.join(failed)}"} if failed else {}


def failing(summary: str, verified: Json, *gates: Json) -> Json:
    """Results of a run in which `gates` failed."""
    replaced(verified, *gates)
    return results(verified, COMMON, "FAIL", 1, summary)


def passing() -> Json:
    """Nothing wrong."""
    return results(verify(), COMMON, "PASS", 0, "18 gates passed on cpu")


def rope() -> Json:
    """A wrong RoPE base: seen in float32 against the reference, and nowhere else."""
    found = verify()
    for index, module in enumerate(found["fp32"]["modules"]):
        if index >= 6:
            module["nu"] = round(1.2e5 * (1 + index / 20), 1)
    found["fp32"]["nu"] = 430_000.0
    return failing(
        "fp32/right: ν 430000 > 101 at layers.0.attention",
        found,
        gate("fp32/right", "fp32.right", "FAIL", 430_000.0, 101.0, nu=430_000.0, hint="rope",
             module="layers.0.attention", shape=[4, 64, 128]),
    )  # fmt: skip


def overflow() -> Json:
    """Activations above 65504: float16 breaks, bfloat16 does not."""
    found = verify()
    place = {"module": "layers.1.feed_forward.down", "shape": [4, 64, 128]}
    gates = []
    for seed, name in enumerate(("float16", "float16-autocast")):
        found["modules"][name] = measured(seed, lambda _: 0.99, broken_from=22)
        facts = {"count": 32_768, "values": 131_072, "hint": "overflow", "candidate": name, **place}
        gates.append(gate(f"finite/{name}", "finite.overflow", "FAIL", 32_768, 0, **facts))
        gates.append(gate(f"precision/{name}", "precision.not-finite", "NOT APPLICABLE", candidate=name))
    return failing("finite/float16: 32768 values not finite at layers.1.feed_forward.down", found, *gates)


def fp32_layer() -> Json:
    """One MLP left in float32: found by the census, not by its error."""
    found = verify()
    names = [f"layers.1.feed_forward.{part}" for part in ("gate", "up", "down")]
    gates = []
    for name in ("float16", "bfloat16"):
        offenders = [{"name": module, "what": "gemm", "dtype": "float32"} for module in names]
        found["census"][name] |= {"gemm": {name: 34, "float32": 3}, "parameters": {name: 36, "float32": 3}}
        found["census"][name]["offenders"] = offenders
        facts = {"module": names[0], "shape": [4, 64, 384], "dtype": "float32", "expected": name, "count": 3}
        facts |= {"names": ", ".join(names), "hint": "float32-island"}
        gates.append(gate(f"census/{name}", "census.gemm", "FAIL", 3, 0, **facts))
    return failing("census/float16: 3 operations in float32 at layers.1.feed_forward.gate", found, *gates)


def nan() -> Json:
    """NaN in every precision."""
    found = verify()
    place = {"module": "layers.2.attention", "shape": [4, 64, 128]}
    facts = {"count": 131_072, "values": 131_072, "hint": "masked-row", **place}
    for module in found["fp32"]["modules"][30:]:
        module["nu"] = None
    found["fp32"]["nu"] = None
    gates = [gate("fp32/finite", "fp32.finite", "FAIL", 131_072, 0, **facts)]
    gates.append(gate("fp32/right", "fp32.right-not-finite", "NOT APPLICABLE"))
    for seed, name in enumerate(CANDIDATES):
        found["modules"][name] = measured(seed, lambda _: 0.99, broken_from=30)
        gates.append(gate(f"finite/{name}", "finite.float32-too", "FAIL", 131_072, 0, candidate=name, **facts))
        gates.append(gate(f"precision/{name}", "precision.not-finite", "NOT APPLICABLE", candidate=name))
    return failing("fp32/finite: 131072 values not finite at layers.2.attention", found, *gates)


def precision() -> Json:
    """An error that grows from one module on, in half precision only."""
    found = verify()
    found["modules"]["float16"] = measured(0, lambda index: 0.99 if index < 23 else 1.6 + 0.05 * (index - 22))
    facts = {"module": "layers.1.feed_forward", "shape": [4, 64, 128], "hint": "accumulation"}
    failed = precision_gate("float16", 2.94, "precision.ratio", "FAIL", **facts)
    return failing("precision/float16: 2.94 × noise floor at layers.1.feed_forward", found, failed)


def int8() -> Json:
    """INT8 was asked for: weight-only keeps the task, rounding the activations does not."""
    found = verify()
    kept = {"kept": {"embed": "Embedding"}, "layers": 29, "bytes_before": 3_543_552, "bytes_after": 1_107_456}
    found["int8"] = {
        "weight-only": kept | {"verdict": "PASS", "metric": "kl", "rows": 32, "agreement": 0.9941, "signal": 4.58,
                               "value": 0.00016, "bound": 0.05, "low": 0.00015, "high": 0.00018, "visible": 2.1e-5,
                               "worst": []},
        "dynamic": kept | {"verdict": "FAIL", "metric": "kl", "rows": 64, "agreement": 0.8213, "signal": 4.58,
                           "value": 0.0731, "bound": 0.05, "low": 0.0622, "high": 0.0858, "visible": 0.015,
                           "worst": [{"name": "layers.2.feed_forward.down", "share": 0.71},
                                     {"name": "layers.3.feed_forward.down", "share": 0.12}]},
    }  # fmt: skip
    place = {"module": "layers.2.feed_forward.down", "shape": [4, 64, 128], "hint": "int8-layer", "share": 71.0}
    for scheme, facts in found["int8"].items():
        told = {"scheme": scheme, "size": 31.25, **facts, "agreement": 100 * facts["agreement"]}
        outcome = "passed" if facts["verdict"] == "PASS" else "lost"
        facts = told | (place if outcome == "lost" else {})
        drop = ("value", "bound", "verdict")
        more = {key: item for key, item in facts.items() if key not in drop}
        found["gates"].append(
            gate(f"int8/{scheme}", f"int8.kl-{outcome}", told["verdict"], told["value"], told["bound"], **more)
        )
    return failing("int8/dynamic: 0.0731 nats > 0.05 at layers.2.feed_forward.down", found)


def slow() -> Json:
    """A Python loop made every norm slow: the numbers are the same, the time is not."""
    found = verify()
    commits = {"teaching": "5" * 40, "anchor": "7" * 40}
    spans = {"teaching": (2.29, 2.11, 2.49), "anchor": (2.34, 2.14, 2.56)}
    pace = {"candidate": 0.0071, "again": 0.0072, "teaching": 0.0031, "anchor": 0.00305}
    a_a = dict(zip(("ratio", "low", "high"), (1.01, 0.96, 1.06), strict=True))
    found["speed"] = {
        "dtype": "float32", "bound": 1.05, "rounds": 18, "ended": "decided", "seconds": 6.4,
        "sides": {
            name: {"avg_latency": mean, "num_iters": 90, "commit": commits.get(name, ""),
                   "percentiles": {str(p): round(mean * (0.9 + p / 500), 6) for p in (10, 25, 50, 75, 90)}}
            for name, mean in pace.items()
        },
        "comparisons": {
            name: {"answer": "regression", "ratio": dict(zip(a_a, span, strict=True)), "a_a": a_a}
            for name, span in spans.items()
        },
        "operations_per_second": {"gemm": 9.1e10, "candidate": 6.4e10},
    }  # fmt: skip
    for name, (ratio, low, high) in spans.items():
        facts = {"baseline": name, "commit": commits[name][:12], "low": low, "high": high, "rounds": 18}
        facts |= {"allowed": 5.0, "a_a_low": 0.96, "a_a_high": 1.06, "detectable": 14.2}
        found["gates"].append(gate(f"speed/{name}", "speed.regression", "FAIL", ratio, 1.05, **facts))
    again = gate("speed/a-a", "speed.information", "NOT APPLICABLE", 1.01, None, low=0.96, high=1.06)
    found["gates"].append(again)
    summary = "speed/teaching: 2.29 times the time of 555555555555, and at least 2.11 times"
    return failing(summary, found)


def inconclusive() -> Json:
    """The noise floors disagree, so nothing can be said."""
    found = verify()
    facts = {"candidate": "float16", "floor_spread": 1.83}
    replaced(found, gate("precision/float16", "precision.unstable", "INCONCLUSIVE", 1.83, 1.5, **facts))
    found |= {"verdict": "INCONCLUSIVE", "message": "precision/float16 is inconclusive"}
    return results(found, COMMON, "INCONCLUSIVE", 0, "precision/float16 could not be measured well enough")


def input_error() -> Json:
    """A mistake in lab.toml: nothing ran."""
    detail = (
        'lab.toml: [model] factory = "gpu_lab_1.model:bild", but the module has no bild; write gpu_lab_1.model:build'
    )
    found = results(None, [gate("contract", "contract.refused", "FAIL", detail=detail)], "FAIL", 2, detail)
    return found | {"plan": {}}


def image_refused() -> Json:
    """A Dockerfile line that the platform does not build."""
    detail = "Dockerfile line 7: ADD https://…/weights.bin is not pinned; write ADD --checksum=sha256:…"
    gates = [COMMON[0], gate("image", "image.failed", "FAIL", detail=detail)]
    return results(None, gates, "FAIL", 2, detail)


SAMPLES = [
    passing, rope, overflow, fp32_layer, nan, precision, int8, slow, inconclusive, input_error, image_refused,
]  # fmt: skip


def text_of(sample: Callable[[], Json]) -> str:
    """The sample as JSON text, one module a line."""
    text = json.dumps(sample(), ensure_ascii=False, indent=1)
    lines: list[str] = []
    for line in text.splitlines():
        deep = len(line) - len(line.lstrip(" ")) > 5
        if deep and lines:
            lines[-1] += line.strip() + ("" if line.rstrip().endswith(("{", "[")) else " ")
        else:
            lines.append(line)
    return "\n".join(line.rstrip() for line in lines) + "\n"


def main(folder: Path) -> None:
    """Write every sample."""
    for sample in SAMPLES:
        (folder / f"results_{sample.__name__}.json").write_text(text_of(sample), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent)
