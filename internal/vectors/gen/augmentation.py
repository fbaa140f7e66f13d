"""Layers that mix images with each other, bend them, or choose among other layers.

Run: KERAS_BACKEND=jax python gen/augmentation.py <output directory>
Versions: see common.py.

A case holds
  inputs   "x": images; "labels" and "masks" where there are such;
           "t/<key>": the numbers that stand for the random ones, in the form in which
           Keras's transform_images takes them, less what follows from shapes. In place of
           the seed of RandomElasticTransform "t/dx" and "t/dy", the normal numbers that its
           two draws give; for AugMix "t/layer_idxes" and "t/<chain>/<place>/<layer>/<key>"
  outputs  "output", and "labels" and "masks" for inputs of these names
  extra    mode: "transform"; training: of the call
"""

import numpy as np

import common
import jax
import keras
from keras import layers as K

ROWS = []

STEPS = ["random_shear", "random_translation", "random_rotation", "random_brightness", "random_color_degeneration", "random_contrast",
         "random_sharpness", "random_posterization", "solarization", "auto_contrast", "equalization"]
CHAIN_STEPS = STEPS[:3] + STEPS[7:] + STEPS[3:7]


def add(label, make, x, t, keras_t=None, labels=None, masks=None, **tolerance):
    """t are the numbers that the case records; keras_t makes of layer, images and t what
    transform_images takes (t itself by default)."""
    ROWS.append((label, make, x, t, keras_t, labels, masks, tolerance))


def images(*shape, high=255):
    return np.round(common.rng("images", *shape, high).uniform(0, high, shape), 2 if high > 1 else 3)


def mixing():
    a, first = images(3, 5, 4, 2), images(3, 2, 4, 5)
    r = common.rng("mixing")
    labels = np.eye(4)[[2, 0, 3]]
    t = {"mix_weight": np.array([0.3, 0.875, 0.5]), "permutation_order": np.array([2, 0, 1], "int32")}
    add("labels", lambda: K.MixUp(), a, t, labels=labels)
    add("channels_first", lambda: K.MixUp(alpha=0.6, data_format="channels_first"), first, t, labels=np.round(r.random((3, 5)), 3))
    inside = np.zeros((3, 5, 4, 1), bool)
    inside[0, 1:4, :2], inside[1, :, 3], inside[2] = True, True, True
    t = {**t, "batch_masks": np.repeat(inside, 2, 3)}
    add("labels", lambda: K.CutMix(), a, t, labels=labels, masks=images(3, 5, 4, 2, high=3))
    add("channels_first", lambda: K.CutMix(factor=(0.2, 0.5), data_format="channels_first"), first,
        {**t, "batch_masks": np.repeat(inside.transpose(0, 3, 2, 1), 2, 1)}, labels=labels)


def bending():
    a, first, single = images(3, 5, 7, 2), images(2, 3, 5, 4), images(5, 6, 3)
    yes = np.array([True, True, False])

    def corners(h, w):
        r = common.rng("corners", h, w)
        start = np.array([[0, 0], [w - 1, 0], [0, h - 1], [w - 1, h - 1]], float) + np.zeros((3, 1, 1))
        return {"apply_perspective": yes, "start_points": start, "end_points": np.round(start * (1 + r.uniform(-0.4, 0.4, start.shape)), 3)}

    for method in ("bilinear", "nearest"):
        # Keras computes the maps in float32.
        add(f"{method}", lambda m=method: K.RandomPerspective(interpolation=m, fill_value=3.5), a, corners(5, 7), atol=4e-5, rtol=1e-4)
    t = corners(5, 4)
    add("channels_first", lambda: K.RandomPerspective((0.2, 0.7), scale=0.4, data_format="channels_first"), first, {k: v[:2] for k, v in t.items()}, atol=4e-5, rtol=1e-4)
    t = corners(5, 6)
    add("one_image", lambda: K.RandomPerspective(0.7), single, {k: v[:1] for k, v in t.items()}, atol=4e-5, rtol=1e-4)
    shifted = corners(5, 7)  # the corners before may lie anywhere
    shifted["start_points"] = np.round(shifted["start_points"] + common.rng("shifted").uniform(-1, 1, (3, 4, 2)), 3)
    add("shifted", lambda: K.RandomPerspective(), a, shifted, atol=4e-5, rtol=1e-4)

    def noise(n, h, w, factor):
        r = common.rng("noise", n, h, w)
        return {"apply_transform": yes[:n], "distortion_factor": np.array(factor), "dx": common.grid(r, (n, h, w), 5, 1), "dy": common.grid(r, (n, h, w), 5, 1)}

    large = images(2, 20, 16, 1)
    for fill in ("reflect", "wrap", "nearest", "constant", "mirror"):
        for method in ("bilinear", "nearest"):
            add(f"{fill},{method}", lambda f=fill, m=method: K.RandomElasticTransform(fill_mode=f, interpolation=m, fill_value=3.5), large, noise(2, 20, 16, 0.85))
    add("channels_first", lambda: K.RandomElasticTransform(data_format="channels_first"), images(2, 3, 14, 17), noise(2, 14, 17, 0.6))
    add("value_range", lambda: K.RandomElasticTransform(value_range=(30, 180)), large, noise(2, 20, 16, 0.31))
    add("small", lambda: K.RandomElasticTransform(), a, noise(3, 5, 7, 0.9))  # nothing is blurred


def numbers(low):
    """Numbers of all steps for two images."""
    f = lambda *v: np.array(v)
    per = lambda v: v.reshape(-1, 1, 1, 1)
    s = -1 if low else 1
    return {
        "random_shear": {"shear_factor": f(0.4, 0.2, 0.3 * s, 0.1 * s).reshape(2, 2)},
        "random_translation": {"translations": np.array([[2.3, 1.4], [0.6 * s, 0.0]], "float32")},
        "random_rotation": {"angle": f(31.0, 77.5 * s)},
        "random_brightness": {"rgb_delta": per(f(80.0, -30.5))},
        "random_color_degeneration": {"factor": per(f(0.3, 0.8))},
        "random_contrast": {"contrast_factor": per(f(0.8, 1.3))},
        "random_sharpness": {"factor": f(0.3, 0.8)},
        "random_posterization": {"shift_factor": np.array([6, 4], "uint8")},
        "solarization": {"additions": per(f(30.5, 0.0)), "thresholds": per(f(128.0, 60.25))},
        "auto_contrast": {},
        "equalization": {},
    }


def step(layer, name, x, t):
    """What the layer of this name takes."""
    if name == "random_rotation":
        n = len(t["angle"])
        h, w = x.shape[1:3] if layer.data_format == "channels_last" else x.shape[2:]
        zeros = np.zeros(n, common.DTYPE)
        return {"rotation_matrix": layer.random_rotation._compute_affine_matrix(
            center_x=0.5, center_y=0.5, angle=keras.ops.convert_to_tensor(t["angle"]), translate_x=zeros, translate_y=zeros, scale=zeros + 1,
            shear_x=zeros, shear_y=zeros, height=h, width=w)}
    return t or None


def part(t, name):
    return {k[len(name) + 1:]: v for k, v in t.items() if k.startswith(name + "/")}


def choosing():
    last, first = images(2, 5, 6, 3), images(2, 3, 6, 5)

    def flat(nested):
        return {f"{name}/{k}": v for name, t in nested.items() for k, v in t.items()}

    def transforms(layer, x, t):
        return {"layer_idxes": t["layer_idxes"], "transforms": {name: step(layer, name, x, part(t, name)) for name in STEPS}}

    wide = dict(rtol=1e-4, atol=1e-5)  # some steps cast to float32
    for pair in ((0, 1), (2, 3), (4, 5), (6, 7), (8, 9), (10, 0), (3, 3)):
        add(f"{pair[0]},{pair[1]}", lambda: K.RandAugment(factor=0.6), last, {"layer_idxes": np.array(pair, "int32"), **flat(numbers(False))}, transforms, **wide)
    add("three", lambda: K.RandAugment(num_ops=3, factor=(0.1, 0.4), interpolation="nearest"), last, {"layer_idxes": np.array([2, 8, 5], "int32"), **flat(numbers(False))}, transforms, **wide)
    add("channels_first", lambda: K.RandAugment(data_format="channels_first"), first, {"layer_idxes": np.array([2, 3], "int32"), **flat(numbers(False))}, transforms, **wide)
    add("value_range", lambda: K.RandAugment(value_range=(0, 1)), images(2, 5, 6, 3, high=1), {"layer_idxes": np.array([5, 8], "int32"), **flat(numbers(False))}, transforms, **wide)

    def chained(layer, x, t):
        names = CHAIN_STEPS if layer.all_ops else CHAIN_STEPS[:7]
        chains = []
        for i, chain in enumerate(t["layer_idxes"]):
            chains.append([{"layer_name": names[k], "transformation": step(layer, names[k], x, part(t, f"{i}/{j}/{names[k]}"))}
                           for j, k in enumerate(chain) if k < len(names)])
        return {"chain_mixing_weights": t["chain_mixing_weights"], "weight_sample": t["weight_sample"], "chain_transforms": chains}

    def chains(*index, steps):
        index = np.array(index, "int32")
        n = len(index)
        t = {"layer_idxes": index, "chain_mixing_weights": np.array([0.5, 0.3, 0.2][:n]) / sum([0.5, 0.3, 0.2][:n]), "weight_sample": np.array(0.375)}
        for i in range(index.shape[0]):
            for j in range(index.shape[1]):
                for k, name in enumerate(steps):  # all steps, as the choice is made when the program runs
                    t.update({f"{i}/{j}/{name}/{key}": v for key, v in numbers((i + j) % 2 == 1)[name].items()})
        return t

    add("three", lambda: K.AugMix(), last, chains([0, 11, 4], [7, 2, 8], [10, 5, 11], steps=CHAIN_STEPS), chained, **wide)
    add("one", lambda: K.AugMix(num_chains=1, chain_depth=2, factor=0.5, alpha=0.4), last, chains([3, 9], steps=CHAIN_STEPS), chained, **wide)
    add("all_ops=False", lambda: K.AugMix(num_chains=2, chain_depth=2, all_ops=False), last, chains([6, 1], [7, 7], steps=CHAIN_STEPS[:7]), chained, **wide)
    add("channels_first", lambda: K.AugMix(num_chains=2, chain_depth=1, data_format="channels_first"), first, chains([2], [8], steps=CHAIN_STEPS), chained, **wide)
    add("value_range", lambda: K.AugMix(num_chains=2, chain_depth=1, value_range=(0, 1), interpolation="nearest"), images(2, 5, 6, 3, high=1), chains([0], [3], steps=CHAIN_STEPS), chained, **wide)


def cast(v):
    v = np.asarray(v)
    return v.astype(common.DTYPE) if v.dtype == np.float64 else v


def transform_elastic(layer, x, t):
    """transform_images with the given numbers as what the two normal draws give."""
    draws = iter([t["dx"], t["dy"]])
    normal = jax.random.normal
    jax.random.normal = lambda *_, **__: jax.numpy.asarray(next(draws))
    try:
        return layer.transform_images(keras.ops.convert_to_tensor(x), {**{k: t[k] for k in ("apply_transform", "distortion_factor")}, "seed": 1}, training=True)
    finally:
        jax.random.normal = normal


def run(w, row):
    label, make, x, t, keras_t, labels, masks, tolerance = row
    common.reset()
    layer = make()
    name, config = common.object_config(layer)
    x, t = cast(x), {k: cast(v) for k, v in t.items()}
    inputs, outputs = {"x": x}, {}
    if name == "RandomElasticTransform":
        outputs["output"] = transform_elastic(layer, x, t)
    else:
        given = keras_t(layer, x, t) if keras_t else t
        transform = layer.transform_images
        if x.ndim == 3:
            transform = layer.transform_single_image
        outputs["output"] = transform(keras.ops.convert_to_tensor(x), given, training=True)
        if labels is not None:
            inputs["labels"] = cast(labels)
            outputs["labels"] = layer.transform_labels(keras.ops.convert_to_tensor(cast(labels)), given, training=True)
        if masks is not None:
            inputs["masks"] = cast(masks)
            outputs["masks"] = layer.transform_segmentation_masks(keras.ops.convert_to_tensor(cast(masks)), given, training=True)
    inputs.update({f"t/{k}": v for k, v in t.items()})
    w.case(f"{name}/{label}", name, config, common.DTYPE, inputs, outputs, extra={"mode": "transform", "training": True}, **tolerance)


def main():
    w = common.Writer("augmentation", __file__)
    for table in (mixing, bending, choosing):
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


common.run(main)
