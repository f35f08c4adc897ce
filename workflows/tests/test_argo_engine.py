"""The engine over HTTP, against a server that answers as Argo's does; what a live one does is tested on a cluster."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest
from gpulab.engines.argo import ArgoEngine, ArgoSettings
from gpulab.engines.argo.server import LONGEST_PAUSE
from gpulab.engines.argo.settings import configured, from_environment
from gpulab.engines.errors import AlreadyExists, RunNotFound
from gpulab.engines.protocol import Phase
from gpulab.errors import InputError, PlatformError

RECORDED = Path(__file__).parent / "resources" / "argo"
TEMPLATE = {"kind": "ClusterWorkflowTemplate", "metadata": {"name": "push-v0-1-0"}}
LIST = "/api/v1/workflows/lab-ci"
Answer = Callable[[httpx.Request], httpx.Response]


class Argo:
    """Answers in turn, and remembers what was asked."""

    def __init__(self, tmp_path: Path, *answers: httpx.Response | Exception) -> None:
        self.answers, self.asked, self.slept = list(answers), list[httpx.Request](), list[float]()
        settings = ArgoSettings("http://argo", "lab-ci", "t0ken", tmp_path)
        self.engine = ArgoEngine(settings, httpx.MockTransport(self.answer), self.slept.append)

    def answer(self, request: httpx.Request) -> httpx.Response:
        self.asked.append(request)
        given = self.answers.pop(0)
        if isinstance(given, Exception):
            raise given
        return given

    @property
    def paths(self) -> list[str]:
        return [f"{one.method} {one.url.path}" for one in self.asked]


def says(status: int, message: str) -> httpx.Response:
    return httpx.Response(status, json={"code": 0, "message": message})


def workflow(name: str, phase: str, nodes: dict[str, Any] | None = None) -> dict[str, Any]:
    return {"metadata": {"name": name}, "status": {"phase": phase, "nodes": nodes or {}}}


def stream(*objects: dict[str, Any]) -> httpx.Response:
    lines = [f"data: {json.dumps({'result': {'type': 'MODIFIED', 'object': one}})}\n\n" for one in objects]
    return httpx.Response(200, text=":\n" + "".join(lines))


def test_a_run_is_a_reference_to_the_template_in_the_cluster(tmp_path: Path) -> None:
    argo = Argo(tmp_path, httpx.Response(200, json=workflow("push-1", "")))
    argo.engine.submit("push-1", TEMPLATE, {"project": "lab", "ref": "refs/heads/main"})
    assert argo.paths == [f"POST {LIST}"]
    assert argo.asked[0].headers["Authorization"] == "Bearer t0ken"
    made = json.loads(argo.asked[0].content)["workflow"]
    assert made["metadata"]["name"] == "push-1"
    assert made["metadata"]["annotations"] == {"workflows.argoproj.io/title": "main"}
    assert made["spec"] == {
        "workflowTemplateRef": {"name": "push-v0-1-0", "clusterScope": True},
        "arguments": {"parameters": [{"name": "project", "value": "lab"}, {"name": "ref", "value": "refs/heads/main"}]},
    }


def test_a_replay_is_told_apart(tmp_path: Path) -> None:
    argo = Argo(tmp_path, says(409, 'workflows.argoproj.io "push-1" already exists'))
    with pytest.raises(AlreadyExists, match="gpulab watch push-1"):
        argo.engine.submit("push-1", TEMPLATE, {})


@pytest.mark.parametrize("trouble", [httpx.ConnectError("refused"), says(503, "no"), says(500, "x"), says(429, "y")])
def test_trouble_is_asked_again(tmp_path: Path, trouble: Any) -> None:
    argo = Argo(tmp_path, trouble, trouble, httpx.Response(200, json=workflow("r", "Running")))
    assert argo.engine.results("r").phase is Phase.RUNNING
    assert argo.slept == [0.5, 1.0]


def test_a_server_says_how_long_to_wait_within_reason(tmp_path: Path) -> None:
    busy = httpx.Response(429, headers={"Retry-After": "9000"})
    argo = Argo(tmp_path, busy, httpx.Response(200, json=workflow("r", "Running")))
    argo.engine.results("r")
    assert argo.slept == [LONGEST_PAUSE]


def test_a_server_that_stays_away_is_the_platforms_trouble(tmp_path: Path) -> None:
    argo = Argo(tmp_path, *[httpx.ConnectError("connection refused")] * 6)
    with pytest.raises(PlatformError, match="connection refused"):
        argo.engine.results("r")
    assert argo.answers == []


@pytest.mark.parametrize(("code", "words"), [(401, "GPULAB_ARGO_TOKEN"), (403, "lab-ci"), (400, "templateReferencing")])
def test_a_refusal_is_said_in_the_servers_words_and_not_repeated(tmp_path: Path, code: int, words: str) -> None:
    argo = Argo(tmp_path, says(code, "workflows must use templateReferencing"))
    with pytest.raises(InputError, match=words) as refused:
        argo.engine.submit("push-1", TEMPLATE, {})
    assert "t0ken" not in str(refused.value)


def test_another_server_is_found_out(tmp_path: Path) -> None:
    argo = Argo(tmp_path, httpx.Response(200, text="<html>"), httpx.Response(302))
    for _ in range(2):
        with pytest.raises(InputError, match="GPULAB_ARGO_URL"):
            argo.engine.results("r")


def test_a_run_that_is_gone_is_named(tmp_path: Path) -> None:
    with pytest.raises(RunNotFound, match="push-9"):
        Argo(tmp_path, says(404, "not found")).engine.results("push-9")
    with pytest.raises(InputError, match="no run's name"):
        Argo(tmp_path).engine.results("../secrets")


def test_following_takes_up_a_broken_stream_where_it_broke(tmp_path: Path) -> None:
    def node(phase: str) -> dict[str, Any]:
        return {"n": {"id": "n", "name": "r.image", "displayName": "image", "type": "Pod", "phase": phase}}

    argo = Argo(
        tmp_path,
        httpx.Response(200, json=workflow("r", "Pending")),
        stream(workflow("other", "Failed"), workflow("r", "Running", node("Running"))),
        httpx.Response(200, json=workflow("r", "Running", node("Succeeded"))),
        says(403, "may not watch"),
        httpx.Response(200, json=workflow("r", "Succeeded", node("Succeeded"))),
    )
    seen = [(change.node, str(change.phase)) for change in argo.engine.follow("r")]
    assert seen == [
        ("r", "Pending"),
        ("image", "Running"),
        ("r", "Running"),
        ("image", "Succeeded"),
        ("r", "Succeeded"),
    ]
    assert argo.asked[1].url.params["listOptions.fieldSelector"] == "metadata.name=r"
    assert len(argo.slept) == 2


def test_a_stream_that_tells_the_end_ends_it(tmp_path: Path) -> None:
    argo = Argo(tmp_path, httpx.Response(200, json=workflow("r", "Running")), stream(workflow("r", "Error")))
    assert [str(change.phase) for change in argo.engine.follow("r")] == ["Running", "Error"]
    assert argo.slept == []


def test_only_what_has_not_ended_is_terminated(tmp_path: Path) -> None:
    argo = Argo(tmp_path, httpx.Response(200, json=workflow("r", "Failed")))
    argo.engine.cancel("r")
    assert argo.paths == [f"GET {LIST}/r"]
    argo = Argo(tmp_path, httpx.Response(200, json=workflow("r", "Running")), httpx.Response(200, json={}))
    argo.engine.cancel("r")
    assert argo.paths[1] == f"PUT {LIST}/r/terminate"


def test_an_artifact_is_fetched_from_the_node_that_stored_it(tmp_path: Path) -> None:
    key = "dag-diamond/dag-diamond-82q7s/x"
    diamond = json.loads((RECORDED / "dag-diamond.json").read_text())
    node = next(one for one in diamond["status"]["nodes"].values() if one["displayName"] == "D")
    node["outputs"] = {"artifacts": [{"name": "report", "s3": {"key": f"{key}/report.html"}}]}
    found, gone = httpx.Response(200, content=b"<p>"), says(404, "no such key")
    argo = Argo(tmp_path, httpx.Response(200, json=diamond), found, httpx.Response(200, json=diamond), gone)
    path = argo.engine.artifact(f"{key}/report.html")
    assert path.read_bytes() == b"<p>"
    assert argo.paths[1] == f"GET /artifacts/lab-ci/dag-diamond-82q7s/{node['id']}/report"
    assert list(argo.engine.artifact(key).iterdir()) == []


def test_what_was_not_stored_is_not_there(tmp_path: Path) -> None:
    argo = Argo(tmp_path, httpx.Response(200, json=workflow("r", "Running")), says(404, "x"))
    assert not argo.engine.artifact("lab/r/report.html").exists()
    assert not argo.engine.artifact("lab/gone/report.html").exists()
    for key in ("lab", "/etc/passwd", "lab/../../x"):
        with pytest.raises(InputError, match="no key"):
            argo.engine.artifact(key)


def test_runs_are_listed_oldest_first_without_their_nodes(tmp_path: Path) -> None:
    def one(name: str, time: str) -> dict[str, Any]:
        return {"metadata": {"name": name, "creationTimestamp": time}, "status": {}}

    items = [one("b", "2026-01-02T00:00:00Z"), one("a", "2026-01-01T00:00:00Z")]
    argo = Argo(tmp_path, httpx.Response(200, json={"items": items}), httpx.Response(200, json={"items": None}))
    assert [run.name for run in argo.engine.runs()] == ["a", "b"]
    assert "nodes" not in argo.asked[0].url.params["fields"]
    assert argo.engine.runs() == []


def test_the_environment_says_where_argo_is(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("Bearer abc\n")
    variables = {"GPULAB_ARGO_URL": "https://argo.example.org/", "GPULAB_ARGO_TOKEN_FILE": str(file)}
    assert configured(variables)
    found = from_environment(variables, "lab-ci", tmp_path)
    assert (found.url, found.namespace, found.token) == ("https://argo.example.org", "lab-ci", "abc")
    assert "abc" not in repr(found)


@pytest.mark.parametrize(
    ("variables", "words"),
    [
        ({}, "GPULAB_ARGO_TOKEN is not set"),
        ({"GPULAB_ARGO_TOKEN": "a"}, "GPULAB_ARGO_URL is not set"),
        ({"GPULAB_ARGO_TOKEN": "a\nb", "GPULAB_ARGO_URL": "https://x"}, "one line"),
        ({"GPULAB_ARGO_TOKEN": "a", "GPULAB_ARGO_URL": "argo"}, "https://ARGO-SERVER"),
        ({"GPULAB_ARGO_TOKEN": "a", "GPULAB_ARGO_URL": "https://me:secret@x"}, "…@x"),
        ({"GPULAB_ARGO_TOKEN_FILE": "/nowhere"}, "GPULAB_ARGO_TOKEN_FILE"),
    ],
)
def test_what_is_set_wrongly_is_named(tmp_path: Path, variables: dict[str, str], words: str) -> None:
    with pytest.raises(InputError, match=words) as refused:
        from_environment(variables, "lab-ci", tmp_path)
    assert "secret" not in str(refused.value)


def test_certificates_that_cannot_be_read_are_named(tmp_path: Path) -> None:
    (tmp_path / "ca.pem").write_text("no certificate")
    with pytest.raises(InputError, match=r"ca\.pem"):
        ArgoEngine(ArgoSettings("https://argo", "lab-ci", "t", tmp_path, str(tmp_path / "ca.pem")))
