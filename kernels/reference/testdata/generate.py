"""Writes vectors.json.gz: inputs and outputs of single ops, computed in float64 by JAX and by Keras on TensorFlow (Keras on JAX
computes float64 in float32).

    KERAS_BACKEND=tensorflow python generate.py

A case is {op, note, attrs, inputs, outputs}: attrs are the fields of the op's attribute struct in package ir, a tensor is
{dtype, shape, data} with the elements in row-major order (NaN and infinities as strings). Numbers agree with package
reference to about 1e-12.
"""
import gzip
import json
import math
import os

os.environ["KERAS_BACKEND"] = "tensorflow"
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")

import jax

jax.config.update("jax_enable_x64", True)

import jax.numpy as jnp
import keras
import numpy as np
import tensorflow as tf
from jax import lax

keras.config.set_floatx("float64")
keras.config.set_dtype_policy("float64")

SEED = 20240601
rng = np.random.default_rng(SEED)
cases = []


def number(x):
    if isinstance(x, float) and (math.isnan(x) or math.isinf(x)):
        return str(x)
    return x


def tensor(x):
    x = np.asarray(x)
    return {"dtype": str(x.dtype), "shape": list(x.shape), "data": [number(v) for v in x.ravel().tolist()]}


def add(op, inputs, outputs, note="", **attrs):
    if not isinstance(outputs, (tuple, list)):
        outputs = [outputs]
    cases.append({"op": op, "note": note, "attrs": attrs or None, "inputs": [tensor(x) for x in inputs], "outputs": [tensor(x) for x in outputs]})


def normal(*shape):
    return rng.standard_normal(shape)


def tf_vjp(f, x):
    x = tf.constant(x)
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = f(x)
    return y, lambda dy: tape.gradient(y, x, output_gradients=tf.constant(dy))


SPECIAL = np.array([np.nan, np.inf, -np.inf, 0.0, 1.0, -1.0, 0.5, -0.5, 1.5, 2.5, -2.5, 3.7, -3.7, 1e-9, 40.0, -40.0])


def elementwise():
    plain = {
        "neg": jnp.negative, "abs": jnp.abs, "sign": jnp.sign, "floor": jnp.floor, "ceil": jnp.ceil, "round": jnp.round, "exp": jnp.exp,
        "expm1": jnp.expm1, "log": jnp.log, "log1p": jnp.log1p, "sqrt": jnp.sqrt, "rsqrt": lax.rsqrt, "sin": jnp.sin, "cos": jnp.cos,
        "tan": jnp.tan, "asin": jnp.arcsin, "acos": jnp.arccos, "atan": jnp.arctan, "sinh": jnp.sinh, "cosh": jnp.cosh, "asinh": jnp.arcsinh,
        "acosh": jnp.arccosh, "atanh": jnp.arctanh, "tanh": jnp.tanh, "sigmoid": jax.nn.sigmoid, "erf": lax.erf, "erf_inv": lax.erf_inv,
        "lgamma": lax.lgamma, "relu": lambda x: jnp.maximum(x, 0), "is_finite": jnp.isfinite,
    }
    for op, f in plain.items():
        x = np.concatenate([SPECIAL, normal(8)])
        add(op, [x], f(x))
    left, right = (a.ravel() for a in np.meshgrid(SPECIAL, SPECIAL))
    for op, f in {"add": jnp.add, "sub": jnp.subtract, "mul": jnp.multiply, "div": jnp.divide, "pow": jnp.power, "max": jnp.maximum, "min": jnp.minimum,
                  "rem": lax.rem, "atan2": jnp.arctan2}.items():
        add(op, [left, right], f(left, right))
    for direction, f in {"eq": jnp.equal, "ne": jnp.not_equal, "lt": jnp.less, "le": jnp.less_equal, "gt": jnp.greater, "ge": jnp.greater_equal}.items():
        add("compare", [left, right], f(left, right), Direction=direction)
    for dtype in (np.int8, np.int32, np.uint8, np.uint32, np.int64, np.uint64):
        info = np.iinfo(dtype)
        ends = np.array([info.min, info.min + 1, 0, 1, 2, 3, info.max - 1, info.max], dtype)
        x, y = (a.ravel() for a in np.meshgrid(ends, ends))
        for op, f in {"add": jnp.add, "sub": jnp.subtract, "mul": jnp.multiply, "max": jnp.maximum, "min": jnp.minimum, "and": jnp.bitwise_and,
                      "or": jnp.bitwise_or, "xor": jnp.bitwise_xor}.items():
            add(op, [x, y], f(x, y))
        shifts = (np.arange(len(x)) % (8 * np.dtype(dtype).itemsize)).astype(dtype)
        add("shift_left", [x, shifts], lax.shift_left(x, shifts))
        right_shift = lax.shift_right_arithmetic if info.min < 0 else lax.shift_right_logical
        add("shift_right", [x, shifts], right_shift(x, shifts))
        keep = y != 0  # the op table, not XLA, says what a zero divisor gives
        if info.min < 0:
            keep &= ~((x == info.min) & (y == -1))
        add("div", [x[keep], y[keep]], lax.div(x[keep], y[keep]))
        add("rem", [x[keep], y[keep]], lax.rem(x[keep], y[keep]))
        small = np.array([0, 1, 2, 3, 5], dtype)
        base, power = (a.ravel() for a in np.meshgrid(ends, small))
        add("pow", [base, power], np.array([pow_wrapped(b, p, dtype) for b, p in zip(base, power)], dtype))
        for to in (np.int8, np.uint16, np.int32, np.int64, np.float32, np.float64):
            add("convert", [ends], lax.convert_element_type(ends, to), DType=np.dtype(to).name)


def pow_wrapped(b, p, dtype):
    bits = 8 * np.dtype(dtype).itemsize
    v = pow(int(b), int(p)) % (1 << bits)
    if np.iinfo(dtype).min < 0 and v >= 1 << (bits - 1):
        v -= 1 << bits
    return v


def shapes():
    x = normal(3, 4)
    add("pad", [x, np.float64(7)], lax.pad(x, 7.0, [(1, 2, 0), (0, 1, 2)]), Low=[1, 0], High=[2, 1], Interior=[0, 2])
    add("pad", [x, np.float64(7)], lax.pad(x, 7.0, [(-1, 2, 1), (3, -5, 0)]), Low=[-1, 3], High=[2, -5], Interior=[1, 0])
    x = normal(2, 3, 4)
    add("transpose", [x], jnp.transpose(x, (2, 0, 1)), Perm=[2, 0, 1])
    add("reshape", [x], jnp.reshape(x, (4, 6)), Shape=[4, 6])
    add("reverse", [x], lax.rev(x, (0, 2)), Axes=[0, 2])
    add("slice", [x], lax.slice(x, (0, 1, 1), (2, 3, 4), (1, 1, 2)), Start=[0, 1, 1], Limit=[2, 3, 4], Stride=[1, 1, 2])
    y = normal(3, 1)
    add("broadcast", [y], lax.broadcast_in_dim(y, (2, 3, 4), (1, 2)), Shape=[2, 3, 4], Axes=[1, 2])
    add("concat", [x, x[:, :1]], jnp.concatenate([x, x[:, :1]], 1), Axis=1)
    x = normal(5, 4)
    for start in ((1, 2), (-3, 9)):
        s = [np.int32(v) for v in start]
        inside = [max(v, 0) for v in start]  # lax counts negative starts from the end; XLA's own op clamps them
        add("dynamic_slice", [x, *s], lax.dynamic_slice(x, inside, (2, 3)), Sizes=[2, 3])
        u = normal(2, 3)
        add("dynamic_update_slice", [x, u, *s], lax.dynamic_update_slice(x, u, inside))


def contractions():
    for l, r, batch, contract in (
        ((3, 4), (4, 5), ((), ()), ((1,), (0,))),
        ((2, 3, 4), (2, 4, 5), ((0,), (0,)), ((2,), (1,))),
        ((2, 3, 4, 5), (3, 5, 2, 6), ((0, 1), (2, 0)), ((3,), (1,))),
        ((2, 3, 4), (4, 3, 5), ((), ()), ((1, 2), (1, 0))),
        ((3,), (4,), ((), ()), ((), ())),
    ):
        x, y = normal(*l), normal(*r)
        add("dot", [x, y], lax.dot_general(x, y, (contract, batch)), LhsBatch=list(batch[0]), RhsBatch=list(batch[1]), LhsContract=list(contract[0]), RhsContract=list(contract[1]))
    table, where = normal(4, 5, 2), np.array([[4, 0, 9], [-1, 2, 2]], np.int32)
    clipped = np.clip(where, 0, 4)
    add("gather", [table, clipped], jnp.take(table, clipped, axis=1), Axis=1, Mode="")
    add("gather", [table, where], jnp.take(table, clipped, axis=1), Axis=1, Mode="clip")
    dropped = np.where((where < 0) | (where > 4), 99, where)
    add("gather", [table, where], jnp.take(table, dropped, axis=1, mode="fill", fill_value=0), Axis=1, Mode="drop")
    updates = normal(4, 2, 3, 2)
    for kind in ("sum", "prod", "max", "min"):
        name = {"sum": "add", "prod": "multiply"}.get(kind, kind)
        add("scatter", [table, clipped, updates], getattr(jnp.asarray(table).at[:, clipped], name)(updates), Axis=1, Kind=kind, Mode="")
        add("scatter", [table, where, updates], getattr(jnp.asarray(table).at[:, dropped], name)(updates, mode="drop"), Axis=1, Kind=kind, Mode="drop")
    x = normal(3, 4, 5)
    for kind, f in {"sum": jnp.sum, "prod": jnp.prod, "max": jnp.max, "min": jnp.min}.items():
        add("reduce", [x], f(x, axis=(0, 2)), Kind=kind, Axes=[0, 2])
        add("reduce", [SPECIAL.reshape(4, 4)], f(SPECIAL.reshape(4, 4), axis=1), Kind=kind, Axes=[1])
    for kind, f in {"sum": lax.cumsum, "prod": lax.cumprod, "max": lax.cummax, "min": lax.cummin}.items():
        for reverse in (False, True):
            add("cumulative", [x], f(x, axis=1, reverse=reverse), Kind=kind, Axis=1, Exclusive=False, Reverse=reverse)
    shifted = np.concatenate([np.zeros((3, 1, 5)), np.cumsum(x, 1)[:, :-1]], 1)
    add("cumulative", [x], shifted, Kind="sum", Axis=1, Exclusive=True, Reverse=False)
    ties = rng.integers(0, 3, (4, 7)).astype(np.float64)
    ties[0, 2] = ties[2, 0] = ties[2, 5] = np.nan
    for v in (x[0], ties):
        for axis in (0, 1):
            order = jnp.argsort(v, axis=axis, stable=True)
            add("sort", [v], [jnp.take_along_axis(v, order, axis), order.astype(np.int32)], Axis=axis, Descending=False)
    whole = rng.integers(-3, 3, (4, 7)).astype(np.int32)
    order = jnp.argsort(-whole, axis=1, stable=True)
    add("sort", [whole], [jnp.take_along_axis(whole, order, 1), order.astype(np.int32)], Axis=1, Descending=True)
    add("top_k", [whole], lax.top_k(whole, 4), K=4)
    add("top_k", [x], lax.top_k(x, 3), K=3)
    for op, f in {"argmax": jnp.argmax, "argmin": jnp.argmin}.items():
        add(op, [ties], f(ties, axis=1).astype(np.int32), Axis=1)
        add(op, [whole], f(whole, axis=0).astype(np.int32), Axis=0)


def windows():
    letters = "DHW"
    for x_shape, k_shape, strides, dilation, low, high, groups in (
        ((2, 7, 3), (3, 3, 4), [2], [1], [1], [2], 1),
        ((2, 5, 6, 4), (3, 2, 2, 6), [1, 2], [1, 1], [0, 1], [2, 0], 2),
        ((1, 7, 6, 3), (2, 3, 1, 6), [1, 1], [3, 2], [1, 0], [0, 2], 3),
        ((1, 3, 4, 5, 2), (2, 2, 3, 2, 3), [1, 2, 1], [1, 1, 2], [0, 1, 1], [1, 0, 2], 1),
    ):
        n = len(strides)
        spatial = letters[-n:]
        numbers = ("N" + spatial + "C", spatial + "IO", "N" + spatial + "C")

        def conv(x, k):
            return lax.conv_general_dilated(x, k, strides, list(zip(low, high)), rhs_dilation=dilation, dimension_numbers=numbers, feature_group_count=groups)

        x, k = normal(*x_shape), normal(*k_shape)
        y, back = jax.vjp(conv, x, k)
        dy = normal(*y.shape)
        dx, dk = back(dy)
        attrs = dict(Strides=strides, Dilation=dilation, PadLow=low, PadHigh=high, Groups=groups)
        add("conv", [x, k], y, **attrs)
        add("conv_input_grad", [dy, k], dx, Conv=attrs, Shape=list(x_shape))
        add("conv_kernel_grad", [x, dy], dk, Conv=attrs, Shape=list(k_shape))
    for x_shape, window, strides, padding in (((2, 7, 3), 3, 2, "same"), ((2, 5, 6, 2), (2, 3), (2, 1), "valid"), ((1, 6, 7, 2), (3, 3), (2, 2), "same")):
        n = len(x_shape) - 2
        w, s = ((window,) * n, (strides,) * n) if n == 1 else (window, strides)
        low, high = [0] * n, [0] * n
        if padding == "same":
            for i in range(n):
                total = max((-(-x_shape[1 + i] // s[i]) - 1) * s[i] + w[i] - x_shape[1 + i], 0)
                low[i], high[i] = total // 2, total - total // 2
        attrs = dict(Window=list(w), Strides=list(s), PadLow=low, PadHigh=high)
        x = normal(*x_shape)
        for op, f in {"max_pool": keras.ops.max_pool, "avg_pool": keras.ops.average_pool}.items():
            y, back = tf_vjp(lambda v: f(v, w, s, padding, data_format="channels_last"), x)
            dy = normal(*y.shape)
            add(op, [x], y, note="keras.ops", **attrs)
            if op == "max_pool":
                add("max_pool_grad", [x, y, dy], back(dy), **attrs)
            else:
                add("avg_pool_grad", [dy], back(dy), Pool=attrs, Shape=list(x_shape))


def layers():
    def norm(x, gamma, beta, axes):
        mean, var = jnp.mean(x, axes, keepdims=True), jnp.var(x, axes, keepdims=True)
        return (x - mean) / jnp.sqrt(var + 1e-3) * gamma + beta

    x, gamma, beta = normal(3, 4, 5), normal(5), normal(5)
    for op, axes in (("batch_norm", (0, 1)), ("layer_norm", (2,))):
        y, back = jax.vjp(lambda *a: norm(*a, axes), x, gamma, beta)
        mean, var = jnp.mean(x, axes), jnp.var(x, axes)
        second = var if op == "batch_norm" else 1 / jnp.sqrt(var + 1e-3)
        dy = normal(*y.shape)
        add(op, [x, gamma, beta], [y, mean, second], Epsilon=1e-3)
        add(op + "_grad", [x, gamma, mean, second, dy], back(dy), Epsilon=1e-3)
    x = normal(3, 5) * 4
    for op, f in (("softmax", jax.nn.softmax), ("log_softmax", jax.nn.log_softmax)):
        y, back = jax.vjp(f, x)
        dy = normal(3, 5)
        add(op, [x], y)
        add(op + "_grad", [y, dy], back(dy))
    labels = np.array([4, 0, 2], np.int32)
    loss, back = tf_vjp(lambda v: keras.ops.sparse_categorical_crossentropy(labels, v, from_logits=True), x)
    total = jax.nn.logsumexp(x, axis=-1)
    dloss = normal(3)
    add("sparse_softmax_cross_entropy", [x, labels], [loss, total], note="keras.ops")
    add("sparse_softmax_cross_entropy_grad", [x, labels, total, dloss], back(dloss))
    table, where = normal(6, 3), np.array([[5, 0, 5], [1, 1, 5]], np.int32)
    rows, back = jax.vjp(lambda t: t[where], table)
    dy = normal(*rows.shape)
    add("embedding", [table, where], rows)
    add("embedding_grad", [table, where, dy], back(dy))


def attentions():
    q, k, v = normal(2, 3, 2, 4), normal(2, 5, 2, 4), normal(2, 5, 2, 4)
    mask = rng.random((2, 1, 3, 5)) < 0.6
    mask[..., 0] = True
    for causal in (False, True):
        for m in (None, mask):
            visible = np.ones((3, 5), bool) if m is None else m
            if causal:
                visible = visible & np.tril(np.ones((3, 5), bool))

            def scored(q, k):
                return jnp.where(visible, jnp.einsum("bthd,bshd->bhts", q, k) * 0.5, -jnp.inf)

            def attend(q, k, v):
                return jnp.einsum("bhts,bshd->bthd", jax.nn.softmax(scored(q, k)), v)

            y, back = jax.vjp(attend, q, k, v)
            scores = scored(q, k)
            again = jax.nn.dot_product_attention(q, k, v, mask=m, scale=0.5, is_causal=causal)
            assert np.allclose(y, again, atol=1e-6)  # which computes its softmax in float32
            total = jax.nn.logsumexp(scores, -1)
            dy = normal(*y.shape)
            extra = [] if m is None else [m]
            attrs = dict(Scale=0.5, Causal=causal, Masked=m is not None)
            add("attention", [q, k, v, *extra], [y, total], **attrs)
            add("attention_grad", [q, k, v, y, total, dy, *extra], back(dy), **attrs)


def gelu(x):
    """TensorFlow's own has the root of 2 in float32 only."""
    return x * (1 + tf.math.erf(x * tf.constant(math.sqrt(0.5), tf.float64))) / 2


def recurrent():
    """Keras layers with given weights. The op takes x·W+b, with the input bias already added."""
    batch, steps, features, units = 2, 4, 3, 2
    x = normal(batch, steps, features)
    mask = np.array([[True, False, True, False], [False, True, True, True]])
    for cell, layer in (
        ("simple", keras.layers.SimpleRNN), ("lstm", keras.layers.LSTM), ("gru", keras.layers.GRU), ("gru_reset_before", keras.layers.GRU),
    ):
        gates = {"simple": 1, "lstm": 4}.get(cell, 3)
        for activation, recurrent_activation, masked, zero, reverse in (
            ("tanh", "sigmoid", False, False, False), ("tanh", "sigmoid", True, False, False), ("tanh", "sigmoid", True, True, False),
            ("tanh", "sigmoid", False, False, True), ("softsign", "hard_sigmoid", False, False, False), ("relu", "tanh", False, False, False),
            ("selu", "sigmoid", False, False, False), ("gelu", "silu", False, False, False), ("elu", "softplus", False, False, False),
            ("exponential", "linear", False, False, False),
        ):
            function = activation if activation != "gelu" else gelu
            config = dict(units=units, activation=function, return_sequences=True, return_state=True, zero_output_for_mask=zero, go_backwards=reverse,)
            if cell != "simple":
                config["recurrent_activation"] = recurrent_activation
            if cell.startswith("gru"):
                config["reset_after"] = cell == "gru"
            l = layer(**config)
            l.build(x.shape)
            weights = [normal(*w.shape) / 2 for w in l.get_weights()]
            l.set_weights(weights)
            start = [normal(batch, units) for _ in range(2 if cell == "lstm" else 1)]
            y, *states = l(x, mask=mask if masked else None, initial_state=[tf.constant(s) for s in start])
            kernel, recurrent_kernel, bias = weights
            inputs = [x @ kernel + (bias[0] if cell == "gru" else bias), recurrent_kernel]
            if cell == "gru":
                inputs.append(bias[1])
            inputs += start
            if masked:
                inputs.append(mask)
            if reverse:  # Keras hands the outputs out in the order of computation
                y = y[:, ::-1]
            add("rnn_scan", inputs, [y, *states], note="keras.layers." + layer.__name__, Cell=cell, Activation=activation,
                RecurrentActivation=recurrent_activation, Reverse=reverse, Masked=masked, ZeroOutputForMask=zero)


def optimizers():
    # Keras passes constants through float32: these have few bits
    for rule, values, make in (
        ("sgd", [], lambda: keras.optimizers.SGD(0.125)),
        ("momentum", [0.875], lambda: keras.optimizers.SGD(0.125, momentum=0.875)),
        ("nesterov", [0.875], lambda: keras.optimizers.SGD(0.125, momentum=0.875, nesterov=True)),
        ("adam", [0.875, 0.9921875, 2.0**-20], lambda: keras.optimizers.Adam(0.125, 0.875, 0.9921875, 2.0**-20)),
    ):
        w = keras.Variable(normal(4), dtype="float64")
        optimizer = make()
        optimizer.build([w])
        slots = [v for v in optimizer.variables if v.shape == w.shape]
        for step in range(3):
            g = normal(4)
            before = [np.array(v) for v in [w, *slots]]
            optimizer.apply([tf.constant(g)], [w])
            rate = float(np.array(optimizer.learning_rate))
            add("optimizer_update", [before[0], g, np.float64(rate), np.float64(step + 1), *before[1:]],
                [np.array(v) for v in [w, *slots]], note="keras.optimizers", Rule=rule, Values=values)


for family in (elementwise, shapes, contractions, windows, layers, attentions, recurrent, optimizers):
    family()

versions = {"jax": jax.__version__, "keras": keras.__version__, "tensorflow": tf.__version__, "numpy": np.__version__, "seed": SEED}
path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "vectors.json.gz")
with gzip.GzipFile(path, "wb", mtime=0) as f:
    f.write(json.dumps({"versions": versions, "cases": cases}, separators=(",", ":")).encode())
