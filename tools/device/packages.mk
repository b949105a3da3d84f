# packages.mk: one folder that Arduino, PlatformIO, ESP-IDF and Zephyr take, with the operators of OPS. Included by the Makefile after
# firmware.mk.
#
#     make packages [OPS='a/ops.txt b/ops.txt']      build/packages/ox
PACKAGE := $(BUILD)/packages/ox

packages: $(DEVICE)/gen/selection.h $(BUILD)/device/proto/onnx.pb-c.h $(DIGITS_EMBED)/model.c
	@$(PYTHON) tools/device/package.py '$(PACKAGE)' '$(BUILD)/device/proto' '$(DEVICE)/gen' '$(DIGITS_EMBED)' \
	  '$(DEVICE_FAST:%=%:-O2) $(DEVICE_FUSED:%=%:-O2,-ffp-contract=fast)' $(DEVICE_SRC)
	@echo '$(PACKAGE)'

# What it says of itself, and that it needs no flags: a part of check. packages-test, on boards: a part of `make nightly`.
check-packages packages-test: $(BUILD)/ox
	@BUILD='$(BUILD)' MAKE='$(MAKE)' CC='$(CC)' PYTHON='$(PYTHON)' sh tests/device/packages.sh $(if $(filter packages-test,$@),--boards)

# A board of the emulator as words of the shell.
board-words:
	@echo "tools='$(DEVICE_TOOLS)' arch='$(DEVICE_ARCH)' start='$(BOARD_SRC)' link='$(BOARD_LIBC) $(subst -T ,-T $(CURDIR)/,$(BOARD_LINK))' emulate='$(EMULATE)' \
	  start_flags='$(if $(filter rv%,$(TARGET)),-march=rv32imac_zicsr)'"

.PHONY: board-words packages check-packages packages-test
