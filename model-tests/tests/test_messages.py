"""What gates say: the same in both languages, and in words for every key that the code uses."""

import re
import string
import subprocess
import sys
from pathlib import Path

import model_tests
import pytest
from model_tests.messages import LANGUAGES, catalogue, explain, shown

SOURCE = Path(model_tests.__file__).parent
GROUPS = "smoke|fp32|int8|census|candidate|finite|precision|benchmark|contract|image|tests|platform|speed"


def fields(text):
    return {name for _, name, _, _ in string.Formatter().parse(text) if name}


def test_both_languages_have_the_same_keys_and_use_the_same_parameters():
    english, chinese = (catalogue(language) for language in LANGUAGES)
    assert english.keys() == chinese.keys()
    for key, entry in english.items():
        assert entry.keys() == chinese[key].keys(), key
        for part in entry:
            assert fields(entry[part]) == fields(chinese[key][part]), key


def test_the_chinese_texts_are_chinese():
    for key, entry in catalogue("zh").items():
        text = "".join(entry.values())
        assert re.search("[\u4e00-\u9fff]", text) or not re.sub(r"\{\w+\}|。", "", text), key


def test_a_text_that_can_fail_says_what_to_change():
    quiet = re.compile(r"passed|kept|built|not-run|not-finite|information|none|no-truth$")
    for key, entry in catalogue("en").items():
        if "change" in entry and not quiet.search(key):
            assert entry["change"], key


def test_every_key_that_the_code_uses_is_there():
    used = set()
    for file in SOURCE.rglob("*.py"):
        if "report" not in file.parts and file.name != "spec.py":
            used |= set(re.findall(rf'"((?:{GROUPS})\.[a-z0-9-]+)"', file.read_text(encoding="utf-8")))
    used -= {name for name in used if name.endswith((".pt", ".json"))}
    assert used
    assert used <= catalogue("en").keys()


@pytest.mark.parametrize("measure", ["ratio", "row-max", "kl", "bias", "signal", "program"])
@pytest.mark.parametrize("language", LANGUAGES)
def test_a_failed_measure_names_number_bound_and_module(measure, language):
    params = {"candidate": "float16", "value": 2.942, "bound": 1.5, "module": "layers.1.ffn", "shape": [4, 64, 128]}
    why, _ = explain(f"precision.{measure}", language, params)
    for part in ("float16", "2.94", "1.5", "layers.1.ffn", "[4, 64, 128]"):
        assert part in why


@pytest.mark.parametrize(
    "key",
    [
        *(f"smoke.{status}" for status in ("input-error", "crashed", "timeout", "out-of-memory")),
        *(f"census.{what}" for what in ("gemm", "parameter", "buffer", "cast")),
        *(f"precision.{why}" for why in ("few-values", "floor-not-finite", "unstable", "below-noise")),
        *(f"int8.{m}-{end}" for m in ("kl", "signal", "accuracy") for end in ("passed", "lost", "open", "faint")),
    ],
)
def test_keys_that_the_code_puts_together_are_there(key):
    assert key in catalogue("en")


@pytest.mark.parametrize("hint", [key for key in catalogue("en") if key.startswith("hints.")])
def test_a_hint_is_added_to_what_to_change(hint):
    params = {"hint": hint.removeprefix("hints."), "skipped": "layers.3", "module": "layers.1", "share": "40"}
    _, change = explain("precision.ratio", "en", params)
    assert change == catalogue("en")[hint]["why"].format_map(params)


def test_braces_in_a_parameter_are_data():
    why, _ = explain("contract.refused", "en", {"detail": "{where} {0.__class__} {{x}}"})
    assert "{where} {0.__class__} {{x}}" in why


def test_a_parameter_that_is_missing_is_shown_as_a_question_mark():
    why, _ = explain("tests.failed", "en", {})
    assert why.endswith("failed: ?")


@pytest.mark.parametrize("key", ["nonsense", "precision", "where", "hints.rope"])
def test_an_unknown_key_is_a_key_error(key):
    with pytest.raises(KeyError):
        explain(key, "en", {})


def test_an_unknown_language_is_a_key_error():
    with pytest.raises(KeyError):
        explain("tests.passed", "de", {})


@pytest.mark.parametrize(
    ("value", "text"),
    [(1.0, "1"), (0.98765, "0.988"), (41.598, "41.6"), (175655.65, "175656"), (2.6e6, "2.6e+06"), (1e-5, "1e-05"),
     (0.0, "0"), (None, "?"), ([4, 64], "[4, 64]"), (float("inf"), "∞"), (100.0, "100")],
)  # fmt: skip
def test_numbers_are_shown_as_a_person_reads_them(value, text):
    assert shown(value) == text


def test_texts_and_verdicts_need_no_torch():
    code = "import sys, model_tests.messages, model_tests.verdict, model_tests.spec, model_tests.plugin; "
    code += "sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
