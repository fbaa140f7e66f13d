"""Writes small files in the formats of keras.datasets, and what Keras reads from them, to datasets.json.

    KERAS_BACKEND=jax python datasets.py
"""
import importlib
import json

import keras
import numpy as np

rng = np.random.RandomState(7)


def ragged(n):
    rows = np.empty(n, dtype=object)
    for i in range(n):
        rows[i] = [int(v) for v in rng.zipf(1.5, size=rng.randint(1, 9)) % 300 + 1]
    return rows


np.savez_compressed("imdb.npz", x_train=ragged(12), y_train=rng.randint(0, 2, 12), x_test=ragged(9), y_test=rng.randint(0, 2, 9))
np.savez_compressed("reuters.npz", x=ragged(15), y=rng.randint(0, 46, 15))
np.savez("boston_housing.npz", x=rng.normal(size=(11, 3)), y=rng.normal(size=11))
np.savez("california_housing.npz", x=rng.normal(size=(20, 2)).astype("float32"), y=rng.normal(size=20).astype("float32"))


def load(name, **kw):
    module = importlib.import_module("keras.src.datasets." + name)
    module.get_file = lambda path=None, fname=None, **_: fname or path
    parts = module.load_data(**kw)
    return {"name": name, "arguments": kw, "parts": [[[np.asarray(r).tolist() for r in x], np.asarray(y).tolist()] for x, y in parts]}


cases = [
    load("imdb"),
    load("imdb", num_words=20, skip_top=5, maxlen=7),
    load("imdb", seed=5),
    load("reuters"),
    load("reuters", num_words=30, test_split=0.5, seed=1),
    load("boston_housing"),
    load("boston_housing", test_split=0.5, seed=3),
    load("california_housing"),
]
with open("datasets.json", "w") as f:
    json.dump({"generator": "datasets.py", "versions": {"keras": keras.__version__, "numpy": np.__version__}, "cases": cases}, f)
