"""Lists the public methods and properties of Keras's main classes, and the arguments of the methods of a model.

Run: KERAS_BACKEND=jax python members.py members.json
Versions: Python 3.11, keras 3.15.1, jax 0.10.2.
"""

import inspect
import json
import sys

import keras

CLASSES = {"Model": keras.Sequential, "Layer": keras.Layer, "Optimizer": keras.Optimizer, "Metric": keras.Metric, "Callback": keras.callbacks.Callback}
WITH_ARGUMENTS = ["compile", "evaluate", "export", "fit", "get_layer", "load_weights", "predict", "save", "save_weights", "summary", "test_on_batch", "train_on_batch"]

rows = []
for name, c in CLASSES.items():
    for member in sorted(n for n in dir(c) if not n.startswith("_") and n not in dir(keras.Operation)):
        if name == "Model" and member in dir(keras.Layer):
            continue
        rows.append(name + "." + member)
        if name == "Model" and member in WITH_ARGUMENTS:
            rows += ["%s.%s(%s)" % (name, member, a) for a, p in inspect.signature(getattr(c, member)).parameters.items() if a != "self" and p.kind is not p.VAR_KEYWORD]
with open(sys.argv[1], "w") as f:
    f.write(json.dumps(rows, indent=0) + "\n")
