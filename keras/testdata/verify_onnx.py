#!/usr/bin/env python3
"""Runs ONNX models and compares them with what Go predicted.

    verify_onnx.py MANIFEST

MANIFEST is a JSON list of {"name", "path", "inputs", "outputs", "rtol"}: the inputs are a .npz file with the arrays of the model's inputs
by their names, or one array "x"; the outputs one with "0", "1", ... Prints a JSON object: for each name what went wrong, "" for nothing.
"""
import json, sys
import numpy as np
import onnxruntime

onnxruntime.set_default_logger_severity(3)
TYPES = {"tensor(float)": "float32", "tensor(double)": "float64", "tensor(float16)": "float16", "tensor(int64)": "int64", "tensor(int32)": "int32",
         "tensor(int16)": "int16", "tensor(int8)": "int8", "tensor(uint8)": "uint8", "tensor(uint16)": "uint16", "tensor(uint32)": "uint32",
         "tensor(uint64)": "uint64", "tensor(bool)": "bool"}


def check(case):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(case["path"], options, providers=["CPUExecutionProvider"])
    data = dict(np.load(case["inputs"]))
    inputs = session.get_inputs()
    if len(inputs) == 1:
        data = {inputs[0].name: next(iter(data.values()))}
    feed = {}
    for i in inputs:
        x = data[i.name].astype(TYPES[i.type])
        rank = len(i.shape)
        feed[i.name] = x if x.ndim == rank else x[..., None] if x.ndim == rank - 1 else x[..., 0]
    want = np.load(case["outputs"])
    for n, got in enumerate(session.run(None, feed)):
        w = want[str(n)]
        if got.shape != w.shape:
            return f"output {n} has the shape {got.shape}, expected {w.shape}"
        if w.size:
            limit = case["rtol"] * (np.abs(w) + np.max(np.abs(w)) + 1e-3)
            far = ~((np.abs(got.astype("float64") - w) <= limit) | (np.isnan(got) & np.isnan(w)) | (got == w))
            if far.any():
                return f"output {n} differs by {np.nanmax(np.abs(got.astype('float64') - w))} of {np.max(np.abs(w))}"
    return ""


results = {}
for case in json.load(open(sys.argv[1])):
    try:
        results[case["name"]] = check(case)
    except Exception as e:
        results[case["name"]] = f"{type(e).__name__}: {e}"[:500]
print(json.dumps(results))
