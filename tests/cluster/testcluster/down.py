"""Take the cluster down and leave nothing on the machine."""

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

from testcluster import host, leftovers, parts, processes, up
from testcluster.build import tools_folder
from testcluster.layout import NODES, Layout

KEPT = ("containerd", "registry")  # images: unpacked and pushed once, `--purge` drops them
GRACE = 3.0  # seconds; what the parts would still write is deleted anyway
CTR = ("ctr", "--namespace", "k8s.io")


def down(layout: Layout, purge: bool, say: Callable[[str], None]) -> None:
    """End everything of this cluster, and only of this one; safe to repeat, also after half an `up`."""
    with up.alone(layout):
        _stop(layout, [name for name in names() if not name.startswith(("containerd", "kube-apiserver", "etcd"))])
        _end_pods(layout)
        _stop(layout, names())
        processes.stop(*processes.marked(layout), grace=GRACE)
        for place in leftovers.mounts(layout):
            host.run("umount", "--lazy", place, check=False)
        _forget_policies(layout)
        host.restore(layout)
        _delete(layout, purge)
    say("down")


def names() -> list[str]:
    """Every part, last started first."""
    stages = parts.stages(Layout.at(Path("/run/none")), lambda name: Path(name))
    return [part.name for stage in reversed(stages) for part in reversed(stage)]


def _stop(layout: Layout, listed: list[str]) -> None:
    found = [record for name in listed if (record := processes.recorded(layout, name)) and record.alive]
    processes.stop(*(record.pid for record in found), grace=GRACE)
    for name in listed:
        processes.forget(layout, name)


def _end_pods(layout: Layout) -> None:
    """Without kubelets nobody starts them again; containerd must still run to forget them."""
    processes.stop(*leftovers.in_cgroups(), grace=0)
    for node in NODES:
        socket = layout.containerd(node)
        if socket.exists():
            ctr = (*CTR, "--address", str(socket))
            for kind, words in (("tasks", ("delete", "--force")), ("containers", ("delete",))):
                found = _quiet(*ctr, kind, "list", "--quiet").split()
                if found:
                    _quiet(*ctr, kind, *words, *found)


def _forget_policies(layout: Layout) -> None:
    """kube-router's chains and sets."""
    router = tools_folder() / "bin" / "kube-router"
    if leftovers.chains() and router.exists():
        _quiet(str(router), "--cleanup-config")
    leftovers.delete_chains()


def _delete(layout: Layout, purge: bool) -> None:
    if layout.data.exists():
        for folder in layout.data.iterdir():
            if purge or folder.name not in KEPT:
                shutil.rmtree(folder)
    if purge:
        shutil.rmtree(layout.data, ignore_errors=True)
    for path in layout.run.iterdir() if layout.run.exists() else []:
        if path.is_file():
            path.unlink()
        elif path != layout.data:
            shutil.rmtree(path)
    if layout.run.exists() and not any(layout.run.iterdir()):
        layout.run.rmdir()


def _quiet(*line: str) -> str:
    """What a command prints; that it fails is no matter while cleaning."""
    try:
        done = subprocess.run(line, text=True, capture_output=True, check=False, timeout=30)
    except subprocess.TimeoutExpired:
        return ""
    return done.stdout
