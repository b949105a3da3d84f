from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

__version__: str

class _Proto(Protocol):
    def SerializeToString(self) -> bytes: ...

# An array, or a list, None or a mapping where the model wants a sequence, an optional or a map.
_Value = ArrayLike | Sequence[Any] | Mapping[Any, Any] | None

class Error(Exception):
    status: str

class ArgumentError(Error, ValueError): ...
class FileError(Error, OSError): ...
class ModelError(Error, ValueError): ...
class UnsupportedError(Error, NotImplementedError): ...
class ShapeError(Error, ValueError): ...
class DataError(Error, ArithmeticError): ...
class LimitError(Error, RuntimeError): ...
class OutOfMemoryError(Error, MemoryError): ...
class CancelledError(Error, RuntimeError): ...
class CheckError(Error, AssertionError): ...
class ModelWarning(UserWarning): ...

class ValueInfo(NamedTuple):
    name: str
    type: str | None
    shape: tuple[int | str | None, ...] | None
    optional: bool

class OperatorUse(NamedTuple):
    domain: str
    name: str
    version: int
    count: int  # type: ignore[assignment]  # a tuple's method elsewhere

class Step(NamedTuple):
    kind: str
    depth: int
    nodes: tuple[tuple[str, str, str, str], ...]
    start_ns: int
    duration_ns: int
    bytes_read: int
    bytes_written: int

class Flag:
    value: bool

class Model:
    def __new__(
        cls,
        source: str | PathLike[str] | bytes | bytearray | memoryview | _Proto,
        *,
        threads: int = 0,
        isa: str | None = None,
        fuse: bool = True,
        integer: bool = True,
        check: bool = False,
        extra_outputs: Sequence[str] | None = None,
        limits: Mapping[str, int] | None = None,
        timeout: float | None = None,
        plugins: Sequence[str | PathLike[str]] | None = None,
        float16_sums: bool = False,
    ) -> Model: ...
    def __call__(self, *values: _Value, **named: _Value) -> Any: ...
    def run(
        self,
        feeds: dict[str, Any],
        outputs: Sequence[str] | None = None,
        flag: Flag | None = None,
        into: dict[str, NDArray[Any]] | None = None,
        /,
    ) -> list[Any]: ...
    def run_into(
        self, feeds: dict[str, Any], outputs: dict[str, NDArray[Any]], flag: Flag | None = None, /
    ) -> list[NDArray[Any]]: ...
    def prepare(self, *values: _Value, **named: _Value) -> None: ...
    def profile(self, *values: _Value, **named: _Value) -> list[Step]: ...
    @property
    def inputs(self) -> tuple[ValueInfo, ...]: ...
    @property
    def outputs(self) -> tuple[ValueInfo, ...]: ...
    @property
    def metadata(self) -> dict[str, str]: ...
    @property
    def info(self) -> dict[str, Any]: ...
    @property
    def operators(self) -> tuple[OperatorUse, ...]: ...
    @property
    def source(self) -> str | bytes: ...
    @property
    def memory(self) -> dict[str, int]: ...
