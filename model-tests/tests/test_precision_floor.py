"""Island: every op that yields the dtype is computed in fp32 and rounded once, and nothing else is changed."""

import pytest
import torch
import torch.nn.functional as F  # noqa: N812
from model_tests.precision.floor import FloorError, Island
from model_tests.precision.mode import op_by_op
from torch import nn

HALVES = [torch.float16, torch.bfloat16]
X = torch.randn(4, 8, 16, generator=torch.Generator().manual_seed(0)).clamp(-2, 2)
CAUSAL = torch.ones(8, 8, dtype=torch.bool).tril()
INDEX = torch.tensor([3, 1, 2])


def out_variant(x):
    out = torch.empty_like(x)
    torch.add(x, x, out=out)
    return out


def resized_out(x):
    out = x.new_empty(0)
    torch.mul(x, 3.7, out=out)
    return out


def in_place_chain(x):
    h = x.clone()
    h.mul_(1.1).add_(x, alpha=0.3).sigmoid_()
    h[:, 2:4].sub_(0.7)
    h += x
    return h


def written_rows(x):
    h = x.clone()
    h[INDEX] = x[INDEX] * 1.3
    h.index_put_((torch.tensor([0]),), x[:1] / 3, accumulate=True)
    return h


def masked(x):
    return x.masked_fill(x > 0.5, float("-inf")).softmax(-1)


def foreach(x):
    parts = torch._foreach_mul([x, x[:2]], 1.7)
    torch._foreach_add_(parts, 0.3)
    return parts[0]


def aliased(x):
    h = x.clone()
    h.add_(h).mul_(h)
    return h


# Functions whose result in fp32, rounded once, must be what Island gives: one op that computes, moves around it.
SINGLE = {
    "add": lambda x: x + x.flip(0),
    "scalar": lambda x: x * 1.2345,
    "zero-dimensional": lambda x: x * x[0, 0, 0],
    "exp": torch.exp,
    "matmul": lambda x: x[0] @ x[1].T,
    "bmm": lambda x: torch.bmm(x, x.transpose(1, 2)),
    "linear": lambda x: F.linear(x, x[0]),
    "convolution": lambda x: F.conv1d(x, x[:2, :, :3].contiguous()),
    "softmax": lambda x: x.softmax(-1),
    "layer_norm": lambda x: F.layer_norm(x, (16,)),
    "batch_norm": lambda x: F.batch_norm(x, torch.zeros(8, dtype=x.dtype), torch.ones(8, dtype=x.dtype)),
    "gelu": F.gelu,
    "sum": lambda x: x.sum(-1),
    "sum with dtype": lambda x: x.sum(-1, dtype=x.dtype),
    "maximum with indices": lambda x: x.max(-1).values,
    "attention": lambda x: F.scaled_dot_product_attention(x[None], x[None], x[None], is_causal=True),
    "attention with mask": lambda x: F.scaled_dot_product_attention(x[None], x[None], x[None], attn_mask=CAUSAL),
    "cumsum": lambda x: x.cumsum(-1),
    "where": lambda x: torch.where(x > 0, x, x.new_zeros(())) * 0.3,
    "cat": lambda x: torch.cat((x, x)) / 3,
    "embedding": lambda x: F.embedding(INDEX, x[0]) / 3,
    "out=": out_variant,
    "out= of another size": resized_out,
    "addmm": lambda x: torch.addmm(x[0, :, :8], x[1], x[2].T),
}
# Several roundings: only dtype, shape and meaning can be held.
SEVERAL = {
    "in place": in_place_chain,
    "rows": written_rows,
    "masked": masked,
    "foreach": foreach,
    "aliased": aliased,
    "split": lambda x: torch.stack([part * 1.1 for part in x.chunk(2, -1)]).sum(0),
    "lstm": lambda x: nn.LSTM(16, 4, batch_first=True).to(x.dtype)(x)[0],
    "views": lambda x: (x.view(4, -1).t().unsqueeze(0).expand(2, -1, -1)[..., ::2] * 1.1).contiguous(),
}


@pytest.mark.parametrize("dtype", HALVES, ids=str)
@pytest.mark.parametrize("function", SINGLE.values(), ids=SINGLE.keys())
def test_one_op_is_computed_in_fp32_and_rounded_once(function, dtype):
    x = X.to(dtype)
    with torch.no_grad(), Island(dtype):
        found = function(x)
    assert found.dtype == dtype
    with torch.no_grad():
        assert torch.equal(found, function(x.float()).to(dtype))


@pytest.mark.parametrize("dtype", HALVES, ids=str)
@pytest.mark.parametrize("function", SEVERAL.values(), ids=SEVERAL.keys())
def test_a_chain_keeps_dtype_shape_and_meaning(function, dtype):
    x = X.to(dtype)
    torch.manual_seed(0)
    with torch.no_grad():
        native = function(x)
        torch.manual_seed(0)
        with op_by_op(nn.Module()), Island(dtype):
            found = function(x)
    assert (found.dtype, found.shape) == (native.dtype, native.shape)
    torch.testing.assert_close(found, native, rtol=0.05, atol=0.02)


@pytest.mark.parametrize("dtype", HALVES, ids=str)
def test_results_of_another_dtype_are_left_alone(dtype):
    x = X.to(dtype)
    with torch.no_grad(), Island(dtype):
        results = [
            x.float() / 3,
            x.argmax(-1),
            x > 0,
            x.sum(dtype=torch.float32),
            x * torch.ones(16),
            x.to(torch.float64),
        ]
        number = x[0, 0, 0].item()
    expected = [torch.float32, torch.int64, torch.bool, torch.float32, torch.float32, torch.float64]
    assert [result.dtype for result in results] == expected
    assert torch.equal(results[0], x.float() / 3)
    assert number == x[0, 0, 0].item()


def test_an_in_place_op_returns_and_changes_the_tensor_itself():
    x = X.half()
    with Island(torch.float16):
        same = x.mul_(1.2345)
    assert same is x
    assert torch.equal(x, (X.half().float() * 1.2345).half())


def test_an_in_place_op_on_a_view_changes_its_base():
    base = X.half()
    with Island(torch.float16):
        base[:, 1].add_(0.1)
    assert torch.equal(base[:, 1], (X.half().float()[:, 1] + 0.1).half())
    assert torch.equal(base[:, 2], X.half()[:, 2])


def test_indices_of_a_maximum_stay_integers():
    with Island(torch.float16):
        values, indices = X.half().max(-1)
    assert (values.dtype, indices.dtype) == (torch.float16, torch.int64)


def test_positions_that_half_cannot_hold_are_exact_in_the_floor():
    position = torch.tensor([4097])
    with Island(torch.float16):
        found = position * torch.full((1,), 0.5, dtype=torch.float16)
    assert found.item() == torch.tensor(2048.5).half().item()


def test_under_autocast_the_casts_are_seen_and_float32_stays():
    model = nn.Sequential(nn.Linear(16, 16), nn.LayerNorm(16), nn.Linear(16, 16)).eval()
    with torch.no_grad(), torch.autocast("cpu", dtype=torch.bfloat16), Island(torch.bfloat16):
        found = model(X)
        residual = X + found
    assert (found.dtype, residual.dtype) == (torch.bfloat16, torch.float32)


def test_a_model_that_switches_inference_mode_on_itself_is_seen_op_by_op():
    model = nn.Sequential(nn.Linear(16, 16), nn.Linear(16, 8)).eval()
    seen = []

    class Spy(Island):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            seen.append(func.overloadpacket.__name__)
            return super().__torch_dispatch__(func, types, args, kwargs)

    @torch.inference_mode()
    def forward():
        return model(X)

    with torch.autocast("cpu", dtype=torch.bfloat16):
        native = forward()
        with op_by_op(model), torch.no_grad(), Spy(torch.bfloat16):
            found = forward()
    assert found.dtype == native.dtype == torch.bfloat16
    assert "linear" not in seen
    assert seen.count("addmm") == 2


def test_jitter_is_repeatable_changes_few_roundings_and_never_exact_values():
    x = torch.randn(256, 256, generator=torch.Generator().manual_seed(0)).half()

    def run(seed):
        with Island(torch.float16, torch.Generator().manual_seed(seed)):
            return x.flip(0), (x * 1.2345) @ x.T / 16

    (moved, first), (_, again), (_, other) = run(1), run(1), run(2)
    assert torch.equal(moved, x.flip(0))
    assert torch.equal(first, again)
    assert not torch.equal(first, other)
    torch.testing.assert_close(first, other, rtol=2e-3, atol=2e-2)


def test_infinities_survive_the_jitter():
    big = torch.full((64,), 60000.0).half()
    with Island(torch.float16, torch.Generator().manual_seed(0)):
        found = torch.stack((big * 2, big * -2))
    assert torch.equal(found, torch.stack((big * 2, big * -2)))


def test_rules_learned_in_one_run_serve_the_next():
    rules = {}
    with Island(torch.float16, rules=rules):
        first = X.half() * 1.5
    learned = dict(rules)
    with Island(torch.float16, rules=rules):
        second = X.half() * 1.5
    assert rules == learned
    assert torch.equal(first, second)


def test_an_op_that_cannot_be_raised_is_named(monkeypatch):
    island = Island(torch.float16)
    monkeypatch.setattr(island, "_round", lambda x: 1 / 0)
    with pytest.raises(FloorError, match=r"aten\.mul\.Tensor: ZeroDivisionError") as caught, island:
        X.half() * 2
    assert caught.value.op == "aten.mul.Tensor"
