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

DEVICE_TARGETS := $(sort $(patsubst device_flags_%,%,$(filter device_flags_%,$(.VARIABLES))))
NO_TARGET       = $(error there is no TARGET '$(TARGET)': it is one of $(DEVICE_TARGETS))
# One of the command line is looked at before anything is built, one of the environment when something is built for it.
$(if $(filter command,$(origin TARGET)),$(if $(filter $(TARGET),$(DEVICE_TARGETS)),,$(NO_TARGET)))
DEVICE_TOOLS = $(device_tools_$(TARGET))
DEVICE_ARCH  = $(or $(device_flags_$(TARGET)),$(NO_TARGET))
DEVICE_CC    = $(if $(DEVICE_TOOLS),$(DEVICE_TOOLS)gcc,$(CC))
DEVICE_AR    = $(DEVICE_TOOLS)$(if $(DEVICE_TOOLS),gcc-ar,ar)

# Only what is asked for is linked: every function has a section of its own. gcc optimizes library and program as one
# when it links them, 6 % less code; other linkers take the objects as they are.
DEVICE_LTO    = $(if $(DEVICE_TOOLS),-flto=auto -ffat-lto-objects)
DEVICE_CFLAGS = -std=c11 -Os $(DEVICE_LTO) $(DEVICE_ARCH) -ffunction-sections -fdata-sections -fno-math-errno -fno-move-loop-invariants \
  -fno-trapping-math -ffp-contract=off -DNDEBUG -DOX_SMALL=1 -DOX_SELECTION='"selection.h"' -I$(DEVICE)/gen -Isrc -Isrc/bare $(DEVICE_DEFINES)
DEVICE_COMPILE = $(if $(V),,@echo "  CC  $< for $(TARGET)" &&) $(DEVICE_CC) $(DEVICE_CFLAGS)
# What devices do without: threads, files and what needs malloc; weights that are laid out once for all sessions; passes
# of several nodes, and tables of one byte; products for caches, and convolutions and pools with loops of their own.
# src/bare has a plain form of what is needed.
DEVICE_WITHOUT := src/ops/window/byte_pool.c src/ops/reduce/byte_mean.c src/loops/byte_loops.c src/host/% src/pool.c src/loader/file.c src/store.c src/rewrite/quantized_tables.c src/rewrite/quantized_put.c src/rewrite/widened.c \
  src/ops/product/matmul_own.c src/ops/window/byte_transposed.c src/loops/lookup_loops.c \
  src/plan/fuse.c src/frame/group.c src/runtime/plan_text.c src/runtime/rewritten.c src/runtime/trees.c src/ops/epilogue.c $(filter-out src/pass/pass_convert.c,$(filter src/pass/%,$(LIB_SRC))) \
  src/ops/gemm/% src/loops/gemm/% \
  $(addprefix src/ops/window/,band.c conv_beside.c conv_columns.c conv_direct.c conv_rows.c pool_direct.c winograd.c winograd_plan.c) \
  $(addprefix src/loops/window/,beside_% conv_% winograd_%)
DEVICE_SRC := $(filter-out $(DEVICE_WITHOUT),$(LIB_SRC)) $(sort $(wildcard src/bare/*.c))
DEVICE_OBJ  = $(DEVICE_SRC:%.c=$(DEVICE)/obj/%.o) $(DEVICE)/obj/onnx.pb-c.o

device: $(DEVICE)/libox.a

# Descriptors as src/bare/protobuf-c/protobuf-c.h has them: without names, and without the fields that ox never reads,
# which are skipped then like unknown ones. Of some messages it only wants to know whether they are there.
UNREAD := doc_string|metadata_props|denotation|training_info|configuration|device_configurations|quantization_annotation
UNREAD_MESSAGES := Segment|Sequence|Map|Optional|Opaque
$(BUILD)/device/proto/onnx.pb-c.c $(BUILD)/device/proto/onnx.pb-c.h &: proto/onnx.proto tools/device/descriptors.awk
	@mkdir -p $(@D)
	$(call SHORT,PB) sed -E '/ ($(UNREAD)) = /d; /message ($(UNREAD_MESSAGES)) /,/}/{/ = /d}; s/^package onnx;/&\noption optimize_for = CODE_SIZE;/' \
	  $< >$(@D)/onnx.proto
	$(if $(V),,@)protoc-c --proto_path=$(@D) --c_out=$(@D) $(@D)/onnx.proto
	$(if $(V),,@)awk -f tools/device/descriptors.awk $(@D)/onnx.pb-c.c >$(@D)/onnx.pb-c.new
	$(if $(V),,@)mv $(@D)/onnx.pb-c.new $(@D)/onnx.pb-c.c

# Rewritten only when they change: everything depends on them.
$(DEVICE)/gen/selection.h: $(OPS) FORCE
	@mkdir -p $(@D)/new
	@awk -v dir=$(@D)/new -f tools/device/select.awk src/ox.h $(OPS) src/ops/table.inc
	@for file in selected.inc selection.h; do cmp -s $(@D)/new/$$file $(@D)/$$file || cp $(@D)/new/$$file $(@D); done

$(DEVICE)/gen/selected.inc: $(DEVICE)/gen/selection.h ;

$(DEVICE)/obj/%.o: %.c $(DEVICE)/gen/selection.h $(BUILD)/device/proto/onnx.pb-c.h
	@mkdir -p $(@D)
	$(DEVICE_COMPILE) $(WARNINGS) -I$(BUILD)/device/proto $(DEPFLAGS) -c -o $@ $<

# Loops that networks spend their time in, whose short ones are no calls of memset; in the latter, products and sums may be rounded together, as on other machines.
DEVICE_FAST  := src/bare/conv_bytes.c src/bare/gemm_bytes.c src/bare/byte_arithmetic.c
DEVICE_FUSED := src/bare/conv_depth.c src/bare/dots.c
$(DEVICE_FAST:%.c=$(DEVICE)/obj/%.o): DEVICE_CFLAGS += -O2 -fmove-loop-invariants -fno-tree-loop-distribute-patterns
# gcc 12 moves loads of Helium's scalars away from their products, and adds to addresses where offsets would do.
$(DEVICE_FAST:%.c=$(DEVICE)/obj/%.o): DEVICE_CFLAGS += $(if $(filter cortex-m55,$(TARGET)),-fno-schedule-insns -fno-auto-inc-dec)
$(DEVICE_FUSED:%.c=$(DEVICE)/obj/%.o): DEVICE_CFLAGS += -O2 -fmove-loop-invariants -ffp-contract=fast

$(DEVICE)/obj/onnx.pb-c.o: $(BUILD)/device/proto/onnx.pb-c.c
	@mkdir -p $(@D)
	$(DEVICE_COMPILE) -Werror=overflow $(DEPFLAGS) -c -o $@ $<

$(DEVICE)/libox.a: $(DEVICE_OBJ)
	@rm -f $@
	$(if $(V),,@echo "  AR  $@" &&) $(DEVICE_AR) rcs $@ $^

check-device: $(BUILD)/ox node-cases
	@BUILD='$(BUILD)' MAKE='$(MAKE)' CC='$(CC)' SANITIZE='$(SANITIZE)' PYTHON='$(PYTHON)' sh tests/device/run.sh

# Linked images, in bytes.
$(BUILD)/device/size.md: FORCE | $(BUILD)/ox
	@mkdir -p $(@D)
	@BUILD='$(BUILD)' MAKE='$(MAKE)' sh tools/device/size.sh $@

size: $(BUILD)/device/size.md
	@cat tools/device/size_head.md $< >docs/size.md
	@cat $<

check-size: $(BUILD)/device/size.md
	@sh tools/device/check_size.sh $< docs/size.md
	@echo '1 passed, 0 failed, 0 skipped'

-include $(DEVICE_OBJ:.o=.d)

.PHONY: device check-device size check-size
