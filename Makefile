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

.PHONY: run test sqlite short postgres proofs lint types layers migrations bench torture lock docs clean adapters

run: $(VENV)/.runtime
	@$(BIN)/python manage.py flux_start $(if $(ONCE),--once) $(ARGS)

# Every folder of tests/ is a room. A long one is a pytest process of its own, so that each test file is loaded once and no
# room leans on another. They run side by side, those that take longest first: what begins last decides when all end.
LONGEST := concurrency commands browser docs mcp admin core site dashboard rest upgrade grains accounts config
FOLDERS := $(filter-out __pycache__ torture,$(patsubst tests/%/,%,$(wildcard tests/*/)))
# These take a second or a few: a process of their own would cost as much, so they share one.
SHORT := $(filter $(FOLDERS),adapters arena artifacts benchmarks calls embedding engine extraction health keyvalue \
	packaging passages review sdk seed_programs transfer)
ROOMS := $(filter $(FOLDERS),$(LONGEST)) $(filter-out $(LONGEST) $(SHORT),$(FOLDERS))
# The processes of a run share a folder with what is made once, the tables of an empty database above all.
SHARED = home=$$(mktemp -d); trap 'rm -rf "$$home"' EXIT; export FLUX_TESTS_HOME="$$home"

# All, or with ROOM=name what is written for one folder of tests/: style and its tests on SQLite, in under a minute.
test: $(VENV)/.dev
ifdef ROOM
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/python -m pytest -n 2 --dist=loadgroup tests/$(ROOM) $(PYTEST)
else
	@$(SHARED); $(MAKE) --no-print-directory --keep-going --jobs=4 lint $(wordlist 1,2,$(ROOMS:%=room-%)) postgres \
		short types layers migrations $(ROOMS:%=room-%)
endif

# More than there are cores: while one waits for an instance or a clock, the others compute.
sqlite: $(VENV)/.dev
	@$(SHARED); $(MAKE) --no-print-directory --keep-going --jobs=4 short $(ROOMS:%=room-%)

$(ROOMS:%=room-%): room-%: $(VENV)/.dev
	@FLUX_TESTS_ROOM=$* $(BIN)/python -m pytest -q -p no:xdist tests/$* $(PYTEST) | sed -u 's/^/$*: /'

short: $(VENV)/.dev
	@FLUX_TESTS_ROOM=short $(BIN)/python -m pytest -q -p no:xdist $(SHORT:%=tests/%) $(PYTEST) | sed -u 's/^/short: /'

# Where our SQL is, or what a database decides: locks, order, counting. What only asks these is left to the proofs.
POSTGRES := arena concurrency core grains health keyvalue accounts/test_agents.py accounts/test_audit_chain.py \
	accounts/test_checkpoints.py accounts/test_parents.py accounts/test_grant_requests.py accounts/test_grants.py \
	accounts/test_refusals.py accounts/test_tokens.py accounts/test_verbs.py admin/test_index.py \
	dashboard/test_live_page.py dashboard/test_home.py mcp/test_shares.py rest/test_grains.py \
	rest/test_grains_narrowed.py rest/test_statement_counts.py site/test_backup.py site/test_checks.py \
	site/test_databases.py transfer/test_graph.py
ON_POSTGRES := FLUX_TESTS_ROOM=postgres FLUX_TEST_DATABASE=postgres $(BIN)/python -m pytest

postgres: $(VENV)/.dev
	@$(ON_POSTGRES) -q -p no:xdist -m "storage and not torture and not proof" $(POSTGRES:%=tests/%) $(PYTEST) \
		| sed -u 's/^/PostgreSQL: /'

# What CI runs after `make test`: whole upgrades, moves and installations, and the rest of the tests on PostgreSQL.
proofs: $(VENV)/.dev
	$(BIN)/python -m pytest -n 2 --dist=loadgroup -m "proof and not torture" $(PYTEST)
	FLUX_TESTS_PROOFS=1 $(ON_POSTGRES) -n 2 --dist=loadgroup -m "storage and not torture" \
		$(POSTGRES:%=--ignore=tests/%) $(PYTEST)
	FLUX_TESTS_PROOFS=1 $(ON_POSTGRES) -n 2 --dist=loadgroup \
		-m "storage and not torture and (either_database or proof)" $(POSTGRES:%=tests/%) $(PYTEST)

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
	$(BIN)/uv pip compile --universal --python-version 3.11 --upgrade --no-header --no-annotate --quiet \
		requirements-adapters.txt requirements-flyte.txt --output-file constraints-adapters.txt

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

# The adapters beside the frameworks' own stores, and flyte on an exported store. The frameworks need other versions of
# packages than the server, so they have an environment of their own.
ADAPTERS := $(VENV)/.adapters
ADD = $(BIN)/uv pip install --quiet --python $(ADAPTERS)/bin/python -c constraints-adapters.txt -r $(1) || \
	$(ADAPTERS)/bin/python -m pip install --quiet --disable-pip-version-check -c constraints-adapters.txt -r $(1)

adapters: $(ADAPTERS)/.installed $(ADAPTERS)/.flyte
	$(BIN)/python -m tests.adapters $(ADAPTERS)/bin/python
	@if [ -e $(ADAPTERS)/.flyte ]; then \
		FLUX_TESTS_FLYTE=$(CURDIR)/$(ADAPTERS)/bin/python \
			$(BIN)/python -m pytest -q -p no:xdist tests/artifacts/test_trees.py -k flyte; \
	else \
		echo "SKIPPED: flyte does not install here, so that no exported store was opened with it."; \
	fi

$(ADAPTERS)/.installed: requirements-adapters.txt constraints-adapters.txt | $(VENV)/.dev
	@echo "Installing the frameworks of the adapters ..."
	@$(BIN)/python -m venv --clear $(ADAPTERS)
	@$(call ADD,requirements-adapters.txt)
	@touch $@

# Flyte does not install on every machine. Where it does not, all else is compared, and the next run tries again.
$(ADAPTERS)/.flyte: requirements-flyte.txt $(ADAPTERS)/.installed
	@if $(call ADD,requirements-flyte.txt); then touch $@; fi
