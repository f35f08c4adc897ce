"""Read the files of a kustomize build before kustomize does: only what lies in the project, only fields that we judge.

Kustomize itself would fetch a URL, run git for a mistyped file name, and take the second of two equal keys.
"""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gpulab.contract.words import did_you_mean, nearest, one_of, shown
from gpulab.rendering.documents import DocumentError, read_documents
from gpulab.rendering.kustomizations import FIELDS, INSTEAD, KINDS, Kustomization, Reading

FILE_NAMES = ("kustomization.yaml", "kustomization.yml", "Kustomization")

_REMOTE = re.compile(r"://|^[^/]+@[^/]+:|\?ref=|^(?:www\.)?(?:github|gitlab|bitbucket)\.(?:com|org)[/:]")


def read_build(project: Path, folder: Path) -> Reading:
    """Read a kustomization and all that it builds on; problems are collected, not raised."""
    reading = Reading(project.resolve())
    reading.build = _read(reading, folder.resolve(), ())
    return reading


def _read(reading: Reading, folder: Path, above: tuple[Path, ...]) -> Kustomization | None:
    shown_folder = _inside(reading.project, folder)
    file = next((folder / name for name in FILE_NAMES if (folder / name).is_file()), None)
    if file is None:
        reading.refuse(shown_folder, "", f"has no {FILE_NAMES[0]}", f"Make the file {shown_folder}/{FILE_NAMES[0]}.")
        return None
    path = _inside(reading.project, file)
    if folder in above:
        reading.refuse(path, "resources", "builds on itself", "Delete the entry that leads back here.")
        return None
    documents = _documents(reading, file, path)
    if not documents:
        reading.refuse(path, "", "is empty", "Type: resources: [../../base]") if documents is not None else None
        return None
    content = documents[0]
    _check_fields(reading, path, content)
    bases, files = _resources(reading, folder, path, content, (*above, folder))
    components = _folders(reading, folder, path, content, "components", (*above, folder))
    patches = tuple(_patch(reading, folder, path, entry) for entry in _items(content, "patches"))
    return Kustomization(path, content, tuple(files), tuple(bases), tuple(components), patches)


def _inside(project: Path, path: Path) -> str:
    return path.relative_to(project).as_posix() if path.is_relative_to(project) else path.name


def _items(content: Mapping[str, Any], key: str) -> list[Any]:
    value = content.get(key)
    return value if isinstance(value, list) else []


def _check_fields(reading: Reading, path: str, content: Mapping[str, Any]) -> None:
    for key, value in content.items():
        if key in INSTEAD:
            reading.refuse(path, key, "is not used here", f"Type: {INSTEAD[key]}.")
        elif key not in FIELDS:
            hint = f"Type: {near}." if (near := nearest(key, FIELDS)) else "Delete it."
            reading.refuse(path, key, f"unknown field, allowed: {one_of(FIELDS)}{did_you_mean(key, FIELDS)}", hint)
        elif not isinstance(value, FIELDS[key]):
            message = f"found {shown(value)}, allowed: {KINDS[FIELDS[key]]}"
            reading.refuse(path, key, message, f"Correct the value of {key}.")


def _documents(reading: Reading, file: Path, path: str) -> list[dict[str, Any]] | None:
    try:
        return read_documents(file.read_text(encoding="utf-8"))
    except DocumentError as error:
        reading.refuse(path, f"line {error.line}", error.reason, "Correct the line, then: gpulab check")
    except (OSError, UnicodeDecodeError):
        reading.refuse(path, "", "cannot be read as UTF-8 text", "Save the file as UTF-8.")
    return None


def _resources(
    reading: Reading, folder: Path, path: str, content: Mapping[str, Any], above: tuple[Path, ...]
) -> tuple[list[Kustomization], list[dict[str, Any]]]:
    bases: list[Kustomization] = []
    documents: list[dict[str, Any]] = []
    for entry in _items(content, "resources"):
        target = _local(reading, folder, path, "resources", entry)
        if target is None:
            continue
        if target.is_dir():
            found = _read(reading, target, above)
            bases += [found] if found else []
        else:
            documents += _documents(reading, target, _inside(reading.project, target)) or []
    return bases, documents


def _folders(
    reading: Reading, folder: Path, path: str, content: Mapping[str, Any], key: str, above: tuple[Path, ...]
) -> list[Kustomization]:
    targets = (_local(reading, folder, path, key, entry) for entry in _items(content, key))
    found = (_read(reading, target, above) for target in targets if target is not None)
    return [one for one in found if one is not None]


def _local(reading: Reading, folder: Path, path: str, key: str, entry: Any) -> Path | None:
    """The file or folder that an entry names, if it is one of the project's."""
    if not isinstance(entry, str) or _REMOTE.search(entry):
        message = f"found {shown(entry)}, allowed: a file or folder of this project"
        reading.refuse(path, key, message, "Copy what is needed into gitops/, and name the copy.")
        return None
    target = (folder / entry).resolve()
    if not target.is_relative_to(reading.project):
        reading.refuse(
            path, key, f"found {shown(entry)}, which lies outside the project", "Move the file into gitops/."
        )
        return None
    if not target.exists():
        names = [other.name for other in folder.iterdir()] if folder.is_dir() else []
        message = f"found {shown(entry)}, but there is no such file or folder{did_you_mean(entry, names)}"
        near = nearest(entry, names)
        reading.refuse(path, key, message, f"Type: {near}" if near else "Delete the entry, or make the file.")
        return None
    return target


def _patch(reading: Reading, folder: Path, path: str, entry: Any) -> tuple[Any, ...]:
    """What a patch says: documents of a strategic merge, or operations of JSON 6902."""
    if not isinstance(entry, dict):
        reading.refuse(
            path, "patches", f"found {shown(entry)}, allowed: a mapping with path or patch", "Type: - path: …"
        )
        return ()
    text, source = entry.get("patch"), path
    if "path" in entry:
        target = _local(reading, folder, path, "patches", entry["path"])
        source = _inside(reading.project, target) if target else path
        text = target.read_text(encoding="utf-8", errors="replace") if target and target.is_file() else None
    return _parsed_patch(reading, source, str(text)) if text is not None else ()


def _parsed_patch(reading: Reading, path: str, text: str) -> tuple[Any, ...]:
    operations = text.lstrip().startswith(("[", "-")) and not text.lstrip().startswith("---")
    indented = "\n".join(f"  {line}" for line in text.splitlines())
    try:
        found = read_documents(f"operations:\n{indented}" if operations else text)
    except DocumentError as error:
        line = error.line - 1 if operations else error.line
        reading.refuse(path, f"patches, line {line}", error.reason, "Correct the patch, then: gpulab check")
        return ()
    return tuple(found[0]["operations"]) if operations and found else tuple(found)
