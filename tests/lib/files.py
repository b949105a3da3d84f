"""files.py: model files that are made to hurt. Each yields (name, bytes)."""

MODEL_GRAPH, MODEL_OPSET, MODEL_METADATA, MODEL_TRAINING, MODEL_FUNCTION = 7, 8, 14, 20, 25
GRAPH_NODE, GRAPH_INITIALIZER, GRAPH_INPUT, GRAPH_OUTPUT, GRAPH_VALUE, GRAPH_SPARSE = 1, 5, 11, 12, 13, 15
NODE_INPUT, NODE_OUTPUT, NODE_OP_TYPE, NODE_ATTRIBUTE = 1, 2, 4, 5
ATTRIBUTE_G, ATTRIBUTE_FLOATS, ATTRIBUTE_STRINGS, ATTRIBUTE_TENSORS, ATTRIBUTE_GRAPHS = 6, 7, 9, 10, 11


def varint(value):
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def field(number, payload):
    return varint(number << 3 | 2) + varint(len(payload)) + payload


def integer(number, value):
    return varint(number << 3) + varint(value)


def nested(path, depth, core=b""):
    """Messages in each other, the fields of path over and over; depth is the number of levels."""
    # Built from the inside out as a list: copying it all at each level would be quadratic here too.
    parts, length = [core], len(core)
    for level in reversed(range(depth)):
        head = varint(path[level % len(path)] << 3 | 2) + varint(length)
        parts.append(head)
        length += len(head)
    return b"".join(reversed(parts))


HEAD = integer(1, 8) + field(MODEL_OPSET, integer(2, 17))


def nestings():
    deep = [GRAPH_NODE, NODE_ATTRIBUTE, ATTRIBUTE_G]
    for depth in (99, 101, 9000, 100000):
        yield f"subgraphs nested {depth} deep", HEAD + field(MODEL_GRAPH, nested(deep, depth))
    yield "graph lists nested 9000 deep", HEAD + field(MODEL_GRAPH, nested([1, 5, ATTRIBUTE_GRAPHS], 9000))
    # ValueInfoProto.type, then optional types of optional types.
    types = field(GRAPH_INPUT, field(1, b"x") + field(2, nested([9, 1], 9000)))
    yield "types nested 9000 deep", HEAD + field(MODEL_GRAPH, types)
    yield "unknown fields nested 9000 deep", HEAD + nested([99], 9000)
    yield "groups nested 9000 deep", HEAD + b"\x3b" * 9000
    functions = nested([7, 5, ATTRIBUTE_G, 1, 5, ATTRIBUTE_G], 9000)
    yield "functions nested 9000 deep", HEAD + field(MODEL_FUNCTION, functions)


def repetitions():
    half = 512 << 10
    yield "repeated empty graphs", HEAD + field(MODEL_GRAPH, b"") * (half // 2)
    graph = field(MODEL_GRAPH, field(GRAPH_NODE, b""))
    yield "repeated graphs of one node", HEAD + graph * (half // len(graph))
    big = field(MODEL_GRAPH, field(GRAPH_NODE, b"") * (half // 4))
    yield "a large graph and many small ones", HEAD + big + graph * (half // 2 // len(graph))
    yield "repeated names", HEAD + field(MODEL_GRAPH, field(2, b"a") * (half // 3))
    yield "repeated types", HEAD + field(MODEL_GRAPH, field(GRAPH_INPUT, field(2, field(1, b"")) * (half // 4)))


def amplifications():
    size = 1 << 20
    for name, number in (("opsets", MODEL_OPSET), ("metadata", MODEL_METADATA), ("training", MODEL_TRAINING),
                         ("functions", MODEL_FUNCTION)):
        yield f"1 MB of empty {name}", HEAD + field(number, b"") * (size // len(field(number, b"")))
    for name, number in (("nodes", GRAPH_NODE), ("initializers", GRAPH_INITIALIZER), ("inputs", GRAPH_INPUT),
                         ("outputs", GRAPH_OUTPUT), ("values", GRAPH_VALUE), ("sparse", GRAPH_SPARSE)):
        yield f"1 MB of empty {name}", HEAD + field(MODEL_GRAPH, field(number, b"") * (size // 2))
    for name, number in (("node inputs", NODE_INPUT), ("node outputs", NODE_OUTPUT), ("attributes", NODE_ATTRIBUTE)):
        yield f"1 MB of empty {name}", HEAD + field(MODEL_GRAPH, field(GRAPH_NODE, field(number, b"") * (size // 2)))
    for name, number in (("strings", ATTRIBUTE_STRINGS), ("tensors", ATTRIBUTE_TENSORS), ("graphs", ATTRIBUTE_GRAPHS)):
        yield f"1 MB of empty {name} in an attribute", in_attribute(field(number, b"") * (size // 2))
    yield "1 MB of packed numbers in an attribute", in_attribute(field(8, b"\x01" * size))
    dims = field(1, b"\x01" * size)
    yield "a tensor of rank a million", HEAD + field(MODEL_GRAPH, field(GRAPH_INITIALIZER, dims + integer(2, 1)))
    huge = integer(1, 1 << 40) + integer(1, 1 << 40) + integer(2, 1) + field(8, b"w") + field(9, b"abcd")
    yield "a tensor of 2^80 elements", HEAD + field(MODEL_GRAPH, field(GRAPH_INITIALIZER, huge))
    yield "1 MB of unknown fields", HEAD + integer(1000, 1) * (size // 3)


def in_attribute(payload):
    node = field(NODE_OP_TYPE, b"Relu") + field(NODE_ATTRIBUTE, field(1, b"a") + payload)
    return HEAD + field(MODEL_GRAPH, field(GRAPH_NODE, node))


def tensor_type(name):
    return field(1, name) + field(2, field(1, integer(1, 1)))


def programs():
    """Well-formed models whose size or run explodes."""
    doubling, nodes = b"x", []
    for i in range(48):
        name = b"v%d" % i
        nodes.append(field(GRAPH_NODE, field(NODE_INPUT, doubling) * 2 + field(NODE_OUTPUT, name) +
                           field(NODE_OP_TYPE, b"Concat") + field(NODE_ATTRIBUTE, field(1, b"axis") + integer(3, 0) +
                                                                   integer(20, 2))))
        doubling = name
    ends = field(GRAPH_INPUT, tensor_type(b"x")) + field(GRAPH_OUTPUT, tensor_type(doubling))
    yield "a tensor doubled 48 times", HEAD + field(MODEL_GRAPH, b"".join(nodes) + ends)
    yield "functions that call each other 2^30 times", HEAD + exploding_functions() + field(MODEL_GRAPH, field(
        GRAPH_NODE, field(NODE_INPUT, b"x") + field(NODE_OUTPUT, b"y") + field(NODE_OP_TYPE, b"f0") + field(7, b"d")) +
        field(GRAPH_INPUT, tensor_type(b"x")) + field(GRAPH_OUTPUT, tensor_type(b"y"))) + field(
        MODEL_OPSET, field(1, b"d") + integer(2, 1))


def exploding_functions():
    out = b""
    for i in range(30):
        callee = b"f%d" % (i + 1)
        calls = b"".join(field(7, field(NODE_INPUT, source) + field(NODE_OUTPUT, target) + field(NODE_OP_TYPE, callee) +
                               field(7, b"d")) for source, target in ((b"x", b"t"), (b"t", b"y")))
        out += field(MODEL_FUNCTION, field(1, b"f%d" % i) + field(4, b"x") + field(5, b"y") + calls +
                     field(9, field(1, b"d") + integer(2, 1)) + field(10, b"d"))
    leaf = field(7, field(NODE_INPUT, b"x") + field(NODE_OUTPUT, b"y") + field(NODE_OP_TYPE, b"Relu"))
    return out + field(MODEL_FUNCTION, field(1, b"f30") + field(4, b"x") + field(5, b"y") + leaf +
                       field(9, integer(2, 17)) + field(10, b"d"))


def all_files():
    for group in (nestings, repetitions, amplifications, programs):
        yield from group()
    yield "an empty file", b""
    yield "one byte", b"\x08"
    yield "a text", b"This is not a model.\n" * 100
    yield "zeros", bytes(100000)
    yield "ones", b"\xff" * 100000
