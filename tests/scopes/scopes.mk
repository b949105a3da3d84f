# scopes.mk: tiny graphs, all that there are of a kind; tests/scopes. make scopes ALL=1 takes other types, places and
# data for the same graphs twenty times.
SCOPES_OBJ := $(patsubst %.c,$(BUILD)/obj/%.o,$(sort $(wildcard tests/scopes/*.c)))
$(SCOPES_OBJ): CFLAGS += -D_DEFAULT_SOURCE

$(BUILD)/scopes: $(SCOPES_OBJ) $(BUILD)/libox.a
	$(call SHORT,LD) $(CC) $(LDFLAGS) -o $@ $^ -lprotobuf-c -lm -lpthread

scopes: $(BUILD)/scopes
	@$(EMULATOR) $(BUILD)/scopes --rounds $(if $(ALL),20,1) --every $(if $(SANITIZE)$(EMULATOR),20,1)

# Weights of 4 bits stay packed in memory from a size on that no tiny graph has: here from one byte on.
scopes-packed:
	+@$(MAKE) -s BUILD='$(BUILD)/packed' ASSERTIONS=1 OPT='$(OPT) -DOX_PACKED_BYTES=1' '$(BUILD)/packed/scopes'
	@$(BUILD)/packed/scopes --family blocks

-include $(SCOPES_OBJ:.o=.d)

.PHONY: scopes scopes-packed
