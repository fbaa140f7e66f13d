"""Makes the files of this folder with NumPy and Keras. Run from here:

    KERAS_BACKEND=tensorflow python generate.py

Made with Keras 3.15.1, TensorFlow 2.21.0, NumPy 2.4.6. The tests only read the files.
"""

import io
import json
import os
import shutil
import wave
import zipfile

os.environ.setdefault("KERAS_BACKEND", "tensorflow")
import keras
import numpy as np
import tensorflow as tf

VERSIONS = f"Keras {keras.__version__}, TensorFlow {tf.__version__}, NumPy {np.__version__}"


def write_json(name, content):
    with open(name, "w") as f:
        json.dump({"generator": "generate.py", "versions": VERSIONS, **content}, f, indent=1)
        f.write("\n")


def numpy_files():
    """numpy.npz: one member per element type, byte order, memory order and format version, all of shape (2, 3, 4).

    Element i (in C order) is i % 2 == 1 for bool, i - 5 for signed types, i for unsigned ones, i / 4 - 2 for floats and
    (i, -i) for complex numbers.
    """
    i = np.arange(24)
    values = {"b1": i % 2 == 1}
    values |= {f"i{n}": i - 5 for n in (1, 2, 4, 8)} | {f"u{n}": i for n in (1, 2, 4, 8)}
    values |= {f"f{n}": i / 4 - 2 for n in (2, 4, 8)} | {f"c{n}": i - 1j * i for n in (8, 16)}
    with zipfile.ZipFile("numpy.npz", "w", zipfile.ZIP_DEFLATED) as z:
        def member(name, array, version):
            buf = io.BytesIO()
            np.lib.format.write_array(buf, array, version=version)
            z.writestr(zipfile.ZipInfo(name + ".npy", (2020, 1, 1, 0, 0, 0)), buf.getvalue(), zipfile.ZIP_DEFLATED)

        for code, v in values.items():
            for order, mark in (("little", "<"), ("big", ">")):
                a = v.astype(mark + code).reshape(2, 3, 4)
                member(f"{code}_{order}_c", a, (1, 0))
                member(f"{code}_{order}_fortran", np.asfortranarray(a), (2, 0))
        member("f4_version3", values["f4"].astype("<f4").reshape(2, 3, 4), (3, 0))
        member("scalar", np.array(7, "<i4"), (1, 0))
        member("vector", np.array([1.5, 2.5], "<f8"), (1, 0))
        member("half_special", np.array([0, -0.0, 2**-24, 2**-14, 65504, np.inf, -np.inf, np.nan, 1 / 3], "<f2"), (1, 0))
    # What numpy.save writes, to be written byte for byte.
    np.save("f4.npy", (i / 4 - 2).astype("<f4").reshape(2, 3, 4))
    np.save("u1_vector.npy", i.astype("u1"))
    np.save("i8_scalar.npy", np.array(-3, "<i8"))


def images():
    """images/: folders of classes; images.npz, images.json: what image_dataset_from_directory makes of them."""
    shutil.rmtree("images", ignore_errors=True)
    r = np.random.RandomState(0)
    files = {
        "cats/b_rgb.png": tf.io.encode_png(r.randint(0, 256, (7, 5, 3), np.uint8)),
        "cats/a_gray.png": tf.io.encode_png(r.randint(0, 256, (4, 9, 1), np.uint8)),
        "cats/more/c_rgba.png": tf.io.encode_png(r.randint(0, 256, (3, 4, 4), np.uint8)),
        "cats/d_16bit.png": tf.io.encode_png(r.randint(0, 65536, (6, 6, 3), np.uint16)),
        "dogs/e_gray_alpha.png": tf.io.encode_png(r.randint(0, 256, (5, 3, 2), np.uint8)),
        "dogs/f_same_size.PNG": tf.io.encode_png(r.randint(0, 256, (6, 4, 3), np.uint8)),
        "dogs/g_large.png": tf.io.encode_png(r.randint(0, 256, (23, 31, 3), np.uint8)),
        "dogs/h_one_pixel.png": tf.io.encode_png(r.randint(0, 256, (1, 1, 3), np.uint8)),
        "Zebras/i_jpeg.jpg": tf.io.encode_jpeg(
            np.tile(np.linspace(20, 230, 16, dtype=np.float32)[:, None, None], (1, 16, 3)).astype(np.uint8), quality=95),
        "dogs/notes.txt": tf.constant(b"no image"),
    }
    for path, content in files.items():
        os.makedirs(os.path.dirname("images/" + path), exist_ok=True)
        tf.io.write_file("images/" + path, content)
    arrays, paths = {}, {}
    for mode in ("rgb", "rgba", "grayscale"):
        classes = None if mode == "rgb" else ["cats", "dogs"]  # TensorFlow reads no JPEG with 4 channels
        ds = keras.utils.image_dataset_from_directory(
            "images", color_mode=mode, class_names=classes, image_size=(6, 4), batch_size=100, shuffle=False, verbose=False)
        x, y = next(iter(ds))
        arrays[f"{mode}_x"], arrays[f"{mode}_y"] = x.numpy(), y.numpy()
        paths[mode], paths[mode + "_class_names"] = ds.file_paths, ds.class_names
    ds = keras.utils.image_dataset_from_directory(
        "images", image_size=(6, 4), batch_size=100, shuffle=False, label_mode="categorical", verbose=False)
    arrays["categorical_y"] = next(iter(ds))[1].numpy()
    ds = keras.utils.image_dataset_from_directory(
        "images", image_size=(6, 4), batch_size=100, shuffle=False, label_mode="binary", class_names=["dogs", "cats"],
        verbose=False)
    arrays["binary_y"] = next(iter(ds))[1].numpy()
    ds = keras.utils.image_dataset_from_directory("images", labels=None, shuffle=False, verbose=False)
    paths["none"] = ds.file_paths
    for seed in (0, 1337):
        for subset in ("training", "validation"):
            ds = keras.utils.image_dataset_from_directory(
                "images", validation_split=0.3, subset=subset, seed=seed, verbose=False)
            paths[f"{subset}_{seed}"] = ds.file_paths
    np.savez_compressed("images.npz", **arrays)
    write_json("images.json", {"paths": paths})


def utilities():
    """utilities.json: timeseries_dataset_from_array, pad_sequences, to_categorical, split_dataset."""
    series = []
    x, y = np.arange(20.0).reshape(10, 2), np.arange(10) * 10
    for arguments in (
        dict(sequence_length=3),
        dict(sequence_length=3, sequence_stride=2, batch_size=2),
        dict(sequence_length=2, sampling_rate=3, batch_size=4),
        dict(sequence_length=3, sampling_rate=2, sequence_stride=2, start_index=1, end_index=9, batch_size=2),
    ):
        for targets in (None, y, y[:6]):
            if targets is not None and len(targets) < len(y) and "start_index" in arguments:
                continue  # Keras 3.15.1 then reads targets that are not there
            batches = []
            for b in keras.utils.timeseries_dataset_from_array(x, targets, **arguments):
                b = (b, None) if targets is None else b
                batches.append({"x": b[0].numpy().tolist(), "y": None if targets is None else b[1].numpy().tolist()})
            series.append({"arguments": arguments, "targets": None if targets is None else targets.tolist(), "batches": batches})
    padded = []
    sequences = [[1], [2, 3], [4, 5, 6], []]
    for maxlen in (None, 2, 5):
        for padding in ("pre", "post"):
            for truncating in ("pre", "post"):
                for value in (0, -1):
                    a = dict(maxlen=maxlen, padding=padding, truncating=truncating, value=value)
                    padded.append({"arguments": a, "result": keras.utils.pad_sequences(sequences, **a).tolist()})
    one_hot = []
    for labels, classes in (([0, 2, 1], None), ([0, 2, 1], 5), ([[1], [0]], None), ([[[1], [0]], [[2], [2]]], 3), ([1, 1], 2)):
        one_hot.append({"labels": labels, "classes": classes, "result": keras.utils.to_categorical(labels, classes).tolist()})
    split = []
    for left, right in ((0.8, None), (None, 0.25), (3, None), (None, 4), (0.5, 0.2), (2, 0.5), (0.25, None), (0.15, None), (0.35, 0.65)):
        l, r = keras.utils.split_dataset([np.arange(10)], left_size=left, right_size=right)
        split.append({"left_size": left, "right_size": right,
                      "left": [int(v[0]) for v in l], "right": [int(v[0]) for v in r]})
    write_json("utilities.json", {"timeseries": series, "pad_sequences": padded, "to_categorical": one_hot, "split_dataset": split})


def resizing():
    """resizing.npz: rows of image_dataset_from_directory with other interpolations and proportions, over images/."""
    arrays = {}
    for label, kw in (
        *((m, dict(interpolation=m)) for m in ("nearest", "bicubic", "lanczos3", "lanczos5", "gaussian", "mitchellcubic", "area")),
        ("crop", dict(crop_to_aspect_ratio=True)), ("crop_nearest", dict(crop_to_aspect_ratio=True, interpolation="nearest")),
        ("pad", dict(pad_to_aspect_ratio=True)), ("pad_bicubic", dict(pad_to_aspect_ratio=True, interpolation="bicubic")),
    ):
        ds = keras.utils.image_dataset_from_directory(
            "images", class_names=["cats", "dogs"], image_size=(6, 4), batch_size=100, shuffle=False, verbose=False, **kw)
        arrays[label] = next(iter(ds))[0].numpy()
    np.savez_compressed("resizing.npz", **arrays)


def texts():
    """texts/: folders of classes; texts.json: what text_dataset_from_directory makes of them."""
    shutil.rmtree("texts", ignore_errors=True)
    files = {"good/b.txt": "A fine film.\n", "good/a.txt": "Très bien", "good/more/c.TXT": "", "bad/d.txt": "Dull, dull, dull.", "bad/e.txt": "\ttabs\n\nand lines ",
             "bad/notes.md": "no text", "bad/f.txt": "x", "Other/g.txt": "y"}
    for path, content in files.items():
        os.makedirs(os.path.dirname("texts/" + path), exist_ok=True)
        with open("texts/" + path, "wb") as f:
            f.write(content.encode())
    out = {}
    for label, kw in {
        "int": dict(shuffle=False), "categorical": dict(shuffle=False, label_mode="categorical"), "none": dict(shuffle=False, labels=None),
        "binary": dict(shuffle=False, label_mode="binary", class_names=["good", "bad"]), "max_length": dict(shuffle=False, max_length=6),
        "training": dict(validation_split=0.4, subset="training", seed=11), "validation": dict(validation_split=0.4, subset="validation", seed=11),
    }.items():
        ds = keras.utils.text_dataset_from_directory("texts", batch_size=3, verbose=False, **kw)
        batches = [b if isinstance(b, tuple) else (b, None) for b in ds]
        out[label] = {"class_names": list(ds.class_names or []),
                      "x": [[v.decode(errors="replace") for v in x.numpy()] for x, _ in batches],
                      "y": [None if y is None else y.numpy().tolist() for _, y in batches]}
    write_json("texts.json", {"cases": out})


def sounds():
    """sounds/: folders of classes with files of 16 bits; sounds.json: what audio_dataset_from_directory makes of them."""
    shutil.rmtree("sounds", ignore_errors=True)
    rng = np.random.default_rng(5)
    for path, samples, channels in [("no/b.wav", 7, 1), ("no/a.wav", 3, 1), ("no/more/c.WAV", 5, 1), ("yes/d.wav", 4, 1), ("yes/e.wav", 9, 1),
                                    ("Up/f.wav", 1, 1), ("maybe/none.mp3", 2, 1), ("maybe/g.wav", 6, 1)]:
        os.makedirs(os.path.dirname("sounds/" + path), exist_ok=True)
        with wave.open("sounds/" + path, "wb") as f:
            f.setparams((channels, 2, 8000, 0, "NONE", ""))
            f.writeframes(rng.integers(-32768, 32768, samples * channels).astype("<i2").tobytes())
    os.makedirs("stereo/all", exist_ok=True)
    for name, samples in [("a", 4), ("b", 2)]:
        with wave.open(f"stereo/all/{name}.wav", "wb") as f:
            f.setparams((2, 2, 44100, 0, "NONE", ""))
            f.writeframes(rng.integers(-32768, 32768, 2 * samples).astype("<i2").tobytes())
    out = {}
    for label, kw in {
        "int": dict(), "categorical": dict(label_mode="categorical"), "none": dict(labels=None),
        "binary": dict(label_mode="binary", class_names=["yes", "no"]), "length": dict(output_sequence_length=4),
        "given": dict(labels=[3, 1, 3, 0, 2, 1, 3]), "given_categorical": dict(labels=[2, 1, 2, 0, 0, 1, 2], label_mode="categorical"),
        "stereo": dict(directory="stereo"), "unbatched": dict(batch_size=None),
        "training": dict(validation_split=0.4, subset="training", seed=11), "validation": dict(validation_split=0.4, subset="validation", seed=11),
    }.items():
        kw = dict(directory="sounds", batch_size=3, verbose=False, shuffle="seed" in kw) | kw
        ds = keras.utils.audio_dataset_from_directory(**kw)
        batches = [b if isinstance(b, tuple) else (b, None) for b in ds]
        out[label] = {"class_names": list(ds.class_names or []) if kw["batch_size"] else [],
                      "x": [x.numpy().tolist() for x, _ in batches], "y": [None if y is None else y.numpy().tolist() for _, y in batches]}
    write_json("sounds.json", {"cases": out})


numpy_files()
images()
utilities()
resizing()
texts()
sounds()
