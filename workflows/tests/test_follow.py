import pytest
from gpulab.cli.follow import follow_plain
from gpulab.engines.protocol import Change, Phase


def change(node: str, type_: str, phase: Phase, message: str = "") -> Change:
    return Change("2026-01-01T10:11:12.000Z", node, type_, phase, message)


ITEM = 'verify(0:name:t4,on:t4,podSpecPatch:{"nodeSelector":{"a":"b"}})'
TOLD = [
    change("run", "Workflow", Phase.RUNNING),
    change("run", "DAG", Phase.RUNNING),
    change("image", "Retry", Phase.PENDING),
    change("image", "Retry", Phase.RUNNING),
    change("image(0)", "Pod", Phase.RUNNING),
    change("image(0)", "Pod", Phase.SUCCEEDED),
    change("image", "Retry", Phase.SUCCEEDED),
    change("verify", "TaskGroup", Phase.RUNNING),
    change(f"{ITEM}(0)", "Pod", Phase.FAILED, "main: Error (exit code 1): too far off"),
    change(ITEM, "Retry", Phase.FAILED, "retryStrategy.expression evaluated to false"),
    change("tests", "Pod", Phase.SUCCEEDED),
    change("notify", "Skipped", Phase.SKIPPED),
    change("run", "Workflow", Phase.FAILED),
]
"""What an engine told."""


def test_a_person_sees_one_line_per_step_with_the_real_reason(capsys: pytest.CaptureFixture[str]) -> None:
    follow_plain(TOLD)
    assert capsys.readouterr().out.splitlines() == [
        "10:11:12  image              Running",
        "10:11:12  image              Succeeded",
        "10:11:12  verify on t4       Failed      Error (exit code 1): too far off",
        "10:11:12  tests              Succeeded",
        "10:11:12  run                Failed",
    ]
