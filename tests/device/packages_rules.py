"""packages_rules.py PACKAGE [EXPECTED]: what Arduino, PlatformIO, ESP-IDF and Zephyr publish as rules of libraries, components and modules,
looked at in the folder PACKAGE; and that its sources stand for themselves. A fault is a line."""
import json
import pathlib
import re
import sys

# Arduino's library specification.
CATEGORIES = {"Display", "Communication", "Signal Input/Output", "Sensors", "Device Control", "Timing", "Data Storage", "Data Processing",
              "Other", "Uncategorized"}
REQUIRED = ("name", "version", "author", "maintainer", "sentence", "paragraph", "category", "architectures")
KNOWN = {*REQUIRED, "url", "includes", "depends", "license", "dot_a_linkage", "precompiled", "ldflags"}
VERSION = r"\d+\.\d+\.\d+"
# Keys of idf_component.yml, module.yml and library.json.
IDF = {"version", "description", "url", "license", "tags", "dependencies", "examples", "repository", "documentation", "issues", "targets",
       "maintainers", "files", "repository_info", "discussion"}
MODULE = {"name", "build", "samples", "tests", "boards", "security", "package-managers", "runners", "blobs", "external-projects"}
PIO = {"name", "version", "description", "keywords", "license", "homepage", "repository", "authors", "frameworks", "platforms", "headers",
       "build", "examples", "dependencies", "export", "scripts", "$schema"}


def arduino(root):
    lines = [line for line in (root / "library.properties").read_text().split("\n") if line]
    fields = dict(line.split("=", 1) for line in lines)
    for name in REQUIRED:
        if not fields.get(name, "").strip():
            yield f"library.properties has no {name}"
    for name in fields.keys() - KNOWN:
        yield f"library.properties has {name}, which is unknown"
    if len(fields) != len(lines):
        yield "library.properties says something twice"
    name = fields.get("name", "")
    if not re.fullmatch(r"[A-Za-z0-9][\w .-]{0,62}", name) or re.match(r"arduino", name, re.I):
        yield f"library.properties: the name {name!r}"
    if not re.fullmatch(VERSION, fields.get("version", "")):
        yield f"library.properties: the version {fields.get('version')!r}"
    if fields.get("category") not in CATEGORIES:
        yield f"library.properties: the category {fields.get('category')!r}"
    if not fields.get("sentence", "").endswith(".") or fields.get("paragraph", "").startswith(fields.get("sentence", "")):
        yield "library.properties: sentence and paragraph"
    for header in fields.get("includes", "").split(","):
        if not (root / "src" / header).is_file():
            yield f"library.properties includes {header}, which is not in src"
    for sketch in root.rglob("*.ino"):
        if sketch.stem != sketch.parent.name or "examples" not in sketch.parts:
            yield f"{sketch.relative_to(root)}: a sketch has the name of its folder, below examples"
    if (root / "utility").exists() or any(root.glob("*.c*pp")) or any(root.glob("*.[ch]")):
        yield "sources are in src alone"


def platformio(root):
    data = json.loads((root / "library.json").read_text())
    for name in data.keys() - PIO:
        yield f"library.json has {name}, which is unknown"
    if not re.fullmatch(VERSION, data.get("version", "")) or not data.get("name") or len(data.get("description", "")) > 255:
        yield "library.json: name, version or description"
    for folder in (data["build"]["srcDir"], data["build"]["includeDir"]):
        if not (root / folder / data["headers"]).is_file():
            yield f"library.json: {folder} has no {data['headers']}"
    for example in data["examples"]:
        for file in example["files"]:
            if not (root / example["base"] / file).is_file():
                yield f"library.json: {example['base']}/{file} is missing"


def top_keys(text):
    return {match[1] for match in re.finditer(r"^([\w$-]+):", text, re.M)}


def idf(root):
    text = (root / "idf_component.yml").read_text()
    for name in top_keys(text) - IDF:
        yield f"idf_component.yml has {name}, which is unknown"
    if not re.search(rf'^version: "{VERSION}"$', text, re.M):
        yield "idf_component.yml: the version"
    for folder in re.findall(r"- path: (.*)", text):
        if "project(" not in (root / folder / "CMakeLists.txt").read_text():
            yield f"idf_component.yml: {folder} is no project"
    if "idf_component_register" not in (root / "CMakeLists.txt").read_text():
        yield "CMakeLists.txt registers no component"


def zephyr(root):
    text = (root / "zephyr/module.yml").read_text()
    for name in top_keys(text) - MODULE:
        yield f"module.yml has {name}, which is unknown"
    build = dict(re.findall(r"^  (\w+): (.*)$", text, re.M))
    if not (root / build["cmake"] / "CMakeLists.txt").is_file() or not (root / build["kconfig"]).is_file():
        yield "module.yml names what is missing"
    for folder in re.findall(r"^  - (.*)$", text, re.M):
        for name in ("CMakeLists.txt", "prj.conf", "sample.yaml"):
            if not (root / folder / name).is_file():
                yield f"module.yml: {folder} has no {name}"


def options(root):
    """Every option that CMake asks for is one of Kconfig."""
    for cmake, kconfig in (("CMakeLists.txt", "Kconfig"), ("zephyr/CMakeLists.txt", "zephyr/Kconfig")):
        known = set(re.findall(r"^config (\w+)$", (root / kconfig).read_text(), re.M))
        for name in set(re.findall(r"\bCONFIG_(\w+)", (root / cmake).read_text())) - known:
            yield f"{cmake} asks for {name}, which {kconfig} does not define"


def sources(root):
    """One header for all to see, includes that need no folder, one version."""
    src = root / "src"
    if [path.name for path in src.iterdir() if path.is_file()] != ["ox.h"]:
        yield "src has more than ox.h"
    for path in (path for path in src.rglob("*") if path.suffix in (".c", ".h", ".inc")):
        text = path.read_text()
        if path.suffix == ".c" and not re.match(r'#include "(\.\./)*package\.h"\n', text):
            yield f"{path.relative_to(root)} does not begin with package.h"
        for name in re.findall(r'^\s*#\s*include "([^"]+)"', text, re.M):
            if not (path.parent / name).is_file():
                yield f"{path.relative_to(root)} includes {name}, which is not there"
    versions = {match for name in ("library.properties", "library.json", "idf_component.yml")
                for match in re.findall(rf'version"?[:=] ?"?({VERSION})', (root / name).read_text())}
    header = ".".join(re.findall(r"#define OX_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)", (src / "ox.h").read_text()))
    if versions != {header}:
        yield f"versions: {sorted(versions)}, and ox.h has {header}"
    for path in root.rglob("*"):
        if path.is_file() and re.search(r"@[A-Z]+@", path.read_text()):
            yield f"{path.relative_to(root)} has a word that was not filled in"


def main():
    root = pathlib.Path(sys.argv[1])
    faults = [fault for rules in (arduino, platformio, idf, zephyr, options, sources) for fault in rules(root)]
    print("\n".join(faults))
    return bool(faults)


sys.exit(main())
