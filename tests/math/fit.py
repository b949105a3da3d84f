"""fit.py: the coefficients of src/ops/lane_math.h: weighted least squares at Chebyshev points, reweighted towards the
largest error until it is level (Lawson). Prints them as C, with the largest weighted error."""

import mpmath as mp
import numpy as np

mp.mp.dps = 40


def fit(function, weight, low, high, degree, points=400, rounds=60):
    """Coefficients c[0..degree] of the polynomial nearest to `function` on [low, high], and weight * |error|."""
    k = np.arange(points)
    x = (low + high) / 2 + (high - low) / 2 * np.cos(np.pi * (k + 0.5) / points)
    y = np.array([float(function(mp.mpf(float(v)))) for v in x])
    w = np.array([float(weight(mp.mpf(float(v)))) for v in x])
    scale = max(abs(low), abs(high))
    lawson = np.ones(points) / points
    matrix = np.vander(x / scale, degree + 1, increasing=True)
    for _ in range(rounds):
        root = np.sqrt(lawson) * w
        solution = np.linalg.lstsq(matrix * root[:, None], y * root, rcond=None)[0]
        error = w * np.abs(matrix @ solution - y)
        lawson = lawson * (error + 1e-30)
        lawson /= lawson.sum()
    return solution / scale ** np.arange(degree + 1), error.max()


def show(name, function, weight, low, high, degree):
    coefficients, error = fit(function, weight, low, high, degree)
    print(f"{name}: error {error:.2e}")
    print("    " + ", ".join(f"{c:.9g}f" for c in coefficients))


half = float(mp.log(2) / 2) * 1.001
tiny = mp.mpf("1e-12")
show("exp: (e^r - 1 - r) / r^2", lambda r: (mp.exp(r) - 1 - r) / r**2 if abs(r) > 1e-9 else mp.mpf("0.5"),
     lambda r: r**2 / mp.exp(r), -half, half, 4)
show("tanh: (tanh(x) / x - 1) / x^2 in x^2", lambda s: (mp.tanh(mp.sqrt(s)) / mp.sqrt(s) - 1) / s, lambda s: s, 1e-8, 0.625**2, 4)
show("erf: erf(x) / x in x^2", lambda s: mp.erf(mp.sqrt(s)) / mp.sqrt(s), lambda s: 1, 1e-8, 0.9219**2, 6)
show("erf: ln(1 - erf(x))", lambda x: mp.log(mp.erfc(x)), lambda x: mp.erfc(x) / mp.erf(x), 0.9219, 4.0, 8)
show("log: (ln(1 + f) - f + f^2 / 2) / f^3", lambda f: (mp.log(1 + f) - f + f**2 / 2) / f**3 if abs(f) > 1e-4 else mp.mpf(1) / 3 - f / 4,
     lambda f: abs(f**3 / mp.log(1 + f)) if abs(f) > 1e-6 else tiny, float(mp.sqrt(0.5)) - 1, float(mp.sqrt(2)) - 1, 7)
