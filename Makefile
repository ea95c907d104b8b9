GO        ?= go
SHELL     := /bin/bash
FUZZTIME  ?= 30s
TIMEOUT   ?= 20m

# The server that the tests run against; internal/weedtest has it too.
WEED_VERSION := 4.53
GOLANGCI     := v2.15.0
GORELEASER   := v2.15.1

VERSION := $(shell git describe --tags --always --dirty 2>/dev/null)
LDFLAGS := $(if $(VERSION),-X main.version=$(VERSION))

.DEFAULT_GOAL := help
.PHONY: help build weed test lint vet fuzz generate demo bench goreleaser-check clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-18s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

build: ## build bin/weedlc
	$(GO) build -ldflags '$(LDFLAGS)' -o bin/weedlc ./cmd/weedlc

weed: ## build bin/weed, the server of the tests, unless a fitting one is on PATH (10 minutes)
	@if weed version 2>/dev/null | grep -q ' $(WEED_VERSION) '; then \
		echo "using $$(command -v weed)"; \
	else \
		$(MAKE) --no-print-directory bin/weed; \
	fi

bin/weed: go.tool.mod go.tool.sum
	$(GO) build -modfile=go.tool.mod -o $@ github.com/seaweedfs/seaweedfs/weed
	@touch $@

test: weed lint vet ## lint, vet and run every test, end to end included, with the race detector
	$(GO) test -race -timeout $(TIMEOUT) ./...

lint: bin/golangci-lint-$(GOLANGCI) ## run golangci-lint
	$< run ./...

# A build of its own: the linter's requirements do not move the module's.
bin/golangci-lint-$(GOLANGCI):
	GOBIN=$(CURDIR)/bin $(GO) install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(GOLANGCI)
	mv bin/golangci-lint $@

vet:
	$(GO) vet ./...

fuzz: ## run every fuzz target for FUZZTIME (30s)
	@set -e; \
	for dir in $$(grep -rl --include='*_test.go' '^func Fuzz' . | xargs -r -n1 dirname | sort -u); do \
		for target in $$(grep -h '^func Fuzz' $$dir/*_test.go | sed 's/^func \(Fuzz[A-Za-z0-9_]*\).*/\1/'); do \
			echo "== $$dir $$target"; \
			$(GO) test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) $$dir; \
		done; \
	done

generate: ## write docs/cli, completions, and what the guides show of commands
	$(GO) test ./commands -run TestGenerated -update

demo: weed build ## show two passes on a throwaway SeaweedFS (15 seconds)
	$(GO) run ./internal/demo -weedlc bin/weedlc

# BENCH takes flags: make bench BENCH='-scenario cold-all -runs 5'; -help lists
# the scenarios.
BENCH ?= -json bin/bench.json -markdown docs/performance.md

bench: weed build bin/weed-short ## measure weedlc beside what else does its job (on a quiet machine; an hour)
	$(GO) build -tags s3tests -o bin/weedlc-short ./cmd/weedlc
	$(GO) run ./internal/bench $(BENCH)

# With a day of ten seconds, for passes whose log has to reach back some days.
bin/weed-short: go.tool.mod go.tool.sum
	$(GO) build -modfile=go.tool.mod -tags s3tests -o $@ github.com/seaweedfs/seaweedfs/weed
	@touch $@

goreleaser-check: ## check goreleaser.yaml (the first time builds goreleaser, 5 minutes)
	$(GO) run github.com/goreleaser/goreleaser/v2@$(GORELEASER) check

clean: ## remove what was built
	rm -rf bin dist
