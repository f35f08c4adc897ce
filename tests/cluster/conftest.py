"""The tests' cluster. Those marked `cluster` need root, Debian and minutes: `make e2e` runs them."""

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))

STATE = Path("/run/gpulab-cluster")
collect_ignore_glob = ["*"] if sys.platform == "win32" else []


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What starts and ends clusters of its own goes first: afterwards the session's cluster is up."""
    items.sort(key=lambda item: item.path.name != "test_up_down.py")


@pytest.fixture(scope="session")
def cluster() -> Iterator[dict[str, Any]]:
    """What cluster.json says. With KUBECONFIG set, of the cluster that is up already; else one for this session."""
    given = os.environ.get("KUBECONFIG")
    if given:
        description = Path(given).absolute().parents[1] / "cluster.json"
        if not description.exists():
            pytest.fail(
                f"KUBECONFIG={given} is not of a cluster that cluster.py made ({description} is missing): unset it"
            )
        yield json.loads(description.read_text())
        return
    from testcluster import down, up, versions
    from testcluster.layout import Layout

    layout = Layout.at(STATE)
    up.up(layout, versions.load(), bare=False, say=print)
    yield json.loads(layout.description.read_text())
    down.down(layout, purge=False, say=print)
