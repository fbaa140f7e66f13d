"""Writes functions.json: what keras.ops functions return for small inputs.

    JAX_ENABLE_X64=1 KERAS_BACKEND=jax python functions.py

Computed in float64. Each case is a name, the inputs and the results; the calls stand below and, in the same words, in functions_test.go.
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
rng = np.random.default_rng(20261121)
nan, inf = np.nan, np.inf


def normal(*shape):
    return np.round(rng.normal(size=shape), 3)


def whole(low, high, *shape):
    return rng.integers(low, high, size=shape).astype("int32")


A, B, V, W = normal(2, 3), normal(2, 3), normal(4), normal(4)
T = normal(2, 3, 4)
HOLES = np.array([[1.0, nan, 3.0], [nan, nan, nan], [-2.0, 0.5, 0.25]])
I8 = whole(-5, 6, 3, 4)
SORTED = np.sort(normal(6))

CASES = {
    "amax": (lambda x: ops.amax(x, axis=1), T),
    "append": (lambda a, b: ops.append(a, b, axis=0), A, B),
    "arange": (lambda: ops.arange(1.0, 2.0, 0.3),),
    "arange_down": (lambda: ops.arange(5, -4, -3),),
    "argsort": (lambda x: ops.argsort(x, axis=-1), I8),
    "array_split": (lambda x: ops.array_split(x, 3, axis=2), T),
    "average": (lambda x, w: ops.average(x, axis=1, weights=w), A, np.array([1.0, 2.0, 0.5])),
    "average_pool_same": (lambda x: ops.average_pool(x, 2, strides=2, padding="same"), normal(1, 3, 5, 2)),
    "adaptive_average_pool": (lambda x: ops.adaptive_average_pool(x, (2, 3), data_format="channels_last"), normal(1, 5, 7, 2)),
    "adaptive_max_pool": (lambda x: ops.adaptive_max_pool(x, (2, 3), data_format="channels_last"), normal(1, 5, 7, 2)),
    "bincount": (lambda x: ops.bincount(x, minlength=6), whole(0, 6, 9)),
    "bincount_weights": (lambda x, w: ops.bincount(x, weights=w, minlength=4), whole(0, 4, 5), normal(5)),
    "bitwise": (lambda a, b: [ops.bitwise_and(a, b), ops.bitwise_or(a, b), ops.bitwise_xor(a, b), ops.bitwise_not(a)], I8, whole(-9, 9, 3, 4)),
    "shifts": (lambda a, b: [ops.left_shift(a, b), ops.right_shift(a, b)], I8, whole(0, 4, 3, 4)),
    "cbrt": (lambda x: ops.cbrt(x), np.array([-8.0, -0.001, 0.0, 2.0, inf])),
    "column_stack": (lambda a, v: ops.column_stack([a, v]), A, normal(2)),
    "conv": (lambda x, k: ops.conv(x, k, strides=2, padding="same"), normal(1, 5, 4, 2), normal(3, 2, 2, 3)),
    "conv_dilated": (lambda x, k: ops.conv(x, k, padding="valid", dilation_rate=2), normal(2, 7, 2), normal(3, 2, 2)),
    "conv_groups": (lambda x, k: ops.conv(x, k, padding="valid"), normal(2, 5, 4), normal(2, 2, 6)),
    "depthwise_conv": (lambda x, k: ops.depthwise_conv(x, k, padding="valid"), normal(1, 4, 4, 2), normal(2, 2, 2, 3)),
    "separable_conv": (lambda x, d, p: ops.separable_conv(x, d, p, padding="valid"), normal(1, 4, 4, 2), normal(2, 2, 2, 2), normal(1, 1, 4, 3)),
    "corrcoef": (lambda x: ops.corrcoef(x), normal(3, 6)),
    "count_nonzero": (lambda x: ops.count_nonzero(x, axis=0), I8),
    "cross": (lambda a, b: ops.cross(a, b), A, B),
    "cross_plane": (lambda a, b: ops.cross(a, b), normal(3, 2), normal(3, 2)),
    "cdist": (lambda a, b: ops.cdist(a, b), A, normal(4, 3)),
    "cumprod": (lambda x: ops.cumprod(x, axis=1), T),
    "cumsum": (lambda x: ops.cumsum(x, axis=-1), I8),
    "deg2rad": (lambda x: [ops.deg2rad(x), ops.rad2deg(x)], V),
    "depth_to_space": (lambda x: ops.depth_to_space(x, 2), normal(1, 2, 3, 8)),
    "space_to_depth": (lambda x: ops.space_to_depth(x, 2), normal(1, 4, 6, 2)),
    "diag": (lambda x: ops.diag(x), V),
    "diagflat": (lambda x: [ops.diagflat(x, k=1), ops.diagflat(x, k=-2)], V),
    "diagonal": (lambda x: ops.diagonal(x, axis1=0, axis2=2), T),
    "diff": (lambda x: [ops.diff(x, n=1, axis=1), ops.diff(x, n=2, axis=-1)], T),
    "digitize": (lambda x: ops.digitize(x, np.array([-0.5, 0.0, 0.7])), np.array([-1.0, -0.5, 0.0, 0.3, 0.7, 2.0])),
    "dot": (lambda a, b: ops.dot(a, b), T, normal(4, 2)),
    "dot_rank3": (lambda a, b: ops.dot(a, b), A, normal(2, 3, 2)),
    "dstack": (lambda a, b: ops.dstack([a, b]), A, B),
    "einsum": (lambda a, b: ops.einsum("bij,bkj->bik", a, b), T, normal(2, 2, 4)),
    "einsum_dots": (lambda a, b: ops.einsum("...i,i...->...", a, b), A, normal(3, 2)),
    "erfc": (lambda x: ops.erfc(x), V),
    "expand_dims": (lambda x: ops.expand_dims(x, -2), A),
    "eye": (lambda: ops.eye(2, 4),),
    "flip": (lambda x: [ops.flip(x), ops.fliplr(x), ops.flipud(x)], A),
    "fmax": (lambda a, b: [ops.fmax(a, b), ops.fmin(a, b)], np.array([1.0, nan, nan, 2.0]), np.array([nan, 3.0, nan, 1.0])),
    "geomspace": (lambda: ops.geomspace(2.0, 32.0, 4),),
    "heaviside": (lambda x, h: ops.heaviside(x, h), np.array([-2.0, 0.0, 0.0, 3.0]), np.array([0.5, 0.5, 0.25, 0.5])),
    "histogram": (lambda x: ops.histogram(x, bins=4, range=(-1.0, 1.0)), np.array([-1.0, -0.9, -0.5, 0.0, 0.2, 0.99, 1.0])),
    "hstack": (lambda a, b: ops.hstack([a, b]), A, B),
    "hstack_vectors": (lambda a, b: ops.hstack([a, b]), V, W),
    "hypot": (lambda a, b: ops.hypot(a, b), np.array([3.0, 0.0, -1e200, inf]), np.array([-4.0, 0.0, 1e200, 1.0])),
    "in_top_k": (lambda y, p: ops.in_top_k(y, p, k=2), np.array([0, 2, 1], "int32"), np.array([[0.1, 0.5, 0.4], [0.3, 0.3, 0.3], [nan, 1.0, 2.0]])),
    "inner": (lambda a, b: ops.inner(a, b), T, normal(3, 4)),
    "isclose": (lambda a, b: ops.isclose(a, b), np.array([1.0, 1.0, inf, nan, 1e10]), np.array([1.0 + 1e-9, 1.1, inf, nan, 1e10 + 1e4])),
    "isin": (lambda a, b: ops.isin(a, b), I8, np.array([1, 3, -2], "int32")),
    "isneginf": (lambda x: [ops.isneginf(x), ops.isposinf(x)], np.array([-inf, 1.0, inf, nan])),
    "kron": (lambda a, b: ops.kron(a, b), A, normal(2, 2)),
    "layer_normalization": (lambda x, g, b: ops.layer_normalization(x, g, b, axis=-1, epsilon=1e-3), T, V, W),
    "linspace": (lambda: ops.linspace(-1.0, 2.0, 7),),
    "logaddexp2": (lambda a, b: ops.logaddexp2(a, b), V, W),
    "logspace": (lambda: ops.logspace(0.0, 2.0, 5),),
    "logsumexp": (lambda x: ops.logsumexp(x, axis=1), T),
    "matmul": (lambda a, b: ops.matmul(a, b), normal(2, 1, 3, 4), normal(5, 4, 2)),
    "max_pool_same": (lambda x: ops.max_pool(x, 3, strides=2, padding="same"), normal(1, 6, 5, 2)),
    "mean_var_std": (lambda x: [ops.mean(x, axis=1), ops.var(x, axis=1), ops.std(x, axis=1)], T),
    "median": (lambda x: [ops.median(x, axis=1), ops.median(x, axis=2)], T),
    "meshgrid": (lambda a, b: ops.meshgrid(a, b), V, normal(3)),
    "moments": (lambda x: ops.moments(x, axes=[0, 2]), T),
    "multi_hot": (lambda x: ops.multi_hot(x, 5), np.array([[0, 2, 2], [4, 4, 4]], "int32")),
    "nan_reductions": (
        lambda x: [ops.nansum(x, axis=1), ops.nanprod(x, axis=1), ops.nanmax(x, axis=1), ops.nanmin(x, axis=1), ops.nanmean(x, axis=1), ops.nanvar(x, axis=1), ops.nanstd(x, axis=1)],
        HOLES,
    ),
    "nan_to_num": (lambda x: ops.nan_to_num(x, nan=7.0, posinf=8.0, neginf=9.0), np.array([nan, inf, -inf, 1.0])),
    "normalize": (lambda x: [ops.normalize(x, axis=1, order=2), ops.normalize(x, axis=0, order=1), ops.normalize(x, axis=-1, order=3)], T),
    "one_hot": (lambda x: ops.one_hot(x, 4, dtype="float64"), np.array([[0, 3], [-1, 4]], "int32")),
    "outer": (lambda a, b: ops.outer(a, b), V, normal(3)),
    "pad_modes": (lambda x: [ops.pad(x, ((1, 2), (2, 4)), mode=m) for m in ("reflect", "symmetric", "edge", "wrap")], normal(3, 3)),
    "percentile": (lambda x: [ops.percentile(x, 35.0, axis=1), ops.quantile(x, 0.9, axis=2)], T),
    "ptp": (lambda x: ops.ptp(x, axis=2), T),
    "repeat": (lambda x: ops.repeat(x, 3, axis=1), A),
    "rms_normalization": (lambda x, s: ops.rms_normalization(x, scale=s, axis=-1, epsilon=1e-3), T, V),
    "roll": (lambda x: ops.roll(x, -2, axis=1), A),
    "rot90": (lambda x: [ops.rot90(x, k=k, axes=(0, 2)) for k in (1, 2, 3, 4)], T),
    "saturate_cast": (lambda x: ops.saturate_cast(x, "uint8"), np.array([-3, 0, 200, 300], "int32")),
    "scatter": (lambda i, v: ops.scatter(i, v, (3, 4)), np.array([[0, 1], [2, 3], [0, 1]], "int32"), normal(3)),
    "scatter_slices": (lambda i, v: ops.scatter(i, v, (3, 2)), np.array([[2], [0], [2]], "int32"), normal(3, 2)),
    "scatter_update": (lambda x, i, v: ops.scatter_update(x, i, v), normal(3, 4), np.array([[0, 1], [2, 3]], "int32"), normal(2)),
    "searchsorted": (lambda s, v: [ops.searchsorted(s, v), ops.searchsorted(s, v, side="right")], SORTED, np.concatenate([SORTED[:3], normal(3)])),
    "segments": (
        lambda x, s: [ops.segment_sum(x, s, 4), ops.segment_max(x, s, 4), ops.segment_min(x, s, 4), ops.segment_prod(x, s, 4)],
        normal(5, 2), np.array([0, 3, 0, 1, 3], "int32"),
    ),
    "sinc": (lambda x: ops.sinc(x), np.array([-1.3, 0.0, 0.5, 2.0])),
    "slice_update": (lambda x, u: ops.slice_update(x, (1, 1), u), normal(3, 4), normal(2, 2)),
    "softmax": (lambda x: [ops.softmax(x, axis=1), ops.log_softmax(x, axis=0)], T),
    "sort": (lambda x: ops.sort(x, axis=0), I8),
    "stack": (lambda a, b: ops.stack([a, b], axis=-1), A, B),
    "take": (lambda x, i: ops.take(x, i, axis=-1), T, np.array([[3, -1], [0, -4]], "int32")),
    "take_along_axis": (lambda x, i: ops.take_along_axis(x, i, axis=1), T, whole(-3, 3, 2, 2, 4)),
    "tensordot": (lambda a, b: ops.tensordot(a, b, axes=[[2, 0], [1, 0]]), T, normal(2, 4, 3)),
    "tile": (lambda x: ops.tile(x, (2, 1, 3)), A),
    "top_k": (lambda x: ops.top_k(x, 3), T),
    "trace": (lambda x: ops.trace(x, axis1=1, axis2=2), T),
    "trapezoid": (lambda x: ops.trapezoid(x, dx=0.5, axis=1), T),
    "tri": (lambda: ops.tri(3, 4, k=1),),
    "tril": (lambda x: [ops.tril(x, k=-1), ops.triu(x, k=1)], T),
    "trunc": (lambda x: ops.trunc(x), np.array([-1.7, -0.2, 0.2, 1.7])),
    "unravel_index": (lambda x: ops.unravel_index(x, (3, 4)), np.array([0, 5, 11], "int32")),
    "vander": (lambda x: [ops.vander(x, N=3), ops.vander(x, N=4, increasing=True)], V),
    "vdot": (lambda a, b: ops.vdot(a, b), A, B),
    "vstack": (lambda a, b: ops.vstack([a, b]), V, W),
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
        "generator": "functions.py",
        "versions": {"python": platform.python_version(), "keras": keras.__version__, "jax": jax.__version__, "numpy": np.__version__},
        "from jax.numpy": sorted(lacking),
        "seed": 20261121,
        "tolerance": "1e-12 of the larger of 1 and the value",
        "cases": cases,
    }
    with open("functions.json", "w") as f:
        f.write(json.dumps(result).replace('{"name"', '\n{"name"') + "\n")


main()
