"""The census: what counts as a layer left in float32, and what is good practice."""

import pytest
import torch
import torch.nn.functional as F  # noqa: N812
from model_tests.precision.candidates import FLOAT32, candidate
from model_tests.precision.capture import ModuleStack
from model_tests.precision.census import Census, Tally, count_state, dtype_name
from model_tests.precision.mode import op_by_op
from model_tests.precision.policy import allowed, most_exempt
from torch import nn

X = torch.randn(2, 6, 16, generator=torch.Generator().manual_seed(0))


class Layer(nn.Module):
    """A linear layer with something else around it."""

    def __init__(self, before=lambda x: x):
        super().__init__()
        self.linear = nn.Linear(16, 16)
        self.before = before

    def forward(self, x):
        return self.linear(self.before(x))


def census(model, name="float16", x=X, allow=()):
    which = FLOAT32 if name == "float32" else candidate(name)
    model = which.prepare(model.eval())
    tally = Tally(dtype_name(which.dtype))
    count_state(tally, which, model, allow)
    stack = ModuleStack(model)
    with torch.no_grad(), which.context("cpu"), op_by_op(model), stack, Census(tally, which, stack, allow):
        model(*which.inputs([x]))
    return tally.to_dict()


def offenders(*args, **kwargs):
    return [(o["name"], o["what"], o["dtype"]) for o in census(*args, **kwargs)["offenders"]]


def rms(x):
    return (x.float() * x.float().pow(2).mean(-1, keepdim=True).rsqrt()).to(x.dtype)


def rope_as_matmul(x):
    angles = torch.randn(8, 1).float() @ torch.arange(x.shape[1]).float()[None]
    return x * angles.cos().T.repeat(1, 2).to(x.dtype)


def norm_as_einsum(x):
    return (x.float() / torch.einsum("btd,btd->bt", x.float(), x.float()).sqrt()[..., None]).to(x.dtype)


def float32_attention(x):
    return F.scaled_dot_product_attention(x.float()[:, None], x.float()[:, None], x.float()[:, None])[:, 0].to(x.dtype)


@pytest.mark.parametrize("name", ["float16", "bfloat16", "float16-autocast", "bfloat16-autocast"])
@pytest.mark.parametrize("before", [rms, rope_as_matmul, norm_as_einsum, torch.sigmoid], ids=lambda f: f.__name__)
def test_statistics_and_angles_in_float32_are_good_practice(before, name):
    with torch.no_grad():
        assert offenders(Layer(before), name) == []


@pytest.mark.parametrize("name", ["float16", "bfloat16"])
def test_every_kind_of_layer_counts_and_is_clean_in_half(name):
    model = nn.Sequential(nn.Conv1d(6, 6, 1), nn.LSTM(16, 16, batch_first=True))
    found = census(model, name)
    assert found["offenders"] == []
    assert found["gemm"][name] >= 3
    assert found["parameters"] == {name: 6}


def test_a_layer_in_float32_is_named_with_its_module():
    class Island32(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner, self.outer = Layer(), Layer()

        def forward(self, x):
            with torch.autocast("cpu", enabled=False):
                x = F.linear(x.float(), self.inner.linear.weight.float()).to(x.dtype)
            return self.outer(x)

    for name in ("float16", "bfloat16-autocast"):
        assert offenders(nn.Sequential(Island32()), name) == [("0", "gemm", "float32")]


def test_attention_in_float32_is_an_offence_unless_it_is_declared():
    model = nn.Sequential(Layer(float32_attention))
    assert offenders(model) == [("0", "gemm", "float32")]
    assert offenders(model, allow=["0"]) == []
    assert offenders(model, allow=["1.*"]) == [("0", "gemm", "float32")]


def test_a_float32_baseline_with_half_in_it_is_none():
    assert offenders(Layer(lambda x: x.half().float()), "float32") == [("", "cast", "float16")]
    half = Layer(lambda x: F.linear(x.bfloat16(), torch.eye(16).bfloat16()).float())
    assert ("", "cast", "bfloat16") in offenders(half, "float32")


def test_bfloat16_passed_off_as_float16_is_found():
    class Disguised(Layer):
        def half(self):
            return self.bfloat16()

        def forward(self, x):
            return super().forward(x.bfloat16()).to(x.dtype)

    found = offenders(Disguised())
    assert ("linear.weight", "parameter", "bfloat16") in found
    assert ("linear", "cast", "bfloat16") in found


def test_half_buffers_are_an_offence_in_float32_and_under_autocast_and_wide_ones_nowhere():
    class Table(Layer):
        def __init__(self, dtype):
            super().__init__()
            self.register_buffer("table", torch.ones(16, dtype=dtype))

        def _apply(self, fn, recurse=True):
            table = self.table
            super()._apply(fn, recurse)
            self.table = table
            return self

    for name in ("float32", "float16-autocast"):
        assert offenders(Table(torch.float16), name) == [("table", "buffer", "float16")]
    for name in ("float32", "float16", "bfloat16-autocast"):
        assert offenders(Table(torch.float32), name) == []


def test_vectors_may_stay_in_float32_and_matrices_may_not():
    class Kept(nn.Module):
        def __init__(self, *shape):
            super().__init__()
            self.kept = nn.Parameter(torch.ones(*shape))

        def _apply(self, fn, recurse=True):
            return self

        def forward(self, x):
            return (x.float() * self.kept.sum()).to(x.dtype)

    assert offenders(Kept(16)) == []
    assert offenders(Kept(16, 16)) == [("kept", "parameter", "float32")]
    assert offenders(Kept(16, 16), allow=["kept"]) == []


@pytest.mark.parametrize(
    ("name", "pattern", "expected"),
    [
        ("layers.1.norm", "layers.*.norm", True),
        ("layers.1.norm.inner", "layers.1", True),
        ("layers.10", "layers.1", False),
        ("", "*", True),
        ("head", "", False),
        ("layers.1", "LAYERS.*", False),
    ],
)
def test_allow_float32_takes_globs_of_modules_and_what_is_in_them(name, pattern, expected):
    assert allowed(name, [pattern]) is expected


@pytest.mark.parametrize(("products", "most"), [(0, 0), (1, 0), (2, 1), (3, 1), (4, 1), (9, 2), (19, 4), (400, 100)])
def test_a_quarter_of_the_products_may_be_exempt_or_one_of_several(products, most):
    assert most_exempt(products) == most
