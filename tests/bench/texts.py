"""texts.py: what a page of benchmarks says besides numbers."""

HEAD = """# Benchmarks

`make bench` on a quiet machine writes this page. Every case is a small ONNX model. All contenders run it in one process
and take turns, with the same inputs. Before each turn a copy of 64 MiB fills the caches, so that none finds there what
another one read; a turn is one run to warm up and then two milliseconds of runs. A table is gone through in some rounds,
each with models and memory of its own, and what is shown is the median of all turns. Memory for outputs is there before
the first run: ONNX Runtime has inputs and output bound in advance, numpy and OpenBLAS write into an array that they are
given, and freed blocks are kept for the peers that return new tensors. ox is called in a loop in C, and so are OpenBLAS,
rten and tract; the calls of ONNX Runtime and numpy come from Python, which costs each of them some tenths of a
microsecond and matters in the tiny cases only.

*x/ox* is the time of x divided by ox's: above 1, ox is faster. *best* is the fastest of the others; "slower" marks
cases in which it is more than 5 % faster than ox.
"""

TITLES = {"elementwise": "Elementwise operators", "products": "Matrix products", "layers": "Layers of networks", "loops": "Loops",
          "quantized": "Bytes", "nbits": "Weights of 4 bits", "trees": "Trees", "planning": "Planning", "models": "Whole networks", "starts": "Starting with networks"}

INTRODUCTIONS = {
    "elementwise": """The cases are those of `tests/bench/models.py`. *GB/s* counts every input once and the output once;
*of memcpy* relates that to a copy of 64 MiB measured between the same turns.""",
    "products": """The cases are those of `tests/bench/products.py`, with sizes as rows x columns x inner dimension. The
right operand is an initializer, which a runtime may arrange beforehand, except where both are given at run time, and in
batches of two three- or four-dimensional operands. OpenBLAS computes the product alone (cblas_sgemm or cblas_dgemm),
without the bias or the PRelu of some cases, and of float32 and float64 only. *GFLOP/s* counts two operations for each
multiplication; *of peak* relates that to multiply-adds out of registers measured between the same turns: of doubles
for double, of float32 for all other types, so that what integers reach may be above 1.""",
    "layers": """The cases are those of `tests/bench/layers.py`: layers of networks that many know, with the activation
that follows them there. Dims of images are channels, height and width; *3x3 / 2* is a kernel with a stride of 2, *x 8* a
batch of 8. Weights are initializers. *GFLOP/s* counts two operations for each multiplication of a direct computation,
whatever the runtime makes of it; *GB/s* counts inputs, weights and the output once.""",
    "quantized": """The cases are those of `tests/bench/quantized.py`: QLinearConv and QLinearMatMul, bytes in and bytes
out, named as layers and products above, and networks of well-known shapes with random weights, in floats and in the forms
in which networks of bytes are shipped. *u8s8* are unsigned activations and signed weights, *by channel* is a scale for
each output channel, *dynamic* are bytes that floats become as they are known. *float16* is rounded after each node, as
specified; with *sums kept* ox keeps floats between nodes, as ONNX Runtime always does. OpenVINO computes bytes as bytes,
and floats in float32. *GOP/s* counts two operations for each multiplication of a direct computation.""",
    "nbits": """The cases are those of `tests/bench/nbits.py`: MatMulNBits with weights of 4 bits, as rows x N x K of layers
of language models, the elements of a block, and `accuracy_level`: 0 computes in floats, 4 allows products of bytes.
*ggml* is the library under llama.cpp, with the same weights in its own layout (Q4_0, scales of 16 bits) and A in bytes.""",
    "loops": """The cases are those of `tests/bench/loops.py`: bodies of Loop and Scan. A value that is carried lies in two
places by turns, and what is stacked is computed in its slice of the result.""",
    "trees": """The cases are those of `tests/bench/trees.py`: full trees with random features, thresholds and votes, on rows
of 30 floats.""",
    "planning": """The cases are those of `tests/bench/planning.py`: chains of products of [n,8] and [8,8], each with
weights of its own, and a step of a decoder of 12 layers, whose cache of keys and values is an input. Before each step all
inputs are set, to one list of arrays, or to several in turns: two have the dims that were seen before, eight are more
than a session keeps plans of, and the cache grows by one in each step, from 16 to 79. *planning alone* is
`ox_session_prepare` for eight shapes in turns. ONNX Runtime's inputs are bound in advance, one binding for each list;
it takes the memory of its outputs itself.""",
    "models": """The networks are those that `make models` fetches, one image of the size that a network is made for (the
detector of rapidocr 320x320, its reader 48x320) or, of silero, one step of 576 samples. The files of alexnet to zfnet512
lack weights: they are drawn at random. ONNX Runtime takes the memory of its outputs itself here. What `make bench
PEERS=1` compares them with besides is set to compute in float32 (OpenVINO by its precision hint, MNN by precision high)
and for how large inputs. Outputs of every peer are compared with ONNX Runtime's: what is further from them than a
thousandth of the largest is marked as wrong, and never the fastest. On two threads, ox on one takes turns with the
others: *one thread/ox* is what the second gains.""",
    "starts": """The networks and inputs are those above. Every measurement is a process of its own, before which 2 GB are
touched and given back, so that a virtual machine need not wait for its host's pages; *load* reads the file,
which lies in the system's cache, *prepare* is all that comes before the first run. *session/ox* is the time in which ONNX
Runtime creates its session divided by that of load and prepare. *MB* is the most that a process of `ox bench` holds; *ORT
MB* is what a session and a run add to a process that has imported ONNX Runtime and holds the inputs.""",
}


def section(record, command, plot_name):
    """The title, the introduction, the facts and the plot of the section of a record's table."""
    return "\n".join([facts(record, command, f"{record['rounds']} rounds of {record['turns']} turns"), "",
                      f"![How many times faster than ONNX Runtime, case by case]({plot_name})"])


def facts(record, command, counted):
    """The title, the introduction and the facts of a section."""
    machine = record["machine"]
    rows = [("command", f"`{command}`, {counted}"),
            ("processor", "{processor}, {cores} cores".format(**machine)),
            ("vectors", machine["vectors"]), ("caches", machine["caches"]),
            ("memory", f"{machine['memory_gib']} GiB"), ("system", machine["system"]),
            ("versions", ", ".join(f"{name} {version}" for name, version in record["versions"].items()))]
    lines = [f"## {TITLES[record['table']]}", "", INTRODUCTIONS[record["table"]], "", "| | |", "|---|---|",
             *(f"| {name} | {value} |" for name, value in rows)]
    return "\n".join(lines)
