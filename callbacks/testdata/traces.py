"""Writes traces.json.gz: what Keras's callbacks do with scripted logs.

    KERAS_BACKEND=jax python traces.py        Keras 3.15.1

A case: {class, name, config, script, trace, text, warnings, error}. script is a list of [hook, index or null, logs or null];
"begin" and "end" are on_train_begin and on_train_end. trace has an entry for each step of the script, until training is stopped
or an error is raised:
  EarlyStopping          {wait, best, best_epoch, stop}; the weight of the model is the number of the step; restored: the weight at the end
  ReduceLROnPlateau      {rate, wait, cooldown, logged, names of the logs afterwards}; the rate is 0.1 at first; "end" ends a run
  LearningRateScheduler  {rate, logged, names}
  ModelCheckpoint        the files written by this step; .weights.h5 stands where ours is .weights.npz
  CSVLogger              null; file: the bytes at the end
  TerminateOnNaN         {stop}
  SwapEMAWeights         the weight in the model after the step. "train" adds 1 to the weight and 10 to its average, both 0 at first.
  BackupAndRestore       the text of training_metadata.json, or null
The model has one weight and the metrics accuracy, mae and a Mean without direction named plain.
text is what was printed, warnings the texts of warnings. Numbers that JSON lacks are strings.

history: {options, epochs, lengths of the lists by name} of real fits.
hooks: {method, options, steps_per_execution, calls}: the hooks of a real run, each [name, index or null, names of the logs].
"""
import concurrent.futures
import contextlib
import gzip
import io
import json
import math
import os
import tempfile
import warnings

os.environ.setdefault("KERAS_BACKEND", "jax")
import keras
import numpy as np
from keras import callbacks as C


class AtOnce:
    """Stands in for the thread pool from which Keras calls hooks."""

    def submit(self, f, *args):
        f(*args)
        done = concurrent.futures.Future()
        done.set_result(None)
        return done

    def shutdown(self):
        pass


concurrent.futures.ThreadPoolExecutor = AtOnce


class Plain(keras.metrics.Metric):
    def __init__(self):
        super().__init__(name="plain")

    def update_state(self, *a, **k):
        pass

    def result(self):
        return 0.0


def build(ema=False):
    m = keras.Sequential([keras.Input((1,)), keras.layers.Dense(1, use_bias=False, kernel_initializer="zeros")])
    m.compile(keras.optimizers.SGD(0.1, use_ema=ema), "mse", metrics=["accuracy", "mae", Plain()])
    m.train_on_batch(np.zeros((2, 1)), np.zeros((2, 1)))
    return m


def number(v):
    if v is None:
        return None
    v = float(v)
    return v if math.isfinite(v) else repr(v)


def logs_of(logs):
    if logs is None:
        return None
    return {k: [float(e) for e in v] if isinstance(v, np.ndarray) else number(v) for k, v in logs.items()}


cases = []


def run(cls, name, config, script, state, extra=None, prepare=None, folder=None, after=None, ema=False):
    m = build(ema)
    trace, written, failed = [], io.StringIO(), None
    kw = {k: v.replace("DIR/", (folder or "") + "/") if isinstance(v, str) else v for k, v in config.items()}
    with warnings.catch_warnings(record=True) as caught, contextlib.redirect_stdout(written):
        warnings.simplefilter("always")
        try:
            cb = getattr(C, cls)(**kw, **(extra or {}))
            cb.set_model(m)
            cb.set_params({"verbose": 0, "epochs": 3, "steps": 5})
            m.stop_training = False
            for i, (hook, index, logs) in enumerate(script):
                if prepare:
                    prepare(m, i, hook)
                if hook == "train":
                    m.layers[0].kernel.assign_add([[1.0]])
                    m.optimizer._model_variables_moving_average[0].assign_add([[10.0]])
                else:
                    f = getattr(cb, {"begin": "on_train_begin", "end": "on_train_end"}.get(hook, hook))
                    logs = None if logs is None else dict(logs)
                    f(*([] if index is None else [index]), **({} if logs is None else {"logs": logs}))
                trace.append(state(cb, m, logs))
                if m.stop_training and hook != "end":
                    m.stop_training = False
                    trace[-1]["stop"] = True
                    break
            if cls == "EarlyStopping":
                cb.on_train_end()
        except (ValueError, KeyError, RuntimeError, OSError) as e:
            failed = str(e).strip("'\"")
    text = written.getvalue()
    case = {"class": cls, "name": name, "config": config, "script": [[h, i, logs_of(l)] for h, i, l in script], "trace": trace, "text": text,
            "warnings": [str(w.message) for w in caught if w.category is UserWarning], "error": failed}
    if after:
        case.update(after(m))
    if folder:
        case = json.loads(json.dumps(case).replace(folder + "/", "DIR/"))
    cases.append(case)


def epochs(key, values, **more):
    return [("begin", None, None)] + [("on_epoch_end", i, {key: v, **more}) for i, v in enumerate(values)]


def early_stopping():
    down = [1.0, 0.8, 0.85, 0.79, 0.81, 0.82, 0.83, 0.7, 0.71, 0.72, 0.73, 0.74]
    up = [0.5, 0.6, 0.6, 0.65, 0.64, 0.63, 0.62, 0.7, 0.69]
    rising = [0.5, 0.6, 0.7, 0.8]
    single = float(np.float32(0.1))
    rows = []
    for patience in (0, 1, 2, 3):
        for restore in (False, True):
            for delta in (0, 0.05):
                for baseline in (None, 0.75, 2.0):
                    for start in (0, 2):
                        config = dict(patience=patience)
                        if restore:
                            config["restore_best_weights"] = True
                        if delta:
                            config["min_delta"] = delta
                        if baseline is not None:
                            config["baseline"] = baseline
                        if start:
                            config["start_from_epoch"] = start
                        rows.append((config, "val_loss", down))
    restore = dict(restore_best_weights=True)
    rows += [(dict(patience=2, min_delta=-0.05), "val_loss", down), (dict(patience=2, min_delta=0.2), "val_loss", down), (dict(patience=2, baseline=0.1, **restore), "val_loss", down),
             (dict(patience=1, start_from_epoch=20, **restore), "val_loss", down), (dict(patience=2, monitor="val_accuracy"), "val_accuracy", up),
             (dict(patience=1, monitor="accuracy", mode="max", **restore), "accuracy", up), (dict(patience=1, monitor="loss", mode="max"), "loss", down),
             (dict(patience=1, monitor="val_mae", min_delta=0.01), "val_mae", down), (dict(patience=1, monitor="val_accuracy", min_delta=0.06), "val_accuracy", up),
             (dict(patience=2, monitor="val_accuracy", baseline=0.62), "val_accuracy", up), (dict(**restore), "val_loss", rising), (dict(patience=10, **restore), "val_loss", rising),
             (dict(), "loss", rising), (dict(patience=1, **restore), "val_loss", [0.5, math.nan, math.nan, math.nan, 0.1]), (dict(patience=2, **restore), "val_loss", [math.nan, 0.5, 0.4, 0.3, 0.2]),
             (dict(patience=2), "val_loss", [0.5, 0.5, 0.5, 0.5]), (dict(patience=1, verbose=1, **restore), "val_loss", [0.5, 0.4, 0.6, 0.7]), (dict(patience=5, verbose=1, **restore), "val_loss", [0.5, 0.4, 0.6, 0.7]),
             (dict(patience=1), "val_loss", [math.inf, math.inf, 1.0, -math.inf, -math.inf]),
             # In single precision these are equal, or differ, where in double precision it is the other way.
             (dict(patience=1), "val_loss", [0.5, 0.5 - 1e-9, 0.5 - 2e-9]), (dict(patience=1, min_delta=0.1), "val_loss", [0.5, 0.4, 0.3, 0.2]), (dict(patience=1, min_delta=0.1), "val_loss", [0.8, 0.7, 0.6, 0.5, 0.4]),
             (dict(patience=1, monitor="accuracy", baseline=0.1), "accuracy", [single] * 4), (dict(patience=1, monitor="accuracy", min_delta=0.1), "accuracy", [0.1, single * 2, 0.3, 0.4]),
             (dict(mode="fastest"), "val_loss", rising), (dict(monitor="val_plain"), "val_plain", rising), (dict(monitor="nothing"), "val_loss", rising), (dict(monitor="nothing", mode="min"), "val_loss", rising),
             (dict(monitor="val_plain", mode="max"), "val_plain", rising)]

    def state(cb, m, logs):
        return {"wait": cb.wait, "best": number(cb.best), "best_epoch": cb.best_epoch, "stop": m.stop_training}

    for config, key, values in rows:
        name = ",".join(f"{k}={v}" for k, v in config.items()) + f"/{key}"
        run("EarlyStopping", name, config, epochs(key, values), state, prepare=lambda m, i, hook: m.set_weights([np.full((1, 1), float(i))]), after=lambda m: {"restored": float(m.get_weights()[0][0, 0])})
    twice = epochs("val_loss", [0.1, 0.2], accuracy=1.0) + [("end", None, None)] + epochs("val_loss", [0.5, 0.4, 0.6])
    run("EarlyStopping", "two runs", dict(patience=2, **restore), twice, state, prepare=lambda m, i, hook: m.set_weights([np.full((1, 1), float(i))]), after=lambda m: {"restored": float(m.get_weights()[0][0, 0])})


def reduce_lr():
    values = [1.0, 0.9, 0.9, 0.95, 0.9, 0.89995, 0.91, 0.92, 0.93, 0.94, 0.5, 0.6, 0.6, 0.6, 0.6, 0.6]
    rows = [dict(patience=2), dict(patience=1), dict(patience=1, cooldown=2, factor=0.5), dict(patience=1, factor=0.3, min_lr=0.02), dict(patience=2, min_delta=0.2), dict(patience=2, mode="max"), dict(),
            dict(monitor="val_accuracy", patience=1), dict(patience=2, verbose=1), dict(monitor="nothing", patience=1, mode="min"), dict(monitor="mae", patience=3, factor=0.2, min_delta=0.0),
            dict(patience=1, factor=-1.0, min_lr=0.01), dict(patience=2, cooldown=1, verbose=1), dict(factor=1.0), dict(patience=1, min_lr=0.1), dict(monitor="plain")]
    for config in rows:
        key = config.get("monitor", "val_loss")
        key = "val_loss" if key == "nothing" else key
        script = epochs(key, values) + [("end", None, None)] + epochs(key, values[:4])
        run("ReduceLROnPlateau", ",".join(f"{k}={v}" for k, v in config.items()), config, script,
            lambda cb, m, logs: {"rate": float(m.optimizer.learning_rate), "wait": cb.wait, "cooldown": cb.cooldown_counter, "logged": None if logs is None else number(logs.get("learning_rate")), "names": None if logs is None else list(logs)})


def scheduler():
    script = [("begin", None, None)]
    for i in range(5):
        script += [("on_epoch_begin", i, None), ("on_epoch_end", i, {"loss": 0.5})]
    for verbose in (0, 1):
        run("LearningRateScheduler", f"halve from epoch 2,verbose={verbose}", dict(verbose=verbose), script,
            lambda cb, m, logs: {"rate": float(m.optimizer.learning_rate), "names": None if logs is None else list(logs), "logged": None if logs is None else number(logs.get("learning_rate"))}, extra=dict(schedule=lambda e, lr: lr if e < 2 else lr * 0.5))


def csv_logger():
    plain = [(0, {"loss": 0.5, "accuracy": 0.25}), (1, {"loss": 0.125, "accuracy": 1.0}), (2, {"loss": 1e-7, "accuracy": 0.1 + 0.2})]
    rows = [("plain", {}, [plain]), ("semicolon", {"separator": ";"}, [plain]), ("tab", {"separator": "\t"}, [plain]),
            ("validation every second", {}, [[(0, {"loss": 0.5, "mae": 2.0}), (1, {"loss": 0.4, "mae": 1.5, "val_loss": 0.6, "val_mae": 1.7}), (2, {"loss": 0.3, "mae": 1.2})]]),
            ("validation at once", {}, [[(0, {"loss": 0.5, "val_loss": 0.6}), (1, {"loss": 0.4}), (2, {"loss": 0.3, "val_loss": 0.5})]]),
            ("append", {"append": True}, [plain[:2], plain[2:]]), ("write anew", {}, [plain[:2], plain[2:]]), ("vector", {}, [[(0, {"loss": 0.5, "f1": np.array([0.25, 0.1], "float32")})]]),
            ("not finite", {}, [[(0, {"loss": math.nan, "a": math.inf, "b": -0.0, "c": -math.inf})]]), ("learning rate", {}, [[(0, {"loss": 0.5, "learning_rate": 0.001}), (1, {"loss": 0.5, "learning_rate": 1e-5})]]),
            ("single precision", {}, [[(0, {"loss": float(np.float32(0.1)), "big": 1e16, "whole": 3.0})]]), ("quotation marks", {}, [[(0, {"a,b": 1.5, 'q"uote': 2.0, "sp ace": 3.0})]]),
            ("separator in a number", {"separator": "."}, [plain[:1]]), ("later names", {}, [[(0, {"loss": 0.5}), (1, {"loss": 0.25, "new": 1.0})]]), ("no logs", {}, [[(0, {}), (1, {"loss": 1.0})]])]
    for name, config, sessions in rows:
        script = []
        for session in sessions:
            script += [("begin", None, None)] + [("on_epoch_end", e, l) for e, l in session] + [("end", None, None)]
        with tempfile.TemporaryDirectory() as folder:
            def content(m):
                with open(folder + "/log.csv", newline="") as f:
                    return {"file": f.read()}
            run("CSVLogger", name, {"filename": "DIR/log.csv", **config}, script, lambda *a: None, folder=folder, after=content)


def checkpoint():
    ends = [("on_epoch_begin", 0, None)]
    for i, (l, v, a) in enumerate([(0.5, 0.612, 0.3), (0.4, 0.551, 0.5), (0.3, 0.552, 0.45), (0.2, 0.5, 0.7)]):
        ends += [("on_epoch_end", i, {"loss": l, "val_accuracy": a, "val_loss": v}), ("on_epoch_begin", i + 1, None)]
    batches = []
    for e in range(3):
        batches += [("on_epoch_begin", e, None)] + [("on_train_batch_end", i, {"loss": 1.0 - 0.1 * i - e}) for i in range(5)] + [("on_epoch_end", e, {"loss": 0.5 - e, "val_loss": 0.3})]
    steps3 = []
    for e in range(3):
        steps3 += [("on_epoch_begin", e, None)] + [("on_train_batch_end", i, {"loss": 1.0}) for i in (2, 5, 7)] + [("on_epoch_end", e, {"loss": 0.5})]
    best = dict(save_best_only=True)
    rows = [("every epoch", dict(filepath="m-{epoch:02d}-{val_loss:.2f}"), ends), ("best", dict(filepath="b{epoch}", **best), ends), ("best, verbose", dict(filepath="b{epoch}", verbose=1, **best), ends),
            ("verbose", dict(filepath="b{epoch}", verbose=1), ends[:3]), ("best accuracy", dict(filepath="b{epoch}-{val_accuracy:.3f}", monitor="val_accuracy", **best), ends),
            ("best loss upwards", dict(filepath="b{epoch}", mode="max", **best), ends), ("threshold", dict(filepath="b{epoch}", initial_value_threshold=0.551, verbose=1, **best), ends),
            ("missing value", dict(filepath="b{epoch}", monitor="nothing", mode="min", **best), ends), ("missing value, auto", dict(filepath="b{epoch}", monitor="nothing", **best), ends), ("monitor without direction", dict(filepath="b{epoch}", monitor="plain"), ends),
            ("one file", dict(filepath="sub/dir/m"), ends[:5]), ("every 3 batches", dict(filepath="f{epoch}-{batch}", save_freq=3), batches), ("every 4 batches", dict(filepath="f{epoch}-{batch}-{loss:.1f}", save_freq=4), batches),
            ("every batch", dict(filepath="f{epoch}-{batch:02d}", save_freq=1), batches[:7]), ("several steps", dict(filepath="f{epoch}-{batch}", save_freq=4), steps3), ("more than an epoch", dict(filepath="f{epoch}-{batch}", save_freq=11), batches),
            ("unknown field", dict(filepath="f{epoch}-{val_los:.2f}"), ends), ("batch at an epoch's end", dict(filepath="f{batch}"), ends),
            ("vector", dict(filepath="b{epoch}", monitor="f1", mode="max", **best), [("on_epoch_end", 0, {"f1": np.array([0.5, 0.25])}), ("on_epoch_end", 1, {"f1": np.array([0.25, 0.25])})])]
    for name, config, script in rows:
        with tempfile.TemporaryDirectory() as folder:
            seen = {}

            def files(cb, m, logs):
                now = {}
                for root, _, names in os.walk(folder):
                    for f in names:
                        p = os.path.join(root, f)
                        now[os.path.relpath(p, folder)] = os.stat(p).st_mtime_ns
                new = sorted(f for f, t in now.items() if seen.get(f) != t)
                seen.update(now)
                return new
            config = {**config, "filepath": "DIR/" + config["filepath"] + ".weights.h5", "save_weights_only": True}
            run("ModelCheckpoint", name, config, [("begin", None, None)] + script, files, folder=folder)
    for config in (dict(filepath="m.npz", save_weights_only=True), dict(filepath="m.txt"), dict(filepath="m.keras", save_weights_only=True)):
        run("ModelCheckpoint", config["filepath"], config, [("begin", None, None)], lambda *a: None)


def terminate():
    for raises in (False, True):
        for values in ([1.0, math.nan, 0.5], [1.0, 2.0, math.inf], [-math.inf], [1.0, 0.5]):
            run("TerminateOnNaN", f"{values},{raises}", dict(raise_error=raises), [("on_train_batch_end", i, {"loss": v}) for i, v in enumerate(values)], lambda cb, m, logs: {"stop": m.stop_training})
    run("TerminateOnNaN", "no loss", {}, [("on_train_batch_end", 0, {"mae": math.nan})], lambda cb, m, logs: {"stop": m.stop_training})


def swap():
    test = [("on_test_begin", None, None), ("on_test_end", None, {})]
    for swap_on_epoch in (False, True):
        for validation in (False, True):
            script = [("begin", None, None)]
            for e in range(3):
                script += [("on_epoch_begin", e, None), ("train", None, None), *(test if validation else []), ("on_epoch_end", e, {})]
            run("SwapEMAWeights", f"fit,{swap_on_epoch},{validation}", dict(swap_on_epoch=swap_on_epoch), script, lambda cb, m, logs: float(m.get_weights()[0][0, 0]), ema=True)
    run("SwapEMAWeights", "evaluate", {}, [("train", None, None), *test, *test], lambda cb, m, logs: float(m.get_weights()[0][0, 0]), ema=True)
    run("SwapEMAWeights", "without averages", {}, test, lambda cb, m, logs: None)


def backup():
    for save_freq in ("epoch", 2, 3, 7):
        script = [("begin", None, None)]
        for e in range(3):
            script += [("on_epoch_begin", e, None)] + [("on_train_batch_end", b, {}) for b in range(5)] + [("on_epoch_end", e, {})]
        script.append(("end", None, None))
        with tempfile.TemporaryDirectory() as folder:
            def metadata(cb, m, logs):
                try:
                    with open(folder + "/backup/training_metadata.json") as f:
                        return f.read()
                except FileNotFoundError:
                    return None
            run("BackupAndRestore", f"save_freq={save_freq}", dict(backup_dir="DIR/backup", save_freq=save_freq), script, metadata, folder=folder)


def histories():
    out = []
    x, y = np.zeros((10, 1)), np.zeros((10, 1))
    for options, callbacks in ((dict(epochs=5, validation_freq=2), []), (dict(epochs=4, validation_freq=[1, 4]), []), (dict(epochs=3), []), (dict(epochs=5, initial_epoch=2, validation_freq=3), []),
                               (dict(epochs=3, validation_freq=2), [C.LearningRateScheduler(lambda e, lr: lr)])):
        h = build().fit(x, y, batch_size=4, validation_split=0.2, verbose=0, callbacks=callbacks, **options)
        out.append({"options": options, "scheduler": bool(callbacks), "epoch": h.epoch, "lengths": {k: len(v) for k, v in h.history.items()}})
    return out


class Recorder(C.Callback):
    def __init__(self, calls):
        super().__init__()
        self.calls = calls

    def __getattribute__(self, name):
        if not name.startswith("on_") or name in ("on_batch_begin", "on_batch_end"):
            return super().__getattribute__(name)
        calls = super().__getattribute__("calls")

        def hook(*args, **kwargs):
            index = args[0] if args and not isinstance(args[0], dict) else None
            logs = next((a for a in args if isinstance(a, dict)), kwargs.get("logs")) or {}
            calls.append([name, None if index is None else int(index), sorted(logs) if "predict" not in name else []])
        return hook


def hooks():
    out = []
    x, y = np.arange(11.0)[:, None], np.ones((11, 1))
    rows = [("fit", {"epochs": 2, "batch_size": 4}, 1), ("fit", {"epochs": 2, "batch_size": 4, "validation_split": 0.4}, 1), ("fit", {"epochs": 2, "batch_size": 2}, 3), ("fit", {"epochs": 3, "batch_size": 6, "validation_split": 0.3, "validation_freq": 2}, 1),
            ("evaluate", {"batch_size": 4}, 1), ("predict", {"batch_size": 4}, 1), ("fit", {"epochs": 3, "initial_epoch": 1, "batch_size": 6}, 1), ("fit", {"epochs": 2, "batch_size": 2, "steps_per_epoch": 4}, 1)]
    for method, options, per_execution in rows:
        m = keras.Sequential([keras.Input((1,)), keras.layers.Dense(1)])
        m.compile(keras.optimizers.SGD(0.01), "mse", metrics=["mae"], steps_per_execution=per_execution)
        calls = []
        args = (x,) if method == "predict" else (x, y)
        getattr(m, method)(*args, verbose=0, callbacks=[Recorder(calls)], **options)
        out.append({"method": method, "options": options, "steps_per_execution": per_execution, "calls": calls})
    return out


for make in (early_stopping, reduce_lr, scheduler, csv_logger, checkpoint, terminate, swap, backup):
    make()
with gzip.GzipFile("traces.json.gz", "wb", mtime=0) as z, io.TextIOWrapper(z, "utf-8") as f:
    f.write("{\n" + f'"generator": "traces.py", "keras": "{keras.__version__}", "backend": "{keras.backend.backend()}",\n')
    for name, rows, end in (("cases", cases, ",\n"), ("history", histories(), ",\n"), ("hooks", hooks(), "\n}\n")):
        f.write(f'"{name}": [\n' + ",\n".join(json.dumps(c) for c in rows) + f"\n]{end}")
