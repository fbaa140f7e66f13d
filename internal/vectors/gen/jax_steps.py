"""Lowers training steps of Keras models to StableHLO with JAX, for kernels/pjrt/jax_test.go.

    KERAS_BACKEND=jax python jax_steps.py kernels/pjrt/testdata/jax
"""
import gzip
import os
import sys

import jax
import keras
import numpy as np
from keras import layers as K

jax.config.update("jax_default_matmul_precision", "highest")  # as ours: float32 is multiplied as float32


def mlp():
    return keras.Sequential([K.Input((256,)), K.Dense(1024, activation="relu"), K.Dense(1024, activation="relu"), K.Dense(16)]), np.zeros((128, 256), "float32"), np.zeros(128, "int32")

def cnn():
    return keras.Sequential([K.Input((32, 32, 3)), K.Conv2D(32, 3, padding="same", activation="relu"), K.Conv2D(64, 3, padding="same", use_bias=False), K.BatchNormalization(), K.ReLU(), K.MaxPooling2D(), K.Conv2D(64, 3, strides=2, activation="relu"), K.Flatten(), K.Dense(16)]), np.zeros((64, 32, 32, 3), "float32"), np.zeros(64, "int32")

def lstm():
    return keras.Sequential([K.Input((32,), dtype="int32"), K.Embedding(1000, 128), K.LSTM(128), K.Dense(16)]), np.zeros((64, 32), "int32"), np.zeros(64, "int32")

def gpt():
    ids = K.Input((64,), dtype="int32")
    x = K.Embedding(512, 128)(ids)
    for _ in range(2):
        n = K.LayerNormalization()(x)
        x = K.Add()([x, K.MultiHeadAttention(4, 32)(n, n, use_causal_mask=True)])
        n = K.LayerNormalization()(x)
        x = K.Add()([x, K.Dense(128)(K.Dense(512, activation="gelu")(n))])
    return keras.Model(ids, K.Dense(512)(K.LayerNormalization()(x))), np.zeros((16, 64), "int32"), np.zeros((16, 64), "int32")

for f in (mlp, cnn, lstm, gpt):
    keras.utils.clear_session()
    m, x, y = f()
    m.compile(keras.optimizers.Adam(), keras.losses.SparseCategoricalCrossentropy(from_logits=True), metrics=["accuracy"])
    m._symbolic_build(data_batch=(x, y))
    state = tuple([v.value for v in part] for part in (m.trainable_variables, m.non_trainable_variables, m.optimizer.variables, m.metrics_variables))
    text = jax.jit(m.train_step, donate_argnums=0).lower(state, (x, y, None)).as_text()
    with gzip.GzipFile(os.path.join(sys.argv[1], f.__name__ + ".mlir.gz"), "wb", mtime=0) as out:
        out.write(text.encode())
