"""Joins what ops_more.py writes with Keras's NumPy backend and with TensorFlow's.

Run: python gen/ops_more_join.py <directory of NumPy's> <directory of TensorFlow's> <output directory>

A case in which both agree gets TensorFlow's gradients. The others, which it lists, and those that TensorFlow refuses keep NumPy's numbers, without
gradients: the test compares with central differences there.
"""

import gzip
import json
import os
import sys

import numpy as np


def read(directory):
    with gzip.open(os.path.join(directory, "ops_more.json.gz")) as f:
        return json.load(f)


def numbers(array):
    return np.array([float(v) for v in array["data"]]).reshape(array["shape"])


def agree(case, other):
    if other is None or len(case["outputs"]) != len(other["outputs"]):
        return False
    loose = case["dtype"] == "float32" or case["class"].startswith(("image.", "ctc_"))
    for a, b in zip(case["outputs"], other["outputs"]):
        x, y = numbers(a), numbers(b)
        if x.shape != y.shape:
            return False
        scale = max(1.0, np.abs(y[np.isfinite(y)]).max(initial=0))
        if not np.allclose(x, y, 0, (2e-5 if loose else 1e-10) * scale, equal_nan=True):
            return False
    return True


def joined(case, other):
    out = dict(case)
    if not other.get("gradients") or case["class"] == "image.affine_transform":  # TensorFlow's is not that of its own results
        return out
    out["extra"] = {k: v for k, v in case["extra"].items() if k != "differentiable"}
    out["inputs"], out["gradients"] = other["inputs"], other["gradients"]
    if case["class"] == "ctc_loss":  # TensorFlow computes it in float32
        for a in out["gradients"]:
            a["atol"] = float(f"{1e-5 * max(1.0, np.abs(numbers(a)).max()):.2e}")
    return out


def main():
    one, two = read(sys.argv[1]), read(sys.argv[2])
    others = {c["name"]: c for c in two["cases"]}
    cases, gradients = [], 0
    for c in one["cases"]:
        other = others.get(c["name"])
        if agree(c, other):
            c = joined(c, other)
        else:
            print("NumPy's alone:", c["name"])
        gradients += "gradients" in c
        cases.append(json.dumps(c, separators=(",", ":"), allow_nan=False))
    head = {**{k: v for k, v in one.items() if k != "cases"}, "second": two["versions"]}
    text = json.dumps(head)[:-1] + ', "cases": [\n' + ",\n".join(cases) + "\n]}\n"
    with gzip.GzipFile(os.path.join(sys.argv[3], "ops_more.json.gz"), "w", 9, mtime=0) as f:
        f.write(text.encode())
    print(f"{len(cases)} cases, {gradients} with gradients")


if __name__ == "__main__":
    main()
