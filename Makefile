# `make` prints the menu. Every target is a line or two that you could type by hand.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
RUFF := $(BIN)/ruff
CPP = $(wildcard core/*/*.[ch]pp core/include/labelgrove/*.hpp bindings/*.[ch]pp)
# Programs in the environment call each other by name: CMake calls ninja.
export PATH := $(CURDIR)/$(BIN):$(PATH)
# pip leaves byte-compilation to Python on import. If Python may not store the result, every process
# spends its first four seconds on it.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help
help:  ## this menu
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-8s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

# `demo` and `test` compile while pip installs the rest. Ninja must not share make's two jobs.
.PHONY: demo
demo:  ## watch a model learn from a stream of real text
	@$(MAKE) --no-print-directory -j 2 extension $(VENV)/.package
	@$(BIN)/labelgrove demo

.PHONY: serve
serve:  ## run a service that learns the demo's text while you use it, at http://127.0.0.1:8787
	@$(MAKE) --no-print-directory -j 2 extension $(VENV)/.package
	@$(PIP) $(EDITABLE) -e ".[service]"
	@$(BIN)/labelgrove serve build/served --demo

.PHONY: test
test:  ## run the tests of the core, then those of the package
	@$(MAKE) --no-print-directory -j 2 build $(VENV)/.ready
	$(BIN)/ctest --preset dev
	$(BIN)/python -m pytest -n auto --dist worksteal $(PYTEST)

.PHONY: build
build: build/dev/.configured  ## compile what changed, in place into src/labelgrove
	@MAKEFLAGS= $(BIN)/cmake --build --preset dev

.PHONY: extension
extension: build/dev/.configured
	@MAKEFLAGS= $(BIN)/cmake --build --preset dev --target _core

.PHONY: lint
lint: $(VENV)/.ready  ## check style and likely mistakes
	$(RUFF) check
	$(RUFF) format --check
	$(BIN)/clang-format --dry-run --Werror $(CPP)

.PHONY: format
format: $(VENV)/.ready  ## format the sources and apply automatic fixes
	$(RUFF) check --fix
	$(RUFF) format
	$(BIN)/clang-format -i $(CPP)

.PHONY: types
types: build $(VENV)/.ready  ## run the strict type checker
	$(BIN)/mypy

.PHONY: clang
clang: build/clang/.configured  ## run the core's tests compiled by Clang
	$(BIN)/cmake --build --preset clang
	$(BIN)/ctest --preset clang

.PHONY: arm
arm: build/arm/.configured  ## run the core's tests on ARM, emulated by QEMU
	$(BIN)/cmake --build --preset arm
	$(BIN)/ctest --preset arm

.PHONY: asan
asan: build/asan/.configured $(VENV)/.ready  ## run the tests under AddressSanitizer and UndefinedBehaviorSanitizer
	$(BIN)/cmake --build --preset asan
	$(BIN)/ctest --preset asan
	scripts/pytest-asan

.PHONY: tsan
tsan: build/tsan/.configured  ## run the core's tests under ThreadSanitizer
	$(BIN)/cmake --build --preset tsan
	scripts/fixed-addresses $(BIN)/ctest --preset tsan

FUZZ_MINUTES ?= 60
.PHONY: fuzz
fuzz: build $(VENV)/.ready  ## search for failures with random cases, for an hour (FUZZ_MINUTES)
	$(BIN)/python scripts/fuzz $(FUZZ_MINUTES)

.PHONY: bench
bench: build $(VENV)/.ready  ## run the benchmarks and write docs/benchmarks.md
	$(BIN)/python -m benchmarks --peers

.PHONY: docs
docs: build $(VENV)/.ready  ## build the documentation into docs/_build/html
	$(BIN)/sphinx-build -q -E -W --keep-going -b html docs docs/_build/html

.PHONY: wheel
wheel: $(VENV)/.ready  ## build source archive and wheel into dist, and test the wheel in another folder
	rm -rf dist build/wheel
	$(BIN)/python -m build --outdir dist
	$(BIN)/python -m venv build/wheel
	build/wheel/bin/pip install -q --no-compile --disable-pip-version-check "$$(echo dist/*.whl)[test]"
	$(BIN)/python scripts/test-wheel build/wheel/bin

.PHONY: clean
clean:  ## remove all build products, including the environment
	rm -rf $(VENV) build dist docs/_build src/labelgrove/_core.*.so
	rm -rf .hypothesis .mypy_cache .pytest_cache .ruff_cache

# The environment is created once and updated when its requirements change: first the build tools,
# then the package's dependencies, then tools for tests, linting and documentation. The package is
# installed in place and without its extension, which `build` compiles. Python byte-compiles on
# import, so pip need not compile everything.
PIP := $(BIN)/pip install -q --no-compile --disable-pip-version-check
# The long form, because Debian 12's pip does not know -C.
EDITABLE := --no-build-isolation $(addprefix --config-settings=,wheel.cmake=false wheel.py-api=py3 editable.mode=inplace)

$(VENV)/.tools: pyproject.toml
	@$(PYTHON) -c "import sys; sys.exit(sys.version_info < (3, 11))" || \
	    { echo "LabelGrove needs Python 3.11 or newer: make PYTHON=python3.12 ..." >&2; exit 1; }
	test -x $(BIN)/pip || $(PYTHON) -m venv $(VENV) || \
	    { echo "No virtual environment can be made; on Debian: apt install python3-venv" >&2; exit 1; }
	$(PIP) "scikit-build-core>=1.1" "nanobind>=3.1" cmake ninja
	@touch $@

$(VENV)/.package: $(VENV)/.tools
	$(PIP) $(EDITABLE) -e .
	@touch $@

$(VENV)/.ready: $(VENV)/.package
	$(PIP) $(EDITABLE) -e ".[bench,dev,docs,test]"
	@touch $@

build/%/.configured: CMakePresets.json $(VENV)/.tools
	$(BIN)/cmake --preset $* "-DPython_EXECUTABLE=$(CURDIR)/$(BIN)/python"
	@touch $@
