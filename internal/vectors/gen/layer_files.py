"""Models with layers whose files are worth a test: what Keras writes and what it computes from it.

Run: KERAS_BACKEND=jax python gen/layer_files.py <folder layers/testdata>
Versions: see common.py.

layer_files.json.gz holds one JSON object, name to
  file      the .keras file, in base64
  document  model.to_json()
  inputs    lists of arrays {shape, dtype, data}, and
  outputs   what the model predicts from them
The archives hold the time of writing, so a second run gives other bytes.
"""

import base64
import gzip
import io
import json
import os
import sys
import tempfile

import numpy as np

import common
import keras
from keras import layers as K


def language(**kw):
    """Numbers are looked up, changed, and turned back into scores."""
    ids = keras.Input((5,), dtype="int32", name="ids")
    table = K.ReversibleEmbedding(7, 4, name="table", **kw)
    h = table(ids)
    h = K.Dense(4, activation="tanh", name="dense")(K.LSTM(4, return_sequences=True, name="lstm")(h))
    return keras.Model(ids, K.Softmax(name="softmax")(table(h, reverse=True)))


def augmented():
    x = keras.Input((6, 5, 3), name="images")
    y = x
    for layer in (K.MixUp(alpha=0.4, seed=3), K.CutMix(factor=0.7), K.RandAugment(value_range=(0, 1), num_ops=3, factor=(0.1, 0.2), interpolation="nearest"),
                  K.RandomPerspective(factor=0.3, scale=0.5, fill_value=0.5, seed=7), K.RandomElasticTransform(factor=(0.1, 0.4), scale=0.5, fill_mode="mirror", value_range=(0, 1)),
                  K.AugMix(value_range=(0, 1), num_chains=2, chain_depth=4, factor=0.2, alpha=0.5, all_ops=False, seed=1),
                  K.MixUp(), K.CutMix(), K.RandAugment(), K.RandomPerspective(), K.RandomElasticTransform(), K.AugMix()):
        y = layer(y)
    return keras.Model(x, K.GlobalAveragePooling2D()(y))


def mixing():
    d = {"images": keras.Input((4, 4, 1), name="images"), "labels": keras.Input((3,), name="labels"), "segmentation_masks": keras.Input((4, 4, 1), name="masks")}
    inputs = list(d.values())
    return keras.Model(inputs, K.CutMix(name="cut")(K.MixUp(name="mix")(d)))


def array(v):
    v = np.asarray(v)
    return {"shape": list(v.shape), "dtype": str(v.dtype), "data": v.reshape(-1).tolist()}


def main():
    out = {}
    r = common.rng("layer files")
    ids = r.integers(0, 7, (3, 5)).astype("int32")
    ids[0, 3:] = 0
    images = r.random((2, 6, 5, 3)).astype("float32")
    rows = {
        "tied": (language, {}, [ids]),
        "untied": (language, {"tie_weights": False, "mask_zero": True, "embeddings_initializer": "glorot_normal"}, [ids]),
        "capped": (language, {"logit_soft_cap": 0.4, "reverse_dtype": "float32", "dtype": "mixed_bfloat16"}, [ids]),
        "augmented": (augmented, {}, [images]),
        "mixing": (mixing, {}, [r.random((2, 4, 4, 1)).astype("float32"), np.eye(3, dtype="float32")[:2], r.random((2, 4, 4, 1)).astype("float32")]),
    }
    for name, (make, kw, inputs) in rows.items():
        common.reset()
        keras.utils.set_random_seed(len(out))
        model = make(**kw)
        for w in model.weights:
            w.assign(np.round(r.normal(size=w.shape), 3))
        y = model.predict_on_batch(inputs if len(inputs) > 1 else inputs[0])
        y = [y[k] for k in sorted(y)] if isinstance(y, dict) else [y]
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "model.keras")
            model.save(path)
            raw = open(path, "rb").read()
        out[name] = {"file": base64.b64encode(raw).decode(), "document": json.loads(model.to_json()),
                     "inputs": [array(x) for x in inputs], "outputs": [array(np.asarray(v, "float32")) for v in y]}
    raw = io.BytesIO()
    with gzip.GzipFile(fileobj=raw, mode="wb", filename="", mtime=0, compresslevel=9) as f:
        f.write(json.dumps({"generator": "layer_files.py", "versions": common.versions(), "models": out}).encode())
    path = os.path.join(sys.argv[1], "layer_files.json.gz")
    with open(path, "wb") as f:
        f.write(raw.getvalue())
    print(path, len(raw.getvalue()), "bytes")


main()
