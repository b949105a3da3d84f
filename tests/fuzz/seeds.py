"""seeds.py: models for the fuzzers to start from, of what the node suite hardly has: products that are larger than a
block, passes over rows, several nodes, shapes that depend on data. `models()` gives names and bytes."""

import onnx.parser

HEAD = '<ir_version: 10, opset_import: ["": {opset}{more}]>'
PREVIEW = ', "ai.onnx.preview": 1, "ai.onnx.preview.training": 1'

# name: (opset, inputs, outputs, nodes)
SEEDS = {
    # Products, and what stands behind them.
    "matmul_tail": (21, "float[N,7,5] x, float[5,9] w, float[9] b", "float[N,7,9] y",
                    "t = MatMul(x, w) u = Add(t, b) v = Relu(u) y = Mul(v, t)"),
    "matmul_batches": (13, "float[2,1,4,3] x, float[3,3,6] w", "float[2,3,4,6] y", "y = MatMul(x, w)"),
    "matmul_large": (21, "float[5,1] x, float[37] w", "float[M,N] y",
                     "s = Constant<value = int64[2] {5, 700}>() a = Expand(x, s)"
                     " r = Constant<value = int64[2] {700, 37}>() b = Expand(w, r) y = MatMul(a, b)"),
    "matmul_turned": (21, "float16[6,8] x, float16[6,4] w", "float16[8,4] y",
                      "t = Transpose<perm = [1, 0]>(x) y = MatMul(t, w)"),
    "matmul_vector": (13, "double[300] x, double[300,20] w, double[20] z", "double y",
                      "t = MatMul(x, w) y = MatMul(t, z)"),
    "gemm_tail": (13, "float[9,6] a, float[7,6] b, float[9,1] c, float[1] slope", "float[9,7] y",
                  "t = Gemm<alpha = 0.5, beta = 2.0, transB = 1>(a, b, c) u = PRelu(t, slope) y = Sigmoid(u)"),
    "gemm_old": (7, "int32[6,9] a, int32[6,7] b, int32[7] c", "int32[9,7] y",
                 "y = Gemm<alpha = 1.5, transA = 1>(a, b, c)"),
    "conv_tail": (22, "float[2,4,7,6] x, float[6,2,3,3] w, float[6] b, float[2,6,4,3] z", "float[2,6,4,3] y",
                  "t = Conv<group = 2, pads = [1, 1, 1, 1], strides = [2, 2]>(x, w, b) u = Add(t, z) y = Relu(u)"),
    "conv_line": (11, "double[1,3,40] x, double[2,3,5] w", "double[1,2,M] y",
                  'y = Conv<auto_pad = "SAME_UPPER", dilations = [3]>(x, w)'),
    "conv_point": (11, "float[1,40,9,9] x, float[30,40,1,1] w", "float[1,30,9,9] y", "y = Conv(x, w)"),
    "matmul_bytes": (21, "uint8[2,5,33] x, int8[33,18] w, uint8 p, int8[18] q", "int32[2,5,18] y",
                     "y = MatMulInteger(x, w, p, q)"),
    "matmul_bytes_scaled": (21, "uint8[5,8] x, float[5,1] s, uint8[5] p, uint8[8,6] w, float[6] r, uint8[6] q,"
                            " float t, uint8 z", "uint8[5,6] y", "y = QLinearMatMul(x, t, z, w, r, q, t, z)"),
    "quantized": (21, "float[4,8] x, float[8] s, int8[8] z", "float[4,8] y",
                  "q = QuantizeLinear<axis = 1>(x, s, z) y = DequantizeLinear<axis = 1>(q, s, z)"),
    "quantized_blocks": (21, "int4[6,8] x, float[3,8] s", "float[6,8] y",
                         "y = DequantizeLinear<axis = 0, block_size = 2>(x, s)"),
    "flex_attention": (26, "float16[1,2,3,4] q, float16[1,1,5,4] k", "float16[1,2,3,4] y",
                       "y = ai.onnx.preview.FlexAttention<score_mod = s (float[B,H,L,S] a) => (float[B,H,L,S] b)"
                       " { b = Tanh(a) }, prob_mod = p (float[B,H,L,S] a) => (float[B,H,L,S] b) { b = Mul(a, a) }>"
                       "(q, k, k)"),
    # Gradients.
    "gradient": (21, "float[2,3] x, float[3] w, float[3] other", "float g, float h",
                 "t = MatMul(x, w) u = Tanh(t) v = ReduceMean<keepdims = 0>(u)"
                 ' g, h = ai.onnx.preview.training.Gradient<xs = ["w", "x"], y = "v">(other, x)'),
    "gradient_twice": (21, "double[3] x", "double[3] h",
                       "s = Slice(x, i, j) i = Constant<value_ints = [1]>() j = Constant<value_ints = [9]>()"
                       " t = Exp(s) u = Concat<axis = 0>(t, x) v = Mul(u, u)"
                       ' g = ai.onnx.preview.training.Gradient<xs = ["x"], y = "v">(x) p = Mul(g, x)'
                       ' h = ai.onnx.preview.training.Gradient<xs = ["x"], y = "p">(x)'),
    # Passes over rows.
    "layer_norm": (21, "float[N,3,17] x, float[17] g, float[17] b", "float[N,3,17] y",
                   "a = Constant<value = int64[1] {-1}>() e = Constant<value = float {0.001}>() m = ReduceMean(x, a)"
                   " d = Sub(x, m) q = Mul(d, d) v = ReduceMean(q, a) w = Add(v, e) s = Sqrt(w) n = Div(d, s)"
                   " h = Mul(n, g) y = Add(h, b)"),
    "rms_norm": (18, "float16[5,200] x, float16[200] g", "float16[5,200] y",
                 "a = Constant<value = int64[1] {1}>() q = Mul(x, x) v = ReduceMean(q, a) s = Sqrt(v)"
                 " r = Reciprocal(s) n = Mul(x, r) y = Mul(n, g)"),
    "softmax_by_hand": (13, "double[4,3,5] x", "double[4,3,5] y, double[4,3,1] s",
                        "m = ReduceMax<axes = [-1]>(x) d = Sub(x, m) e = Exp(d)"
                        " a = Constant<value = int64[1] {2}>() s = ReduceSum(e, a) y = Div(e, s)"),
    "softmax_inside": (21, "float[2,4,6] x, float[4,1] b", "float[2,4,6] y",
                       "t = Mul(x, b) s = Softmax<axis = -1>(t) u = Sub(s, t) y = Tanh(u)"),
    "softmax_old": (11, "float[2,4,6] x", "float[2,4,6] y", "t = Neg(x) s = Softmax<axis = 1>(t) y = Neg(s)"),
    "rows_all": (18, "int32[3,5,2] x", "int32[1,1,1] y, int64[3,5,2] z",
                 "q = Mul(x, x) y = ReduceSum<keepdims = 1>(q) p = Sub(x, y) z = Cast<to = 7>(p)"),
    "rows_first": (18, "float[6,4] x", "float[4] y",
                   "a = Constant<value = int64[1] {0}>() q = Exp(x) y = ReduceMin<keepdims = 0>(q, a)"),
    "rows_long": (18, "float[3,1] x", "float[3,1] y",
                  "s = Constant<value = int64[2] {3, 9000}>() w = Expand(x, s) q = Mul(w, w)"
                  " a = Constant<value = int64[1] {1}>() y = ReduceSum(q, a)"),
    "rows_given": (18, "float[2,3,4] x, int64[2] a", "float[A,B,C] y",
                   "q = Abs(x) r = ReduceProd<noop_with_empty_axes = 1>(q, a) y = Div(q, r)"),
    "rows_of_rows": (18, "float[2,3,4] x", "float[2,3,4] y",
                     "a = Constant<value = int64[1] {-1}>() b = Constant<value = int64[2] {1, 2}>()"
                     " r = ReduceSum(x, a) s = ReduceMax(r, b) c = Greater(x, s) y = Where(c, r, x)"),
    "attention": (21, "float[2,2,3,4] q, float[2,2,5,4] k, float[2,2,5,4] v, float[3,5] m", "float[2,2,3,4] y",
                  "t = Transpose<perm = [0, 1, 3, 2]>(k) p = MatMul(q, t) h = Constant<value = float {0.5}>()"
                  " s = Mul(p, h) w = Add(s, m) a = Softmax(w) y = MatMul(a, v)"),
    # Shapes that depend on data, and memory that is seen in several ways.
    "reshape_late": (21, "float[N,4] x, int64[2] s", "float[A,B] y",
                     "t = Relu(x) r = Reshape(t, s) o = Transpose(r) y = Mul(o, o)"),
    "shape_sums": (21, "float[N,3,4] x", "float[A,B] y",
                   "s = Shape(x) z = Constant<value = int64[1] {0}>() n = Gather(s, z)"
                   " m = Constant<value = int64[1] {-1}>() d = Concat<axis = 0>(n, m) r = Reshape(x, d) y = Exp(r)"),
    "slices": (21, "float[8,6] x, int64[2] b, int64[2] e", "float[A,B] y",
               "a = Constant<value = int64[2] {0, 1}>() t = Constant<value = int64[2] {2, -1}>()"
               " v = Slice(x, b, e, a, t) w = Expand(v, b) y = Add(w, v)"),
    "parts": (18, "float[7,4] x", "float[A,4] y, float[B,4] z",
              "p, q, r = Split<axis = 0, num_outputs = 3>(x) y = Concat<axis = 0>(r, p) z = Max(p, q)"),
    "pick": (13, "int16[4,5,3] x, int32[2,2] i", "int16[4,2,2,3] y", "t = Neg(x) y = Gather<axis = 1>(t, i)"),
    "fill": (21, "int64[3] s", "float[A,B,C] y",
             "c = ConstantOfShape<value = float[1] {2.5}>(s) e = Erf(c) y = Floor(e)"),
    "choice": (21, "bool c, float[3,4] x", "float[A,B] y",
               "t = Exp(x) u = Transpose(x) y = If(c) <then_branch = g () => (float[A,B] p) { p = MatMul(t, u) },"
               " else_branch = h () => (float[A,B] q) { q = Softmax(t) }>"),
    "many_types": (21, "bfloat16[3,5] x, float8e4m3fn[3,5] z", "int8[3,5] y",
                   "t = Exp(x) f = Cast<to = 1>(t) g = Cast<to = 1>(z) h = Add(f, g) i = Mod<fmod = 1>(h, f)"
                   " y = Cast<to = 3>(i)"),
    "texts": (21, "string[4] x", "string[4] y, bool[4] z",
              "f = Cast<to = 1>(x) y = Cast<to = 8>(f) z = Equal(x, y)"),
    "texts_normal": (21, "string[4] x", "string[N] y, string[M] z",
                     'y = StringNormalizer<case_change_action = "LOWER", locale = "tr", stopwords = ["1"]>(x)'
                     ' z = StringNormalizer<case_change_action = "UPPER", is_case_sensitive = 1>(y)'),
    # Subgraphs, and values that are no tensors.
    "loop_grows": (21, "float[2] x, int64 m", "float[N,2] y, int64 n",
                   "c = Constant<value = bool {1}>() e = SequenceEmpty()"
                   " s, last = Loop(m, c, e, x) <body = round (int64 i, bool k, seq(float[2]) t, float[2] v)"
                   " => (bool k2, seq(float[2]) u, float[2] w)"
                   " { k2 = Identity(k) w = Add(v, x) u = SequenceInsert(t, w) }>"
                   " y = ConcatFromSequence<axis = 0, new_axis = 1>(s) n = SequenceLength(s)"),
    "loop_stacks": (21, "float[3] x, int64 m, bool c", "float[3] y, float[N,3] z",
                    "y, z = Loop(m, c, x) <body = round (int64 i, bool k, float[3] v)"
                    " => (bool k2, float[3] w, float[3] o)"
                    " { l = Constant<value = int64 {3}>() k2 = Less(i, l) w = Mul(v, x) o = Neg(w) }>"),
    "loop_nested": (21, "int64[2] x, bool c", "int64[N] y",
                    "m = Constant<value = int64 {3}>()"
                    " y = Loop(m, c, x) <body = outer (int64 i, bool k, int64[A] v) => (bool k, int64[B] w) {"
                    " w = Loop(i, c, v) <body = inner (int64 j, bool h, int64[C] a) => (bool h, int64[D] b)"
                    " { b = Concat<axis = 0>(a, x) }> }>"),
    "scan_back": (21, "float[4,3] x, float[3] s", "float[3] y, float[3,4] z",
                  "y, z = Scan<num_scan_inputs = 1, scan_input_directions = [1], scan_output_axes = [1],"
                  " body = step (float[3] v, float[3] a) => (float[3] w, float[3] o) { w = Add(v, a) o = Abs(w) }>"
                  "(s, x)"),
    "branches_of_values": (21, "bool c, seq(float[N]) s, float[2] x", "int64 n",
                           "t = If(c) <then_branch = a () => (seq(float[M]) p) { p = SequenceInsert(s, x) },"
                           " else_branch = b () => (seq(float[K]) q) { q = SequenceErase(s) }> n = SequenceLength(t)"),
    "mapped": (21, "seq(float[N]) s, float[N] x", "seq(float[N]) y",
               "y = SequenceMap(s, x) <body = each (float[A] v, float[B] w) => (float[C] o) { o = Mul(v, w) }>"),
    "optionals": (21, "optional(seq(float[N])) x", "bool h, float[N] y",
                  "h = OptionalHasElement(x) s = OptionalGetElement(x) l = Constant<value = int64 {-1}>()"
                  " y = SequenceAt(s, l)"),
    "parts_of_parts": (21, "float[6,4] x, int64[2] p", "seq(float[N,M]) y, float[A,B] z",
                       "y = SplitToSequence<axis = 0>(x, p) z = ConcatFromSequence<axis = 1>(y)"),
}


def model(opset, inputs, outputs, nodes):
    head = HEAD.format(opset=opset, more=PREVIEW if "ai.onnx.preview" in nodes else "")
    return onnx.parser.parse_model(f'{head} g ({inputs}) => ({outputs}) {{ {nodes} }}')


def models():
    for name, seed in SEEDS.items():
        yield name, model(*seed).SerializeToString()
