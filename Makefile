# The front door. Every target installs the packages that it lacks, so that a fresh Debian 12 needs nothing first. Elsewhere the packages
# must be there: CMake names those that are not (libcore/dependencies.cmake).
SHELL := /bin/bash
.DELETE_ON_ERROR:

# The MPI of this build: openmpi, or mpich in a folder of its own.
MPI ?= openmpi
BUILD ?= $(if $(filter mpich,$(MPI)),build-mpich,build)
PREFIX ?= /usr/local
JOBS ?= $(shell nproc)
FUZZ_SECONDS ?= 600
# Kernels for GPUs: auto, where nvcc and what it takes are found, on or off.
CUDA ?= auto
# Targets of make build: tools, or the name of one.
TOOLS ?= tools
# DEPS=off installs and fetches nothing.
DEPS ?= on
# WERROR=on turns warnings of compilers into errors, as continuous integration does.
WERROR ?= off

build_packages := $(shell awk -F'|' '/^  "/ {split($$4, packages, ","); print packages[1]}' libcore/dependencies.cmake)
ifeq ($(MPI),mpich)
  build_packages := $(filter-out libopenmpi-dev openmpi-bin,$(build_packages)) libmpich-dev mpich
  mpi_settings := -DMPI_EXECUTABLE_SUFFIX=.mpich
else ifneq ($(MPI),openmpi)
  $(error MPI=$(MPI) is not supported: use openmpi or mpich, or plain CMake with -DMPI_HOME)
endif
demo_packages := procps
# From iproute2 on: a Slurm cluster on this machine, and a second MPI.
test_packages := bsdextrautils bzip2 catch2 hdf5-tools jq libboost-context-dev lmod lz4 man-db mandoc procps python3-torch python3-venv strace \
  xz-utils zsh zstd \
  iproute2 munge slurm-client slurmctld slurmd libmpich-dev mpich
# What makes programs find their libraries beside them.
bundle_packages := hdf5-tools patchelf
package_packages := dpkg-dev file patchelf
# oneDNN is what products are compared with; its CMake package asks for OpenCL.
bench_packages := libbenchmark-dev libdnnl-dev ocl-icd-opencl-dev
lint_packages := clang-format shellcheck universal-ctags
# Before clang 16 ranges of libstdc++ do not compile. The sanitizers are a package of their own; CMake looks for OpenMP, of which one version
# at a time can be installed: not for everybody.
fuzz_packages := clang-19 libclang-rt-19-dev libomp-19-dev
all_packages := $(build_packages) $(demo_packages) $(test_packages) $(bundle_packages) $(package_packages) $(bench_packages) $(lint_packages)

# $(call install,packages): where there is apt-get, only what is missing, through sudo where we are not root.
define install
if [ $(DEPS) != off ] && command -v apt-get >/dev/null && command -v dpkg-query >/dev/null; then \
  missing=$$(for p in $(1); do dpkg-query -W -f='$${Status}' $$p 2>/dev/null | grep -q 'ok installed' || echo $$p; done); \
  if [ -n "$$missing" ]; then \
    echo "installing:" $$missing >&2; \
    sudo=$$([ "$$(id -u)" = 0 ] || echo sudo); \
    { $$sudo apt-get update -qq && \
      $$sudo env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $$missing; } \
      || { echo "packages could not be installed; DEPS=off builds with what is there" >&2; false; }; \
  fi; \
fi
endef

# cuDNN's C++ front end, headers alone, which no Debian package has: beside the build, where there are nvcc and cuDNN.
define fetch_cudnn_frontend
folder=$(BUILD)/cudnn-frontend; nvcc=$$(realpath "$$(command -v nvcc || echo $${CUDA_PATH:-/usr/local/cuda}/bin/nvcc)"); \
cudnn=$$(ls "$$(dirname "$$nvcc")"/../include/cudnn_graph.h /usr/include/cudnn_graph.h /usr/include/*-linux-gnu/cudnn_graph.h 2>/dev/null); \
if [ $(DEPS) != off ] && [ $(CUDA) != off ] && [ -e "$$nvcc" ] && [ -n "$$cudnn" ] && [ ! -e $$folder/include/cudnn_frontend.h ]; then \
  { $(call install,python3-venv); } && echo "fetching: nvidia-cudnn-frontend" >&2 && python3 -m venv $$folder-venv && \
  $$folder-venv/bin/python -m pip install --quiet --retries 2 --disable-pip-version-check --no-deps --target $$folder nvidia-cudnn-frontend==1.32.0 && rm -rf $$folder/cudnn \
    || echo "nvidia-cudnn-frontend could not be fetched" >&2; \
  rm -rf $$folder-venv; \
fi
endef

# With ccache, where that is installed: it takes what any clone has compiled.
export CCACHE_BASEDIR := $(CURDIR)
export CCACHE_NOHASHDIR := 1
# $(call configure,ON|OFF tests,ON|OFF benchmarks)
define configure
$(fetch_cudnn_frontend); \
if command -v ccache >/dev/null; then export CMAKE_C_COMPILER_LAUNCHER=ccache CMAKE_CXX_COMPILER_LAUNCHER=ccache; fi; \
cmake -S . -B $(BUILD) -G Ninja -DBUILD_TESTING=$(1) -DDT_BENCHMARKS=$(2) -DCUDA=$(CUDA) $(mpi_settings) \
  -DCMAKE_COMPILE_WARNING_AS_ERROR=$(WERROR) -DCMAKE_INSTALL_PREFIX=$(PREFIX) >$(BUILD)/configure.log 2>&1 \
  || { cat $(BUILD)/configure.log >&2; exit 1; }; \
sed -n 's/^-- \(CUDA=[a-z]*: \)/\1/p' $(BUILD)/configure.log >&2
endef

.PHONY: help demo build test test-sanitized test-long gpu-bundle fuzz bench lint install package deps clean
.NOTPARALLEL:

help:
	@echo 'make demo       build, and run the pipeline: text, shards, training, a kill, resume, verify, merge'
	@echo 'make test       build and run every test'
	@echo 'make unit       build and run the unit tests, but the slow ones: three minutes'
	@echo 'make check T=data/loader  build and run one test, by its name or a pattern'
	@echo 'make format     clang-format of all sources'
	@echo 'make test-sanitized  the unit tests with AddressSanitizer and UndefinedBehaviorSanitizer'
	@echo 'make test-long  the tests that take long: many more kills and starts, training quality, other tokenizers on a gigabyte'
	@echo 'make gpu-bundle a folder for machines with a GPU, and $(BUILD)/gpu-bundle.tar.xz of it: gpu-check.sh in it tries there what dt promises'
	@echo 'make fuzz       every format that users bring against libFuzzer, FUZZ_SECONDS ($(FUZZ_SECONDS)) each'
	@echo 'make build      the tools, in $(BUILD)/bin; TOOLS=dt-merge: one of them; with MPI=mpich, as demo, test, bench and install, of MPICH in build-mpich/bin'
	@echo 'make bench      benchmarks'
	@echo 'make lint       layering, headers, formatting, shell scripts'
	@echo 'make install    the tools, job scripts and guides, in PREFIX (default $(PREFIX)), below DESTDIR where that is given'
	@echo 'make package    $(BUILD)/packages: a relocatable archive and a Debian package, whose names say the MPI that they need'
	@echo 'make deps       the Debian packages of all of the above but fuzz'
	@echo 'make clean      remove $(BUILD)/ and demo/'
	@echo
	@echo 'Targets install the Debian packages that they lack, where there is apt-get. With DEPS=off nothing is installed or fetched.'

deps:
	@$(call install,$(all_packages))

build:
	@$(call install,$(build_packages))
	@mkdir -p $(BUILD)
	@$(call configure,OFF,OFF)
	@cmake --build $(BUILD) -j $(JOBS) --target $(TOOLS)

demo: build
	@$(call install,$(demo_packages))
	@PATH="$(CURDIR)/$(BUILD)/bin:$$PATH" bash jobs/demo.sh demo

# The benchmarks are built, too, so that they keep compiling.
test: lint
	@$(call install,$(build_packages) $(test_packages) $(bundle_packages) $(package_packages) $(bench_packages))
	@mkdir -p $(BUILD)
	@$(call configure,ON,ON)
	@cmake --build $(BUILD) -j $(JOBS)
	@bash tests/run.sh $(BUILD)

# Apart from those of MPI, whose library leaks by design.
test-sanitized:
	@$(call install,$(build_packages) $(test_packages))
	@mkdir -p $(BUILD)-sanitized
	@cmake -S . -B $(BUILD)-sanitized -G Ninja -DBUILD_TESTING=ON $(mpi_settings) -DCMAKE_CXX_FLAGS='-fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer' >$(BUILD)-sanitized/configure.log
	@cmake --build $(BUILD)-sanitized -j $(JOBS) --target unit_tests
	@LSAN_OPTIONS=suppressions=$(CURDIR)/tests/sanitizers.supp ctest --test-dir $(BUILD)-sanitized --output-on-failure -L '^(unit|slow)$$'

test-long: test
	@bash tests/run.sh $(BUILD) long

# Without nvcc there is nothing to bundle.
gpu-bundle: CUDA := on
gpu-bundle:
	@$(call install,$(build_packages) $(test_packages) $(bundle_packages))
	@mkdir -p $(BUILD)
	@$(call configure,ON,OFF)
	@cmake --build $(BUILD) -j $(JOBS) --target tools gpu_tests
	@bash tests/gpu/bundle.sh $(BUILD) $(BUILD)/gpu-bundle

fuzz:
	@$(call install,$(build_packages) $(fuzz_packages))
	@mkdir -p $(BUILD)-fuzz
	@cmake -S . -B $(BUILD)-fuzz -G Ninja -DDT_FUZZERS=ON -DBUILD_TESTING=OFF $(mpi_settings) -DCMAKE_C_COMPILER=clang-19 -DCMAKE_CXX_COMPILER=clang++-19 >$(BUILD)-fuzz/configure.log
	@cmake --build $(BUILD)-fuzz -j $(JOBS) --target fuzzers
	@bash tests/fuzz/run.sh $(BUILD)-fuzz $(FUZZ_SECONDS)

bench:
	@$(call install,$(build_packages) $(bench_packages))
	@mkdir -p $(BUILD)
	@$(call configure,OFF,ON)
	@cmake --build $(BUILD) -j $(JOBS)
	@bash tests/bench/run.sh $(BUILD)

lint:
	@$(call install,$(build_packages) $(lint_packages))
	@bash tests/lint/run.sh

# With TOOLS, those and the documents: components are named so.
install: build
	@$(if $(filter tools,$(TOOLS)),cmake --install $(BUILD) --prefix $(PREFIX), \
	  for component in $(TOOLS) documents; do cmake --install $(BUILD) --prefix $(PREFIX) --component $$component || exit; done)

package: build
	@$(call install,$(package_packages))
	@cpack --config $(BUILD)/CPackConfig.cmake

clean:
	rm -rf $(BUILD) demo

# The inner loop: a build folder that has tests is used as it is.
.PHONY: unit check format
define configure_tests
grep -qs '^BUILD_TESTING:BOOL=ON' $(BUILD)/CMakeCache.txt || { \
  { $(call install,$(build_packages) $(test_packages)); } && mkdir -p $(BUILD) && { $(call configure,ON,OFF); }; \
}
endef

unit:
	@$(configure_tests)
	@cmake --build $(BUILD) -j $(JOBS) --target unit_tests
	@bash tests/run.sh $(BUILD) unit

check:
	@$(configure_tests)
	@python3 tests/check.py $(BUILD) '$(T)'

format:
	@$(call install,clang-format)
	@git ls-files -z '*.cpp' '*.hpp' '*.cu' '*.cuh' | xargs -0 -n 16 -P $(JOBS) clang-format -i
