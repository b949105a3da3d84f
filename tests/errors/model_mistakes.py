"""model_mistakes.py: wrong files, graphs, functions, attributes, weights and inputs, and what ox has to say of each."""

import numpy as np
import onnx
import oxlib
from build import T, constant, edited, external, graph, model, nested, node, tensor
from mistakes import (ARGUMENT, FILE, MODEL, UNSUPPORTED, SHAPE, LIMIT, F23, F3, F4, Mistake, at_node, branch, floats,
                      loading)
from onnx import helper


def files():
    """Bytes that are no model, or one of another time."""
    good = model(node("Relu x y"), "x float 2")
    yield Mistake("an empty file", b"", MODEL,
                  "this is not an ONNX model: it has no ir_version")
    yield Mistake("a text file", b"<!DOCTYPE html>\n<html></html>\n", MODEL,
                  "this is not an ONNX model, or a damaged one: graph: wire type 4 is not in use")
    yield Mistake("a file cut short", good.SerializeToString()[:-3], MODEL,
                  "this is not an ONNX model, or a damaged one: opset_import[0]: length 4 exceeds the 1 bytes left")
    yield Mistake("no graph", onnx.ModelProto(ir_version=8), MODEL,
                  "it has no graph")
    yield Mistake("no ir_version", edited(model(node("Relu x y"), "x float 2"), lambda m: m.ClearField("ir_version")),
                  MODEL,
                  "this is not an ONNX model: it has no ir_version")
    yield Mistake("an IR from the future", model(node("Relu x y"), "x float 2", ir=99), UNSUPPORTED,
                  "ir_version 99 is newer than 14, the newest known: save the model with that")
    yield Mistake("a negative IR", model(node("Relu x y"), "x float 2", ir=-1), MODEL,
                  "ir_version -1 is not between 1 and 14")
    yield Mistake("an opset from the future", model(node("Relu x y"), "x float 2", opset=999), UNSUPPORTED,
                  "opset 999 of domain 'ai.onnx' is newer than 28, the newest known: convert the model to that")
    yield Mistake("opset 0", model(node("Relu x y"), "x float 2", opset=0), MODEL,
                  "opset_import: 0 is not a version of domain 'ai.onnx': they start at 1")
    yield Mistake("no opset", edited(model(node("Relu x y"), "x float 2"), lambda m: m.ClearField("opset_import")),
                  MODEL,
                  "node 'n' (Relu): its domain 'ai.onnx' is not in the opset_import of the model")
    yield Mistake("a domain that is not imported", model(node("org.test.Foo x y"), "x float 2"), MODEL,
                  "node 'n' (org.test.Foo): its domain 'org.test' is not in the opset_import of the model")
    yield Mistake("a file that is not there", lambda folder: folder / "none.onnx", FILE,
                  "FOLDER/none.onnx: No such file or directory")
    yield Mistake("a folder", lambda folder: folder, FILE,
                  "FOLDER: not a regular file")


def graphs():
    """Wiring."""
    yield Mistake("an unknown operator", model(node("Frobnicate x y"), "x float 2"), UNSUPPORTED,
                  "1 operator is not supported: Frobnicate-17 (node 'n')")
    yield Mistake("an operator newer than the opset", model(node("Gelu x y"), "x float 2"), UNSUPPORTED,
                  "1 operator is not supported: Gelu-17 (node 'n'; a later opset has it)")
    yield Mistake("several unknown operators", model([node("Foo x t"), node("Bar t u"), node("Foo u y")], "x float 2"),
                  UNSUPPORTED,
                  "2 operators are not supported: Bar-17 (node 'n'), Foo-17 (2 nodes)")
    yield Mistake("an unknown operator of a domain", model(node("org.test.Foo x y"), "x float 2",
                                                           domains=["org.test"]), UNSUPPORTED,
                  "1 operator is not supported: org.test.Foo-1 (node 'n')")
    yield Mistake("no op_type", edited(model(node("Relu x y"), "x float 2"),
                                       lambda m: m.graph.node[0].ClearField("op_type")), MODEL,
                  "node 'n' (no op_type): it has no op_type")
    yield Mistake("a cycle", model([node("Add x,b a"), node("Relu a b"), node("Relu b y")], "x float 2"), MODEL,
                  "node 'n' (Add), which produces 'a', depends on its own output")
    yield Mistake("a node that reads itself", model(node("Add x,y y"), "x float 2"), MODEL,
                  "node 'n' (Add), which produces 'y', depends on its own output")
    yield Mistake("an input that nothing produces", model(node("Add x,ghost y"), "x float 2"), MODEL,
                  "node 'n' (Add): it reads 'ghost', which nothing produces")
    yield Mistake("an output that nothing produces", model(node("Relu x y"), "x float 2", "ghost float 2"), MODEL,
                  "output 0 of the graph: it reads 'ghost', which nothing produces")
    yield Mistake("two values of one name", model([node("Relu x y"), node("Neg x y")], "x float 2"), MODEL,
                  "node 'n' (Neg): value 'y' is defined twice: names must be unique")
    yield Mistake("a node that overwrites an input", model(node("Relu x x"), "x float 2", "x float 2"), MODEL,
                  "node 'n' (Relu): value 'x' is defined twice: names must be unique")
    yield Mistake("two inputs of one name", model(node("Relu x y"), "x float 2, x float 3"), MODEL,
                  "value 'x' is defined twice: names must be unique")
    yield Mistake("two initializers of one name", model(node("Add x,w y"), "x float 2",
                                                        initializers=[constant("w", F3), constant("w", F4)]), MODEL,
                  "value 'w' has two initializers")
    yield Mistake("an initializer of another type than its input",
                  model(node("Add x,w y"), "x float 2, w int64 2", initializers=[constant("w", F3)]), MODEL,
                  "input 'w' is of type int64, but its initializer is of type float")
    yield Mistake("an initializer of another shape than its input",
                  model(node("Add x,w y"), "x float 2, w float 2", initializers=[constant("w", F3)]), MODEL,
                  "input 'w' is of shape [2], but its initializer is of shape [3]")
    yield Mistake("an initializer of another rank than its input",
                  model(node("Add x,w y"), "x float 2, w float N M", initializers=[constant("w", F3)]), MODEL,
                  "input 'w' is of shape [N,M], but its initializer is of shape [3]")
    yield Mistake("omitted inputs beyond the last", model(node("Relu x,, y"), "x float 2"), MODEL,
                  "node 'n' (Relu): 3 inputs given, but Relu-14 takes exactly 1")
    yield Mistake("omitted outputs beyond the last", model(node("Relu x y,"), "x float 2"), MODEL,
                  "node 'n' (Relu): 2 outputs given, but Relu-14 takes exactly 1")
    yield Mistake("too few inputs", model(node("Add x y"), "x float 2"), MODEL,
                  "node 'n' (Add): 1 input given, but Add-14 takes exactly 2")
    yield Mistake("too many inputs", model(node("Relu x,x y"), "x float 2"), MODEL,
                  "node 'n' (Relu): 2 inputs given, but Relu-14 takes exactly 1")
    yield Mistake("too many outputs", model(node("Relu x y,z"), "x float 2"), MODEL,
                  "node 'n' (Relu): 2 outputs given, but Relu-14 takes exactly 1")
    yield Mistake("no output", model(node("Relu x"), "x float 2", "x float 2"), MODEL,
                  "node 'n' (Relu): 0 outputs given, but Relu-14 takes exactly 1")
    yield Mistake("a required input omitted", model(node("Add ,x y"), "x float 2"), MODEL,
                  "node 'n' (Add): input 0 is omitted, but must be given")
    yield Mistake("an optional input omitted that must be there", model(node("Where x,,x y"), "x bool 2"), MODEL,
                  "node 'n' (Where): input 1 is omitted, but must be given")
    yield Mistake("the same attribute twice", edited(model(node("Concat x,x y", axis=0), "x float 2"),
                                                    lambda m: m.graph.node[0].attribute.append(
                                                        helper.make_attribute("axis", 1))), MODEL,
                  "node 'n' (Concat): attribute 'axis' is given twice")
    yield Mistake("a value of an unknown element type", edited(model(node("Relu x y"), "x float 2"), lambda m: setattr(
        m.graph.input[0].type.tensor_type, "elem_type", 77)), UNSUPPORTED,
                  "value 'x': element type 77 is not known (1 to 28 are)")
    yield Mistake("more nodes than allowed", model([node("Relu x a"), node("Relu a b"), node("Relu b y")], "x float 2"),
                  LIMIT,
                  "node 'n' (Relu): the model has more than 2 nodes", limits=oxlib.Limits(nodes=2))
    yield Mistake("a name with control characters", model(node("Add x,\x1b[31m\nghost y"), "x float 2"), MODEL,
                  "node 'n' (Add): it reads '?[31m?ghost', which nothing produces")
    yield Mistake("a very long name", model(node("Add x," + "g" * 5000 + " y"), "x float 2"), MODEL,
                  "node 'n' (Add): it reads "
                  "'gggggggggggggggggggggggggggggggggggggggggggggggggggggggggggggggggggggggggggggggg', which "
                  "nothing produces")


def stated():
    """Types that a model states, and that are not."""
    yield Mistake("an output of another type", model(node("Relu x y"), "x float 3", "y int64 ?"), MODEL,
                  "output 0, 'y', is of type float, but the model states int64", [F3], place="node 'n' (Relu-14): ")
    yield Mistake("a value of another type", edited(
        model([node("Relu x t"), node("Neg t y")], "x float 3"),
        lambda m: m.graph.value_info.append(helper.make_tensor_value_info("t", T.DOUBLE, None))), MODEL,
                  "output 0, 't', is of type float, but the model states double", [F3], place="node 'n' (Relu-14): ")
    yield Mistake("an output of another type that is an input", model([], "x float 3", "x int64 ?"), MODEL,
                  "output 0 of the graph: 'x' is stated to be of type int64, but is of type float", [F3])
    condition = np.array(True)
    inner = graph(node("Relu x r"), outputs="r double ?")
    yield Mistake("an output of a branch of another type",
                  model(node("If c y", then_branch=inner, else_branch=inner), "c bool, x float 3"), MODEL,
                  "output 0, 'r', is of type float, but the model states double", [condition, F3],
                  place="node 'n' (If-16): ")
    outer = graph([], outputs="t double ?")
    yield Mistake("an output of a branch that is a value around it",
                  model([node("Relu x t"), node("If c y", then_branch=outer, else_branch=outer)], "c bool, x float 3"),
                  MODEL, "'t' in a subgraph is of type float, but the model states double", [condition, F3],
                  place="node 'n' (If-16): ")
    yield Mistake("branches of two types",
                  model(node("If c y", then_branch=branch(), else_branch=branch(1)), "c bool", "y float ?"), MODEL,
                  "node 'n' (If): output 0 of 'else_branch' is of type int64, that of 'then_branch' of type float")
    yield Mistake("a branch with an input",
                  model(node("If c y", then_branch=branch(), else_branch=branch(inputs="i float 2")), "c bool"), MODEL,
                  "node 'n' (If): attribute 'else_branch' has 1 input: a branch takes none")
    yield Mistake("a branch with another number of outputs",
                  model(node("If c y", then_branch=branch(), else_branch=graph([], outputs="")), "c bool"), MODEL,
                  "node 'n' (If): attribute 'else_branch' has 0 outputs, the node has 1")


def functions():
    def function(nodes, inputs, outputs, name="F", attributes=()):
        opsets = [helper.make_opsetid("", 17), helper.make_opsetid("my", 1)]
        return helper.make_function("my", name, inputs, outputs, nodes, opsets, list(attributes))

    def calling(call, *made):
        return model(node(call), "x float 2", domains=["my"], functions=made)

    relu = function([node("Relu a b")], ["a"], ["b"])
    yield Mistake("too many inputs of a function", calling("my.F x,x y", relu), MODEL,
                  "node 'n' (my.F): the call has 2 inputs and 1 outputs, but the function takes 1 and gives 1")
    yield Mistake("a function that calls itself", calling("my.F x y", function([node("my.F a b")], ["a"], ["b"])),
                  MODEL,
                  "node 'n' (my.F): node 'n' (my.F): the function calls itself")
    yield Mistake("two functions of one name", calling("my.F x y", relu, relu), MODEL,
                  "function 'F' is defined twice")
    yield Mistake("a function that does not give its output",
                  calling("my.F x y", function([node("Relu a c")], ["a"], ["b"])), MODEL,
                  "node 'n' (my.F): the function never produces its output 'b'")
    yield Mistake("a function with an error inside", calling("my.F x y", function([node("Add a,zz b")], ["a"], ["b"])),
                  MODEL,
                  "node 'n' (my.F): node 'n' (Add): it reads 'zz', which nothing produces")
    reference = node("Concat a,a b")
    reference.attribute.add(name="axis", ref_attr_name="axis", type=onnx.AttributeProto.INT)
    yield Mistake("an attribute that the call has with another type", edited(
        calling("my.F x y", function([reference], ["a"], ["b"], attributes=["axis"])),
        lambda m: m.graph.node[0].attribute.append(helper.make_attribute("axis", "zero"))), MODEL,
                  "node 'n' (my.F): node 'n' (Concat): attribute 'axis': it wants a value of type int, but "
                  "'axis' of the call is of type string")
    yield Mistake("a reference to an attribute that the call lacks", calling(
        "my.F x y", function([reference], ["a"], ["b"], attributes=["axis"])), MODEL,
                  "node 'n' (my.F): node 'n' (Concat): attribute 'axis' is missing, which Concat-13 must have")
    yield Mistake("an attribute too many in a function", calling(
        "my.F x y", function([node("Relu a b", slope=1.0)], ["a"], ["b"])), MODEL,
                  "node 'n' (my.F): node 'n' (Relu): Relu-14 has no attribute 'slope': it has none")
    yield Mistake("subgraphs too deep", nested(33, branch()), LIMIT, "subgraphs nest deeper than 32", place="graph.node[0]")
    yield Mistake("subgraphs much too deep", nested(60, branch()), LIMIT, "subgraphs nest deeper than 32")
    yield Mistake("a reference outside a function", model(reference_outside(), "x float 2"), MODEL,
                  "node 'n' (Concat): attribute 'axis': it refers to attribute 'size' of a function, but is in none")


def reference_outside():
    made = node("Concat x,x y")
    made.attribute.add(name="axis", ref_attr_name="size", type=onnx.AttributeProto.INT)
    return made


def attributes():
    f = {"x": F23}
    yield loading("a float where an int is wanted", "Concat x,x y",
                  "attribute 'axis' is of type float, but Concat-13 wants int", axis=1.5)
    yield loading("an int where a list is wanted", "Transpose x y",
                  "attribute 'perm' is of type int, but Transpose-13 wants ints", perm=1)
    yield loading("a missing attribute", "Concat x,x y",
                  "attribute 'axis' is missing, which Concat-13 must have")
    yield loading("a missing branch", "If c y", "attribute 'then_branch' is missing, which If-16 must have",
                  described="c bool", else_branch=branch())
    yield loading("axes of a newer version's input", "ReduceMax x y",
                  "ReduceMax-18 has no attribute 'axes': it has keepdims, noop_with_empty_axes", opset=18, axes=[1])
    yield loading("lengths of a newer version's input", "Split x y,z",
                  "Split-13 has no attribute 'split': it has axis", split=[1, 2], axis=1)
    yield loading("bounds of a newer version's inputs", "Clip x y",
                  "Clip-13 has no attribute 'min': it has none", min=0.0)
    yield loading("a misspelt attribute", "Softmax x y", "Softmax-13 has no attribute 'axes': it has axis", axes=0)
    yield loading("an attribute of a later version", "Reshape x,s y",
                  "Reshape-13 has no attribute 'allowzero': it has none", opset=13,
                  described="x float 2 3, s int64 1", allowzero=1)
    inner = graph(node("Relu x r", slope=1.0), outputs="r float ?")
    yield Mistake("an attribute too many in a branch",
                  model(node("If c y", then_branch=inner, else_branch=branch()), "c bool, x float 2"), MODEL,
                  "node 'n' (If): attribute 'then_branch': node 'n' (Relu): Relu-14 has no attribute 'slope': it has none")
    yield Mistake("an attribute without a name", edited(
        model(node("Concat x,x y", axis=0), "x float 2"),
        lambda m: m.graph.node[0].attribute.add(i=1, type=onnx.AttributeProto.INT)), MODEL,
                  "node 'n' (Concat): attribute 1 has no name")
    yield Mistake("an attribute without a type", edited(
        model(node("Concat x,x y", axis=0), "x float 2"),
        lambda m: m.graph.node[0].attribute[0].ClearField("type")), MODEL,
                  "node 'n' (Concat): attribute 'axis': it has no type, which all have from IR version 2 on")
    yield Mistake("an attribute that lies about its type", edited(
        model(node("Concat x,x y", axis=0), "x float 2"),
        lambda m: setattr(m.graph.node[0].attribute[0], "type", onnx.AttributeProto.FLOATS)), MODEL,
                  "node 'n' (Concat): attribute 'axis': it says that it is of type floats, but holds int")
    yield Mistake("an attribute of an unknown type", edited(
        model(node("Concat x,x y", axis=0), "x float 2"),
        lambda m: m.graph.node[0].attribute[0].MergeFromString(b"\xa0\x01\x63")), UNSUPPORTED,
                  "node 'n' (Concat): attribute 'axis': attribute type 99 is not known (1 to 14 are)")
    yield at_node("an unknown direction", "BitShift x,x y", {"x": np.zeros(2, np.uint8)}, MODEL,
                  "attribute 'direction' must be LEFT or RIGHT, not 'UP'",
                  outputs="y uint8 ?", direction="UP")
    yield at_node("an unknown approximation", "Gelu x y", f, MODEL,
                  "attribute 'approximate' must be none or tanh, not 'cube'", opset=20, approximate="cube")
    yield at_node("an unknown auto_pad", "Conv x,w y", {"x": floats(1, 1, 4, 4), "w": floats(1, 1, 2, 2)}, MODEL,
                  "attribute 'auto_pad' must be NOTSET, VALID, SAME_UPPER or SAME_LOWER, not 'SOMEHOW'",
                  auto_pad="SOMEHOW")
    yield at_node("a cast to no type", "Cast x y", f, MODEL,
                  "attribute 'to' does not name an element type", to=77)
    yield at_node("a cast to what cannot be", "Cast x y", f, MODEL,
                  "input 0 'x' (float [2,3]) cannot be cast to complex64", outputs="y bool ?", to=T.COMPLEX64)
    yield at_node("a constant without a value", "Constant  y", {}, MODEL,
                  "the value is missing")


def tensors():
    def holding(made):
        return model(node("Add x,w y"), "x float 2", initializers=[made])

    yield Mistake("raw data of the wrong length", holding(tensor(raw_data=b"12345")), MODEL,
                  "tensor 'w': has 5 bytes of raw_data, but float [2] takes 8")
    yield Mistake("too few values", holding(tensor(float_data=[1.0])), MODEL,
                  "tensor 'w': has 1 entries of float_data, but float [2] takes 2")
    yield Mistake("no data", holding(tensor()), MODEL,
                  "tensor 'w': has no data for float [2]")
    yield Mistake("data in two fields", holding(tensor(raw_data=bytes(8), float_data=[1, 2])), MODEL,
                  "tensor 'w': has both raw_data and float_data")
    yield Mistake("data in a field of another type", holding(tensor(int64_data=[1, 2])), MODEL,
                  "tensor 'w': is of type float, but its data is in int64_data")
    yield Mistake("a negative dimension of a tensor", holding(tensor(dims=(-2,), raw_data=bytes(8))), MODEL,
                  "tensor 'w': has the impossible shape [-2]")
    yield Mistake("dimensions whose product overflows", holding(tensor(dims=(1 << 40, 1 << 40))), MODEL,
                  "tensor 'w': has the impossible shape [1099511627776,1099511627776]")
    yield Mistake("an element type that is not known", holding(tensor(dtype=99, raw_data=bytes(8))), UNSUPPORTED,
                  "tensor 'w': element type 99 is not known (1 to 28 are)")
    yield Mistake("no element type", holding(tensor(dtype=0, raw_data=bytes(8))), MODEL,
                  "tensor 'w': has no element type")
    yield Mistake("a value that does not fit its type", holding(tensor(dtype=T.INT8, int32_data=[1, 300])), MODEL,
                  "tensor 'w': int32_data[1] is 300, which does not fit int8")
    yield Mistake("a rank beyond the limit", holding(tensor(dims=[1] * 70, raw_data=bytes(4))), LIMIT,
                  "tensor 'w': has rank 70, more than 64")
    yield Mistake("a segment of a tensor", edited(holding(tensor(raw_data=bytes(8))), lambda m: m.graph.initializer[
        0].segment.MergeFromString(b"\x08\x00\x10\x01")), UNSUPPORTED,
                  "tensor 'w': is only a segment of a tensor")


def sparse_tensors():
    def sparse(values=None, indices=(1, 3), dims=(4,), kind=T.INT64, shape=None, **fields):
        made = onnx.SparseTensorProto(values=values or tensor(raw_data=bytes(8)), dims=dims)
        if indices is not None:
            made.indices.CopyFrom(tensor("", kind, shape or (len(indices),), int64_data=indices, **fields))
        return made

    def holding(*made):
        return edited(model(node("Add x,w y"), "x float 2"), lambda m: m.graph.sparse_initializer.extend(made))

    where = "sparse tensor 'w': "
    yield Mistake("a sparse initializer without values", holding(onnx.SparseTensorProto(dims=[4])), MODEL,
                  "a sparse tensor has no values")
    yield Mistake("a sparse initializer without indices", holding(sparse(indices=None)), MODEL,
                  where + "has 2 values, but no indices")
    yield Mistake("values of a sparse tensor that are no list",
                  holding(sparse(tensor(dims=(1, 2), raw_data=bytes(8)))), MODEL,
                  where + "has values of shape [1,2] instead of a list")
    yield Mistake("too few indices", holding(sparse(indices=[1])), MODEL,
                  where + "has 2 values and 1 dimensions, but indices of shape [1]")
    yield Mistake("indices of another rank", holding(sparse(indices=[0, 1, 0, 3], shape=(2, 2))), MODEL,
                  where + "has 2 values and 1 dimensions, but indices of shape [2,2]")
    yield Mistake("indices of another type", holding(edited(sparse(indices=[], kind=T.INT32, shape=(2,)), lambda s:
                                                            s.indices.int32_data.extend([1, 3]))), MODEL,
                  where + "has indices of type int32 instead of int64")
    yield Mistake("an index that is out of range", holding(sparse(indices=[1, 4])), MODEL,
                  where + "has index 4 for value 1, out of range for shape [4]")
    yield Mistake("a negative index", holding(sparse(indices=[-1, 3])), MODEL,
                  where + "has index -1 for value 0, out of range for shape [4]")
    yield Mistake("an index of a dimension that is out of range",
                  holding(sparse(indices=[0, 2, 1, 0], shape=(2, 2), dims=(2, 2))), MODEL,
                  where + "has index 2 for value 0, out of range for shape [2,2]")
    yield Mistake("indices out of order", holding(sparse(indices=[3, 1])), MODEL,
                  where + "has the index of value 0 behind that of value 1, where indices must ascend")
    yield Mistake("an index twice", holding(sparse(indices=[1, 1])), MODEL,
                  where + "has the index of value 0 at that of value 1, where indices must ascend")
    yield Mistake("dimensions of a sparse tensor whose product overflows", holding(sparse(dims=(1 << 40, 1 << 40))), MODEL,
                  where + "has the impossible shape [1099511627776,1099511627776]")
    yield Mistake("a negative dimension of a sparse tensor", holding(sparse(dims=(-4,))), MODEL,
                  where + "has the impossible shape [-4]")
    yield Mistake("a sparse tensor that is too large when it is dense", holding(sparse(dims=(1 << 36,))), LIMIT,
                  where + "takes 274877906944 bytes as a dense float tensor of shape [68719476736]; "
                          "all sparse tensors of this file may take 67117056")
    yield Mistake("many sparse tensors that are too large together", holding(
        *(sparse(tensor(f"w{i}", raw_data=bytes(8)), dims=(1 << 22,)) for i in range(6))), LIMIT,
                  "sparse tensor 'w4': takes 16777216 bytes as a dense float tensor of shape [4194304]; "
                  "all sparse tensors of this file may take 67149824")
    yield Mistake("a sparse tensor beside a dense one", edited(holding(sparse()), lambda m: m.graph.initializer.append(
        tensor(raw_data=bytes(8)))), MODEL, "value 'w' has two initializers")
    yield Mistake("a constant of a sparse tensor", model(
        [helper.make_node("Constant", [], ["w"], name="n", sparse_value=sparse(indices=[3, 1]))], outputs="w float ?"),
                  MODEL, "node 'n' (Constant): attribute 'sparse_value': " + where + "has the index of value 0 behind that of value 1, "
                  "where indices must ascend")
    yield Mistake("an input that is a sparse tensor", edited(model(node("Abs x y"), "x float 2"), lambda m: m.graph.input[
        0].CopyFrom(helper.make_sparse_tensor_value_info("x", T.FLOAT, [2]))), UNSUPPORTED,
                  "node 'n' (Abs): it reads 'x', an input that is a sparse tensor")


def externals():
    """Tensors in files beside the model, and elsewhere."""
    def placed(made, *more):
        def place(folder):
            (folder / "secret").write_bytes(bytes(8))
            room = folder / "room"
            room.mkdir()
            (room / "data.bin").write_bytes(bytes(8))
            (room / "link").symlink_to(folder / "secret")
            (room / "in").symlink_to(folder, target_is_directory=True)
            for step in more:
                step(room)
            made_model = model(node("Add x,w y"), "x float 2", initializers=[made])
            (room / "model.onnx").write_bytes(made_model.SerializeToString())
            return room / "model.onnx"
        return place

    yield Mistake("external data above the folder", placed(external("../secret")), MODEL,
                  "tensor 'w': external data location '../secret' must be a path inside the model's directory, "
                  "without '..'")
    yield Mistake("external data above the folder, hidden", placed(external("a/../../secret")), MODEL,
                  "tensor 'w': external data location 'a/../../secret' must be a path inside the model's "
                  "directory, without '..'")
    yield Mistake("external data at an absolute path", placed(external("/etc/passwd")), MODEL,
                  "tensor 'w': external data location '/etc/passwd' must be a path inside the model's "
                  "directory, without '..'")
    yield Mistake("external data behind a symbolic link", placed(external("link")), MODEL,
                  "tensor 'w': external data location 'link' leads out of the model's directory")
    yield Mistake("external data behind a linked folder", placed(external("in/secret")), MODEL,
                  "tensor 'w': external data location 'in/secret' leads out of the model's directory")
    yield Mistake("external data that is not there", placed(external("none.bin")), FILE,
                  "tensor 'w': external data 'none.bin': FOLDER/room/none.bin: No such file or directory")
    yield Mistake("external data in a folder", placed(external(".")), MODEL,
                  "tensor 'w': external data location '.' leads out of the model's directory")
    yield Mistake("external data that is too short", placed(external("data.bin", dims=(3,))), MODEL,
                  "tensor 'w': external data 'data.bin' has 8 bytes, too few for 12 from offset 0")
    yield Mistake("external data of another length", placed(external("data.bin", length=4)), MODEL,
                  "tensor 'w': has 4 bytes of external data, but float [2] takes 8")
    yield Mistake("external data behind the end", placed(external("data.bin", offset=4)), MODEL,
                  "tensor 'w': external data 'data.bin' has 8 bytes, too few for 8 from offset 4")
    yield Mistake("external data at no offset", placed(external("data.bin", offset="x")), MODEL,
                  "tensor 'w': external data 'data.bin': offset 'x' and length '' must be numbers")
    yield Mistake("external data at 2^64", placed(external("data.bin", offset=1 << 64)), MODEL,
                  "tensor 'w': external data 'data.bin': offset '18446744073709551616' and length '' must be numbers")
    yield Mistake("external data without a location", placed(tensor(data_location=T.EXTERNAL)), MODEL,
                  "tensor 'w': external data without a location")
    yield Mistake("external data of a model in memory", model(node("Add x,w y"), "x float 2",
                                                             initializers=[external("data.bin")]), UNSUPPORTED,
                  "tensor 'w': external data in 'data.bin': only models loaded from a file have a place to look "
                  "for it")


def inputs():
    def taking(described):
        return model(node("Relu x y"), described)

    yield Mistake("an input that is not set", taking("x float 2"), ARGUMENT,
                  "input 'x' (float [2]) is not set")
    yield Mistake("an input of another type", taking("x float 3"), SHAPE,
                  "input 'x' is double, the model wants float", [np.zeros(3)])
    yield Mistake("an input of another shape", taking("x float N 3"), SHAPE,
                  "input 'x' has shape [2,4], the model wants [N,3]", [floats(2, 4)])
    yield Mistake("an input of another rank", taking("x float N 3"), SHAPE,
                  "input 'x' has shape [3], the model wants [N,3]", [F3])
    yield Mistake("an input too many", taking("x float 3"), ARGUMENT,
                  "there is no input 1, the model has 1", [F3, F3])
    yield Mistake("an input that is a sequence", edited(taking("x float 3"), lambda m: m.graph.input[0].type.CopyFrom(
        helper.make_sequence_type_proto(helper.make_tensor_type_proto(T.FLOAT, [3])))), ARGUMENT,
                  "input 'x' is not a tensor, but of type seq(tensor(float))", [F3])


MISTAKES = [mistake for group in (files, graphs, stated, functions, attributes, tensors, sparse_tensors, externals, inputs)
            for mistake in group()]
