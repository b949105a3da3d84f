"""whole.py: the one file, in its order: what all builds share, then the sections of newer processors."""
import re

from amalgamation.lists import ROOT, label, library_files, read_builds, read_lists
from amalgamation.names import names_of_text
from amalgamation.rename import aliases, defining, members_of, rename
from amalgamation.segment import segment, stem
from amalgamation.target import outside, target, target_begin, target_end
from amalgamation.text import lines_of, macros_of, without_guard
from amalgamation.tree import Again, Tree

C11 = re.compile(r"#\s*include\s*<(errno|float|limits|math|stdarg|stdatomic|stdbool|stddef|stdint|stdio|stdlib|string|time|wchar)\.h>$")
WINDOWS_TYPES = {"LONG", "SHORT", "WORD"}
SYSTEMS = {
    "posix": "!defined(_WIN32) && !defined(__wasi__)",
    "windows": "defined(_WIN32)",
    "wasi": "defined(__wasi__)",
    "registers": "defined(__linux__) && defined(__x86_64__)",
}
# Compilers that have the intrinsics of processors other than the one that they compile for.
ARM_BUILDS = "(defined(__aarch64__) && (!defined(__clang__) && __GNUC__ >= 12 || defined(__clang__) && __clang_major__ >= 16))"
HEAD = """/* ox.c: the library ox {version} as one file, made by `make amalgamation` of its sources; ox.h is its interface.
 *
 *     cc -O2 -c ox.c          and link with -lm, and with -lpthread where the C library needs that
 *
 * Macros that may be defined for it: OX_SYSTEM_PROTOBUF_C takes protobuf-c's runtime of the system (-lprotobuf-c) in place of that in
 * this file; OX_ONE_BUILD leaves out the loops for processors that are newer than the compiler's flags say.
 *
 * Copyright 2026 the ox authors. SPDX-License-Identifier: {licence} */
"""


class Amalgamation:
    """The lines of ox.c, once the names of files are known; without them, those of a draft."""

    def __init__(self, proto, names):
        self.lists, self.names, self.tree, self.out = read_lists(), names, Tree(proto), []
        self.files = library_files(self.lists)
        self.fused, self.wide, once, dot = (
            {ROOT / f"src/loops/{name}.c" for name in self.lists[key]} for key in ("FUSED", "WIDE", "LOOPS_ONCE", "LOOPS_DOT"))
        loops = [path for path in self.files if path.is_relative_to(ROOT / "src/loops") and path not in once]
        self.headers = set().union(*(found for file, found in names.items() if file.endswith(".h")))
        if names: # those of other processors, too
            self.headers = self.headers.union(*(names_of_text(path) for path in (ROOT / "src/loops").rglob("*.h")))
        self.claimed = self.headers | WINDOWS_TYPES
        self.main()
        self.section("base", "", "", [path for path in loops if path in self.fused], True, False)
        for machine in ("x86_64", "aarch64"):
            self.out.append(f"#if defined(OX_VARIANTS) && defined(__{machine}__)")
            for kind, build, of, flags, wide in read_builds():
                files = dot if kind == "DOT" else loops
                for fused in (False, True) if of == machine else ():
                    self.section(build, flags, wide, [path for path in sorted(files) if (path in self.fused) == fused], fused, kind == "DOT")
            self.out.append("#endif")

    def own_names(self, path):
        return self.names.get(label(path), set()) | names_of_text(path) if self.names else set()

    def members(self, path):
        return self.names.get(f"members of {label(path)}", set())

    def completes(self, name):
        """Whether a file only says what is in a struct of a header."""
        return name in self.headers and name.startswith("ox_")

    def main(self):
        """Everything but sections, each name for the file that has it first."""
        for path in (path for path in self.files if path not in self.fused):
            own = self.own_names(path)
            self.out += segment(self.tree, path, list(self.tree.expand(path)), {name for name in own & self.claimed if not self.completes(name)}, f"{stem(path)}_",
                                self.members(path))
            self.claimed |= own

    def section(self, build, flags, wide, files, fused, dot):
        """Files of loops for a build, with sums of products fused or not."""
        kind = f"{build}_fused" if fused else build
        again = Again(self.tree, kind, not fused and not dot)
        parts = [(path, list(again.expand(path))) for path in files]
        shared = again.names if self.names else {} # a draft has all names as they are
        for file, found in self.names.items():
            if file.startswith(f"{kind}:"):
                for name in found:
                    shared.setdefault(name, set()).add(ROOT / file.removeprefix(f"{kind}:"))
        text = "\n".join(line for _, lines in parts for line in lines)
        members = shared.keys() & members_of(text).union(*(self.members(path) for path, _ in parts))
        by_macro = sorted(shared.keys() - members)
        macros = sorted({macro for path in again.seen for macro in macros_of(without_guard(lines_of(path)))} - {"OX_ISA"})
        self.out += target_begin(flags) if flags else []
        self.out += ["#ifdef __clang__", "#pragma clang fp contract(fast)", "#else", "#pragma GCC push_options",
                     '#pragma GCC optimize("fp-contract=fast")', "#endif"] * fused
        self.out += [f"#undef {macro}" for macro in macros]
        self.out += ["#undef OX_ISA", f"#define OX_ISA {build}", *[f"#define OX_DOT_ISA {build}"] * dot]
        made = dict(aliases(by_macro, by_macro, f"{kind}_", shared)) | {name: f"{kind}_{name}" for name in by_macro}
        self.out += [f"#define {name} {to}" for name, to in made.items()]
        for path, lines in parts:
            lines = defining(lines, by_macro)
            lines = [part for line in lines for part in (outside(line, flags) if flags and line.startswith("OX_DOTS(") else [line])]
            wider = wide and path in self.wide
            self.out += ["#ifndef __clang__", "#pragma GCC push_options", f'#pragma GCC target("{target(wide)[0]}")', "#endif"] if wider else []
            self.out += segment(self.tree, path, rename(lines, members, f"{kind}_", members)[1], self.own_names(path), f"{kind}_{stem(path)}_",
                                self.members(path), {name: shared[name] for name in by_macro})
            self.out += ["#ifndef __clang__", "#pragma GCC pop_options", "#endif"] if wider else []
        self.out += [f"#undef {name}" for name in made]
        self.out += ["#undef OX_DOT_ISA"] * dot
        self.out += ["#ifdef __clang__", "#pragma clang fp contract(off)", "#else", "#pragma GCC pop_options", "#endif"] * fused
        self.out += target_end(flags) if flags else []

    def system_headers(self):
        """Lines that include headers of C, of systems, and of processors."""
        words = [line.strip() for line in self.out if re.match(r"\s*#\s*include\s*<", line)]
        common = sorted({line for line in words if C11.match(line)})
        host = ["#ifndef _WIN32_WINNT", "#define _WIN32_WINNT 0x0601", "#endif", "#ifndef WIN32_LEAN_AND_MEAN", "#define WIN32_LEAN_AND_MEAN",
                "#endif"]
        for prefix, condition in SYSTEMS.items():
            files = sorted((ROOT / "src/host").glob(f"{prefix}*.[ch]"))
            found = sorted({line.strip() for path in files for line in lines_of(path) if re.match(r"\s*#\s*include\s*<", line)})
            host += [f"#if {condition}", *(line for line in found if line not in common), "#endif"]
        return [*common, *host]

    def text(self, runtime, messages):
        common = self.system_headers()
        lines = [line for line in self.out if not (line.startswith("#include") and line.strip() in common) and "<protobuf-c/" not in line]
        guard_visibility = []
        for line in lines:
            inside = re.match(r"\s*#\s*include\s*<|HAS_VECTOR\(|__attribute__\(\(simd", line) # what others define
            guard_visibility += ["#pragma GCC visibility push(default)", line, "#pragma GCC visibility pop"] if inside else [line]
        facts = dict(re.findall(r'^#define OX_(\w+) "?([^"\n]*)"?$', (ROOT / "tools/about.h").read_text() + (ROOT / "src/ox.h").read_text(), re.M))
        version = ".".join(facts[f"VERSION_{part}"] for part in ("MAJOR", "MINOR", "PATCH"))
        foreign = ["#pragma GCC diagnostic push", *(f'#pragma GCC diagnostic ignored "-W{kind}"' for kind in ("conversion", "sign-conversion", "shadow")),
                   "#ifndef OX_SYSTEM_PROTOBUF_C", *runtime, "#endif", *messages,
                   "#pragma GCC diagnostic pop"]
        loop_flags = [flag for flag in self.lists["LOOP_FLAGS"] + self.lists["VECTOR_FLAGS"] if flag.startswith("-f")]
        return "\n".join([
            HEAD.format(version=version, licence=facts["LICENCE"]),
            "#ifndef _GNU_SOURCE", "#define _GNU_SOURCE 1", "#endif",
            "#if defined(__MINGW32__) && !defined(__USE_MINGW_ANSI_STDIO)", "#define __USE_MINGW_ANSI_STDIO 1", "#endif",
            "#ifndef _FILE_OFFSET_BITS", "#define _FILE_OFFSET_BITS 64", "#endif",
            "#if !defined(OX_ONE_BUILD) && !defined(OX_VARIANTS)", f"#if defined(__x86_64__) || {ARM_BUILDS}", "#define OX_VARIANTS 1", "#endif", "#endif",
            "#if __FLT_EVAL_METHOD__ == 1", '#error "floats would be computed in double: compile with -fexcess-precision=fast, or -std=gnu11"', "#endif",
            '#include "ox.h"', *common,
            "#if defined(__x86_64__)", "#include <immintrin.h>", "#elif defined(__aarch64__)", "#include <arm_neon.h>", "#endif",
            "#include <assert.h>", "#ifdef OX_SYSTEM_PROTOBUF_C", "#include <protobuf-c/protobuf-c.h>", "#endif",
            '#pragma GCC diagnostic ignored "-Wshadow"', '#pragma GCC diagnostic ignored "-Wmisleading-indentation"',
            "#pragma GCC visibility push(hidden)",
            "#ifdef __clang__", "#pragma clang fp contract(off)", '#pragma clang diagnostic ignored "-Wpass-failed"',
            '#pragma clang diagnostic ignored "-Wunused-function"', "#else",
            "#pragma GCC push_options", "#pragma GCC optimize(%s)" % ", ".join(f'"{flag[2:]}"' for flag in loop_flags), "#endif",
            *foreign,
            *guard_visibility,
            "#ifdef __clang__", "#else", "#pragma GCC pop_options", "#endif", "#pragma GCC visibility pop", ""])
