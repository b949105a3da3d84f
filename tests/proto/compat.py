"""Compares proto/onnx.proto with the descriptors of the Python package onnx: every message, field and enum value.

usage: compat.py [PROTO]   (needs protoc-c, and onnx and protobuf for Python; exits with 1 on any difference)
"""
import os
import subprocess
import sys
import tempfile

import tally

PROTO = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "proto", "onnx.proto")

# What differs on purpose, and why.
NOTE = "the loader's note of bytes left in the file, dropped from every file it reads"
OURS_ALONE = {"TensorProto.ox_payload": NOTE, "GraphProto.ox_payload": NOTE}
THEIRS_ALONE = {}


def our_file(path):
    from google.protobuf import descriptor_pb2
    folder = os.path.dirname(os.path.abspath(path))
    with tempfile.TemporaryDirectory() as out:
        result = os.path.join(out, "onnx.desc")
        subprocess.run(["protoc-c", f"--proto_path={folder}", f"--c_out={out}", f"--descriptor_set_out={result}",
                        os.path.basename(path)], check=True, cwd=folder)
        with open(result, "rb") as f:
            return descriptor_pb2.FileDescriptorSet.FromString(f.read()).file[0]


def their_file():
    """Models, and the values that are no tensors, which onnx has in a file of their own."""
    import onnx
    from google.protobuf import descriptor_pb2
    result, values = descriptor_pb2.FileDescriptorProto(), descriptor_pb2.FileDescriptorProto()
    onnx.ModelProto.DESCRIPTOR.file.CopyToProto(result)
    onnx.SequenceProto.DESCRIPTOR.file.CopyToProto(values)
    result.message_type.extend(values.message_type)
    return result


def field_facts(message, field):
    oneof = message.oneof_decl[field.oneof_index].name if field.HasField("oneof_index") else ""
    return (f"number {field.number}, type {field.type}{field.type_name}, label {field.label}, "
            f"packed {field.options.packed}, default '{field.default_value}', oneof '{oneof}'")


def enum_facts(enum, prefix, facts):
    facts[prefix + enum.name] = "enum"
    for value in enum.value:
        facts[f"{prefix}{enum.name}.{value.name}"] = f"value {value.number}"


def message_facts(message, prefix, facts):
    name = prefix + message.name
    facts[name] = "message"
    for field in message.field:
        facts[f"{name}.{field.name}"] = field_facts(message, field)
    for reserved in message.reserved_range:
        for number in range(reserved.start, reserved.end):
            facts[f"{name}.reserved.{number}"] = "reserved number"
    for reserved in message.reserved_name:
        facts[f"{name}.reserved.{reserved}"] = "reserved name"
    for enum in message.enum_type:
        enum_facts(enum, name + ".", facts)
    for nested in message.nested_type:
        message_facts(nested, name + ".", facts)


def file_facts(file):
    facts = {"package": file.package}
    for enum in file.enum_type:
        enum_facts(enum, "", facts)
    for message in file.message_type:
        message_facts(message, "", facts)
    return facts


def main():
    try:
        theirs = file_facts(their_file())
    except ImportError as missing:
        print(f"skipped: onnx.proto: {missing}, so nothing to compare with")
        print("0 passed, 0 failed, 1 skipped")
        return 0
    ours = file_facts(our_file(sys.argv[1] if len(sys.argv) > 1 else PROTO))
    passed, failed, skipped = 0, 0, 0
    for name in sorted(set(ours) | set(theirs)):
        if ours.get(name) == theirs.get(name):
            passed += 1
        elif name in (THEIRS_ALONE if name in theirs else OURS_ALONE):
            skipped += 1
            print(f"skipped: {name}: left out of the comparison: {THEIRS_ALONE.get(name) or OURS_ALONE.get(name)}")
        else:
            failed += 1
            print(f"{name}: ours is {ours.get(name, 'missing')}, onnx has {theirs.get(name, 'nothing')}")
    return tally.finish(passed, failed, skipped)


if __name__ == "__main__":
    sys.exit(main())
