# Marple
#
#   make build   fill build/: marple, libmarple.so, libmarple-io.so, libmarple-core.so, libmarple-ranks.so
#   make demo    build, run a small MPI program under Marple, show its report
#   make test    everything a contributor runs; installs what is missing through apt where it can
#   make judge   what depends on how fast the machine is and what else it does: a table of right and wrong
#   make test-long   the tests with larger numbers, and all fuzzing: hours; PART= for some of it, see test/long.sh
#   make lint    formatting, vet, staticcheck, complexity, C, scripts, spelling, who may use whom
#   make install PREFIX=/opt/marple   put it where it stays, or can be moved as a whole; DESTDIR= for packagers
#   make dist deb rpm   packages, in build/
#   make bench   what measuring costs, side by side with running bare
#   make schema  write the JSON Schemas of run.json and of model files anew
#
# CI=1 makes a missing tool or MPI an error instead of a skipped suite.

CC      ?= gcc
CFLAGS  ?= -O2 -g
VERSION ?= 0.2.0
WERROR  ?= -Werror
WARN    := -Wall -Wextra $(WERROR) -Wno-format-truncation -Wno-unknown-warning-option
BUILD   := build
GEN     := $(BUILD)/gen

SHIM_C  := $(wildcard cshim/*.c cshim/adapters/*.c)
PMPI_C  := $(wildcard pmpi/*.c)
GEN_C   := $(GEN)/functions.gen.c $(GEN)/wrappers.gen.c $(GEN)/fortran.gen.c
OBJECTS := $(SHIM_C:%.c=$(BUILD)/obj/%.o) $(PMPI_C:%.c=$(BUILD)/obj/%.o) $(GEN_C:$(GEN)/%.c=$(BUILD)/obj/gen/%.o)
HEADERS := $(wildcard cshim/*.h cshim/adapters/*.h cshim/include/*.h pmpi/*.h) $(GEN)/settings.gen.h $(GEN)/functions.gen.h
SHIM_FLAGS = -std=gnu11 -D_GNU_SOURCE -fPIC -fasynchronous-unwind-tables -fvisibility=hidden -ftls-model=initial-exec $(WARN) $(CFLAGS) -I$(GEN) -Icshim -Ipmpi

POSIX_C := $(wildcard cshim/posix/*.c)
CORES   := $(BUILD)/libmarple-core.so $(BUILD)/libmarple-ranks.so

# With what is embedded: knowledge, schemas, the page.
GO_SOURCES := $(shell find analysis bridge cmd -type f -not -name '*_test.go' -not -path '*/testdata/*') go.mod go.sum
GO_C       := cshim/core.h cshim/starts.h
STATICCHECK := honnef.co/go/tools/cmd/staticcheck@v0.7.0
# Cognitive complexity of a function: above 30 is a reason to divide it, and none is above COMPLEX.
GOCOGNIT := github.com/uudashr/gocognit/cmd/gocognit@v1.3.0
COMPLEX  := 46

.PHONY: build mock demo test test-go judge test-long lint bench schema install dist deb rpm clean

# The writer of OTF2 traces, where that format's library is installed.
OTF2 := $(shell printf '\043include <otf2/otf2.h>\n' | $(CC) -E -xc - >/dev/null 2>&1 && echo $(BUILD)/marple-otf2)

build: $(BUILD)/libmarple.so $(BUILD)/libmarple-io.so $(CORES) $(BUILD)/marple $(BUILD)/marple-machine $(OTF2) $(BUILD)/licenses

$(GEN)/settings.gen.h: $(wildcard analysis/setting/*.go cshim/gen/*.go) | $(GEN)/tools
	@mkdir -p $(GEN)
	@go run ./cshim/gen $@

$(GEN)/functions.gen.h $(GEN)/arguments.gen.h $(GEN_C) &: pmpi/functions.txt $(wildcard pmpi/gen/*.go) | $(GEN)/tools
	@mkdir -p $(GEN)
	@go run ./pmpi/gen pmpi/functions.txt $(GEN)

analysis/mpi/table.go: pmpi/functions.txt $(wildcard pmpi/gen/*.go)
	@go run ./pmpi/gen pmpi/functions.txt $@

$(BUILD)/obj/gen/%.o: $(GEN)/%.c $(HEADERS)
	@mkdir -p $(@D)
	@echo "CC $<"
	@$(CC) $(SHIM_FLAGS) -c $< -o $@

$(BUILD)/obj/%.o: %.c $(HEADERS)
	@mkdir -p $(@D)
	@echo "CC $<"
	@$(CC) $(SHIM_FLAGS) -c $< -o $@

# Bound at load time (-z now): the first call of anything must not run the dynamic linker. What debuggers want lies beside it,
# in libmarple.so.debug: every process of a job reads this file.
$(BUILD)/libmarple.so: $(OBJECTS)
	@echo "LD $@"
	@$(CC) $(CFLAGS) -shared -o $@ $^ -Wl,-soname,libmarple.so -Wl,-z,now -Wl,-z,nodelete -ldl -lm -lpthread
	@objcopy --only-keep-debug $@ $@.debug && objcopy --strip-unneeded --add-gnu-debuglink=$@.debug $@

# What is declared in the C library's headers is defined here, as it is without their checks.
$(BUILD)/libmarple-io.so: $(POSIX_C:%.c=$(BUILD)/obj/%.o)
	@echo "LD $@"
	@$(CC) $(CFLAGS) -shared -o $@ $^ -Wl,-soname,libmarple-io.so -Wl,-z,now -Wl,-z,nodelete -ldl
	@objcopy --strip-unneeded $@
$(POSIX_C:%.c=$(BUILD)/obj/%.o): SHIM_FLAGS += -fno-builtin -U_FORTIFY_SOURCE -D_LARGEFILE64_SOURCE

# The core's Go is the one in use with a runtime that is a good guest (it sends its host no signals, takes none, and keeps
# no descriptors: see bridge/gen); the tree is laid for each build, since the Go in use may have changed. The second core is
# the first without the report, for ranks that make none.
CORE_GO    := $(GEN)/goroot
FROZEN     := $(GEN)/overlay.json
CORE_DEBUG := asyncpreemptoff=1,containermaxprocs=0,updatemaxprocs=0
$(CORES) &: $(GO_SOURCES) $(GO_C) $(wildcard bridge/gen/*) $(FROZEN) | $(GEN)/tools
	@go run ./bridge/gen $(CORE_GO)
	@set -e; for core in $(CORES); do echo "GO $$core"; \
	  GO=$(abspath $(CORE_GO))/bin/go GOROOT=$(abspath $(CORE_GO)) GOTOOLCHAIN=local CGO_ENABLED=1 cmd/install/gobuild -buildmode=c-shared \
	    -overlay $(FROZEN) -trimpath -tags "$$(basename $$core .so | sed 's/libmarple-//')" -ldflags '-s -w -X=runtime.godebugDefault=$(CORE_DEBUG)' -o $$core ./bridge; \
	  rm -f $${core%.so}.h; done

# What is built knows the models as they are once read and checked: reading them costs every job some 10 ms.
$(FROZEN): $(GO_SOURCES) | $(GEN)/tools
	@echo "GEN $@"
	@go run ./analysis/knowledge/freeze $(@D)

$(BUILD)/marple-commands: $(GO_SOURCES) $(FROZEN) | $(GEN)/tools
	@echo "GO $@"
	@CGO_ENABLED=0 cmd/install/gobuild -overlay $(FROZEN) -trimpath -ldflags '-s -w -X=main.version=$(VERSION)' -o $@ ./cmd/marple

$(BUILD)/marple: $(BUILD)/marple-commands
	@echo "GO $@"
	@CGO_ENABLED=0 cmd/install/gobuild -trimpath -ldflags '-s -w' -o $@ ./cmd/front

# What building needs is looked for before anything is compiled.
$(GEN)/tools: go.mod cmd/install/tools
	@mkdir -p $(GEN)
	@CC='$(CC)' cmd/install/tools
	@touch $@

# Made here, since whoever installs may have no Go.
$(BUILD)/licenses: go.mod go.sum LICENSE cmd/install/licenses | $(GEN)/tools
	@echo "LICENSES $@"
	@cmd/install/licenses $@

# Debian has the library under a name of its own.
$(BUILD)/marple-otf2: cmd/otf2/write.c cmd/otf2/read.c cmd/otf2/otf2.h
	@mkdir -p $(BUILD)
	@echo "CC $@"
	@$(CC) -std=gnu11 -D_GNU_SOURCE $(WARN) $(CFLAGS) -o $@ $(filter %.c,$^) -lopen-trace-format2 2>/dev/null || $(CC) -std=gnu11 -D_GNU_SOURCE $(WARN) $(CFLAGS) -o $@ $(filter %.c,$^) -lotf2

$(BUILD)/marple-machine: $(wildcard cmd/machine/*)
	@mkdir -p $(BUILD)
	@echo "CC $@"
	@$(CC) -std=gnu11 -D_GNU_SOURCE $(WARN) $(CFLAGS) -o $@ $(filter %.c,$^) -ldl -lpthread

MOCK := $(BUILD)/mock/bin/mpirun $(if $(shell command -v gfortran),$(BUILD)/mock/bin/mpifort)
mock: $(MOCK)
$(MOCK) &: $(wildcard test/mock/lib/* test/mock/fortran/* test/mock/include/* test/mock/mockrun/*.go test/mock/world/*.go) test/mock/build.sh
	@echo "MOCK $(BUILD)/mock"
	@test/mock/build.sh $(BUILD)/mock

# No more than it needs: the mock only where there is no MPI.
demo: $(BUILD)/libmarple.so $(CORES) $(BUILD)/marple $(if $(shell command -v mpicc && command -v mpirun),,mock)
	@test/demo.sh $(BUILD)

test:
	@test/setup.sh
	@$(MAKE) --no-print-directory lint build mock
	@$(MAKE) --no-print-directory test-go

# Nothing here may depend on how fast the machine is: the time limit is there to end what hangs. Most tests wait for processes
# that they have started: more go on at a time than there are cores.
SUITE := go run ./test/suite
RACE  := record callgraph waitstate profile pipeline
test-go:
	@$(SUITE) -- "-vet off -parallel 4 -timeout 60m -skip ^TestJudge ./..." "-vet off -race -timeout 60m $(RACE:%=./analysis/%)" "-vet off -race -timeout 60m -run Concurrent ./analysis/symbol"

# One after the other: what is judged wants the cores for its ranks.
judge: build mock
	@$(SUITE) -judge -- "-count 1 -p 1 -timeout 3h -run ^TestJudge ./test/..."

test-long:
	@test/setup.sh
	@$(MAKE) --no-print-directory build mock
	test/long.sh $(PART)

lint: $(GEN)/settings.gen.h $(GEN)/functions.gen.h
	@echo "gofmt"; test -z "$$(gofmt -l analysis bridge cmd cshim pmpi test)" || { gofmt -d analysis bridge cmd cshim pmpi test; exit 1; }
	@echo "go vet"; go vet ./...
	@echo "staticcheck"; go run $(STATICCHECK) ./...
	@echo "complexity"; go run $(GOCOGNIT) -over $(COMPLEX) -ignore '_test|testdata' analysis bridge cmd pmpi test 2>/dev/null
	@test/lint/lint.sh '$(filter-out -W%,$(SHIM_FLAGS))' $(SHIM_C) $(PMPI_C) $(POSIX_C)
	@echo "rooms"; go test ./test/lint

bench: build
	-test/peers.sh ipm dlb readers >/dev/null 2>&1
	go run ./test/bench $(BUILD)
	go test -run '^$$' -bench 'Log' ./analysis/record
	go test -run '^$$' -bench 'Replay' -benchtime 5x ./analysis/waitstate
	go test -run '^$$' -bench . -benchtime 100ms -count 5 ./analysis/selection/...
	go test -run '^$$' -bench Large -count 3 ./analysis/page
	go test -run '^$$' -bench Page -benchtime 3x -count 3 ./test/e2e
	go test -run '^$$' -bench 'Recognizer|Feed' -count 5 ./analysis/diagnosis ./analysis/pattern
	go test -run '^$$' -bench 'Diagnose|Find|Load' -benchtime 3x ./analysis/diagnosis
	go test -run '^$$' -bench 'Trials' -benchtime 5x ./analysis/store  # 10,000 trials: a minute to make them
	go test -run '^$$' -bench 'Jobs' -benchtime 5x ./analysis/store    # a million jobs: another two

schema:
	go run ./analysis/run/schemagen ./analysis/run analysis/run/schema.json
	go run ./analysis/run/schemagen ./analysis/model analysis/model/schema.json
	go run ./analysis/run/schemagen ./analysis/compare analysis/compare/schema.json

# Everything finds the rest by its own place, so the tree can be moved.
PREFIX  ?= /usr/local
DEST     = $(DESTDIR)$(PREFIX)
SHARE    = $(DEST)/share
install: build
	install -d $(DEST)/bin $(DEST)/lib/pkgconfig $(DEST)/include $(SHARE)/man/man1 $(SHARE)/modulefiles/marple \
	  $(SHARE)/bash-completion/completions $(SHARE)/zsh/site-functions $(SHARE)/fish/vendor_completions.d
	install $(BUILD)/marple $(BUILD)/marple-commands $(BUILD)/marple-machine $(OTF2) $(DEST)/bin
	install $(BUILD)/libmarple.so $(BUILD)/libmarple-io.so $(CORES) $(DEST)/lib
	install -m 644 $(wildcard cshim/include/*) $(DEST)/include
	install -d $(DEST)/lib/python $(SHARE)/doc/marple
	cp -R $(BUILD)/licenses $(SHARE)/doc/marple
	install -m 644 cmd/python/marple.py $(DEST)/lib/python
	$(BUILD)/marple man $(SHARE)/man/man1
	$(BUILD)/marple completion bash > $(SHARE)/bash-completion/completions/marple
	$(BUILD)/marple completion zsh > $(SHARE)/zsh/site-functions/_marple
	$(BUILD)/marple completion fish > $(SHARE)/fish/vendor_completions.d/marple.fish
	sed 's/@VERSION@/$(VERSION)/' cmd/install/marple.pc.in > $(DEST)/lib/pkgconfig/marple.pc
	sed 's/@VERSION@/$(VERSION)/' cmd/install/modulefile.tcl.in > $(SHARE)/modulefiles/marple/$(VERSION)
	sed 's/@VERSION@/$(VERSION)/' cmd/install/modulefile.lua.in > $(SHARE)/modulefiles/marple/$(VERSION).lua

# Packages of the installed tree, in build/: one that can be unpacked anywhere, Debian's, and RPM's.
ARCH ?= $(shell uname -m)
STAGE = $(BUILD)/stage
define staged
	rm -rf $(STAGE)
	$(MAKE) --no-print-directory install DESTDIR=$(STAGE) PREFIX=$(1) >/dev/null
endef

dist: build
	$(call staged,/marple-$(VERSION))
	tar -C $(STAGE) --owner=0 --group=0 --sort=name -czf $(BUILD)/marple-$(VERSION)-linux-$(ARCH).tar.gz marple-$(VERSION)

deb: build
	$(call staged,/usr)
	install -d $(STAGE)/DEBIAN
	sed 's/@VERSION@/$(VERSION)/; s/@ARCH@/'$$(dpkg --print-architecture)/ cmd/install/control.in > $(STAGE)/DEBIAN/control
	dpkg-deb --root-owner-group --build $(STAGE) $(BUILD)

rpm: build
	rpmbuild -bb --build-in-place --define "version $(VERSION)" --define "_topdir $(abspath $(BUILD))/rpm" --define "_rpmdir $(abspath $(BUILD))" cmd/install/marple.spec

clean:
	rm -rf $(BUILD)
