"""operators.py OX OPERATORS.MD: the operator table against the schemas of the Python package onnx: every version that
was ever published of every operator that ox has; and docs/operators.md against `ox ops --markdown`."""

import subprocess
import sys

import onnx.defs

ox, document = sys.argv[1:]
lines = subprocess.run([ox, "ops", "--markdown"], check=True, capture_output=True, text=True).stdout
table = {}
for line in lines.splitlines():
    cells = [cell.strip() for cell in line.split("|")]
    if line.startswith("| ") and cells[1] != "operator" and "-" not in cells[1] and "." not in cells[1]:
        table.setdefault(cells[1], set()).update(int(version) for version in cells[2].split())

published = {}
for schema in onnx.defs.get_all_schemas_with_history():
    if schema.domain == "":
        published.setdefault(schema.name, set()).add(schema.since_version)

passed = failed = 0
for name, versions in sorted(table.items()):
    if versions == published.get(name):
        passed += 1
    else:
        failed += 1
        print(f"{name}: the table has versions {sorted(versions)}, onnx {sorted(published.get(name, []))}")
with open(document, encoding="utf-8") as file:
    if file.read() == lines:
        passed += 1
    else:
        failed += 1
        print(f"{document} is not what `ox ops --markdown` prints")
print(f"{passed} passed, {failed} failed, 0 skipped")
sys.exit(failed > 0)
