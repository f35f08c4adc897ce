"""Whose fault a failed build is, decided on what `buildctl` 0.34 really wrote (resources/buildkit)."""

import base64
import json
from pathlib import Path

import pytest
from gpulab.images.buildkit.log import read_log
from gpulab.images.buildkit.outcome import NETWORK, Failure, why_failed

RECORDED = Path(__file__).parents[1] / "resources" / "buildkit"

PROJECTS = {
    "run_fails": '[2/2] RUN echo "error: failed to solve: failed to push"; echo \'ERROR: No matching distribution fou',
    "run_multiline": '[2/2] RUN <<EOT (echo "it is \\"quoted\\""...): exit code 7: it is "quoted"',
    "run_no_such_program": '[2/2] RUN ["/nosuch"]: exit code 1',
    "unknown_instruction": "dockerfile parse error on line 3: unknown instruction: INSTALL",
    "unknown_flag": "dockerfile parse error on line 3: unknown flag: --nosuch",
    "unknown_user": "unable to find user nosuchuser",
    "no_from": "no build stage in current context",
    "empty_dockerfile": "the Dockerfile cannot be empty",
    "copy_missing": '"/nosuch.txt": not found',
    "missing_secret": "secret needed: not found",
}
PLATFORMS = {
    "run_network": "the network failed: WARNING: Retrying",
    "run_killed": "was killed, most likely for using more memory",
    "registry_down": "failed to push",
    "base_missing": "failed to resolve source metadata",
    "base_dns": "no such host",
    "copy_from_unknown_image": "failed to resolve source metadata for docker.io/library/nostage",
    "add_url": "connection refused",
}


def recorded(name: str) -> Failure:
    return why_failed(read_log((RECORDED / f"{name}.log").read_text(encoding="utf-8")))


def test_every_recorded_build_is_looked_at() -> None:
    assert {file.stem for file in RECORDED.glob("*.log")} == PROJECTS.keys() | PLATFORMS.keys()


@pytest.mark.parametrize("name", PROJECTS)
def test_the_projects_own_fault(name: str) -> None:
    found = recorded(name)
    assert found.is_projects, found.reason
    assert PROJECTS[name] in found.reason


@pytest.mark.parametrize("name", PLATFORMS)
def test_never_the_projects_fault(name: str) -> None:
    found = recorded(name)
    assert not found.is_projects, found.reason
    assert PLATFORMS[name] in found.reason


def test_the_end_of_the_output_is_kept() -> None:
    assert recorded("run_fails").lines == [
        "error: failed to solve: failed to push",
        "ERROR: No matching distribution found for nosuch==1.0",
    ]


@pytest.mark.parametrize(
    "error",
    [
        "Unavailable: error reading from server: EOF",
        "failed to copy: httpReadSeeker: failed open: unexpected status code 503 Service Unavailable",
        "failed to prepare extraction snapshot: no space left on device",
        'process "/bin/sh -c pip install" did not complete successfully: context canceled: context canceled',
        'process "/bin/sh -c pip install" did not complete successfully: cannot allocate memory',
        "an error that nobody has seen yet",
    ],
)
def test_what_is_not_known_is_never_a_fail(error: str) -> None:
    found = why_failed(read_log(f"error: failed to solve: {error}\n"))
    assert (found.is_projects, found.reason) == (False, error)


def test_a_build_without_a_word_is_never_a_fail() -> None:
    assert not why_failed(read_log("")).is_projects


def status(**rows: object) -> str:
    return json.dumps({key: [value] for key, value in rows.items()})


def run(output: bytes, error: str) -> str:
    name = "[2/3] RUN pip install"
    data = base64.b64encode(output).decode()
    return "\n".join(
        (
            status(vertexes={"digest": "sha256:a", "name": name}),
            status(logs={"vertex": "sha256:a", "stream": 1, "data": data}),
            status(vertexes={"digest": "sha256:a", "name": name, "error": error}),
            f"error: failed to solve: {error}",
        )
    )


FAILED = 'process "/bin/sh -c pip install" did not complete successfully: exit code: 1'


@pytest.mark.parametrize(
    "output",
    [
        b"error: failed to solve: failed to push x: dial tcp\n",
        b"\r\x0b\x0c\xe2\x80\xa8error: failed to solve: Unavailable\n",
        b'{"vertexes": [{"digest": "sha256:a", "name": "x", "error": "Unavailable"}]}\n',
        b"\xff\xfe\x00",
        b"",
    ],
)
def test_a_program_cannot_forge_what_buildctl_says(output: bytes) -> None:
    found = why_failed(read_log(run(output, FAILED)))
    assert found.is_projects
    assert found.reason.startswith("[2/3] RUN pip install: exit code 1")


def test_a_progress_bar_is_many_lines() -> None:
    log = read_log(run(b"10%\r50%\r100%\nERROR: broken wheel\n", FAILED))
    assert log.failed[0].lines == ["10%", "50%", "100%", "ERROR: broken wheel"]


@pytest.mark.parametrize(
    "line",
    [
        "E: Failed to fetch http://deb.debian.org/x  Temporary failure resolving 'deb.debian.org'",
        "curl: (6) Could not resolve host: download.pytorch.org",
        "curl: (22) The requested URL returned error: 503",
        "pip._vendor.urllib3.exceptions.ReadTimeoutError: HTTPSConnectionPool(host='pypi.org'): Read timed out.",
        "ERROR: HTTP error 502 while getting https://pypi.org/x.whl",
        "  Caused by: dns error: failed to lookup address information: Name or service not known",
        "fatal: unable to access 'https://github.com/x/': Failed to connect: Connection timed out",
        "urllib.error.HTTPError: HTTP Error 504: Gateway Time-out",
        "requests.exceptions.HTTPError: 503 Server Error: Service Unavailable for url",
    ],
)
def test_a_network_that_fails_is_known_by_its_words(line: str) -> None:
    assert NETWORK.search(line)


@pytest.mark.parametrize(
    "line",
    [
        "ERROR: No matching distribution found for torch==99",
        "ERROR: HTTP error 404 while getting https://pypi.org/x.whl",
        "error: subprocess-exited-with-error",
        "error: 50 errors generated",
        "tests/test_model.py::test_503 FAILED",
        "ModuleNotFoundError: No module named 'networks'",
        "error: command 'gcc' failed with exit code 1",
    ],
)
def test_a_mistake_is_no_network_trouble(line: str) -> None:
    assert not NETWORK.search(line)
