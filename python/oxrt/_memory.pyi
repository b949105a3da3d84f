from collections.abc import Sequence
from typing import Any

import numpy as np

def empty(shape: int | Sequence[int], dtype: Any = ...) -> np.ndarray: ...
