"""hostile.py OX NODES: the plug-ins of the command OX with what they should never get: images that are damaged or
claim to be huge, patterns that are none or take other engines forever. NODES: the folder of ONNX's node cases."""

import pathlib
import random
import struct
import subprocess
import sys
import tempfile

import numpy as np
import tally
from onnx import TensorProto, helper, numpy_helper, save

FORMATS = ["bmp", "jpeg2k", "jpeg", "png", "pnm", "tiff", "webp"]
results = [0, 0]


def judge(is_right, text):
    results[not is_right] += 1
    if not is_right:
        print(f"failed: {text}")


def run(ox, model, value):
    """(exit status, what ox prints) for one input."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder)
        save(model, path / "model.onnx")
        (path / "x.pb").write_bytes(numpy_helper.from_array(value, "x").SerializeToString())
        done = subprocess.run([ox, "run", path / "model.onnx", "-i", path / "x.pb", "--json"], capture_output=True,
                              text=True, timeout=20, check=False)
    return done.returncode, done.stdout + done.stderr


def model_of(operator, in_type, out_type, rank, **attributes):
    node = helper.make_node(operator, ["x"], ["y"], **attributes)
    x = helper.make_tensor_value_info("x", in_type, ["n"])
    y = helper.make_tensor_value_info("y", out_type, [None] * rank)
    return helper.make_model(helper.make_graph([node], "g", [x], [y]), opset_imports=[helper.make_opsetid("", 20)],
                             ir_version=10)


def stream_of(nodes, form):
    case = next(nodes.glob(f"test_image_decoder_decode_{form}_*"))
    tensor = TensorProto.FromString((case / "test_data_set_0" / "input_0.pb").read_bytes())
    return numpy_helper.to_array(tensor).tobytes()


def images(ox, nodes):
    rng = random.Random(5)
    model = model_of("ImageDecoder", TensorProto.UINT8, TensorProto.UINT8, 3)
    for form in FORMATS:
        whole = stream_of(nodes, form)
        for turn in range(12):
            damaged = bytearray(whole[:rng.randrange(len(whole))] if turn % 3 == 0 else whole)
            for _ in range(rng.randrange(1, 6)):
                damaged[rng.randrange(len(damaged) // (1 + turn % 2 * 9) + 1) % len(damaged or b"x")] = rng.randrange(256)
            status, said = run(ox, model, np.frombuffer(bytes(damaged) or b"x", np.uint8))
            judge(status in (0, 1) and "anitizer" not in said, f"{form} {turn}: status {status}: {said[:300]}")
    for empty in [b"", b"P", b"P6", b"BM", b"\x89PNG\r\n\x1a\n", b"no image at all"]:
        status, said = run(ox, model, np.frombuffer(empty, np.uint8))
        judge(status == 0 and "[0,0,3]" in said.replace(" ", ""), f"{empty}: {said[:300]}")
    huge = b"BM" + bytes(12) + struct.pack("<IiiHHI", 40, 2**31 - 1, 2**31 - 1, 1, 24, 0) + bytes(60)
    status, said = run(ox, model, np.frombuffer(huge, np.uint8))
    judge(status == 1 and "the image has more than 67108864 pixels" in said, f"a huge image: {said[:300]}")
    # Plain formats, pixel by pixel: maximum values, comments, both orders of rows, palettes.
    cases = {
        b"P2 # gray\n2 1 3 1 3": [85] * 3 + [255] * 3, b"P1 2 1 10": [0] * 3 + [255] * 3,
        b"P4 2 1\n\x40": [255] * 3 + [0] * 3, b"P3 1 1 255 1 2 3": [1, 2, 3],
        b"P6 1 1 65535\n\xff\xff\x00\x00\x80\x80": [255, 0, 128], b"P5 1 1 9\n\x0a": [],
        b"BM" + bytes(8) + struct.pack("<IIiiHHIIIIII", 62, 40, 2, -1, 1, 1, 0, 0, 0, 0, 2, 0) +
        bytes([1, 2, 3, 0, 4, 5, 6, 0, 0x40, 0, 0, 0]): [3, 2, 1, 6, 5, 4],
        b"BM" + bytes(8) + struct.pack("<IIiiHHIIIIII", 54, 40, 1, 2, 1, 24, 0, 0, 0, 0, 0, 0) +
        bytes([1, 2, 3, 0, 4, 5, 6, 0]): [6, 5, 4, 3, 2, 1],
    }
    for stream, wanted in cases.items():
        status, said = run(ox, model, np.frombuffer(stream, np.uint8))
        numbers = "".join(c if c.isdigit() else " " for c in said.rsplit('"values"', 1)[-1]).split()
        judge(status == 0 and list(map(int, numbers)) == wanted, f"{stream}: {said[:300]}")


def patterns(ox):
    def matches(pattern, *texts):
        model = model_of("RegexFullMatch", TensorProto.STRING, TensorProto.BOOL, 1, pattern=pattern)
        return run(ox, model, np.array(texts, object))

    status, said = matches("a(b", "ab")
    judge(status == 1 and "attribute 'pattern' is no pattern of RE2: missing ): a(b" in said, said[:300])
    status, said = matches(r"(a*)*b", "a" * 200000, "a" * 200000 + "b")
    judge(status == 0 and "false" in said and "true" in said, said[:300])
    status, said = matches(r"\p{Greek}+", "\u03b1\u03b2", "ab", "")
    judge(status == 0 and "true" in said, said[:300])


def tokens(ox):
    def cut(*texts, **attributes):
        model = model_of("Tokenizer", TensorProto.STRING, TensorProto.STRING, 2, domain="com.microsoft",
                         **{"mark": 0, "mincharnum": 1, "pad_value": "", **attributes})
        model.opset_import.append(helper.make_opsetid("com.microsoft", 1))
        return run(ox, model, np.array(texts, object))

    for attributes, said in [
        ({"separators": [" ", "a(b"]}, "attribute 'separators' is no pattern of RE2: missing ): a(b"),
        ({"tokenexp": "(?<x>a)\\1"}, "attribute 'tokenexp' is no pattern of RE2"),
        ({"tokenexp": "a|b", "mincharnum": 0}, "attribute 'mincharnum' is 0, less than 1"),
        ({"separators": ["a|b"] * 65}, "there are 65 separators, at most 64 are supported"),
        ({"tokenexp": "a|b", "separators": [" "]}, "there must be one of 'separators' and 'tokenexp', and not empty"),
        ({"separators": ["\\B"]}, "a match begins or ends within a character"),
    ]:
        status, text = cut("x\u00e9y", **attributes)
        judge(status == 1 and said in text, f"Tokenizer {attributes}: {text[:300]}")
    status, said = cut("a" * 200000 + "b", tokenexp="(a*)*b")
    judge(status == 0 and "a" * 200000 + "b" in said, said[:300])
    status, said = cut("a" * 3000, "", separators=["(?:)", "(a|b)*c"] * 32)
    judge(status == 0 and '"shape": [2, 0]' in said, said[:300])
    for size in (0, 1, 1000):  # patterns that the library itself leaves to the plug-in, by size as well
        status, said = cut("xay" + "b" * size, tokenexp="a|" + "b" * size + "c?")
        judge(status == 0 and '"a"' in said, said[:300])


def main():
    ox, nodes = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    skipped = 0
    for plugin, test in (("image", lambda: images(ox, nodes)), ("regex", lambda: patterns(ox)),
                         ("regex", lambda: tokens(ox))):
        if (ox.parent / "plugins" / f"{plugin}.so").exists():
            test()
        else:
            skipped += 1
            print(f"skipped: the tests of {plugin}.so, which could not be built here")
    return tally.finish(results[0], results[1], skipped)


if __name__ == "__main__":
    sys.exit(main())
