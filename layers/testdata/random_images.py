#!/usr/bin/env python3
"""Prints random settings of image layers, images of random sizes, types and forms, and what real Keras (JAX) makes of them in inference.

    random_images.py SEED COUNT
"""
import json, os, random, sys, warnings
os.environ["KERAS_BACKEND"] = "jax"
warnings.filterwarnings("ignore")
import keras
import numpy as np

rng = random.Random(int(sys.argv[1]))
noise = np.random.default_rng(int(sys.argv[1]))
L = keras.layers
FORMATS = ["channels_last", "channels_first"]


def settings():
    size = dict(height=rng.randint(1, 12), width=rng.randint(1, 12))
    form = dict(data_format=rng.choice(FORMATS))
    factor = rng.uniform(0, 0.9)
    return rng.choice([
        lambda: L.Resizing(**size, **form, interpolation=rng.choice(["nearest", "bilinear", "bicubic", "lanczos3", "lanczos5"]), antialias=rng.random() < 0.4,
                           crop_to_aspect_ratio=rng.random() < 0.3),
        lambda: L.Resizing(**size, **form, interpolation=rng.choice(["nearest", "bilinear"]), pad_to_aspect_ratio=True, fill_value=rng.choice([0.0, 3.5])),
        lambda: L.CenterCrop(**size, **form),
        lambda: L.CenterCrop(**size, **form),
        lambda: L.RandomCrop(**size, **form),
        lambda: L.Rescaling(scale=rng.uniform(-2, 2), offset=rng.uniform(-2, 2)),
        lambda: L.AutoContrast(value_range=(0, 255)),
        lambda: L.Equalization(value_range=(0, 255), **form),
        lambda: L.Solarization(addition_factor=(0.0, 0.0), threshold_factor=(factor, factor), value_range=(0, 255)),
        lambda: L.RandomFlip(rng.choice(["horizontal", "vertical", "horizontal_and_vertical"]), **form),
        lambda: L.RandomRotation(factor, **form),
        lambda: L.RandomZoom(factor, **form),
        lambda: L.RandomTranslation(factor, factor, **form),
        lambda: L.RandomShear(factor, factor, **form),
        lambda: L.RandomContrast(factor, value_range=(0, 255)),
        lambda: L.RandomBrightness(factor, value_range=(0, 255)),
        lambda: L.RandomHue(factor, value_range=(0, 255), **form),
        lambda: L.RandomSaturation(factor, value_range=(0, 255), **form),
        lambda: L.RandomSharpness(factor, value_range=(0, 255), **form),
        lambda: L.RandomColorDegeneration(factor, value_range=(0, 255), **form),
        lambda: L.RandomColorJitter(value_range=(0, 255), brightness_factor=factor, contrast_factor=factor, saturation_factor=factor, hue_factor=factor, **form),
        lambda: L.RandomGrayscale(factor, **form),
        lambda: L.RandomPosterization(rng.randint(1, 8), value_range=(0, 255), **form),
        lambda: L.RandomErasing(factor, value_range=(0, 255), **form),
        lambda: L.RandomGaussianBlur(factor, value_range=(0, 255), **form),
        lambda: L.RandomInvert(factor, value_range=(0, 255), **form),
        lambda: L.RandomPerspective(factor, **form),
        lambda: L.RandomElasticTransform(factor, value_range=(0, 255), **form),
        lambda: L.RandAugment(value_range=(0, 255), **form),
        lambda: L.AugMix(value_range=(0, 255), **form),
    ])()


cases, refused = [], 0
while len(cases) < int(sys.argv[2]):
    layer = settings()
    shape = [rng.randint(1, 3), rng.randint(1, 13), rng.randint(1, 13), 3]
    if getattr(layer, "data_format", "") == "channels_first":
        shape = [shape[0], 3, *shape[1:3]]
    shape = shape[rng.random() < 0.3:]
    dtype = rng.choice(["float32", "float32", "uint8", "int32", "float16"])
    x = noise.integers(0, 256, shape).astype(dtype)
    try:
        y = np.array(layer(x, training=False))
    except Exception as e:
        refused += 1
        print(type(layer).__name__, shape, dtype, str(e)[:200].replace("\n", " "), file=sys.stderr)
        continue
    entry = lambda a: {"shape": a.shape, "dtype": str(a.dtype), "data": [float(v) for v in a.astype("float64").ravel()]}
    cases.append({"class": type(layer).__name__, "config": keras.saving.serialize_keras_object(layer)["config"], "input": entry(x), "output": entry(y)})
print(json.dumps({"cases": cases}))
