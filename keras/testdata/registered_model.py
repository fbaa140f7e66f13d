"""Writes registered_model.keras and .json: a model of a user's class, as Keras saves it, and how it trains on.

With a path as argument: loads the model that Go wrote there and prints what registered_model.json would say of it.
"""

import json
import os
import sys

os.environ.setdefault("KERAS_BACKEND", "tensorflow")  # on JAX, train_on_batch of such a model predicts

import keras  # noqa: E402
import numpy as np  # noqa: E402
from keras import layers  # noqa: E402

X = np.array([[1, 2], [-1, 3], [0.5, -2], [2, 0.25]], "float32")
Y = np.array([[1, 0], [0, 1], [1, 1], [0.5, 0]], "float32")


@keras.saving.register_keras_serializable(package="tests")
class ownCoder(keras.Model):
    def __init__(self, units, decoder_layer, blocks, heads, **kwargs):
        super().__init__(**kwargs)
        self.units = units
        self.decoder_layer = decoder_layer
        self.blocks = blocks
        self.heads = heads
        self.encoder = layers.Dense(units, activation="tanh")
        self.head = keras.Sequential([layers.Dense(2), layers.BatchNormalization()])

    def call(self, x, training=None):  # without the argument Keras trains as it predicts
        x = self.decoder_layer(self.encoder(x))
        for block in self.blocks:
            x = block(x)
        return self.head(self.heads["a"](x) + self.heads["b"](x))

    def get_config(self):
        return {
            **super().get_config(),
            "units": self.units,
            "decoder_layer": keras.saving.serialize_keras_object(self.decoder_layer),
            "blocks": keras.saving.serialize_keras_object(list(self.blocks)),
            "heads": keras.saving.serialize_keras_object(dict(self.heads)),
        }

    @classmethod
    def from_config(cls, config):
        for key in ("decoder_layer", "blocks", "heads"):
            config[key] = keras.saving.deserialize_keras_object(config[key])
        return cls(**config)


def describe(model):
    """What the model predicts, and the losses of the next steps."""
    return {
        "name": model.name,
        "predicted": np.asarray(model.predict(X, verbose=0)).tolist(),
        "losses": [float(model.train_on_batch(X, Y)) for _ in range(3)],
        "then": np.asarray(model.predict(X, verbose=0)).tolist(),
    }


if len(sys.argv) > 1:
    print(json.dumps(describe(keras.models.load_model(sys.argv[1]))))
else:
    keras.utils.set_random_seed(3)
    inner = keras.Sequential([keras.Input((2,)), layers.Dense(4, activation="relu", bias_initializer="ones")])
    blocks = [layers.Dense(3), layers.LayerNormalization(), layers.Dense(3)]
    model = ownCoder(3, layers.Dense(2), [inner, *blocks], {"a": layers.Dense(2), "b": layers.Dense(2)}, name="mine")
    model.compile(keras.optimizers.SGD(0.05, momentum=0.9), "mse")
    model.fit(X, Y, epochs=2, verbose=0)
    folder = os.path.dirname(os.path.abspath(__file__))
    model.save(os.path.join(folder, "registered_model.keras"))
    with open(os.path.join(folder, "registered_model.json"), "w") as f:
        json.dump(describe(model), f)
