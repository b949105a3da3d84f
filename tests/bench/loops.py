"""loops.py: subgraphs that run many times, which `make bench` measures. Bodies are in ONNX's textual form; what they
read of the outside are initializers, or the inputs x and y."""

import numpy as np
import onnx.parser
from models import Case

CASES = []


class Loop(Case):
    """A case whose graph is text."""

    opset, ir_version = 21, 10
    of_largest = 1e-4

    def __init__(self, name, group, inputs, text, out):
        super().__init__(name, group, inputs, [], out)
        self.text = text

    def model(self, arrays):
        model = onnx.parser.parse_model(f'<ir_version: {self.ir_version}, opset_import: ["" : {self.opset}]> {self.text}')
        return model.SerializeToString()


def loop(name, group, inputs, text, out):
    CASES.append(Loop(name, group, inputs, text, out))


loop("Loop 10,000 rounds of 3 scalar nodes", "rounds", ["x: float"], """
g (float x) => (float y) <int64 m = {10000}, bool c = {1}, float a = {0.999}, float b = {0.1}, float most = {1000.0}> {
  y = Loop (m, c, x) <body = round (int64 i, bool c_in, float v) => (bool k, float w) {
    t = Mul(v, a)
    w = Add(t, b)
    k = Less(w, most)
  }>
}""", "y: float")
loop("Loop 1,000 rounds that stack 1,000 floats", "stacks", ["x: float 1000"], """
g (float[1000] x) => (float[1000,1000] y) <int64 m = {1000}, bool c = {1}, float a = {0.999}> {
  last, y = Loop (m, c, x) <body = round (int64 i, bool c_in, float[1000] v) => (bool k, float[1000] w, float[1000] s) {
    k = Identity(c_in)
    w = Mul(v, a)
    s = Add(w, x)
  }>
}""", "y: float 1000 1000")
loop("Loop 100 rounds that carry 1,000,000 floats", "carried", ["x: float 1000000"], """
g (float[1000000] x) => (float[1000000] y) <int64 m = {100}, bool c = {1}, float a = {0.999}> {
  y = Loop (m, c, x) <body = round (int64 i, bool c_in, float[1000000] v) => (bool k, float[1000000] w) {
    k = Identity(c_in)
    t = Mul(v, a)
    w = Add(t, x)
  }>
}""", "y: float 1000000")
loop("Scan 500 steps of an RNN of 128", "recurrent", ["x: float 500 1 128", "w: float 128 128"], """
g (float[500,1,128] x, float[128,128] w) => (float[500,1,128] y) <float[1,1] zero = {0.0}, int64[2] size = {1, 128}, float d = {100.0}> {
  s0 = Expand(zero, size)
  last, y = Scan (s0, x) <num_scan_inputs = 1, body = step (float[1,128] s, float[1,128] r) => (float[1,128] t, float[1,128] o) {
    p = MatMul(s, w)
    q = Div(p, d)
    u = Add(q, r)
    t = Tanh(u)
    o = Identity(t)
  }>
}""", "y: float 500 1 128")
