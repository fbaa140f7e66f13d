"""Training vectors: small models trained with shuffle=False.

Run: KERAS_BACKEND=jax python gen/fit.py <output directory>
     KERAS_BACKEND=tensorflow python gen/fit.py <output directory>
Versions: see common.py.

With the JAX backend this writes the set "fit"; with TensorFlow "fit_tensorflow",
which holds only what JAX does differently from the documented behaviour (it loses
masks on their way to metrics) plus a few scenarios of "fit" for comparison.

A case holds
  config     the document model.to_json() writes, compile_config included
  inputs     x or x/<input name>; y or y/<output name>; sample_weight (or .../<name>);
             val_x, val_y, val_sample_weight alike
  weights    model.weights before training, by path
  outputs    history/<key>: one value per epoch that has the key;
             evaluate/<key>: evaluate(x, y, return_dict=True) after training;
             final/<path>: model.weights after training;
             optimizer/<path>: optimizer variables after training, in file order;
             predict or predict/<output name>: predict(x) after training
  extra      fit: keyword arguments of fit; compile: what was passed, readable;
             history_keys, evaluate_keys: keys in the order of Keras; epochs: history.epoch;
             evaluate_list: evaluate(x, y) without return_dict;
             metrics_names; trainable: one flag per weight; input_names, output_names
             calls (on_batch scenarios): [method, batch slice, returned dict]
"""

import contextlib
import io
import json
import warnings

import numpy as np

import common
import keras
from keras import layers as K
from keras import losses, metrics, optimizers, regularizers, constraints

warnings.filterwarnings("ignore")
D = common.DTYPE
TF = common.BACKEND == "tensorflow"
SCENARIOS = []


def scenario(fn=None, **options):
    def wrap(f):
        SCENARIOS.append((f, options))
        return f
    return wrap(fn) if fn else wrap


def key(name, *more):
    return common.rng("fit", name, *more)


def classes(r, n, c):
    return r.integers(0, c, n).astype("int32")


def onehot(labels, c):
    return np.eye(c)[labels]


def mlp(inputs=4, hidden=5, outputs=3, activation=None, **dense):
    return keras.Sequential([keras.Input((inputs,)), K.Dense(hidden, activation="relu", **dense), K.Dense(outputs, activation=activation)])


def xy(name, n=23, inputs=4, c=3):
    r = key(name)
    return common.grid(r, (n, inputs)), classes(r, n, c)


SCCE = losses.SparseCategoricalCrossentropy


# --------------------------------------------------------------- single output

@scenario(tf=True)
def mlp_sgd():
    x, y = xy("mlp_sgd")
    return mlp(), dict(optimizer=optimizers.SGD(0.1), loss=SCCE(from_logits=True), metrics=["accuracy"]), dict(x=x, y=y), dict(epochs=3, batch_size=5)


@scenario
def mlp_adam_one_hot():
    x, y = xy("mlp_adam")
    return mlp(activation="softmax"), dict(optimizer=optimizers.Adam(0.02), loss="categorical_crossentropy", metrics=["accuracy", "mse", "acc"]), dict(x=x, y=onehot(y, 3)), dict(epochs=3, batch_size=6)


@scenario
def softmax_sparse():
    x, y = xy("softmax_sparse")
    return mlp(activation="softmax"), dict(optimizer=optimizers.SGD(0.2, momentum=0.9, nesterov=True), loss="sparse_categorical_crossentropy", metrics=["sparse_categorical_accuracy", "sparse_categorical_crossentropy"]), dict(x=x, y=y[:, None]), dict(epochs=2, batch_size=4)


@scenario
def logistic_validation_split():
    r = key("logistic")
    x = common.grid(r, (21, 3))
    y = (x.sum(1) > 0.2).astype("float64")
    m = keras.Sequential([keras.Input((3,)), K.Dense(1, activation="sigmoid")])
    return m, dict(optimizer=optimizers.Adam(0.05), loss="binary_crossentropy", metrics=["accuracy", metrics.AUC(), metrics.Precision(), metrics.Recall(name="rec")]), dict(x=x, y=y), dict(epochs=3, batch_size=5, validation_split=0.2)


@scenario(tf=True)
def linear_rmsprop():
    r = key("linear")
    x = common.grid(r, (18, 3))
    y = np.round(x @ [1.0, -2, 0.5] + 3, 3)
    m = keras.Sequential([keras.Input((3,)), K.Dense(1)])
    return m, dict(optimizer=optimizers.RMSprop(0.05, momentum=0.5, centered=True), loss="mse", metrics=["mae", "mape", "MSE", metrics.RootMeanSquaredError()]), dict(x=x, y=y), dict(epochs=4, batch_size=7)


@scenario
def cnn():
    r = key("cnn")
    m = keras.Sequential([keras.Input((7, 9, 2)), K.Conv2D(4, 3, padding="same", activation="relu"), K.MaxPooling2D(), K.Conv2D(3, (2, 3), strides=(1, 2), activation="tanh"), K.AveragePooling2D((2, 1), padding="same"), K.Flatten(), K.Dense(3, activation="softmax")])
    return m, dict(optimizer=optimizers.Adam(0.01), loss="sparse_categorical_crossentropy", metrics=["accuracy"]), dict(x=common.grid(r, (11, 7, 9, 2)), y=classes(r, 11, 3)), dict(epochs=2, batch_size=4)


@scenario
def class_weight():
    x, y = xy("class_weight", c=2)
    m = mlp(outputs=1, activation="sigmoid")
    return m, dict(optimizer=optimizers.SGD(0.3), loss="binary_crossentropy", metrics=["accuracy"], weighted_metrics=["accuracy", "mse"]), dict(x=x, y=y), dict(epochs=2, batch_size=6, class_weight={0: 1.0, 1: 5.0})


@scenario
def class_weight_one_hot_missing_class():
    x, y = xy("class_weight2")
    return mlp(activation="softmax"), dict(optimizer=optimizers.SGD(0.3), loss="categorical_crossentropy"), dict(x=x, y=onehot(y, 3)), dict(epochs=2, batch_size=6, class_weight={0: 0.2, 2: 3.0})


@scenario(tf=True)
def sample_weight_n():
    x, y = xy("sample_weight_n")
    w = np.round(key("sample_weight_n", "w").uniform(0, 3, 23), 2)
    return mlp(), dict(optimizer=optimizers.SGD(0.1), loss=SCCE(from_logits=True), metrics=["accuracy"], weighted_metrics=["accuracy", "sparse_categorical_crossentropy"]), dict(x=x, y=y, sample_weight=w), dict(epochs=2, batch_size=5)


@scenario
def sample_weight_n_sum():
    x, y = xy("sample_weight_n_sum")
    w = np.round(key("sample_weight_n_sum", "w").uniform(0, 3, 23), 2)
    return mlp(), dict(optimizer=optimizers.SGD(0.02), loss=SCCE(from_logits=True, reduction="sum")), dict(x=x, y=y, sample_weight=w), dict(epochs=2, batch_size=5)


@scenario
def sample_weight_n_mean_with_sample_weight():
    x, y = xy("sample_weight_n_mws")
    w = np.round(key("sample_weight_n_mws", "w").uniform(0, 3, 23), 2)
    return mlp(), dict(optimizer=optimizers.SGD(0.1), loss=SCCE(from_logits=True, reduction="mean_with_sample_weight")), dict(x=x, y=y, sample_weight=w), dict(epochs=2, batch_size=5)


def temporal(name, steps=3):
    r = key(name)
    m = keras.Sequential([keras.Input((steps, 2)), K.SimpleRNN(4, return_sequences=True), K.Dense(2)])
    return m, common.grid(r, (13, steps, 2)), classes(r, (13, steps), 2), np.round(r.uniform(0, 2, (13, steps)), 2)


@scenario
def sample_weight_nt():
    m, x, y, w = temporal("sample_weight_nt")
    return m, dict(optimizer=optimizers.Adam(0.03), loss=SCCE(from_logits=True), weighted_metrics=["accuracy"]), dict(x=x, y=y, sample_weight=w), dict(epochs=2, batch_size=5)


@scenario
def sample_weight_nt_mean_with_sample_weight():
    m, x, y, w = temporal("sample_weight_nt_mws")
    return m, dict(optimizer=optimizers.SGD(0.1), loss=SCCE(from_logits=True, reduction="mean_with_sample_weight"), metrics=["accuracy"]), dict(x=x, y=y, sample_weight=w[:, :1]), dict(epochs=2, batch_size=5)


@scenario
def validation_data_weighted():
    x, y = xy("val_data")
    vx, vy = xy("val_data_v", n=9)
    vw = np.round(key("val_data", "w").uniform(0, 2, 9), 2)
    return mlp(), dict(optimizer=optimizers.SGD(0.1), loss=SCCE(from_logits=True), metrics=["accuracy"], weighted_metrics=["accuracy"]), dict(x=x, y=y, val_x=vx, val_y=vy, val_sample_weight=vw), dict(epochs=2, batch_size=8, validation_batch_size=4)


@scenario
def validation_freq_2():
    x, y = xy("val_freq")
    vx, vy = xy("val_freq_v", n=7)
    return mlp(), dict(optimizer=optimizers.SGD(0.1), loss=SCCE(from_logits=True)), dict(x=x, y=y, val_x=vx, val_y=vy), dict(epochs=5, batch_size=10, validation_freq=2)


@scenario
def validation_freq_list_steps():
    x, y = xy("val_freq_list")
    vx, vy = xy("val_freq_list_v", n=10)
    return mlp(), dict(optimizer=optimizers.SGD(0.1), loss=SCCE(from_logits=True)), dict(x=x, y=y, val_x=vx, val_y=vy), dict(epochs=4, batch_size=3, validation_freq=[1, 3], validation_steps=2)


@scenario
def validation_split_weights():
    x, y = xy("val_split_w", n=17)
    w = np.round(key("val_split_w", "w").uniform(0, 2, 17), 2)
    return mlp(), dict(optimizer=optimizers.SGD(0.1), loss=SCCE(from_logits=True), weighted_metrics=["accuracy"]), dict(x=x, y=y, sample_weight=w), dict(epochs=2, batch_size=4, validation_split=0.3)


@scenario
def steps_per_epoch_small():
    x, y = xy("spe_small", n=30)
    return mlp(), dict(optimizer=optimizers.SGD(0.1), loss=SCCE(from_logits=True), metrics=["accuracy"]), dict(x=x, y=y), dict(epochs=3, batch_size=4, steps_per_epoch=2)


@scenario
def steps_per_epoch_runs_dry():
    x, y = xy("spe_dry", n=14)
    return mlp(), dict(optimizer=optimizers.SGD(0.1), loss=SCCE(from_logits=True), metrics=["accuracy"]), dict(x=x, y=y), dict(epochs=3, batch_size=4, steps_per_epoch=3)


@scenario
def steps_per_epoch_without_batch_size():
    x, y = xy("spe_none", n=23)
    return mlp(), dict(optimizer=optimizers.SGD(0.1), loss=SCCE(from_logits=True)), dict(x=x, y=y), dict(epochs=2, steps_per_epoch=4)


@scenario
def steps_per_execution_3():
    x, y = xy("spx", n=23)
    return mlp(), dict(optimizer=optimizers.Adam(0.03), loss=SCCE(from_logits=True), metrics=["accuracy"], steps_per_execution=3), dict(x=x, y=y), dict(epochs=2, batch_size=5)


@scenario
def initial_epoch():
    x, y = xy("initial_epoch")
    return mlp(), dict(optimizer=optimizers.SGD(0.1), loss=SCCE(from_logits=True)), dict(x=x, y=y), dict(epochs=4, initial_epoch=2, batch_size=6)


@scenario
def default_batch_size():
    x, y = xy("default_batch", n=41)
    return mlp(), dict(optimizer=optimizers.SGD(0.1), loss=SCCE(from_logits=True)), dict(x=x, y=y), dict(epochs=2)


@scenario
def metric_names_collide():
    r = key("names")
    x = common.grid(r, (10, 3))
    y = np.round(x @ [[1.0], [-2], [0.5]], 3)
    w = np.round(r.uniform(0, 2, 10), 2)
    m = keras.Sequential([keras.Input((3,)), K.Dense(1)])
    return m, dict(optimizer=optimizers.SGD(0.05), loss=losses.Huber(0.7), metrics=["mse", "mse", metrics.MeanSquaredError(name="mse"), "mae"], weighted_metrics=["mse", "mae"]), dict(x=x, y=y, sample_weight=w), dict(epochs=2, batch_size=4)


@scenario
def ignore_class():
    x, y = xy("ignore_class")
    y[[1, 5, 6, 7, 8, 9, 20]] = -1
    return mlp(), dict(optimizer=optimizers.SGD(0.1), loss=SCCE(from_logits=True, ignore_class=-1)), dict(x=x, y=y), dict(epochs=2, batch_size=5)


@scenario
def l1l2_max_norm():
    x, y = xy("l1l2")
    m = keras.Sequential([keras.Input((4,)), K.Dense(5, activation="tanh", kernel_regularizer=regularizers.L1L2(0.01, 0.02), bias_regularizer="l2", kernel_constraint=constraints.MaxNorm(0.8), activity_regularizer=regularizers.L2(0.03)),
                          K.Dense(3, kernel_constraint=constraints.NonNeg(), bias_constraint="non_neg")])
    return m, dict(optimizer=optimizers.SGD(0.2), loss=SCCE(from_logits=True), metrics=["accuracy"]), dict(x=x, y=y), dict(epochs=2, batch_size=6)


@scenario
def batch_norm():
    x, y = xy("batch_norm", n=25)
    m = keras.Sequential([keras.Input((4,)), K.Dense(5), K.BatchNormalization(momentum=0.8), K.Activation("relu"), K.BatchNormalization(scale=False), K.Dense(3)])
    return m, dict(optimizer=optimizers.SGD(0.1, momentum=0.9), loss=SCCE(from_logits=True), metrics=["accuracy"]), dict(x=x, y=y), dict(epochs=1, batch_size=5, validation_split=0.0)


@scenario
def batch_norm_frozen():
    x, y = xy("batch_norm_frozen", n=13)
    m = keras.Sequential([keras.Input((4,)), K.Dense(5, trainable=False), K.BatchNormalization(trainable=False), K.BatchNormalization(momentum=0.6), K.Dense(3)])
    return m, dict(optimizer=optimizers.Adam(0.05), loss=SCCE(from_logits=True)), dict(x=x, y=y), dict(epochs=2, batch_size=5)


@scenario
def gradient_accumulation():
    x, y = xy("accumulation", n=23)
    return mlp(), dict(optimizer=optimizers.Adam(0.05, gradient_accumulation_steps=3), loss=SCCE(from_logits=True)), dict(x=x, y=y), dict(epochs=2, batch_size=4)


@scenario
def ema():
    x, y = xy("ema")
    return mlp(), dict(optimizer=optimizers.SGD(0.2, use_ema=True, ema_momentum=0.8), loss=SCCE(from_logits=True)), dict(x=x, y=y), dict(epochs=2, batch_size=6)


@scenario
def ema_overwrite():
    x, y = xy("ema_overwrite")
    return mlp(), dict(optimizer=optimizers.SGD(0.2, use_ema=True, ema_momentum=0.7, ema_overwrite_frequency=3), loss=SCCE(from_logits=True)), dict(x=x, y=y), dict(epochs=2, batch_size=5)


@scenario
def adamw_cosine_global_clip():
    x, y = xy("adamw_cosine")
    s = optimizers.schedules.CosineDecay(0.0, 8, alpha=0.1, warmup_target=0.05, warmup_steps=3)
    return mlp(), dict(optimizer=optimizers.AdamW(s, weight_decay=0.1, global_clipnorm=0.3), loss=SCCE(from_logits=True)), dict(x=x, y=y), dict(epochs=3, batch_size=6)


@scenario
def many_optimizers_lion():
    x, y = xy("lion")
    return mlp(), dict(optimizer=optimizers.Lion(0.01, weight_decay=0.1, clipnorm=0.5), loss="sparse_categorical_crossentropy"), dict(x=np.abs(x), y=y), dict(epochs=2, batch_size=6), {"activation": "softmax"}


@scenario
def dropout_rate_zero_and_binary_focal():
    r = key("focal")
    x = common.grid(r, (12, 4))
    y = (r.random((12, 3)) < 0.4).astype("float64")
    m = keras.Sequential([keras.Input((4,)), K.Dense(5, activation="gelu"), K.Dropout(0.0), K.Dense(3)])
    return m, dict(optimizer=optimizers.Nadam(0.02), loss=losses.BinaryFocalCrossentropy(from_logits=True, apply_class_balancing=True), metrics=[metrics.BinaryAccuracy(threshold=0.0), metrics.F1Score(average="macro", threshold=0.4)]), dict(x=x, y=y), dict(epochs=2, batch_size=5)


# ------------------------------------------------------------ functional models

def two_outputs(name):
    r = key(name)
    a, b = keras.Input((3,), name="image"), keras.Input((2,), name="tags")
    h = K.Concatenate()([K.Dense(4, activation="relu", name="left")(a), b])
    out1 = K.Dense(3, name="kind")(h)
    out2 = K.Dense(1, name="price")(h)
    m = keras.Model([a, b], [out1, out2], name="two")
    n = 14
    return m, {"image": common.grid(r, (n, 3)), "tags": common.grid(r, (n, 2))}, {"kind": classes(r, n, 3), "price": common.grid(r, (n, 1))}, r


@scenario
def two_outputs_dict():
    m, x, y, r = two_outputs("two_outputs_dict")
    return m, dict(optimizer=optimizers.Adam(0.02), loss={"kind": SCCE(from_logits=True), "price": "mse"}, loss_weights={"kind": 1.0, "price": 0.3}, metrics={"kind": ["accuracy"], "price": ["mae", "mse"]}), dict(x=x, y=y), dict(epochs=2, batch_size=4)


@scenario
def two_outputs_list():
    m, x, y, r = two_outputs("two_outputs_list")
    w = [np.round(r.uniform(0, 2, 14), 2), np.round(r.uniform(0, 2, 14), 2)]
    return m, dict(optimizer=optimizers.SGD(0.05), loss=[SCCE(from_logits=True), "mae"], loss_weights=[0.5, 2.0], metrics=[["accuracy"], None], weighted_metrics=[None, ["mse"]]), dict(x=[x["image"], x["tags"]], y=[y["kind"], y["price"]], sample_weight=w), dict(epochs=2, batch_size=5)


@scenario
def two_outputs_validation_split():
    m, x, y, r = two_outputs("two_outputs_val")
    return m, dict(optimizer=optimizers.SGD(0.05), loss=[SCCE(from_logits=True), "mse"], metrics=[["accuracy"], ["mae"]]), dict(x=[x["image"], x["tags"]], y=[y["kind"], y["price"]]), dict(epochs=2, batch_size=5, validation_split=0.25)


@scenario
def two_outputs_one_loss():
    m, x, y, r = two_outputs("two_outputs_none")
    return m, dict(optimizer=optimizers.SGD(0.05), loss=[None, "mse"]), dict(x=[x["image"], x["tags"]], y=[y["kind"], y["price"]]), dict(epochs=2, batch_size=5)


@scenario
def dict_outputs():
    r = key("dict_outputs")
    a = keras.Input((3,), name="a")
    h = K.Dense(4, activation="tanh")(a)
    m = keras.Model(a, {"second": K.Dense(2, name="s")(h), "first": K.Dense(1, name="f")(h)})
    y = {"second": common.grid(r, (11, 2)), "first": common.grid(r, (11, 1))}
    return m, dict(optimizer=optimizers.SGD(0.1), loss={"second": "mse", "first": "mae"}, metrics={"first": ["mse"]}), dict(x=common.grid(r, (11, 3)), y=y), dict(epochs=2, batch_size=4)


@scenario
def siamese_shared():
    r = key("siamese")
    a, b = keras.Input((4,), name="a"), keras.Input((4,), name="b")
    enc = K.Dense(3, activation="tanh", name="encoder")
    m = keras.Model([a, b], K.Dense(1, activation="sigmoid", name="match")(K.Multiply()([enc(a), enc(b)])))
    n = 13
    return m, dict(optimizer=optimizers.Adam(0.05), loss="binary_crossentropy", metrics=["accuracy"]), dict(x=[common.grid(r, (n, 4)), common.grid(r, (n, 4))], y=(r.random((n, 1)) < 0.5).astype("float64")), dict(epochs=2, batch_size=5)


@scenario
def nested():
    r = key("nested")
    inner = keras.Sequential([keras.Input((4,)), K.Dense(5, activation="relu"), K.BatchNormalization(momentum=0.5)], name="inner")
    i = keras.Input((4,), name="i")
    branch = keras.Model(i, K.Add()([i, K.Dense(4)(i)]), name="branch")
    x = keras.Input((4,), name="x")
    m = keras.Model(x, K.Dense(3)(inner(branch(x))), name="outer")
    return m, dict(optimizer=optimizers.SGD(0.1, momentum=0.5), loss=SCCE(from_logits=True), metrics=["accuracy"]), dict(x=common.grid(r, (13, 4)), y=classes(r, 13, 3)), dict(epochs=2, batch_size=5)


@scenario
def residual_cnn():
    r = key("resnet")
    x = keras.Input((6, 5, 2), name="x")
    h = K.Conv2D(3, 3, padding="same", use_bias=False)(x)
    h = K.BatchNormalization(momentum=0.9)(h)
    h = K.ReLU()(h)
    h = K.Conv2D(4, 3, strides=2, padding="same")(h)
    s = K.Conv2D(4, 1, strides=2)(x)
    h = K.Activation("relu")(K.Add()([h, s]))
    m = keras.Model(x, K.Dense(3)(K.GlobalAveragePooling2D()(h)))
    return m, dict(optimizer=optimizers.SGD(0.1, momentum=0.9, nesterov=True, weight_decay=1e-2), loss=SCCE(from_logits=True), metrics=["accuracy"]), dict(x=common.grid(r, (9, 6, 5, 2)), y=classes(r, 9, 3)), dict(epochs=2, batch_size=4)


@scenario
def unet_dice():
    r = key("unet")
    x = keras.Input((6, 4, 1), name="x")
    d = K.Conv2D(3, 3, padding="same", activation="relu")(x)
    b = K.Conv2D(4, 3, padding="same", activation="relu")(K.MaxPooling2D()(d))
    u = K.Conv2DTranspose(3, 2, strides=2, activation="relu")(b)
    m = keras.Model(x, K.Conv2D(2, 1, activation="softmax")(K.Concatenate()([d, u])))
    labels = r.integers(0, 2, (7, 6, 4))
    return m, dict(optimizer=optimizers.Adam(0.02), loss=losses.Dice(), metrics=[metrics.OneHotMeanIoU(num_classes=2)]), dict(x=common.grid(r, (7, 6, 4, 1)), y=onehot(labels, 2)), dict(epochs=2, batch_size=3)


@scenario
def transformer():
    r = key("transformer")
    t = keras.Input((5,), dtype="int32", name="tokens")
    h = K.Embedding(8, 6)(t)
    a = K.MultiHeadAttention(2, 3, name="mha")(h, h, use_causal_mask=True)
    h = K.LayerNormalization()(K.Add()([h, a]))
    f = K.Dense(6)(K.Dense(8, activation="gelu")(h))
    h = K.LayerNormalization()(K.Add()([h, f]))
    m = keras.Model(t, K.Dense(8)(h))
    tokens = r.integers(0, 8, (9, 6)).astype("int32")
    y = tokens[:, 1:].copy()
    y[2, 3:] = -1
    return m, dict(optimizer=optimizers.AdamW(0.02, weight_decay=0.01, global_clipnorm=1.0), loss=SCCE(from_logits=True, ignore_class=-1)), dict(x=tokens[:, :5], y=y), dict(epochs=2, batch_size=4)


# ---------------------------------------------------------------- recurrent nets

def padded(r, n, steps, vocab):
    x = r.integers(1, vocab, (n, steps)).astype("int32")
    for i in range(n):
        x[i, r.integers(2, steps + 1):] = 0
    return x


@scenario
def lstm_embedding_mask():
    r = key("lstm_mask")
    m = keras.Sequential([keras.Input((6,), dtype="int32"), K.Embedding(7, 4, mask_zero=True), K.LSTM(5), K.Dense(1, activation="sigmoid")])
    return m, dict(optimizer=optimizers.Adam(0.03), loss="binary_crossentropy", metrics=["accuracy"]), dict(x=padded(r, 11, 6, 7), y=(r.random(11) < 0.5).astype("float64")), dict(epochs=2, batch_size=4)


def tagging(name):
    r = key(name)
    m = keras.Sequential([keras.Input((5,), dtype="int32"), K.Embedding(6, 3, mask_zero=True), K.LSTM(4, return_sequences=True), K.Dense(3)])
    return m, padded(r, 11, 5, 6), classes(r, (11, 5), 3), np.round(r.uniform(0, 2, (11, 5)), 2)


@scenario(tf=True)
def lstm_masked_loss():
    m, x, y, w = tagging("lstm_masked_loss")
    return m, dict(optimizer=optimizers.SGD(0.2), loss=SCCE(from_logits=True)), dict(x=x, y=y), dict(epochs=2, batch_size=4)


@scenario(tf=True)
def lstm_masked_loss_weights():
    m, x, y, w = tagging("lstm_masked_loss_weights")
    return m, dict(optimizer=optimizers.SGD(0.2), loss=SCCE(from_logits=True)), dict(x=x, y=y, sample_weight=w), dict(epochs=2, batch_size=4)


@scenario(only="tensorflow")
def lstm_masked_loss_and_metrics():
    m, x, y, w = tagging("lstm_masked_metrics")
    return m, dict(optimizer=optimizers.SGD(0.2), loss=SCCE(from_logits=True), metrics=["accuracy"], weighted_metrics=["accuracy", "sparse_categorical_crossentropy"]), dict(x=x, y=y, sample_weight=w), dict(epochs=2, batch_size=4)


@scenario(only="tensorflow")
def lstm_masked_metrics_only():
    m, x, y, w = tagging("lstm_masked_metrics2")
    return m, dict(optimizer=optimizers.SGD(0.2), loss=SCCE(from_logits=True, reduction="sum"), metrics=["accuracy"]), dict(x=x, y=y), dict(epochs=2, batch_size=4, validation_split=0.3)


@scenario
def bidirectional_gru():
    r = key("bidirectional")
    m = keras.Sequential([keras.Input((4, 3)), K.Masking(), K.Bidirectional(K.GRU(3, return_sequences=True), merge_mode="sum"), K.TimeDistributed(K.Dense(2, activation="relu")), K.GlobalAveragePooling1D(), K.Dense(1)])
    x = common.grid(r, (9, 4, 3))
    x[2, 2:] = x[5, 3:] = 0
    return m, dict(optimizer=optimizers.RMSprop(0.01), loss="mae"), dict(x=x, y=common.grid(r, (9, 1))), dict(epochs=2, batch_size=4)


@scenario
def stacked_rnn():
    r = key("stacked")
    m = keras.Sequential([keras.Input((4, 2)), K.RNN([K.LSTMCell(3), K.GRUCell(2, reset_after=False)], return_sequences=True), K.SimpleRNN(3, go_backwards=True), K.Dense(2)])
    return m, dict(optimizer=optimizers.Adam(0.02), loss="mse"), dict(x=common.grid(r, (9, 4, 2)), y=common.grid(r, (9, 2))), dict(epochs=2, batch_size=4)


# --------------------------------------------------------------- mixed precision

@scenario(policy="mixed_bfloat16")
def mixed_bfloat16():
    x, y = xy("mixed_bf16")
    return mlp(), dict(optimizer=optimizers.SGD(0.1), loss=SCCE(from_logits=True), metrics=["accuracy"]), dict(x=x, y=y), dict(epochs=2, batch_size=6)


@scenario(policy="mixed_float16")
def mixed_float16():
    x, y = xy("mixed_f16")
    return mlp(), dict(optimizer=optimizers.SGD(0.1), loss=SCCE(from_logits=True), metrics=["accuracy"]), dict(x=x, y=y), dict(epochs=2, batch_size=6)


# -------------------------------------------------------------------- on_batch

def on_batch(w):
    """train_on_batch, test_on_batch, predict_on_batch one after the other."""
    common.reset()
    x, y = xy("on_batch", n=12)
    sw = np.round(key("on_batch", "w").uniform(0, 2, 12), 2)
    m = mlp()
    set_weights(m, "on_batch")
    m.compile(optimizer=optimizers.Adam(0.05), loss=SCCE(from_logits=True), metrics=["accuracy"])
    start = [(v.path, common.numpy(v)) for v in m.weights]
    x = x.astype(D)
    calls, outputs = [], []
    plan = [("train_on_batch", 0, 5, {}), ("train_on_batch", 5, 9, {}), ("test_on_batch", 0, 7, {}), ("train_on_batch", 2, 8, {"sample_weight": True}),
            ("train_on_batch", 0, 6, {"class_weight": {0: 2.0, 1: 0.5}}), ("test_on_batch", 3, 12, {"sample_weight": True}), ("predict_on_batch", 0, 4, {})]
    for i, (method, a, b, kw) in enumerate(plan):
        call = {k: (sw[a:b].astype(D) if k == "sample_weight" else v) for k, v in kw.items()}
        if method == "predict_on_batch":
            outputs.append((f"call_{i}", m.predict_on_batch(x[a:b])))
            keys = []
        else:
            res = getattr(m, method)(x[a:b], y[a:b], return_dict=True, **call)
            keys = list(res)
            outputs.append((f"call_{i}", np.array([float(res[k]) for k in keys], D)))
        calls.append({"method": method, "from": a, "to": b, "keys": keys, **kw})
    outputs += [("final/" + v.path, common.numpy(v)) for v in m.weights]
    w.case("on_batch", "Sequential", json.loads(m.to_json()), D, inputs={"x": x, "y": y, "sample_weight": sw.astype(D)}, outputs=outputs, weights=start,
           extra={"calls": calls})


# ---------------------------------------------------------------------- running

def set_weights(model, name):
    r = common.rng("fit", name, "weights")
    for v in model.weights:
        shape = tuple(v.shape)
        if "variance" in v.path:
            value = np.round(r.uniform(0.5, 1.5, shape), 3)
        elif "gamma" in v.path:
            value = np.round(r.uniform(0.5, 1.5, shape), 3)
        elif len(shape) > 1:
            fan = np.prod(shape[:-1])
            value = common.grid(r, shape, 1.0 / np.sqrt(fan))
        else:
            value = common.grid(r, shape, 0.1)
        v.assign(value)


def cast(value):
    if isinstance(value, dict):
        return {k: cast(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [cast(v) for v in value]
    return value.astype(D) if value is not None and value.dtype == np.float64 else value


def named(prefix, value, names):
    if value is None:
        return []
    if isinstance(value, dict):
        return [(f"{prefix}/{k}", v) for k, v in value.items()]
    if isinstance(value, (list, tuple)):
        return [(f"{prefix}/{n}", v) for n, v in zip(names, value)]
    return [(prefix, value)]


def run(w, fn, options):
    policy = options.get("policy")
    common.reset()
    if policy:
        keras.config.set_dtype_policy(policy)
    name = fn.__name__
    model, comp, data, fit_kw, *_ = fn()
    set_weights(model, name)
    data = {k: cast(v) for k, v in data.items()}
    model.compile(**comp)
    document = json.loads(model.to_json())
    start = [(v.path, common.numpy(v)) for v in model.weights]
    kwargs = dict(fit_kw)
    if "val_x" in data:
        v = (data["val_x"], data["val_y"])
        if "val_sample_weight" in data:
            v += (data["val_sample_weight"],)
        kwargs["validation_data"] = v
    with contextlib.redirect_stdout(io.StringIO()):
        history = model.fit(data["x"], data["y"], sample_weight=data.get("sample_weight"), shuffle=False, verbose=0, **kwargs)
        for v in model.weights:  # with EMA they share memory with the optimizer's averages
            v.assign(common.numpy(v).copy())
        ev = model.evaluate(data["x"], data["y"], sample_weight=data.get("sample_weight"), batch_size=4, verbose=0, return_dict=True)
        ev_list = model.evaluate(data["x"], data["y"], sample_weight=data.get("sample_weight"), batch_size=4, verbose=0)
        pred = model.predict(data["x"], batch_size=4, verbose=0)
    outputs = [(f"history/{k}", np.array(v, D)) for k, v in history.history.items()]
    outputs += [(f"evaluate/{k}", np.array(v, D)) for k, v in ev.items()]
    outputs += [("final/" + v.path, common.numpy(v)) for v in model.weights]
    outputs += [("optimizer/" + v.path, common.numpy(v)) for v in model.optimizer.variables]
    output_names = list(getattr(model, "output_names", [model.layers[-1].name]))
    outputs += named("predict", pred, output_names)
    inputs = []
    input_names = [t.name for t in model.inputs]
    for k in ("x", "val_x"):
        inputs += named(k, data.get(k), input_names)
    for k in ("y", "sample_weight", "val_y", "val_sample_weight"):
        inputs += named(k, data.get(k), output_names)
    readable = {k: describe(v) for k, v in comp.items()}
    extra = {"fit": {**fit_kw, "shuffle": False}, "compile": readable, "history_keys": list(history.history), "epochs": history.epoch,
             "evaluate_keys": list(ev), "evaluate_batch_size": 4,
             "evaluate_list": [float(v) for v in (ev_list if isinstance(ev_list, list) else [ev_list])],
             "metrics_names": model.metrics_names, "trainable": [v.trainable for v in model.weights],
             "input_names": input_names, "output_names": output_names}
    tol = {"mixed_bfloat16": dict(rtol=0.03, atol=0.03), "mixed_float16": dict(rtol=0.005, atol=0.005)}.get(policy, dict(rtol=None, atol=None))
    if not policy and D == "float32":
        tol = dict(rtol=1e-5, atol=2e-6)
    w.case(name, document["class_name"], document, policy or D, inputs=inputs, outputs=outputs, weights=start, extra=extra, **tol)


def describe(value):
    if isinstance(value, dict):
        return {k: describe(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [describe(v) for v in value]
    if value is None or isinstance(value, (str, int, float, bool)):
        return value
    cls, config = common.object_config(value)
    return {"class_name": cls, "config": config}


def main():
    w = common.Writer("fit_tensorflow" if TF else "fit", __file__)
    failed = 0
    for fn, options in SCENARIOS:
        if TF and not (options.get("tf") or options.get("only") == "tensorflow"):
            continue
        if not TF and options.get("only") == "tensorflow":
            continue
        if options.get("policy") and D != "float32":
            continue
        try:
            run(w, fn, options)
        except Exception as e:
            failed += 1
            import traceback
            print("FAILED", fn.__name__, D, type(e).__name__, str(e)[:600], traceback.format_exc()[-600:])
    if not TF:
        on_batch(w)
    w.write(common.out_dir())
    if failed:
        print(f"{failed} scenarios failed")


common.run(main)
