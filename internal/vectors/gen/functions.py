"""Activations, regularizers, constraints, schedules and initializers.

Run: KERAS_BACKEND=jax python gen/functions.py <output directory>
Versions: see common.py.

Writes five sets:
  activations   class = function name, config = its keyword arguments; inputs x,
                cotangent; outputs y; gradients x = d sum(y*cotangent)/dx (absent in the
                cases named .../kinks, which sit on corners of the function)
  regularizers  inputs x; outputs value; gradients x
  constraints   inputs x; outputs y
  schedules     inputs step (integers); outputs learning_rate
  initializers  extra {shape, and for random ones: distribution, fan_in, fan_out, low,
                high, mean, std}; outputs value where the result is deterministic;
                extra.orthogonal: gain of an orthogonal initializer
"""

import math
import warnings

import jax
import numpy as np

import common
import keras
from keras import activations as A
from keras import constraints, initializers, regularizers
from keras.optimizers import schedules

warnings.filterwarnings("ignore")
D = common.DTYPE


def activation_rows():
    rows = [("relu", {}), ("relu", {"negative_slope": 0.1}), ("relu", {"max_value": 2.2}), ("relu", {"threshold": 0.7}),
            ("relu", {"negative_slope": 0.3, "max_value": 2.2, "threshold": 0.7}), ("relu", {"threshold": -0.7, "negative_slope": 0.2}),
            ("leaky_relu", {}), ("leaky_relu", {"negative_slope": 0.05}), ("relu6", {}), ("elu", {}), ("elu", {"alpha": 0.4}), ("selu", {}),
            ("softplus", {}), ("softsign", {}), ("soft_shrink", {}), ("soft_shrink", {"threshold": 1.2}), ("sparse_plus", {}), ("silu", {}),
            ("squareplus", {}), ("squareplus", {"b": 1.5}), ("gelu", {}), ("gelu", {"approximate": True}), ("celu", {}), ("celu", {"alpha": 0.4}),
            ("tanh", {}), ("tanh_shrink", {}), ("hard_tanh", {}), ("hard_shrink", {}), ("hard_shrink", {"threshold": 1.2}),
            ("threshold", {"threshold": 0.6, "default_value": -2.5}), ("sigmoid", {}), ("exponential", {}), ("hard_sigmoid", {}),
            ("log_sigmoid", {}), ("sparse_sigmoid", {}), ("hard_silu", {}), ("linear", {}), ("mish", {}),
            ("softmax", {}), ("softmax", {"axis": 1}), ("softmax", {"axis": [1, 2]}), ("log_softmax", {}), ("log_softmax", {"axis": 1}),
            ("sparsemax", {}), ("sparsemax", {"axis": 1}), ("glu", {}), ("glu", {"axis": 1})]
    return rows


def activations_set(out):
    w = common.Writer("activations", __file__)
    over_axes = {"softmax", "log_softmax", "sparsemax", "glu"}
    for fn, kw in activation_rows():
        tag = ",".join(f"{k}={v}" for k, v in kw.items()).replace(" ", "") or "default"
        f = lambda x, fn=fn, kw=kw: getattr(A, fn)(x, **{k: tuple(v) if isinstance(v, list) else v for k, v in kw.items()})
        inputs = {}
        if fn in over_axes:
            r = common.rng("activations", fn, tag)
            inputs["grid"] = common.grid(r, (3, 4, 6), 2.0)
            big = common.grid(r, (2, 4, 2), 40.0)
            big[0, 0, 0], big[1, 1, 1] = 900.0, -900.0
            inputs["large"] = big
            if fn == "softmax" and not kw:
                inputs["rank1_axis"] = np.array([[1.5], [-2.0]])
        else:
            grid = np.concatenate([np.arange(-8.053, 8.1, 0.371), [-0.011, 0.013, 1e-6, -1e-6, 1e-20]])
            inputs["grid"] = np.round(grid, 20)
            big = np.array([-1000.0, -300, -100.3, -88.9, -50.2, -30.1, -20.7, 20.7, 30.1, 50.2, 88.9, 100.3, 300, 1000])
            inputs["large"] = np.minimum(big, 80) if fn == "exponential" else big
            inputs["kinks"] = np.array([-6.0, -3.0, -2.5, -1.2, -1.0, -0.7, -0.5, 0.0, 0.5, 0.6, 0.7, 1.0, 1.2, 2.2, 3.0, 6.0])
        for name, x in inputs.items():
            x = x.astype(D)
            y = common.numpy(f(keras.ops.convert_to_tensor(x)))
            cot = common.grid(common.rng("activations", fn, tag, name, "cotangent"), y.shape, 1.0, 2).astype(D)
            grad = jax.grad(lambda v: (f(v) * cot).sum())(x) if name != "kinks" else None
            w.case(f"{fn}/{tag}/{name}", fn, kw, D, inputs={"x": x, "cotangent": cot if grad is not None else None},
                   outputs={"y": y}, gradients={"x": grad} if grad is not None else None)
    w.write(out)


def regularizers_set(out):
    w = common.Writer("regularizers", __file__)
    R = regularizers
    rows = [R.L1(), R.L1(0.3), R.L2(), R.L2(0.3), R.L1L2(), R.L1L2(0.1, 0.2), R.L1L2(l2=0.5), R.get("l1"), R.get("l2"), R.get("l1l2"),
            R.OrthogonalRegularizer(), R.OrthogonalRegularizer(0.2, mode="columns")]
    for i, reg in enumerate(rows):
        cls, config = common.object_config(reg)
        for shape in ([(4, 3)] if "Orth" in cls else [(4, 3), (5,), (2, 2, 3), ()]):
            x = common.grid(common.rng("regularizers", shape), shape).astype(D)
            f = lambda v: reg(v)
            w.case(f"{i}_{cls}/{'x'.join(map(str, shape)) or 'scalar'}", cls, config, D, inputs={"x": x}, outputs={"value": f(keras.ops.convert_to_tensor(x))},
                   gradients={"x": jax.grad(f)(keras.ops.convert_to_tensor(x))})
    w.write(out)


def constraints_set(out):
    w = common.Writer("constraints", __file__)
    C = constraints
    rows = [C.MaxNorm(), C.MaxNorm(0.9), C.MaxNorm(0.9, axis=1), C.MaxNorm(1.1, axis=[0, 1]), C.NonNeg(), C.UnitNorm(), C.UnitNorm(axis=1), C.UnitNorm(axis=[0, 1]),
            C.MinMaxNorm(), C.MinMaxNorm(0.8, 1.3), C.MinMaxNorm(0.8, 1.3, rate=0.4), C.MinMaxNorm(0.8, 1.3, rate=0.4, axis=1), C.MaxNorm(0.7, axis=[0, 1, 2]), C.UnitNorm(axis=[0, 1, 2])]
    for i, con in enumerate(rows):
        cls, config = common.object_config(con)
        axes = config.get("axis", 0)
        top = max(axes) if isinstance(axes, list) else axes
        for shape in [(4, 3), (5,), (3, 2, 2, 3)]:
            if len(shape) <= top:
                continue
            x = common.grid(common.rng("constraints", shape), shape)
            if len(shape) == 2:
                x[:, 1] = 0
                x[0] *= 0.1
            x = x.astype(D)
            w.case(f"{i}_{cls}/{'x'.join(map(str, shape))}", cls, config, D, inputs={"x": x}, outputs={"y": con(keras.ops.convert_to_tensor(x))})
    w.write(out)


def schedules_set(out):
    w = common.Writer("schedules", __file__)
    S = schedules
    rows = [
        S.ExponentialDecay(0.1, 7, 0.5), S.ExponentialDecay(0.1, 7, 0.5, staircase=True), S.ExponentialDecay(0.02, 1000, 0.96),
        S.InverseTimeDecay(0.1, 7, 0.5), S.InverseTimeDecay(0.1, 7, 0.5, staircase=True),
        S.PolynomialDecay(0.1, 9), S.PolynomialDecay(0.1, 9, end_learning_rate=0.01, power=2.0), S.PolynomialDecay(0.1, 9, end_learning_rate=0.01, power=0.5, cycle=True), S.PolynomialDecay(0.1, 9, cycle=True),
        S.CosineDecay(0.1, 10), S.CosineDecay(0.1, 10, alpha=0.2), S.CosineDecay(0.0, 10, warmup_target=0.1, warmup_steps=4),
        S.CosineDecay(0.01, 12, alpha=0.1, warmup_target=0.2, warmup_steps=5, name="warm"), S.CosineDecay(0.1, 10, warmup_steps=3),
        S.CosineDecayRestarts(0.1, 5.5), S.CosineDecayRestarts(0.1, 5.5, t_mul=1.5, m_mul=0.8, alpha=0.1), S.CosineDecayRestarts(0.1, 6.5, t_mul=1.0, m_mul=0.5),
        S.PiecewiseConstantDecay([4, 9], [0.1, 0.05, 0.01]), S.PiecewiseConstantDecay([0, 30], [1.0, 0.5, 0.25]), S.PiecewiseConstantDecay([3], [0.2, 0.1]),
    ]
    steps = np.array([*range(0, 41), 100, 1000, 12345], "int32")
    for i, s in enumerate(rows):
        cls, config = common.object_config(s)
        values = np.array([common.numpy(s(keras.ops.convert_to_tensor(int(t), dtype="int32"))) for t in steps])
        w.case(f"{i}_{cls}", cls, config, D, inputs={"step": steps}, outputs={"learning_rate": values.astype(D)})
    w.write(out)


TRUNCATED = 0.87962566103423978


def initializers_set(out):
    w = common.Writer("initializers", __file__)
    from keras.src.initializers.random_initializers import compute_fans
    I = initializers
    shapes = [(64, 48), (300,), (3, 3, 8, 16), (5, 8, 32), (12, 4, 16), (2, 3, 4, 6, 8), (1, 200), (200, 1)]
    variance = {"GlorotUniform": (1, "fan_avg", "uniform"), "GlorotNormal": (1, "fan_avg", "truncated_normal"), "HeNormal": (2, "fan_in", "truncated_normal"),
                "HeUniform": (2, "fan_in", "uniform"), "LecunNormal": (1, "fan_in", "truncated_normal"), "LecunUniform": (1, "fan_in", "uniform")}
    rows = [(getattr(I, n)(seed=1), spec) for n, spec in variance.items()]
    rows.append((I.GlorotUniform(seed=1, input_axes=[0], output_axes=[1, 2]), (1, "fan_avg", "uniform")))
    rows.append((I.HeNormal(seed=1, input_axes=[0, 1], output_axes=[2]), (2, "fan_in", "truncated_normal")))
    for scale, mode, dist in [(1.0, "fan_in", "truncated_normal"), (2.5, "fan_out", "uniform"), (0.5, "fan_avg", "untruncated_normal"), (0.5, "fan_out", "untruncated_normal"), (3.0, "fan_avg", "truncated_normal")]:
        rows.append((I.VarianceScaling(scale, mode, dist, seed=1), (scale, mode, dist)))
    for i, (init, (scale, mode, dist)) in enumerate(rows):
        cls, config = common.object_config(init)
        for shape in shapes:
            axes = (config.get("input_axes"), config.get("output_axes"))
            if axes[0] is not None and len(shape) != 3:
                continue
            fan_in, fan_out = compute_fans(shape, *axes)
            fan = {"fan_in": fan_in, "fan_out": fan_out, "fan_avg": (fan_in + fan_out) / 2}[mode]
            sigma = math.sqrt(scale / max(1.0, fan))
            extra = {"shape": list(shape), "fan_in": fan_in, "fan_out": fan_out, "mean": 0.0, "std": sigma}
            if dist == "uniform":
                extra.update(distribution="uniform", low=-sigma * math.sqrt(3), high=sigma * math.sqrt(3))
            elif dist == "truncated_normal":
                extra.update(distribution="truncated_normal", low=-2 * sigma / TRUNCATED, high=2 * sigma / TRUNCATED)
            else:
                extra.update(distribution="normal")
            verify(w, f"{i}_{cls}", init, shape, extra)
            w.case(f"{i}_{cls}/{'x'.join(map(str, shape))}", cls, config, D, extra=extra)
    plain = [(I.RandomNormal(seed=1), "normal", 0, 0.05), (I.RandomNormal(0.5, 0.2, seed=1), "normal", 0.5, 0.2),
             (I.RandomUniform(seed=1), "uniform", -0.05, 0.05), (I.RandomUniform(0.2, 1.5, seed=1), "uniform", 0.2, 1.5),
             (I.TruncatedNormal(seed=1), "truncated_normal", 0, 0.05), (I.TruncatedNormal(1.0, 0.3, seed=1), "truncated_normal", 1.0, 0.3)]
    for i, (init, dist, a, b) in enumerate(plain):
        cls, config = common.object_config(init)
        extra = {"shape": [64, 48], "distribution": dist}
        if dist == "uniform":
            extra.update(low=a, high=b, mean=(a + b) / 2, std=(b - a) / math.sqrt(12))
        elif dist == "normal":
            extra.update(mean=a, std=b)
        else:
            extra.update(mean=a, std=b * TRUNCATED, low=a - 2 * b, high=a + 2 * b)
        verify(w, cls, init, (64, 48), extra)
        w.case(f"{i}_{cls}/64x48", cls, config, D, extra=extra)
    for i, init in enumerate([I.Orthogonal(seed=1), I.Orthogonal(0.5, seed=1)]):
        cls, config = common.object_config(init)
        for shape in [(6, 4), (4, 6), (5, 5), (2, 3, 4), (3, 2, 2, 9)]:
            flat = common.numpy(init(shape)).reshape(-1, shape[-1])
            gram = flat @ flat.T if flat.shape[0] < flat.shape[1] else flat.T @ flat
            assert np.allclose(gram, config["gain"] ** 2 * np.eye(len(gram)), atol=1e-5)
            w.case(f"{i}_{cls}/{'x'.join(map(str, shape))}", cls, config, D, extra={"shape": list(shape), "orthogonal": config["gain"]})
    exact = [I.Zeros(), I.Ones(), I.Constant(), I.Constant(-1.25), I.Identity(), I.Identity(0.3)]
    for i, init in enumerate(exact):
        cls, config = common.object_config(init)
        for shape in [(3, 4), (4, 3), (3, 3)] + ([] if cls == "Identity" else [(2,), (2, 1, 3), ()]):
            w.case(f"{i}_{cls}/{'x'.join(map(str, shape)) or 'scalar'}", cls, config, D, outputs={"value": init(shape, dtype=D)}, extra={"shape": list(shape)})
    w.write(out)


def verify(w, name, init, shape, extra):
    """Real draws must fit the target that is written down."""
    draws = []
    for seed in range(8):
        config = {**init.get_config(), "seed": seed}
        draws.append(common.numpy(type(init).from_config(config)(shape)).ravel())
    d = np.concatenate(draws)
    std = extra["std"]
    problems = []
    if abs(d.mean() - extra["mean"]) > 5 * std / math.sqrt(d.size):
        problems.append(f"mean {d.mean()}")
    if abs(d.std() / std - 1) > 0.05:
        problems.append(f"std {d.std()} of {std}")
    if "low" in extra and (d.min() < extra["low"] - 1e-6 or d.max() > extra["high"] + 1e-6):
        problems.append(f"range {d.min()} {d.max()}")
    if problems:
        w.notes.append(f"initializer {name} {shape}: {problems}")


def main():
    out = common.out_dir()
    activations_set(out)
    regularizers_set(out)
    constraints_set(out)
    schedules_set(out)
    initializers_set(out)


common.run(main)
