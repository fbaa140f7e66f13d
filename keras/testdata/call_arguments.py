#!/usr/bin/env python3
"""Writes call_arguments.zip: random calls of layers in real Keras, with constants and masks of every type in random places.

    call_arguments.py OUT.zip [--count 12] [--seed 1]
    call_arguments.py layer_order.zip --only order --seed 5 --cases 0,1,2,3,44,48

Each case is a Functional model around one such call, trained for two epochs, in the form of the cases in files.zip: model.keras,
inputs.npz, expected.npz, expected.json, case.json. A call that Keras refuses is left out.
"""
import argparse, io, json, os, random, tempfile, warnings, zipfile
os.environ.setdefault("KERAS_BACKEND", "tensorflow")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("OMP_NUM_THREADS", "1")
warnings.filterwarnings("ignore")
import h5py
import keras
import numpy as np
from keras import layers

B, T, S, F, U = 4, 5, 3, 6, 6


class Call:
    """The arguments of one call. At least one tensor is symbolic."""

    def __init__(self, rng):
        self.rng, self.np = rng, np.random.default_rng(rng.randrange(1 << 30))
        self.inputs, self.data = [], {}
        self.must = True

    def numbers(self, shape):
        return self.np.normal(size=shape).astype("float32")

    def input(self, value, dtype="float32"):
        name = f"x{len(self.inputs)}"
        x = keras.Input(shape=value.shape[1:], dtype=dtype, name=name)
        self.inputs.append(x)
        self.data[name] = value
        return x

    def tensor(self, *shape, symbolic=None, one=True, masked=False):
        """A float tensor: an input, perhaps behind a layer and with a mask, or a constant with a row for each example or one row."""
        if symbolic is None:
            symbolic = self.must or self.rng.random() < 0.4
        self.must = False
        if not symbolic:
            rows = 1 if one and self.rng.random() < 0.3 else shape[0]
            c = self.numbers((rows, *shape[1:]))
            if self.rng.random() < 0.3:
                c = c.astype("float64")
            return c if self.rng.random() < 0.5 else keras.ops.convert_to_tensor(c)
        value = self.numbers(shape)
        if masked and self.rng.random() < 0.5:
            value[:, 1:][self.np.random(value[:, 1:].shape[:-1]) < 0.4] = 0
            x = layers.Masking()(self.input(value))
            return x
        x = self.input(value)
        return layers.Dense(shape[-1])(x) if self.rng.random() < 0.5 else x

    def mask(self, *shape, rows=True):
        """A mask of any type, constant or an input, with something kept everywhere."""
        m = self.np.random(shape) < 0.6
        m[..., 0] = True
        kind = self.rng.choice(["bool", "int32", "float32"])
        if self.rng.random() < 0.35:
            return self.input(m.astype(kind), kind)
        if rows and self.rng.random() < 0.3:
            m = m[:1]
        m = m.astype(kind)
        return m if self.rng.random() < 0.6 else keras.ops.convert_to_tensor(m)

    def maybe(self, f, p=0.5):
        return f() if self.rng.random() < p else None


def merge(cls, least=2, most=3, **settings):
    def make(c):
        n = c.rng.randint(least, most)
        first = c.rng.randrange(n)
        args = []
        for i in range(n):
            shape = (B, T, F)
            if not settings and c.rng.random() < 0.2:
                shape = (B, 1, F)
            args.append(c.tensor(*shape, symbolic=True if i == first else None, one=not settings))
        return cls(**settings)(args)
    return make


def heads(cls, **settings):
    def make(c):
        kw, call = dict(settings), {}
        if c.rng.random() < 0.3:
            kw["dropout"] = 0.0
        if c.rng.random() < 0.3:
            call["use_causal_mask"] = True
        scores = c.rng.random() < 0.3
        if scores:
            call["return_attention_scores"] = True
        q = c.tensor(B, T, F, masked=True, one=False)
        v = c.tensor(B, S, F, masked=True, one=False)
        k = c.maybe(lambda: c.tensor(B, S, F, masked=True, one=False))
        names = ["query", "value", "key", "query_mask", "value_mask", "key_mask", "attention_mask"]
        values = [q, v, k, c.maybe(lambda: c.mask(B, T), 0.3), c.maybe(lambda: c.mask(B, S), 0.3), c.maybe(lambda: c.mask(B, S), 0.3),
                  c.maybe(lambda: c.mask(B, T, S) if c.rng.random() < 0.7 else c.mask(B, 2, T, S), 0.7)]
        y = spoken(c, cls(**kw), names, values, call, 2)
        return y[0] if scores else y
    return make


def spoken(c, layer, names, values, call, least):
    """Calls a layer with the first arguments by position, as many as chance says, and the others by name."""
    n = c.rng.randint(least if c.rng.random() < 0.8 else 0, len(names) if c.rng.random() < 0.4 else least)
    for name, v in list(zip(names, values))[n:]:
        if v is not None:
            call[name] = v
    return layer(*values[:n], **call)


def attention(cls, **settings):
    def make(c):
        inputs = [c.tensor(B, T, F, masked=True, one=False), c.tensor(B, S, F, masked=True, one=False)]
        if c.rng.random() < 0.5:
            inputs.append(c.tensor(B, S, F, one=False))
        mask = None
        if c.rng.random() < 0.7:
            mask = [c.maybe(lambda: c.mask(B, T)), c.maybe(lambda: c.mask(B, S), 0.7)] + [None] * c.rng.randint(0, len(inputs) - 2)
            if all(m is None for m in mask):
                mask = None
        call = {"use_causal_mask": True} if c.rng.random() < 0.3 else {}
        return spoken(c, cls(**settings), ["inputs", "mask"], [inputs, mask], call, 1)
    return make


def recurrent(make_layer, states):
    def make(c):
        layer = make_layer(c.rng.random() < 0.5)
        x = c.tensor(B, T, F, symbolic=True if c.rng.random() < 0.8 else None, masked=True, one=False)
        state = c.maybe(lambda: [c.tensor(B, U, one=False) for _ in range(states)], 0.6)
        if state and states == 1 and c.rng.random() < 0.5:
            state = state[0]
        mask = c.maybe(lambda: c.mask(B, T, rows=False), 0.6)
        y = spoken(c, layer, ["sequences", "initial_state", "mask"], [x, state, mask], {}, 1)
        return y[0] if isinstance(y, (list, tuple)) else y
    return make


def masked(make_layer, names=("inputs", "mask"), shape=(B, T)):
    def make(c):
        x = c.tensor(B, T, F, symbolic=True if c.rng.random() < 0.8 else None, masked=len(shape) == 2, one=False)
        return spoken(c, make_layer(), list(names), [x, *[None] * (len(names) - 2), c.mask(*shape, rows=False)], {}, 1)
    return make


def conv_lstm(c):
    x = c.tensor(B, T, 4, F, symbolic=True)
    state = c.maybe(lambda: [c.tensor(B, 3, 2, one=False) for _ in range(2)])
    mask = c.maybe(lambda: c.mask(B, T, rows=False))
    return spoken(c, layers.ConvLSTM1D(2, 2, return_sequences=c.rng.random() < 0.5), ["sequences", "initial_state", "mask"], [x, state, mask], {}, 1)


def cell(cls, states):
    def make(c):
        first = c.rng.randrange(states + 1)
        at = lambda i: c.tensor(B, F if i == 0 else U, symbolic=True if i == first else None, one=False)
        y, _ = cls(U)(at(0), [at(i + 1) for i in range(states)])
        return y
    return make


def nested(c):
    a, b = keras.Input((T, F), name="a"), keras.Input((T, F), name="b")
    form = c.rng.choice(["list", "dict"])
    y = layers.Dense(F)(layers.Multiply()([a, layers.Dense(F)(b)]))
    inner = keras.Model([a, b] if form == "list" else {"a": a, "b": b}, y)
    args = [c.tensor(B, T, F, symbolic=True, one=False), keras.ops.convert_to_tensor(c.numbers((B, T, F)))]
    if c.rng.random() < 0.5:
        args.reverse()
    return inner(args if form == "list" else {"a": args[0], "b": args[1]})


def count_weights(c):
    x = c.input(c.np.integers(0, 5, size=(B, T)).astype("int32"), "int32")
    w = c.numbers((B, T)) if c.rng.random() < 0.6 else c.input(c.numbers((B, T)))
    return spoken(c, layers.CategoryEncoding(5, output_mode="count"), ["inputs", "count_weights"], [x, w], {}, 1)


def operation(c):
    x = c.tensor(B, T, F, symbolic=True)
    w = c.tensor(B, T, F, symbolic=False)
    f = c.rng.choice([keras.ops.add, keras.ops.multiply, keras.ops.maximum, lambda a, b: keras.ops.concatenate([a, b], axis=1 if b.shape[0] == B else -1)])
    return f(x, w) if c.rng.random() < 0.5 else keras.ops.subtract(w, x)


def shared(c):
    """A random graph in which some layers with state are called several times, in another order than the graph is walked."""
    state = [layers.BatchNormalization(momentum=0.5), layers.BatchNormalization(momentum=0.7)]
    dense = [layers.Dense(F) for _ in range(2)]
    values = [c.tensor(B, T, F, symbolic=True), c.tensor(B, T, F, symbolic=True)]
    for _ in range(c.rng.randint(5, 9)):
        x = c.rng.choice(values)
        kind = c.rng.random()
        if kind < 0.5:
            y = c.rng.choice(state)(x)
        elif kind < 0.75:
            y = c.rng.choice(dense)(x)
        else:
            y = layers.Add()(c.rng.sample(values, 2))
        values.append(y)
    c.rng.shuffle(values)
    return layers.Add()(values)


def order(c):
    """A random graph of layers called several times, at very different distances from the output, some outside the model: files name layers by their
    order. Kernels of spectral normalization change with each call, and gradients reach each of them."""
    def inner():
        i = keras.Input((F,))
        return keras.Model(i, layers.BatchNormalization(momentum=0.4)(layers.Dense(F)(i)))
    several = [layers.BatchNormalization(momentum=0.5), layers.SpectralNormalization(layers.Dense(F)), layers.Dense(F), inner(),
               keras.Sequential([layers.Dense(F, activation="tanh"), layers.BatchNormalization(momentum=0.3)])]
    values = [c.tensor(B, F, symbolic=True)]
    for _ in range(c.rng.randint(6, 12)):
        x = c.rng.choice(values)
        kind = c.rng.random()
        if kind < 0.5:
            values.append(c.rng.choice(several)(x))
        elif kind < 0.8:
            values.append(layers.Dense(F)(x))
        else:
            values.append(layers.Add()(c.rng.sample(values, min(2, len(values)))) if len(values) > 1 else layers.ReLU()(x))
    return layers.Add()(c.rng.sample(values, min(len(values), c.rng.randint(2, 5))))


KINDS = {
    "shared": shared, "order": order,
    "add": merge(layers.Add), "subtract": merge(layers.Subtract, 2, 2), "multiply": merge(layers.Multiply),
    "average": merge(layers.Average), "maximum": merge(layers.Maximum), "minimum": merge(layers.Minimum),
    "concatenate": merge(layers.Concatenate, axis=1), "concatenate_last": merge(layers.Concatenate, axis=-1),
    "dot": merge(layers.Dot, 2, 2, axes=2), "dot_normalized": merge(layers.Dot, 2, 2, axes=(1, 1), normalize=True),
    "multi_head": heads(layers.MultiHeadAttention, num_heads=2, key_dim=3),
    "multi_head_square": heads(layers.MultiHeadAttention, num_heads=2, key_dim=3, value_dim=2),
    "grouped_query": heads(layers.GroupQueryAttention, head_dim=3, num_query_heads=2, num_key_value_heads=1),
    "attention": attention(layers.Attention), "attention_concat": attention(layers.Attention, score_mode="concat", use_scale=True),
    "additive_attention": attention(layers.AdditiveAttention),
    "softmax": masked(lambda: layers.Softmax(), shape=(B, T, F)), "softmax_axes": masked(lambda: layers.Softmax(axis=(1, 2)), shape=(B, T, F)),
    "global_average": masked(lambda: layers.GlobalAveragePooling1D()),
    "batch_normalization": masked(lambda: layers.BatchNormalization(), ("inputs", "training", "mask")),
    "time_distributed": masked(lambda: layers.TimeDistributed(layers.Dense(3)), ("inputs", "training", "mask")),
    "simple_rnn": recurrent(lambda s: layers.SimpleRNN(U, return_sequences=s), 1),
    "lstm": recurrent(lambda s: layers.LSTM(U, return_sequences=s, return_state=not s), 2),
    "gru": recurrent(lambda s: layers.GRU(U, return_sequences=s), 1),
    "rnn": recurrent(lambda s: layers.RNN(layers.GRUCell(U), return_sequences=s), 1),
    "rnn_stacked": recurrent(lambda s: layers.RNN([layers.SimpleRNNCell(U), layers.SimpleRNNCell(U)], return_sequences=s), 2),
    "bidirectional": recurrent(lambda s: layers.Bidirectional(layers.LSTM(U, return_sequences=s, zero_output_for_mask=True)), 4),
    "conv_lstm": conv_lstm, "lstm_cell": cell(layers.LSTMCell, 2), "gru_cell": cell(layers.GRUCell, 1),
    "nested": nested, "count_weights": count_weights, "operation": operation,
}


def head(kind, y):
    parts = [layers.Flatten()(y)]
    if len(y.shape) == 3 and "softmax" not in kind:  # whose mask has an axis more than this layer takes
        parts.append(layers.GlobalAveragePooling1D()(y))  # shows the mask of the result
    return layers.Dense(3)(parts[0] if len(parts) == 1 else layers.Concatenate()(parts))


def npz(arrays):
    out = io.BytesIO()
    np.savez_compressed(out, **arrays)
    return out.getvalue()


def datasets(path):
    out = {}
    with zipfile.ZipFile(path) as z, h5py.File(io.BytesIO(z.read("model.weights.h5"))) as f:
        f.visititems(lambda name, d: out.__setitem__("file/" + name, d[()]) if isinstance(d, h5py.Dataset) else None)
    return out


def case(kind, rng, folder):
    keras.utils.set_random_seed(rng.randrange(1 << 30))
    c = Call(rng)
    m = keras.Model(c.inputs, head(kind, KINDS[kind](c)))
    m.set_weights([w + 0.1 * c.numbers(w.shape) for w in m.get_weights()])
    m.compile(optimizer=keras.optimizers.SGD(0.05), loss="mse")
    x = {i.name: c.data[i.name] for i in m.inputs}
    if len(x) > 1:
        inputs, feed = {"x." + k: v for k, v in x.items()}, list(x.values())
    else:
        feed = next(iter(x.values()))
        inputs = {"x": feed}
    y = c.numbers((B, 3))
    path = os.path.join(folder, "model.keras")
    m.save(path)
    files = {"model.keras": open(path, "rb").read(), "inputs.npz": npz({**inputs, "y": y})}
    keras.saving.load_model(path)  # what Keras cannot read again is no case
    m.run_eagerly = keras.backend.backend() == "tensorflow"  # to compile takes longer
    history = m.fit(feed, y, batch_size=B, epochs=2, shuffle=False, verbose=0).history
    out = m.predict(feed, batch_size=B, verbose=0)
    m.run_eagerly = False
    if not np.isfinite(out).all():
        raise ValueError("not finite")
    m.save(path)
    files["expected.npz"] = npz({"output": out, **datasets(path)})
    files["expected.json"] = json.dumps({"history": history})
    return files


def main():
    p = argparse.ArgumentParser()
    p.add_argument("out")
    p.add_argument("--count", type=int, default=12)
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--only", default="")
    p.add_argument("--cases", default="", help="numbers of the cases, in place of the first COUNT")
    a = p.parse_args()
    kept, refused = 0, {}
    with zipfile.ZipFile(a.out, "w", zipfile.ZIP_DEFLATED) as z, tempfile.TemporaryDirectory() as folder:
        for kind in KINDS:
            for i in [int(n) for n in a.cases.split(",") if n] or range(a.count):
                if a.only not in kind:
                    continue
                try:
                    files = case(kind, random.Random(f"{a.seed} {kind} {i}"), folder)
                except Exception as e:
                    refused.setdefault(f"{kind}: {type(e).__name__} {str(e).strip().splitlines()[0][:120]}", []).append(i)
                    continue
                name = f"{kind}_{i}"
                files["case.json"] = json.dumps({"name": name, "group": "call_arguments", "command": "fit", "args": {"batch_size": B, "epochs": 2},
                                                 "tolerance": {"rtol": 1e-4, "atol": 2e-5}, "keras_version": keras.__version__,
                                                 "backend": keras.backend.backend()})
                for file, content in files.items():
                    z.writestr(zipfile.ZipInfo(f"call_arguments/{name}/{file}"), content, zipfile.ZIP_DEFLATED)
                kept += 1
    for why, which in refused.items():
        print(len(which), why)
    print(kept, "cases")


main()
