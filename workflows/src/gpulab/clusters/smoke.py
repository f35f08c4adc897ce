"""The smoke request: ask the released service the golden question and compare the answer."""

import json
import math
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from typing import Any

from gpulab.clusters.protocol import Golden, Smoke

ANSWER_LIMIT = 64 * 2**20
"""Bytes of an answer that are read: a service cannot fill the checker's memory."""


def get(url: str, timeout: float) -> int:
    """The HTTP status of a GET; 0 when nobody answered."""
    try:
        with urllib.request.urlopen(url, timeout=timeout) as answer:  # noqa: S310  http to the service under test
            return int(answer.status)
    except urllib.error.HTTPError as error:
        return error.code
    except OSError:
        return 0


def wait_until_ready(base: str, alive: Callable[[], bool], seconds: float) -> Smoke:
    """Poll `/readyz` until it says 200, the process dies, or the time is up."""
    end = time.monotonic() + seconds
    status = 0
    while time.monotonic() < end:
        if not alive():
            return Smoke(False, "the service ended before it was ready")
        status = get(f"{base}/readyz", timeout=2)
        if status == 200:
            return Smoke(True, "ready")
        time.sleep(0.1)
    return Smoke(False, f"/readyz did not say 200 within {seconds:.0f} s (last: {status or 'no answer'})")


def ask(base: str, golden: Golden, timeout: float) -> Smoke:
    """Send the golden request to `/v1/predict` and compare the answer."""
    body = json.dumps({"inputs": golden.inputs}).encode()
    request = urllib.request.Request(  # noqa: S310
        f"{base}/v1/predict", data=body, headers={"Content-Type": "application/json"}
    )
    try:
        with urllib.request.urlopen(request, timeout=timeout) as answer:  # noqa: S310
            outputs = json.loads(answer.read(ANSWER_LIMIT))["outputs"]
    except urllib.error.HTTPError as error:
        return Smoke(False, f"the golden request was answered {error.code}")
    except (OSError, ValueError, KeyError, TypeError) as error:
        return Smoke(False, f"the golden request got no usable answer ({type(error).__name__})")
    return compare(outputs, golden)


def compare(outputs: Any, golden: Golden) -> Smoke:
    """Relative L2 distance of the answer to the golden one; shape and finiteness first."""
    got, expected = list(flatten(outputs)), list(flatten(golden.outputs))
    if len(got) != len(expected):
        return Smoke(False, f"the golden answer has {len(expected)} numbers, the service gave {len(got)}")
    if not all(isinstance(value, int | float) and math.isfinite(value) for value in got):
        return Smoke(False, "the service's answer is not all finite numbers")
    norm = math.sqrt(math.fsum(value * value for value in expected)) or 1.0
    distance = math.sqrt(math.fsum((a - b) ** 2 for a, b in zip(got, expected, strict=True))) / norm
    if distance > golden.rtol:
        return Smoke(False, f"the answer is {distance:.2g} away from the proven one (allowed: {golden.rtol:.2g})")
    return Smoke(True, f"golden request answered, {distance:.1g} away from the proven answer")


def flatten(value: Any) -> Iterator[Any]:
    """The leaves of nested lists."""
    if isinstance(value, list):
        for one in value:
            yield from flatten(one)
    else:
        yield value
