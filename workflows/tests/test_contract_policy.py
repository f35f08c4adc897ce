"""Rules between keys: heads that divide, GPUs of a pod, and float32 exceptions that stay exceptions."""

from pathlib import Path

import pytest
from gpulab.contract import ContractError, Lab, parse_lab
from gpulab.contract.dockerfile import lint
from gpulab.contract.float32_rules import products_of

VALID = (Path(__file__).parent / "resources/projects/valid/lab.toml").read_text(encoding="utf-8")
RESNET = (
    VALID.replace('reference = "llama"', 'reference = "resnet50"')
    .replace('family = "llama"', 'family = "resnet50"')
    .replace("layers = 4", "layers = [3, 4, 6, 3]")
)


def with_lines(text: str, **values: str) -> str:
    for key, value in values.items():
        before = next(line for line in text.splitlines() if line.startswith(f"{key} = "))
        text = text.replace(before, f"{key} = {value}", 1)
    return text


def problems(text: str) -> list[str]:
    try:
        parse_lab(text)
    except ContractError as error:
        return list(map(str, error.problems))
    return []


@pytest.mark.parametrize(
    ("values", "line"),
    [
        (
            {"heads": "7", "kv_heads": "7"},
            "[model.config] heads: found 7, which does not divide hidden_size = 128. Type: heads = 8",
        ),
        ({"kv_heads": "3"}, "[model.config] kv_heads: found 3, which does not divide heads = 8. Type: kv_heads = 2"),
        ({"kv_heads": "16"}, "found 16, which does not divide heads = 8. Type: kv_heads = 8"),
        (
            {"heads": "128"},
            "[model.config] heads: hidden_size = 128 / heads = 128 is 1, and rotary positions turn pairs",
        ),
    ],
)
def test_sizes_that_do_not_divide_are_refused(values: dict[str, str], line: str) -> None:
    assert line in problems(with_lines(VALID, **values))[0]


def test_a_head_size_of_its_own_needs_no_division() -> None:
    assert problems(with_lines(VALID, heads="7", kv_heads="7") + "") != []
    assert problems(with_lines(VALID, heads="7", kv_heads="7\nhead_dim = 32")) == []


def test_sizes_of_any_length_are_answered_at_once() -> None:
    huge = with_lines(VALID, hidden_size=str(2**62 + 1), heads="4611686018427387", kv_heads="999999999")
    assert "Type: heads = 1" in problems(huge)[0]


def test_the_cpu_has_no_gpus() -> None:
    (found,) = problems(VALID.replace('accelerators = ["cpu"]', 'accelerators = ["cpu", "t4"]\ngpus = 2'))
    assert "[hardware] gpus: found 2, but accelerators names cpu, which has no GPUs" in found
    assert problems(VALID.replace('accelerators = ["cpu"]', 'accelerators = ["t4"]\ngpus = 8')) == []
    assert "from 1 to 8" in problems(VALID.replace('accelerators = ["cpu"]', 'accelerators = ["t4"]\ngpus = 9'))[0]


@pytest.mark.parametrize("pattern", ["layers", "*ayers*", "layers.*", "layers.?", "*feed_forward*", "*attention*"])
def test_exceptions_that_leave_nothing_to_prove_are_refused(pattern: str) -> None:
    text = with_lines(VALID, allow_float32=f'["{pattern}"]')
    (found,) = problems(text)
    assert f'[precision] allow_float32: found "{pattern}", which exempts ' in found
    assert "of the 29 layers that multiply matrices" in found
    assert "allowed: up to 7" in found


def test_many_small_exceptions_count_together() -> None:
    names = '["*.wq", "*.gate"]'
    assert "exempts 8 of the 29" in problems(with_lines(VALID, allow_float32=names))[0]


@pytest.mark.parametrize("pattern", ["layers.*.attention_norm", "*norm", "head", "embed", "layers.0", "*.wo"])
def test_norms_the_head_and_one_layer_may_stay_in_float32(pattern: str) -> None:
    assert problems(with_lines(VALID, allow_float32=f'["{pattern}"]')) == []


@pytest.mark.parametrize("pattern", ["layer?", "layer[1-4]", "*conv*", "layer3"])
def test_a_resnet_is_proven_too(pattern: str) -> None:
    assert "layers that multiply matrices" in problems(with_lines(RESNET, allow_float32=f'["{pattern}"]'))[0]
    assert problems(with_lines(RESNET, allow_float32='["*bn*", "fc", "conv1"]')) == []


def test_without_a_reference_the_judge_decides() -> None:
    text = with_lines(VALID, reference='""', allow_float32='["layers"]')
    assert problems(text) == []


def lab(text: str) -> Lab:
    return parse_lab(text)


@pytest.mark.parametrize("name", ["llama", "resnet50"])
def test_the_names_are_those_of_the_references(name: str) -> None:
    """Written down for a check without torch; here compared with the modules themselves."""
    from model_tests.references import factory
    from torch import nn

    sizes = {
        "llama": {"vocab_size": 16, "hidden_size": 8, "layers": 4, "heads": 2, "kv_heads": 1, "ffn_size": 8},
        "resnet50": {"layers": [3, 4, 6, 3], "width": 2, "classes": 3},
    }[name]
    model = factory(name)(**sizes, **({"context": 4} if name == "llama" else {}))
    real = {name for name, module in model.named_modules() if isinstance(module, nn.Linear | nn.Conv2d)}
    declared = lab(VALID if name == "llama" else RESNET)
    assert set(products_of(declared.model)) == real


@pytest.mark.parametrize(
    ("tag", "accelerators", "told"),
    [
        ("13.2.1-base-ubuntu24.04", ["v100-16"], "v100-16: CUDA 13.2 has no code for compute capability 7.0"),
        ("12.6.3-base-ubuntu24.04", ["v100-16", "t4"], ""),
        ("13.2.1-base-ubuntu24.04", ["t4", "cpu"], ""),
    ],
)
def test_a_cuda_image_of_the_projects_own_must_have_code_for_its_cards(
    tag: str, accelerators: list[str], told: str
) -> None:
    text = f"FROM nvidia/cuda:{tag}@sha256:{'0' * 64}\nUSER 1000\n"
    found = [one.message for one in lint(text, accelerators) if "[cuda-compat]" in one.where]
    assert [told in message for message in found] == ([True] if told else [])
