"""ONNX Runtime as Scrubjay uses it: loaded on first use, and telling nobody."""

import os
from typing import Any


def onnx_runtime() -> Any:  # noqa: ANN401  # it has no types
    """The library, with its telemetry off unless the environment says otherwise. Raises ImportError without it."""
    # Its builds write an id of this machine into the user's cache folder and report what they run. Nothing but this
    # variable, before the library loads, keeps it from both.
    os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
    import onnxruntime  # noqa: PLC0415  # on first use

    return onnxruntime
