# arm.mk: `make bench-arm` counts the instructions that kernels take on aarch64, under qemu's user mode, built by gcc and by
# clang, and writes docs/benchmarks-arm.md; CASES='mobilenet v2, int8; resnet18' counts these alone. Included by the Makefile;
# `sh tools/setup.sh cross` installs what it needs.
ARM_BENCH := $(BUILD)/bench/arm
ARM_ROOT  := $(CROSS)/arm64/sysroot/usr
ARM_FLAGS := -isystem $(ARM_ROOT)/include -isystem $(ARM_ROOT)/include/aarch64-linux-gnu
ARM_CC_gcc   := aarch64-linux-gnu-gcc
ARM_CC_clang := clang --target=aarch64-linux-gnu

$(ARM_BENCH)/instructions.so: tests/bench/arm/instructions.c
	@mkdir -p $(@D)
	$(COMPILE) -shared -o $@ $<

$(ARM_BENCH)/%/runs: $(CROSS)/arm64/sysroot/.stamp FORCE
	+@$(MAKE) --no-print-directory BUILD='$(@D)' CC='$(ARM_CC_$*) $(ARM_FLAGS)' AR=aarch64-linux-gnu-ar \
	  OBJCOPY=aarch64-linux-gnu-objcopy '$(@D)/libox.a' '$(@D)/obj/tests/bench/arm/runs.o'
	$(ARM_CC_$*) -o $@ $(@D)/obj/tests/bench/arm/runs.o $(@D)/libox.a -L$(ARM_ROOT)/lib/aarch64-linux-gnu \
	  -lprotobuf-c -lm -lpthread

bench-arm: venv $(ARM_BENCH)/instructions.so $(ARM_BENCH)/gcc/runs $(ARM_BENCH)/clang/runs
	PYTHONPATH=tests/lib $(VENV)/bin/python tests/bench/arm/arm.py --folder $(ARM_BENCH) --page docs/benchmarks-arm.md --cases '$(CASES)'

FORCE:
.PHONY: bench-arm FORCE
