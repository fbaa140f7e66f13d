"""Records what Keras's DTypePolicyMap comes to: look-ups and their errors, and models whose layers have maps.

    KERAS_BACKEND=jax python policy_map.py policy_map.json.gz

Written with Keras 3.15.1 on JAX. Keras cannot write the weights of layers that a map quantizes, so these come without.
"""

import gzip
import json
import os
import sys

os.environ.setdefault("KERAS_BACKEND", "jax")
import keras
import numpy as np
from keras import dtype_policies, layers

random = np.random.default_rng(3)


def array(a):
    a = np.asarray(keras.ops.convert_to_numpy(a))
    return {"shape": list(a.shape), "dtype": str(a.dtype), "values": [float(v) for v in a.astype("float64").ravel()]}


def map_of(default, entries):
    m = dtype_policies.DTypePolicyMap(default)
    for key, policy in entries.items():
        m[key] = policy
    return m


MAPS = [
    ("float32", {"encoder/layer_0/dense": "bfloat16", "encoder/.*": "float16", "decoder": "mixed_bfloat16", "encoder/attention/.*": "bfloat16"}),
    ("mixed_float16", {"a|b": "float32", "a": "bfloat16", "c+": "int8_from_mixed_bfloat16", "(d)?": "int4/64_from_float32"}),
    ("bfloat16", {}),
    ("float32", {"x.y": "float16", "x/[0-9]{2}": "bfloat16"}),
]
PATHS = ["encoder/layer_0/dense", "encoder/x", "encoder/attention/query", "encoder", "decoder", "decoder/a", "a", "b", "ab", "a|b", "ccc", "c", "", "d", "x.y", "x/y", "x/12", "x/123"]


def lookups():
    for default, entries in MAPS:
        m = map_of(default, entries)
        found = {}
        for path in PATHS:
            try:
                p = m[path]
                name = f"{p.quantization_mode and p.name}" if p.quantization_mode else p.name
                found[path] = {"name": name, "compute": p.compute_dtype, "variable": p.variable_dtype, "mode": p.quantization_mode or ""}
            except ValueError as e:
                found[path] = {"error": str(e)}
        yield {"default": default, "entries": entries, "name": m.name, "compute": m.compute_dtype, "variable": m.variable_dtype, "found": found,
               "object": dtype_policies.serialize(m)}


def dense():
    m = map_of("float32", {"first": "mixed_bfloat16", "second": "bfloat16", "oth.*": "mixed_float16"})
    inputs = keras.Input((8,))
    x = inputs
    for name in ["first", "second", "third", "other"]:
        x = layers.Dense(6, activation="tanh", name=name, dtype=m)(x)
    return keras.Model(inputs, x)


def attention():
    m = map_of("float32", {"heads/query": "bfloat16", "heads/key": "mixed_bfloat16", "norm": "mixed_bfloat16"})
    inputs = keras.Input((5, 8))
    x = layers.MultiHeadAttention(2, 4, name="heads", dtype=m)(inputs, inputs)
    return keras.Model(inputs, layers.LayerNormalization(name="norm", dtype=m)(x))


def convolutions():
    m = map_of("mixed_bfloat16", {"stack/conv_[13]": "float32"})
    return keras.Sequential([keras.Input((8, 8, 2))] + [layers.Conv2D(4, 3, name=f"conv_{i}", dtype=m) for i in range(3)] + [layers.Flatten(), layers.Dense(3, name="conv_3", dtype=m)], name="stack")


def quantized():
    m = map_of("float32", {"stack/a": "int8_from_float32", "stack/b": "int4/4_from_float32"})
    return keras.Sequential([keras.Input((8,))] + [layers.Dense(8, name=name, dtype=m) for name in "abc"], name="stack")


def models():
    for name, make in {"dense": dense, "attention": attention, "convolutions": convolutions, "quantized": quantized}.items():
        model = make()
        all_layers = [l for l in model._flatten_layers(include_self=False) if l.path]
        for w in model.weights:
            if "float" in str(w.dtype):
                w.assign(random.standard_normal(w.shape) * 0.5)
        x = random.standard_normal((3,) + tuple(model.inputs[0].shape[1:])).astype("float32")
        y = model(x)
        yield {"name": name, "document": model.to_json(), "weights": [array(w.value) for w in model.weights] if name != "quantized" else [],
               "x": array(x), "y": array(y), "output": str(y.dtype),
               "layers": {l.path: {"compute": l.compute_dtype, "variable": l.variable_dtype, "mode": l.quantization_mode or "",
                                    "weights": {w.path: str(w.dtype) for w in l._trainable_variables + l._non_trainable_variables}} for l in all_layers}}


with gzip.open(sys.argv[1], "wt") as f:
    json.dump({"lookups": list(lookups()), "models": list(models())}, f)
