"""same.py: what sessions are given, and whether they gave what was wanted, each in one call of same.c."""

import ctypes as C
import os

import arrays
import graph_held
import oxlib
from graph_held import Held

# It calls the library that this process has loaded.
C.CDLL(oxlib.PATH, C.RTLD_GLOBAL)
library = C.CDLL(os.path.join(os.path.dirname(oxlib.PATH), "same.so"))
size, pointers, session, error = C.c_size_t, C.POINTER(C.c_void_p), C.c_void_p, C.POINTER(oxlib.Error)
for name, result, arguments in [("same_run", C.c_int, [session, size, pointers, pointers, error]),
                                ("same_outputs", size, [session, size, size, pointers, pointers]),
                                ("same_sessions", C.c_bool, [session, session, size])]:
    getattr(library, name).restype = result
    getattr(library, name).argtypes = arguments


def addresses(objects):
    """(addresses of tensors, handles of values), each of one kind where it is none of the other."""
    count = len(objects)
    tensors, values = (C.c_void_p * count)(), (C.c_void_p * count)()
    for i, it in enumerate(objects):
        if isinstance(it, graph_held.Value):
            values[i] = it.handle
        elif it is not None:
            tensors[i] = C.addressof(it)
    return tensors, values


class Given:
    """The inputs of a session, out of (value, type name) of each. All tensors are there twice: the memory of one lies in
    front of a page that cannot be read, and those of turns beside each other are not the same."""

    def __init__(self, pairs):
        self.pairs = pairs
        self.values = [graph_held.Value(*pair) if isinstance(pair[0], Held) else None for pair in pairs]
        self.turn, self.sets = next(arrays.TURNS), [None, None]

    def turned(self):
        self.turn += 1
        return self

    def chosen(self):
        which = self.turn % 2
        if self.sets[which] is None:
            made = [value or self.tensor(*pair, (i + which) % 2) for i, (pair, value)
                    in enumerate(zip(self.pairs, self.values))]
            self.sets[which] = made, addresses(made)
        return self.sets[which][1]

    @staticmethod
    def tensor(array, type_name, is_guarded):
        return arrays.to_tensor(arrays.at_end(array) if is_guarded and array.size else array, type_name)

    def run(self, to):
        """Runs a session on them, which its outputs may be a part of."""
        to.given = self
        tensors, values = self.chosen()
        oxlib.check(library.same_run(to.handle, len(self.pairs), tensors, values, to.error), to.error)


def wanted(value, type_name):
    """The value as ox has it; None where it has to be compared in Python."""
    if not isinstance(value, Held):
        return arrays.to_tensor(value, type_name)
    try:
        return graph_held.Value(value, type_name)
    except oxlib.OxError:
        return None


def differing(of, wanted_values):
    """The numbers of outputs that are not the same bits as these, or not known to be."""
    tensors, values = addresses(wanted_values)
    count, i = len(wanted_values), -1
    while (i := library.same_outputs(of.handle, i + 1, count, tensors, values)) < count:
        yield i


def same_sessions(one, other, count):
    return library.same_sessions(one.handle, other.handle, count)
