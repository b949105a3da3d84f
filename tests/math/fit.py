"""fit.py: the coefficients of src/loops/lane_math.h, lane_math.c and lanes/lanes_pow.c: weighted least squares at
Chebyshev points, reweighted towards the largest error until it is level (Lawson). Prints them from the highest power
down, as C, with the largest weighted error: that of the result, relative to it."""

import mpmath as mp
import numpy as np

mp.mp.dps = 40
TINY = mp.mpf("1e-9")


def level(points, rounds, solve):
    """The best of solve(root) = (solution, weighted error at each point), where `root` are roots of weights that grow
    where errors are large; and its largest error."""
    lawson = np.ones(points) / points
    best, smallest = None, np.inf
    for _ in range(rounds):
        solution, error = solve(np.sqrt(lawson))
        if error.max() < smallest:
            best, smallest = solution, error.max()
        lawson *= error / error.max() + 1e-4
        lawson /= lawson.sum()
    return best, smallest


def chebyshev(points, low, high):
    return (low + high) / 2 + (high - low) / 2 * np.cos(np.pi * (np.arange(points) + 0.5) / points)


def fit(function, weight, low, high, degree, points=500, rounds=200):
    """Coefficients from power 0 on of the polynomial nearest to `function` on [low, high], and weight * |error|."""
    x = chebyshev(points, low, high)
    y = np.array([float(function(mp.mpf(float(v)))) for v in x])
    w = np.array([float(weight(mp.mpf(float(v)))) for v in x])
    matrix = np.polynomial.chebyshev.chebvander((2 * x - (low + high)) / (high - low), degree)

    def solve(root):
        root = root * w
        solution = np.linalg.lstsq(matrix * root[:, None], y * root, rcond=None)[0]
        return solution, w * np.abs(matrix @ solution - y)

    best, smallest = level(points, rounds, solve)
    series = np.polynomial.Chebyshev(best, domain=[low, high])
    return series.convert(kind=np.polynomial.Polynomial, domain=[-1, 1], window=[-1, 1]).coef, smallest


def fit_half_tanh(most, above, below, points=3000, rounds=400):
    """Polynomials of z^2, of degrees `above` and `below` and 1 at 0, whose quotient is tanh(z / 2) / (z / 2) up to
    z = `most`; an error of that counts by what it changes in tanh z."""
    s = chebyshev(points, 0, 1)
    z = most * np.sqrt(s)
    u = np.tanh(z / 2)
    y, w = u / (z / 2), np.maximum((1 - u * u) / (1 + u * u), 2e-4)
    over, under = (s[:, None] ** np.arange(1, degree + 1) for degree in (above, below))
    matrix, bottom = np.hstack([over, -y[:, None] * under]), np.ones(points)

    def solve(root):
        nonlocal bottom
        root = root * w / (y * bottom)
        scale = np.abs(matrix * root[:, None]).max(0)
        solution = np.linalg.lstsq(matrix * root[:, None] / scale, (y - 1) * root, rcond=1e-17)[0] / scale
        bottom = 1 + under @ solution[above:]
        return solution, w * np.abs((1 + over @ solution[:above]) / bottom / y - 1)

    best, smallest = level(points, rounds, solve)
    powers = most ** (2.0 * np.arange(1, above + below + 1))
    return best[:above] / powers[:above], best[above:] / powers[:below], smallest


def as_c(coefficients):
    return ", ".join(f"{c:.9g}f" for c in coefficients[::-1])


def show(name, function, weight, low, high, degree):
    coefficients, error = fit(function, weight, low, high, degree)
    print(f"{name}: error {error:.2e}")
    print("    " + as_c(coefficients))


def exp_rest(r):
    return (mp.expm1(r) - r) / r**2 if abs(r) > TINY else mp.mpf("0.5")


def log_rest(f):
    return (mp.log1p(f) - f) / f**2 if abs(f) > TINY else mp.mpf("-0.5")


def log_third(f):
    return (mp.log1p(f) - f + f**2 / 2) / f**3 if abs(f) > 1e-6 else mp.mpf(1) / 3


def share(part, whole):
    return lambda v: abs(part(v) / whole(v)) if abs(v) > TINY else 0


half = float(mp.log(2) / 2) * 1.0005
show("e^r - 1: (e^r - 1 - r) / r^2", exp_rest, share(lambda r: r**2, mp.expm1), -half, half, 4)
show("e^r of twice the range", exp_rest, share(lambda r: r**2, mp.exp), -2 * half, 2 * half, 5)
over, under, error = fit_half_tanh(9.01, 2, 3)
print(f"tanh(z / 2) by z^2: error {error:.2e}\n    {as_c(over)}, over {as_c(under)}")
show("erf: ln(1 - erf(z)) / z", lambda z: mp.log(mp.erfc(z)) / z, share(lambda z: z * mp.erfc(z), mp.erf), 1e-9, 3.925, 8)
show("ln: (ln(1 + f) - f) / f^2", log_rest, share(lambda f: f**2, mp.log1p), 0.5**0.5 - 1, 2**0.5 - 1, 7)
show("pow: (ln(1 + f) - f + f^2 / 2) / f^3", log_third, share(lambda f: f**3, mp.log1p), -0.143, 0.16675, 5)
show("the same of sixteen centers", log_third, share(lambda f: f**3, mp.log1p), -0.03715, 0.06256, 3)

PLACES, STEP = 16, 65 / 256


def show_rows(name, intervals):
    print(f"{name}, a power in a row: error {max(error for _, error in intervals):.2e}")
    for row in zip(*(coefficients for coefficients, _ in intervals)):
        print("    {" + ", ".join(f"{c:.9g}f" for c in row) + "},")


intervals = [fit(lambda r: mp.erf(r) / r, lambda r: r / mp.erf(r), 1e-9, STEP / 2, 4)]
intervals[0] = np.append(0, intervals[0][0]), intervals[0][1]
for middle in STEP * np.arange(1, PLACES):
    intervals.append(fit(lambda r: mp.erf(middle + r), lambda r: 1 / mp.erf(middle + r), -STEP / 2, STEP / 2, 5))
show_rows(f"erf around multiples of {STEP}", intervals)


def gelu_rest(t):
    u = (1 / t - 1) / mp.mpf(0.35)
    return mp.erfc(u / mp.sqrt(2)) * mp.exp(u * u / 2) / (2 * t)


show("Gelu: e^(u^2 / 2) (1 - erf(u / sqrt 2)) / 2t", gelu_rest, lambda t: 1 / gelu_rest(t), 1 / (1 + 0.35 * 14.6), 1, 8)


def gelu_tail(u):
    return mp.erfc(u / mp.sqrt(2)) * mp.exp(u * u / 2) / 2


def around(place):
    """The polynomial of 1 + u with `place` as the low bits of its exponent, whose bias is odd, and its first digits."""
    size = 2.0 ** ((place // 4 + 1) % 4) / 4
    middle = size * (4.5 + place % 4) - 1
    return fit(lambda r: gelu_tail(middle + r), lambda r: 1 / gelu_tail(middle + r), -size / 2, size / 2, 5)


show_rows("Gelu: e^(u^2 / 2) (1 - erf(u / sqrt 2)) / 2", [around(place) for place in range(PLACES)])
rest = half / PLACES
show("e^r of a sixteenth of the range", exp_rest, share(lambda r: r**2, mp.exp), -rest, rest, 1)
roots = np.exp2(np.arange(PLACES) / PLACES + 64).astype(np.float32).view(np.uint32) - (np.arange(PLACES) << 19)
print("powers of the 16th root of 2\n    " + ", ".join(f"0x{bits:08x}" for bits in roots))
