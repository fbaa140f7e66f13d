"""Writes bars.json.gz: what Keras's progress bar prints, byte for byte.

    KERAS_BACKEND=jax python bars.py        Keras 3.15.1

The clock is replaced. On POSIX systems Keras takes every output for a terminal, because it finds the module posix, so that
is hidden for the form without a terminal.

bars: {name, terminal, target, width, unit, verbose, averaged, start, updates: [[time, current, values, finalize, text]]}
  averaged: the names shown as means, or null for all.
loggers: {name, terminal, verbose, epochs, steps, hooks: [[time, hook, index or null, logs or null, text]]}
  what ProgbarLogger prints at each hook, called through CallbackList, which sorts the logs; in "user" hooks logs gain
  learning_rate, as from a callback before the bar.
runs: {name, terminal, verbose, options, calls, text}: fit, evaluate and predict of a real model on 11 examples; the clock stands
  at 1000 s and advances by step seconds at each reading. Losses and metrics are 0 by construction.
"""
import concurrent.futures
import contextlib
import gzip
import io
import json
import os
import sys

os.environ.setdefault("KERAS_BACKEND", "jax")
import keras
import numpy as np
from keras.src.utils import progbar


class Screen(io.StringIO):
    encoding = "utf-8"
    terminal = True

    def isatty(self):
        return self.terminal


class Clock:
    def __init__(self, now, step=0.0):
        self.now, self.step = now, step

    def time(self):
        t = self.now
        self.now += self.step
        return t


class AtOnce:
    """Stands in for the thread pool from which Keras moves the bar, sometimes out of order."""

    def submit(self, f, *args):
        f(*args)
        done = concurrent.futures.Future()
        done.set_result(None)
        return done

    def shutdown(self):
        pass


concurrent.futures.ThreadPoolExecutor = AtOnce


@contextlib.contextmanager
def screen(terminal, clock):
    posix, real = sys.modules.pop("posix"), progbar.time
    progbar.time = clock
    s = Screen()
    s.terminal = terminal
    try:
        with contextlib.redirect_stdout(s):
            yield s
    finally:
        progbar.time, sys.modules["posix"] = real, posix


def some(i):
    return {"accuracy": 0.5 + i / 128, "loss": 1.5 / (i + 1)}


BARS = {
    "plain": (dict(target=5), [(0.25 * (i + 1), i + 1, some(i), i == 4) for i in range(5)]),
    "hundreds": (dict(target=313), [(0.25, 1, some(0), False), (1.5, 9, some(1), False), (2.5, 10, some(2), False), (9.0, 157, some(3), False), (17.25, 312, some(4), False), (17.5, 313, some(5), True)]),
    "too fast": (dict(target=5), [(0.01, 1, some(0), False), (0.02, 2, some(1), False), (0.07, 3, some(2), False), (0.08, 4, some(3), False), (0.09, 5, some(4), True)]),
    "just at the interval": (dict(target=3), [(0.25, 1, some(0), False), (0.3125, 2, some(1), False), (0.34375, 3, some(2), False)]),
    "minutes": (dict(target=2000), [(1.0, 1, {}, False), (70.0, 10, {}, False), (200.0, 50, {}, False), (4000.0, 1900, {}, False), (9999.0, 2000, {}, True)]),
    "exactly a minute": (dict(target=61), [(1.0, 1, {}, False), (2.0, 2, {}, False)]),
    "hours": (dict(target=12000), [(5.0, 1, {}, False), (20.0, 2, {}, False), (40.0, 400, {}, False), (7300.0, 6000, {}, False)]),
    "small values": (dict(target=2), [(0.1, 1, dict(a=0.00099, b=0.001, c=0.0010001, d=-0.5, e=-1e-5, f=0.0, g=12345.678, h=1e-12, i=1e10, j=float("nan"), k=float("inf"), l=-float("inf")), False), (0.2, 2, {}, True)]),
    "shrinking line": (dict(target=3), [(1.0, 1, dict(x=123456.0), False), (2.0, 2, dict(x=1.0), False), (3.0, 3, dict(x=2.0), True)]),
    "growing line": (dict(target=3), [(1.0, 1, dict(x=1.0), False), (2.0, 2, dict(x=1.0, y=3.0), False), (3.0, 3, dict(y=2.0, z=-7.0), True)]),
    "unknown target": (dict(target=None), [(0.5, 1, some(0), False), (1.0, 2, some(1), False), (1.5, 3, some(2), False), (2.0, 3, some(3), True)]),
    "target 0": (dict(target=0), [(0.5, 0, some(0), False), (1.0, 0, some(1), True)]),
    "width 30": (dict(target=7, width=30), [(float(i), i, {}, i == 7) for i in range(1, 8)]),
    "every width": (dict(target=41), [(float(i), i, {}, False) for i in range(0, 42)]),
    "past the target": (dict(target=3), [(1.0, 2, {}, False), (2.0, 5, {}, True)]),
    "microseconds": (dict(target=100000), [(0.0625, 500, {}, False), (0.25, 60000, {}, False), (0.5, 100000, {}, True)]),
    "sample unit": (dict(target=4, unit_name="sample"), [(1.0, 2, {}, False), (12.0, 4, {}, True)]),
    "half seconds": (dict(target=4), [(0.5, 1, {}, False), (1.5, 2, {}, True), (2.5, 3, {}, True), (3.5, 4, {}, True)]),
    "first step given again": (dict(target=3), [(1.0, 1, some(0), False), (2.0, 1, some(1), False), (3.0, 3, some(2), True)]),
    "no time": (dict(target=2), [(0.0, 1, some(0), True), (0.0, 2, some(1), True)]),
    "verbose 2": (dict(target=12, verbose=2), [(1.0, 1, some(0), False), (2.0, 6, some(1), False), (33.0, 12, some(2), True)]),
    "verbose 2 small": (dict(target=2, verbose=2), [(0.004, 2, dict(a=-0.5, b=0.0005, c=-1e-5, d=2.0, e=float("nan")), True)]),
    "verbose 2 unknown": (dict(target=None, verbose=2), [(1.0, 1, some(0), False), (2.0, 2, some(1), True)]),
    "verbose 0": (dict(target=2, verbose=0), [(1.0, 1, some(0), False), (2.0, 2, some(1), True)]),
    "means": (dict(target=10, averaged=None), [(1.0, 3, dict(loss=2.0), False), (2.0, 4, dict(loss=1.0), False), (2.01, 5, dict(loss=8.0), False), (3.0, 9, dict(loss=0.5), False), (4.0, 10, dict(loss=0.25), True)]),
    "some means": (dict(target=4, averaged=["loss"]), [(1.0, 1, some(0), False), (2.0, 3, some(1), False), (3.0, 4, some(2), False)]),
    "names of other alphabets": (dict(target=2), [(1.0, 1, {"Verlust µ": 100.0}, False), (2.0, 2, {"Verlust µ": 1.0}, True)]),
}


def bars():
    out = []
    for name, (options, updates) in BARS.items():
        for terminal in (True, False):
            options = {"width": 20, "unit_name": "step", "verbose": 1, "averaged": [], **options}
            kw = {k: v for k, v in options.items() if k != "averaged"}
            if options["averaged"] is not None:
                kw["stateless_metrics"] = options["averaged"]
            clock = Clock(500.0)
            lines = []
            with screen(terminal, clock) as s:
                bar = progbar.Progbar(**kw)
                for at, current, values, finalize in updates:
                    clock.now = 500.0 + at
                    before = len(s.getvalue())
                    bar.update(current, list(values.items()), finalize=finalize)
                    lines.append([clock.now, current, values, finalize, s.getvalue()[before:]])
            out.append({"name": name, "terminal": terminal, "target": options["target"], "width": options["width"], "unit": options["unit_name"],
                        "verbose": options["verbose"], "averaged": options["averaged"], "start": 500.0, "updates": lines})
    return out


def epoch(i, at, steps, more):
    hooks = [(at, "on_epoch_begin", i, None)]
    for b in range(steps):
        hooks += [(at + 0.25 * b, "on_train_batch_begin", b, None), (at + 0.25 * (b + 1), "on_train_batch_end", b, some(b))]
    return hooks + [(at + 0.25 * steps + 1, "user", i, {**some(steps), **more})]


def validation(at, steps):
    hooks = [(at, "on_test_begin", None, None)]
    for b in range(steps):
        hooks += [(at, "on_test_batch_begin", b, None), (at + 0.25 * (b + 1), "on_test_batch_end", b, some(b))]
    return hooks + [(at + 3, "on_test_end", None, some(steps))]


VAL = {"val_loss": 0.75, "val_accuracy": 1.0}
LOGGERS = {
    "fit": (dict(epochs=2, steps=3), [(10.0, "on_train_begin", None, None), *epoch(0, 20.0, 3, {}), *epoch(1, 30.0, 3, {}), (40.0, "on_train_end", None, {})]),
    "fit one epoch": (dict(epochs=1, steps=2), [(10.0, "on_train_begin", None, None), *epoch(0, 20.0, 2, {}), (40.0, "on_train_end", None, {})]),
    "fit with validation": (dict(epochs=2, steps=2), [(10.0, "on_train_begin", None, None), *epoch(0, 20.0, 2, VAL)[:-1], *validation(25.0, 2), epoch(0, 30.0, 2, VAL)[-1], *epoch(1, 40.0, 2, VAL), (60.0, "on_train_end", None, {})]),
    "fit of unknown length": (dict(epochs=3, steps=None), [(10.0, "on_train_begin", None, None), *epoch(0, 20.0, 12, {}), *epoch(1, 30.0, 12, {}), *epoch(2, 40.0, 11, {}), (60.0, "on_train_end", None, {})]),
    "evaluate": (dict(epochs=1, steps=3), validation(5.0, 3)),
    "evaluate of unknown length": (dict(epochs=1, steps=None), validation(5.0, 3)),
    "predict": (dict(epochs=1, steps=3), [(5.0, "on_predict_begin", None, None), *[(6.0 + b, "on_predict_batch_end", b, None) for b in range(3)], (9.0, "on_predict_end", None, None)]),
    "predict of unknown length": (dict(epochs=1, steps=None), [(5.0, "on_predict_begin", None, None), *[(6.0 + b, "on_predict_batch_end", b, None) for b in range(3)], (9.0, "on_predict_end", None, None)]),
}


class Rate(keras.callbacks.Callback):
    """Adds to the logs, as LearningRateScheduler does."""

    def on_epoch_end(self, epoch, logs=None):
        logs["learning_rate"] = 0.0009765625


def loggers():
    out = []
    for name, (params, hooks) in LOGGERS.items():
        for verbose in (1, 2):
            for terminal in (True, False):
                clock = Clock(0.0)
                lines = []
                with screen(terminal, clock) as s:
                    callbacks = keras.callbacks.CallbackList([Rate()], add_progbar=True, verbose=verbose, **params)
                    for at, hook, index, logs in hooks:
                        clock.now = 1000.0 + at
                        before = len(s.getvalue())
                        f = getattr(callbacks, "on_epoch_end" if hook == "user" else hook)
                        args = ([] if index is None else [index]) + ([] if logs is None else [dict(logs)])
                        f(*args)
                        lines.append([clock.now, hook, index, logs, s.getvalue()[before:]])
                out.append({"name": name, "terminal": terminal, "verbose": verbose, **params, "hooks": lines})
    return out


def write(f, name, cases, end):
    f.write(f'"{name}": [\n' + ",\n".join(json.dumps(c, ensure_ascii=False).replace("\x1b", "\\u001b") for c in cases) + f"\n]{end}")


RUNS = {
    "fit": ("fit", dict(epochs=2, batch_size=4)),
    "fit validation": ("fit", dict(epochs=2, batch_size=4, validation_split=0.4)),
    "fit validation every second": ("fit", dict(epochs=2, batch_size=4, validation_split=0.4, validation_freq=2)),
    "fit from epoch 1": ("fit", dict(epochs=3, initial_epoch=1, batch_size=6)),
    "fit steps": ("fit", dict(epochs=2, batch_size=2, steps_per_epoch=3)),
    "evaluate": ("evaluate", dict(batch_size=4)),
    "predict": ("predict", dict(batch_size=4)),
}


def runs():
    out = []
    for name, (method, options) in RUNS.items():
        for verbose in (1, 2):
            for terminal in (True, False):
                model = keras.Sequential([keras.Input((1,)), keras.layers.Dense(1, kernel_initializer="zeros")])
                model.compile("sgd", "mse", metrics=["mae"])
                x, y = np.zeros((11, 1)), np.zeros((11, 1))
                with screen(terminal, Clock(1000.0, 0.25)) as s:
                    if method == "predict":
                        model.predict(x, verbose=verbose, **options)
                    else:
                        getattr(model, method)(x, y, verbose=verbose, **options)
                out.append({"name": name, "method": method, "terminal": terminal, "verbose": verbose, "options": options, "text": s.getvalue()})
    return out


with gzip.GzipFile("bars.json.gz", "wb", mtime=0) as z, io.TextIOWrapper(z, "utf-8") as f:
    f.write("{\n" + f'"generator": "bars.py", "keras": "{keras.__version__}", "backend": "{keras.backend.backend()}",\n')
    write(f, "bars", bars(), ",\n")
    write(f, "loggers", loggers(), ",\n")
    write(f, "runs", runs(), "\n}\n")
