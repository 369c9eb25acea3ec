# `make demo` and `make test` do everything on a fresh machine; `make help` lists the rest.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
ENGINE := $(VENV)-vllm
CLUSTER := $(VENV)-ray
# Tests wait a lot: on two cores, three at a time keep both busy.
WORKERS ?= 3
DEMO ?= A box holds 6 eggs. How many eggs are in 7 boxes?

.DEFAULT_GOAL := help
.PHONY: help demo test test-vllm test-ray test-train check docs bench engine clean

help: ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /\1\t/' | expand -t 12

demo: $(VENV)/.local ## install, fetch a small local model, solve one problem with all five agents
	$(BIN)/tmas solve "$(DEMO)"

test: $(VENV)/.dev ## run all tests but those on a real vLLM or a Ray cluster
	$(BIN)/python -m pytest -q -n $(WORKERS) --dist loadfile --no-loadscope-reorder

test-vllm: $(VENV)/.dev $(ENGINE)/.done ## run the tests on a real vLLM, in an environment of 2.5 GB
	TEST_ENGINE=$(ENGINE) $(BIN)/python -m pytest -q -m "vllm and not training"

test-train: $(VENV)/.dev $(ENGINE)/.done ## run the tests that train in several processes, or for minutes
	TEST_ENGINE=$(ENGINE) $(BIN)/python -m pytest -q -n auto --maxprocesses 2 --dist loadfile -m training

test-ray: $(CLUSTER)/.done ## run the tests on a Ray cluster of this machine, in an environment with Ray
	$(CLUSTER)/bin/python -m pytest -q -m ray tests/end_to_end/test_run_ray.py

engine: $(ENGINE)/.installed ## install the vLLM that test-vllm needs

check: $(VENV)/.dev ## run the linters and the type checker
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

docs: $(VENV)/.dev ## write the generated parts of README and docs anew
	$(BIN)/python docs/build.py

bench: $(VENV)/.bench ## run all benchmarks (35 minutes) and write docs/benchmarks.md
	$(BIN)/python -m benchmarks.report

clean: ## remove what the other targets made
	rm -rf $(VENV) $(ENGINE) $(CLUSTER) dist .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .langgraph_api

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install -q --upgrade pip  # older ones take minutes to resolve

$(VENV)/.local: pyproject.toml | $(VENV)/bin/python
	@echo "installing into $(VENV): about 900 MB, some minutes"
	$(BIN)/python -m pip install -q -e '.[local]'
	@touch $@

$(VENV)/.dev: pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install -q -e '.[local,dev]'
	@touch $@ $(VENV)/.local

$(VENV)/.bench: $(VENV)/.dev
	$(BIN)/python -m pip install -q -e '.[bench]'
	@touch $@

$(CLUSTER)/.done: pyproject.toml tests/end_to_end/ray_requirements.txt
	$(PYTHON) -m venv --clear $(CLUSTER)
	$(CLUSTER)/bin/python -m pip install -q --upgrade pip
	$(CLUSTER)/bin/python -m pip install -q -e '.[ray]' -r tests/end_to_end/ray_requirements.txt
	@touch $@

# What is uninstalled doesn't fit torch's builds for processors, or is 1 GB that they don't use.
$(ENGINE)/.installed: tests/engines/requirements.txt
	$(PYTHON) -m venv --clear $(ENGINE)
	$(ENGINE)/bin/python -m pip install -q --upgrade pip
	$(ENGINE)/bin/python -m pip install -q -r tests/engines/requirements.txt
	$(ENGINE)/bin/python -m pip uninstall -q -y torchvision torchaudio torchcodec triton
	@touch $@

WEIGHTS := from tmas_graph.models import weights; print(weights.resolve(weights.DEFAULT_MODEL).path)

$(ENGINE)/.done: tests/engines/convert.py $(ENGINE)/.installed | $(VENV)/.local
	TQDM_DISABLE=1 $(ENGINE)/bin/python $< "$$($(BIN)/python -c '$(WEIGHTS)')" $(ENGINE)/model
	@touch $@
