"""A second opinion on the calls of dtypes.py: computes them again with another backend of Keras.

    KERAS_BACKEND=tensorflow python second_types.py testdata/dtypes.json.gz [PATTERN...]
    KERAS_BACKEND=numpy python second_types.py --float64 testdata/dtypes.json.gz [PATTERN...]

Names are those of exceptions.txt without "dtypes_", patterns those of a shell. Each result is printed with its type, its first numbers and the largest
difference from what is recorded. With --float64 all operands are cast to float64.
"""

import fnmatch
import gzip
import inspect
import json
import sys
import warnings

warnings.filterwarnings("ignore")
import keras
import numpy as np

FUNCTIONS = {
    name: f
    for module in (keras.ops.image, keras.ops.linalg, keras.ops.nn, keras.ops.numpy, keras.ops)
    for name, f in vars(module).items()
    if inspect.isfunction(f)
}


def numbers(a):
    return np.array([float(v) for v in a["values"]]).reshape(a["shape"])


def name(case):
    return "_".join([case["function"]] + [x["type"] for a in case["arguments"] for x in a.get("list", []) + [a] if x.get("type")])


def argument(a, dtype):
    def tensor(x):
        return keras.ops.cast(keras.ops.convert_to_tensor(numbers(x)), dtype or x["type"])

    if "list" in a:
        return [tensor(x) for x in a["list"]]
    return tensor(a) if "type" in a else a["value"]


def opinion(case, dtype):
    try:
        out = FUNCTIONS[case["function"]](*[argument(a, dtype) for a in case["arguments"]])
    except Exception as e:
        return [f"refused: {type(e).__name__}: {e}".replace("\n", " ")[:160]]
    lines = []
    for i, t in enumerate(t for t in keras.tree.flatten(out) if t is not None):
        got = keras.ops.convert_to_numpy(t).astype("float64")
        line = f"{keras.backend.standardize_dtype(t.dtype)}{list(got.shape)} {' '.join(f'{v:.6g}' for v in got.ravel()[:5])}"
        if i < len(case.get("results", [])):
            want = case["results"][i]
            line += f"; recorded {want['type']}"
            if want["shape"] == list(got.shape) and got.size:
                line += f", largest difference {np.max(np.abs(got - numbers(want))):.3g}"
        lines.append(line)
    return lines


def main():
    arguments = [a for a in sys.argv[1:] if a != "--float64"]
    dtype = "float64" if "--float64" in sys.argv else None
    with gzip.open(arguments[0]) as f:
        cases = json.load(f)
    for case in cases:
        if any(fnmatch.fnmatchcase(name(case), p) for p in arguments[1:] or ["*"]):
            print(name(case))
            for line in opinion(case, dtype):
                print("   ", line)


if __name__ == "__main__":
    main()
