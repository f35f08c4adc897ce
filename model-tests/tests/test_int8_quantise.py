"""What becomes INT8, how it is rounded, and what stays."""

import copy

import pytest
import torch
from model_tests.int8 import product
from model_tests.int8.layers import LARGEST, Dynamic, DynamicLinear, WeightOnly
from model_tests.int8.quantise import quantise, size
from torch import nn
from torch.nn.utils import parametrizations

SCHEMES = ["weight-only", "dynamic"]


class Doubled(nn.Linear):
    """A student's own linear layer, with a forward of its own."""

    def forward(self, x):
        return 2 * super().forward(x)


LAYERS = {
    "linear": (nn.Linear(24, 16), (5, 24)),
    "odd sizes": (nn.Linear(37, 13), (3, 2, 37)),
    "one row": (nn.Linear(9, 4, bias=False), (1, 9)),
    "deep": (nn.Linear(4099, 3), (4, 4099)),
    "own forward": (Doubled(24, 16), (5, 24)),
    "conv1d": (nn.Conv1d(6, 8, 3, padding=1, padding_mode="reflect"), (2, 6, 10)),
    "conv2d": (nn.Conv2d(6, 9, (3, 5), stride=2, bias=False), (2, 6, 12, 12)),
    "groups": (nn.Conv2d(8, 12, 3, groups=4), (3, 8, 9, 9)),
    "depthwise": (nn.Conv2d(8, 8, 3, groups=8), (3, 8, 9, 9)),
    "no batch": (nn.Conv2d(3, 4, 3), (3, 9, 9)),
    "transposed": (nn.ConvTranspose2d(6, 4, 3, groups=2), (2, 6, 5, 5)),
    "conv3d": (nn.Conv3d(2, 3, 2), (2, 2, 4, 4, 4)),
}


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("name", LAYERS)
def test_every_layer_answers_nearly_the_same_and_is_int8(name, scheme):
    layer, shape = LAYERS[name]
    torch.manual_seed(0)
    x = torch.randn(shape)
    plain = nn.Sequential(copy.deepcopy(layer)).eval()
    with torch.no_grad():
        before = plain(x)
        made = quantise(plain, scheme)
        after = made.model(x)
    error = (after - before).norm() / before.norm()
    assert 0 < error < (0.01 if scheme == "weight-only" else 0.02)
    assert after.shape == before.shape
    assert made.layers == ("0",)
    assert made.model[0].int8_weight.dtype == torch.int8
    assert isinstance(made.model[0], type(layer))
    assert isinstance(made.model[0], WeightOnly)


def test_a_weight_is_off_by_half_a_step_of_its_own_channel():
    torch.manual_seed(0)
    layer = nn.Linear(50, 7)
    layer.weight.data *= 10.0 ** torch.arange(7)[:, None]
    weight = layer.weight.detach().clone()
    quantise(nn.Sequential(layer), "weight-only")
    step = weight.abs().amax(1, keepdim=True) / LARGEST
    assert ((layer.weight - weight).abs() <= step * 0.5001).all()
    assert layer.int8_weight.abs().amax(1).tolist() == [LARGEST] * 7


@pytest.mark.parametrize("native", [True, False])
@pytest.mark.parametrize(("n", "k", "m"), [(1, 1, 1), (3, 37, 13), (17, 1040, 8), (40, 64, 24)])
def test_the_product_is_that_of_whole_numbers(monkeypatch, n, k, m, native):
    if not native:
        monkeypatch.setattr(product, "native", lambda device: False)
    x, weight = (torch.randint(-127, 128, shape, dtype=torch.int8) for shape in ((n, k), (m, k)))
    assert torch.equal(product.product(x, weight).long(), x.long() @ weight.long().t())


def test_a_saturating_kernel_is_not_used(monkeypatch):
    product.native.cache_clear()
    monkeypatch.setattr(torch, "_int_mm", lambda a, b: torch.full((a.shape[0], b.shape[1]), 32767, dtype=torch.int32))
    assert not product.native(torch.device("cpu"))
    product.native.cache_clear()


def test_dynamic_linear_rounds_each_row_of_its_input():
    torch.manual_seed(0)
    layer, x = nn.Linear(33, 5), torch.randn(4, 33) * torch.tensor([1e-3, 1.0, 1e3, 0.0])[:, None]
    made = quantise(nn.Sequential(layer), "dynamic").model
    scale = x.abs().amax(1, keepdim=True) / LARGEST
    whole = (x / scale).round().nan_to_num()
    expected = (whole.long() @ layer.int8_weight.long().t()) * scale * layer.int8_scale.t() + layer.bias
    with torch.no_grad():
        torch.testing.assert_close(made(x), expected)
    assert type(layer).__mro__[1] is DynamicLinear


def test_a_convolution_rounds_each_sample():
    torch.manual_seed(0)
    layer, x = nn.Conv2d(3, 4, 3), torch.randn(2, 3, 6, 6) * torch.tensor([1e-3, 1e3])[:, None, None, None]
    plain = copy.deepcopy(layer)
    made = quantise(nn.Sequential(layer), "dynamic").model
    with torch.no_grad():
        error = (made(x) - plain(x)).flatten(1).norm(dim=1) / plain(x).flatten(1).norm(dim=1)
    assert (error < 0.02).all()
    assert isinstance(layer, Dynamic)


def test_an_input_that_is_not_finite_shows():
    made = quantise(nn.Sequential(nn.Linear(8, 3)), "dynamic").model
    for value in (float("nan"), float("inf")):
        x = torch.ones(2, 8)
        x[0, 0] = value
        with torch.no_grad():
            answer = made(x)
        assert not answer[0].isfinite().any()
        assert answer[1].isfinite().all()


def test_zeros_stay_zeros():
    layer = nn.Linear(8, 3, bias=False)
    layer.weight.data[1] = 0
    made = quantise(nn.Sequential(layer), "dynamic").model
    with torch.no_grad():
        assert (made(torch.zeros(2, 8)) == 0).all()
        assert (made(torch.ones(2, 8))[:, 1] == 0).all()


class Asks(nn.Module):
    """No bias anywhere, and where to put the input is asked of the parameters."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(8, 8, bias=False)

    def forward(self, x):
        one = next(self.parameters())
        return self.layer(x.to(one.device, one.dtype))


class Named(nn.Module):
    def __init__(self, layer, name="input"):
        super().__init__()
        self.layer, self.name = layer, name

    def forward(self, x):
        return self.layer(**{self.name: x})


USES = {
    "parameters asked for": (Asks(), (4, 8)),
    "linear by name": (Named(nn.Linear(8, 3)), (4, 8)),
    "own forward by name": (Named(Doubled(8, 3), "x"), (4, 8)),
    "convolution by name": (Named(nn.Conv1d(2, 3, 3)), (4, 2, 9)),
    "no rows": (nn.Linear(8, 3), (0, 8)),
    "no rows of sequences": (nn.Linear(8, 3), (0, 5, 8)),
}


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("name", USES)
def test_what_works_in_float32_works_in_int8(name, scheme):
    model, shape = USES[name]
    torch.manual_seed(0)
    x, model = torch.randn(shape), nn.Sequential(copy.deepcopy(model)).eval()
    with torch.no_grad():
        before = model(x)
        after = quantise(model, scheme).model(x)
    torch.testing.assert_close(after, before, rtol=0.05, atol=0.05)


class Twice(nn.Linear):
    """Computes with another name of its weight, which would stay in float32."""

    def __init__(self, *sizes):
        super().__init__(*sizes)
        self.matrix = self.weight

    def forward(self, x):
        return x @ self.matrix.t()


@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_weight_of_two_names_is_not_said_to_be_int8(scheme):
    made = quantise(nn.Sequential(Twice(8, 3)), scheme)
    assert (made.layers, made.kept) == ((), {"0": "tied"})
    assert made.bytes_after == made.bytes_before


class Tied(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(10, 8)
        self.first, self.second = nn.Linear(8, 8, bias=False), nn.Linear(8, 8, bias=False)
        self.second.weight = self.first.weight
        self.head = nn.Linear(8, 10, bias=False)
        self.head.weight = self.embed.weight
        self.normed = parametrizations.weight_norm(nn.Linear(8, 8))
        self.attention = nn.MultiheadAttention(8, 2, batch_first=True)
        self.norm = nn.LayerNorm(8)

    def forward(self, tokens):
        x = self.norm(self.normed(self.second(self.first(self.embed(tokens)))))
        return self.head(self.attention(x, x, x, need_weights=False)[0])


@pytest.mark.parametrize("scheme", SCHEMES)
def test_what_stays_in_float32_is_told_with_its_reason(scheme):
    torch.manual_seed(0)
    model = Tied().eval()
    tokens = torch.arange(10).reshape(2, 5)
    with torch.no_grad():
        before = model(tokens)
        made = quantise(model, scheme)
        after = made.model(tokens)
    assert made.layers == ("first", "second", "attention.out_proj")
    assert made.kept == {
        "embed": "Embedding",
        "head": "tied",
        "normed": "parametrized",
        "normed.parametrizations.weight": "ParametrizationList",
        "attention": "MultiheadAttention",
    }
    assert model.first.int8_weight is model.second.int8_weight
    assert model.head.weight is model.embed.weight
    assert (after - before).norm() / before.norm() < 0.05


def test_bytes_count_shared_tensors_once():
    model = Tied()
    before = sum(p.numel() * 4 for p in {id(p): p for p in model.parameters()}.values())
    made = quantise(model, "weight-only")
    assert made.bytes_before == before
    # Two matrices of 8 x 8 (one of them shared): a byte instead of four for each value, and 8 scales each.
    assert made.bytes_after == before - 2 * (64 * 3 - 8 * 4)
    assert size(made.model) == made.bytes_after
