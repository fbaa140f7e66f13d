"""Lowers training steps of Keras models that lie on a mesh of four devices to StableHLO with JAX, for
kernels/pjrt/collectives_test.go.

    KERAS_BACKEND=jax XLA_FLAGS=--xla_force_host_platform_device_count=4 python jax_mesh_steps.py kernels/pjrt/testdata/jax
"""
import gzip
import os
import re
import sys

import jax
import keras
import numpy as np
from keras import distribution as D
from keras import layers as K

jax.config.update("jax_default_matmul_precision", "highest")  # as ours: float32 is multiplied as float32


def gpt():
    ids = K.Input((6,), dtype="int32")
    x = K.Embedding(16, 8)(ids)
    n = K.LayerNormalization()(x)
    x = K.Add()([x, K.MultiHeadAttention(2, 4, use_bias=False)(n, n, use_causal_mask=True)])
    n = K.LayerNormalization()(x)
    x = K.Add()([x, K.Dense(8, name="dense_1")(K.Dense(32, activation="gelu", name="dense")(n))])
    return keras.Model(ids, K.Dense(16, name="dense_2")(x)), np.zeros((8, 6), "int32"), np.zeros((8, 6), "int32")

def mlp():
    return keras.Sequential([K.Input((16,)), K.Dense(32, activation="relu", name="dense"), K.Dense(32, activation="relu", name="dense_1"), K.Dense(8, name="dense_2")]), np.zeros((8, 16), "float32"), np.zeros(8, "int32")

def cnn():
    return keras.Sequential([K.Input((8, 8, 3)), K.Conv2D(8, 3, activation="relu"), K.BatchNormalization(), K.MaxPooling2D(), K.Flatten(), K.Dense(16)]), np.zeros((16, 8, 8, 3), "float32"), np.zeros(16, "int32")

def lstm():
    return keras.Sequential([K.Input((6,), dtype="int32"), K.Embedding(20, 8), K.LSTM(8), K.Dense(16)]), np.zeros((16, 6), "int32"), np.zeros(16, "int32")

transformer = {".*embedding/embeddings": (None, "model"), ".*(query|key|value)/kernel": (None, "model", None), ".*attention_output/kernel": ("model", None, None),
    ".*dense/kernel": (None, "model"), ".*dense/bias": ("model",), ".*dense_1/kernel": ("model", None)}
columns = {".*dense/kernel": (None, "model"), ".*dense/bias": ("model",), ".*dense_1/kernel": ("model", None)}
for name, f, shape, keys in (("gpt_2x2", gpt, (2, 2), transformer), ("gpt_4x1", gpt, (4, 1), transformer), ("gpt_1x4", gpt, (1, 4), columns), ("mlp_2x2", mlp, (2, 2), columns), ("cnn_4x1", cnn, (4, 1), {}),
    ("lstm_2x2", lstm, (2, 2), {".*embeddings": (None, "model"), ".*dense/kernel": (None, "model"), ".*dense/bias": ("model",)})):
    keras.utils.clear_session()
    mesh = D.DeviceMesh(shape, ["batch", "model"], D.list_devices("cpu")[:4])
    layouts = D.LayoutMap(mesh)
    for key, axes in keys.items():
        layouts[key] = axes
    D.set_distribution(D.ModelParallel(layout_map=layouts, batch_dim_name="batch"))
    m, x, y = f()
    m.compile(keras.optimizers.Adam(), keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    m._symbolic_build(data_batch=(x, y))
    wanted = sum(any(re.search(key, v.path) for key in keys) for v in m.trainable_variables)
    divided = sum(not v.value.sharding.is_fully_replicated for v in m.trainable_variables)
    assert divided == (wanted if shape[1] > 1 else 0), f"{name}: {divided} of {[v.path for v in m.trainable_variables]}"
    state = tuple([v.value for v in part] for part in (m.trainable_variables, m.non_trainable_variables, m.optimizer.variables, m.metrics_variables))
    place = lambda a: jax.device_put(a, D.TensorLayout(["batch"] + [None] * (a.ndim - 1), mesh).backend_layout)
    text = jax.jit(m.train_step, donate_argnums=0, out_shardings=(None, m._get_state_sharding_spec())).lower(state, (place(x), place(y), None)).as_text()
    assert "sdy.mesh" in text, name
    print(name, len(text), divided)
    with gzip.GzipFile(os.path.join(sys.argv[1], name + ".mlir.gz"), "wb", mtime=0) as out:
        out.write(text.encode())
