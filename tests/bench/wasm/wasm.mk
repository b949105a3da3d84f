# wasm.mk: `make bench-wasm` measures ox in WebAssembly beside onnxruntime-web, both in Node, and writes
# docs/benchmarks-wasm.md. Included by the Makefile; `sh tools/setup.sh cross` installs what it needs, but for
# onnxruntime-web, which comes from npm's index: without that, there is nothing to measure.
WASM_BENCH := $(BUILD)/bench/wasm
WASM_PEER  := onnxruntime-web@1.30.0

# Linked without -O2, by which clang calls binaryen's wasm-opt where that is installed, and does not say what it may use.
$(WASM_BENCH)/runs.wasm: tests/bench/wasm/runs.c wasm
	@mkdir -p $(@D)
	$(CC_wasm) -O2 -Isrc -c -o $(@:.wasm=.o) $<
	$(CC_wasm) -mexec-model=reactor -Wl,--export-dynamic -Wl,-s -Wl,-z,stack-size=1048576 -o $@ $(@:.wasm=.o) \
	  $(BUILD)/wasm/port/libox.a

# The library with what calls its functions from outside.
wasm-library: $(WASM_BENCH)/runs.wasm

bench-wasm: venv $(WASM_BENCH)/runs.wasm
	@if npm install --silent --no-audit --no-fund --prefix $(WASM_BENCH)/npm $(WASM_PEER); then \
	  PYTHONPATH=tests/lib $(VENV)/bin/python tests/bench/wasm/wasm.py --folder $(WASM_BENCH) --page docs/benchmarks-wasm.md; \
	else echo "skipped: $(WASM_PEER) cannot be installed"; fi

.PHONY: bench-wasm wasm-library
