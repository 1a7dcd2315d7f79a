# Two commands are enough: `make run` and `make test`. Both build what they need first.

PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV := .venv
BIN := $(VENV)/bin

# Where no bytecode may stand beside the source it stands in the environment: compiling is half of every start.
ifdef PYTHONDONTWRITEBYTECODE
unexport PYTHONDONTWRITEBYTECODE
export PYTHONPYCACHEPREFIX := $(CURDIR)/$(VENV)/.pycache
endif

# A recipe whose output goes through a pipe fails as its first command does.
SHELL := bash
.SHELLFLAGS := -o pipefail -c

.PHONY: run test sqlite postgres lint types layers migrations bench torture lock docs clean

run: $(VENV)/.runtime
	@$(BIN)/python manage.py flux_start $(if $(ONCE),--once) $(ARGS)

# Side by side: while tests of the one wait for an instance or a clock, those of the other compute.
test: $(VENV)/.dev
	@$(MAKE) --no-print-directory --jobs=3 lint types layers migrations sqlite postgres

sqlite: $(VENV)/.dev
	$(BIN)/python -m pytest -n 4 --dist=loadgroup --no-loadscope-reorder $(PYTEST) | sed -u 's/^/SQLite      /'

postgres: $(VENV)/.dev
	FLUX_TEST_DATABASE=postgres $(BIN)/python -m pytest -n 2 --dist=loadgroup --no-loadscope-reorder \
		-m "storage and not torture" $(PYTEST) | sed -u 's/^/PostgreSQL  /'

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.dev
	$(BIN)/mypy fluxsite fluxcore accounts memory dashboard mcp_bridge flux manage.py

layers: $(VENV)/.dev
	$(BIN)/lint-imports

migrations: $(VENV)/.dev
	FLUX_HOME=$$(mktemp -d) DATABASE_URL= $(BIN)/python -W ignore manage.py makemigrations --check --dry-run

bench: $(VENV)/.dev
	$(BIN)/python -m benchmarks

torture: $(VENV)/.dev
	$(BIN)/python -m pytest -m torture $(PYTEST)

# Newest versions that satisfy the direct pins, written down for every machine.
lock: $(VENV)/.dev
	$(BIN)/uv pip compile --universal --python-version 3.11 --upgrade --no-header --no-annotate --quiet \
		requirements.txt requirements-dev.txt --output-file constraints.txt

# The tables of docs/ that are written from the code: configuration keys and errors.
docs: $(VENV)/.dev
	$(BIN)/python -m tests.docs.tables

clean:
	rm -rf $(VENV) build dist reports *.egg-info

# The stamp files say which packages the environment holds; touching a requirements file rebuilds it.
$(VENV)/.runtime: requirements.txt requirements-models.txt constraints.txt scripts/install
	@PYTHON=$(PYTHON) scripts/install $(VENV) runtime
	@touch $@

$(VENV)/.dev: requirements.txt requirements-dev.txt requirements-models.txt constraints.txt scripts/install
	@PYTHON=$(PYTHON) scripts/install $(VENV) dev
	@touch $@ $(VENV)/.runtime
