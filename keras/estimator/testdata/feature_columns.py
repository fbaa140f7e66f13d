"""Records what TensorFlow's feature columns make of a batch: feature_columns.json.gz. Run with TensorFlow 2.21."""

import gzip
import json

import numpy as np
import tensorflow as tf

tf.compat.v1.disable_eager_execution()
fc = tf.feature_column
v1 = tf.compat.v1.feature_column

FEATURES = {
    "x": [[-1.5, 0.0], [0.5, 1.0], [2.0, 3.5], [10.0, -7.0]],
    "age": [[18.0], [25.0], [40.5], [65.0]],
    "city": [["Oslo", "Rome"], ["Paris", ""], ["", ""], ["Oslo", "Oslo"]],
    "long": [["a sentence that is longer than sixteen bytes"], ["x" * 33], ["y" * 70], ["z" * 130]],
    "code": [[3, 1], [-1, 2], [0, 0], [7, -1]],
    "gender": [["f"], ["m"], [""], ["f"]],
}

age = fc.numeric_column("age")
bucketized_age = fc.bucketized_column(age, [18, 25, 65])
vocabulary = fc.categorical_column_with_vocabulary_list("city", ["Rome", "Oslo"])
oov = fc.categorical_column_with_vocabulary_list("city", ["Rome", "Oslo"], num_oov_buckets=3)
default = fc.categorical_column_with_vocabulary_list("city", ["Rome", "Oslo"], default_value=1)
numbers = fc.categorical_column_with_vocabulary_list("code", np.array([7, 0, 3], np.int64))
number_oov = fc.categorical_column_with_vocabulary_list("code", np.array([7, 0], np.int64), num_oov_buckets=4)
identity = fc.categorical_column_with_identity("code", 8)
identity_default = fc.categorical_column_with_identity("code", 3, default_value=1)
hashed = fc.categorical_column_with_hash_bucket("city", 10)
hashed_long = fc.categorical_column_with_hash_bucket("long", 1000)
hashed_code = fc.categorical_column_with_hash_bucket("code", 10, dtype=tf.int64)
crossed = fc.crossed_column(["city", "gender"], 50)
crossed_columns = fc.crossed_column([bucketized_age, vocabulary], 40)
crossed_mixed = fc.crossed_column([bucketized_age, "code", "city"], 60)

DENSE = {
    "numeric": fc.numeric_column("x", shape=(2,)),
    "normalized": fc.numeric_column("x", shape=(2,), normalizer_fn=lambda x: (x - 1.0) / 2.0),
    "bucketized": bucketized_age,
    "bucketized_wide": fc.bucketized_column(fc.numeric_column("x", shape=(2,)), [0.0, 1.0, 2.0]),
}
for name, c in dict(vocabulary=vocabulary, oov=oov, default=default, numbers=numbers, number_oov=number_oov, identity=identity,
                    identity_default=identity_default, hashed=hashed, hashed_long=hashed_long, hashed_code=hashed_code, crossed=crossed,
                    crossed_columns=crossed_columns, crossed_mixed=crossed_mixed).items():
    DENSE[name] = fc.indicator_column(c)


class Ramp(tf.compat.v1.keras.initializers.Initializer):
    """0, 0.1, 0.2, ..."""

    def __call__(self, shape, dtype=None, partition_info=None, **_):
        return tf.reshape(tf.range(int(np.prod(shape)), dtype=tf.float32) * 0.1, shape)


for combiner in ("mean", "sum", "sqrtn"):
    DENSE["embedding_" + combiner] = fc.embedding_column(identity, 3, combiner=combiner, initializer=Ramp())

features = {k: tf.constant(v) for k, v in FEATURES.items()}
features["code"] = tf.constant(FEATURES["code"], tf.int64)
results = {name: v1.input_layer(features, [c]) for name, c in DENSE.items()}

with tf.compat.v1.Session() as s:
    s.run([tf.compat.v1.global_variables_initializer(), tf.compat.v1.tables_initializer()])
    values = s.run(results)

with gzip.GzipFile("feature_columns.json.gz", "wb", mtime=0) as f:
    out = {k: v.tolist() for k, v in values.items()}
    f.write(json.dumps({"tensorflow": tf.__version__, "features": FEATURES, "dense": out}).encode())
