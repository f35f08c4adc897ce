"""Every pipeline by its short name."""

from collections.abc import Callable

from hera.workflows import WorkflowTemplate

from gpulab.pipelines import push, reconcile, sync, verify_promotion
from gpulab.pipelines.settings import Settings

PIPELINES: dict[str, Callable[[Settings], WorkflowTemplate]] = {
    "push": push.build,
    "reconcile": reconcile.build,
    "sync": sync.build,
    "verify-promotion": verify_promotion.build,
}
"""Every pipeline by its short name; the rendered name carries the version (`push-v0-1-0`)."""
