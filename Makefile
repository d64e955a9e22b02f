# Everything here works on a machine with Python 3.11 or newer, make and git; nothing else is installed by hand.
PYTHON ?= python3
BIN := .venv/bin
STAMP := .venv/.setup-stamp

.PHONY: setup demo test slow check format lint types imports real llm conformance bench docs lock clean

setup: $(STAMP)

$(STAMP): requirements.lock pyproject.toml
	$(PYTHON) -c "import sys; sys.exit(sys.version_info < (3, 11) and 'Python 3.11 or newer is needed: make PYTHON=python3.12 …')"
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --editable .
	@touch $@

demo: setup
	$(BIN)/toolcrib demo

# In WORKERS processes, which take tests from each other; `.venv/bin/python -m pytest tests/…` runs some in one.
WORKERS ?= 2
test: setup
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal

slow: setup
	$(BIN)/python -m pytest -m slow

format: setup
	$(BIN)/ruff format --check .

lint: setup
	$(BIN)/ruff check .

types: setup
	$(BIN)/pyright

imports: setup
	$(BIN)/lint-imports

check: format lint types imports test docs

real: setup
	$(BIN)/python tests/real/install.py

# LEGS names some of its legs, by how their names begin: `make conformance LEGS="all client-2026"`.
conformance: setup
	$(BIN)/python tests/real/install.py conformance
	$(BIN)/python tests/conformance/run.py $(LEGS)

# Downloads 1.1 GB once, and asks a real small model; not part of any other target.
llm: setup
	$(BIN)/python -m bench.llm.install
	$(BIN)/python -m bench.llm

# Each of these says what it needs; `make bench` takes the better part of an hour, most of it for retrieval and scale.
BENCHES := tokens gateway lifecycle broker scripts surfaces loop retrieval scale install load
.PHONY: $(BENCHES:%=bench-%)

bench: $(BENCHES:%=bench-%)

$(BENCHES:%=bench-%): bench-%: setup
	$(BIN)/python -m bench.$*

docs: setup
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet --strict

lock: setup
	$(BIN)/python -m pip install --quiet uv
	$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
	  --no-emit-find-links --group dev --all-extras pyproject.toml --output-file requirements.lock

clean:
	rm -rf .venv .real .bench .llm site build dist .pytest_cache .ruff_cache
