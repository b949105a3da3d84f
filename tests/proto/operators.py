"""operators.py OX OPERATORS.MD: the order of the operator table, and the table against the schemas of the
Python package onnx: every version that was ever published of every operator that ox has, and whether a row has
attributes; the attributes that the loader allows (src/loader/attributes.inc), of every operator and version that there is; and docs/operators.md against
`ox ops --markdown`."""

import pathlib
import re
import subprocess
import sys

import onnx.defs

import attributes as allowed
import tally

ROOT = pathlib.Path(__file__).parent.parent.parent
ox, document = sys.argv[1:]
lines = subprocess.run([ox, "ops", "--markdown"], check=True, capture_output=True, text=True).stdout
table = {}
for line in lines.splitlines():
    cells = [cell.strip() for cell in line.split("|")]
    if line.startswith("| ") and cells[1] != "operator" and "-" not in cells[1] and "." not in cells[1]:
        table.setdefault(cells[1], set()).update(int(version) for version in cells[2].split())

published, attributes = {}, {}
for schema in onnx.defs.get_all_schemas_with_history():
    if schema.domain == "":
        published.setdefault(schema.name, set()).add(schema.since_version)
        # consumed_inputs was a hint of the first versions, without effect.
        attributes[schema.name, schema.since_version] = set(schema.attributes) - {"consumed_inputs"}
for schema in allowed.runtime_schemas():
    if schema.domain == "": # ONNX Runtime's, in ONNX's domain
        published.setdefault(schema.name, set()).add(schema.since_version)
        attributes[schema.name, schema.since_version] = set(schema.attributes)

passed = failed = 0
for name, versions in sorted(table.items()):
    if versions == published.get(name):
        passed += 1
    else:
        failed += 1
        print(f"{name}: the table has versions {sorted(versions)}, onnx {sorted(published.get(name, []))}")
for line in (ROOT / "src/ops/table.inc").read_text().splitlines():
    row = re.match(r"[A-Z]+\((\w+), \(([0-9, ]+)\)", line)
    if not row:
        continue
    some = any(attributes.get((row[1], int(version))) for version in row[2].split(", "))
    if some == ("OX_OP_NO_ATTRS" not in line):
        passed += 1
    else:
        failed += 1
        print(f"{row[1]} ({row[2]}) {'has' if some else 'has no'} attributes, but the row says otherwise")
rows = [(row[1] or "", row[2], int(row[3])) for row in
        re.finditer(r'^[A-Z_]+\((?:"([^"]*)", )?(\w+), \((\d+)', (ROOT / "src/ops/table.inc").read_text(), re.M)]
for before, row in zip(rows, rows[1:]):
    if row < before: # lookup would not find it
        failed += 1
        print(f"table.inc is not sorted by domain, name and version: {row} stands behind {before}")
listed = {(row[1], row[2]): "".join(re.findall(r'"([^"]*)"', row[3])).split()
          for row in re.finditer(r'^OPERATOR\("([^"]*)", (\w+),\s*("[^)]*")\)$',
                                 (ROOT / "src/loader/attributes.inc").read_text(), re.M)}
wanted = {key: allowed.words_of(schemas) for key, schemas in allowed.all_schemas().items()}
for key in sorted(wanted.keys() | listed.keys()):
    if wanted.get(key) == listed.get(key):
        passed += 1
    else:
        failed += 1
        print(f"{'.'.join(filter(None, key))}: the loader allows {listed.get(key)}, onnx {wanted.get(key)}: "
              "write attributes.inc anew (tests/proto/attributes.py)")
if list(listed) != sorted(listed):
    failed += 1
    print("attributes.inc is not sorted by domain and name")
rules = (ROOT / "src/rewrite/gradient_rules.c").read_text().partition("rules[] = {")[2]
derived = set(re.findall(r'^    (?:[A-Z]+\(|\{)"(\w+)"', rules, re.M))
described = (ROOT / "docs/gradient.md").read_text().partition("Operators with a derivative:")[2].partition("All versions")[0]
if derived == set(re.findall(r"[A-Z]\w+(?=[,.])", described)):
    passed += 1
else:
    failed += 1
    print("docs/gradient.md lists other operators than gradient_rules.c")
with open(document, encoding="utf-8") as file:
    if file.read() == lines:
        passed += 1
    else:
        failed += 1
        print(f"{document} is not what `ox ops --markdown` prints")
sys.exit(tally.finish(passed, failed))
