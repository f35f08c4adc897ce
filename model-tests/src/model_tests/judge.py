"""Decide: `python3 -m model_tests.judge`. Runs in the platform's image and always writes a result.

It imports no student code. Exit 0 for PASS and INCONCLUSIVE, 1 FAIL, 2 the student's input, 3 the platform's trouble
(retryable).
"""

from __future__ import annotations

import argparse
import json
import time
import traceback
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from model_tests.fields import SpecError
from model_tests.judging.case import judge
from model_tests.judging.result import Result
from model_tests.spec import Spec
from model_tests.speed.baselines import from_plan

MOST_MESSAGE = 1023
"""Bytes; Kubernetes cuts a termination message at 4096, and Argo shows it in a table cell."""


def main(argv: Sequence[str] | None = None) -> int:
    """Command line; returns the exit code of the result."""
    args = _arguments(argv)
    started = time.monotonic()
    try:
        spec = Spec.from_file(args.spec)
        baselines = from_plan(args.spec)
        result = judge(spec, args.seed, args.produced, args.accelerator, args.inputs, baselines)
        _texts(result)  # what JSON cannot hold is found while there is still a result to give
    except SpecError as error:
        result = Result.trouble(args.accelerator, f"the plan cannot be read: {error}")
    except Exception as error:
        traceback.print_exc()
        result = Result.trouble(args.accelerator, f"the judge itself failed: {type(error).__name__}")
    result.content["environment"]["seconds"] = round(time.monotonic() - started, 2)
    try:
        _leave(args, result)
    except OSError as error:
        print(f"judge: the result cannot be written: {error}")
        return 3
    print(f"judge: {result.content['message']}")
    code: int = result.content["exit_code"]
    return code


def _leave(args: Any, result: Result) -> None:
    content, golden = _texts(result)
    _write(args.out, content)
    if args.golden and result.golden is not None:
        _write(args.golden, golden)
    if args.message:
        with suppress(OSError):  # the result says the same
            # in place: Kubernetes mounts this one file, and its folder (/dev) is not ours
            args.message.write_bytes(result.content["message"].encode()[:MOST_MESSAGE] + b"\n")


def _texts(result: Result) -> tuple[str, str]:
    """Return result.json and golden.json; ValueError for a number that is not finite."""
    content = json.dumps(result.content, indent=1, allow_nan=False) + "\n"
    return content, json.dumps(result.golden, allow_nan=False) + "\n"


def _write(file: Path, text: str) -> None:
    """Whole or not at all: half a result is worse than none."""
    file.parent.mkdir(parents=True, exist_ok=True)
    fresh = file.with_name(f".{file.name}.new")
    fresh.write_text(text, encoding="utf-8")
    fresh.replace(file)


def _arguments(argv: Sequence[str] | None) -> Any:
    parser = argparse.ArgumentParser(prog="python3 -m model_tests.judge", description=__doc__)
    parser.add_argument("--spec", type=Path, required=True, help="spec JSON, or a plan with it under `spec`")
    parser.add_argument("--seed", type=int, required=True, help="the seed that `draw` was given")
    parser.add_argument("--inputs", type=Path, help="the shared inputs, to be compared with our own draw")
    parser.add_argument("--produced", type=Path, required=True, help="what produce wrote")
    parser.add_argument("--accelerator", default="cpu")
    parser.add_argument("--out", type=Path, required=True, help="result.json")
    parser.add_argument("--golden", type=Path, help="golden.json: one request and its answer")
    parser.add_argument("--message", type=Path, help="file for the one-line message")
    return parser.parse_args(argv)


if __name__ == "__main__":
    raise SystemExit(main())
