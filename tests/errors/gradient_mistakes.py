"""gradient_mistakes.py: nodes of Gradient that cannot be, and what ox has to say of each."""

import numpy as np
from build import constant, graph, model, node
from mistakes import LIMIT, MODEL, SHAPE, UNSUPPORTED, Mistake

DOMAIN = "ai.onnx.preview.training"


def of(title, texts, status, said, xs=("a",), y="t", inputs="a", outputs="g", kind="float", given="a float 2,b float 2",
       place="node 'n' (ai.onnx.preview.training.Gradient", opset=18, **attributes):
    """A mistake of a Gradient node behind nodes of these texts, or nodes."""
    made = [node(text) if isinstance(text, str) else text for text in texts]
    made.append(node(f"{DOMAIN}.Gradient {inputs} {outputs}", xs=list(xs), y=y, **attributes))
    ends = ",".join(f"{name} {kind} ?" for name in outputs.split(",")) if outputs else "t float ?"
    feeds = [np.ones(int(part.split()[2]), np.int64 if "int64" in part else np.float32) for part in given.split(",")]
    return Mistake(title, model(made, given, ends, opset=opset, domains=[DOMAIN]), status, said, feeds, place=place)


def mistakes():
    yield of("an operator of no version", ["Mish a s", "Mul s,b t"], UNSUPPORTED,
             "'t' depends on xs by 's', which Mish-17 gives: ox does not differentiate that", opset=17)
    yield of("an attribute that Gradient lacks", ["Mul a,b t"], MODEL,
             "Gradient-1 has no attribute 'wrt': it has xs, y, zs", wrt=1)
    yield of("a product of three", [node("Einsum a,b,b t", equation="i,i,i->i")], UNSUPPORTED,
             "Einsum is not differentiated but of two operands, each letter once in a term")
    yield of("scattered products", [node("Constant  i", value_ints=[0]),
                                    node("ScatterElements a,i,b t", reduction="mul")], UNSUPPORTED,
             "ScatterElements with the reduction 'mul' is not differentiated")
    yield of("an operator without a rule", ["Mish a s", "Mul s,b t"], UNSUPPORTED,
             "'t' depends on xs by 's', which Mish-18 gives: ox does not differentiate that")
    yield of("an old broadcast", [node("Add a,b t", broadcast=1)], UNSUPPORTED,
             "'t' depends on xs by 't', which Add-6 gives: ox does not differentiate that", opset=6)
    yield of("an unknown tensor in xs", ["Mul a,b t"], MODEL, "it reads 'q', which nothing produces", xs=["q"])
    yield of("an unknown y", ["Mul a,b t"], MODEL, "it reads 'q', which nothing produces", y="q")
    yield of("a tensor named twice", ["Mul a,b t"], MODEL, "xs and zs name 'a' twice", xs=["a"], zs=["a"], inputs="a,a")
    yield of("tensors that depend on each other", ["Neg a s", "Mul s,b t"], MODEL,
             "xs and zs name 'a' and what is computed from it: they must be independent", xs=["a", "s"], inputs="a,s",
             outputs="g,h")
    yield of("a y that does not depend on x", ["Mul b,b t"], MODEL, "'t' does not depend on 'a', which xs name")
    yield of("an input for nothing", ["Mul a,b t"], MODEL,
             "xs and zs name 1 and 0 tensors, but the node has 2 inputs and 1 outputs", inputs="a,b")
    yield of("an output for nothing", ["Mul a,b t"], MODEL,
             "xs and zs name 1 and 0 tensors, but the node has 1 inputs and 2 outputs", outputs="g,h")
    yield of("an input that is omitted", ["Mul a,b t"], MODEL, "input 0 is omitted, but must be given", xs=["a", "b"],
             inputs=",b")
    yield of("a gradient of integers", ["Mul a,b t"], UNSUPPORTED,
             "type int64 is not supported here; float, float16, double are", kind="float",
             given="a int64 2,b int64 2", place="node 'n' (ai.onnx.preview.training.Gradient-1): ")
    yield of("a y that depends on its gradient", ["Mul a,g t"], MODEL,
             "node 'n' (Gradient) depends on its own output", place="")
    branch = graph([node("Neg a r")], "", "r float ?")
    yes = node("Constant  yes", value=constant("", np.array(True)))
    chosen = node("If yes t", then_branch=branch, else_branch=branch)
    yield of("a gradient through a branch", [yes, chosen], UNSUPPORTED,
             "'a' is read in a subgraph of If-16, which is not differentiated")
    yield of("the point has another shape", ["Mul a,b t"], SHAPE,
             "input 1 'b' (float [2]) does not broadcast with input 0 'c' (float [3])", inputs="c",
             given="a float 2,b float 2,c float 3", place="node 'n' (Mul-14): ")


def limits():
    """Gradients of gradients grow, and many of them look at much."""
    again = [node("Mul a,a t0")]
    for k in range(12):
        again += [node(f"{DOMAIN}.Gradient a d{k}", xs=["a"], y=f"t{k}"), node(f"Mul d{k},a t{k + 1}")]
    yield of("gradients of gradients", again, LIMIT, "the gradients take more than 65536 nodes", y="t12")
    chain = [node("Exp a t0"), *(node(f"Exp t{k} t{k + 1}") for k in range(2000))]
    many = [node(f"{DOMAIN}.Gradient t2000 d{k}", xs=["t2000"], y="t2000") for k in range(600)]
    yield of("gradients behind a long chain", chain + many, LIMIT, "the gradients look at more than 1048576 nodes",
             xs=["t2000"], inputs="t2000", y="t2000")


MISTAKES = [*mistakes(), *limits()]
