# make demo   a debiased model and a report, from nothing but Python 3.11
# make test   lint, types and tests; what CI runs
# make chaos  real commands, killed and starved of disk at random moments; prints what was lost. An hour; CHAOS="--kills 20"
# make docs   the documentation as a site, in site/: open site/index.html
PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV := .venv
BIN := $(VENV)/bin

.PHONY: demo test chaos docs lint format types clean

demo: $(VENV)/installed
	$(BIN)/fairflac demo

# As many test processes as cores, with one thread each: most tests are too small for two. With bytecode, as tests start
# programs by the dozen.
test: $(VENV)/installed-dev lint types
	env -u PYTHONDONTWRITEBYTECODE OMP_NUM_THREADS=1 $(BIN)/pytest -n auto --dist loadfile --no-loadscope-reorder

chaos: $(VENV)/installed-dev
	PYTHONPATH=tests:tests/light_imports $(BIN)/python -m chaos $(CHAOS)

# Strict: a link or an anchor that leads nowhere is an error.
docs: $(VENV)/installed-docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet
	@echo "open site/index.html, or serve it: $(PYTHON) -m http.server --directory site --bind 127.0.0.1"

lint: $(VENV)/installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/installed-dev
	$(BIN)/mypy

format: $(VENV)/installed-dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:
	rm -rf $(VENV)

# The marks are younger than what they depend on, so a second call installs nothing.
$(VENV)/installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable .
	touch $@

$(VENV)/installed-dev: $(VENV)/installed
	$(BIN)/pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable ".[dev]"
	touch $@

$(VENV)/installed-docs: $(VENV)/installed
	$(BIN)/pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable ".[docs]"
	touch $@
