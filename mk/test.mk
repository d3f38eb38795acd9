# SPDX-License-Identifier: Apache-2.0
# Test programs and the targets that run them. scripts/run-tests.sh counts the results.

FUZZ_SECONDS ?= 60
SOAK_RUNS    ?= 100000
SOAK_DEATHS  ?= 3000
SOAK_MINUTES ?= 30
# Parts of run-tests.sh, for `make test` and `make test-bare`: all, unless some are named.
PARTS        ?=

# One program for each tests/unit/test_*.c; other .c files there are linked into all of them.
UNIT_SRC     := $(sort $(wildcard tests/unit/test_*.c tests/unit/*/test_*.c))
UNIT_SUPPORT := $(filter-out $(UNIT_SRC),$(sort $(wildcard tests/unit/*.c tests/unit/*/*.c)))
UNIT_BIN     := $(UNIT_SRC:tests/%.c=$(BUILD)/tests/%)
UNIT_OBJ     := $(UNIT_SRC:%.c=$(BUILD)/obj/%.o) $(UNIT_SUPPORT:%.c=$(BUILD)/obj/%.o)
# The parts of the command line can be tested as well, except its main().
UNIT_CLI     := $(filter-out %/main.o,$(CLI_OBJ))
# Likewise for the broker.
BROKER_PARTS := $(patsubst %.c,$(BUILD)/obj/%.o,$(filter-out %/main.c,$(call sources_of,broker)))

# And for the gate: an archive, since most of it needs a network.
GATE_PARTS := $(patsubst %.c,$(BUILD)/obj/%.o,$(filter-out %/main.c,$(call sources_of,gate gate_tls)))

$(BUILD)/libgate.a: $(GATE_PARTS)
	$(call say,AR,$@)
	$(Q)rm -f $@ && $(AR) rcsD $@ $(GATE_PARTS)

FUZZ_SRC := $(sort $(wildcard tests/fuzz/fuzz_*.c))
FUZZ_BIN := $(FUZZ_SRC:tests/%.c=$(BUILD)/tests/%)
FUZZ_OBJ := $(FUZZ_SRC:%.c=$(BUILD)/obj/%.o)

EXAMPLE_BIN := $(patsubst %.c,$(BUILD)/%,$(sort $(wildcard examples/*.c)))

$(UNIT_OBJ) $(FUZZ_OBJ): PIC := -fPIE -Itests/unit

# llhttp is the oracle of the reader of HTTP/1. It comes as sources: Debian's node-llhttp has no
# library of it. Strict: no lenient parsing of input that a proxy may parse differently.
LLHTTP         := /usr/share/llhttp
LLHTTP_INCLUDE := /usr/share/include/llhttp
LLHTTP_OBJ     := $(patsubst %,$(BUILD)/obj/llhttp/%.o,api http llhttp)

$(LLHTTP_OBJ): $(BUILD)/obj/llhttp/%.o: $(LLHTTP)/%.c $(BUILD)/flags
	@mkdir -p $(@D)
	$(call say,CC,$<)
	$(Q)$(CC) -std=gnu17 $(CFLAGS) $(HARDEN) $(SANITIZE) -w -fPIE -DLLHTTP_STRICT_MODE=1 \
		-I$(LLHTTP_INCLUDE) -c -o $@ $<

$(BUILD)/obj/tests/fuzz/fuzz_http1.o: private CPPFLAGS_ALL += -isystem $(LLHTTP_INCLUDE)
$(BUILD)/tests/fuzz/fuzz_http1: $(LLHTTP_OBJ)

$(BUILD)/libcli.a: $(UNIT_CLI) $(BUILD)/sources
	$(call say,AR,$@)
	$(Q)rm -f $@ && $(AR) rcsD $@ $(UNIT_CLI)

$(UNIT_BIN): $(BUILD)/tests/%: $(BUILD)/obj/tests/%.o $(UNIT_SUPPORT:%.c=$(BUILD)/obj/%.o) \
		$(BROKER_PARTS) $(TLS_IMAGE_OBJ) $(BUILD)/libgate.a $(BUILD)/libcli.a $(BUILD)/libserve.a $(BUILD)/libbrig.a
	@mkdir -p $(@D)
	$(call say,LD,$@)
	$(Q)$(CC) $(CFLAGS_ALL) $(LDFLAGS_ALL) -pie -o $@ $(filter %.o,$^) $(filter-out %.o,$^) \
		$(TLS_LIBS) $(SERVE_LIBS) $(LIBS) -lcmocka -lseccomp

$(FUZZ_BIN): $(BUILD)/tests/%: $(BUILD)/obj/tests/%.o $(BROKER_PARTS) $(TLS_IMAGE_OBJ) $(BUILD)/libgate.a $(BUILD)/libserve.a \
		$(BUILD)/libbrig.a
	@mkdir -p $(@D)
	$(call say,LD,$@)
	$(Q)$(CC) $(CFLAGS_ALL) $(LDFLAGS_ALL) -fsanitize=fuzzer -pie -o $@ $^ $(TLS_LIBS) $(SERVE_LIBS) $(LIBS)

# The parts of a program that is embedded only.
VM_LINE_PARTS := $(patsubst %.c,$(BUILD)/obj/%.o,src/vm_line/packet.c src/vm_line/line.c \
	src/framed/frame.c)
$(BUILD)/tests/unit/test_vm_line $(BUILD)/tests/fuzz/fuzz_vm_line: $(VM_LINE_PARTS)

# Likewise of the object that a template loads.
$(BUILD)/tests/unit/test_template_hot_pages: $(BUILD)/obj/src/template/hot_pages.o $(BUILD)/obj/src/template/mappings.o
$(BUILD)/tests/unit/test_template_rehearsal: $(BUILD)/obj/src/template/rehearsal.o \
	$(BUILD)/obj/src/template/hot_pages.o $(BUILD)/obj/src/template/mappings.o

# Examples use what a user of the library has: the public header and the shared library.
$(EXAMPLE_BIN): $(BUILD)/%: %.c include/brig/brig.h $(SHARED) $(BUILD)/flags
	@mkdir -p $(@D)
	$(call say,LD,$@)
	$(Q)$(CC) -Iinclude $(CFLAGS_ALL) -fPIE -pie $(LDFLAGS_ALL) -o $@ $< -L$(BUILD) -lbrig \
		-Wl,-rpath,'$$ORIGIN/..'

.PHONY: unit-programs fuzz-programs examples
unit-programs: $(UNIT_BIN)
fuzz-programs: $(if $(FUZZ),$(FUZZ_BIN),fuzz-variant)
examples: all $(EXAMPLE_BIN) ## build the example programs against libbrig

.PHONY: fuzz-variant
fuzz-variant:
	@$(MAKE) --no-print-directory FUZZ=1 BUILD='$(BUILD)/fuzz' fuzz-programs

# --- running -------------------------------------------------------------------------------------

# Every one of these ends with the line "N passed, M failed".
RUN_TESTS = +@MAKE='$(MAKE)' BUILD='$(BUILD)' FUZZ_SECONDS='$(FUZZ_SECONDS)' scripts/run-tests.sh

SUITES := $(patsubst tests/%,%,$(sort $(patsubst %/,%,$(dir $(wildcard tests/*/test_*.py)))))
# The attacks again, on cells that were made ahead.
SUITES += attack-warm

.PHONY: test check test-unit test-san test-suites fuzz fuzz-smoke soak soak-service soak-hostile test-vm test-bare \
	bench bench-warm test-providers \
	bench-serve bench-gate bench-programs bench-providers lint test-setup
test: test-setup ## run the whole suite, or its PARTS
	$(RUN_TESTS) $(PARTS)
test-unit: test-setup ## run the unit tests
	$(RUN_TESTS) build unit
test-san: test-setup ## run the unit tests under the address and undefined-behaviour sanitizers
	$(RUN_TESTS) san
test-suites: test-setup ## run the pytest suites, as root and as an ordinary user
	$(RUN_TESTS) build suites
check: test-setup ## in minutes: build, form, the lint of what has changed, unit tests, quick tests
	$(RUN_TESTS) build format layers license words shell generated lint-changed unit quick
lint: test-setup ## format, layers, licenses, wording, static analysis, shell scripts
	$(RUN_TESTS) format layers license words lint shell
fuzz-smoke: test-setup ## run each fuzzer over its corpus and a few seconds more
	$(RUN_TESTS) fuzz-smoke
fuzz: test-setup ## run each fuzzer for FUZZ_SECONDS
	$(RUN_TESTS) fuzz
test-setup:
	@scripts/setup.sh test

# test-cli, test-attack, ...: one suite of tests/ each.
.PHONY: $(SUITES:%=test-%)
$(SUITES:%=test-%): test-%: test-setup
	$(RUN_TESTS) build suite:$*

test-providers: test-setup ## run every test of every provider, also those that make test leaves out
	+@BRIG_ALL_PROVIDERS=1 SUITE_TIMEOUT=7200 MAKE='$(MAKE)' BUILD='$(BUILD)' scripts/run-tests.sh build suite:provider suite:gate

test-vm: ## run the suite in a Debian guest with systemd and cgroup v2
	@tests/vm/run
test-bare: ## a clean clone on a Debian with git and make alone: make run and make test there
	@BUILD='$(BUILD)' PARTS='$(PARTS)' tests/bare/run
bench: all ## compare with bare fork+exec, bubblewrap and crun
	@bench/run '$(BUILD)/brig'
bench-warm: all ## compare warm cells with cold ones, bare Python, bubblewrap and crun
	@bench/warm '$(BUILD)/brig'
bench-providers: all ## compare the providers with bare programs and with the tools themselves
	@bench/providers '$(BUILD)/brig'
bench-serve: all ## measure the service against the library in process
	@bench/serve '$(BUILD)/brig'
bench-gate: all ## compare a connection through a cell's gate with a direct one
	@bench/gate '$(BUILD)/brig'
bench-programs: all ## run small programs cold, warm and bare, and compare the results
	@bench/programs '$(BUILD)/brig' --bare
soak: all ## run SOAK_RUNS warm cells in one process and look for what grows
	@bench/soak '$(BUILD)/brig' --runs '$(SOAK_RUNS)'
soak-service: all ## kill the service SOAK_DEATHS times under load; nothing may be lost or left
	@bench/soak-service '$(BUILD)/brig' --deaths '$(SOAK_DEATHS)'
soak-hostile: all ## run an ordinary tenant beside hostile ones for SOAK_MINUTES
	@bench/soak-hostile '$(BUILD)/brig' --minutes '$(SOAK_MINUTES)'

-include $(UNIT_OBJ:.o=.d) $(FUZZ_OBJ:.o=.d)
