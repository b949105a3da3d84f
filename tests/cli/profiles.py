"""profiles.py OX DIR: what --profile, --trace and bench say of the models in DIR, which models.py made."""

import json
import pathlib
import re
import subprocess
import sys
import time

from tally import check, finish

OX, DIR = sys.argv[1], pathlib.Path(sys.argv[2])
ROW, PIECE = 4 * 4, 4 * 8 * 4  # bytes of the model's [4,1] and [4,8]


def run(*arguments):
    done = subprocess.run([OX, *arguments], cwd=DIR, capture_output=True, text=True, timeout=60)
    check(f"ox {' '.join(arguments)}: status {done.returncode}: {done.stderr[:300]}", done.returncode == 0)
    return done.stdout, done.stderr


def trace(model, *arguments):
    """The steps of one run, by name: (kind, bytes read, bytes written, operators)."""
    run("run", model, *arguments, "--quiet", "--trace", "trace.json")
    events = json.loads((DIR / "trace.json").read_text())["traceEvents"]
    whole = [e for e in events if e["cat"] == "run"]
    check("one run", len(whole) == 1)
    check("complete events", all(e["ph"] == "X" and e["dur"] >= 0 and e["ts"] >= 0 for e in events))
    end = whole[0]["ts"] + whole[0]["dur"] + 0.002
    check("steps within the run", all(e["ts"] + e["dur"] <= end for e in events))
    return {e["name"]: (e["cat"], e["args"]["bytes_read"], e["args"]["bytes_written"],
                        [n["op"] for n in e["args"]["nodes"]]) for e in events if e["cat"] != "run"}


inputs = ["-i", "@ones", "-i", "@random"]
found = trace("steps.onnx", *inputs)
expected = {"Expand a\\tview": ("view", 0, 0, ["Expand"]),
            "Add sum, Relu -> y": ("pass", ROW + PIECE, PIECE, ["Add", "Relu"]),
            "Transpose turned": ("copy", PIECE, PIECE, ["Transpose"])}
check(f"steps of a fused run: {found}", found == expected)
found = trace("steps.onnx", *inputs, "--no-fuse", "--threads", "2")
del expected["Add sum, Relu -> y"]
expected |= {"Add sum": ("kernel", ROW + PIECE, PIECE, ["Add"]), "Relu -> y": ("kernel", PIECE, PIECE, ["Relu"])}
check(f"steps one by one: {found}", found == expected)
found = trace("branch.onnx", "-i", "true", "-i", "@ones")
check(f"a subgraph: {found}", found == {"Neg -> r": ("kernel", PIECE, PIECE, ["Neg"]), "If -> y": ("control", 0, 0, ["If"])})

out, table = run("run", "steps.onnx", *inputs, "--profile", "--repeat", "3")
check("the outputs stay on standard output", out.startswith("y: float [4,8]"))
view = [line.split() for line in table.splitlines() if "Expand" in line]
check(f"a view moves 0 bytes: {view}", len(view) == 1 and view[0][2:6] == ["0", "-", "-", "view"])
check("a pass names its members", "pass     Add sum, Relu -> y" in table)
check("control characters are escaped", "Expand a\\tview" in table)
check("a mean", table.rstrip().endswith("mean of 3"))
out, table = run("run", "branch.onnx", "-i", "false", "-i", "@ones", "--profile")
check("a subgraph's steps are below its node", 0 < table.find("If -> y") < table.find("  Abs -> r"))

# Operations of dense nodes: time and speed, both rounded, give them back.
random = [text for name in ["x", "w", "z", "u", "m", "g", "h", "s", "lw", "lr", "q", "k"]
          for text in ("-i", f"{name}=@random")]
out, table = run("run", "dense.onnx", *random, "--profile", "--quiet")
found = {y: (float(us) * 1e3, float(speed)) for us, speed, y in
         re.findall(r"^ *([\d.]+) +[\d.]+% .* ([\d.]+)  kernel +\w+ -> (\w+)", table, re.M)}
expected = {"c": 2 * 16 * 38 * 38 * 20 * 9, "d": 2 * 16 * 38 * 38 * 9, "v": 2 * 20 * 40 * 40 * 4 * 9, "mm": 2 * 2 * 96**3,
            "gh": 2 * 64 * 80 * 128, "l": 2 * 50 * 4 * 96 * (32 + 24), "a": 4 * 2 * 60 * 90 * 32}
check(f"dense nodes have operations: {table}", found.keys() == expected.keys())
for y, flops in expected.items():
    ns, speed = found.get(y, (0, 0))
    check(f"{y} takes {flops} operations, not {ns} x {speed}", abs(ns * speed - flops) < 0.01 * flops + 0.006 * ns)

out, _ = run("info", "dense.onnx", "--nodes")
for way in ("-> c float [1,16,38,38]  [product of gathered columns, channels first]",
            "-> v float [1,4,42,42]  [scattered product, channels first]",
            "-> d float [1,16,38,38]  [direct, channels first]", "-> p float [1,16,36,36]  [direct, channels first]"):
    check(f"how nodes are computed: {way}: {out}", f"{way}\n" in out)
check(f"how a product is computed: {out}", "-> mm float [2,96,96]  [product with " in out)
nodes = json.loads(run("info", "dense.onnx", "--nodes", "--json")[0])["node_list"]
check(f"the same as JSON: {nodes}", nodes[4]["algorithm"] == "scattered product, channels first" and
      "algorithm" not in nodes[1])

started = time.monotonic()
out, table = run("bench", "steps.onnx", "--json", "--profile", "--trace", "trace.json")
taken = time.monotonic() - started
result = json.loads(out)
check(f"quantiles: {out}", 0 < result["p10_ns"] <= result["median_ns"] <= result["p90_ns"])
check(f"at least a second, not {taken}: {out}", result["runs"] >= 10 and taken >= 1)
check(f"bytes: {out}", result["bytes"] == ROW + PIECE + PIECE + 2 * PIECE)
check(f"speed: {out}", result["memcpy_GBps"] > 0 and abs(result["GBps"] - result["bytes"] / result["median_ns"]) < 0.01)
check("a table of the benchmark", "view" in table)
check("a trace of the benchmark", len(json.loads((DIR / "trace.json").read_text())["traceEvents"]) >= 4)
out, _ = run("bench", "steps.onnx", "-i", "b=@ones", "--threads", "2")
check(f"which inputs are random: {out}", out.startswith("@random input: a\nmedian ") and "% of memcpy" in out)

finish()
