"""layers.py: single layers of well-known networks, which `make bench` measures: convolutions with what follows them,
pooling, normalisation, resizing, recurrent layers and attention.

A name says where the layer is from; "x 8" is a batch of 8 images or sequences. Weights are initializers. Dims of images
are written as channels, height and width.
"""

import math

import numpy as np
from models import TYPES, Case, aligned

CASES = []
OF_LARGEST = 1e-4  # sums of numbers of both signs may be near 0


class Layer(Case):
    """A case of one layer; `work` counts its multiplications, None where moving elements is all there is to it."""

    opset, ir_version, of_largest = 23, 11, OF_LARGEST

    def __init__(self, name, group, inputs, nodes, out, work=None, **options):
        super().__init__(name, group, inputs, nodes, out, **options)
        self.work = work

    def arrays(self):
        """The inputs and weights, whose results are of the size of the inputs."""
        rng = np.random.default_rng(sum(self.name.encode()))
        return [self.draw(rng, *value) for value in self.inputs + self.weights]

    @staticmethod
    def draw(rng, name, type_name, dims):
        result = aligned(dims, TYPES[type_name])
        result[...] = rng.standard_normal(dims, np.float32)
        if name == "variance":
            result[...] = 0.5 + np.abs(result)
        elif name in ("w", "r"):
            result *= np.float32(1 / math.sqrt(max(1, math.prod(dims[1:]))))
        return result


def layer(name, group, *args, **options):
    CASES.append(Layer(name, group, *args, **options))


def sizes(dims):
    return " ".join(map(str, dims))


def conv(name, group, image, kernel, count, batch=1, stride=1, dilation=1, groups=1, behind=(), op="Conv", pad=None):
    """A convolution with bias: of [batch, *image] with `count` kernels, and nodes from t to y behind it."""
    channels, *spatial = image
    rank, pad = len(spatial), dilation * (kernel - 1) // 2 if pad is None else pad
    taps = f"kernel_shape={[kernel] * rank} strides={[stride] * rank} dilations={[dilation] * rank} group={groups} " \
           f"pads={[pad] * 2 * rank}"
    if op == "Conv":
        ends = [(d + 2 * pad - dilation * (kernel - 1) - 1) // stride + 1 for d in spatial]
        weights, places = [count, channels // groups, *[kernel] * rank], batch * math.prod(ends)
    else:
        ends = [(d - 1) * stride + kernel - 2 * pad for d in spatial]
        weights, places = [channels, count, *[kernel] * rank], batch * math.prod(spatial)
    first = f"{'t' if behind else 'y'} = {op}(x, w, b) {taps.replace(', ', ',')}"
    layer(f"{name}{f' x {batch}' if batch > 1 else ''}", group, [f"x: float {sizes([batch, *image])}"], [first, *behind],
          f"y: float {sizes([batch, count, *ends])}", work=places * math.prod(weights),
          weights=[f"w: float {sizes(weights)}", f"b: float {count}"],
          constants={"low": np.float32(0), "high": np.float32(6)} if "low" in str(behind) else None)


RELU, SILU, CLIP = ["y = Relu(t)"], ["s = Sigmoid(t)", "y = Mul(t, s)"], ["y = Clip(t, low, high)"]

conv("ResNet 3,224,224, 7x7 / 2, 64", "first", [3, 224, 224], 7, 64, stride=2, behind=RELU)
conv("MobileNet 3,224,224, 3x3 / 2, 32", "first", [3, 224, 224], 3, 32, batch=8, stride=2, behind=CLIP)
conv("YOLO 3,320,320, 6x6 / 2, 32", "first", [3, 320, 320], 6, 32, stride=2, pad=2, behind=SILU)
conv("ResNet 64,56,56, 3x3, 64", "3x3", [64, 56, 56], 3, 64, behind=RELU)
conv("ResNet 64,56,56, 3x3, 64", "3x3", [64, 56, 56], 3, 64, batch=8, behind=RELU)
conv("ResNet 128,56,56, 3x3 / 2, 128", "3x3", [128, 56, 56], 3, 128, stride=2, behind=RELU)
conv("ResNet 256,14,14, 3x3, 256", "3x3", [256, 14, 14], 3, 256, behind=RELU)
conv("ResNet 512,7,7, 3x3, 512", "3x3", [512, 7, 7], 3, 512, batch=8, behind=RELU)
conv("U-Net 64,128,128, 3x3, 64", "3x3", [64, 128, 128], 3, 64, behind=RELU)
conv("YOLO 64,80,80, 3x3, 64", "3x3", [64, 80, 80], 3, 64, behind=SILU)
conv("dilated 256,32,32, 3x3, 256", "3x3", [256, 32, 32], 3, 256, dilation=2, behind=RELU)
conv("ResNeXt 128,56,56, 3x3, 32 groups", "3x3", [128, 56, 56], 3, 128, groups=32, behind=RELU)
conv("ResNet 64,56,56, 1x1, 256", "1x1", [64, 56, 56], 1, 256)
conv("ResNet 256,56,56, 1x1, 64", "1x1", [256, 56, 56], 1, 64, batch=8, behind=RELU)
conv("ResNet 512,28,28, 1x1 / 2, 1024", "1x1", [512, 28, 28], 1, 1024, stride=2)
conv("MobileNet 96,14,14, 1x1, 576", "1x1", [96, 14, 14], 1, 576, behind=CLIP)
conv("MobileNet 320,7,7, 1x1, 1280", "1x1", [320, 7, 7], 1, 1280, batch=8, behind=CLIP)
conv("MobileNet 144,56,56, 3x3", "depthwise", [144, 56, 56], 3, 144, groups=144, behind=CLIP)
conv("MobileNet 144,56,56, 3x3 / 2", "depthwise", [144, 56, 56], 3, 144, stride=2, groups=144, behind=CLIP)
conv("MobileNet 960,7,7, 3x3", "depthwise", [960, 7, 7], 3, 960, batch=8, groups=960, behind=CLIP)
conv("EfficientNet 672,14,14, 5x5", "depthwise", [672, 14, 14], 5, 672, groups=672, behind=SILU)
conv("EfficientNet 240,28,28, 5x5 / 2", "depthwise", [240, 28, 28], 5, 240, batch=8, stride=2, groups=240, behind=SILU)
conv("Whisper 80,3000, 3, 384", "1-D", [80, 3000], 3, 384)
conv("Whisper 384,3000, 3 / 2, 384", "1-D", [384, 3000], 3, 384, stride=2)
conv("U-Net 128,64,64, 2x2 * 2, 64", "transposed", [128, 64, 64], 2, 64, stride=2, pad=0, op="ConvTranspose")
conv("generator 128,16,16, 4x4 * 2, 64", "transposed", [128, 16, 16], 4, 64, batch=8, stride=2, pad=1,
     op="ConvTranspose")


def plain(name, group, x, node, out=None, weights=(), constants=None):
    layer(name, group, [f"x: float {x}"], [node], f"y: float {out or x}", weights=weights, constants=constants)


plain("MaxPool ResNet 64,112,112, 3x3 / 2 x 8", "pooling", "8 64 112 112",
      "y = MaxPool(x) kernel_shape=[3,3] strides=[2,2] pads=[1,1,1,1]", "8 64 56 56")
plain("MaxPool YOLO 256,20,20, 5x5", "pooling", "1 256 20 20",
      "y = MaxPool(x) kernel_shape=[5,5] strides=[1,1] pads=[2,2,2,2]")
plain("AveragePool Inception 192,28,28, 3x3", "pooling", "1 192 28 28",
      "y = AveragePool(x) kernel_shape=[3,3] strides=[1,1] pads=[1,1,1,1]")
plain("GlobalAveragePool EfficientNet 672,14,14 x 8", "pooling", "8 672 14 14", "y = GlobalAveragePool(x)", "8 672 1 1")
plain("BatchNormalization 64,112,112", "normalisation", "1 64 112 112",
      "y = BatchNormalization(x, scale, bias, mean, variance)",
      weights=[f"{name}: float 64" for name in ("scale", "bias", "mean", "variance")])
plain("InstanceNormalization 64,64,64 x 8", "normalisation", "8 64 64 64", "y = InstanceNormalization(x, scale, bias)",
      weights=["scale: float 64", "bias: float 64"])
plain("LayerNormalization Whisper 1500,384", "normalisation", "1 1500 384", "y = LayerNormalization(x, scale, bias)",
      weights=["scale: float 384", "bias: float 384"])
plain("Resize YOLO 256,20,20, nearest * 2", "resizing", "1 256 20 20",
      "y = Resize(x, , scales) mode=nearest coordinate_transformation_mode=asymmetric nearest_mode=floor", "1 256 40 40",
      constants={"scales": np.array([1, 1, 2, 2], np.float32)})
plain("Resize U-Net 64,64,64, linear * 2 x 8", "resizing", "8 64 64 64", "y = Resize(x, , scales) mode=linear",
      "8 64 128 128", constants={"scales": np.array([1, 1, 2, 2], np.float32)})


def lstm(name, steps, batch, size, hidden, direction="forward"):
    ways = 2 if direction == "bidirectional" else 1
    weights = [f"w: float {ways} {4 * hidden} {size}", f"r: float {ways} {4 * hidden} {hidden}",
               f"b: float {ways} {8 * hidden}"]
    layer(f"LSTM {name}", "recurrent", [f"x: float {steps} {batch} {size}"],
          [f"y = LSTM(x, w, r, b) hidden_size={hidden} direction={direction}"], f"y: float {steps} {ways} {batch} {hidden}",
          work=steps * batch * ways * 4 * hidden * (size + hidden), weights=weights)


lstm("100 steps, 128 to 128", 100, 1, 128, 128)
lstm("40 steps, 96 to 48, both ways x 8", 40, 8, 96, 48, "bidirectional")
lstm("50 steps, 256 to 256 x 8", 50, 8, 256, 256)


def attention(name, batch, heads, rows, size, nodes, constants=None):
    dims = f"float {batch} {heads} {rows} {size}"
    layer(f"attention {name}", "attention", [f"{operand}: {dims}" for operand in "qkv"], nodes, f"y: {dims}",
          work=2 * batch * heads * rows * rows * size, constants=constants)


attention("Whisper 6 heads, 1500,64, primitives", 1, 6, 1500, 64,
          ["h = Transpose(k) perm=[0,1,3,2]", "s = MatMul(q, h)", "u = Mul(s, scale)", "p = Softmax(u) axis=-1",
           "y = MatMul(p, v)"], {"scale": np.float32(0.125)})
attention("transformer 4 heads, 128,32 x 8", 8, 4, 128, 32, ["y = Attention(q, k, v)"])
