"""Writes special_points.json: values and gradients of keras.ops functions where they are delicate (kinks, limits, ties).

    JAX_ENABLE_X64=1 KERAS_BACKEND=jax python special_points.py

Computed in float64. The gradient is jax.grad's, of the function of one number (or of two, for each).
"""
import json
import platform

import jax
import keras
import numpy as np
from keras import ops
from keras.src.backend.common import dtypes

keras.config.set_floatx("float64")
assert jax.config.jax_enable_x64
dtypes.BIT64_TO_BIT32_DTYPE["float64"] = "float64"  # on JAX, Keras would cut some results to float32

INF = float("inf")
POINTS = [-INF, -1000.0, -100.0, -6.0, -3.0, -1.0, -0.5, -1e-9, 0.0, 1e-9, 0.5, 1.0, 3.0, 6.0, 100.0, 1000.0, INF, float("nan")]
FEW = [-INF, -2.0, -1.0, 0.0, 1.0, 2.0, INF]

UNARY = {
    name: getattr(ops, name)
    for name in """abs arccos arccosh arcsin arcsinh arctan arctanh ceil cos cosh erf erfinv exp exp2 expm1 floor hard_sigmoid hard_silu
    hard_tanh isfinite isinf isnan log log10 log1p log2 log_sigmoid negative reciprocal relu relu6 round rsqrt selu sigmoid sign
    silu sin sinh softplus softsign sparse_plus sparse_sigmoid sqrt square squareplus tan tanh tanh_shrink""".split()
}
UNARY |= {
    "celu": ops.celu,
    "mish": keras.activations.mish,
    "celu_0.7": lambda x: ops.celu(x, alpha=0.7),
    "elu": ops.elu,
    "elu_0.3": lambda x: ops.elu(x, alpha=0.3),
    "gelu_erf": lambda x: ops.gelu(x, approximate=False),
    "gelu_tanh": lambda x: ops.gelu(x, approximate=True),
    "hard_shrink": ops.hard_shrink,
    "leaky_relu": ops.leaky_relu,
    "soft_shrink": ops.soft_shrink,
    "threshold": lambda x: ops.threshold(x, 0.5, -3.0),
    "clip": lambda x: ops.clip(x, -1.0, 3.0),
    "relu_options": lambda x: keras.activations.relu(x, negative_slope=0.25, max_value=2.5, threshold=0.5),
    "relu_max": lambda x: keras.activations.relu(x, max_value=3.0),
    "relu_slope": lambda x: keras.activations.relu(x, negative_slope=0.25),
}
BINARY = {
    name: getattr(ops, name)
    for name in "add arctan2 divide divide_no_nan floor_divide logaddexp maximum minimum mod multiply power subtract".split()
}


def number(x):
    x = float(x)
    return x if x - x == 0 else str(x)


def main():
    cases = []
    for name, f in UNARY.items():
        boolean = str(f(ops.convert_to_tensor(0.5)).dtype) == "bool"
        case = {"name": name, "x": [], "y": [], "dx": []}
        for x in POINTS:
            case["x"].append(number(x))
            case["y"].append(number(f(ops.convert_to_tensor(x, "float64"))))
            case["dx"].append(0.0 if boolean else number(jax.grad(lambda v: f(v))(np.float64(x))))
        cases.append(case)
    for name, f in BINARY.items():
        case = {"name": name, "x": [], "x2": [], "y": [], "dx": [], "dx2": []}
        for a in FEW:
            for b in FEW:
                case["x"].append(number(a))
                case["x2"].append(number(b))
                case["y"].append(number(f(ops.convert_to_tensor(a, "float64"), ops.convert_to_tensor(b, "float64"))))
                da, db = jax.grad(lambda v, w: f(v, w), argnums=(0, 1))(np.float64(a), np.float64(b))
                case["dx"].append(number(da))
                case["dx2"].append(number(db))
        cases.append(case)
    result = {
        "generator": "special_points.py",
        "versions": {"python": platform.python_version(), "keras": keras.__version__, "jax": jax.__version__},
        "seed": "none; nothing is random",
        "tolerance": "1e-12 of the larger of 1 and the value",
        "cases": cases,
    }
    with open("special_points.json", "w") as f:
        f.write(json.dumps(result).replace('{"name"', '\n{"name"') + "\n")


main()
