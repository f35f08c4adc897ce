"""What `sync` tells the forge."""

import pytest
from gpulab.events import sync_context
from gpulab.forges.local import LocalForge
from gpulab.forges.protocol import Status
from gpulab.home import Home
from gpulab.steps.sync import SyncInput, sync


def test_an_overtaken_release_is_told_and_not_left_pending(
    forge: LocalForge, home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = forge.commit("deploy/teaching", {"a": b"1"}, "one", None)
    new = forge.commit("deploy/teaching", {"a": b"2"}, "two", old)
    context = sync_context("teaching")
    forge.set_status(old, Status(context, "pending", "queued", "sync-1"))
    monkeypatch.setenv("GPULAB_PLATFORM", "local")
    monkeypatch.setenv("GPULAB_HOME", str(home.root))
    claim = {"claimed_run": "push-1", "claimed_accelerator": "cpu"}
    asked = {"project": "gpu-lab-1", "revision": old, "environment": "teaching", "run": "sync-1"}
    assert not sync(SyncInput.model_validate(asked | claim)).exit_code
    said = forge.statuses(old)[context]
    assert (said.state, said.description) == ("error", f"not applied: overtaken by {new[:12]}")
