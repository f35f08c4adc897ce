"""From Hera objects and overlays to YAML: deterministic, lossless, and linted for meaning."""
