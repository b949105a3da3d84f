"""attributes.py: writes src/loader/attributes.inc, the attributes of every operator of ONNX's own domains, out of the
schemas of the Python package onnx, and of those that ox has of ONNX Runtime's, out of the schemas of that. `make
operators` compares the file with what this gives.

usage: attributes.py >src/loader/attributes.inc
"""
import pathlib
import re
import textwrap

import onnx.defs
from onnxruntime.capi import onnxruntime_pybind11_state as runtime

DOMAINS = ("", "ai.onnx.ml", "ai.onnx.preview", "ai.onnx.preview.training", "ai.onnx.training")
WIDTH = 120
HEAD = """\
/* attributes.inc: the attributes of the operators of ONNX's own domains, and of ONNX Runtime's that ox has, sorted by
 * domain and name. Written by tests/proto/attributes.py; a new release of ONNX means a new file, and nothing here is
 * edited.
 *
 * OPERATOR (domain, name, versions)
 *          words: a version of the specification that changes the attributes, then "name:kind" for each of them, with !
 *          behind those that must be given. Kinds are AttributeProto.AttributeType: f float, i int, s string, t tensor,
 *          g graph, p sparse tensor, y type, and in upper case lists of them. */
"""
# By AttributeType, from 1.
KINDS = "fistgFISTGpPyY"


TABLE = pathlib.Path(__file__).parent.parent.parent / "src/ops/table.inc"


def word(attribute):
    return f"{attribute.name}:{KINDS[int(attribute.type.value) - 1]}{'!' if attribute.required else ''}"


def words_of(schemas):
    """The versions of one operator as a list of words; schemas by version."""
    words, before = [], None
    for version in sorted(schemas):
        attributes = [word(schemas[version].attributes[name]) for name in sorted(schemas[version].attributes)]
        if attributes != before:
            words += [str(version), *attributes]
        before = attributes
    return words


def runtime_schemas():
    """Those of ONNX Runtime that rows of the table have and ONNX does not."""
    found = re.findall(r'^[A-Z_]+\((?:"([^"]*)", )?(\w+), \(([0-9, ]+)\)', TABLE.read_text(), re.M)
    rows = {(domain, name, int(version)) for domain, name, versions in found for version in versions.split(",")}
    rows -= {(schema.domain, schema.name, schema.since_version)
             for schema in onnx.defs.get_all_schemas_with_history()}
    return [schema for schema in runtime.get_all_operator_schema()
            if (schema.domain, schema.name, schema.since_version) in rows]


def all_schemas():
    """{(domain, name): {version: schema}}"""
    found = {}
    for schema in onnx.defs.get_all_schemas_with_history():
        if schema.domain in DOMAINS:
            found.setdefault((schema.domain, schema.name), {})[schema.since_version] = schema
    for schema in runtime_schemas():
        found.setdefault((schema.domain, schema.name), {})[schema.since_version] = schema
    return found


def row(domain, name, words):
    start = f'OPERATOR("{domain}", {name}, "'
    text = " ".join(words)
    if len(start) + len(text) + 2 <= WIDTH:
        return start + text + '")\n'
    lines = textwrap.wrap(text, WIDTH - 8, break_long_words=False, break_on_hyphens=False)
    return start[:-2] + "".join(f'\n    "{line} "' for line in lines[:-1]) + f'\n    "{lines[-1]}")\n'


def rows():
    schemas = all_schemas()
    return "".join(row(*key, words_of(schemas[key])) for key in sorted(schemas))


if __name__ == "__main__":
    print(HEAD + rows(), end="")
