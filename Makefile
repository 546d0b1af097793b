# A fresh machine needs Python 3.11+, a C/C++ compiler and git. Everything else is made here, inside .venv.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
# `make demo` asks about this very repository, a question for each of three skills (tests/app/test_demo.py checks the
# answers); `make demo QUESTION="where is Workspace defined?"` asks another one, FOLDER=... about another folder.
DEMO := "where is StreamParser defined?" "what does sanitize_line take?" "what is in laguna_tui/text.py?"
QUESTION ?=
FOLDER ?= .

.PHONY: demo run test fuzz lint bench clean

demo: $(READY)
	@for question in $(if $(QUESTION),"$(QUESTION)",$(DEMO)); do \
	  echo "asking the bundled model about $(FOLDER): $$question"; \
	  $(BIN)/laguna-tui ask --stats --folder "$(FOLDER)" "$$question" || exit 1; \
	done

run: $(READY)
	@$(BIN)/laguna-tui --folder "$(FOLDER)"

test: $(READY)
	$(BIN)/python -m pytest

# The property tests alone, with examples that were never tried before.
fuzz: $(READY)
	LAGUNA_TUI_FUZZ=1 $(BIN)/python -m pytest -m hypothesis

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: $(READY)
	$(BIN)/python -m tests.bench

# llama.cpp is compiled here unless a wheel is at hand: several minutes, so the build's own output is shown.
$(READY): pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "laguna-tui needs Python 3.11 or newer; name one with: make PYTHON=python3.12")'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "installing; compiling llama.cpp takes 5 to 15 minutes the first time"
	$(BIN)/python -m pip install --disable-pip-version-check --config-settings=cmake.verbose=true --verbose -e '.[dev]' 2>&1 \
	  | $(PYTHON) packaging/build_progress.py
	touch $@

clean:
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
