"""Answers lines of JSON: runs one function of keras.ops on the backend that KERAS_BACKEND names, and times it."""
import json, os, sys, time

THREADS = int(os.environ.get("BENCH_THREADS", "1"))
if hasattr(os, "sched_setaffinity"):  # one thread means one processor: XLA has no other way to say it
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[-THREADS:])
clock = time.process_time_ns if THREADS == 1 else time.perf_counter_ns
answers = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)  # what libraries print must not mix with the answers
import ml_dtypes
import numpy as np
import keras
from keras import ops

BACKEND = os.environ["KERAS_BACKEND"]
if BACKEND == "torch":
    import torch

    torch.set_num_threads(THREADS)
else:
    import jax


operands = set()  # where the operands of torch lie


DRAWN = 1 << 20  # elements of an operand that are drawn; those of larger ones repeat


def draw(seed, shape, dtype, low, high):
    r, n, name = np.random.default_rng(seed), min(int(np.prod(shape)), DRAWN), str(dtype)
    some = r.uniform(low, high, n) if "float" in name else r.integers(int(low), int(high), n)
    return np.resize(some.astype(ml_dtypes.bfloat16 if name == "bfloat16" else name), shape)


def array(t, definite=False):
    x = draw(1, t["shape"], t["dtype"], t["low"], t["high"])
    if definite:  # as makeDefinite
        x = np.tril(x) + np.swapaxes(np.tril(x, -1), -1, -2) + x.shape[-1] * np.eye(x.shape[-1], dtype=x.dtype)
    return x


def uniform(shape, dtype):
    return draw(2, shape, dtype, -0.95, 0.95)


def from_numpy(v):
    """torch.from_numpy, which does not know bfloat16."""
    if v.dtype == ml_dtypes.bfloat16:
        return torch.from_numpy(v.view(np.int16)).view(torch.bfloat16)
    return torch.from_numpy(v)


def is_float(v):
    return v.dtype.kind == "f" or v.dtype == ml_dtypes.bfloat16


def weights(y):
    return torch.from_numpy(uniform(tuple(y.shape), "float64")).to(y.dtype)


def first(y):
    while isinstance(y, (list, tuple)):
        y = y[0]
    return y


def materialize(y):
    """Views of torch are made what the others return: elements in order, in memory of their own."""
    if isinstance(y, (list, tuple)):
        return [materialize(v) for v in y]
    if not isinstance(y, torch.Tensor):
        return y
    return y.clone() if y.is_contiguous() and y.untyped_storage().data_ptr() in operands else y.contiguous()


def nested(v):
    """Layers that are configured with layers get them made of their configuration."""
    if isinstance(v, list):
        return [nested(x) for x in v]
    if isinstance(v, dict) and "class_name" in v:
        return getattr(keras.layers, v["class_name"])(**{k: nested(x) for k, x in v["config"].items()})
    return v


def constant(v):
    """Ranges are taken as tuples alone, and points, which are nested three times, as arrays."""
    if not isinstance(v, list):
        return v
    return np.asarray(v, "float32") if isinstance(v[0], list) and isinstance(v[0][0], list) else tuple(v)


def comparable(case, y, values):
    """Keras multiplies matrices of float64 in float32 with some backends, which is another computation."""
    given = {v.dtype.name for v in values if is_float(v)}
    asked = any(a.get("value") == "float32" for a in case["arguments"])
    if given == {"float64"} and not asked and "float32" in str(getattr(y, "dtype", "")):
        raise TypeError("computes float64 in float32")
    return y


def prepare_layer(case, gradients):
    dtype = case["arguments"][0]["tensors"][0]["dtype"]
    config = {k: nested(v) for k, v in (case.get("config") or {}).items()}
    layer = getattr(keras.layers, case["layer"])(**config, **({"dtype": dtype} if dtype == "float64" else {}))
    mode = {"training": True} if case.get("training") else {}
    values = [[array(t) for t in a["tensors"]] for a in case["arguments"]]
    args = [v if a.get("list") else v[0] for v, a in zip(values, case["arguments"])]
    flat = [v for some in values for v in some]
    layer(*args, **mode)  # makes the weights
    if BACKEND == "torch":
        tensors = [from_numpy(v) for v in flat]
        operands.clear()
        operands.update(t.untyped_storage().data_ptr() for t in tensors)
        args, at = [], 0
        for a in case["arguments"]:
            n = len(a["tensors"])
            args.append(tensors[at : at + n] if a.get("list") else tensors[at])
            at += n
        comparable(case, first(layer(*args, **mode)), flat)
        if not gradients:
            def run():
                with torch.no_grad():
                    materialize(layer(*args, **mode))
            return run
        floats = [t for t in tensors if t.is_floating_point()]
        for t in floats:
            t.requires_grad_(True)
        sources = floats + [w.value for w in layer.trainable_weights]
        dy = weights(first(layer(*args, **mode)))

        def run():
            materialize(torch.autograd.grad(first(layer(*args, **mode)), sources, dy, allow_unused=True))
        return run
    trainable, fixed = [w.value for w in layer.trainable_variables], [w.value for w in layer.non_trainable_variables]
    tensors = [jax.numpy.asarray(v) for v in flat]
    floats = [i for i, v in enumerate(flat) if is_float(v)]

    def forward(trainable, fixed, *tensors):
        args, at = [], 0
        for a in case["arguments"]:
            n = len(a["tensors"])
            args.append(list(tensors[at : at + n]) if a.get("list") else tensors[at])
            at += n
        return layer.stateless_call(trainable, fixed, *args, **mode)[0]

    comparable(case, first(jax.eval_shape(forward, trainable, fixed, *tensors)), flat)
    if not gradients:
        compiled = jax.jit(forward)
        return lambda: jax.block_until_ready(compiled(trainable, fixed, *tensors))

    def backward(dy, trainable, fixed, *tensors):
        def some(trainable, *xs):
            full = list(tensors)
            for i, x in zip(floats, xs):
                full[i] = x
            return first(forward(trainable, fixed, *full))

        return jax.vjp(some, trainable, *[tensors[i] for i in floats])[1](dy)

    shape = jax.eval_shape(forward, trainable, fixed, *tensors)
    dy = jax.numpy.asarray(uniform(first(shape).shape, first(shape).dtype))
    compiled = jax.jit(backward)
    return lambda: jax.block_until_ready(compiled(dy, trainable, fixed, *tensors))


def scanned(x, step):
    def body(carry, x):
        y = step(carry, x)
        return y, y

    return ops.scan(body, ops.zeros_like(x[0]), x)[1]


LOOPS = {  # those of random_loops.go
    "loop_scan_decay": lambda x: scanned(x, lambda carry, x: carry * 0.5 + x),
    "loop_scan_tanh": lambda x: scanned(x, lambda carry, x: ops.tanh(carry + x)),
    "loop_scan_cell": lambda x, w: scanned(x, lambda carry, x: ops.tanh(ops.matmul(carry, w) + x)),
    "loop_map_softmax": lambda x: ops.map(ops.softmax, x),
    "loop_vectorized_norm": lambda x: ops.vectorized_map(lambda v: ops.sqrt(ops.sum(ops.square(v))), x),
    "loop_vectorized_dot": lambda x: ops.vectorized_map(lambda v: v * ops.sum(v), x),
    "loop_associative_add": lambda x: ops.associative_scan(lambda a, b: a + b, x),
    "loop_associative_maximum": lambda x: ops.associative_scan(ops.maximum, x, reverse=True),
    "loop_associative_product": lambda x: ops.associative_scan(lambda a, b: a * b, x),
    "loop_fori": lambda x: ops.fori_loop(0, 5, lambda i, x: x * 0.5, x),
    "loop_while": lambda x: ops.while_loop(lambda x: ops.max(x) > 0.05, lambda x: (x * 0.5,), (x,))[0],
    "loop_cond": lambda x: ops.cond(ops.sum(x) > 0, lambda: x * 0.5, lambda: ops.tanh(x)),
    "loop_switch": lambda x: ops.switch(ops.cast(ops.max(x) > 0, "int32"), [ops.tanh, lambda x: x * 0.5], x),
}


def prepare(case, gradients):
    if case.get("layer"):
        return prepare_layer(case, gradients)
    function = LOOPS.get(case["function"]) or getattr(ops, case["function"], None) or getattr(ops.image, case["function"])
    values, places = [], []
    for a in case["arguments"]:
        if a.get("tensors"):
            at = list(range(len(values), len(values) + len(a["tensors"])))
            values += [array(t, a.get("definite")) for t in a["tensors"]]
            places.append(("list", at) if a.get("list") else ("one", at[0]))
        else:
            places.append(("value", constant(a.get("value"))))

    def call(*xs):
        args = [xs[p] if kind == "one" else [xs[i] for i in p] if kind == "list" else p for kind, p in places]
        return function(*args)

    floats = [i for i, v in enumerate(values) if is_float(v)]
    if BACKEND == "torch":
        xs = [from_numpy(v) for v in values]
        operands.clear()
        operands.update(x.untyped_storage().data_ptr() for x in xs)
        comparable(case, first(call(*xs)), values)
        if not gradients:
            def run():
                with torch.no_grad():
                    materialize(call(*xs))
            return run
        for i in floats:
            xs[i].requires_grad_(True)
        dy = weights(first(call(*xs)))

        def run():
            materialize(torch.autograd.grad(materialize(first(call(*xs))), [xs[i] for i in floats], dy, allow_unused=True))
        return run
    xs = [jax.numpy.asarray(v) for v in values]
    comparable(case, first(jax.eval_shape(call, *xs)), values)
    if gradients:
        def forward(*some):
            full = list(xs)
            for i, v in zip(floats, some):
                full[i] = v
            return first(call(*full))

        def backward(dy, *some):
            return jax.vjp(forward, *some)[1](dy)

        compiled = jax.jit(backward)
        some = [xs[i] for i in floats]
        shape = jax.eval_shape(forward, *some)
        dy = jax.numpy.asarray(uniform(shape.shape, shape.dtype))
        return lambda: jax.block_until_ready(compiled(dy, *some))
    compiled = jax.jit(lambda *v: call(*v))
    return lambda: jax.block_until_ready(compiled(*xs))


run = None
for line in sys.stdin:
    question = json.loads(line)
    try:
        answer = {"ok": True}
        if "case" in question:
            run = None
            run = prepare(question["case"], question["gradients"])
            run()
        elif "measure" in question:
            best, calls, begin = float("inf"), 1, clock()
            while True:
                t = clock()
                for _ in range(calls):
                    run()
                now = clock()
                best = min(best, (now - t) / calls * 1e-9)
                if now - t < 50_000:
                    calls *= 2
                if now - begin > question["measure"] * 1e9:
                    break
            answer["seconds"] = best
    except Exception as e:
        answer = {"ok": False, "error": str(e).splitlines()[0][:200] if str(e) else type(e).__name__}
    answers.write(json.dumps(answer) + "\n")
    answers.flush()
