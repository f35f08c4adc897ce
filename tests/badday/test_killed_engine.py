"""The engine is killed (SIGKILL) at every phase of a run: the record stays true, and the next run ends well."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from gpulab.engines.local.record import KILLED, seconds
from gpulab.engines.protocol import Phase
from killing import Aftermath, kill_and_go_on

pytestmark = [
    pytest.mark.skipif(not Path("/proc/self").is_dir(), reason="looks into /proc"),
    pytest.mark.xdist_group("killed-engine"),
]

NEVER_THERE = [
    "before move workflow.yaml",
    "before move engine.json",
    "before move record run:Pending",
    "before move runs/run",
]
SUBMITTED = [
    "after move runs/run",
    "before start engines.local.supervisor",
    "before boot",
    "before move record run:Running first(0):Pending",
    "after move record run:Running first(0):Pending",
]
IN_STEPS = [
    "before start toy {home} run first",
    "after start toy {home} run first",
    "before move first(0):Running",
    "step during first",
    "before move first(0):Failed",
    "after move first(0):Failed",
    "before move first(1):Running",
    "step during made",
    "before move artifacts/toy/run/data",
    "after move artifacts/toy/run/data",
    "before move made:Succeeded",
    "after move made:Succeeded",
    "step during fan",
    "after move fan(1:b):Succeeded",
    "step during produce",
    "before start toy {home} run judge",
    "step during judge",
    "before move pair:Succeeded",
    "after move pair:Succeeded",
    "step release: nothing done",
    "step release: committed",
    "step release: event kept",
    "before move release:Succeeded",
    "after move release:Succeeded",
]
AT_THE_END = [
    "before start toy {home} run told",
    "step during told",
    "before move record run:Succeeded",
]
ENDED = [
    "after move record run:Succeeded",
    "before move runs/sync-",
    "after move runs/sync-",
    "before unlink events/",
    "after unlink events/",
]
POINTS = [*NEVER_THERE, *SUBMITTED, *IN_STEPS, *AT_THE_END, *ENDED]
STEPS = {"first": 1, "made": 1, "fan a": 1, "fan b": 1, "produce": 1, "judge": 1, "release": 1, "told": 1}
NODES = {"first(1)": "first", "first": "first", "fan(0:a)": "fan a", "fan(1:b)": "fan b", "main": "judge"}


@pytest.fixture(scope="module")
def aftermaths(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Aftermath]]:
    """All kills, a few at a time: each is mostly waiting."""
    folder = tmp_path_factory.mktemp("killed")
    homes = {point: folder / f"h{number:02}" for number, point in enumerate(POINTS)}
    with ThreadPoolExecutor(4) as pool:
        made = {point: pool.submit(kill_and_go_on, home, point.format(home=home)) for point, home in homes.items()}
        yield {point: one.result() for point, one in made.items()}


def test_the_points_are_distinct_and_many(aftermaths: dict[str, Aftermath]) -> None:
    killed = {one.killed for one in aftermaths.values()}
    assert len(killed) == len(POINTS) >= 20
    assert "" not in killed


@pytest.mark.parametrize("point", POINTS)
def test_the_record_is_true(aftermaths: dict[str, Aftermath], point: str) -> None:
    found = aftermaths[point]
    if point in NEVER_THERE:
        assert found.left is None
        assert not found.done
        return
    assert found.left is not None
    if point in ENDED:
        assert (found.left.phase, found.left.message) == (Phase.SUCCEEDED, "")
    else:
        assert (found.left.phase, found.left.message) == (Phase.ERROR, KILLED)
    for node in found.left.nodes.values():
        assert node.phase.fulfilled
        assert found.left.started_at <= node.started_at <= node.finished_at <= found.left.finished_at
        assert seconds(node.finished_at) >= seconds(node.started_at)
        if node.phase is Phase.SUCCEEDED and node.type in ("Pod", "Container") and node.display_name != "pair":
            assert found.done[f"run {NODES.get(node.display_name, node.display_name)}"] == 1


@pytest.mark.parametrize("point", POINTS)
def test_no_process_is_left(aftermaths: dict[str, Aftermath], point: str) -> None:
    assert aftermaths[point].strays == []


@pytest.mark.parametrize("point", POINTS)
def test_the_next_run_ends_well_and_nothing_is_lost_or_doubled(aftermaths: dict[str, Aftermath], point: str) -> None:
    found = aftermaths[point]
    assert found.again is Phase.SUCCEEDED
    assert {step: found.ledger[f"run-2 {step}"] for step in STEPS} == STEPS
    assert all(found.ledger[f"run {step}"] <= 1 for step in STEPS)
    assert found.releases[0] == "Release of run-2"
    assert sorted(set(found.releases)) == sorted(found.releases)
    syncs = {line: times for line, times in found.ledger.items() if " sync " in line}
    assert syncs[f"sync-{found.head[:12]} sync {found.head}"] == 1
    assert set(syncs.values()) == {1}
    assert found.waiting == []
    assert found.artifacts["run-2"] == b"data"
    assert set(found.artifacts.values()) == {b"data"}
