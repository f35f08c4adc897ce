"""The memory estimate against a dry run of the real architecture, and what it must never say."""

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from model_tests.memory import Answer, MemoryInputError, config_of, estimate, fit
from model_tests.references import factory

GIB = 2**30
LLAMA_2_7B = {"vocab_size": 32000, "hidden_size": 4096, "layers": 32, "heads": 32, "kv_heads": 32, "ffn_size": 11008}
LLAMA_3_8B = {"vocab_size": 128256, "hidden_size": 4096, "layers": 32, "heads": 32, "kv_heads": 8, "ffn_size": 14336}
STARTER = {"vocab_size": 512, "hidden_size": 128, "layers": 4, "heads": 8, "kv_heads": 2, "ffn_size": 384}


def tokens(batch: int, length: int) -> list[dict[str, Any]]:
    return [{"name": "tokens", "shape": [batch, length], "dtype": "int64"}]


# FakeTensorMode with torch.distributed._tools.mem_tracker.MemTracker over transformers' LlamaForCausalLM in float16
# with untied head and all logits: GiB of weights, of keys and values, and of everything at the peak.
@pytest.mark.parametrize(
    ("config", "batch", "length", "weights", "kv", "peak"),
    [
        (LLAMA_2_7B, 1, 64, 12.55, 0.03, 12.59),
        (LLAMA_2_7B, 1, 4096, 12.55, 2.0, 14.93),
        (LLAMA_2_7B, 8, 2048, 12.55, 8.0, 22.06),
        (LLAMA_2_7B, 16, 4096, 12.55, 32.0, 50.59),
        (LLAMA_3_8B, 1, 8192, 14.96, 1.0, 17.98),
        (LLAMA_3_8B, 16, 4096, 14.96, 8.0, 39.11),
    ],
)
def test_the_estimate_is_within_two_percent_of_a_dry_run(
    config: dict[str, int], batch: int, length: int, weights: float, kv: float, peak: float
) -> None:
    found = estimate("llama", config, tokens(batch, length), "float16")
    assert found is not None
    assert found.weights / GIB == pytest.approx(weights, rel=0.005)
    assert found.kv / GIB == pytest.approx(kv, abs=0.005)
    assert found.tensors / GIB == pytest.approx(peak, rel=0.02)


@pytest.mark.parametrize(("config", "parameters"), [(LLAMA_2_7B, 6_738_415_616), (LLAMA_3_8B, 8_030_261_248)])
def test_the_weights_are_the_published_parameter_counts(config: dict[str, int], parameters: int) -> None:
    found = estimate("llama", config, tokens(1, 1), "float32")
    assert found is not None
    assert found.weights == 4 * parameters


def test_the_weights_of_the_starter_are_those_of_the_real_model() -> None:
    model = factory("llama")(**STARTER, context=128)
    found = estimate("llama", STARTER, tokens(1, 1), "float32")
    assert found is not None
    assert found.weights == 4 * sum(parameter.numel() for parameter in model.parameters())


def test_keys_and_values_use_the_configured_head_dimension() -> None:
    narrow = estimate("llama", STARTER, tokens(1, 64), "float16")
    wide = estimate("llama", {**STARTER, "head_dim": 64}, tokens(1, 64), "float16")
    assert narrow is not None
    assert wide is not None
    assert wide.kv == 4 * narrow.kv
    assert wide.weights > narrow.weights


def test_the_total_is_more_than_the_tensors() -> None:
    found = estimate("llama", STARTER, tokens(4, 64), "float32")
    assert found is not None
    assert found.total == found.tensors + found.overhead
    assert 0.6 * GIB <= found.overhead <= 0.6 * GIB + 0.1 * found.tensors


@pytest.mark.parametrize("family", ["custom", "resnet", "", "LLaMA"])
def test_an_unknown_family_has_no_estimate(family: str) -> None:
    assert estimate(family, {}, [], "float32") is None
    assert fit(family, {}, [], "float32", GIB) is None


@given(st.integers(1, 64), st.integers(1, 512), st.sampled_from(["float16", "bfloat16"]))
def test_more_rows_tokens_or_bytes_never_need_less(batch: int, length: int, dtype: str) -> None:
    totals = [
        estimate("llama", STARTER, tokens(batch, length), dtype),
        estimate("llama", STARTER, tokens(batch + 1, length), dtype),
        estimate("llama", STARTER, tokens(batch + 1, length + 1), dtype),
        estimate("llama", STARTER, tokens(batch + 1, length + 1), "float32"),
        estimate("llama", {**STARTER, "layers": 5}, tokens(batch + 1, length + 1), "float32"),
    ]
    for smaller, larger in pairwise(totals):
        assert smaller is not None
        assert larger is not None
        assert smaller.total < larger.total


@given(st.integers(1, 200), st.integers(1, 4 * GIB))
def test_the_largest_batch_fits_and_one_more_does_not(batch: int, available: int) -> None:
    found = fit("llama", STARTER, tokens(batch, 64), "float32", available)
    assert found is not None
    assert (found.answer is Answer.FITS) == (batch <= found.largest_batch) == (found.needed.total <= available)
    if found.largest_batch:
        assert estimate("llama", STARTER, tokens(found.largest_batch, 64), "float32").total <= available  # type: ignore[union-attr]
    assert estimate("llama", STARTER, tokens(found.largest_batch + 1, 64), "float32").total > available  # type: ignore[union-attr]


def test_weights_that_do_not_fit_are_another_answer_than_a_batch_that_does_not() -> None:
    t4 = 15 * GIB
    assert fit("llama", LLAMA_2_7B, tokens(1, 512), "float16", t4).answer is Answer.FITS  # type: ignore[union-attr]
    assert fit("llama", LLAMA_2_7B, tokens(64, 512), "float16", t4).answer is Answer.BATCH_TOO_LARGE  # type: ignore[union-attr]
    too_large = fit("llama", LLAMA_2_7B, tokens(1, 512), "float32", t4)
    assert too_large is not None
    assert too_large.answer is Answer.WEIGHTS_TOO_LARGE
    assert too_large.largest_batch == 0


@pytest.mark.parametrize("key", STARTER)
def test_a_missing_key_is_named(key: str) -> None:
    config = {name: value for name, value in STARTER.items() if name != key}
    with pytest.raises(MemoryInputError, match=rf"\[model.config\] {key} is missing"):
        estimate("llama", config, tokens(1, 1), "float32")


@pytest.mark.parametrize("value", [0, -1, 1.5, "8", None, True, [8]])
def test_a_value_that_is_no_size_is_named(value: object) -> None:
    with pytest.raises(MemoryInputError, match=r"\[model.config\] heads = "):
        estimate("llama", {**STARTER, "heads": value}, tokens(1, 1), "float32")


@pytest.mark.parametrize("shape", [None, [], [4], [4, 64, 8], [0, 64], [4, -1], ["4", 64], "ab"])
def test_inputs_that_are_no_batch_of_tokens_are_refused(shape: object) -> None:
    with pytest.raises(MemoryInputError, match=r"\[\[inputs\]\] shape"):
        estimate("llama", STARTER, [{"shape": shape}], "float32")


def test_no_inputs_at_all_are_refused() -> None:
    with pytest.raises(MemoryInputError, match="needs"):
        estimate("llama", STARTER, [], "float32")


def test_a_dtype_without_a_size_is_refused_with_those_that_have_one() -> None:
    with pytest.raises(MemoryInputError, match=r'"int4".*float16'):
        estimate("llama", STARTER, tokens(1, 1), "int4")


@pytest.mark.parametrize(
    ("config", "shape", "message"),
    [
        ({"classes": 0}, [1, 3, 8, 8], r"\[model.config\] classes = 0"),
        ({"width": "64"}, [1, 3, 8, 8], r"\[model.config\] width = '64'"),
        ({"layers": [3, 4, 6]}, [1, 3, 8, 8], r"\[model.config\] layers = \[3, 4, 6\]: four"),
        ({"layers": [1, 1, 1, 2**60]}, [1, 3, 8, 8], "from 1 to 1000"),
        ({"layers": 50}, [1, 3, 8, 8], "layers = 50"),
        ({}, [1, 3, 8], r"\[batch, channels, height, width\]"),
        ({}, [1, 3, 0, 8], r"\[batch, channels, height, width\]"),
    ],
)
def test_what_makes_no_resnet_is_named(config: dict[str, Any], shape: list[int], message: str) -> None:
    with pytest.raises(MemoryInputError, match=message):
        estimate("resnet50", config, [{"shape": shape, "dtype": "float32"}], "float32")


def test_the_weights_of_a_resnet_50_are_the_published_count() -> None:
    found = estimate("resnet50", {}, [{"shape": [1, 3, 224, 224], "dtype": "float32"}], "float32")
    assert found is not None
    assert found.weights == 4 * 25_557_032


def test_what_the_reference_implies_can_be_overruled() -> None:
    """A project with the platform's layers keeps attention's scores, unless its configuration says how it attends."""
    long = [{"shape": [4, 1024], "dtype": "int64"}]
    eager = estimate("llama", config_of({"reference": "llama", "config": STARTER}), long, "float32")
    sdpa = {**STARTER, "attn_implementation": "sdpa"}
    lean = estimate("llama", config_of({"reference": "llama", "config": sdpa}), long, "float32")
    assert eager is not None
    assert lean is not None
    assert eager.kv == lean.kv == 0
    assert eager.activation > 10 * lean.activation
