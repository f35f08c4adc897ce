"""Versions: below the floor there are known holes, so an old one is refused."""

import re
from collections.abc import Iterator

from gpulab.doctor.check import Check
from gpulab.doctor.snapshot import Snapshot

Version = tuple[int, ...]
KUBERNETES: Version = (1, 34)
"""ValidatingAdmissionPolicy, restricted BuildKit pods and server-side field validation are relied upon as of 1.34."""

ARGO: tuple[Version, ...] = ((4, 0, 10), (4, 1, 2))
"""The first release of each line without a known hole: CVE-2026-54526, lost locks up to 4.0.9, the login of 4.1.0/1."""

KUEUE: Version = (0, 19, 2)
"""Before it, fair sharing let a weight of zero go first, and quotas of pod groups could be passed by."""

DEPLOYMENTS = {"workflow-controller": "Argo's controller", "argo-server": "Argo's server"}


def checks(seen: Snapshot, allow_old: bool) -> Iterator[Check]:
    """Kubernetes, Argo's two parts, and Kueue where it is installed."""
    yield _judged("Kubernetes", seen.kubernetes, parsed(seen.kubernetes) >= KUBERNETES, "1.34 or later", allow_old)
    for name, title in DEPLOYMENTS.items():
        image = image_of(seen, name, "argo")
        if image:
            yield _judged(title, image, new_enough(parsed(tag(image))), "4.0.10 or later, or 4.1.2 or later", allow_old)
    if image := image_of(seen, "kueue-controller-manager", "kueue-system"):
        yield _judged("Kueue", image, parsed(tag(image)) >= KUEUE, "0.19.2 or later", allow_old)


def new_enough(argo: Version) -> bool:
    """Whether a release of Argo is in a line that is looked after, and new enough in it."""
    return argo >= ARGO[-1] or any(argo[:2] == floor[:2] and argo >= floor for floor in ARGO)


def parsed(text: str) -> Version:
    """`v4.0.10-nonroot` as (4, 0, 10); nothing when it is no version."""
    found = re.match(r"v?(\d+)\.(\d+)(?:\.(\d+))?", text)
    return tuple(int(one) for one in found.groups() if one) if found else ()


def tag(image: str) -> str:
    """The tag of `host:5000/name:tag@sha256:…`; empty when it has none."""
    return image.partition("@")[0].rpartition("/")[2].partition(":")[2]


def image_of(seen: Snapshot, deployment: str, namespace: str) -> str:
    """The image of a Deployment's first container; empty when there is no such Deployment."""
    found = seen.find("Deployment", deployment, namespace)
    return str(found["spec"]["template"]["spec"]["containers"][0]["image"]) if found else ""


def _judged(title: str, found: str, good: bool, allowed: str, allow_old: bool) -> Check:
    name = f"version of {title}"
    if good:
        return Check("PASS", name, found)
    if not parsed(found) and not parsed(tag(found)):
        fix = "Write newTag beside the digest in your overlay's images: gpulab platform pin does."
        return Check("WARN", name, f"{found} does not tell its version", fix)
    return Check("WARN" if allow_old else "FAIL", name, f"{found}, allowed: {allowed}", "Upgrade it.")
