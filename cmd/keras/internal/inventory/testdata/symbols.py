"""Lists the public symbols of Keras: module, name, class or function, and the name of which it is an alias.

Run: KERAS_BACKEND=jax python symbols.py symbols.json
Versions: Python 3.11, keras 3.15.1, jax 0.10.2.
"""

import importlib
import inspect
import json
import sys

import keras

MODULES = ["", "models", "layers", "losses", "metrics", "optimizers", "optimizers.schedules", "callbacks", "initializers", "regularizers", "constraints",
           "activations", "ops", "ops.image", "random", "utils", "utils.bounding_boxes", "preprocessing.image", "preprocessing.sequence", "saving", "dtype_policies", "config",
           "tree", "export", "distribution", "applications", "applications.imagenet_utils", "datasets", "quantizers", "wrappers", "visualization", "distillation"]

rows = []
for module in MODULES:
    home = importlib.import_module("keras." + module if module else "keras")
    seen = {}
    members = [(n, getattr(home, n)) for n in sorted(dir(home), key=lambda n: (n.lower(), n)) if not n.startswith("_")]
    if module == "datasets":
        members = [(n, o) for n, o in members if inspect.ismodule(o)]
    else:
        members = [(n, o) for n, o in members if not inspect.ismodule(o)]
    for name, o in members:
        own = getattr(o, "__name__", name)
        kind = "module" if inspect.ismodule(o) else "class" if inspect.isclass(o) else "function"
        row = {"module": module, "name": name, "kind": kind}
        if kind != "module" and own != name and any(n == own and m is o for n, m in members):
            row["alias_of"] = own
        rows.append(row)
with open(sys.argv[1], "w") as f:
    f.write("[\n" + ",\n".join(json.dumps(r) for r in rows) + "\n]\n")
