"""Recording module outputs, and naming the module at fault."""

import pytest
import torch
from model_tests.precision import capture
from model_tests.precision.blame import by_key, first_fault, never_called, nonfinite_fault, ratio_fault
from model_tests.precision.capture import Recorder, positions, sample
from model_tests.precision.transport import DamagedError, pack, unpack
from torch import nn


class Inner(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(32, 32), nn.Linear(32, 32)
        self.between = lambda x: x

    def forward(self, x):
        return self.second(self.between(self.first(x)))


class Outer(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = Inner(), Inner()
        self.act = nn.ReLU(inplace=True)

    def forward(self, x):
        return self.act(self.b(self.act(self.a(x))))


def recorded(model, x):
    with torch.no_grad(), Recorder(model) as recorder:
        model(x)
    return by_key(recorder.calls)


def outer():
    torch.manual_seed(0)
    return Outer().eval()


SAMPLE = {"shape": (4,), "values": torch.ones(4), "max_abs": 1.0, "nan": 0, "inf": 0, "minus_inf": 0}
X = torch.randn(16, 32, generator=torch.Generator().manual_seed(1))


def test_calls_are_in_order_of_completion_and_a_shared_module_is_counted():
    names = list(recorded(outer(), X))
    assert names == [
        ("a.first", 0), ("a.second", 0), ("a", 0), ("act", 0),
        ("b.first", 0), ("b.second", 0), ("b", 0), ("act", 1), ("", 0),
    ]  # fmt: skip


def test_a_call_knows_its_parent_its_input_and_its_output():
    model = outer()
    call = recorded(model, X)[("b.second", 0)]
    assert (call.parent, call.kind, call.output.shape) == (("b", 0), "Linear", (16, 32))
    assert torch.equal(call.output.values.reshape(16, 32), model.b(model.act(model.a(X))))


def test_an_in_place_module_does_not_change_what_was_recorded_before_it():
    calls = recorded(outer(), X)
    assert (calls[("a", 0)].output.values < 0).any()
    assert torch.equal(calls[("act", 0)].input.values, calls[("a", 0)].output.values)


def test_hooks_are_gone_afterwards_and_survive_an_exception():
    model = outer()
    with pytest.raises(RuntimeError), Recorder(model):
        model(torch.randn(3, 7))
    assert not any(m._forward_hooks or m._forward_pre_hooks for m in model.modules())


def test_a_large_tensor_is_sampled_at_the_same_places_in_every_run():
    x = torch.randn(50, 40)
    first, second = sample(x, 128), sample(x * 2, 128)
    assert first.values.shape == (128,)
    assert torch.equal(first.values * 2, second.values)
    assert torch.equal(first.values, x.flatten()[positions(2000, 128)])


def test_counts_and_the_maximum_are_of_the_whole_tensor():
    x = torch.zeros(4096)
    x[7], x[8], x[9], x[10] = float("nan"), float("inf"), float("-inf"), -5.0
    found = sample(x, 16)
    assert (found.nan, found.inf, found.minus_inf, found.max_abs, found.broken) == (1, 1, 1, 5.0, 2)


def test_the_first_floating_tensor_of_a_structure_is_taken():
    assert sample(({"ids": torch.arange(3)}, [torch.ones(2, 2)]), 16).shape == (2, 2)
    assert sample((torch.arange(3), None), 16) is None
    assert sample(torch.empty(0), 16) is None


def test_memory_is_capped(monkeypatch):
    monkeypatch.setattr(capture, "RUN_CALLS", 3)
    monkeypatch.setattr(capture, "RUN_VALUES", 0)
    calls = recorded(outer(), torch.randn(64, 32))
    assert len(calls) == 3
    assert max(call.output.values.numel() for call in calls.values()) == capture.FEWEST_VALUES


def test_calls_survive_the_file(tmp_path):
    calls = recorded(outer(), X)
    torch.save({"calls": pack(list(calls.values()))}, tmp_path / "calls.pt")
    found = by_key(unpack(torch.load(tmp_path / "calls.pt", weights_only=True)["calls"]))
    assert found.keys() == calls.keys()
    assert all(torch.equal(found[key].output.values, calls[key].output.values) for key in calls)


@pytest.mark.parametrize(
    "damage",
    [
        {"key": "a"}, {"key": ("a", -1)}, {"key": ("a" * 999, 0)}, {"key": ("a\x1b", 0)}, {"kind": 3}, {"parent": 7},
        {"output": 3}, {"output": {"shape": (4,)}},
        {"output": SAMPLE | {"values": torch.ones(5)}}, {"output": SAMPLE | {"nan": 0.5}},
        {"output": SAMPLE | {"values": torch.arange(4)}}, {"output": SAMPLE | {"values": torch.ones(1).expand(4)}},
        {"output": SAMPLE | {"max_abs": "1"}}, {"output": SAMPLE | {"shape": (-4,)}},
    ],
)  # fmt: skip
def test_a_damaged_call_is_refused(damage):
    good = {"key": ("a", 0), "parent": None, "kind": "Linear", "output": None, "input": None}
    assert unpack([good])
    with pytest.raises(DamagedError):
        unpack([good | damage])


def test_the_deepest_module_is_named_when_the_fault_is_in_it():
    good, bad = outer(), outer()
    with torch.no_grad():
        bad.b.first.weight[0, 0] = float("nan")
    assert nonfinite_fault(recorded(bad, X), recorded(good, X)).key == ("b.first", 0)


def test_the_parent_is_named_when_the_fault_is_between_its_modules():
    bad = outer()
    bad.b.between = lambda x: x / 0.0
    assert nonfinite_fault(recorded(bad, X), recorded(outer(), X)).key == ("b", 0)


def test_minus_infinity_of_a_mask_is_no_fault():
    model = outer()
    model.a.between = lambda x: x.masked_fill(x > 1, float("-inf")).clamp(min=-9)
    assert nonfinite_fault(recorded(model, X), {}) is None


def test_the_module_that_loses_more_than_its_floor_is_named():
    truth, floor, real = outer().double(), outer().half(), outer().half()
    real.b.between = lambda x: x * 1.02
    exact, least = recorded(truth, X.double()), recorded(floor, X.half())
    assert ratio_fault(recorded(real, X.half()), least, exact).key == ("b", 0)
    assert ratio_fault(least, least, exact) is None


def test_nothing_bad_is_nobodys_fault():
    assert first_fault(recorded(outer(), X), lambda key, side, found: False) is None


def test_a_module_that_never_ran_is_missed_once_and_not_with_its_parts():
    truth = recorded(outer(), X)
    without = {key: call for key, call in truth.items() if not key[0].startswith("b")}
    assert never_called(without, truth) == ["b"]
