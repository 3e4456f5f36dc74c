# `make quick` runs the main job, `make test` passes the tests: both set up everything they need first.
SHELL := /bin/bash
.DEFAULT_GOAL := help
.PHONY: help quick fleet test test-slow test-fast test-java check format build proto published tables readme wheel clean

# The Python to set up with may be named (make PYTHON=...); everything else runs in the environment made of it.
export BASE_PYTHON := $(PYTHON)
override PYTHON := .venv/bin/python
SYSTEMS ?=
SEED ?= $(shell date +%s)
TIME_LIMIT_S ?=
WORKER_SOURCES := $(shell find worker proto -path '*/target' -prune -o \( -name '*.java' -o -name 'pom.xml' -o -name '*.proto' \
	-o -path '*/resources/*' -type f \) -print 2>/dev/null)

help: ## Show this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-10s %s\n", $$1, $$2}'

quick: .tools/worker-built ## Set up, then measure Kafka, Pulsar and RabbitMQ side by side (about 4 minutes once cached)
	@.venv/bin/tidegauge quick

test: .tools/worker-built test-java ## Set up, then run the tests (real servers; root-only ones where you are root)
	@# Compiled once, and not by each process of tests that starts with all others.
	$(PYTHON) -m compileall -q -j 0 src
	$(PYTHON) -m pytest -n 3 --dist loadfile --quick-java --durations=20 -m "not slow" tests/unit tests/simulated
	@# Five files at a time, since most of them wait for servers; those that judge times then run alone.
	$(PYTHON) -m pytest -n 5 --dist loadfile --no-loadscope-reorder --quick-java --durations=20 -m "not alone and not slow" \
		tests/integration tests/fuzz
	$(PYTHON) -m pytest --durations=10 -m "alone and not slow" tests/integration

test-slow: .tools/worker-built ## What takes minutes, in an order that differs from run to run (SEED=, TIME_LIMIT_S=)
	$(PYTHON) -m pytest --durations=20 -m slow --shuffle $(SEED) $(TIME_LIMIT_S:%=--time-limit %)

test-fast: .tools/worker-built ## Unit and simulated tests only
	$(PYTHON) -m pytest -n 2 -m "not slow" tests/unit tests/simulated

test-java: .tools/worker-built ## The worker's own tests
	$(PYTHON) scripts/mvn.py -B -f worker/pom.xml verify

check: .venv/.ready ## ruff, mypy --strict (benchmarks and scripts too), vermin (Python 3.11), Spotless, Error Prone
	.venv/bin/ruff check .
	.venv/bin/ruff format --check .
	.venv/bin/mypy
	.venv/bin/vermin --quiet --no-tips --eval-annotations --target=3.11- --violations src scripts tests
	$(PYTHON) scripts/mvn.py -q -B -f worker/pom.xml -Pcheck -DskipTests verify

format: .venv/.ready ## Put Python and Java into the project's format
	.venv/bin/ruff check --fix .
	.venv/bin/ruff format .
	$(PYTHON) scripts/mvn.py -q -B -f worker/pom.xml -Pcheck spotless:apply

fleet: .venv/.fleet-ready .tools/worker-built ## Everything for a host of a fleet (adds Ray, 200 MB): docs/reference.md, Fleets

build: .tools/worker-built ## Python environment and worker, nothing run

proto: .venv/.ready ## Regenerate the Python side of proto/worker.proto
	$(PYTHON) scripts/generate_proto.py

published: .venv/.ready ## Regenerate the claims in campaigns/published/README.md
	$(PYTHON) scripts/generate_published.py

tables: .venv/.ready ## Regenerate docs/tables/figures.md
	$(PYTHON) scripts/generate_tables.py

readme: .venv/.ready ## Show another run in README, its text and picture: make readme RUN=runs/...
	$(PYTHON) scripts/generate_readme.py $(RUN)

wheel: .tools/worker-built ## A wheel that carries the worker, for all systems or some (SYSTEMS="kafka"), and the JSON Schemas
	$(PYTHON) scripts/build_wheel.py $(if $(SYSTEMS),--systems $(SYSTEMS))

clean: ## Remove what was built (caches of servers and runs stay)
	rm -rf .venv .tools build dist
	find worker -name target -type d -prune -exec rm -rf {} +

# Running needs .venv/.ready only; tests, checks and generators add their tools, which later builds then keep.
test test-slow test-fast test-java check format proto: .venv/.dev-ready

quick: export SETUP_FOR := quick

.venv/.ready: pyproject.toml uv.lock scripts/bootstrap.sh
	@scripts/bootstrap.sh
	@touch $@

.venv/.dev-ready: .venv/.ready
	@scripts/bootstrap.sh --dev
	@touch $@

.venv/.fleet-ready: .venv/.ready
	@scripts/bootstrap.sh --fleet
	@touch $@

.tools/worker-built: .venv/.ready $(WORKER_SOURCES)
	@echo "Building the worker (Java) ..."
	@$(PYTHON) scripts/mvn.py -q -B -f worker/pom.xml -DskipTests package
	@mkdir -p .tools && touch $@
