# The front door. `make help` lists what there is; CMakePresets.json holds how each kind of build is made.

JOBS ?= $(shell nproc)
PREFIX ?= /usr/local
FUZZ_SECONDS ?= 60
TIDY ?= nonzero cli tests
# Warnings are errors where CI runs; anyone else's newer compiler may warn.
WERROR ?= $(if $(filter true 1,$(CI)),ON,OFF)

has_gpu := { nvidia-smi -L >/dev/null 2>&1 || [ -e /dev/nvidiactl ]; }  # WSL has no such file, but an nvidia-smi
nvcc := $(shell PATH="$$PATH:$${CUDA_PATH:-/usr/local/cuda}/bin" command -v nvcc)
# CUDA=1 builds for NVIDIA GPUs, CUDA=0 does not. Unless told, where there is a GPU; to install, where there is nvcc.
asked := $(CUDA)
CUDA ?= $(if $(nvcc),$(shell $(has_gpu) && echo 1))
kind := $(if $(filter 1,$(CUDA)),cuda,release)
install_kind := $(or $(if $(asked),$(kind)),$(if $(nvcc),cuda,release))
# An nvcc that nobody asked for, and that does not work here, is no reason to fail.
unasked := $(if $(filter 1,$(asked)),-DNONZERO_CUDA=ON,-DNONZERO_CUDA=AUTO)

dependencies := .ci/install-dependencies
python := build/venv/bin/python
venv := build/venv/.made
venv_peers := build/venv/.peers
example := examples/data/debian-packages.mtx
configure = mkdir -p build && { cmake --preset $(1) -DNONZERO_WERROR=$(WERROR) $(2) >build/configure-$(1).log 2>&1 || \
  { cat build/configure-$(1).log; exit 1; }; }
configure_kind = $(call configure,$(1),$(if $(filter cuda,$(1)),$(unasked)))
build = .ci/build $(1) -j$(JOBS) $(2)
# Without git, as in a tarball, what lies there.
files = $$(git ls-files '*.cpp' '*.hpp' '*.cu' '*.cuh' 2>/dev/null || \
  find nonzero cli tests fuzz bench examples -name '*.[ch]pp' -o -name '*.cu*')
# CHANGED=1: only what changed since the branch left main, see .ci/changed-files.
headers = $(if $(filter 1,$(CHANGED)),.ci/changed-files headers 100,git ls-files '*.hpp' '*.cuh')
sources = $(if $(filter 1,$(CHANGED)),.ci/changed-files sources 40,\
  git ls-files $(foreach folder,$(TIDY),'$(folder)/*.cpp') | grep -v -e ^tests/install/ -e ^tests/gpu/cuda/)

# Minutes of CPU time that nz takes to compile, with CUDA and without.
minutes := $(if $(filter cuda,$(kind)),20,6)
nz := build/$(kind)/cli/nz
show = echo && echo "\$$ nz $(1)" && $(nz) $(1)

.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help demo test format check check-format check-tidy check-includes check-headers sanitize race fuzz nightly bench peers \
  cuda gpu-test gpu-sanitize install clean require-gpu dependencies dependencies-checks dependencies-peers

help: ## list what make can do
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-15s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: dependencies ## build nz, check every kernel on a real graph and generated matrices; PageRank, heat, a solve, pictures
	@[ -x $(nz) ] || echo "Building nz takes about $$(( ($(minutes) + $(JOBS) - 1) / $(JOBS) )) minutes on $(JOBS) cores, the first time only."
	@$(call configure_kind,$(kind))
	@$(call build,$(kind),--target nz)
	@mkdir -p build/demo
	@echo "The demo takes about half a minute."
	@$(call show,spy $(example) -o build/demo/packages.png)
	@$(call show,check $(example) poisson2d:200 fem:8 rmat:12 dense_rows:20000 empty_rows:50000 tridiagonal:100000)
	@$(call show,pagerank $(example) --names $(example:.mtx=.names) --top 5)
	@$(call show,heat --dim 2 --cells 128 --steps 2000 --plot build/demo/heat.png)
	@$(call show,solve poisson2d:300 --plot build/demo/residual.png)
	@echo
	@echo "Pictures: build/demo/packages.png, build/demo/heat.png, build/demo/residual.png"

test: dependencies $(venv) ## build and run all tests; CUDA=1: built for NVIDIA GPUs (default: where there is one)
	@$(call configure_kind,$(kind))
	@$(call build,$(kind))
	@ctest --preset $(kind) -j$(JOBS) --progress

format: dependencies-checks ## lay out all C++ as .clang-format says
	@clang-format -i $(files)

check: check-format check-includes check-headers check-tidy ## all checks below; CHANGED=1: the last two of what changed only

check-format: dependencies-checks ## C++ is laid out as .clang-format says
	@clang-format --dry-run -Werror $(files)

check-includes: ## includes follow the arrows of docs/architecture.md
	@.ci/check-includes

check-headers: dependencies ## every header compiles alone, those of GPU kernels as the emulator sees them
	@$(headers) | xargs -r -P$(JOBS) -n1 .ci/check-header

check-tidy: dependencies-checks ## clang-tidy finds nothing in the folders of TIDY (nonzero cli tests)
	@$(call configure,tidy)
	@$(sources) | xargs -r -P$(JOBS) -n1 clang-tidy --quiet -p build/tidy 2>build/tidy.log || { tail build/tidy.log; exit 1; }

sanitize: dependencies-checks $(venv) ## run the tests under AddressSanitizer and UndefinedBehaviorSanitizer
	@$(call configure,sanitize)
	@$(call build,sanitize)
	@ctest --preset sanitize -j$(JOBS) --progress

fuzz: dependencies-checks ## fuzz each reader, and the kernels, for FUZZ_SECONDS (60)
	@$(call configure,sanitize)
	@$(call build,sanitize,--target fuzzers)
	@.ci/fuzz $(FUZZ_SECONDS) $(JOBS)

race: dependencies-checks ## run the kernels from many threads at once under ThreadSanitizer
	@$(call configure,thread)
	@$(call build,thread,--target nonzero_tests)
	@ctest --preset thread -j$(JOBS) --progress -R nonzero_tests

# About an hour on two cores.
nightly: check race dependencies-checks $(venv) ## what .ci/run leaves out: all checks, all tests under sanitizers, long fuzzing
	@$(call configure,sanitize)
	@$(call build,sanitize)
	@ctest --preset nightly -j$(JOBS) --progress
	@.ci/fuzz $$(( 4 * $(FUZZ_SECONDS) )) $(JOBS)

bench: dependencies-checks $(venv) ## measure how fast files are read
	@$(call configure,bench)
	@$(call build,bench)
	@$(python) bench/read.py

peers: dependencies-peers $(venv_peers) ## install and build what nz bench --peers compares with
	@$(call configure_kind,$(kind))
	@$(call build,$(kind))
	@grep -h 'Peers for' build/configure-$(kind).log

cuda: dependencies ## build with what runs on NVIDIA GPUs
	@$(call configure,cuda,-DNONZERO_CUDA=ON)
	@$(call build,cuda)

gpu-test: require-gpu dependencies ## build with CUDA and test every kernel on the GPU; LARGE=1: past 2^31 nonzeros too
	@$(call configure,cuda,-DNONZERO_CUDA=ON)
	@$(call build,cuda,--target nonzero_tests)
	@.ci/gpu-test build/cuda/tests/nonzero_tests $(if $(filter 1,$(LARGE)),large)

gpu-sanitize: require-gpu dependencies ## run our kernels on the GPU under compute-sanitizer's four tools
	@$(call configure,cuda,-DNONZERO_CUDA=ON)
	@$(call build,cuda,--target nonzero_tests)
	@.ci/gpu-sanitize build/cuda/tests/nonzero_tests

install: dependencies ## install library, headers, packages for CMake and pkg-config, and nz under PREFIX (/usr/local)
	@$(call configure_kind,$(install_kind))
	@$(call build,$(install_kind),--target nonzero nz)
	@DESTDIR=$(DESTDIR) cmake --install build/$(install_kind) --prefix $(PREFIX)

clean: ## remove all that was built
	@rm -rf build

# Said before minutes of building, not after.
require-gpu:
	@$(has_gpu) || { echo "This machine has no NVIDIA GPU, or no driver for it: there is nothing to test on."; exit 1; }

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

# Where a package is not available, its peer is left out.
$(venv_peers): bench/peers/requirements.txt $(venv)
	@echo "Adding libraries to build/venv"
	@build/venv/bin/pip install --quiet --disable-pip-version-check --only-binary=:all: -r bench/peers/requirements.txt && \
	  touch $@ || echo "$< could not be installed"
