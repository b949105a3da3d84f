"""about.py ROOT: what the files of a release say of the project is the same everywhere.

Name, Python package, licence and address are those of tools/about.h; the version is that of src/ox.h. Other files take
them from there when they are built, or state what is compared here.
"""
import pathlib
import re
import sys
import tomllib


def facts(root):
    """Name -> value, of the two headers."""
    about = dict(re.findall(r'^#define OX_(\w+) "(.*)"$', (root / "tools/about.h").read_text(), re.M))
    numbers = re.findall(r"^#define OX_VERSION_(MAJOR|MINOR|PATCH) (\d+)$", (root / "src/ox.h").read_text(), re.M)
    return {**about, "VERSION": ".".join(number for _, number in numbers), "PARTS": [part for part, _ in numbers]}


def differences(root):
    known = facts(root)
    if set(known) < {"NAME", "PACKAGE", "LICENCE", "ADDRESS"} or known["PARTS"] != ["MAJOR", "MINOR", "PATCH"]:
        yield f"tools/about.h or src/ox.h lacks a line: {known}"
        return
    if known["ADDRESS"] and not known["ADDRESS"].startswith("https://"):
        yield f"tools/about.h: the address {known['ADDRESS']} does not begin with https://"

    def expect(file, pattern, *values):
        found = re.search(pattern, (root / file).read_text(), re.M)
        if not found or found.groups() != values:
            yield f"{file}: {found.group().strip() if found else 'nothing like ' + pattern} where {' '.join(values)} is expected"

    yield from expect("CHANGELOG.md", r"^## (\S+), (?:not yet released|\d{4}-\d\d-\d\d)$", known["VERSION"])
    yield from expect("src/ox.h", r"SPDX-License-Identifier: (\S+)", known["LICENCE"])
    yield from expect("LICENSE", r"\s*(Apache) License\n\s*Version (2.0),", *known["LICENCE"].split("-"))
    for key in ("NAME", "VERSION", "LICENCE", "ADDRESS"):
        yield from expect("tools/ox.1", rf"(@{key}@)", f"@{key}@")
    for line, key in (("Name", "NAME"), ("Version", "VERSION"), ("License", "LICENCE"), ("URL", "ADDRESS")):
        yield from expect("tools/ox.pc.in", rf"^{line}: (.*)$", f"@{key}@")
    yield from expect("tools/ox.1", r"^\.Dt (\S+) 1$", known["NAME"].upper())
    yield from expect("packaging/vcpkg/ox/vcpkg.json", r'"version": "(.*)"', known["VERSION"])
    yield from expect("packaging/vcpkg/ox/vcpkg.json", r'"license": "(.*)"', known["LICENCE"])
    project = tomllib.loads((root / "pyproject.toml").read_text())["project"]
    stated = {"NAME": project.get("name"), "LICENCE": project.get("license"), "DYNAMIC": sorted(project["dynamic"])}
    wanted = {"NAME": known["PACKAGE"], "LICENCE": known["LICENCE"], "DYNAMIC": ["urls", "version"]}
    if stated != wanted or {"urls", "version"} & set(project):
        yield f"pyproject.toml: {stated} where {wanted} is expected"


def main():
    wrong = list(differences(pathlib.Path(sys.argv[1])))
    print("\n".join(wrong) if wrong else "about: name, version, licence and address are the same everywhere")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
