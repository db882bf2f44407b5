# The targets, with what they do: make help
GO ?= go
STRIPPED = -trimpath -ldflags='-s -w'

# The tests need no target: go test ./...
.DEFAULT_GOAL = help
.PHONY: build check rules sim proto lint bench long mutants help

build: ## the three programs, stripped, into bin/, with their sizes
	@mkdir -p bin
	$(GO) build $(STRIPPED) -o bin/drover ./cmd/drover
	CGO_ENABLED=0 $(GO) build $(STRIPPED) -o bin/drover-hook ./cmd/drover-hook
	CGO_ENABLED=0 $(GO) build $(STRIPPED) -o bin/drover-shim ./cmd/drover-shim
	@ls -l bin | awk 'NR > 1 { printf "%-12s %6.1f MB\n", $$NF, $$5 / 1e6 }'

check: ## what CI runs
	.ci/run

rules: ## which rules of the ledger tests cover, and which not
	$(GO) run ./internal/rules/report

sim: ## simulations: SEED=n STEPS=m runs one, without SEED all of them
	$(GO) test ./sim -count=1 $(if $(SEED),-v -run=TestSeed -seed=$(SEED)) $(if $(STEPS),-steps=$(STEPS))

proto: ## generate Go from the protobuf files
	$(GO) tool -modfile=tools/go.mod buf generate

lint: ## golangci-lint, built from tools/lint/go.mod
	$(GO) tool -modfile=tools/lint/go.mod golangci-lint run

bench: ## the figures of docs/benchmarks.md, measured here
	$(GO) run ./internal/figures

long: ## the longer runs: race detector everywhere, a thousand seeds
	$(GO) test -race -timeout=60m ./...
	$(GO) test ./sim -count=1 -timeout=60m -seeds=1000
	$(GO) test ./keep/store/raftlog -count=1 -timeout=60m -run=Forgets -crashes=2000

mutants: ## plants known mistakes, fails if the tests miss one
	$(GO) run ./internal/mutants/plant

help: ## this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "%-8s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)
