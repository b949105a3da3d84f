"""wheels.py WHEEL...: wheels for other systems: what they hold is what RECORD says, the module is of
the system that the name says, begins with PyInit__ox, and needs nothing but the system's own libraries. Needs objdump and nm of llvm."""
import base64
import csv
import hashlib
import io
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile

# By the end of a wheel's name: the format of the module, and the libraries that it may need. A number in the name of one for glibc is the
# newest version of its symbols.
SYSTEMS = {
    "win_amd64": ("coff-x86-64", r"(python3|kernel32|msvcrt|shell32|advapi32|api-ms-win-.*|ntdll|bcrypt)\.dll"),
    "macosx_13_0_arm64": ("mach-o arm64", r"_ox\.abi3\.so|/usr/lib/libSystem\.B\.dylib"),
    "macosx_13_0_x86_64": ("mach-o 64-bit x86-64", r"_ox\.abi3\.so|/usr/lib/libSystem\.B\.dylib"),
    "musllinux_1_2_x86_64": ("elf64-x86-64", r"libc\.so"),
    "aarch64": ("elf64-littleaarch64", r"lib(c|m|pthread|dl)\.so\.\d|ld-linux-aarch64\.so\.1"),
}


def said(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def needed(path, form):
    if form.startswith("mach-o"):
        return re.findall(r"^\t(\S+) \(", said("llvm-objdump", "--macho", "--dylibs-used", path), re.M)
    text = said("llvm-objdump", "-p", path)
    return re.findall(r"DLL Name: (\S+)", text) if form.startswith("coff") else re.findall(r"^  NEEDED +(\S+)", text, re.M)


def shown(path, form):
    if form.startswith("coff"):
        return re.findall(r"^ +\d+ +0x[0-9a-f]+  (\S+)$", said("llvm-objdump", "-p", path), re.M)
    names = said("llvm-nm", "-g", "--defined-only", *["-D"] * form.startswith("elf"), path)
    return [name.removeprefix("_" if form.startswith("mach-o") else "") for name in re.findall(r" T (\S+)$", names, re.M)]


def faults(wheel, folder):
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder)
        names = archive.namelist()
    record = next(name for name in names if name.endswith("RECORD"))
    rows = {row[0]: row[1:] for row in csv.reader(io.StringIO((folder / record).read_text()))}
    if set(rows) != set(names):
        yield f"RECORD and files differ: {set(rows) ^ set(names)}"
    for name in set(names) & set(rows) - {record}:
        digest = base64.urlsafe_b64encode(hashlib.sha256((folder / name).read_bytes()).digest()).rstrip(b"=").decode()
        if rows[name][0] != f"sha256={digest}":
            yield f"RECORD has another hash of {name}"
    tag = wheel.stem.split("-", 2)[2]
    if f"Tag: {tag}\n" not in (folder / record).with_name("WHEEL").read_text():
        yield f"WHEEL does not say {tag}"
    form, own = next(value for end, value in SYSTEMS.items() if wheel.stem.endswith(end))
    module = next(folder.glob("oxrt/_ox.*[do]"))
    if f"file format {form}" not in said("llvm-objdump", "-h", module):
        yield f"{module.name} is not of format {form}"
    if "PyInit__ox" not in shown(module, form) or any(not re.match("ox_|PyInit__ox$", name) for name in shown(module, form)):
        yield f"{module.name} shows {sorted(shown(module, form))[:5]}"
    libraries = needed(module, form)
    others = [name for name in libraries if not re.fullmatch(own, name, re.I)]
    if others or not libraries:
        yield f"{module.name} needs {others or 'no library'}"
    newest = re.search(r"manylinux_2_(\d+)_", tag)
    if newest and any(int(minor) > int(newest[1]) for minor in re.findall(r"GLIBC_2\.(\d+)", said("llvm-objdump", "-p", module))):
        yield f"{module.name} needs a newer glibc than {tag}"
    if "win" in tag and "python3.dll" not in libraries:
        yield f"{module.name} does not need python3.dll: {libraries}"


def main():
    if not shutil.which("llvm-objdump") or not shutil.which("llvm-nm"):
        print("skipped: wheels for other systems: llvm is not installed\n0 passed, 0 failed, 1 skipped")
        return 0
    passed = failed = 0
    for wheel in map(pathlib.Path, sys.argv[1:]):
        with tempfile.TemporaryDirectory() as folder:
            found = list(faults(wheel, pathlib.Path(folder)))
        print("\n".join(f"FAIL {wheel.name}: {fault}" for fault in found) or f"{wheel.name}, {wheel.stat().st_size} bytes")
        passed += not found
        failed += bool(found)
    print(f"{passed} passed, {failed} failed, 0 skipped")
    return failed > 0 or not passed


sys.exit(main())
