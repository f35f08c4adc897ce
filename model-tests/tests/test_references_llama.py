"""The reference LLaMA: true fp64, the promised names, and what another correct implementation computes."""

import pytest
import torch
from model_tests import references
from model_tests.precision.errors import nu, relative_l2

CONFIG = {
    "vocab_size": 64, "hidden_size": 32, "layers": 2, "heads": 4, "kv_heads": 2, "ffn_size": 48, "context": 32,
}  # fmt: skip
TOKENS = torch.randint(64, (2, 24), generator=torch.Generator().manual_seed(0))


@pytest.fixture
def llama():
    torch.manual_seed(0)
    return references.factory("llama")(**CONFIG)


def test_the_state_dict_has_the_names_that_students_are_told(llama):
    parts = ["attention.wq", "attention.wk", "attention.wv", "attention.wo", "attention_norm", "ffn_norm"]
    parts += ["feed_forward.gate", "feed_forward.up", "feed_forward.down"]
    layers = {f"layers.{n}.{part}.weight" for n in range(2) for part in parts}
    assert set(llama.state_dict()) == {"embed.weight", "norm.weight", "head.weight"} | layers
    assert "layers.1.attention.rope" in dict(llama.named_modules())
    assert not list(llama.buffers())


def test_another_implementation_with_the_same_weights_agrees_to_fp64(llama, student):
    other = student("llama").build(**CONFIG)
    other.load_state_dict(llama.state_dict())
    with torch.no_grad():
        exact = llama.double()(TOKENS)
        assert relative_l2(other.double()(TOKENS), exact) < 1e-7  # its rotary tables are float32


def test_fp64_is_fp64_and_fp32_a_few_roundoffs_away(llama):
    with torch.no_grad():
        single = llama(TOKENS)
        exact = llama.double()(TOKENS)
    assert exact.dtype == torch.float64
    assert 0.5 < nu(single, exact, 2.0**-24) < 20


def test_a_token_sees_none_that_come_later(llama):
    changed = TOKENS.clone()
    changed[:, 12:] = 0
    with torch.no_grad():
        first, second = llama(TOKENS), llama(changed)
    torch.testing.assert_close(first[:, :12], second[:, :12])
    assert not torch.allclose(first[:, 12:], second[:, 12:])


def test_rotation_keeps_lengths_and_depends_on_the_distance_only(llama):
    rope = llama.layers[0].attention.rope
    q, k = torch.randn(2, 1, 1, 1, 8, dtype=torch.float64).unbind(0)
    turned_q, turned_k = rope(q.expand(1, 1, 20, 8)), rope(k.expand(1, 1, 20, 8))
    assert torch.allclose(turned_q.norm(dim=-1), q.norm().expand(1, 1, 20))
    products = (turned_q @ turned_k.transpose(-1, -2))[0, 0]
    assert torch.allclose(products[5, 2], products[15, 12])
    assert not torch.allclose(products[5, 2], products[5, 3])


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_it_runs_in_half_precision(llama, dtype):
    with torch.no_grad():
        assert llama.to(dtype)(TOKENS).dtype == dtype


@pytest.mark.parametrize("change", [{"heads": 3}, {"kv_heads": 3}, {"heads": 32, "kv_heads": 32}, {"context": 0}])
def test_sizes_that_form_no_heads_are_refused(change):
    with pytest.raises(ValueError, match="must"):
        references.factory("llama")(**CONFIG | change)


def test_an_unknown_reference_is_a_key_error():
    with pytest.raises(KeyError):
        references.factory("gpt2")
