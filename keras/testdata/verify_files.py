#!/usr/bin/env python3
"""Opens model files that Go wrote in real Keras and compares them with the files that Keras wrote.

    verify_files.py MANIFEST

MANIFEST is a JSON list of {"name", "original", "written", "inputs", "batch_size", "fit", "weights", "expected"}. For each: the written
file loads without a warning, has the same to_json, predicts the same, and one more epoch of training gives the same history and
weights. With "weights", a list of files, each is loaded into the model, which must then predict what is expected. One line for each
difference; the last line counts them.

The backend is TensorFlow, which computes operation by operation when told to: hundreds of small models are computed once each, and to
compile them first takes three times as long (seven times with JAX). KERAS_BACKEND=jax works too.
"""
import json, os, re, sys, warnings
os.environ.setdefault("KERAS_BACKEND", "tensorflow")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("TF_NUM_INTRAOP_THREADS", "1")  # arrays are small, and threads that wait for each other spin
import keras
import numpy as np


def load(path):
    m = keras.saving.load_model(path)
    if keras.backend.backend() == "tensorflow":
        m.run_eagerly = True
    return m


def predict(m, x, batch_size):
    """What m.predict gives, without the pipeline of data that it makes each time."""
    examples = len(keras.tree.flatten(x)[0])
    parts = [m.predict_on_batch(keras.tree.map_structure(lambda a: a[i:i + batch_size], x)) for i in range(0, examples, batch_size)]
    return keras.tree.map_structure(lambda *p: np.concatenate(p), *parts)


def split(path):
    out = {}
    if os.path.exists(path):
        for k, v in np.load(path).items():
            role, dot, name = k.partition(".")
            if dot:
                out.setdefault(role, {})[name] = v
            else:
                out[role] = v
    return out


def inputs(m, x):
    if not isinstance(x, dict) or isinstance(getattr(m, "_inputs_struct", None), dict):
        return x
    return [x[t.name] for t in m.inputs]


def targets(m, y):
    if not isinstance(y, dict):
        return y
    cfg = m._compile_config.config
    named = isinstance(m._outputs_struct, dict) or any(isinstance(cfg.get(k), dict) and "class_name" not in cfg.get(k) for k in ("loss", "loss_weights", "metrics", "weighted_metrics"))
    return dict(y) if named else [y[n] for n in m.output_names]


def leaves(o):
    if isinstance(o, dict):
        return [v for k in sorted(o) for v in leaves(o[k])]
    if isinstance(o, (list, tuple)):
        return [v for e in o for v in leaves(e)]
    return [np.asarray(o, dtype=float)]


def differences(a, b, path=""):
    if isinstance(a, dict) and isinstance(b, dict):
        out = []
        for k in sorted(set(a) | set(b)):
            if k == "shared_object_id":
                continue
            if k == "build_config" and a.get("class_name") == "Normalization":  # of adapted ones, the shape of all examples seen
                continue
            if k not in a or k not in b:
                out.append(f"{path}/{k}: {'only in the written file' if k not in a else 'missing'}")
            else:
                out += differences(a[k], b[k], f"{path}/{k}")
        return out
    if isinstance(a, list) and isinstance(b, list) and len(a) == len(b):
        return [d for i in range(len(a)) for d in differences(a[i], b[i], f"{path}/{i}")]
    return [] if a == b else [f"{path}: {json.dumps(a)[:120]} became {json.dumps(b)[:120]}"]


def close(what, a, b, rtol=2e-5, atol=2e-6):
    out = []
    for i, (x, y) in enumerate(zip(leaves(a), leaves(b), strict=True)):
        limit = rtol * np.abs(x) + atol * max(np.max(np.abs(x), initial=0), 1e-3)
        if x.shape != y.shape or not np.all((np.abs(x - y) <= limit) | (np.isnan(x) & np.isnan(y))):
            out.append(f"{what} {i} differs by {np.max(np.abs(x - y)) if x.shape == y.shape else (x.shape, y.shape)}")
    return out


class Subclassed(keras.Model):
    """The Python twin of the Go type of the same name in files_python_test.go."""

    def __init__(self):
        super().__init__()
        L = keras.layers
        self.conv1, self.out = L.Dense(3), L.Dense(1)
        self.blocks = [L.Dense(3), [L.Dense(3)]]
        self.d = {"a": L.Dense(3), "b": L.Dense(3)}

    def call(self, x):
        x = self.blocks[1][0](self.blocks[0](self.conv1(x)))
        return self.out(self.d["a"](self.d["b"](x)))


def complaints(caught):
    """What Keras warns of. JAX also tells that it computes float64 models in float32."""
    return [str(w.message) for w in caught if "keras" in str(w.filename) and "Explicitly requested dtype" not in str(w.message)]


def anonymous(warning):
    """A warning without the numbers in it, as in the names of layers."""
    return re.sub(r"[0-9]+", "#", warning)


def check_weights(case):
    d, want = split(case["inputs"]), split(case["expected"])
    out = []
    for path in case["weights"]:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            if case["written"]:
                m = load(case["written"])
            else:
                m = Subclassed()
                m(d["x"])
            for v in m.weights:
                v.assign(v * 0)
            m.load_weights(path)
        out += [f"{path}: warning: {w}" for w in complaints(caught)]
        out += [f"{os.path.basename(path)}: {p}" for p in close("prediction", want["y"], predict(m, d["x"], 32), 1e-2, 1e-2)]
    return out


def check(case):
    if case.get("weights"):
        return check_weights(case)
    with warnings.catch_warnings(record=True) as expected:
        warnings.simplefilter("always")
        want = load(case["original"]) if case["original"] else None
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        got = load(case["written"])
    said = {anonymous(w) for w in complaints(expected)}
    out = [f"warning: {w}" for w in complaints(caught) if anonymous(w) not in said]
    if want is None:
        return out
    out += differences(json.loads(want.to_json()), json.loads(got.to_json()))
    d = split(case["inputs"])
    if "x" not in d:
        return out
    x, batch = inputs(want, d["x"]), case["batch_size"] or 32
    out += close("prediction", predict(want, x, batch), predict(got, x, batch))
    if case["fit"] and "y" in d:
        kw = dict(batch_size=batch, epochs=1, shuffle=False, verbose=0)
        a = want.fit(x, targets(want, d["y"]), sample_weight=targets(want, d.get("sample_weight")), **kw).history
        b = got.fit(x, targets(got, d["y"]), sample_weight=targets(got, d.get("sample_weight")), **kw).history
        out += [] if list(a) == list(b) else [f"history keys {list(a)} and {list(b)}"]
        out += close("history", a, b) + close("weight after training", want.get_weights(), got.get_weights())
        out += close("optimizer variable", [v.numpy() for v in want.optimizer.variables], [v.numpy() for v in got.optimizer.variables])
    return out


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


if __name__ == "__main__":
    main()
