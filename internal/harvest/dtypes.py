#!/usr/bin/env python3
"""Writes dtypes.json.gz: what the functions of keras.ops compute from operands of other types than float32, types of the results and numbers.

    KERAS_BACKEND=jax JAX_ENABLE_X64=1 dtypes.py [--numbers] OUT.json.gz [FUNCTION...]

With --numbers it writes numbers.json.gz: functions of two operands, one of which is a number of Python, in either order.

A case is {"function", "arguments", "results"} or {"function", "arguments", "refused"}. An argument is {"type", "shape", "values"}, {"list": [...]} or
{"value": ...}. Without a row in CALLS, a function gets a matrix for each argument that it requires. All numbers are multiples of 1/8 that every type of
floats holds.
"""

import gzip
import inspect
import json
import os
import sys
import warnings
import zlib

os.environ.setdefault("KERAS_BACKEND", "jax")
os.environ.setdefault("JAX_ENABLE_X64", "1")
warnings.filterwarnings("ignore")
import keras
import numpy as np

TYPES = ["float16", "bfloat16", "float64", "bool", "uint8", "int8", "int16", "int32"]
PAIRS = [("float16", "bfloat16"), ("float16", "float32"), ("bfloat16", "float64"), ("int8", "float16"), ("uint8", "bfloat16"), ("bool", "int16"), ("uint8", "int8"),
         ("int32", "float16"), ("bool", "bfloat16"), ("int64", "float32"), ("float16", "int8")]


class T:
    """An operand of the type in question, or of a fixed one."""

    def __init__(self, *shape, low=-2.0, high=2.0, dtype=None):
        self.shape, self.low, self.high, self.dtype = shape, low, high, dtype


class Values:
    """Given numbers, of the type in question."""

    def __init__(self, values, dtype=None):
        self.values, self.dtype = np.array(values), dtype


def I(*shape, low=0, high=3):
    return T(*shape, low=low, high=high, dtype="int32")


X = T(3, 4)
UNIT = T(3, 4, low=-0.875, high=0.875)
ABOVE = T(3, 4, low=0.25, high=2.0)
IMAGE = T(2, 4, 4, 3, low=0, high=2)
SQUARE = Values([[[2, 1, 0], [1, 3, 1], [0, 1, 2]], [[4, 1, 1], [1, 2, 0], [1, 0, 3]]])
CALLS = {
    "arccos": [UNIT], "arcsin": [UNIT], "arctanh": [UNIT], "erfinv": [UNIT], "arccosh": [T(3, 4, low=1.0, high=3.0)],
    "log": [ABOVE], "log10": [ABOVE], "log1p": [ABOVE], "log2": [ABOVE], "sqrt": [ABOVE], "rsqrt": [ABOVE], "reciprocal": [ABOVE], "power": [ABOVE, T(3, 4, low=0, high=3)],
    "adaptive_average_pool": [IMAGE, 2], "adaptive_max_pool": [IMAGE, 2], "average_pool": [IMAGE, (2, 2)], "max_pool": [IMAGE, (2, 2)],
    "affine_transform": [IMAGE, Values([[1.0, 0.25, 0.5, 0.0, 0.75, 0.25, 0.0, 0.0]] * 2, "float32")], "allclose": [X, X], "append": [X, X],
    "argpartition": [X, 2], "array_split": [X, 2], "batch_normalization": [X, T(4), T(4, low=0.5, high=2), -1, T(4), T(4)],
    "binary_crossentropy": [T(3, 4, low=0, high=1), T(3, 4, low=0.125, high=0.875)], "categorical_crossentropy": [T(3, 4, low=0, high=1), T(3, 4, low=0.125, high=0.875)],
    "arange": [0, 5], "bincount": [T(6, low=0, high=4)], "bitwise_left_shift": [T(3, 4, low=0, high=5), T(3, 4, low=0, high=3)], "left_shift": [T(3, 4, low=0, high=5), T(3, 4, low=0, high=3)],
    "bitwise_right_shift": [T(3, 4, low=0, high=60), T(3, 4, low=0, high=3)], "right_shift": [T(3, 4, low=0, high=60), T(3, 4, low=0, high=3)],
    "broadcast_to": [X, (2, 3, 4)], "cast": [X, "int16"], "cholesky": [SQUARE], "cholesky_inverse": [Values([[2, 0, 0], [1, 1, 0], [1, 2, 1]])], "clip": [X, 0, 1], "concatenate": [[X, X]],
    "dstack": [[X, X]], "hstack": [[X, X]], "vstack": [[X, X]], "stack": [[X, X]], "conv": [IMAGE, T(2, 2, 3, 2)], "conv_transpose": [IMAGE, T(2, 2, 2, 3)],
    "depthwise_conv": [IMAGE, T(2, 2, 3, 1)], "separable_conv": [IMAGE, T(2, 2, 3, 1), T(1, 1, 3, 2)], "correlate": [T(6), T(3)], "cross": [T(2, 3), T(2, 3)],
    "ctc_decode": [T(2, 5, 4), Values([5, 4], "int32")], "ctc_loss": [Values([[1, 2], [3, 1]], "int32"), T(2, 5, 4), Values([2, 2], "int32"), Values([5, 4], "int32")],
    "depth_to_space": [T(1, 2, 2, 4), 2], "space_to_depth": [T(1, 4, 4, 2), 2], "det": [SQUARE], "inv": [SQUARE], "logdet": [SQUARE], "slogdet": [SQUARE], "eigh": [SQUARE], "pinv": [SQUARE],
    "svd": [SQUARE, False, False], "qr": [SQUARE], "lu_factor": [SQUARE], "matrix_rank": [SQUARE], "solve": [SQUARE, T(2, 3, 2)], "lstsq": [T(5, 3), T(5, 2)],
    "solve_triangular": [Values([[2, 0, 0], [1, 1, 0], [1, 2, 1]]), T(3, 2), True], "trace": [T(3, 3)], "diag": [T(4)], "diagflat": [T(4)], "digitize": [X, Values([-1, 0, 1])],
    "dot": [T(3, 4), T(4, 2)], "matmul": [T(3, 4), T(4, 2)], "tensordot": [T(3, 4), T(4, 2), 1], "einsum": ["ij,jk->ik", T(3, 4), T(4, 2)], "inner": [T(2, 4), T(3, 4)],
    "outer": [T(3), T(4)], "vdot": [T(4), T(4)], "kron": [T(2, 2), T(2, 3)], "cdist": [T(3, 4), T(2, 4)],
    "dot_product_attention": [T(1, 3, 2, 4), T(1, 3, 2, 4), T(1, 3, 2, 4)], "dsplit": [T(2, 2, 4), 2], "hsplit": [X, 2], "vsplit": [T(4, 3), 2], "split": [X, 2, 1],
    "expand_dims": [X, 1], "extract_patches": [IMAGE, 2], "extract_sequences": [T(2, 7), 3, 2], "fft": [[X, X]], "fft2": [[X, X]], "ifft2": [[X, X]], "rfft": [T(2, 8)],
    "irfft": [[T(2, 5), T(2, 5)]], "stft": [T(2, 16), 8, 4, 8], "istft": [[T(2, 3, 5), T(2, 3, 5)], 8, 4, 8], "fold": [T(1, 4, 4), (3, 3), (2, 2)], "unfold": [T(1, 2, 4, 4), 2],
    "full": [(2, 3), T()], "full_like": [X, 2], "gaussian_blur": [IMAGE], "geomspace": [T(3, low=1, high=3), T(3, low=1, high=3), 4], "linspace": [T(3), T(3), 4], "logspace": [T(3), T(3), 4],
    "get_item": [X, 1], "histogram": [T(6), 4, (-2, 2)], "hsv_to_rgb": [T(2, 4, 4, 3, low=0, high=1)], "rgb_to_hsv": [T(2, 4, 4, 3, low=0, high=1)], "rgb_to_grayscale": [IMAGE],
    "in_top_k": [Values([1, 3, 0], "int32"), X, 2], "isin": [T(3, 4), T(5)], "layer_normalization": [X, T(4), T(4)], "rms_normalization": [X, T(4)], "ldexp": [X, I(3, 4)],
    "map_coordinates": [T(4, 5), T(2, 3, low=0, high=3), 1], "meshgrid": [T(3), T(2)], "moments": [X, (0,)], "moveaxis": [X, 0, 1], "multi_hot": [T(3, 2, low=0, high=3), 4],
    "one_hot": [T(3, low=0, high=3), 4], "normalize": [X], "pad": [X, ((1, 0), (0, 2))], "pad_images": [IMAGE, 1, 1, 0, 0], "crop_images": [IMAGE, 1, 1, 0, 0],
    "percentile": [X, 40.0], "quantile": [X, 0.4], "nanpercentile": [X, 40.0], "nanquantile": [X, 0.4],
    "perspective_transform": [IMAGE, Values([[[0, 0], [0, 3], [3, 0], [3, 3]]] * 2, "float32"), Values([[[0.5, 0], [0, 3], [3, 0.25], [2.5, 3]]] * 2, "float32")],
    "polar": [ABOVE, X], "psnr": [X, X, 2.0], "rearrange": [X, "a b -> b a"], "repeat": [X, 2], "reshape": [X, (2, 6)], "resize": [IMAGE, (3, 5)], "roll": [X, 1],
    "saturate_cast": [T(3, 4, low=-400, high=400), "int8"], "scale_and_translate": [T(4, 5), (3, 6), Values([0.5, 1.5], "float32"), Values([0.25, -0.5], "float32"), (0, 1), "linear"],
    "scatter": [Values([[0], [2], [4]], "int32"), T(3), (5,)], "scatter_update": [T(5), Values([[0], [2]], "int32"), T(2)], "searchsorted": [Values([0, 1, 2, 3]), T(5, low=0, high=4)],
    "segment_sum": [X, Values([0, 0, 1], "int32"), 2], "segment_max": [X, Values([0, 0, 1], "int32"), 2], "segment_min": [X, Values([0, 0, 1], "int32"), 2],
    "segment_prod": [X, Values([0, 0, 1], "int32"), 2], "select": [[T(3, 4, low=0, high=2, dtype="bool")], [X], 1], "slice": [X, (1, 1), (2, 2)],
    "slice_update": [X, (1, 1), T(2, 2)], "sparse_categorical_crossentropy": [Values([1, 3, 0], "int32"), T(3, 4, low=0.125, high=0.875)], "squeeze": [T(3, 1, 4)],
    "ssim": [T(1, 12, 12, 1, low=0, high=1), T(1, 12, 12, 1, low=0, high=1)], "sobel_edges": [IMAGE], "swapaxes": [X, 0, 1], "take": [X, Values([2, 0], "int32"), 1],
    "take_along_axis": [X, I(3, 2, high=3), 1], "threshold": [X, 0.5, 1.0], "tile": [X, (2, 1)], "top_k": [X, 2], "unique": [Values([3, 1, 2, 1]), True, False, False, False, None, 4],
    "unravel_index": [T(4, low=0, high=11), (3, 4)], "vander": [T(3), 3], "view": [X], "view_as_complex": [T(3, 2)], "where": [T(3, 4, low=0, high=2, dtype="bool"), X, X],
    "gcd": [T(3, 4, low=1, high=12), T(3, 4, low=1, high=12)], "lcm": [T(3, 4, low=1, high=12), T(3, 4, low=1, high=12)], "divide": [X, ABOVE], "true_divide": [X, ABOVE],
    "floor_divide": [X, ABOVE], "mod": [X, ABOVE], "fmod": [X, ABOVE], "array": [X], "convert_to_tensor": [X], "glu": [X], "diagonal": [T(3, 3)],
}


# NUMBERS are what tensors meet with --numbers, in the functions of WITH_NUMBERS.
NUMBERS = [2, 0.5, True]
WITH_NUMBERS = """add arctan2 bitwise_and bitwise_left_shift bitwise_or bitwise_right_shift bitwise_xor divide divide_no_nan equal floor_divide fmax fmin fmod greater
greater_equal heaviside hypot isclose less less_equal logaddexp logaddexp2 logical_and logical_or logical_xor maximum minimum mod multiply nextafter not_equal power
subtract true_divide""".split()


def draw(t, dtype, rng):
    dtype = t.dtype or dtype
    if isinstance(t, Values):
        return keras.ops.cast(np.abs(t.values) if dtype.startswith("uint") else t.values, dtype)
    if dtype == "bool":
        a = rng.integers(0, 2, t.shape)
    elif "int" in dtype:
        low, high = np.ceil(t.low), np.floor(t.high)
        low, high = (max(low, 0), min(high, 255)) if dtype == "uint8" else (max(low, -128), min(high, 127)) if dtype == "int8" else (low, high)
        low, high = (low, high) if low <= high else (0, 1)
        a = rng.integers(int(low), int(high) + 1, t.shape)
    else:
        a = rng.integers(int(t.low * 8), int(t.high * 8) + 1, t.shape) / 8
    return keras.ops.cast(np.asarray(a), dtype)


def operands(a):
    return [t for t in keras.tree.flatten(a) if isinstance(t, (T, Values))]


def written(x):
    """A tensor for JSON."""
    a = keras.ops.convert_to_numpy(x)
    dtype = keras.backend.standardize_dtype(x.dtype)
    values = a.astype("float64").ravel() if dtype.startswith(("float", "bfloat")) else a.ravel()
    return {"type": dtype, "shape": list(a.shape), "values": [v if np.isfinite(v) else str(v) for v in values.tolist()]}


def argument(a):
    if isinstance(a, list) and a and all(keras.ops.is_tensor(v) for v in a):
        return {"list": [written(v) for v in a]}
    return written(a) if keras.ops.is_tensor(a) else {"value": a}


def case(name, function, arguments, types):
    rng = np.random.default_rng(zlib.crc32(name.encode()))
    left = list(types)

    def one(t):
        if not isinstance(t, (T, Values)):
            return t
        dtype = types[0]
        if t.dtype is None and len(types) > 1:
            dtype = left.pop(0) if left else types[-1]
        return draw(t, dtype, rng)

    given = [[one(t) for t in a] if isinstance(a, list) else one(a) for a in arguments]
    row = {"function": name, "arguments": [argument(a) for a in given]}
    try:
        out = function(*given)
        if isinstance(out, (int, bool, tuple)) and not any(keras.ops.is_tensor(v) for v in keras.tree.flatten(out)):
            return None  # numbers of Python
        results = [t for t in keras.tree.flatten(out) if t is not None]
        if any("complex" in str(t.dtype) for t in results):
            return None
        row["results"] = [written(t) for t in results]
    except Exception as e:
        row["refused"] = f"{type(e).__name__}: {e}".split("\n")[0][:120]
    return row


def functions():
    found = {}
    for module in (keras.ops.image, keras.ops.linalg, keras.ops.nn, keras.ops.numpy, keras.ops):
        for name, f in vars(module).items():
            if not name.startswith("_") and inspect.isfunction(f):
                found[name] = f
    return found


def with_numbers(only):
    """Calls of a tensor with a number, and of a number with a tensor."""
    cases, known = [], functions()
    for name in WITH_NUMBERS:
        for dtype in TYPES + ["float32", "int64"] if not only or name in only else []:
            for number in NUMBERS:
                for arguments in ([ABOVE, number], [number, ABOVE]):
                    row = case(name, known[name], arguments, (dtype,))
                    cases += [row | {"number": True}] if row else []
    return cases


def write(cases):
    lines = [json.dumps(c, separators=(",", ":")) for c in cases]
    with gzip.GzipFile(sys.argv[1], "w", 9, mtime=0) as z:
        z.write(("[\n" + ",\n".join(lines) + "\n]\n").encode())


def main():
    numbers = "--numbers" in sys.argv
    if numbers:
        sys.argv.remove("--numbers")
    only, cases, none = sys.argv[2:], [], []
    if numbers:
        write(with_numbers(only))
        return
    for name, f in sorted(functions().items()):
        if only and name not in only:
            continue
        arguments = CALLS.get(name)
        if arguments is None:
            needed = [p for p in inspect.signature(f).parameters.values() if p.default is p.empty and p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
            arguments = [X for _ in needed]
        if not operands(arguments):
            none.append(name)
            continue
        combinations = [(t,) for t in TYPES]
        free = [t for t in operands(arguments) if t.dtype is None]
        if len(free) == 2:
            combinations += PAIRS
        before = len(cases)
        cases += [c for types in combinations if (c := case(name, f, arguments, types))]
        if not any("results" in c for c in cases[before:]):
            none.append(name)
            print("nothing of", name, cases[-1].get("refused") if len(cases) > before else "", flush=True)
            del cases[before:]
    write(cases)
    print(f"{len(cases)} cases of {len({c['function'] for c in cases})} functions; without one: {' '.join(none)}")


main()
