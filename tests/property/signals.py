"""signals.py [--seed N] [--cases N]: DFT, STFT, window functions, MelWeightMatrix and Det against numpy, of any length,
axis and type, one thread and two."""

import sys

import arrays
import nodes
import numpy as np
import trials

REAL = ["float16", "bfloat16", "float", "double"]
TOLERANCES = {"float16": 2e-3, "bfloat16": 2e-2, "float": 1e-5, "double": 1e-9}
LENGTHS = [1, 2, 3, 4, 5, 6, 7, 8, 11, 12, 13, 16, 17, 19, 30, 31, 64, 97, 100, 169, 210, 256, 257, 289, 1000, 1009]


def draw(rng, kind, dims):
    return rng.uniform(-1, 1, dims).astype(arrays.DTYPES[kind][1])


def parts_of(x):
    """The signal of a tensor whose last dimension holds the parts of numbers."""
    wide = x.astype(np.float64)
    return wide[..., 0] + 1j * wide[..., 1] if x.shape[-1] == 2 else wide[..., 0]


def tensor_of(signal):
    return np.stack((signal.real, signal.imag), axis=-1)


def is_conjugate(y, axis, n, taken):
    """Whether a spectrum is that of real numbers, exactly: n / 2 + 1 of its elements or all of them."""
    y = np.moveaxis(y.astype(np.float64), axis, 0)
    ends = [0] + ([n // 2] if n % 2 == 0 else [])
    mirrors = all(np.array_equal(y[n - k], y[k] * [1, -1]) for k in range(1, (n + 1) // 2) if n - k < taken)
    return not y[ends][..., 1].any() and mirrors


def compare(data, feeds, wanted, tolerance, real=None):
    """None, or what is wrong with the outputs; tolerance belongs to the largest element. real: (axis, length) of a
    spectrum of real numbers."""
    one, two = (nodes.run(data, feeds, threads) for threads in (1, 2))
    for got, again, right in zip(one, two, wanted):
        if got.tobytes() != again.tobytes():
            return "differs with two threads"
        if got.shape != right.shape:
            return f"shape {got.shape}, not {right.shape}"
        worst = np.max(np.abs(got.astype(np.float64) - right), initial=0)
        if not worst <= tolerance * max(1, np.max(np.abs(right), initial=0)):
            return f"is off by {worst}"
        if real and not is_conjugate(got, *real, got.shape[real[0]]):
            return "is no spectrum of real numbers"
    return None


def dft(rng):
    opset, kind = int(rng.choice([17, 20])), str(rng.choice(REAL))
    rank = int(rng.integers(2, 5))
    onesided, inverse = bool(rng.random() < 0.4), bool(rng.random() < 0.5)
    parts = (2 if inverse else 1) if onesided else int(rng.integers(1, 3))
    dims = [int(d) for d in rng.integers(1, 5 if rng.random() < 0.8 else 13, rank - 1)]
    axis = int(rng.integers(0, rank - 1))
    dims[axis] = int(rng.choice(LENGTHS)) + (onesided and inverse)
    x = draw(rng, kind, [*dims, parts])
    if parts == 2 and not onesided and rng.random() < 0.3:
        x[..., 1] = 0
    n = int(rng.choice(LENGTHS)) if rng.random() < 0.3 else None
    signal = parts_of(x)
    if onesided:
        wanted = np.fft.irfft(signal, n, axis)[..., None] if inverse else tensor_of(np.fft.rfft(signal, n, axis))
    else:
        wanted = tensor_of((np.fft.ifft if inverse else np.fft.fft)(signal, n, axis))
    attributes = {"onesided": int(onesided), "inverse": int(inverse)}
    inputs, constants, feeds = {"x": kind, "n": "int64" if n else ""}, {}, [(x, kind)]
    given = axis - rank if rng.random() < 0.5 else axis
    if opset < 20:
        attributes["axis"] = given
    else:
        inputs["axis"] = "int64"
        constants["axis"] = np.array(given)
    if n and rng.random() < 0.5:
        constants["n"] = np.array(n)
    elif n:
        feeds.append((np.array(n), "int64"))
    data = nodes.model_of("DFT", opset, inputs, {"y": kind}, constants, **attributes)
    real = (axis, n or dims[axis]) if not (onesided and inverse) and (parts == 1 or not x[..., 1].any()) else None
    wrong = compare(data, feeds, [wanted], TOLERANCES[kind], real)
    return wrong and f"DFT-{opset} {kind} {list(x.shape)} axis {given} length {n} {attributes}: {wrong}"


def stft(rng):
    kind = str(rng.choice(REAL))
    batch, length = int(rng.integers(1, 4)), int(rng.integers(1, 300))
    onesided = bool(rng.random() < 0.5)
    frame, step = int(rng.integers(1, length + 1)), int(rng.integers(1, 50))
    x = draw(rng, kind, [batch, length, 1 if onesided else int(rng.integers(1, 3))])
    window = draw(rng, kind, [frame]) if rng.random() < 0.6 else None
    frames = np.lib.stride_tricks.sliding_window_view(parts_of(x), frame, axis=1)[:, ::step]
    if x.shape[2] == 1 and rng.random() < 0.4:
        x = x[..., 0]
    weighed = frames * (1 if window is None else window.astype(np.float64))
    wanted = tensor_of((np.fft.rfft if onesided else np.fft.fft)(weighed, axis=-1))
    inputs = {"x": kind, "step": "int64", "window": "" if window is None else kind, "length": "int64"}
    feeds = [(x, kind)] + ([] if window is None else [(window, kind)])
    constants = {"step": np.array(step), "length": np.array(frame)}
    data = nodes.model_of("STFT", 17, inputs, {"y": kind}, constants, onesided=int(onesided))
    is_real = x.ndim == 2 or x.shape[2] == 1 or not x[..., 1].any()
    wrong = compare(data, feeds, [wanted], TOLERANCES[kind], (2, frame) if is_real else None)
    return wrong and f"STFT {kind} {list(x.shape)} frame {frame} step {step} onesided {onesided}: {wrong}"


def window(rng):
    op = str(rng.choice(["BlackmanWindow", "HammingWindow", "HannWindow"]))
    a, b, c = {"B": (0.42, 0.5, 0.08), "Ha": (0.5, 0.5, 0), "Hm": (25 / 46, 21 / 46, 0)}[
        "B" if op[0] == "B" else "Hm" if op[2] == "m" else "Ha"]
    kind, size, periodic = str(rng.choice(REAL)), int(rng.integers(0, rng.choice([4, 3000]))), int(rng.random() < 0.5)
    turns = 2 * np.pi * np.arange(size) / max(1, size if periodic else size - 1)
    wanted = a - b * np.cos(turns) + c * np.cos(2 * turns)
    if size == 1 and not periodic:
        wanted[:] = 1
    data = nodes.model_of(op, 17, {"n": "int32"}, {"y": kind}, periodic=periodic,
                          output_datatype=nodes.kind_of(kind))
    wrong = compare(data, [(np.array(size, np.int32), "int32")], [wanted], TOLERANCES[kind])
    return wrong and f"{op} {kind} {size} periodic {periodic}: {wrong}"


def mel_matrix(bands, length, rate, low, high):
    """By the formula of the specification, corner by corner."""
    mels = 2595 * np.log10(1 + np.array([low, high]) / 700)
    points = mels[0] + np.arange(bands + 2) * (mels[1] - mels[0]) / (bands + 2)
    bins = np.floor((length + 1) * 700 * (10 ** (points / 2595) - 1) / rate)
    made, at = np.zeros((length // 2 + 1, bands)), np.arange(length // 2 + 1)
    for i in range(bands):
        left, peak, right = bins[i:i + 3]
        rising = (at - left) / max(peak - left, 1)
        falling = (right - at) / max(right - peak, 1)
        made[:, i] = np.where(at == peak, 1, np.where(at < peak, np.maximum(rising, 0), np.maximum(falling, 0)))
    return made


def mel(rng):
    bands, length = int(rng.integers(0, 40)), int(rng.integers(0, 400))
    rate, low = int(rng.integers(1000, 48000)), float(rng.uniform(0, 500))
    high = low + float(rng.uniform(0, 4000))
    wanted = mel_matrix(bands, length, rate, low, high)
    feeds = [(np.array(v), "int64") for v in (bands, length, rate)] + [(np.array(v), "double") for v in (low, high)]
    data = nodes.model_of("MelWeightMatrix", 17, dict(zip("abcde", ["int64"] * 3 + ["double"] * 2)), {"y": "double"},
                          output_datatype=nodes.kind_of("double"))
    wrong = compare(data, feeds, [wanted], 1e-12)
    return wrong and f"MelWeightMatrix {bands} {length} {rate} {low} {high}: {wrong}"


def det(rng):
    kind, n = str(rng.choice(REAL)), int(rng.integers(0, 9))
    x = draw(rng, kind, [*[int(d) for d in rng.integers(0 if rng.random() < 0.1 else 1, 4, int(rng.integers(0, 3)))],
                         n, n])
    if n > 1 and rng.random() < 0.3:
        x[..., 0, 0] = 0
    data = nodes.model_of("Det", 22, {"x": kind}, {"y": kind})
    wrong = compare(data, [(x, kind)], [np.linalg.det(x.astype(np.float64))], TOLERANCES[kind])
    return wrong and f"Det {kind} {list(x.shape)}: {wrong}"


def check(rng, _):
    return [dft, dft, dft, stft, window, mel, det][int(rng.integers(0, 7))](rng)


if __name__ == "__main__":
    sys.exit(trials.run(check, 700))
