"""generate.py DIR: writes ONNX's node test cases to DIR, in the layout of ONNX's backend tests.

DIR/CASE/model.onnx, DIR/CASE/test_data_set_N/input_N.pb and output_N.pb; DIR/CASE/data.json with its tolerances. Values that are no tensors are written with
the messages of their own kind (SequenceProto, OptionalProto, MapProto).
"""

import json
import pathlib
import shutil
import sys
import warnings

from onnx import TensorProto, numpy_helper

WRITERS = {
    "map_type": numpy_helper.from_dict,
    "sequence_type": numpy_helper.from_list,
    "optional_type": numpy_helper.from_optional,
    "tensor_type": numpy_helper.from_array,
}


def write_values(folder, prefix, infos, values):
    for i, (info, value) in enumerate(zip(infos, values)):
        if not isinstance(value, TensorProto):
            value = WRITERS[info.type.WhichOneof("value")](value, info.name)
        (folder / f"{prefix}_{i}.pb").write_bytes(value.SerializeToString())


def write_case(folder, case):
    folder.mkdir(parents=True)
    (folder / "model.onnx").write_bytes(case.model.SerializeToString())
    (folder / "data.json").write_text(json.dumps({"rtol": case.rtol, "atol": case.atol}))
    for n, (inputs, outputs) in enumerate(case.data_sets):
        data = folder / f"test_data_set_{n}"
        data.mkdir()
        write_values(data, "input", case.model.graph.input, inputs)
        write_values(data, "output", case.model.graph.output, outputs)


def main():
    warnings.simplefilter("ignore")
    from onnx.backend.test.case.node import collect_testcases

    target = pathlib.Path(sys.argv[1])
    for old in target.glob("test_*"):
        shutil.rmtree(old)
    cases = collect_testcases(None)
    for case in cases:
        write_case(target / case.name, case)
    print(f"{len(cases)} node cases in {target}")


if __name__ == "__main__":
    main()
