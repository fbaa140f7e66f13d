"""Layers under every policy of types: outputs and gradients with fixed weights.

Run: KERAS_BACKEND=jax python gen/layer_types.py <output directory>
Versions: see common.py.

The layers are those of defaults.py, made by their default constructors with what they must be given, under each policy in turn. Numbers of inputs and weights
are multiples of 1/8 and 1/16 that every type holds. The format is that of layers.py: output is the result of a call in inference, gradients are those of
sum(output * cotangent), summed in float32 (float64 under that policy), for each floating input and each trainable weight. Inputs of the layers are
float32 (float64 under that policy) and cast by the layer. The tolerance of an array is two units of its type's last place of the largest number, or four times the distance from
what Keras computes under float64.
"""

import inspect
import os

import jax
import numpy as np

import common
import defaults
import keras
from keras.src import tree

POLICIES = {"float32": ["float32", "float16", "bfloat16", "mixed_float16", "mixed_bfloat16"], "float64": ["float64"]}
UNIT = {"float32": 1e-5, "float64": 1e-10, "float16": 2e-3, "bfloat16": 1.6e-2, "mixed_float16": 2e-3, "mixed_bfloat16": 1.6e-2}
SHAPES = [[(4,)], [(5, 4)], [(5, 5, 3)], [(4, 4, 4, 2)], [(2, 4, 4, 2)], [(2, 3, 3, 3, 2)], [(4,), (4,)], [(5, 4), (5, 4)], [(1,), (1,)]]
IMAGES, VOLUMES, PAIR = [(5, 5, 3)], [(4, 4, 4, 2)], [(5, 4), (5, 4)]
OTHER_SHAPES = {
    "AdaptiveAveragePooling2D": IMAGES, "AdaptiveMaxPooling2D": IMAGES, "AdaptiveAveragePooling3D": VOLUMES, "AdaptiveMaxPooling3D": VOLUMES, "Attention": PAIR,
    "AdditiveAttention": PAIR, "MultiHeadAttention": PAIR, "GroupQueryAttention": PAIR, "GroupNormalization": [(3, 32)], "MelSpectrogram": [(96,)], "STFTSpectrogram": [(40, 1)], "Resizing": IMAGES, "CenterCrop": IMAGES, "RandomCrop": IMAGES, "AugMix": IMAGES,
    "ConvLSTM1D": [(2, 4, 2)], "ConvLSTM2D": [(2, 4, 4, 2)],
}
OTHER_ARGUMENTS = {
    "MelSpectrogram": {"sequence_length": 64, "fft_length": 64, "sequence_stride": 32, "num_mel_bins": 5, "sampling_rate": 4000, "max_freq": 2000},
    "STFTSpectrogram": {"frame_length": 16, "frame_step": 8, "fft_length": 16}, "CenterCrop": {"height": 3, "width": 3}, "RandomCrop": {"height": 3, "width": 3},
    "ConvLSTM1D": {"filters": 2, "kernel_size": 2}, "ConvLSTM2D": {"filters": 2, "kernel_size": 2}, "ConvLSTM3D": {"filters": 2, "kernel_size": 2},
}
# The names of arguments of layers that are called with several.
ARGUMENTS = {"MultiHeadAttention": ["query", "value"], "GroupQueryAttention": ["query", "value"]}
INTEGERS = {"Embedding": (4,), "ReversibleEmbedding": (4,), "CategoryEncoding": (3,)}
LEFT_OUT = {  # strings, tables and boxes, whose types layers/lookup_types_test.go has, and cells, which are called with states
    "StringLookup", "IntegerLookup", "TextVectorization", "Hashing", "HashedCrossing", "MaxNumBoundingBoxes", "GRUCell", "LSTMCell", "SimpleRNNCell", "StackedRNNCells",
}


def weight(r, path, shape):
    if any(word in path for word in ("variance", "stddev", "gamma", "scale")):
        return r.integers(8, 25, shape) / 16
    return r.integers(-12, 13, shape) / 16


def inputs(name, r, shapes):
    if name in INTEGERS:
        return [r.integers(0, 4, (2, *INTEGERS[name])).astype("int32")]
    if "MaxPooling" in name:  # no two of them equal
        return [(r.permutation(2 * int(np.prod(s))).reshape(2, *s) - 128) / 64 for s in shapes]
    return [r.integers(-16, 17, (2, *s)) / 8 for s in shapes]


def options(cls):
    """Layers of images are in training unless they are told otherwise."""
    training = inspect.signature(cls.call).parameters.get("training")
    return {"training": False} if training is not None and training.default is True else {}


def taken(make, name, given):
    """The first shapes that the layer takes."""
    for shapes in [OTHER_SHAPES[name]] if name in OTHER_SHAPES else SHAPES:
        try:
            x = [keras.ops.convert_to_tensor(a.astype(common.DTYPE) if a.dtype == np.float64 else a) for a in inputs(name, common.rng(name), shapes)]
            out = make()(*x) if name in ARGUMENTS else make()(x[0] if len(x) == 1 else x)
            if all(0 not in o.shape for o in tree.flatten(out)):
                return shapes
        except Exception:
            continue
    return None


def record(w, name, cls, policy):
    given = {**(defaults.required(name, cls) or {}), **OTHER_ARGUMENTS.get(name, {})}

    def make():
        common.reset()
        keras.config.set_dtype_policy(policy)
        return cls(**{k: defaults.value(v) for k, v in given.items()})

    shapes = taken(make, name, given)
    if shapes is None:
        print("takes none:", name, policy, flush=True)
        return
    r = common.rng("layer types", name)
    names = ARGUMENTS.get(name) or [f"x_{i}" if len(shapes) > 1 else "x" for i in range(len(shapes))]
    values = dict(zip(names, inputs(name, r, shapes)))
    floats = [n for n, a in values.items() if a.dtype == np.float64]
    values = {n: a.astype(common.DTYPE) if n in floats else a for n, a in values.items()}
    tensors = {n: keras.ops.convert_to_tensor(a) for n, a in values.items()}
    layer = make()

    def call(function, given, *before):
        x = [given[n] for n in values]
        x = x if name in ARGUMENTS or len(x) == 1 else [x]
        return function(*before, *x, **options(cls))

    call(layer, tensors)
    for v in layer.weights:
        if str(v.dtype).startswith(("float", "bfloat")):
            v.assign(weight(r, v.path, tuple(v.shape)))
    stored = [(v.path, common.numpy(v)) for v in layer.weights]
    if len({p for p, _ in stored}) != len(stored):
        raise ValueError(f"paths are not unique: {[p for p, _ in stored]}")
    trainable = [v.value for v in layer.trainable_variables]
    fixed = [v.value for v in layer.non_trainable_variables]
    flat = [o for o in tree.flatten(call(layer, tensors)) if o is not None]
    outputs = [("output" if len(flat) == 1 else f"output_{i}", common.numpy(o)) for i, o in enumerate(flat)]
    cotangents = [(n.replace("output", "cotangent"), (r.integers(-8, 9, o.shape) / 8).astype(common.DTYPE))
                  for n, o in outputs if str(o.dtype).startswith(("float", "bfloat"))]

    def objective(trainable, given):
        out, _ = call(layer.stateless_call, {**tensors, **given}, trainable, fixed)
        floating = [o for o in tree.flatten(out) if o is not None and str(o.dtype).startswith(("float", "bfloat"))]
        return sum((o.astype(common.DTYPE) * c).sum() for o, (_, c) in zip(floating, cotangents))

    gradients = []
    if cotangents and (trainable or floats):
        of_weights, of_inputs = jax.grad(objective, argnums=(0, 1))(trainable, {n: tensors[n] for n in floats})
        gradients = [(n, of_inputs[n]) for n in floats] + [(v.path, g) for v, g in zip(layer.trainable_variables, of_weights)]
    _, config = common.object_config(layer)
    args = [{"input": n} for n in names]
    w.case(name, name, config, policy, inputs=list(values.items()) + cotangents, outputs=outputs, gradients=gradients, weights=stored,
           extra={"call": {"args": args if len(args) == 1 or name in ARGUMENTS else [args], "kwargs": options(cls)},
                  "trainable": [v.trainable for v in layer.weights]}, rtol=UNIT[policy], atol=UNIT[policy])


def main():
    w = common.Writer("layer_types", __file__)
    only = os.environ.get("ONLY", "").split()
    for name, cls in defaults.classes(keras.layers, keras.layers.Layer).items():
        if name in LEFT_OUT or only and name not in only:
            continue
        for policy in POLICIES[common.DTYPE]:
            try:
                record(w, name, cls, policy)
            except Exception as e:
                print("refused:", name, policy, type(e).__name__, str(e).split("\n")[0][:150], flush=True)
    w.write(common.out_dir())


common.run(main)
