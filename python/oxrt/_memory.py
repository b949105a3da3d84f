"""_memory.py: memory of arrays that outputs are computed in."""


def empty(shape, dtype="float32"):
    """An array for Model.run_into, with any values in it: it begins at a multiple of 64 bytes, where outputs are computed
    without a copy. numpy's own arrays may begin at any multiple of 16."""
    import numpy as np
    dtype = np.dtype(dtype)
    shape = (shape,) if isinstance(shape, int) else tuple(shape)
    size = dtype.itemsize
    for length in shape:
        size *= length
    memory = np.empty(size + 64, np.uint8)
    begin = -memory.__array_interface__["data"][0] % 64
    return memory[begin:begin + size].view(dtype).reshape(shape)
