"""Keras on TensorFlow on the cases of cases.go: processor time, for the files that benchdata made."""
import os
import resource
import sys

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["CUDA_VISIBLE_DEVICES"] = ""
os.environ["KERAS_BACKEND"] = "tensorflow"

import keras
import numpy as np
import tensorflow as tf
from keras import layers

folder = sys.argv[1]
only = " ".join(sys.argv[2:])


def processor_time():
    u = resource.getrusage(resource.RUSAGE_SELF)
    return u.ru_utime + u.ru_stime


def measure(name, run, prepare=None):
    if only not in name:
        return
    if prepare:
        prepare()
    best = float("inf")
    for _ in range(3):
        before = processor_time()
        run()
        best = min(best, processor_time() - before)
    print(f"{name}\t{best * 1e3:.1f}", flush=True)


n = 20000 * 1280
x = (((np.arange(n, dtype="int64") * 7919) % 9973) / 97).astype("float32")
places = (np.arange(1000000, dtype="int64") * 7919) % 30011
inputs = {
    "texts": np.array(open(os.path.join(folder, "texts.txt")).read().splitlines()),
    "words": np.array([f"w{i}" for i in places])[:, None],
    "ids": places[:, None],
    "wide": x.reshape(20000, 1280),
    "narrow": x[:4000000].reshape(-1, 4),
    "images": x[: 100 * 64 * 64 * 32].reshape(-1, 64, 64),
}


def consume(dataset):
    for _ in dataset:
        pass


for name, which, make, learns in [
    ("Normalization", "wide", lambda: layers.Normalization(), True),
    ("Normalization, one mean", "wide", lambda: layers.Normalization(axis=None), True),
    ("Normalization, axis 1", "images", lambda: layers.Normalization(axis=1), True),
    ("Discretization", "narrow", lambda: layers.Discretization(num_bins=20), True),
    ("TextVectorization", "texts", lambda: layers.TextVectorization(20000, output_sequence_length=200), True),
    ("TextVectorization, tf_idf", "texts", lambda: layers.TextVectorization(1000, output_mode="tf_idf"), True),
    ("TextVectorization, pairs", "texts", lambda: layers.TextVectorization(20000, ngrams=(2,), output_sequence_length=200), True),
    ("TextVectorization, characters", "texts", lambda: layers.TextVectorization(split="character", output_sequence_length=200), True),
    ("StringLookup", "words", lambda: layers.StringLookup(), True),
    ("StringLookup, multi_hot", "words", lambda: layers.StringLookup(max_tokens=64, output_mode="multi_hot"), True),
    ("IntegerLookup", "ids", lambda: layers.IntegerLookup(), True),
    ("Hashing", "words", lambda: layers.Hashing(1000), False),
    ("CategoryEncoding", "ids", lambda: layers.CategoryEncoding(64, output_mode="multi_hot"), False),
]:
    data, layer = inputs[which], make()
    if name == "CategoryEncoding":
        data = data % 64
    if learns:
        measure("adapt " + name, lambda: make().adapt(data))
    dataset = []

    def prepare():
        if learns:
            layer.adapt(data)
        dataset.append(tf.data.Dataset.from_tensor_slices(data).batch(1024).map(layer))

    measure("call " + name, lambda: consume(dataset[0]), prepare)


def images(kind, **options):
    path = os.path.join(folder, kind)
    return lambda: consume(keras.utils.image_dataset_from_directory(path, image_size=(224, 224), shuffle=False, verbose=False, **options))


measure("JPEG files to 224 x 224", images("jpg"))
measure("PNG files to 224 x 224", images("png"))
for method in ["bicubic", "area", "lanczos3"]:
    measure("PNG files, " + method, images("png", interpolation=method))
measure("PNG files, cropped", images("png", crop_to_aspect_ratio=True))
table = os.path.join(folder, "table.csv")
measure("CSV of 100,000 x 20", lambda: consume(tf.data.experimental.make_csv_dataset(table, 1024, num_epochs=1, shuffle=False)))
sequences = [[0] * (20 + i % 200) for i in range(50000)]
measure("PadSequences of 50,000", lambda: keras.utils.pad_sequences(sequences))
measure(
    "windows of a time series",
    lambda: consume(keras.utils.timeseries_dataset_from_array(x[: 200000 * 8].reshape(-1, 8), None, 24)),
)
rows = x[: 200000 * 32].reshape(-1, 32)
measure(
    "arrays, shuffled, in batches",
    lambda: consume(tf.data.Dataset.from_tensor_slices(rows).shuffle(10000).batch(64).prefetch(2)),
)
measure("arrays, mapped, in batches", lambda: consume(tf.data.Dataset.from_tensor_slices(rows).map(lambda a: a).batch(64)))
