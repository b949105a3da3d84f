# wheels.mk: wheels for all systems that this machine can build for: `make wheels` writes them into dist/. Included by the Makefile before
# systems.mk, which builds the extension modules, protobuf-c, zlib and libpng inside. docs/platforms.md says which of them were run.
WHEEL_SYSTEMS   := linux-arm64 musl windows macos macos-x86
FOREIGN_HEADERS := $(BUILD)/foreign-headers
WHEELS          := $(BUILD)/wheels
PYTHON_NAME      = $(shell $(PYTHON) -c 'import sys; print("python%d.%d" % sys.version_info[:2])')

# Headers of Python and numpy with what they know of this machine replaced: those are for all 64-bit systems.
$(FOREIGN_HEADERS)/python/Python.h: python/foreign/pyconfig.h | $(if $(SYSTEM),,python-venv)
	@rm -rf $(FOREIGN_HEADERS) && mkdir -p $(FOREIGN_HEADERS)
	@cp -rL '$(NUMPY_HEADERS)' $(FOREIGN_HEADERS)/numpy
	@cp -rL '$(PYTHON_HEADERS)' $(FOREIGN_HEADERS)/python
	@cp $< $(FOREIGN_HEADERS)/python/pyconfig.h
	@sed -i -e '/NPY_HAVE_ENDIAN_H/d' -e 's/^#define NPY_SIZEOF_LONG 8/#define NPY_SIZEOF_LONG SIZEOF_LONG/' \
	  -e 's/^#define NPY_SIZEOF_WCHAR_T 4/#define NPY_SIZEOF_WCHAR_T SIZEOF_WCHAR_T/' $(FOREIGN_HEADERS)/numpy/numpy/_numpyconfig.h

$(WHEELS)/info/METADATA: setup.py pyproject.toml src/ox.h | python-venv
	@rm -rf $(WHEELS)/made && mkdir -p $(WHEELS)/made $(@D)
	@$(PY_VENV)/bin/python setup.py -q egg_info --egg-base $(WHEELS)/made dist_info -o $(WHEELS)/made
	@cp $(WHEELS)/made/*.dist-info/* $(@D)/ 2>/dev/null; test -s $@

$(WHEEL_SYSTEMS:%=wheel-%): wheel-%: $(FOREIGN_HEADERS)/python/Python.h $(WHEELS)/info/METADATA
	+@$(MAKE) --no-print-directory BUILD='$(BUILD)' SYSTEM_GOAL=extension \
	  PYTHON_HEADERS='$(abspath $(FOREIGN_HEADERS))/python' NUMPY_HEADERS='$(abspath $(FOREIGN_HEADERS))/numpy' $*
	@mkdir -p dist
	@$(PYTHON) tools/wheel.py $* $(BUILD)/$*/port $(WHEELS)/info dist

wheels: wheel wheels-test

# What they hold; that of arm64 runs under qemu. A part of `make nightly`.
wheels-test: $(WHEEL_SYSTEMS:%=wheel-%) $(WHEELS)/arm64/.stamp
	@$(PYTHON) tests/build/wheels.py $(foreach tag,manylinux*aarch64 musllinux* win* macosx*,dist/oxrt-*-$(tag).whl)
	@sh tests/build/wheel_arm64.sh $(PY_VENV)/bin/python dist/oxrt-*-manylinux*aarch64.whl $(WHEELS)/arm64

# Debian's Python for arm64, and what it needs.
$(WHEELS)/arm64/.stamp: tests/cross/sysroot.sh
	sh $< arm64 $(@D) $(PYTHON_NAME)-minimal lib$(PYTHON_NAME)-minimal lib$(PYTHON_NAME)-stdlib \
	  libc6 libgcc-s1 libstdc++6 zlib1g libexpat1 libffi8 libbz2-1.0 liblzma5 libuuid1
	@touch $@

.PHONY: wheels wheels-test $(WHEEL_SYSTEMS:%=wheel-%)
