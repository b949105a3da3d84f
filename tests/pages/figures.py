"""figures.py: compares the figures in texts with the files that they come from. A figure in README.md that neither comes
from such a file nor is listed here with a reason is a fault, too: it would be stale unseen."""

import math
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]


def read(name):
    return (ROOT / name).read_text()


def lines(name):
    return [line for line in read(name).splitlines() if line and not line.startswith("#")]


# ---- Where figures come from ----------------------------------------------------------------------------------------------


def part(text, title):
    """What stands below a heading."""
    level = title.split()[0]
    body = text.partition(f"\n{title}\n")[2]
    return re.split(rf"\n#{{1,{len(level)}}} ", body)[0]


def table(text, first):
    """Rows of the first table whose head begins with that cell, as dictionaries."""
    lines = [[cell.strip() for cell in line[1:-1].split("|")] if line.startswith("| ") else None for line in text.splitlines()]
    start = next(i for i, row in enumerate(lines) if row and row[0] == first)
    end = next((i for i in range(start, len(lines)) if not lines[i]), len(lines))
    return [dict(zip(lines[start], row)) for row in lines[start + 2:end]]


def number(text):
    return float(text.replace(",", ""))


def mean(values):
    return math.exp(sum(map(math.log, values)) / len(values))


def plain(rows, column):
    """Numbers of a column, without those that are marked."""
    return [number(row[column]) for row in rows if re.fullmatch(r"[\d.,]+", row[column])]


def bench(page, section):
    one = part(part(read(page), f"## {section}"), "### One thread")
    means = {row["geometric means"]: row for row in table(one, "geometric means")}
    return table(one, "case"), next(row for name, row in reversed(means.items()) if name.startswith("all"))


def devices():
    """What networks take on boards: millions of instructions, KB of flash and of RAM, and the same in whole numbers."""
    found = {}
    for row in table(read("docs/devices-bench.md"), "network"):
        name = f"{row['network']} on {row['processor']}"
        memory = number(row["buffer"] or row["arena in it"]) + number(row["stack"])
        found |= {f"instructions of {name}": number(row["instructions"]), f"millions of {name}": number(row["instructions"]) / 1e6,
                  f"flash of {name}": number(row["flash"]), f"KB of flash of {name}": number(row["flash"]) / 1000,
                  f"RAM of {name}": memory, f"KB of RAM of {name}": memory / 1000}
    return found


def values():
    networks, all_networks = bench("docs/benchmarks.md", "Whole networks")
    elementwise = bench("docs/benchmarks.md", "Elementwise operators")[1]
    products, all_products = bench("docs/benchmarks.md", "Matrix products")
    starts = table(part(read("docs/benchmarks.md"), "## Starting with networks"), "network")
    digits = next(row for row in table(read("docs/size.md"), "") if row["image"] == "handwritten digits")
    flash = int(digits["flash"])
    found = {
        "newest cases": 1884, "released cases": number(re.search(r"([\d,]+) different ones", read("docs/testing.md")).group(1)),
        "newest wrong": sum(not line.startswith("debian:") for line in lines("tests/node/broken.txt")),
        "released wrong": len(lines("tests/releases/broken.txt")),
        "networks": number(all_networks["cases"]), "networks by ORT": number(all_networks["ORT/ox"]),
        "slowest network": min(plain(networks, "ORT/ox")),
        "elementwise": number(elementwise["cases"]), "elementwise by ORT": number(elementwise["ORT/ox"]),
        "products": number(all_products["cases"]), "products by ORT": number(all_products["ORT/ox"]),
        "least session": min(plain(starts, "session/ox")), "most session": max(plain(starts, "session/ox")),
        "least memory": min(plain(starts, "ox/ORT")), "most memory": max(plain(starts, "ox/ORT")),
        "least memory by ORT": 1 / max(plain(starts, "ox/ORT")), "most memory by ORT": 1 / min(plain(starts, "ox/ORT")),
        "KB of flash": flash / 1024, "KB of flash with the model": (flash + (ROOT / "examples/digits/model.onnx").stat().st_size) / 1024,
        "buffer": number(re.search(r"digits take ([\d,]+) bytes", read("docs/devices.md")).group(1)) / 1024,
    }
    node = ROOT / "build/node"
    if node.is_dir():
        found["newest cases"] = sum(case.name.startswith("test_") for case in node.iterdir()) or found["newest cases"]
    found["newest passed"] = found["newest cases"] - found["newest wrong"]
    found["released passed"] = found["released cases"] - found["released wrong"]
    for peer in ("ORT", "OpenVINO", "MNN", "rten", "tract"):
        column = plain(networks, f"{peer}/ox")
        found |= {f"{peer} networks": len(column), f"{peer} mean": mean(column), f"{peer} least": min(column),
                  f"{peer} most": max(column)}
    for section in ("Bytes", "Weights of 4 bits"):
        for peer in ("ORT", "OpenVINO", "ggml"):
            column = plain([row for row in bench("docs/benchmarks.md", section)[0] if f"{peer}/ox" in row], f"{peer}/ox")
            if column:
                found |= {f"{peer} in {section}": len(column), f"{peer} mean in {section}": mean(column),
                          f"{peer} least in {section}": min(column), f"{peer} most in {section}": max(column)}
    for row in products:
        found[f"OpenBLAS {row['case']}"] = number(row["OpenBLAS/ox"]) if row["OpenBLAS/ox"] != "-" else 0
    for row in table(part(read("docs/peers.md"), "## ONNX's node cases"), ""):
        found[f"cases of {row['']}"] = [number(one) for one in re.findall(r"[\d,]*\d", row["passes"])]
    ncnn = [number(row["times"]) for row in table(read("docs/peers.md"), "network")]
    found |= {"least of ncnn": min(ncnn), "most of ncnn": max(ncnn), "networks of ncnn": len(ncnn)}
    for row in table(part(read("docs/peers.md"), "## Microcontrollers"), ""):
        found[f"instructions of {row['']}"] = number(row["instructions, millions"])
    return found | devices()


# ---- Where they stand -------------------------------------------------------------------------------------------------------

# A text with {NAME} for each figure; a figure is right if its source, rounded to as many digits, is.
README = [
    "ox passes {newest passed} of ONNX's {newest cases} newest node cases. The other {newest wrong} have",
    "Of the {released cases} different cases of all ONNX releases from 1.2 to 1.22 it passes {released passed};",
    "with each of the other {released wrong}.",
    "ONNX Runtime takes {networks by ORT} times as long over {networks} networks, {elementwise by ORT} times over "
    "{elementwise} elementwise models and {products by ORT} times over {products} products of matrices",
    "The slowest of these networks against it is {slowest network} times as fast.",
    "the digits take {KB of flash} KB of flash without the model, {KB of flash with the model} KB with it, and one buffer of "
    "{buffer} KB",
    "| {ORT mean} times over {ORT networks} networks, {ORT mean in Bytes} times over {ORT in Bytes} layers and networks, most of them in bytes. "
    "Creating a session takes {least session} to {most session} times as long; "
    "it needs {least memory by ORT} to {most memory by ORT} times the memory. It passes {cases of ONNX Runtime:0} of the "
    "{newest cases} newest node cases as it is, ox {newest passed}.",
    "| {tract mean} times over {tract networks} networks; {cases of tract:0} to {cases of tract:1} node cases |",
    "| {ggml mean in Weights of 4 bits} times over {ggml in Weights of 4 bits} products with weights of 4 bits |",
    "| {least of ncnn} to {most of ncnn} times over {networks of ncnn} networks",
    "take {instructions of CMSIS-NN, its functions called by hand, int8} million instructions for a keyword network in int8 on a "
    "Cortex-M4F, ox {instructions of ox, int8 (QDQ)} million",
    "| {instructions of onnx2c, float, -O3} million instructions for that network in float, ox {instructions of ox, float} million; "
    "{cases of onnx2c:0} to {cases of onnx2c:1} node cases |",
]
PEERS = [f"| {version} | {{{peer} networks}} | {{{peer} mean}} | {{{peer} least}} | {{{peer} most}} |" for peer, version in
         {"ORT": "1.31.1", "OpenVINO": "2026.4.1", "MNN": "3.6.1", "rten": "0.27.0", "tract": "0.23.9"}.items()] + [
    *(f"| {section} | {name} | {{{peer} in {section}}} | {{{peer} mean in {section}}} | {{{peer} least in {section}}} | "
      f"{{{peer} most in {section}}} |" for section, peer, name in (
          ("Bytes", "ORT", "ONNX Runtime 1.31.1"), ("Bytes", "OpenVINO", "OpenVINO 2026.4.1"),
          ("Weights of 4 bits", "ORT", "ONNX Runtime 1.31.1"), ("Weights of 4 bits", "ggml", "ggml 0.25.3"))),
    "takes {least session} to {most session} times as long as loading and preparing with ox; a process of `ox bench` holds "
    "{least memory} to {most memory} of the memory",
    "Of the {newest cases} node cases", "| ox | 0.1.0 | {newest passed} |",
] + [f"| {name} | {{millions of {network} on cortex-m4}} | {{KB of RAM of {network} on cortex-m4}} | "
     f"{{KB of flash of {network} on cortex-m4}} |" for name, network in
     {"ox, float": "kws_float", "ox, int8 (QDQ)": "kws_qdq", "ox, int8 (QDQ), a plan": "kws_qdq, a plan"}.items()]
PEERS += [f"| {name} | {processor} | {{millions of {network} on {target}}} |" for processor, target in
          {"Cortex-M4F": "cortex-m4", "Cortex-M55": "cortex-m55", "Cortex-M0": "cortex-m0", "RV32": "rv32"}.items() for name, network in
          {"keyword spotter": "kws_qdq", "MobileNet, 96x96": "mobilenet", "ResNet, 32x32": "resnet", "autoencoder": "autoencoder"}.items()]
DEVICES = [f"| {name} | {{instructions of {network} on cortex-m4}} | {{flash of {network} on cortex-m4}} | "
           f"{{RAM of {network} on cortex-m4}} |" for name, network in
           {"keyword spotter of 2.7 million products, int8": "kws_qdq", "the same, a plan": "kws_qdq, a plan"}.items()] + [
    "spotter takes {instructions of kws_qdq on cortex-m55} instructions on a Cortex-M55, {instructions of kws_qdq on rv32} on RV32 and "
    "{instructions of kws_qdq on cortex-m0} on a Cortex-M0",
    "a keyword spotter of bytes takes {KB of flash of kws_qdq, a plan on cortex-m4} KB of flash instead of "
    "{KB of flash of kws_qdq on cortex-m4} on a Cortex-M4, and {KB of RAM of kws_qdq, a plan on cortex-m4} KB of memory instead of "
    "{KB of RAM of kws_qdq on cortex-m4}",
]
TESTING = ["OpenBLAS takes {OpenBLAS 64x64x64} times ox's time at 64x64x64, {OpenBLAS 256x256x256} times at 256x256x256 and "
           "{OpenBLAS 1024x1024x1024} times at 1024x1024x1024"]
TEXTS = {"README.md": README, "docs/peers.md": PEERS, "docs/testing.md": TESTING, "docs/devices.md": DEVICES}

# Numbers in README.md that are no figures: names, versions and choices.
NAMES = ["C11", r"IR versions 3 to 14", r"releases from 1\.2 to 1\.22", r"version 0\.1", r"ox 0\.1", r"Debian 12 and 13",
         r"ONNX Runtime 1\.31\.1", r"tract 0\.23\.9", r"ncnn 1\.0\.20261020", r"ggml 0\.25\.3", r"Apache 2\.0", r"AVX2", r"AVX-512", r"x86-64", r"64-bit and 32-bit",
         r"s390x", r"aarch64", r"Cortex-M\d+F?", r"M\d+", r"RV32", r"int8", r"onnx2c", "skl2onnx"]


def right(text, value):
    digits = len(text.partition(".")[2])
    return abs(number(text) - value) <= 0.5000001 * 10 ** -digits


def compare(name, text, sentence, known):
    """What is wrong with one sentence of a page."""
    names = re.findall(r"\{([^}]*)\}", sentence)
    pattern = re.sub(r"\\\{[^}]*\\\}", r"([\\d,]*\\d(?:\\.\\d+)?)", re.escape(sentence))
    found = re.search(pattern, text)
    if not found:
        return [f"{name}: not found: {sentence}"], (0, 0)
    wrong = []
    for figure, given in zip(names, found.groups()):
        key, _, index = figure.partition(":")
        value = known[key][int(index)] if index else known[key]
        if not right(given, value):
            wrong.append(f"{name}: {key} is {value:.4g}, the text has {given}: {sentence}")
    return wrong, found.span()


def unknown(text, spans):
    """Numbers of README.md that nothing is known of."""
    for start, end in spans:
        text = text[:start] + re.sub(r"\d", "#", text[start:end]) + text[end:]
    for name in NAMES:
        text = re.sub(name, " ", text)
    return [f"README.md: no source is known of '{found}'" for found in re.findall(r"\S*\d\S*", text)]


def main():
    known, wrong = values(), []
    for name, sentences in TEXTS.items():
        text = re.sub(r"^```.*?^```$", "", read(name), flags=re.M | re.S)
        text = " ".join(re.sub(r"\]\([^)]*\)|`[^`]*`|<!--.*?-->", lambda m: m.group() if name != "README.md" else
                               re.sub(r"\d", "#", m.group()), text).split())
        spans = []
        for sentence in sentences:
            faults, span = compare(name, text, sentence, known)
            wrong += faults
            spans.append(span)
        if name == "README.md":
            wrong += unknown(text, spans)
    for fault in wrong:
        print(fault)
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
