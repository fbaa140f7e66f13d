"""Records what Keras's LoRA and quantization come to: a model before, what is done to it, and numbers afterwards.

    KERAS_BACKEND=torch python quantization.py quantization.json.gz

Written with Keras 3.15.1 on PyTorch.
"""

import base64
import gzip
import json
import os
import sys
import tempfile

os.environ.setdefault("KERAS_BACKEND", "torch")
import keras
import numpy as np
from keras import layers, quantizers

random = np.random.default_rng(7)


def file_of(model):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "model.keras")
        model.save(path)
        with open(path, "rb") as f:
            return base64.b64encode(f.read()).decode()


def array(a):
    a = np.asarray(keras.ops.convert_to_numpy(a))
    return {"shape": list(a.shape), "dtype": str(a.dtype), "values": [float(v) for v in a.astype("float64").ravel()]}




def reversible(tied, cap=None):
    inputs = keras.Input((5,), dtype="int32")
    shared = layers.ReversibleEmbedding(9, 6, tie_weights=tied, logit_soft_cap=cap)
    hidden = layers.Dense(6, activation="tanh")(shared(inputs))
    return keras.Model(inputs, shared(hidden, reverse=True))


def stack(shape, *members, dtype="float32"):
    return keras.Sequential([keras.Input(shape, dtype=dtype), *members])


MODELS = {
    "dense": lambda: stack((6,), layers.Dense(5, activation="relu"), layers.Dense(3)),
    "dense_sequence": lambda: stack((4, 7), layers.Dense(5, use_bias=False), layers.Dense(3)),
    "einsum": lambda: stack((4, 6), layers.EinsumDense("abc,cde->abde", (None, 2, 3), bias_axes="de"), layers.EinsumDense("abde,def->abf", (None, 5), bias_axes="f")),
    "embedding": lambda: stack((5,), layers.Embedding(9, 7), layers.Dense(3), dtype="int32"),
    "reversible": lambda: reversible(True),
    "reversible_untied": lambda: reversible(False, 5.0),
    "conv": lambda: stack((6, 6, 2), layers.Conv2D(4, 3, padding="same", activation="tanh"), layers.Conv2D(4, 3, groups=2), layers.Flatten(), layers.Dense(2)),
    "conv_other": lambda: stack((6, 4), layers.Conv1D(3, 3), layers.Reshape((4, 3, 1, 1)), layers.Conv3D(2, (3, 1, 1))),
}

INT4 = quantizers.Int4QuantizationConfig
ACTIONS = {
    "lora": [("lora", 2, 3.0)],
    "int8": [("quantize", "int8", None)],
    "int8_weights": [("quantize", "int8", quantizers.Int8QuantizationConfig(activation_quantizer=None))],
    "int4": [("quantize", "int4", None)],
    "int4_block": [("quantize", "int4", INT4(block_size=4))],
    "int4_channel": [("quantize", "int4", INT4(block_size=-1))],
    "int4_activations": [("quantize", "int4", INT4(block_size=-1, activation_quantizer=quantizers.AbsMaxQuantizer()))],
    "float8": [("quantize", "float8", None)],
    "int8_lora": [("quantize", "int8", None), ("lora", 2, 3.0)],
    "int4_lora": [("quantize", "int4", INT4(block_size=4)), ("lora", 2, 3.0)],
    "int4_channel_lora": [("quantize", "int4", INT4(block_size=-1)), ("lora", 2, 3.0)],
}

cases = []
for name, make in MODELS.items():
    for action, steps in ACTIONS.items():
        keras.utils.set_random_seed(1)
        keras.backend.clear_session()
        if name.startswith("conv") and action != "lora" and name != "conv":
            continue
        if name in ("embedding", "reversible", "reversible_untied") and action == "float8":
            continue
        model = make()
        for w in model.weights:
            w.assign(random.normal(0, 0.4, w.shape).astype("float32"))
        case = {"name": f"{name}_{action}", "before": file_of(model), "steps": []}
        shape = (8, *model.input_shape[1:])
        whole = model.inputs[0].dtype == "int32"
        x = random.integers(0, 9, shape).astype("int32") if whole else random.normal(0, 1, shape).astype("float32")
        case["x"] = array(x)
        for step in steps:
            if step[0] == "quantize":
                model.quantize(step[1], config=step[2])
                config = step[2] and keras.saving.serialize_keras_object(step[2])
                case["steps"].append({"quantize": step[1], "config": config})
                continue
            for layer in model.layers:
                if hasattr(layer, "enable_lora"):
                    layer.enable_lora(step[1], lora_alpha=step[2])
            drawn = []
            for w in model.weights:
                if "lora" in w.name:
                    w.assign(random.normal(0, 0.3, w.shape).astype("float32"))
                    drawn.append(array(w))
            case["steps"].append({"rank": step[1], "alpha": step[2], "drawn": drawn})
        case["weights"] = [array(w) for w in model.weights]
        case["names"] = [w.path for w in model.weights]
        case["trainable"] = [w.path for w in model.trainable_weights]
        case["predicted"] = array(model.predict(x, verbose=0))
        case["after"] = file_of(model)
        y = random.normal(0, 1, case["predicted"]["shape"]).astype("float32")
        case["y"] = array(y)
        model.compile(keras.optimizers.SGD(0.1), "mse")
        case["losses"] = [float(model.train_on_batch(x, y)) for _ in range(2)]
        case["trained"] = [array(w) for w in model.weights]
        cases.append(case)
        print(case["name"], len(case["weights"]), case["losses"], file=sys.stderr)

with gzip.GzipFile(sys.argv[1], "wb", mtime=0) as f:
    f.write(json.dumps(cases).encode())
