# The verbs of the house; the same ones work in a generated project. `make help` lists them.
PYTHON ?= python3
# TORCH_INDEX=URL takes torch from that index (PyTorch's CPU index is small), everything else from the usual one
VENV   := .venv
BIN    := $(VENV)/bin
MACHINE := $(shell $(PYTHON) -c "import platform as p; print({'Darwin': 'macos'}.get(p.system(), p.system().lower()) + '-' + p.machine())")

.DEFAULT_GOAL := help
.PHONY: help setup demo fix check test render lock clean

help: ## list the verbs
	@awk -F ':.*## ' '/^[a-z]+:.*## /{printf "  make %-8s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

# one environment for everything; its stamp is newer than what it was made from
setup: $(VENV)/.installed ## make the environment (first says how much it downloads)

$(VENV)/.installed: requirements.lock workflows/pyproject.toml model-tests/pyproject.toml
	@$(PYTHON) -c "import sys; sys.exit('gpulab needs Python 3.11 or later; this is ' + sys.version.split()[0]) if sys.version_info < (3, 11) else None"
	@$(PYTHON) -c "import sys; sys.exit('PyTorch ends at 2.2 on Intel Macs; gpulab needs 2.6. Use an Apple silicon Mac or Linux.') if '$(MACHINE)' == 'macos-x86_64' else None"
	@echo "setting up $(VENV): up to $$(sed -n 's/^# download $(MACHINE): //p' requirements.lock || true) of packages (less if they are cached)"
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check "$$(sed -n 's/^\(uv==[^ ]*\).*/\1/p' requirements.lock)"
ifdef TORCH_INDEX
	@$(BIN)/python -m uv pip install --python $(BIN)/python --index-url $(TORCH_INDEX) "$$(sed -n 's/^\(torch==[^ ]*\).*/\1/p' requirements.lock)"
	@$(BIN)/python -m uv pip install --python $(BIN)/python --require-hashes -r requirements-no-torch.lock
else
	@$(BIN)/python -m uv pip install --python $(BIN)/python --require-hashes -r requirements.lock
endif
	@$(BIN)/python -m uv pip install --quiet --python $(BIN)/python --no-deps -e workflows -e model-tests
	@touch $@

demo: setup ## a student's project from nothing to production, on this machine
	@$(BIN)/python -m gpulab.cli.demo .demo

fix: setup ## format, and mend what can be mended
	@$(BIN)/ruff format .
	@$(BIN)/ruff check --fix .

check: setup ## lint, types, rendered YAML up to date
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/mypy
	@$(BIN)/gpulab render --check

test: check ## everything: checks, then all tests
	@OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n $$($(BIN)/python -c "import os; print((os.cpu_count() or 1) + 1)") --dist loadgroup

render: setup ## write the Argo YAML of all pipelines
	@$(BIN)/gpulab render

lock: setup ## take the newest versions into requirements.lock
	@$(BIN)/python workflows/tools/lock.py

clean: ## remove the environment and the demo
	@rm -rf $(VENV) .demo
