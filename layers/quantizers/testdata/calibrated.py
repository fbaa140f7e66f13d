"""Records what GPTQ and AWQ of Keras make of matrices.

    KERAS_BACKEND=torch python calibrated.py calibrated.json.gz

Written with Keras 3.15.1 on PyTorch.
"""

import gzip
import json
import os
import sys

os.environ.setdefault("KERAS_BACKEND", "torch")
import numpy as np
from keras import ops
from keras.src import layers
from keras.src.quantizers import awq, awq_config, gptq, gptq_config, quantizers

random = np.random.default_rng(11)


def numbers(a):
    return [float(v) for v in ops.convert_to_numpy(a).astype("float64").ravel()]


def draw(inputs, outputs, rows):
    """Few digits, and signs in turns: Keras has no zero for a group of positive weights."""
    kernel = np.abs(random.normal(0, 0.5, (inputs, outputs))) * np.where(np.arange(inputs) % 2, 1, -1)[:, None]
    x = random.normal(0, 1, (rows, inputs)) * np.exp(random.normal(0, 0.7, inputs))
    x[:, 3] = 0
    return np.round(kernel, 3).astype("float32"), np.round(x, 1).astype("float32")


cases = []
for inputs, outputs, rows in ((6, 5, 40), (24, 6, 120), (150, 3, 200)):
    for settings in (
        {},
        {"group_size": 8},
        {"group_size": 5, "weight_bits": 3},
        {"group_size": -1, "weight_bits": 8},
        {"group_size": 8, "symmetric": True, "weight_bits": 2},
        {"group_size": 16, "activation_order": True},
        {"group_size": 16, "per_channel": False, "hessian_damping": 0.3},
        {"awq": True, "group_size": -1},
        {"awq": True, "group_size": 8},
        {"awq": True, "group_size": 7, "num_grid_points": 5},
    ):
        if inputs > 128 and settings.get("group_size", -1) not in (8, 16) and "awq" not in settings:
            continue  # Keras finds scales anew for each block of 128 inputs, and has no room for them
        kernel, x = draw(inputs, outputs, rows)
        layer = layers.Dense(outputs, use_bias=False)
        layer.build((None, inputs))
        layer.kernel.assign(kernel)
        plain = {k: v for k, v in settings.items() if k != "awq"}
        if "awq" in settings:
            config = awq_config.AWQConfig(dataset=None, tokenizer=None, **plain)
            a = awq.AWQ(layer, config)
            a.update_activation_magnitudes(ops.convert_to_tensor(x[: rows // 2]))
            a.update_activation_magnitudes(ops.convert_to_tensor(x[rows // 2 :]))
            layer.quantization_config = config
            layer.quantize("awq", config=config)
            a.quantize_layer()
        else:
            config = gptq_config.GPTQConfig(dataset=None, tokenizer=None, **plain)
            a = gptq.GPTQ(layer, config)
            a.update_hessian_with_batch(ops.convert_to_tensor(x[: rows // 2]))
            a.update_hessian_with_batch(ops.convert_to_tensor(x[rows // 2 :]))
            layer.quantization_config = config
            layer.quantize("gptq", config=config)
            a.quantize_and_correct_layer()
        values = layer.quantized_kernel
        if settings.get("weight_bits", 4) == 4:
            values = quantizers.unpack_int4(values, outputs, axis=0, dtype="uint8")
        if not settings.get("symmetric") and float(ops.max(layer.kernel_zero)) >= 2 ** settings.get("weight_bits", 4):
            print("left out, for its groups of one sign:", inputs, settings)
            continue
        case = {
            "mode": "awq" if "awq" in settings else "gptq",
            "settings": plain,
            "kernel": [round(v, 3) for v in numbers(kernel)],
            "x": [round(v, 1) for v in numbers(x)],
            "shape": [rows, inputs, outputs],
            "values": numbers(values),
            "scale": numbers(layer.kernel_scale),
            "zero": numbers(layer.kernel_zero),
            "group": numbers(layer.g_idx),
        }
        if "awq" in settings:
            case["saliency"] = numbers(layer.awq_scales)
        cases.append(case)

with gzip.GzipFile(sys.argv[1], "wb", mtime=0) as f:
    f.write(json.dumps(cases).encode())
print(len(cases))
