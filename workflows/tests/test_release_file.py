import dataclasses
import json

import pytest
from gpulab.errors import InputError
from gpulab.steps.proof import against_record, against_request
from gpulab.steps.release_file import Release, read_release
from hypothesis import given
from hypothesis import strategies as st

RELEASE = Release(
    project="lab",
    environment="teaching",
    source="a" * 40,
    repository="gpulab.local/lab",
    digest="sha256:" + "b" * 64,
    run="push-aaaaaaaaaaaa-123456",
    accelerator="cpu",
)
RECORD = {
    "schema": "gpulab/results/v1",
    "verdict": "PASS",
    "revision": RELEASE.source,
    "project": {"slug": "lab"},
    "image": {"digest": RELEASE.digest, "repository": RELEASE.repository},
}


def test_a_release_reads_back_as_it_was_written() -> None:
    assert read_release(RELEASE.to_json(), "here") == RELEASE


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("run", "../../other/run"),
        ("run", "{{workflow.uid}}"),
        ("run", ""),
        ("source", "main"),
        ("source", "a" * 39),
        ("digest", "latest"),
        ("project", "Lab"),
        ("accelerator", "../x"),
        ("digest", 7),
        ("run", None),
    ],
)
def test_a_field_that_is_not_what_it_must_be_is_refused(field: str, value: object) -> None:
    document = json.loads(RELEASE.to_json()) | {field: value}
    with pytest.raises(InputError, match=field):
        read_release(json.dumps(document).encode(), "here")


@given(st.binary(max_size=60) | st.text(max_size=60).map(str.encode))
def test_any_bytes_are_refused_in_words(data: bytes) -> None:
    with pytest.raises(InputError):
        read_release(data, "here")


def test_a_missing_file_and_a_foreign_schema_are_refused() -> None:
    with pytest.raises(InputError, match=r"has no release\.json"):
        read_release(None, "here")
    with pytest.raises(InputError, match="schema"):
        read_release(json.dumps(json.loads(RELEASE.to_json()) | {"schema": "v0"}).encode(), "here")


def test_a_proven_release_has_no_problems() -> None:
    assert against_record(RELEASE, RECORD) == []
    assert against_request(RELEASE, "lab", "teaching") == []


@pytest.mark.parametrize(
    "record",
    [
        None,
        {},
        RECORD | {"verdict": "FAIL"},
        RECORD | {"verdict": "INCONCLUSIVE"},
        RECORD | {"revision": "c" * 40},
        RECORD | {"image": {"digest": "sha256:" + "c" * 64, "repository": RELEASE.repository}},
        RECORD | {"image": {"digest": RELEASE.digest, "repository": "elsewhere/lab"}},
        RECORD | {"image": None},
        RECORD | {"project": {"slug": "other"}},
        RECORD | {"project": None},
    ],
)
def test_a_record_that_does_not_prove_the_release_is_a_problem(record: dict[str, object] | None) -> None:
    assert against_record(RELEASE, record)


def test_a_release_of_another_project_or_environment_is_a_problem() -> None:
    assert against_request(RELEASE, "other", "teaching")
    assert against_request(dataclasses.replace(RELEASE, environment="production"), "lab", "teaching")
