"""Documents that others write (release.json, record.json, results, run.json, JUnit): read as what they are, or not."""

import json
import math
import re
from pathlib import Path
from typing import Any

import pytest
from generating import cases, disturbed, edited
from gpulab.engines.local.record import from_json, to_json
from gpulab.errors import InputError
from gpulab.steps.junit import read_junit
from gpulab.steps.release_file import PATTERNS, Release, read_release
from gpulab.steps.results import RunFacts, collect
from hypothesis import given
from hypothesis import strategies as st
from model_tests.judging.record import read
from model_tests.precision.transport import DamagedError
from model_tests.producing.ending import STATUSES
from model_tests.untrusted import LONGEST_TEXT

SHA, DIGEST = "a" * 40, "sha256:" + "b" * 64
RELEASE = Release("lab", "teaching", SHA, "gpulab.local/lab", DIGEST, "push-aaaaaaaaaaaa-123456", "cpu")
RECORD = {
    "schema": "gpulab/produced/v1",
    "status": "ok",
    "stage": "done",
    "message": "",
    "candidates": {"float16": {"status": "ok", "message": ""}},
    "census": {
        "float16": {
            "expected": "float16",
            "gemm": {"float16": 2},
            "parameters": {"float16": 4},
            "buffers": {},
            "offenders": [{"name": "head", "what": "gemm", "dtype": "float32"}],
        }
    },
    "timing": {"float16": {"median_ms": 1.5, "p90_ms": 2.0, "iterations": 3}},
    "memory": {"parameters": 1000, "weights_bytes": 4000},
    "environment": {"device": "cpu", "torch": "2.9", "threads": 1, "tf32": False},
    "notes": {"float64": "none"},
    "floor_errors": {},
    "instrument_errors": {},
    "code": 0,
}
NODE = {"id": "run-1", "name": "run.a", "displayName": "a", "type": "Pod", "templateName": "t", "boundaryID": "run",
        "phase": "Failed", "message": "m", "startedAt": "2026-01-01T00:00:00.000Z", "children": ["x"]}  # fmt: skip
RUN = {"schema": "gpulab/run/v1", "name": "run", "phase": "Failed", "message": "", "startedAt": "t", "finishedAt": "",
       "nodes": {"run-1": NODE}}  # fmt: skip
GATES = ["smoke", "batch-1", "fp32/right", "census/float16", "finite/float16", "precision/float16"]
JUNIT = '<?xml version="1.0"?><testsuites><testsuite><testcase classname="t" name="a"/></testsuite></testsuites>'
FACTS = RunFacts("lab", SHA, "refs/heads/main", "push-1", "Succeeded", "Succeeded", "Succeeded")

pytestmark = pytest.mark.usefixtures("nothing_executed")


def gate(name: str) -> dict[str, Any]:
    return {"name": name, "verdict": "PASS", "why": "why", "change": "change"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made: Path = tmp_path_factory.mktemp("documents")
    (made / "verify").mkdir()
    (made / "tests").mkdir()
    return made


@cases(600)
@given(disturbed(json.loads(RELEASE.to_json())) | edited(RELEASE.to_json().decode()))
def test_a_release_is_exactly_its_fields_or_refused(document: Any) -> None:
    data = document.encode() if isinstance(document, str) else json.dumps(document, default=repr).encode()
    try:
        release = read_release(data, "deploy/teaching")
    except InputError as error:
        assert "\n" not in str(error)
        return
    assert read_release(release.to_json(), "again") == release
    for field, pattern in PATTERNS.items():
        assert re.fullmatch(pattern, getattr(release, field))
    assert all(isinstance(value, str) for value in vars(release).values())


@cases(600)
@given(disturbed(RECORD))
def test_a_record_is_read_as_plain_values(folder: Path, document: Any) -> None:
    (folder / "record.json").write_text(json.dumps(document, default=repr), encoding="utf-8")
    try:
        record = read(folder)
    except DamagedError:
        return
    assert record.status in STATUSES
    text = json.dumps(vars(record), allow_nan=False)
    assert max((len(word) for word in re.findall(r'"((?:[^"\\]|\\.)*)"', text)), default=0) <= 6 * LONGEST_TEXT
    for row in record.timing.values():
        assert all(math.isfinite(number) and number >= 0 for number in row.values())
    assert all(type(count) is int and count >= 0 for count in record.memory.values())


@cases(300)
@given(disturbed(RUN))
def test_a_run_is_read_back_or_damaged(document: Any) -> None:
    try:
        run = from_json(json.loads(json.dumps(document, default=repr)))
    except (ValueError, KeyError, TypeError, AttributeError):
        return  # what `load` turns into CorruptRun
    assert from_json(json.loads(json.dumps(to_json(run), default=repr))) == run


@cases(300)
@given(edited(JUNIT) | edited(JUNIT.replace("/>", '><failure message="1 != 2">x</failure></testcase>')))
def test_a_junit_file_is_counted_or_not_there(folder: Path, text: str) -> None:
    (folder / "junit.xml").write_text(text, encoding="utf-8", errors="replace")
    counts = read_junit(folder / "junit.xml")
    assert counts is None or 0 <= counts["failed"] <= counts["total"]


def documents() -> dict[str, Any]:
    """A run that passed: what its steps left under its prefix."""
    image = {"reference": f"lab@{DIGEST}", "repository": "lab", "digest": DIGEST, "kind": "source artifact"}
    record = {"gates": [gate("contract"), gate("image")], "image": image, "project": {"slug": "lab"}, "exit_code": 0}
    verify = {"schema": "gpulab/verify/v1", "verdict": "PASS", "exit_code": 0, "gates": [gate(one) for one in GATES]}
    plan = {"schema": "gpulab/plan/v1", "accelerators": ["cpu"]}
    return {"image.json": record, "plan.json": plan, "verify/cpu.json": verify}


@cases(500)
@given(st.sampled_from(sorted(documents())), st.data())
def test_damaged_results_never_pass(folder: Path, name: str, data: st.DataObject) -> None:
    (folder / "tests" / "junit.xml").write_text(JUNIT)
    whole = documents()
    changed = data.draw(disturbed(whole[name]))
    for file, document in (whole | {name: changed}).items():
        (folder / file).write_text(json.dumps(document, default=repr), encoding="utf-8")
    results = collect(folder, FACTS)
    json.dumps(results)
    assert results["verdict"] in ("PASS", "FAIL", "INCONCLUSIVE")
    assert (results["verdict"] == "PASS") == (results["exit_code"] == 0)
    if results["verdict"] == "PASS":
        assert {"contract", "image", "tests", *GATES} <= {one["name"] for one in results["gates"]}
        assert all(one["verdict"] in ("PASS", "NOT APPLICABLE") for one in results["gates"])
