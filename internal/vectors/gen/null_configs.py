"""Which keys of which classes Keras takes null for.

Run: KERAS_BACKEND=numpy python gen/null_configs.py <folder keras/testdata>
Versions: see common.py.

null_configs.json.gz holds a list of objects:
  kind, class_name, config   of an instance
  nulls                      key to what from_config makes of null there: "error", "default" where the argument is None by default, "kept" else
Many "kept" ones fail later, when the object computes.
"""

import gzip
import inspect
import io
import json
import os
import sys

import common
import keras

KINDS = {"layer": keras.layers, "optimizer": keras.optimizers, "learning_rate": keras.optimizers.schedules, "loss": keras.losses, "metric": keras.metrics,
         "initializer": keras.initializers, "regularizer": keras.regularizers, "constraint": keras.constraints}

BASES = {"Layer", "InputSpec", "Loss", "Metric", "Initializer", "Constraint", "Regularizer", "Optimizer"}

# Names in files that are not those of Python.
FILES = {"GroupedQueryAttention": "GroupQueryAttention"}

# What arguments without a default are given.
GIVEN = {"filters": 2, "kernel_size": 2, "units": 2, "rate": 0.3, "stddev": 0.2, "input_dim": 3, "output_dim": 2, "num_tokens": 3, "n": 2, "size": 2, "target_shape": (2,), "dims": (1,),
         "height": 3, "width": 3, "num_bins": 3, "factor": 0.2, "equation": "ab,bc->ac", "output_shape": 2, "num_heads": 2, "key_dim": 2, "head_dim": 4, "num_query_heads": 2,
         "num_key_value_heads": 1, "scale": 2.0, "activation": "relu", "axes": 1, "axis": -1, "output_size": 2, "height_factor": 0.2, "width_factor": 0.2, "num_classes": 3,
         "target_class_ids": [0], "recall": 0.5, "precision": 0.5, "sensitivity": 0.5, "specificity": 0.5, "initial_learning_rate": 0.1, "decay_steps": 10, "first_decay_steps": 10,
         "decay_rate": 0.5, "boundaries": [1, 2], "values": [0.1, 0.2, 0.3], "cropping": 1, "padding": 1, "pool_size": 2, "max_number": 3}


def given(cls, name):
    if name == "factor" and cls is keras.layers.RandomPosterization:
        return 4
    if name == "layer":
        return keras.layers.LSTM(2) if cls is keras.layers.Bidirectional else keras.layers.Dense(2)
    if name in ("cell", "cells"):
        return keras.layers.LSTMCell(2) if name == "cell" else [keras.layers.LSTMCell(2)]
    return keras.optimizers.SGD() if name == "inner_optimizer" else GIVEN[name]


def make(cls):
    arguments = inspect.signature(cls.__init__).parameters
    kw = {n: given(cls, n) for n, p in list(arguments.items())[1:] if p.default is p.empty and p.kind not in (p.VAR_KEYWORD, p.VAR_POSITIONAL)}
    more = {"StringLookup": {"vocabulary": ["a"]}, "IntegerLookup": {"vocabulary": [1]}, "Discretization": {"bin_boundaries": [0.0]}, "CategoryEncoding": {"num_tokens": 3}}
    return cls(**kw, **more.get(cls.__name__, {})), arguments


def main():
    out, seen = [], set()
    for kind, module in KINDS.items():
        for name in sorted(dir(module)):
            cls = getattr(module, name)
            if not inspect.isclass(cls) or cls in seen or name in BASES:
                continue
            seen.add(cls)
            try:
                instance, arguments = make(cls)
                config = instance.get_config()
                json.dumps(config)
            except Exception as e:
                print(kind, name, type(e).__name__, str(e)[:80], file=sys.stderr)
                continue
            nulls = {}
            for key in config:
                try:
                    cls.from_config({**json.loads(json.dumps(config)), key: None})
                    free = config[key] is None or key in arguments and arguments[key].default is None
                    nulls[key] = "default" if free else "kept"
                except Exception:
                    nulls[key] = "error"
            out.append({"kind": kind, "class_name": FILES.get(cls.__name__, cls.__name__), "config": config, "nulls": nulls})
    raw = io.BytesIO()
    with gzip.GzipFile(fileobj=raw, mode="wb", filename="", mtime=0, compresslevel=9) as f:
        f.write(json.dumps({"generator": "null_configs.py", "versions": common.versions(), "objects": out}).encode())
    with open(os.path.join(sys.argv[1], "null_configs.json.gz"), "wb") as f:
        f.write(raw.getvalue())
    print(len(out), "objects,", len(raw.getvalue()), "bytes")


main()
