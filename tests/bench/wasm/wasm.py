"""wasm.py --folder DIR --page FILE: measures ox in WebAssembly beside onnxruntime-web, both in Node, and writes a page. The
folder has runs.wasm, and onnxruntime-web in npm/."""
import argparse
import json
import math
import pathlib
import platform
import subprocess
import sys

import onnx

HERE = pathlib.Path(__file__).parent
sys.path[:0] = [str(HERE.parent), str(HERE.parent / "arm")]
import arm
import quantized as built

TYPES = {onnx.TensorProto.FLOAT: "float32", onnx.TensorProto.UINT8: "uint8", onnx.TensorProto.INT32: "int32"}
DIGITS = "examples/digits/model.onnx"
NETWORKS = {
    "encoder 128x384": "encoder 128x384, float", "mobilenet v2": "mobilenet-v2-like, float",
    "resnet18": "resnet18-like, float", "mobilenet v2, int8": "mobilenet-v2-like, QDQ u8s8",
}  # fmt: skip
ENGINE = ["node", "--no-warnings"]
OPTIMISED = [*ENGINE, "--no-liftoff"]  # what engines make of a program at last
APART = 0.1  # networks of bytes may be so far apart, as a share of the largest
STARTS = 3


def models():
    cases = {case.name: case for case in built.CASES if case.whole}
    yield "digits", onnx.load(DIGITS)
    for name, case in NETWORKS.items():
        yield name, onnx.load_model_from_string(cases[case].model(None))
    for name, graph in arm.kernels().items():
        if "float16" not in name:
            yield name, graph


def case_of(folder, index, name, model):
    """What bench.mjs reads of a model, whose unknown dimensions become 1."""
    fixed, inputs = {value.name for value in model.graph.initializer}, []
    for value in model.graph.input:
        for dim in value.type.tensor_type.shape.dim:
            dim.dim_value = dim.dim_value or 1
        if value.name not in fixed:
            kind = value.type.tensor_type
            inputs.append({"name": value.name, "type": TYPES[kind.elem_type], "dims": [dim.dim_value for dim in kind.shape.dim]})
    path = folder / f"case{index}.onnx"
    onnx.save(model, path)
    return {"name": name, "file": str(path), "inputs": inputs}


def lines(command):
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(done.stderr)
    return [json.loads(line) for line in done.stdout.splitlines()]


def measured(folder, cases):
    """Rows of (name, milliseconds of onnxruntime-web, of ox)."""
    path = folder / "cases.json"
    path.write_text(json.dumps(cases))
    for row in lines([*OPTIMISED, HERE / "bench.mjs", path, folder / "npm", folder / "runs.wasm"]):
        if row["distances"][0] > APART:
            sys.exit(f"{row['name']}: results are {row['distances'][0]:.3g} of the largest apart")
        yield row["name"], *row["times"]


def started(folder, case):
    """The least milliseconds of some starts, each in a process of its own."""
    path = folder / "first.json"
    path.write_text(json.dumps([case]))
    times = [lines([*ENGINE, HERE / "bench.mjs", "--start", path, folder / "npm", folder / "runs.wasm"])[0] for _ in range(STARTS)]
    return [min(column) for column in zip(*times)]


def mean(ratios):
    return math.exp(sum(map(math.log, ratios)) / len(ratios))


def table(rows):
    return "".join(f"| {name} | {theirs:.3g} | {ours:.3g} | {theirs / ours:.2f} |\n" for name, theirs, ours in rows)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--folder", type=pathlib.Path, required=True)
    parser.add_argument("--page", type=pathlib.Path, required=True)
    args = parser.parse_args()
    cases = [case_of(args.folder, index, *model) for index, model in enumerate(models())]
    rows = list(measured(args.folder, cases))
    networks = rows[:len(NETWORKS) + 1]
    web = args.folder / "npm/node_modules/onnxruntime-web"
    sizes = lines([*ENGINE, HERE / "bench.mjs", "--sizes", args.folder / "runs.wasm", web / "dist/ort-wasm-simd-threaded.wasm"])[0]
    args.page.write_text(TEXT.format(
        node=subprocess.run(["node", "--version"], capture_output=True, text=True, check=True).stdout.strip(),
        web=json.loads((web / "package.json").read_text())["version"], machine=processor(), networks=table(networks),
        mean=mean([theirs / ours for _, theirs, ours in networks]), layers=table(rows[len(networks):]),
        sizes=[(plain / 1e6, packed / 1e3) for plain, packed in sizes], start=started(args.folder, cases[0])))
    print(args.page.read_text())


def processor():
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":")[1].strip()
    return platform.machine()


TEXT = """# ox beside onnxruntime-web

Milliseconds of one run, one thread, written by `make bench-wasm`: ox as `make wasm` builds it, and onnxruntime-web {web} with
its execution provider `wasm` (vectors, one thread), in one process of Node {node} on one of these: {machine}.
Both run in turn, the least of 25 rounds counts, and results are compared; inputs are copied in and results out. The last
column is onnxruntime-web's time over that of ox: above 1, ox is faster. Node compiles both by its optimising compiler
before they run (`--no-liftoff`), which it reaches otherwise after some runs, in threads of its own.

| network | onnxruntime-web | ox | ratio |
|---|---|---|---|
{networks}
The geometric mean of these is {mean:.2f}. Weights are drawn at random, but for those of the digits; int8 is in QDQ form.

| layer | onnxruntime-web | ox | ratio |
|---|---|---|---|
{layers}
Shapes are those of [benchmarks-arm.md](benchmarks-arm.md).

| | onnxruntime-web | ox |
|---|---|---|
| MB of `.wasm`, every operator | {sizes[1][0]:.2f} | {sizes[0][0]:.2f} |
| KB of it with brotli | {sizes[1][1]:.0f} | {sizes[0][1]:.0f} |
| ms from bytes of the program to the first result of the digits, as Node starts without options | {start[0]:.0f} | {start[1]:.0f} |
"""

if __name__ == "__main__":
    main()
