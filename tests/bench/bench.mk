# bench.mk: `make bench` measures ox against its peers and writes PAGE, a section and a plot for each of TABLES (or the
# one of TABLE); included by the Makefile. BENCH holds options of bench.py: `make bench BENCH='--quick --filter row'`
# prints and writes no page. The tables `models` and `starts` have the networks that `make models` fetched.
# PEERS=1 builds rten and tract, which needs cargo, and the library under llama.cpp (cmake and a C++ compiler), and fetches OpenVINO and MNN. No test
# depends on any of this; CI runs a few cases.
BENCH ?=
PEERS ?=
TABLES ?= $(or $(TABLE),elementwise products layers quantized nbits loops trees planning $(if $(wildcard $(MODELS)/*.fetched),models starts))
PAGE ?= docs/benchmarks.md

BENCH_DIR   := $(BUILD)/bench
PEERS_LIB   := $(BENCH_DIR)/peers/release/libpeers.so
BENCH_PEERS := $(if $(filter 1,$(PEERS)),$(if $(shell command -v cargo),$(PEERS_LIB)))
GGML_LIB    := $(BENCH_DIR)/ggml/libggml.so
BENCH_GGML  := $(if $(filter 1,$(PEERS)),$(if $(shell command -v cmake),$(GGML_LIB)))
BENCH_TOOLS := $(BENCH_DIR)/timer.so $(BENCH_DIR)/start
BENCH_RUN    = env OX_LIBRARY='$(BUILD)/libox.so' $(VENV)/bin/python tests/bench/bench.py \
  --timer $(BENCH_DIR)/timer.so --start $(BENCH_DIR)/start --ox $(BUILD)/ox $(if $(BENCH_PEERS),--peers $(BENCH_PEERS)) \
  $(if $(BENCH_GGML),--ggml $(BENCH_GGML)) $(if $(filter 1,$(PEERS)),--packages)
PLANNING_RUN = env OX_LIBRARY='$(BUILD)/libox.so' $(VENV)/bin/python tests/bench/planning.py \
  --timer $(BENCH_DIR)/timer.so

$(BENCH_DIR)/timer.so: tests/bench/timer.c tests/bench/handover.c $(BENCH_DIR)/limits.o tests/bench/clock.h src/ox.h
	@mkdir -p $(@D)
	$(COMPILE) -D_POSIX_C_SOURCE=200809L -shared -o $@ $(filter %.c %.o,$^) -lpthread

$(BENCH_DIR)/limits.o: tests/bench/limits.c src/ox.h
	@mkdir -p $(@D)
	$(COMPILE) -O3 -march=native $(if $(VARIANTS),-mprefer-vector-width=512) -ffp-contract=fast -c -o $@ $<

$(BENCH_DIR)/start: tests/bench/start.c tests/bench/clock.h
	@mkdir -p $(@D)
	$(COMPILE) -D_POSIX_C_SOURCE=200809L -o $@ $<

$(PEERS_LIB): $(wildcard tests/bench/peers/src/*.rs) tests/bench/peers/Cargo.toml tests/bench/peers/Cargo.lock
	CARGO_TARGET_DIR='$(abspath $(BENCH_DIR)/peers)' RUSTFLAGS='-C target-cpu=native' \
	  cargo build --release --locked --manifest-path tests/bench/peers/Cargo.toml
	@touch $@

$(GGML_LIB): tests/bench/peers/ggml.sh tests/bench/peers/ggml.txt | venv
	sh $< $(VENV)/bin/python $(@D)
	@touch $@

# OpenVINO and MNN; what they need otherwise is there. (A new environment has no such stamp, and gets them anew.)
$(VENV)/.peers: tests/bench/peers/requirements.txt $(VENV)/.stamp
	$(VENV)/bin/python -m pip install --disable-pip-version-check --no-input --no-deps --require-hashes \
	  --only-binary=:all: -r $<
	@touch $@

bench: all venv $(BENCH_TOOLS) $(BENCH_PEERS) $(BENCH_GGML) $(if $(filter 1,$(PEERS)),$(VENV)/.peers)
	@test -x $(VENV)/bin/python || { echo "make bench needs Python packages: $$(cat $(VENV).note)"; exit 1; }
	@$(if $(filter 1,$(PEERS)),$(if $(BENCH_PEERS),:,echo 'PEERS=1 needs cargo: rten and tract are left out'),:)
	@$(if $(filter 1,$(PEERS)),$(if $(BENCH_GGML),:,echo 'PEERS=1 needs cmake: ggml is left out'),:)
	$(if $(BENCH),$(if $(filter planning,$(TABLE)),$(PLANNING_RUN),$(BENCH_RUN) $(if $(TABLE),--table $(TABLE))) $(BENCH),$(MAKE) --no-print-directory bench-page)

bench-page: $(TABLES:%=bench-%)

bench-starts:
	env OX_LIBRARY='$(BUILD)/libox.so' $(VENV)/bin/python tests/bench/starts.py --folder $(BENCH_DIR)/starts \
	  --ox $(BUILD)/ox --command 'make bench' --page $(PAGE)

bench-planning:
	$(PLANNING_RUN) --command 'make bench' --page $(PAGE)

bench-%:
	$(BENCH_RUN) --table $* --threads 1 --json $(BENCH_DIR)/$*-1.json
	$(BENCH_RUN) --table $* --threads 2 --json $(BENCH_DIR)/$*-2.json
	$(VENV)/bin/python tests/bench/report.py $(BENCH_DIR)/$*-1.json $(BENCH_DIR)/$*-2.json \
	  --command 'make bench$(if $(filter 1,$(PEERS)), PEERS=1)' --page $(PAGE)

# Calls from Python beside ONNX Runtime's: make bench-python CALLS='--turns 5'
CALLS ?=
bench-python: python-venv $(BUILD)/libox.so
	+@$(MAKE) --no-print-directory BUILD='$(BUILD)' python
	@$(PY_ENV) PYTHONPATH='$(abspath $(BUILD))/python:$(CURDIR)/tests/lib' OX_LIBRARY='$(BUILD)/libox.so' \
	  $(PY_VENV)/bin/python tests/bench/calls.py $(CALLS)

.PHONY: bench bench-page bench-python
