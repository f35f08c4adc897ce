"""The rules of [int8] in lab.toml: what it may ask for, and that its function is there."""

import shutil
from pathlib import Path

import pytest
from gpulab.contract import ContractError, parse_lab, read_lab
from gpulab.contract.sources import check_sources
from gpulab.contract.spec import spec_of

PROJECT = Path(__file__).parent / "resources/projects/valid"
VALID = (PROJECT / "lab.toml").read_text(encoding="utf-8")
TABLE = '\n[int8]\nschemes = ["dynamic"]\nmax_loss = 0.02\n'
MODULE = '\n[int8]\nschemes = ["dynamic"]\nevaluation = "gpu_lab_1.evaluation:rows"\n'


def refusal(text: str) -> str:
    with pytest.raises(ContractError) as caught:
        parse_lab(text)
    return str(caught.value)


def test_without_the_table_nothing_is_asked_for() -> None:
    assert spec_of(parse_lab(VALID))["int8"] is None


def test_the_table_reaches_the_spec() -> None:
    expected = {"schemes": ["dynamic"], "max_loss": 0.02, "evaluation": ""}
    assert spec_of(parse_lab(VALID + TABLE))["int8"] == expected


@pytest.mark.parametrize(
    ("change", "line"),
    [
        (
            ('["dynamic"]', '["weight_only"]'),
            'lab.toml: [int8] schemes[0]: found "weight_only", allowed: weight-only, dynamic; did you mean '
            '"weight-only"? Type: schemes = ["weight-only"]',
        ),
        (('["dynamic"]', "[]"), "lab.toml: [int8] schemes: found [], allowed: a list of one or more names."),
        (("0.02", "0"), "lab.toml: [int8] max_loss: found 0 (a whole number), allowed: a number above 0 and up to 0.5"),
        (("0.02", "0.6"), "lab.toml: [int8] max_loss: found 0.6 (a number), allowed: a number above 0 and up to 0.5"),
    ],
)
def test_what_is_not_allowed_is_refused_by_name(change: tuple[str, str], line: str) -> None:
    assert refusal(VALID + TABLE.replace(*change)).startswith(line)


def test_labels_need_logits() -> None:
    found = refusal(VALID.replace('output = "logits"', 'output = "tensor"') + MODULE)
    assert found.startswith('lab.toml: [int8] evaluation: found "gpu_lab_1.evaluation:rows", but labels')
    assert 'evaluation = ""' in found


@pytest.mark.parametrize(
    ("code", "words"),
    [
        (None, "but src/ has no module gpu_lab_1.evaluation. Make the file src/gpu_lab_1/evaluation.py."),
        (
            "def row(): ...",
            'no function "rows", only row; did you mean "row"? Type: evaluation = "gpu_lab_1.evaluation',
        ),
        ("def rows(batch): ...", "rows in src/gpu_lab_1/evaluation.py is called without arguments, but needs batch."),
        ("def rows(:", "src/gpu_lab_1/evaluation.py: line 1: not Python"),
        ("def rows(batch=4): ...", ""),
        ("from elsewhere import rows", ""),
    ],
)
def test_the_evaluation_function_is_looked_for(tmp_path: Path, code: str | None, words: str) -> None:
    lab = Path(shutil.copytree(PROJECT, tmp_path / "lab"))
    (lab / "lab.toml").write_text(VALID + MODULE, encoding="utf-8")
    if code is not None:
        (lab / "src/gpu_lab_1/evaluation.py").write_text(code, encoding="utf-8")
    found = list(map(str, check_sources(lab, read_lab(lab))))
    assert len(found) == bool(words)
    assert words in "".join(found)
