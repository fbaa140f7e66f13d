"""A second opinion: computes cases again with another backend of Keras and compares with what is recorded.

    KERAS_BACKEND=jax python second.py FOLDER NAME...

Prints for each case the largest difference from the recorded numbers. Where a second backend agrees with the program under test
and not with the record, the first backend is at fault.
"""

import io
import json
import os
import sys
import tempfile
import zipfile

import numpy as np


def arrays(folder, file):
    path = os.path.join(folder, file)
    if not os.path.exists(path):
        return None
    with np.load(path) as z:
        return dict(z)


def weights(source):
    import h5py

    found = {}
    with zipfile.ZipFile(source) as z, h5py.File(io.BytesIO(z.read("model.weights.h5")), "r") as f:
        f.visititems(lambda n, d: found.update({n: np.asarray(d[()])}) if isinstance(d, h5py.Dataset) and "seed" not in n else None)
    return found


def difference(got, want):
    got, want = np.asarray(got, np.float64), np.asarray(want, np.float64)
    if got.shape != want.shape:
        return f"shape {got.shape}, recorded {want.shape}"
    if want.size == 0:
        return "empty"
    with np.errstate(invalid="ignore"):
        error = np.where((got == want) | (np.isnan(got) & np.isnan(want)), 0, np.abs(got - want))
    i = np.unravel_index(np.argmax(np.nan_to_num(error, nan=np.inf)), error.shape)
    return f"largest difference {error[i]:.3g} at {i}: {got[i]:.9g}, recorded {want[i]:.9g}"


def opinion(folder):
    import keras

    with open(os.path.join(folder, "case.json"), encoding="utf-8") as f:
        case = json.load(f)
    model = keras.saving.load_model(os.path.join(folder, "model.keras"), compile=case["command"] != "predict")
    x = arrays(folder, "in.npz")
    x = x if len(x) > 1 else next(iter(x.values()))
    batch = case["batch_size"]
    if case["command"] == "predict":
        got = [np.asarray(v) for v in keras.tree.flatten(model.predict(x, batch_size=batch, verbose=0))]
        return [difference(g, w) for g, w in zip(got, arrays(folder, "out.npz").values())]
    y, w = arrays(folder, "y.npz"), arrays(folder, "w.npz")
    if y is not None:
        y = next(iter(y.values())) if len(y) == 1 else [y[n] for n in model.output_names]
    w = None if w is None else next(iter(w.values()))
    if case["command"] == "evaluate":
        got = model.evaluate(x, y, sample_weight=w, batch_size=batch, return_dict=True, verbose=0)
        with open(os.path.join(folder, "evaluate.json"), encoding="utf-8") as f:
            want = json.load(f)
        return [f"{k}: {difference(got[k], v)}" for k, v in want.items()]
    got = model.fit(x, y, sample_weight=w, epochs=case["epochs"], batch_size=batch, shuffle=False, verbose=0).history
    with open(os.path.join(folder, "history.json"), encoding="utf-8") as f:
        want = json.load(f)
    lines = [f"{k}: {difference(got[k], v)}" for k, v in want.items()]
    temporary = os.path.join(tempfile.gettempdir(), f"second-{os.getpid()}.keras")
    model.save(temporary)
    g, w = weights(temporary), weights(os.path.join(folder, "trained.keras"))
    os.remove(temporary)
    return lines + [f"{k}: {difference(g[k], v)}" for k, v in w.items() if k in g and not np.allclose(g[k], v, 5e-5, 1e-5)]


def main():
    root = sys.argv[1]
    for name in sys.argv[2:]:
        print(name)
        try:
            for line in opinion(os.path.join(root, "cases", name)):
                print("   ", line)
        except Exception as e:
            print("   ", f"{type(e).__name__}: {e}"[:300])


if __name__ == "__main__":
    main()
