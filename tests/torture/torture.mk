# torture.mk: make torture damages every model there is, many times, and runs what is left under the address and
# undefined-behaviour sanitizers; FLIPS and TRUNCATIONS say how often. Included by tests.mk.
FLIPS       ?= 200
TRUNCATIONS ?= 50

TORTURE_OBJ    := $(patsubst %.c,$(BUILD)/obj/%.o,$(sort $(wildcard tests/torture/*.c)))
TORTURE_MODELS  = $(shell ls -d $(BUILD)/node/*/ examples/digits/model.onnx \
  $(BUILD)/models/magika/models/*/model.onnx 2>/dev/null)

$(TORTURE_OBJ): CFLAGS += -D_DEFAULT_SOURCE -I$(BUILD)/proto
$(TORTURE_OBJ): $(BUILD)/proto/onnx.pb-c.h

$(BUILD)/torture: $(TORTURE_OBJ) $(BUILD)/obj/libox.a
	$(call SHORT,LD) $(CC) $(LDFLAGS) -o $@ $^ -lprotobuf-c -lm -lpthread

torture: node-cases
	+@$(MAKE) --no-print-directory BUILD='$(BUILD)/asan' SANITIZE='$(SANITIZERS)' OPT='$(ASAN_OPT)' \
	  $(BUILD)/asan/torture
	@UBSAN_OPTIONS=print_stacktrace=1 $(BUILD)/asan/torture -f $(FLIPS) -t $(TRUNCATIONS) $(TORTURE_MODELS)

-include $(TORTURE_OBJ:.o=.d)

.PHONY: torture
