"""Checks ONNX models and runs them. Prints, for each, what went wrong and the largest difference from the outputs that are given.

    python run_models.py MANIFEST

The manifest is a list of {"name", "path", "runs": [{"inputs": [{"shape", "dtype", "values"}], "outputs": [...]}]}. A difference is
relative to the larger of 1 and the expected number.
"""

import json
import sys

import numpy as np
import onnx
import onnxruntime

onnxruntime.set_default_logger_severity(3)


NUMPY = {"tensor(double)": "float64"}


def array(a):
    return np.array(a["values"], a["dtype"]).reshape(a["shape"])


def check(task):
    model = onnx.load(task["path"])
    onnx.checker.check_model(model, full_check=True)
    session = onnxruntime.InferenceSession(task["path"], providers=["CPUExecutionProvider"])
    worst = 0.0
    for run in task["runs"]:
        feed = {i.name: array(a).astype(NUMPY.get(i.type, a['dtype'])) for i, a in zip(session.get_inputs(), run["inputs"])}
        for got, a in zip(session.run(None, feed), run["outputs"]):
            want = array(a)
            if got.shape != want.shape:
                raise ValueError(f"shape {got.shape}, expected {want.shape}")
            if want.size:
                difference = np.abs(got - want) / np.maximum(1, np.abs(want))
                worst = max(worst, float(difference.max()) if np.isfinite(difference).all() else 1e30)
    return worst


results = {}
for task in json.load(open(sys.argv[1])):
    try:
        results[task["name"]] = {"Error": "", "Worst": check(task)}
    except Exception as e:  # whatever it is, it belongs into the report
        results[task["name"]] = {"Error": f"{type(e).__name__}: {e}"[:600], "Worst": 0.0}
print(json.dumps(results))
