# python.mk: the package oxrt; included by the Makefile. python/README.md says what it is.
# PYTHON_HEADERS and NUMPY_HEADERS are asked of the Python that tests run with, unless setup.py gives them.
PY_VENV        := $(BUILD)/python-venv
PY_PACKAGE     := $(BUILD)/python/oxrt
PY_RUN          = $(if $(wildcard $(PY_VENV)/bin/python),$(PY_VENV)/bin/python,$(PYTHON))
PYTHON_HEADERS ?= $(shell $(PY_RUN) -c 'import sysconfig; print(sysconfig.get_path("include"))')
NUMPY_HEADERS  ?= $(shell $(PY_RUN) -c 'import numpy; print(numpy.get_include())')
PY_SRC         := $(sort $(wildcard python/src/*.c))
PY_OBJ         := $(PY_SRC:%.c=$(BUILD)/obj/%.o) $(BUILD)/obj/python/command.o

# The headers of Python and numpy are not written for these warnings.
$(PY_OBJ): CFLAGS += -Itools -isystem $(PYTHON_HEADERS) -isystem $(NUMPY_HEADERS)

# The command, under another name than main.
$(BUILD)/obj/python/command.o: tools/ox.c
	@mkdir -p $(@D)
	$(COMPILE) $(DEPFLAGS) -Dmain=ox_command -c -o $@ $<

# Relocations are not packed: wheels serve older C libraries, too. Plug-ins find the functions of ox.h.
$(PY_PACKAGE)/_ox.abi3.so: $(PY_OBJ) $(filter-out $(BUILD)/obj/tools/ox.o,$(TOOL_OBJ)) $(LIB_OBJ) python/exports.map
	@mkdir -p $(@D)
	$(call SHORT,LD) $(CC) -shared $(LDFLAGS) -Wl,--version-script=python/exports.map -o $@ $(filter %.o,$^) \
	  $(call STATIC,protobuf-c) -lpng16 -lz -lm -lpthread -ldl

# The package as it is imported from build/python.
python: $(PY_PACKAGE)/_ox.abi3.so plugins
	@for file in python/oxrt/*; do ln -sf $(CURDIR)/$$file $(PY_PACKAGE)/; done
	@ln -sfn ../../plugins $(PY_PACKAGE)/plugins

# The tests. A share of ONNX's node cases is enough where the command runs all of them: make check BACKEND_SHARE=1 for all.
python-venv:
	@sh tests/venv.sh '$(PYTHON)' '$(PY_VENV)' python/tests/requirements.txt

BACKEND_SHARE ?= 1
PY_CLIENTS := $(BUILD)/clients-venv
PY_ENV = env $(if $(SANITIZE),$(ASAN_ENV)) PYTHONPATH='$(abspath $(BUILD))/python' PYTHONDONTWRITEBYTECODE=1 \
  OXRT_BACKEND_SHARE=$(BACKEND_SHARE) OXRT_BUILD='$(abspath $(BUILD))'

python-test: python-venv
	+@if [ -x $(PY_VENV)/bin/python ]; then $(MAKE) --no-print-directory BUILD='$(BUILD)' python && \
	  $(PY_ENV) $(PY_VENV)/bin/python -m pytest -q -W ignore -p no:cacheprovider python/tests; \
	else \
	  echo "skipped: the tests of the package oxrt: $$(cat $(PY_VENV).note)"; echo '0 passed, 0 failed, 150 skipped'; \
	fi

# What the tests of real programs need (test_clients.py): some 300 MB of packages. make models fetches silero's model.
python-clients:
	@sh tests/venv.sh '$(PYTHON)' '$(PY_CLIENTS)' python/tests/requirements-clients.txt

# What examples/spark needs beside Java, and optimum with torch (6 GB, which no other target asks for). pyspark is a
# source distribution, so that no hashes of wheels are asked.
spark-venv optimum-venv: %-venv:
	@cmp -s python/tests/requirements-$*.txt $(BUILD)/$@/.stamp || { rm -rf $(BUILD)/$@ && \
	  $(PYTHON) -m venv $(BUILD)/$@ && $(BUILD)/$@/bin/python -m pip install -q --disable-pip-version-check \
	  -r python/tests/requirements-$*.txt && cp python/tests/requirements-$*.txt $(BUILD)/$@/.stamp; } || \
	  { rm -rf $(BUILD)/$@; echo '$@: pip failed, its tests are skipped'; }

spark-test: spark-venv python-venv
	+@$(MAKE) --no-print-directory BUILD='$(BUILD)' python
	@OXRT_SPARK_ROWS=1000000 OXRT_SPARK_TURNS=3 $(PY_ENV) $(PY_VENV)/bin/python -m pytest -q -s -p no:cacheprovider \
	  python/tests/test_spark.py

# dist/oxrt-*.whl, of the objects that `make python` links, and its test in a fresh environment. auditwheel puts
# libraries into the wheel that a system may lack, and names the systems that it suits.
wheel: python-venv
	+@$(MAKE) --no-print-directory BUILD='$(BUILD)' python
	@rm -rf $(BUILD)/wheel && mkdir -p $(BUILD)/wheel dist
	OXRT_BUILD='$(abspath $(BUILD))' $(PY_VENV)/bin/python -m pip wheel -q --no-deps --no-build-isolation \
	  --disable-pip-version-check -w $(BUILD)/wheel .
	@PATH="$(abspath $(PY_VENV))/bin:$$PATH" $(PY_VENV)/bin/python -m auditwheel repair \
	  -w $(BUILD)/wheel/repaired $(BUILD)/wheel/*.whl 2>$(BUILD)/wheel/audit.log || { cat $(BUILD)/wheel/audit.log; exit 1; }
	@cp $(BUILD)/wheel/repaired/*.whl dist/
	@sh python/tests/wheel.sh $(PY_VENV)/bin/python $(BUILD)/wheel/repaired/*.whl $(BUILD)/wheel-venv

sdist: python-venv
	@mkdir -p $(BUILD)/sdist dist
	$(PY_VENV)/bin/python setup.py -q egg_info --egg-base $(BUILD)/sdist sdist -d dist

check-python:
	+@$(MAKE) --no-print-directory BUILD='$(BUILD)' BACKEND_SHARE=10 python-test

-include $(PY_OBJ:.o=.d)

.PHONY: python python-venv python-clients spark-venv optimum-venv spark-test wheel sdist python-test check-python
