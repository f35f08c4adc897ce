"""Planted faults: text replacements that can be undone, each with the symptom that its gate is there for."""

import copy
import fnmatch
import types
from pathlib import Path

import pytest
import torch
from gpulab.faults import FaultError, fault_named, faults, plant, planted, undo
from hypothesis import given
from hypothesis import strategies as st
from model_tests import references

ROOT = Path(__file__).parents[2]
STARTER = next(ROOT.glob("{{*}}/src/*/model.py")).read_text(encoding="utf-8")
CONFIG = {"vocab_size": 64, "hidden_size": 64, "layers": 3, "heads": 4, "kv_heads": 2, "ffn_size": 96, "context": 32}
NAMES = [fault.name for fault in faults()]
HALF = {"float16": torch.float16, "bfloat16": torch.bfloat16}


@pytest.fixture(autouse=True)
def without_gradients():
    with torch.inference_mode():
        yield


def built(source: str) -> torch.nn.Module:
    module = types.ModuleType("model")
    exec(compile(source, "model.py", "exec"), module.__dict__)  # noqa: S102  our own starter
    torch.manual_seed(0)
    return module.build(**CONFIG)


def tokens() -> torch.Tensor:
    return torch.randint(64, (2, 32), generator=torch.Generator().manual_seed(1))


def reference_of(model: torch.nn.Module) -> torch.nn.Module:
    reference = references.factory("llama")(**CONFIG).double()
    reference.load_state_dict(model.state_dict())
    return reference


def outputs_by_module(model: torch.nn.Module) -> dict[str, torch.Tensor]:
    """First output of every module, in order of execution."""
    found: dict[str, torch.Tensor] = {}

    def keep(name: str, out: torch.Tensor) -> None:
        found.setdefault(name, out.clone())

    for name, module in model.named_modules():
        module.register_forward_hook(lambda _module, _inputs, out, name=name: keep(name, out))
    model(tokens())
    return found


def error(got: torch.Tensor, expected: torch.Tensor) -> float:
    return ((got.double() - expected.double()).norm() / expected.double().norm()).item()


def first_wrong(model: torch.nn.Module, bound: float) -> str:
    truth = outputs_by_module(reference_of(model))
    return next(name for name, out in outputs_by_module(model).items() if not error(out, truth[name]) < bound)


def test_the_starter_itself_agrees_with_the_reference():
    model = built(STARTER)
    assert error(model(tokens()), reference_of(model)(tokens())) < 100 * 2**-24
    assert planted(STARTER) is None


@pytest.mark.parametrize("name", NAMES)
def test_a_planted_fault_is_known_from_the_text_and_undone_without_a_trace(name):
    broken = plant(STARTER, fault_named(name))
    assert broken != STARTER
    assert planted(broken) == fault_named(name)
    assert undo(broken) == STARTER


@pytest.mark.parametrize("name", NAMES)
def test_the_students_other_edits_survive_an_undo(name):
    broken = plant(STARTER, fault_named(name))
    edited = "# mine\n" + broken.replace("eps: float = 1e-5", "eps: float = 1e-6") + "\n# mine too\n"
    assert undo(edited) == "# mine\n" + STARTER.replace("eps: float = 1e-5", "eps: float = 1e-6") + "\n# mine too\n"


@given(name=st.sampled_from(NAMES), before=st.text(max_size=50), after=st.text(max_size=50))
def test_any_text_around_is_left_alone(name, before, after):
    source = f"{before}\n{STARTER}\n{after}".replace("\r", "")
    assert undo(plant(source, fault_named(name))) == source


def test_line_ends_of_windows_stay_as_they_are():
    source = STARTER.replace("\n", "\r\n")
    for fault in faults():
        broken = plant(source, fault)
        assert broken.count("\n") == broken.count("\r\n")
        assert undo(broken) == source


@pytest.mark.parametrize("second", NAMES)
@pytest.mark.parametrize("first", NAMES)
def test_a_second_fault_on_top_is_refused(first, second):
    broken = plant(STARTER, fault_named(first))
    with pytest.raises(FaultError, match=rf"'{first}' is planted already.*gpulab break --undo"):
        plant(broken, fault_named(second))


@pytest.mark.parametrize("name", NAMES)
def test_edited_lines_are_an_error_in_words(name):
    fault = fault_named(name)
    with pytest.raises(FaultError, match=r"is not there any more.*nothing was changed"):
        plant(STARTER.replace(fault.before, "    pass"), fault)
    with pytest.raises(FaultError, match="stands there 2 times"):
        plant(STARTER + fault.before, fault)
    with pytest.raises(FaultError, match="stands there 2 times"):
        undo(plant(STARTER, fault) + fault.after)


def test_nothing_planted_is_nothing_to_undo():
    with pytest.raises(FaultError, match="nothing to undo"):
        undo(STARTER)


def test_an_unknown_fault_is_answered_with_the_known_ones():
    with pytest.raises(FaultError, match=r"no fault is named 'roap'.*overflow.*gpulab break rope"):
        fault_named("roap")


@pytest.mark.parametrize("name", NAMES)
def test_every_fault_tells_the_gate_in_words(name):
    fault = fault_named(name)
    assert fault.gates
    assert fault.gates[0] in fault.says
    assert fault.file == "model.py"
    assert all(len(line) <= 120 for line in fault.after.splitlines())


def test_rope_is_wrong_in_float32_and_first_in_an_attention():
    model = built(plant(STARTER, fault_named("rope")))
    assert error(model(tokens()), reference_of(model)(tokens())) > 10_000 * 2**-24
    assert fnmatch.fnmatch(first_wrong(model, bound=100 * 2**-24), fault_named("rope").modules)


def test_overflow_is_right_in_float32_and_infinite_in_float16_only():
    model = built(plant(STARTER, fault_named("overflow")))
    assert error(model(tokens()), reference_of(model)(tokens())) < 100 * 2**-24
    assert not copy.deepcopy(model).half()(tokens()).isfinite().all()
    assert copy.deepcopy(model).bfloat16()(tokens()).isfinite().all()
    outputs = outputs_by_module(copy.deepcopy(model).half())
    first = next(name for name, out in outputs.items() if not out.isfinite().all())
    assert fnmatch.fnmatch(first, fault_named("overflow").modules)


@pytest.mark.parametrize("dtype", HALF.values(), ids=HALF)
@pytest.mark.parametrize("autocast", [False, True], ids=["as declared", "autocast"])
def test_a_float32_layer_is_as_exact_as_ever_and_computes_in_float32(dtype, autocast):
    model = built(plant(STARTER, fault_named("fp32-layer")))
    assert error(model(tokens()), reference_of(model)(tokens())) < 100 * 2**-24
    half = copy.deepcopy(model) if autocast else copy.deepcopy(model).to(dtype)
    with torch.autocast("cpu", dtype=dtype, enabled=autocast):
        outputs = outputs_by_module(half)
    wrong = {name for name, out in outputs.items() if name.endswith(("gate", "up", "down")) and out.dtype != dtype}
    assert wrong == {f"layers.1.feed_forward.{name}" for name in ("gate", "up", "down")}
    assert outputs[""].isfinite().all()


@pytest.mark.parametrize("dtype", [torch.float32, *HALF.values()])
def test_nan_is_nan_in_every_precision_and_first_in_an_attention(dtype):
    model = built(plant(STARTER, fault_named("nan"))).to(dtype)
    outputs = outputs_by_module(model)
    assert outputs[""].isnan().all()
    first = next(name for name, out in outputs.items() if out.isnan().any())
    assert fnmatch.fnmatch(first, fault_named("nan").modules)
