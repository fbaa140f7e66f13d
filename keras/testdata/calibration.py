"""Records what GPTQ and AWQ of Keras make of models: a model before, tokens, and the model and its predictions afterwards.

    KERAS_BACKEND=torch python calibration.py calibration.json.gz

Written with Keras 3.15.1 on PyTorch.
"""

import base64
import gzip
import json
import os
import sys
import tempfile

os.environ.setdefault("KERAS_BACKEND", "torch")
import keras
import numpy as np
from keras import layers, quantizers
from keras.src.quantizers.gptq_core import get_dataloader

# Keras 3.15.1 observes inputs in call, and calls quantized_call of layers that are to be quantized, so that it sees none of them. Here both are one.
for kind in (layers.Dense, layers.EinsumDense):
    def quantized_call(self, *args, original=kind.quantized_call, **kwargs):
        calibrated = getattr(self, "is_gptq_calibrated", False) or getattr(self, "is_awq_calibrated", False)
        return original(self, *args, **kwargs) if calibrated else self.call(*args, **kwargs)

    kind.quantized_call = quantized_call

random = np.random.default_rng(5)
LENGTH, WORDS, FEATURES = 6, 13, 12


def file_of(model):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "model.keras")
        model.save(path)
        with open(path, "rb") as f:
            return base64.b64encode(f.read()).decode()


def block(name):
    """Projections as those of attention, and a dense network beside a shortcut."""
    x = keras.Input((LENGTH, FEATURES))
    y = layers.EinsumDense("abc,cde->abde", (None, 2, 7), bias_axes="de", name=name + "_in")(x)
    y = layers.Activation("tanh", name=name + "_tanh")(y)
    y = layers.EinsumDense("abde,def->abf", (None, FEATURES + 3), bias_axes="f", name=name + "_out")(y)
    y = layers.Dense(2 * FEATURES, activation="relu", name=name + "_wide")(y)
    y = layers.Dense(FEATURES, use_bias=False, name=name + "_narrow")(y)
    return keras.Model(x, layers.Add(name=name + "_add")([x, y]), name=name)


class Numbers:
    def tokenize(self, text):
        return np.array(text)


def array(a):
    a = np.asarray(keras.ops.convert_to_numpy(a))
    return {"shape": list(a.shape), "dtype": str(a.dtype), "values": [float(v) for v in a.astype("float64").ravel()]}


cases = []
for name, config in {
    "gptq": lambda **k: quantizers.GPTQConfig(group_size=8, **k),
    "gptq_order": lambda **k: quantizers.GPTQConfig(group_size=-1, activation_order=True, **k),
    "gptq_8bit": lambda **k: quantizers.GPTQConfig(group_size=-1, weight_bits=8, **k),
    "gptq_symmetric": lambda **k: quantizers.GPTQConfig(group_size=6, symmetric=True, **k),
    "awq": lambda **k: quantizers.AWQConfig(group_size=8, **k),
    "awq_channel": lambda **k: quantizers.AWQConfig(group_size=-1, num_grid_points=7, **k),
}.items():
    keras.backend.clear_session()
    model = keras.Sequential([keras.Input((LENGTH,), dtype="int32"), layers.Embedding(WORDS, FEATURES, name="words"), block("one"), block("two"), layers.Dense(4, name="head")])
    for w in model.weights:
        value = random.normal(0, 0.4, w.shape)
        if w.name == "kernel":  # signs in turns: Keras has no zero for a group of positive weights
            rows = {"in": w.shape[0], "out": w.shape[0] * w.shape[1]}.get(w.path.split("/")[-2].split("_")[-1], w.shape[0])
            value = (np.abs(value).reshape(rows, -1) * np.where(np.arange(rows) % 2, 1, -1)[:, None]).reshape(w.shape)
        w.assign(value.astype("float32"))
    before = file_of(model)
    tokens = random.integers(0, WORDS, 40 * LENGTH)
    made = config(dataset=[tokens], tokenizer=Numbers(), num_samples=40, sequence_length=LENGTH)
    # The structure goes into the file where the configuration holds it.
    model.get_quantization_layer_structure = lambda mode: {"pre_block_layers": [model.layers[0]], "sequential_blocks": model.layers[1:3]}
    model.quantize(made.mode, config=made, filters=lambda layer: layer.name != "head")  # files lose layers that no block has
    x = random.integers(0, WORDS, (5, LENGTH)).astype("int32")
    cases.append({
        "name": name,
        "config": keras.saving.serialize_keras_object(made),
        "before": before,
        "examples": array(get_dataloader(Numbers(), LENGTH, [tokens], 40)[:, 0]),  # cut out at a place that differs from process to process
        "after": file_of(model),
        "names": [w.path for w in model.weights],
        "weights": [array(w) for w in model.weights],
        "x": array(x),
        "predicted": array(model.predict(x, verbose=0)),
    })
    print(name, len(cases[-1]["weights"]), file=sys.stderr)

with gzip.GzipFile(sys.argv[1], "wb", mtime=0) as f:
    f.write(json.dumps(cases).encode())
