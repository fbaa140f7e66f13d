"""Writes compiled_inside.keras and .json: a model of a user's class that holds compiled models, as Keras saves it, and
how those train on.

With a path as argument: loads the model that Go wrote there and prints what compiled_inside.json would say of it.
"""

import json
import os
import sys

os.environ.setdefault("KERAS_BACKEND", "tensorflow")

import keras  # noqa: E402
import numpy as np  # noqa: E402
from keras import layers  # noqa: E402

X = np.array([[1, 2], [-1, 3], [0.5, -2], [2, 0.25]], "float32")
Y = np.array([[1, 0], [0, 1], [1, 1], [0.5, 0]], "float32")


@keras.saving.register_keras_serializable(package="tests")
class partHolder(keras.Model):
    def __init__(self, part, models, others, **kwargs):
        super().__init__(**kwargs)
        self.part = part
        self.models = models
        self.others = others

    def call(self, x, training=None):
        x = self.part(x)
        for model in self.models:
            x = model(x)
        return self.others["a"](x)

    def get_config(self):
        return {
            **super().get_config(),
            "part": keras.saving.serialize_keras_object(self.part),
            "models": keras.saving.serialize_keras_object(list(self.models)),
            "others": keras.saving.serialize_keras_object(dict(self.others)),
        }

    @classmethod
    def from_config(cls, config):
        for key in ("model", "parts", "named"):  # fields that Go writes too
            config.pop(key, None)
        for key in ("part", "models", "others"):
            config[key] = keras.saving.deserialize_keras_object(config[key])
        return cls(**config)


def describe(model):
    """The losses of the next steps of the models inside."""
    inside = [model.part, model.models[0], model.others["a"]]
    return [[float(m.train_on_batch(X, Y)) for _ in range(3)] for m in inside]


def functional():
    x = keras.Input((2,))
    return keras.Model(x, layers.Dense(2)(layers.Dense(3, activation="tanh")(x)))


if len(sys.argv) > 1:
    print(json.dumps(describe(keras.models.load_model(sys.argv[1]))))
else:
    keras.utils.set_random_seed(4)
    model = partHolder(
        keras.Sequential([keras.Input((2,)), layers.Dense(4, activation="relu", bias_initializer="ones"), layers.Dense(2)]),
        [functional()],
        {"a": keras.Sequential([layers.Dense(2)])},
    )
    model(X)
    for i, m in enumerate([model.part, model.models[0], model.others["a"]]):
        m.compile(keras.optimizers.SGD(0.05 * (i + 1), momentum=0.9), "mse")
        m.fit(X, Y, epochs=2, verbose=0)
    model.compile("adam", "mae")
    model.fit(X, Y, epochs=1, verbose=0)
    folder = os.path.dirname(os.path.abspath(__file__))
    model.save(os.path.join(folder, "compiled_inside.keras"))
    with open(os.path.join(folder, "compiled_inside.json"), "w") as f:
        json.dump(describe(model), f)
