"""Harvests conformance cases from Keras's own tests.

Runs the tests of an installed Keras under hooks. Whatever a test calls on concrete arrays (a layer, a model, an operation, a
loss, a metric, an optimizer, a schedule, a constraint, a regularizer, an activation, the training of a model) is wrapped as a small Functional model, saved, loaded
again and computed by Keras. The cases go to folders that the program check runs.

    KERAS_BACKEND=torch python harvest.py CASES --tests layers,ops
    KERAS_BACKEND=tensorflow python harvest.py CASES_TEXT --tests layers/preprocessing

The work is cut into pieces, a file of tests each and large files in parts, which run at the same time, each with a folder of its own below CASES. A folder
appears when its piece is done, so a run that was cut off goes on where it was. Keras is imported once; each piece is a fork of that process.
Random numbers are seeded for each test by its name, so that every run makes the same cases.

Needs Keras 3 with its tests (they are in the wheel), pytest, absl-py, h5py and grain. A file of tests that cannot be imported is a piece that failed.
"""

import argparse
import collections
import contextlib
import hashlib
import importlib
import inspect
import json
import os
import re
import shutil
import signal
import sys
import time
import traceback
import types
import zlib

import ml_dtypes  # noqa: F401: tells NumPy of bfloat16
import numpy as np
import pytest  # before the processes part

HARVESTER = None
RANDOM_ATTRIBUTES = ("dropout", "recurrent_dropout", "rate", "stddev")
FLOATS = ("float16", "float32", "bfloat16", "float64")
LARGE = 2_000_000  # elements of an array that no case takes
LIMIT = 120  # seconds of processor time that a test has, and each case made from it; five times as long by the clock


def strip_names(value):
    if isinstance(value, dict):
        return {k: strip_names(v) for k, v in value.items() if k not in ("name", "build_config", "shared_object_id")}
    if isinstance(value, (list, tuple)):
        return [strip_names(v) for v in value]
    return value


def foreign(value):
    """The name of the first class in a configuration that is not Keras's own."""
    if isinstance(value, dict):
        if "class_name" in value and "config" in value:
            module, registered = value.get("module"), value.get("registered_name")
            if value["class_name"] in ("__lambda__", "function"):
                return value["class_name"]
            if not str(value["class_name"]).startswith("__"):
                if module is None or not str(module).startswith("keras") or "_test" in str(module):
                    return f"{module}.{value['class_name']}"
                if registered and ">" in registered and not registered.startswith("keras"):
                    return registered
        for v in value.values():
            if found := foreign(v):
                return found
    elif isinstance(value, (list, tuple)):
        for v in value:
            if found := foreign(v):
                return found
    return None


class Skip(Exception):
    pass


class OutOfTime(Exception):
    pass


@contextlib.contextmanager
def limited(seconds=LIMIT):
    """Ends what runs within after so many seconds of processor time, which do not depend on what else the machine does, and what only waits."""

    def end(signal_number, _):
        raise OutOfTime("a test that waits" if signal_number == signal.SIGALRM else f"{seconds} seconds of processor time")

    for number, timer, limit in ((signal.SIGVTALRM, signal.ITIMER_VIRTUAL, seconds), (signal.SIGALRM, signal.ITIMER_REAL, 5 * seconds)):
        signal.signal(number, end)
        signal.setitimer(timer, limit)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.setitimer(signal.ITIMER_REAL, 0)


class Harvester:
    def __init__(self, out, per_class, train, part=0, parts=1):
        import keras

        self.part, self.parts = part, parts  # of the tests of a file
        self.keras, self.out, self.per_class, self.train = keras, out, per_class, train
        self.backend = keras.backend.backend()
        self.depth, self.busy, self.test = 0, False, ""
        self.pending, self.seen, self.uncollected = [], set(), []
        self.per, self.skipped, self.made = collections.Counter(), collections.Counter(), collections.Counter()
        os.makedirs(os.path.join(out, "cases"), exist_ok=True)
        self.index = open(os.path.join(out, "index.jsonl"), "a", encoding="utf-8")
        self.skip_log = open(os.path.join(out, "skipped.txt"), "a", encoding="utf-8")

    # Reading what tests pass.

    def concrete(self, x):
        """x as a NumPy array, None if it is no tensor; raises Skip if it has no values or cannot be used."""
        keras = self.keras
        if isinstance(x, keras.KerasTensor):
            raise Skip("symbolic")
        if isinstance(x, keras.Variable):
            x = x.value
        if isinstance(x, np.ndarray) and x.size > LARGE:
            raise Skip("large")  # before it is copied
        if isinstance(x, np.ndarray):
            array = x
        elif keras.ops.is_tensor(x):
            kind = type(x).__name__
            if "Sparse" in kind or "BCOO" in kind or "Ragged" in kind:
                raise Skip("sparse or ragged")
            if "Tracer" in kind or (self.backend == "tensorflow" and not hasattr(x, "numpy")):
                raise Skip("symbolic")
            if self.backend == "tensorflow" and str(x.dtype) == "<dtype: 'string'>":
                array = np.array(x.numpy())
            else:
                array = keras.ops.convert_to_numpy(x)
                if keras.backend.standardize_dtype(x.dtype) == "bfloat16":
                    array = array.astype("bfloat16")
        else:
            return None
        if array.dtype == np.float64:
            array = array.astype(np.float32)
        if array.dtype.kind in "SO":
            try:
                array = np.vectorize(lambda v: v.decode() if isinstance(v, bytes) else str(v), otypes=[str])(array)
            except Exception:
                raise Skip("array of objects")
        if array.dtype.kind == "c":
            raise Skip("complex")
        if array.dtype.kind not in "fiubU" and array.dtype.name != "bfloat16":
            raise Skip(f"dtype {array.dtype}")
        return np.array(array)

    def arguments(self, args, kwargs):
        def one(x):
            a = self.concrete(x)
            return x if a is None else a

        return self.keras.tree.map_structure(one, (list(args), dict(kwargs)))

    def shapes(self, value):
        return [(a.shape, str(a.dtype)) if isinstance(a, np.ndarray) else repr(a) for a in self.keras.tree.flatten(value)]

    def add(self, kind, label, what, args, kwargs, key_parts):
        key = hashlib.sha1(json.dumps([kind, label, key_parts], default=str, sort_keys=True).encode()).hexdigest()[:12]
        if key in self.seen:
            return
        self.seen.add(key)
        if self.per[kind, label] >= self.per_class:
            self.skipped["more than the limit of one class"] += 1
            return
        self.per[kind, label] += 1
        self.pending.append((kind, label, what, args, kwargs, key, self.test))

    def guarded(self, call):
        if self.depth or self.busy:
            return
        self.busy = True
        try:
            call()
        except Skip as e:
            if str(e) != "symbolic":
                self.skip("?", e)
        except Exception as e:
            self.skip("recording", e)
        finally:
            self.busy = False

    def skip(self, label, e):
        text = f"{type(e).__name__}: {e}".replace("\n", " ")[:160]
        self.skipped[re.sub(r"[0-9]+", "#", text)[:80]] += 1
        self.skip_log.write(f"{label}\t{self.test}\t{text}\n")

    def saw_layer(self, layer, args, kwargs):
        kwargs = {k: v for k, v in kwargs.items() if k != "training"}
        args, kwargs = self.arguments(args, kwargs)
        flat = self.keras.tree.flatten((args, kwargs))
        if not any(isinstance(a, np.ndarray) for a in flat):
            if len(args) != 1 or kwargs:
                raise Skip("symbolic")
            a = np.array(args[0])
            if a.dtype.kind not in "fiubU" or a.ndim == 0:
                raise Skip("no arrays")
            args = [a.astype(np.float32) if a.dtype == np.float64 else a]
        config = self.keras.saving.serialize_keras_object(layer)
        if name := foreign(config):
            raise Skip(f"class of the tests: {name}")
        self.add("layer", type(layer).__name__, layer, args, kwargs, [strip_names(config), self.shapes((args, kwargs))])

    def saw_op(self, module, name, function, args, kwargs):
        args, kwargs = self.arguments(args, kwargs)
        if not any(isinstance(a, np.ndarray) for a in self.keras.tree.flatten((args, kwargs))):
            return
        self.add("op", f"{module}.{name}", function, args, kwargs, self.shapes((args, kwargs)))

    def saw_activation(self, name, function, x):
        (x,), _ = self.arguments([x], {})
        if not isinstance(x, np.ndarray):
            return
        digest = hashlib.sha1(x.tobytes()).hexdigest()
        self.add("layer", f"activations.{name}", self.keras.layers.Activation(function), [x], {}, [name, self.shapes([x]), digest])

    def trained_model(self, model):
        """The file of a compiled model as it is now, for what a test does with it next."""
        keras = self.keras
        if not isinstance(model, (keras.Sequential, keras.src.models.functional.Functional)):
            raise Skip("a model of another class")
        if not getattr(model, "compiled", False):
            raise Skip("not compiled")
        config = keras.saving.serialize_keras_object(model)
        if name := foreign(config):
            raise Skip(f"class of the tests: {name}")
        path = os.path.join(self.out, f"seen-{os.getpid()}.keras")
        model.save(path)
        with open(path, "rb") as f:
            return config, f.read()

    def training_arrays(self, given):
        keras = self.keras
        parts = []
        for part in (given.get("x"), given.get("y"), given.get("sample_weight")):
            flat = keras.tree.flatten(part) if part is not None else []
            arrays = [self.concrete(np.asarray(v, np.float32) if isinstance(v, (list, float)) else v) for v in flat if v is not None]
            if any(a is None for a in arrays) or len(arrays) != len(flat):
                raise Skip("data that are no arrays")
            parts.append([a.astype(np.float32) if a.dtype == np.float64 else a for a in arrays])
        if not parts[0]:
            raise Skip("no arrays")
        if isinstance(given.get("x"), dict) or isinstance(given.get("y"), dict) or isinstance(given.get("sample_weight"), dict):
            raise Skip("dictionaries of data")
        return parts

    def saw_fit(self, given, command="fit"):
        model = given["self"]
        if any(given.get(k) for k in ("class_weight", "validation_split")):
            raise Skip("class weights or validation")
        parts = self.training_arrays(given)
        config, file = self.trained_model(model)
        self.add("training", type(model).__name__, file, [parts, given.get("batch_size") or 32, command], {},
                 [strip_names(config), self.shapes(parts), command, given.get("batch_size")])

    def saw_evaluate(self, given):
        self.saw_fit(given, "evaluate")

    def make_training(self, kind, label, file, args, _, key):
        keras = self.keras
        (x, y, w), batch, command = args
        path = os.path.join(self.out, f"seen-{os.getpid()}.keras")
        with open(path, "wb") as f:
            f.write(file)
        model = keras.saving.load_model(path)
        if model.inputs is None or len(x) != len(model.inputs):
            raise Skip("other inputs")
        if y and (len(y) != len(model.output_names) or len(set(model.output_names)) != len(y)):
            raise Skip("other outputs, or two of one name")
        if len(w) not in (0, 1) or (w and len(y) > 1):
            raise Skip("weights of several outputs")
        if self.is_random(model):
            raise Skip("random layer")
        if any(a.size > 300_000 for a in x + y):
            raise Skip("large")
        values = {t.name: a for t, a in zip(model.inputs, x)}
        if len(values) != len(x):
            raise Skip("inputs of one name")
        labels = {"y": y[0]} if len(y) == 1 else dict(zip(model.output_names, y))
        many = dict(values) if len(values) > 1 else x[0]
        targets = (y if len(y) > 1 else y[0]) if y else None
        weight = w[0] if w else None
        if command == "fit":
            self.fit_case(kind, label, key, model, values, many, targets, labels, weight, batch, 2, {"class": label})
            return
        result = model.evaluate(many, targets, sample_weight=weight, batch_size=batch, return_dict=True, verbose=0)
        result = {k: np.asarray(v, np.float64).tolist() for k, v in result.items()}

        def save(folder):
            os.replace(path, os.path.join(folder, "model.keras"))
            if labels:
                np.savez(os.path.join(folder, "y.npz"), **labels)
            if weight is not None:
                np.savez(os.path.join(folder, "w.npz"), w=weight)
            with open(os.path.join(folder, "evaluate.json"), "w", encoding="utf-8") as f:
                json.dump(result, f)

        self.write(self.folder(kind, label, key, "evaluate"), kind, label, "evaluate", values, save, {"batch_size": batch, "class": label})

    def saw_values(self, kind, thing, y_true, y_pred, sample_weight):
        a, _ = self.arguments([y_true, y_pred, sample_weight], {})
        a = [np.array(v, np.float32) if isinstance(v, (list, float, int)) else v for v in a]
        if not isinstance(a[0], np.ndarray) or not isinstance(a[1], np.ndarray):
            raise Skip("structures of values")
        config = self.keras.saving.serialize_keras_object(thing)
        if name := foreign(config):
            raise Skip(f"class of the tests: {name}")
        digest = hashlib.sha1(b"".join(v.tobytes() for v in a if v is not None)).hexdigest()
        self.add(kind, type(thing).__name__, config, a, {}, [strip_names(config), self.shapes(a), digest])

    def saw_config(self, kind, thing):
        config = self.keras.saving.serialize_keras_object(thing)
        if name := foreign(config):
            raise Skip(f"class of the tests: {name}")
        self.add(kind, type(thing).__name__, config, [], {}, [strip_names(config)])

    # Making cases.

    def flush(self):
        pending, self.pending = self.pending, []
        self.busy = True
        try:
            for record in pending:
                self.materialise(*record)
        finally:
            self.busy = False
        self.index.flush()
        self.skip_log.flush()

    def materialise(self, kind, label, what, args, kwargs, key, test):
        self.test = test
        makers = {
            "layer": self.make_call,
            "op": self.make_call,
            "training": self.make_training,
            "loss": self.make_loss,
            "metric": self.make_metric,
            "optimizer": self.make_optimizer,
            "schedule": self.make_optimizer,
            "constraint": self.make_optimizer,
            "regularizer": self.make_optimizer,
        }
        try:
            with limited():
                makers[kind](kind, label, what, args, kwargs, key)
        except Exception as e:
            self.skip(f"{kind} {label}", e)
            if os.environ.get("HARVEST_DEBUG"):
                traceback.print_exc()

    def folder(self, kind, label, key, command):
        slug = re.sub(r"[^A-Za-z0-9]+", "_", label)
        return f"{kind}_{slug}_{key}_{command}"

    def write(self, name, kind, label, command, inputs, save, extra):
        folder = os.path.join(self.out, "cases", name)
        os.makedirs(folder, exist_ok=True)
        np.savez(os.path.join(folder, "in.npz"), **inputs)
        save(folder)
        case = {"name": name, "kind": kind, "label": label, "command": command, "test": self.test, "backend": self.backend}
        case.update(extra)
        with open(os.path.join(folder, "case.json"), "w", encoding="utf-8") as f:
            json.dump(case, f, indent=1)
        self.index.write(json.dumps(case) + "\n")
        self.made[kind, command] += 1

    def perturb(self, layer, seed):
        """Weights off their initial zeros and ones, so that none of them can be forgotten unnoticed."""
        if getattr(layer, "_harvest_perturbed", False):
            return
        rng = np.random.default_rng(seed)
        for v in layer.weights:
            if str(v.dtype) not in ("float32", "float16", "bfloat16") or "seed" in v.path:
                continue
            if getattr(layer, "quantization_mode", None):
                continue
            old = self.keras.ops.convert_to_numpy(v.value).astype(np.float32)
            new = old + 0.1 * rng.standard_normal(old.shape).astype(np.float32)
            if "variance" in v.path or "scale" in v.path or "count" in v.path:
                new = np.abs(new) + 0.05
            v.assign(new)
        try:
            layer._harvest_perturbed = True
        except Exception:
            pass

    def is_random(self, layer):
        for part in [layer] + list(layer._flatten_layers(include_self=False)):
            kind = type(part).__name__
            if kind.startswith("Random") or kind in ("MixUp", "CutMix", "AugMix", "RandAugment", "Solarization"):
                return True
            if any(isinstance(getattr(part, a, None), (int, float)) and getattr(part, a) > 0 for a in RANDOM_ATTRIBUTES):
                if "Noise" in kind or "Dropout" in kind or hasattr(part, "dropout"):
                    return True
        return False

    def draws(self, model):
        """Whether some layer has a generator of random numbers; without one, two runs agree and the second can be spared."""
        return any(getattr(part, "_seed_generators", None) for part in model._flatten_layers())

    def make_call(self, kind, label, what, args, kwargs, key):
        keras, tree = self.keras, self.keras.tree
        arrays = [a for a in tree.flatten((args, kwargs)) if isinstance(a, np.ndarray)]
        if sum(a.size for a in arrays) > LARGE:
            raise Skip("large")
        # What has no batch, or an empty one, is the one example of a batch, and the model takes it out.
        lifted = arrays[0].ndim == 0 or arrays[0].shape[0] == 0
        if lifted and kind == "layer":
            raise Skip("a layer called on a scalar or an empty batch")
        batch = 1 if lifted else arrays[0].shape[0]
        static = kind == "op" or getattr(what, "stateful", False) or label in ("ops",)
        is_layer = kind == "layer"
        if is_layer and isinstance(what, (keras.Sequential, keras.src.models.functional.Functional)):
            if getattr(what, "stateful", False) or any(getattr(p, "stateful", False) for p in what._flatten_layers()):
                static = True
        if is_layer:
            self.perturb(what, int(key[:6], 16))

        def build(before):
            inputs, values = [], {}

            def one(x):
                if not isinstance(x, np.ndarray):
                    return x
                if x.shape != arrays[0].shape if lifted else x.ndim == 0 or x.shape[0] != batch:
                    return x
                name = f"in{len(inputs)}"
                dtype = "string" if x.dtype.kind == "U" else str(x.dtype)
                if lifted or dtype == "bfloat16":
                    shape = (1,) + x.shape if lifted else x.shape
                    i = keras.Input(batch_shape=shape, dtype=dtype.replace("bfloat16", "float32"), name=name)
                    inputs.append(i)
                    values[name] = x.reshape(shape).astype(i.dtype)
                    i = keras.ops.cast(i, dtype) if dtype == "bfloat16" else i
                    return keras.ops.reshape(i, x.shape) if lifted else i
                if static:
                    i = keras.Input(batch_shape=x.shape, dtype=dtype, name=name)
                else:
                    i = keras.Input(shape=x.shape[1:], dtype=dtype, name=name)
                inputs.append(i)
                values[name] = x
                if before and len(inputs) == 1:
                    i = before(i)
                return i

            sym_args, sym_kwargs = tree.map_structure(one, (args, kwargs))
            out = what(*sym_args, **sym_kwargs)
            outputs = [t for t in tree.flatten(out) if isinstance(t, keras.KerasTensor)]
            if not outputs:
                raise Skip("no symbolic output")
            fixed = []
            for t in outputs:
                if any(d is None for d in t.shape[1:]):
                    raise Skip("output of unknown shape")
                if "complex" in str(t.dtype):
                    raise Skip("complex output")
                if not is_layer and (len(t.shape) == 0 or t.shape[0] != batch):
                    n = int(np.prod(t.shape))
                    t = keras.ops.broadcast_to(keras.ops.reshape(t, (1, n)), (batch, n))
                fixed.append(t)
            if len({t._keras_history.operation.name for t in fixed}) < len(fixed):
                fixed = [keras.layers.Identity(dtype=t.dtype, name=f"output_{n}")(t) for n, t in enumerate(fixed)]
            return keras.Model(inputs, fixed if len(fixed) > 1 else fixed[0]), values

        model, values = build(None)
        self.predict_case(kind, label, key, model, values, batch, {"class": label, "dtypes": [str(a.dtype) for a in arrays]})
        if not self.train or self.backend != "torch" or lifted or not all(a.size for a in arrays):
            return
        try:
            self.train_case(kind, label, key, what, arrays, batch, build)
        except Exception as e:
            self.skip(f"{kind} {label} fit", e)

    def predict_case(self, kind, label, key, model, values, batch, extra):
        keras = self.keras
        name = self.folder(kind, label, key, "predict")
        temporary = os.path.join(self.out, f"temporary-{os.getpid()}.keras")
        model.save(temporary)
        loaded = keras.saving.load_model(temporary, compile=False)
        x = dict(values) if len(values) > 1 else next(iter(values.values()))

        def run(m):
            if any(v.dtype.kind == "U" for v in values.values()):
                import tensorflow as tf

                t = {k: tf.constant(v.tolist()) if v.dtype.kind == "U" else v for k, v in values.items()}
                out = m(t if len(t) > 1 else next(iter(t.values())), training=False)
                out = keras.tree.map_structure(keras.ops.convert_to_numpy, out)
            else:
                out = m.predict(x, batch_size=max(32, batch), verbose=0)
            flat = keras.tree.flatten(out)
            return [np.asarray(a) for a in flat]

        out, again = run(loaded), None
        if self.draws(loaded):
            again = run(keras.saving.load_model(temporary, compile=False))
        for a, b in zip(out, again or out):
            if a.dtype.kind in "SO":
                raise Skip("output is not numeric")
            if a.shape[:1] != (batch,):
                raise Skip("output without the batch")
            if not np.array_equal(a.astype(np.float64), b.astype(np.float64), equal_nan=True):
                raise Skip("random at inference")
        expected = {"output": out[0]} if len(out) == 1 else {n: a for n, a in zip(loaded.output_names, out)}
        if len(expected) != len(out):
            raise Skip("outputs of one name")
        expected = {k: v.astype(np.float32) if v.dtype.name in ("bfloat16", "float16") else v for k, v in expected.items()}

        def save(folder):
            os.replace(temporary, os.path.join(folder, "model.keras"))
            np.savez(os.path.join(folder, "out.npz"), **expected)

        half = any(str(getattr(p, "compute_dtype", "")) in ("float16", "bfloat16") for p in loaded._flatten_layers())
        half = half or any(str(t.dtype) in ("float16", "bfloat16") for t in loaded.outputs)
        quantised = any(getattr(p, "quantization_mode", None) for p in loaded._flatten_layers())
        self.write(name, kind, label, "predict", values, save,
                   dict(extra, batch_size=max(32, batch), half=half, quantised=bool(quantised),
                        output_dtypes=[str(o.dtype) for o in loaded.outputs]))

    def train_case(self, kind, label, key, what, arrays, batch, build):
        keras = self.keras
        if kind == "layer" and self.is_random(what):
            raise Skip("random layer")
        before = None
        first = arrays[0]
        if first.dtype == np.float32 and first.ndim >= 2 and first.shape[-1] <= 64:
            rng = np.random.default_rng(7)
            n = first.shape[-1]
            dense = keras.layers.Dense(n, name="pre")
            dense.build((None,) + first.shape[1:])
            dense.set_weights([np.eye(n, dtype=np.float32) + 0.1 * rng.standard_normal((n, n)).astype(np.float32),
                               0.1 * rng.standard_normal(n).astype(np.float32)])
            before = dense
        model, values = build(before)
        if not model.trainable_weights:
            raise Skip("nothing to train")
        outputs = model.outputs
        if any(str(o.dtype) != "float32" or len(o.shape) < 2 for o in outputs):
            raise Skip("outputs that have no squared error")
        if any(str(v.dtype) != "float32" for v in model.trainable_weights):
            raise Skip("trained weights that are not float32")
        rng = np.random.default_rng(11)
        ys = [rng.standard_normal((batch,) + tuple(o.shape[1:])).astype(np.float32) for o in outputs]
        if sum(y.size for y in ys) > 300_000:
            raise Skip("large")
        loss = ["mse"] * len(ys) if len(ys) > 1 else "mse"
        model.compile(optimizer=keras.optimizers.SGD(0.01), loss=loss)
        x = dict(values) if len(values) > 1 else next(iter(values.values()))
        y = ys if len(ys) > 1 else ys[0]
        names = model.output_names
        if len(set(names)) != len(names):
            raise Skip("outputs of one name")
        labels = {"y": ys[0]} if len(ys) == 1 else {n: v for n, v in zip(names, ys)}
        self.fit_case(kind, label, key, model, values, x, y, labels, None, batch, 3, {"class": label})

    def fit_case(self, kind, label, key, model, values, x, y, labels, weight, batch, epochs, extra):
        keras = self.keras
        temporary = os.path.join(self.out, f"temporary-{os.getpid()}.keras")
        trained = os.path.join(self.out, f"trained-{os.getpid()}.keras")
        model.save(temporary)
        histories, weights = [], []
        for seed in (1, 2) if self.draws(model) else (1,):
            m = keras.saving.load_model(temporary)
            for part in m._flatten_layers():
                for attribute in ("seed_generator",):
                    g = getattr(part, attribute, None)
                    if g is not None and hasattr(g, "state"):
                        g.state.assign(np.full(g.state.shape, seed, "int64"))
            h = m.fit(x, y, sample_weight=weight, epochs=epochs, batch_size=batch, shuffle=False, verbose=0).history
            histories.append({k: [float(np.asarray(v)) for v in vs] for k, vs in h.items()})
            weights.append([keras.ops.convert_to_numpy(v.value) for v in m.trainable_weights])
        numbers = np.array(list(histories[0].values()), np.float64)
        if not np.isfinite(numbers).all() or np.abs(numbers).max() > 1e6:
            raise Skip("training blew up")
        if histories[0] != histories[-1] or any(not np.array_equal(a, b) for a, b in zip(weights[0], weights[-1])):
            raise Skip("random in training")
        m.save(trained)
        name = self.folder(kind, label, key, "fit")

        def save(folder):
            os.replace(temporary, os.path.join(folder, "model.keras"))
            os.replace(trained, os.path.join(folder, "trained.keras"))
            if labels:
                np.savez(os.path.join(folder, "y.npz"), **labels)
            if weight is not None:
                np.savez(os.path.join(folder, "w.npz"), w=weight)
            with open(os.path.join(folder, "history.json"), "w", encoding="utf-8") as f:
                json.dump(histories[0], f)

        self.write(name, kind, label, "fit", values, save, dict(extra, batch_size=batch, epochs=epochs))

    def values_model(self, y_pred, dense, penalty=False):
        keras = self.keras
        i = keras.Input(shape=y_pred.shape[1:], dtype="float32", name="in0")
        h = keras.layers.ActivityRegularization(l2=0.01)(i) if penalty else i
        if dense:
            n = y_pred.shape[-1]
            d = keras.layers.Dense(n, name="pre")
            h = d(h)
            rng = np.random.default_rng(7)
            d.set_weights([np.eye(n, dtype=np.float32) * 0.8 + 0.02 * rng.random((n, n)).astype(np.float32),
                           0.02 * rng.random(n).astype(np.float32)])
        out = keras.layers.Activation("linear", name="out")(h)
        return keras.Model(i, out)

    def checked_values(self, a):
        y_true, y_pred, weight = a
        if y_pred.ndim == 0 or y_true.ndim == 0:
            raise Skip("scalar values")
        if weight is not None and (weight.ndim == 0 or weight.shape[0] != y_pred.shape[0]):
            raise Skip("weights that fit cannot take")
        if y_true.shape[0] != y_pred.shape[0]:
            raise Skip("values of unequal length")
        if y_true.dtype.kind == "U" or y_pred.dtype.kind == "U":
            raise Skip("strings")
        return y_true, y_pred.astype(np.float32), weight

    def evaluate_case(self, kind, label, key, model, y_true, y_pred, weight):
        keras = self.keras
        temporary = os.path.join(self.out, f"temporary-{os.getpid()}.keras")
        model.save(temporary)
        loaded = keras.saving.load_model(temporary)
        batch = max(32, y_pred.shape[0])
        result = loaded.evaluate(y_pred, y_true, sample_weight=weight, batch_size=batch, return_dict=True, verbose=0)
        result = {k: np.asarray(v, np.float64).tolist() for k, v in result.items()}

        def save(folder):
            os.replace(temporary, os.path.join(folder, "model.keras"))
            np.savez(os.path.join(folder, "y.npz"), y=y_true)
            if weight is not None:
                np.savez(os.path.join(folder, "w.npz"), w=weight)
            with open(os.path.join(folder, "evaluate.json"), "w", encoding="utf-8") as f:
                json.dump(result, f)

        self.write(self.folder(kind, label, key, "evaluate"), kind, label, "evaluate", {"in0": y_pred}, save,
                   {"batch_size": batch, "class": label})

    def make_loss(self, kind, label, config, a, _, key):
        keras = self.keras
        y_true, y_pred, weight = self.checked_values(a)
        config = json.loads(json.dumps(config))
        if config["config"].get("reduction") in ("none", None) and "reduction" in config["config"]:
            config["config"]["reduction"] = "sum_over_batch_size"
        loss = keras.saving.deserialize_keras_object(config)
        model = self.values_model(y_pred, False)
        model.compile(loss=loss)
        self.evaluate_case(kind, label, key, model, y_true, y_pred, weight)
        if self.train and y_pred.ndim >= 2 and self.backend == "torch":
            try:
                model = self.values_model(y_pred, True)
                model.compile(optimizer=keras.optimizers.SGD(0.01), loss=loss)
                self.fit_case(kind, label, key, model, {"in0": y_pred}, y_pred, y_true, {"y": y_true}, weight,
                              max(1, y_pred.shape[0]), 3, {"class": label})
            except Exception as e:
                self.skip(f"{kind} {label} fit", e)

    def make_metric(self, kind, label, config, a, _, key):
        y_true, y_pred, weight = self.checked_values(a)
        metric = self.keras.saving.deserialize_keras_object(config)
        model = self.values_model(y_pred, False, penalty=True)  # Keras wants a loss of some kind
        if weight is None:
            model.compile(loss=None, metrics=[metric])
        else:
            model.compile(loss=None, weighted_metrics=[metric])
        self.evaluate_case(kind, label, key, model, y_true, y_pred, weight)

    def make_optimizer(self, kind, label, config, _, __, key):
        keras = self.keras
        thing = keras.saving.deserialize_keras_object(config)
        rng = np.random.default_rng(5)
        extra = {}
        if kind == "constraint":
            extra = {"kernel_constraint": thing}
        elif kind == "regularizer":
            extra = {"kernel_regularizer": thing}
        i = keras.Input((5,), name="in0")
        hidden = keras.layers.Dense(4, activation="tanh", name="hidden", **extra)
        out = keras.layers.Dense(2, name="out")
        model = keras.Model(i, out(hidden(i)))
        model.set_weights([0.5 * rng.standard_normal(w.shape).astype(np.float32) for w in model.get_weights()])
        if kind == "optimizer":
            optimizer = thing
        elif kind == "schedule":
            optimizer = keras.optimizers.SGD(thing)
        else:
            optimizer = keras.optimizers.SGD(0.1)
        model.compile(optimizer=optimizer, loss="mse")
        if kind == "optimizer":
            # State that begins as the weights must be in the file: Keras makes it when the weights of a model that it loads are still the initial ones.
            optimizer.build(model.trainable_variables)
            if not any(np.ptp(keras.ops.convert_to_numpy(v.value)) for v in optimizer.variables if len(v.shape)):
                model.compile(optimizer=keras.saving.deserialize_keras_object(config), loss="mse")
        x, y = rng.standard_normal((12, 5)).astype(np.float32), rng.standard_normal((12, 2)).astype(np.float32)
        self.fit_case(kind, label, key, model, {"in0": x}, x, y, {"y": y}, None, 4, 3, {"class": label})

    # Hooks.

    def install(self):
        keras = self.keras
        src = keras.src

        def around(original, after):
            def call(*args, **kwargs):
                if self.busy:
                    return original(*args, **kwargs)
                self.depth += 1
                try:
                    result = original(*args, **kwargs)
                finally:
                    self.depth -= 1
                if self.depth == 0:
                    self.guarded(lambda: after(args, kwargs))
                return result

            try:
                call.__name__, call.__doc__, call.__signature__ = original.__name__, original.__doc__, inspect.signature(original)
                call.__module__, call.__qualname__ = original.__module__, original.__qualname__
            except (AttributeError, ValueError):
                pass
            return call

        layer_class = keras.layers.Layer
        layer_class.__call__ = around(layer_class.__call__, lambda a, k: self.saw_layer(a[0], a[1:], k))
        operation = importlib.import_module("keras.src.ops.operation").Operation
        original = operation.__call__

        def saw_operation(a, k):
            if isinstance(a[0], layer_class):
                return
            if type(a[0]).__module__.startswith("keras.src.ops") and not type(a[0]).__module__.endswith("_test"):
                config = ""
                try:
                    config = json.dumps(a[0].get_config(), default=str)
                except Exception:
                    pass
                self.saw_op(type(a[0]).__module__.split(".")[-1], type(a[0]).__name__ + re.sub(r'"name": "[^"]*"', "", config)[:0],
                            a[0], a[1:], k)

        operation.__call__ = around(original, saw_operation)
        for name in ("core", "einops", "image", "linalg", "math", "nn", "numpy"):
            module = importlib.import_module(f"keras.src.ops.{name}")
            for attribute, value in list(vars(module).items()):
                if inspect.isfunction(value) and value.__module__ == module.__name__ and not attribute.startswith("_"):
                    def after(a, k, function=value, name=name, attribute=attribute):
                        self.saw_op(name, attribute, function, a, k)

                    setattr(module, attribute, around(value, after))

        package = importlib.import_module("keras.src.activations")
        for attribute, value in list(vars(package).items()):
            if not inspect.isfunction(value) or attribute in ("get", "serialize", "deserialize"):
                continue

            def seen(a, k, function=value, attribute=attribute):
                if len(a) == 1 and not k:
                    self.saw_activation(attribute, function, a[0])
                else:
                    self.saw_op("activations", attribute, function, a, k)

            wrapped = around(value, seen)
            setattr(package, attribute, wrapped)
            setattr(importlib.import_module(value.__module__), value.__name__, wrapped)

        def before(original, note):
            def call(*args, **kwargs):
                if self.busy or self.depth:
                    return original(*args, **kwargs)
                self.guarded(lambda: note(args, kwargs))
                return original(*args, **kwargs)

            call.__name__, call.__doc__, call.__signature__ = original.__name__, original.__doc__, inspect.signature(original)
            return call

        trainer = next(c for c in keras.Model.__mro__ if "fit" in c.__dict__ and "backend" in c.__module__)
        signature = inspect.signature(trainer.fit)
        trainer.fit = before(trainer.fit, lambda a, k: self.saw_fit(signature.bind(*a, **k).arguments))
        signature2 = inspect.signature(trainer.evaluate)
        trainer.evaluate = before(trainer.evaluate, lambda a, k: self.saw_evaluate(signature2.bind(*a, **k).arguments))

        def bound(cls, names):
            def after(a, k):
                values = dict(zip(names, a[1:]))
                values.update(k)
                self.saw_values(cls, a[0], *[values.get(n) for n in ("y_true", "y_pred", "sample_weight")])

            return after

        loss_class = keras.losses.Loss
        loss_class.__call__ = around(loss_class.__call__, bound("loss", ("y_true", "y_pred", "sample_weight")))

        def subclasses(cls):
            for sub in cls.__subclasses__():
                yield sub
                yield from subclasses(sub)

        for cls in {c for c in subclasses(keras.metrics.Metric)}:
            f = cls.__dict__.get("update_state")
            if f and cls.__module__.startswith("keras.src.metrics") and "y_pred" in inspect.signature(f).parameters:
                cls.update_state = around(f, bound("metric", ("y_true", "y_pred", "sample_weight")))
        for kind, base, package in (
            ("schedule", keras.optimizers.schedules.LearningRateSchedule, "keras.src.optimizers.schedules"),
            ("constraint", keras.constraints.Constraint, "keras.src.constraints"),
            ("regularizer", keras.regularizers.Regularizer, "keras.src.regularizers"),
        ):
            for cls in {c for c in subclasses(base)}:
                f = cls.__dict__.get("__call__")
                if f and cls.__module__.startswith(package) and not cls.__module__.endswith("_test"):
                    cls.__call__ = around(f, lambda a, k, kind=kind: self.saw_config(kind, a[0]))
        if self.backend == "torch":
            import torch

            torch.compile = lambda function=None, **_: function or (lambda f: f)  # the same numbers, without minutes of compiling
        # Processes forked from one with the threads of a backend may wait for ever; the numbers are those of threads.
        keras.utils.PyDataset.use_multiprocessing = property(lambda self: False, lambda self, value: None)
        base = importlib.import_module("keras.src.optimizers.optimizer").Optimizer
        base.apply = around(base.apply, lambda a, k: self.saw_config("optimizer", a[0]))

    # pytest.

    def pytest_collection_modifyitems(self, items):
        items[:] = items[self.part :: self.parts]

    def pytest_collectreport(self, report):
        if report.failed:  # its tests would be missing without a word
            self.uncollected.append(f"{report.nodeid}: {report.longrepr}")

    def pytest_runtest_setup(self, item):
        self.test, self.depth = item.nodeid, 0
        self.keras.utils.set_random_seed(zlib.crc32(item.nodeid.encode()))

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item):
        """Runs a test within its limit. What it did until then becomes cases all the same."""
        with limited():
            return (yield)

    def pytest_runtest_teardown(self, item):
        self.depth = 0
        self.flush()


PART = 60_000  # bytes of a file of tests that one piece takes


def pieces(root, tests):
    """Names of pieces, with their files, parts and numbers of parts; the largest first, so that none runs alone at the end."""
    files = set()
    for place in tests:
        path = os.path.join(root, place)
        if os.path.isfile(path):
            files.add(path)
        for folder, _, names in os.walk(path):
            files.update(os.path.join(folder, n) for n in names if n.endswith("_test.py"))
    found = []
    for path in files:
        parts = -(-os.path.getsize(path) // PART)
        name = os.path.relpath(path, root)[: -len("_test.py")].replace(os.sep, ".")
        for part in range(parts):
            found.append((name if parts == 1 else f"{name}.{part + 1}of{parts}", path, part, parts))
    return sorted(found, key=lambda p: (-os.path.getsize(p[1]), p[0]))


def conftest():
    """What tests of Keras import from the conftest.py beside its sources, which is not in the wheel."""
    import keras

    module = types.ModuleType("conftest")
    module.skip_if_backend = lambda name, reason: pytest.mark.skipif(keras.backend.backend() == name, reason=reason)
    return module


def harvest(out, root, path, part, parts, args):
    """Makes the cases of one piece in the folder out."""
    with open(os.path.join(out, "log.txt"), "w", encoding="utf-8") as log:
        os.dup2(log.fileno(), 1)
        os.dup2(log.fileno(), 2)
    harvester = Harvester(out, args.per_class, not args.no_train, part, parts)
    harvester.install()
    sys.modules["conftest"] = conftest()
    arguments = ["-q", "--continue-on-collection-errors", "-p", "no:cacheprovider", "-c", os.devnull, "--rootdir", root, "-W", "ignore",
                 "--tb=no", "--no-header", "--no-summary", path]
    if args.k:
        arguments += ["-k", args.k]
    pytest.main(arguments, plugins=[harvester])
    for text, n in harvester.skipped.most_common():
        print(f"  {n:6} {text}")
    sys.stdout.flush()
    if harvester.uncollected:
        raise RuntimeError("not collected: " + "; ".join(harvester.uncollected))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("out", help="folder for the cases")
    parser.add_argument("--tests", default="layers,models,ops,losses,metrics,optimizers,regularizers,constraints,activations,trainers",
                        help="parts of keras/src whose tests run, comma separated")
    parser.add_argument("--per-class", type=int, default=40, help="most cases of one class in a piece")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="pieces at the same time")
    parser.add_argument("--no-train", action="store_true")
    parser.add_argument("-k", default="", help="tests, as pytest -k")
    args = parser.parse_args()
    if os.environ.get("KERAS_BACKEND") == "torch":
        import torch

        torch.set_num_threads(1)
    import keras

    keras.utils.disable_interactive_logging()
    keras.utils.set_random_seed(0)  # imports TensorFlow where it is installed: once here, not once in every piece
    out = os.path.abspath(args.out)
    os.makedirs(out, exist_ok=True)
    root = os.path.join(os.path.dirname(keras.__file__), "src")
    todo = [p for p in pieces(root, args.tests.split(",")) if not os.path.isdir(os.path.join(out, p[0]))]
    running, start, failed = {}, time.time(), []
    while todo or running:
        while todo and len(running) < args.jobs:
            name, *piece = todo.pop(0)
            unfinished = os.path.join(out, name + ".unfinished")
            shutil.rmtree(unfinished, ignore_errors=True)
            os.makedirs(unfinished)
            child = os.fork()
            if child == 0:
                status = 1
                try:
                    harvest(unfinished, root, *piece, args)
                    status = 0
                except BaseException:
                    traceback.print_exc()
                finally:
                    os._exit(status)
            running[child] = name
        child, status = os.wait()
        name = running.pop(child)
        unfinished = os.path.join(out, name + ".unfinished")
        if status != 0:
            failed.append(name)
            print(f"{name}: ended with status {status}; see {unfinished}/log.txt", flush=True)
            continue
        os.rename(unfinished, os.path.join(out, name))
        made = len(os.listdir(os.path.join(out, name, "cases")))
        print(f"{time.time() - start:6.0f} s  {name}: {made} cases, {len(todo) + len(running)} pieces left", flush=True)
    if failed:
        sys.exit("pieces that failed: " + ", ".join(failed))


if __name__ == "__main__":
    main()
