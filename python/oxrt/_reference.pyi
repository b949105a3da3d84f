from collections.abc import Mapping, Sequence
from typing import Any

class ReferenceEvaluator:
    def __init__(
        self,
        proto: Any,
        opsets: Mapping[str, int] | None = None,
        functions: Sequence[Any] | None = None,
        verbose: int = 0,
        new_ops: Sequence[Any] | None = None,
        optimized: bool = True,
    ) -> None: ...
    @property
    def input_names(self) -> list[str]: ...
    @property
    def output_names(self) -> list[str]: ...
    @property
    def input_types(self) -> list[str | None]: ...
    @property
    def output_types(self) -> list[str | None]: ...
    @property
    def opsets(self) -> dict[str, int]: ...
    def run(
        self,
        output_names: Sequence[str] | None,
        feed_inputs: dict[str, Any],
        attributes: Mapping[str, Any] | None = None,
        intermediate: bool = False,
    ) -> Any: ...
