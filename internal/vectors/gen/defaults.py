"""Default constructors: what keras.layers.X() and its like are, with only what must be given.

A case: class; config is get_config() of the object as it is saved, with all defaults in it. extra: kind (layers, losses, metrics, optimizers,
schedules, initializers, regularizers, constraints, callbacks, quantizers, distillation), required (the arguments that were given, as they are saved), for layers shapes and dtypes of inputs that
the layer takes (with a batch of 4). For callbacks, quantizers and distillation config holds the defaults of the constructor's arguments.
"""

import gzip
import inspect
import json
import os
import sys

os.environ.setdefault("KERAS_BACKEND", "jax")
import keras
import numpy as np

LEFT_OUT = {
    "Layer", "InputLayer", "Wrapper", "TFSMLayer", "TorchModuleWrapper", "JaxLayer", "FlaxLayer", "AbstractRNNCell", "BaseConv",
    "Loss", "Metric", "MeanMetricWrapper", "Optimizer", "LearningRateSchedule", "Initializer", "Regularizer", "Constraint", "Callback", "CallbackList",
    "OrbaxCheckpoint", "Quantizer", "QuantizationConfig", "DistillationLoss",
}
dense = lambda: keras.layers.Dense(3, name="inner")
cell = lambda: keras.layers.LSTMCell(3, name="inner")
REQUIRED = {
    "units": 3, "filters": 4, "kernel_size": 3, "rate": 0.5, "stddev": 0.5, "num_heads": 2, "key_dim": 3, "num_query_heads": 4, "num_key_value_heads": 2, "head_dim": 3,
    "input_dim": 7, "output_dim": 3, "equation": "ab,bc->ac", "output_shape": 3, "dims": (2, 1), "target_shape": (-1,), "n": 2, "axes": 1, "height": 5, "width": 6,
    "num_bins": 5, "num_tokens": 5, "scale": 0.5, "factor": 0.2, "height_factor": 0.2, "cropping": 1, "output_size": 2, "bin_boundaries": [0.0, 1.0],
    "crop_to_aspect_ratio": False, "layer": dense, "cell": cell, "cells": lambda: [keras.layers.GRUCell(3, name="a"), keras.layers.LSTMCell(2, name="b")],
    "num_classes": 3, "target_class_ids": [0], "specificity": 0.5, "sensitivity": 0.5, "precision": 0.5, "recall": 0.5, "fn": None,
    "initial_learning_rate": 0.5, "decay_steps": 5, "decay_rate": 0.5, "first_decay_steps": 5, "boundaries": [2, 4], "values": [0.3, 0.2, 0.1],
    "inner_optimizer": lambda: keras.optimizers.SGD(0.1), "filepath": "f.keras", "schedule": None, "backup_dir": "b", "filename": "f.csv", "num_resolutions": 1,
    "activation": "relu", "pool_size": 2, "max_number": 3, "width_factor": 0.3, "optimizer_map": lambda: keras.optimizers.OptimizerMap(keras.optimizers.SGD(0.1)),
}
PER_CLASS = {
    "StringLookup": {"vocabulary": ["a", "b"]}, "IntegerLookup": {"vocabulary": [1, 2]}, "TextVectorization": {"vocabulary": ["a", "b"]},
    "Discretization": {"bin_boundaries": [0.0, 1.0]}, "Conv1D": {"filters": 4, "kernel_size": 3}, "Normalization": {"mean": 0.5, "variance": 2.0},
    "Identity": {}, "EinsumDense": {"equation": "ab,bc->ac", "output_shape": 3}, "Bidirectional": {"layer": lambda: keras.layers.LSTM(3, name="inner")},
    "SpectralNormalization": {"layer": dense}, "RandomCrop": {"height": 5, "width": 6}, "HashedCrossing": {"num_bins": 5},
    "PiecewiseConstantDecay": {"boundaries": [2, 4], "values": [0.3, 0.2, 0.1]}, "CategoryEncoding": {"num_tokens": 5}, "RandomPosterization": {"factor": 4},
    "Lambda": {"function": lambda: keras.ops.relu}, "Pipeline": {"layers": lambda: [keras.layers.Rescaling(0.5, name="a"), keras.layers.ReLU(name="b")]},
}
# Other names than those of the classes.
ALIASES = {"GroupQueryAttention"}
# Defaults that count only where something else is asked for.
MORE = {
    "SGD": [{"use_ema": True}, {"momentum": 0.5}, {"gradient_accumulation_steps": 2}], "Adam": [{"amsgrad": True}, {"use_ema": True}], "RMSprop": [{"centered": True, "momentum": 0.5}],
    "BatchNormalization": [{"renorm": True}],
    "LSTM": [{"return_sequences": True}], "ReLU": [{"max_value": 1.0}], "AUC": [{"curve": "PR"}, {"multi_label": True}], "EarlyStopping": [],
    "CosineDecay": [{"warmup_target": 0.5, "warmup_steps": 2}], "BinaryCrossentropy": [{"from_logits": True}],
}
SHAPES = [[(4,)], [(6, 4)], [(8, 8, 3)], [(6, 6, 6, 2)], [(4, 8, 8, 3)], [(4, 6, 6, 6, 2)], [(4,), (4,)], [(6, 4), (6, 4)], [(1,), (1,)]]


def value(v):
    return v() if callable(v) else v


def saved(v):
    if isinstance(v, (list, tuple)):
        return [saved(x) for x in v]
    if isinstance(v, (str, int, float, bool)) or v is None:
        return v
    return plain(keras.saving.serialize_keras_object(v))


def plain(v):
    return json.loads(json.dumps(v, default=lambda x: x.tolist() if hasattr(x, "tolist") else str(x)))


def required(name, cls):
    given = dict(PER_CLASS.get(name, {}))
    for p in inspect.signature(cls.__init__).parameters.values():
        if p.name in ("self", "args", "kwargs") or p.kind in (p.VAR_KEYWORD, p.VAR_POSITIONAL) or name in PER_CLASS:
            continue
        if p.default is p.empty:
            if p.name not in REQUIRED or REQUIRED[p.name] is None:
                return None
            given[p.name] = REQUIRED[p.name]
    return given


def example(shapes, dtype):
    rng = np.random.default_rng(1)
    return [rng.integers(0, 4, (4, *s)).astype(dtype) if dtype != "float32" else rng.random((4, *s)).astype("float32") for s in shapes]


def accepted(cls, arguments):
    """The first shapes and type of inputs that the layer takes."""
    for dtype in ("float32", "int32"):
        for shapes in SHAPES:
            x = example(shapes, dtype)
            try:
                layer = cls(**{k: value(v) for k, v in arguments.items()})
                y = layer(x[0] if len(x) == 1 else x)
                keras.tree.map_structure(np.asarray, y)
                return [list(s) for s in shapes], dtype
            except Exception:
                continue
    return None, None


def classes(module, base):
    return {n: c for n, c in sorted(vars(module).items()) if inspect.isclass(c) and issubclass(c, base) and n not in LEFT_OUT and (c.__name__ == n or n in ALIASES)}


def cases():
    groups = {
        "layers": (keras.layers, keras.layers.Layer), "losses": (keras.losses, keras.losses.Loss), "metrics": (keras.metrics, keras.metrics.Metric),
        "optimizers": (keras.optimizers, keras.optimizers.Optimizer), "schedules": (keras.optimizers.schedules, keras.optimizers.schedules.LearningRateSchedule),
        "initializers": (keras.initializers, keras.initializers.Initializer), "regularizers": (keras.regularizers, keras.regularizers.Regularizer),
        "constraints": (keras.constraints, keras.constraints.Constraint),
    }
    for kind, (module, base) in groups.items():
        for name, cls in classes(module, base).items():
            given = required(name, cls)
            if given is None:
                print("left out:", kind, name, file=sys.stderr)
                continue
            for i, more in enumerate([{}] + MORE.get(name, [])):
                arguments = {**given, **more}
                try:
                    made = cls(**{k: value(v) for k, v in arguments.items()})
                    config = plain(keras.saving.serialize_keras_object(made)["config"])
                except Exception as e:
                    print("left out:", kind, name, repr(e)[:200], file=sys.stderr)
                    continue
                extra = {"kind": kind, "required": {k: saved(value(v)) for k, v in arguments.items()}}
                if kind == "layers":
                    extra["shapes"], extra["dtype"] = accepted(cls, arguments)
                yield {"name": f"{kind}/{name}" + (f"/{i}" if i else "") + "/float32", "class": name, "config": config, "dtype": "float32", "extra": extra}
    for kind, name, cls in signatures():
        parameters = [p for p in inspect.signature(cls.__init__).parameters.values() if p.name not in ("self", "args", "kwargs")]
        config = {p.name: plain(p.default) for p in parameters if p.default is not p.empty}
        if kind == "quantizers" and len(config) == len(parameters):
            config |= plain(cls().get_config())  # instead of the word "default"
        yield {"name": f"{kind}/{name}/float32", "class": name, "config": config, "dtype": "float32", "extra": {"kind": kind, "required": {}}}


def signatures():
    """What is compared by the defaults of its constructor."""
    for kind, module in (("callbacks", keras.callbacks), ("quantizers", keras.quantizers), ("distillation", keras.distillation)):
        for name, cls in classes(module, object).items():
            yield kind, name, cls


def main():
    out = sys.argv[1]
    versions = {"python": sys.version.split()[0], "keras": keras.__version__, "numpy": np.__version__, "backend": keras.backend.backend()}
    lines = ",\n".join(json.dumps({**c, "rtol": 1e-5, "atol": 1e-6}) for c in cases())
    text = '{"generator": "internal/vectors/gen/defaults.py", "versions": %s, "seed": 0, "cases": [\n%s\n]}\n' % (json.dumps(versions), lines)
    with open(os.path.join(out, "defaults.json.gz"), "wb") as f, gzip.GzipFile(fileobj=f, mode="wb", mtime=0, filename="") as z:
        z.write(text.encode())


if __name__ == "__main__":
    main()
