"""Planted faults: text replacements that can be undone, each with the symptom that its gate is there for."""

import copy
import fnmatch
import types
from pathlib import Path
from typing import Any

import pytest
import torch
from gpulab.faults import FaultError, fault_named, faults, plant, planted, undo
from hypothesis import given
from hypothesis import strategies as st
from model_tests import references

ROOT = Path(__file__).parents[2]
STARTERS = {f.parts[-3]: f.read_text(encoding="utf-8") for f in ROOT.glob("{{*}}/starters/*/src/model.py")}
STARTER = STARTERS["llama"]
CONFIG = {"vocab_size": 64, "hidden_size": 64, "layers": 3, "heads": 4, "kv_heads": 2, "ffn_size": 96, "context": 32}
NAMES = [fault.name for fault in faults()]
HALF = {"float16": torch.float16, "bfloat16": torch.bfloat16}


def starter_of(name: str) -> str:
    return STARTERS[fault_named(name).family]


@pytest.fixture(autouse=True)
def without_gradients():
    with torch.inference_mode():
        yield


def built(source: str, config: dict[str, Any] = CONFIG) -> torch.nn.Module:
    module = types.ModuleType("model")
    exec(compile(source, "model.py", "exec"), module.__dict__)  # noqa: S102  our own starter
    torch.manual_seed(0)
    return module.build(**config)


def tokens() -> torch.Tensor:
    return torch.randint(64, (2, 32), generator=torch.Generator().manual_seed(1))


def reference_of(model: torch.nn.Module) -> torch.nn.Module:
    reference = references.factory("llama")(**CONFIG).double()
    reference.load_state_dict(model.state_dict())
    return reference


def outputs_by_module(model: torch.nn.Module, *inputs: torch.Tensor) -> dict[str, torch.Tensor]:
    """First output of every module, in order of execution."""
    found: dict[str, torch.Tensor] = {}

    def keep(name: str, out: torch.Tensor) -> None:
        found.setdefault(name, out.clone())

    for name, module in model.named_modules():
        module.register_forward_hook(lambda _module, _inputs, out, name=name: keep(name, out))
    model(*(inputs or (tokens(),)))
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
    broken = plant(starter_of(name), fault_named(name))
    assert broken != starter_of(name)
    assert planted(broken) == fault_named(name)
    assert undo(broken) == starter_of(name)


@pytest.mark.parametrize("name", NAMES)
def test_the_students_other_edits_survive_an_undo(name):
    edited = "# mine\n" + starter_of(name).replace("import torch\n", "import torch  # mine too\n", 1) + "\n# and mine\n"
    broken = "# mine\n" + plant(starter_of(name), fault_named(name)) + "\n# and mine\n"
    assert undo(broken.replace("import torch\n", "import torch  # mine too\n", 1)) == edited


@given(name=st.sampled_from(NAMES), before=st.text(max_size=50), after=st.text(max_size=50))
def test_any_text_around_is_left_alone(name, before, after):
    source = f"{before}\n{starter_of(name)}\n{after}".replace("\r", "")
    assert undo(plant(source, fault_named(name))) == source


def test_line_ends_of_windows_stay_as_they_are():
    for fault in faults():
        source = STARTERS[fault.family].replace("\n", "\r\n")
        broken = plant(source, fault)
        assert broken.count("\n") == broken.count("\r\n")
        assert undo(broken) == source


@pytest.mark.parametrize(
    ("first", "second"), [(a.name, b.name) for a in faults() for b in faults() if a.family == b.family]
)
def test_a_second_fault_on_top_is_refused(first, second):
    broken = plant(starter_of(first), fault_named(first))
    with pytest.raises(FaultError, match=rf"'{first}' is planted already.*gpulab break --undo"):
        plant(broken, fault_named(second))


@pytest.mark.parametrize("name", NAMES)
def test_edited_lines_are_an_error_in_words(name):
    fault = fault_named(name)
    with pytest.raises(FaultError, match=r"is not there any more.*nothing was changed"):
        plant(starter_of(name).replace(fault.before, "    pass"), fault)
    with pytest.raises(FaultError, match="stands there 2 times"):
        plant(starter_of(name) + fault.before, fault)
    with pytest.raises(FaultError, match="stands there 2 times"):
        undo(plant(starter_of(name), fault) + fault.after)


def test_nothing_planted_is_nothing_to_undo():
    with pytest.raises(FaultError, match="nothing to undo"):
        undo(STARTER)


def test_an_unknown_fault_is_answered_with_the_known_ones():
    with pytest.raises(FaultError, match=r"no fault is named 'roap'.*overflow.*gpulab break rope"):
        fault_named("roap")


def test_every_starter_has_faults_and_a_fault_of_another_is_refused_with_its_own():
    assert {fault.family for fault in faults()} == set(STARTERS) == {"llama", "resnet50", "custom"}
    with pytest.raises(FaultError, match=r"of the starter llama.*\"resnet50\"; its faults are epsilon.*break epsilon"):
        fault_named("rope", "resnet50")
    assert fault_named("epsilon", "resnet50").family == "resnet50"


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


@pytest.mark.parametrize("dtype", [torch.float32, *HALF.values()])
def test_slow_computes_the_same_numbers_with_many_times_the_operations(dtype):
    counts, outputs = [], []
    for source in (STARTER, plant(STARTER, fault_named("slow"))):
        model = built(source).to(dtype)
        with torch.profiler.profile() as profile:
            outputs.append(model(tokens()))
        counts.append(sum(event.count for event in profile.key_averages()))
    assert torch.equal(*outputs)
    assert counts[1] > 3 * counts[0]


RESNET = {"layers": [1, 2, 1, 1], "width": 8, "classes": 20}
ENCODER = {"vocab_size": 50, "width": 32, "layers": 2, "heads": 4, "context": 16}


def half_of_another(name: str, dtype: torch.dtype, autocast: bool = False) -> dict[str, torch.Tensor]:
    """Outputs by module of the ResNet or the encoder with a fault, in a dtype."""
    model = built(plant(starter_of(name), fault_named(name)), RESNET if "bn1" in starter_of(name) else ENCODER)
    words = torch.randint(50, (2, 16), generator=torch.Generator().manual_seed(1))
    images = torch.randn(2, 3, 64, 64, generator=torch.Generator().manual_seed(1))
    given = [images if autocast else images.to(dtype)] if hasattr(model, "bn1") else [words, words % 2]
    with torch.autocast("cpu", dtype=dtype, enabled=autocast):
        return outputs_by_module(model if autocast else model.to(dtype), *given)


def test_another_epsilon_is_wrong_in_float32_and_first_in_a_norm():
    model, images = built(plant(starter_of("epsilon"), fault_named("epsilon")), RESNET), torch.randn(2, 3, 64, 64)
    reference = references.factory("resnet50")(**RESNET).double()
    reference.load_state_dict(model.state_dict())
    truth = outputs_by_module(reference, images.double())
    outputs = {name: out for name, out in outputs_by_module(model, images).items() if name in truth}
    first = next(name for name, out in outputs.items() if not error(out, truth[name]) < 100 * 2**-24)
    assert first == "layer1.0.bn2"
    assert fnmatch.fnmatch(first, fault_named("epsilon").modules)


@pytest.mark.parametrize("autocast", [False, True], ids=["as declared", "autocast"])
@pytest.mark.parametrize("dtype", HALF.values(), ids=HALF)
@pytest.mark.parametrize("name", ["fp32-conv", "fp32-block"])
def test_other_starters_with_a_float32_layer_still_answer(name, dtype, autocast):
    assert half_of_another(name, dtype, autocast)[""].isfinite().all()


def test_a_mask_of_minus_a_billion_runs_in_bfloat16_and_not_in_float16():
    assert half_of_another("mask", torch.bfloat16)[""].isfinite().all()
    with pytest.raises(RuntimeError, match="overflow"):
        half_of_another("mask", torch.float16)
