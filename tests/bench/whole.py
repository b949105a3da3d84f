"""whole.py: the networks that `make models` fetches, which `make bench` measures on the inputs of tests/lib/networks.py.
"""

import networks
import onnx
from models import TYPES, Case, aligned


class Whole(Case):
    """A case of one network. The names and dims of its outputs are those that it says and gives."""

    of_largest = 1e-3

    def __init__(self, network):
        super().__init__(network.name, "networks", [], [], "y: float 0")
        self.network = network

    def model(self, arrays):
        model = self.network.model()
        self.output_names = [value.name for value in onnx.load_from_string(model).graph.output]
        return model

    def arrays(self):
        names = {dtype: name for name, dtype in TYPES.items()}
        given = self.network.sizes[0]()
        self.inputs = [(name, names[array.dtype], list(array.shape)) for name, array in given.items()]
        result = [aligned(array.shape, array.dtype) for array in given.values()]
        for place, array in zip(result, given.values()):
            place[...] = array
        return result


CASES = [Whole(network) for network in networks.NETWORKS if network.path()]
