"""Writes functions_more.json: what keras.ops functions return for small inputs.

    JAX_ENABLE_X64=1 KERAS_BACKEND=jax python functions_more.py

Computed in float64, of decompositions what does not depend on signs. Each case is a name, the inputs and the results; the calls stand below and, in the same words, in functions_more_test.go.
"""
import json
import platform

import jax
import keras
import numpy as np
from keras import ops as keras_ops
from keras.src.backend.common import dtypes

keras.config.set_floatx("float64")
assert jax.config.jax_enable_x64
dtypes.BIT64_TO_BIT32_DTYPE["float64"] = "float64"  # on JAX, Keras would cut some results to float32



class Ops:
    """keras.ops; what this version of Keras lacks is taken from jax.numpy, under the same name."""

    def __getattr__(self, name):
        f = getattr(keras_ops, name, None)
        if f is None:
            lacking.add(name)
            f = getattr(jax.numpy, name)
        return f


lacking, ops = set(), Ops()
rng = np.random.default_rng(20261122)
nan, inf = np.nan, np.inf


def normal(*shape):
    return np.round(rng.normal(size=shape), 3)


def whole(low, high, *shape):
    return rng.integers(low, high, size=shape).astype("int32")

def image(*shape):
    return np.round(rng.uniform(size=shape), 3)


M, N = normal(4, 3), normal(2, 3, 3)
LOW = normal(4, 2) @ normal(2, 5)  # of rank 2
IMAGE = image(2, 5, 6, 3)
GRAY = np.array([[[0.5, 0.5, 0.5], [0.0, 0.0, 0.0], [1.0, 0.25, 0.25], [0.25, 1.0, 1.0], [0.2, 0.1, 0.3]]])
VOLUME = image(1, 4, 5, 4, 2)

CASES = {
    "svd": (lambda x: (lambda u, s, v: [ops.abs(u), s, ops.abs(v)])(*ops.svd(x, full_matrices=False)), M),
    "svd_wide": (lambda x: (lambda u, s, v: [ops.abs(u), s, ops.abs(v[..., :3, :])])(*ops.svd(x)), np.transpose(M)),
    "svd_values": (lambda x: ops.svd(x, compute_uv=False), N),
    "norm_2": (lambda x: [ops.norm(x, ord=2, axis=(1, 2)), ops.norm(x, ord=-2, axis=(2, 1)), ops.norm(x, ord="nuc", axis=(1, 2))], N),
    "eigh": (lambda x: (lambda w, v: [w, ops.abs(v)])(*ops.eigh(x)), N + np.swapaxes(N, 1, 2)),
    "pinv": (lambda x: [ops.linalg.pinv(x), ops.linalg.pinv(x, rcond=0.5)], M),
    "pinv_stack": (lambda x: ops.linalg.pinv(x), N),
    "lstsq": (lambda a, b: [ops.linalg.lstsq(a, b), ops.linalg.lstsq(a, b[:, 0]), ops.linalg.lstsq(a, b, rcond=0.4)], M, normal(4, 2)),
    "lstsq_low": (lambda a, b: ops.linalg.lstsq(a, b, rcond=1e-10), LOW, normal(4)),
    "matrix_rank": (lambda a, b: [ops.linalg.matrix_rank(a), ops.linalg.matrix_rank(b), ops.linalg.matrix_rank(b, tol=1.5)], LOW, N),
    "lu_factor": (lambda x: ops.lu_factor(x), N),
    "lu_factor_tall": (lambda x: ops.lu_factor(x), M),
    "rgb_to_hsv": (lambda x, y: [ops.image.rgb_to_hsv(x), ops.image.rgb_to_hsv(y)], IMAGE, GRAY),
    "hsv_to_rgb": (lambda x: ops.image.hsv_to_rgb(x), IMAGE * 1.2 - 0.1),
    "pad_images": (lambda x: ops.image.pad_images(x, 1, 2, target_height=9, target_width=8), IMAGE),
    "crop_images": (lambda x: ops.image.crop_images(x, 1, 2, target_height=3, target_width=4), IMAGE),
    "sobel_edges": (lambda x: ops.image.sobel_edges(x, data_format="channels_last"), IMAGE),
    "gaussian_blur": (lambda x: ops.image.gaussian_blur(x, (3, 5), (0.7, 1.5), data_format="channels_last"), IMAGE),
    "extract_patches": (lambda x: [ops.image.extract_patches(x, (2, 3)), ops.image.extract_patches(x, 2, strides=1, dilation_rate=2), ops.image.extract_patches(x, 3, padding="same")], IMAGE),
    "extract_patches_3d": (lambda x: ops.image.extract_patches(x, (2, 3, 2)), VOLUME),
    "unfold": (lambda x: [ops.unfold(x, 2), ops.unfold(x, (2, 3), dilation=(2, 1), padding=(1, 2), stride=(2, 1))], np.moveaxis(IMAGE, 3, 1)),
    "fold": (lambda x, y: [ops.fold(x, (4, 6), 2, stride=2), ops.fold(y, (5, 7), (2, 3), padding=(1, 0), stride=(1, 2))], normal(2, 12, 6), normal(1, 12, 18)),
}


def number(x):
    x = float(x)
    return x if x - x == 0 else str(x)


def array(x):
    x = np.asarray(x)
    return {"shape": list(x.shape), "dtype": str(x.dtype), "data": [number(v) for v in x.ravel()]}


def main():
    cases = []
    for name, (f, *inputs) in CASES.items():
        out = f(*[ops.convert_to_tensor(x) for x in inputs])
        if not isinstance(out, (list, tuple)):
            out = [out]
        cases.append({"name": name, "in": [array(x) for x in inputs], "out": [array(x) for x in out]})
    result = {
        "generator": "functions_more.py",
        "versions": {"python": platform.python_version(), "keras": keras.__version__, "jax": jax.__version__, "numpy": np.__version__},
        "from jax.numpy": sorted(lacking),
        "seed": 20261122,
        "tolerance": "1e-11 of the larger of 1 and the value",
        "cases": cases,
    }
    with open("functions_more.json", "w") as f:
        f.write(json.dumps(result).replace('{"name"', '\n{"name"') + "\n")


main()
