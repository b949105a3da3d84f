"""suppressions.py [--cases N] [--seed N]: NonMaxSuppression of up to 5000 boxes, against its text in numpy, in float as
it is, and against ONNX Runtime where that allows the numbers. Boxes are spread evenly, lie in clusters, apart by class as
torchvision moves them, on a grid in order, have no area, or numbers that are none."""

import sys

import nodes
import numpy as np
import onnxruntime
import trials

LIMITS = [0.0, 0.1, 0.3, 0.5, 0.7, 0.95, 1.0, -0.5]


# ---- Boxes -----------------------------------------------------------------------------------------------------


def even(rng, n):
    return rng.random((n, 2)), rng.random((n, 2)) * rng.choice([0.02, 0.1, 0.5])


def clustered(rng, n):
    centers = rng.random((int(rng.integers(1, 40)), 2)) * 640
    return centers[rng.integers(0, len(centers), n)] + rng.normal(size=(n, 2)) * 4, 20 + rng.random((n, 2)) * 60


def apart(rng, n):
    return rng.random((n, 2)) * 320 + rng.integers(0, 90, (n, 1)) * 321, rng.random((n, 2)) * 100


def grid(rng, n):
    side = int(np.ceil(np.sqrt(n)))
    places = np.stack([np.arange(n) // side, np.arange(n) % side], 1) * 8.0
    return places, np.full((n, 2), rng.choice([8, 9, 40]))


def coarse(rng, n):
    """Many boxes are the same, lie on the edge of others, or have no area."""
    return rng.integers(-8, 9, (n, 2)) / 2, rng.integers(-2, 9, (n, 2)) / 2


def damaged(rng, n):
    centers, sizes = coarse(rng, n)
    for part in (centers, sizes):
        at = rng.random(part.shape) < 0.05
        part[at] = rng.choice([np.nan, np.inf, -np.inf, 3e38, -3e38, 1e-42, 1e-20, -0.0], int(at.sum()))
    return centers, sizes


KINDS = [even, clustered, apart, grid, coarse, damaged]


def boxes_of(rng, kind, n, centered):
    """The four numbers of each box: x and y of the center, width, height; or y and x of two corners, in any order."""
    with np.errstate(all="ignore"):
        centers, sizes = kind(rng, n)
        if centered:
            return np.concatenate([centers, sizes], 1).astype(np.float32)
        corners = np.stack([centers - sizes / 2, centers + sizes / 2]).astype(np.float32)
    turned = rng.random((n, 1)) < 0.2
    return np.concatenate([np.where(turned, corners[1], corners[0]), np.where(turned, corners[0], corners[1])], 1)


# ---- The text --------------------------------------------------------------------------------------------------


def edges(boxes, centered):
    """Rows of x0, x1, y0, y1."""
    a, b, c, d = boxes.T
    if centered:
        return np.stack([a - c / 2, a + c / 2, b - d / 2, b + d / 2])
    return np.stack([np.minimum(b, d), np.maximum(b, d), np.minimum(a, c), np.maximum(a, c)])


def overlap(one, others, limit):
    """Which of the others one box overlaps by more than the limit."""
    both = [np.minimum(one[k + 1], others[k + 1]) - np.maximum(one[k], others[k]) for k in (0, 2)]
    areas = [(e[1] - e[0]) * (e[3] - e[2]) for e in (one, others)]
    shared = both[0] * both[1]
    either = areas[0] + areas[1] - shared
    return (both[0] > 0) & (both[1] > 0) & (areas[0] > 0) & (areas[1] > 0) & (shared > 0) & (either > 0) & \
        (shared / either > limit)


def select(corners, scores, most, limit, least):
    """The numbers of the selected boxes of a class; NaN comes behind all scores."""
    order = np.lexsort((np.arange(len(scores)), -np.nan_to_num(scores, nan=-np.inf), np.isnan(scores)))
    kept = []
    for i in order:
        if len(kept) >= most:
            break
        if least is not None and not scores[i] > least:
            continue
        if not overlap(corners[:, i], corners[:, kept], limit).any():
            kept.append(i)
    return kept


def suppress(boxes, scores, most, limit, least, centered):
    rows = [np.empty((0, 3), np.int64)]
    with np.errstate(all="ignore"):
        for batch, kind in np.ndindex(*scores.shape[:2]):
            kept = select(edges(boxes[batch], centered), scores[batch, kind], most, limit, least)
            rows.append(np.array([(batch, kind, i) for i in kept], np.int64).reshape(-1, 3))
    return np.concatenate(rows)


# ---- Cases -----------------------------------------------------------------------------------------------------


def scores_of(rng, dims):
    scores = rng.random(dims).astype(np.float32)
    if rng.random() < 0.4:  # ties, in groups or all
        scores = np.round(scores * int(rng.choice([0, 1, 50])))
    return scores


def in_runtime(data, feeds):
    session = onnxruntime.InferenceSession(data, providers=["CPUExecutionProvider"])
    return session.run(None, dict(zip([i.name for i in session.get_inputs()], feeds)))[0]


def check(rng, turn):
    kind = KINDS[turn % len(KINDS)]
    n = int(rng.choice([1, 2, 9, 65, 200, 700, 5000], p=[0.05, 0.05, 0.1, 0.2, 0.3, 0.25, 0.05]))
    batches, classes = (int(v) for v in rng.integers(1, 4 if n < 300 else 2, 2))
    centered, least = int(rng.integers(0, 2)), np.float32(rng.random()) if rng.random() < 0.4 else None
    most, limit = int(rng.choice([0, 1, 5, 100, n, 2 ** 40])), np.float32(rng.choice(LIMITS))
    boxes = np.stack([boxes_of(rng, kind, n, centered) for _ in range(batches)])
    scores = scores_of(rng, (batches, classes, n))
    if kind is damaged:
        scores[rng.random(scores.shape) < 0.1] = np.nan
    feeds = [(boxes, "float"), (scores, "float"), (np.array([most], np.int64), "int64"),
             (np.array([limit], np.float32), "float")]
    feeds += [] if least is None else [(np.array([least], np.float32), "float")]
    data = nodes.model_of("NonMaxSuppression", 11, {f"x{i}": pair[1] for i, pair in enumerate(feeds)}, {"y": "int64"},
                          center_point_box=centered)
    wanted = suppress(boxes, scores, most, limit, least, centered)
    got = nodes.run(data, feeds)[0]
    text = f"{kind.__name__} {n} {classes} {batches} most {most} limit {limit} {least} centered {centered}"
    if not nodes.same(got, wanted):
        return f"{text}: {got.shape} and not {wanted.shape}"
    if kind is not damaged and 0 <= limit <= 1:
        other = in_runtime(data, [pair[0] for pair in feeds])
        if not nodes.same(got, other):
            return f"{text}: {got.shape}, but ONNX Runtime gives {other.shape}"
    return None


if __name__ == "__main__":
    sys.exit(trials.run(check, 200))
