"""nbits.py: products with weights of 4 bits in blocks (MatMulNBits), which `make bench` measures.

A name is rows x N x K of a layer of a language model, its block and its accuracy_level: 0 computes in floats, 4 allows
bytes. Each block of weights has a scale, and a zero point of 4 bits where the name says so.
"""

import numpy as np
from models import Case, aligned
from onnx import TensorProto, helper, numpy_helper

CASES = []
APART = 2e-2  # of the largest: by bytes, A is rounded to 127 steps of a block's largest, and not by all in one way
SIZES = ((2048, 2048), (8192, 2048), (1536, 576), (14336, 4096))


class Blocks(Case):
    """A case of one product with weights in blocks."""

    of_largest = APART

    def __init__(self, rows, n, k, level, block=32, has_zeros=False):
        name = f"{rows}x{n}x{k}, {block}, level {level}{', zero points' if has_zeros else ''}"
        super().__init__(name, f"{rows} row{'s' if rows > 1 else ''}", [f"a: float {rows} {k}"], [], f"y: float {rows} {n}")
        self.size, self.level, self.block, self.has_zeros = (n, k), level, block, has_zeros
        self.work = rows * n * k

    def model(self, arrays):
        rng = np.random.default_rng(5)
        n, k = self.size
        blocks = k // self.block
        fixed = {"b": rng.integers(0, 256, (n, blocks, self.block // 2), np.uint8),
                 "scales": (0.02 * (0.5 + rng.random((n, blocks)))).astype(np.float32)}
        if self.has_zeros:
            fixed["zeros"] = rng.integers(0, 256, (n, (blocks + 1) // 2), np.uint8)
        node = helper.make_node("MatMulNBits", ["a", *fixed], ["y"], domain="com.microsoft", N=n, K=k, bits=4,
                                block_size=self.block, accuracy_level=self.level)
        values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, dims) for name, _, dims in (*self.inputs, self.out)]
        graph = helper.make_graph([node], "bench", values[:1], values[1:],
                                  [numpy_helper.from_array(array, name) for name, array in fixed.items()])
        imports = [helper.make_opsetid("", self.opset), helper.make_opsetid("com.microsoft", 1)]
        return helper.make_model(graph, ir_version=self.ir_version, opset_imports=imports).SerializeToString()

    def arrays(self):
        result = aligned(self.inputs[0][2], np.dtype(np.float32))
        result[...] = np.random.default_rng(3).standard_normal(result.shape, np.float32)
        return [result]


class Dequantized(Blocks):
    """The same as a DequantizeLinear of blocks in front of MatMul."""

    def __init__(self, rows, n, k):
        super().__init__(rows, n, k, 0)
        self.name = f"{rows}x{n}x{k}, {self.block}, QDQ"

    def model(self, arrays):
        rng = np.random.default_rng(5)
        n, k = self.size
        scales = (0.02 * (0.5 + rng.random((k // self.block, n)))).astype(np.float32)
        weights = helper.make_tensor("b", TensorProto.INT4, (k, n), rng.integers(0, 256, k * n // 2, np.uint8).tobytes(), raw=True)
        nodes = [helper.make_node("DequantizeLinear", ["b", "scales"], ["w"], axis=0, block_size=self.block),
                 helper.make_node("MatMul", ["a", "w"], ["y"])]
        values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, dims) for name, _, dims in (*self.inputs, self.out)]
        graph = helper.make_graph(nodes, "bench", values[:1], values[1:], [weights, numpy_helper.from_array(scales, "scales")])
        return helper.make_model(graph, ir_version=self.ir_version,
                                 opset_imports=[helper.make_opsetid("", 21)]).SerializeToString()


CASES += [Blocks(rows, n, k, level) for rows in (1, 128) for n, k in SIZES for level in (0, 4)]
CASES += [Blocks(rows, 2048, 2048, level, has_zeros=True) for rows in (1, 128) for level in (0, 4)]
CASES += [Blocks(1, 2048, 2048, level, block=128) for level in (0, 4)]
CASES += [Dequantized(rows, 2048, 2048) for rows in (1, 128)]
