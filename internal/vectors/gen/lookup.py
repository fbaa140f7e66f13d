"""Layers that give words and numbers their places: look-ups, vectorizers of text, hashes.

Run: KERAS_BACKEND=jax python gen/lookup.py <output directory>
Versions: see common.py; TensorFlow computes these layers with every backend.

A case holds
  outputs  "output", but for a StringLookup with invert
  extra    inputs: what the layer is called with, each {shape, strings} or {shape, ints};
           adapt: batches in the same form; vocabulary, idf: of set_vocabulary;
           get_vocabulary, config_after, assets: of the layer afterwards;
           output_strings: the result of a StringLookup with invert
"""

import os
import tempfile

import numpy as np

import common
import keras
from keras import layers as K

ROWS = []


def add(label, make, *inputs, adapt=None, vocabulary=None, idf=None):
    ROWS.append((label, make, inputs, adapt, vocabulary, idf))


def words():
    x = np.array([["a", "b", "zebra"], ["", "é", "c"]])
    vocabulary = ["a", "b", "c", "d"]
    data = [np.array(["a", "b", "a", "c", "b", "a", "é", "", "[UNK]", "zz", "z"])]
    two = [np.array([["a", "b", "a"], ["c", "b", "a"]]), np.array([["x", "x", "x"]])]
    add("vocabulary", lambda: K.StringLookup(vocabulary=vocabulary), x)
    add("mask", lambda: K.StringLookup(vocabulary=vocabulary, mask_token=""), x)
    add("oov=3", lambda: K.StringLookup(vocabulary=vocabulary, num_oov_indices=3, mask_token=""), x)
    add("oov=5,salt", lambda: K.StringLookup(vocabulary=vocabulary, num_oov_indices=5, salt=[133, 137]), x)
    add("oov=0", lambda: K.StringLookup(vocabulary=vocabulary, num_oov_indices=0), np.array(["a", "d", "c"]))
    add("oov_token", lambda: K.StringLookup(oov_token="?"), x, vocabulary=["?", "a", "b"])
    for mode in ("one_hot", "multi_hot", "count"):
        add(f"{mode}", lambda mode=mode: K.StringLookup(vocabulary=vocabulary, output_mode=mode, mask_token=""), x)
        add(f"{mode},column", lambda mode=mode: K.StringLookup(vocabulary=vocabulary, output_mode=mode, max_tokens=9, pad_to_max_tokens=True), x[:, :1])
    add("one_hot,vector", lambda: K.StringLookup(vocabulary=vocabulary, output_mode="one_hot"), x[0])
    add("multi_hot,vector", lambda: K.StringLookup(vocabulary=vocabulary, output_mode="multi_hot"), x[0])
    add("tf_idf", lambda: K.StringLookup(vocabulary=vocabulary, idf_weights=[0.25, 0.75, 0.6, 0.4], output_mode="tf_idf"), x)
    add("tf_idf,padded", lambda: K.StringLookup(output_mode="tf_idf", max_tokens=7, pad_to_max_tokens=True), x, vocabulary=vocabulary, idf=[0.25, 0.75, 0.6, 0.4])
    add("adapt", lambda: K.StringLookup(), x, adapt=data)
    add("adapt,mask", lambda: K.StringLookup(mask_token="", max_tokens=5), x, adapt=data)
    add("adapt,batches", lambda: K.StringLookup(output_mode="count"), x, adapt=two)
    add("adapt,tf_idf", lambda: K.StringLookup(output_mode="tf_idf"), x, adapt=two)
    add("adapt,tf_idf,padded", lambda: K.StringLookup(output_mode="tf_idf", max_tokens=9, pad_to_max_tokens=True), x, adapt=two)
    add("invert", lambda: K.StringLookup(vocabulary=vocabulary, mask_token="", invert=True), np.array([[0, 1, 2], [3, 5, 9]]))


def numbers():
    x = np.array([[12, 1138, 42], [7, 0, -5]])
    large = [2**53 + 1, -(2**60) - 3, 5, 2**62]
    add("vocabulary", lambda: K.IntegerLookup(vocabulary=[12, 36, 1138, 42]), x)
    add("mask", lambda: K.IntegerLookup(vocabulary=[12, 36, 1138, 42], mask_token=0), x)
    add("oov=3", lambda: K.IntegerLookup(vocabulary=[12, 36], num_oov_indices=3, mask_token=0), x)
    add("large", lambda: K.IntegerLookup(vocabulary=large), np.array([large, [2**53, 2**53 + 2, 2**62 + 1, -(2**60)]]))
    add("one", lambda: K.IntegerLookup(vocabulary=[42]), x)
    for mode in ("one_hot", "multi_hot", "count"):
        add(f"{mode}", lambda mode=mode: K.IntegerLookup(vocabulary=[12, 36, 1138, 42], output_mode=mode, mask_token=7), x)
    add("tf_idf", lambda: K.IntegerLookup(vocabulary=[12, 42], idf_weights=[0.25, 0.75], output_mode="tf_idf"), x)
    add("adapt", lambda: K.IntegerLookup(), x, adapt=[np.array([[7, 12, 7], [0, -5, 12], [7, 3, 3]])])
    add("adapt,mask", lambda: K.IntegerLookup(mask_token=0, max_tokens=5), x, adapt=[np.array([7, 12, 7, 0, 0, -5, 12, -1, 3, 3, 42])])
    add("adapt,tf_idf", lambda: K.IntegerLookup(output_mode="tf_idf"), x, adapt=[np.array([[7, 12, 7], [0, -5, 12]]), np.array([[7, 3, 3]])])
    add("invert", lambda: K.IntegerLookup(vocabulary=[12, 36, 1138, 42], invert=True, mask_token=0, oov_token=-9), np.array([[0, 1, 2], [3, 5, 9]]))
    add("many", lambda: K.IntegerLookup(vocabulary=[3 * i * i - 50 for i in range(100)]), np.arange(-60, 60).reshape(10, 12))


def texts():
    x = np.array([["The quick, brown FOX\tjumps!"], ["over  the lazy dog's  tail"], [""], ["Straße ÉTÉ naïve 日本 x"], ["fox fox dog"]])
    data = [x[:2], np.array([["The dog, the fox."], ["A FOX a-b c_d"]])]
    vocabulary = ["fox", "dog", "the", "quick", "x"]
    add("vocabulary", lambda: K.TextVectorization(vocabulary=vocabulary), x)
    add("length=3", lambda: K.TextVectorization(vocabulary=vocabulary, output_sequence_length=3), x)
    add("length=9", lambda: K.TextVectorization(vocabulary=vocabulary, output_sequence_length=9), x[:, 0])
    for mode in ("multi_hot", "count"):
        add(f"{mode}", lambda mode=mode: K.TextVectorization(vocabulary=vocabulary, output_mode=mode), x)
        add(f"{mode},padded", lambda mode=mode: K.TextVectorization(vocabulary=vocabulary, output_mode=mode, max_tokens=10, pad_to_max_tokens=True), x)
    add("tf_idf", lambda: K.TextVectorization(vocabulary=vocabulary, output_mode="tf_idf", idf_weights=[0.5, 1, 0.25, 2, 1.5]), x)
    add("adapt", lambda: K.TextVectorization(), x, adapt=data)
    add("adapt,max_tokens", lambda: K.TextVectorization(max_tokens=6), x, adapt=data)
    add("adapt,tf_idf", lambda: K.TextVectorization(output_mode="tf_idf"), x, adapt=data)
    for standardize in (None, "lower", "strip_punctuation"):
        add(f"adapt,standardize={standardize}", lambda s=standardize: K.TextVectorization(standardize=s), x, adapt=data)
    add("adapt,character", lambda: K.TextVectorization(split="character", output_sequence_length=12), x, adapt=data)
    add("adapt,whole", lambda: K.TextVectorization(split=None), x, adapt=data)
    add("adapt,ngrams=2", lambda: K.TextVectorization(ngrams=2), x, adapt=data)
    add("adapt,ngrams=(1,3)", lambda: K.TextVectorization(ngrams=(1, 3), output_mode="count"), x, adapt=data)
    add("set_vocabulary", lambda: K.TextVectorization(output_sequence_length=4), x, vocabulary=["", "[UNK]", "fox", "the"])


def hashes():
    r = common.rng("hashes")
    letters = np.array(list("abcdefghijklmnopqrstuvwxyz0123456789 é日"))
    every = np.array([["".join(r.choice(letters, n))] for n in [*range(0, 140), 191, 192, 193, 256, 257, 511, 1000]])
    add("every_length", lambda: K.Hashing(2**31 - 1), every)
    add("every_length,salt", lambda: K.Hashing(2**31 - 1, salt=[1234567, 7654321]), every)
    x = np.array([["A", "B", "mask"], ["D", "", "A"]])
    add("salt=7", lambda: K.Hashing(5, salt=7), x)
    add("mask", lambda: K.Hashing(5, mask_value="mask"), x)
    add("mask,salt", lambda: K.Hashing(5, mask_value="", salt=[3, 4]), x)
    add("integers", lambda: K.Hashing(50), np.array([[0, 1, -7], [123456789, 2**40, 99]]))
    add("integers,mask", lambda: K.Hashing(50, mask_value=0), np.array([[0, 1, -7], [123456789, 2**40, 99]]))
    for mode in ("one_hot", "multi_hot", "count"):
        add(f"{mode}", lambda mode=mode: K.Hashing(4, output_mode=mode), x)
        add(f"{mode},column", lambda mode=mode: K.Hashing(4, output_mode=mode), x[:, :1])
    add("words", lambda: K.HashedCrossing(2**31 - 1), every[:40, 0], every[100:140, 0])
    add("mixed", lambda: K.HashedCrossing(1000), np.array(["A", "B", "A", "C"]), np.array([101, 2**40, -3, 0]))
    add("three,column", lambda: K.HashedCrossing(7), np.array([["A"], ["B"]]), np.array([[1], [2]]), np.array([["x"], ["y"]]))
    add("one_hot", lambda: K.HashedCrossing(5, output_mode="one_hot"), np.array([["A"], ["B"]]), np.array([[1], [2]]))
    add("one_hot,vector", lambda: K.HashedCrossing(5, output_mode="one_hot"), np.array(["A", "B"]), np.array([1, 2]))


def plain(a):
    key = "strings" if a.dtype.kind == "U" else "ints"
    return {"shape": list(a.shape), key: a.ravel().tolist()}


def run(w, row):
    import tensorflow as tf

    label, make, inputs, adapt, vocabulary, idf = row
    common.reset()
    layer = make()
    name, config = common.object_config(layer)
    extra = {"inputs": [plain(a) for a in inputs]}
    if adapt:
        extra["adapt"] = [plain(a) for a in adapt]
        layer.adapt(adapt[0] if len(adapt) == 1 else (b for b in adapt))
    if vocabulary:
        extra["vocabulary"] = vocabulary
        if idf:
            extra["idf"] = idf
            layer.set_vocabulary(vocabulary, idf_weights=idf)
        else:
            layer.set_vocabulary(vocabulary)
    # As a tensor of TensorFlow, so that whole numbers stay 64 bits wide.
    args = [tf.constant(a) for a in inputs]
    output = layer(args[0] if len(args) == 1 else args)
    outputs = None
    if getattr(layer, "invert", False) and name == "StringLookup":
        extra["output_strings"] = [s.decode() for s in np.asarray(output).ravel().tolist()]
    else:
        outputs = {"output": np.asarray(output)}
    if hasattr(layer, "get_vocabulary"):
        extra["get_vocabulary"] = [v.item() if hasattr(v, "item") else v for v in layer.get_vocabulary()]
        with tempfile.TemporaryDirectory() as folder:
            layer.save_assets(folder)
            for file in os.listdir(folder):
                extra.setdefault("assets", {})[file] = open(os.path.join(folder, file)).read()
    extra["config_after"] = common.object_config(layer)[1]
    w.case(f"{name}/{label}", name, config, common.DTYPE, None, outputs, extra=extra)


def main():
    w = common.Writer("lookup", __file__)
    for table in (words, numbers, texts, hashes):
        table()
    failed = 0
    for row in ROWS:
        try:
            run(w, row)
        except Exception as e:
            failed += 1
            print("FAILED", row[0], common.DTYPE, type(e).__name__, str(e)[:300])
    w.write(common.out_dir())
    if failed:
        raise SystemExit(f"{failed} cases failed")


common.run(main, ["float32"])
