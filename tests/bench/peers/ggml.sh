#!/bin/sh
# ggml.sh PYTHON FOLDER: builds libggml.so and what it needs into FOLDER, for this machine's processor, from the source that the Python
# package llama-cpp-python brings. Needs cmake and a C++ compiler.
set -eu
here=$(dirname "$0")
rm -rf "$2/source"
mkdir -p "$2/source"
"$1" -m pip download --quiet --disable-pip-version-check --no-deps --no-binary :all: --require-hashes \
    -r "$here/ggml.txt" -d "$2/source"
tar -xzf "$2"/source/*.tar.gz -C "$2/source" --strip-components 1
cmake -S "$2/source/vendor/llama.cpp" -B "$2/build" -DCMAKE_BUILD_TYPE=Release \
    -DBUILD_SHARED_LIBS=ON -DGGML_NATIVE=ON -DGGML_OPENMP=OFF -DLLAMA_BUILD_COMMON=OFF -DLLAMA_BUILD_TESTS=OFF \
    -DLLAMA_BUILD_TOOLS=OFF -DLLAMA_BUILD_EXAMPLES=OFF -DLLAMA_BUILD_SERVER=OFF -DCMAKE_POLICY_VERSION_MINIMUM=3.14 >"$2/log" 2>&1 || { tail "$2/log"; exit 1; }
cmake --build "$2/build" --target ggml -j2 >>"$2/log" 2>&1 || { tail "$2/log"; exit 1; }
cp -a "$2"/build/bin/libggml*.so* "$2"
rm -rf "$2/source" "$2/build"
