"""hosts.py ROOT: headers of a system are for the files that are written for a kind of system, and for nothing else.

All other code of src, tools and python includes the headers of C11, headers of this repository, those of the libraries
that it stands on, and in src/loops those that name a processor's instructions. The Makefile asks C libraries for C11 alone:
whatever else their headers declare does not compile.
"""
import pathlib
import re
import sys

C11 = set("assert complex ctype errno fenv float inttypes iso646 limits locale math setjmp signal stdalign stdarg stdatomic "
          "stdbool stddef stdint stdio stdlib stdnoreturn string tgmath threads time uchar wchar wctype".split())
# Of C11's, these mean other things on each system, or are not everywhere.
SYSTEMS = {"threads", "signal", "time"}
LIBRARIES = ["src/field.h protobuf-c/protobuf-c.h", "src/loader/ protobuf-c/protobuf-c.h", "src/bare/ protobuf-c/protobuf-c.h",
             "src/bare/mve.h arm_mve.h", "src/asserts.h sanitizer/asan_interface.h",
             "tools/ zlib.h", "tools/ png.h", "python/src/ Python.h", "python/src/ numpy/.*"]
PROCESSORS = r"(immintrin|emmintrin|cpuid|arm_neon|arm_acle|wasm_simd128|riscv_vector|sys/platform/x86|sys/auxv|asm/hwcap)\.h"
HOSTS = ("src/host/", "tools/host/")


def is_right(file, header):
    if file.startswith(HOSTS):
        return True
    if header.endswith(".h") and header[:-2] in C11 - SYSTEMS:
        return True
    if file.startswith("src/loops/") and re.fullmatch(PROCESSORS, header):
        return True
    return any(re.fullmatch(rf"{folder}.* {name}", f"{file} {header}") for folder, name in map(str.split, LIBRARIES))


def wrong_headers(root):
    for folder in ("src", "tools", "python"):
        for path in sorted(p for p in (root / folder).rglob("*") if p.suffix in (".c", ".h", ".inc")):
            file = path.relative_to(root).as_posix()
            for number, line in enumerate(path.read_text().splitlines(), 1):
                found = re.match(r"\s*#\s*include(?:_next)?\s*<([^>]+)>", line)
                if found and not is_right(file, found[1]):
                    yield f"{file}:{number}: <{found[1]}> is for the files of {' and '.join(HOSTS)}"
                if re.match(r"\s*#\s*define\s+_(POSIX_C|XOPEN|GNU|DEFAULT|BSD|DARWIN_C)_SOURCE", line) and not file.startswith(HOSTS):
                    yield f"{file}:{number}: what a system's headers show is for the files of {' and '.join(HOSTS)}"


def wrong_flags(root):
    for file in ("Makefile", "python/python.mk"):
        for number, line in enumerate((root / file).read_text().splitlines(), 1):
            if re.search(r"-D_(POSIX_C|XOPEN|GNU|DEFAULT|BSD|DARWIN_C)_SOURCE|-std=gnu", line):
                yield f"{file}:{number}: all code would see what a system's headers show"


def main():
    root = pathlib.Path(sys.argv[1])
    wrong = [*wrong_headers(root), *wrong_flags(root)]
    print("\n".join(wrong) if wrong else "hosts: headers of systems are where they belong")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
