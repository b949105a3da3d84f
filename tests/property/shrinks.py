"""shrinks.py: Shrink of integers on random limits and biases, with fractions and beyond all integers, against exact
fractions: nothing is lost beyond 2^53, sums are cut off towards 0 and wrap."""

import math
import sys
from fractions import Fraction

import nodes
import numpy as np
import trials
from onnx import helper

TYPES = ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"]


def drawn(rng):
    """A float of any size, often a small one."""
    kind = rng.integers(5)
    if kind == 0:
        return np.float32(rng.choice([1, -1]) * 2.0 ** rng.integers(-5, 100))
    return np.float32([0, rng.uniform(-3, 3), rng.integers(-5, 5), rng.uniform(-300, 300), rng.choice([0.5, -0.0])][kind])


def shrunk(x, limit, bias, least, most):
    total = x + bias if x < -limit else x - bias if x > limit else 0
    return (math.trunc(total) - least) % (most - least + 1) + least


def check(rng, _):
    """None, or what is wrong with one random case."""
    type_name = str(rng.choice(TYPES))
    least, most = int(np.iinfo(type_name).min), int(np.iinfo(type_name).max)
    limit, bias = drawn(rng), drawn(rng)
    values = [least, least + 1, most - 1, most, 2**53 + 1, *rng.integers(least, most, 9, type_name, True).tolist()]
    values += [int(sign * x) + d for x in (limit, bias) for sign in (1, -1) for d in (-1, 0, 1)]
    values = [min(most, max(least, int(v))) for v in values]
    wanted = [shrunk(v, Fraction(float(limit)), Fraction(float(bias)), least, most) for v in values]
    node = helper.make_node("Shrink", ["x"], ["y"], lambd=float(limit), bias=float(bias))
    data = nodes.model_around([node], {"x": type_name}, {"y": type_name}, 9)
    got = nodes.run(data, [(np.array(values, type_name), type_name)], 1)[0]
    return None if got.tolist() == wanted else f"Shrink {type_name} {limit} {bias}: {values} gives {got.tolist()}"


if __name__ == "__main__":
    sys.exit(trials.run(check, 1000))
