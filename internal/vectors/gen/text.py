"""Text that Keras prints: model summaries, progress bars, automatic names.

Run: KERAS_BACKEND=jax python gen/text.py <output directory>
Versions: see common.py; rich 14 or 15 for the tables of summary().

Classes of the cases:
  summary    extra {columns, text, options}; config: the model document of
             model.to_json(), or null for a model that Keras cannot serialise; text is
             what print_fn receives on a terminal of that many columns
  Progbar    extra {target, width, interval, verbose, dynamic_display, unit_name,
             stateful_metrics, start, calls: [{now, current, values, finalize, text}]}:
             text is what one update() writes when the clock stands at now
  fit, evaluate, predict
             config: model document; inputs x, y; weights; extra {verbose, options,
             dynamic_display, text}: all that is written, with a clock that starts at
             1000 s and advances 0.25 s each time the progress bar reads it (once when
             it is made, once in each update)
  naming     extra {snake: [[class name, snake case]], automatic: [[class name, name]]}
"""

import contextlib
import io
import json
import os
import sys

import numpy as np

import common
import keras
from keras import layers as K
from keras import losses, metrics, optimizers
from keras.src.utils import naming, progbar


# Keras runs the logger's batch hooks in a pool of threads, where they overtake each
# other; in the training thread they come in order.
keras.callbacks.CallbackList._configure_async_dispatch = lambda self, callbacks: None


class Terminal(io.StringIO):
    def __init__(self, tty):
        super().__init__()
        self.tty = tty

    encoding = "utf-8"

    def isatty(self):
        return self.tty


class Clock:
    def __init__(self, now=1000.0, step=0.0):
        self.now, self.step = now, step

    def time(self):
        t = self.now
        self.now += self.step
        return t


@contextlib.contextmanager
def screen(dynamic, clock):
    """Fakes the terminal and the clock. On POSIX systems Keras always takes the
    display for dynamic, because it finds the module posix."""
    posix = sys.modules.pop("posix")
    real, progbar.time = progbar.time, clock
    t = Terminal(dynamic)
    try:
        with contextlib.redirect_stdout(t):
            yield t
    finally:
        progbar.time = real
        sys.modules["posix"] = posix


# ------------------------------------------------------------------- summaries

def sequential():
    return keras.Sequential([keras.Input((28, 28, 1)), K.Conv2D(32, 3, activation="relu"), K.MaxPooling2D(), K.Flatten(), K.Dropout(0.5), K.Dense(10)], name="small")


def unbuilt():
    return keras.Sequential([K.Dense(8, activation="relu"), K.Dense(1)])


def empty():
    return keras.Sequential(name="nothing_yet")


def long_names():
    return keras.Sequential([keras.Input((6,)), K.Dense(12345, name="a_layer_with_a_name_that_does_not_fit_into_its_column"), K.BatchNormalization(name="norm"), K.Dense(3, trainable=False)])


def compiled():
    m = keras.Sequential([keras.Input((6,)), K.Dense(4), K.BatchNormalization(), K.Dense(3)])
    m.compile("adam", "mse")
    m.optimizer.build(m.trainable_variables)
    return m


def branching():
    a, b = keras.Input((4,), name="image"), keras.Input((None, 3), name="words")
    h = K.Dense(5, activation="relu")(a)
    s = K.LSTM(5)(K.Masking()(b))
    c = K.Concatenate()([h, s])
    return keras.Model([a, b], [K.Dense(2, name="kind")(c), K.Dense(1, name="price")(K.Add()([h, s]))], name="two_branches")


def linear_functional():
    x = keras.Input((4,))
    return keras.Model(x, K.Dense(2)(K.Dense(3)(x)))


def shared():
    a, b = keras.Input((4,)), keras.Input((4,))
    d = K.Dense(3, name="shared")
    return keras.Model([a, b], K.Subtract()([d(a), d(b)]))


def nested():
    inner = keras.Sequential([keras.Input((4,)), K.Dense(5), K.BatchNormalization()], name="inner")
    x = keras.Input((4,))
    return keras.Model(x, K.Dense(2)(inner(x)), name="outer")


def nested_twice():
    inner = keras.Sequential([keras.Input((4,)), K.Dense(5, trainable=False)], name="inner")
    middle = keras.Sequential([keras.Input((4,)), inner, K.Dense(3)], name="middle")
    return keras.Sequential([keras.Input((4,)), middle, K.Dense(2)], name="outer")


def rnn_states():
    x = keras.Input((5, 3))
    out, h, c = K.LSTM(4, return_state=True)(x)
    return keras.Model(x, [out, h])


def frozen():
    m = keras.Sequential([keras.Input((4,)), K.Dense(3), K.Dense(2)])
    m.trainable = False
    return m


def mixed():
    return keras.Sequential([keras.Input((4,)), K.Dense(3, dtype="mixed_float16"), K.Dense(2, dtype="bfloat16")])


def large():
    return keras.Sequential([keras.Input((1000,)), K.Dense(2000), K.Dense(3000)])


def mask_ops():
    t = keras.Input((5,), dtype="int32", name="tokens")
    h = K.Embedding(7, 4, mask_zero=True)(t)
    return keras.Model(t, K.GRU(3)(K.LayerNormalization()(h)))


def operations():
    x = keras.Input((4,), name="x")
    h = K.Dense(4)(x)
    return keras.Model(x, keras.ops.relu(h * 2.0 + x), name="with_ops")


def summaries(w):
    wide = [dict(columns=120)]
    table = [(sequential, [dict(columns=c) for c in (80, 92, 120, 200)] + [dict(columns=120, show_trainable=True), dict(columns=120, line_length=60), dict(columns=120, positions=[0.3, 0.6, 1.0]), dict(columns=120, layer_range=["conv2d", "flatten"])]),
             (unbuilt, wide + [dict(columns=80)]), (empty, wide), (long_names, [dict(columns=80), dict(columns=120), dict(columns=100, show_trainable=True)]), (compiled, wide),
             (branching, [dict(columns=80), dict(columns=120), dict(columns=160, show_trainable=True)]), (linear_functional, wide), (shared, wide),
             (nested, wide + [dict(columns=120, expand_nested=True)]), (nested_twice, wide + [dict(columns=120, expand_nested=True), dict(columns=80, expand_nested=True, show_trainable=True)]),
             (rnn_states, wide), (frozen, wide + [dict(columns=120, show_trainable=True)]), (mixed, wide), (large, wide), (mask_ops, wide + [dict(columns=80)]), (operations, wide)]
    for make, variants in table:
        for options in variants:
            common.reset()
            model = make()
            os.environ["COLUMNS"] = str(options["columns"])
            kw = {k: v for k, v in options.items() if k != "columns"}
            parts = []
            model.summary(print_fn=lambda s, **_: parts.append(s), **kw)
            try:
                document = json.loads(model.to_json())
            except ValueError:
                document = None
            tag = ",".join(f"{k}={v}" for k, v in options.items()).replace(" ", "")
            w.case(f"summary/{make.__name__}/{tag}", "summary", document, common.DTYPE,
                   extra={"columns": options["columns"], "options": kw, "text": "".join(parts), "name": model.name, "built": bool(model.built)})


# --------------------------------------------------------------- progress bars

def bars(w):
    v = lambda *pairs: [[k, x] for k, x in pairs]
    loss = lambda i: v(("accuracy", 0.5 + i / 100), ("loss", 1.5 / (i + 1)))
    scripts = {
        "plain": dict(kw=dict(target=5), calls=[(0.2, 1, loss(0), None), (0.5, 2, loss(1), None), (0.8, 3, loss(2), None), (1.1, 4, loss(3), None), (1.4, 5, loss(4), None)]),
        "too_fast": dict(kw=dict(target=5), calls=[(0.01, 1, loss(0), None), (0.02, 2, loss(1), None), (0.07, 3, loss(2), None), (0.08, 4, loss(3), None), (0.09, 5, loss(4), None)]),
        "stateful": dict(kw=dict(target=3, stateful_metrics=["loss"]), calls=[(1.0, 1, loss(0), None), (2.0, 2, loss(1), None), (3.0, 3, loss(2), None)]),
        "averaging_jumps": dict(kw=dict(target=10), calls=[(1.0, 3, v(("loss", 2.0)), None), (2.0, 4, v(("loss", 1.0)), None), (3.0, 9, v(("loss", 0.5)), None), (4.0, 10, v(("loss", 0.25)), None)]),
        "long_eta": dict(kw=dict(target=2000), calls=[(1.0, 1, [], None), (70.0, 10, [], None), (200.0, 50, [], None), (4000.0, 1900, [], None), (9999.0, 2000, [], None)]),
        "hours": dict(kw=dict(target=12000), calls=[(5.0, 1, [], None), (20.0, 2, [], None), (40.0, 400, [], None)]),
        "small_values": dict(kw=dict(target=2), calls=[(0.1, 1, v(("a", 0.00099), ("b", 0.001), ("c", 0.0010001), ("d", -0.5), ("e", -1e-5), ("f", 0.0), ("g", 12345.678), ("h", 1e-12), ("i", 1e10)), None), (0.2, 2, [], None)]),
        "shrinking_line": dict(kw=dict(target=3, stateful_metrics=["x"]), calls=[(1.0, 1, v(("x", 123456.0)), None), (2.0, 2, v(("x", 1.0)), None), (3.0, 3, v(("x", 2.0)), None)]),
        "unknown_target": dict(kw=dict(target=None), calls=[(0.5, 1, loss(0), None), (1.0, 2, loss(1), None), (1.5, 3, loss(2), None), (2.0, 3, loss(3), True)]),
        "width_30": dict(kw=dict(target=7, width=30), calls=[(1.0, 1, [], None), (2.0, 4, [], None), (3.0, 7, [], None)]),
        "microseconds": dict(kw=dict(target=100000), calls=[(0.06, 500, [], None), (0.2, 60000, [], None), (0.3, 100000, [], None)]),
        "sample_unit": dict(kw=dict(target=4, unit_name="sample"), calls=[(1.0, 2, [], None), (12.0, 4, [], None)]),
        "finalize_twice": dict(kw=dict(target=3), calls=[(1.0, 1, loss(0), False), (2.0, 3, loss(1), False), (3.0, 3, loss(2), True)]),
        "verbose_2": dict(kw=dict(target=12, verbose=2), calls=[(1.0, 1, loss(0), None), (2.0, 6, loss(1), None), (33.0, 12, loss(2), None)]),
        "verbose_2_small": dict(kw=dict(target=2, verbose=2), calls=[(0.004, 2, v(("a", -0.5), ("b", 0.0005), ("c", -1e-5), ("d", 2.0)), None)]),
        "verbose_0": dict(kw=dict(target=2, verbose=0), calls=[(1.0, 1, loss(0), None), (2.0, 2, loss(1), None)]),
        "one_step": dict(kw=dict(target=1), calls=[(0.0123, 1, loss(0), None)]),
        "zero_time": dict(kw=dict(target=2), calls=[(0.0, 1, loss(0), True), (0.0, 2, loss(1), True)]),
    }
    for name, script in scripts.items():
        for dynamic in (True, False):
            clock = Clock(500.0)
            with screen(dynamic, clock) as t:
                bar = progbar.Progbar(**script["kw"])
                calls = []
                for at, current, values, finalize in script["calls"]:
                    clock.now = 500.0 + at
                    before = len(t.getvalue())
                    bar.update(current, [tuple(p) for p in values], finalize=finalize)
                    calls.append({"now": 500.0 + at, "current": current, "values": values, "finalize": finalize, "text": t.getvalue()[before:]})
            defaults = dict(target=None, width=20, verbose=1, interval=0.05, unit_name="step", stateful_metrics=None)
            w.case(f"Progbar/{name}/dynamic={dynamic}", "Progbar", None, common.DTYPE,
                   extra={**defaults, **script["kw"], "dynamic_display": dynamic, "start": 500.0, "calls": calls})


# --------------------------------------------------- fit, evaluate and predict

def training(w):
    r = common.rng("text", "training")
    x, y = common.grid(r, (23, 4)).astype(common.DTYPE), r.integers(0, 3, 23).astype("int32")
    runs = []
    for verbose in (1, 2, "auto"):
        runs.append(("fit", dict(verbose=verbose, epochs=2, batch_size=5)))
    runs += [("fit", dict(verbose=1, epochs=1, batch_size=5)), ("fit", dict(verbose=2, epochs=1, batch_size=5)),
             ("fit", dict(verbose=1, epochs=2, batch_size=5, validation_split=0.3)), ("fit", dict(verbose=2, epochs=2, batch_size=5, validation_split=0.3)),
             ("fit", dict(verbose=1, epochs=4, initial_epoch=2, batch_size=12)), ("fit", dict(verbose=1, epochs=2, batch_size=2, steps_per_epoch=11)),
             ("evaluate", dict(verbose=1, batch_size=5)), ("evaluate", dict(verbose=2, batch_size=5)), ("predict", dict(verbose=1, batch_size=5)), ("predict", dict(verbose=2, batch_size=5))]
    for method, options in runs:
        for dynamic in (True, False):
            common.reset()
            m = keras.Sequential([keras.Input((4,)), K.Dense(5, activation="relu"), K.Dense(3)])
            wr = common.rng("text", "weights")
            for v in m.weights:
                v.assign(common.grid(wr, tuple(v.shape), 0.4))
            start = [(v.path, common.numpy(v)) for v in m.weights]
            m.compile(optimizer=optimizers.SGD(0.1), loss=losses.SparseCategoricalCrossentropy(from_logits=True), metrics=["accuracy"])
            document = json.loads(m.to_json())
            with screen(dynamic, Clock(1000.0, 0.25)) as t:
                if method == "fit":
                    m.fit(x, y, shuffle=False, **options)
                elif method == "evaluate":
                    m.evaluate(x, y, **options)
                else:
                    m.predict(x, **options)
            tag = ",".join(f"{k}={v}" for k, v in options.items())
            w.case(f"{method}/{tag}/dynamic={dynamic}", method, document, common.DTYPE, inputs={"x": x, "y": y}, weights=start,
                   extra={"options": options, "dynamic_display": dynamic, "text": t.getvalue()})


def names(w):
    common.reset()
    words = ["Dense", "ReLU", "PReLU", "LeakyReLU", "ELU", "MaxPooling2D", "MaxPool2D", "Conv2DTranspose", "Conv2D", "RMSprop", "AdamW", "SGD", "MeanIoU", "AUC", "LSTM", "LSTMCell", "GRU", "StackedRNNCells",
             "F1Score", "R2Score", "BinaryIoU", "KLDivergence", "SeparableConv1D", "GlobalAveragePooling1D", "MultiHeadAttention", "HTTPServer", "MyLayer", "myLayer", "X", "XY", "ABCDef", "Layer2", "L2Norm", "my_layer",
             "MyModel v2", "Ünïcode", "A-B", "ScheduleFreeAdamW", "Conv1D", "Sequential", "Functional", "BatchNormalization", "RNN", "ConvLSTM2D", "CTC", "Ftrl", "LossScaleOptimizer"]
    snake = [[n, naming.to_snake_case(n)] for n in words]
    automatic = [[n, naming.auto_name(n)] for n in ["Dense", "Dense", "Conv2D", "Dense", "ReLU", "dense", "Dense2", "Dense_1", "Dense", "X", "x"]]
    w.case("naming", "naming", None, common.DTYPE, extra={"snake": snake, "automatic": automatic})
    # The names objects really get.
    common.reset()
    made = []
    for make in [lambda: K.Dense(1), lambda: K.Dense(1), lambda: K.ReLU(), lambda: K.MaxPool2D(), lambda: K.Conv2DTranspose(1, 1), lambda: keras.Sequential(), lambda: optimizers.RMSprop(), lambda: optimizers.AdamW(), lambda: optimizers.SGD(), lambda: optimizers.SGD(),
                 lambda: losses.MeanSquaredError(), lambda: losses.Huber(), lambda: metrics.AUC(), lambda: metrics.AUC(), lambda: metrics.MeanIoU(2), lambda: metrics.Precision(), lambda: metrics.BinaryAccuracy(), lambda: metrics.F1Score(), lambda: metrics.R2Score(),
                 lambda: metrics.LogCoshError(), lambda: metrics.Mean(), lambda: metrics.Mean(), lambda: metrics.TopKCategoricalAccuracy(), lambda: metrics.KLDivergence(), lambda: metrics.CosineSimilarity(), lambda: metrics.RootMeanSquaredError(), lambda: K.Bidirectional(K.LSTM(2)),
                 lambda: K.TimeDistributed(K.Dense(2)), lambda: K.GroupQueryAttention(2, 2, 1), lambda: K.MultiHeadAttention(2, 2), lambda: K.LSTMCell(2), lambda: K.RNN(K.GRUCell(2)), lambda: K.BatchNormalization(), lambda: K.GlobalAvgPool2D(), lambda: K.Convolution2D(1, 1)]:
        o = make()
        made.append([type(o).__name__, o.name])
    w.case("objects", "naming", None, common.DTYPE, extra={"automatic": made})


def main():
    w = common.Writer("text", __file__)
    summaries(w)
    bars(w)
    training(w)
    names(w)
    w.write(common.out_dir())


common.run(main, dtypes=("float32",))
