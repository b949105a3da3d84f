"""pending.py BUILD: writes tests/node/pending.txt anew from the results that `make conformance` left in BUILD.

Only cases that ox calls unsupported are listed, grouped by the operators they lack; a wrong result never is. A case
that lacks no operator is listed with what ox says of it.
"""

import pathlib
import re
import subprocess
import sys

import onnx

HERE = pathlib.Path(__file__).parent
DEBIAN = pathlib.Path("/usr/share/libonnx-testdata/data")
# What ox says of a node: the operator, then, after the input at fault, what is wrong.
NODE = re.compile(r"\((\S+)-\d+\): input \d+ \([^)]*\):? (.*)")
HEADER = """\
# Cases of ONNX's node suite that ox does not support yet, each with the reason: the operators that it lacks. This list
# only shrinks: a listed case that passes is an error. Lines hold for the newest cases and for Debian's older ones,
# unless they begin with newest: or debian:. Written by tests/node/pending.py.
"""


def read_results(path):
    """{case: (state, reason)} of one --tsv file."""
    lines = (line.split("\t", 2) for line in path.read_text().splitlines())
    return {pathlib.PurePath(case).name: (state, reason) for case, state, reason in lines}


def operators_of(graph):
    """(domain, name) of every node, those of subgraphs included."""
    for node in graph.node:
        yield node.domain, node.op_type
        for attribute in node.attribute:
            for inner in [attribute.g, *attribute.graphs]:
                yield from operators_of(inner)


def supported_operators(ox):
    """(domain, name) of every operator that ox has in some version."""
    table = subprocess.run([ox, "ops"], check=True, capture_output=True, text=True).stdout
    names = [line.split()[0].rpartition(".") for line in table.splitlines()[1:] if line.strip()]
    return {(domain, name) for domain, _, name in names}


def missing_operators(folder, supported):
    model = onnx.load(folder / "model.onnx", load_external_data=False)
    functions = {(f.domain, f.name) for f in model.functions}
    used = set(operators_of(model.graph)).union(*map(operators_of, model.functions)) - functions
    used = {("" if domain == "ai.onnx" else domain, name) for domain, name in used}
    return sorted(".".join(filter(None, op)) for op in used - supported)


def reason_of(name, reason, roots, supported):
    folder = next(root / name for root in roots if (root / name).is_dir())
    missing = missing_operators(folder, supported)
    if missing:
        return " ".join(missing)
    node = NODE.search(reason)
    return f"{node[1]}: {node[2]}" if node else reason.split("model.onnx: ")[-1]


def main():
    build = pathlib.Path(sys.argv[1])
    supported = supported_operators(build / "ox")
    sets = {
        "newest": [build / "node"],
        "debian": [DEBIAN / kind for kind in ("node", "simple", "pytorch-operator", "pytorch-converted")],
    }
    groups = {}
    results = {kind: read_results(build / "conformance" / f"{kind}.tsv") for kind in sets}
    for kind, roots in sets.items():
        for name, (state, reason) in results[kind].items():
            if state == "unsupported":
                groups.setdefault(reason_of(name, reason, roots, supported), {}).setdefault(name, set()).add(kind)

    lines = [HEADER]
    for reason in sorted(groups):
        lines.append(f"\n# {reason}\n")
        for name, kinds in sorted(groups[reason].items()):
            elsewhere = any(name in results[kind] for kind in sets if kind not in kinds)
            prefix = f"{next(iter(kinds))}:" if elsewhere else ""
            lines.append(f"{prefix}{name} {reason}\n")
    (HERE / "pending.txt").write_text("".join(lines))


if __name__ == "__main__":
    main()
