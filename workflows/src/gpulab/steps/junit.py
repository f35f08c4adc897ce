"""Read the JUnit file that the project's own tests left: counts and the first failures."""

import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

SIZE_LIMIT = 8 * 2**20
"""Bytes; a larger report is not read: it is written by code under test."""

FAILURES_SHOWN = 20


def read_junit(path: Path) -> dict[str, Any] | None:
    """`{"total", "failed", "skipped", "failures": [{"name", "message"}]}`; None when there is no usable report."""
    if not path.is_file() or path.stat().st_size > SIZE_LIMIT:
        return None
    try:
        # expat (2.4.1 and later) limits entity expansion, and ElementTree loads nothing external
        root = ElementTree.fromstring(path.read_bytes())  # noqa: S314
    except (ElementTree.ParseError, ValueError, LookupError):  # no XML, or an encoding that there is not
        return None
    cases = list(root.iter("testcase"))
    failed = [case for case in cases if case.find("failure") is not None or case.find("error") is not None]
    skipped = [case for case in cases if case.find("skipped") is not None]
    return {
        "total": len(cases),
        "failed": len(failed),
        "skipped": len(skipped),
        "failures": [_failure(case) for case in failed[:FAILURES_SHOWN]],
    }


def _failure(case: ElementTree.Element) -> dict[str, str]:
    told = case.find("failure")
    told = case.find("error") if told is None else told
    message = (told.get("message") if told is not None else "") or ""
    name = f"{case.get('classname', '')}.{case.get('name', '')}".strip(".")
    return {"name": name[:200], "message": message.strip().splitlines()[0][:300] if message.strip() else ""}
