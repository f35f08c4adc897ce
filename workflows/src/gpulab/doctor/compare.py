"""Whether what lives in a cluster is what was meant."""

from typing import Any

PLACEHOLDER = "gpulab.local/"
"""Images that an overlay replaces by those of the platform's registry."""


def difference(live: Any, wanted: Any, where: str, exact: bool = False) -> str:
    """The first place where two values differ; empty when nowhere.

    Args:
        live: of the cluster.
        wanted: an image of it that is a placeholder may be any image.
        where: the path of the two, for the answer.
        exact: `live` has no other keys; without it, an API server's defaults are no difference.
    """
    if isinstance(wanted, dict) and isinstance(live, dict):
        keys = wanted.keys() | live.keys() if exact else wanted.keys()
        found = (difference(live.get(key), wanted.get(key), f"{where}.{key}", exact) for key in sorted(keys))
        return next(filter(None, found), "")
    if isinstance(wanted, list) and isinstance(live, list) and len(wanted) == len(live):
        found = (difference(live[n], one, f"{where}[{n}]", exact) for n, one in enumerate(wanted))
        return next(filter(None, found), "")
    replaced = isinstance(wanted, str) and wanted.startswith(PLACEHOLDER) and where.endswith(".image")
    return "" if live == wanted or (replaced and isinstance(live, str)) else where
