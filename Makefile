# The verbs of the house; the same ones work in a generated project. `make help` lists them.
PYTHON ?= python3
# TORCH_INDEX=URL takes torch from that index (PyTorch's CPU index is small), everything else from the usual one.
# VENV=FOLDER (or the variable GPULAB_VENV) puts the environment elsewhere, for example where all projects share it.
VENV ?= $(or $(GPULAB_VENV),.venv)
BIN  := $(VENV)/bin

.DEFAULT_GOAL := help
.PHONY: help setup demo fix check test e2e e2e-existing bench render lock clean

help: ## list the verbs
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## /{printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

# one environment for everything; its stamp is newer than what it was made from
setup: $(VENV)/.installed ## make the environment (first says how much it downloads)

$(VENV)/.installed: requirements.lock workflows/pyproject.toml model-tests/pyproject.toml
	@$(PYTHON) workflows/tools/setup.py --venv $(VENV) $(if $(TORCH_INDEX),--torch-index $(TORCH_INDEX))

demo: setup ## a student's project from nothing to production, on this machine
	@$(BIN)/gpulab demo .demo

fix: setup ## format, and mend what can be mended
	@$(BIN)/ruff format .
	@$(BIN)/ruff check --fix .

check: setup ## lint, types, rendered YAML up to date
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/mypy
	@$(BIN)/mypy --platform darwin
	@$(BIN)/mypy --platform win32
	@$(BIN)/gpulab render --check

test: check ## everything: checks, then all tests
	@OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n $$($(BIN)/python -c "import os; print((os.cpu_count() or 1) + 1)") --dist loadgroup

# A real Kubernetes with Argo, BuildKit and a forge on this machine: tests/cluster/README.md
e2e: setup ## the whole path on a real cluster (Linux, root, Go; builds it first, once)
	@$(BIN)/python tests/cluster/cluster.py build
	@OMP_NUM_THREADS=1 $(BIN)/python -m pytest -m cluster -n 0

e2e-existing: setup ## the same on the cluster of KUBECONFIG
	@test -n "$$KUBECONFIG" || { echo "say which cluster: export KUBECONFIG=FILE" >&2; exit 2; }
	@OMP_NUM_THREADS=1 $(BIN)/python -m pytest -m cluster -n 0

bench: setup ## how fast the tool itself is, as a table and in bench.json
	@OMP_NUM_THREADS=1 $(BIN)/python workflows/benchmarks/tool.py

render: setup ## write the Argo YAML of all pipelines
	@$(BIN)/gpulab render

lock: setup ## take the newest versions into requirements.lock
	@$(BIN)/python workflows/tools/lock.py

clean: ## remove the environment and the demo
	@rm -rf .venv .demo
