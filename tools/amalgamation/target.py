"""target.py: sections of the file that are compiled for another processor, for gcc and for clang."""
import functools
import re
import subprocess

COMPILER = []  # the words of the command, which the program sets


# What compilers of aarch64 define for words of -march; those of x86-64 are asked.
ARM_MACROS = {"dotprod": "__ARM_FEATURE_DOTPROD", "i8mm": "__ARM_FEATURE_MATMUL_INT8"}


@functools.cache
def target(flags):
    """gcc's and clang's words for a processor; the macros that clang's do not define, and gcc's do."""
    if flags.startswith("-march=armv8"):
        words = flags.removeprefix("-m")
        return words, words, [ARM_MACROS[word] for word in words.split("+")[1:]]

    def predefined(*with_flags):
        command = [*COMPILER, *with_flags, "-dM", "-E", "-x", "c", "/dev/null"]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        return set(re.findall(r"^#define (__[A-Z0-9]+__) 1$", done.stdout, re.M))
    words = [flag[2:] for flag in flags.split()]
    clang = [word for word in words if not word.startswith("prefer-")]
    return ",".join(words), ",".join(clang), sorted(predefined(*flags.split()) - predefined())


def target_begin(flags):
    words, clang, macros = target(flags)
    yield "#if defined(__clang__) || defined(OX_NAMES)"
    for macro in macros:
        yield f'#pragma push_macro("{macro}")'
        yield f"#undef {macro}"
        yield f"#define {macro} 1"
    yield "#endif"
    yield "#ifdef __clang__"
    yield f'#pragma clang attribute push(__attribute__((target("{clang}"))), apply_to = function)'
    yield "#else"
    yield "#pragma GCC push_options"
    yield f'#pragma GCC target("{words}")'
    yield "#endif"


def outside(line, flags):
    """A line that declares functions for other processors."""
    again = next(line for line in target_begin(flags) if "attribute push" in line)
    return ["#ifdef __clang__", "#pragma clang attribute pop", "#endif", line, "#ifdef __clang__", again, "#endif"]


def target_end(flags):
    yield "#ifdef __clang__"
    yield "#pragma clang attribute pop"
    yield "#else"
    yield "#pragma GCC pop_options"
    yield "#endif"
    yield "#if defined(__clang__) || defined(OX_NAMES)"
    yield from (f'#pragma pop_macro("{macro}")' for macro in target(flags)[2])
    yield "#endif"
