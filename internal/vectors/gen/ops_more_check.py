"""Computes the cases of ops_more again with other backends of Keras, and lists where they differ.

Run: KERAS_BACKEND=jax python gen/ops_more_check.py <directory of ops_more.json.gz> > jax; the same with torch and tensorflow
     python gen/ops_more_check.py jax torch tensorflow

The first form writes a line of JSON for each case: its name and "", or what is different. Results are computed in the type of the case. The second form prints a table of the cases in which
some backend differs, or refuses, and says last how many no other backend confirms: those are NumPy's alone.
"""

import gzip
import json
import os
import subprocess
import sys

import numpy as np


def table(files):
    read = {f: dict(json.loads(line) for line in open(f) if line.startswith("[")) for f in files}
    names = list(next(iter(read.values())))
    assert all(list(r) == names for r in read.values())
    alone = 0
    for name in names:
        verdicts = {os.path.basename(f): r[name] for f, r in read.items()}
        if any(verdicts.values()):
            alone += all(verdicts.values())
            print("ALONE " if all(verdicts.values()) else "      ", name, *(f"{b}: {v or 'the same'};" for b, v in verdicts.items()))
    print(f"{len(names)} cases, {alone} of NumPy's backend alone")


def numbers(a):
    return np.array([float(v) for v in a["data"]]).reshape(a["shape"])


def main():
    import common
    import ops
    import keras
    from keras.src import tree

    with gzip.open(os.path.join(sys.argv[1], "ops_more.json.gz")) as f:
        cases = [c for c in json.load(f)["cases"] if c["dtype"] == common.DTYPE]
    for c in cases:
        name = c["class"]
        fn = getattr(keras.ops.image, name[6:]) if name.startswith("image.") else getattr(keras.ops, name)
        tensors = {a["name"]: keras.ops.convert_to_tensor(numbers(a).astype(a["dtype"])) for a in c["inputs"]}
        try:
            args = [ops.lists_to_tuples(name, ops.restore(x, tensors)) for x in c["extra"]["call"]["args"]]
            kwargs = {n: ops.lists_to_tuples(name, ops.restore(x, tensors)) for n, x in c["extra"]["call"]["kwargs"].items()}
            out = tree.flatten(fn(*args, **kwargs))
            verdict = "" if len(out) == len(c["outputs"]) else f"{len(out)} results"
            loose = c["dtype"] == "float32" or name.startswith(("image.", "ctc_"))
            for got, want in zip(map(common.numpy, out), c["outputs"]):
                got, want = np.asarray(got, "float64"), numbers(want).astype(want["dtype"] if want["dtype"] == "float32" else "float64").astype("float64")
                if got.shape != want.shape:
                    verdict = f"shape {got.shape}"
                    break
                scale = max(1.0, np.abs(want[np.isfinite(want)]).max(initial=0))
                if not np.allclose(got, want, 0, (2e-5 if loose else 1e-10) * scale, equal_nan=True):
                    verdict = f"off by {np.nanmax(np.abs(got - want)):.3g} of {scale:.3g}"
        except Exception as e:
            verdict = f"{type(e).__name__}: {e}".split("\n")[0][:80]
        print(json.dumps([c["name"], verdict]), flush=True)


if "KERAS_BACKEND" not in os.environ:
    table(sys.argv[1:])
elif "VECTORS_DTYPE" in os.environ:
    main()
else:
    for dtype in ("float32", "float64"):
        subprocess.run([sys.executable, *sys.argv], check=True, env={**os.environ, "VECTORS_DTYPE": dtype})
