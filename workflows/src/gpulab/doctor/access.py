"""Who may do what: the rights that a push needs, and those that nobody may have."""

from collections.abc import Iterable, Iterator

from gpulab.doctor.check import Check
from gpulab.doctor.snapshot import Question, Snapshot
from gpulab.tenants.rbac import EXECUTOR, PIPELINE, STUDENT, WEBHOOK

ARGO = "argoproj.io"
NEEDED: tuple[tuple[str, str, str, str, str], ...] = (
    (PIPELINE, "ci", "create", ARGO, "workflowtaskresults"),
    (PIPELINE, "ci", "patch", ARGO, "workflowtaskresults"),
    (PIPELINE, "build", "create", "", "pods"),
    (PIPELINE, "build", "get", "", "pods"),
    (PIPELINE, "build", "delete", "", "pods"),
    (PIPELINE, "teaching", "patch", "apps", "deployments"),
    (PIPELINE, "teaching", "patch", "", "services"),
    (PIPELINE, "production", "patch", "apps", "deployments"),
    (PIPELINE, "production", "patch", "", "services"),
    (WEBHOOK, "ci", "list", ARGO, "workfloweventbindings"),
    (WEBHOOK, "ci", "create", ARGO, "workflows"),
    (WEBHOOK, "", "get", ARGO, "clusterworkflowtemplates"),
    (STUDENT, "ci", "get", ARGO, "workflows"),
    (STUDENT, "ci", "get", "", "pods/log"),
    (EXECUTOR, "ci", "create", ARGO, "workflowtaskresults"),
)
"""Account of `<slug>-ci`, role of the namespace ("" = the cluster), verb, API group, resource."""

FORBIDDEN: tuple[tuple[str, str, str, str, str], ...] = (
    (PIPELINE, "teaching", "get", "", "secrets"),
    (PIPELINE, "production", "get", "", "secrets"),
    (PIPELINE, "ci", "create", "", "pods"),
    (PIPELINE, "", "list", "", "secrets"),
    (STUDENT, "ci", "create", ARGO, "workflows"),
    (STUDENT, "ci", "list", "", "secrets"),
    (STUDENT, "ci", "create", "", "pods"),
    (WEBHOOK, "ci", "get", "", "secrets"),
)
"""A right among these lets a student's manifest, or a student, read or run what is not theirs."""

CONNECT = "Type: gpulab project connect (again)"


def questions(projects: Iterable[str]) -> Iterator[tuple[Question, bool]]:
    """Every question about every tenant, with the right answer."""
    for project in projects:
        yield Question("argo-server", "argo", "get", "", "secrets", f"{project}-ci"), True
        for rows, right in ((NEEDED, True), (FORBIDDEN, False)):
            for account, role, verb, group, resource in rows:
                of = f"{project}-{role}" if role else ""
                kind, _, part = resource.partition("/")
                yield Question(account, f"{project}-ci", verb, group, kind, of, part), right


def checks(seen: Snapshot) -> Iterator[Check]:
    """One line per tenant when all is right, else one per wrong answer."""
    for project in seen.projects():
        asked = [(one, right) for one, right in questions([project]) if one in seen.allowed]
        wrong = [(one, right) for one, right in asked if seen.allowed[one] != right]
        for one, right in wrong:
            yield Check("FAIL", f"tenant {project}: rights", f"{one} is {'refused' if right else 'allowed'}", CONNECT)
        if asked and not wrong:
            yield Check("PASS", f"tenant {project}: rights", f"{len(asked)} as they should be")
