"""What the parts outside the control plane may read."""

from typing import Any

READ = ["get", "list", "watch"]
RULES: dict[str, list[dict[str, Any]]] = {
    "coredns": [
        {"apiGroups": [""], "resources": ["endpoints", "services", "pods", "namespaces"], "verbs": READ},
        {"apiGroups": ["discovery.k8s.io"], "resources": ["endpointslices"], "verbs": READ},
    ],
    "kube-router": [
        {"apiGroups": [""], "resources": ["endpoints", "services", "pods", "namespaces", "nodes"], "verbs": READ},
        {"apiGroups": ["networking.k8s.io"], "resources": ["networkpolicies"], "verbs": READ},
        {"apiGroups": ["discovery.k8s.io"], "resources": ["endpointslices"], "verbs": READ},
    ],
}


def objects() -> list[dict[str, Any]]:
    """A ClusterRole and its binding for each."""
    return [document for user, rules in RULES.items() for document in _pair(user, rules)]


def _pair(user: str, rules: list[dict[str, Any]]) -> list[dict[str, Any]]:
    group = "rbac.authorization.k8s.io"
    name = {"name": f"gpulab:{user}"}
    role = {"apiVersion": f"{group}/v1", "kind": "ClusterRole", "metadata": name, "rules": rules}
    binding = {
        "apiVersion": f"{group}/v1",
        "kind": "ClusterRoleBinding",
        "metadata": name,
        "roleRef": {"apiGroup": group, "kind": "ClusterRole", **name},
        "subjects": [{"apiGroup": group, "kind": "User", **name}],
    }
    return [role, binding]
