# Development of LabelGrove.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
export PATH := $(CURDIR)/$(BIN):$(PATH)

.PHONY: build
build: $(VENV)/.ready  ## compile what changed; the extension lands beside the Python sources
	@test -f build/dev/build.ninja || cmake --preset dev -DPython_EXECUTABLE=$(CURDIR)/$(BIN)/python
	@cmake --build --preset dev

$(VENV)/.ready: pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/pip install -q "scikit-build-core>=1.1" "nanobind>=3.1" cmake ninja
	$(BIN)/pip install -q --no-build-isolation -e ".[bench,dev,docs,test]" \
	    -C wheel.cmake=false -C wheel.py-api=py3 -C editable.mode=inplace
	touch $@
