# The targets with ## are the interface; hack/ does the work.
.DEFAULT_GOAL := help
SHELL := /usr/bin/env bash
MAKEFLAGS += --no-print-directory
TOOL := go tool -modfile=go.tools.mod

# NAME=PACKAGE of everything that is built into bin/.
BINARIES := \
	controlplane=./test/controlplane/server \
	wastenot-scheduler=./cmd/scheduler \
	wastenot-telemetry=./cmd/telemetry \
	wastenot-webhook=./cmd/webhook \
	demo=./cmd/demo

# The demo and the tests start the control plane that `build` made.
export WASTENOT_CONTROLPLANE_BIN := $(CURDIR)/bin/controlplane

# Arguments of the demo, as in: make demo ARGS=--once
ARGS ?=
# Flags of go test, as in: make test TESTFLAGS='-run Quarantine -v'
TESTFLAGS ?=
# How long each fuzz target runs.
FUZZTIME ?= 30s

##@ Use

.PHONY: help
help: ## Show this text
	@awk 'BEGIN {FS = ":.*## "} \
		/^##@ / {printf "\n%s\n", substr($$0, 5)} \
		/^[a-z-]+:.*## / {printf "  %-18s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: demo
demo: build ## Build, then play the demo day; ARGS=--once ends with a table
	@exec bin/demo $(ARGS)

.PHONY: build
build: ## Build every binary into bin/, with progress while the caches are cold
	@for binary in $(BINARIES); do hack/build.sh "$${binary%%=*}" "$${binary#*=}" || exit; done

##@ Check

# Only the test of the chart runs it, so that neither the demo nor an image waits for it.
.PHONY: helm
helm: ## Build the pinned Helm into bin/
	@hack/build.sh helm helm.sh/helm/v4/cmd/helm go.helm.mod

.PHONY: test
test: build helm ## Unit tests with -race, then integration tests on a real control plane
	@hack/test.sh all $(TESTFLAGS)

.PHONY: test-unit
test-unit: ## Only the unit tests
	@hack/test.sh unit $(TESTFLAGS)

.PHONY: test-integration
test-integration: build helm ## Only the integration tests
	@hack/test.sh integration $(TESTFLAGS)

.PHONY: fuzz
fuzz: ## Run every fuzz target for FUZZTIME
	@hack/fuzz.sh $(FUZZTIME)

.PHONY: bench
bench: ## Run the benchmarks and compare them with the saved ones (BENCH, COUNT, PACKAGES)
	@hack/bench.sh

# Flags of the replays, as in: make bench-packing PACKING='-trace default -policy fgd'. DIR is any folder in the
# format of the trace, FAULTS the flags of the run with devices that turn bad.
DIR ?= test/perf/packing/testdata/openb
PACKING ?= -trace all
FAULTS ?= -policy fgd,wastenot -faults 2
MIG ?=
SLICES ?=
# Flags of hack/bench-scheduling.sh, as in: make bench-scheduling SCHEDULING='--pairs 3 --workload gpu-1000/'
SCHEDULING ?=

.PHONY: bench-packing
bench-packing: ## Replay the openb trace under each policy, then with devices that turn bad and good
	@go run ./test/perf/packing -dir $(DIR) $(PACKING)
	@go run ./test/perf/packing -dir $(DIR) $(FAULTS)

.PHONY: bench-mig
bench-mig: ## Replay MIG requests that come and go, and time slices whose users work and rest
	@go run ./test/perf/mig $(MIG)
	@go run ./test/perf/timeslices $(SLICES)

.PHONY: bench-scheduling
bench-scheduling: ## Compare the throughput with stock kube-scheduler, in pairs; takes more than an hour
	@hack/bench-scheduling.sh $(SCHEDULING)

.PHONY: bench-short
bench-short: ## All of these in a form that shows that they work; their figures say little
	@$(MAKE) bench-packing PACKING='-policy fgd,wastenot -seeds 42' FAULTS='-policy wastenot -faults 2 -seeds 42'
	@$(MAKE) bench-mig MIG='-geometry A100 -mix uniform -load 100 -seeds 42 -arrivals 1000' SLICES='-seeds 42'
	@hack/bench-scheduling.sh --short

.PHONY: bench-docs
bench-docs: ## Run the benchmarks whole and write docs/benchmarks anew; takes hours
	@hack/bench-report.sh packing 'Allocation on the openb trace' make bench-packing
	@hack/bench-report.sh mig 'MIG and time slices online' make bench-mig
	@hack/bench-report.sh decision 'What a decision costs' \
		go test -run '^$$' -bench Decision -benchtime 5000x -count 6 ./placement/packing
	@mkdir -p docs/benchmarks && hack/bench-scheduling.sh --out docs/benchmarks/scheduling.md $(SCHEDULING)

.PHONY: lint
lint: ## Run the linters
	@$(TOOL) buf lint
	@$(TOOL) golangci-lint run --allow-parallel-runners ./...

.PHONY: verify
verify: ## Check that all derived files are up to date and the code is clean; changes nothing
	@hack/verify.sh

##@ Maintain

.PHONY: update
update: ## Bring all derived files up to date: go.mod, generated code, CRDs, format
	@hack/update.sh

.PHONY: clean
clean: ## Remove what was built
	rm -rf bin
