# failwise: build, test, try. `make help` lists the targets.
SHELL       := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := build

CACHE   ?= $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/failwise
TOOLS   := $(CACHE)/tools
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo devel)
COMMIT  ?= $(shell git rev-parse --short HEAD 2>/dev/null || echo none)
LDFLAGS := -s -w -X main.version=$(VERSION) -X main.commit=$(COMMIT)
GOTEST  ?= go test -race -shuffle=on -timeout 20m

.PHONY: help setup-demo build test lint demo bench matrix crash scale docs setup fuzz release-check clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

build: ## build the static binary ./failwise
	CGO_ENABLED=0 go build -trimpath -ldflags '$(LDFLAGS)' -o failwise .

setup: ## install what the demo and the tests need (servers, nftables, iproute2)
	@bash .ci/setup

setup-demo:
	@bash .ci/setup $(or $(FLAVOUR),mariadb)

demo: setup-demo build ## break a real primary and watch a replica take over (FLAVOUR=mariadb|mysql FAULT=kill|freeze|refuse|drop)
	./failwise demo $(if $(FLAVOUR),--flavour $(FLAVOUR)) $(if $(FAULT),--fault $(FAULT)) $(DEMO_FLAGS)

test: setup ## run every test, on real servers where they are there
	$(GOTEST) ./...

lint: $(TOOLS)/golangci-lint-2.15.0 ## vet, style, import arrows, cross-builds
	@test -z "$$(gofmt -l $$(git ls-files '*.go'))" || { echo 'not gofmt-ed:'; gofmt -l $$(git ls-files '*.go'); exit 1; }
	go vet ./...
	GOOS=darwin GOARCH=arm64 CGO_ENABLED=0 go vet ./...
	@! grep -n 'files:.*"\*\*' .golangci.yml || { echo 'a depguard pattern must start with $${config-path}: a clone may lie below a folder of that name'; exit 1; }
	$(TOOLS)/golangci-lint-2.15.0 run ./...

bench: setup ## benchmarks (figures for docs/performance.md)
	go test -run '^$$' -bench . -benchmem ./...

matrix: setup ## every fault and every compound case on both flavours; writes docs/fault-matrix.md
	FAILWISE_MATRIX=full go test -count=1 -timeout 60m -parallel 6 -run '^Test(Matrix|Compound)$$' ./failover/watch/... -args -write-docs

crash: setup ## a plan's process killed at every step, candidates lost at every step, on both flavours
	FAILWISE_MATRIX=full go test -race -count=1 -timeout 60m ./failover/promote

scale: ## 300 clusters of fake servers in one watch, a tenth of them failing, for five minutes
	FAILWISE_MATRIX=full go test -count=1 -timeout 25m -v -run '^TestScale$$' ./commands

docs: build ## regenerate the generated pages of docs/
	go test ./rules/... ./commands/... -run 'Docs' -update

FUZZTIME ?= 2m
fuzz: ## run each fuzz target for FUZZTIME (default 2m)
	@bash .ci/fuzz $(FUZZTIME)

release-check: $(TOOLS)/goreleaser-2.15.1 $(TOOLS)/govulncheck-1.9.0 ## what a release needs: goreleaser check, known vulnerabilities (needs the vulnerability database)
	$(TOOLS)/goreleaser-2.15.1 check
	$(TOOLS)/govulncheck-1.9.0 ./...

$(TOOLS)/golangci-lint-2.15.0:
	@echo 'building golangci-lint 2.15.0 from source (once, about two minutes)'
	go -C .ci/tools/golangci-lint build -o $@ github.com/golangci/golangci-lint/v2/cmd/golangci-lint

$(TOOLS)/goreleaser-2.15.1:
	@echo 'building goreleaser 2.15.1 from source (once, several minutes)'
	go -C .ci/tools/goreleaser build -o $@ github.com/goreleaser/goreleaser/v2

$(TOOLS)/govulncheck-1.9.0:
	go -C .ci/tools/govulncheck build -o $@ golang.org/x/vuln/cmd/govulncheck

clean: ## remove what the build made
	rm -rf failwise build dist
