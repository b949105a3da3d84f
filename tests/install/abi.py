"""abi.py HEADER MAKEFILE LIST [--write]: compares what compiled programs rely on with LIST.

That is: the functions of the header, the values of its enumerators, sizes of its structs and places of their members,
for machines of 64 bits; not words that are reserved, which new members take. A line of LIST may go or change only when the number in the soname (SONAME in MAKEFILE) goes up;
new lines are written by --write (`make abi`).
"""
import pathlib
import re
import subprocess
import sys
import tempfile

COUNTS = {"OX_DTYPE_COUNT"}  # grows with the list in front of it; nothing in the library's interface has that size


def without_comments(text):
    return re.sub(r"/\*.*?\*/", " ", text, flags=re.S)


def names_of(declaration):
    """Names of the members that a declaration in a struct makes."""
    pointer = re.search(r"\(\*\s*(\w+)\)\s*\(", declaration)
    if pointer:
        return [pointer.group(1)]
    return [re.search(r"(\w+)\s*(\[[^\]]*\])?\s*$", part).group(1) for part in declaration.split(",")]


def read_header(path):
    """Functions, enumerators, and struct -> members, in the order of the header."""
    text = without_comments(path.read_text())
    functions = sorted(set(re.findall(r"OX_API[^;{}]*?\b(ox_\w+)\(", text)))
    enumerators = [name for body in re.findall(r"\benum\b[^;{]*\{(.*?)\}", text, re.S)
                   for name in re.findall(r"\b(OX_\w+)\s*(?:=[^,]*)?(?:,|$)", body.strip())]
    structs = {name: [member for declaration in body.split(";") if declaration.strip() for member in names_of(declaration)]
               for body, name in re.findall(r"typedef struct \w+ \{(.*?)\} (\w+);", text, re.S)}
    return functions, [name for name in enumerators if name not in COUNTS], structs


def describe(path):
    """The lines of LIST; sizes and places are those of the compiler."""
    functions, enumerators, structs = read_header(path)
    prints = [f'printf("value {name} %lld\\n", (long long){name});' for name in enumerators]
    for struct, members in structs.items():
        prints.append(f'printf("size {struct} %zu\\n", sizeof({struct}));')
        prints += [f'printf("member {struct}.{member} %zu\\n", offsetof({struct}, {member}));'
                   for member in members if member != "reserved"]
    source = f'#include "{path.resolve()}"\n#include <stdio.h>\nint main(void) {{ {" ".join(prints)} }}\n'
    with tempfile.TemporaryDirectory() as folder:
        program = pathlib.Path(folder) / "layout"
        subprocess.run(["cc", "-std=c11", "-x", "c", "-o", program, "-"], input=source, text=True, check=True)
        layout = subprocess.run([program], capture_output=True, text=True, check=True).stdout.splitlines()
    return [f"function {name}" for name in functions] + layout


def main():
    header, makefile, listed = map(pathlib.Path, sys.argv[1:4])
    soname = re.search(r"^SONAME\s*:=\s*(\S+\.(\d+))$", makefile.read_text(), re.M)
    head = f"soname {soname.group(1)}"
    known = [line for line in listed.read_text().splitlines() if line and not line.startswith("#")] if listed.exists() else [head]
    same = known[0] == head
    found = describe(header)
    gone, new = [line for line in known[1:] if line not in found], [line for line in found if line not in known]
    if gone and same:
        print("\n".join(f"abi: gone or changed: {line}" for line in gone))
        print(f"abi: programs that were compiled for {soname.group(1)} rely on that: docs/versions.md says what is possible")
        return 1
    if "--write" in sys.argv:
        listed.write_text("# What programs compiled for this soname rely on (64 bits); `make abi` adds what is new.\n"
                          + "\n".join([head, *found]) + "\n")
    elif gone or new or not same:
        print("\n".join(f"abi: not in {listed}: {line}" for line in new))
        print("abi: `make abi` writes the list anew")
        return 1
    else:
        print(f"abi: {len(found)} lines of {soname.group(1)} are as they were")
    return 0


if __name__ == "__main__":
    sys.exit(main())
