"""Writes layers/initializers/testdata/constants.json: what Keras makes of Constant with numbers and with arrays."""

import json
import pathlib

import keras
import numpy as np

cases = []
for value, shape in [
    (0.5, (2,)),
    (np.array([1.0, 2.0], "float32"), (2,)),
    (np.array([[0.1, 2], [3, 4]], "float32"), (2, 2)),
    (np.array([[1], [2]], "int32"), (2, 2)),
]:
    initializer = keras.initializers.Constant(value)
    numbers = np.array(initializer(shape, "float32")).astype("float64")
    cases.append({"config": keras.initializers.serialize(initializer), "shape": list(shape), "want": numbers.ravel().tolist()})
path = pathlib.Path(__file__).parents[3] / "layers/initializers/testdata/constants.json"
path.write_text(json.dumps(cases) + "\n")
