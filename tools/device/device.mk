# device.mk: the library for machines without an operating system, reduced to what models need. Included by the
# Makefile.
#
#     make device TARGET=cortex-m4 OPS='a/ops.txt b/ops.txt'      build/device/cortex-m4/libox.a
#
# OPS are lists of operators and element types, as `ox embed` writes them; without them everything is built in. DEVICE
# names another folder for the result.
TARGET ?= host
OPS    ?=
DEVICE ?= $(BUILD)/device/$(TARGET)

ARM := arm-none-eabi-
RV  := riscv64-unknown-elf-
device_tools_host      :=
device_flags_host      := -D_POSIX_C_SOURCE=200809L
device_tools_cortex-m0 := $(ARM)
device_flags_cortex-m0 := -mcpu=cortex-m0 -mthumb
device_tools_cortex-m3 := $(ARM)
device_flags_cortex-m3 := -mcpu=cortex-m3 -mthumb
device_tools_cortex-m4 := $(ARM)
device_flags_cortex-m4 := -mcpu=cortex-m4 -mthumb -mfpu=fpv4-sp-d16 -mfloat-abi=hard
device_tools_cortex-m55 := $(ARM)
device_flags_cortex-m55 := -mcpu=cortex-m55 -mthumb -mfloat-abi=hard
device_tools_rv32      := $(RV)
device_flags_rv32      := -march=rv32imac -mabi=ilp32 --specs=picolibc.specs

DEVICE_TOOLS = $(device_tools_$(TARGET))
DEVICE_ARCH  = $(device_flags_$(TARGET))
DEVICE_CC    = $(if $(DEVICE_TOOLS),$(DEVICE_TOOLS)gcc,$(CC))
DEVICE_AR    = $(DEVICE_TOOLS)ar

# Only what is asked for is linked: every function has a section of its own.
DEVICE_CFLAGS = -std=c11 -Os $(DEVICE_ARCH) -ffunction-sections -fdata-sections -fno-math-errno -fno-trapping-math \
  -ffp-contract=off -DNDEBUG -DOX_SMALL=1 -DOX_SELECTION='"selection.h"' -I$(DEVICE)/gen -Isrc
DEVICE_COMPILE = $(if $(V),,@echo "  CC  $< for $(TARGET)" &&) $(DEVICE_CC) $(DEVICE_CFLAGS) -I$(PROTOBUF_C)
DEVICE_SRC := $(filter-out src/host/% src/loader/file.c src/ops/gemm_kernel.c,$(LIB_SRC)) $(sort $(wildcard src/bare/*.c))
DEVICE_OBJ  = $(DEVICE_SRC:%.c=$(DEVICE)/obj/%.o) $(DEVICE)/obj/onnx.pb-c.o

PROTOBUF_C := $(BUILD)/device/protobuf-c

device: $(DEVICE)/libox.a

$(PROTOBUF_C)/protobuf-c/protobuf-c.c: tools/device/protobuf-c.sh
	sh tools/device/protobuf-c.sh $(PROTOBUF_C)
	@touch $@

# Without the names of fields, and without the functions that fill a message with its defaults: protobuf-c does that
# from the descriptors, too.
$(BUILD)/device/proto/onnx.pb-c.c $(BUILD)/device/proto/onnx.pb-c.h &: proto/onnx.proto
	@mkdir -p $(@D)
	sed 's/^package onnx;/&\noption optimize_for = CODE_SIZE;/' $< >$(@D)/onnx.proto
	protoc-c --proto_path=$(@D) --c_out=$(@D) $(@D)/onnx.proto
	sed -i 's/(ProtobufCMessageInit) onnx__[a-z0-9_]*__init,/NULL,/' $(@D)/onnx.pb-c.c

# Rewritten only when they change: everything depends on them.
$(DEVICE)/gen/selection.h: FORCE
	@mkdir -p $(@D)/new
	@awk -v dir=$(@D)/new -f tools/device/select.awk $(OPS) src/ops/table.inc
	@for file in selected.inc selection.h; do cmp -s $(@D)/new/$$file $(@D)/$$file || cp $(@D)/new/$$file $(@D); done

$(DEVICE)/gen/selected.inc: $(DEVICE)/gen/selection.h ;

$(DEVICE)/obj/src/bare/protobuf.o: WARNINGS :=
$(DEVICE)/obj/%.o: %.c $(DEVICE)/gen/selection.h $(BUILD)/device/proto/onnx.pb-c.h $(PROTOBUF_C)/protobuf-c/protobuf-c.c
	@mkdir -p $(@D)
	$(DEVICE_COMPILE) $(WARNINGS) -I$(BUILD)/device/proto $(DEPFLAGS) -c -o $@ $<

$(DEVICE)/obj/onnx.pb-c.o: $(BUILD)/device/proto/onnx.pb-c.c $(PROTOBUF_C)/protobuf-c/protobuf-c.c
	@mkdir -p $(@D)
	$(DEVICE_COMPILE) -c -o $@ $<

$(DEVICE)/libox.a: $(DEVICE_OBJ)
	@rm -f $@
	$(if $(V),,@echo "  AR  $@" &&) $(DEVICE_AR) rcs $@ $^

-include $(DEVICE_OBJ:.o=.d)

.PHONY: device
