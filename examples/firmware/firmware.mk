# firmware.mk: programs for boards that QEMU emulates, and how they are run. Included by the Makefile after device.mk,
# whose TARGET chooses the board too: `make firmware TARGET=cortex-m4` and `make run-firmware TARGET=cortex-m4`, with
# OPS=build/device/digits/ops.txt for a library of what the digits need.
BOARD := examples/firmware/board

# QEMU's machine; flash and RAM, address and size; ticks of the counter in a second.
machine_cortex-m0  := qemu-system-arm -M microbit
memory_cortex-m0   := 0 0x40000 0x20000000 0x4000
hz_cortex-m0       := 64000000
machine_cortex-m3  := qemu-system-arm -M mps2-an385
memory_cortex-m3   := 0 0x400000 0x20000000 0x400000
hz_cortex-m3       := 25000000
machine_cortex-m4  := qemu-system-arm -M mps2-an386
memory_cortex-m4   := 0 0x400000 0x20000000 0x400000
hz_cortex-m4       := 25000000
machine_cortex-m55 := qemu-system-arm -M mps3-an547
memory_cortex-m55  := 0 0x80000 0x20000000 0x80000
hz_cortex-m55      := 32000000
machine_rv32       := qemu-system-riscv32 -M virt -bios none
memory_rv32        := 0x80000000 0x400000 0x80400000 0x400000
hz_rv32            := 1000000000

# One instruction is a nanosecond to the emulator, so that counts are the same in every run.
EMULATE      = timeout 200 $(machine_$(TARGET)) -display none -monitor none -serial null -icount shift=0 \
  -semihosting-config enable=on,target=native
STACK_BYTES   ?= 8192
DIGITS_BUFFER ?= 12288
MEMORY       = $(memory_$(TARGET))
BOARD_LINK   = -nostartfiles -T $(BOARD)/firmware.ld -Wl,--gc-sections $(foreach place,1:board_flash \
  2:board_flash_size 3:board_ram 4:board_ram_size,-Wl,--defsym=$(lastword $(subst :, ,$(place)))=$(word \
  $(firstword $(subst :, ,$(place))),$(MEMORY))) -Wl,--defsym=board_stack_bytes=$(STACK_BYTES)
BOARD_LIBC   = $(if $(filter cortex-%,$(TARGET)),--specs=nano.specs)
BOARD_SRC    = $(BOARD)/board.c $(BOARD)/semihost.c $(BOARD)/start_$(if $(filter rv%,$(TARGET)),riscv,arm).c
BOARD_OBJ    = $(BOARD_SRC:%.c=$(DEVICE)/obj/%.o)

# What runs before there is memory stays by itself.
$(BOARD_OBJ): DEVICE_LTO :=
$(DEVICE)/obj/$(BOARD)/start_riscv.o: DEVICE_CFLAGS += -march=rv32imac_zicsr
$(DEVICE)/obj/examples/firmware/%.o: DEVICE_CFLAGS += -I$(BOARD) -DBOARD_HZ=$(hz_$(TARGET))

FIRMWARE_SRC := examples/firmware

# What `ox embed` writes for the model.
DIGITS_EMBED := $(BUILD)/device/digits
$(addprefix $(DIGITS_EMBED)/,ops.txt model.c model.h) &: $(DIGITS)/model.onnx $(BUILD)/ox
	@mkdir -p $(@D)
	$(BUILD)/ox embed $< -d batch=1 -o $(@D)

$(DEVICE)/obj/digits_model.o: $(DIGITS_EMBED)/model.c $(DIGITS_EMBED)/model.h
	@mkdir -p $(@D)
	$(DEVICE_COMPILE) -c -o $@ $<

# The pictures with their labels.
$(DEVICE)/gen/digits_pictures.inc: $(wildcard $(DIGITS)/images/*.pgm)
	@mkdir -p $(@D)
	@{ echo 'static const picture pictures[] = {'; for file in $^; do name=$${file##*/}; \
	  echo "{$${name%%_*}, {"; sed 1,3d $$file | tr -s ' \n' ',,' | sed 's/^,//'; echo '}},'; done; echo '};'; } >$@

$(DEVICE)/obj/examples/firmware/digits.o: DEVICE_CFLAGS += -I$(DIGITS_EMBED) -Dmodel_BUFFER_BYTES=$(DIGITS_BUFFER)
$(DEVICE)/obj/examples/firmware/digits.o: $(DIGITS_EMBED)/model.h $(DEVICE)/gen/digits_pictures.inc

$(DEVICE)/digits.elf: $(DEVICE)/obj/$(FIRMWARE_SRC)/digits.o $(DEVICE)/obj/digits_model.o $(BOARD_OBJ) $(DEVICE)/libox.a $(BOARD)/firmware.ld
	$(DEVICE_CC) $(DEVICE_ARCH) $(BOARD_LIBC) $(BOARD_LINK) -o $@ $(filter %.o %.a,$^) -lm

firmware: $(DEVICE)/digits.elf

run-firmware: firmware
	@$(EMULATE) -kernel $(DEVICE)/digits.elf

.PHONY: firmware run-firmware

# The networks of examples/tiny: `make example EXAMPLE=spotter TARGET=cortex-m4` says the class of each sample, and what
# that costs. One library has the operators of all of them.
TINY          := examples/tiny
TINY_EMBED    := $(BUILD)/device/tiny
TINY_NETWORKS := spotter person anomaly
TINY_LISTS    := $(TINY_NETWORKS:%=$(TINY_EMBED)/%/ops.txt)
EXAMPLE       ?= spotter
tiny_numbers_spotter := 4000
tiny_numbers_person  := 576
tiny_numbers_anomaly := 64
TINY_BUFFER   ?= 229376
TINY_DEFINES   = -I$(TINY_EMBED)/$(EXAMPLE) -DTINY_NUMBERS=$(tiny_numbers_$(EXAMPLE)) -DTINY_BUFFER='($(TINY_BUFFER))'

$(TINY_EMBED)/%/ops.txt $(TINY_EMBED)/%/model.c $(TINY_EMBED)/%/model.h &: $(TINY)/%/model.onnx $(BUILD)/ox
	@mkdir -p $(TINY_EMBED)
	$(BUILD)/ox embed $< -o $(TINY_EMBED)/$*

# Sounds are what is behind 44 bytes, pictures what is behind three lines.
$(TINY_EMBED)/%/samples.inc: $(TINY)/%/model.onnx
	@mkdir -p $(@D)
	@{ echo 'static const sample samples[] = {'; for file in $(TINY)/$*/samples/*; do name=$${file##*/}; \
	  echo "{$${name%%_*}, {"; case $$file in *.wav) od -An -v -td2 -j44 $$file ;; *.pgm) sed 1,3d $$file ;; *) cat $$file ;; esac | \
	  sed 's/^ *//; s/ *$$/,/; s/  */,/g'; echo '}},'; done; echo '};'; } >$@

$(DEVICE)/obj/$(EXAMPLE)_model.o: $(TINY_EMBED)/$(EXAMPLE)/model.c $(TINY_EMBED)/$(EXAMPLE)/model.h
	@mkdir -p $(@D)
	$(DEVICE_COMPILE) -c -o $@ $<

$(DEVICE)/obj/$(EXAMPLE).o: $(FIRMWARE_SRC)/tiny.c $(TINY_EMBED)/$(EXAMPLE)/model.h $(TINY_EMBED)/$(EXAMPLE)/samples.inc $(DEVICE)/gen/selection.h
	@mkdir -p $(@D)
	$(DEVICE_COMPILE) $(WARNINGS) -I$(BOARD) $(TINY_DEFINES) -c -o $@ $<

$(DEVICE)/$(EXAMPLE).elf: $(DEVICE)/obj/$(EXAMPLE).o $(DEVICE)/obj/$(EXAMPLE)_model.o $(BOARD_OBJ) $(DEVICE)/libox.a $(BOARD)/firmware.ld
	$(DEVICE_CC) $(DEVICE_ARCH) $(BOARD_LIBC) $(BOARD_LINK) -o $@ $(filter %.o %.a,$^) -lm

$(TINY_EMBED)/%/host: TINY_BUFFER = 4 << 20
$(TINY_EMBED)/%/host: $(FIRMWARE_SRC)/tiny.c tests/embedded/host_board.c $(TINY_EMBED)/%/model.c $(TINY_EMBED)/%/samples.inc $(BUILD)/libox.a
	$(COMPILE) -I$(BOARD) $(TINY_DEFINES) -o $@ $(filter %.c,$^) $(LIBS_STATIC)

# Whether the board says what this machine says.

run-example: $(DEVICE)/$(EXAMPLE).elf $(TINY_EMBED)/$(EXAMPLE)/host
	@sh tests/embedded/network.sh $(TINY_EMBED)/$(EXAMPLE)/host $(EMULATE) -kernel $<

example:
	+@$(MAKE) --no-print-directory DEVICE='$(BUILD)/device/$(TARGET)-tiny' OPS='$(TINY_LISTS)' run-example

.PHONY: example run-example
