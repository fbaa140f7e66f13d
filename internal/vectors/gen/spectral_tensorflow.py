"""Replaces gradients of SpectralNormalization in training in testdata/layers_normalization.json.gz by those of TensorFlow's backend, with which PyTorch's agrees:

    KERAS_BACKEND=tensorflow python gen/spectral_tensorflow.py testdata/layers_normalization.json.gz

The layer assigns the kernel before it uses it. On JAX the gradient flows through that assignment; on the other two the kernel's is that of the assigned value.
Run it after gen/layers.py.
"""
import gzip
import json
import os
import sys

import keras
import numpy as np

BACKEND = keras.backend.backend()


def gradients(case):
    """By name, those of sum(output * cotangent)."""
    keras.config.set_floatx(case["dtype"])
    array = {a["name"]: np.array(a["data"], a["dtype"]).reshape(a["shape"]) for a in case["inputs"] + case["weights"]}
    config = json.loads(json.dumps(case["config"]))
    del config["layer"]["build_config"]  # built inside, its weights have their paths
    layer = keras.saving.deserialize_keras_object({"module": "keras.layers", "class_name": case["class"], "config": config})
    layer.build(array["x"].shape)
    for w in layer.weights:
        w.assign(array[w.path])
    variables = layer.trainable_variables
    if BACKEND == "tensorflow":
        import tensorflow as tf

        x = tf.constant(array["x"])
        with tf.GradientTape() as tape:
            tape.watch(x)
            loss = tf.reduce_sum(layer(x, training=True) * array["cotangent"])
        grads = [g.numpy() for g in tape.gradient(loss, [x] + [v.value for v in variables])]
    else:
        import torch

        x = torch.tensor(array["x"], requires_grad=True)
        loss = (layer(x, training=True) * torch.tensor(array["cotangent"])).sum()
        grads = [g.numpy() for g in torch.autograd.grad(loss, [x] + [v.value for v in variables])]
    return dict(zip(["x"] + [v.path for v in variables], grads))


def main(path):
    text = gzip.open(path).read()
    data = json.loads(text)
    for case in data["cases"]:
        if case["class"] == "SpectralNormalization" and "training=True" in case["name"]:
            of = gradients(case)
            for g in case["gradients"]:
                new = of[g["name"]].ravel().tolist()
                print(case["name"], g["name"], "moved by", np.abs(np.array(g["data"]) - new).max())
                g["data"] = new
    out = path if BACKEND == "tensorflow" else os.devnull
    with open(out, "wb") as f, gzip.GzipFile(fileobj=f, mode="wb", mtime=0, filename="") as z:
        z.write(json.dumps(data, separators=(",", ":")).encode())


main(sys.argv[1])
