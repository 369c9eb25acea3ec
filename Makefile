# `make demo` and `make test` do everything on a fresh machine; `make help` lists the rest.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
DEMO ?= A box holds 6 eggs. How many eggs are in 7 boxes?

.DEFAULT_GOAL := help
.PHONY: help demo test check docs clean

help: ## list the targets
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):.*## /\1\t/' | expand -t 10

demo: $(VENV)/.local ## install, fetch a small local model, solve one problem with all five agents
	$(BIN)/tmas solve "$(DEMO)"

test: $(VENV)/.dev ## run all tests
	$(BIN)/python -m pytest -q

check: $(VENV)/.dev ## run the linters and the type checker
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

docs: $(VENV)/.dev ## write the generated parts of README and docs anew
	$(BIN)/python docs/build.py

clean: ## remove what the other targets made
	rm -rf $(VENV) dist .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .langgraph_api

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install -q --upgrade pip  # older ones take minutes to resolve

$(VENV)/.local: pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install -q -e '.[local]'
	@touch $@

$(VENV)/.dev: pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install -q -e '.[local,dev]'
	@touch $@ $(VENV)/.local
