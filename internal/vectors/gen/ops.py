"""Vectors of keras.ops: values and gradients on odd shapes.

Run: KERAS_BACKEND=jax python gen/ops.py <output directory>
Versions: see common.py.

A case holds
  class      the name under keras.ops, for example "matmul" or "image.resize"
  inputs     x_0, x_1, ... the tensor arguments in order of appearance; cotangent or
             cotangent_0, ... one per floating output
  outputs    output, or output_0, ... (tuples and lists flattened)
  gradients  of sum(output * cotangent) for each floating input; absent for operations
             without a useful gradient
  extra      call: {args, kwargs}: literals, and {"input": name} in place of tensors;
             dtype arguments are strings
Inputs stay away from corners (ties of a maximum, zeros of abs), except in cases named
".../corner", which have no gradients.
"""

import jax
import numpy as np

import common
import keras
from keras.src import tree

D = common.DTYPE
ROWS = []


class T:
    """A random tensor: normal numbers, or uniform in [low, high]."""

    def __init__(self, *shape, low=None, high=None, integer=False, boolean=False, distinct=False):
        self.__dict__.update(locals())

    def fill(self, r):
        if self.boolean:
            return r.random(self.shape) < 0.5
        if self.integer:
            return r.integers(self.low, self.high, self.shape).astype("int32")
        if self.low is not None:
            return np.round(r.uniform(self.low, self.high, self.shape), 4)
        x = np.round(r.normal(size=self.shape) * 1.3, 4)
        return np.where(np.abs(x) < 0.02, 0.31, x)


def I(high, *shape, low=0):
    return T(*shape, low=low, high=high, integer=True)


def B(*shape):
    return T(*shape, boolean=True)


def add(name, *args, grad=True, tag=None, **kwargs):
    ROWS.append((name, args, kwargs, grad, tag))


def table():
    # creation
    add("arange", 5)
    add("arange", 2, 17, 3)
    add("arange", 1.0, 2.0, 0.3)
    add("arange", 4, dtype="float32", tag="dtype")
    add("eye", 3)
    add("eye", 3, 5, k=1)
    add("eye", 4, 3, k=-1, dtype="int32")
    add("identity", 3)
    add("full", [2, 3], 1.5)
    add("full_like", T(2, 3), 2.5, grad=False)
    add("ones", [2, 3])
    add("zeros", [3], dtype="int32")
    add("ones_like", T(2, 3), grad=False)
    add("zeros_like", T(2, 3), grad=False)
    add("linspace", 0.5, 2.5, 5)
    add("linspace", 0.5, 2.5, 4, endpoint=False)
    add("linspace", T(3), T(3), 4, axis=-1, tag="tensors")
    add("logspace", 0.0, 2.0, 5)
    add("tri", 3, 4, k=1)
    add("meshgrid", T(3), T(2))
    add("meshgrid", T(3), T(2), indexing="ij")

    # elementwise
    anywhere = ["abs", "absolute", "arcsinh", "arctan", "cos", "cosh", "exp", "expm1", "negative", "sin", "sinh", "square", "tan", "tanh", "sign", "erf", "exp2", "deg2rad", "rad2deg", "sinc", "cbrt"]
    for name in anywhere:
        add(name, T(3, 5))
    for name in ("ceil", "floor", "round", "trunc", "sign", "signbit"):
        add(name, np.array([-2.5, -1.5, -1.2, -0.5, 0.0, 0.5, 1.2, 1.5, 2.5, 3.7]), grad=False, tag="corner")
        add(name, np.array([-3, 0, 7], "int32"), grad=False, tag="integer")
    add("round", T(2, 3), decimals=1, grad=False)
    add("round", np.array([125.0, 375.0, -1250.0]), decimals=-1, grad=False, tag="negative_decimals")
    positive = ["log", "log10", "log1p", "log2", "sqrt", "reciprocal", "rsqrt"]
    for name in positive:
        add(name, T(3, 5, low=0.2, high=4))
    for name in ("arccos", "arcsin", "arctanh", "erfinv"):
        add(name, T(3, 5, low=-0.95, high=0.95))
    add("arccosh", T(3, 5, low=1.1, high=4))
    add("log1p", np.array([1e-8, -1e-8, 1e-4]), tag="small")
    add("expm1", np.array([1e-8, -1e-8, 1e-4]), tag="small")
    for name in ("add", "subtract", "multiply", "divide", "true_divide", "maximum", "minimum", "arctan2", "logaddexp", "hypot", "divide_no_nan"):
        add(name, T(2, 3, 4), T(2, 3, 4))
        add(name, T(2, 3, 4), T(3, 1), tag="broadcast")
    add("add", T(2, 3), 1.5, tag="scalar")
    add("multiply", I(9, 2, 3), I(9, 2, 3), tag="integer")
    add("divide", I(9, 2, 3), I(9, 2, 3, low=1), tag="integer")
    add("divide_no_nan", np.array([1.0, 0.0, -2.0]), np.array([0.0, 0.0, 4.0]), grad=False, tag="corner")
    add("power", T(3, 4, low=0.2, high=3), T(3, 4))
    add("power", T(3, 4), 3)
    add("power", T(3, 4), 2.0, tag="square")
    add("floor_divide", T(3, 4), T(3, 4, low=0.4, high=2), grad=False)
    add("floor_divide", np.array([-7, 7, -7, 7], "int32"), np.array([2, 2, -2, -2], "int32"), tag="integer")
    add("mod", T(3, 4), T(3, 4, low=0.4, high=2), grad=False)
    add("mod", np.array([-7, 7, -7, 7], "int32"), np.array([2, 2, -2, -2], "int32"), tag="integer")
    add("clip", T(3, 4), -0.7, 0.9)
    add("nan_to_num", np.array([1.0, np.nan, np.inf, -np.inf]), nan=0.5, posinf=7.0, neginf=-8.0, grad=False)

    # compare and logic
    for name in ("equal", "not_equal", "greater", "greater_equal", "less", "less_equal"):
        add(name, I(3, 3, 4), I(3, 3, 4), tag="integer")
        add(name, T(2, 3), T(3), grad=False)
    for name in ("logical_and", "logical_or", "logical_xor"):
        add(name, B(2, 5), B(2, 5))
    add("logical_not", B(2, 5))
    special = np.array([1.0, np.nan, np.inf, -np.inf, 0.0])
    for name in ("isfinite", "isinf", "isnan"):
        add(name, special, grad=False)
    add("isclose", np.array([1.0, 2.0, 3.0]), np.array([1.0 + 1e-6, 2.1, 3.0]), grad=False)
    add("where", B(2, 3), T(2, 3), T(2, 3))
    add("where", B(3), T(2, 3), T(2, 1), tag="broadcast")
    for name in ("all", "any"):
        add(name, B(3, 4))
        add(name, B(3, 4), axis=1, keepdims=True)

    # reductions
    for name in ("sum", "mean", "max", "min", "prod", "std", "var", "amax", "amin", "logsumexp"):
        add(name, T(3, 4, 2))
        add(name, T(3, 4, 2), axis=1)
        add(name, T(3, 4, 2), axis=[0, 2], keepdims=True)
        add(name, T(3, 4, 2), axis=-1)
    for name in ("argmax", "argmin"):
        add(name, T(3, 4))
        add(name, T(3, 4), axis=0)
        add(name, T(3, 4, 2), axis=1, keepdims=True)
        add(name, np.array([[2.0, 5.0, 5.0, 2.0]]), axis=1, grad=False, tag="corner")
    add("sum", I(9, 3, 4), tag="integer")
    add("sum", B(3, 4), tag="boolean")
    add("mean", I(9, 3, 4), tag="integer")
    add("max", I(9, 3, 4), axis=1, initial=5, tag="initial")
    add("average", T(3, 4), axis=1)
    add("average", T(3, 4), axis=1, weights=T(4, low=0.1, high=2))
    add("median", T(3, 5), axis=1)
    add("median", T(3, 4), axis=1)
    add("quantile", T(3, 5), 0.3, axis=1, grad=False)
    add("count_nonzero", I(3, 3, 4), axis=1)
    for name in ("cumsum", "cumprod"):
        add(name, T(3, 4))
        add(name, T(3, 4), axis=1)
    add("norm", T(3, 4))
    add("norm", T(3, 4), ord=1, axis=1)
    add("norm", T(3, 4), ord=2, axis=1, keepdims=True)
    add("norm", T(3, 4), ord=np.inf, axis=0)
    add("norm", T(3, 4), ord="fro", axis=[0, 1])
    add("diff", T(3, 5))
    add("diff", T(3, 5), n=2, axis=0)
    add("moments", T(3, 4, 2), axes=[0, 1])
    add("moments", T(3, 4, 2), axes=[0], keepdims=True)
    add("bincount", np.array([1, 3, 3, 0, 5], "int32"))
    add("bincount", np.array([1, 3, 3, 0, 5], "int32"), minlength=8)
    add("digitize", T(7), np.array([-1.0, 0.0, 0.5, 1.5]), grad=False)

    # shape
    add("append", T(2, 3), T(2, 2), axis=1)
    add("broadcast_to", T(3, 1), [2, 3, 4])
    add("concatenate", [T(2, 3), T(2, 1), T(2, 4)], axis=-1)
    add("concatenate", [T(2, 3), T(1, 3)], axis=0)
    add("stack", [T(2, 3), T(2, 3)], axis=1)
    add("stack", [T(3), T(3)], axis=-1)
    add("hstack", [T(2, 3), T(2, 1)])
    add("vstack", [T(2, 3), T(1, 3)])
    add("expand_dims", T(2, 3), 1)
    add("expand_dims", T(2, 3), -1)
    add("squeeze", T(1, 3, 1))
    add("squeeze", T(1, 3, 1), axis=0)
    add("flip", T(2, 3))
    add("flip", T(2, 3, 4), axis=1)
    add("moveaxis", T(2, 3, 4), 0, -1)
    add("moveaxis", T(2, 3, 4), [0, 1], [1, 0])
    add("swapaxes", T(2, 3, 4), 0, 2)
    add("transpose", T(2, 3, 4))
    add("transpose", T(2, 3, 4), axes=[1, 2, 0])
    add("reshape", T(2, 3, 4), [4, -1])
    add("ravel", T(2, 3))
    add("pad", T(2, 3), [[1, 2], [0, 3]])
    add("pad", T(2, 3), [[1, 1], [0, 2]], constant_values=1.5)
    add("pad", T(3, 4), [[1, 2], [2, 1]], mode="reflect")
    add("pad", T(3, 4), [[1, 2], [2, 1]], mode="symmetric")
    add("pad", T(3, 4), 1, tag="one_number")
    add("repeat", T(2, 3), 2, axis=1)
    add("repeat", T(2, 3), 2)
    add("repeat", T(2, 3), [1, 0, 3], axis=1)
    add("roll", T(3, 4), 1, axis=1)
    add("roll", T(3, 4), -2)
    add("roll", T(3, 4), [1, 2], axis=[0, 1])
    add("split", T(4, 6), 3, axis=1)
    add("split", T(4, 6), [1, 4], axis=1)
    add("unstack", T(3, 4), axis=1)
    add("tile", T(2, 3), [2, 1])
    add("tile", T(2, 3), 2)
    add("tril", T(3, 4))
    add("triu", T(2, 3, 4), k=1)
    add("tril", T(4, 3), k=-1)
    add("diag", T(3))
    add("diag", T(3, 4), k=1)
    add("diagonal", T(2, 3, 4), axis1=1, axis2=2)
    add("trace", T(3, 4))
    add("rot90", T(2, 3), k=1)

    # index and sort
    add("argsort", T(3, 5))
    add("argsort", T(3, 5), axis=0)
    add("argsort", np.array([3, 1, 3, 1, 2, 3], "int32"), tag="corner")
    add("sort", T(3, 5))
    add("sort", T(3, 5), axis=0)
    add("take", T(4, 3), np.array([[2, 0], [3, 2]], "int32"), axis=0)
    add("take", T(4, 3), np.array([-1, 0, -1], "int32"), axis=1)
    add("take", T(4, 3), np.array([5, 0], "int32"))
    add("take_along_axis", T(3, 4), I(4, 3, 2), axis=1)
    add("top_k", T(3, 5), 2)
    add("top_k", np.array([[2.0, 5.0, 5.0, 2.0, 5.0]]), 4, grad=False, tag="corner")
    add("in_top_k", np.array([1, 0, 3], "int32"), T(3, 4), 2, grad=False)
    add("one_hot", I(4, 2, 3), 4)
    add("one_hot", np.array([0, 3, -1, 2], "int32"), 3, tag="out_of_range")
    add("one_hot", I(4, 2, 3), 4, axis=1, dtype="int32")
    add("multi_hot", np.array([[0, 2, 2], [1, 3, 0]], "int32"), 4)
    add("searchsorted", np.array([-1.0, 0.0, 0.5, 1.5]), T(6), grad=False)
    add("searchsorted", np.array([-1.0, 0.0, 0.5, 1.5]), np.array([-1.0, 0.5, 2.0]), side="right", grad=False)
    add("nonzero", np.array([[0, 3, 0], [1, 0, 2]], "int32"))
    add("select", [B(2, 3), B(2, 3)], [T(2, 3), T(2, 3)], default=0.5)
    add("slice", T(4, 5), [1, 2], [2, 3])
    add("slice_update", T(4, 5), [1, 2], T(2, 3))
    add("scatter", np.array([[1], [3], [1]], "int32"), T(3, 2), [5, 2])
    add("scatter", np.array([[0, 1], [2, 0]], "int32"), T(2), [3, 2])
    add("scatter_update", T(4, 2), np.array([[1], [3]], "int32"), T(2, 2))
    add("segment_sum", T(6, 2), np.array([0, 0, 2, 2, 2, 3], "int32"), num_segments=5)
    add("segment_sum", T(6, 2), np.array([2, 0, 1, 0, 2, 2], "int32"), num_segments=3)
    add("segment_max", T(6, 2), np.array([0, 0, 1, 1, 2, 2], "int32"), num_segments=3)

    # products
    add("matmul", T(3, 4), T(4, 2))
    add("matmul", T(2, 3, 4), T(4, 5))
    add("matmul", T(2, 1, 3, 4), T(5, 4, 2))
    add("matmul", T(4), T(4, 3))
    add("matmul", T(3, 4), T(4))
    add("matmul", I(5, 2, 3), I(5, 3, 2), tag="integer")
    add("dot", T(3, 4), T(4, 2))
    add("dot", T(2, 3, 4), T(4))
    add("dot", T(2, 3), T(4, 3, 2))
    add("dot", T(5), T(5))
    add("inner", T(2, 3), T(4, 3))
    add("outer", T(3), T(4))
    add("vdot", T(5), T(5))
    add("cross", T(2, 3), T(2, 3))
    add("tensordot", T(2, 3, 4), T(3, 4, 5), axes=2)
    add("tensordot", T(2, 3, 4), T(4, 5, 3), axes=[[1, 2], [2, 0]])
    for eq, *shapes in [("ij,jk->ik", (2, 3), (3, 4)), ("bij,bjk->bik", (2, 3, 2), (2, 2, 4)), ("bthd,bshd->bhts", (2, 3, 2, 2), (2, 4, 2, 2)), ("ij->ji", (2, 3)), ("ii->i", (3, 3)), ("ij->", (2, 3)), ("...i,ij->...j", (2, 3, 4), (4, 2)), ("i,j,k->ijk", (2,), (3,), (2,)), ("abc,cde,ef->abdf", (2, 3, 2), (2, 2, 3), (3, 2))]:
        add("einsum", eq, *[T(*s) for s in shapes])

    # linear algebra
    spd = np.array([[4.0, 1.0, -0.5], [1.0, 3.0, 0.3], [-0.5, 0.3, 2.0]])
    add("cholesky", spd, grad=False)
    add("inv", spd)
    add("det", spd)
    add("solve", spd, T(3, 2))
    add("solve_triangular", np.tril(spd), T(3, 2), lower=True)
    add("logdet", spd, grad=False)

    # nn
    for name in ("relu", "relu6", "sigmoid", "silu", "softplus", "softsign", "log_sigmoid", "leaky_relu", "hard_sigmoid", "hard_silu", "elu", "selu", "gelu", "hard_tanh", "tanh_shrink", "mish"):
        if hasattr(keras.ops, name):
            add(name, T(3, 5))
    add("gelu", T(3, 5), approximate=False)
    add("leaky_relu", T(3, 5), negative_slope=0.05)
    add("softmax", T(3, 5))
    add("softmax", T(2, 3, 4), axis=1)
    add("log_softmax", T(3, 5))
    add("log_softmax", T(2, 3, 4), axis=[0, 1])
    add("normalize", T(3, 4))
    add("normalize", T(3, 4), axis=0, order=1)
    add("max_pool", T(2, 5, 7, 2), [2, 2])
    add("max_pool", T(2, 5, 7, 2), [3, 2], strides=[2, 1], padding="same")
    add("max_pool", T(2, 7, 2), 3, strides=2)
    add("average_pool", T(2, 5, 7, 2), [2, 2])
    add("average_pool", T(2, 5, 7, 2), [3, 2], strides=[2, 1], padding="same")
    add("conv", T(2, 7, 3), T(3, 3, 4))
    add("conv", T(2, 5, 7, 3), T(3, 2, 3, 4), strides=[2, 1], padding="same")
    add("conv", T(1, 7, 7, 2), T(3, 3, 2, 3), dilation_rate=2)
    add("conv", T(1, 5, 5, 4), T(2, 2, 2, 6), tag="groups")
    add("depthwise_conv", T(1, 5, 6, 3), T(3, 3, 3, 2), padding="same")
    add("separable_conv", T(1, 5, 6, 3), T(3, 3, 3, 2), T(1, 1, 6, 4))
    add("conv_transpose", T(1, 3, 4, 2), T(3, 3, 5, 2), strides=2, padding="same")
    add("conv_transpose", T(1, 3, 4, 2), T(3, 2, 5, 2), strides=[2, 3])
    add("batch_normalization", T(4, 3), T(3), T(3, low=0.5, high=2), -1, offset=T(3), scale=T(3), epsilon=1e-2)
    add("batch_normalization", T(2, 3, 4), T(3), T(3, low=0.5, high=2), 1)
    add("layer_normalization", T(3, 4), T(4), T(4))
    add("rms_normalization", T(3, 4), T(4))
    for from_logits in (False, True):
        p = T(3, 4) if from_logits else T(3, 4, low=0.05, high=0.9)
        add("binary_crossentropy", np.array([[1.0, 0, 0, 1], [0, 0, 1, 1], [0.3, 0, 1, 0]]), p, from_logits=from_logits)
        add("categorical_crossentropy", np.array([[1.0, 0, 0, 0], [0, 0, 1, 0], [0.3, 0.2, 0.1, 0.4]]), p, from_logits=from_logits)
        add("sparse_categorical_crossentropy", np.array([3, 0, 1], "int32"), p, from_logits=from_logits)
    add("dot_product_attention", T(2, 3, 2, 4), T(2, 5, 2, 4), T(2, 5, 2, 4))
    add("dot_product_attention", T(2, 3, 2, 4), T(2, 3, 2, 4), T(2, 3, 2, 4), is_causal=True)
    add("dot_product_attention", T(1, 3, 2, 4), T(1, 5, 2, 4), T(1, 5, 2, 4), scale=0.3, mask=np.array([[[[1, 1, 0, 1, 0], [1, 0, 0, 0, 0], [1, 1, 1, 1, 1]]]], bool))

    # core
    for dtype in ("int32", "bool", "float16", "bfloat16"):
        add("cast", np.array([-1.7, 0.0, 0.4, 2.5, 3.0]), dtype, grad=False)
    add("cast", B(3), "float32")
    add("stop_gradient", T(2, 3))
    add("image.resize", T(1, 4, 5, 2), [7, 3], interpolation="bilinear")
    add("image.resize", T(1, 4, 5, 2), [7, 3], interpolation="nearest")
    add("image.resize", T(1, 4, 5, 2), [2, 3], interpolation="bilinear", antialias=True)
    add("image.resize", T(1, 4, 5, 2), [6, 8], interpolation="bicubic")
    add("image.rgb_to_grayscale", T(1, 2, 3, 3))


def table_more():
    # elementwise
    for name in ("absolute", "fabs", "erfc", "real", "conj", "copy"):
        add(name, T(2, 3), tag="more")
    add("erfc", T(3, 5, low=-3, high=5), tag="tail")
    for name in ("fmax", "fmin", "logaddexp2", "fmod"):
        add(name, T(2, 3, 4), T(3, 1), grad=name != "fmod")
    add("fmod", np.array([-7.5, 7.5, -7.5, 7.5]), np.array([2.0, 2.0, -2.0, -2.0]), grad=False, tag="signs")
    add("heaviside", np.array([-1.5, 0.0, 2.5]), np.array([0.5, 0.5, 0.5]), grad=False)
    add("isin", I(5, 2, 3), np.array([1, 3], "int32"))
    add("isin", I(5, 2, 3), np.array([1, 3], "int32"), invert=True)
    for name in ("isneginf", "isposinf"):
        add(name, np.array([1.0, np.nan, np.inf, -np.inf, 0.0]), grad=False)
    add("allclose", np.array([1.0, 2.0]), np.array([1.0, 2.0 + 1e-9]), grad=False)
    add("isclose", np.array([1.0, np.nan]), np.array([1.5, np.nan]), rtol=0.4, atol=0.2, equal_nan=True, grad=False)
    for name in ("bitwise_and", "bitwise_or", "bitwise_xor", "left_shift", "right_shift"):
        add(name, I(9, 2, 3), I(4, 2, 3))
    add("bitwise_not", I(9, 2, 3))
    add("round", np.array([1234.5, 1250.0, -1350.0]), decimals=-2, grad=False, tag="hundreds")
    add("clip", I(9, 2, 3), 2, 5, tag="integer")
    add("where", B(2, 3), T(2, 3), 0.5, tag="scalar")
    add("subtract", 1.5, T(2, 3), tag="scalar")
    add("true_divide", I(9, 2, 3), 2, tag="integer")
    add("multiply", I(9, 2, 3), 0.5, tag="fraction")
    add("add", B(2, 3), 1, tag="boolean")
    add("power", I(4, 2, 3, low=1), 2, tag="integer")

    add("gcd", I(40, 2, 3), I(40, 2, 3))
    add("lcm", I(12, 2, 3), I(12, 2, 3))
    add("ldexp", T(2, 3), I(5, 2, 3, low=-3))
    add("i0", np.array([-30.0, -18.5, -17.5, -3.0, 0.0, 0.5, 2.0, 9.0, 40.0]))
    add("angle", np.array([-1.5, 2.0, 0.0]), grad=False)
    for mode in ("valid", "same", "full"):
        add("correlate", T(6), T(3), mode=mode)
        add("correlate", T(3), T(6), mode=mode)
        add("correlate", T(5), T(4), mode=mode)
    add("correlate", I(5, 6), I(5, 2), mode="full", tag="integer")

    # reductions
    gaps = np.array([[1.0, np.nan, 3.0, -0.5], [np.nan, 2.0, 0.25, 1.5]])
    for name in ("nansum", "nanmean", "nanmax", "nanmin", "nanprod", "nanvar", "nanstd"):
        add(name, gaps, grad=False)
        add(name, gaps, axis=1, keepdims=True, grad=False)
    for name in ("nancumsum", "nancumprod"):
        add(name, gaps, axis=1, grad=False)
    for name in ("nanargmax", "nanargmin"):
        add(name, gaps, axis=1, grad=False)
    for name in ("nanmedian",):
        add(name, gaps, axis=1, grad=False)
    add("nanquantile", gaps, 0.3, axis=1, grad=False)
    add("nanpercentile", gaps, 70.0, axis=0, keepdims=True, grad=False)
    add("ptp", T(3, 4), axis=1)
    add("percentile", T(3, 5), 30.0, axis=1, grad=False)
    add("quantile", T(3, 5), [0.25, 0.5], grad=False)
    add("median", T(2, 3, 5), axis=[0, 2])
    add("median", T(3, 4), keepdims=True)
    add("trapezoid", T(3, 5), dx=0.5)
    add("corrcoef", T(3, 6))
    add("average", T(3, 4))
    add("average", T(3, 4), weights=T(3, 4, low=0.1, high=2), tag="all")
    add("sum", T(2, 3), axis=[], tag="no_axes")
    add("logsumexp", np.array([[1000.0, 1000.5], [-1000.0, -1002.0]]), axis=1, tag="large")
    add("trace", T(2, 3, 4), offset=1, axis1=1, axis2=2)
    add("segment_min", T(6, 2), np.array([0, 0, 1, 1, 2, 2], "int32"), num_segments=3)
    add("segment_prod", T(6, 2), np.array([0, 0, 1, 1, 2, 2], "int32"), num_segments=3, grad=False)

    # shape
    add("dstack", [T(2, 3), T(2, 3)])
    add("append", T(2, 3), T(4))
    for name, shape in (("hsplit", (2, 4)), ("vsplit", (4, 2)), ("dsplit", (2, 3, 4))):
        add(name, T(*shape), 2)
    add("array_split", T(7, 2), 3)
    add("diagflat", T(2, 2), k=1)
    add("diag", T(3), k=-1)
    add("diag", T(4, 3), k=-2)
    add("diagonal", T(3, 4), offset=1)
    add("diagonal", T(2, 4, 3), offset=-1, axis1=1, axis2=2)
    add("vander", T(3), N=4)
    add("vander", T(3), increasing=True)
    add("unravel_index", np.array([5, 0, 11], "int32"), [3, 4])
    add("expand_dims", T(2, 3), [0, -1])
    add("moveaxis", T(2, 3, 4), [-1], [0])
    add("transpose", T(2, 3))
    add("flip", T(2, 3), axis=[0, 1])
    add("fliplr", T(2, 3))
    add("flipud", T(2, 3))
    add("rot90", T(2, 3), k=3)
    add("pad", T(2, 3), [[0, 0], [2, 2]], mode="edge")
    add("pad", T(2, 3), [[0, 0], [2, 2]], mode="wrap")
    add("unstack", T(2, 3, 2), axis=-1)
    add("repeat", T(2, 3), 3, axis=0)
    add("take_along_axis", T(3, 4), I(3, 3, 4), axis=0)
    add("argmax", B(3, 4), axis=1, tag="boolean")
    add("sort", T(2, 3), axis=None)
    add("segment_sum", I(9, 6), np.array([0, 0, 2, 2, 2, 3], "int32"), num_segments=4, tag="integer")

    # products
    add("kron", T(2, 3), T(3, 2))
    add("cdist", T(3, 4), T(2, 4))
    add("cross", T(4, 3), T(3), tag="broadcast")
    add("dot", T(3, 4), 2.0, tag="scalar")
    add("tensordot", T(2, 3), T(4, 5), axes=0)

    # linear algebra
    square = np.array([[0.0, 2.0, 1.0], [1.5, -1.0, 0.3], [-0.5, 0.3, 2.0]])
    stack = np.stack([square, square.T + 2.0 * np.eye(3)])
    spd = np.array([[4.0, 1.0, -0.5], [1.0, 3.0, 0.3], [-0.5, 0.3, 2.0]])
    for name in ("inv", "det"):
        add(name, square, tag="pivot")
        add(name, stack, tag="stack")
    add("slogdet", square)
    add("slogdet", stack)
    add("logdet", spd, tag="gradient")
    add("solve", stack, T(2, 3, 2))
    add("solve", square, T(3))
    add("solve_triangular", np.triu(spd), T(3, 2), lower=False)
    add("cholesky", spd, tag="gradient")
    add("cholesky", spd, upper=True)
    add("cholesky", np.stack([spd, spd + np.eye(3)]), tag="stack")
    add("cholesky_inverse", np.array([[2.0, 0.0, 0.0], [0.5, 1.5, 0.0], [-0.3, 0.2, 1.2]]))
    add("qr", T(4, 3))
    add("qr", T(3, 3))
    add("qr", T(2, 4))
    add("qr", T(2, 4, 2), tag="stack")
    add("qr", T(4, 2), mode="complete", grad=False)
    for order in (1, -1, np.inf, -np.inf):
        add("norm", T(3, 4), ord=order, axis=[0, 1])
        add("norm", T(2, 3, 4), ord=order, axis=[2, 1], keepdims=True)
    add("norm", T(3, 4), ord=3, axis=0)
    add("norm", T(3, 4), ord=-np.inf, axis=1)
    add("norm", np.array([[1.0, 0.0, 2.0]]), ord=0, axis=1, grad=False)

    # nn
    for name in ("celu", "glu", "squareplus", "sparse_plus", "sparse_sigmoid", "sparsemax", "soft_shrink", "hard_shrink"):
        add(name, T(3, 6, low=-2.5, high=2.5))
    add("sparsemax", T(3, 5, low=-1, high=1), axis=0)
    add("threshold", T(3, 5), 0.3, -1.0)
    add("relu6", T(3, 5, low=-2, high=9), tag="wide")
    add("softmax", T(2, 3, 4), axis=[1, 2])
    add("normalize", T(3, 4), axis=1, order=3)
    add("adaptive_average_pool", T(2, 5, 7, 2), [2, 3])
    add("adaptive_max_pool", T(2, 5, 7, 2), [2, 3])
    add("conv", T(2, 3, 5, 6), T(2, 2, 3, 4), data_format="channels_first")
    add("conv", T(1, 4, 5, 4, 2), T(2, 2, 2, 2, 3), strides=[1, 2, 1])
    add("depth_to_space", T(1, 2, 3, 8), 2)
    add("space_to_depth", T(1, 4, 6, 2), 2)
    add("psnr", T(2, 3), T(2, 3), 2.0)
    add("layer_normalization", T(2, 3, 4), T(3, 4), T(3, 4), axis=[1, 2])
    add("dot_product_attention", T(1, 3, 2, 4), T(1, 5, 2, 4), T(1, 5, 2, 4), bias=T(1, 2, 3, 5))
    add("dot_product_attention", T(1, 3, 4, 2), T(1, 5, 2, 2), T(1, 5, 2, 2), tag="groups")
    add("saturate_cast", np.array([-300, 5, 300], "int32"), "int8")
    add("image.resize", T(4, 5, 2), [8, 3], interpolation="lanczos3")
    add("image.resize", T(1, 6, 8, 2), [3, 3], interpolation="bilinear", crop_to_aspect_ratio=True)


def fill(structure, r):
    if isinstance(structure, T):
        return structure.fill(r)
    if isinstance(structure, (list, tuple)):
        return [fill(s, r) for s in structure]
    return structure


def collect(structure, found):
    if isinstance(structure, np.ndarray):
        name = f"x_{len(found)}"
        found[name] = structure.astype(D) if structure.dtype == np.float64 else structure
        return {"input": name}
    if isinstance(structure, list):
        return [collect(s, found) for s in structure]
    return structure


def restore(structure, values):
    if isinstance(structure, dict):
        return values[structure["input"]]
    if isinstance(structure, list):
        return [restore(s, values) for s in structure]
    return structure


def shape_of(structure):
    """A short tag that tells the variants of one operation apart."""
    if isinstance(structure, T):
        return "x".join(map(str, structure.shape)) or "scalar"
    if isinstance(structure, np.ndarray):
        return "x".join(map(str, structure.shape)) + "fixed"
    if isinstance(structure, (list, tuple)):
        return "[" + ",".join(shape_of(s) for s in structure) + "]"
    return str(structure)


def is_float(a):
    return keras.backend.standardize_dtype(a.dtype).startswith(("float", "bfloat"))


def lists_to_tuples(name, value):
    # keras.ops wants tuples in a few places where JSON has lists
    if isinstance(value, list) and value and all(isinstance(v, int) for v in value):
        return tuple(value)
    if isinstance(value, list) and value and all(isinstance(v, (list, tuple)) for v in value):
        return tuple(lists_to_tuples(name, v) for v in value)
    return value


def run(w, row):
    name, args, kwargs, grad, tag = row
    fn = keras.ops
    for part in name.split("."):
        fn = getattr(fn, part)
    label = ";".join([shape_of(a) for a in args] + [f"{k}={shape_of(v)}" for k, v in kwargs.items()])
    full = f"{name}/{label}" + (f"/{tag}" if tag else "")
    r = common.rng("ops", full)
    values = {}
    call_args = [collect(fill(a, r), values) for a in args]
    call_kwargs = {k: collect(fill(v, r), values) for k, v in kwargs.items()}
    tensors = {n: keras.ops.convert_to_tensor(v) for n, v in values.items()}

    def call(inputs):
        full_values = {**tensors, **inputs}
        a = [lists_to_tuples(name, restore(x, full_values)) for x in call_args]
        k = {n: lists_to_tuples(name, restore(x, full_values)) for n, x in call_kwargs.items()}
        if name in ("split", "repeat") and isinstance(a[1], tuple):
            a[1] = np.array(a[1]) if name == "repeat" else list(a[1])
        out = fn(*a, **k)
        return out

    out = call({})
    flat = tree.flatten(out)
    single = len(flat) == 1 and not isinstance(out, (list, tuple))
    outputs = [("output" if single else f"output_{i}", common.numpy(o)) for i, o in enumerate(flat)]
    floats = {n: t for n, t in tensors.items() if is_float(t)}
    cotangents, gradients = [], []
    differentiable = bool(grad and floats and any(is_float(o) for _, o in outputs))
    if differentiable and common.BACKEND != "numpy":
        cotangents = [(n.replace("output", "cotangent"), common.grid(r, o.shape, 1.0, 2).astype(D)) for n, o in outputs if is_float(o)]

        def objective(inputs):
            kept = [o for o in tree.flatten(call(inputs)) if is_float(o)]
            return sum(keras.ops.sum(o * c) for o, (_, c) in zip(kept, cotangents))

        g = gradient(objective, floats)
        gradients = list(g.items())
        if D == "float64" and name != "stop_gradient":
            check(w, full, objective, floats, g, r)
    # NumPy's functions of images compute in float32, TensorFlow's here and there.
    wide = {"rtol": 1e-5, "atol": 1e-6} if common.BACKEND != "jax" and name.startswith("image.") else {}
    w.case(full, name, None, D, **wide, inputs=list(values.items()) + cotangents, outputs=outputs, gradients=gradients,
           extra={"call": {"args": call_args, "kwargs": call_kwargs}, **({"differentiable": True} if differentiable and not gradients else {})})


def gradient(objective, floats):
    if common.BACKEND == "jax":
        return jax.grad(objective)(floats)
    import tensorflow as tf

    with tf.GradientTape() as tape:
        tape.watch(list(floats.values()))
        total = objective(floats)
    return dict(zip(floats, map(tf.convert_to_tensor, tape.gradient(total, list(floats.values()), unconnected_gradients="zero"))))


def check(w, full, objective, floats, g, r):
    h = 1e-6
    d = {n: r.normal(size=t.shape) for n, t in floats.items()}
    numeric = (float(objective({n: t + h * d[n] for n, t in floats.items()})) - float(objective({n: t - h * d[n] for n, t in floats.items()}))) / (2 * h)
    exact = sum(float((np.asarray(g[n]) * d[n]).sum()) for n in d)
    if not abs(numeric - exact) <= 1e-6 * max(1.0, abs(exact)):
        w.notes.append(f"{full}: gradient {exact:.9g}, central difference {numeric:.9g}")


def write(name, script):
    w = common.Writer(name, script)
    failed = 0
    for row in ROWS:
        try:
            run(w, row)
        except Exception as e:
            failed += 1
            print("FAILED", row[0], row[1:3], D, type(e).__name__, str(e)[:300])
    w.write(common.out_dir())
    if failed:
        print(f"{failed} cases failed")


def main():
    table()
    table_more()
    write("ops", __file__)


if __name__ == "__main__":
    common.run(main)
