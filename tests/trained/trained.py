"""trained.py: models that scikit-learn, LightGBM and XGBoost trained, converted to ONNX, against ONNX Runtime: all rows
on one thread and on two, and one row alone. Where ONNX Runtime refuses a model, what the library itself predicts
counts."""

import sys
import warnings

warnings.filterwarnings("ignore")
import arrays  # noqa: E402
import boosted  # noqa: E402
import numpy as np  # noqa: E402
import onnx  # noqa: E402
import onnxruntime  # noqa: E402
import oxlib  # noqa: E402
import results  # noqa: E402
import scikit  # noqa: E402
import tally  # noqa: E402

onnxruntime.set_default_logger_severity(4)
TYPES = {"f": "float", "d": "double", "l": "int64"}


class Ox:
    """A session of a case on its inputs."""

    def __init__(self, case, threads):
        self.model, self.maps = oxlib.Model(case.data), []
        self.session = oxlib.Session(self.model, oxlib.Options(threads=threads))

    def set_input(self, index, x):
        if isinstance(x, dict):
            self.maps.append(results.map_value(x, onnx.TensorProto.STRING, onnx.TensorProto.FLOAT))
            results.set_value(self.session, index, self.maps[-1])
            return
        name = TYPES.get(x.dtype.char, "string")
        x = arrays.pairs_of(results.as_texts(x)) if name == "string" else np.ascontiguousarray(x)
        self.session.set_input(index, arrays.to_input(x, name))

    def outputs(self):
        self.session.run()
        return [results.dictionaries(self.session, i) or results.output_array(self.session, i)
                for i in range(oxlib.library.ox_model_output_count(self.model.handle))]

    def close(self):
        self.session.close()
        self.model.close()
        for value in self.maps:
            results.library.ox_value_free(value)


def run_ox(case, inputs, threads):
    ox = Ox(case, threads)
    try:
        for i, x in enumerate(inputs.values()):
            ox.set_input(i, x)
        return ox.outputs()
    finally:
        ox.close()


def run_peer(case, inputs):
    session = onnxruntime.InferenceSession(case.data, providers=["CPUExecutionProvider"])
    return session.run(None, inputs)


def wanted_of(case, inputs):
    try:
        return run_peer(case, inputs)
    except Exception:  # every kind of refusal
        if not case.own:
            raise
        return case.own(*inputs.values())


def as_arrays(output):
    """Arrays of an output, those of the keys and of the numbers where it is a list of dictionaries."""
    if isinstance(output, list):
        return [np.array([[str(k) for k in sorted(entries)] for entries in output], object),
                np.array([[entries[k] for k in sorted(entries)] for entries in output], np.float32)]
    output = np.asarray(output)
    return [results.as_texts(output) if output.dtype.kind in "OU" else output]


def difference(got, wanted, tolerance):
    for i, (one, other) in enumerate(zip(got, wanted)):
        for a, b in zip(as_arrays(one), as_arrays(other), strict=True):
            text = results.differs(a, b, tolerance)
            if text:
                return f"output {i}: {text}"
    return None


def check(case):
    """What is wrong with a case, None if it is right."""
    try:
        wanted = wanted_of(case, case.inputs)
        one, two = (run_ox(case, case.inputs, threads) for threads in (1, 2))
        text = difference(one, wanted, case.tolerance) or difference(two, one, 0)
        if text or any(isinstance(x, dict) for x in case.inputs.values()):
            return text
        row = {name: x[3:4] for name, x in case.inputs.items()}
        return difference(run_ox(case, row, 1), wanted_of(case, row), case.tolerance)
    except Exception as error:  # of ox or of ONNX Runtime
        return f"{type(error).__name__}: {error}"


def main():
    for part in (scikit, boosted):
        for case in part.cases():
            text = check(case)
            tally.check(case.name, not text, text)
    return tally.finish()


if __name__ == "__main__":
    sys.exit(main())
