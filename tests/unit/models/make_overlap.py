"""Makes overlap.onnx, the smallest cross-encoder there is: it counts the tokens that question and text have in common.

python tests/unit/models/make_overlap.py  # needs the package onnx, which the tests do not
"""

from pathlib import Path

import onnx
from numpy import array, int64
from onnx import TensorProto, helper, numpy_helper

ORDINARY = 999
"""Tokens above this are words; those below mark the ends and the padding."""


def made() -> onnx.ModelProto:
    node, given = helper.make_node, helper.make_tensor_value_info
    nodes = [
        node("Greater", ["input_ids", "ordinary"], ["is_word"]),
        node("Cast", ["is_word"], ["word"], to=TensorProto.INT64),
        node("Mul", ["word", "attention_mask"], ["counted"]),
        node("Mul", ["counted", "token_type_ids"], ["in_text"]),
        node("Sub", ["counted", "in_text"], ["in_question"]),
        node("Unsqueeze", ["input_ids", "two"], ["down"]),
        node("Unsqueeze", ["input_ids", "one"], ["across"]),
        node("Equal", ["down", "across"], ["is_same"]),
        node("Cast", ["is_same"], ["same"], to=TensorProto.INT64),
        node("Unsqueeze", ["in_question", "two"], ["question"]),
        node("Unsqueeze", ["in_text", "one"], ["text"]),
        node("Mul", ["question", "text"], ["pairs"]),
        node("Mul", ["pairs", "same"], ["shared"]),
        node("ReduceSum", ["shared", "both"], ["total"], keepdims=0),
        node("Unsqueeze", ["total", "one"], ["column"]),
        node("Cast", ["column"], ["logits"], to=TensorProto.FLOAT),
    ]
    constants = {"ordinary": [ORDINARY], "one": [1], "two": [2], "both": [1, 2]}
    graph = helper.make_graph(
        nodes,
        "overlap",
        [given(name, TensorProto.INT64, ["b", "n"]) for name in ("input_ids", "attention_mask", "token_type_ids")],
        [given("logits", TensorProto.FLOAT, ["b", 1])],
        [numpy_helper.from_array(array(values, int64), name) for name, values in constants.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    model.ir_version = 8
    onnx.checker.check_model(model)
    return model


if __name__ == "__main__":
    onnx.save(made(), Path(__file__).with_name("overlap.onnx"))
