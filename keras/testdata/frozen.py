"""Records which weights a training step of Keras changes, of random models with frozen layers.

    KERAS_BACKEND=torch python frozen.py frozen.json.gz [COUNT [SEED]]

Written with Keras 3.15.1 on torch. Layers are frozen by an argument of their constructors, so that it is in the configuration, then others (or the
same) are frozen and thawed by `layer.trainable = ...`, by name. Every layer of users is drawn: with weights, wrappers, cells, models inside models,
layers that are shared. Each model is compiled and trained for a step; `changed` says for every weight whether it is another then (null where the
gradient of a trained one is so small that rounding decides), `trainable` whether it is among model.trainable_variables.

Keras forgets that attention and ConvLSTM layers were frozen where they make their own layers, in build and in the constructor: it trains what is
inside, also of files with layers that were frozen. Here they stay frozen (docs/api.md), so the script freezes what they made.
"""

import gzip
import json
import os
import random
import sys

os.environ.setdefault("KERAS_BACKEND", "torch")
import keras
import numpy as np
from keras import layers as K

FORGETFUL = (K.MultiHeadAttention, K.GroupQueryAttention, K.ConvLSTM1D, K.ConvLSTM2D, K.ConvLSTM3D)


class Draw(random.Random):
    names = 0

    def common(self):
        self.names += 1
        c = {"name": f"l{self.names}"}
        if self.random() < 0.3:
            c["trainable"] = False
        return c

    def cell(self, depth=1):
        kind = self.choice([K.LSTMCell, K.GRUCell, K.SimpleRNNCell, "stacked"] if depth else [K.LSTMCell, K.GRUCell])
        return K.StackedRNNCells([self.cell(0), self.cell(0)], **self.common()) if kind == "stacked" else kind(3, **self.common())

    def recurrent(self, **k):
        return self.choice([K.LSTM, K.GRU, K.SimpleRNN])(3, return_sequences=True, **self.common(), **k)

    def sequence(self, depth=2):
        """A layer, or a function of layers, from (batch, 4, 3) to the same."""
        kinds = ["norm", "dense", "recurrent", "conv", "attention", "embedding"] + ["bidirectional", "time", "spectral", "rnn", "stack", "functional", "shared", "lstm2d", "pipeline"] * (depth > 0)
        kind = self.choice(kinds)
        if kind == "norm":
            return self.choice([K.BatchNormalization, K.LayerNormalization, lambda **k: K.GroupNormalization(1, **k), K.UnitNormalization, K.RMSNormalization, lambda **k: K.PReLU(alpha_initializer="ones", **k)])(**self.common())
        if kind == "dense":
            return self.choice([lambda **k: K.Dense(3, **k), lambda **k: K.EinsumDense("abc,cd->abd", (4, 3), bias_axes="d", **k)])(**self.common())
        if kind == "recurrent":
            return self.recurrent()
        if kind == "conv":
            return self.choice([lambda **k: K.Conv1D(3, 2, padding="same", **k), lambda **k: K.SeparableConv1D(3, 2, padding="same", **k), lambda **k: K.DepthwiseConv1D(2, padding="same", **k),
                                lambda **k: K.Conv1DTranspose(3, 2, padding="same", **k)])(**self.common())
        if kind == "attention":
            layer = self.choice([lambda **k: K.MultiHeadAttention(2, 2, **k), lambda **k: K.GroupQueryAttention(2, 2, 1, **k), lambda **k: K.Attention(use_scale=True, **k), lambda **k: K.AdditiveAttention(**k)])(**self.common())
            return (lambda x: layer(x, x)) if "Query" in type(layer).__name__ or "Multi" in type(layer).__name__ else lambda x: layer([x, x])
        if kind == "embedding":  # of numbers that are whole after the layer in front of it
            layer, digit = K.Embedding(5, 3, **self.common()), K.Discretization([-0.5, 0, 0.5], name=self.common()["name"])
            return lambda x: layer(digit(keras.ops.sum(x, -1)))
        if kind == "bidirectional":
            other = {"backward_layer": self.recurrent(go_backwards=True)} if self.random() < 0.3 else {}
            return K.Bidirectional(self.recurrent(), merge_mode="sum", **other, **self.common())
        if kind == "time":
            inner = self.choice([K.Dense(3, **self.common()), K.BatchNormalization(**self.common()), self.stack(0, (3,)), K.TimeDistributed(K.Dense(3, **self.common()), **self.common())] if depth > 1 else [K.Dense(3, **self.common())])
            if isinstance(inner, K.TimeDistributed):
                shape, back, outer = K.Reshape((4, 3, 1)), K.Reshape((4, 3)), K.TimeDistributed(inner, **self.common())
                inner.layer.units = 1
                return lambda x: back(outer(shape(x)))
            return K.TimeDistributed(inner, **self.common())
        if kind == "spectral":
            return K.SpectralNormalization(self.choice([K.Dense(3, **self.common()), K.Conv1D(3, 2, padding="same", **self.common())]), **self.common())
        if kind == "rnn":
            cell = self.cell() if self.random() < 0.7 else [self.cell(0), self.cell(0)]
            return K.RNN(cell, return_sequences=True, **self.common())
        if kind == "stack":
            return self.stack(depth - 1, (4, 3))
        if kind == "functional":
            i = K.Input((4, 3))
            return keras.Model(i, self.sequence(depth - 1)(self.sequence(depth - 1)(i)), **self.common())
        if kind == "shared":
            a, b = self.sequence(depth - 1), self.sequence(depth - 1)
            return lambda x: a(b(a(x)))
        if kind == "pipeline":
            return K.Pipeline([K.Dense(3, **self.common())], name=self.common()["name"])
        layer, shape, back = self.choice([lambda **k: K.ConvLSTM1D(3, 2, padding="same", **k)])(return_sequences=True, **self.common()), K.Reshape((2, 2, 3)), K.Reshape((4, 3))
        return lambda x: back(layer(shape(x)))

    def stack(self, depth, shape):
        m = keras.Sequential(**self.common())
        if self.random() < 0.5:
            m.add(K.Input(shape))
        for _ in range(self.randint(1, 2)):
            layer = self.sequence(depth) if depth and len(shape) == 2 else K.Dense(3, **self.common())
            m.add(layer if isinstance(layer, keras.layers.Layer) else K.Dense(3, **self.common()))
        return m


def model(d):
    x = inputs = K.Input((4, 3))
    for _ in range(d.randint(1, 3)):
        x = d.sequence()(x)
    return keras.Model(inputs, K.Dense(2, **d.common())(x), **d.common())


def case(seed):
    d = Draw(seed)
    keras.utils.set_random_seed(seed)
    m = model(d)
    document = m.to_json()
    m = keras.models.model_from_json(document)
    flat = [l for l in m._flatten_layers() if l.name.startswith("l") and l.name[1:].isdigit()]
    for l in m._flatten_layers():
        if isinstance(l, FORGETFUL) and not l.trainable:
            l.trainable = False
    sets = []
    for _ in range(d.randint(0, 3)):
        l, on = d.choice(flat), d.random() < 0.4
        l.trainable = on
        sets.append({"layer": l.name, "trainable": on})
    m.compile("sgd", "mse")
    r = np.random.default_rng(seed)
    x = r.normal(size=(5, 4, 3)).astype("float32")
    before = [np.array(keras.ops.convert_to_numpy(v)) for v in m.weights]
    m.train_on_batch(x, r.normal(size=(5, 4, 2)).astype("float32"))
    trained = {id(v) for v in m.trainable_variables}
    return {"seed": seed, "model": json.loads(document), "sets": sets, "paths": [v.path for v in m.weights], "trainable": [id(v) in trained for v in m.weights],
            "changed": [change(b, np.array(keras.ops.convert_to_numpy(v)), id(v) in trained) for b, v in zip(before, m.weights)]}


def change(before, after, trained):
    most = np.abs(after - before).max()
    return None if trained and most < 1e-6 else bool(most > 0)


if __name__ == "__main__":
    count, seed = (int(v) for v in (sys.argv[2:] + ["60", "1"][len(sys.argv) - 2:]))
    cases = []
    for s in range(seed, seed + count):
        try:
            cases.append(case(s))
        except Exception as e:
            print(s, type(e).__name__, str(e)[:300], file=sys.stderr)
        keras.backend.clear_session()
    with gzip.GzipFile(sys.argv[1], "wb", mtime=0) as f:
        f.write(json.dumps(cases).encode())
    print(len(cases), sum(len(c["paths"]) for c in cases), sum(c["changed"].count(True) for c in cases))
