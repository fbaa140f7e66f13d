"""Preprocessing layers on numbers and images.

Run: KERAS_BACKEND=jax python gen/preprocessing.py <output directory>
Versions: see common.py.

A case holds
  inputs   what the layer is called with ("x", and "weights" where it takes them);
           "t/<key>": the numbers that stand for the random ones, in the form in which
           Keras's transform_images takes them, less what follows from shapes;
           "adapt_0", "adapt_1", ...: batches that the layer was adapted to first
  outputs  "output"
  extra    mode: "call", or "transform" for transform_images with the numbers "t/...";
           training: of the call;
           adapted: get_config() after adapt, where config is the one before it
"""

import numpy as np

import common
import keras
from keras import layers as K

ROWS = []


def add(label, make, x, t=None, keras_t=None, weights=None, adapt=None, training=False):
    """t are the numbers that the case records; keras_t makes of layer, images and t what
    transform_images takes (t itself by default)."""
    ROWS.append((label, make, x, t, keras_t, weights, adapt, training))


def images(*shape, high=255, integer=False):
    r = common.rng("images", *shape, high)
    if integer:
        return r.integers(0, high + 1, shape).astype("uint8")
    return np.round(r.uniform(0, high, shape), 2 if high > 1 else 3)


def numbers():
    i = np.array([[1, 2, 2], [0, 1, 3], [3, 5, -1]], "int32")
    for mode in ("multi_hot", "one_hot", "count"):
        add(f"{mode}", lambda mode=mode: K.CategoryEncoding(4, output_mode=mode), i)
        add(f"{mode},column", lambda mode=mode: K.CategoryEncoding(4, output_mode=mode), i[:, :1])
        add(f"{mode},vector", lambda mode=mode: K.CategoryEncoding(5, output_mode=mode), i[0])
        add(f"{mode},rank3", lambda mode=mode: K.CategoryEncoding(6, output_mode=mode), np.stack([i[:2], i[1:]]))
    add("weights", lambda: K.CategoryEncoding(4, output_mode="count"), i, weights=np.array([[0.5, 1, 2.25], [1, 1, 0], [3, 1, 1]]))
    add("floats", lambda: K.CategoryEncoding(4), np.array([[1.0, 2.9], [0.2, 3.0]]))

    x = np.array([[-1.5, 1.0, 3.4, 0.5], [0.0, 3.0, 1.3, 0.0]])
    for mode in ("int", "one_hot", "multi_hot", "count"):
        add(f"{mode}", lambda mode=mode: K.Discretization(bin_boundaries=[0.0, 1.0, 2.0], output_mode=mode), x)
    add("column", lambda: K.Discretization(bin_boundaries=[0.0, 1.5], output_mode="one_hot"), x[:, :1])
    add("integers", lambda: K.Discretization(bin_boundaries=[0.0, 1.5, 2.0]), np.array([[0, 1, 2, 3, -4]], "int32"))
    add("infinite", lambda: K.Discretization(bin_boundaries=[-1.0, 4.0]), np.array([[np.inf, -np.inf, np.nan, -1.0, 4.0]]))
    r = common.rng("discretization")
    small, wide, skew = [np.round(v, 3) for v in (r.normal(size=(5, 4)), r.normal(2, 7, (400, 3)), r.exponential(3, (1000,)))]
    for label, bins, epsilon, data in [("small", 4, 0.01, [x]), ("small,bins=2", 2, 0.01, [small]), ("wide", 5, 0.01, [wide]), ("wide,epsilon=.1", 5, 0.1, [wide]),
                                       ("batches", 7, 0.02, [wide[:150], wide[150:170], wide[170:]]), ("skew", 10, 0.01, [skew]), ("skew,epsilon=.3", 3, 0.3, [skew[:500], skew[500:]]),
                                       ("one_hot", 3, 0.01, [small, wide]), ("one_bin", 1, 0.01, [small]), ("few", 6, 0.01, [np.array([[1.0, 2.0, 3.0]])])]:
        mode = "one_hot" if label == "one_hot" else "int"
        add(f"adapt,{label}", lambda bins=bins, epsilon=epsilon, mode=mode: K.Discretization(num_bins=bins, epsilon=epsilon, output_mode=mode), small, adapt=data)

    data = [np.round(r.normal(3, 2, (6, 4)), 3), np.round(r.normal(3, 2, (9, 4)), 3)]
    for label, kw in (("default", {}), ("axis=None", {"axis": None}), ("invert", {"invert": True})):
        add(f"adapt,{label}", lambda kw=kw: K.Normalization(**kw), data[0], adapt=[np.concatenate(data)])


def sizes():
    a = images(2, 5, 7, 2)
    for method in ("bilinear", "nearest", "bicubic", "lanczos3", "lanczos5"):
        for size in ((3, 4), (9, 11), (5, 3), (1, 1)):
            for anti in (False, True) if method != "nearest" else (False,):
                add(f"{method},{size[0]}x{size[1]},antialias={anti}", lambda m=method, s=size, anti=anti: K.Resizing(*s, interpolation=m, antialias=anti), a)
    add("bytes", lambda: K.Resizing(4, 9), images(1, 5, 7, 3, integer=True))
    add("bytes,bicubic", lambda: K.Resizing(8, 4, interpolation="bicubic"), images(1, 5, 6, 3, integer=True))
    add("bytes,nearest", lambda: K.Resizing(8, 4, interpolation="nearest"), images(1, 5, 6, 1, integer=True))
    add("channels_first", lambda: K.Resizing(4, 3, data_format="channels_first"), images(2, 3, 5, 6))
    add("one_image", lambda: K.Resizing(4, 3), images(5, 6, 3))
    for size in ((4, 4), (3, 8), (10, 4)):
        add(f"crop,{size[0]}x{size[1]}", lambda s=size: K.Resizing(*s, crop_to_aspect_ratio=True), a)
        add(f"pad,{size[0]}x{size[1]}", lambda s=size: K.Resizing(*s, pad_to_aspect_ratio=True, fill_value=3.5), a)
    add("pad,channels_first", lambda: K.Resizing(4, 4, pad_to_aspect_ratio=True, fill_value=2.0, data_format="channels_first"), images(2, 1, 3, 8))
    add("large,antialias", lambda: K.Resizing(5, 4, antialias=True), images(1, 24, 21, 1))
    for size in ((3, 4), (4, 3), (5, 7), (8, 4), (3, 9), (11, 12)):
        add(f"{size[0]}x{size[1]}", lambda s=size: K.CenterCrop(*s), a)
    add("channels_first", lambda: K.CenterCrop(2, 3, data_format="channels_first"), images(2, 3, 5, 6))
    add("one_image", lambda: K.CenterCrop(2, 3), images(5, 6, 3))
    add("bytes", lambda: K.CenterCrop(4, 3), images(1, 5, 6, 3, integer=True))


def rotation(layer, x, t):
    n = len(t["angle"])
    shape = x.shape if x.ndim == 4 else (1, *x.shape)
    h, w = shape[1:3] if layer.data_format == "channels_last" else shape[2:]
    zeros, angle = np.zeros(n, common.DTYPE), np.asarray(t["angle"], common.DTYPE)
    m = layer._compute_affine_matrix(center_x=0.5, center_y=0.5, angle=keras.ops.convert_to_tensor(angle), translate_x=zeros, translate_y=zeros,
                                     scale=zeros + 1, shear_x=zeros, shear_y=zeros, height=h, width=w)
    return {"rotation_matrix": m if x.ndim == 4 else m[0]}


def augmentation():
    a, first, single = images(3, 5, 7, 2), images(2, 3, 5, 4), images(5, 6, 3)
    flips = np.array([True, False, True]).reshape(3, 1, 1, 1)
    for mode in ("horizontal", "vertical", "horizontal_and_vertical"):
        add(f"{mode}", lambda mode=mode: K.RandomFlip(mode), a, {"flips": flips}, training=True)
    add("channels_first", lambda: K.RandomFlip("horizontal", data_format="channels_first"), first, {"flips": flips[:2]}, training=True)
    add("one_image", lambda: K.RandomFlip(), single, {"flips": flips[0]}, training=True)
    add("inference", lambda: K.RandomFlip(), a)

    angles = np.array([31.0, -77.5, 190.25])
    fills = [("reflect", 0.0), ("wrap", 0.0), ("nearest", 0.0), ("constant", 2.5)]
    for fill, value in fills:
        for method in ("bilinear", "nearest"):
            kw = dict(fill_mode=fill, interpolation=method, fill_value=value)
            add(f"{fill},{method}", lambda kw=kw: K.RandomRotation(0.6, **kw), a, {"angle": angles}, rotation, training=True)
            add(f"{fill},{method}", lambda kw=kw: K.RandomZoom((-0.5, 0.7), (-0.3, 0.4), **kw), a,
                {"height_zoom": np.array([[0.6], [1.63], [1.0]]), "width_zoom": np.array([[1.37], [0.71], [1.21]])}, training=True)
            add(f"{fill},{method}", lambda kw=kw: K.RandomTranslation(0.6, (-0.3, 0.9), **kw), a,
                {"translations": np.array([[2.3, -1.4], [-6.1, 0.0], [11.7, 9.2]], "float32")}, training=True)
    add("channels_first", lambda: K.RandomRotation((0.1, 0.3), data_format="channels_first"), first, {"angle": angles[:2]}, rotation, training=True)
    add("one_image", lambda: K.RandomRotation(0.3), single, {"angle": angles[:1]}, rotation, training=True)
    add("channels_first", lambda: K.RandomZoom(0.3, data_format="channels_first"), first, {"height_zoom": np.array([[0.9], [1.3]]), "width_zoom": np.array([[0.9], [1.3]])}, training=True)
    add("one_image", lambda: K.RandomZoom(0.3), single, {"height_zoom": np.array([[0.9]]), "width_zoom": np.array([[0.9]])}, training=True)
    add("channels_first", lambda: K.RandomTranslation(0.3, 0.3, data_format="channels_first"), first, {"translations": np.array([[1.2, 0.7], [-1.4, 0.9]], "float32")}, training=True)
    add("one_image", lambda: K.RandomTranslation(0.3, 0.2), single, {"translations": np.array([[1.2, 0.7]], "float32")}, training=True)

    start = lambda layer, x, t: (int(t["h_start"]), int(t["w_start"]))
    add("start", lambda: K.RandomCrop(3, 4, seed=3), a, {"h_start": np.int32(1), "w_start": np.int32(3)}, start, training=True)
    add("channels_first", lambda: K.RandomCrop(2, 3, seed=3, data_format="channels_first"), first, {"h_start": np.int32(2), "w_start": np.int32(0)}, start, training=True)
    add("one_image", lambda: K.RandomCrop(2, 3, seed=3), single, {"h_start": np.int32(2), "w_start": np.int32(1)}, start, training=True)
    for size in ((5, 7), (5, 4), (8, 4), (3, 9), (11, 12)):
        add(f"small,{size[0]}x{size[1]}", lambda s=size: K.RandomCrop(*s, seed=3), a, training=True)
    add("inference", lambda: K.RandomCrop(3, 4, seed=3), a)

    f = np.array([0.8, 1.0, 1.3]).reshape(3, 1, 1, 1)
    add("default", lambda: K.RandomContrast(0.4), a, {"contrast_factor": f}, training=True)
    add("range", lambda: K.RandomContrast((0.1, 0.4), value_range=(40.0, 200.0)), a, {"contrast_factor": f}, training=True)
    add("channels_first", lambda: K.RandomContrast(0.4, data_format="channels_first"), first, {"contrast_factor": f[:2]}, training=True)
    add("one_image", lambda: K.RandomContrast(0.4), single, {"contrast_factor": f[0]}, training=True)
    d = np.array([80.0, -30.5, 0.25]).reshape(3, 1, 1, 1)
    add("default", lambda: K.RandomBrightness(0.4), a, {"rgb_delta": d}, training=True)
    add("range", lambda: K.RandomBrightness((-0.1, 0.4), value_range=(-10.0, 200.0)), a, {"rgb_delta": d}, training=True)
    add("one_image", lambda: K.RandomBrightness(0.4), single, {"rgb_delta": d[0]}, training=True)
    add("inference", lambda: K.RandomBrightness(0.4), a)


def colours():
    a, first, single = images(3, 4, 5, 3), images(2, 3, 4, 3), images(4, 3, 3)
    unit, gray = images(3, 4, 5, 3, high=1), images(2, 4, 3, 1)
    dull = np.array(a)
    dull[1] = 20.5  # one colour
    dull[2, ..., 1] = dull[2, ..., 0]
    f = lambda *v: np.array(v)
    yes = np.array([True, False, True])
    per = lambda v: v.reshape(-1, 1, 1, 1)
    raw = lambda key: lambda layer, x, t: t[key]

    add("default", lambda: K.RandomGrayscale(0.3), a, {"should_apply": per(yes)}, raw("should_apply"), training=True)
    add("channels_first", lambda: K.RandomGrayscale(data_format="channels_first"), first, {"should_apply": per(yes[:2])}, raw("should_apply"), training=True)
    add("one_channel", lambda: K.RandomGrayscale(), gray, {"should_apply": per(yes[:2])}, raw("should_apply"), training=True)
    add("default", lambda: K.RandomInvert(), a, {"apply_inversion": yes}, training=True)
    add("range", lambda: K.RandomInvert((0.2, 0.4), value_range=(0, 1)), unit, {"apply_inversion": yes}, training=True)
    for x, label in ((a, "bytes"), (dull, "dull"), (unit, "unit")):
        kw = {"value_range": (0, 1)} if label == "unit" else {}
        add(label, lambda kw=kw: K.RandomSaturation(0.4, **kw), x, {"factor": f(0.3, 1.0, 2.5)}, training=True)
        add(label, lambda kw=kw: K.RandomHue((0.1, 0.7), **kw), x, {"factor": f(0.3, -0.2, -0.45)}, training=True)
        add(label, lambda kw=kw: K.RandomSharpness(0.4, **kw), x, {"factor": f(0.1, 0.5, 0.9)}, training=True)
        add(label, lambda kw=kw: K.RandomColorDegeneration(0.4, **kw), x, {"factor": per(f(0.1, 1.0, -0.3))}, training=True)
        add(label, lambda kw=kw: K.Solarization(0.2, (0.1, 0.9), **kw), x, {"additions": per(f(10.5, 0.0, 60.0)), "thresholds": per(f(100.0, 30.5, 200.0))}, training=True)
        add(label, lambda kw=kw: K.RandomPosterization((2, 5), **kw), x, {"shift_factor": np.array([6, 4, 1], "uint8")}, training=True)
        add(label, lambda kw=kw: K.Equalization(**kw), x, training=True)
        add(label, lambda kw=kw: K.AutoContrast(**kw), x, training=True)
        add(label, lambda kw=kw: K.RandomGaussianBlur(0.5, 3, (0.4, 0.9), **kw), x, {"should_apply_blur": yes, "blur_factor": f(0.6, 0.9)}, training=True)
    add("channels_first", lambda: K.RandomSaturation(0.4, data_format="channels_first"), first, {"factor": f(0.3, 2.5)}, training=True)
    add("channels_first", lambda: K.RandomHue(0.4, data_format="channels_first"), first, {"factor": f(0.3, -0.4)}, training=True)
    add("channels_first", lambda: K.RandomSharpness(0.4, data_format="channels_first"), first, {"factor": f(0.3, 0.8)}, training=True)
    add("channels_first", lambda: K.RandomColorDegeneration(0.4, data_format="channels_first"), first, {"factor": per(f(0.3, 0.8))}, training=True)
    add("channels_first", lambda: K.Equalization(data_format="channels_first"), first, training=True)
    add("bins=7", lambda: K.Equalization(bins=7), a, training=True)
    add("inference", lambda: K.AutoContrast(), a)
    add("one_image", lambda: K.AutoContrast(), single)
    add("default", lambda: K.RandomPosterization(4), a, {"shift_factor": np.array([4, 7, 5], "uint8")}, training=True)
    add("3x5", lambda: K.RandomGaussianBlur(1.0, (3, 5), 1.0), a, {"should_apply_blur": yes, "blur_factor": f(0.6, 1.4)}, training=True)
    add("channels_first", lambda: K.RandomGaussianBlur(1.0, (5, 3), 0.7, data_format="channels_first"), first, {"should_apply_blur": yes[:2], "blur_factor": f(0.6, 1.4)}, training=True)
    r = common.rng("erasing")
    for fill in (None, 12.0, [1.0, 300.0, 3.0]):
        add(f"fill={fill}".replace(" ", ""), lambda fill=fill: K.RandomErasing(0.5, fill_value=fill), a,
            {"batch_masks": r.random(a.shape) < 0.4, "apply_erasing": yes, "fill_value": np.round(r.uniform(0, 255, a.shape), 1)}, training=True)
    shear = f(0.4, -0.2, -0.3, 0.1, 0.0, 0.6).reshape(3, 2)
    for fill in ("reflect", "wrap", "nearest", "constant"):
        for method in ("bilinear", "nearest"):
            add(f"{fill},{method}", lambda fill=fill, method=method: K.RandomShear(0.6, (0.1, 0.3), fill_mode=fill, interpolation=method, fill_value=3.5), a, {"shear_factor": shear}, training=True)
    add("inference", lambda: K.RandomColorJitter(brightness_factor=0.2, contrast_factor=(0.1, 0.3), saturation_factor=0.2, hue_factor=0.1), a)


def cast(v):
    v = np.asarray(v)
    return v.astype(common.DTYPE) if v.dtype == np.float64 else v


def run(w, row):
    label, make, x, t, keras_t, weights, adapt, training = row
    common.reset()
    layer = make()
    name, config = common.object_config(layer)
    x = cast(x)
    inputs, extra = {"x": x}, {"mode": "call", "training": training}
    args, kwargs = [x], {}
    if weights is not None:
        inputs["weights"] = cast(weights)
        kwargs["count_weights"] = cast(weights)
    if adapt is not None:
        for i, batch in enumerate(adapt):
            inputs[f"adapt_{i}"] = cast(batch)
        layer.adapt([cast(b) for b in adapt] if len(adapt) > 1 else cast(adapt[0]))
        extra["adapted"] = common.object_config(layer)[1]
    if t is None:
        random = "Random" in name or name in ("Equalization", "AutoContrast")
        kw = {**kwargs, **({"training": training} if random or training else {})}
        output = layer(*args, **kw)
    else:
        extra["mode"] = "transform"
        t = {k: cast(v) for k, v in t.items()}
        for k, v in t.items():
            inputs[f"t/{k}"] = v
        output = layer.transform_images(keras.ops.convert_to_tensor(x), keras_t(layer, x, t) if keras_t else t, training=training)
    # These layers cast numbers to float32.
    wide = dict(rtol=1e-5, atol=1e-6) if name in ("RandomZoom", "RandomTranslation", "RandomHue") else {}
    w.case(f"{name}/{label}", name, config, common.DTYPE, inputs, {"output": output}, extra=extra, **wide)


def main():
    w = common.Writer("preprocessing", __file__)
    for table in (numbers, sizes, augmentation, colours):
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
