# SPDX-License-Identifier: Apache-2.0
# brig's build: GNU make alone, one pass, every product under $(BUILD). `make help` lists the targets.
#
# Sources are found by wildcard: a new file needs no entry here. The objects of the LAYERS are
# compiled once, position-independent, and become libbrig.a and libbrig.so; src/cli and the service
# become brig.

MAKEFLAGS += --no-builtin-rules
# As many jobs as there are cores; -j on the command line has precedence.
ifeq ($(MAKELEVEL),0)
MAKEFLAGS += -j$(shell nproc)
endif
.DELETE_ON_ERROR:
.SUFFIXES:

SOVERSION := 0
VERSION   := $(shell sed -n 's/.*BRIG_VERSION "\(.*\)".*/\1/p' include/brig/brig.h)

# Three variants of the same tree: plain, SAN=1 (address and undefined behaviour), FUZZ=1 (libFuzzer).
BUILD ?= build$(if $(SAN),/san)$(if $(FUZZ),/fuzz)

include mk/flags.mk

LAYERS  := base kernel broker_client net http1 framed provider run agent_link native local holder oci launcher vm wasm \
	daemon policy runtime lib
# The sources of layers: a layer is a directory, and its rooms are its subdirectories.
sources_of = $(sort $(wildcard $(1:%=src/%/*.c) $(1:%=src/%/*/*.c)))
LIB_SRC := $(call sources_of,$(LAYERS))
CLI_SRC := $(call sources_of,check cli)
# The service: linked into brig, not part of the library.
SERVICE := loop role http tls http_tls engine mcp tools ledger front serve
SERVE_SRC := $(call sources_of,$(SERVICE))
SERVE_OBJ := $(SERVE_SRC:%.c=$(BUILD)/obj/%.o) $(BUILD)/obj/gen/broker.o
# The broker: a separate program, embedded in brig, with the C library and the lower layers only.
BROKER_SRC := $(call sources_of,broker) src/role/log.c src/role/seal.c \
	src/role/seal_calls.c src/role/seal_own_root.c
GATE_SRC := $(call sources_of,gate http1) src/loop/loop.c
GATE_OBJ := $(patsubst %.c,$(BUILD)/obj/%.o,$(GATE_SRC))
# The gate with OpenSSL, for cells whose TLS is opened.
GATE_TLS_SRC := $(call sources_of,gate_tls tls)
GATE_TLS_OBJ := $(patsubst %.c,$(BUILD)/obj/%.o,$(GATE_TLS_SRC))
# All parts of brig and the service that need OpenSSL: a separate program, embedded in brig.
TLS_PROGRAM_SRC := $(call sources_of,tls_program)
TLS_PROGRAM_OBJ := $(patsubst %.c,$(BUILD)/obj/%.o,$(TLS_PROGRAM_SRC))
TLS_IMAGE_OBJ := $(BUILD)/obj/gen/tls.o
# The agent: the first process of cells that other technologies build. With the C library only.
AGENT_SRC := $(call sources_of,agent)
AGENT_OBJ := $(patsubst %.c,$(BUILD)/obj/%.o,$(AGENT_SRC))
AGENT_LIB := $(patsubst %.c,$(BUILD)/obj/%.o,src/framed/frame.c src/base/files/write_all.c \
	src/base/files/path.c src/base/files/fdpass.c src/base/bytes/utf8.c src/kernel/walk.c src/kernel/landlock.c \
	src/net/address.c src/net/cell_stream.c)
# The program of a cell for WebAssembly: dynamic, because it loads the engine.
WASM_HOST_OBJ := $(patsubst %.c,$(BUILD)/obj/%.o,$(call sources_of,wasm_host))
# The same with an interpreter, which is cloned into cells.
WASM_TEMPLATE_OBJ := $(patsubst %.c,$(BUILD)/obj/%.o,$(call sources_of,wasm_template))
# brig-init as a program of its own: without a C library, so compiled once more.
CELL_INIT_SRC := $(call sources_of,cell_init) src/native/cell/init_rest.c src/native/messages/payload_report.c
CELL_INIT_OBJ := $(CELL_INIT_SRC:%.c=$(BUILD)/bare/%.o)
# The first process of virtual machines, which starts the agent. Likewise.
VM_INIT_OBJ := $(patsubst %.c,$(BUILD)/obj/%.o,$(call sources_of,vm_init))
VM_INIT_LIB := $(patsubst %.c,$(BUILD)/obj/%.o,src/framed/frame.c src/vm_line/packet.c src/vm_line/line.c)
# The program beside a monitor whose only stream is a serial port. Likewise.
VM_LINE_OBJ := $(patsubst %.c,$(BUILD)/obj/%.o,$(call sources_of,vm_line))
VM_LINE_LIB := $(patsubst %.c,$(BUILD)/obj/%.o,src/framed/frame.c)
BROKER_OBJ := $(patsubst %.c,$(BUILD)/obj/%.o,$(BROKER_SRC))
# Replacements for functions that would load code at run time (see mk/flags.mk).
LINK_STUBS_OBJ := $(patsubst %.c,$(BUILD)/obj/%.o,$(call sources_of,link_stubs))
DATA    := $(sort $(wildcard data/policies/*.json data/launchers/*.json data/machines/*.json \
	data/runtimes/*.json data/runtimes/*/*.json data/schema/*.json data/syscalls/*.rules data/drivers/*.* data/tools/*.json data/guard/*))
# One file in a cell, several here: see data/drivers/python/theory.py.
PYTHON_DRIVER := $(patsubst %,data/drivers/python/%.py,theory graft parts load value conclude ending \
	program script fresh environment rehearse cold template waiting main)
GEN_H   := $(BUILD)/gen/syscall_names.h

LIB_OBJ := $(LIB_SRC:%.c=$(BUILD)/obj/%.o) $(BUILD)/obj/gen/embedded.o $(BUILD)/obj/gen/template.o \
	$(BUILD)/obj/gen/gate.o $(BUILD)/obj/gen/gate_tls.o $(BUILD)/obj/gen/agent.o $(BUILD)/obj/gen/wasm_host.o \
	$(BUILD)/obj/gen/wasm_template.o $(BUILD)/obj/gen/cell_init.o \
	$(BUILD)/obj/gen/vm_init.o $(BUILD)/obj/gen/vm_line.o

# The shared object that a template loads into its interpreter: src/template and the lower layers.
TEMPLATE_SRC := $(call sources_of,template)
TEMPLATE_OBJ := $(TEMPLATE_SRC:%.c=$(BUILD)/obj/%.o)
TEMPLATE_LIB := $(patsubst %.c,$(BUILD)/obj/%.o,$(filter src/base/% src/kernel/% src/broker_client/% src/net/% src/provider/% src/run/% src/native/%,$(LIB_SRC)))
TEMPLATE     := $(BUILD)/template.so
PYTHON_CFLAGS = -I$(shell scripts/python-headers.sh)
CLI_OBJ := $(CLI_SRC:%.c=$(BUILD)/obj/%.o) $(BUILD)/obj/gen/prober.o
# The entry point of brig, which works before the C library does: see src/thin/README.md.
THIN_OBJ := $(patsubst %.c,$(BUILD)/obj/%.o,$(call sources_of,thin))
# The program that `brig policy check` executes in a cell, with the C library only.
PROBER_OBJ := $(patsubst %.c,$(BUILD)/obj/%.o,$(call sources_of,prober))

SHARED := $(BUILD)/libbrig.so.$(SOVERSION)

.PHONY: all
all: $(BUILD)/brig $(BUILD)/libbrig.a $(SHARED) ## build brig and libbrig (the default)

# --- generated sources ---------------------------------------------------------------------------

$(BUILD)/gen/syscall_names.h: scripts/gen-syscalls.sh
	@mkdir -p $(@D)
	$(call say,GEN,$@)
	$(Q)CC='$(CC)' scripts/gen-syscalls.sh $@

$(BUILD)/gen/data/drivers/python.py: $(PYTHON_DRIVER) Makefile
	@mkdir -p $(@D)
	$(call say,GEN,$@)
	$(Q)cat $(PYTHON_DRIVER) > $@

# The directories are dependencies as well: adding or removing a file changes only them.
$(BUILD)/gen/embedded.c: scripts/embed.sh $(DATA) $(sort $(dir $(DATA))) \
		$(BUILD)/gen/data/drivers/python.py
	@mkdir -p $(@D)
	$(call say,GEN,$@)
	$(Q)scripts/embed.sh $@ $(DATA) $(BUILD)/gen/data/drivers/python.py

# --- the template's part of an interpreter ---------------------------------------------------------

$(BUILD)/obj/src/template/python.o: CPPFLAGS_ALL += $(PYTHON_CFLAGS)
$(TEMPLATE_SRC:%.c=$(BUILD)/obj/%.o): PIC := -fPIC -fvisibility=hidden

# An interpreter does not load the sanitizer's library: those variants have no templates.
$(TEMPLATE): $(if $(SAN)$(FUZZ),,$(TEMPLATE_OBJ) $(BUILD)/template.a) mk/template.map
	@mkdir -p $(@D)
	$(call say,LD,$@)
	$(Q)$(if $(SAN)$(FUZZ),: > $@,$(CC) $(CFLAGS_ALL) $(LDFLAGS_ALL) -shared -s \
		-Wl$(comma)--gc-sections -Wl$(comma)--version-script=mk/template.map -o $@ \
		$(TEMPLATE_OBJ) $(BUILD)/template.a)

# An archive, so that only the functions that are called are linked.
$(BUILD)/template.a: $(TEMPLATE_LIB) $(BUILD)/sources
	$(call say,AR,$@)
	$(Q)rm -f $@ && $(AR) rcsD $@ $(TEMPLATE_LIB)

$(BUILD)/gen/template.c: $(TEMPLATE) scripts/embed-binary.sh
	@mkdir -p $(@D)
	$(call say,GEN,$@)
	$(Q)scripts/embed-binary.sh $@ $(TEMPLATE) template_image

# --- the broker --------------------------------------------------------------------------------------

# The template's archive has the functions of the lower layers that it calls.
$(BUILD)/brig-broker: $(BROKER_OBJ) $(BUILD)/template.a
	$(call say,LD,$@)
	$(Q)$(CC) $(CFLAGS_ALL) $(LDFLAGS_ALL) $(LDFLAGS_PLAIN) -s -Wl,--gc-sections -o $@ \
		$(BROKER_OBJ) $(BUILD)/template.a

$(BUILD)/gen/broker.c: $(BUILD)/brig-broker scripts/embed-binary.sh
	@mkdir -p $(@D)
	$(call say,GEN,$@)
	$(Q)scripts/embed-binary.sh $@ $(BUILD)/brig-broker broker_image

# --- the gate ------------------------------------------------------------------------------------------

$(BUILD)/brig-gate: $(GATE_OBJ) $(BUILD)/template.a
	$(call say,LD,$@)
	$(Q)$(CC) $(CFLAGS_ALL) $(LDFLAGS_ALL) $(LDFLAGS_PLAIN) -s -Wl,--gc-sections -o $@ \
		$(GATE_OBJ) $(BUILD)/template.a

$(BUILD)/gen/gate.c: $(BUILD)/brig-gate scripts/embed-binary.sh
	@mkdir -p $(@D)
	$(call say,GEN,$@)
	$(Q)scripts/embed-binary.sh $@ $(BUILD)/brig-gate gate_image

# OpenSSL could load modules and look up names; the stubs prevent it: see mk/flags.mk.
$(BUILD)/brig-gate-tls: $(GATE_TLS_OBJ) $(GATE_OBJ) $(LINK_STUBS_OBJ) $(BUILD)/template.a
	$(call say,LD,$@)
	$(Q)$(CC) $(CFLAGS_ALL) $(LDFLAGS_ALL) $(LDFLAGS_PROGRAM) -s -Wl,--gc-sections -o $@ \
		$(GATE_TLS_OBJ) $(filter-out %/gate/main.o,$(GATE_OBJ)) $(LINK_STUBS_OBJ) \
		$(BUILD)/template.a -lssl -lcrypto

$(BUILD)/gen/gate_tls.c: $(BUILD)/brig-gate-tls scripts/embed-binary.sh
	@mkdir -p $(@D)
	$(call say,GEN,$@)
	$(Q)scripts/embed-binary.sh $@ $(BUILD)/brig-gate-tls gate_tls_image

# --- the program with OpenSSL ------------------------------------------------------------------------

# The service's archive has the front; of brig's own parts only what that calls is linked.
$(BUILD)/brig-tls: $(TLS_PROGRAM_OBJ) $(LINK_STUBS_OBJ) $(BUILD)/libserve.a $(BUILD)/libbrig.a
	$(call say,LD,$@)
	$(Q)$(CC) $(CFLAGS_ALL) $(LDFLAGS_ALL) $(LDFLAGS_PROGRAM) -s -Wl,--gc-sections -o $@ \
		$(TLS_PROGRAM_OBJ) $(LINK_STUBS_OBJ) $(BUILD)/libserve.a $(BUILD)/libbrig.a \
		$(TLS_LIBS) $(LIBS)

$(BUILD)/gen/tls.c: $(BUILD)/brig-tls scripts/embed-binary.sh
	@mkdir -p $(@D)
	$(call say,GEN,$@)
	$(Q)scripts/embed-binary.sh $@ $(BUILD)/brig-tls tls_image

# --- the prober ----------------------------------------------------------------------------------------

# A cell does not have the sanitizer's library: those variants have no prober.
$(BUILD)/brig-prober: $(if $(SAN)$(FUZZ),,$(PROBER_OBJ))
	@mkdir -p $(@D)
	$(call say,LD,$@)
	$(Q)$(if $(SAN)$(FUZZ),: > $@,$(CC) $(CFLAGS_ALL) $(LDFLAGS_ALL) $(LDFLAGS_PLAIN) -s \
		-Wl$(comma)--gc-sections -o $@ $(PROBER_OBJ))

$(BUILD)/gen/prober.c: $(BUILD)/brig-prober scripts/embed-binary.sh
	@mkdir -p $(@D)
	$(call say,GEN,$@)
	$(Q)scripts/embed-binary.sh $@ $(BUILD)/brig-prober prober_image

# --- the agent -----------------------------------------------------------------------------------------

$(BUILD)/brig-agent: $(AGENT_OBJ) $(AGENT_LIB)
	$(call say,LD,$@)
	$(Q)$(CC) $(CFLAGS_ALL) $(LDFLAGS_ALL) $(LDFLAGS_PLAIN) -s -Wl,--gc-sections -o $@ \
		$(AGENT_OBJ) $(AGENT_LIB)

$(BUILD)/gen/agent.c: $(BUILD)/brig-agent scripts/embed-binary.sh
	@mkdir -p $(@D)
	$(call say,GEN,$@)
	$(Q)scripts/embed-binary.sh $@ $(BUILD)/brig-agent agent_image

# --- brig-init's own program -------------------------------------------------------------------------------

$(BUILD)/bare/%.o: %.c $(BUILD)/flags
	@mkdir -p $(@D)
	$(call say,CC,$<)
	$(Q)$(CC) $(CPPFLAGS_ALL) $(CFLAGS_BARE) -MMD -MP -c -o $@ $<

$(BUILD)/brig-cell-init: $(CELL_INIT_OBJ)
	$(call say,LD,$@)
	$(Q)$(CC) $(CFLAGS_BARE) $(LDFLAGS_ALL) -nostdlib -static-pie -Wl,--no-dynamic-linker,--gc-sections -s \
		-o $@ $(CELL_INIT_OBJ)

$(BUILD)/gen/cell_init.c: $(BUILD)/brig-cell-init scripts/embed-binary.sh
	@mkdir -p $(@D)
	$(call say,GEN,$@)
	$(Q)scripts/embed-binary.sh $@ $(BUILD)/brig-cell-init cell_init_image

# --- the first process of virtual machines -------------------------------------------------------------

$(BUILD)/brig-vm-init: $(VM_INIT_OBJ) $(VM_INIT_LIB)
	$(call say,LD,$@)
	$(Q)$(CC) $(CFLAGS_ALL) $(LDFLAGS_ALL) $(LDFLAGS_PLAIN) -s -Wl,--gc-sections -o $@ \
		$(VM_INIT_OBJ) $(VM_INIT_LIB)

$(BUILD)/gen/vm_init.c: $(BUILD)/brig-vm-init scripts/embed-binary.sh
	@mkdir -p $(@D)
	$(call say,GEN,$@)
	$(Q)scripts/embed-binary.sh $@ $(BUILD)/brig-vm-init vm_init_image

$(BUILD)/brig-vm-line: $(VM_LINE_OBJ) $(VM_LINE_LIB)
	$(call say,LD,$@)
	$(Q)$(CC) $(CFLAGS_ALL) $(LDFLAGS_ALL) $(LDFLAGS_PLAIN) -s -Wl,--gc-sections -o $@ \
		$(VM_LINE_OBJ) $(VM_LINE_LIB)

$(BUILD)/gen/vm_line.c: $(BUILD)/brig-vm-line scripts/embed-binary.sh
	@mkdir -p $(@D)
	$(call say,GEN,$@)
	$(Q)scripts/embed-binary.sh $@ $(BUILD)/brig-vm-line vm_line_image

# --- the helper for WebAssembly --------------------------------------------------------------------------

# A cell does not have the sanitizer's library: those variants have no helper.
$(BUILD)/brig-wasm-host: $(if $(SAN)$(FUZZ),,$(WASM_HOST_OBJ))
	@mkdir -p $(@D)
	$(call say,LD,$@)
	$(Q)$(if $(SAN)$(FUZZ),: > $@,$(CC) $(CFLAGS_ALL) $(LDFLAGS_ALL) -pie -s \
		-Wl$(comma)--gc-sections -o $@ $(WASM_HOST_OBJ))

$(BUILD)/gen/wasm_host.c: $(BUILD)/brig-wasm-host scripts/embed-binary.sh
	@mkdir -p $(@D)
	$(call say,GEN,$@)
	$(Q)scripts/embed-binary.sh $@ $(BUILD)/brig-wasm-host wasm_host_image

# Of src/template all but the parts that know the host's Python.
WASM_TEMPLATE_LIB := $(filter-out %/python.o %/heap_holes.o,$(TEMPLATE_OBJ)) \
	$(filter-out %/wasm_host/main.o,$(WASM_HOST_OBJ)) $(BUILD)/template.a

$(BUILD)/brig-wasm-template: $(if $(SAN)$(FUZZ),,$(WASM_TEMPLATE_OBJ) $(WASM_TEMPLATE_LIB))
	@mkdir -p $(@D)
	$(call say,LD,$@)
	$(Q)$(if $(SAN)$(FUZZ),: > $@,$(CC) $(CFLAGS_ALL) $(LDFLAGS_ALL) -pie -s \
		-Wl$(comma)--gc-sections -o $@ $(WASM_TEMPLATE_OBJ) $(WASM_TEMPLATE_LIB))

$(BUILD)/gen/wasm_template.c: $(BUILD)/brig-wasm-template scripts/embed-binary.sh
	@mkdir -p $(@D)
	$(call say,GEN,$@)
	$(Q)scripts/embed-binary.sh $@ $(BUILD)/brig-wasm-template wasm_template_image

# --- objects -------------------------------------------------------------------------------------

# Contains the flags of the objects; rewritten only when they change.
$(BUILD)/flags: FORCE
	@mkdir -p $(@D)
	@echo '$(subst ','\'',$(CC) $(CPPFLAGS_ALL) $(CFLAGS_ALL))' | cmp -s - $@ || \
		echo '$(subst ','\'',$(CC) $(CPPFLAGS_ALL) $(CFLAGS_ALL))' > $@

# The same for the list of sources, so that a deleted file is removed from the archive too.
$(BUILD)/sources: FORCE
	@mkdir -p $(@D)
	@echo '$(LIB_SRC) $(SERVE_SRC) $(CLI_SRC)' | cmp -s - $@ || \
		echo '$(LIB_SRC) $(SERVE_SRC) $(CLI_SRC)' > $@

$(LIB_OBJ): PIC := -fPIC -fvisibility=hidden -DBRIG_BUILDING
# Programs; what they share with the library is compiled for that.
$(CLI_OBJ) $(SERVE_OBJ) $(BROKER_OBJ) $(filter-out $(LIB_OBJ),$(GATE_OBJ)) $(GATE_TLS_OBJ) $(LINK_STUBS_OBJ) \
	$(TLS_PROGRAM_OBJ) $(TLS_IMAGE_OBJ) $(AGENT_OBJ) $(PROBER_OBJ) $(WASM_HOST_OBJ) $(WASM_TEMPLATE_OBJ) $(VM_INIT_OBJ) $(VM_LINE_OBJ): PIC := -fPIE

$(THIN_OBJ): PIC := -fPIE -ffreestanding -fno-stack-protector -fno-sanitize=all

$(BUILD)/obj/gen/%.o: $(BUILD)/gen/%.c $(BUILD)/flags | $(GEN_H)
	@mkdir -p $(@D)
	$(call say,CC,$<)
	$(Q)$(CC) $(CPPFLAGS_ALL) $(CFLAGS_ALL) $(PIC) -MMD -MP -c -o $@ $<

$(BUILD)/obj/%.o: %.c $(BUILD)/flags | $(GEN_H)
	@mkdir -p $(@D)
	$(call say,CC,$<)
	$(Q)$(CC) $(CPPFLAGS_ALL) $(CFLAGS_ALL) $(PIC) -MMD -MP -c -o $@ $<

# --- products ------------------------------------------------------------------------------------

$(BUILD)/libbrig.a: $(LIB_OBJ) $(BUILD)/sources
	$(call say,AR,$@)
	$(Q)rm -f $@ && $(AR) rcsD $@ $(LIB_OBJ)

$(SHARED): $(LIB_OBJ) $(BUILD)/sources mk/libbrig.map
	$(call say,LD,$@)
	$(Q)$(CC) $(CFLAGS_ALL) $(LDFLAGS_ALL) $(LDFLAGS_DEFS) -shared -Wl,-soname,$(@F) \
		-Wl,--version-script=mk/libbrig.map -o $@ $(LIB_OBJ) $(LIBS)
	$(Q)ln -sf $(@F) $(BUILD)/libbrig.so

# Static, because a program without a dynamic loader starts in a third of the time; position-
# independent all the same, so that its addresses are random.
# Without OpenSSL, whose tables would be relocated at every start: see src/tls_program.
$(BUILD)/brig: $(CLI_OBJ) $(THIN_OBJ) $(TLS_IMAGE_OBJ) $(LINK_STUBS_OBJ) $(BUILD)/libserve.a $(BUILD)/libbrig.a \
		$(BUILD)/sources
	$(call say,LD,$@)
	$(Q)$(CC) $(CFLAGS_ALL) $(LDFLAGS_ALL) $(LDFLAGS_PROGRAM) \
		$(if $(SAN)$(FUZZ),,-Wl$(comma)-e$(comma)thin_entry) -o $@ $(CLI_OBJ) $(THIN_OBJ) \
		$(TLS_IMAGE_OBJ) $(LINK_STUBS_OBJ) $(BUILD)/libserve.a $(BUILD)/libbrig.a \
		$(SERVE_LIBS) $(LIBS)

$(BUILD)/libserve.a: $(SERVE_OBJ) $(BUILD)/sources
	$(call say,AR,$@)
	$(Q)rm -f $@ && $(AR) rcsD $@ $(SERVE_OBJ)

include mk/test.mk
include mk/generate.mk
include mk/install.mk

# --- a first run, upkeep -------------------------------------------------------------------------

.PHONY: run
run: ## install what is missing, build, and run a first program in a cell
	@scripts/setup.sh run
	@$(MAKE) --no-print-directory all
	@scripts/first-run.sh $(BUILD)/brig

.PHONY: format
format: ## put all C files into the project's form (clang-format)
	@scripts/check-format.sh --fix

.PHONY: clean
clean: ## remove everything that was built
	rm -rf $(BUILD)

.PHONY: dist
dist: ## make a source archive of the last commit
	@mkdir -p $(BUILD)
	git archive --format=tar.gz --prefix=brig-$(VERSION)/ -o $(BUILD)/brig-$(VERSION).tar.gz HEAD

.PHONY: help
help: ## list the targets
	@echo 'brig $(VERSION). Targets:'
	@sed -n 's/^\([a-z][a-z-]*\):[^=]*## \(.*\)/\1	\2/p' $(MAKEFILE_LIST) | \
		sort | awk -F'\t' '{ printf "  %-14s %s\n", $$1, $$2 }'
	@echo 'Variables: BUILD=dir CC=gcc|clang SAN=1 FUZZ=1 V=1 WERROR= FUZZ_SECONDS=60'
	@echo '           PREFIX=/usr/local DESTDIR='

.PHONY: FORCE
FORCE:

-include $(LIB_OBJ:.o=.d) $(SERVE_OBJ:.o=.d) $(BROKER_OBJ:.o=.d) $(GATE_OBJ:.o=.d) $(GATE_TLS_OBJ:.o=.d) $(TLS_PROGRAM_OBJ:.o=.d) \
	$(AGENT_OBJ:.o=.d) $(VM_INIT_OBJ:.o=.d) $(LINK_STUBS_OBJ:.o=.d) $(PROBER_OBJ:.o=.d) $(THIN_OBJ:.o=.d) $(CLI_OBJ:.o=.d) $(TEMPLATE_OBJ:.o=.d) \
	$(WASM_HOST_OBJ:.o=.d) $(WASM_TEMPLATE_OBJ:.o=.d) $(VM_LINE_OBJ:.o=.d) $(CELL_INIT_OBJ:.o=.d)
