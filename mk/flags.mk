# SPDX-License-Identifier: Apache-2.0
# Flags of the compiler and the linker. scripts/check-hardening.sh checks the resulting programs.

ifeq ($(origin CC),default)
CC :=
endif
CC := $(or $(CC),$(if $(FUZZ),clang,gcc))
AR      ?= ar
LD      ?= ld
OBJCOPY ?= objcopy
# Sanitizers and fuzzers need lines for their reports, and are compiled in half of the time.
CFLAGS  ?= $(if $(SAN)$(FUZZ),-O1 -g1,-O2 -g)
WERROR  ?= -Werror

# V=1 prints the commands.
Q   := $(if $(V),,@)
say  = $(if $(V),,@printf '  %-4s %s\n' '$(1)' '$(2)')

comma    := ,
ARCH     := $(shell uname -m)
IS_CLANG := $(findstring clang,$(notdir $(CC)))

WARNINGS := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wundef \
	-Wpointer-arith -Wcast-qual -Wwrite-strings -Wformat=2 -Wvla -Wimplicit-fallthrough $(WERROR)

# Control-flow protection has a different flag on each processor.
CFI_x86_64  := -fcf-protection=full
CFI_aarch64 := -mbranch-protection=standard

HARDEN := -fstack-protector-strong -fstack-clash-protection $(CFI_$(ARCH))
# clang 14 needs a second flag for this; it builds only the fuzzers.
HARDEN += $(if $(IS_CLANG),,-ftrivial-auto-var-init=zero)
# Sanitizers check plain calls only: a fortified call would hide the fault from them.
HARDEN += $(if $(SAN)$(FUZZ),,-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3)

SANITIZE_san  := -fsanitize=address,undefined
SANITIZE_fuzz := -fsanitize=fuzzer-no-link,address,undefined
SANITIZE      := $(if $(SAN),$(SANITIZE_san)) $(if $(FUZZ),$(SANITIZE_fuzz))
SANITIZE      += $(if $(SAN)$(FUZZ),-fno-sanitize-recover=all -fno-omit-frame-pointer)
# With instrumentation, and less optimisation, gcc reports uninitialised uses and cut texts that do
# not exist.
SANITIZE      += $(if $(SAN),$(if $(IS_CLANG),,-Wno-maybe-uninitialized -Wno-format-truncation))

CPPFLAGS_ALL := -D_GNU_SOURCE -Iinclude -Isrc -I$(BUILD)/gen -I$(BUILD) $(CPPFLAGS)
CFLAGS_ALL   := -std=gnu17 $(CFLAGS) $(WARNINGS) $(HARDEN) $(SANITIZE) \
	-ffile-prefix-map=$(CURDIR)/=

# Without a C library there is nobody to set up its protections; the code has no arrays on its stack
# whose size another program chooses.
CFLAGS_BARE  := -std=gnu17 $(CFLAGS) $(WARNINGS) -ffreestanding -fno-builtin -fPIE -fvisibility=hidden \
	-fno-stack-protector -fno-asynchronous-unwind-tables $(CFI_$(ARCH)) \
	$(if $(IS_CLANG),,-ftrivial-auto-var-init=zero) -ffile-prefix-map=$(CURDIR)/=

LDFLAGS_ALL := -Wl,-z,relro,-z,now,-z,noexecstack,-z,separate-code -Wl,--as-needed $(LDFLAGS)
# A library must be linked with everything it needs; with sanitizers the program has a part of it.
LDFLAGS_DEFS := $(if $(SAN)$(FUZZ),,-Wl$(comma)-z$(comma)defs)
# SQLite could load extensions, and OpenSSL modules; src/link_stubs/no_loading.c makes that fail.
# OpenSSL could also look up names: src/link_stubs/no_names.c.
NO_LOADING := $(patsubst %,-Wl$(comma)--wrap=%,dlopen dlsym dlclose dlerror \
	getaddrinfo freeaddrinfo gethostbyname)
# A static program must not call functions that load libraries later (name services, character
# sets): the linker warns of them, and here a warning is an error.
LDFLAGS_PLAIN   := $(if $(SAN)$(FUZZ),-pie,-static-pie -Wl$(comma)--fatal-warnings)
LDFLAGS_PROGRAM := $(LDFLAGS_PLAIN) $(if $(SAN)$(FUZZ),,$(NO_LOADING))

LIBS       := -ljansson -lsodium
SERVE_LIBS := -lsqlite3 -lm
TLS_LIBS   := -lssl -lcrypto
