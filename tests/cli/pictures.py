"""pictures.py OX DIR: pictures that are resized, cropped and scaled, and the likeliest classes with their labels.

What a picture should become is computed here with numpy, as the libraries do that networks are trained with: the
shorter side, a filter that widens when a picture gets smaller, the middle, the mean and the standard deviation.
"""

import json
import os
import pathlib
import subprocess
import sys

import numpy as np
from onnx import TensorProto, helper, save
from tally import check, finish

OX = os.path.abspath(sys.argv[1])
DIR = pathlib.Path(sys.argv[2]) / "pictures"
MEAN, STD = np.array([0.485, 0.456, 0.406]), np.array([0.229, 0.224, 0.225])


def ox(status, *arguments, stdin=None):
    done = subprocess.run([OX, *map(str, arguments)], cwd=DIR, capture_output=True, timeout=60, input=stdin)
    out, err = done.stdout, done.stderr.decode()
    check(f"ox {' '.join(map(str, arguments))}: status", done.returncode == status, (done.returncode, err[:400]))
    return out, err


def fails(text, *arguments, status=1):
    _, err = ox(status, *arguments)
    check(f"ox {' '.join(map(str, arguments))}: message", text in err and err.count("\n") <= 2, err)


def write(name, dims, dtype=TensorProto.FLOAT):
    node = helper.make_node("Identity", ["x"], ["y"])
    values = [helper.make_tensor_value_info(value, dtype, dims) for value in "xy"]
    graph = helper.make_graph([node], name, values[:1], values[1:])
    save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10), DIR / f"{name}.onnx")


def ppm(name, picture):
    height, width, _ = picture.shape
    (DIR / name).write_bytes(b"P6 %d %d 255\n" % (width, height) + picture.tobytes())


def resample(picture, size, axis):
    """One side of a picture resized: means weighted by a triangle as wide as what falls into a pixel."""
    count = picture.shape[axis]
    scale = count / size
    reach = max(scale, 1)
    centers = (np.arange(size) + 0.5) * scale
    weights = np.maximum(0, 1 - abs(np.arange(count) + 0.5 - centers[:, None]) / reach)
    weights /= weights.sum(1, keepdims=True)
    return np.moveaxis(np.tensordot(weights, picture.astype(float), (1, axis)), 0, axis)


def resized(picture, width, height):
    return resample(resample(picture, width, 1), height, 0)


def cropped(picture, width, height):
    top, left = round((picture.shape[0] - height) / 2), round((picture.shape[1] - width) / 2)
    return picture[top:top + height, left:left + width]


def shorter(picture, side):
    height, width, _ = picture.shape
    return resized(picture, side * width // min(height, width), side * height // min(height, width))


def run(model, source, stdin=None):
    out, err = ox(0, "run", f"{model}.onnx", "-i", f"x={source}", "-o", "y=y.npy", "--quiet", stdin=stdin)
    return np.load(DIR / "y.npy")


def equal(what, got, wanted, slack):
    good = got.shape == wanted.shape and abs(got - wanted).max() <= slack
    check(what, good, f"{got.shape} {wanted.shape} " + (str(abs(got - wanted).max()) if got.shape == wanted.shape else ""))


def planes(picture):
    return picture.transpose(2, 0, 1)[None]


def check_sizes(rng):
    """Rounding to bytes after each of the two sides may move a sample by one."""
    for height, width in ((37, 53), (53, 37), (30, 30), (7, 90), (1, 1)):
        picture = rng.integers(0, 256, (height, width, 3), np.uint8)
        ppm("p.ppm", picture)
        for side in (1, 12, 30, 70):
            square = cropped(shorter(picture, side), side, side)
            equal(f"{height}x{width}, resize={side}", run("open", f"p.ppm,resize={side}"), planes(square), 1.01)
        for w, h in ((20, 11), (60, 80), (53, 37)):
            equal(f"resize={w}x{h}", run("open", f"p.ppm,resize={w}x{h}"), planes(resized(picture, w, h)), 1.01)
        whole = cropped(shorter(picture, 16), 12, 9)
        equal("resize and crop", run("open", "p.ppm,crop=12x9,resize=16"), planes(whole), 1.01)
    picture = rng.integers(0, 256, (11, 16, 3), np.uint8)
    ppm("p.ppm", picture)
    equal("crop alone", run("open", "p.ppm,crop=7"), planes(cropped(picture, 7, 7)), 0)
    equal("the same size", run("open", "p.ppm,resize=16x11"), planes(picture), 0)
    slope = np.repeat(np.arange(0, 200, 2, dtype=np.uint8)[:, None], 3, 1)[None].repeat(50, 0)
    ppm("slope.ppm", slope)
    half = run("open", "slope.ppm,resize=50x25")
    equal("a slope stays one", half[0, :, 3], np.tile(np.arange(50) * 4 + 1.0, (3, 1)), 1.01)


def check_values(rng):
    picture = rng.integers(0, 256, (6, 5, 3), np.uint8)
    ppm("p.ppm", picture)
    samples = picture / 255
    normal = planes((samples - MEAN) / STD)
    words = "mean=[0.485,0.456,0.406],std=[0.229,0.224,0.225]"
    for text in (words, words.replace("[", "").replace("]", ""), words + ",range=1", "layout=nchw," + words):
        equal(text, run("open", f"p.ppm,{text}"), normal, 1e-6)
    equal("range=1", run("open", "p.ppm,range=1"), planes(samples), 1e-7)
    equal("range=255", run("open", "p.ppm,range=255"), planes(picture), 0)
    equal("one mean", run("open", "p.ppm,mean=0.5,std=0.25"), planes((samples - 0.5) / 0.25), 1e-6)
    equal("mean alone", run("open", "p.ppm,mean=0.5"), planes(samples - 0.5), 1e-6)
    equal("mean of 0 to 255", run("open", "p.ppm,mean=[123.5,116,103],std=58,range=255"),
          planes((picture - np.array([123.5, 116, 103])) / 58), 1e-5)
    equal("blue first", run("open", "p.ppm,channels=bgr,mean=[0.1,0.2,0.3]"),
          planes(samples[..., ::-1] - np.array([0.1, 0.2, 0.3])), 1e-6)
    equal("channels last", run("any", f"p.ppm,layout=nhwc,{words}"), ((samples - MEAN) / STD)[None], 1e-6)
    equal("channels last, no batch", run("any", "p.ppm,layout=HWC"), picture, 0)
    equal("planes alone", run("any", "p.ppm,layout=chw"), picture.transpose(2, 0, 1), 0)
    equal("ambiguous dims", run("square", "p.ppm,resize=3x3,layout=nhwc"), resized(picture, 3, 3)[None], 1.01)
    equal("bytes", run("bytes", "p.ppm,crop=4"), planes(cropped(picture, 4, 4)), 0)
    equal("standard input", run("open", "-,resize=5x6", (DIR / "p.ppm").read_bytes()), planes(picture), 0)
    equal("without a name", np.load(DIR / "y.npy"), planes(picture), 0)
    (DIR / "a,crop=2.ppm").write_bytes((DIR / "p.ppm").read_bytes())
    equal("a file's name with a comma", run("open", "a,crop=2.ppm"), planes(picture), 0)
    equal("and options", run("open", "a,crop=2.ppm,crop=3"), planes(cropped(picture, 3, 3)), 0)
    (DIR / "noname").write_bytes((DIR / "p.ppm").read_bytes())
    equal("a name without a suffix", run("open", "noname,crop=3"), planes(cropped(picture, 3, 3)), 0)
    ox(0, "run", "open.onnx", "-i", "p.ppm,resize=4", "--quiet")


def check_mistakes():
    np.save(DIR / "x.npy", np.zeros(3, np.float32))
    for options, text in (
            ("resize=0", "resize wants a number of pixels for the shorter side, or a width and a height such as 320x240, "
                         "not '0'"),
            ("resize", "resize wants a number of pixels"), ("resize=", "not ''"), ("resize=8x", "not '8x'"),
            ("resize=8x8x8", "not '8x8x8'"), ("resize=-8", "not '-8'"), ("resize=8,9", "not '8,9'"),
            ("resize=99999999999999999999", "resize wants"), ("resize=300000x300000", "resize wants"),
            ("resize=268435456", "would be"), ("crop=", "crop wants a number of pixels for both sides"),
            ("crop=6x7", "6x7 cannot be cropped out of an image that is 5 wide and 6 high"),
            ("resize=4,crop=5", "5x5 cannot be cropped out of an image that is 4 wide and 4 high"),
            ("mean=", "mean wants a number, or one for each channel: [R,G,B], not ''"), ("mean=[1,2", "not '[1,2'"),
            ("mean=a", "not 'a'"), ("mean=nan", "not 'nan'"), ("mean=1,2,3,4,5", "not '1,2,3,4,5'"),
            ("mean=0.1,0.2", "mean has 2 values but the input has 3 channels"), ("std=0", "std wants a number above 0"),
            ("std=[1,1,-1]", "not '[1,1,-1]'"), ("std=1,1,1,1", "std has 4 values but the input has 3 channels"),
            ("mean=[123.675,116.28,103.53]", "mean 123.675 does not suit samples from 0 to 1: with range=255"),
            ("range=2", "range wants 1 for samples from 0 to 1, or 255 for samples from 0 to 255, not '2'"),
            ("layout=nwhc", "layout wants nchw, nhwc, chw, hwc or hw, not 'nwhc'"),
            ("layout=hwc", "layout=hwc has 3 dimensions but the model wants 4"),
            ("channels=brg", "channels wants rgb or bgr, not 'brg'"),
            ("resise=4", "a picture has no option 'resise'; did you mean 'resize'?"),
            ("resize=4,resize=5", "resize is given twice"), ("x", "a picture has no option 'x'")):
        fails(text, "run", "open.onnx", "-i", f"x=p.ppm,{options}")
    fails("this is no picture: it takes no option", "run", "any.onnx", "-i", "x=x.npy,resize=4")
    fails("channels=bgr needs 3 or 4 channels but the input has 1", "run", "grey.onnx", "-i", "x=p.ppm,channels=bgr")
    fails("value 0.", "run", "bytes.onnx", "-i", "x=p.ppm,crop=4,range=1")
    fails("resize=4x4 resizes it, and resize=4 its shorter side", "run", "bytes.onnx", "-i", "x=p.ppm")
    fails("No such file", "run", "open.onnx", "-i", "x=none.ppm,resize=4")
    fails("has nothing to read", "run", "-", "-i", "x=-,resize=4")


def top(*arguments, status=0):
    return ox(status, "run", "any.onnx", "-i", "x=scores.npy", *arguments)


def check_top(rng):
    scores = np.array([[0.1, 0.05, 0.6, 0.25], [0.2, 0.4, 0.4, 0]], np.float32)
    np.save(DIR / "scores.npy", scores)
    (DIR / "labels.txt").write_text("cat\ndog\r\nhouse, \u00e9\nboat\n\n")
    out, err = top("--top", 2, "--labels", "labels.txt")
    wanted = ("y: float [2,4]\n[0]\n   60.00 %  2  house, \u00e9\n   25.00 %  3  boat\n"
              "[1]\n   40.00 %  1  dog\n   40.00 %  2  house, \u00e9\n")
    check("the likeliest classes", out.decode() == wanted and not err, out.decode() + err)
    out, _ = top("--top", 9)
    check("more than there are", out.decode().count("%") == 8, out)
    found = json.loads(top("--top", 1, "--labels", "labels.txt", "--json")[0])["outputs"][0]["top"]
    check("as JSON", [row[0]["label"] for row in found] == ["house, \u00e9", "dog"], found)
    (DIR / "short.txt").write_text("cat\ndog\x1b\nhouse")
    out, err = top("--labels", "short.txt")
    check("labels imply the first", "   25.00 %  3\n" in out.decode() and "dog\\x1b" in out.decode(), out)
    check("a wrong count", "warning: short.txt has 3 labels, but output 'y' has 4 classes" in err, err)
    logits = rng.standard_normal((1, 300, 1, 1)).astype(np.float32) * 5
    np.save(DIR / "scores.npy", logits)
    likely = np.exp(logits - logits.max()).ravel()
    likely /= likely.sum()
    wanted = "".join(f"{100 * likely[i]:8.2f} %  {i:3}\n" for i in np.argsort(-likely)[:3])
    out, _ = top("--top", 3)
    check("softmax", out.decode() == "y: float [1,300,1,1]\n" + wanted, out.decode() + wanted)
    np.save(DIR / "scores.npy", np.array([np.nan, 0.5, 1, np.inf], np.float32))
    out, _ = top("--top", 4)
    order = [line.split()[-1] for line in out.decode().splitlines()[1:]]
    check("what is not finite", order == ["3", "2", "1", "0"], out)
    found = json.loads(top("--top", 4, "--json")[0])["outputs"][0]["top"]
    check("what is not finite as JSON", [entry["probability"] for entry in found[0]] == [None, 1, 0.5, None], found)
    np.save(DIR / "scores.npy", np.zeros((1, 4, 5), np.float32))
    fails("--top wants an output of floats of shape [C] or [N,C]: 'y' is float [1,4,5]", "run", "any.onnx", "-i",
          "x=scores.npy", "--top", 2)
    fails("No such file", "run", "any.onnx", "-i", "x=scores.npy", "--labels", "none.txt")
    fails("--top wants a number of 1 and more, not '0'", "run", "any.onnx", "--top", 0, status=2)
    fails("--stats and --top both say what is printed", "run", "any.onnx", "--top", 1, "--stats", status=2)


def main():
    DIR.mkdir(parents=True, exist_ok=True)
    write("open", ["n", 3, "h", "w"])
    write("any", None)
    write("square", [1, 3, 3, 3])
    write("grey", [1, 1, "h", "w"])
    write("bytes", [1, 3, 4, 4], TensorProto.UINT8)
    rng = np.random.default_rng(5)
    check_sizes(rng)
    check_values(rng)
    check_mistakes()
    check_top(rng)
    return finish()


if __name__ == "__main__":
    sys.exit(main())
