"""Rules about rendered manifests, one module per question; `released` puts them together."""
