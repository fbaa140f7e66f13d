"""Callback traces: callbacks driven by scripted metric values, and hook orders.

Run: KERAS_BACKEND=jax python gen/callbacks.py <output directory>
Versions: see common.py.

class is the callback, config its keyword arguments, extra:
  logs        one object per epoch (or batch): what the callback is handed
  metrics     names of the model's compiled metrics, which decide mode "auto"
  trace       what the callback did after each of them, see the class below
  text        what it printed
EarlyStopping       trace [{wait, best, best_epoch, stop}]; extra.restored_epoch: the epoch
                    whose weights the model has after on_train_end (the last one, if nothing
                    was restored); extra.stopped_epoch. Epochs end when stop turns true.
ReduceLROnPlateau   trace [{learning_rate, wait, cooldown_counter, logged}]; extra.initial
LearningRateScheduler  extra.rule in words; trace [{learning_rate, logged}]
CSVLogger           text: the bytes of the file; extra.sessions: runs of on_train_begin to
                    on_train_end, each a list of [epoch, logs]
ModelCheckpoint     trace: file names written at each step; script: list of
                    ["batch", index, logs] or ["epoch", index, logs]
TerminateOnNaN      trace [stop]
hooks               extra.calls: every hook in order with its batch or epoch index and the
                    sorted keys of its logs, for fit, evaluate, predict (extra.options)
"""

import contextlib
import io
import math
import os
import tempfile
import warnings

import numpy as np

import common
import keras
from keras import callbacks as C
from keras import layers as K

warnings.filterwarnings("ignore")
w = common.Writer("callbacks", __file__)
METRICS = ["accuracy", "mae", "mse"]


def model(metrics=METRICS, rate=0.1):
    common.reset()
    m = keras.Sequential([keras.Input((1,)), K.Dense(1, use_bias=False)])
    m.compile(keras.optimizers.SGD(rate), "mse", metrics=metrics)
    m.train_on_batch(np.zeros((2, 1)), np.zeros((2, 1)))
    return m


def number(v):
    return None if v is None else common.encode_number(float(v))


def record(name, cls, config, extra):
    w.case(name, cls, config, common.DTYPE, extra=extra)


def early_stopping():
    down = [1.0, 0.8, 0.85, 0.79, 0.81, 0.82, 0.83, 0.7, 0.71, 0.72, 0.73, 0.74]
    up = [0.5, 0.6, 0.6, 0.65, 0.64, 0.63, 0.62, 0.7, 0.69]
    rising = [0.5, 0.6, 0.7, 0.8]
    rows = []
    for patience in (0, 1, 2, 3, 5):
        rows.append((f"patience={patience}", {"patience": patience}, "val_loss", down))
        rows.append((f"patience={patience},restore", {"patience": patience, "restore_best_weights": True}, "val_loss", down))
    for delta in (0.05, -0.05, 0.2):
        rows.append((f"min_delta={delta}", {"patience": 2, "min_delta": delta}, "val_loss", down))
    for base in (0.75, 0.9, 2.0, 0.1):
        rows.append((f"baseline={base}", {"patience": 2, "baseline": base, "restore_best_weights": True}, "val_loss", down))
    for start in (2, 5, 20):
        rows.append((f"start_from_epoch={start}", {"patience": 1, "start_from_epoch": start, "restore_best_weights": True}, "val_loss", down))
    rows += [("accuracy_auto", {"patience": 2, "monitor": "val_accuracy"}, "val_accuracy", up),
             ("accuracy_max", {"patience": 1, "monitor": "accuracy", "mode": "max", "restore_best_weights": True}, "accuracy", up),
             ("loss_max", {"patience": 1, "monitor": "loss", "mode": "max"}, "loss", down),
             ("mae_auto", {"patience": 1, "monitor": "val_mae", "min_delta": 0.01}, "val_mae", down),
             ("max_min_delta", {"patience": 1, "monitor": "val_accuracy", "min_delta": 0.06}, "val_accuracy", up),
             ("max_baseline", {"patience": 2, "monitor": "val_accuracy", "baseline": 0.62}, "val_accuracy", up),
             ("rising_patience_0", {"patience": 0, "restore_best_weights": True}, "val_loss", rising),
             ("never_stops_restores", {"patience": 10, "restore_best_weights": True}, "val_loss", rising),
             ("missing_key", {"patience": 0}, "loss", rising),
             ("nan", {"patience": 1, "restore_best_weights": True}, "val_loss", [0.5, math.nan, math.nan, math.nan, 0.1]),
             ("nan_first", {"patience": 2, "restore_best_weights": True}, "val_loss", [math.nan, 0.5, 0.4, 0.3, 0.2]),
             ("equal", {"patience": 2}, "val_loss", [0.5, 0.5, 0.5, 0.5]),
             ("verbose", {"patience": 1, "verbose": 1, "restore_best_weights": True}, "val_loss", [0.5, 0.4, 0.6, 0.7])]
    for name, kw, key, values in rows:
        m = model()
        cb = C.EarlyStopping(**kw)
        cb.set_model(m)
        m.stop_training = False
        out = io.StringIO()
        logs, trace = [], []
        with contextlib.redirect_stdout(out):
            cb.on_train_begin()
            for epoch, v in enumerate(values):
                m.set_weights([np.full((1, 1), float(epoch))])
                log = {key: v}
                cb.on_epoch_end(epoch, log)
                logs.append(log)
                trace.append({"wait": cb.wait, "best": number(cb.best), "best_epoch": cb.best_epoch, "stop": bool(m.stop_training)})
                if m.stop_training:
                    break
            cb.on_train_end()
        record(f"EarlyStopping/{name}", "EarlyStopping", kw, {"logs": logs, "metrics": METRICS, "trace": trace, "text": out.getvalue(),
               "stopped_epoch": cb.stopped_epoch, "restored_epoch": int(m.get_weights()[0][0, 0])})


def reduce_lr():
    values = [1.0, 0.9, 0.9, 0.95, 0.9, 0.89995, 0.91, 0.92, 0.93, 0.94, 0.5, 0.6, 0.6, 0.6, 0.6, 0.6]
    rows = [("patience=2", {"patience": 2}), ("patience=0", {"patience": 0}), ("cooldown", {"patience": 1, "cooldown": 2, "factor": 0.5}), ("min_lr", {"patience": 1, "factor": 0.3, "min_lr": 0.02}),
            ("min_delta", {"patience": 2, "min_delta": 0.2}), ("max", {"patience": 2, "mode": "max"}), ("default", {}), ("accuracy_auto", {"monitor": "val_accuracy", "patience": 1}),
            ("verbose", {"patience": 2, "verbose": 1}), ("missing_key", {"monitor": "nothing", "mode": "min", "patience": 1}), ("mae", {"monitor": "mae", "patience": 3, "factor": 0.2, "min_delta": 0})]
    for name, kw in rows:
        m = model()
        cb = C.ReduceLROnPlateau(**kw)
        cb.set_model(m)
        key = kw.get("monitor", "val_loss")
        key = "val_loss" if key == "nothing" else key
        logs, trace = [], []
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            cb.on_train_begin()
            for epoch, v in enumerate(values):
                log = {key: v}
                logs.append(dict(log))
                cb.on_epoch_end(epoch, log)
                trace.append({"learning_rate": float(common.numpy(m.optimizer.learning_rate)), "wait": cb.wait, "cooldown_counter": cb.cooldown_counter, "logged": float(log["learning_rate"])})
        record(f"ReduceLROnPlateau/{name}", "ReduceLROnPlateau", kw, {"logs": logs, "metrics": METRICS, "initial": 0.1, "trace": trace, "text": out.getvalue()})


def scheduler():
    rules = {"epoch below 3 keeps the rate, later rate*0.5": lambda e, lr: float(lr) if e < 3 else float(lr) * 0.5, "0.1/(epoch+1), a function of the epoch alone": lambda e: 0.1 / (e + 1)}
    for i, (rule, f) in enumerate(rules.items()):
        for verbose in (0, 1):
            m = model()
            cb = C.LearningRateScheduler(f, verbose=verbose)
            cb.set_model(m)
            trace = []
            out = io.StringIO()
            with contextlib.redirect_stdout(out):
                for epoch in range(6):
                    cb.on_epoch_begin(epoch)
                    log = {"loss": 1.0}
                    cb.on_epoch_end(epoch, log)
                    trace.append({"learning_rate": float(common.numpy(m.optimizer.learning_rate)), "logged": float(log["learning_rate"])})
            record(f"LearningRateScheduler/{i},verbose={verbose}", "LearningRateScheduler", {"verbose": verbose}, {"rule": rule, "initial": 0.1, "trace": trace, "text": out.getvalue()})


def csv_logger():
    plain = [(0, {"loss": 0.5, "accuracy": 0.25}), (1, {"loss": 0.125, "accuracy": 1.0}), (2, {"loss": 1e-7, "accuracy": 0.1 + 0.2})]
    rows = [("plain", {}, [plain]), ("separator", {"separator": ";"}, [plain]), ("tab", {"separator": "\t"}, [plain]),
            ("validation_every_second", {}, [[(0, {"loss": 0.5, "mae": 2.0}), (1, {"loss": 0.4, "mae": 1.5, "val_loss": 0.6, "val_mae": 1.7}), (2, {"loss": 0.3, "mae": 1.2})]]),
            ("validation_at_once", {}, [[(0, {"loss": 0.5, "val_loss": 0.6}), (1, {"loss": 0.4}), (2, {"loss": 0.3, "val_loss": 0.5})]]),
            ("append", {"append": True}, [plain[:2], plain[2:]]), ("overwrite", {}, [plain[:2], plain[2:]]),
            ("vector", {}, [[(0, {"loss": 0.5, "f1": [0.25, 0.5]})]]), ("nan", {}, [[(0, {"loss": math.nan, "a": math.inf, "b": -0.0})]]),
            ("learning_rate", {}, [[(0, {"loss": 0.5, "learning_rate": 0.001}), (1, {"loss": 0.5, "learning_rate": 1e-5})]]), ("numpy_float32", {}, [[(0, {"loss": np.float32(0.1)})]]),
            ("comma_in_key", {}, [[(0, {"a,b": 1.5, 'q"uote': 2.0, "sp ace": 3.0})]])]
    for name, kw, sessions in rows:
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "log.csv")
            m = model()
            for session in sessions:
                cb = C.CSVLogger(path, **kw)
                cb.set_model(m)
                cb.on_train_begin()
                m.stop_training = False
                for epoch, log in session:
                    cb.on_epoch_end(epoch, dict(log))
                cb.on_train_end()
            with open(path, newline="") as f:
                text = f.read()
        record(f"CSVLogger/{name}", "CSVLogger", kw, {"sessions": [[[e, l] for e, l in s] for s in sessions], "text": text, "numpy_float32": name == "numpy_float32"})


def checkpoint():
    epochs = [("epoch", i, {"loss": l, "val_loss": v, "val_accuracy": a}) for i, (l, v, a) in enumerate([(0.5, 0.612, 0.3), (0.4, 0.551, 0.5), (0.3, 0.552, 0.45), (0.2, 0.5, 0.7)])]
    batches = []
    for e in range(2):
        batches += [("batch", i, {"loss": 1.0 - 0.1 * i - e}) for i in range(5)] + [("epoch", e, {"loss": 0.5 - e, "val_loss": 0.3})]
    rows = [("every_epoch", {"filepath": "m-{epoch:02d}-{val_loss:.2f}.keras"}, epochs), ("weights", {"filepath": "w{epoch}.weights.h5", "save_weights_only": True}, epochs),
            ("best", {"filepath": "b{epoch}.keras", "save_best_only": True}, epochs), ("best_accuracy", {"filepath": "b{epoch}-{val_accuracy:.3f}.keras", "save_best_only": True, "monitor": "val_accuracy", "mode": "max"}, epochs),
            ("best_threshold", {"filepath": "b{epoch}.keras", "save_best_only": True, "initial_value_threshold": 0.551}, epochs), ("best_missing", {"filepath": "b{epoch}.keras", "save_best_only": True, "monitor": "nothing", "mode": "min"}, epochs),
            ("one_file", {"filepath": "sub/dir/m.keras"}, epochs[:2]), ("save_freq=3", {"filepath": "f{epoch}-{batch}.keras", "save_freq": 3}, batches), ("save_freq=1", {"filepath": "f{epoch}-{batch}-{loss:.1f}.keras", "save_freq": 4}, batches), ("verbose", {"filepath": "v{epoch}.keras", "save_best_only": True, "verbose": 1}, epochs)]
    for name, kw, script in rows:
        with tempfile.TemporaryDirectory() as folder:
            m = model(metrics=["accuracy"])
            cb = C.ModelCheckpoint(**{**kw, "filepath": os.path.join(folder, kw["filepath"])})
            cb.set_model(m)
            m.optimizer.iterations.assign(0)
            out = io.StringIO()
            trace, epoch = [], 0
            before = {}
            with contextlib.redirect_stdout(out):
                cb.on_train_begin()
                cb.on_epoch_begin(0)
                for kind, i, log in script:
                    if kind == "batch":
                        cb.on_train_batch_end(i, dict(log))
                    else:
                        cb.on_epoch_end(i, dict(log))
                        cb.on_epoch_begin(i + 1)
                    now = {}
                    for root, _, files in os.walk(folder):
                        for f in files:
                            p = os.path.join(root, f)
                            now[os.path.relpath(p, folder)] = os.stat(p).st_mtime_ns
                    trace.append(sorted(f for f, t in now.items() if before.get(f) != t))
                    before = now
            record(f"ModelCheckpoint/{name}", "ModelCheckpoint", kw, {"script": script, "metrics": ["accuracy"], "trace": trace, "text": out.getvalue().replace(folder + os.sep, "")})


def terminate():
    for name, values in [("nan", [1.0, math.nan, 0.5]), ("inf", [1.0, 2.0, math.inf]), ("fine", [1.0, 0.5])]:
        m = model()
        cb = C.TerminateOnNaN()
        cb.set_model(m)
        m.stop_training = False
        trace = []
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            for i, v in enumerate(values):
                cb.on_train_batch_end(i, {"loss": v})
                trace.append(bool(m.stop_training))
        record(f"TerminateOnNaN/{name}", "TerminateOnNaN", {}, {"logs": [{"loss": v} for v in values], "trace": trace, "text": out.getvalue()})


class Recorder(C.Callback):
    def __init__(self, calls):
        super().__init__()
        self.calls = calls

    def __getattribute__(self, name):
        if not name.startswith("on_"):
            return super().__getattribute__(name)
        calls = super().__getattribute__("calls")

        def hook(*args, **kwargs):
            index = args[0] if args and not isinstance(args[0], dict) else None
            logs = next((a for a in args if isinstance(a, dict)), kwargs.get("logs")) or {}
            calls.append([name, None if index is None else int(index), sorted(logs)])
        return hook


def hooks():
    x, y = np.arange(11.0)[:, None], np.ones((11, 1))
    rows = [("fit", {"epochs": 2, "batch_size": 4}, 1), ("fit_validation", {"epochs": 2, "batch_size": 4, "validation_split": 0.4}, 1), ("fit_steps_per_execution_3", {"epochs": 1, "batch_size": 2}, 3), ("fit_validation_freq", {"epochs": 3, "batch_size": 6, "validation_split": 0.3, "validation_freq": 2}, 1),
            ("evaluate", {"batch_size": 4}, 1), ("predict", {"batch_size": 4}, 1), ("evaluate_steps_per_execution_2", {"batch_size": 3}, 2), ("fit_initial_epoch", {"epochs": 3, "initial_epoch": 1, "batch_size": 6}, 1)]
    for name, kw, spx in rows:
        m = model()
        m.compile(keras.optimizers.SGD(0.01), "mse", metrics=["mae"], steps_per_execution=spx)
        calls = []
        method = name.split("_")[0]
        args = (x,) if method == "predict" else (x, y)
        more = {"shuffle": False} if method == "fit" else {}
        getattr(m, method)(*args, verbose=0, callbacks=[Recorder(calls)], **kw, **more)
        record(f"hooks/{name}", "hooks", None, {"method": method, "options": kw, "steps_per_execution": spx, "samples": 11, "metrics": ["mae"], "calls": calls})


def main():
    early_stopping()
    reduce_lr()
    scheduler()
    csv_logger()
    checkpoint()
    terminate()
    hooks()
    w.write(common.out_dir())


common.run(main, dtypes=("float32",))
