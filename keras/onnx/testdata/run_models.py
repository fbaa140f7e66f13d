"""Checks ONNX models and runs them, in ONNX Runtime and, where it is installed, in OpenVINO. Prints, for each, what went wrong and the largest difference from the outputs that are given.

    python run_models.py MANIFEST

The manifest is a list of {"name", "path", "runs": [{"inputs": [{"shape", "dtype", "values"}], "outputs": [...]}]}. A difference is
relative to the larger of 1 and the expected number.
"""

import json
import sys

import numpy as np
import onnx
import onnxruntime

try:
    import openvino
except ImportError:
    openvino = None

onnxruntime.set_default_logger_severity(3)


NUMPY = {"tensor(double)": "float64"}


def array(a):
    return np.array(a["values"], a["dtype"]).reshape(a["shape"])


def in_onnxruntime(path):
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])

    def run(inputs):
        return session.run(None, {i.name: a.astype(NUMPY.get(i.type, a.dtype)) for i, a in zip(session.get_inputs(), inputs)})

    return run


def in_openvino(path):
    settings = {"INFERENCE_PRECISION_HINT": "f32", "INFERENCE_NUM_THREADS": 1}
    model = openvino.compile_model(openvino.Core().read_model(path), "CPU", settings)

    def run(inputs):
        results = model([a.astype(i.element_type.to_dtype()) for i, a in zip(model.inputs, inputs)])
        return [results[o] for o in model.outputs]

    return run


def check(task):
    model = onnx.load(task["path"])
    onnx.checker.check_model(model, full_check=True)
    onnx.shape_inference.infer_shapes(model, check_type=True, strict_mode=True, data_prop=True)
    worst = 0.0
    for load in [in_onnxruntime] + [in_openvino] * (openvino is not None):
        compute = load(task["path"])
        for run in task["runs"]:
            for got, a in zip(compute([array(a) for a in run["inputs"]]), run["outputs"]):
                want = array(a)
                if got.shape != want.shape:
                    raise ValueError(f"{load.__name__}: shape {got.shape}, expected {want.shape}")
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
