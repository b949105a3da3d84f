"""versions.py OX NODE OUT: every version of every operator is run by a case.

The operators are those of `ox ops` in ONNX's domains. ONNX's newest node cases (NODE) reach some of their versions, and
`make conformance` runs them. For the others there are cases in OUT: node cases in the words of those versions
(restate.py), and written ones (written.py). `ox test` runs them. A version that no case reaches is a failure, and so is
a case that fails.
"""

import collections
import pathlib
import shutil
import subprocess
import sys
import warnings

import onnx
import tally
from onnx import defs, numpy_helper

import restate
import written
import written_ml

DOMAINS = ("", "ai.onnx.ml", "ai.onnx.preview", "ai.onnx.preview.training", "ai.onnx.training")
# Restated cases of a version, and what is too large to be one.
MOST_CASES = 4
MOST_BYTES = 1 << 16

VERSIONS = collections.defaultdict(list)
for schema in defs.get_all_schemas_with_history():
    VERSIONS[schema.domain, schema.name].append(schema.since_version)


def listed(ox, domains=DOMAINS):
    """(domain, operator, version) of the table of ox, but for operators that only another runtime puts into a domain of
    ONNX."""
    lines = subprocess.run([ox, "ops", "--markdown"], check=True, capture_output=True, text=True).stdout
    for line in lines.splitlines():
        cells = [cell.strip() for cell in line.split("|")]
        if len(cells) == 5 and cells[2][:1].isdigit():
            domain, _, name = cells[1].rpartition(".")
            if domain in domains:
                yield from ((domain, name, int(version)) for version in cells[2].split()
                            if domain not in DOMAINS or int(version) in VERSIONS[domain, name])


def nodes_of(nodes):
    for node in nodes:
        yield node
        for attribute in node.attribute:
            yield from nodes_of(attribute.g.node)
            for graph in attribute.graphs:
                yield from nodes_of(graph.node)


def reached(model):
    """(domain, operator, version) of the nodes of a model, of its subgraphs and functions."""
    for nodes, imports in ((model.graph.node, model.opset_import),
                           *((function.node, function.opset_import) for function in model.functions)):
        opsets = {opset.domain: opset.version for opset in imports}
        for node in nodes_of(nodes):
            versions = [v for v in VERSIONS[node.domain, node.op_type] if v <= opsets.get(node.domain, 0)]
            if versions:
                yield node.domain, node.op_type, max(versions)


def left_out():
    """The names of node cases that are not run, or may fail."""
    for name in ("pending.txt", "broken.txt"):
        for line in (pathlib.Path(__file__).parent.parent / "node" / name).read_text().splitlines():
            if line and line[0] != "#" and not line.startswith("debian:"):
                yield line.removeprefix("newest:").split()[0]


def write_restated(folder, case, pair):
    """Writes a node case in the words of a version, or raises restate.Unsayable."""
    domain, _, version = pair
    model = onnx.load(case / "model.onnx")
    data = case / "test_data_set_0"
    values = {info.name: numpy_helper.to_array(onnx.load_tensor(data / f"input_{i}.pb"))
              for i, info in enumerate(model.graph.input) if info.type.HasField("tensor_type")}
    model, kept = restate.restate(model, values, domain, version)
    target = folder / "test_data_set_0"
    target.mkdir(parents=True)
    (folder / "model.onnx").write_bytes(model.SerializeToString())
    for to, index in enumerate(kept):
        shutil.copy(data / f"input_{index}.pb", target / f"input_{to}.pb")
    for output in data.glob("output_*.pb"):
        shutil.copy(output, target)
    shutil.copy(case / "data.json", folder)


def restated(sources, pair, out):
    """Writes the smallest cases that have words in a version."""
    count = 0
    for _, case in sorted(sources):
        try:
            write_restated(out / f"{pair[1]}_{pair[2]}_{case.name}", case, pair)
        except restate.Unsayable:
            continue
        count += 1
        if count == MOST_CASES:
            break


def run(ox, out):
    """(name, state, reason) of each case."""
    folders = sorted(path for path in out.iterdir() if path.is_dir())
    table = out / "results.tsv"
    done = subprocess.run([ox, "test", "--quiet", "--tsv", table, *folders], capture_output=True, text=True)
    results = [line.split("\t", 2) for line in table.read_text().splitlines()] if table.exists() else []
    if len(results) != len(folders):
        results.append(["ox test", f"ended with {done.returncode}", done.stderr])
    return results


def main():
    warnings.simplefilter("ignore")
    ox, nodes, out = sys.argv[1], pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3])
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    skip = set(left_out())
    seen, sources = set(), collections.defaultdict(list)
    for case in sorted(nodes.glob("test_*")):
        if case.name in skip:
            continue
        model = onnx.load(case / "model.onnx", load_external_data=False)
        keys = set(reached(model))
        seen |= keys
        size = sum(file.stat().st_size for file in case.rglob("*.pb"))
        if not model.functions and size < MOST_BYTES:
            for key in keys:
                sources[key[:2]].append((len(list(nodes_of(model.graph.node))), case))
    pairs = list(dict.fromkeys(listed(ox)))
    for pair in pairs:
        if pair not in seen:
            restated(sources[pair[:2]], pair, out)
    for case in (*written.cases(), *written_ml.cases()):
        case.write(out)

    passed = failed = 0
    for name, state, *reason in run(ox, out):
        if state == "passed":
            passed += 1
            seen |= set(reached(onnx.load(out / pathlib.Path(name).name / "model.onnx")))
        else:
            failed += 1
            print(f"{name}: {state}: {' '.join(reason)}")
    for domain, name, version in pairs:
        if (domain, name, version) in seen:
            passed += 1
        else:
            failed += 1
            print(f"{domain or 'ai.onnx'}.{name}-{version}: no case reaches this version")
    return tally.finish(passed, failed)


if __name__ == "__main__":
    sys.exit(main())
