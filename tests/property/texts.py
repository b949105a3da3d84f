"""texts.py [--seed N] [--cases N]: StringConcat, StringSplit, StringNormalizer and TfIdfVectorizer against Python,
MurmurHash3 against onnxruntime, whose own it is."""

import itertools
import sys

import arrays
import nodes
import numpy as np
import onnxruntime
import trials

PIECES = ["", " ", "  ", "\t", "\u00a0", "\u3000", ",", ",,", "a", "b", "ab", "\u00e9", "\u0424\u0436", "\u4e2d", "ox"]
# Letters whose other case takes as many bytes, which Python knows, too.
LETTERS = [chr(c) for c in itertools.chain(range(0x20, 0x7f), range(0xc0, 0x180), range(0x1a0, 0x1a6),
                                           range(0x1cd, 0x220), range(0x246, 0x250), range(0x386, 0x3ce),
                                           range(0x400, 0x52f), range(0x1e00, 0x1e95))]


def simple(letter):
    """Whether the other cases of a letter are one character each, of as many bytes."""
    pairs = [(letter, letter.lower()), (letter, letter.upper())]
    others = "\u01dd\u01f1\u01f2\u01f3\u01f6\u01f7"  # partners far away, or three forms
    return all(len(b) == 1 and len(a.encode()) == len(b.encode()) for a, b in pairs) and letter not in others


LETTERS = [letter for letter in LETTERS if simple(letter)]


def text(rng, pieces=PIECES, most=8):
    return "".join(pieces[int(i)] for i in rng.integers(0, len(pieces), int(rng.integers(0, most))))


def texts(rng, dims, **how):
    made = np.empty(dims, object)
    for at in np.ndindex(*dims):
        made[at] = text(rng, **how)
    return made


def packed(made):
    encoded = np.empty(made.shape, object)
    for at in np.ndindex(*made.shape):
        encoded[at] = made[at].encode()
    return arrays.pairs_of(encoded)


def unpacked(array):
    return [t.decode() for t in arrays.texts_of(array).reshape(-1)]


def differs(got, wanted):
    if got.shape != wanted.shape:
        return f"shape {got.shape}, not {wanted.shape}"
    found = unpacked(got)
    return None if found == list(wanted.reshape(-1)) else f"{found}, not {list(wanted.reshape(-1))}"


def dims_of(rng, most=3):
    return [int(d) for d in rng.integers(0 if rng.random() < 0.1 else 1, 4, int(rng.integers(0, most + 1)))]


def concat(rng):
    dims = dims_of(rng)
    pair = []
    for _ in range(2):
        shape = [d if rng.random() < 0.7 else 1 for d in dims][int(rng.integers(0, len(dims) + 1)):]
        pair.append(texts(rng, shape if pair else dims))
    shape = np.broadcast_shapes(*(p.shape for p in pair))
    wanted = np.asarray(np.add(*np.broadcast_arrays(*pair)), object).reshape(shape)
    data = nodes.model_of("StringConcat", 20, {"x": "string", "y": "string"}, {"z": "string"})
    wrong = differs(nodes.run(data, [(packed(p), "string") for p in pair])[0], wanted)
    return wrong and f"StringConcat: {wrong}"


def split(rng):
    x = texts(rng, dims_of(rng))
    delimiter = [None, None, "", ",", ",,", "a", "\u00e9"][int(rng.integers(0, 7))]
    most = int(rng.integers(0, 4)) if rng.random() < 0.5 else None
    attributes = {} if delimiter is None else {"delimiter": delimiter}
    if most is not None:
        attributes["maxsplit"] = most
    lists = [t.split(delimiter or None, -1 if most is None else most) for t in x.reshape(-1)]
    width = max(map(len, lists), default=0)
    wanted = np.array([part + [""] * (width - len(part)) for part in lists], object).reshape(*x.shape, width)
    counts = np.array([len(part) for part in lists], np.int64).reshape(x.shape)
    data = nodes.model_of("StringSplit", 20, {"x": "string"}, {"y": "string", "z": "int64"}, **attributes)
    got = nodes.run(data, [(packed(x), "string")])
    wrong = differs(got[0], wanted) or (None if np.array_equal(got[1], counts) else f"counts {got[1]}, not {counts}")
    return wrong and f"StringSplit {list(x.reshape(-1))} {attributes}: {wrong}"


def normalize(rng):
    x = texts(rng, [int(rng.integers(0, 9))], pieces=LETTERS, most=3)
    if rng.random() < 0.5:
        x = x.reshape(1, -1)
    action, exact = str(rng.choice(["NONE", "LOWER", "UPPER"])), bool(rng.random() < 0.5)
    stops = [t if rng.random() < 0.5 else t.swapcase() for t in x.reshape(-1) if rng.random() < 0.3]
    fold = (lambda t: t) if exact else (lambda t: "".join(c.lower() for c in t))
    kept = [t for t in x.reshape(-1) if fold(t) not in map(fold, stops)] or [""]
    change = {"NONE": lambda c: c, "LOWER": str.lower, "UPPER": str.upper}[action]
    wanted = np.array(["".join(map(change, t)) for t in kept], object).reshape((-1,) if x.ndim == 1 else (1, -1))
    attributes = {"case_change_action": action, "is_case_sensitive": int(exact)}
    if stops:
        attributes["stopwords"] = stops
    data = nodes.model_of("StringNormalizer", 10, {"x": "string"}, {"y": "string"}, **attributes)
    wrong = differs(nodes.run(data, [(packed(x), "string")])[0], wanted)
    return wrong and f"StringNormalizer {list(x.reshape(-1))} {attributes}: {wrong}"


def count_grams(row, grams, least, most, skips):
    """How often each n-gram is found; single items are found with no skip alone."""
    counts = {}
    for distance in range(1, skips + 2):
        for size in range(least, most + 1):
            if size == 1 and distance > 1:
                continue
            for start in range(len(row) - distance * (size - 1)):
                gram = tuple(row[start:start + distance * size:distance][:size])
                if gram in grams:
                    counts[gram] = counts.get(gram, 0) + 1
    return counts


def tfidf(rng):
    kind, mode = str(rng.choice(["int32", "int64", "string"])), str(rng.choice(["TF", "IDF", "TFIDF"]))
    longest = int(rng.integers(1, 4))
    least = int(rng.integers(1, longest + 1))
    skips = int(rng.integers(0, 6))
    alphabet = ["a", "b", "ox", "\u00e9"] if kind == "string" else [-5, 0, 7, 1000]
    pool, starts, grams = [], [], []
    for size in range(1, longest + 1):
        starts.append(len(pool))
        every = list(itertools.product(alphabet, repeat=size))
        chosen = [every[int(i)] for i in rng.permutation(len(every))[:int(rng.integers(0, 6))]]
        grams += chosen
        pool += [item for gram in chosen for item in gram]
    if not grams:
        return None
    places = [int(i) for i in rng.permutation(len(grams) + 2)[:len(grams)]]
    weights = [float(w) for w in rng.integers(1, 9, len(grams))]
    dims = [int(rng.integers(1, 30))] if rng.random() < 0.5 else [int(d) for d in rng.integers(1, 9, 2)]
    index = rng.integers(0, len(alphabet), dims)
    rows = [[alphabet[int(i)] for i in row] for row in index.reshape(-1, dims[-1])]
    wanted = np.zeros((len(rows), max(places) + 1), np.float32)
    wide = {gram: (place, weight) for gram, place, weight in zip(grams, places, weights)}
    for made, row in zip(wanted, rows):
        for gram, count in count_grams(row, wide, least, longest, skips).items():
            place, weight = wide[gram]
            made[place] = {"TF": count, "IDF": weight, "TFIDF": count * weight}[mode]
    attributes = {"mode": mode, "ngram_counts": starts, "ngram_indexes": places, "weights": weights,
                  "min_gram_length": least, "max_gram_length": longest, "max_skip_count": skips,
                  "pool_strings" if kind == "string" else "pool_int64s": pool}
    if kind == "string":
        made = np.array([alphabet[int(i)] for i in index.reshape(-1)], object).reshape(dims)
        x = packed(made)
    else:
        x = np.array(alphabet, arrays.DTYPES[kind][1])[index]
    data = nodes.model_of("TfIdfVectorizer", 9, {"x": kind}, {"y": "float"}, **attributes)
    got = nodes.run(data, [(x, kind)])[0]
    wanted = wanted.reshape(-1) if len(dims) == 1 else wanted
    return None if nodes.same(got, wanted) else f"TfIdfVectorizer {rows} {attributes}: {got}, not {wanted}"


def murmur(rng):
    kind = ["string", "int32", "uint32", "int64", "uint64", "float", "double"][int(rng.integers(0, 7))]
    if kind == "string":
        x = texts(rng, dims_of(rng))
        given = packed(x)
    else:
        given = x = rng.integers(0, 1 << 31, dims_of(rng)).astype(arrays.DTYPES[kind][1])
    result = "uint32" if rng.random() < 0.5 else "int32"
    data = nodes.model_of("MurmurHash3", 21, {"x": kind}, {"z": result}, domain="com.microsoft",
                          positive=int(result == "uint32"), seed=int(rng.integers(0, 1000)))
    wanted = onnxruntime.InferenceSession(data, providers=["CPUExecutionProvider"]).run(None, {"x": x})[0]
    got = nodes.run(data, [(given, kind)])[0]
    return None if np.array_equal(got, wanted) else f"MurmurHash3 of {kind}: {x}: {got}, not {wanted}"


def check(rng, _):
    return [concat, split, split, normalize, tfidf, murmur][int(rng.integers(0, 6))](rng)


if __name__ == "__main__":
    sys.exit(trials.run(check, 800))
