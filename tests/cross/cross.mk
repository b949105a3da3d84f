# cross.mk: unit tests, the node suite and trained networks on other machines, under qemu's user mode: s390x is big-endian
# with 64 bits, armhf has 32 bits, arm64 (aarch64) is what most other machines are today. Included by the Makefile.
# `sh tools/setup.sh cross` installs the compilers and the emulators. Of the networks, those run that MODEL_SECONDS are
# enough for; all take a quarter of an hour on each machine.
CROSS_ARCHS := s390x armhf arm64
CROSS_PARTS := unit conformance check-digits models-run
CROSS       := $(BUILD)/cross

TRIPLE_s390x := s390x-linux-gnu
TRIPLE_armhf := arm-linux-gnueabihf
TRIPLE_arm64 := aarch64-linux-gnu
QEMU_s390x   := qemu-s390x
QEMU_armhf   := qemu-arm
QEMU_arm64   := qemu-aarch64

cross-test: $(CROSS_ARCHS:%=cross-test-%)

$(CROSS)/%/sysroot/.stamp: tests/cross/sysroot.sh
	sh $< $* $(@D)
	@touch $@

# What no machine changes is shared with the host's build. models-run compares by Python, which loads the host's library.
cross-test-%: cross-build-% $(BUILD)/libox.so venv
	+@OX_VENV_TRIED=1 BUILD='$(CROSS)/$*' sh tests/cross/run.sh '$(MAKE)' $(TRIPLE_$*) $(QEMU_$*) $(CROSS_PARTS)

cross-build-%: $(CROSS)/%/sysroot/.stamp venv
	@mkdir -p $(BUILD)/node $(BUILD)/models
	@for shared in venv venv.note node models; do ln -sfn ../../$$shared $(CROSS)/$*/$$shared; done
	+@OX_VENV_TRIED=1 BUILD='$(CROSS)/$*' sh tests/cross/run.sh '$(MAKE)' $(TRIPLE_$*) $(QEMU_$*)

.PHONY: cross-test
.PRECIOUS: $(CROSS)/%/sysroot/.stamp
