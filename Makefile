# Mithril. `make` lists the targets.

GO      ?= go
ENGINE  ?= valkey9.1
PORT    ?= 7979
NODES   ?= 7000
SEED    ?=
FUZZ    ?= 30s
HOST    ?= $(shell hostname)
CLUSTER := .cache/run

STATICCHECK := honnef.co/go/tools/cmd/staticcheck@v0.7.0

.DEFAULT_GOAL := help
.PHONY: help build run stop test contract soak lint race fuzz bench sharing sim mutants invariants golden uringabi generate servers node FORCE

help: ## list the targets
	@awk -F':.*## ' '/^[a-z]+:.*## /{printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

build: bin/mithril ## build bin/mithril

bin/mithril: FORCE
	@mkdir -p bin
	$(GO) build -trimpath -o bin/mithril ./cmd/mithril

run: build ## start a six-node cluster and the proxy in front of it
	@$(GO) run ./tools/demo --engine '$(ENGINE)' --port '$(PORT)' --nodes '$(NODES)' --dir $(CLUSTER)

stop: ## stop what `make run` has started
	@$(GO) run ./tools/demo --dir $(CLUSTER) --stop

servers: ## fetch the servers that run and test use, beside the system
	@$(GO) run ./tools/servers

# npm writes this file last, so that a tree that has it is whole.
NODE_MODULES := tests/clients/node/node_modules/.package-lock.json

node: $(NODE_MODULES) ## install the clients for Node.js that test uses, beside its sources

$(NODE_MODULES): tests/clients/node/package.json tests/clients/node/package-lock.json
	@command -v node >/dev/null && command -v npm >/dev/null || { echo 'make: the tests need Node.js 20 or later with npm (Debian: apt-get install nodejs npm)' >&2; exit 1; }
	cd tests/clients/node && npm ci --ignore-scripts

test: build servers node lint uringabi race ## run all tests
	$(GO) test ./asm/... ./bench/... ./cmd/... ./src/... ./tools/...
	$(GO) test -count=1 ./tests/...
	cd tests/clients && $(GO) test -count=1 ./...

LAYOUTS := 1-no 1-yes 2-no 2-yes 4-no 4-yes

contract: build servers ## run the live tests with every number of workers and way of sharing, for about 50 minutes
	for layout in $(LAYOUTS); do $(GO) test -count=1 ./tests/live/... -layout $$layout || exit 1; done

soak: servers ## run the field cases and the histories at their full size, for about two hours
	$(GO) test -count=1 -v -timeout 3h -run 'TestCase_(C0[168]|I0[139]|I10|L0[1234])|TestSameReplies' ./tests/live/... -soak

# ST1005 takes the "..." at the end of a usage for punctuation.
lint: ## check the house rules
	$(GO) vet ./...
	$(GO) run $(STATICCHECK) -checks inherit,-ST1005 ./...
	cd tests/clients && $(GO) vet ./... && $(GO) run $(STATICCHECK) ./...
	$(GO) test -count=1 ./tests/layout

# The workers of the simulator take turns, so that no race can be found there, but wrong pointers can.
race: servers ## run the unit tests and the program under the race detector, and check the simulator's pointers
	$(GO) test -race ./asm/... ./src/...
	$(GO) test -gcflags=mithril/...=-d=checkptr ./tests/sim -count=1 -seeds 100
	@mkdir -p bin
	$(GO) build -race -tags invariants -o bin/mithril-race ./cmd/mithril
	MITHRIL_BIN=$(CURDIR)/bin/mithril-race $(GO) test -count=1 ./tests/live/metamorphic -rounds 8

fuzz: ## run every fuzz target for FUZZ (30s)
	@$(GO) run ./tools/fuzzall -time '$(FUZZ)'

# All arms and cells take about half an hour; then come the two main cells with the proxy on a CPU of its own. Status 3
# means that there is a result, but some cells were too noisy to count.
ARMS    ?= reference,io_uring,epoll,haproxy,nutcracker,direct

bench: build servers ## measure all arms in all cells, paired, and the main cells on CPUs apart
	$(GO) build -o bin/sixnode ./bench/sixnode
	bin/sixnode -cells standard -arms $(ARMS) -proxy-cpus "" -other-cpus "" -host $(HOST) -o bench/results/ || test $$? = 3
	bin/sixnode -cells quick -arms $(ARMS) -host $(HOST)-apart -o bench/results/

# Both engines in the quick cells, then io_uring in all. SHARING overrides flags: the last one of a kind counts.
SHARING ?=
sharing = $(1):worker-threads=$(2),$(1):worker-threads=$(2):backend-sharding=yes

sharing: build servers ## measure backend-sharding no against yes with 2 and 4 workers, paired
	$(GO) build -o bin/sixnode ./bench/sixnode
	bin/sixnode -pairs -arms $(call sharing,epoll,2),$(call sharing,epoll,4) -cells quick \
		-proxy-cpus "" -other-cpus "" -host $(HOST)-sharing-epoll -o bench/results/ $(SHARING) || test $$? = 3
	bin/sixnode -pairs -arms $(call sharing,io_uring,2),$(call sharing,io_uring,4) -cells sharing \
		-proxy-cpus "" -other-cpus "" -host $(HOST)-sharing -o bench/results/ $(SHARING) || test $$? = 3

instructions: ## count the instructions of a request under callgrind
	$(GO) run ./bench/instructions -o bench/results

sim: ## run 5000 seeds of the simulator, or show one with SEED=n
	$(GO) test ./tests/sim -count=1 $(if $(SEED),-v -run 'TestSeed$$' -seed '$(SEED)' -show,-seeds 5000)

mutants: ## build the program with one defect after the other, each of which the simulator must notice
	$(GO) test ./tests/sim/mutation -count=1 -timeout 60m -all

invariants: ## run the simulator and the unit tests with released buffers overwritten
	$(GO) test -tags invariants ./src/... ./tests/sim

# giouring needs the linker to let it into the Go runtime.
uringabi: ## compare the io_uring binding with giouring's
	$(GO) vet -tags giouring ./tests/uringabi
	$(GO) test -tags giouring -ldflags=-checklinkname=0 ./tests/uringabi

# From within the package's directory, the go command prints what a test says that passes.
golden: ## write the golden scripts anew and name those that change
	cd tests/golden && $(GO) test -count=1 -rewrite

generate: servers ## make the command tables again from real servers
	$(GO) run ./tools/gentable
