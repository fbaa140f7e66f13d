"""Vectors of keras.ops, the second part: signals, decoding, bits, warped images, and arguments that ops.py leaves out.

Run: KERAS_BACKEND=numpy python gen/ops_more.py one; KERAS_BACKEND=tensorflow python gen/ops_more.py two
     python gen/ops_more_join.py one two <output directory>
Versions: see common.py. The format is that of ops.py. Where extra has "differentiable", there are no gradients, and the test
compares with central differences in float64.
"""

import numpy as np

import common
import ops
from ops import B, I, T, add

D = common.DTYPE


def signals():
    for n in (1, 2, 5, 12, 65, 210, 263, 1022):
        add("fft", [T(1, n), T(1, n)], tag="length")
    for n in (1, 2, 5, 65, 97, 128):
        add("rfft", T(2, n), tag="length")
    add("fft", [T(2, 3, 6), T(2, 3, 6)])
    for name in ("fft2", "ifft2"):
        add(name, [T(2, 5, 3), T(2, 5, 3)])
        add(name, [T(3, 66), T(3, 66)])
    for n in (7, 20):
        add("rfft", T(2, 8), fft_length=n)
        add("irfft", [T(3, 5), T(3, 5)], fft_length=n)
    for n in (2, 9, 65):
        add("irfft", [T(2, n), T(2, n)])
    for n, length, stride in ((9, 9, 1), (40, 16, 5), (80, 40, 1), (23, 2, 7)):
        add("extract_sequences", T(2, 3, n), length, stride)
    add("extract_sequences", I(9, 2, 11), 4, 2, tag="integer")
    for n, length, stride, size in ((31, 8, 3, 8), (33, 6, 4, 9), (60, 40, 1, 44)):
        frames = 1 + n // stride if size % 2 == 0 else 1 + (n - 1) // stride
        for window in ("hann", "hamming", None):
            for center in (True, False) if window == "hann" else (True,):
                add("stft", T(2, n), length, stride, size, window=window, center=center)
                bins = size // 2 + 1
                count = frames if center else 1 + (n - size) // stride
                add("istft", [T(2, count, bins), T(2, count, bins)], length, stride, size, window=window, center=center)
        add("istft", [T(2, frames, size // 2 + 1), T(2, frames, size // 2 + 1)], length, stride, size, length=n - 3)
    add("stft", T(17), 5, 2, 8, window=[0.3, 0.9, 1.0, 0.7, 0.2])
    add("istft", [T(7, 5), T(7, 5)], 5, 2, 8, window=[0.3, 0.9, 1.0, 0.7, 0.2])


def decoding():
    r = common.rng("ctc")
    for batch, steps, classes, labels in ((3, 8, 5, 3), (2, 14, 4, 5)):
        target = r.integers(1, classes, (batch, labels)).astype("int32")
        full = np.full(batch, steps, "int32")
        some = r.integers(0, labels + 1, batch).astype("int32")
        short = r.integers(max(1, steps - 3), steps + 1, batch).astype("int32")
        add("ctc_loss", target, T(batch, steps, classes), some, full)
        add("ctc_loss", target, T(batch, steps, classes), some, short, tag="short")
        other = np.where(target == classes - 1, 0, target).astype("int32")
        add("ctc_loss", other, T(batch, steps, classes), some, short, mask_index=classes - 1)
        for merge in (True, False):
            add("ctc_decode", T(batch, steps, classes), short, merge_repeated=merge, grad=False)
        add("ctc_decode", T(batch, steps, classes), short, mask_index=classes - 1, grad=False)
        for width, top in ((3, 1), (20, 5)):
            add("ctc_decode", T(batch, steps, classes), short, strategy="beam_search", beam_width=width, top_paths=top, grad=False)
    add("ctc_decode", T(2, 6, 4), np.array([6, 4], "int32"), strategy="beam_search", beam_width=6, top_paths=2, mask_index=3, grad=False)


def bits():
    integers = np.array([[1, -2, 1065353216, 7], [0, 2147483647, -2147483648, 12345]], "int32")
    for dtype in ("float32", "uint32", "int8", "uint8", "int16", "float16", "bfloat16", "int32"):
        add("view", integers & 0x3FFF7BFF, dtype=dtype, grad=False)
    add("view", np.array([[1, 2, 3, 4, 5, 6, 7, 8]], "uint8"), dtype="int32", grad=False)
    add("view", np.array([[1, 2, 3, 4], [250, 0, 7, 1]], "uint8"), dtype="int16", grad=False, tag="bytes")
    edge = np.array([0.0, 0.0, 1.0, -1.0, 1.0, 3.0, -3.0, 7.0, 2.5, 2.5])
    to = np.array([1.0, -1.0, 2.0, 2.0, 1.0, 0.0, 0.0, 1.0, np.inf, -np.inf])
    add("nextafter", edge, to, grad=False, tag=f"edges {D}")
    add("nextafter", T(3, 5), T(3, 5), grad=False, tag=D)
    add("nextafter", T(3, 1), T(5), grad=False, tag=f"broadcast {D}")
    add("full", [2, 3], T(), dtype=D, tag="tensor")
    add("full", [2, 3], T(3), dtype=D, tag="row")
    add("size", T(2, 3, 4), grad=False)
    add("ndim", T(2, 3, 4), grad=False)
    for name in ("logspace", "geomspace"):
        low = 0.3 if name == "geomspace" else -1.5
        add(name, T(2, 3, low=low, high=2), T(3, low=low, high=2), num=5)
        add(name, T(3, low=low, high=2), T(3, low=low, high=2), num=4, endpoint=False, axis=-1)
        add(name, T(3, low=low, high=2), 2.5, num=1)
    add("logspace", T(3), T(3), num=4, base=2.5)
    add("geomspace", np.array([-1.0, -8.0]), np.array([-64.0, -1.0]), num=7, grad=False, tag="negative")


def shapes():
    q = np.array([0.13, 0.57, 0.83])
    for name, whole in (("quantile", 1), ("percentile", 100), ("nanquantile", 1)):
        add(name, T(5, 4, 3, low=-2, high=2), q * whole, axis=1, tag="array")
        add(name, T(5, 4, 3, low=-2, high=2), q * whole, axis=[0, 2], keepdims=True, tag="array")
        add(name, T(7, 3, low=-2, high=2), np.array([[0.25, 0.5], [0.0, 1.0]]) * whole, axis=0, grad=False, tag="matrix")
    for method in ("lower", "midpoint"):
        add("percentile", T(6, 3, low=-2, high=2), q * 100, axis=0, method=method, tag="array")
    add("multi_hot", I(5, 4), 5, axis=0, tag="vector")
    add("multi_hot", I(5, 4), 5, tag="vector")
    add("multi_hot", I(5, 3, 4), 5, axis=0)
    add("multi_hot", I(5, 3, 4), 5, axis=1)
    add("multi_hot", I(5, 2, 3, 4), 5, axis=-1)
    add("multi_hot", I(5, 2, 3, 4), 5, axis=2)
    add("normalize", T(3, 4), axis=None)
    add("normalize", T(2, 3, 4), axis=None)
    add("normalize", T(2, 3, 4), axis=[0, 2])
    add("normalize", T(5), axis=None, order=3)
    add("normalize", T(3, 4), axis=[0, 1], order=1)
    add("rearrange", T(2, 3, 4), "b h c -> b c h")
    add("rearrange", T(2, 3, 4), "b h c -> b (h c)")
    add("rearrange", T(2, 6, 4), "b (h p) c -> b h (p c)", p=2)
    add("rearrange", T(2, 6, 4, 8, 3), "b (t p) (h q) (w r) c -> (b t) h w (p q r c)", p=2, q=2, r=4)
    add("histogram", T(20), bins=5, range=[-2, 2], grad=False)
    x = np.array([3, 1, 2, 3, 1, 9, 7, 3], "int32")
    for size in (4, 5, 7):
        add("unique", x, size=size, grad=False, return_index=True, return_inverse=size >= 5, return_counts=True)
        add("unique", x, size=size, fill_value=-1, grad=False)


def warps():
    # The backends read the last two numbers differently: TensorFlow as the documentation says, the others not at all.
    maps = np.round(common.rng("maps").uniform(-0.3, 1.2, (2, 8)) * [1, 1, 1, 1, 1, 1, 0, 0], 3)
    for mode in ("constant", "nearest", "wrap", "mirror", "reflect"):
        for how in ("bilinear", "nearest") if mode in ("constant", "reflect") else ("bilinear",):
            add("image.affine_transform", T(2, 5, 4, 3), maps, interpolation=how, fill_mode=mode, fill_value=0.5)
            add("image.map_coordinates", T(4, 5), T(2, 3, 6, low=-6, high=9), order=int(how == "bilinear"), fill_mode=mode, fill_value=0.5)
    add("image.affine_transform", T(4, 5, 2), maps[0])
    add("image.affine_transform", T(2, 3, 4, 5), maps, data_format="channels_first")
    add("image.map_coordinates", T(4), T(1, 5, low=-1, high=5), order=1)
    add("image.map_coordinates", T(3, 4, 2), T(3, 2, 2, 2, low=-1, high=4), order=1, fill_mode="nearest")
    add("image.map_coordinates", I(50, 4, 5), T(2, 6, low=0, high=3.4), order=1, grad=False, tag="integer")
    corners = np.array([[0.0, 0.0], [5.0, 0.0], [0.0, 4.0], [5.0, 4.0]])
    moved = corners * np.array([[0.9, 0.8]]) + np.array([[0.1, 0.2], [0.3, -0.2], [0.2, 0.4], [-0.3, -0.1]])
    for how in ("bilinear", "nearest"):
        add("image.perspective_transform", T(5, 6, 3), corners, moved, interpolation=how, fill_value=0.25, grad=False)
        add("image.perspective_transform", T(2, 5, 6, 1), np.stack([corners, moved]), np.stack([moved, corners]), interpolation=how, grad=False)
    for method in ("linear", "cubic", "lanczos3", "lanczos5"):
        for smooth in (True, False) if method in ("linear", "lanczos3") else (True,):
            add("image.scale_and_translate", T(6, 7), [4, 9], np.array([0.6, 1.4]), np.array([0.3, -0.7]), [0, 1], method, smooth)
    add("image.scale_and_translate", T(2, 6, 7, 3), [2, 9, 5, 3], T(2, low=0.5, high=2), T(2), [1, 2], "linear")
    add("image.ssim", T(2, 14, 13, 3, low=0, high=1), T(2, 14, 13, 3, low=0, high=1))
    add("image.ssim", T(12, 11, 2, low=0, high=255), T(12, 11, 2, low=0, high=255), max_val=255.0)
    add("image.ssim", T(2, 3, 9, 8, low=0, high=1), T(2, 3, 9, 8, low=0, high=1), filter_size=5, filter_sigma=0.8, k1=0.02, k2=0.05, data_format="channels_first")


def main():
    signals()
    decoding()
    bits()
    shapes()
    warps()
    ops.write("ops_more", __file__)


if __name__ == "__main__":
    common.run(main)
