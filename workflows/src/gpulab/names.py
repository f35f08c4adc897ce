"""The grammar of the names that Kubernetes takes: one place for what contract, forge, cluster and engines ask."""

LABEL = r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?"
"""A DNS label (RFC 1123), as namespaces and runs are named."""

SLUG = r"[a-z]([-a-z0-9]{0,38}[a-z0-9])?"
"""A project's name for machines: a DNS label that begins with a letter, with room for what is put behind it."""
