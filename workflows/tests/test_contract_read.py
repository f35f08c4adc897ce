"""Reading the file `lab.toml`, and the spec that comes out of it."""

import json
import re
import tomllib
from pathlib import Path

import pytest
from gpulab.contract import ContractError, parse_lab, read_lab, spec_of
from model_tests.spec import Spec

PROJECT = Path(__file__).parent / "resources/projects/valid"
VALID = (PROJECT / "lab.toml").read_text(encoding="utf-8")


def problems_of(folder: Path) -> list[str]:
    with pytest.raises(ContractError) as caught:
        read_lab(folder)
    return list(map(str, caught.value.problems))


def test_a_valid_contract_is_read_and_cannot_be_changed() -> None:
    lab = read_lab(PROJECT)
    assert lab.project.slug == "gpu-lab-1"
    assert lab.inputs[0].shape == (4, 64)
    with pytest.raises(ValueError, match="frozen"):
        lab.project.slug = "other"  # type: ignore[misc]


def test_the_spec_is_the_one_that_the_judge_reads_from_the_same_file() -> None:
    spec = spec_of(read_lab(PROJECT))
    assert spec == json.loads(json.dumps(spec))
    assert spec == Spec.from_lab(PROJECT / "lab.toml").to_dict()


def test_the_optional_keys_may_be_left_out() -> None:
    text = VALID.replace("max_ratio = 1.5\n", "").replace('family = "llama"', 'family = "custom"')
    text = text.replace('dtype = "int64"\nlow = 0\nhigh = 512', 'dtype = "float32"')
    spec = spec_of(parse_lab(text))
    assert spec["max_ratio"] is None
    assert spec["inputs"] == [{"name": "tokens", "shape": [4, 64], "dtype": "float32", "low": None, "high": None}]


def test_every_other_key_is_needed_and_each_is_told_by_name() -> None:
    """Each line of the valid file, left out alone, is missed by its own name."""
    for line in VALID.splitlines():
        key = line.partition(" = ")[0]
        if " = " not in line or key in ("max_ratio", "context"):
            continue
        with pytest.raises(ContractError) as caught:
            parse_lab(VALID.replace(f"{line}\n", "", 1))
        assert re.search(rf"{key}: missing", str(caught.value)), (key, str(caught.value))


def test_a_whole_number_will_do_for_a_number() -> None:
    assert parse_lab(VALID.replace("memory_gib = 8.0", "memory_gib = 8")).limits.memory_gib == 8.0


def test_text_in_any_script_is_kept() -> None:
    name = '课程　实验 👩‍💻 "O\'Brien" \\ ; import os'
    lab = parse_lab(VALID.replace('"GPU Lab 1"', json.dumps(name, ensure_ascii=False)))
    assert lab.project.name == name


def test_a_missing_file_names_the_way_out(tmp_path: Path) -> None:
    (line,) = problems_of(tmp_path)
    assert line.startswith("lab.toml: missing. Go to the project's folder")


def test_a_folder_of_that_name_is_no_contract(tmp_path: Path) -> None:
    (tmp_path / "lab.toml").mkdir()
    (line,) = problems_of(tmp_path)
    assert line.startswith("lab.toml: cannot be read")


def test_text_that_is_not_utf8_is_named_with_its_line(tmp_path: Path) -> None:
    (tmp_path / "lab.toml").write_bytes(VALID.replace("GPU Lab 1", "Größe").encode("latin-1"))
    assert problems_of(tmp_path) == ["lab.toml: line 4: not UTF-8 text. Save the file as UTF-8 in your editor."]


def test_a_byte_order_mark_is_named(tmp_path: Path) -> None:
    (tmp_path / "lab.toml").write_bytes(b"\xef\xbb\xbf" + VALID.encode())
    (line,) = problems_of(tmp_path)
    assert "line 1" in line
    assert "without a byte-order mark" in line


def test_windows_line_ends_are_fine(tmp_path: Path) -> None:
    (tmp_path / "lab.toml").write_bytes(VALID.replace("\n", "\r\n").encode())
    assert read_lab(tmp_path) == read_lab(PROJECT)


@pytest.mark.parametrize(
    "text",
    ["x = " + "[" * 5000 + "]" * 5000, "x = " + "9" * 10_000, "x = 1e999999", "", "\x00", "x" * 300, "[a]\n[a]\n"],
    ids=["nested", "digits", "exponent", "empty", "nul", "word", "twice"],
)
def test_what_no_parser_likes_is_one_line(text: str) -> None:
    with pytest.raises(ContractError) as caught:
        parse_lab(text)
    assert all("\n" not in str(problem) for problem in caught.value.problems)


def test_a_file_that_is_no_page_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "lab.toml").write_bytes(b"#" * (2 << 20))
    assert problems_of(tmp_path) == ["lab.toml: larger than 1048576 bytes. Delete what is not the contract."]


def test_the_model_has_the_keys_of_the_file_that_the_template_writes() -> None:
    """The generated `lab.toml` is the interface: it has every key of the file here, and no key that is unknown."""
    template = Path(__file__).parents[2] / "{{cookiecutter.project_slug}}" / "lab.toml"
    keys = set(re.findall(r"^(\w+) = ", template.read_text(encoding="utf-8"), re.MULTILINE))
    own = set(re.findall(r"^(\w+) = ", VALID, re.MULTILINE))
    starters = {"residual_scale", "width", "classes"}  # arguments of the other starters' factories
    assert own <= keys
    optional = {"max_slowdown", "budget_seconds", "anchor", "gpus", "schemes", "max_loss", "evaluation"}
    assert keys - own <= starters | optional
    known = read_lab(PROJECT).model_dump(by_alias=True, exclude_none=True)
    assert tomllib.loads(VALID).keys() == known.keys()
