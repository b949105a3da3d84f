"""engines.py: the runtimes that `make bench TABLE=models PEERS=1` takes from Python packages, as contenders."""

import os
import subprocess
import sys

import numpy as np
from contender import Missing, batch_of, first_line

CONVERT = "import sys, _tools; _tools.mnnconvert(sys.argv)"  # as mnnconvert does, which then calls home


class OpenVino:
    """OpenVINO, told to compute in float32 and for how large inputs; one request whose inputs are set in advance."""

    def __init__(self, settings, case, model, inputs, out):
        import openvino
        import openvino.properties as properties
        import openvino.properties.hint as hint
        core = openvino.Core()
        options = {hint.inference_precision(): openvino.Type.f32, hint.performance_mode(): hint.PerformanceMode.LATENCY,
                   hint.enable_cpu_pinning(): False, properties.inference_num_threads(): settings.threads}
        tensors = {name: openvino.Tensor(array, shared_memory=True) for (name, _, _), array in zip(case.inputs, inputs)}
        try:
            network = core.read_model(model)
            network.reshape({name: openvino.PartialShape(tensor.shape) for name, tensor in tensors.items()})
            self.request = core.compile_model(network, "CPU", options).create_infer_request()
            for name, tensor in tensors.items():
                self.request.set_tensor(name, tensor)
            self.request.infer(share_outputs=True)
        except Exception as error:
            raise Missing(last_line(error)) from error
        request = self.request
        self.batch = batch_of(lambda: request.infer(share_outputs=True))

    def outputs(self):
        return [tensor.data for tensor in self.request.output_tensors]

    def close(self):
        self.batch = self.request = None


class Mnn:
    """MNN: the model converted by its own converter, run as a module with precision high; int64 is int32 there."""

    def __init__(self, settings, case, model, inputs, out):
        import MNN.expr as expr
        import MNN.nn as nn
        self.expr = expr
        path, names = convert(settings, model), [name for name, _, _ in case.inputs]
        manager = nn.create_runtime_manager(({"backend": "CPU", "precision": "high", "numThread": settings.threads},))
        self.module = nn.load_module_from_file(path, names, case.output_names, runtime_manager=manager)
        self.inputs = [self.variable(array) for array in inputs]
        if len(self.outputs()) != len(case.output_names):
            raise Missing("it gives another number of outputs")
        module, values = self.module, self.inputs
        self.batch = batch_of(lambda: module.onForward(values))

    def variable(self, array):
        array = array.astype(np.int32) if array.dtype == np.int64 else array
        kinds = {np.dtype(np.float32): self.expr.float, np.dtype(np.int32): self.expr.int}
        if array.dtype not in kinds:
            raise Missing(f"inputs of {array.dtype}")
        result = self.expr.placeholder(list(array.shape), self.expr.NCHW, kinds[array.dtype])
        result.write(np.ascontiguousarray(array))
        return result

    def outputs(self):
        values = self.module.onForward(self.inputs)
        blocked = self.expr.data_format.NC4HW4
        return [(self.expr.convert(value, self.expr.NCHW) if value.data_format == blocked else value).read()
                for value in values]

    def close(self):
        self.batch = self.module = self.inputs = None


def convert(settings, model):
    """The path of the model in MNN's own format."""
    source, target = (os.path.join(settings.model_dir, f"model.{kind}") for kind in ("onnx", "mnn"))
    with open(source, "wb") as file:
        file.write(model)
    if os.path.exists(target):
        os.remove(target)
    words = [sys.executable, "-c", CONVERT, "-f", "ONNX", "--modelFile", source, "--MNNModel", target, "--bizCode", "ox"]
    done = subprocess.run(words, capture_output=True, text=True)
    if done.returncode or not os.path.exists(target):
        raise Missing(f"it does not convert: {last_line(done.stderr or done.stdout)}")
    return target


def last_line(text):
    """What OpenVINO and MNN say last is what happened; before it they say where."""
    return first_line(str(text).strip().splitlines()[-1]) if str(text).strip() else "no reason given"
