# fuzz.mk: fuzzing with libFuzzer, under the address and undefined-behaviour sanitizers; included by the Makefile. Needs
# clang, and the Python packages of the tests for what the fuzzers start from.
#   make fuzz SECONDS=60                      each target for so long
#   make fuzz FUZZ_TARGETS=run SECONDS=600    one of them
#   make fuzz RUNS=20000                      so many inputs, the same each time
# What a target finds is written to build/fuzz/TARGET-...; it belongs into tests/regression with a line on what it was.
# What the targets learn is kept in build/fuzz/learned, so that the next run starts from it.
SECONDS      ?= 60
FUZZ_TARGETS ?= wire load run inputs values
FUZZ         := $(BUILD)/fuzz
FUZZ_CHECKS  := address,undefined
FUZZ_FLAGS   := -std=c11 -O1 -g -D_POSIX_C_SOURCE=200809L -Isrc -Itools -Itests/fuzz -I$(FUZZ)/proto \
  -fno-sanitize-recover=undefined
FUZZ_OPTIONS ?= $(FUZZ_REPEAT) -timeout=10 -rss_limit_mb=2048 -max_len=8192 -print_final_stats=1
# The same inputs each time, as many as a slow machine tries in a minute: what a change has to pass before it lands.
FUZZ_REPEAT  := $(if $(RUNS),-seed=1 -runs=$(RUNS))

# The corpus that a target starts from.
FUZZ_CORPUS_wire   := models
FUZZ_CORPUS_load   := models
FUZZ_CORPUS_run    := models
FUZZ_CORPUS_inputs := inputs
FUZZ_CORPUS_values := values

$(FUZZ)/corpus/.stamp: tests/fuzz/corpus.py tests/fuzz/seeds.py $(wildcard tests/versions/written*.py) $(BUILD)/node/.stamp
	@$(VENV)/bin/python tests/fuzz/corpus.py $(BUILD)/node examples/digits/images $(FUZZ)/corpus
	@touch $@

# The library and the command's parts, built once more in a folder of their own.
fuzz-build: venv
	+@$(MAKE) --no-print-directory BUILD='$(FUZZ)' CC=clang OPT='-O1 -g' VARIANTS= \
	  SANITIZE='-fsanitize=fuzzer-no-link,$(FUZZ_CHECKS) -fno-sanitize-recover=undefined' \
	  $(FUZZ)/obj/libox.a $(FUZZ)/libtools.a
	+@$(MAKE) --no-print-directory $(FUZZ)/corpus/.stamp $(FUZZ_TARGETS:%=$(FUZZ)/fuzz_%)

$(BUILD)/libtools.a: $(filter-out $(BUILD)/obj/tools/ox.o,$(TOOL_OBJ))
	@rm -f $@
	$(call SHORT,AR) $(AR) rcs $@ $^

$(FUZZ)/fuzz_%: tests/fuzz/fuzz_%.c tests/fuzz/fields.c tests/fuzz/mutate.c $(wildcard tests/fuzz/*.h) \
  $(FUZZ)/obj/libox.a $(FUZZ)/libtools.a
	$(call SHORT,LD) clang $(FUZZ_FLAGS) -fsanitize=fuzzer,$(FUZZ_CHECKS) -o $@ $(filter %.c,$^) $(FUZZ)/libtools.a $(FUZZ)/obj/libox.a \
	  -lprotobuf-c -lpng16 -lz -lm -lpthread -ldl

# All targets run, whatever the others find, as many at a time as make has jobs.
fuzz: fuzz-build
	+@$(MAKE) --no-print-directory --keep-going --output-sync FUZZ_BUILT=1 $(FUZZ_TARGETS:%=fuzz-%)

fuzz-%: $(if $(FUZZ_BUILT),,fuzz-build)
	@mkdir -p $(FUZZ)/learned/$*
	@echo "fuzz $*: $(SECONDS) s"
	@$(FUZZ)/fuzz_$* $(FUZZ_OPTIONS) -max_total_time=$(SECONDS) -artifact_prefix=$(FUZZ)/$*- \
	  $(FUZZ)/learned/$* $(FUZZ)/corpus/$(FUZZ_CORPUS_$*) >$(FUZZ)/$*.log 2>&1 || { tail -n 60 $(FUZZ)/$*.log; exit 1; }
	@sed -n 's/^stat::number_of_executed_units: */  inputs tried: /p' $(FUZZ)/$*.log

# ---- What was found once, in the build of the tests ----------------------------------------------------------------

REPLAYS := wire load run inputs values

$(BUILD)/obj/tests/fuzz/%.o: CFLAGS += -Itools -I$(BUILD)/proto -Wno-conversion
$(REPLAYS:%=$(BUILD)/obj/tests/fuzz/fuzz_%.o) $(BUILD)/obj/tests/fuzz/mutate.o: $(BUILD)/proto/onnx.pb-c.h

$(BUILD)/replay_%: $(BUILD)/obj/tests/fuzz/fuzz_%.o $(BUILD)/obj/tests/fuzz/replay.o $(BUILD)/obj/tests/fuzz/fields.o \
  $(BUILD)/obj/tests/fuzz/mutate.o $(BUILD)/libtools.a $(BUILD)/obj/libox.a
	$(call SHORT,LD) $(CC) $(LDFLAGS) -o $@ $^ -lprotobuf-c -lpng16 -lz -lm -lpthread -ldl

regression: $(REPLAYS:%=$(BUILD)/replay_%)
	@BUILD='$(BUILD)' sh tests/regression/run.sh

-include $(wildcard $(BUILD)/obj/tests/fuzz/*.d)

.PHONY: fuzz fuzz-build regression
