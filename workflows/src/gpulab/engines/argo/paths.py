"""The addresses of Argo Server's REST API, and of its pages.

See https://argo-workflows.readthedocs.io/en/latest/rest-api/ and `server/artifacts/artifact_server.go`.
"""

from urllib.parse import quote


def workflows(namespace: str) -> str:
    """All workflows of a namespace: GET lists, POST creates."""
    return f"/api/v1/workflows/{quote(namespace, safe='')}"


def workflow(namespace: str, name: str) -> str:
    """One workflow."""
    return f"{workflows(namespace)}/{quote(name, safe='')}"


def terminate(namespace: str, name: str) -> str:
    """PUT stops a workflow; its exit handler is not run."""
    return f"{workflow(namespace, name)}/terminate"


def events(namespace: str) -> str:
    """The stream of changes (server-sent events)."""
    return f"/api/v1/workflow-events/{quote(namespace, safe='')}"


def only(name: str) -> dict[str, str]:
    """The query that narrows the stream to one workflow."""
    return {"listOptions.fieldSelector": f"metadata.name={name}"}


def artifact(namespace: str, name: str, node: str, output: str) -> str:
    """The bytes of an output artifact."""
    return "/artifacts/" + "/".join(quote(part, safe="") for part in (namespace, name, node, output))


def page(url: str, namespace: str, name: str) -> str:
    """Where a person looks at a run."""
    return f"{url}/workflows/{quote(namespace, safe='')}/{quote(name, safe='')}"
