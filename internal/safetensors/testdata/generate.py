"""Makes all.safetensors and empty.safetensors with the reference implementation (one text of metadata: its order is random there).

Written with safetensors 0.8.0, NumPy 2.4.6, Python 3.11.7. Run in this folder: python generate.py
"""

import numpy as np
from safetensors import TensorSpec, serialize

BYTES = {
    "bool": 1, "float4_e2m1fn_x2": 1, "uint8": 1, "int8": 1, "float8_e5m2": 1, "float8_e4m3fn": 1, "float8_e8m0fnu": 1,
    "float8_e4m3fnuz": 1, "float8_e5m2fnuz": 1, "int16": 2, "uint16": 2, "float16": 2, "bfloat16": 2, "int32": 4, "uint32": 4,
    "float32": 4, "complex64": 8, "float64": 8, "int64": 8, "uint64": 8,
}  # fmt: skip


def spec(dtype, shape, data):
    data = np.ascontiguousarray(data).view(np.uint8)
    KEEP.append(data)
    return TensorSpec(dtype=dtype, shape=shape, data_ptr=data.ctypes.data, data_len=data.nbytes)


KEEP = []
tensors = {name: spec(name, [2, 1], np.arange(2 * size, dtype=np.uint8) % 2) for name, size in BYTES.items() if "float4" not in name}
tensors["float4"] = spec("float4_e2m1fn_x2", [1, 2], np.array([1, 2], np.uint8))
tensors["values/f2"] = spec("float16", [3], np.array([1, -2.5, 6e-8], np.float16))
tensors["values/bf16"] = spec("bfloat16", [2], np.array([0x3F80, 0xC020], np.uint16))
tensors["values/f4"] = spec("float32", [2, 3], np.array([1, 2, 3, 4, 5, -6.5], np.float32))
tensors["values/f8"] = spec("float64", [1], np.array([0.25], np.float64))
tensors["kernel <é>"] = spec("float32", [1], np.array([7], np.float32))
metadata = {"a & b": "<text> \" é"}
with open("all.safetensors", "wb") as f:
    f.write(serialize(tensors, metadata))
with open("empty.safetensors", "wb") as f:
    f.write(serialize({}, None))
