"""A real Kubernetes cluster on one Linux machine, made from Debian, PyPI and the Go module proxy."""
