# make          the command, the static and the shared library, in build/
# make check    every test; make help lists the rest
# make ASSERTIONS=1 BUILD=build/checked   looks at what the code relies on while it runs
# On all processors, unless -j says on how many; not where clean has company, whose order counts.
ifeq ($(MAKELEVEL)$(filter -j%,$(MAKEFLAGS))$(filter clean,$(MAKECMDGOALS)),0)
MAKEFLAGS += -j$(or $(shell nproc 2>/dev/null),1)
endif

BUILD  ?= build
PREFIX ?= /usr/local
CC     ?= cc
PYTHON ?= python3

SOURCES := $(BUILD)/sources
VERSION  := $(shell sed -n 's/^\#define OX_VERSION_M[A-Z]* //p;s/^\#define OX_VERSION_PATCH //p' src/ox.h | paste -sd.)
# about NAME: that line of tools/about.h, the one place for name, licence and address.
about     = $(shell sed -n 's/^\#define OX_$(1) "\(.*\)"$$/\1/p' tools/about.h)
ADDRESS   = $(call about,ADDRESS)
# FILL writes them, and the version, into a text; a line for an address is left out while there is none.
FILL      = sed -e 's,@NAME@,$(call about,NAME),g' -e 's,@VERSION@,$(VERSION),g' -e 's,@LICENCE@,$(call about,LICENCE),g' \
              -e $(if $(ADDRESS),'s|@ADDRESS@|$(ADDRESS)|',/@ADDRESS@/d)
# Its number is that of the binary interface (docs/versions.md); tests/install/abi.txt says what it stands for.
SONAME   := libox.so.0
WARNINGS := -Wall -Wextra -Wshadow -Wconversion -Werror
# Lines, for backtraces and profiles. A debugger wants OPT='-Og -g': to describe variables takes a sixth of the compiler's time.
OPT      ?= -O2 -g1
PIC      ?= -fPIC

# Where C11 lets floats be computed in double (s390x), the results would not be those of other machines.
FLOATS   := $(shell $(CC) -fexcess-precision=fast -Werror -c -x c -o /dev/null /dev/null 2>/dev/null && \
              echo -fexcess-precision=fast)
CFLAGS   += -std=c11 $(FLOATS) $(OPT) $(WARNINGS) -fvisibility=hidden $(PIC) -D_FILE_OFFSET_BITS=64 -Isrc $(SANITIZE)
LDFLAGS  += $(SANITIZE)
DEPFLAGS  = -MMD -MP
# What the code relies on is looked at (src/asserts.h) in builds for tests: with ASSERTIONS=1, and with sanitizers.
CFLAGS   += $(if $(SANITIZE)$(ASSERTIONS),-DOX_ASSERTIONS=1)

# make V=1 shows the whole commands.
COMPILE = $(if $(V),,@echo "  CC  $<" &&) $(CC) $(CFLAGS)
SHORT   = $(if $(V),,@echo "  $(1)  $@" &&)
define BUILD_OBJECT
	@mkdir -p $(@D)
	$(COMPILE) $(DEPFLAGS) -c -o $@ $<
endef

# What CMakeLists.txt reads too: folders, files left out, flags of files.
include src/sources.mk

# TAKEN gives the flags back if the compiler takes them.
TAKEN       = $(shell $(CC) -Werror $(1) -c -x c -o /dev/null /dev/null >/dev/null 2>&1 && echo $(1))
LOOPFLAGS   := $(call TAKEN,$(VECTOR_FLAGS)) $(LOOP_FLAGS)
UNROLLFLAGS := $(call TAKEN,$(UNROLL_FLAGS))
CHAINFLAGS  := $(CHAIN_FLAGS) $(call TAKEN,$(SCHEDULE_FLAGS))

LIB_SRC  := $(sort $(wildcard $(LIB_PATTERNS)))
LIB_OBJ  := $(BUILD)/obj/proto/onnx.pb-c.o $(LIB_SRC:%.c=$(BUILD)/obj/%.o)

# The loops are built again for newer processors, and chosen when a session starts. src/loops/builds.h lists the builds:
# BUILD_ROWS gives NAME of its rows for the machine of the compiler, ROW_FLAGS the N-th string of a row.
OPEN       := (
MACHINE    := $(firstword $(subst -, ,$(shell $(CC) -dumpmachine)))
BUILD_ROWS  = $(shell sed -n 's/^.*$(1)$(OPEN)\([a-z0-9_]*\), $(MACHINE),.*/\1/p' src/loops/builds.h)
ROW_FLAGS   = $(shell sed -n 's/^.*[A-Z]$(OPEN)$(1), $(MACHINE), //p' src/loops/builds.h | cut -d'"' -f$(2))
LOOP_SRC   := $(filter-out $(LOOPS_ONCE:%=src/loops/%.c),$(filter src/loops/%,$(LIB_SRC)))
DOTS       := $(if $(filter undefined,$(origin VARIANTS))$(VARIANTS),$(call BUILD_ROWS,DOT))
VARIANTS   ?= $(call BUILD_ROWS,BUILD)
LIB_OBJ    += $(foreach v,$(VARIANTS),$(LOOP_SRC:%.c=$(BUILD)/obj/%.$(v).o))
LIB_OBJ    += $(foreach dot,$(DOTS),$(LOOPS_DOT:%=$(BUILD)/obj/src/loops/%.$(dot).o))
TOOL_SRC := $(sort $(wildcard $(TOOL_PATTERNS)))
TOOL_OBJ := $(TOOL_SRC:%.c=$(BUILD)/obj/%.o)

# Operators that need libraries: plug-ins, which the command finds by itself. Each is built where pkg-config knows what
# it needs, and the compiler links that: it may be one for another machine.
HAS_LIBS    = $(if $(shell pkg-config --exists $(1) 2>/dev/null && echo 'int main(void) { return 0; }' | \
                $(2) -o /dev/null - $$(pkg-config --libs $(1)) >/dev/null 2>&1 && echo yes),$(3))
PLUGINS    := $(call HAS_LIBS,$(IMAGE_LIBS),$(CC) -x c,image) $(call HAS_LIBS,$(REGEX_LIBS),$(CXX) -x c++,regex)

all: $(BUILD)/ox $(BUILD)/libox.a $(BUILD)/libox.so $(BUILD)/ox.pc plugins

help:
	@echo 'make            build/ox, build/libox.a, build/libox.so'
	@echo 'make demo       classify handwritten digits with the model in examples/digits'
	@echo 'make check      every test: unit, conformance, property, examples; first installs what they need (SETUP=: does not)'
	@echo "make python-test the Python package's tests (check runs a share); make wheel and make sdist write into dist/"
	@echo '                make python-clients, spark-venv, optimum-venv: what tests of programs, of Spark and of optimum need; make spark-test'
	@echo 'make pages      the commands and programs of README.md and docs/, as they stand there (a part of check)'
	@echo 'make scopes     tiny graphs, all of a kind, fused and plain (a part of check); ALL=1: 20 rounds'
	@echo 'make asan       the same under the address and undefined-behaviour sanitizers'
	@echo 'make cross-test unit tests and the node suite on s390x, armhf and arm64, emulated'
	@echo 'make cross-quick a quick share of all targets'
	@echo 'make windows, musl, wasm, macos, macos-x86, freebsd: for other systems; with -test: tests under wine, here, in Node, or a look'
	@echo 'make platforms  all systems and their tests; writes the table of docs/platforms.md (SYSTEMS="musl wasm": these alone)'
	@echo 'make device-test the reduced library on microcontrollers, emulated'
	@echo 'make tsan       threads under the thread sanitizer'
	@echo 'make nightly    all that takes too long for every change (tests/nightly.txt; NIGHTLY=FILE: another list)'
	@echo 'make valgrind   the unit tests under valgrind'
	@echo 'make coverage   lines and branches of src/ that the tests run'
	@echo 'make torture    damage every model many times, and run what is left under sanitizers'
	@echo 'make fuzz       fuzz all that reads bytes, each for SECONDS (60)'
	@echo 'make reference  the reference of ox.h as HTML, in build/reference (needs doxygen)'
	@echo 'make lint       formatting, warnings on gcc and clang, static analysis'
	@echo "make analyze    clang's analyzer"
	@echo 'make models     fetch pinned real models into build/models'
	@echo 'make bench      measure ox against its peers; writes docs/benchmarks.md (PEERS=1: also rten and tract)'
	@echo '                TABLE=elementwise, products, layers, quantized, nbits, loops, trees, planning or models'
	@echo 'make bench-wasm ox beside onnxruntime-web, both in Node; writes docs/benchmarks-wasm.md'
	@echo 'make bench-arm  instructions of kernels on aarch64, counted under qemu; writes docs/benchmarks-arm.md'
	@echo 'make bench-python calls from Python beside those of ONNX Runtime'
	@echo 'make device     the library for a machine without an operating system (TARGET, OPS: tools/device/device.mk)'
	@echo 'make packages   a library for Arduino, PlatformIO, ESP-IDF and Zephyr (OPS: tools/device/device.mk)'
	@echo 'make wheels     wheels for Linux, macOS and Windows, into dist/'
	@echo 'make release    source archive, wheel and source distribution in dist/, checked and with checksums'
	@echo 'make amalgamation   the library as one file, build/amalgamation/ox.c'
	@echo 'make install    into $$(DESTDIR)$$(PREFIX); make uninstall removes it'

$(BUILD)/proto/onnx.pb-c.c $(BUILD)/proto/onnx.pb-c.h &: proto/onnx.proto
	@mkdir -p $(BUILD)/proto
	$(call SHORT,PB) protoc-c --proto_path=proto --c_out=$(BUILD)/proto proto/onnx.proto

$(BUILD)/obj/proto/onnx.pb-c.o: CFLAGS += -Wno-conversion -I$(BUILD)/proto
$(BUILD)/obj/proto/onnx.pb-c.o: $(BUILD)/proto/onnx.pb-c.c
	$(BUILD_OBJECT)

$(BUILD)/obj/src/loader/%.o: CFLAGS += -I$(BUILD)/proto
$(BUILD)/obj/src/loader/%.o: src/loader/%.c $(BUILD)/proto/onnx.pb-c.h
	$(BUILD_OBJECT)

$(LOOP_ROOMS:%=$(BUILD)/obj/src/%/%.o): CFLAGS += $(LOOPFLAGS) $(if $(VARIANTS)$(DOTS),-DOX_VARIANTS)
$(VARIANT_ROOMS:%=$(BUILD)/obj/src/%/%.o): CFLAGS += $(if $(VARIANTS)$(DOTS),-DOX_VARIANTS)
$(FUSED:%=$(BUILD)/obj/src/loops/%%o): CFLAGS += $(FUSED_FLAGS)
$(foreach v,$(VARIANTS),$(UNROLLED:%=$(BUILD)/obj/src/loops/%.$(v).o)): CFLAGS += $(UNROLLFLAGS)
$(CHAINED:%=$(BUILD)/obj/src/loops/%%o): CFLAGS += $(CHAINFLAGS)
$(TREES:%=$(BUILD)/obj/src/ops/%.o): CFLAGS += $(TREE_FLAGS)
# Rules of a build: NAME.
define BUILD_RULES
$(BUILD)/obj/%.$(1).o: CFLAGS += -DOX_ISA=$(1) $(call ROW_FLAGS,$(1),2)
$(WIDE:%=$(BUILD)/obj/src/loops/%.$(1).o): CFLAGS += $(call ROW_FLAGS,$(1),4)
$(BUILD)/obj/%.$(1).o: %.c
	$$(BUILD_OBJECT)
endef
define DOT_RULES
$(BUILD)/obj/%.$(1).o: CFLAGS += -DOX_ISA=$(1) -DOX_DOT_ISA=$(1) $(call ROW_FLAGS,$(1),2)
$(BUILD)/obj/%.$(1).o: %.c
	$$(BUILD_OBJECT)
endef
$(foreach v,$(VARIANTS),$(eval $(call BUILD_RULES,$(v))))
$(foreach dot,$(DOTS),$(eval $(call DOT_RULES,$(dot))))
$(BUILD)/obj/%.o: %.c
	$(BUILD_OBJECT)

# What tests of the parts link: all symbols.
$(BUILD)/obj/libox.a: $(LIB_OBJ)
	@rm -f $@
	$(call SHORT,AR) $(AR) rcs $@ $^

# What programs link: one object, in which only the functions of ox.h are global. A program may have others of the
# library's names, such as another copy of ONNX's protobuf code.
OBJCOPY ?= $(shell $(CC) -print-prog-name=objcopy)
$(BUILD)/libox.a: $(LIB_OBJ)
	@rm -f $@
	$(call SHORT,LD) $(CC) -r -nostdlib -o $(BUILD)/obj/libox.o $^
	@$(OBJCOPY) --localize-hidden $(BUILD)/obj/libox.o
	$(call SHORT,AR) $(AR) rcs $@ $(BUILD)/obj/libox.o

# LINKS gives the flags back if the linker takes them, with a declaration before main, and says nothing.
# STATIC gives archives, or shared libraries where there are none.
LINKS  = $(if $(shell echo '$(2) int main(void) { return 0; }' | $(CC) -include stdio.h -x c -o /dev/null - $(1) 2>&1),,$(1))
STATIC = $(foreach lib,$(1),$(or $(call LINKS,-l:lib$(lib).a),-l$(lib)))

# A pointer that is relocated takes a bit or two of the file instead of 24 bytes, where linker and C library know how.
PACKED = $(call LINKS,-z pack-relative-relocs,enum { known = 1 / (__GLIBC__ > 2 || __GLIBC_MINOR__ >= 36) };)

$(BUILD)/libox.so: $(LIB_OBJ)
	$(call SHORT,LD) $(CC) -shared -Wl,-soname,$(SONAME) -Wl,--no-undefined $(PACKED) $(LDFLAGS) -o $@ $^ -lprotobuf-c -lm -lpthread

# protobuf-c, png and zlib go into the command itself: starting it should not cost more than running a small model. Of
# the constants, tables come first and strings last (by name of their sections): few strings are read.
# Plug-ins find the functions of ox.h in the command.
$(BUILD)/ox: $(TOOL_OBJ) $(LIB_OBJ) tools/exports.txt
	$(call SHORT,LD) $(CC) $(LDFLAGS) -Wl,--dynamic-list=tools/exports.txt -Wl,--sort-section=name $(PACKED) -o $@ $(TOOL_OBJ) $(LIB_OBJ) \
	  $(call STATIC,protobuf-c png16 z) -lm -lpthread -ldl

IMAGE_OBJ := $(patsubst %.c,$(BUILD)/obj/%.o,$(sort $(wildcard plugins/image/*.c)))
REGEX_OBJ := $(patsubst %,$(BUILD)/obj/plugins/regex/%.o,plugin re2 tokenizer)
$(IMAGE_OBJ): CFLAGS += $(shell pkg-config --cflags $(IMAGE_LIBS) 2>/dev/null)
$(REGEX_OBJ): CFLAGS += $(shell pkg-config --cflags $(REGEX_LIBS) 2>/dev/null)
$(BUILD)/obj/plugins/regex/%.o: plugins/regex/%.cc
	@mkdir -p $(@D)
	$(if $(V),,@echo "  CXX $<" &&) $(CXX) -std=c++17 $(OPT) -Wall -Wextra -Werror -fvisibility=hidden -fPIC -Isrc $(SANITIZE) \
	  $(shell pkg-config --cflags $(REGEX_LIBS)) $(DEPFLAGS) -c -o $@ $<

# Those whose libraries are here.
plugins: $(PLUGINS:%=$(BUILD)/plugins/%.so)
.PHONY: plugins

$(BUILD)/plugins/image.so: $(IMAGE_OBJ)
	@mkdir -p $(@D)
	$(call SHORT,LD) $(CC) -shared $(LDFLAGS) -o $@ $^ $(shell pkg-config --libs $(IMAGE_LIBS))

$(BUILD)/plugins/regex.so: $(REGEX_OBJ)
	@mkdir -p $(@D)
	$(call SHORT,LD) $(CXX) -shared $(LDFLAGS) -o $@ $^ $(shell pkg-config --libs $(REGEX_LIBS))

# Rewritten when it changes, as PREFIX may from one call to the next.
$(BUILD)/ox.pc: tools/ox.pc.in FORCE
	@mkdir -p $(@D)
	@$(FILL) -e 's,@PREFIX@,$(PREFIX),' -e 's,@LIBDIR@,lib,' $< >$@.new
	@cmp -s $@.new $@ && rm $@.new || mv $@.new $@

$(BUILD)/ox.1: tools/ox.1 tools/about.h src/ox.h
	@mkdir -p $(@D)
	@$(FILL) $< >$@

# Where shells look for completions.
COMPLETIONS := share/bash-completion/completions/ox share/zsh/site-functions/_ox share/fish/vendor_completions.d/ox.fish

install: all $(BUILD)/ox.1
	install -d $(DESTDIR)$(PREFIX)/bin $(DESTDIR)$(PREFIX)/lib/pkgconfig $(DESTDIR)$(PREFIX)/include \
	  $(DESTDIR)$(PREFIX)/share/man/man1
	install -m755 $(BUILD)/ox $(DESTDIR)$(PREFIX)/bin/ox
	install -m644 $(BUILD)/libox.a $(DESTDIR)$(PREFIX)/lib/libox.a
	install -m755 $(BUILD)/libox.so $(DESTDIR)$(PREFIX)/lib/$(SONAME)
	ln -sf $(SONAME) $(DESTDIR)$(PREFIX)/lib/libox.so
	install -m644 src/ox.h src/ox.hpp $(DESTDIR)$(PREFIX)/include
	install -m644 $(BUILD)/ox.pc $(DESTDIR)$(PREFIX)/lib/pkgconfig/ox.pc
	install -m644 $(BUILD)/ox.1 $(DESTDIR)$(PREFIX)/share/man/man1/ox.1
	$(foreach to,$(COMPLETIONS),install -d $(dir $(DESTDIR)$(PREFIX)/$(to)) && $(EMULATOR) $(BUILD)/ox completion \
	  $(patsubst %-completion,%,$(word 2,$(subst /, ,$(to)))) >$(DESTDIR)$(PREFIX)/$(to) && ) true
	$(if $(strip $(PLUGINS)),install -d $(DESTDIR)$(PREFIX)/lib/ox)
	$(if $(strip $(PLUGINS)),install -m755 $(PLUGINS:%=$(BUILD)/plugins/%.so) $(DESTDIR)$(PREFIX)/lib/ox)
	@sh tools/installed.sh '$(DESTDIR)' '$(PREFIX)'

uninstall:
	rm -f $(addprefix $(DESTDIR)$(PREFIX)/,bin/ox lib/libox.a lib/libox.so lib/$(SONAME) include/ox.h include/ox.hpp \
	  lib/pkgconfig/ox.pc share/man/man1/ox.1 lib/ox/image.so lib/ox/regex.so $(COMPLETIONS))
	@rmdir $(DESTDIR)$(PREFIX)/lib/ox 2>/dev/null || true
	@sh tools/installed.sh '$(DESTDIR)' '$(PREFIX)' --gone

# The reference of the header, which ends with an error for what has no word there: tools/setup.sh lint installs doxygen.
REFERENCE := $(BUILD)/reference
reference:
	@rm -rf $(REFERENCE) && mkdir -p $(REFERENCE)
	@VERSION='$(VERSION)' REFERENCE='$(REFERENCE)' PYTHON='$(PYTHON)' doxygen docs/reference/Doxyfile
	@grep -q ox_model_load_file $(REFERENCE)/globals_func.html # it has read the header
	@echo '$(REFERENCE)/index.html'

# What docs/releases.md describes; the targets of python.mk make wheel and source distribution.
release: python-venv
	+@MAKE='$(MAKE)' PYTHON='$(PYTHON)' PY_VENV='$(abspath $(PY_VENV))' sh tools/release.sh

# A Debian source package of the tree and what it builds, in build/deb: docs/building.md.
deb:
	@sh tools/deb.sh '$(BUILD)/deb'

# The library as one file, in build/amalgamation: docs/building.md.
amalgamation: $(BUILD)/proto/onnx.pb-c.h $(SOURCES)/.stamp
	@$(PYTHON) tools/amalgamate.py '$(BUILD)/amalgamation' '$(BUILD)/proto' '$(SOURCES)/protobuf-c' '$(CC)'
	@echo '$(BUILD)/amalgamation/ox.c'

clean:
	rm -rf $(BUILD)

FORCE:

-include tools/device/device.mk
-include examples/examples.mk
-include python/python.mk
-include tests/tests.mk
-include tests/fuzz/fuzz.mk
-include tests/cross/cross.mk
-include python/wheels.mk
-include tests/cross/systems.mk
-include examples/firmware/firmware.mk
-include tools/device/packages.mk
-include tests/embedded/embedded.mk
-include tests/bench/bench.mk
-include tests/bench/arm/arm.mk
-include tests/bench/wasm/wasm.mk
-include $(LIB_OBJ:.o=.d) $(TOOL_OBJ:.o=.d) $(IMAGE_OBJ:.o=.d) $(REGEX_OBJ:.o=.d)

.PHONY: FORCE all help reference release deb amalgamation install uninstall clean
