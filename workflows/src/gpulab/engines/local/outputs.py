"""What a pod leaves: output parameters and artifacts, taken from its container `main` as Argo's wait container does."""

from pathlib import Path

from gpulab.engines.local.artifacts import ArtifactError, ArtifactStore
from gpulab.engines.local.paths import PathMap
from gpulab.engines.local.scope import text
from gpulab.engines.protocol import Json

PARAMETER_LIMIT = 256 * 1024
"""Bytes of one output parameter; Argo keeps all of a node's outputs in one object of at most 1 MB."""


def collect(template: Json, paths: PathMap, store: ArtifactStore, pod: Path) -> tuple[Json, str]:
    """The outputs that are there, and what is wrong ("" when nothing is)."""
    outputs: Json = {}
    problems = []
    declared = template.get("outputs", {})
    try:
        for parameter in declared.get("parameters", []):
            value = _parameter(parameter, paths, pod)
            outputs.setdefault("parameters", []).append({"name": parameter["name"], "value": value})
    except (OSError, ValueError) as error:
        problems.append(str(error))
    for artifact in declared.get("artifacts", []):
        try:
            if store.save(paths.real(artifact["path"]), artifact["s3"]["key"], pod):
                kept = {"name": artifact["name"], "path": artifact["path"], "s3": artifact["s3"]}
                outputs.setdefault("artifacts", []).append(kept)
            elif not artifact.get("optional"):
                problems.append(f"{artifact['path']} no such file or directory")
        except (OSError, ArtifactError) as error:
            problems.append(f"artifact {artifact['name']} failed to save: {error}")
    return outputs, "; ".join(problems)


def _parameter(parameter: Json, paths: PathMap, pod: Path) -> str:
    source = parameter["valueFrom"]
    file = paths.real(source["path"])
    if not (file.is_file() and file.resolve().is_relative_to(pod.resolve())):
        if "default" in source:
            return text(source["default"]).removesuffix("\n")
        raise ValueError(f"open {source['path']}: no such file or directory")
    if file.stat().st_size > PARAMETER_LIMIT:
        raise ValueError(f"{source['path']}: longer than {PARAMETER_LIMIT} bytes; use an artifact")
    return file.read_bytes().decode("utf-8", errors="replace").removesuffix("\n")
