"""Would it run on a T4, a V100, an A100? One row per accelerator, for plan.json's "hardware"."""

from collections.abc import Iterable, Mapping
from typing import Any

from model_tests.hardware.catalogue import Accelerator, find
from model_tests.hardware.int8 import int8_notes
from model_tests.hardware.notes import sentence
from model_tests.memory import Answer, Fit, config_of, fit

GIB = 2**30
# Proving float16 or bfloat16 always runs float32 beside it, so float32 decides whether the whole run fits.
DTYPES = ("float32", "float16", "bfloat16")

Note = dict[str, Any]


def card(spec: Mapping[str, Any], names: Iterable[str]) -> list[dict[str, Any]]:
    """Return a row per name: memory need per dtype, dtype support, image lane and remarks.

    `need_gib`, `fits` and `largest_batch` are float32's (what the proof needs) on one GPU, and None when the family is
    unknown; `memory` has the same for every dtype, and `together` for all `spec["gpus"]` of a pod. A CPU has the memory
    that `spec["memory_gib"]` allows.
    Errors: UnknownAcceleratorError, MemoryInputError.
    """
    return [_row(spec, find(name)) for name in names]


def _row(spec: Mapping[str, Any], device: Accelerator) -> dict[str, Any]:
    have_gib = float(spec["memory_gib"]) if device.memory_gib is None else device.memory_gib
    answers = {dtype: _fit(spec, dtype, have_gib) for dtype in DTYPES}
    gpus = 1 if device.memory_gib is None else int(spec.get("gpus", 1))
    notes = [*_device_notes(device, _asks_for_bfloat16(spec)), *_memory_notes(spec, answers), *int8_notes(spec, device)]
    notes += [{"key": "several-gpus", "params": {"gpus": gpus, "have": have_gib, "together": gpus * have_gib}}] * (
        gpus > 1
    )
    memory = {dtype: _memory(answer) for dtype, answer in answers.items()}
    together = _memory(_fit(spec, DTYPES[0], gpus * have_gib))
    return {
        "accelerator": device.name,
        "title": device.title,
        **memory[DTYPES[0]],
        "have_gib": round(have_gib, 1),
        "gpus": gpus,
        "together": {"have_gib": round(gpus * have_gib, 1), "fits": together["fits"]},
        "memory": memory,
        "dtypes": {dtype: device.support(dtype) for dtype in DTYPES},
        "lane": device.lane,
        "note": "; ".join(sentence(note, "en") for note in notes),
        "notes": notes,
    }


def _fit(spec: Mapping[str, Any], dtype: str, have_gib: float) -> Fit | None:
    return fit(spec["family"], config_of(spec), spec["inputs"], dtype, int(have_gib * GIB))


def _memory(answer: Fit | None) -> dict[str, Any]:
    if answer is None:
        return {"fits": None, "need_gib": None, "largest_batch": None}
    return {
        "fits": answer.answer is Answer.FITS,
        "need_gib": round(answer.needed.total / GIB, 2),
        "largest_batch": answer.largest_batch,
    }


def _asks_for_bfloat16(spec: Mapping[str, Any]) -> bool:
    return any(candidate.startswith("bfloat16") for candidate in (*spec["candidates"], spec["serving_dtype"]))


def _device_notes(device: Accelerator, bfloat16: bool) -> list[Note]:
    notes: list[Note] = []
    if device.lane == "cpu":
        notes.append({"key": "cpu-half", "params": {}})
    elif bfloat16 and device.support("bfloat16") != "native":
        notes.append({"key": "no-bfloat16", "params": {"capability": device.compute_capability}})
    if device.lane == "legacy":
        notes.append({"key": "legacy-lane", "params": {"driver": device.last_driver}})
    return notes


def _memory_notes(spec: Mapping[str, Any], answers: Mapping[str, Fit | None]) -> list[Note]:
    notes: list[Note] = []
    for dtype, title in (("float32", "float32"), ("float16", "float16/bfloat16")):  # bfloat16 has float16's sizes
        answer = answers[dtype]
        if answer is None:
            return [{"key": "memory-unknown", "params": {"family": spec["family"]}}]
        if answer.answer is Answer.WEIGHTS_TOO_LARGE:
            params = {"dtype": title, "weights": round(answer.needed.weights / GIB, 1)}
            notes.append({"key": answer.answer.value, "params": params})
        elif answer.answer is Answer.BATCH_TOO_LARGE:
            batch = spec["inputs"][0]["shape"][0]
            params = {"dtype": title, "batch": batch, "largest": answer.largest_batch}
            notes.append({"key": answer.answer.value, "params": params})
    return notes
