"""Records what keras.distribution does with layouts of what layers compute: distribute_tensor in a layer, and keys of a
layout map that end in "/output". Run with Keras and JAX:

    KERAS_BACKEND=jax XLA_FLAGS=--xla_force_host_platform_device_count=4 python distribution.py keras_distribute_tensor.json.gz
"""

import gzip
import json
import sys

import jax
import keras
import numpy as np
from keras import distribution

seen = {}


def watch(name, x):
    if isinstance(x, jax.core.Tracer):
        jax.debug.inspect_array_sharding(x, callback=lambda s: seen.__setitem__(name, list(s.shard_shape(x.shape))))


class Relayout(keras.layers.Layer):
    """Doubles what it is given, in a layout of its own."""

    def __init__(self, axes, **kwargs):
        super().__init__(**kwargs)
        self.axes = axes

    def call(self, x):
        watch(self.name + "/input", x)
        mesh = keras.distribution.distribution().device_mesh
        y = distribution.distribute_tensor(x, distribution.TensorLayout(self.axes, mesh))
        watch(self.name + "/output", y)
        return 2.0 * y


def record(name, keys, axes):
    seen.clear()
    mesh = distribution.DeviceMesh((2, 2), ["batch", "model"], distribution.list_devices("cpu"))
    layouts = distribution.LayoutMap(mesh)
    for key, value in keys.items():
        layouts[".*" + key] = tuple(value)
    distribution.set_distribution(distribution.ModelParallel(layout_map=layouts, batch_dim_name="batch"))
    rng = np.random.default_rng(7)
    model = keras.Sequential(
        [
            keras.layers.Input((4,)),
            keras.layers.Dense(8, activation="relu", name="d1"),
            Relayout(axes, name="relayout"),
            keras.layers.Dense(3, name="d2"),
        ]
    )
    for v in model.variables:
        v.assign(rng.uniform(-0.6, 0.6, v.shape).astype("float32"))
    initial = [np.asarray(w).tolist() for w in model.get_weights()]
    x = rng.normal(size=(32, 4)).astype("float32")
    y = rng.integers(0, 3, 32).astype("int32")
    model.compile(
        keras.optimizers.SGD(0.1), keras.losses.SparseCategoricalCrossentropy(from_logits=True), metrics=["accuracy"]
    )
    history = model.fit(x, y, batch_size=8, epochs=2, shuffle=False, verbose=0)
    case = {
        "id": "keras_distribute_tensor." + name,
        "program": ["Input(4), Dense(8, relu, d1), distribute_tensor and doubling (relayout), Dense(3, d2); SGD(0.1), 2 epochs of 4 batches"],
        "setup": {"backend": "jax", "keras": keras.__version__, "mesh": [2, 2], "keys": keys, "axes": axes},
        "inputs": {"x": x.tolist(), "y": y.tolist(), "initial_weights": initial},
        "expected": {
            "loss": history.history["loss"],
            "weights": [np.asarray(w).tolist() for w in model.get_weights()],
            "parts": {v.path.split("/", 1)[1]: list(v.value.addressable_shards[0].data.shape) for v in model.variables} | dict(seen),
        },
        "tolerance": {"absolute": 2e-5, "relative": 2e-4},
    }
    print(name, case["expected"]["parts"], case["expected"]["loss"])
    return case


columns = {"d1/kernel": [None, "model"], "d1/bias": ["model"], "d2/kernel": ["model", None]}
cases = [
    record("columns", columns, ["batch", "model"]),
    record("whole", columns, [None, None]),
    record("other_axis", columns, ["model", "batch"]),
    record("output", {**columns, "d1/output": ["batch", None]}, ["batch", "model"]),
    record("output_only", {"d1/output": [None, "model"], "d2/output": ["model", None]}, ["batch", None]),
]
with gzip.GzipFile(sys.argv[1], "wb", mtime=0) as f:
    f.write(json.dumps({"topic": "keras_distribute_tensor", "cases": cases}).encode())
