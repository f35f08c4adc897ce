"""What the child hands to its parent: files of tensors, a report in JSON, and the stage it is in."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

REPORT = "report.json"
STAGE = "stage.txt"


@dataclass
class Handover:
    """A folder that the child may write; nothing in it is believed before the parent and the judge have checked it."""

    folder: Path
    report: dict[str, Any] = field(default_factory=lambda: {"status": "ok", "message": "", "candidates": {}})
    now: str = "start"

    def stage(self, name: str) -> None:
        """Leave word of what runs next: a crash can say no more."""
        self.now = name
        (self.folder / STAGE).write_text(name, encoding="utf-8")

    def fail(self, status: str, message: str) -> None:
        """Report the end of the run at this stage."""
        self.report |= {"status": status, "stage": self.now, "message": message}

    def note(self, table: str, name: str, value: Any) -> None:
        """Add a row to a table of the report (census, timing, memory, candidates, ...)."""
        self.report.setdefault(table, {})[name] = value

    def tensors(self, name: str, content: dict[str, Any]) -> None:
        """Save plain dicts of tensors and numbers as `<name>.pt`."""
        torch.save(content, self.folder / f"{name}.pt")

    def close(self) -> None:
        """Write the report."""
        (self.folder / REPORT).write_text(json.dumps(self.report), encoding="utf-8")
