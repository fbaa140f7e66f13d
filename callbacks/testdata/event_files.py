"""Records what Keras's TensorBoard callback writes. Run with Keras 3.15.1 (backend jax), TensorFlow 2.21 and TensorBoard 2.21.

    KERAS_BACKEND=jax python event_files.py event_files.json.gz ../../internal/tensorboard/testdata

The first file lists, for each run, the values of both event files: step, tag, plugin, its content, element type and shape. The folder
receives one of the event files as it is, and histograms of given numbers.
"""

import glob
import gzip
import json
import os
import shutil
import sys
import tempfile

import keras
import numpy as np
from tensorboard.plugins.histogram.summary_v2 import histogram_pb
from tensorflow.python.summary.summary_iterator import summary_iterator

RUNS = {
    "epoch": dict(update_freq="epoch"),
    "three": dict(update_freq=3),
    "batch": dict(update_freq="batch", histogram_freq=1, write_images=True),
    "second": dict(histogram_freq=2, write_graph=False, write_steps_per_second=True),
}


def values(path):
    for event in summary_iterator(path):
        for v in event.summary.value:
            plugin = v.metadata.plugin_data
            shape = [d.size for d in v.tensor.tensor_shape.dim]
            yield [event.step, v.tag, plugin.plugin_name, plugin.content.decode(), v.tensor.dtype, shape]


def run(options, keep):
    keras.utils.set_random_seed(0)
    model = keras.Sequential(
        [keras.Input((3,)), keras.layers.Dense(2, name="d"), keras.layers.Dense(1, name="e")], name="model"
    )
    model.compile("sgd", "mse", metrics=["mae"])
    x = np.random.rand(10, 3).astype("float32")
    y = x.sum(1, keepdims=True)
    with tempfile.TemporaryDirectory() as folder:
        callback = keras.callbacks.TensorBoard(folder, **options)
        model.fit(x, y, batch_size=2, epochs=3, verbose=0, validation_data=(x, y), callbacks=[callback])
        out = {}
        for part in ("train", "validation"):
            (path,) = glob.glob(f"{folder}/{part}/*tfevents*")
            out[part] = list(values(path))
            if keep:
                shutil.copy(path, f"{keep}/{part}.tfevents")
        return out


def histograms():
    rng = np.random.default_rng(1)
    for data in (rng.normal(size=100), np.zeros(4), np.array([2.5]), np.array([]), np.arange(7.0), np.array([-1e300, 1e300]), rng.random(1000).astype("float32")):
        tensor = histogram_pb("h", data).value[0].tensor
        rows = np.frombuffer(tensor.tensor_content, np.float64) if tensor.tensor_content else np.array(tensor.double_val)
        rows = np.resize(rows, 90) if rows.size else np.zeros(90)
        yield {"data": data.astype(float).tolist(), "rows": rows.tolist()}


if __name__ == "__main__":
    target, folder = sys.argv[1:]
    cases = {name: run(options, folder if name == "batch" else None) for name, options in RUNS.items()}
    with gzip.GzipFile(target, "wb", mtime=0) as f:
        f.write(json.dumps(cases).encode())
    with gzip.GzipFile(os.path.join(folder, "histograms.json.gz"), "wb", mtime=0) as f:
        f.write(json.dumps(list(histograms())).encode())
