"""control_mistakes.py: wrong nodes that run subgraphs, and what ox has to say of each."""

import numpy as np
import oxlib
from build import constant, graph, model, node
from mistakes import LIMIT, MODEL, SHAPE, UNSUPPORTED, VALUE, Mistake, longs

F2 = np.zeros(2, np.float32)
TRIPS, TRUE = np.array(3, np.int64), np.array(True)
KINDS = {"float32": "float", "int64": "int64", "bool": "bool", "int32": "int32"}


def body(nodes=("Identity c k", "Neg v w"), inputs="i int64, c bool, v float 2", outputs="k bool, w float ?", **rest):
    return graph([node(text) for text in nodes], inputs, outputs, **rest)


def wrong(title, text, status, said, inputs, outputs="y float ?", opset=17, options=None, **attributes):
    made = node(text, **attributes)
    described = ",".join(f"{name} {KINDS[array.dtype.name]} ?" for name, array in inputs.items())
    return Mistake(title, model(made, described, outputs, opset=opset), status, said, list(inputs.values()),
                   place=f"node 'n' ({made.op_type}", **(options or {}))


def loops():
    given = {"m": TRIPS, "c": TRUE, "x": F2}
    yield wrong("a trip count of int32", "Loop m,c,x y", UNSUPPORTED,
                "input 0 'm' (int32 []): type int32 is not supported here; int64 is",
                {**given, "m": np.array(3, np.int32)}, body=body())
    yield wrong("two trip counts", "Loop m,c,x y", SHAPE,
                "the trip count, input 0 'm' (int64 [2]), must have one element", {**given, "m": longs(1, 2)}, body=body())
    yield wrong("a condition without elements", "Loop m,c,x y", SHAPE,
                "the condition, input 1 'c' (bool [0]), must have one element",
                {**given, "c": np.zeros(0, np.bool_)}, body=body())
    yield wrong("a body with too few inputs", "Loop m,c,x,x y,z", MODEL,
                "the body has 3 inputs: with 2 carried values it must have 4, for the round and the condition come first",
                given, body=body())
    yield wrong("a body with too few outputs", "Loop m,c,x y,z", MODEL,
                "the body has 2 outputs and the node 2, with 1 carried values: the body has the condition besides",
                given, body=body())
    yield wrong("fewer outputs than carried values", "Loop m,c,x,x y", MODEL,
                "the body has 2 outputs and the node 1, with 2 carried values: the body has the condition besides",
                given, body=body(inputs="i int64, c bool, v float 2, u float 2"))
    yield wrong("a carried value that is omitted", "Loop m,c,,x y,z", MODEL, "input 2 is required, but omitted",
                given, body=body())
    yield wrong("a condition of the body that is no bool", "Loop m,c,x y", MODEL,
                "output 0 of the body, the condition, is int64 [], not one bool", given,
                body=body(["Identity i k", "Neg v w"], outputs="k int64, w float ?"))
    yield wrong("a condition of the body that is a list", "Loop m,c,x y", MODEL,
                "output 0 of the body, the condition, is bool [2], not one bool", given,
                body=body(["Less v,v k", "Neg v w"], outputs="k bool ?, w float ?"))
    yield wrong("a carried value that changes its type", "Loop m,c,x y", MODEL,
                "round 0: output 1 of the body is of type int64, the value carried is of float", given,
                body=body(["Identity c k", "Shape v w"], outputs="k bool, w int64 ?"))
    yield wrong("a carried value of another type than stated", "Loop m,c,x y", MODEL,
                "'v' in a subgraph is of type float, but the model states int64", given,
                body=body(inputs="i int64, c bool, v int64 2", outputs="k bool, w int64 ?"))
    yield wrong("slices that differ", "Loop m,c,x y,z", SHAPE,
                "round 1: output 2 of the body is float [4], but was float [2] in the round before", given,
                outputs="z float ?",
                body=graph([node("Identity c k"), node("Concat v,v w", axis=0), node("Identity v s")],
                           "i int64, c bool, v float ?", "k bool, w float ?, s float ?"))
    yield wrong("an error in the second round", "Loop m,c,x y", SHAPE,
                "round 1: node 'n' (Add-14): input 1 'x' (float [2]) does not broadcast with input 0 'v' (float [4])",
                given, body=graph([node("Identity c k"), node("Add v,x t"), node("Concat v,t w", axis=0)],
                                  "i int64, c bool, v float ?", "k bool, w float ?"))
    yield wrong("a stack beyond the limit", "Loop m,,x y,z", LIMIT,
                "the results of a subgraph take 1032 bytes, the limit for a tensor is 1024", {"m": np.array(2**62), "x": F2},
                body=body(outputs="k bool, w float 2, w float 2"), outputs="z float ?", options={"limits": oxlib.Limits(tensor_bytes=1024)})


def step(nodes=("Add s,x t",), inputs="s float 2, x float 2", outputs="t float ?"):
    return graph([node(text) for text in nodes], inputs, outputs)


def scans():
    given = {"s": F2, "x": np.zeros((3, 2), np.float32)}
    yield wrong("no scanned inputs", "Scan s,x y", MODEL,
                "attribute 'num_scan_inputs' is 0, with 2 inputs to choose from", given, num_scan_inputs=0, body=step())
    yield wrong("more scanned inputs than there are", "Scan s,x y", MODEL,
                "attribute 'num_scan_inputs' is 3, with 2 inputs to choose from", given, num_scan_inputs=3, body=step())
    yield wrong("a body without the scanned input", "Scan s,x y", MODEL,
                "the body has 1 inputs and 1 outputs, the node 2 and 1, with 1 states among both", given,
                num_scan_inputs=1, body=step(["Neg s t"], "s float 2"))
    yield wrong("fewer outputs than states", "Scan s,s,x y", MODEL,
                "the body has 3 inputs and 1 outputs, the node 3 and 1, with 2 states among both", given,
                num_scan_inputs=1, body=step(inputs="s float 2, r float 2, x float 2"))
    yield wrong("a state that is omitted", "Scan ,x y", MODEL, "input 0 is required, but omitted", given,
                num_scan_inputs=1, body=step())
    yield wrong("axes for other inputs", "Scan s,x y", MODEL,
                "attribute 'scan_input_axes' has 2 elements, expected 1", given, num_scan_inputs=1,
                scan_input_axes=[0, 0], body=step())
    yield wrong("an axis out of range", "Scan s,x y", SHAPE, "the scan axis 2 is out of range for rank 2 (-2 to 1)",
                given, num_scan_inputs=1, scan_input_axes=[2], body=step())
    yield wrong("a scalar that is scanned", "Scan s,x y", SHAPE, "the scan axis 0 is out of range for rank 0 (0 to -1)",
                {**given, "x": np.zeros((), np.float32)}, num_scan_inputs=1, body=step())
    yield wrong("a direction that is none", "Scan s,x y", MODEL,
                "attribute 'scan_input_directions': 2 is not a direction (0 or 1)", given, num_scan_inputs=1,
                scan_input_directions=[2], body=step())
    yield wrong("lengths that differ", "Scan x,s y", SHAPE,
                "input 0 'x' (float [3,2]) and input 1 's' (float [2]), scanned along axes 0 and 0, differ in length",
                given, num_scan_inputs=2, body=step(["Add x,s t"], "x float 2, s float"))
    yield wrong("a state that changes its shape", "Scan s,x y", SHAPE,
                "round 0: output 0 of the body has shape [4], the state before has [2]", given, num_scan_inputs=1,
                body=graph([node("Concat s,x t", axis=0)], "s float ?, x float 2", "t float ?"))
    yield wrong("an axis of a result out of range", "Scan s,x y,z", SHAPE,
                "the axis of a result 2 is out of range for rank 2 (-2 to 1)", given, num_scan_inputs=1, outputs="z float ?",
                scan_output_axes=[2], body=step(outputs="t float ?, t float ?"))


def batches():
    given = {"l": longs(3, 2), "s": np.zeros((2, 2), np.float32), "x": np.zeros((2, 3, 2), np.float32)}
    known = dict(opset=8, num_scan_inputs=1, body=step())
    yield wrong("a state without a batch", "Scan l,s,x y", SHAPE,
                "input 1 's' (float [3]) must have a batch of 2 as its first dimension",
                {**given, "s": np.zeros(3, np.float32)}, **known)
    yield wrong("lengths for another batch", "Scan l,s,x y", SHAPE,
                "the lengths, input 0 'l' (int64 [3]), must be a list of 2", {**given, "l": longs(1, 2, 3)}, **known)
    yield wrong("a length out of range", "Scan l,s,x y", VALUE,
                "element 1 of the batch is 4 long, out of range (0 to 3)", {**given, "l": longs(3, 4)}, **known)


def maps():
    given = {"x": np.zeros((2, 2), np.float32)}
    per_item = graph([node("Neg v w")], "v float ?", "w float ?")
    yield wrong("no sequence to map", "SequenceMap ,x y", MODEL, "input 0 is omitted, but must be given", given, body=per_item)
    yield wrong("nothing to map", "SequenceMap , y", MODEL, "0 inputs given, but SequenceMap-17 takes at least 1", given,
                body=per_item)
    yield wrong("a condition that is omitted", "If , y", MODEL, "0 inputs given, but If-16 takes exactly 1", given,
                then_branch=per_item, else_branch=per_item)
    yield wrong("a tensor to map", "SequenceMap x y", SHAPE, "input 0 'x' (float [2,2]) must be a sequence", given,
                body=per_item)


MISTAKES = [*loops(), *scans(), *batches(), *maps()]
