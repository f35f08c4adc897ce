"""What the model must do in any precision. There is no reference, so formulas are tested here."""

import copy

import pytest
import torch

from {{ cookiecutter.__package }}.model import build

SMALL = {"vocab_size": 50, "width": 32, "layers": 2, "heads": 4, "context": 16}


def relative_error(got: torch.Tensor, expected: torch.Tensor) -> float:
    return ((got.double() - expected.double()).norm() / expected.double().norm()).item()


def test_the_output_is_one_vector_per_text(model, texts, lab):
    assert model(*texts).shape == (len(texts[0]), lab["model"]["config"]["width"])


def test_padding_changes_nothing(model, texts):
    tokens, mask = texts
    other = torch.where(mask.bool(), tokens, (tokens + 1) % 50)
    torch.testing.assert_close(model(other, mask), model(tokens, mask))
    assert relative_error(model(other, torch.ones_like(mask)), model(tokens, torch.ones_like(mask))) > 0.01


def test_a_text_is_answered_alone_and_without_its_padding_as_in_a_batch(model, texts):
    tokens, mask = texts
    length = int(mask[1].sum())
    torch.testing.assert_close(model(tokens[1:2, :length], mask[1:2, :length]), model(tokens, mask)[1:2])


def test_the_order_of_the_words_matters(model, texts):
    tokens, mask = texts
    assert relative_error(model(tokens.flip(1), torch.ones_like(mask)), model(tokens, torch.ones_like(mask))) > 0.01


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
def test_a_text_of_padding_only_has_no_nan(model, texts, dtype):
    assert copy.deepcopy(model).to(dtype)(texts[0], torch.zeros_like(texts[1])).isfinite().all()


def test_attention_is_the_textbooks(model):
    attention, x = model.blocks[0].attention, torch.randn(2, 5, model.norm.normalized_shape[0])
    visible = torch.ones(2, 5, dtype=torch.bool)
    q, k, v = (part.unflatten(2, (attention.heads, -1)).transpose(1, 2) for part in attention.qkv(x).chunk(3, dim=-1))
    weights = (q @ k.transpose(2, 3) / q.shape[-1] ** 0.5).softmax(dim=-1)
    expected = attention.out((weights @ v).transpose(1, 2).flatten(2))
    torch.testing.assert_close(attention(x, visible), expected)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_stays_half_and_close(model, texts, dtype):
    output = copy.deepcopy(model).to(dtype)(*texts)
    assert output.dtype == dtype
    assert relative_error(output, model(*texts)) < 8 * torch.finfo(dtype).eps


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_autocast_gives_the_same_answer(model, texts, dtype):
    with torch.autocast("cpu", dtype=dtype):
        output = model(*texts)
    assert relative_error(output, model(*texts)) < 8 * torch.finfo(dtype).eps


def test_the_same_seed_gives_the_same_model(model, texts, lab):
    torch.manual_seed(lab["model"]["seed"])
    assert torch.equal(build(**lab["model"]["config"])(*texts), model(*texts))


def test_more_tokens_than_the_context_are_refused_in_words(model, lab):
    tokens = torch.zeros(1, lab["model"]["config"]["context"] + 1, dtype=torch.int64)
    with pytest.raises(ValueError, match="context is"):
        model(tokens, torch.ones_like(tokens))


def test_a_mask_of_another_length_is_refused_in_words(model, texts):
    with pytest.raises(ValueError, match="attention_mask is"):
        model(texts[0], texts[1][:, 1:])


@pytest.mark.parametrize("wrong", [{"heads": 3}, {"width": 0}, {"layers": 0}])
def test_sizes_that_make_no_encoder_are_refused_in_words(wrong):
    with pytest.raises(ValueError, match="a multiple of heads"):
        build(**SMALL | wrong)
