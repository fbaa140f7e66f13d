"""Runs StableHLO modules in the reference interpreter of jaxlib.

Each line of the standard input is {"text": module, "inputs": [attribute, ...]}; each line of the output is {"outputs":
[{"dtype", "shape", "data": hexadecimal}]} or {"error": text}.
"""

import json
import os
import sys

import numpy as np
from jax._src.interpreters import mlir
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo


def run(case):
    with mlir.make_ir_context():
        module = ir.Module.parse(case["text"])
        outputs = stablehlo.eval_module(module, [ir.Attribute.parse(a) for a in case["inputs"]])
        values = []
        for out in outputs:
            array = np.array(out)
            values.append({"dtype": str(array.dtype), "shape": list(array.shape), "data": np.ascontiguousarray(array).tobytes().hex()})
        return {"outputs": values}


def apart(line):
    """Runs a case in a process of its own, which the interpreter ends where it does not know an op."""
    receiver, sender = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(receiver)
        try:
            result = run(json.loads(line))
        except Exception as e:  # told to who asked
            result = {"error": f"{type(e).__name__}: {e}"[:400]}
        with os.fdopen(sender, "w") as f:
            f.write(json.dumps(result))
        os._exit(0)
    os.close(sender)
    with os.fdopen(receiver) as f:
        text = f.read()
    os.waitpid(child, 0)
    return text or json.dumps({"error": "the interpreter does not know an op"})


for line in sys.stdin:
    print(apart(line), flush=True)
