"""What the contract asks of a model, each broken in turn: refused in one line that says what was expected."""

import dataclasses
import sys
import types

import pytest
import torch
from model_tests.producing.student import StudentError, one_line, places_itself, short, where
from torch import nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(32, 32)
        self.count = 0

    def forward(self, x):
        return self.linear(x)


def variant(forward):
    return lambda: type("Variant", (Model,), {"forward": forward})().eval()


def modifies(self, x):
    x.mul_(2)
    return self.linear(x)


def counts(self, x):
    self.count += 1
    return self.linear(x) * self.count


def leaves(self, x):
    raise SystemExit(4)


def raises(self, x):
    raise KeyError("naïve\n<b>html</b>\x1b[31m")


BROKEN = {
    "wrong type": (lambda: {"a": 1}, "must return a torch.nn.Module; got dict"),
    "nothing": (lambda: None, "must return a torch.nn.Module; got NoneType"),
    "arguments": (lambda size: Model().eval(), "missing 1 required positional argument: 'size'"),
    "half weights": (lambda: Model().half().eval(), "must return float32 parameters; linear.weight is torch.float16"),
    "train mode": (Model, "must return the model in eval mode; end it with `return model.eval()`"),
    "train mode within": (
        lambda: nn.Sequential(Model().eval(), nn.Dropout(0.1).train()),
        "must return the model in eval mode",
    ),
    "arity": (variant(lambda self, x, y: x), "missing 1 required positional argument: 'y'"),
    "no batch": (variant(lambda self, x: self.linear(x).sum(0)), "the batch (16) as the first size; got shape [32]"),
    "no dimension": (variant(lambda self, x: self.linear(x).sum()), "the batch (16) as the first size; got shape []"),
    "dict": (variant(lambda self, x: {"logits": x}), "a tuple whose first item is one; got dict"),
    "tuple of text": (variant(lambda self, x: ("a", x)), "got a tuple that starts with str"),
    "empty tuple": (variant(lambda self, x: ()), "got an empty tuple"),
    "integers": (variant(lambda self, x: self.linear(x).argmax(-1)), "floating-point values; got torch.int64"),
    "float64": (variant(lambda self, x: self.linear(x).double()), "float32 from a float32 model; got torch.float64"),
    "changed input": (variant(modifies), "must not change its inputs; x was modified in place"),
    "random": (variant(lambda self, x: nn.functional.dropout(self.linear(x))), "must give the same answer twice"),
    "state": (variant(counts), "does forward() change the model?"),
    "sys.exit": (variant(leaves), "called sys.exit(4)"),
    "exception": (variant(raises), r"raised KeyError: 'naïve\n<b>html</b>\x1b[31m'"),
    "fixed batch": (variant(lambda self, x: self.linear(x.view(16, 32))), "with a batch of 1"),
    "recursion": (variant(lambda self, x: self.forward(x)), "RecursionError"),
    "sparse": (variant(lambda self, x: self.linear(x).to_sparse()), "must return a Tensor"),
}


@pytest.fixture
def refused(monkeypatch, produced):
    """Return the line with which a factory is refused."""

    def run(build, **changes):
        from model_tests.spec import Spec

        module = types.ModuleType("student_contract")
        if build is not None:
            module.build = build
        monkeypatch.setitem(sys.modules, "student_contract", module)
        raw = {"factory": "student_contract:build", "inputs": [{"name": "x", "shape": [16, 32], "dtype": "float32"}]}
        with pytest.raises(StudentError) as caught:
            produced(Spec.from_dict(raw | {"candidates": ["float16"], "iterations": 1} | changes))
        return str(caught.value)

    return run


@pytest.mark.parametrize(("build", "words"), BROKEN.values(), ids=BROKEN.keys())
def test_a_broken_contract_is_refused_in_one_line(refused, build, words):
    message = refused(build)
    assert words in message
    assert "\n" not in message
    assert message.isprintable()


def test_logits_need_classes(refused):
    assert "must return logits" in refused(variant(lambda self, x: self.linear(x)[:, :1]), output="logits")


def test_a_missing_factory_is_named(refused):
    assert refused(None) == "student_contract must define a function build(**config); found nothing"


def test_a_factory_that_shadows_the_standard_library_is_told_so(refused):
    assert "Python has a module of that name itself" in refused(None, factory="random:build")


def test_a_module_that_cannot_be_imported_is_named(refused):
    assert "import no_such_package.model raised ModuleNotFoundError" in refused(
        None, factory="no_such_package.model:build"
    )


def test_a_tuple_gives_its_first_item_and_inputs_that_float32_does_not_change_are_fine(monkeypatch, produced):
    from model_tests.spec import Spec

    module = types.ModuleType("student_contract")
    module.build = variant(lambda self, x: (self.linear(x), None))
    monkeypatch.setitem(sys.modules, "student_contract", module)
    raw = {"factory": "student_contract:build", "inputs": [{"name": "x", "shape": [16, 32], "dtype": "float32"}]}
    out = produced(Spec.from_dict(raw | {"candidates": ["float16"], "iterations": 1}))
    assert torch.load(out / "float32.pt", weights_only=True)["output"].shape == (16, 32)


def test_the_place_of_an_error_is_the_students_and_no_path_of_this_machine():
    try:
        variant(raises)()(torch.zeros(1))
    except KeyError as error:
        assert where(error) == f" (tests/test_produce_contract.py line {raises.__code__.co_firstlineno + 1})"
    assert short("/home/someone/project/src/lab/model.py") == "lab/model.py"


def test_a_line_is_one_line_and_not_too_long():
    assert one_line("a\n\tb\x1b[31m  c") == "a b [31m c"
    assert len(one_line("x" * 9999)) == 500


def test_a_model_with_a_device_map_is_left_where_it_placed_itself(student, zoo_spec):
    """accelerate's models refuse `.to()`; here it would move the model to a device that has no numbers."""
    from model_tests.producing.student import Student

    def spread():
        model = Model().eval()
        model.hf_device_map = {"": "cpu"}
        return model

    module = types.ModuleType("student_spread")
    module.spread, module.plain = spread, lambda: Model().eval()
    sys.modules["student_spread"] = module
    for name, where_is in (("spread", "cpu"), ("plain", "meta")):
        spec = dataclasses.replace(zoo_spec("mlp", [1, 32], {}), factory=f"student_spread:{name}")
        built = Student(spec, torch.device("meta"))
        built.load()
        assert built._build().linear.weight.device.type == where_is
    del sys.modules["student_spread"]


def test_a_model_on_one_device_does_not_place_itself():
    assert not places_itself(Model())
    assert not places_itself(nn.Identity())
