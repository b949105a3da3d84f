# embedded.mk: tests of the reduced library on boards that QEMU emulates. Included by the Makefile after firmware.mk.
# `sh tools/setup.sh device` installs compilers and emulators.
EMBEDDED_CASES := test_expand_dim_changed test_expand_dim_unchanged test_add test_add_bcast

$(DEVICE)/gen/cases.inc: tests/embedded/embed_cases.sh
	@mkdir -p $(@D)
	sh $< '$(ONNX_DATA)/node' $(EMBEDDED_CASES) >$@

$(DEVICE)/obj/tests/embedded/%.o: DEVICE_CFLAGS += -I$(BOARD)
$(DEVICE)/obj/tests/embedded/cases.o: DEVICE_CFLAGS += -DCASES_BUFFER=10240
$(DEVICE)/obj/tests/embedded/cases.o: $(DEVICE)/gen/cases.inc

$(DEVICE)/cases.elf: $(DEVICE)/obj/tests/embedded/cases.o $(BOARD_OBJ) $(DEVICE)/libox.a $(BOARD)/firmware.ld
	$(DEVICE_CC) $(DEVICE_ARCH) $(BOARD_LIBC) $(BOARD_LINK) -o $@ $(filter %.o %.a,$^) -lm

# Firmware that has its cases inside, on the board of TARGET.
device-cases: $(DEVICE)/cases.elf
	@$(EMULATE) -kernel $<

# The node suite from the files of the host, compared by the code of `ox test`. The program's heap is the first memory
# of the board (newlib wants it below the stack); its data, its stack and the library's buffer are in the second.
NODE_TOOLS := array case_run compare decimal memory number print source text tool
NODE_OBJ    = $(NODE_TOOLS:%=$(DEVICE)/obj/tools/%.o) $(DEVICE)/obj/tests/embedded/node.o

$(DEVICE)/obj/tests/embedded/node.o: DEVICE_CFLAGS += -Itools -DNODE_BUFFER=0x21800000 -DNODE_BUFFER_BYTES=0x400000
# Debian's newlib has PRId64 only if its own stdint.h was there first.
$(DEVICE)/obj/tools/%.o: DEVICE_CFLAGS += -D_POSIX_C_SOURCE=200809L -D__int64_t_defined=1
$(DEVICE)/node.elf: MEMORY := 0 0x400000 0x21000000 0x200000
$(DEVICE)/node.elf: STACK_BYTES := 0x40000
$(DEVICE)/node.elf: $(NODE_OBJ) $(BOARD_OBJ) $(DEVICE)/libox.a $(BOARD)/firmware.ld
	$(DEVICE_CC) $(DEVICE_ARCH) --specs=rdimon.specs $(BOARD_LINK) -Wl,--defsym=end=0x20000000 \
	  -fno-lto -Wl,--wrap=ox_default_allocator -Wl,--wrap=vsnprintf -o $@ $(filter %.o %.a,$^) -lm

device-node: $(DEVICE)/node.elf
	@sh tests/embedded/node.sh $(DEVICE)/node $(BUILD)/node $(EMULATE) -kernel $<

device-digits: $(DEVICE)/digits.elf
	@sh tests/embedded/digits.sh $(EMULATE) -kernel $<

# The digits in a buffer of exactly as many bytes as they take, and of one less.
$(DEVICE)/obj/tests/embedded/exact.o: DEVICE_CFLAGS += -I$(DIGITS_EMBED)
$(DEVICE)/obj/tests/embedded/exact.o: $(DIGITS_EMBED)/model.h
$(DEVICE)/exact.elf: $(DEVICE)/obj/tests/embedded/exact.o $(DEVICE)/obj/digits_model.o $(BOARD_OBJ) $(DEVICE)/libox.a \
  $(BOARD)/firmware.ld
	$(DEVICE_CC) $(DEVICE_ARCH) $(BOARD_LIBC) $(BOARD_LINK) -o $@ $(filter %.o %.a,$^) -lm

device-exact: $(DEVICE)/exact.elf
	@$(EMULATE) -kernel $<

# A random forest, which gives the same bits as the library of this machine.
FOREST_EMBED := $(BUILD)/device/forest
$(addprefix $(FOREST_EMBED)/,ops.txt forest.c forest.h) &: tests/embedded/forest.onnx $(BUILD)/ox
	@mkdir -p $(@D)
	$(BUILD)/ox embed $< -d rows=1 -o $(@D)

$(DEVICE)/obj/forest_model.o: $(FOREST_EMBED)/forest.c $(FOREST_EMBED)/forest.h
	@mkdir -p $(@D)
	$(DEVICE_COMPILE) -c -o $@ $<

$(DEVICE)/obj/tests/embedded/forest.o: DEVICE_CFLAGS += -I$(FOREST_EMBED)
$(DEVICE)/obj/tests/embedded/forest.o: $(FOREST_EMBED)/forest.h tests/embedded/forest_rows.inc
$(DEVICE)/forest.elf: $(DEVICE)/obj/tests/embedded/forest.o $(DEVICE)/obj/forest_model.o $(BOARD_OBJ) $(DEVICE)/libox.a \
  $(BOARD)/firmware.ld
	$(DEVICE_CC) $(DEVICE_ARCH) $(BOARD_LIBC) $(BOARD_LINK) -o $@ $(filter %.o %.a,$^) -lm

$(FOREST_EMBED)/host: tests/embedded/forest.c tests/embedded/host_board.c tests/embedded/forest_rows.inc $(FOREST_EMBED)/forest.c \
  $(BUILD)/libox.a
	$(COMPILE) -I$(BOARD) -I$(FOREST_EMBED) -o $@ $(filter %.c,$^) $(LIBS_STATIC)

device-forest: $(DEVICE)/forest.elf $(FOREST_EMBED)/host
	@sh tests/embedded/forest.sh $(FOREST_EMBED)/host $(EMULATE) -kernel $<

# Networks with random weights, which give the same bits as the library of this machine where they are of integers.
NETWORK        ?= kws_qdq
NETWORKS_DIR   := $(BUILD)/device/networks
NETWORK_DIR     = $(NETWORKS_DIR)/$(NETWORK)
network_buffer_cortex-m55 := 131072
NETWORK_BUFFER = $(or $(network_buffer_$(TARGET)),655360)
NETWORKS       := kws_float kws_qdq kws_qop mobilenet resnet autoencoder windows shapes functions products scales
$(NETWORKS:%=$(NETWORKS_DIR)/%/model.onnx) &: tests/embedded/networks.py | venv
	@mkdir -p $(NETWORKS_DIR)
	$(VENV_RUN) 0 $< $(NETWORKS_DIR)

$(NETWORKS_DIR)/%/ops.txt $(NETWORKS_DIR)/%/model.c $(NETWORKS_DIR)/%/model.h &: $(NETWORKS_DIR)/%/model.onnx $(BUILD)/ox
	$(BUILD)/ox embed $< -o $(NETWORKS_DIR)/$*

$(DEVICE)/obj/network_model.o: $(NETWORK_DIR)/model.c $(NETWORK_DIR)/model.h
	@mkdir -p $(@D)
	$(DEVICE_COMPILE) -c -o $@ $<

$(DEVICE)/obj/tests/embedded/network.o: DEVICE_CFLAGS += -I$(NETWORK_DIR) -DNETWORK_BUFFER=$(NETWORK_BUFFER)
$(DEVICE)/obj/tests/embedded/network.o: $(NETWORK_DIR)/model.h
$(DEVICE)/network.elf: $(DEVICE)/obj/tests/embedded/network.o $(DEVICE)/obj/network_model.o $(BOARD_OBJ) $(DEVICE)/libox.a \
  $(BOARD)/firmware.ld
	$(DEVICE_CC) $(DEVICE_ARCH) $(BOARD_LIBC) $(BOARD_LINK) -o $@ $(filter %.o %.a,$^) -lm

$(NETWORKS_DIR)/%/host: tests/embedded/network.c tests/embedded/host_board.c $(NETWORKS_DIR)/%/model.c $(BUILD)/libox.a
	$(COMPILE) -I$(BOARD) -I$(NETWORKS_DIR)/$* -DNETWORK_BUFFER='(4 << 20)' -o $@ $(filter %.c,$^) $(LIBS_STATIC)

# The same networks by plans as constants.
$(NETWORKS_DIR)/%/plan/ops.txt $(NETWORKS_DIR)/%/plan/model.c $(NETWORKS_DIR)/%/plan/model.h &: $(NETWORKS_DIR)/%/model.onnx $(BUILD)/ox
	$(BUILD)/ox embed --plan $< -o $(NETWORKS_DIR)/$*/plan

PLAN_COMPILE = $(DEVICE_COMPILE) -I$(NETWORK_DIR)/plan -I$(BOARD) $(PLAN_FLAGS)
$(DEVICE)/obj/plan_model.o: $(NETWORK_DIR)/plan/model.c $(NETWORK_DIR)/plan/model.h src/runtime/planned.h $(DEVICE)/gen/selection.h
	@mkdir -p $(@D)
	$(PLAN_COMPILE) $(WARNINGS) -c -o $@ $<

$(DEVICE)/obj/planned.o: tests/embedded/planned.c $(NETWORK_DIR)/plan/model.h src/runtime/planned.h $(DEVICE)/gen/selection.h
	@mkdir -p $(@D)
	$(PLAN_COMPILE) $(WARNINGS) -c -o $@ $<

$(DEVICE)/planned.elf: $(DEVICE)/obj/planned.o $(DEVICE)/obj/plan_model.o $(BOARD_OBJ) $(DEVICE)/libox.a $(BOARD)/firmware.ld
	$(DEVICE_CC) $(DEVICE_ARCH) $(BOARD_LIBC) $(BOARD_LINK) -o $@ $(filter %.o %.a,$^) -lm

device-plan: machine_cortex-m0 := $(machine_cortex-m3)
device-plan: hz_cortex-m0 := $(hz_cortex-m3)
$(DEVICE)/planned.elf: MEMORY = $(if $(filter cortex-m0,$(TARGET)),$(memory_cortex-m3),$(memory_$(TARGET)))
device-plan: $(DEVICE)/planned.elf $(NETWORK_DIR)/host
	@sh tests/embedded/network.sh $(NETWORK_DIR)/host $(EMULATE) -kernel $<

# A Cortex-M0 with more memory than the microbit has; it takes the same instructions.
device-network: machine_cortex-m0 := $(machine_cortex-m3)
device-network: hz_cortex-m0 := $(hz_cortex-m3)
$(DEVICE)/network.elf: MEMORY = $(if $(filter cortex-m0,$(TARGET)),$(memory_cortex-m3),$(memory_$(TARGET)))
device-network: $(DEVICE)/network.elf $(NETWORK_DIR)/host
	@sh tests/embedded/network.sh $(NETWORK_DIR)/host $(EMULATE) -kernel $<

# What inferences take: docs/devices-bench.md.
DEVICE_BENCH := $(patsubst %,%@cortex-m4,$(filter-out windows shapes functions products scales,$(NETWORKS))) \
  $(patsubst %,%@cortex-m4@plan,kws_float kws_qdq kws_qop mobilenet resnet) \
  $(foreach target,cortex-m0 cortex-m55 rv32,kws_qdq@$(target) kws_qdq@$(target)@plan) \
  $(foreach target,cortex-m55 cortex-m0 rv32,$(patsubst %,%@$(target),mobilenet resnet autoencoder))
device-bench: $(BUILD)/ox
	@mkdir -p $(BUILD)/device
	@BUILD='$(BUILD)' MAKE='$(MAKE)' sh tests/embedded/bench.sh $(BUILD)/device/bench.md $(DEVICE_BENCH)
	@cat tests/embedded/bench_head.md $(BUILD)/device/bench.md >docs/devices-bench.md

# Each part on its board, with a library of its own: all operators for the node suite, otherwise what is needed. The
# microbit has 16 KB of RAM.
DEVICE_PARTS := device-cases@cortex-m0 device-node@cortex-m4 device-forest@cortex-m4 device-forest@rv32 \
  device-network@kws_qdq-cortex-m4 device-network@kws_qdq-rv32 device-network@kws_qop-cortex-m0 device-network@windows-cortex-m4 \
  device-network@products-cortex-m4 device-network@products-rv32 device-network@scales-cortex-m4 device-network@functions-cortex-m4 device-plan@functions-cortex-m0 device-network@autoencoder-cortex-m4 device-plan@kws_qdq-cortex-m4 device-plan@windows-rv32 device-plan@windows-cortex-m55 device-plan@shapes-cortex-m55 \
  device-plan@products-cortex-m0 device-plan@products-cortex-m55 device-network@resnet-cortex-m55 $(TINY_NETWORKS:%=device-example@%-cortex-m4) $(foreach part,digits exact,$(patsubst %,device-$(part)@%,cortex-m3 cortex-m4 cortex-m55 rv32))

device-test: node-cases
	+@OX_VENV_TRIED=1 MAKE='$(MAKE)' BUILD='$(BUILD)' sh tests/check.sh $(DEVICE_PARTS)

device-cases@%:
	+@$(MAKE) --no-print-directory TARGET=$* DEVICE='$(BUILD)/device/$*-cases' OPS=tests/embedded/ops.txt \
	  STACK_BYTES=4096 device-cases

device-digits@%:
	+@$(MAKE) --no-print-directory TARGET=$* DEVICE='$(BUILD)/device/$*-digits' OPS='$(DIGITS_EMBED)/ops.txt' \
	  device-digits

device-exact@%:
	+@$(MAKE) --no-print-directory TARGET=$* DEVICE='$(BUILD)/device/$*-digits' OPS='$(DIGITS_EMBED)/ops.txt' \
	  device-exact

device-forest@%:
	+@$(MAKE) --no-print-directory TARGET=$* DEVICE='$(BUILD)/device/$*-forest' OPS='$(FOREST_EMBED)/ops.txt' \
	  device-forest

# EXAMPLE-TARGET
device-example@%:
	+@$(MAKE) --no-print-directory EXAMPLE='$(firstword $(subst -, ,$*))' TARGET='$(patsubst $(firstword $(subst -, ,$*))-%,%,$*)' example

# NETWORK-TARGET
device-network@%:
	+@$(MAKE) --no-print-directory TARGET='$(NETWORK_TARGET)' NETWORK='$(NETWORK_NAME)' \
	  DEVICE='$(BUILD)/device/$(NETWORK_TARGET)-$(NETWORK_NAME)' OPS='$(NETWORKS_DIR)/$(NETWORK_NAME)/ops.txt' device-network
device-network@%: NETWORK_NAME = $(firstword $(subst -, ,$*))
device-network@%: NETWORK_TARGET = $(patsubst $(NETWORK_NAME)-%,%,$*)

# The same, with a library of what the plan needs.
device-plan@%:
	+@$(MAKE) --no-print-directory TARGET='$(NETWORK_TARGET)' NETWORK='$(NETWORK_NAME)' \
	  DEVICE='$(BUILD)/device/$(NETWORK_TARGET)-$(NETWORK_NAME)-plan' OPS='$(NETWORKS_DIR)/$(NETWORK_NAME)/plan/ops.txt' device-plan
device-plan@%: NETWORK_NAME = $(firstword $(subst -, ,$*))
device-plan@%: NETWORK_TARGET = $(patsubst $(NETWORK_NAME)-%,%,$*)

device-node@%:
	+@$(MAKE) --no-print-directory TARGET=$* DEVICE='$(BUILD)/device/$*' device-node

.PHONY: device-cases device-node device-forest device-digits device-exact device-network device-plan device-bench device-test
