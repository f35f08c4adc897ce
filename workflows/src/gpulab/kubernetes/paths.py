"""Where an object lives in the Kubernetes API.

See https://kubernetes.io/docs/reference/using-api/api-concepts/#resource-uris.
"""

PLURALS = {"NetworkPolicy": "networkpolicies"}
"""Kinds whose plural is not the kind in lower case and an `s`."""


def path_of(api_version: str, kind: str, namespace: str, name: str = "") -> str:
    """The path of a namespaced object; of the whole collection when `name` is empty."""
    root = "/api" if "/" not in api_version else "/apis"
    plural = PLURALS.get(kind, f"{kind.lower()}s")
    return "/".join(part for part in (f"{root}/{api_version}/namespaces/{namespace}", plural, name) if part)
