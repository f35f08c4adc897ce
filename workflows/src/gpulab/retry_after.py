"""How long a busy server asks to be left alone."""

import httpx


def retry_after(answer: httpx.Response) -> float | None:
    """The seconds of `Retry-After`; None when there are none, or a date, which none of the servers asked here sends."""
    asked = answer.headers.get("Retry-After", "")
    return float(asked) if asked.isascii() and asked.isdigit() else None
