"""The text of a promotion's pull request (Markdown): what changes, what was proven, how fast, how large.

Names and sentences come from the judged project: every text is escaped, and no diff ends its own fence.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from gpulab.steps.release_file import Release

DIFF_LINES = 200
"""A longer change is shortened; reviewers read the rest in the branch itself."""


def describe(release: Release, results: Mapping[str, Any], diff: Sequence[str], before: Release | None) -> str:
    """The whole text.

    Args:
        release: what production will run.
        results: the record of the run that proved it.
        diff: the rendered change, as lines of a unified diff.
        before: what production runs now.
    """
    gates = [gate for gate in results.get("gates", []) if isinstance(gate, Mapping)]
    parts = [
        f"Production will run `{release.repository}@{release.digest}`, which run `{release.run}` proved.",
        facts(release, before),
        gate_table(gates),
        "**Speed**\n\n" + speed([gate for gate in gates if str(gate.get("name", "")).startswith("speed/")]),
        "**Memory**\n\n" + memory(results.get("verify")),
        "**Rendered change**\n\n" + fenced(shortened(diff)),
    ]
    return "\n\n".join(parts)


def facts(release: Release, before: Release | None) -> str:
    """Commit, digest and run, beside what production runs now."""
    now = f"commit `{before.source}`, `{before.digest}`" if before else "nothing"
    return table(
        ["", ""],
        [
            ["commit", f"`{release.source}`"],
            ["digest", f"`{release.digest}`"],
            ["run", f"`{release.run}`; its report: `gpulab report {release.run}`"],
            ["production now", now],
        ],
    )


def gate_table(gates: Sequence[Mapping[str, Any]]) -> str:
    """Every gate of the run that proved it."""
    rows = [
        [
            cell(gate.get("name")),
            cell(gate.get("accelerator", "")),
            cell(gate.get("verdict")),
            number(gate.get("value")),
            number(gate.get("bound")),
            cell(gate.get("unit")),
        ]
        for gate in gates
    ]
    return table(["gate", "accelerator", "verdict", "value", "bound", "unit"], rows)


def speed(gates: Sequence[Mapping[str, Any]]) -> str:
    """The change of the time against each baseline, with its interval; below 0 is faster."""
    if not gates:
        return "Not compared: the run has no speed gate."
    head = ["against", "commit", "accelerator", "verdict", "time", "interval", "why"]
    return table(head, [_speed(gate) for gate in gates])


def _speed(gate: Mapping[str, Any]) -> list[str]:
    params = gate.get("params")
    known = params if isinstance(params, Mapping) else {}
    low, high = change_of(known.get("low")), change_of(known.get("high"))
    return [
        cell(str(gate.get("name", "")).removeprefix("speed/")),
        cell(known.get("commit", "")),
        cell(gate.get("accelerator", "")),
        cell(gate.get("verdict")),
        change_of(gate.get("value")),
        f"{low} to {high}" if low and high else "",
        cell(gate.get("why", "")),
    ]


def change_of(ratio: Any) -> str:
    """A ratio of times as a change, e.g. 0.97 as `-3.0 %`; nothing for what is none."""
    return "" if isinstance(ratio, bool) or not isinstance(ratio, int | float) else f"{100 * (ratio - 1):+.1f} %"


def memory(verify: Any) -> str:
    """What was measured of the model's size, per accelerator."""
    rows = []
    for name, result in sorted(verify.items()) if isinstance(verify, Mapping) else ():
        measured = result.get("memory") if isinstance(result, Mapping) else None
        if isinstance(measured, Mapping):
            shown = sorted((str(key), value) for key, value in measured.items())
            rows += [[cell(name), cell(key.replace("_", " ")), quantity(key, value)] for key, value in shown]
    return table(["accelerator", "what", "measured"], rows) if rows else "Not measured."


def quantity(key: str, value: Any) -> str:
    """A count, or bytes in MiB."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return ""
    return f"{value / 2**20:,.1f} MiB" if key.endswith("bytes") else f"{value:,}"


def shortened(lines: Sequence[str]) -> list[str]:
    """At most `DIFF_LINES` lines, and how many were left out."""
    if not lines:
        return ["(the manifests do not change)"]
    if len(lines) <= DIFF_LINES:
        return list(lines)
    left_out = len(lines) - DIFF_LINES
    return [*lines[:DIFF_LINES], f"… {left_out} more lines: see manifests.yaml in the branch of this request"]


def fenced(lines: Sequence[str]) -> str:
    """A code block whose fence is longer than any in the lines."""
    longest = max((len(run) for line in lines for run in re.findall("`+", line)), default=0)
    fence = "`" * max(3, longest + 1)
    return "\n".join([f"{fence}diff", *lines, fence])


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table."""
    lines = [f"| {' | '.join(row)} |" for row in (head, *rows)]
    return "\n".join([lines[0], "|" + "---|" * len(head), *lines[1:]])


def cell(text: Any) -> str:
    """Foreign text in a table cell: one line, no column, no markup."""
    line = " ".join(str("" if text is None else text).split())[:300]
    return re.sub(r"([\\`|*_<>\[\]#])", r"\\\1", line) if re.search(r"[`|<>\[\]]", line) else line


def number(value: Any) -> str:
    """A number for a table: four significant digits, nothing for what is none."""
    return "" if isinstance(value, bool) or not isinstance(value, int | float) else f"{value:.4g}"
