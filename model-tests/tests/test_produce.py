"""What the student's code does to `produce`: nothing. Each way to fail has a truthful status and one line."""

import ast
import json
import os
import subprocess
import sys
from pathlib import Path

import model_tests
import pytest

PACKAGE = Path(model_tests.__file__).parent
BASE = """
import os, sys, time
import torch
from torch import nn

class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(32, 32)

    def forward(self, x):
        return self.linear(x)

"""
SPEC = {
    "factory": "student_code:build", "inputs": [{"name": "x", "shape": [16, 32], "dtype": "float32"}],
    "candidates": ["float16"], "iterations": 1, "timeout_seconds": 60, "memory_gib": 4,
}  # fmt: skip


def forward(body):
    return BASE + f"    def forward(self, x):\n        {body}\n\ndef build():\n    return Model().eval()\n"


def build(body):
    return BASE + f"def build():\n    {body}\n"


@pytest.fixture
def produce(tmp_path):
    """Run `python -m model_tests.produce` on a student's file; returns (record, log)."""

    def run(source, name="student_code", **changes):
        import torch
        from model_tests.draw import draw
        from model_tests.spec import Spec

        src = tmp_path / "src"
        src.mkdir(exist_ok=True)
        (src / f"{name}.py").write_text(source)
        spec = SPEC | {"factory": f"{name}:build"} | changes
        (tmp_path / "spec.json").write_text(json.dumps(spec))
        (tmp_path / "inputs").mkdir(exist_ok=True)
        torch.save(draw(Spec.from_dict(spec), 1), tmp_path / "inputs" / "inputs.pt")
        command = [
            sys.executable,
            "-m",
            "model_tests.produce",
            "--spec",
            "spec.json",
            "--inputs",
            "inputs",
            "--out",
            "out",
        ]
        env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(PACKAGE.parent), str(src)])}
        done = subprocess.run(
            [*command, "--accelerator", "cpu"], cwd=tmp_path, env=env, capture_output=True, check=False
        )
        assert (done.returncode, done.stderr) == (0, b"")
        record = json.loads((tmp_path / "out" / "record.json").read_text())
        assert "\n" not in record["message"]
        assert list((tmp_path / "out").glob("handover-*")) == []
        return record, (tmp_path / "out" / "log.txt").read_bytes()

    return run


@pytest.mark.parametrize(
    ("source", "status", "stage", "words"),
    [
        ("import sys; sys.exit(3)", "input-error", "import", "import student_code called sys.exit(3)"),
        (build("os._exit(0)"), "crashed", "build", "exit code 0 in stage build before it handed over results"),
        (build("os._exit(5)"), "crashed", "build", "exit code 5 in stage build"),
        (forward("import ctypes; ctypes.string_at(0)"), "crashed", "forward", "SIGSEGV in stage forward"),
    ],
    ids=["sys.exit", "os._exit(0)", "os._exit(5)", "segfault"],
)
def test_an_end_of_the_process_is_told_as_it_was(produce, source, status, stage, words):
    record, _ = produce(source)
    assert (record["status"], record["stage"]) == (status, stage)
    assert words in record["message"]


def test_a_hang_ends_at_the_time_limit(produce):
    record, _ = produce(build("time.sleep(600)"), timeout_seconds=8)
    assert record["status"] == "timeout"
    assert record["stage"] in ("start", "build")
    assert "limit of 8 seconds" in record["message"]


def test_a_memory_eater_ends_at_the_memory_limit(produce):
    record, _ = produce(build("a = [bytearray(2**26) for n in range(10**6)]"), memory_gib=1.5)
    assert (record["status"], record["stage"]) == ("out-of-memory", "build")
    assert "the limit is 1.5 GiB" in record["message"]


def test_garbage_threads_and_names_of_the_standard_library_do_no_harm(produce, tmp_path):
    """A file random.py in the student's folder would take the harness down if it looked there first."""
    for name in ("random", "tempfile", "json", "signal"):
        (tmp_path / "src").mkdir(exist_ok=True)
        (tmp_path / "src" / f"{name}.py").write_text("raise RuntimeError('not the standard library')")
    source = BASE + (
        "import atexit, threading\n"
        "threading.Thread(target=lambda: time.sleep(600)).start()\n"
        "atexit.register(lambda: time.sleep(600))\n"
        "def build():\n"
        '    os.write(1, b\'\\xff\\x00{"status": "ok"}\\n\')\n'
        "    return Model().eval()\n"
    )
    record, log = produce(source)
    assert (record["status"], record["stage"]) == ("ok", "done")
    assert record["candidates"] == {"float16": {"status": "ok", "message": ""}}
    assert set(record["files"]) == {"state.pt", "float32.pt", "float64.pt", "golden.pt", "float16.pt"}
    assert b"\xff\x00" in log
    assert record["environment"]["device"] == "cpu"
    assert record["environment"]["tf32"] is False


def test_a_spec_that_is_none_is_the_platforms_trouble(tmp_path):
    from model_tests.producing.parent import produce

    (tmp_path / "spec.json").write_text('{"factory": 3}')
    record = produce(tmp_path / "spec.json", tmp_path, tmp_path / "out")
    assert (record["status"], record["stage"]) == ("harness-error", "spec")
    assert "factory" in record["message"]


def test_missing_inputs_are_the_platforms_trouble(tmp_path):
    from model_tests.producing.parent import produce

    (tmp_path / "spec.json").write_text(json.dumps(SPEC))
    record = produce(tmp_path / "spec.json", tmp_path, tmp_path / "out")
    assert record["status"] == "harness-error"


def test_a_named_gpu_that_is_not_there_is_the_platforms_trouble(tmp_path, monkeypatch):
    """On the CPU in its place the model could miss a limit, and be failed for it."""
    from model_tests.judge import judge
    from model_tests.producing.parent import produce
    from model_tests.spec import Spec

    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    (tmp_path / "spec.json").write_text(json.dumps(SPEC))
    record = produce(tmp_path / "spec.json", tmp_path, tmp_path / "out", "h100")
    assert record["status"] == "harness-error"
    assert "PyTorch sees no GPU on this machine, so nothing can be proven on h100" in record["message"]
    assert judge(Spec.from_dict(SPEC), 1, tmp_path / "out", "h100").content["verdict"] == "INCONCLUSIVE"


def test_an_old_result_is_removed_and_foreign_files_are_not(tmp_path):
    from model_tests.producing.parent import produce

    out = tmp_path / "out"
    out.mkdir()
    for name in ("float16.pt", "thesis.txt"):
        (out / name).write_text("old")
    (tmp_path / "spec.json").write_text("{}")
    produce(tmp_path / "spec.json", tmp_path, out)
    assert {path.name for path in out.iterdir()} == {"record.json", "thesis.txt"}


@pytest.mark.parametrize(
    "report",
    [
        "",
        "[]",
        "{}",
        '{"status": "PASS", "message": ""}',
        '{"status": "ok"}',
        '{"status": "ok", "message": 3}',
        "[" * 9999,
    ],
)
def test_a_report_that_is_none_is_a_crash(tmp_path, report):
    from model_tests.producing.parent import gather
    from model_tests.producing.supervise import Outcome
    from model_tests.spec import Spec

    (tmp_path / "report.json").write_text(report)
    record = gather(Spec.from_dict(SPEC), tmp_path, tmp_path, Outcome("exited", 0, 1.0, 1))
    assert record["status"] == "crashed"


def test_a_report_counts_only_when_the_child_ended_well(tmp_path):
    from model_tests.producing.parent import gather
    from model_tests.producing.supervise import Outcome
    from model_tests.spec import Spec

    (tmp_path / "report.json").write_text('{"status": "ok", "message": ""}')
    for outcome in (Outcome("exited", -11, 1.0, 1), Outcome("timeout", -9, 1.0, 1), Outcome("stopped", -9, 1.0, 1)):
        assert gather(Spec.from_dict(SPEC), tmp_path, tmp_path, outcome)["status"] != "ok"


def test_only_regular_files_are_taken_over(tmp_path):
    from model_tests.producing.parent import gather
    from model_tests.producing.supervise import Outcome
    from model_tests.spec import Spec

    folder, out = tmp_path / "handover", tmp_path / "out"
    folder.mkdir()
    out.mkdir()
    (folder / "report.json").write_text('{"status": "ok", "message": ""}')
    (folder / "state.pt").symlink_to("/etc/passwd")
    (folder / "float32.pt").mkdir()
    (folder / "surprise.pt").write_text("x")
    (folder / "float64.pt").write_text("x")
    record = gather(Spec.from_dict(SPEC), folder, out, Outcome("exited", 0, 1.0, 1))
    assert record["files"] == {"float64.pt": 1}
    assert [path.name for path in out.iterdir()] == ["float64.pt"]


def test_what_runs_in_the_students_image_needs_nothing_but_torch():
    seen, queue, foreign = (
        set(),
        ["model_tests.produce", "model_tests.producing.parent", "model_tests.producing.child"],
        set(),
    )
    while queue:
        name = queue.pop()
        path = PACKAGE.parent.joinpath(*name.split("."))
        file = path.with_suffix(".py") if path.with_suffix(".py").exists() else path / "__init__.py"
        if name in seen or not file.exists():
            continue
        seen.add(name)
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom) and node.module:
                names = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
            queue += [n for n in names if n.startswith("model_tests")]
            foreign |= {n.partition(".")[0] for n in names} - set(sys.stdlib_module_names) - {"torch", "model_tests"}
    assert foreign == set()
    assert "model_tests.precision.floor" in seen
