"""Kills a process of the engine at one chosen point, once. Python imports this by itself; only tests put it there.

BADDAY_POINT is `before|after OPERATION WORDS`: the operation is one that changes what others can see (a file gets its
name, a process starts), the words are what its arguments, or the record that is being written, must hold.
BADDAY_KILLED is the file that says where and when it happened; while it exists, nothing is killed any more.
BADDAY_SLOW is how many seconds each change of a file takes, BADDAY_CLOCK lets the wall clock jump, BADDAY_PIPELINES is
a folder whose `rendered/` stands in for gpulab's.
"""

import datetime
import json
import os
import signal
import subprocess
import time
from pathlib import Path

WHEN, _, REST = os.environ.get("BADDAY_POINT", "").partition(" ")
OPERATION, _, WORDS = REST.partition(" ")
KILLED = os.environ.get("BADDAY_KILLED", "")


def shown(path):
    """What a record says: `phase` of the run, then `node:phase` for each node."""
    try:
        record = json.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return ""
    nodes = [f"{node['displayName']}:{node['phase']}" for node in record["nodes"].values()]
    return " ".join([f"run:{record['phase']}", *sorted(nodes)])


def describe(arguments):
    words = " ".join(os.fspath(one) for one in arguments if isinstance(one, str | os.PathLike))
    if words.endswith("/run.json"):
        return f"record {shown(arguments[0])} "
    return f"{words} "


def die(operation, what):
    try:
        handle = os.open(KILLED, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
    except FileExistsError:
        return
    os.write(handle, f"{WHEN} {operation} {what}".encode())
    os.kill(os.getpid(), signal.SIGKILL)


def wrapped(operation, function):
    def call(*arguments, **options):
        what = describe(arguments) if operation == OPERATION else ""
        hit = operation == OPERATION and WORDS in what
        if hit and WHEN == "before":
            die(operation, what)
        result = function(*arguments, **options)
        if hit and WHEN == "after":
            die(operation, what)
        return result

    return call


def started(popen):
    def init(self, command, *arguments, **options):
        what = " ".join(str(word) for word in command) + " "
        hit = OPERATION == "start" and WORDS in what
        if hit and WHEN == "before":
            die("start", what)
        popen(self, command, *arguments, **options)
        if hit and WHEN == "after":
            die("start", what)

    return init


if WHEN:
    os.replace = wrapped("move", os.replace)
    os.rename = wrapped("move", os.rename)
    os.unlink = wrapped("unlink", os.unlink)
    subprocess.Popen.__init__ = started(subprocess.Popen.__init__)
    if OPERATION == "boot" and any("engines.local.supervisor" in word for word in os.sys.orig_argv):
        die("boot", "supervisor")


def slow(function, seconds):
    def call(*arguments, **options):
        time.sleep(seconds)
        return function(*arguments, **options)

    return call


def jump():
    """The wall clock is set by years, back and forth, several times a second."""
    real, began = time.time, time.monotonic()
    years = (0, -1, 10, -30, 3)

    def wall():
        return real() + years[int((time.monotonic() - began) / 0.15) % len(years)] * 365 * 86400

    class Jumping(datetime.datetime):
        @classmethod
        def now(cls, tz=None):
            return cls.fromtimestamp(wall(), tz)

    time.time, datetime.datetime = wall, Jumping


if "BADDAY_SLOW" in os.environ:
    for name in ("fsync", "replace", "rename"):
        setattr(os, name, slow(getattr(os, name), float(os.environ["BADDAY_SLOW"])))
if "BADDAY_CLOCK" in os.environ:
    jump()
if "BADDAY_PIPELINES" in os.environ:
    import importlib.resources

    resources = importlib.resources.files
    importlib.resources.files = lambda package: (
        Path(os.environ["BADDAY_PIPELINES"]) if package == "gpulab" else resources(package)
    )
