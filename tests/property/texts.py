"""texts.py [--seed N] [--cases N]: StringConcat, StringSplit, StringNormalizer and TfIdfVectorizer against Python,
MurmurHash3 and Tokenizer against onnxruntime, whose own they are."""

import itertools
import sys
import unicodedata

import arrays
import nodes
import numpy as np
import onnxruntime
import trials

PIECES = ["", " ", "  ", "\t", "\u00a0", "\u3000", ",", ",,", "a", "b", "ab", "\u00e9", "\u0424\u0436", "\u4e2d", "ox"]
# Newer versions of Unicode have more letters than src/ops/text/letters.inc, older ones fewer.
AGES = [unicodedata] if unicodedata.unidata_version.startswith("14.") else [unicodedata.ucd_3_2_0]
CHARACTERS = [c for c in map(chr, range(0x110000)) if AGES[0].category(c) not in ("Cn", "Cs", "Co")]
LETTERS = [c for c in CHARACTERS if c.lower() != c or c.upper() != c]
MARKS = [c for c in CHARACTERS if unicodedata.combining(c)]
# What the rules for the last sigma of a word, for Turkic languages and for Lithuanian ask about.
RULED = list("\u03a3\u03a3\u03c3\u03c2iIjJ\u0130\u0131\u012e\u012f\xcc\xcd\u0128\u0307\u0307\u0300\u0323 a.'\xad\u02b0")
TURKIC, LITHUANIAN = ("tr", "tr_TR", "az-Latn", "tr.UTF-8"), ("lt", "lt_LT")
OTHERS = ("", "en_US", "C", "de_DE.UTF-8", "trx", "t", "lta")


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


# ---- The other case, by Unicode's SpecialCasing.txt -----------------------------------------------------------------


def behind(t, at):
    """The first character from a place on that is neither a letter nor a mark above; "" if there is none."""
    return next((c for c in t[at:] if unicodedata.combining(c) in (0, 230)), "")


def before(t, at):
    return behind(t[:at][::-1], 0)


def turkic(t, upper):
    """A text whose letters i, which Turkic languages write in another way, are what they become in the end."""
    if upper:
        return t.replace("i", "\u0130").upper()
    made = ""
    for i, c in enumerate(t):
        if c == "I":
            made += "\ue001" if behind(t, i + 1) == "\u0307" else "\ue000"
        elif c != "\u0307" or before(t, i) != "I":
            made += c
    # What stands for letters is no letter, so that a sigma next to it would not see one: "a" does in its place.
    return lower_with(made.replace("\u0130", "\ue001"), {"\ue000": "\u0131", "\ue001": "i"})


def lower_with(t, standing):
    """str.lower where some characters stand for letters that come out as they are."""
    shown = "".join("a" if c in standing else c for c in t)
    made = ""
    for i, c in enumerate(t):
        if c == "\u03a3":  # by what is around it
            made += (shown[:i] + c + shown[i + 1:]).lower()[len(shown[:i].lower())]
        else:
            made += standing.get(c, c.lower())
    return made


def lithuanian(t, upper):
    if upper:
        dotted = set("ij\u012f\u0268\u1e2d\u1ecb\u0456\u0458")
        return "".join(c for i, c in enumerate(t) if c != "\u0307" or before(t, i) not in dotted).upper()
    made = ""
    for i, c in enumerate(t):
        follows = behind(t, i + 1)
        if c in "\xcc\xcd\u0128":
            made += "i\u0307" + unicodedata.normalize("NFD", c)[1]
        elif c in "IJ\u012e" and follows and unicodedata.combining(follows) == 230:
            made += c.lower() + "\u0307"
        else:
            made += lower_with(t[:i] + c + t[i + 1:], {})[len(lower_with(t[:i], {})):][:len(c.lower())]
    return made


def changed(t, action, locale):
    """A text in the other case."""
    if action == "NONE":
        return t
    if locale in TURKIC:
        return turkic(t, action == "UPPER")
    if locale in LITHUANIAN:
        return lithuanian(t, action == "UPPER")
    return t.upper() if action == "UPPER" else t.lower()


def normalize(rng):
    pieces = [LETTERS, RULED, RULED, [*LETTERS, *MARKS, *"ab '"], CHARACTERS][int(rng.integers(0, 5))]
    x = texts(rng, [int(rng.integers(0, 9))], pieces=pieces, most=9 if rng.random() < 0.7 else 3)
    if rng.random() < 0.5:
        x = x.reshape(1, -1)
    action, exact = str(rng.choice(["NONE", "LOWER", "UPPER"])), bool(rng.random() < 0.5)
    locales = OTHERS if rng.random() < 0.5 else TURKIC if rng.random() < 0.6 else LITHUANIAN
    locale = str(rng.choice(locales))
    stops = [t if rng.random() < 0.5 else changed(t, "LOWER", locale) for t in x.reshape(-1) if rng.random() < 0.3]
    fold = (lambda t: t) if exact else (lambda t: changed(t, "LOWER", locale).replace("\u03c2", "\u03c3"))
    kept = [t for t in x.reshape(-1) if fold(t) not in map(fold, stops)] or [""]
    wanted = np.array([changed(t, action, locale) for t in kept], object)
    attributes = {"case_change_action": action, "is_case_sensitive": int(exact)}
    if stops:
        attributes["stopwords"] = stops
    if locale:
        attributes["locale"] = locale
    data = nodes.model_of("StringNormalizer", 10, {"x": "string"}, {"y": "string"}, **attributes)
    wrong = differs(nodes.run(data, [(packed(x), "string")])[0], wanted.reshape((-1,) if x.ndim == 1 else (1, -1)))
    return wrong and f"StringNormalizer {list(x.reshape(-1))} {attributes}: {wrong}"


def every_letter(_):
    """All characters by themselves, before and behind a sigma; bytes that are no UTF-8."""
    x = np.array([*CHARACTERS, *[c + "\u03a3" for c in CHARACTERS], *["a\u03a3" + c + "b" for c in CHARACTERS]], object)
    for action in ("LOWER", "UPPER"):
        data = nodes.model_of("StringNormalizer", 10, {"x": "string"}, {"y": "string"}, case_change_action=action)
        wanted = np.array([changed(t, action, "") for t in x], object)
        got = arrays.texts_of(nodes.run(data, [(packed(x), "string")])[0])
        for t, a, b in zip(x, got, wanted):
            if a.decode() != b:
                return f"{action} of {t!r} is {a.decode()!r}, not {b!r}"
        broken = [b"\xffA\x80b", b"\xe4\xb8A", b"\xc3", b"a\xce", b"\xf4\x90\x80\x80z", b"\x80\xce\xa3"]
        array = np.empty(len(broken), object)
        array[:] = broken
        got = list(arrays.texts_of(nodes.run(data, [(arrays.pairs_of(array), "string")])[0]))
        change = (lambda t: t.replace(b"\xce\xa3", b"\xcf\x83").lower()) if action == "LOWER" else bytes.upper
        if got != [change(t) for t in broken]:
            return f"{action} of bytes that are no characters: {got}"
    return None


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


SEPARATORS = [" ", ",", ",,", "ab", "b", "\u00e9", "a\u00e9", "\\.", "[.]", "[ ,]", "\\s", "\\?", "[^a-z]", "a+", "x.", "\\_", "}",
              "[ ,]{2,}", "\\w\\d", "[]a]"]
EXPRESSIONS = ["[a-zA-Z0-9_]+", "\\w\\w+", "[ab\u00e9]{2,}", "[^ ]+", "[\\w\u00e9-\u4e2d]+", "ab", "a.", "\\d{3,}", ".+",
               "[]a-]+", "[+--]+", "[a[]+", "[\\]\\s^]+", "[a-b-c]+"]
LOOSE = [" ", " ", ",", ",,", "a", "b", "ab", "\u00e9", "\u4e2d", "ox", "X", "_", "7", "42", ".", "?", "\n", "\t", "}", "]", "-",
         "[", "^", "+", "\U0001f600"]


def tokenizer(rng):
    x = texts(rng, dims_of(rng, 2) or [3], pieces=LOOSE, most=14 if rng.random() < 0.8 else 2)
    attributes = {"mark": int(rng.integers(0, 2)), "mincharnum": int(rng.integers(1, 4)),
                  "pad_value": str(rng.choice(["#", "", "\u00e9\u00e9"]))}
    which = rng.random()
    if which < 0.1:
        attributes |= {"separators": [""]} if rng.random() < 0.5 else {"tokenexp": "."}
        attributes["mincharnum"] = 1
    elif which < 0.6:
        attributes["separators"] = [str(t) for t in rng.choice(SEPARATORS, int(rng.integers(1, 5)))]
    else:
        attributes["tokenexp"] = str(rng.choice(EXPRESSIONS))
    data = nodes.model_of("Tokenizer", 21, {"x": "string"}, {"z": "string"}, domain="com.microsoft", **attributes)
    wanted = onnxruntime.InferenceSession(data, providers=["CPUExecutionProvider"]).run(None, {"x": x})[0]
    wrong = differs(nodes.run(data, [(packed(x), "string")])[0], wanted)
    return wrong and f"Tokenizer {x.tolist()} {attributes}: {wrong}"


def check(rng, number):
    if number == 0:
        return every_letter(rng)
    return [concat, split, split, normalize, tfidf, murmur, tokenizer, tokenizer][int(rng.integers(0, 8))](rng)


if __name__ == "__main__":
    sys.exit(trials.run(check, 800))
