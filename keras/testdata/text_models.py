"""Models on text, written by Keras: text_models/*.keras, and what they predict, in text_models.json. Run from here:

    KERAS_BACKEND=tensorflow python text_models.py

Made with Keras 3.15.1, TensorFlow 2.21.0. The tests only read the files.
"""

import json
import os

os.environ.setdefault("KERAS_BACKEND", "tensorflow")
import keras
import numpy as np
import tensorflow as tf
from keras import layers as K

TEXTS = ["good film", "a very good story", "bad film", "a bad, bad story", "Good GOOD!", "so bad", "", "unseen words only"]


def model(name, text):
    keras.utils.set_random_seed(3)
    x = keras.Input((1,), dtype="string", name="text")
    if name == "sequence":
        layer = K.TextVectorization(output_sequence_length=4, ngrams=2)
        layer.adapt(text)
        y = K.GlobalAveragePooling1D()(K.Embedding(layer.vocabulary_size(), 3)(layer(x)))
    elif name == "tf_idf":
        layer = K.TextVectorization(output_mode="tf_idf", max_tokens=9, pad_to_max_tokens=True)
        layer.adapt(text)
        y = layer(x)
    else:
        words = K.StringLookup(output_mode="one_hot", vocabulary=TEXTS[:3])
        bins = K.Hashing(5, output_mode="one_hot", salt=7)
        y = K.Concatenate()([keras.ops.cast(words(x), "float32"), keras.ops.cast(bins(x), "float32")])
    return keras.Model(x, K.Dense(2)(y))


expected = {}
os.makedirs("text_models", exist_ok=True)
for name in ("sequence", "tf_idf", "whole"):
    m = model(name, np.array(TEXTS[:6]))
    m.save(f"text_models/{name}.keras")
    expected[name] = m(tf.constant([[t] for t in TEXTS])).numpy().tolist()
with open("text_models.json", "w") as f:
    json.dump({"generator": "text_models.py", "versions": f"Keras {keras.__version__}, TensorFlow {tf.__version__}", "texts": TEXTS, "expected": expected}, f, indent=1)
    f.write("\n")
