"""products.py: the matrix products that `make bench` measures.

Sizes are written rows x columns x inner, m x n x k: [m,k] times [k,n]. The right operand is an initializer, as weights
are, so that a runtime may arrange it once, where the name does not say "both at run time".
"""

import math

import numpy as np
from models import Case

CASES = []


class Product(Case):
    """A case of one product or a batch of them; `work` counts the multiplications. Its arrays are a and b first."""

    def __init__(self, name, group, a, b, out, nodes, transposed=(0, 0), weights=(), **options):
        inputs = [text for text in (f"a: {a}", f"b: {b}") if text not in weights]
        super().__init__(name, group, inputs, nodes, f"y: {out}", weights=weights, **options)
        self.transposed = transposed
        (_, self.type, a_dims), (_, _, b_dims) = (self.inputs + self.weights)[:2]
        self.m, self.k = a_dims[-2:] if not transposed[0] else a_dims[:-3:-1]
        self.n = b_dims[-1 - transposed[1]]
        self.batch, self.batches = self.out[2][:-2], (a_dims[:-2], b_dims[:-2])
        self.work = math.prod(self.batch) * self.m * self.n * self.k


def product(name, group, a, b, out, nodes, **options):
    CASES.append(Product(name, group, a, b, out, nodes, **options))


def matmul(name, group, a, b, out, weights=True):
    product(name, group, a, b, out, ["y = MatMul(a, b)"], weights=[f"b: {b}"] if weights else [])


def gemm(name, group, m, n, k, trans_a=0, trans_b=0, bias=None, slope=None, behind=(), type_name="float",
         **options):
    """Gemm, the shape of its C and of the slope of a PRelu behind it, or other nodes from t to y; r is an operand of
    the result's shape."""
    a, b = [k, m] if trans_a else [m, k], [n, k] if trans_b else [k, n]
    a, b, out = (f"{type_name} {d[0]} {d[1]}" for d in (a, b, [m, n]))
    behind = list(behind) + (["y = PRelu(t, slope)"] if slope else [])
    more = [f"{name}: {type_name} {dims}" for name, dims in (("c", bias), ("slope", slope)) if dims]
    more += [f"r: {out}"] if any("r)" in node for node in behind) else []
    nodes = [f"{'t' if behind else 'y'} = Gemm({'a, b, c' if bias else 'a, b'}) transA={trans_a} transB={trans_b}"]
    product(name, group, a, b, out, nodes + behind, weights=[f"b: {b}", *more], transposed=(trans_a, trans_b),
            **options)


def square(size, type_name="float"):
    return [f"{type_name} {size} {size}"] * 3


def quantized(name, group, a, b, out, m, n, k, columns=1):
    """MatMulInteger with a zero point for all of a, and one for each column of b or for all."""
    product(name, group, f"{a} {m} {k}", f"{b} {k} {n}", f"{out} {m} {n}", ["y = MatMulInteger(a, b, p, q)"],
            weights=[f"b: {b} {k} {n}", f"p: {a}", f"q: {b}{f' {columns}' if columns > 1 else ''}"])


def requantized(name, size, columns=1):
    """QLinearMatMul; the scale of b is one for each column, or one for all. Few results are beyond uint8."""
    each = f" {columns}" if columns > 1 else ""
    product(name, "int8", f"uint8 {size} {size}", f"int8 {size} {size}", f"uint8 {size} {size}",
            ["y = QLinearMatMul(a, sa, p, b, sb, q, sy, r)"], weights=[f"b: int8 {size} {size}", f"sb: float{each}"],
            constants={"sa": np.float32(0.25), "p": np.uint8(25), "q": np.full([columns] if each else [], 25, np.int8),
                       "sy": np.float32(size ** 0.5), "r": np.uint8(128)})


matmul("4x8x8", "small", "float 4 8", "float 8 8", "float 4 8")
matmul("16x16x16", "small", *square(16))
matmul("64x64x64", "small", *square(64))
gemm("64x64x64, bias, PRelu", "small", 64, 64, 64, bias="64", slope="64")
matmul("256x256x256", "square", *square(256))
matmul("1024x1024x1024", "square", *square(1024))
matmul("1024x1024x1024, both at run time", "square", *square(1024), weights=False)
matmul("2048x2048x2048", "square", *square(2048))
matmul("1000x1001x1003", "odd", "float 1000 1003", "float 1003 1001", "float 1000 1001")
matmul("127x129x131", "odd", "float 127 131", "float 131 129", "float 127 129")
matmul("1x4096x4096", "vector", "float 1 4096", "float 4096 4096", "float 1 4096")
gemm("1x4096x4096, transB, bias", "vector", 1, 4096, 4096, trans_b=1, bias="4096")
matmul("4096x1x4096, both at run time", "vector", "float 4096 4096", "float 4096 1", "float 4096 1", weights=False)
matmul("8x1024x4096", "flat", "float 8 4096", "float 4096 1024", "float 8 1024")
matmul("4096x4096x64", "flat", "float 4096 64", "float 64 4096", "float 4096 4096")
matmul("4096x64x4096", "flat", "float 4096 4096", "float 4096 64", "float 4096 64")
gemm("512x512x512, transA", "transposed", 512, 512, 512, trans_a=1)
gemm("512x512x512, transB", "transposed", 512, 512, 512, trans_b=1)
gemm("512x512x512, transA, transB", "transposed", 512, 512, 512, trans_a=1, trans_b=1)
gemm("256x256x256, bias", "tail", 256, 256, 256, bias="256")
gemm("256x256x256, bias, PRelu", "tail", 256, 256, 256, bias="256", slope="256")
gemm("1024x1024x1024, bias", "tail", 1024, 1024, 1024, bias="1024")
gemm("4096x4096x64, bias, PRelu", "tail", 4096, 4096, 64, bias="4096", slope="4096")
gemm("1024x1024x256, bias, sum, Relu", "tail", 1024, 1024, 256, bias="1024", behind=["s = Add(t, r)", "y = Relu(s)"])
gemm("4096x16x64, bias, Clip", "tail", 4096, 16, 64, bias="16", behind=["y = Clip(t, low, high)"],
     constants={"low": np.float32(0), "high": np.float32(70)})
gemm("1024x1024x1024, bias by row, PRelu", "tail", 1024, 1024, 1024, bias="1024 1", slope="1024")
matmul("batch [32,64,256] by [256,256]", "batch", "float 32 64 256", "float 256 256", "float 32 64 256")
matmul("batch [16,8,128,64] by [1,8,64,128]", "batch", "float 16 8 128 64", "float 1 8 64 128", "float 16 8 128 128",
       weights=False)
matmul("batch [1,8,128,64] by [16,8,64,128]", "batch", "float 1 8 128 64", "float 16 8 64 128", "float 16 8 128 128",
       weights=False)
matmul("attention 12 x 128x128x64", "attention", "float 12 128 64", "float 12 64 128", "float 12 128 128", weights=False)
matmul("attention 12 x 128x64x128", "attention", "float 12 128 128", "float 12 128 64", "float 12 128 64", weights=False)
matmul("double 1024x1024x1024", "double", *square(1024, "double"))
gemm("double 256x256x256, bias", "double", 256, 256, 256, bias="256", type_name="double")
matmul("float16 1024x1024x1024", "float16", *square(1024, "float16"))
matmul("float16 1x4096x4096", "float16", "float16 1 4096", "float16 4096 4096", "float16 1 4096")
matmul("bfloat16 1024x1024x1024", "bfloat16", *square(1024, "bfloat16"))
gemm("int32 256x256x256", "int32", 256, 256, 256, type_name="int32")
quantized("uint8 by int8 64x64x64", "int8", "uint8", "int8", "int32", 64, 64, 64)
quantized("uint8 by int8 256x256x256", "int8", "uint8", "int8", "int32", 256, 256, 256)
quantized("uint8 by int8 1024x1024x1024", "int8", "uint8", "int8", "int32", 1024, 1024, 1024)
quantized("int8 by int8 1024x1024x1024, by column", "int8", "int8", "int8", "int32", 1024, 1024, 1024, columns=1024)
quantized("uint8 by int8 1x4096x4096", "int8", "uint8", "int8", "int32", 1, 4096, 4096)
requantized("QLinearMatMul 256x256x256", 256)
requantized("QLinearMatMul 1024x1024x1024, by column", 1024, columns=1024)
