"""Ask the parts whether they work."""

import socket
import ssl
import time
from collections.abc import Callable

import httpx

from testcluster import kube
from testcluster.layout import Layout
from testcluster.part import Part

PAUSE = 0.3  # seconds between two questions


def ready(layout: Layout, part: Part) -> bool:
    """Whether a part answers as it should, asked once."""
    ask = {"url": _answers, "socket": _accepts, "node": kube.node_ready}[part.ready.kind]
    return ask(layout, part.ready.where)


def wait(layout: Layout, part: Part, seconds: float, alive: Callable[[], bool]) -> bool:
    """Ask until a part is ready; false when it ended or the time is over."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if ready(layout, part):
            return True
        if not alive():
            return False
        time.sleep(PAUSE)
    return False


def _answers(layout: Layout, url: str) -> bool:
    try:
        return httpx.get(url, timeout=5, verify=_context(layout), trust_env=False).status_code < 400
    except (httpx.HTTPError, OSError):
        return False


def _context(layout: Layout) -> ssl.SSLContext:
    """With the administrator's certificate; unverified, since some parts sign their own and only health is asked."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    if layout.pki("admin.crt").exists():
        context.load_cert_chain(layout.pki("admin.crt"), layout.pki("admin.key"))
    return context


def _accepts(_: Layout, path: str) -> bool:
    with socket.socket(socket.AF_UNIX) as asked:
        try:
            asked.connect(path)
        except OSError:
            return False
        return True
