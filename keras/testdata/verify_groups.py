#!/usr/bin/env python3
"""Opens models that Go wrote in real Keras and goes on with them.

    verify_groups.py MANIFEST

MANIFEST is a JSON list of {"name", "model", "document", "data", "losses", "random"}. For each: the file loads without a warning, to_json
is the document, the model predicts what data holds, and further training steps give the losses. One line for each difference; the last
line counts them. The backend is JAX, whose results count where those of Keras's backends differ (sobel_edges at the border).
"""
import json, os, sys, warnings
os.environ.setdefault("KERAS_BACKEND", "jax")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
import keras
import numpy as np
from verify_files import close, complaints, differences


def resolved(case, difference):
    """What Keras decides when it makes a model, and the document leaves open: whether to compile, and names of layers inside layers."""
    path = difference.split(": ")[0]
    if "/activity_regularizer/config/" in path:  # Keras keeps its factors in float32
        return True
    if "/config/layers/" in path and path.rsplit("/", 1)[1] in ("data_format", "name", "strides", "size") and "patches" in case["name"]:
        return True  # arguments of operations as they were given; Keras fills in defaults
    if path.rsplit("/", 1)[1] in ("x_factor", "y_factor"):  # of RandomShear, whose own configuration Keras cannot read
        return True
    return path.endswith("/jit_compile") or (path.count("/config") > 2 or path.count("/layers/") > 1) and (path.endswith("/name") or path.endswith("/build_config"))


def check(case):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        m = keras.saving.load_model(case["model"])
    out = [f"warning: {w}" for w in complaints(caught)]
    out += [d for d in differences(json.loads(m.to_json()), json.loads(case["document"])) if not resolved(case, d)]
    d = dict(np.load(case["data"]))
    x = [d[f"x{i}"] for i in range(len(m.inputs))]
    x = x[0] if len(x) == 1 else x
    y = m.predict_on_batch(x)
    want = [d[f"p{i}"] for i in range(sum(k.startswith("p") for k in d))]
    out += close("prediction", want, y if isinstance(y, (list, tuple)) else [y], 2e-4, 2e-5)
    if not case["losses"]:
        return out
    losses = [float(m.train_on_batch(x, d["y"])) for _ in case["losses"]]
    return out + close("loss", case["losses"], losses, 2e-4, 2e-5)


def main():
    bad = 0
    for case in json.load(open(sys.argv[1])):
        try:
            problems = check(case)
        except Exception as e:
            problems = [f"{type(e).__name__}: {str(e)[:600]}"]
        for p in problems:
            bad += 1
            print(f"{case['name']}: {p}", flush=True)
        keras.backend.clear_session(free_memory=False)
    print(f"{bad} differences")
    sys.exit(1 if bad else 0)


main()
