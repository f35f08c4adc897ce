"""What the cluster changes on the machine itself, and how that is undone: bridge, forwarding, control groups."""

import subprocess
from pathlib import Path

from testcluster.errors import PlatformError
from testcluster.layout import BRIDGE, CGROUP, NFT_TABLE, NODE_IP, NODES, POD_RANGE, ROUTER_HEALTH, S3, Layout

CGROUPS = Path("/sys/fs/cgroup")
FORWARDING = Path("/proc/sys/net/ipv4/ip_forward")
BRIDGE_FILTER = Path("/proc/sys/net/bridge/bridge-nf-call-iptables")  # policies see traffic between pods of one bridge
RULES = f"""\
table ip {NFT_TABLE}
delete table ip {NFT_TABLE}
table ip {NFT_TABLE} {{
  chain input {{
    type filter hook input priority filter;
    # SeaweedFS' gRPC port asks nobody for keys and can not be bound elsewhere than its S3
    iifname "{BRIDGE}" tcp dport {S3 + 10000} drop
    # kube-router answers about its health on every address
    iifname != "lo" tcp dport {ROUTER_HEALTH} drop
  }}
  chain postrouting {{
    type nat hook postrouting priority srcnat;
    ip saddr {POD_RANGE} ip daddr != {POD_RANGE} masquerade
  }}
}}
"""


def prepare(layout: Layout) -> None:
    """Make what is missing; what was there before is written down for `restore`."""
    for setting in (FORWARDING, BRIDGE_FILTER):
        before = layout.run / "before" / setting.name
        before.parent.mkdir(parents=True, exist_ok=True)
        if setting.exists() and not before.exists():
            before.write_text(setting.read_text())
        if setting.exists():
            setting.write_text("1")
    if not Path(f"/sys/class/net/{BRIDGE}").exists():
        run("ip", "link", "add", BRIDGE, "type", "bridge")
    run("ip", "address", "replace", f"{NODE_IP}/16", "dev", BRIDGE)
    # a fixed hardware address: a bridge otherwise takes that of its lowest port, which comes and goes with pods
    run("ip", "link", "set", BRIDGE, "address", "02:67:70:75:6c:00", "up")
    run("nft", "-f", "-", text=RULES)
    for node in NODES:
        _make_cgroup(f"{CGROUP}/{node.name}")


def restore(layout: Layout) -> None:
    """Undo `prepare`; nothing of the cluster may run any more."""
    for link in sorted(interfaces()):
        run("ip", "link", "delete", link, check=False)
    for family, table in tables():
        run("nft", "delete", "table", family, table)
    for folder in cgroups():
        folder.rmdir()
    for setting in (FORWARDING, BRIDGE_FILTER):
        before = layout.run / "before" / setting.name
        if before.exists():
            setting.write_text(before.read_text())


def interfaces() -> list[str]:
    """The bridge and what is plugged into it."""
    found = Path("/sys/class/net")
    ports = [port.name for port in (found / BRIDGE / "brif").glob("*")]
    return [*ports, *([BRIDGE] if (found / BRIDGE).exists() else [])]


def tables() -> list[tuple[str, str]]:
    """nftables of this program and of kube-proxy, as (family, name)."""
    lines = [line.split() for line in run("nft", "list", "tables").splitlines()]
    return [(family, name) for _, family, name in lines if name in (NFT_TABLE, "kube-proxy")]


def cgroups() -> list[Path]:
    """Our control groups in every hierarchy, innermost first."""
    roots = [path for path in (CGROUPS / CGROUP, *CGROUPS.glob(f"*/{CGROUP}")) if path.is_dir()]
    found = {path for root in roots for path in (root, *root.rglob("*")) if path.is_dir() and not path.is_symlink()}
    return sorted(found, key=lambda path: len(path.parts), reverse=True)


def _make_cgroup(name: str) -> None:
    """In each hierarchy of version 1, or in the one of version 2 with its controllers handed down."""
    if (CGROUPS / "cgroup.controllers").exists():
        folder = CGROUPS
        for part in Path(name).parts:
            available = (folder / "cgroup.controllers").read_text().split()
            (folder / "cgroup.subtree_control").write_text(" ".join(f"+{controller}" for controller in available))
            folder = folder / part
            folder.mkdir(exist_ok=True)
        return
    for hierarchy in {path.resolve() for path in CGROUPS.iterdir() if path.is_dir()}:
        folder = hierarchy
        for part in Path(name).parts:
            folder = folder / part
            folder.mkdir(exist_ok=True)
            _inherit_cpus(folder)


def _inherit_cpus(folder: Path) -> None:
    for name in ("cpuset.cpus", "cpuset.mems"):  # a new group of version 1 has none
        if (folder / name).exists() and not (folder / name).read_text().strip():
            (folder / name).write_text((folder.parent / name).read_text())


def run(*line: str, text: str | None = None, check: bool = True) -> str:
    """A command's output; raises PlatformError when it fails and `check` is true."""
    done = subprocess.run(line, input=text, text=True, capture_output=True, check=False)
    if check and done.returncode:
        raise PlatformError(f"{' '.join(line)}: {done.stderr.strip()[-500:]}")
    return done.stdout
