"""Draws models whose steps are an optimizer's, a loss's or a metric's work: python make_parts.py FOLDER COUNT SEED.

Each is written as part-N.keras, with the configuration that it is compiled with, and a batch of examples for it, part-N.x.npy and part-N.y.npy. A
line of JSON for each says what it is, the file, the length of the batch, and what is to be timed: step (Model.train_on_batch) or evaluate
(Model.test_on_batch).
"""
import json, os, random, sys
os.environ.setdefault("KERAS_BACKEND", "jax")
import numpy as np
import keras

layers, losses, metrics, optimizers = keras.layers, keras.losses, keras.metrics, keras.optimizers


def some(r, **options):
    """Each option with one chance in four, of the values that it may have."""
    return {k: r.choice(v) for k, v in options.items() if r.random() < 0.25}


def optimizer(r):
    own = {
        "SGD": dict(momentum=[0.9], nesterov=[True]), "RMSprop": dict(centered=[True], momentum=[0.9]), "Adam": dict(amsgrad=[True]), "AdamW": dict(amsgrad=[True]),
        "Adadelta": {}, "Adagrad": {}, "Adamax": {}, "Adafactor": dict(relative_step=[False]), "Nadam": {}, "Ftrl": dict(l1_regularization_strength=[0.01]),
        "Lion": {}, "Lamb": {}, "Muon": {}, "ScheduleFreeAdamW": {},
    }
    name = r.choice([n for n in own if hasattr(optimizers, n)])
    options = some(r, **own[name], weight_decay=[1e-3], use_ema=[True], gradient_accumulation_steps=[2, 4])
    options |= r.choice([{}, {}, {}, dict(clipnorm=1.0), dict(global_clipnorm=1.0), dict(clipvalue=0.5)])
    if r.random() < 0.2:
        options["learning_rate"] = optimizers.schedules.CosineDecay(1e-3, 1000, warmup_steps=10, warmup_target=1e-2)
    return name, options, getattr(optimizers, name)(**options)


# What labels a loss or metric takes, and the activation of the predictions.
FLOATS, SHARES, BITS, CLASSES, ONE = ("floats", None), ("shares", "sigmoid"), ("bits", "sigmoid"), ("classes", "softmax"), ("one", "softmax")
LOSSES = {
    "MeanSquaredError": FLOATS, "MeanAbsoluteError": FLOATS, "MeanAbsolutePercentageError": FLOATS, "MeanSquaredLogarithmicError": SHARES, "LogCosh": FLOATS,
    "Huber": FLOATS, "CosineSimilarity": FLOATS, "BinaryCrossentropy": SHARES, "BinaryFocalCrossentropy": SHARES, "Poisson": SHARES, "KLDivergence": SHARES,
    "Dice": SHARES, "Tversky": SHARES, "Hinge": BITS, "SquaredHinge": BITS, "CategoricalHinge": CLASSES, "CategoricalCrossentropy": CLASSES,
    "CategoricalFocalCrossentropy": CLASSES, "SparseCategoricalCrossentropy": ONE,
}
METRICS = {
    "AUC": BITS, "Precision": BITS, "Recall": BITS, "TruePositives": BITS, "FalseNegatives": BITS, "BinaryAccuracy": BITS, "BinaryIoU": BITS, "F1Score": BITS,
    "BinaryCrossentropy": BITS, "Hinge": BITS, "R2Score": FLOATS, "RootMeanSquaredError": FLOATS, "MeanAbsoluteError": FLOATS, "CosineSimilarity": FLOATS,
    "LogCoshError": FLOATS, "Poisson": SHARES, "KLDivergence": SHARES, "PearsonCorrelation": FLOATS, "ConcordanceCorrelation": FLOATS,
    "CategoricalAccuracy": CLASSES, "TopKCategoricalAccuracy": CLASSES, "CategoricalCrossentropy": CLASSES, "SparseCategoricalAccuracy": ONE,
    "SparseTopKCategoricalAccuracy": ONE, "SensitivityAtSpecificity": BITS, "PrecisionAtRecall": BITS, "OneHotMeanIoU": CLASSES,
}
NEEDED = {"SensitivityAtSpecificity": dict(specificity=0.5), "PrecisionAtRecall": dict(recall=0.5)}


def labels(rng, kind, batch, units):
    return {
        "floats": lambda: rng.standard_normal((batch, units)).astype("float32"), "shares": lambda: rng.random((batch, units)).astype("float32"),
        "bits": lambda: rng.integers(0, 2, (batch, units)).astype("float32"), "classes": lambda: np.eye(units, dtype="float32")[rng.integers(0, units, batch)],
        "one": lambda: rng.integers(0, units, (batch, 1)).astype("int32"),
    }[kind]()


def draw(number):
    r = random.Random(number)
    kind = r.choice(["optimizer", "optimizer", "loss", "metric"])
    if kind == "optimizer":
        features, units, batch, activation, what = 2 ** r.randint(4, 11), r.randint(16, 2048), r.choice([1, 4, 16]), None, "step"
        name, options, o = optimizer(r)
        compiled, form = dict(optimizer=o, loss="mse"), "floats"
    else:
        features, units, batch = 8, r.choice([1, 2, 10, 64, 100, 1000]), 2 ** r.randint(5, 13)
        while batch * units > 1 << 20:
            batch //= 2
        name = r.choice(list(LOSSES if kind == "loss" else METRICS))
        form, activation = (LOSSES if kind == "loss" else METRICS)[name]
        if form in ("classes", "one"):
            units = max(units, 2)
        options = dict(NEEDED.get(name, {}))
        if kind == "loss":
            if "Crossentropy" in name and r.random() < 0.5:
                options, activation = dict(from_logits=True), None
            compiled, what = dict(optimizer="sgd", loss=getattr(losses, name)(**options)), "step"
        else:
            if name == "AUC":
                options |= some(r, curve=["PR"], num_thresholds=[50, 1000], multi_label=[True])
            if name in ("Precision", "Recall"):
                options |= some(r, thresholds=[[0.1, 0.3, 0.5]], top_k=[1])
            if name in ("BinaryIoU",):
                options |= dict(target_class_ids=[0, 1])
            if name == "OneHotMeanIoU":
                options |= dict(num_classes=units)
            loss = "sparse_categorical_crossentropy" if form == "one" else "mse"
            compiled, what = dict(optimizer="sgd", loss=loss, metrics=[getattr(metrics, name)(**options)]), "evaluate"
    m = keras.Sequential([keras.Input((features,)), layers.Dense(units, activation=activation)])
    m.compile(**compiled)
    rng = np.random.default_rng(number)
    x, y = rng.standard_normal((batch, features)).astype("float32"), labels(rng, form, batch, units)
    shown = ", ".join(f"{k}={v if isinstance(v, (int, float, str, list)) else type(v).__name__}" for k, v in options.items())
    return m, x, y, dict(name=f"{kind} {name}({shown}) {features}x{units}", batch=batch, what=what)


def main():
    folder, count, seed = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    for number in range(seed, seed + count):
        m, x, y, line = draw(number)
        path = os.path.join(folder, f"part-{number}")
        m.save(path + ".keras")
        np.save(path + ".x.npy", x)
        np.save(path + ".y.npy", y)
        print(json.dumps(dict(line, keras=path + ".keras")), flush=True)


if __name__ == "__main__":
    main()
