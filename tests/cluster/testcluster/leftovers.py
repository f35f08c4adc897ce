"""What a cluster has left on the machine; `down` must leave an empty list."""

import re
import shlex
from pathlib import Path

from testcluster import host, processes
from testcluster.layout import Layout

OURS = re.compile(r"^(KUBE-ROUTER|KUBE-POD-FW|KUBE-NWPLCY|KUBE-SVC|KUBE-IPTABLES|KUBE-KUBELET|CNI-)")
TABLES = ("filter", "nat", "mangle")


def everything(layout: Layout) -> list[str]:
    """One line for each thing that is still there."""
    return [
        *(f"process {pid}" for pid in processes.marked(layout)),
        *(f"process {pid} in a control group" for pid in in_cgroups()),
        *(f"mount {place}" for place in mounts(layout)),
        *(f"interface {name}" for name in host.interfaces()),
        *(f"nftables {family} {name}" for family, name in host.tables()),
        *(f"chain {table} {chain}" for table, chain in chains()),
        *(f"set {name}" for name in sets()),
        *(f"control group {folder}" for folder in host.cgroups()),
    ]


def in_cgroups() -> list[int]:
    """Processes in our control groups: the containers'."""
    found = set()
    for folder in host.cgroups():
        file = folder / "cgroup.procs"
        found |= set(map(int, file.read_text().split())) if file.exists() else set()
    return sorted(found)


def mounts(layout: Layout) -> list[str]:
    """Mounts inside the cluster's folders (file systems, volumes, network namespaces), innermost first."""
    places = [line.split()[4] for line in Path("/proc/self/mountinfo").read_text().splitlines()]
    roots = (f"{layout.run}/", f"{layout.data}/")
    return sorted((place for place in places if place.startswith(roots)), reverse=True)


def chains() -> list[tuple[str, str]]:
    """iptables chains of kube-router, kubelet and CNI, as (table, chain)."""
    found = []
    for table in TABLES:
        rules = host.run("iptables", "--table", table, "--list-rules", check=False)
        declared = re.findall(r"^-N (\S+)", rules, re.MULTILINE)
        found += [(table, chain) for chain in declared if OURS.match(chain)]
    return found


def sets() -> list[str]:
    """Address sets of kube-router."""
    found = host.run("ipset", "list", "-name", check=False).split()
    return [name for name in found if name.startswith(("KUBE-", "kube-router"))]


def delete_chains() -> None:
    """Rules that jump to our chains, then the chains, then the sets that they used."""
    for table, _ in chains():
        for rule in host.run("iptables", "--table", table, "--list-rules").splitlines():
            words = shlex.split(rule)  # a comment is one word
            target = words[words.index("-j") + 1] if "-j" in words else ""
            if rule.startswith("-A") and not OURS.match(words[1]) and OURS.match(target):
                host.run("iptables", "--table", table, "-D", *words[1:], check=False)
    for action in ("-F", "-X"):
        for table, chain in chains():
            host.run("iptables", "--table", table, action, chain, check=False)
    for name in sets():
        host.run("ipset", "destroy", name, check=False)
