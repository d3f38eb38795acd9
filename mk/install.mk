# SPDX-License-Identifier: Apache-2.0
# make install and uninstall. DESTDIR stages; PREFIX and the *DIR variables set the directories.
# Without DESTDIR it installs on this host: scdoc is installed if it is missing, for the man pages, and
# ldconfig registers the library.

PREFIX      ?= /usr/local
BINDIR      ?= $(PREFIX)/bin
LIBDIR      ?= $(PREFIX)/lib
INCLUDEDIR  ?= $(PREFIX)/include
DATADIR     ?= $(PREFIX)/share
MANDIR      ?= $(DATADIR)/man
DOCDIR      ?= $(DATADIR)/doc/brig
PKGCONFDIR  ?= $(LIBDIR)/pkgconfig
BASHCOMPDIR ?= $(DATADIR)/bash-completion/completions
ZSHCOMPDIR  ?= $(DATADIR)/zsh/site-functions
FISHCOMPDIR ?= $(DATADIR)/fish/vendor_completions.d
SYSTEMDDIR  ?= $(PREFIX)/lib/systemd
INSTALL     ?= install

# man/NAME.SECTION.scd becomes NAME.SECTION.
MAN_SRC := $(sort $(wildcard man/*.scd))
MAN     := $(MAN_SRC:%.scd=$(BUILD)/%)
DOCS    := $(wildcard README.md CHANGELOG.md SECURITY.md LICENSE)
SCDOC   := $(shell command -v scdoc 2>/dev/null)

$(BUILD)/man/%: man/%.scd
	@mkdir -p $(@D)
	$(call say,MAN,$@)
	$(Q)scdoc < $< > $@

.PHONY: man
man: $(MAN) ## make the man pages (needs scdoc)

# Only the public API may be linked against: internal names become local, so that they cannot collide
# with names of the program that links the archive.
$(BUILD)/install/libbrig.a: $(BUILD)/libbrig.a
	@mkdir -p $(@D)
	$(call say,AR,$@)
	$(Q)$(LD) -r -o $(@D)/libbrig.o --whole-archive $<
	$(Q)$(OBJCOPY) --localize-hidden $(@D)/libbrig.o
	$(Q)rm -f $@ && $(AR) rcsD $@ $(@D)/libbrig.o

$(BUILD)/install/brig.pc: mk/brig.pc.in include/brig/brig.h FORCE
	@mkdir -p $(@D)
	$(Q)sed -e 's|@PREFIX@|$(PREFIX)|' -e 's|@LIBDIR@|$(LIBDIR)|' \
		-e 's|@INCLUDEDIR@|$(INCLUDEDIR)|' -e 's|@VERSION@|$(VERSION)|' $< > $@

# The units contain the path of the installed program.
UNITS := $(notdir $(wildcard data/systemd/*))
$(UNITS:%=$(BUILD)/install/%): $(BUILD)/install/%: data/systemd/% FORCE
	@mkdir -p $(@D)
	$(Q)sed -e 's|@BINDIR@|$(BINDIR)|' $< > $@

# Every installed file, once: "mode source destination" (no blanks in names).
INSTALLED := \
	755:$(BUILD)/brig:$(BINDIR)/brig \
	644:$(SHARED):$(LIBDIR)/libbrig.so.$(VERSION) \
	644:$(BUILD)/install/libbrig.a:$(LIBDIR)/libbrig.a \
	644:$(BUILD)/install/brig.pc:$(PKGCONFDIR)/brig.pc \
	644:include/brig/brig.h:$(INCLUDEDIR)/brig/brig.h \
	644:$(BUILD)/install/brig.service:$(SYSTEMDDIR)/system/brig.service \
	644:$(BUILD)/install/brig.socket:$(SYSTEMDDIR)/system/brig.socket \
	644:$(BUILD)/install/brig-user.service:$(SYSTEMDDIR)/user/brig.service \
	644:$(BUILD)/install/brig-user.socket:$(SYSTEMDDIR)/user/brig.socket \
	644:$(BUILD)/install/brig-warm.service:$(SYSTEMDDIR)/user/brig-warm.service \
	644:$(BUILD)/install/brig-warm.socket:$(SYSTEMDDIR)/user/brig-warm.socket \
	644:completions/brig.bash:$(BASHCOMPDIR)/brig \
	644:completions/_brig:$(ZSHCOMPDIR)/_brig \
	644:completions/brig.fish:$(FISHCOMPDIR)/brig.fish \
	$(foreach d,$(DOCS),644:$d:$(DOCDIR)/$d) \
	$(if $(SCDOC),$(foreach m,$(MAN),644:$m:$(MANDIR)/man$(patsubst .%,%,$(suffix $m))/$(notdir $m)))
LINKS := $(LIBDIR)/libbrig.so.$(SOVERSION) $(LIBDIR)/libbrig.so

# Only root can do both; other users install below a directory of their own.
as_root = $(if $(DESTDIR),,@[ "$$(id -u)" -ne 0 ] || $(1))

.PHONY: install
install: ## install below DESTDIR and PREFIX
	$(call as_root,scripts/setup.sh install || true)
	@$(MAKE) --no-print-directory install-files
	$(call as_root,ldconfig)

.PHONY: install-files
install-files: all $(BUILD)/install/libbrig.a $(BUILD)/install/brig.pc $(UNITS:%=$(BUILD)/install/%) $(if $(SCDOC),man)
	@set -eu; for item in $(INSTALLED); do \
		mode=$${item%%:*}; rest=$${item#*:}; from=$${rest%%:*}; to=$${rest#*:}; \
		$(INSTALL) -D -m "$$mode" "$$from" "$(DESTDIR)$$to"; \
		echo "  $(DESTDIR)$$to"; \
	done
	@for link in $(LINKS); do \
		ln -sf libbrig.so.$(VERSION) "$(DESTDIR)$$link"; echo "  $(DESTDIR)$$link"; done
	@$(if $(SCDOC),,echo 'scdoc not found: man pages were omitted (apt-get install scdoc)')

.PHONY: uninstall
uninstall: ## remove the installed files
	@set -eu; for item in $(INSTALLED); do rm -fv "$(DESTDIR)$${item##*:}"; done
	@rm -fv $(LINKS:%="$(DESTDIR)%")
	@for dir in "$(DESTDIR)$(INCLUDEDIR)/brig" "$(DESTDIR)$(DOCDIR)"; do \
		rmdir "$$dir" 2>/dev/null || true; done
	$(call as_root,ldconfig)
