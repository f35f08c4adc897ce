"""How fast the tool itself is: `make bench`, or `python workflows/benchmarks/tool.py [--push] [--out FILE]`.

Seconds depend on the machine and on what else it does, so each row has its multiple of a bare `python -c pass` too,
measured in turn with it in the same run, and its processor time. This is no test: a slow machine breaks no build.
"""

import argparse
import json
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import engine
import project
from clock import Spent, median, spent

REPEATS = 5
LINEAR = 1.2
"""A cost per model above this multiple is no longer called linear."""


def measure(action: Callable[[], Spent | None]) -> tuple[Spent, Spent]:
    """Medians of an action and of a bare interpreter, taken in turns; an action that gives its cost is believed."""
    own, bare = [], []
    for _ in range(REPEATS):
        bare.append(spent(project.bare_python))
        said: list[Spent | None] = []
        around = spent(lambda said=said: said.append(action()))
        own.append(said[0] or around)
    return median(own), median(bare)


def rows(folder: Path, push: bool) -> list[dict[str, object]]:
    """All measurements; a target is in seconds."""
    made = project.Made(folder)
    cases: list[tuple[str, Callable[[], Spent | None], float | None]] = [
        ("bake, cookiecutter in this process", made.bake, 1.0),
        ("bake, gpulab new", made.new, 1.0),
        ("gpulab check", made.check, 1.0),
        ("gpulab --help", made.help, None),
        ("start of a platform step", made.step, None),
        ("engine: a run of one step", lambda: engine.run(folder, 1), None),
        ("engine: overhead per step", lambda: engine.overhead(folder), 0.150),
    ]
    table = [row(name, *measure(action), target) for name, action, target in cases]
    ratios = [*engine.scaling(folder, 3), *(made.scaling() if push else ())]
    return table + [{"name": name, "ratio": ratio, "target_ratio": LINEAR} for name, ratio in ratios]


def row(name: str, own: Spent, bare: Spent, target: float | None) -> dict[str, object]:
    """One measurement."""
    times = {"seconds": own.wall, "cpu_seconds": own.cpu, "bare_python_seconds": bare.wall}
    return {"name": name, **times, "ratio": own.wall / bare.wall, "target_seconds": target}


def line(row: dict[str, object]) -> str:
    """One row of the table."""
    if "seconds" not in row:
        return f"{row['name']:<46}{'':>20} {row['ratio']:>7.2f}   ≤ {row['target_ratio']}"
    target = "" if row["target_seconds"] is None else f"≤ {row['target_seconds']} s"
    return f"{row['name']:<46}{row['seconds']:>8.3f} s{row['cpu_seconds']:>8.3f} s {row['ratio']:>7.1f}   {target}"


def main() -> int:
    """Measure, print the table, write the JSON."""
    arguments = argparse.ArgumentParser(description="How fast the tool itself is.")
    arguments.add_argument("--push", action="store_true", help="also pushes with 1, 2 and 4 candidates (minutes)")
    arguments.add_argument("--out", type=Path, default=Path("bench.json"))
    asked = arguments.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        table = rows(Path(folder), asked.push)
    print(f"{'medians':<46}{'wall':>10}{'processor':>10} {'ratio':>7}   target")
    print("\n".join(map(line, table)))
    asked.out.write_text(json.dumps({"schema": "gpulab/bench/v1", "rows": table}, indent=2) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
