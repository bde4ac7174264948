# Isoline: everything a developer or CI does, by one name each. 'make' alone lists the targets.
#
# CUDA=0       build without CUDA: no compiler is fetched or needed
# CUDA_PATH=p  use the CUDA 12.9 toolkit in this folder instead of the compiler that make fetches into .tools/cuda
# CARGO_TARGET_DIR, DEVICE (auto, cpu, cuda, cuda:N: what demo and bench run on), SECONDS=n (fuzz: for each target)
# SITE=folder  of update-site; by default target/update-site
# PREFIX, LIBDIR, DESTDIR: where install puts the library (/usr/local, its lib, and nothing)

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.NOTPARALLEL:

CUDA ?= 1
DEVICE ?= auto
SECONDS ?= 60
ifneq ($(words $(CURDIR) $(or $(CARGO_TARGET_DIR),target)),2)
$(error cannot build: make takes a space in a path for the end of a name (got $(CURDIR), $(or $(CARGO_TARGET_DIR),target)); use folders without spaces)
endif
TARGET := $(abspath $(or $(CARGO_TARGET_DIR),target))
SITE ?= $(TARGET)/update-site
RELEASE := $(TARGET)/release
MVN := mvn --batch-mode --no-transfer-progress -f fiji-plugin/pom.xml

ifeq ($(CUDA),0)
export ISOLINE_CUDA_ARCHS := none
endif
export CARGO_TERM_COLOR ?= never

.PHONY: help setup build test lint fuzz oracles test-workers sanitize-address sanitize-threads valgrind miri out-of-memory reproducible oldest-rust bench comparison header reference plugin wheel install jar-all dist update-site test-updater test-platforms demo demo-cluster gpu-bundle data screenshots clean
.PHONY: setup-build setup-test setup-demo setup-jar-all

help: ## list the targets
	@echo 'make TARGET, where TARGET is one of'
	@sed -nE 's/^([a-z-]+):.*## (.*)/\1|\2/p' $(MAKEFILE_LIST) | \
	    while IFS='|' read -r name text; do printf '  %-16s %s\n' "$$name" "$$text"; done
	@echo
	@sed -nE '2,7s/^# ?//p' $(MAKEFILE_LIST)

setup-build:
	@CUDA=$(CUDA) scripts/setup-system.sh build
ifneq ($(CUDA),0)
	@if [ -z "$${CUDA_PATH:-}" ]; then scripts/setup-cuda.sh; fi
endif

setup-test: setup-build
	@scripts/setup-system.sh test
	@scripts/setup-python.sh test lint

setup-demo: setup-build
	@scripts/setup-system.sh demo
	@scripts/setup-python.sh

setup-jar-all: setup-build
	@scripts/setup-system.sh jar-all
	@scripts/setup-python.sh platforms

build: setup-build ## library (release) with the CUDA kernels embedded, and the header
	cargo build --release --locked
	@ls -l $(RELEASE)/libisoline.so

header: setup-build ## regenerate include/isoline.h
	scripts/header.sh

reference: ## the HTML reference of the C API and the C++ interface: target/reference
	@scripts/setup-system.sh lint
	scripts/reference.sh $(TARGET)/reference

plugin: build ## the Fiji plugin jar, with the native library inside
	@scripts/setup-system.sh plugin
	scripts/plugin.sh $(RELEASE)

wheel: ## after build: the Python package with the library inside: target/wheel/isoline-VERSION-py3-none-PLATFORM.whl
	@scripts/setup-python.sh
	@rm -rf $(TARGET)/wheel
	ISOLINE_LIBRARY=$${ISOLINE_LIBRARY:-$(RELEASE)} .tools/venv/bin/python -m pip wheel --quiet --no-deps --wheel-dir $(TARGET)/wheel ./python
	@ls -l $(TARGET)/wheel

install: ## after build: library, headers, pkg-config file and CMake package, for C and C++ programs
	@scripts/install.sh $(RELEASE)

jar-all: setup-jar-all ## the Fiji plugin jar for every platform: target/platforms/Isoline_-VERSION.jar
	scripts/jar-all.sh $(TARGET)

dist: jar-all ## an archive for each platform of jar-all, with checksums and a list of what is in them: target/dist
	scripts/dist.sh $(TARGET)
	@scripts/setup-system.sh test-platforms
	tests/dist_test.sh $(TARGET)/dist

update-site: jar-all ## the folder of an ImageJ update site with the jar of jar-all
	scripts/update_site.py $(TARGET)/platforms/Isoline_-*.jar $(SITE)

test-updater: setup-test plugin ## ImageJ's own updater installs the plugin from an update site (not part of test)
	.tools/venv/bin/python tests/imagej_updater.py $$(ls fiji-plugin/target/Isoline_-*.jar | grep -vE -- '-(sources|javadoc)\.jar') $(TARGET)/imagej-updater

test-platforms: jar-all ## the libraries of jar-all under Wine and qemu-user (not part of test)
	@scripts/setup-system.sh test-platforms
	scripts/test-platforms.sh $(TARGET)

demo: setup-demo plugin ## a real ImageJ runs the plugin on real images; pictures go to demo-output/
	scripts/demo.sh $(DEVICE)

demo-cluster: ## after build: a volume of 2 GB on a Dask cluster, of which processes are killed: the bits of one (not part of test)
	@scripts/setup-python.sh test
	ISOLINE_LIBRARY=$(RELEASE) .tools/venv/bin/python scripts/demo_cluster.py

lint: setup-build ## format and lint: Rust, shell, Python, Java, spelling, documents
	@scripts/setup-system.sh lint
	@scripts/setup-python.sh lint
	scripts/lint.sh

test: setup-test ## format, lint, Rust, header, C, C++, Python, examples, Java, macros in ImageJ
	scripts/test.sh $(TARGET)

fuzz: setup-build ## fuzz the C API with AddressSanitizer, each target for SECONDS (60) (not part of test)
	@scripts/setup-system.sh fuzz
	scripts/fuzz.sh $(SECONDS)

test-workers: setup-test ## the Python tests that start and end processes of workers, or end the command (not part of test)
	ISOLINE_CUDA_ARCHS=$${ISOLINE_CUDA_ARCHS:-90} cargo build --locked
	ISOLINE_LIBRARY=$(TARGET)/debug .tools/venv/bin/python -m pytest --quiet -m workers python

sanitize-address: setup-test ## the C tests, and each fuzz target for 30 s, with AddressSanitizer (not part of test)
	@scripts/setup-system.sh fuzz
	ISOLINE_CUDA_ARCHS=$${ISOLINE_CUDA_ARCHS:-90} cargo build --locked
	ISOLINE_NO_VALGRIND=1 tests/c/run.sh $(TARGET)/debug
	scripts/fuzz.sh 30

sanitize-threads: setup-build ## the C tests and the library with ThreadSanitizer (not part of test)
	@scripts/setup-system.sh sanitize-threads
	scripts/sanitize-threads.sh $(TARGET)

oracles: build ## compare with OpenCV, SciPy, scikit-image and ITK (not part of test)
	@scripts/setup-python.sh test
	scripts/oracles.sh $(RELEASE)

valgrind: build ## the C tests under valgrind, with the library of 'make build' (not part of test)
	@scripts/setup-system.sh test
	ISOLINE_NO_ASAN=1 tests/c/run.sh $(RELEASE)

miri: setup-build ## unit tests and calls of the C API under Miri, which finds undefined behaviour (not part of test)
	scripts/miri.sh $(TARGET)

out-of-memory: setup-build ## every allocation of 16 KiB and more of every operation fails in turn (not part of test)
	ISOLINE_TEST_EVERY=1 cargo test --locked --test out_of_memory -- --nocapture

reproducible: setup-build ## build the library in two folders and compare the bytes (not part of test)
	scripts/reproducible.sh $(TARGET)

oldest-rust: setup-build ## build and test with the oldest Rust of Cargo.toml (not part of test)
	scripts/oldest-rust.sh $(TARGET)

bench: plugin ## speed tables: variants, sizes, ratios (not part of test)
	@scripts/setup-python.sh test
	scripts/bench.sh $(DEVICE)

comparison: build ## docs/comparison.md: results and times beside other programs, measured on this machine (not part of test)
	@scripts/setup-python.sh test
	.tools/venv/bin/python scripts/make_comparison.py --run $(RELEASE)

gpu-bundle: setup-test plugin ## target/gpu-bundle: everything needed to test and measure on a machine with a GPU
	scripts/gpu-bundle.sh $(TARGET)

data: ## make tests/data again from its sources
	scripts/setup-python.sh
	.tools/venv/bin/python scripts/make_data.py

screenshots: demo ## make the pictures of docs/images again, dialogs among them
	@scripts/setup-system.sh test
	scripts/screenshots.sh $(RELEASE)

clean: ## remove what was built (tools in .tools stay)
	rm -rf $(TARGET) fiji-plugin/target demo-output
