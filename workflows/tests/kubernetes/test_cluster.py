"""Applied, pruned, waited for: against an API server in memory."""

import itertools
from collections.abc import Callable
from typing import Any

import httpx
import pytest
from gpulab.clusters.kubernetes import KubernetesCluster
from gpulab.clusters.kubernetes.inventory import Identity, dump, load
from gpulab.clusters.kubernetes.records import Records
from gpulab.clusters.kubernetes.services import address
from gpulab.clusters.protocol import Golden, RefusedError
from gpulab.errors import PlatformError

Json = dict[str, Any]
LABELS = {"app.kubernetes.io/name": "lab"}
GOLDEN = Golden({"x": [1.0]}, [2.0], 1e-3)
INVENTORY = "/api/v1/namespaces/lab-ci/configmaps/gpulab-inventory-teaching"
DEPLOYMENTS = "/apis/apps/v1/namespaces/lab-teaching/deployments"
PODS = "/api/v1/namespaces/lab-teaching/pods"


def config_map(name: str, value: str = "1") -> Json:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"x": value}}


def service(name: str = "lab", port: int = 80, **selector: str) -> Json:
    spec = {"selector": selector or LABELS, "ports": [{"port": port}]}
    return {"apiVersion": "v1", "kind": "Service", "metadata": {"name": name}, "spec": spec}


def deployment() -> Json:
    template = {"metadata": {"labels": LABELS}, "spec": {"containers": [{"name": "serve"}]}}
    spec = {"replicas": 1, "selector": {"matchLabels": LABELS}, "template": template}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "lab"}, "spec": spec}


@pytest.fixture
def cluster(server: Any) -> KubernetesCluster:
    api, ticks = server.api(), itertools.count(step=60.0)
    records = Records(api, "lab-ci", "teaching")
    return KubernetesCluster(api, "lab-teaching", records, lambda: next(ticks), server.pauses.append)


def test_what_is_no_longer_wanted_is_removed(cluster: KubernetesCluster, server: Any) -> None:
    cluster.apply([deployment(), service(), config_map("old")])
    changes = cluster.apply([deployment(), service(), config_map("new")])
    assert changes == ["ConfigMap/new applied", "Service/lab applied", "Deployment/lab applied", "ConfigMap/old pruned"]
    assert [path.rsplit("/", 1)[-1] for path in server.objects if "lab-teaching" in path] == ["lab", "lab", "new"]


def test_taking_a_release_out_removes_all_of_it(cluster: KubernetesCluster, server: Any) -> None:
    cluster.apply([deployment(), service(), config_map("a")])
    assert cluster.apply([]) == ["Deployment/lab pruned", "Service/lab pruned", "ConfigMap/a pruned"]
    assert not [path for path in server.objects if "lab-teaching" in path]


def test_a_death_between_applying_and_pruning_loses_nothing(cluster: KubernetesCluster, server: Any) -> None:
    """At every request of the second release, the API server goes away for good; the third one puts all right."""
    cluster.apply([config_map("a"), config_map("b")])
    start, requests = dict(server.objects), len(server.requests)
    cluster.apply([config_map("b"), config_map("c")])
    steps = len(server.requests) - requests
    for step in range(steps):
        server.objects, died = dict(start), iter([False] * step)

        def die(verb: str, path: str, died: Any = died) -> None:
            if next(died, True):
                raise ConnectionAbortedError

        server.after = die
        with pytest.raises(ConnectionAbortedError):
            cluster.apply([config_map("b"), config_map("c")])
        server.after = lambda verb, path: None
        cluster.apply([config_map("d")])
        left = [path.rsplit("/", 1)[-1] for path in server.objects if "lab-teaching" in path]
        assert left == ["d"], f"after step {step}"
    assert steps > 5


def test_a_foreign_namespace_or_kind_is_refused_before_anything_is_changed(
    cluster: KubernetesCluster, server: Any
) -> None:
    elsewhere = config_map("a") | {"metadata": {"name": "a", "namespace": "kube-system"}}
    role = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": {"name": "a"}}
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "a"}}
    nameless = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {}}
    for bad in (elsewhere, role, secret, nameless):
        with pytest.raises(RefusedError):
            cluster.apply([config_map("b"), bad])
    assert server.changes() == []


def test_an_immutable_field_is_the_releases_fault(
    cluster: KubernetesCluster, server: Any, refusal: Callable[..., httpx.Response]
) -> None:
    def refuse(verb: str, path: str) -> None:
        if path == INVENTORY and verb == "PATCH":
            server.answers = [refusal(422, "Invalid", "spec.selector: field is immutable")]

    server.after = refuse
    with pytest.raises(RefusedError, match=r"Deployment/lab: the cluster refuses it: spec\.selector: field is immut"):
        cluster.apply([deployment()])


def test_a_right_that_is_missing_is_the_platforms_trouble(
    cluster: KubernetesCluster, server: Any, refusal: Callable[..., httpx.Response]
) -> None:
    server.answers = [refusal(403, "Forbidden", "gpulab-pipeline cannot get configmaps")]
    with pytest.raises(PlatformError, match="cannot get configmaps") as caught:
        cluster.apply([deployment()])
    assert not isinstance(caught.value, RefusedError)


def test_an_inventory_names_only_what_a_release_may_hold() -> None:
    """Whoever writes into it cannot make sync delete a Secret."""
    assert load('[["Secret", "a"], ["ConfigMap", "b"]]') == [Identity("ConfigMap", "b")]
    assert load(dump([Identity("Service", "b"), Identity("ConfigMap", "a")]))[0] == Identity("ConfigMap", "a")


@pytest.mark.parametrize("text", ["", "{", "{}", '["a"]', '[["ConfigMap", 1]]', '[["ConfigMap"]]'])
def test_a_damaged_inventory_is_named(cluster: KubernetesCluster, server: Any, text: str) -> None:
    server.objects[INVENTORY] = {"data": {"inventory": text or "nothing"}}
    with pytest.raises(PlatformError, match="ConfigMap lab-ci/gpulab-inventory-teaching, key inventory"):
        cluster.apply([config_map("a")])


def test_the_release_that_works_is_remembered(cluster: KubernetesCluster) -> None:
    assert cluster.current() is None
    cluster.keep({"source": "one"})
    assert cluster.current() == {"source": "one"}


WORDS = "Traceback\n\nModuleNotFoundError: No module named 'lab'\n"


@pytest.mark.parametrize(
    "logs",
    [
        {"log?previous": WORDS},
        {"log?previous": "unable to retrieve container logs for containerd://0a1b", "log": WORDS},
    ],
    ids=["of the one before", "of this one, when that is gone"],
)
def test_a_pod_that_crashes_tells_its_last_words(cluster: KubernetesCluster, server: Any, logs: dict[str, str]) -> None:
    release = [deployment(), service()]
    cluster.apply(release)
    crashed = {
        "name": "serve",
        "restartCount": 3,
        "state": {"waiting": {"reason": "CrashLoopBackOff"}},
        "lastState": {"terminated": {"exitCode": 1, "reason": "Error"}},
    }
    metadata = {"name": "lab-1", "labels": LABELS, "creationTimestamp": "1"}
    server.objects[f"{PODS}/lab-1"] = {"metadata": metadata, "status": {"containerStatuses": [crashed]}}
    server.objects[f"{DEPLOYMENTS}/lab"]["status"] = {"observedGeneration": 1}
    server.logs |= {f"{PODS}/lab-1/{name}": text for name, text in logs.items()}
    smoke = cluster.smoke(release, GOLDEN)
    assert smoke.message == (
        "container serve ended 3 times, last with exit code 1 (Error): ModuleNotFoundError: No module named 'lab'"
    )
    assert not smoke.trouble


def test_an_image_that_cannot_be_pulled_is_the_platforms_trouble(cluster: KubernetesCluster, server: Any) -> None:
    release = [deployment(), service()]
    cluster.apply(release)
    waiting = {"name": "serve", "state": {"waiting": {"reason": "ErrImagePull", "message": "dial tcp: refused"}}}
    metadata = {"name": "lab-1", "labels": LABELS, "creationTimestamp": "1"}
    server.objects[f"{PODS}/lab-1"] = {"metadata": metadata, "status": {"containerStatuses": [waiting]}}
    smoke = cluster.smoke(release, GOLDEN)
    assert (smoke.passed, smoke.trouble) == (False, True)
    assert "the image cannot be pulled (ErrImagePull: dial tcp: refused)" in smoke.message


def test_a_deployment_that_vanishes_is_told(cluster: KubernetesCluster) -> None:
    smoke = cluster.smoke([deployment(), service()], GOLDEN)
    assert (smoke.trouble, smoke.message) == (True, "Deployment lab was deleted by somebody else")


def test_the_service_of_the_deployment_is_asked() -> None:
    other = service("other", 81, **{"app.kubernetes.io/name": "other"})
    assert address([other, service(port=8080)], deployment(), "lab-teaching") == "http://lab.lab-teaching.svc:8080"
    assert address([other], deployment(), "lab-teaching") is None
