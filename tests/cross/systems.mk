# systems.mk: the library and the command for other systems than Linux with glibc: Windows by mingw-w64, musl by musl-gcc,
# WebAssembly's system (WASI) by clang, macOS and FreeBSD by clang with the headers of the Python package ziglang. Included by
# the Makefile. `sh tools/setup.sh cross` installs the compilers, wine and Node. protobuf-c, zlib and libpng are built from
# Debian's sources, and go into libox.a, the shared library and the command.
#   make windows     build/windows/port: libox.a, ox.dll with libox.dll.a, ox.exe
#   make musl        build/musl/port: libox.a, libox.so, ox (static)
#   make wasm        build/wasm/port: libox.a, ox.wasm
#   make macos       build/macos/port: libox.a, libox.dylib, ox, for arm64; nothing runs here
#   make macos-x86   the same for x86-64
#   make freebsd     build/freebsd/port: libox.a, libox.so, ox; nothing runs here
#   make windows-test, musl-test, wasm-test, macos-test, macos-x86-test, freebsd-test
#   make musl-models and so on: trained networks, as make models-run for this machine
#   make platforms     runs all of it, those of cross.mk, too, and writes the table of docs/platforms.md; SYSTEMS='musl wasm': these alone
#   make cross-quick   all of them and of cross.mk, without optimization, and unit tests of some
ZIGGED := macos macos-x86 freebsd
PORTS  := windows musl wasm $(ZIGGED)
SYSTEMS ?= linux $(CROSS_ARCHS) $(PORTS)
COMMA   := ,
$(SOURCES)/.stamp: tests/cross/sources.sh
	sh $< $(@D)
	@touch $@

# mingw's formats are checked in builds for other systems; its isnan has conversions of its own. gcc believes that Windows
# keeps stacks aligned for AVX, which it does not: moves of vectors must not rely on it.
CC_windows  := x86_64-w64-mingw32-gcc -D__USE_MINGW_ANSI_STDIO=1 -Wa,-muse-unaligned-vector-move
AR_windows  := x86_64-w64-mingw32-ar
RUN_windows := env WINEDEBUG=-all wine
EXE_windows := .exe
PIC_windows :=
CC_musl     := musl-gcc
AR_musl     := ar
# It has no setjmp, which libpng and its users stand on. clang 19 would make smaller files, but computes `a <= 0 ? 0 : a` of
# vectors by pmax, which gives -0 for -0.
CC_wasm     := clang --target=wasm32-wasi -msimd128 -DOX_WITHOUT_PNG
AR_wasm     := llvm-ar
# Node 20 crashes in its collector, or as it returns from a program, where that took some seconds and 1 GB: in a third of the runs of vgg19
# without these options, in none with them.
RUN_wasm    := node --no-warnings --no-flush-bytecode --no-turbo-fast-api-calls tests/cross/wasi.mjs
EXE_wasm    := .wasm
OPT_wasm    := -O2
WARNINGS_wasm := $(WARNINGS) -Wno-enum-float-conversion
# Linux on arm64 with glibc: for a wheel alone, as cross.mk has the rest.
CC_linux-arm64 := aarch64-linux-gnu-gcc
AR_linux-arm64 := aarch64-linux-gnu-ar
# macOS and FreeBSD, by zig.
ZIG_VENV    := $(BUILD)/zig-venv
ZIG          = $(firstword $(shell ls $(abspath $(ZIG_VENV))/lib/python*/site-packages/ziglang/zig 2>/dev/null))
CC_ZIG       = sh $(CURDIR)/tests/cross/zig.sh $(ZIG) $(1)
CC_macos     = $(call CC_ZIG,aarch64-macos)
CC_macos-x86 = $(call CC_ZIG,x86_64-macos)
CC_freebsd   = $(call CC_ZIG,x86_64-freebsd)
$(foreach s,$(ZIGGED),$(eval AR_$(s) = $$(ZIG) ar))
$(foreach s,$(ZIGGED),$(eval OPT_$(s) := -O2))
# A newer clang than that of lint, which counts the numbers of an enumeration as numbers no more.
$(foreach s,$(ZIGGED),$(eval WARNINGS_$(s) := $(WARNINGS) -Wno-enum-float-conversion))
WARNINGS_windows := $(filter-out -Wconversion,$(WARNINGS)) -Wno-format -Wno-unused-const-variable
INCLUDES    := -isystem $(SOURCES)/protobuf-c -isystem $(SOURCES)/zlib -isystem $(SOURCES)/png -I$(SOURCES)

# A make of its own, in which SYSTEM is set.
define SYSTEM_RULES
$(1): $(SOURCES)/.stamp
	+@$$(MAKE) --no-print-directory SYSTEM=$(1) BUILD='$$(BUILD)/$(1)' SOURCES='$$(SOURCES)' CC='$$(CC_$(1)) $$(INCLUDES)' \
	  AR='$$(AR_$(1))' PIC='$$(if $$(filter undefined,$$(origin PIC_$(1))),$$(PIC),)' WARNINGS='$$(or $$(WARNINGS_$(1)),$$(WARNINGS))' \
	  OPT='$$(or $$(OPT_$(1)),$$(OPT))' EXE=$$(EXE_$(1)) $$(or $$(SYSTEM_GOAL),system)
endef
# What is run and compared with what this machine says; what is only looked at.
define RUN_RULES
$(1)-test: $(1) $(BUILD)/ox node-cases
	@BUILD='$$(BUILD)' sh tests/cross/systems.sh '$$(RUN_$(1))' $$(BUILD)/$(1)/port/ox$$(EXE_$(1)) $$(if $$(filter wasm,$(1)),,$$(BUILD)/$(1)/port/unit$$(EXE_$(1)))
$(1)-models: $(1) $(BUILD)/libox.so venv
	@$$(FETCH) && $$(PHOTO) || true
	@OX_MODELS='$$(MODELS)' $$(VENV_RUN) 15 tests/networks/foreign.py $$(BUILD)/$(1)/port/ox$$(EXE_$(1)) $$(BUILD)/$(1)/networks \
	  --emulator '$$(RUN_$(1))' --seconds $$(MODEL_SECONDS)
endef
PIC_wasm :=
$(foreach s,$(ZIGGED),$(eval $(s): zig))
$(foreach s,$(PORTS) linux-arm64,$(eval $(call SYSTEM_RULES,$(s))))
$(foreach s,$(filter-out $(ZIGGED),$(PORTS)),$(eval $(call RUN_RULES,$(s))))
FORMAT_macos := mach-o arm64
FORMAT_macos-x86 := mach-o 64-bit x86-64
FORMAT_freebsd := elf64-x86-64
$(ZIGGED:%=%-test): %-test: %
	@sh tests/cross/linked.sh $(BUILD)/$*/port '$(FORMAT_$*)'

# The parts of cross-test, on this machine.
linux-test: all venv node-cases
	+@OX_VENV_TRIED=1 MAKE='$(MAKE)' BUILD='$(BUILD)' sh tests/check.sh unit conformance models-run

platforms:
	+@$(PYTHON) tests/cross/platforms.py --page docs/platforms.md --build '$(BUILD)' --make '$(MAKE)' $(SYSTEMS)

cross-quick:
	+@BUILD='$(BUILD)' MAKE='$(MAKE)' CROSS='$(CROSS)' SYSTEMS='$(filter $(filter-out macos-x86,$(PORTS)),$(SYSTEMS))' ARCHS='$(filter $(CROSS_ARCHS),$(SYSTEMS))' sh tests/cross/quick.sh

zig:
	@sh tests/venv.sh '$(PYTHON)' '$(ZIG_VENV)' tests/cross/requirements.txt
	@ls $(ZIG_VENV)/lib/python*/site-packages/ziglang/zig >/dev/null

ifdef SYSTEM
# A compiler that fails may leave an empty file.
.DELETE_ON_ERROR:
DARWIN      := $(filter macos%,$(SYSTEM))
# zlib and libpng take every system with this macro for the one of the last century.
FOREIGN_FLAGS := $(if $(DARWIN),-UTARGET_OS_MAC)
FOREIGN_OPT ?= -O2
HOSTED      := $(DARWIN)$(filter freebsd,$(SYSTEM))
STATICALLY  := $(if $(HOSTED),,$(if $(filter wasm,$(SYSTEM)),-Wl$(COMMA)-z$(COMMA)stack-size=1048576 -Wl$(COMMA)-s,-static))
FOREIGN_SRC := $(wildcard $(SOURCES)/protobuf-c/*.c $(SOURCES)/zlib/*.c $(if $(filter wasm,$(SYSTEM)),,$(SOURCES)/png/*.c))
FOREIGN_OBJ := $(FOREIGN_SRC:$(SOURCES)/%.c=$(BUILD)/foreign/%.o)
RUNTIME_OBJ := $(BUILD)/foreign/protobuf-c/protobuf-c.o

$(BUILD)/foreign/%.o: $(SOURCES)/%.c
	@mkdir -p $(@D)
	$(call SHORT,CC) $(CC) $(FOREIGN_OPT) $(PIC) -fvisibility=hidden $(FOREIGN_FLAGS) -DPNG_NO_SETJMP_WARNING -DPNG_ARM_NEON_OPT=0 -c -w -o $@ $<

# A file that is fetched before it runs is small: what computes nothing is built for size, and most of what calls loops.
ifeq ($(SYSTEM),wasm)
$(filter $(patsubst %,$(BUILD)/obj/%/%,proto src/loader src/rewrite src/frame src/plan src/runtime src/host tools),$(LIB_OBJ) $(TOOL_OBJ)): CFLAGS += -Oz
$(filter-out $(BUILD)/obj/src/ops/window/%,$(filter $(BUILD)/obj/src/ops/% $(BUILD)/obj/src/pass/%,$(LIB_OBJ))): CFLAGS += -Os
$(BUILD)/obj/src/digits.o $(BUILD)/obj/src/status.o: CFLAGS += -Oz
# clang writes loops over rows, running sums and quotients of integers several times for speed that few see: 0.3 MB of 2.5.
$(patsubst %,$(BUILD)/obj/src/loops/%_loops.o,reduce statistics cumulate): CFLAGS += -Os
$(BUILD)/obj/src/loops/lanes/lanes_divide.o: CFLAGS += -Oz
endif

# The unit tests, with a stand-in for libcheck. Left out are those that need what the system has not got: links,
# signals, pages that are guarded. WebAssembly's system runs the command alone: a test that fails cannot be left there.
UNIT_WITHOUT := $(if $(filter windows,$(SYSTEM)),external asserts moves)
SUITES       := $(filter-out $(UNIT_WITHOUT),$(SUITES))
UNIT_OBJ     := $(filter-out $(UNIT_WITHOUT:%=$(BUILD)/obj/tests/unit/test_%.o),$(UNIT_OBJ)) $(BUILD)/obj/tests/cross/check/check.o
$(BUILD)/obj/tests/unit/%.o: CFLAGS += -Itests/cross/check -include check.h

$(BUILD)/port/unit$(EXE): $(UNIT_OBJ) $(filter-out $(BUILD)/obj/tools/ox.o,$(TOOL_OBJ)) $(LIB_OBJ) $(FOREIGN_OBJ)
	@mkdir -p $(@D)
	$(call SHORT,LD) $(CC) $(STATICALLY) -o $@ $(filter %.o,$^) $(if $(filter windows,$(SYSTEM)),-lpthread,-lm)

# The enumeration of small graphs, in one process and by one thread.
ifeq ($(SYSTEM),wasm)
SMALL_OBJ := $(patsubst %.c,$(BUILD)/obj/%.o,$(sort $(wildcard tests/scopes/*.c)))
$(SMALL_OBJ): CFLAGS += -isystem tests/cross/wasi -D_WASI_EMULATED_PROCESS_CLOCKS '-Dalarm(seconds)=(void)(seconds)'
$(BUILD)/port/scopes.wasm: $(SMALL_OBJ) $(BUILD)/port/libox.a
	$(call SHORT,LD) $(CC) $(STATICALLY) -o $@ $^ -lwasi-emulated-process-clocks
endif

system: $(if $(filter windows,$(SYSTEM)),$(BUILD)/port/ox.dll) $(if $(filter musl freebsd,$(SYSTEM)),$(BUILD)/port/libox.so) \
  $(if $(DARWIN),$(BUILD)/port/libox.dylib) $(BUILD)/port/libox.a $(BUILD)/port/ox$(EXE) \
  $(if $(HOSTED),,$(BUILD)/port/$(if $(filter wasm,$(SYSTEM)),scopes,unit)$(EXE))

$(BUILD)/port/libox.a: $(LIB_OBJ) $(RUNTIME_OBJ)
	@mkdir -p $(@D)
	@rm -f $@
	$(call SHORT,AR) $(AR) rcs $@ $^

$(BUILD)/port/libox.so: $(LIB_OBJ) $(RUNTIME_OBJ)
	@mkdir -p $(@D)
	$(call SHORT,LD) $(CC) -shared -Wl,-soname,$(SONAME) -o $@ $^ -lm

$(BUILD)/port/libox.dylib: $(LIB_OBJ) $(RUNTIME_OBJ)
	@mkdir -p $(@D)
	$(call SHORT,LD) $(CC) -dynamiclib -install_name @rpath/libox.0.dylib -o $@ $^

# The functions of ox.h, which are what the library shows.
$(BUILD)/ox.def: src/ox.h
	@mkdir -p $(@D)
	@(echo EXPORTS; sed -n 's/.*OX_API.*[ *]\(ox_[a-z0-9_]*\)(.*/\1/p' $< | grep -v ox_plugin_entry | sort -u) >$@

$(BUILD)/port/ox.dll: $(LIB_OBJ) $(RUNTIME_OBJ) $(BUILD)/ox.def
	@mkdir -p $(@D)
	$(call SHORT,LD) $(CC) -shared -static-libgcc -Wl,--out-implib,$(BUILD)/port/libox.dll.a -o $@ $^

$(BUILD)/port/ox$(EXE): $(TOOL_OBJ) $(LIB_OBJ) $(FOREIGN_OBJ)
	@mkdir -p $(@D)
	$(call SHORT,LD) $(CC) $(STATICALLY) -o $@ $(filter %.o,$^) $(if $(filter windows,$(SYSTEM)),,-lm) $(if $(filter freebsd,$(SYSTEM)),-lpthread)

# The extension module of a wheel: python/wheels.mk. Of python3.dll, the library that stands for it on Windows has what the module asks for.
EXTENSION := $(BUILD)/port/_ox$(if $(filter windows,$(SYSTEM)),.pyd,.abi3.so)
MODULE_FLAGS := $(if $(DARWIN),-shared -undefined dynamic_lookup -install_name _ox.abi3.so,-shared $(if $(filter windows,$(SYSTEM)),-static-libgcc -Wl$(COMMA)--exclude-all-symbols,-Wl$(COMMA)--version-script=python/exports.map))
$(PY_OBJ): | $(FOREIGN_HEADERS)/python/Python.h
# numpy hides what it shares between files, and formats of Python are its own.
$(PY_OBJ): CFLAGS += $(if $(filter windows,$(SYSTEM)),-Wno-attributes -Wno-format-extra-args)
$(EXTENSION): $(PY_OBJ) $(filter-out $(BUILD)/obj/tools/ox.o,$(TOOL_OBJ)) $(LIB_OBJ) $(FOREIGN_OBJ) $(if $(filter windows,$(SYSTEM)),$(BUILD)/libpython3.dll.a)
	@mkdir -p $(@D)
	$(call SHORT,LD) $(CC) $(MODULE_FLAGS) -o $@ $^ -lm
extension: $(EXTENSION)

$(BUILD)/libpython3.dll.a: $(PY_OBJ)
	@(echo 'LIBRARY python3.dll'; echo EXPORTS; x86_64-w64-mingw32-nm -u $^ | sed -n 's/.* __imp_\(_*Py[A-Za-z0-9_]*\)$$/\1/p' | sort -u) >$(BUILD)/python3.def
	$(call SHORT,LD) x86_64-w64-mingw32-dlltool -d $(BUILD)/python3.def -l $@
endif

.PHONY: system extension zig cross-quick platforms linux-test linux-arm64 $(PORTS) $(PORTS:%=%-test) $(PORTS:%=%-models)
