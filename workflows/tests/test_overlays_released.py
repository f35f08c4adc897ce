"""What a release may say: a valid release, changed in one place, and the line that this gives."""

import copy
from pathlib import Path
from typing import Any

import pytest
from gpulab.rendering.documents import read_documents
from gpulab.rendering.overlays import render_overlay
from gpulab.rendering.release_rules.images import registry_of
from gpulab.rendering.release_rules.release import Release
from gpulab.rendering.released import RULES, released_problems
from hypothesis import given, settings
from hypothesis import strategies as st

PROJECT = Path(__file__).parent / "resources/projects/valid"
REPOSITORY = "gpulab.local/gpu-lab-1"
DIGEST = f"sha256:{'0' * 64}"
IMAGE = f"{REPOSITORY}@{DIGEST}"
NAMESPACE = "gpu-lab-1-teaching"
VALID = read_documents(render_overlay(PROJECT, "teaching", REPOSITORY, DIGEST))

GONE = object()
POD = ("spec", "template", "spec")
MAIN = (*POD, "containers", 0)


def changed(kind: str, place: tuple[str | int, ...], value: Any) -> list[dict[str, Any]]:
    """The valid release with one value set, or removed, in its document of a kind."""
    documents = copy.deepcopy(VALID)
    here: Any = next(one for one in documents if one["kind"] == kind)
    for key in place[:-1]:
        here = here.setdefault(key, {}) if isinstance(here, dict) else here[key]
    if value is GONE:
        del here[place[-1]]
    else:
        here[place[-1]] = value
    return documents


def added(document: dict[str, Any]) -> list[dict[str, Any]]:
    metadata = {"name": "extra", "namespace": NAMESPACE}
    return [*copy.deepcopy(VALID), {**document, "metadata": {**metadata, **document.get("metadata", {})}}]


def lines(documents: list[dict[str, Any]], **options: Any) -> list[str]:
    return list(map(str, released_problems(documents, image=IMAGE, **{"namespace": NAMESPACE, **options})))


SIDE = {"name": "side", "image": f"gpulab.local/side@{DIGEST}", "command": ["true"]}
KINDS = "Deployment, Service, ConfigMap, ServiceAccount, NetworkPolicy, HorizontalPodAutoscaler, PodDisruptionBudget"

# changed release -> the beginning of the one line that it gives
REFUSED: dict[str, tuple[list[dict[str, Any]], str]] = {
    "a tag": (
        changed("Deployment", (*POD, "initContainers"), [{**SIDE, "image": "gpulab.local/side:1.0"}]),
        'Deployment/gpu-lab-1: found the image "gpulab.local/side:1.0", allowed: name@sha256:… with 64 digits.',
    ),
    "a tag and a digest": (
        changed("Deployment", (*POD, "initContainers"), [{**SIDE, "image": f"gpulab.local/side:1@{DIGEST[:-1]}"}]),
        'Deployment/gpu-lab-1: found the image "gpulab.local/side:1@sha256:000',
    ),
    "no image": (
        changed("Deployment", (*POD, "initContainers"), [{"name": "side"}]),
        "Deployment/gpu-lab-1: found the image null, allowed: name@sha256:",
    ),
    "another registry": (
        changed("Deployment", (*POD, "initContainers"), [{**SIDE, "image": f"nginx@{DIGEST}"}]),
        'Deployment/gpu-lab-1: found "nginx@sha256:0000',
    ),
    "the build of yesterday beside today's": (
        changed("Deployment", (*POD, "initContainers"), [{**SIDE, "image": f"{REPOSITORY}@sha256:{'1' * 64}"}]),
        f'Deployment/gpu-lab-1: found "{REPOSITORY}@sha256:1111',
    ),
    "no command": (
        changed("Deployment", (*MAIN, "command"), GONE),
        'Deployment/gpu-lab-1: container "serve" has no command. Type: command: ["python3", "-m", ',
    ),
    "a Secret": (
        added({"apiVersion": "v1", "kind": "Secret"}),
        f'Secret/extra: found kind "Secret", allowed: {KINDS}. Delete it; ask the platform for what is secret.',
    ),
    "a Job": (added({"apiVersion": "batch/v1", "kind": "Job"}), 'Job/extra: found kind "Job", allowed: '),
    "an Ingress": (added({"apiVersion": "networking.k8s.io/v1", "kind": "Ingress"}), 'Ingress/extra: found kind "Ing'),
    "a Role": (
        added({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding"}),
        "RoleBinding/extra: found",
    ),
    "a ClusterRole": (added({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole"}), "ClusterRole/ext"),
    "a Namespace": (added({"apiVersion": "v1", "kind": "Namespace"}), 'Namespace/extra: found kind "Namespace"'),
    "a bare Pod": (added({"apiVersion": "v1", "kind": "Pod"}), 'Pod/extra: found kind "Pod"'),
    "a custom resource": (added({"apiVersion": "argoproj.io/v1alpha1", "kind": "Workflow"}), "Workflow/extra: found"),
    "a list of anything": (added({"apiVersion": "v1", "kind": "List", "items": []}), 'List/extra: found kind "List"'),
    "no kind": (added({"apiVersion": "v1"}), "a document without kind/extra: found kind null, allowed: "),
    "another API with the same kind": (
        changed("Service", ("apiVersion",), "serving.knative.dev/v1"),
        'Service/gpu-lab-1: found apiVersion "serving.knative.dev/v1", allowed: v1. Type: apiVersion: v1',
    ),
    "a generated name": (
        added({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": None, "generateName": "x-"}}),
        'ConfigMap/: found the name "x-", allowed: ',
    ),
    "a finalizer": (
        changed("Service", ("metadata", "finalizers"), ["a/b"]),
        "Service/gpu-lab-1: has finalizers or ownerReferences",
    ),
    "a document twice": ([*VALID, VALID[0]], "ServiceAccount/gpu-lab-1: is there more than once."),
    "another namespace": (
        changed("ConfigMap", ("metadata", "namespace"), "kube-system"),
        "ConfigMap/settings-",
    ),
    "a cloud identity": (
        changed("ServiceAccount", ("metadata", "annotations"), {"eks.amazonaws.com/role-arn": "arn"}),
        'ServiceAccount/gpu-lab-1: has the annotation "eks.amazonaws.com/role-arn", a cloud identity.',
    ),
    "an account with a token": (
        changed("ServiceAccount", ("automountServiceAccountToken",), True),
        "ServiceAccount/gpu-lab-1: has automountServiceAccountToken: true",
    ),
    "an account with a pull secret": (
        changed("ServiceAccount", ("imagePullSecrets",), [{"name": "x"}]),
        "ServiceAccount/gpu-lab-1: has imagePullSecrets, but a release holds no Secret.",
    ),
    "a pod with a token": (
        changed("Deployment", (*POD, "automountServiceAccountToken"), True),
        "Deployment/gpu-lab-1: has automountServiceAccountToken: true, which mounts a key to the Kubernetes API.",
    ),
    "the node's network": (
        changed("Deployment", (*POD, "hostNetwork"), True),
        "Deployment/gpu-lab-1: has hostNetwork: true, which sees the node's network. Delete hostNetwork.",
    ),
    "the node's processes": (changed("Deployment", (*POD, "hostPID"), True), "Deployment/gpu-lab-1: has hostPID: true"),
    "a runtime class": (
        changed("Deployment", (*POD, "runtimeClassName"), "nvidia"),
        'Deployment/gpu-lab-1: has runtimeClassName: "nvidia", which chooses a runtime that shows GPUs',
    ),
    "a node": (changed("Deployment", (*POD, "nodeName"), "gpu-1"), 'Deployment/gpu-lab-1: has nodeName: "gpu-1"'),
    "root": (
        changed("Deployment", (*POD, "securityContext"), {"runAsUser": 0}),
        "Deployment/gpu-lab-1: has securityContext.runAsUser: 0. Delete runAsUser.",
    ),
    "no profile": (
        changed("Deployment", (*MAIN, "securityContext", "seccompProfile"), {"type": "Unconfined"}),
        'Deployment/gpu-lab-1: container "serve" has seccompProfile: Unconfined.',
    ),
    "privileged": (
        changed("Deployment", (*MAIN, "securityContext", "privileged"), True),
        'Deployment/gpu-lab-1: container "serve" is root on the node (privileged). Type: privileged: false',
    ),
    "escalation": (
        changed("Deployment", (*MAIN, "securityContext", "allowPrivilegeEscalation"), True),
        'Deployment/gpu-lab-1: container "serve" may become root (allowPrivilegeEscalation).',
    ),
    "a capability": (
        changed("Deployment", (*MAIN, "securityContext", "capabilities"), {"add": ["SYS_ADMIN"]}),
        'Deployment/gpu-lab-1: container "serve" adds capabilities ["SYS_ADMIN"].',
    ),
    "a port of the node": (
        changed("Deployment", (*MAIN, "ports", 0, "hostPort"), 8000),
        'Deployment/gpu-lab-1: container "serve" takes a port of the node.',
    ),
    "an init container of root": (
        changed("Deployment", (*POD, "initContainers"), [{**SIDE, "securityContext": {"privileged": True}}]),
        'Deployment/gpu-lab-1: container "side" is root on the node (privileged).',
    ),
    "a path of the node": (
        changed("Deployment", (*POD, "volumes", 0), {"name": "x", "hostPath": {"path": "/"}}),
        'Deployment/gpu-lab-1: volume "x" is a hostPath, allowed: configMap, emptyDir, downwardAPI, projected.',
    ),
    "a volume of another machine": (
        changed("Deployment", (*POD, "volumes", 0), {"name": "x", "nfs": {"server": "s", "path": "/"}}),
        'Deployment/gpu-lab-1: volume "x" is a nfs, allowed: ',
    ),
    "a claim": (
        changed("Deployment", (*POD, "volumes", 0), {"name": "x", "persistentVolumeClaim": {"claimName": "data"}}),
        'Deployment/gpu-lab-1: names the PersistentVolumeClaim "data", which the release does not hold.',
    ),
    "a GPU in requests": (
        changed("Deployment", (*MAIN, "resources", "requests", "nvidia.com/gpu"), 1),
        'Deployment/gpu-lab-1: container "serve" has nvidia.com/gpu in requests, allowed: in limits only.',
    ),
    "a GPU by a variable": (
        changed("Deployment", (*MAIN, "env", 0), {"name": "NVIDIA_VISIBLE_DEVICES", "value": "all"}),
        'Deployment/gpu-lab-1: container "serve" sets NVIDIA_VISIBLE_DEVICES',
    ),
    "a ConfigMap that is not there": (
        changed("Deployment", (*MAIN, "envFrom", 0, "configMapRef", "name"), "settings"),
        'Deployment/gpu-lab-1: names the ConfigMap "settings", which the release does not hold; did you mean "set',
    ),
    "a key that is not there": (
        changed("Deployment", (*MAIN, "env", 0, "valueFrom", "configMapKeyRef", "key"), "LOGLEVEL"),
        'Deployment/gpu-lab-1: names the key "LOGLEVEL" of ConfigMap "settings-',
    ),
    "a ConfigMap volume that is not there": (
        changed("Deployment", (*POD, "volumes", 0), {"name": "x", "configMap": {"name": "other"}}),
        'Deployment/gpu-lab-1: names the ConfigMap "other"',
    ),
    "a projected ConfigMap that is not there": (
        changed(
            "Deployment", (*POD, "volumes", 0), {"name": "x", "projected": {"sources": [{"configMap": {"name": "o"}}]}}
        ),
        'Deployment/gpu-lab-1: names the ConfigMap "o"',
    ),
    "a variable from a Secret": (
        changed(
            "Deployment", (*MAIN, "env", 0), {"name": "A", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}}
        ),
        "Deployment/gpu-lab-1: uses a Secret (env), but a release holds none.",
    ),
    "all variables from a Secret": (
        changed("Deployment", (*MAIN, "envFrom", 0), {"secretRef": {"name": "s", "optional": True}}),
        "Deployment/gpu-lab-1: uses a Secret (envFrom), but a release holds none.",
    ),
    "a mounted Secret": (
        changed("Deployment", (*POD, "volumes", 0), {"name": "x", "secret": {"secretName": "s"}}),
        'Deployment/gpu-lab-1: uses a Secret (volume "x"), but a release holds none.',
    ),
    "a projected token": (
        changed(
            "Deployment", (*POD, "volumes", 0), {"name": "x", "projected": {"sources": [{"serviceAccountToken": {}}]}}
        ),
        'Deployment/gpu-lab-1: uses a Secret (volume "x"), but a release holds none.',
    ),
    "a pull secret": (
        changed("Deployment", (*POD, "imagePullSecrets"), [{"name": "s"}]),
        "Deployment/gpu-lab-1: uses a Secret (imagePullSecrets), but a release holds none.",
    ),
    "an account that is not there": (
        changed("Deployment", (*POD, "serviceAccountName"), "gpu-lab"),
        'Deployment/gpu-lab-1: names the ServiceAccount "gpu-lab", which the release does not hold; '
        'did you mean "gpu-lab-1"? Delete serviceAccountName.',
    ),
    "a Service for nobody": (
        changed("Service", ("spec", "selector"), {"app": "other"}),
        'Service/gpu-lab-1: its selector {"app": "other"} matches no pod of the release.',
    ),
    "a Service without a selector": (
        changed("Service", ("spec", "selector"), GONE),
        "Service/gpu-lab-1: its selector null matches no pod of the release.",
    ),
    "a port by a wrong name": (
        changed("Service", ("spec", "ports", 0, "targetPort"), "web"),
        'Service/gpu-lab-1: targetPort "web" is no port of its pods. Type: the name of a port of the container.',
    ),
    "an open port": (
        changed("Service", ("spec", "type"), "NodePort"),
        'Service/gpu-lab-1: found type "NodePort", allowed: ClusterIP.',
    ),
    "an address of others": (
        changed("Service", ("spec", "externalIPs"), ["1.2.3.4"]),
        "Service/gpu-lab-1: has externalIPs, which takes traffic of others.",
    ),
    "a budget for nobody": (
        added(
            {
                "apiVersion": "policy/v1",
                "kind": "PodDisruptionBudget",
                "spec": {"selector": {"matchLabels": {"a": "b"}}},
            }
        ),
        "PodDisruptionBudget/extra: its selector ",
    ),
    "scaling nothing": (
        added(
            {
                "apiVersion": "autoscaling/v2",
                "kind": "HorizontalPodAutoscaler",
                "spec": {"scaleTargetRef": {"kind": "x"}},
            }
        ),
        "HorizontalPodAutoscaler/extra: scales x/None, which the release does not hold. Type: name: gpu-lab-1",
    ),
    "a way out": (
        added({"apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy", "spec": {"egress": [{}]}}),
        "NetworkPolicy/extra: lets traffic out of the namespace, which only the platform decides.",
    ),
    "a way to other namespaces": (
        added(
            {
                "apiVersion": "networking.k8s.io/v1",
                "kind": "NetworkPolicy",
                "spec": {"egress": [{"to": [{"podSelector": {}, "namespaceSelector": {}}]}]},
            }
        ),
        "NetworkPolicy/extra: lets traffic out of the namespace",
    ),
}

KEPT: dict[str, list[dict[str, Any]]] = {
    "as rendered": VALID,
    "the default account": changed("Deployment", (*POD, "serviceAccountName"), "default"),
    "a GPU in limits": changed("Deployment", (*MAIN, "resources", "limits", "nvidia.com/gpu"), 1),
    "an optional ConfigMap": changed(
        "Deployment", (*MAIN, "envFrom", 0, "configMapRef"), {"name": "x", "optional": True}
    ),
    "a sidecar by digest": changed("Deployment", (*POD, "initContainers"), [SIDE]),
    "a port by number": changed("Service", ("spec", "ports", 0, "targetPort"), 8000),
    "no namespace": changed("Service", ("metadata", "namespace"), GONE),
    "a budget": added(
        {
            "apiVersion": "policy/v1",
            "kind": "PodDisruptionBudget",
            "spec": {"selector": {"matchLabels": {"app": "gpu-lab-1"}}},
        }
    ),
    "scaling": added(
        {
            "apiVersion": "autoscaling/v2",
            "kind": "HorizontalPodAutoscaler",
            "spec": {"scaleTargetRef": {"kind": "Deployment", "name": "gpu-lab-1"}},
        }
    ),
    "DNS and neighbours": added(
        {
            "apiVersion": "networking.k8s.io/v1",
            "kind": "NetworkPolicy",
            "spec": {"egress": [{"ports": [{"port": 53, "protocol": "UDP"}]}, {"to": [{"podSelector": {}}]}]},
        }
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_release_with_one_fault_is_refused_in_one_line(case: str) -> None:
    documents, line = REFUSED[case]
    found = lines(documents)
    assert found[0].startswith(f"manifests.yaml: {line}"), found
    assert len(found) == 1, found


@pytest.mark.parametrize("case", KEPT)
def test_a_release_without_fault_is_kept(case: str) -> None:
    assert lines(KEPT[case]) == []


def test_every_rule_refuses_something() -> None:
    """A rule that never speaks is none: taken away one by one, each leaves some fault unseen."""
    selector = changed("Deployment", ("spec", "selector", "matchLabels"), {"app": "other"})
    everything = [*(documents for documents, _ in REFUSED.values()), changed("Deployment", (*MAIN, "image"), "x")]
    for rule in RULES:
        speaks = any(
            list(rule(Release(tuple(documents), IMAGE, NAMESPACE, frozenset({"gpulab.local"}), "m")))
            for documents in [*everything, selector]
        )
        assert speaks, rule.__name__


def test_a_release_of_another_build_is_refused() -> None:
    other = f"{REPOSITORY}@sha256:{'1' * 64}"
    first, second = map(str, released_problems(VALID, image=other, namespace=NAMESPACE))
    assert first == (
        f"manifests.yaml: no container runs {other}. Type: image: {REPOSITORY} in the Deployment of gitops/base."
    )
    assert "which is another build than the release's" in second


def test_no_document_at_all_is_no_release() -> None:
    assert [line.split(":")[1].strip() for line in lines([])] == [f"no container runs {REPOSITORY}@sha256"]


def test_a_deployment_that_does_not_select_its_own_pods_is_refused() -> None:
    found = lines(changed("Deployment", ("spec", "selector", "matchLabels"), {"app": "other"}))
    assert found[0].startswith("manifests.yaml: Deployment/gpu-lab-1: its selector")


def test_without_a_given_namespace_all_documents_have_to_agree() -> None:
    assert lines(VALID, namespace=None) == []
    bare = copy.deepcopy(VALID)
    for document in bare:
        del document["metadata"]["namespace"]
    assert lines(bare, namespace=None) == []
    assert lines(bare, namespace=NAMESPACE) == []
    mixed = changed("Service", ("metadata", "namespace"), "elsewhere")
    assert "allowed: " in lines(mixed, namespace=None)[0]
    assert len(lines(changed("Service", ("metadata", "namespace"), GONE), namespace=None)) == 1


def test_other_registries_can_be_trusted() -> None:
    documents = changed("Deployment", (*POD, "initContainers"), [{**SIDE, "image": f"nginx@{DIGEST}"}])
    assert lines(documents, registries=["docker.io"]) == []


@pytest.mark.parametrize(
    ("image", "registry"),
    [
        ("nginx", "docker.io"),
        ("library/nginx:1", "docker.io"),
        ("gpulab.local/a/b", "gpulab.local"),
        ("localhost/a", "localhost"),
        ("localhost:5000/a", "localhost:5000"),
        ("registry:5000/a@sha256:0", "registry:5000"),
    ],
)
def test_the_registry_of_an_image_is_read_as_docker_reads_it(image: str, registry: str) -> None:
    assert registry_of(image) == registry


WORDS = st.sampled_from(
    ["metadata", "spec", "template", "containers", "name", "selector", "image", "env", "volumes", "x"]
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-1, 70000) | WORDS | st.sampled_from([IMAGE, "Deployment", "Service", ""]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=4),
    max_leaves=12,
)


def places(value: Any, here: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [here, *(place for key, item in items for place in places(item, (*here, key)))]


@st.composite
def edited_releases(draw: st.DrawFn) -> list[Any]:
    documents = copy.deepcopy(VALID)
    for place in draw(st.lists(st.sampled_from([place for place in places(VALID) if place]), max_size=4)):
        try:
            here: Any = documents
            for key in place[:-1]:
                here = here[key]
            here[place[-1]] = draw(JSON)
        except (KeyError, IndexError, TypeError):
            continue
    return documents


@given(edited_releases() | st.lists(JSON, max_size=3))
@settings(max_examples=400)
def test_documents_of_any_shape_give_lines_and_never_a_traceback(documents: list[Any]) -> None:
    for line in map(str, released_problems(documents, image=IMAGE, namespace=None)):
        assert line.startswith("manifests.yaml: ")
        assert "\n" not in line
