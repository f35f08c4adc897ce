"""What the model must do in any precision. Add a test for every bug you find."""

import copy

import pytest
import torch

from {{ cookiecutter.__package }}.model import KVCache, build, example_inputs, generate

SMALL = {"vocab_size": 64, "hidden_size": 32, "layers": 2, "heads": 4, "kv_heads": 2, "ffn_size": 48, "context": 16}


def relative_error(got: torch.Tensor, expected: torch.Tensor) -> float:
    return ((got.double() - expected.double()).norm() / expected.double().norm()).item()


def test_the_output_is_one_row_of_logits_per_token(model, tokens, lab):
    assert model(tokens).shape == (*tokens.shape, lab["model"]["config"]["vocab_size"])


def test_the_model_agrees_with_the_course_reference(model, tokens, lab):
    references = pytest.importorskip("model_tests.references", reason="the verify step compares with the reference")
    reference = references.factory(lab["model"]["reference"])(**lab["model"]["config"]).double()
    reference.load_state_dict(model.state_dict())
    assert relative_error(model(tokens), reference(tokens)) < 100 * 2**-24


def test_the_same_seed_gives_the_same_model(model, tokens, lab):
    torch.manual_seed(lab["model"]["seed"])
    assert torch.equal(build(**lab["model"]["config"])(tokens), model(tokens))


def test_a_token_cannot_see_what_comes_after_it(model, tokens):
    changed = tokens.clone()
    changed[:, 40:] = (changed[:, 40:] + 1) % 64
    torch.testing.assert_close(model(changed)[:, :40], model(tokens)[:, :40])
    assert not torch.equal(model(changed)[:, 40], model(tokens)[:, 40])


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
def test_decoding_with_a_cache_equals_reading_all_at_once(model, tokens, dtype):
    half, cache = copy.deepcopy(model).to(dtype), KVCache()
    parts = [half(tokens[:, :30], cache), *(half(tokens[:, i : i + 1], cache) for i in range(30, 64))]
    assert cache.length() == 64
    assert relative_error(torch.cat(parts, dim=1), half(tokens)) < 8 * torch.finfo(dtype).eps


def test_one_key_value_head_serves_a_group_of_query_heads():
    torch.manual_seed(0)
    grouped, full = build(**SMALL), build(**SMALL | {"kv_heads": 4})
    weights = grouped.state_dict()
    for name in [name for name in weights if name.endswith(("wk.weight", "wv.weight"))]:
        heads = weights[name].view(SMALL["kv_heads"], 8, SMALL["hidden_size"])
        weights[name] = heads.repeat_interleave(2, dim=0).reshape(-1, SMALL["hidden_size"])
    full.load_state_dict(weights)
    (tokens,) = example_inputs(2, 16, SMALL["vocab_size"])
    torch.testing.assert_close(full(tokens), grouped(tokens))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_stays_half_and_finite(model, tokens, dtype):
    half = copy.deepcopy(model).to(dtype)
    output = half(tokens)
    assert output.dtype == dtype
    assert output.isfinite().all()
    assert relative_error(output, model(tokens)) < 8 * torch.finfo(dtype).eps


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_autocast_gives_the_same_answer(model, tokens, dtype):
    with torch.autocast("cpu", dtype=dtype):
        output = model(tokens)
    assert relative_error(output, model(tokens)) < 8 * torch.finfo(dtype).eps


def test_generate_appends_the_likeliest_tokens(model, tokens):
    prompt = tokens[:1, :5]
    longer = generate(model, prompt, steps=4)
    assert longer.shape == (1, 9)
    assert torch.equal(longer[:, 5:], model(longer)[:, 4:-1].argmax(dim=-1))


def test_more_tokens_than_the_context_are_refused_in_words(model, lab):
    context = lab["model"]["config"]["context"]
    with pytest.raises(ValueError, match=f"context is {context}"):
        model(torch.zeros(1, context + 1, dtype=torch.int64))


@pytest.mark.parametrize("wrong", [{"heads": 3}, {"kv_heads": 3}])
def test_sizes_that_do_not_divide_are_refused_in_words(wrong):
    with pytest.raises(ValueError, match="must be a multiple of"):
        build(**SMALL | wrong)
