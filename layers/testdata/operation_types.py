#!/usr/bin/env python3
"""Writes operation_types.json.gz: the element types of the results of the functions of keras.ops, for operands of every type.

    operation_types.py OUT.json.gz

A row is [function, [types of the operands], [types of the results]]. The operands are small whole numbers of shape (3, 3). What Keras refuses
for a type is left out.
"""
import gzip, inspect, itertools, json, os, sys, warnings
os.environ.setdefault("KERAS_BACKEND", "tensorflow")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
warnings.filterwarnings("ignore")
import keras
import numpy as np
import tensorflow as tf

tf.get_logger().setLevel("ERROR")

TYPES = ["bool", "uint8", "uint16", "uint32", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64"]
PAIRS = ["bool", "uint8", "int16", "int32", "int64", "float16", "bfloat16", "float32"]
EXTRA = {  # what a call needs beside its first operand
    "astype": None, "cast": None, "saturate_cast": None, "expand_dims": [0], "reshape": [(9,)], "repeat": [2], "tile": [(2, 1)], "roll": [1], "clip": [0, 2],
    "one_hot": [4], "multi_hot": [4], "pad": [((1, 1), (0, 0))], "moveaxis": [0, 1], "swapaxes": [0, 1], "split": [3], "broadcast_to": [(2, 3, 3)],
    "full_like": [2], "quantile": [0.5], "percentile": [50.0], "top_k": [2], "in_top_k": None, "diagonal": [], "take": [[0, 1]], "array_split": [2],
}


def value(dtype):
    return keras.ops.cast(np.array([[1, 0, 2], [2, 1, 1], [0, 2, 1]]), dtype)


def types(y):
    return [keras.backend.standardize_dtype(t.dtype) for t in keras.tree.flatten(y)]


rows = []
for name in sorted(dir(keras.ops)):
    f = getattr(keras.ops, name)
    if name.startswith("_") or not callable(f) or isinstance(f, type) or EXTRA.get(name, 0) is None:
        continue
    try:
        needed = [p for p in inspect.signature(f).parameters.values() if p.default is p.empty and p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    except (TypeError, ValueError):
        continue
    extra = EXTRA.get(name, [])
    count = len(needed) - len(extra)
    listed = bool(needed) and needed[0].name in ("xs", "arrays", "inputs") and name in ("concatenate", "stack", "hstack", "vstack", "dstack", "block")
    combinations = [(a,) for a in TYPES] if count == 1 and not listed else itertools.product(PAIRS, PAIRS) if count == 2 or listed else []
    for ds in combinations:
        try:
            xs = [value(d) for d in ds]
            y = f(xs) if listed else f(*xs, *extra)
            out = types(y)
        except Exception:
            continue
        if out and all(t in TYPES for t in out):
            rows.append([name, list(ds), out])
with gzip.GzipFile(sys.argv[1], "w", mtime=0) as f:
    f.write(json.dumps({"extra": {k: v for k, v in EXTRA.items() if v}, "rows": rows}, separators=(",", ":")).encode())
print(len(rows), "rows of", len({r[0] for r in rows}), "functions")
