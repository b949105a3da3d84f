"""fetch.py DIR: the test cases of ONNX's releases, out of their wheels, in DIR/cases/VERSION/KIND/CASE.

Of cases that several releases have with the same bytes, the oldest release has it; DIR/cases.tsv has the release, kind
and name of each case, and the release that has it in DIR/cases. Wheels stay in DIR/wheels; what is there is not fetched
again. The last patch of each release since 1.2 is taken, except those without cases.
"""

import hashlib
import pathlib
import shutil
import subprocess
import sys
import zipfile

VERSIONS = ["1.2.3", "1.3.0", "1.4.1", "1.5.0", "1.6.0", "1.7.0", "1.8.1", "1.9.0", "1.10.2", "1.11.0", "1.12.0",
            "1.13.1", "1.14.1", "1.15.0", "1.16.2", "1.17.0", "1.18.0", "1.19.1", "1.20.1", "1.21.0", "1.22.0"]
KINDS = ["node", "simple", "pytorch-converted", "pytorch-operator"]
# Wheels hold the same cases for every platform: the first that there is will do.
PLATFORMS = [("312", "manylinux_2_28_x86_64"), ("312", "manylinux2014_x86_64"), ("310", "manylinux2014_x86_64"),
             ("38", "manylinux2010_x86_64"), ("36", "manylinux1_x86_64")]
DATA = pathlib.PurePosixPath("onnx/backend/test/data")


def wheel_of(version, folder):
    """The wheel of a release, fetched where it is not there."""
    for python, platform in PLATFORMS:
        found = list(folder.glob(f"onnx-{version}-*.whl"))
        if found:
            return found[0]
        subprocess.run([sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-input",
                        "--no-deps", "--only-binary=:all:", f"--platform={platform}", f"--python-version={python}",
                        f"--dest={folder}", f"onnx=={version}"], capture_output=True, check=False)
    found = list(folder.glob(f"onnx-{version}-*.whl"))
    if not found:
        raise SystemExit(f"no wheel of onnx {version} can be had")
    return found[0]


def cases_of(wheel):
    """{(kind, case): {path in the case: bytes}} of a wheel."""
    cases = {}
    with zipfile.ZipFile(wheel) as archive:
        for name in archive.namelist():
            path = pathlib.PurePosixPath(name)
            if path.is_relative_to(DATA) and not name.endswith("/"):
                kind, case, *rest = path.relative_to(DATA).parts
                if kind in KINDS and rest and ".." not in path.parts:
                    cases.setdefault((kind, case), {})["/".join(rest)] = archive.read(name)
    return cases


def digest(files):
    total = hashlib.sha256()
    for name in sorted(files):
        total.update(f"{name} {len(files[name])}\n".encode() + files[name])
    return total.digest()


def main():
    root = pathlib.Path(sys.argv[1])
    wheels, target, seen, lines = root / "wheels", root / "cases", {}, []
    wheels.mkdir(parents=True, exist_ok=True)
    shutil.rmtree(target, ignore_errors=True)
    for version in VERSIONS:
        for (kind, case), files in sorted(cases_of(wheel_of(version, wheels)).items()):
            key = (case, digest(files))
            if "model.onnx" not in files:
                continue
            is_new = key not in seen
            lines.append(f"{version}\t{kind}\t{case}\t{seen.setdefault(key, version)}\n")
            if not is_new:
                continue
            for name, data in files.items():
                path = target / version / kind / case / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(data)
    (root / "cases.tsv").write_text("".join(lines))
    print(f"{len(seen)} different cases of {len(VERSIONS)} releases")


if __name__ == "__main__":
    main()
