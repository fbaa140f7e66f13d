#!/usr/bin/env python3
"""Writes clahe.json.gz: random settings of ContrastLimitedAdaptiveHistogramEqualization in real Keras (JAX), with images and results."""
import gzip, json, os, random
os.environ["KERAS_BACKEND"] = "jax"
import keras
import numpy as np

rng, cases = random.Random(5), []
np.random.seed(5)
while len(cases) < 24:
    n = len(cases)
    first, single = n % 4 == 1, n % 5 == 2
    height, width, channels, batch = rng.randint(3, 19), rng.randint(3, 19), rng.randint(1, 3), rng.randint(1, 3)
    low, high = rng.choice([(0, 255), (0, 1), (-1, 1), (0.0, 255.0)])
    grid = (rng.randint(1, 4), rng.randint(1, 5)) if n else (8, 8)
    config = {"value_range": (low, high), "clip_limit": rng.choice([4.0, 1.5, 40.0, -1.0]), "tile_grid_size": grid, "data_format": "channels_first" if first else "channels_last"}
    x = np.random.beta(2, 5, size=(batch, height, width, channels)) * (high - low) * 1.04 + low
    dtype = "int32" if high == 255 and n % 3 == 0 else "float32"
    x = x.astype(dtype)
    x = np.moveaxis(x, -1, 1) if first else x
    x = x[0] if single else x
    layer = keras.layers.ContrastLimitedAdaptiveHistogramEqualization(**config)
    y = np.array(layer(x))
    entry = lambda a: {"shape": a.shape, "dtype": str(a.dtype), "data": [float(v) for v in a.ravel()]}
    cases.append({"config": layer.get_config(), "input": entry(x), "output": entry(y)})
with gzip.GzipFile(os.path.join(os.path.dirname(__file__), "clahe.json.gz"), "wb", mtime=0) as f:
    f.write(json.dumps({"cases": cases}).encode())
