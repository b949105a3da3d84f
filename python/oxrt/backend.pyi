from collections.abc import Sequence
from typing import Any

import onnx
from onnx.backend.base import Backend, BackendRep

class OxBackendRep(BackendRep):
    def __init__(self, model: Any) -> None: ...
    def run(self, inputs: Any, **kwargs: Any) -> tuple[Any, ...]: ...

class OxBackend(Backend):
    @classmethod
    def is_compatible(cls, model: onnx.ModelProto, device: str = "CPU", **kwargs: Any) -> bool: ...
    @classmethod
    def prepare(cls, model: onnx.ModelProto, device: str = "CPU", **kwargs: Any) -> OxBackendRep: ...
    @classmethod
    def run_model(cls, model: onnx.ModelProto, inputs: Any, device: str = "CPU", **kwargs: Any) -> tuple[Any, ...]: ...
    @classmethod
    def run_node(
        cls, node: onnx.NodeProto, inputs: Any, device: str = "CPU", outputs_info: Sequence[Any] | None = None, **kwargs: Any
    ) -> tuple[Any, ...]: ...
    @classmethod
    def supports_device(cls, device: str) -> bool: ...

is_compatible = OxBackend.is_compatible
prepare = OxBackend.prepare
run_model = OxBackend.run_model
run_node = OxBackend.run_node
supports_device = OxBackend.supports_device
