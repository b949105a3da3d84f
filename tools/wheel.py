"""wheel.py SYSTEM PORT INFO TO: writes the wheel of SYSTEM (a name of python/wheels.mk) into TO: the package's files, the extension module in
PORT, and the metadata in INFO."""
import base64
import hashlib
import pathlib
import re
import subprocess
import sys
import zipfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
TAGS = {"windows": "win_amd64", "macos": "macosx_13_0_arm64", "macos-x86": "macosx_13_0_x86_64", "musl": "musllinux_1_2_x86_64"}
STRIP = {"windows": "x86_64-w64-mingw32-strip", "musl": "strip", "linux-arm64": "aarch64-linux-gnu-strip"}


def row(name, data):
    digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
    return f"{name},sha256={digest},{len(data)}"


def tag_of(system, module):
    """The systems that the wheel suits. Of Linux with glibc, those that have the symbols that the module needs."""
    if system in TAGS:
        return TAGS[system]
    text = subprocess.run(["aarch64-linux-gnu-objdump", "-T", module], check=True, capture_output=True, text=True).stdout
    return "manylinux_%d_%d_aarch64" % max((int(major), int(minor)) for major, minor in re.findall(r"GLIBC_(\d+)\.(\d+)", text))


def main():
    system, port, info, to = sys.argv[1], *map(pathlib.Path, sys.argv[2:])
    module = port / ("_ox.pyd" if system == "windows" else "_ox.abi3.so")
    small = port / f"small{module.suffix}"
    strip = STRIP.get(system)
    subprocess.run([strip or "llvm-strip", "-S" if not strip else "--strip-unneeded", "-o", small, module], check=True)
    tag = tag_of(system, module)
    version = re.search(r"^Version: (.*)$", (info / "METADATA").read_text(), re.M)[1]
    folder = f"oxrt-{version}.dist-info"
    files = {f"oxrt/{path.name}": path.read_bytes() for path in sorted((ROOT / "python/oxrt").iterdir()) if path.is_file()}
    files[f"oxrt/{module.name}"] = small.read_bytes()
    for path in sorted(info.iterdir()):
        if path.name not in ("RECORD", "WHEEL"):
            files[f"{folder}/{path.name}"] = path.read_bytes()
    files[f"{folder}/licenses/LICENSE"] = (ROOT / "LICENSE").read_bytes()
    files[f"{folder}/WHEEL"] = f"Wheel-Version: 1.0\nGenerator: ox\nRoot-Is-Purelib: false\nTag: cp311-abi3-{tag}\n".encode()
    record = f"{folder}/RECORD"
    files[record] = "\n".join([*(row(name, data) for name, data in files.items()), f"{record},,", ""]).encode()
    wheel = to / f"oxrt-{version}-cp311-abi3-{tag}.whl"
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            # The same bytes each time.
            member = zipfile.ZipInfo(name, (2020, 1, 1, 0, 0, 0))
            member.external_attr = 0o644 << 16
            member.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(member, data)
    print(f"{wheel.name}, {wheel.stat().st_size} bytes")


main()
