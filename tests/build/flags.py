"""flags.py BUILD COMMANDS: the CMake build compiles what the Makefile compiles, each file with the same flags.

BUILD is the text of `make -n -B V=1 all` (stdin may be long), COMMANDS the compile_commands.json of CMake. An object is a file with its
build of the loops (OX_ISA). What may differ: paths, warnings, -g and -O of the build type.
"""
import json
import pathlib
import re
import shlex
import sys

# Flags of paths, warnings, dependencies and of the build type; what CMake gives objects by properties.
LEFT_OUT = re.compile(r"-(I.*|isystem.*|W.*|g|M.*|c|DNDEBUG|std=.*|fPIC|pthread)$")


def describe(command, where):
    """(file, build) and the flags of a compiler's command, or None where it is another."""
    words = shlex.split(command)
    if "-c" not in words:
        return None
    sources = [word for word in words if word.endswith(".c")]
    if len(sources) != 1:
        return None
    source = pathlib.Path(where, sources[0]).resolve()
    words = [word for at, word in enumerate(words[1:], 1) if words[at - 1] not in ("-o", "-MF", "-MT", "-MQ", "-isystem")]
    flags = [word for word in words if word.startswith(("-", "max-")) and word != "-o" and not LEFT_OUT.match(word)]
    # Of several of a kind, the last one counts: -O2 -O3, -ffp-contract=off and fast, -mprefer-vector-width.
    last = {}
    for flag in flags:
        last[re.match(r"-O|[^=]*", flag).group() if not flag.startswith("-D") else flag] = flag
    build = last.get("-DOX_ISA=" + next((flag.split("=")[1] for flag in flags if flag.startswith("-DOX_ISA=")), ""), "base")
    name = "onnx.pb-c.c" if source.name == "onnx.pb-c.c" else str(source)
    return (name, build), frozenset(last.values())


def read_make(path):
    return dict(filter(None, (describe(line, ".") for line in path.read_text().splitlines() if " -c " in line and " examples/" not in line)))


def read_cmake(path):
    return dict(filter(None, (describe(entry["command"], entry["directory"]) for entry in json.loads(path.read_text()))))


def main():
    make, cmake = read_make(pathlib.Path(sys.argv[1])), read_cmake(pathlib.Path(sys.argv[2]))
    passed, wrong = 0, []
    for key in sorted(make.keys() | cmake.keys()):
        if key not in make or key not in cmake:
            wrong.append(f"{' '.join(key)}: only {'CMake' if key in cmake else 'make'} compiles it")
        elif make[key] != cmake[key]:
            wrong.append(f"{' '.join(key)}: make has {sorted(make[key] - cmake[key])}, CMake {sorted(cmake[key] - make[key])}")
        else:
            passed += 1
    if passed < 300:
        wrong.append(f"only {passed} objects were compared")
    print("\n".join(wrong + [f"{passed} passed, {len(wrong)} failed, 0 skipped"]))
    return bool(wrong)


sys.exit(main())
