"""Optimizer vectors: 12 steps of fixed gradients on three variables.

Run: KERAS_BACKEND=jax python gen/optimizers.py <output directory>
     KERAS_BACKEND=tensorflow python gen/optimizers.py <output directory>
Versions: see common.py.

ScheduleFreeAdamW reads its slot after having assigned it. On TensorFlow and PyTorch that is the new value, on JAX and NumPy
the old one; the set optimizers_tensorflow holds what most users get.

A case holds
  inputs     one array per variable: its start value
  gradients  one array per variable, shape (12, *variable shape): the gradients fed
  outputs    "<variable>" shape (12, *variable shape): the value after each step;
             "<variable>/finalized" after finalize_variable_values (EMA cases only)
  weights    optimizer.variables after step 12 in file order, named by their path
  extra      {"learning_rates": the rate read before each step, "embedding": bool}
"""

import numpy as np

import common
import keras
from keras import constraints, optimizers

STEPS = 12
SHAPES = {"kernel": (3, 2), "bias": (2,), "stack": (2, 3, 2)}
S = optimizers.schedules


def hyper():
    """(name, class, kwargs or a function giving kwargs)."""
    o = optimizers
    rows = [
        ("sgd", o.SGD, {}),
        ("sgd_rate", o.SGD, {"learning_rate": 0.1}),
        ("sgd_momentum", o.SGD, {"learning_rate": 0.1, "momentum": 0.9}),
        ("sgd_nesterov", o.SGD, {"learning_rate": 0.1, "momentum": 0.8, "nesterov": True}),
        ("rmsprop", o.RMSprop, {}),
        ("rmsprop_rho", o.RMSprop, {"learning_rate": 0.02, "rho": 0.7, "epsilon": 1e-3}),
        ("rmsprop_momentum", o.RMSprop, {"learning_rate": 0.01, "momentum": 0.9}),
        ("rmsprop_centered", o.RMSprop, {"learning_rate": 0.01, "centered": True}),
        ("rmsprop_momentum_centered", o.RMSprop, {"learning_rate": 0.01, "momentum": 0.5, "centered": True, "rho": 0.8}),
        ("adam", o.Adam, {}),
        ("adam_betas", o.Adam, {"learning_rate": 0.1, "beta_1": 0.8, "beta_2": 0.95, "epsilon": 0.1}),
        ("adam_amsgrad", o.Adam, {"learning_rate": 0.05, "amsgrad": True, "beta_2": 0.7}),
        ("adamw", o.AdamW, {}),
        ("adamw_decay", o.AdamW, {"learning_rate": 0.1, "weight_decay": 0.1}),
        ("adamw_amsgrad", o.AdamW, {"learning_rate": 0.1, "weight_decay": 0.02, "amsgrad": True, "beta_1": 0.7, "beta_2": 0.8, "epsilon": 1e-4}),
        ("adagrad", o.Adagrad, {}),
        ("adagrad_accumulator", o.Adagrad, {"learning_rate": 0.1, "initial_accumulator_value": 0.5, "epsilon": 1e-3}),
        ("adadelta", o.Adadelta, {}),
        ("adadelta_rho", o.Adadelta, {"learning_rate": 1.0, "rho": 0.8, "epsilon": 1e-4}),
        ("adamax", o.Adamax, {}),
        ("adamax_betas", o.Adamax, {"learning_rate": 0.1, "beta_1": 0.7, "beta_2": 0.9, "epsilon": 1e-3}),
        ("nadam", o.Nadam, {}),
        ("nadam_betas", o.Nadam, {"learning_rate": 0.1, "beta_1": 0.8, "beta_2": 0.9, "epsilon": 1e-3}),
        ("ftrl", o.Ftrl, {}),
        ("ftrl_all", o.Ftrl, {"learning_rate": 0.1, "learning_rate_power": -0.7, "initial_accumulator_value": 0.3,
                              "l1_regularization_strength": 0.01, "l2_regularization_strength": 0.1,
                              "l2_shrinkage_regularization_strength": 0.1, "beta": 0.5}),
        ("ftrl_l1", o.Ftrl, {"learning_rate": 0.5, "l1_regularization_strength": 0.3}),
        ("lion", o.Lion, {}),
        ("lion_betas", o.Lion, {"learning_rate": 0.05, "beta_1": 0.7, "beta_2": 0.8}),
        ("lamb", o.Lamb, {}),
        ("lamb_betas", o.Lamb, {"learning_rate": 0.1, "beta_1": 0.8, "beta_2": 0.95, "epsilon": 1e-3}),
        ("adafactor", o.Adafactor, {}),
        ("adafactor_absolute", o.Adafactor, {"learning_rate": 0.5, "relative_step": False, "clip_threshold": 0.7, "beta_2_decay": -0.6, "epsilon_2": 1e-2, "epsilon_1": 1e-6}),
        ("adafactor_rate", o.Adafactor, {"learning_rate": 0.4}),
        ("muon", o.Muon, {}),
        ("muon_rate", o.Muon, {"learning_rate": 0.05, "momentum": 0.8, "ns_steps": 3, "nesterov": False, "weight_decay": 0.01,
                               "adam_weight_decay": 0.02, "adam_lr_ratio": 0.5, "rms_rate": 0.3}),
        ("muon_no_rms", o.Muon, {"learning_rate": 0.02, "rms_rate": None, "weight_decay": None}),
        ("muon_exclude", o.Muon, {"learning_rate": 0.02, "exclude_layers": ["kern"]}),
    ]
    if common.BACKEND == "tensorflow":
        return [
            ("schedule_free_adamw", o.ScheduleFreeAdamW, {}),
            ("schedule_free_adamw_warmup", o.ScheduleFreeAdamW, {"learning_rate": 0.1, "warmup_steps": 4, "beta_1": 0.8, "beta_2": 0.9}),
        ]

    # The options every optimizer shares, on several of them.
    tails = {
        "weight_decay": {"weight_decay": 0.05},
        "clipnorm": {"clipnorm": 0.4},
        "clipvalue": {"clipvalue": 0.3},
        "global_clipnorm": {"global_clipnorm": 0.6},
        "global_clipnorm_loose": {"global_clipnorm": 100.0},
        "ema": {"use_ema": True, "ema_momentum": 0.9},
        "ema_overwrite": {"use_ema": True, "ema_momentum": 0.8, "ema_overwrite_frequency": 3},
        "loss_scale_factor": {"loss_scale_factor": 4.0},
        "accumulate_3": {"gradient_accumulation_steps": 3},
        "accumulate_5_clipnorm_decay": {"gradient_accumulation_steps": 5, "clipnorm": 0.2, "weight_decay": 0.1},
        "ema_decay_clipvalue": {"use_ema": True, "ema_momentum": 0.7, "ema_overwrite_frequency": 5, "weight_decay": 0.02, "clipvalue": 0.5},
    }
    bases = {
        "sgd": (o.SGD, {"learning_rate": 0.1, "momentum": 0.9}),
        "adam": (o.Adam, {"learning_rate": 0.05}),
        "rmsprop": (o.RMSprop, {"learning_rate": 0.02}),
        "nadam": (o.Nadam, {"learning_rate": 0.05}),
        "lion": (o.Lion, {"learning_rate": 0.02}),
        "lamb": (o.Lamb, {"learning_rate": 0.05}),
    }
    for tail, extra in tails.items():
        for base, (cls, kw) in bases.items():
            if base in ("nadam", "lion", "lamb", "rmsprop") and tail not in ("weight_decay", "global_clipnorm", "accumulate_3", "ema_overwrite"):
                continue
            rows.append((f"{base}_{tail}", cls, {**kw, **extra}))
    for cls in (o.Adagrad, o.Adadelta, o.Adamax, o.Ftrl, o.Adafactor):
        rows.append((f"{cls.__name__.lower()}_accumulate_3_decay", cls, {"learning_rate": 0.1, "gradient_accumulation_steps": 3, "weight_decay": 0.05}))
    rows.append(("muon_accumulate_3_global_clipnorm", o.Muon, {"learning_rate": 0.05, "gradient_accumulation_steps": 3, "global_clipnorm": 0.5}))

    schedules = {
        "exponential": lambda: S.ExponentialDecay(0.1, 4, 0.5),
        "exponential_staircase": lambda: S.ExponentialDecay(0.1, 4, 0.5, staircase=True),
        "cosine_warmup": lambda: S.CosineDecay(0.0, 6, alpha=0.1, warmup_target=0.1, warmup_steps=4),
        "cosine_restarts": lambda: S.CosineDecayRestarts(0.1, 3, t_mul=1.5, m_mul=0.5, alpha=0.05),
        "piecewise": lambda: S.PiecewiseConstantDecay([3, 8], [0.1, 0.05, 0.01]),
        "polynomial": lambda: S.PolynomialDecay(0.1, 5, end_learning_rate=0.01, power=2.0),
        "polynomial_cycle": lambda: S.PolynomialDecay(0.1, 4, end_learning_rate=0.001, cycle=True),
        "inverse_time": lambda: S.InverseTimeDecay(0.1, 3, 0.5),
        "inverse_time_staircase": lambda: S.InverseTimeDecay(0.1, 3, 0.5, staircase=True),
    }
    for name, make in schedules.items():
        rows.append((f"sgd_schedule_{name}", o.SGD, lambda make=make: {"learning_rate": make(), "momentum": 0.5}))
    for name, cls in [("adam", o.Adam), ("adamw", o.AdamW), ("rmsprop", o.RMSprop), ("adafactor", o.Adafactor), ("nadam", o.Nadam)]:
        rows.append((f"{name}_schedule_exponential", cls, lambda: {"learning_rate": schedules["exponential"]()}))
    rows.append(("adam_schedule_accumulate_3", o.Adam, lambda: {"learning_rate": schedules["exponential"](), "gradient_accumulation_steps": 3}))
    rows.append(("sgd_schedule_weight_decay", o.SGD, lambda: {"learning_rate": schedules["cosine_warmup"](), "weight_decay": 0.1}))
    return rows


def run_case(w, name, cls, kwargs, dtype, constraint=None, zero_start=False, embedding=False, exclude=None, sparse_steps=()):
    common.reset()
    r = common.rng("optimizers", "weights")
    start = {n: common.grid(r, s) for n, s in SHAPES.items()}
    grads = {n: common.grid(r, (STEPS, *s), 0.5) for n, s in SHAPES.items()}
    if zero_start:
        start["kernel"] = np.zeros(SHAPES["kernel"])
        for n in grads:
            grads[n][4] = 0.0
    names = {n: (f"embedding_{n}" if embedding else n) for n in SHAPES}
    variables = []
    for n in SHAPES:
        c = constraint if n == "kernel" else None
        v = keras.Variable(start[n].astype(dtype), dtype=dtype, name=names[n])
        v.constraint = c
        variables.append(v)
    opt = cls(**(kwargs() if callable(kwargs) else kwargs))
    if exclude:
        opt.exclude_from_weight_decay(var_names=exclude)
    opt.build(variables)
    out = {n: [] for n in SHAPES}
    rates = []
    for step in range(STEPS):
        rates.append(float(common.numpy(opt.learning_rate)))
        g = [keras.ops.convert_to_tensor(grads[n][step].astype(dtype)) for n in SHAPES]
        opt.apply(g, variables)
        for n, v in zip(SHAPES, variables):
            out[n].append(common.numpy(v))
    outputs = [(n, np.stack(out[n])) for n in SHAPES]
    slots = [(v.path, v) for v in opt.variables]
    slots = [(n, common.numpy(v)) for n, v in slots]
    if opt.use_ema:
        opt.finalize_variable_values(variables)
        outputs += [(n + "/finalized", common.numpy(v)) for n, v in zip(SHAPES, variables)]
    class_name, config = common.object_config(opt)
    extra = {"learning_rates": rates, "variable_names": list(names.values())}
    if constraint is not None:
        extra["kernel_constraint"] = keras.saving.serialize_keras_object(constraint)
    if exclude:
        extra["exclude_from_weight_decay"] = exclude
    w.case(name, class_name, config, dtype,
           inputs={n: start[n].astype(dtype) for n in SHAPES},
           gradients={n: grads[n].astype(dtype) for n in SHAPES},
           outputs=outputs, weights=slots, extra=extra)


def loss_scale(w, dtype):
    """LossScaleOptimizer with one overflow: the step is skipped and the scale halves."""
    common.reset()
    r = common.rng("optimizers", "loss_scale")
    start = {n: common.grid(r, s) for n, s in SHAPES.items()}
    grads = {n: common.grid(r, (STEPS, *s), 0.5) for n, s in SHAPES.items()}
    variables = [keras.Variable(start[n].astype(dtype), dtype=dtype, name=n) for n in SHAPES]
    inner = optimizers.Adam(learning_rate=0.05, clipnorm=0.5)
    opt = optimizers.LossScaleOptimizer(inner, initial_scale=1024.0, dynamic_growth_steps=3)
    opt.build(variables)
    overflow = (2, 9)
    out = {n: [] for n in SHAPES}
    scales, counters, scaled = [], [], []
    for step in range(STEPS):
        scale = float(common.numpy(opt.dynamic_scale))
        scaled.append(float(common.numpy(opt.scale_loss(keras.ops.convert_to_tensor(np.asarray(1.5, dtype))))))
        g = [grads[n][step].astype(dtype) * scale for n in SHAPES]
        if step in overflow:
            g[1][0] = np.inf
        new_vars, new_slots = opt.stateless_apply(
            [v.value for v in opt.variables], [keras.ops.convert_to_tensor(a) for a in g], [v.value for v in variables])
        for v, value in zip([*variables, *opt.variables], [*new_vars, *new_slots]):
            v.assign(value)
        scales.append(float(common.numpy(opt.dynamic_scale)))
        counters.append(int(common.numpy(opt.step_counter)))
        for n, v in zip(SHAPES, variables):
            out[n].append(common.numpy(v))
    class_name, config = common.object_config(opt)
    w.case("loss_scale_adam", class_name, config, dtype,
           inputs={n: start[n].astype(dtype) for n in SHAPES},
           gradients={n: grads[n].astype(dtype) for n in SHAPES},
           outputs=[(n, np.stack(out[n])) for n in SHAPES],
           weights=[(v.path, v) for v in opt.variables],
           extra={"note": "gradients are multiplied by dynamic_scale before apply; at overflow_steps bias[0] is +Inf",
                  "overflow_steps": list(overflow), "dynamic_scale": scales, "step_counter": counters,
                  "scaled_loss_of_1.5": scaled,
                  "inner_variables": [v.path for v in inner.variables]})


def multi(w, dtype):
    """MultiOptimizer: the kernel by Adam, the bias by SGD, everything else by RMSprop."""
    common.reset()
    r = common.rng("optimizers", "multi")
    start = {n: common.grid(r, s) for n, s in SHAPES.items()}
    grads = {n: common.grid(r, (STEPS, *s), 0.5) for n, s in SHAPES.items()}
    variables = [keras.Variable(start[n].astype(dtype), dtype=dtype, name=n) for n in SHAPES]
    rules = optimizers.OptimizerMap(default_optimizer=optimizers.RMSprop(0.02))
    rules["^kernel$"] = optimizers.Adam(0.05)
    rules["^bias$"] = optimizers.SGD(0.1, momentum=0.9)
    opt = optimizers.MultiOptimizer(rules)
    opt.build(variables)
    out = {n: [] for n in SHAPES}
    for step in range(STEPS):
        g = [keras.ops.convert_to_tensor(grads[n][step].astype(dtype)) for n in SHAPES]
        new_vars, new_slots = opt.stateless_apply([v.value for v in opt.variables], g, [v.value for v in variables])
        for v, value in zip([*variables, *opt.variables], [*new_vars, *new_slots]):
            v.assign(value)
        for n, v in zip(SHAPES, variables):
            out[n].append(common.numpy(v))
    class_name, config = common.object_config(opt)
    w.case("multi", class_name, config, dtype, inputs={n: start[n].astype(dtype) for n in SHAPES},
           gradients={n: grads[n].astype(dtype) for n in SHAPES}, outputs=[(n, np.stack(out[n])) for n in SHAPES],
           weights=[(v.path, v) for v in opt.variables])


def main():
    if common.BACKEND == "tensorflow":
        w = common.Writer("optimizers_tensorflow", __file__)
        for name, cls, kw in hyper():
            run_case(w, name, cls, kw, common.DTYPE)
        w.write(common.out_dir())
        return
    w = common.Writer("optimizers", __file__)
    for dtype in (common.DTYPE,):
        for name, cls, kw in hyper():
            run_case(w, name, cls, kw, dtype)
        for name, cls, kw in [("sgd", optimizers.SGD, {"learning_rate": 0.1}), ("adam", optimizers.Adam, {"learning_rate": 0.1})]:
            run_case(w, name + "_max_norm", cls, kw, dtype, constraint=constraints.MaxNorm(1.2))
            run_case(w, name + "_non_neg", cls, kw, dtype, constraint=constraints.NonNeg())
            run_case(w, name + "_unit_norm_ema", cls, {**kw, "use_ema": True, "ema_momentum": 0.5}, dtype, constraint=constraints.UnitNorm())
        run_case(w, "adamw_exclude_bias", optimizers.AdamW, {"learning_rate": 0.1, "weight_decay": 0.2}, dtype, exclude=["bias"])
        for name, cls in [("lamb", optimizers.Lamb), ("adam", optimizers.Adam), ("adagrad", optimizers.Adagrad)]:
            run_case(w, name + "_zero_weights", cls, {"learning_rate": 0.1}, dtype, zero_start=True)
        run_case(w, "muon_embedding", optimizers.Muon, {"learning_rate": 0.05}, dtype, embedding=True)
        run_case(w, "muon_embedding_included", optimizers.Muon, {"learning_rate": 0.05, "exclude_embeddings": False}, dtype, embedding=True)
        loss_scale(w, dtype)
        multi(w, dtype)
    w.write(common.out_dir())


common.run(main)
