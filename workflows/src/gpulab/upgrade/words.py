"""An upgrade in words."""

from collections.abc import Iterator

from gpulab.upgrade.plan import Upgrade, path_like, template_of


def told(upgrade: Upgrade) -> Iterator[str]:
    """One line per thing; what is to be typed for what is left to a person."""
    for name in upgrade.new:
        yield f"new pipeline {name}, beside those that are there"
    for name, runs in upgrade.edited.items():
        yield f"pipeline {name} is changed in place" + (f", in use by {_listed(runs)}" if runs else ", no run uses it")
    for one in upgrade.moved:
        yield f"{path_like(one)} will start {template_of(one)}"
    for name, users in upgrade.kept.items():
        yield f"pipeline {name} stays: in use by {_listed(users)}"
    if upgrade.unused:
        yield f"unused: {', '.join(upgrade.unused)}"
        yield f"  to remove: kubectl delete clusterworkflowtemplate {' '.join(upgrade.unused)}"


def refusal(upgrade: Upgrade) -> str:
    """Why it may not be applied now; empty when it may."""
    ended = {name: runs for name, runs in upgrade.edited.items() if runs}
    if not ended:
        return ""
    names = "; ".join(f"{name}: {_listed(runs)}" for name, runs in ended.items())
    return f"runs in flight would end in Error ({names}). Wait for them, or stop them (argo stop), then type it again."


def _listed(names: object) -> str:
    listed = [str(one) for one in names] if isinstance(names, list | tuple) else [str(names)]
    return ", ".join(listed[:3]) + (f" and {len(listed) - 3} more" if len(listed) > 3 else "")
