"""What can be seen of a project's code without running it."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from gpulab.contract import read_lab
from gpulab.contract.sources import check_sources

PROJECT = Path(__file__).parent / "resources/projects/valid"
MODEL = "src/gpu_lab_1/model.py"
SERVE = "src/gpu_lab_1/serve.py"


@pytest.fixture
def lab(tmp_path: Path) -> Path:
    return Path(shutil.copytree(PROJECT, tmp_path / "lab"))


def edit(lab: Path, path: str, before: str, after: str) -> None:
    text = (lab / path).read_text(encoding="utf-8")
    assert before in text
    (lab / path).write_text(text.replace(before, after), encoding="utf-8")


def found(lab: Path) -> list[str]:
    return list(map(str, check_sources(lab, read_lab(lab))))


def test_a_project_that_keeps_the_contract_has_no_findings(lab: Path) -> None:
    assert found(lab) == []


MISTAKES = {
    "the factory's module is elsewhere": (
        "lab.toml",
        "gpu_lab_1.model:build",
        "gpu_lab_1.modell:build",
        'lab.toml: [model] factory: found "gpu_lab_1.modell:build", but src/ has no module gpu_lab_1.modell; '
        'did you mean "gpu_lab_1.model"? Type: factory = "gpu_lab_1.model:build"',
    ),
    "the factory has another name": (
        MODEL,
        "def build(",
        "def build_model(",
        'lab.toml: [model] factory: src/gpu_lab_1/model.py has no function "build", only Model, build_model; '
        'did you mean "build_model"? Type: factory = "gpu_lab_1.model:build_model"',
    ),
    "the factory is inside a class": (
        MODEL,
        "\n\ndef build(vocab_size",
        "\n\n    def forward2(self): ...\n\nclass Other:\n  def build(vocab_size",
        'lab.toml: [model] factory: src/gpu_lab_1/model.py has no function "build", only Model, Other. '
        'Type: factory = "gpu_lab_1.model:Model"',
    ),
    "the factory is async": (
        MODEL,
        "def build(",
        "async def build(",
        "src/gpu_lab_1/model.py: line 17: build is async, but is called plainly. Type: def build(…)",
    ),
    "the factory needs what the contract does not say": (
        MODEL,
        "ffn_size, *, context=128",
        "ffn_size, dropout, *, context=128",
        "lab.toml: [model.config] dropout: missing, build in src/gpu_lab_1/model.py (line 17) needs it. "
        "Type: dropout = …, or give it a default in the code.",
    ),
    "the factory does not know a keyword": (
        MODEL,
        "context=128",
        "max_context=128",
        'lab.toml: [model.config] context: build in src/gpu_lab_1/model.py takes no "context", only vocab_size, '
        "hidden_size, layers, heads, kv_heads, ffn_size, max_context. "
        "Type: max_context = 128",
    ),
    "the factory wants a keyword by position": (
        MODEL,
        "ffn_size, *, context=128",
        "ffn_size, /, *, context=128",
        'src/gpu_lab_1/model.py: line 17: build takes "vocab_size" by position only, it is called with keywords. '
        "Delete the / from its parameters.",
    ),
    "forward takes more than is given": (
        MODEL,
        "cache: object = None",
        "mask: Tensor",
        "lab.toml: [[inputs]]: found 1 (tokens), but Model.forward takes 2 (tokens, mask). "
        "Type: one [[inputs]] table per argument of forward, in its order.",
    ),
    "forward takes nothing": (
        MODEL,
        "tokens: Tensor, cache: object = None",
        "",
        "lab.toml: [[inputs]]: found 1 (tokens), but Model.forward takes 0 (nothing). "
        "Type: one [[inputs]] table per argument of forward, in its order.",
    ),
    "the code is not Python": (
        MODEL,
        "return Model(",
        "return return Model(",
        "src/gpu_lab_1/model.py: line 19: not Python: invalid syntax. Correct the line, then: gpulab check",
    ),
    "the service is elsewhere": (
        "lab.toml",
        '"gpu_lab_1.serve"',
        '"gpu_lab_1.server"',
        'lab.toml: [serving] module: found "gpu_lab_1.server", but src/ has no module gpu_lab_1.server; '
        'did you mean "gpu_lab_1.serve"? Type: module = "gpu_lab_1.serve"',
    ),
    "the service is a package": (
        "lab.toml",
        '"gpu_lab_1.serve"',
        '"gpu_lab_1"',
        "lab.toml: [serving] module: gpu_lab_1 is a package without __main__.py, python -m cannot start it. "
        "Make the file src/gpu_lab_1/__main__.py, or name the module that starts the service.",
    ),
    "the service starts nothing": (
        SERVE,
        'if __name__ == "__main__":\n    main()\n',
        "",
        'src/gpu_lab_1/serve.py: starts nothing when run with python -m. Type: if __name__ == "__main__": main()',
    ),
    "the package has another name": (
        "lab.toml",
        'package = "gpu_lab_1"',
        'package = "gpu_lab_2"',
        'lab.toml: [project] package: found "gpu_lab_2", but there is no folder src/gpu_lab_2. '
        'Type: package = "gpu_lab_1"',
    ),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_difference_between_contract_and_code_is_one_line(lab: Path, mistake: str) -> None:
    path, before, after, line = MISTAKES[mistake]
    edit(lab, path, before, after)
    assert found(lab)[0] == line


def test_inputs_in_another_order_than_forwards_arguments_are_found(lab: Path) -> None:
    edit(lab, MODEL, "tokens: Tensor, cache: object = None", "mask: Tensor, tokens: Tensor")
    edit(lab, "lab.toml", "[precision]", '[[inputs]]\nname = "mask"\nshape = [4, 64]\ndtype = "float32"\n\n[precision]')
    assert found(lab) == [
        "lab.toml: [[inputs]]: found the order tokens, mask, but Model.forward takes mask, tokens. "
        "Put the [[inputs]] tables into the order of forward's arguments."
    ]


ALLOWED = {
    "keywords of any name": ("ffn_size, *, context=128", "ffn_size, **others"),
    "an assigned factory": ("def build(", "build = functools.partial(Model)\ndef other("),
    "a model made elsewhere": ("return Model(vocab_size, hidden_size)", "return make()"),
    "a model that is moved first": ("return Model(vocab_size, hidden_size)", "return Model(vocab_size, 1).eval()"),
    "any number of inputs": ("tokens: Tensor, cache: object = None", "*tokens"),
    "a factory under a condition": ("\n\ndef build(", "\n\nif True:\n  def build("),
}


@pytest.mark.parametrize("case", ALLOWED)
def test_what_cannot_be_seen_is_not_held_against_the_code(lab: Path, case: str) -> None:
    edit(lab, MODEL, *ALLOWED[case])
    if case == "a factory under a condition":
        edit(lab, MODEL, '    """The factory."""\n    return', '    """The factory."""\n      return')
        edit(lab, MODEL, '    """The factory."""', '      """The factory."""')
    assert found(lab) == []


def test_a_factory_is_followed_through_imports(lab: Path) -> None:
    (lab / "src/gpu_lab_1/__init__.py").write_text("from .model import build as make\n")
    edit(lab, "lab.toml", "gpu_lab_1.model:build", "gpu_lab_1:make")
    assert found(lab) == []
    edit(lab, MODEL, "ffn_size, *, context=128", "ffn_size")
    assert "build in src/gpu_lab_1/model.py takes no" in found(lab)[0]


def test_a_class_can_be_the_factory(lab: Path) -> None:
    edit(lab, "lab.toml", "model:build", "model:Model")
    assert {line.split(" takes no ")[1].split(",")[0] for line in found(lab)} == {
        '"layers"',
        '"heads"',
        '"kv_heads"',
        '"ffn_size"',
        '"context"',
    }


def test_a_circle_of_imports_ends(lab: Path) -> None:
    (lab / "src/gpu_lab_1/a.py").write_text("from .b import build\n")
    (lab / "src/gpu_lab_1/b.py").write_text("from .a import build\n")
    edit(lab, "lab.toml", "gpu_lab_1.model:build", "gpu_lab_1.a:build")
    assert found(lab) == []


@pytest.mark.parametrize("content", [b"\x00", b"\xff\xfe", b"(" * 5000, b"def build(:\n", b"# coding: nonsense\n"])
def test_no_file_makes_a_traceback(lab: Path, content: bytes) -> None:
    (lab / MODEL).write_bytes(content)
    assert found(lab)[0].startswith("src/gpu_lab_1/model.py: line ")


def test_the_code_is_not_run(lab: Path) -> None:
    (lab / MODEL).write_text(f"open({str(lab / 'ran')!r}, 'w')\ndef build(**config): ...\n")
    code = f"from pathlib import Path; from gpulab.contract import read_lab; from gpulab.contract.sources import *;\
             p = Path({str(lab)!r}); check_sources(p, read_lab(p))"
    subprocess.run([sys.executable, "-c", code], check=True)
    assert not (lab / "ran").exists()
