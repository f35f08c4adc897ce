"""A table of what people get wrong in `lab.toml`, and the line that they read."""

import tomllib
from pathlib import Path

import pytest
from gpulab.contract import ContractError, parse_lab

VALID = (Path(__file__).parent / "resources/projects/valid/lab.toml").read_text(encoding="utf-8")

DNS = "a DNS label: lower-case letters, digits and '-', starting with a letter, up to 40 characters"
REPOSITORY = "an image repository without tag or digest, in lower case"
PLAIN = "text, a finite number, true/false, or a list of these"
CATALOGUE = "cpu, t4, v100-16, v100-32, a10, l4, a100-40, a100-80, l40s, h100, h200, b200, rtx3090, rtx4090"
FOUR = "float16, bfloat16, float16-autocast, bfloat16-autocast"

# what stands in the valid file -> what is typed instead -> the one line that it gives
MISTAKES = {
    "a dtype by its nickname": (
        '["float16", "bfloat16",',
        '["float16", "bf16",',
        f'lab.toml: [precision] candidates[1]: found "bf16", allowed: {FOUR}; did you mean "bfloat16"? '
        'Type: candidates = ["float16", "bfloat16", "float16-autocast", "bfloat16-autocast"]',
    ),
    "a dtype that is not proven yet": (
        '"float16", "bfloat16", "float16-autocast", "bfloat16-autocast"',
        '"int8"',
        f'lab.toml: [precision] candidates[0]: found "int8", allowed: {FOUR}. '
        'Type: candidates = ["float16", "bfloat16"]',
    ),
    "nothing to prove": (
        'candidates = ["float16", "bfloat16", "float16-autocast", "bfloat16-autocast"]',
        "candidates = []",
        "lab.toml: [precision] candidates: found [], allowed: a list of one or more names. "
        'Type: candidates = ["float16", "bfloat16"]',
    ),
    "a candidate twice": (
        '"float16", "bfloat16", "float16-autocast"',
        '"float16", "float16", "float16-autocast"',
        'lab.toml: [precision] candidates: found "float16" more than once. '
        'Type: candidates = ["float16", "float16-autocast", "bfloat16-autocast"]',
    ),
    "a name instead of a list": (
        'accelerators = ["cpu"]',
        'accelerators = "cpu"',
        'lab.toml: [hardware] accelerators: found "cpu" (text), allowed: a list of names of the catalogue. '
        'Type: accelerators = ["cpu"]',
    ),
    "an accelerator without its memory size": (
        'accelerators = ["cpu"]',
        'accelerators = ["cpu", "V100"]',
        f'lab.toml: [hardware] accelerators[1]: found "V100", allowed: {CATALOGUE}; did you mean "v100-16"? '
        'Type: accelerators = ["cpu", "v100-16"]',
    ),
    "an accelerator that nobody knows": (
        'accelerators = ["cpu"]',
        'accelerators = ["quantum"]',
        f'lab.toml: [hardware] accelerators[0]: found "quantum", allowed: {CATALOGUE}. Type: accelerators = ["cpu"]',
    ),
    "everything may be float32": (
        "allow_float32 = []",
        'allow_float32 = ["*"]',
        'lab.toml: [precision] allow_float32[0]: found "*" (text), '
        "allowed: a pattern of module names with two or more letters of its own. "
        'Type: allow_float32 = ["layers.*.norm"]',
    ),
    "a looser bound than the platform's": (
        "max_ratio = 1.5",
        "max_ratio = 1.8",
        "lab.toml: [precision] max_ratio: found 1.8, allowed: above 1 and up to 1.5, the platform's own bound on cpu "
        "(a project can only tighten it). Type: max_ratio = 1.5",
    ),
    "a much looser bound": (
        "max_ratio = 1.5",
        "max_ratio = 50",
        "lab.toml: [precision] max_ratio: found 50 (a whole number), "
        "allowed: a number above 1 and up to 2.0, the platform's bound. Type: max_ratio = 1.5",
    ),
    "a number in quotes": (
        "iterations = 20",
        'iterations = "40"',
        'lab.toml: [benchmark] iterations: found "40" (text), allowed: a whole number from 1 to 1000. '
        "Type: iterations = 40",
    ),
    "a fraction of an iteration": (
        "iterations = 20",
        "iterations = 2.5",
        "lab.toml: [benchmark] iterations: found 2.5 (a number), allowed: a whole number from 1 to 1000. "
        "Type: iterations = 20",
    ),
    "true is not 1": (
        "seed = 0",
        "seed = true",
        "lab.toml: [model] seed: found true (true/false), allowed: a whole number from 0 to 2^63 - 1. Type: seed = 0",
    ),
    "true is no schema": (
        "schema = 1",
        "schema = true",
        "lab.toml: schema: found true (true/false), allowed: 1, the one that this gpulab reads. Type: schema = 1",
    ),
    "a schema of the future": (
        "schema = 1",
        "schema = 2",
        "lab.toml: schema: found 2 (a whole number), allowed: 1, the one that this gpulab reads. Type: schema = 1",
    ),
    "no schema": ("schema = 1\n", "", "lab.toml: schema: missing. Type: schema = 1"),
    "endless memory": (
        "memory_gib = 8.0",
        "memory_gib = inf",
        "lab.toml: [limits] memory_gib: found Infinity (a number), allowed: a number from 0.5 to 512. "
        "Type: memory_gib = 8.0",
    ),
    "a mistyped key": (
        "ffn_size = 384\ncontext = 128\n",
        "ffn_sise = 384\ncontext = 128\n",
        'lab.toml: [model.config] ffn_size: missing (family "llama" needs it); did you write "ffn_sise"? '
        'Type: ffn_size = a number, or family = "custom" in [model] if the model has no such thing.',
    ),
    "a mistyped key of a table": (
        'output = "logits"',
        'ouput = "logits"',
        "lab.toml: [model] ouput: unknown key, allowed: family, factory, reference, output, seed, config; "
        'did you mean "output"? Type: output instead of ouput.',
    ),
    "an unknown key": (
        "seed = 0",
        "seed = 0\nquantise = true",
        "lab.toml: [model] quantise: unknown key, allowed: family, factory, reference, output, seed, config. "
        "Delete the line.",
    ),
    "a key in another table": (
        "seed = 0",
        "seed = 0\nport = 8000",
        "lab.toml: [model] port: unknown key, allowed: family, factory, reference, output, seed, config. "
        "Move the line below [serving].",
    ),
    "a mistyped table": (
        "[benchmark]",
        "[benchmarks]",
        "lab.toml: benchmarks: unknown key, allowed: schema, project, model, inputs, precision, int8, benchmark, "
        'hardware, limits, serving, delivery; did you mean "benchmark"? Type: benchmark instead of benchmarks.',
    ),
    "a missing table": (
        "[limits]\ntimeout_seconds = 300\nmemory_gib = 8.0\n",
        "",
        "lab.toml: [limits]: missing. Type: [limits] and below it timeout_seconds = 300, then memory_gib.",
    ),
    "a missing key": (
        'module = "gpu_lab_1.serve"\n',
        "",
        'lab.toml: [serving] module: missing. Type: module = "gpu_lab_1.serve"',
    ),
    "one bracket": (
        "[[inputs]]",
        "[inputs]",
        'lab.toml: [[inputs]]: found {"name": "tokens", "shape": [4, 64], "dtype": "int64", "low…, '
        "allowed: 1 to 16 [[inputs]] tables, one per argument of forward. "
        'Type: [[inputs]] and below it name = "tokens", then shape, dtype, low, high.',
    ),
    "a shape without brackets": (
        "shape = [4, 64]",
        "shape = 4",
        "lab.toml: [[inputs]] #1 shape: found 4 (a whole number), allowed: a list of 1 to 8 sizes, the batch first. "
        "Type: shape = [4, 64]",
    ),
    "an unknown size": (
        "shape = [4, 64]",
        "shape = [4, -1]",
        "lab.toml: [[inputs]] #1 shape[1]: found -1 (a whole number), allowed: a whole number from 1 to 2^31 - 1. "
        "Type: shape = [4, 64]",
    ),
    "an input larger than the platform draws": (
        "shape = [4, 64]",
        "shape = [4194305, 64]",
        "lab.toml: [[inputs]] #1 shape: found [4194305, 64], 268435520 elements, allowed: up to 268435456. "
        "Type: a smaller batch, for example shape = [1, 64]",
    ),
    "more tokens than the context": (
        "shape = [4, 64]",
        "shape = [4, 256]",
        "lab.toml: [[inputs]] #1 shape: found length 256, allowed: up to 128, the context of [model.config]. "
        "Type: shape = [4, 128]",
    ),
    "tokens outside the vocabulary": (
        "high = 512",
        "high = 32000",
        "lab.toml: [[inputs]] #1 high: found 32000, allowed: up to 512, the vocab_size of [model.config]. "
        "Type: high = 512",
    ),
    "no upper bound": (
        "high = 512\n",
        "",
        "lab.toml: [[inputs]] #1 high: missing, int64 needs it. Type: high = 512",
    ),
    "an empty range": (
        "low = 0\nhigh = 512",
        "low = 7\nhigh = 7",
        "lab.toml: [[inputs]] #1 high: found 7, allowed: a whole number above low, which is 7. Type: high = 8",
    ),
    "two inputs of one name": (
        "[precision]",
        '[[inputs]]\nname = "tokens"\nshape = [4, 64]\ndtype = "float32"\n\n[precision]',
        'lab.toml: [[inputs]] #2 name: found "tokens" for the second time. Type: name = "tokens_2"',
    ),
    "two batches": (
        "[precision]",
        '[[inputs]]\nname = "mask"\nshape = [8, 64]\ndtype = "float32"\n\n[precision]',
        'lab.toml: [[inputs]] #2 shape: found [8, 64], but the batch (first dimension) of "tokens" is 4. '
        "Type: shape = [4, 64]",
    ),
    "a float with a range": (
        "[precision]",
        '[[inputs]]\nname = "mask"\nshape = [4, 64]\ndtype = "float32"\nlow = 0\n\n[precision]',
        "lab.toml: [[inputs]] #2 low: found 0, but float32 is drawn from the standard normal distribution. "
        'Delete the line, or type: dtype = "int64"',
    ),
    "a space in a name": (
        'name = "tokens"',
        'name = "to kens"',
        "lab.toml: [[inputs]] #1 name: found \"to kens\" (text), allowed: a name of letters, digits and '_'. "
        'Type: name = "tokens"',
    ),
    "a keyword with a space": (
        "context = 128",
        'context = 128\n"my key" = 1',
        'lab.toml: [model.config]: found the key "my key", '
        "allowed: the name of a keyword argument of the factory. Type: a Python name, for example hidden_size = 128",
    ),
    "a date in the configuration": (
        "context = 128",
        "context = 128\nborn = 2026-11-30",
        f'lab.toml: [model.config] born: found "2026-11-30" (a date), allowed: {PLAIN}. '
        "Type: a value of that kind, or delete the line.",
    ),
    "a table in the configuration": (
        "context = 128",
        "context = 128\nrope = { theta = 1.0 }",
        f'lab.toml: [model.config] rope: found {{"theta": 1.0}}, allowed: {PLAIN}. '
        "Type: a value of that kind, or delete the line.",
    ),
    "a keyword of the family missing": (
        "heads = 8\n",
        "",
        'lab.toml: [model.config] heads: missing (family "llama" needs it). '
        'Type: heads = a number, or family = "custom" in [model] if the model has no such thing.',
    ),
    "a size of zero": (
        "layers = 4",
        "layers = 0",
        'lab.toml: [model.config] layers: found 0, allowed: a whole number above 0 (family "llama" needs it). '
        'Type: layers = a number, or family = "custom" in [model] if the model has no such thing.',
    ),
    "a dot instead of a colon": (
        "model:build",
        "model.build",
        'lab.toml: [model] factory: found "gpu_lab_1.model.build" (text), allowed: "module:function" under src/. '
        'Type: factory = "gpu_lab_1.model:build"',
    ),
    "a path instead of a module": (
        '"gpu_lab_1.serve"',
        '"src/gpu_lab_1/serve.py"',
        'lab.toml: [serving] module: found "src/gpu_lab_1/serve.py" (text), allowed: a module under src/. '
        'Type: module = "gpu_lab_1.serve"',
    ),
    "a family by another name": (
        'family = "llama"',
        'family = "LLaMA"',
        'lab.toml: [model] family: found "LLaMA", allowed: llama, resnet50, custom; did you mean "llama"? '
        'Type: family = "llama"',
    ),
    "an unknown reference": (
        'reference = "llama"',
        'reference = "lama"',
        'lab.toml: [model] reference: found "lama", allowed: "" (none), llama, resnet50; did you mean "llama"? '
        'Type: reference = "llama"',
    ),
    "upper case in the slug": (
        'slug = "gpu-lab-1"',
        'slug = "GPU_Lab_1"',
        f'lab.toml: [project] slug: found "GPU_Lab_1" (text), allowed: {DNS}. Type: slug = "gpu-lab-1"',
    ),
    "a package that hides PyTorch": (
        'package = "gpu_lab_1"',
        'package = "torch"',
        'lab.toml: [project] package: found "torch", which hides another package of that name. '
        'Type: package = "torch_lab" and rename src/torch to src/torch_lab.',
    ),
    "a package that is a word of Python": (
        'package = "gpu_lab_1"',
        'package = "class"',
        'lab.toml: [project] package: found "class", which is a word of the Python language. '
        'Type: package = "class_lab" and rename src/class to src/class_lab.',
    ),
    "a profile by half its name": (
        'profile = "student"',
        'profile = "prod"',
        'lab.toml: [project] profile: found "prod", allowed: student, production; did you mean "production"? '
        'Type: profile = "production"',
    ),
    "a name of two lines": (
        'name = "GPU Lab 1"',
        r'name = "GPU\nLab"',
        r'lab.toml: [project] name: found "GPU\nLab" (text), allowed: text of one line, up to 120 characters. '
        'Type: name = "GPU Lab 1"',
    ),
    "a name that turns the reading direction": (
        'name = "GPU Lab 1"',
        r'name = "GPU \u202eLab"',
        r'lab.toml: [project] name: found "GPU \u202eLab" (text), allowed: text of one line, up to 120 characters. '
        'Type: name = "GPU Lab 1"',
    ),
    "a port of root": (
        "port = 8000",
        "port = 80",
        "lab.toml: [serving] port: found 80 (a whole number), "
        "allowed: a whole number from 1024 to 65535 (lower ports need root). Type: port = 8000",
    ),
    "served without proof": (
        'candidates = ["float16", "bfloat16", "float16-autocast", "bfloat16-autocast"]\nallow_float32 = []\n'
        "max_ratio = 1.5\n\n[benchmark]\niterations = 20\n\n"
        '[hardware]\naccelerators = ["cpu"]\n\n[limits]\ntimeout_seconds = 300\nmemory_gib = 8.0\n\n[serving]\n'
        'module = "gpu_lab_1.serve"\nport = 8000\ndtype = "float32"',
        'candidates = ["float16"]\nallow_float32 = []\nmax_ratio = 1.5\n\n[benchmark]\niterations = 20\n\n'
        '[hardware]\naccelerators = ["cpu"]\n\n[limits]\ntimeout_seconds = 300\nmemory_gib = 8.0\n\n[serving]\n'
        'module = "gpu_lab_1.serve"\nport = 8000\ndtype = "bfloat16"',
        'lab.toml: [serving] dtype: found "bfloat16", which is not among the candidates of [precision], '
        'so nothing proves it. Type: dtype = "float32" or candidates = ["float16", "bfloat16"]',
    ),
    "an image with a tag": (
        'image = "gpulab.local/gpu-lab-1"',
        'image = "gpulab.local/gpu-lab-1:latest"',
        f'lab.toml: [delivery] image: found "gpulab.local/gpu-lab-1:latest" (text), allowed: {REPOSITORY}. '
        'Type: image = "gpulab.local/gpu-lab-1"',
    ),
    "an image in upper case": (
        'image = "gpulab.local/gpu-lab-1"',
        'image = "gpulab.local/GPU-Lab"',
        f'lab.toml: [delivery] image: found "gpulab.local/GPU-Lab" (text), allowed: {REPOSITORY}. '
        'Type: image = "gpulab.local/gpu-lab-1"',
    ),
    "a forge of the future": (
        'forge = "local"',
        'forge = "sourcehut"',
        'lab.toml: [delivery] forge: found "sourcehut", allowed: local, gitea, github. Type: forge = "local"',
    ),
    "text without quotes": (
        'name = "GPU Lab 1"',
        "name = GPU Lab 1",
        'lab.toml: line 4: not TOML: Invalid value, found "name = GPU Lab 1". '
        'Type: text in "double quotes", true or false in lower case, numbers without quotes.',
    ),
    "Python's True": (
        "seed = 0",
        "seed = True",
        'lab.toml: line 16: not TOML: Invalid value, found "seed = True". '
        'Type: text in "double quotes", true or false in lower case, numbers without quotes.',
    ),
    "an open quote": (
        'name = "GPU Lab 1"',
        'name = "GPU Lab 1',
        r"""lab.toml: line 4: not TOML: Illegal character '\n', found "name = \"GPU Lab 1". """
        'Type: the closing quote on the same line, key = "text".',
    ),
    "a key twice": (
        "port = 8000",
        "port = 8000\nport = 8001",
        'lab.toml: line 52: not TOML: Cannot overwrite a value, found "port = 8001". '
        "Delete one of the two: a key or table stands once.",
    ),
    "an open bracket": (
        "[hardware]",
        "[hardware",
        "lab.toml: line 42: not TOML: Expected ']' at the end of a table declaration, found \"[hardware\". "
        "Type: the closing ] on the same line.",
    ),
}


def problems(text: str) -> list[str]:
    with pytest.raises(ContractError) as caught:
        parse_lab(text)
    assert str(caught.value) == "\n".join(map(str, caught.value.problems))
    return list(map(str, caught.value.problems))


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_becomes_one_line_that_says_what_to_type(mistake: str) -> None:
    before, after, line = MISTAKES[mistake]
    assert VALID.count(before) >= 1
    assert problems(VALID.replace(before, after, 1)) == [line]


def test_all_problems_are_told_at_once_also_those_between_tables() -> None:
    text = VALID
    for mistake in ("a number in quotes", "a missing table", "a float with a range", "an unknown key", "no schema"):
        before, after, _ = MISTAKES[mistake]
        text = text.replace(before, after, 1)
    assert {line.split(": ")[1] for line in problems(text)} == {
        "[benchmark] iterations",
        "[limits]",
        "[[inputs]] #2 low",
        "[model] quantise",
        "schema",
    }


def mendable(mistake: str) -> tuple[str, str] | None:
    """The mistyped line and the line to type instead, where the hint is a line of TOML."""
    _, after, line = MISTAKES[mistake]
    hint = line.rpartition(" Type: ")[2]
    try:
        (key,) = tomllib.loads(hint)
    except (tomllib.TOMLDecodeError, ValueError):
        return None
    wrong = [part for part in after.splitlines() if part.startswith(f"{key} = ")]
    return (wrong[0], hint) if len(wrong) == 1 else None


MENDABLE = [mistake for mistake in MISTAKES if mendable(mistake)]


def test_most_hints_are_lines_to_type() -> None:
    assert len(MENDABLE) > 25


@pytest.mark.parametrize("mistake", MENDABLE)
def test_typing_the_hint_mends_the_mistake(mistake: str) -> None:
    before, after, _ = MISTAKES[mistake]
    wrong, hint = mendable(mistake) or ("", "")
    parse_lab(VALID.replace(before, after.replace(wrong, hint), 1))


def test_numbers_written_in_quotes_are_given_back_without_them() -> None:
    assert problems(VALID.replace("memory_gib = 8.0", 'memory_gib = "16"'))[0].endswith("Type: memory_gib = 16.0")
