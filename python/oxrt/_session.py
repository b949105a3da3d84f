"""_session.py: the session interface of ONNX Runtime over Model, as far as applications use it.

What only ONNX Runtime has (graph optimisation levels, memory arenas, other execution providers) is accepted where it
cannot change a result, and refused where it could.
"""

import enum
import importlib.machinery
import itertools
import json
import operator
import os
import sys
import threading
import time
import types

import numpy as np

from . import _convert, _ox, _status
from ._status import InvalidArgument, NotImplemented as NotImplementedStatus, translate

_PROVIDER = "CPUExecutionProvider"
_CHECK = "ox.check"
_EXTERNAL_FOLDER = "session.model_external_initializers_file_folder_path"


class GraphOptimizationLevel(enum.IntEnum):
    ORT_DISABLE_ALL = 0
    ORT_ENABLE_BASIC = 1
    ORT_ENABLE_EXTENDED = 2
    ORT_ENABLE_LAYOUT = 3
    ORT_ENABLE_ALL = 99


class ExecutionMode(enum.IntEnum):
    ORT_SEQUENTIAL = 0
    ORT_PARALLEL = 1


class ExecutionOrder(enum.IntEnum):
    DEFAULT = 0
    PRIORITY_BASED = 1
    MEMORY_EFFICIENT = 2


class _Options:
    """Attributes with defaults, and no others: a misspelt one is an error, and so is a value of another type."""

    __slots__ = ("_entries",)
    _defaults: dict = {}

    def __init__(self):
        self._entries = {}
        for name, value in self._defaults.items():
            setattr(self, name, value)

    def __setattr__(self, name, value):
        kind = type(self._defaults.get(name))
        if kind is int:
            value = operator.index(value)
        elif name in self._defaults and not isinstance(value, kind):
            raise TypeError(f"{name} must be of {kind.__name__}, not {value!r}")
        super().__setattr__(name, value)

    def _add(self, key, value):
        self._entries[str(key)] = str(value)

    def _get(self, key):
        if key not in self._entries:
            raise RuntimeError(f"there is no configuration entry {key!r}")
        return self._entries[key]


class SessionOptions(_Options):
    """Options of a session. intra_op_num_threads, graph_optimization_level (ORT_DISABLE_ALL runs nodes one by one),
    enable_profiling and profile_file_prefix do something, and so does the session configuration entry "ox.check": "1"
    checks every run, as Model(check=True) does. The others change nothing in ox."""

    _defaults = {
        "enable_cpu_mem_arena": True, "enable_mem_pattern": True, "enable_mem_reuse": True, "enable_profiling": False,
        "execution_mode": ExecutionMode.ORT_SEQUENTIAL, "execution_order": ExecutionOrder.DEFAULT,
        "graph_optimization_level": GraphOptimizationLevel.ORT_ENABLE_ALL, "inter_op_num_threads": 0,
        "intra_op_num_threads": 0, "log_severity_level": -1, "log_verbosity_level": 0, "logid": "",
        "optimized_model_filepath": "", "profile_file_prefix": "onnxruntime_profile_",
        "use_deterministic_compute": False, "use_per_session_threads": True,
    }
    __slots__ = (*_defaults, "_dimensions")

    def __init__(self):
        super().__init__()
        self._dimensions = {}

    def add_session_config_entry(self, key, value):
        if key == _EXTERNAL_FOLDER:
            raise NotImplementedStatus(f"{key}: ox looks for external data beside the model's file alone; "
                                       "give the session the path")
        self._add(key, value)

    def get_session_config_entry(self, key):
        return self._get(key)

    def checks(self):
        """Whether runs are checked."""
        return self._entries.get(_CHECK, "0") == "1"

    def has_providers(self):
        return False

    def add_provider(self, name, options=None):
        _check_providers([name])

    def add_free_dimension_override_by_name(self, name, value):
        """The dimension that the model calls `name` has this value: in get_inputs and get_outputs, and in every run."""
        value = operator.index(value)
        if value < 0:
            raise InvalidArgument(f"dimension {name} cannot be {value}")
        self._dimensions[str(name)] = value

    def add_free_dimension_override_by_denotation(self, name, value):
        raise NotImplementedStatus(f"{name}: ox does not read denotations; add_free_dimension_override_by_name takes "
                                   "a dimension's name")

    def register_custom_ops_library(self, path):
        raise NotImplementedStatus(f"{path}: ox has operators of its callers by its own interface, not ONNX Runtime's")

    def add_initializer(self, name, value):
        raise NotImplementedStatus("ox takes initializers from the model alone")

    def add_external_initializers(self, names, values):
        raise NotImplementedStatus("ox takes initializers from the model alone")


class RunOptions(_Options):
    """Options of a run; setting `terminate` from another thread ends it."""

    _defaults = {"log_severity_level": -1, "log_verbosity_level": 0, "logid": "", "only_execute_path_to_fetches": False}
    __slots__ = (*_defaults, "_flag")

    def __init__(self):
        super().__init__()
        self._flag = _ox.Flag()

    @property
    def terminate(self):
        return self._flag.value

    @terminate.setter
    def terminate(self, value):
        self._flag.value = value

    def add_run_config_entry(self, key, value):
        self._add(key, value)

    def get_run_config_entry(self, key):
        return self._get(key)


class NodeArg:
    """An input or output of a model: name, type such as "tensor(float)", shape as a list. `dimensions` has the values
    of dimensions that the model leaves open, by name."""

    __slots__ = ("name", "type", "shape")

    def __init__(self, info, dimensions={}):
        self.name = info.name
        self.type = _type_text(info.type)
        self.shape = [dimensions.get(dim, dim) for dim in info.shape or ()]

    def __repr__(self):
        return f"NodeArg(name='{self.name}', type='{self.type}', shape={self.shape})"


def _type_text(name):
    """The runtime's text of a type: that of an element type stands in tensor(...)."""
    return name if name is None or "(" in name else f"tensor({name})"


class ModelMetadata:
    """What a model says of its making."""

    __slots__ = ("producer_name", "graph_name", "domain", "description", "graph_description", "version",
                 "custom_metadata_map")

    def __init__(self, model):
        info = model.info
        self.producer_name = info["producer_name"]
        self.graph_name = info["graph_name"]
        self.domain = info["domain"]
        self.description = info["description"]
        self.graph_description = ""
        self.version = info["model_version"]
        self.custom_metadata_map = model.metadata


def _check_providers(providers):
    """The names of providers without their options. Applications list what they would like best first, so that
    unknown ones are passed over; a list that names none at all is a mistake."""
    names = [entry[0] if isinstance(entry, tuple) else entry for entry in providers or [_PROVIDER]]
    for name in names:
        if not isinstance(name, str):
            raise ValueError(f"a provider is a name or a pair of name and options, not {name!r}")
    return names


class InferenceSession:
    """A model with onnxruntime.InferenceSession's methods. Any number of threads may call run at the same time."""

    def __init__(self, path_or_bytes, sess_options=None, providers=None, provider_options=None, **kwargs):
        if not isinstance(path_or_bytes, (str, bytes, os.PathLike)):
            raise TypeError(f"Unable to load from type '{type(path_or_bytes)}'")
        _check_providers(providers)
        self._options = sess_options or SessionOptions()
        options = self._options
        threads = max(0, options.intra_op_num_threads) or min(len(os.sched_getaffinity(0)), 256)
        optimized = options.graph_optimization_level != GraphOptimizationLevel.ORT_DISABLE_ALL
        if options.optimized_model_filepath:
            raise NotImplementedStatus(f"optimized_model_filepath={options.optimized_model_filepath!r}: ox optimises "
                                       "when a session plans, and writes no models")
        with translate():
            self._model = _ox.Model(path_or_bytes, threads=threads, fuse=optimized, integer=optimized,
                                    check=options.checks())
        self._input_names = [info.name for info in self._model.inputs]
        self._needed = frozenset(info.name for info in self._model.inputs if not info.optional)
        self._output_names = [info.name for info in self._model.outputs]
        self._fixed = [(arg.name, info.shape, arg.shape) for arg, info in zip(self.get_inputs(), self._given())
                       if info.shape is not None and list(info.shape) != arg.shape]
        self._started = time.monotonic_ns()
        self._steps = [] if options.enable_profiling else None
        self._lock = threading.Lock()

    def run(self, output_names, input_feed, run_options=None):
        """A list of the outputs that are named (all for None or an empty list)."""
        return self._run(output_names or None, input_feed, run_options, None)

    def _run(self, names, input_feed, run_options, into):
        if not self._needed <= input_feed.keys():
            self._missing(input_feed)
        if self._fixed:
            self._check_dimensions(input_feed)
        if self._steps is not None:
            self._profile(input_feed)
        try:
            if run_options is None and not into:
                return self._model.run(input_feed, names)
            return self._model.run(input_feed, names, run_options and run_options._flag, into)
        except _ox.Error as error:
            raise _status.of(error) from None

    def _missing(self, feed):
        missing = [name for name in self._input_names if name in self._needed and name not in feed]
        raise ValueError(f"Required inputs ({missing}) are missing from input feed ({list(feed)}).")

    def _check_dimensions(self, feed):
        for name, stated, wanted in self._fixed:
            given = np.shape(feed[name])
            for axis, (dim, size) in enumerate(zip(wanted, given)):
                if dim != stated[axis] and dim != size:
                    text = f"input {name}: dimension {axis} ({stated[axis]}) is {size}, and was fixed to {dim}"
                    raise _status.of(_ox.ShapeError(text))

    @property
    def _model_path(self):
        """Where the model was loaded from; "" for bytes. Packages on top of ONNX Runtime read it."""
        return self._model.source if isinstance(self._model.source, str) else ""

    def __reduce__(self):
        return InferenceSession, (self._model.source, self._options)

    def run_async(self, output_names, input_feed, callback, user_data, run_options=None):
        """Runs in a thread and calls callback(results, user_data, error text)."""
        def work():
            try:
                results, text = self.run(output_names, input_feed, run_options), ""
            except Exception as error:
                results, text = [], str(error)
            callback(results, user_data, text)
        threading.Thread(target=work, daemon=True).start()

    def run_with_ort_values(self, output_names, input_dict_ort_values, run_options=None):
        feed = {name: value._value for name, value in input_dict_ort_values.items()}
        return self._ort_values(output_names or self._output_names, self.run(output_names, feed, run_options))

    def _ort_values(self, names, values):
        types = {info.name: _type_text(info.type) for info in self._model.outputs}
        return [OrtValue(value, types[name]) for name, value in zip(names, values)]

    def run_with_iobinding(self, iobinding, run_options=None):
        iobinding._run(self, run_options)

    def io_binding(self):
        return IOBinding(self)

    def _given(self):
        return [info for info in self._model.inputs if not info.optional]

    def _describe(self, infos):
        return [NodeArg(info, self._options._dimensions) for info in infos]

    def get_inputs(self):
        return self._describe(self._given())

    def get_overridable_initializers(self):
        return self._describe(info for info in self._model.inputs if info.optional)

    def get_outputs(self):
        return self._describe(self._model.outputs)

    def get_modelmeta(self):
        return ModelMetadata(self._model)

    def get_session_options(self):
        return self._options

    def get_providers(self):
        return [_PROVIDER]

    def get_provider_options(self):
        return {_PROVIDER: {}}

    def set_providers(self, providers=None, provider_options=None):
        _check_providers(providers)

    def enable_fallback(self):
        """There is nothing to fall back from."""

    def disable_fallback(self):
        """The same."""

    def get_profiling_start_time_ns(self):
        return self._started

    def _profile(self, feed):
        with translate():
            steps = self._model.profile(**feed)
        with self._lock:
            self._steps.extend(steps)

    def end_profiling(self):
        """Writes the steps of the runs as a Chrome trace, and gives the file's name."""
        if self._steps is None:
            return ""
        events = [{"cat": "Node", "ph": "X", "pid": os.getpid(), "tid": 0, "ts": step.start_ns / 1000,
                   "dur": step.duration_ns / 1000, "name": step.nodes[-1][0] or step.nodes[-1][1],
                   "args": {"op_name": "+".join(node[3] for node in step.nodes), "kind": step.kind}}
                  for step in self._steps]
        with _new_file(f"{self._options.profile_file_prefix}{time.strftime('%Y-%m-%d_%H-%M-%S')}", ".json") as file:
            json.dump(events, file)
        self._steps = None
        return file.name


def _new_file(stem, ending):
    """A file that was not there: with a number in its name, if another one has the name already."""
    for number in itertools.count():
        try:
            return open(f"{stem}_{number}{ending}" if number else stem + ending, "x", encoding="utf-8")
        except FileExistsError:
            continue


class OrtDevice:
    """A place of memory; there is one kind."""

    def __init__(self, kind=0, memory=0, number=0):
        self._number = number

    @staticmethod
    def make(name, number=0, vendor=-1):
        _check_device(name)
        return OrtDevice(0, 0, number)

    @staticmethod
    def cpu():
        return 0

    @staticmethod
    def default_memory():
        return 0

    def device_type(self):
        return OrtDevice.cpu()

    def device_id(self):
        return self._number


def _check_device(name):
    if isinstance(name, str) and name.lower() != "cpu":
        raise _status.Fail(f"the only device is cpu, not {name}")


def _dtype_of(element_type):
    """numpy's dtype of ONNX's number, or of whatever numpy takes for one."""
    if isinstance(element_type, (int, np.integer)):
        names = dict(enumerate(_ELEMENT_TYPES, 1))
        if element_type not in names:
            raise InvalidArgument(f"{element_type} is not an element type")
        return _convert.dtype_of(names[element_type])
    return np.dtype(element_type)


_ELEMENT_TYPES = ("float", "uint8", "int8", "uint16", "int16", "int32", "int64", "string", "bool", "float16", "double",
                  "uint32", "uint64", "complex64", "complex128", "bfloat16", "float8e4m3fn", "float8e4m3fnuz",
                  "float8e5m2", "float8e5m2fnuz", "uint4", "int4", "float4e2m1", "float8e8m0", "uint2", "int2",
                  "float6e2m3", "float6e3m2")


class OrtValue:
    """A value of a session: an array whose memory it shares, or a list, None or dict with its type's text."""

    def __init__(self, value, type_text=None):
        self._value = value
        self._type = type_text

    @staticmethod
    def ortvalue_from_numpy(array, device_type="cpu", device_id=0, vendor_id=-1):
        _check_device(device_type)
        return OrtValue(np.asarray(array, order="C"))

    @staticmethod
    def ortvalue_from_numpy_with_onnx_type(data, onnx_element_type):
        return OrtValue(data.view(_dtype_of(onnx_element_type)))

    @staticmethod
    def ortvalue_from_shape_and_type(shape, element_type, device_type="cpu", device_id=0, vendor_id=-1,
                                     memory_info=None):
        _check_device(device_type)
        return OrtValue(np.zeros(shape, _dtype_of(element_type)))

    @staticmethod
    def from_dlpack(data):
        return OrtValue(np.from_dlpack(data))

    def __dlpack__(self, **options):
        return self._array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self._array.__dlpack_device__()

    @property
    def _array(self):
        if not self.is_tensor():
            raise _status.Fail(f"a value of type {self.data_type()} is no array")
        return self._value

    def numpy(self):
        return self._array

    def shape(self):
        return list(self._array.shape)

    def element_type(self):
        return 1 + _ELEMENT_TYPES.index(self._element_name())

    def data_type(self):
        return f"tensor({self._element_name()})" if self.is_tensor() else self._type

    def _element_name(self):
        return _convert.name_of(self._array.dtype)

    def data_ptr(self):
        return self._array.ctypes.data

    def tensor_size_in_bytes(self):
        return self._array.nbytes

    def device_name(self):
        return "cpu"

    def has_value(self):
        return self._value is not None

    def is_tensor(self):
        return isinstance(self._value, np.ndarray)

    def is_tensor_sequence(self):
        return (self._type or "").startswith("seq(tensor(")

    def is_sparse_tensor(self):
        return False

    def update_inplace(self, array):
        if array.shape != self._array.shape or array.dtype != self._array.dtype:
            raise InvalidArgument(f"an array of {array.dtype} {array.shape} instead of {self._array.dtype} "
                                  f"{self._array.shape}")
        self._array[...] = array


class SparseTensor:
    """Sparse tensors are no values of ox."""

    def __init__(self, *unused):
        raise NotImplementedStatus("ox has no sparse tensors as inputs and outputs")


def _memory(address, shape, dtype):
    """An array over memory of the caller's."""
    import ctypes
    dtype = np.dtype(dtype)
    size = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
    if size < 0 or address < 0 or (size and not address):
        raise InvalidArgument(f"no memory: address {address}, shape {shape}")
    memory = (ctypes.c_char * size).from_address(address) if size else b""
    return np.frombuffer(memory, np.uint8, size).view(dtype).reshape(shape)


class IOBinding:
    """Inputs and outputs that are bound before runs. An output with memory of its own is copied there."""

    def __init__(self, session):
        self._session = session
        self._inputs, self._outputs, self._results = {}, {}, []

    def bind_cpu_input(self, name, arr_on_cpu):
        self._inputs[name] = arr_on_cpu

    def bind_input(self, name, device_type, device_id, element_type, shape, buffer_ptr):
        _check_device(device_type)
        self._inputs[name] = _memory(buffer_ptr, shape, _dtype_of(element_type))

    def bind_ortvalue_input(self, name, ortvalue):
        self._inputs[name] = ortvalue._value

    def bind_output(self, name, device_type="cpu", device_id=0, element_type=None, shape=None, buffer_ptr=None):
        _check_device(device_type)
        if name not in self._session._output_names:
            raise InvalidArgument(f"the model has no output {name}, only {self._session._output_names}")
        self._outputs[name] = None if buffer_ptr is None else _memory(buffer_ptr, shape, _dtype_of(element_type))

    def bind_ortvalue_output(self, name, ortvalue):
        self.bind_output(name)
        self._outputs[name] = ortvalue.numpy()

    def _run(self, session, run_options):
        names = list(self._outputs)
        bound = {name: target for name, target in self._outputs.items() if target is not None}
        values = session._run(names, self._inputs, run_options, bound) if names else []
        self._results = session._ort_values(names, values)

    def get_outputs(self):
        return self._results

    def get_outputs_as_ortvaluevector(self):
        return self._results

    def copy_outputs_to_cpu(self):
        return [value._value for value in self._results]

    def clear_binding_inputs(self):
        self._inputs.clear()

    def clear_binding_outputs(self):
        self._outputs.clear()
        self._results = []

    def synchronize_inputs(self):
        """Memory of the processor is always up to date."""

    def synchronize_outputs(self):
        """The same."""


def get_available_providers():
    return [_PROVIDER]


get_all_providers = get_available_providers


def get_device():
    return "CPU"


def get_version_string():
    return _ox.__version__


def get_build_info():
    return f"ox {_ox.__version__}"


def set_default_logger_severity(level):
    """ox writes no log."""


set_default_logger_verbosity = set_seed = set_default_logger_severity


def disable_telemetry_events():
    """ox has no telemetry."""


enable_telemetry_events = disable_telemetry_events


def preload_dlls(cuda=True, cudnn=True, msvc=True, directory=None):
    """There are no libraries to load before."""


# Packages look at the version before they use what is new in it.
_RUNTIME_VERSION = "1.31.1"


def _module(name, doc=None, **members):
    """A module that import finds under that name, and that can be looked up with importlib.util.find_spec."""
    module = types.ModuleType(name, doc)
    module.__spec__ = importlib.machinery.ModuleSpec(name, None, is_package=True)
    module.__path__ = []
    vars(module).update(members)
    return module


def install_as_onnxruntime():
    """Puts this interface under the name onnxruntime, for programs that are imported afterwards. A program that has
    imported the other onnxruntime keeps it: that is an error here."""
    from . import _type_helper
    known = sys.modules.get("onnxruntime")
    if known is not None and not getattr(known, "__oxrt__", False):
        raise RuntimeError("onnxruntime is imported already; call install_as_onnxruntime() before")
    package = _module("onnxruntime", __doc__, __oxrt__=True, __version__=_RUNTIME_VERSION, SessionIOBinding=IOBinding,
                      **_public())
    state = _module("onnxruntime.capi.onnxruntime_pybind11_state", **_public(), **_status.CLASSES_BY_NAME)
    modules = [package, state, _module("onnxruntime.capi"), _module("onnxruntime.transformers"),
               _module("onnxruntime.capi.onnxruntime_inference_collection", **_public()),
               _module("onnxruntime.transformers.io_binding_helper", TypeHelper=_type_helper.TypeHelper)]
    sys.modules.update((module.__name__, module) for module in modules)
    for module in modules[1:]:
        parent, _, name = module.__name__.rpartition(".")
        setattr(sys.modules[parent], name, module)
    package.capi._pybind_state = sys.modules["onnxruntime.capi._pybind_state"] = state
    return package


def _public():
    from . import _SESSION
    return {name: globals()[name] for name in _SESSION}
