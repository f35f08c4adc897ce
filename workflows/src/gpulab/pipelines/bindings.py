"""The WorkflowEventBindings of one project: `gpulab.events` in Argo's words.

From a payload come only a full commit id and a ref, and only when the selector matched both against a pattern. The
project is a constant of the tenant. The workflow's name is an expression of the event (a replayed delivery is refused
as AlreadyExists).

See https://argo-workflows.readthedocs.io/en/latest/events/.
"""

import json

from hera.workflows.models import (
    Arguments,
    Event,
    ObjectMeta,
    Parameter,
    Submit,
    ValueFrom,
    WorkflowEventBinding,
    WorkflowEventBindingSpec,
    WorkflowTemplateRef,
)

from gpulab.events import COMMIT_ID, ENVIRONMENTS, NOTHING_RELEASED, PRODUCTION, PUSHED_REF, RESERVED, SKIP
from gpulab.pipelines.settings import Settings
from gpulab.pipelines.strict import strict

DELETED = "0" * 40
PUSH = (
    'discriminator == "gpulab" && metadata["x-github-event"] == ["push"]'
    f' && payload.after matches "{COMMIT_ID}" && payload.after != "{DELETED}" && payload.ref matches "{PUSHED_REF}"'
)
"""Gitea's payload has no `deleted`: a deletion is an `after` of zeros."""

MESSAGE = '(payload.head_commit?.message ?? "")'
"""A forge may send no head commit; an expression that fails would lose the event."""

BRANCH = f"{PUSH} && not (payload.ref matches {json.dumps(RESERVED)}) && not ({MESSAGE} matches {json.dumps(SKIP)})"
"""expr-lang reads a text in double quotes as JSON does."""


def build(settings: Settings, project: str) -> list[WorkflowEventBinding]:
    """The bindings that start a project's workflows: push, sync per environment, promotion check."""
    return [
        _push(settings, project),
        *(_sync(settings, project, one) for one in ENVIRONMENTS),
        _promotion(settings, project),
    ]


def _push(settings: Settings, project: str) -> WorkflowEventBinding:
    return _binding(
        settings,
        "push",
        "push",
        selector=BRANCH,
        run='"push-" + payload.after[0:12] + "-" + sprig.substr(0, 6, sprig.sha256sum(payload.ref))',
        title='payload.ref[11:] + " " + payload.after[0:12]',
        values=[_constant("project", project), _from("revision", "payload.after"), _from("ref", "payload.ref")],
    )


def _sync(settings: Settings, project: str, environment: str) -> WorkflowEventBinding:
    return _binding(
        settings,
        "sync",
        f"sync-{environment}",
        selector=f'{PUSH} && payload.after != "{NOTHING_RELEASED}" && payload.ref == "refs/heads/deploy/{environment}"',
        run=f'"sync-{environment}-" + payload.after[0:12]',
        title=f'"{environment} " + payload.after[0:12]',
        values=[
            _constant("project", project),
            _from("revision", "payload.after"),
            _constant("environment", environment),
        ],
    )


def _promotion(settings: Settings, project: str) -> WorkflowEventBinding:
    head = "payload.pull_request.head.sha"
    return _binding(
        settings,
        "verify-promotion",
        "verify-promotion",
        selector=(
            'discriminator == "gpulab" && metadata["x-github-event"] == ["pull_request"]'
            ' && payload.action in ["opened", "reopened", "synchronize", "synchronized"]'
            f' && {head} matches "{COMMIT_ID}" && payload.pull_request.base.ref == "{PRODUCTION}"'
        ),
        run=f'"promotion-" + {head}[0:12]',
        title=f'"promotion " + {head}[0:12]',
        values=[_constant("project", project), _from("revision", head)],
    )


def _binding(
    settings: Settings, pipeline: str, name: str, selector: str, run: str, title: str, values: list[Parameter]
) -> WorkflowEventBinding:
    """One binding; `run` and `title` (what Argo's UI shows) are expressions."""
    template = strict(WorkflowTemplateRef, name=settings.template_name(pipeline), cluster_scope=True)
    return strict(
        WorkflowEventBinding,
        api_version="argoproj.io/v1alpha1",
        kind="WorkflowEventBinding",
        metadata=strict(ObjectMeta, name=f"gpulab-{name}"),
        spec=strict(
            WorkflowEventBindingSpec,
            event=strict(Event, selector=selector),
            submit=strict(
                Submit,
                workflow_template_ref=template,
                metadata=strict(ObjectMeta, name=run, annotations={"workflows.argoproj.io/title": title}),
                arguments=strict(Arguments, parameters=values),
            ),
        ),
    )


def _constant(name: str, value: str) -> Parameter:
    """A text as an expression: Argo's server takes no parameter of a binding that has a `value`."""
    return _from(name, json.dumps(value))


def _from(name: str, expression: str) -> Parameter:
    return strict(Parameter, name=name, value_from=strict(ValueFrom, event=expression))
