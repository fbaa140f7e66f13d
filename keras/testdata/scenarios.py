"""Numbers for scenarios_test.go: transfer learning, and a model with a loss of its own.

Run: KERAS_BACKEND=jax python scenarios.py > scenarios.json
Versions: Python 3.11, keras 3.15.1, jax 0.10.2. All weights begin as formula(i) below.
"""

import json

import numpy as np

import keras
from keras import layers, ops


def formula(model):
    values = []
    for w in model.weights:
        n = int(np.prod(w.shape))
        values.append((((np.arange(n) * 7) % 11 - 5) / 10).astype("float32").reshape(w.shape))
    model.set_weights(values)


def grid(n, d):
    i, j = np.meshgrid(np.arange(n), np.arange(d), indexing="ij")
    return (((i * d + j) % 17) / 17 - i / (4 * n)).astype("float32")


def flat(model):
    return [w.flatten().tolist() for w in model.get_weights()]


def transfer():
    base = keras.Sequential([keras.Input((4,)), layers.Dense(5, activation="relu")])
    model = keras.Sequential([base, layers.Dense(3)])
    model.build((None, 4))
    formula(model)
    x, y = grid(12, 4), np.arange(12) % 3
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    out = {}
    base.trainable = False
    model.compile(keras.optimizers.SGD(0.5), loss)
    out["frozen_loss"] = model.fit(x, y, batch_size=4, epochs=2, shuffle=False, verbose=0).history["loss"]
    out["frozen"] = flat(model)
    base.trainable = True
    model.compile(keras.optimizers.SGD(0.1), loss)
    out["thawed_loss"] = model.fit(x, y, batch_size=4, epochs=2, shuffle=False, verbose=0).history["loss"]
    out["thawed"] = flat(model)
    return out


class Autoencoder(keras.Model):
    """A variational autoencoder that codes with the mean, so that nothing is random."""

    def __init__(self):
        super().__init__()
        self.mean, self.log_variance, self.decoder = layers.Dense(2), layers.Dense(2), layers.Dense(4)

    def call(self, x):
        mean, log_variance = self.mean(x), self.log_variance(x)
        self.add_loss(-0.05 * ops.mean(1 + log_variance - ops.square(mean) - ops.exp(log_variance)))
        return self.decoder(mean)


def autoencoder():
    model = Autoencoder()
    x = grid(10, 4)
    model(x)
    formula(model)
    model.compile(keras.optimizers.Adam(0.05), "mse", metrics=["mse"])
    history = model.fit(x, x, batch_size=4, epochs=3, shuffle=False, verbose=0).history
    return {"loss": history["loss"], "mse": history["mse"], "weights": flat(model), "evaluate": model.evaluate(x, x, batch_size=4, verbose=0)}


print(json.dumps({"versions": {"keras": keras.__version__, "backend": keras.backend.backend()}, "transfer": transfer(), "autoencoder": autoencoder()}))
