# The front door. `make help` lists what there is; CMakePresets.json holds how each kind of build is made.

JOBS ?= $(shell nproc)
PREFIX ?= /usr/local
FUZZ_SECONDS ?= 60
TIDY ?= nonzero cli tests
# Warnings are errors where CI runs; anyone else's newer compiler may warn.
WERROR ?= $(if $(filter true 1,$(CI)),ON,OFF)

dependencies := .ci/install-dependencies
python := build/venv/bin/python
venv := build/venv/.made
example := examples/data/debian-packages.mtx
# Ninja's progress line suits a terminal; a log wants only what went wrong.
quiet := $(if $(MAKE_TERMOUT),,--quiet)
configure = mkdir -p build && { cmake --preset $(1) -DNONZERO_WERROR=$(WERROR) >build/configure-$(1).log 2>&1 || \
  { cat build/configure-$(1).log; exit 1; }; }
build = cmake --build --preset $(1) -j$(JOBS) $(2) -- $(quiet)
# Without git, as in a tarball, what lies there.
files = $$(git ls-files '*.cpp' '*.hpp' '*.cu' '*.cuh' 2>/dev/null || \
  find nonzero cli tests fuzz bench examples -name '*.[ch]pp' -o -name '*.cu*')

# Of the files named on its input, those that can be compiled here: the tests of the card need CUDA.
compiled = if grep -q tests/gpu/cuda/ build/release/compile_commands.json; then cat; else grep -v ^tests/gpu/cuda/; fi

.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help demo test format check check-format check-tidy check-includes check-headers sanitize fuzz bench peers cuda \
  gpu-test gpu-sanitize install clean card dependencies dependencies-checks dependencies-peers

help: ## list what make can do
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-15s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: dependencies ## build, look at a real graph, check every kernel on it and on generated matrices; PageRank, heat, solve
	@$(call configure,release)
	@$(call build,release,--target nz)
	@build/release/cli/nz spy $(example)
	@build/release/cli/nz check $(example) poisson2d:200 fem:8 rmat:12 dense_rows:20000 empty_rows:50000 tridiagonal:100000
	@build/release/cli/nz pagerank $(example) --names $(example:.mtx=.names)
	@build/release/cli/nz heat --dim 2 --cells 64 --steps 300
	@build/release/cli/nz solve poisson2d:300

test: dependencies $(venv) ## build and run all tests
	@$(call configure,release)
	@$(call build,release)
	@ctest --preset release -j$(JOBS) --progress

format: dependencies-checks ## lay out all C++ as .clang-format says
	@clang-format -i $(files)

check: check-format check-includes check-headers check-tidy ## all checks below

check-format: dependencies-checks ## C++ is laid out as .clang-format says
	@clang-format --dry-run -Werror $(files)

check-includes: ## includes follow the arrows of docs/architecture.md
	@.ci/check-includes

check-headers: dependencies ## every header compiles alone, those of GPU kernels as the emulator sees them
	@$(call configure,release)
	@$(call build,release,--target all_verify_interface_header_sets)
	@git ls-files '*_internal.hpp' 'cli/*.hpp' 'tests/*.hpp' 'fuzz/*.hpp' 'bench/*.hpp' | \
	  xargs -r -P$(JOBS) -n1 g++ -std=c++20 -w -fsyntax-only -I. -x c++
	@printf '%s\n' nonzero/gpu/*.cuh nonzero/gpu/kernels/*.cuh nonzero/gpu/convert/*.cuh | \
	  xargs -P$(JOBS) -n1 g++ -std=c++20 -w -fsyntax-only -I. -include nonzero/gpu/emulator/language_internal.hpp -x c++

check-tidy: dependencies-checks ## clang-tidy finds nothing in the folders of TIDY (nonzero cli tests)
	@$(call configure,release)
	@git ls-files $(foreach folder,$(TIDY),'$(folder)/*.cpp') | grep -v ^tests/install/ | $(compiled) | \
	  xargs -P$(JOBS) -n1 clang-tidy --quiet -p build/release 2>build/tidy.log || { tail build/tidy.log; exit 1; }

sanitize: dependencies $(venv) ## run all tests under AddressSanitizer and UndefinedBehaviorSanitizer
	@$(call configure,sanitize)
	@$(call build,sanitize)
	@ctest --preset sanitize -j$(JOBS) --progress

fuzz: dependencies-checks ## fuzz each reader, and the kernels, for FUZZ_SECONDS (60)
	@$(call configure,fuzz)
	@$(call build,fuzz)
	@.ci/fuzz $(FUZZ_SECONDS) $(JOBS)

bench: dependencies-checks $(venv) ## measure how fast files are read
	@$(call configure,bench)
	@$(call build,bench)
	@$(python) bench/read.py

peers: dependencies-peers $(venv) ## install and build what nz bench --peers compares with
	@$(call configure,release)
	@$(call build,release)
	@grep -h 'Peers for' build/configure-release.log

cuda: dependencies ## build with what runs on NVIDIA GPUs
	@$(call configure,cuda)
	@$(call build,cuda)

gpu-test: card dependencies ## build with CUDA and test every kernel on the card; LARGE=1: past 2^31 nonzeros too
	@$(call configure,cuda)
	@$(call build,cuda,--target nonzero_tests)
	@.ci/gpu-test build/cuda/tests/nonzero_tests $(if $(filter 1,$(LARGE)),large)

gpu-sanitize: card dependencies ## run our kernels on the card under compute-sanitizer's four tools
	@$(call configure,cuda)
	@$(call build,cuda,--target nonzero_tests)
	@.ci/gpu-sanitize build/cuda/tests/nonzero_tests

install: dependencies ## install library, headers, CMake package and nz under PREFIX (/usr/local)
	@$(call configure,release)
	@$(call build,release)
	@DESTDIR=$(DESTDIR) cmake --install build/release --prefix $(PREFIX)

clean: ## remove all that was built
	@rm -rf build

# Said before minutes of building, not after. WSL has no such file, but an nvidia-smi.
card:
	@nvidia-smi -L >/dev/null 2>&1 || [ -e /dev/nvidiactl ] || \
	  { echo "This machine has no NVIDIA GPU, or no driver for it: there is nothing to test on."; exit 1; }

dependencies:
	@$(dependencies)

dependencies-checks:
	@$(dependencies) checks

dependencies-peers:
	@$(dependencies) peers

$(venv): tests/requirements.txt | dependencies
	@echo "Making build/venv"
	@python3 -m venv --clear build/venv
	@build/venv/bin/pip install --quiet --disable-pip-version-check --only-binary=:all: -r tests/requirements.txt
	@touch $@
