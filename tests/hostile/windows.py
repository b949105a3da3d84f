"""windows.py [--cases N] [--seed N]: strides, dilations, padding and sizes that no honest model has, in every operator
that slides a kernel over an image: each attribute, in each place, with each of a list of extreme numbers, alone and with
another one.

Places of windows are computed by Python's integers, which do not overflow: a result has to be the right one, and
everything else an error with a text. `--cases` takes so many of the cases, drawn by the seed.
Needs the Python packages onnx and numpy.
"""

import itertools
import math
import random
import sys

import arrays
import extremes
import numpy as np
import onnx
import oxlib
import trials
from onnx import helper, numpy_helper

NUMBERS = [-2**63, -2**31, -1, 0, 1, 2, 3, 7, 2**16, 2**31 - 1, 2**31, 2**32, 2**32 + 1, 2**40, 2**59, 2**60 - 1, 2**60,
           2**61 + 1, 2**62 - 1, 2**62, 2**63 - 8, 2**63 - 1]
TENSOR_BYTES = 1 << 22  # that a run may have
FAR = [math.nan, math.inf, -math.inf, 1e38, -1e38, -2.0**63, 2.0**63, -2.0**31, 2.0**31]  # offsets of samples
MOST_RESULTS = 2**12  # of a channel: more are not computed here
HONEST = 2**16  # up to which a number may be no reason for an error
TYPE_NAMES = {np.dtype(dtype): name for name, (_, dtype) in arrays.DTYPES.items()}


def numbers(*shape, dtype=np.float32, first=1):
    """Small integers, of which sums are exact."""
    return ((np.arange(math.prod(shape)) * 5 + first) % 7 + 1).reshape(shape).astype(dtype)


# ---- Definitions -----------------------------------------------------------------------------------------------------

class Nothing(Exception):
    """The attributes describe no result."""


class Unknown(Exception):
    """They describe one that is not computed here, or several."""


def check_counts(counts):
    """A result may be without elements, or is refused."""
    if min(counts) < 0 or math.prod(counts) > TENSOR_BYTES:
        raise Nothing
    if not 0 < math.prod(counts) <= MOST_RESULTS:
        raise Unknown


class Window:
    """Along one dimension."""

    def __init__(self, size, kernel, stride, dilation, begin, end):
        if min(kernel, stride, dilation) < 1 or min(begin, end) < 0:
            raise Nothing
        self.size, self.kernel, self.stride, self.dilation, self.begin = size, kernel, stride, dilation, begin
        self.padded = begin + size + end
        self.reach = (kernel - 1) * dilation + 1
        self.count = (self.padded - self.reach) // stride + 1

    def taps(self, i):
        """(tap, place in the image) of window i, without the padding."""
        start = i * self.stride - self.begin
        first = max(0, -(start // self.dilation))
        end = min(self.kernel, (self.size - 1 - start) // self.dilation + 1)
        return [(t, start + t * self.dilation) for t in range(first, end)]


def windows_of(sizes, kernel, attrs):
    rank = len(sizes)
    strides, dilations = attrs.get("strides", [1] * rank), attrs.get("dilations", [1] * rank)
    pads = attrs.get("pads", [0] * 2 * rank)
    return [Window(*one) for one in zip(sizes, kernel, strides, dilations, pads[:rank], pads[rank:])]


def counts_of(windows):
    counts = [w.count for w in windows]
    check_counts(counts)
    return counts


def seen(windows, at):
    """(taps, places) that the window at some place sees."""
    for pairs in itertools.product(*(w.taps(i) for w, i in zip(windows, at))):
        yield tuple(p[0] for p in pairs), tuple(p[1] for p in pairs)


def conv(attrs, x, w, *_):
    if x.shape[1] != w.shape[1]:
        raise Nothing
    windows = windows_of(x.shape[2:], w.shape[2:], attrs)
    y = np.zeros((x.shape[0], w.shape[0], *counts_of(windows)))
    for at in np.ndindex(*y.shape[2:]):
        for tap, place in seen(windows, at):
            y[(..., *at)] += x[(..., *place)].astype(float) @ w[(..., *tap)].T.astype(float)
    return y


def quantized_conv(attrs, x, _x_scale, _x_zero, w, *_):
    return np.clip(conv(attrs, x, w), 0, 255)


def pool(attrs, x, fold):
    windows = windows_of(x.shape[2:], attrs["kernel_shape"], attrs)
    y = np.zeros((*x.shape[:2], *counts_of(windows)))
    for at in np.ndindex(*y.shape[2:]):
        places = [place for _, place in seen(windows, at)]
        y[(..., *at)] = fold(np.array([x[(..., *p)] for p in places], float), windows) if places else np.nan
    return y


def max_pool(attrs, x):
    return pool(attrs, x, lambda values, _: values.max(0))


def average_pool(attrs, x):
    if attrs.get("count_include_pad"):
        return pool(attrs, x, lambda values, windows: values.sum(0) / float(math.prod(w.kernel for w in windows)))
    return pool(attrs, x, lambda values, _: values.mean(0))


def quantized_average_pool(attrs, x, *_):
    return np.rint(average_pool(attrs, x))


def lp_pool(attrs, x):
    p = attrs.get("p", 2)
    if p not in (1, 2):
        raise Unknown
    return pool(attrs, x, lambda values, _: (values**p).sum(0)**(1 / p))


def places_behind(attrs, sizes, kernel):
    """What an operator that goes from windows to the image has along each dimension: its size, and from what place on."""
    rank = len(sizes)
    strides, dilations = attrs.get("strides", [1] * rank), attrs.get("dilations", [1] * rank)
    pads, more = attrs.get("pads", [0] * 2 * rank), attrs.get("output_padding", [0] * rank)
    if min(*strides, *dilations, *kernel) < 1 or min(*pads, *more) < 0:
        raise Nothing
    out = [s * (n - 1) + m + (k - 1) * d + 1 - b - e
           for s, n, m, k, d, b, e in zip(strides, sizes, more, kernel, dilations, pads, pads[rank:])]
    check_counts(out)
    return out, lambda at, tap: tuple(i * s + t * d - b for i, s, t, d, b in zip(at, strides, tap, dilations, pads))


def conv_transpose(attrs, x, w):
    out, place = places_behind(attrs, x.shape[2:], w.shape[2:])
    y = np.zeros((x.shape[0], w.shape[1], *out))
    for at in np.ndindex(*x.shape[2:]):
        for tap in np.ndindex(*w.shape[2:]):
            to = place(at, tap)
            if all(0 <= i < n for i, n in zip(to, out)):
                y[(..., *to)] += x[(..., *at)].astype(float) @ w[(..., *tap)].astype(float)
    return y


def col2im(attrs, x, image, block):
    sizes, kernel = [int(n) for n in image], [int(n) for n in block]
    if min(kernel) < 1:
        raise Nothing
    check_counts(sizes)
    windows = windows_of(sizes, kernel, attrs)
    counts = counts_of(windows)
    if math.prod(counts) != x.shape[2] or x.shape[1] % math.prod(kernel):
        raise Nothing
    y = np.zeros((x.shape[0], x.shape[1] // math.prod(kernel), *sizes))
    x = x.reshape(*y.shape[:2], *kernel, *counts)
    for at in np.ndindex(*counts):
        for tap, place in seen(windows, at):
            y[(..., *place)] += x[(..., *tap, *at)]
    return y


def max_unpool(attrs, x, indices, *shape):
    out, _ = places_behind(attrs, x.shape[2:], attrs["kernel_shape"])
    if shape and [int(n) for n in shape[0]] != [*x.shape[:2], *out]:
        raise Unknown
    y = np.zeros((*x.shape[:2], *out))
    if indices.min() < 0 or indices.max() >= y.size:
        raise Nothing
    if len(set(indices.flat)) < indices.size:
        raise Unknown
    y.flat[indices.ravel()] = x.ravel()
    return y


def deform_conv(attrs, x, w, offset):
    """What is moved at all is moved far out of the image, where 0 is; no number is known where that is none."""
    windows = windows_of(x.shape[2:], w.shape[2:], attrs)
    y = np.zeros((x.shape[0], w.shape[0], *counts_of(windows)))
    if offset.shape != (x.shape[0], 2 * math.prod(w.shape[2:]), *y.shape[2:]):
        raise Nothing
    if ((offset != 0) & (abs(offset) < FAR[-1])).any():
        raise Unknown  # within the image
    moved = offset.reshape(x.shape[0], *w.shape[2:], 2, *y.shape[2:])
    for at in np.ndindex(*y.shape[2:]):
        for tap, place in seen(windows, at):
            by = moved[(slice(None), *tap, slice(None), *at)]
            stays = np.where(np.isnan(by).any(1), np.nan, ~by.any(1))
            y[(..., *at)] += (x[(..., *place)] * stays[:, None]).astype(float) @ w[(..., *tap)].T.astype(float)
    return y


def with_offsets(attrs, x, w, offset):
    """Inputs of DeformConv with as many offsets as the attributes want, where that can be."""
    try:
        counts = counts_of(windows_of(x.shape[2:], w.shape[2:], attrs))
    except (Nothing, Unknown):
        return [x, w, offset]
    wanted = np.zeros((x.shape[0], 2 * math.prod(w.shape[2:]), *counts), np.float32)
    wanted.flat[:8] = offset.flat[:8]
    return [x, w, wanted]


def shaped_transpose(attrs, x, w):
    """Where output_shape says how much there is, padding is what it leads to."""
    shape = attrs["output_shape"]
    if min(shape) < 0 or math.prod(shape) > TENSOR_BYTES:
        raise Nothing
    raise Unknown


def anything(*_):
    raise Unknown


# ---- Cases -----------------------------------------------------------------------------------------------------------

class Case:
    """A node, its inputs, and what computes the result."""

    def __init__(self, op, define, inputs, lists, domain="", **fixed):
        self.op, self.define, self.inputs, self.domain = op, define, inputs, domain
        self.lists, self.fixed = lists, fixed

    def spoilt(self):
        """[(attribute or number of an input, place)] that may be extreme."""
        places = [(name, i) for name, values in self.lists.items() for i in range(len(values))]
        places += [(name, None) for name, value in self.fixed.items() if isinstance(value, int)]
        return places + [(k, i) for k, array in enumerate(self.inputs) if self.is_place(k, array)
                         for i in range(min(array.size, 8))]

    def is_place(self, k, array):
        """Whether elements of input k say where something is."""
        return array.dtype == np.int64 or (k == 2 and self.op == "DeformConv") or (k == 1 and "Roi" in self.op)

    def with_numbers(self, changes):
        """(attributes, inputs)"""
        attrs = {name: list(values) for name, values in self.lists.items()} | self.fixed
        inputs = [array.copy() for array in self.inputs]
        for (name, i), number in changes:
            if isinstance(name, int):
                inputs[name].flat[i] = number
            elif i is None:
                attrs[name] = number
            else:
                attrs[name][i] = number
        return attrs, with_offsets(attrs, *inputs) if self.op == "DeformConv" else inputs


def channels_last(define):
    """The same of images whose channels are last."""
    def moved(attrs, x, *others):
        if attrs.get("channels_last", 1) not in (0, 1):
            raise Nothing
        if not attrs.get("channels_last", 1):
            return define(attrs, x, *others)
        return np.moveaxis(define(attrs, np.moveaxis(x, -1, 1), *others), 1, -1)
    return moved


def image_cases():
    """Of one and of two dimensions."""
    for sizes, kernel in (((6,), (3,)), ((5, 4), (2, 3)), ((1, 3), (1, 1))):
        rank = len(sizes)
        lists = {"strides": [1] * rank, "dilations": [1] * rank, "pads": [0] * 2 * rank}
        x, w = numbers(2, 3, *sizes), numbers(4, 3, *kernel, first=3)
        bytes_in = [a.astype(np.uint8) for a in (x, w)]
        one, zero = np.array(1, np.float32), np.array(0, np.uint8)
        kernels = lists | {"kernel_shape": list(kernel)}
        undilated = {k: v for k, v in kernels.items() if k != "dilations"}
        yield Case("Conv", conv, [x, w], lists)
        yield Case("FusedConv", conv, [x, w], lists, "com.microsoft")
        yield Case("ConvInteger", conv, bytes_in, lists)
        yield Case("QLinearConv", quantized_conv, [bytes_in[0], one, zero, bytes_in[1], one, zero, one, zero], lists)
        yield Case("MaxPool", max_pool, [x], kernels)
        yield Case("MaxPool", max_pool, [bytes_in[0]], kernels)
        yield Case("AveragePool", average_pool, [x], kernels)
        yield Case("AveragePool", average_pool, [x], kernels, count_include_pad=1)
        yield Case("LpPool", lp_pool, [x], kernels, p=2)
        yield Case("QLinearAveragePool", quantized_average_pool, [bytes_in[0], one, zero, one, zero], undilated,
                   "com.microsoft")
        last, last_bytes = np.moveaxis(x, 1, -1).copy(), np.moveaxis(bytes_in[0], 1, -1).copy()
        yield Case("NhwcConv", channels_last(conv), [last, w], lists, "com.microsoft")
        yield Case("NhwcMaxPool", channels_last(max_pool), [last_bytes], kernels, "com.microsoft")
        yield Case("QLinearConv", channels_last(quantized_conv), [last_bytes, one, zero, bytes_in[1], one, zero, one, zero],
                   lists, "com.microsoft", channels_last=1)
        yield Case("ConvTranspose", conv_transpose, [x, numbers(3, 4, *kernel, first=3)],
                   lists | {"output_padding": [0] * rank})
        counts = [n - k + 1 for n, k in zip(sizes, kernel)]
        yield Case("Col2Im", col2im, [numbers(2, 3 * math.prod(kernel), math.prod(counts)), np.array(sizes, np.int64),
                                      np.array(kernel, np.int64)], lists)
        small = numbers(1, 2, *counts)
        pooled = {k: v for k, v in undilated.items()}
        indices = np.arange(small.size, dtype=np.int64).reshape(small.shape)
        yield Case("MaxUnpool", max_unpool, [small, indices], pooled)
        yield Case("MaxUnpool", max_unpool, [small, indices, np.array([1, 2, *sizes], np.int64)], pooled)
        if rank == 2:
            shift = np.zeros((2, 2 * math.prod(kernel), *counts), np.float32)
            yield Case("DeformConv", deform_conv, [x, w, shift], lists)
            rois = np.array([[0, 0, 2, 2], [1, 0, 3, 1]], np.float32)
            yield Case("RoiAlign", anything, [x, rois, np.array([0, 1], np.int64)], {}, output_height=2, output_width=3,
                       sampling_ratio=2)
            yield Case("MaxRoiPool", anything, [x, np.c_[[0, 1], rois].astype(np.float32)], {"pooled_shape": [2, 3]})
        yield Case("ConvTranspose", shaped_transpose, [x, numbers(3, 4, *kernel, first=3)],
                   lists | {"output_shape": [n + k - 1 for n, k in zip(sizes, kernel)]})


def all_cases():
    """(case, changes) for each number in each place, and for pairs of such."""
    for case in image_cases():
        places = case.spoilt()
        for place in places:
            is_float = isinstance(place[0], int) and case.inputs[place[0]].dtype == np.float32
            for number in FAR if is_float else NUMBERS:
                yield case, [(place, number)]
        for first, second in itertools.combinations(places, 2):
            for a, b in itertools.product((2, 2**31, 2**59, 2**60 - 1, 2**62, 2**63 - 1), repeat=2):
                yield case, [(first, a), (second, b)]


def build(case, attrs, inputs, known):
    """The model, whose inputs are constants or not."""
    names = [f"x{i}" for i in range(len(inputs))]
    node = helper.make_node(case.op, names, ["y"], name="n", domain=case.domain, **attrs)
    tensors = [numpy_helper.from_array(array, name) for array, name in zip(inputs, names)]
    graph = helper.make_graph(
        [node], "g", [] if known else [helper.make_tensor_value_info(t.name, t.data_type, list(t.dims)) for t in tensors],
        [helper.make_empty_tensor_value_info("y")], tensors if known else [])
    opsets = [helper.make_opsetid("", 22), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=10).SerializeToString()


def expect(case, attrs, inputs):
    """The result; or Nothing, or Unknown."""
    try:
        return case.define(attrs, *inputs)
    except (Nothing, Unknown) as reason:
        return type(reason)


def judge(wanted, got):
    """What is wrong with a result; NaN stands for what is not looked at."""
    if wanted is Unknown:
        return None
    if wanted is Nothing:
        return f"a result of {got.shape}, not an error"
    known = ~np.isnan(wanted)
    if got.shape != wanted.shape or not np.allclose(got[known], wanted[known], 1e-5, 1e-30):
        return f"{got.shape} {got.ravel()[:8]}, not {wanted.shape} {wanted.ravel()[:8]}"
    return None


def run(data, inputs):
    options = oxlib.Options()
    options.limits.bytes, options.limits.tensor_bytes = 1 << 26, TENSOR_BYTES
    model = oxlib.Model(data, options)
    try:
        session = oxlib.Session(model)
        try:
            for i, array in enumerate(inputs):
                session.set_input(i, arrays.to_tensor(array, TYPE_NAMES[array.dtype]))
            session.run()
            return arrays.from_tensor(session.output(0))[1]
        finally:
            session.close()
    finally:
        model.close()


def main():
    options = trials.parse(1 << 30)
    cases = list(all_cases())
    random.Random(options.seed).shuffle(cases)
    cases = cases[:options.cases]
    options.cases = len(cases)

    def attempt(number, _, counts):
        case, changes = cases[number]
        attrs, inputs = case.with_numbers(changes)
        what = f"{case.op} {attrs} {[a.shape for a in inputs]} {changes}"
        known = number % 4 == 0
        try:
            got = run(build(case, attrs, inputs, known), [] if known else inputs)
        except oxlib.OxError as error:
            counts[1] += 1
            honest = all(number <= HONEST for _, number in changes) and isinstance(expect(case, attrs, inputs), np.ndarray)
            if not str(error) or error.status == oxlib.MEMORY or honest:
                return f"{what}: status {error.status}: '{error}'"
            return None
        counts[0] += 1
        wrong = judge(expect(case, attrs, inputs), got)
        return f"{what}: {wrong}" if wrong else None

    return extremes.go_through(options, attempt)


if __name__ == "__main__":
    sys.exit(main())
