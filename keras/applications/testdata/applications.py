"""Writes configs.json.bz2, predictions.json and preprocessing.json: what real Keras builds and computes for keras.applications.

Made with Keras 3.15.1, TensorFlow 2.21.0 (CPU) and NumPy 2.4; run it as

    KERAS_BACKEND=tensorflow python applications.py

configs.json.bz2: for each case the constructor, its arguments, the number of parameters and the model's to_json().
predictions.json: for one model of each family the outputs for weights and inputs that follow from a formula (see fill), so that no
weights need to be stored.
preprocessing.json: preprocess_input and decode_predictions on small arrays.

"applications.py exchange FOLDER" serves the Go test TestKerasExchangesWeights.
"""

import bz2
import json
import os
import sys
import zlib

os.environ.setdefault("KERAS_BACKEND", "tensorflow")
import keras  # noqa: E402
import numpy as np  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
APPLICATIONS = [n for n in dir(keras.applications) if n[0].isupper()]


def config_cases():
    cases = [(name, {}) for name in APPLICATIONS]
    no_top = {"include_top": False}
    for name in ["ResNet50", "ResNet50V2", "VGG16", "MobileNet", "MobileNetV2", "MobileNetV3Small", "EfficientNetB0", "DenseNet121",
                 "EfficientNetV2B0", "Xception", "InceptionV3", "InceptionResNetV2", "NASNetMobile", "ConvNeXtTiny"]:
        size = 96
        cases += [
            (name, {**no_top}),
            (name, {**no_top, "pooling": "max", "input_shape": [size, size + 1, 3], **({} if name == "EfficientNetV2B0" else {"name": "body"})}),
            (name, {**no_top, "pooling": "avg", "input_shape": [size + 5, size, 1]}),
            (name, {"classes": 7, "classifier_activation": None, "input_shape": [size, size, 3]}),
        ]
        if name not in ("DenseNet121", "NASNetMobile", "ConvNeXtTiny"):  # Keras refuses the others
            cases.append((name, {"classes": 3, "data_format": "channels_first", "input_shape": [3, size, size + 3]}))
    cases += [
        ("MobileNet", {"alpha": 0.25, "depth_multiplier": 2, "dropout": 0.5, "input_shape": [128, 128, 3]}),
        ("MobileNet", {"alpha": 0.75}),
        ("MobileNetV2", {"alpha": 0.35, "input_shape": [160, 160, 3]}),
        ("MobileNetV2", {"alpha": 1.4, "input_shape": [33, 47, 3]}),
        ("MobileNetV3Small", {"alpha": 0.75, "minimalistic": True}),
        ("MobileNetV3Large", {"alpha": 1.3, "dropout_rate": 0, "include_preprocessing": False, "input_shape": [64, 48, 3]}),
        ("MobileNetV3Large", {"minimalistic": True, "include_top": False, "pooling": "max"}),
        ("EfficientNetV2S", {"include_preprocessing": False, "classes": 12}),
        ("EfficientNetV2B3", {"include_preprocessing": False, "classes": 12}),
        ("ConvNeXtTiny", {"include_preprocessing": False, "classes": 12}),
    ]
    return cases


def build(name, arguments):
    """Builds a model in a fresh session, so that automatic names begin anew."""
    keras.utils.clear_session()
    arguments = dict(arguments)
    keras.config.set_image_data_format(arguments.pop("data_format", "channels_last"))
    if "input_shape" in arguments:
        arguments["input_shape"] = tuple(arguments["input_shape"])
    return getattr(keras.applications, name)(weights=None, **arguments)


def write_configs():
    lines = []
    random = keras.initializers.VarianceScaling.__call__  # the values do not matter here, and drawing them takes long
    keras.initializers.VarianceScaling.__call__ = lambda self, shape, dtype=None: keras.ops.zeros(shape, dtype or "float32")
    for name, arguments in config_cases():
        model = build(name, arguments)
        lines.append(json.dumps({
            "constructor": name, "arguments": arguments, "parameters": model.count_params(),
            "config": json.loads(model.to_json())}))
        print(name, arguments, model.count_params(), flush=True)
    keras.initializers.VarianceScaling.__call__ = random
    keras.config.set_image_data_format("channels_last")
    with open(os.path.join(HERE, "configs.json.bz2"), "wb") as f:
        f.write(bz2.compress("\n".join(lines).encode(), 9))


# ----------------------------------------------------------------------------------------------------------------------------
# Weights and inputs that follow from a formula


def uniform(key, n):
    """n float64 numbers in [-1, 1): multiples of 2^-23, from a 32-bit mix of CRC-32(key) and the position."""
    x = np.arange(n, dtype=np.uint32) * np.uint32(2654435761) + np.uint32(zlib.crc32(key.encode()))
    x ^= x >> np.uint32(16)
    x *= np.uint32(0x7FEB352D)
    x ^= x >> np.uint32(15)
    x *= np.uint32(0x846CA68B)
    x ^= x >> np.uint32(16)
    return (x >> np.uint32(8)).astype(np.float64) / 2.0**23 - 1.0


def leaves(model):
    for layer in model.layers:
        if isinstance(layer, keras.Model):
            yield from leaves(layer)
        else:
            yield layer


def fill(model, gain):
    """Gives every weight the value of its formula: kernels by their fan-in, statistics and scales near 0 and 1."""
    for layer in leaves(model):
        for v in layer.weights:
            shape = tuple(v.shape)
            n = int(np.prod(shape))
            name = "gamma" if type(layer).__name__ == "LayerScale" else v.name
            u = uniform(layer.name + "/" + name, n)
            if name in ("kernel", "depthwise_kernel", "pointwise_kernel"):
                depthwise = name == "depthwise_kernel" or "Depthwise" in type(layer).__name__
                fan_in = shape[0] * shape[1] if depthwise else n // shape[-1]
                a = u * np.sqrt(gain / fan_in)
            elif name in ("gamma", "moving_variance", "variance"):
                a = 1.0 + 0.25 * u
            elif name == "count":
                continue
            else:
                a = 0.1 * u
            v.assign(a.astype("float32").reshape(shape))
        if isinstance(layer, keras.layers.Normalization) and layer.input_mean is None:
            layer.finalize_state()  # takes over what was assigned


def prediction_cases():
    no_top = {"include_top": False, "pooling": "avg"}
    return [
        ("ResNet50", {**no_top, "input_shape": [32, 35, 3]}),
        ("ResNet50V2", {"classes": 10, "classifier_activation": None, "input_shape": [48, 32, 3]}),
        ("VGG16", {**no_top, "input_shape": [32, 32, 3]}),
        ("MobileNet", {"classes": 10, "alpha": 0.5, "input_shape": [64, 64, 3]}),
        ("MobileNetV2", {"classes": 10, "classifier_activation": None, "input_shape": [64, 49, 3]}),
        ("MobileNetV3Small", {"classes": 10, "input_shape": [64, 64, 3]}),
        ("MobileNetV3Large", {**no_top, "minimalistic": True, "input_shape": [64, 64, 3]}),
        ("EfficientNetB0", {"classes": 10, "input_shape": [64, 64, 3]}),
        ("DenseNet121", {"classes": 10, "classifier_activation": None, "input_shape": [32, 32, 3]}),
        ("EfficientNetV2B0", {**no_top, "input_shape": [64, 64, 3]}),
        ("EfficientNetV2S", {**no_top, "input_shape": [32, 32, 3]}),
        ("Xception", {**no_top, "input_shape": [71, 71, 3]}),
        ("InceptionV3", {**no_top, "input_shape": [75, 75, 3]}),
        ("InceptionResNetV2", {**no_top, "input_shape": [75, 75, 3]}),
        ("NASNetMobile", {**no_top, "input_shape": [64, 64, 3]}),
        ("ConvNeXtTiny", {**no_top, "input_shape": [32, 32, 3]}),
    ]


def inputs_of(model):
    """Two images of bytes, as they come from a file: 0 to 255."""
    shape = (2,) + tuple(model.input_shape[1:])
    return np.floor((uniform("input", int(np.prod(shape))) + 1.0) * 128.0).astype("float32").reshape(shape)


def gain_of(name):
    """With 6 a relu keeps the mean square of what passes. Squeeze-and-excite needs smaller numbers: sigmoids of large ones magnify the
    rounding errors of float32 beyond comparison."""
    return 2.0 if name.startswith("EfficientNet") else 6.0


def prepare(name, x):
    return MODULES[name].preprocess_input(x.copy())


def write_predictions():
    cases = []
    for name, arguments in prediction_cases():
        model = build(name, arguments)
        fill(model, gain_of(name))
        y = model.predict(prepare(name, inputs_of(model)), verbose=0)
        assert np.isfinite(y).all() and np.abs(y).max() < 1e6, name
        print(name, y.shape, float(np.abs(y).min()), float(np.abs(y).max()), float(y.std()), flush=True)
        cases.append({"constructor": name, "arguments": arguments, "gain": gain_of(name), "shape": y.shape,
                      "output": [float(f"{v:.9g}") for v in y.ravel().tolist()]})
    with open(os.path.join(HERE, "predictions.json"), "w") as f:
        f.write("[\n" + ",\n".join(json.dumps(c) for c in cases) + "\n]\n")


def write_preprocessing():
    """What preprocess_input and decode_predictions make of small arrays, for all modes, formats, ranks and types."""
    utils = keras.applications.imagenet_utils
    cases = []
    for mode in ["caffe", "tf", "torch"]:
        for data_format, shape in [("channels_last", (2, 2, 3, 3)), ("channels_last", (3, 2, 3)), ("channels_first", (2, 3, 2, 3)),
                                   ("channels_first", (3, 2, 3))]:
            for dtype in ["float32", "float64", "uint8"]:
                x = np.floor((uniform("pixels", int(np.prod(shape))) + 1) * 128).astype(dtype).reshape(shape)
                y = utils.preprocess_input(x.copy(), data_format=data_format, mode=mode)
                cases.append({"mode": mode, "data_format": data_format, "shape": shape, "dtype": dtype, "input": x.ravel().tolist(),
                              "output_dtype": str(y.dtype), "output": [float(v) for v in y.ravel()]})
    graphs = []
    for mode in ["caffe", "tf", "torch"]:
        for data_format, shape in [("channels_last", (2, 2, 3)), ("channels_first", (3, 2, 2))]:
            keras.utils.clear_session()
            image = keras.Input(shape)
            model = keras.Model(image, utils.preprocess_input(image, data_format=data_format, mode=mode))
            x = np.floor((uniform("pixels", 24) + 1) * 128).astype("float32").reshape((2,) + shape)
            graphs.append({"mode": mode, "data_format": data_format, "shape": shape, "config": json.loads(model.to_json()),
                           "output": [float(v) for v in model.predict(x, verbose=0).ravel()]})
    from keras.src.applications import imagenet_utils
    imagenet_utils.CLASS_INDEX = {str(i): [f"n{i:08d}", f"label_{i}"] for i in range(1000)}
    scores = (uniform("scores", 2000).reshape(2, 1000)).astype("float32")
    decoded = [[[a, b, float(c)] for a, b, c in row] for row in utils.decode_predictions(scores, top=4)]
    with open(os.path.join(HERE, "preprocessing.json"), "w") as f:
        json.dump({"cases": cases, "graphs": graphs, "decoded": decoded}, f)


def exchange(folder):
    """Loads the weights that the Go test wrote into folder and predicts; then writes other weights in every form for the Go test."""
    with open(os.path.join(folder, "cases.json")) as f:
        cases = json.load(f)

    def predict(model):  # as predict does, less the time to compile models that are computed once or twice
        return keras.ops.convert_to_numpy(model(x, training=False))

    for i, c in enumerate(cases):
        model = build(c["constructor"], c["arguments"])
        model.load_weights(os.path.join(folder, f"{i}.go.weights.h5"))
        opened = keras.models.load_model(os.path.join(folder, f"{i}.go.keras"), compile=False, custom_objects=CUSTOM)
        x = inputs_of(model)
        np.save(os.path.join(folder, f"{i}.go.npy"), predict(model))
        np.save(os.path.join(folder, f"{i}.opened.npy"), predict(opened))
        fill(model, c["gain"])
        model.save_weights(os.path.join(folder, f"{i}.weights.h5"))
        model.save(os.path.join(folder, f"{i}.keras"))
        model.save(os.path.join(folder, f"{i}.legacy.h5"))
        np.save(os.path.join(folder, f"{i}.npy"), predict(model))


A = keras.applications
MODULES = {
    "ResNet50": A.resnet, "ResNet50V2": A.resnet_v2, "VGG16": A.vgg16, "MobileNet": A.mobilenet, "MobileNetV2": A.mobilenet_v2,
    "MobileNetV3Small": A.mobilenet_v3, "MobileNetV3Large": A.mobilenet_v3, "EfficientNetB0": A.efficientnet,
    "DenseNet121": A.densenet, "EfficientNetV2B0": A.efficientnet_v2, "EfficientNetV2S": A.efficientnet_v2, "Xception": A.xception,
    "InceptionV3": A.inception_v3, "InceptionResNetV2": A.inception_resnet_v2, "NASNetMobile": A.nasnet, "ConvNeXtTiny": A.convnext,
}

from keras.src.applications.convnext import LayerScale  # noqa: E402
from keras.src.applications.inception_resnet_v2 import CustomScaleLayer  # noqa: E402

CUSTOM = {"LayerScale": LayerScale, "CustomScaleLayer": CustomScaleLayer}

if __name__ == "__main__":
    if sys.argv[1:2] == ["exchange"]:
        exchange(sys.argv[2])
    if sys.argv[1:] in ([], ["configs"]):
        write_configs()
    if sys.argv[1:] in ([], ["predictions"]):
        write_predictions()
    if sys.argv[1:] in ([], ["preprocessing"]):
        write_preprocessing()
