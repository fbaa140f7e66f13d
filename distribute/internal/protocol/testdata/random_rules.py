"""Random sequences of gradients through Keras's optimizers and, for rules that leave other rows alone, through TensorFlow's
sparse kernels: what a table ends with. Writes random_rules.json.gz beside itself."""
import gzip, json, os, pathlib, random

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["CUDA_VISIBLE_DEVICES"] = ""
os.environ["KERAS_BACKEND"] = "tensorflow"
import keras, numpy as np, tensorflow as tf

draw, numbers = random.Random(7), np.random.default_rng(7)


def rule(kind):
    """A rule by the names of protocol.Rule; its kinds are numbered."""
    some = lambda *of: draw.choice(of)
    r = {"Kind": {"sgd": 1, "momentum": 1, "adagrad": 2, "adam": 3, "rmsprop": 4, "ftrl": 5}[kind]}
    if kind == "momentum":
        r |= {"Momentum": some(0.5, 0.9, 0.99), "Nesterov": some(True, False)}
    elif kind == "adagrad":
        r |= {"Initial": some(0.1, 0.01, 1.0), "Epsilon": some(1e-7, 1e-3)}
    elif kind == "adam":
        r |= {"Beta1": some(0.0, 0.5, 0.9), "Beta2": some(0.9, 0.99, 0.999), "Epsilon": some(1e-7, 1e-3)}
    elif kind == "rmsprop":
        r |= {"Rho": some(0.5, 0.9), "Momentum": some(0.0, 0.9), "Centered": some(True, False), "Epsilon": some(1e-4, 1e-2)}
    elif kind == "ftrl":
        r |= {"Initial": some(0.1, 1.0), "Power": some(-0.5, -0.5, -0.7, -0.3), "L1": some(0.0, 0.01), "L2": some(0.0, 0.02), "Shrinkage": some(0.0, 0.03), "Beta": some(0.0, 0.1)}
    return r


def optimizer(r, rate):
    o, g = keras.optimizers, r.get
    decay = {"weight_decay": g("WeightLoss")}
    return {
        1: lambda: o.SGD(rate, momentum=g("Momentum", 0.0), nesterov=g("Nesterov", False), **decay),
        2: lambda: o.Adagrad(rate, initial_accumulator_value=g("Initial"), epsilon=g("Epsilon"), **decay),
        3: lambda: o.Adam(rate, beta_1=g("Beta1"), beta_2=g("Beta2"), epsilon=g("Epsilon"), **decay),
        4: lambda: o.RMSprop(rate, rho=g("Rho"), momentum=g("Momentum"), centered=g("Centered"), epsilon=g("Epsilon"), **decay),
        5: lambda: o.Ftrl(rate, learning_rate_power=g("Power"), initial_accumulator_value=g("Initial"), l1_regularization_strength=g("L1"),
                          l2_regularization_strength=g("L2"), l2_shrinkage_regularization_strength=g("Shrinkage"), beta=g("Beta"), **decay),
    }[r["Kind"]]()


def short(a):
    return [float(f"{x:.8g}") for x in a.ravel().tolist()]


def summed(ids, g):
    """The different ids in order, with the sums of their rows: Keras's optimizers expect no duplicates."""
    unique, place = np.unique(ids, return_inverse=True)
    total = np.zeros((len(unique), g.shape[1]), np.float32)
    np.add.at(total, place, g)
    return unique, total


class Lazy:
    """TensorFlow's kernels for rows. Adam has none: rows are updated as the dense one updates them, at the table's step."""

    def __init__(self, r, rate, w):
        self.r, self.rate, self.w, self.step = r, rate, tf.Variable(w), 0
        first = r.get("Initial", 0.0) if r["Kind"] in (2, 5) else 0.0
        self.a, self.b, self.c = (tf.Variable(np.full_like(w, v)) for v in (first, 0, 0))

    def apply(self, ids, g):
        unique, total = summed(ids, g)
        self.step += 1
        r, raw, rate = self.r, tf.raw_ops, self.rate
        w, a, b, c = (v.handle for v in (self.w, self.a, self.b, self.c))
        if r["Kind"] == 1 and r.get("Momentum"):
            raw.ResourceSparseApplyMomentum(var=w, accum=a, lr=rate, grad=total, indices=unique, momentum=r["Momentum"], use_nesterov=r["Nesterov"])
        elif r["Kind"] == 1:
            raw.ResourceScatterSub(resource=w, indices=unique, updates=np.float32(rate) * total)
        elif r["Kind"] == 2:
            raw.ResourceSparseApplyAdagradV2(var=w, accum=a, lr=rate, epsilon=0.0, grad=total, indices=unique)
        elif r["Kind"] == 4 and r["Centered"]:
            raw.ResourceSparseApplyCenteredRMSProp(var=w, mg=c, ms=a, mom=b, lr=rate, rho=r["Rho"], momentum=r["Momentum"], epsilon=r["Epsilon"], grad=total, indices=unique)
        elif r["Kind"] == 4:
            raw.ResourceSparseApplyRMSProp(var=w, ms=a, mom=b, lr=rate, rho=r["Rho"], momentum=r["Momentum"], epsilon=r["Epsilon"], grad=total, indices=unique)
        elif r["Kind"] == 5:
            raw.ResourceSparseApplyFtrlV2(var=w, accum=a, linear=b, grad=total, indices=unique, lr=rate, l1=r["L1"], l2=r["L2"] + r["Beta"] / (2 * rate),
                                          l2_shrinkage=r["Shrinkage"], lr_power=r["Power"])
        else:
            w, m, v = (x.numpy().astype(np.float64) for x in (self.w, self.a, self.b))
            m[unique] += (1 - r["Beta1"]) * (total - m[unique])
            v[unique] += (1 - r["Beta2"]) * (total.astype(np.float64) ** 2 - v[unique])
            alpha = rate * np.sqrt(1 - r["Beta2"] ** self.step) / (1 - r["Beta1"] ** self.step)
            w[unique] -= alpha * m[unique] / (np.sqrt(v[unique]) + r["Epsilon"])
            for x, value in ((self.w, w), (self.a, m), (self.b, v)):
                x.assign(value.astype(np.float32))


cases = []
for n in range(144):
    kind, lazy = ["sgd", "momentum", "adagrad", "adam", "rmsprop", "ftrl"][n % 6], n % 12 >= 6
    r, rate = rule(kind), draw.choice([0.5, 0.1, 0.01])
    rows, width = draw.randint(1, 12), draw.choice([1, 3, 16, draw.randint(1, 9)])
    w = numbers.normal(size=(rows, width)).round(2).astype(np.float32)
    case = {"rate": rate, "rows": rows, "width": width, "first": short(w), "steps": []}
    if lazy:
        r["Lazy"] = True
        if kind == "adagrad":
            r["Epsilon"] = 0.0  # TensorFlow's kernel adds it elsewhere than Keras
        to = Lazy(r, rate, w)
    else:
        if kind != "ftrl" and draw.random() < 0.25:
            r["WeightLoss"] = 0.05
        variable = keras.Variable(w)
        to = optimizer(r, rate)
        to.build([variable])
    for _ in range(draw.randint(1, 8)):
        sparse = lazy or draw.random() < 0.7
        ids = numbers.integers(0, rows, draw.randint(1, 2 * rows)) if sparse else np.arange(rows)
        g = numbers.normal(size=(len(ids), width)).round(2).astype(np.float32)
        case["steps"].append({"sparse": sparse, "ids": ids.tolist(), "gradient": short(g)})
        if lazy:
            to.apply(ids, g)
        else:
            unique, total = summed(ids, g)
            to.apply([tf.IndexedSlices(tf.constant(total), tf.constant(unique), tf.constant([rows, width])) if sparse else tf.constant(g)], [variable])
    case |= {"rule": r, "name": kind, "last": short(np.asarray(to.w if lazy else variable.value))}
    cases.append(case)

text = json.dumps({"keras": keras.__version__, "tensorflow": tf.__version__, "cases": cases}, separators=(",", ":"))
pathlib.Path(__file__).with_name("random_rules.json.gz").write_bytes(gzip.compress(text.encode(), mtime=0))
print(len(cases), len(text))
