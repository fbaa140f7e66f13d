"""Writes nested_host.keras and nested_host.json: a model of Keras with preprocessing in models inside it, and what it predicts.

    KERAS_BACKEND=tensorflow python nested_host.py
"""
import json

import keras
import numpy as np
from keras import layers

keras.utils.set_random_seed(7)
word = keras.Input((1,), dtype="string", name="word")
number = keras.Input((3,), dtype="int64", name="number")
lookup = layers.StringLookup(vocabulary=["red", "green", "blue"], output_mode="one_hot")
words = keras.Model(word, lookup(word), name="words")
hashed = keras.Model(number, layers.Hashing(num_bins=5)(number), name="hashed")
both_word, both_number = keras.Input((1,), dtype="string", name="w"), keras.Input((3,), dtype="int64", name="n")
both = keras.Model([both_word, both_number], [words(both_word), hashed(both_number), both_number], name="both")

w, n = keras.Input((1,), dtype="string", name="color"), keras.Input((3,), dtype="int64", name="sizes")
one_hot, bins, sizes = both([w, n])
x = layers.Concatenate()([one_hot, layers.Flatten()(layers.Embedding(5, 2)(bins)), layers.Rescaling(0.01)(sizes), words(w)])
model = keras.Model([w, n], layers.Dense(2)(x))
colors = np.array([["green"], ["red"], ["violet"], ["blue"]])
numbers = np.array([[1, 2, 3], [10, 20, 30], [-4, 5, 600], [7, 7, 8]], "int64")
import tensorflow as tf

out = model([tf.constant(colors), tf.constant(numbers)])
model.save("nested_host.keras")
with open("nested_host.json", "w") as f:
    json.dump({"keras": keras.__version__, "colors": colors.ravel().tolist(), "numbers": numbers.ravel().tolist(), "output": np.asarray(out).ravel().tolist()}, f)
