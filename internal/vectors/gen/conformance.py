"""Conformance cases: small saved models with inputs and what Keras computes from them.

Run: KERAS_BACKEND=jax python gen/conformance.py <output directory> <folder of cases>

The folder holds <group>/<name>/{model.keras, inputs.npz, case.json, expected.npz, expected.json}, made by Keras with the
TensorFlow backend (or the one that a case names). This script opens each model in Keras and writes what a test needs without
reading the file format: the document of to_json, the weights in order, inputs, expected numbers and tolerances. It keeps the
cases of tiers 1 and 2 whose layers the library has.

A case holds
  config     model.to_json()
  inputs     x, y, sample_weight, val_x, val_y; or x/<input name>, y/<output name>
  weights    model.weights by path, then optimizer variables as optimizer/<n> where the file has state
  outputs    output or output/<name>: predictions (after fit: of the trained model); final/<n>: model.weights[n] after fit;
             final_optimizer/<n>: optimizer variables after fit
  extra      command, args, tier, tolerance, overrides, expected (history or evaluate), input_names, output_names
"""

import gzip
import io
import json
import os
import platform
import sys
import zipfile

os.environ.setdefault("KERAS_BACKEND", "jax")
import h5py  # noqa: E402
import keras  # noqa: E402
import numpy as np  # noqa: E402

GROUPS_OUT = {"files", "hostile", "convert", "summary", "preprocessing", "initializers"}


def array(name, value):
    value = np.asarray(value)
    dtype = str(value.dtype)
    data = value.astype(np.float64).ravel().tolist()
    if dtype == "float32":
        data = [float(repr(np.float32(v))[11:-1]) if repr(np.float32(v)).startswith("np.float32(") else float(v) for v in value.ravel()]
    data = [v if np.isfinite(v) else {np.inf: "Infinity", -np.inf: "-Infinity"}.get(v, "NaN") for v in data]
    return {"name": name, "shape": list(value.shape), "dtype": dtype, "data": data}


def members(npz, rename=lambda k: k.replace(".", "/", 1)):
    return [array(rename(k), npz[k]) for k in npz.files]


def datasets(path):
    with zipfile.ZipFile(path) as z, h5py.File(io.BytesIO(z.read("model.weights.h5")), "r") as f:
        out = {}
        f.visititems(lambda n, o: out.__setitem__(n, o[()]) if isinstance(o, h5py.Dataset) else None)
    return out


def convert(folder):
    case = json.load(open(f"{folder}/case.json"))
    if case["tier"] > 2 or case["group"] in GROUPS_OUT or "model_file" in case:
        return None
    model = keras.models.load_model(f"{folder}/model.keras", compile=True)
    weights = [array(w.path, w) for w in model.weights]
    stored = datasets(f"{folder}/model.keras")
    n = 0
    while f"optimizer/vars/{n}" in stored:
        weights.append(array(f"optimizer/{n}", stored[f"optimizer/vars/{n}"]))
        n += 1
    inputs = members(np.load(f"{folder}/inputs.npz"))
    expected = np.load(f"{folder}/expected.npz") if os.path.exists(f"{folder}/expected.npz") else None
    outputs, overrides = [], case.get("tolerance_overrides", {})
    if expected is not None:
        place = {}
        for i, w in enumerate(model.weights):  # which dataset holds which weight: same path, in the order of the file
            place.setdefault(w.path.split("/", 1)[1] if w.path.startswith(model.name + "/") else w.path, i)
            place.setdefault(w.path, i)
        variables = case.get("variables", {})
        for key in expected.files:
            if key.startswith("file/optimizer/vars/"):
                outputs.append(dict(array("final_optimizer/" + key.rsplit("/", 1)[1], expected[key]), key=key))
            elif key.startswith("file/"):
                path = variables.get(key[5:])
                if path in place:
                    outputs.append(dict(array(f"final/{place[path]}", expected[key]), key=key))
            else:
                outputs.append(dict(array(key.replace(".", "/", 1), expected[key]), key=key))
    result = json.load(open(f"{folder}/expected.json")) if os.path.exists(f"{folder}/expected.json") else None
    return {
        "name": f"{case['group']}/{case['name']}/{model.dtype_policy.name}", "class": type(model).__name__, "config": json.loads(model.to_json()),
        "dtype": model.dtype_policy.name,
        "inputs": inputs, "outputs": [{k: v for k, v in o.items() if k != "key"} for o in outputs], "gradients": [], "weights": weights,
        "extra": {
            "command": case["command"], "args": case["args"], "tier": case["tier"], "tolerance": case["tolerance"],
            "overrides": {o["name"]: overrides[o["key"]] for o in outputs if o["key"] in overrides} | {k: v for k, v in overrides.items() if k not in (expected.files if expected is not None else [])},
            "expected": result, "check_order": case.get("check_order", False),
            "input_names": getattr(model, "input_names", None) or [t.name for t in model.inputs],
            "output_names": list(getattr(model, "output_names", [])),
        },
        "rtol": case["tolerance"]["rtol"], "atol": case["tolerance"]["atol"],
    }


def main(out, root):
    cases, left = [], []
    for group in sorted(os.listdir(root)):
        if not os.path.isdir(f"{root}/{group}"):
            continue
        for name in sorted(os.listdir(f"{root}/{group}")):
            folder = f"{root}/{group}/{name}"
            if not os.path.exists(f"{folder}/case.json"):
                continue
            try:
                c = convert(folder)
            except Exception as e:  # a case that this Keras cannot open is named, not hidden
                left.append(f"{group}/{name}: {type(e).__name__}: {str(e)[:120]}")
                continue
            if c:
                cases.append(c)
    doc = {"generator": "internal/vectors/gen/conformance.py", "versions": {"python": platform.python_version(), "keras": keras.__version__, "numpy": np.__version__, "backend": "tensorflow"}, "seed": 0}
    text = json.dumps(doc)[:-1] + ', "cases": [\n' + ",\n".join(json.dumps(c, allow_nan=False) for c in cases) + "\n]}\n"
    with open(f"{out}/conformance.json.gz", "wb") as f, gzip.GzipFile(fileobj=f, mode="wb", mtime=0, filename="") as z:
        z.write(text.encode())
    print(len(cases), "cases;", len(left), "left out")
    print("\n".join(left))


main(*sys.argv[1:])
