from pathlib import Path

import pytest
from gpulab.cli import follow
from gpulab.engines.protocol import Change, Phase
from gpulab.home import Home


def change(node: str, type_: str, phase: Phase, message: str = "") -> Change:
    return Change("2026-01-01T10:11:12.000Z", node, type_, phase, message)


class Engine:
    """Plays back what an engine told."""

    def follow(self, _run: str) -> list[Change]:
        item = 'verify(0:name:t4,podSpecPatch:{"nodeSelector":{"a":"b"}})'
        generic = "retryStrategy.expression evaluated to false"
        return [
            change("run", "Workflow", Phase.RUNNING),
            change("run", "DAG", Phase.RUNNING),
            change("image", "Retry", Phase.PENDING),
            change("image", "Retry", Phase.RUNNING),
            change("image(0)", "Pod", Phase.RUNNING),
            change("image(0)", "Pod", Phase.SUCCEEDED),
            change("image", "Retry", Phase.SUCCEEDED),
            change("verify", "TaskGroup", Phase.RUNNING),
            change(f"{item}(0)", "Pod", Phase.FAILED, "main: Error (exit code 1): too far off"),
            change(item, "Retry", Phase.FAILED, generic),
            change("tests", "Pod", Phase.SUCCEEDED),
            change("notify", "Skipped", Phase.SKIPPED),
            change("run", "Workflow", Phase.FAILED),
        ]


def test_a_person_sees_one_line_per_step_with_the_real_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(follow, "local_engine", lambda _home, _project: Engine())
    follow.follow_plain(Home(tmp_path), "run", "lab")
    assert capsys.readouterr().out.splitlines() == [
        "10:11:12  image              Running",
        "10:11:12  image              Succeeded",
        "10:11:12  verify on t4       Failed      Error (exit code 1): too far off",
        "10:11:12  tests              Succeeded",
        "10:11:12  run                Failed",
    ]
