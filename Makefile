# Marple. `make build` fills build/; `make demo`, `make test`, `make lint`, `make bench` explain themselves.

CC      ?= gcc
CFLAGS  ?= -O2 -g
WARN    := -Wall -Wextra -Werror -Wno-format-truncation
BUILD   := build
GEN     := $(BUILD)/gen

SHIM_C  := $(wildcard cshim/*.c)
PMPI_C  := $(wildcard pmpi/*.c)
GEN_C   := $(GEN)/functions.gen.c $(GEN)/wrappers.gen.c
OBJECTS := $(SHIM_C:%.c=$(BUILD)/obj/%.o) $(PMPI_C:%.c=$(BUILD)/obj/%.o) $(GEN_C:$(GEN)/%.c=$(BUILD)/obj/gen/%.o)
HEADERS := $(wildcard cshim/*.h cshim/include/*.h pmpi/*.h) $(GEN)/settings.gen.h $(GEN)/functions.gen.h
SHIM_FLAGS = -std=gnu11 -D_GNU_SOURCE -fPIC -fvisibility=hidden -ftls-model=initial-exec $(WARN) $(CFLAGS) -I$(GEN) -Icshim -Ipmpi

.PHONY: build clean
build: $(BUILD)/libmarple.so $(BUILD)/libmarple-core.so $(BUILD)/marple

$(GEN)/settings.gen.h: $(wildcard analysis/setting/*.go cshim/gen/*.go)
	@mkdir -p $(GEN)
	@go run ./cshim/gen $@

$(GEN)/functions.gen.h $(GEN_C) &: pmpi/functions.txt $(wildcard pmpi/gen/*.go)
	@mkdir -p $(GEN)
	@go run ./pmpi/gen pmpi/functions.txt $(GEN)

$(BUILD)/obj/gen/%.o: $(GEN)/%.c $(HEADERS)
	@mkdir -p $(@D)
	@echo "CC $<"
	@$(CC) $(SHIM_FLAGS) -c $< -o $@

$(BUILD)/obj/%.o: %.c $(HEADERS)
	@mkdir -p $(@D)
	@echo "CC $<"
	@$(CC) $(SHIM_FLAGS) -c $< -o $@

# Bound at load time (-z now): the first call of anything must not run the dynamic linker.
$(BUILD)/libmarple.so: $(OBJECTS)
	@echo "LD $@"
	@$(CC) -shared -o $@ $^ -Wl,-soname,libmarple.so -Wl,-z,now -Wl,-z,nodelete -ldl -lm -lpthread

# Stripped, and with preemption by signals off: a guest sends its host no signals.
GO_SOURCES := $(shell find analysis bridge cmd -name '*.go' -not -name '*_test.go') go.mod go.sum
$(BUILD)/libmarple-core.so: $(GO_SOURCES) cshim/core.h analysis/run/schema.json
	@echo "GO $@"
	@CGO_ENABLED=1 go build -buildmode=c-shared -trimpath -ldflags '-s -w -X=runtime.godebugDefault=asyncpreemptoff=1' -o $@ ./bridge
	@rm -f $(BUILD)/libmarple-core.h

$(BUILD)/marple: $(GO_SOURCES) analysis/run/schema.json
	@echo "GO $@"
	@CGO_ENABLED=0 go build -trimpath -ldflags '-s -w' -o $@ ./cmd/marple

clean:
	rm -rf $(BUILD)
