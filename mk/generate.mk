# SPDX-License-Identifier: Apache-2.0
# Checked-in files that are made from the program's own tables: see scripts/generate.

TABLES_SRC := $(call sources_of,tables)
TABLES_OBJ := $(TABLES_SRC:%.c=$(BUILD)/obj/%.o)

$(TABLES_OBJ): PIC := -fPIE

$(BUILD)/brig-tables: $(TABLES_OBJ) $(TLS_IMAGE_OBJ) $(LINK_STUBS_OBJ) $(BUILD)/libcli.a $(BUILD)/libserve.a $(BUILD)/libbrig.a
	$(call say,LD,$@)
	$(Q)$(CC) $(CFLAGS_ALL) $(LDFLAGS_ALL) $(LDFLAGS_PROGRAM) -o $@ $^ $(SERVE_LIBS) $(LIBS)

.PHONY: generate
generate: $(BUILD)/brig-tables ## write completions, options and limits into manual, docs and schemas
	@python3 scripts/generate $(BUILD)/brig-tables

.PHONY: check-generated
check-generated: $(BUILD)/brig-tables
	@python3 scripts/generate $(BUILD)/brig-tables --check

-include $(TABLES_OBJ:.o=.d)
