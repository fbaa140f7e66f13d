"""Layer vectors: outputs, input gradients and weight gradients with fixed weights.

Run: KERAS_BACKEND=jax python gen/layers.py <output directory>
Versions: see common.py.

A case holds
  inputs     the tensors of the call by name ("x", "x_0", "query", "mask", ...), and
             one "cotangent" (or "cotangent_0", ...) per floating output
  weights    layer.weights in order, named by Variable.path, as they are before the call
  outputs    "output" (or "output_0", ... in flattened order); "mask": the mask that
             the layer passes on; "losses": layer.losses after the call, joined;
             "after/<path>": the new value of each non-trainable variable that changed
  gradients  of  sum(output * cotangent) + sum(losses), for each floating input by its
             name and for each trainable weight by its path
  extra      call: {args, kwargs} with {"input": name} in place of tensors;
             trainable: one flag per weight;
             compute_mask: the masks given to compute_mask alone (merging layers);
             previous_calls: argument lists of calls made before this one (stateful layers);
             build_shapes: shapes of the first argument
Every float64 gradient is checked here against central differences.

The layers_rnn and layers_attention sets are written by this script, too.
"""

import sys

import jax
import numpy as np

import common
import keras
from keras import layers as K
from keras.src import tree

ROWS = []
SET = None  # the set that add() appends to


def add(label, make, *args, weights=None, positive=False, scale=1.0, previous=(), **kwargs):
    """args and kwargs are what the layer is called with; a tuple of ints that is
    marked by S(...) becomes random numbers."""
    ROWS.append((SET, label, make, args, kwargs, weights, previous))


class S:
    """A shape to be filled with random numbers, reproducibly per case and input."""

    def __init__(self, *shape, scale=1.0, low=None, high=None, integer=False, mask=False):
        self.shape, self.scale, self.low, self.high = shape, scale, low, high
        self.integer, self.mask = integer, mask

    def fill(self, r):
        if self.mask:
            m = r.random(self.shape) < 0.65
            m[..., 0] = True
            return m
        if self.integer:
            return r.integers(self.low, self.high, self.shape).astype("int32")
        if self.low is not None:
            return np.round(r.uniform(self.low, self.high, self.shape), 3)
        return common.grid(r, self.shape, self.scale, 4)


def I(high, *shape):
    return S(*shape, low=0, high=high, integer=True)


def B(*shape):
    return S(*shape, mask=True)


# ---------------------------------------------------------------- the tables

def core():
    add("default", lambda: K.Dense(4), S(3, 5))
    add("no_bias", lambda: K.Dense(3, use_bias=False, activation="tanh"), S(2, 5))
    for a in ("relu", "sigmoid", "softmax", "gelu"):
        add(f"activation={a}", lambda a=a: K.Dense(3, activation=a), S(2, 5))
    add("rank3", lambda: K.Dense(3, activation="relu"), S(2, 4, 5))
    add("rank4", lambda: K.Dense(2), S(2, 3, 2, 4))
    add("one_by_one", lambda: K.Dense(1), S(1, 1))
    add("regularizers", lambda: K.Dense(3, kernel_regularizer="l2", bias_regularizer=keras.regularizers.L1(0.1), activity_regularizer=keras.regularizers.L1L2(0.02, 0.03)), S(4, 5))
    add("masked", lambda: K.Dense(3), S(2, 4, 5))

    for eq, out, bias, shape, act in [
        ("ab,bc->ac", 4, "c", (3, 5), None), ("abc,cd->abd", (None, 3), "d", (2, 4, 5), "relu"),
        ("abc,cde->abde", (None, 2, 3), "de", (2, 4, 5), None), ("abcd,cde->abe", (None, 3), "e", (2, 4, 2, 3), None),
        ("...x,xy->...y", 4, "y", (2, 3, 5), None), ("abc,bd->adc", (3, 5), None, (2, 4, 5), None), ("abc,cde->abde", (None, 2, 3), "d", (2, 4, 5), None)]:
        add(f"{eq},bias_axes={bias}", lambda eq=eq, out=out, bias=bias, act=act: K.EinsumDense(eq, output_shape=out, bias_axes=bias, activation=act), S(*shape))

    add("default", lambda: K.Embedding(7, 3), I(7, 2, 5))
    add("mask_zero", lambda: K.Embedding(7, 3, mask_zero=True), I(7, 3, 4))
    add("repeated", lambda: K.Embedding(3, 2), np.array([[1, 1, 2, 1], [0, 1, 1, 2]], "int32"))
    add("rank1", lambda: K.Embedding(5, 2), I(5, 6))
    add("rank3", lambda: K.Embedding(5, 2), I(5, 2, 3, 2))
    add("embed", lambda: K.ReversibleEmbedding(6, 3), I(6, 2, 4))
    add("reverse", lambda: K.ReversibleEmbedding(6, 3), S(2, 4, 3), reverse=True)
    add("untied_reverse", lambda: K.ReversibleEmbedding(6, 3, tie_weights=False), S(2, 4, 3), reverse=True)
    add("soft_cap_reverse", lambda: K.ReversibleEmbedding(6, 3, logit_soft_cap=1.5), S(2, 4, 3), reverse=True)

    x = np.array([[[1.0, 2], [0, 0], [0, 3], [0, 0]], [[0, 0], [1, 1], [-1, 1], [2, 0]]])
    add("default", lambda: K.Masking(), x)
    add("value=-1", lambda: K.Masking(mask_value=-1.0), np.array([[[-1.0, -1], [0, 0], [-1, 3]]]))
    add("default", lambda: K.Identity(), S(2, 3))
    for a in ("relu", "softmax", "elu"):
        add(f"{a}", lambda a=a: K.Activation(a), S(3, 4))
    add("default", lambda: K.ReLU(), S(3, 4))
    add("all", lambda: K.ReLU(max_value=1.1, negative_slope=0.2, threshold=0.3), S(4, 6))
    add("slope", lambda: K.ReLU(negative_slope=0.4), S(3, 4))
    add("max_value=6", lambda: K.ReLU(max_value=6.0), S(3, 4, scale=5))
    add("default", lambda: K.LeakyReLU(), S(3, 4))
    add("slope=.05", lambda: K.LeakyReLU(negative_slope=0.05), S(3, 4))
    add("default", lambda: K.ELU(), S(3, 4))
    add("alpha=.3", lambda: K.ELU(alpha=0.3), S(3, 4))
    add("default", lambda: K.PReLU(), S(2, 3, 4))
    add("shared_axes=[1]", lambda: K.PReLU(shared_axes=[1]), S(2, 3, 4))
    add("shared_axes=[1,2]", lambda: K.PReLU(shared_axes=[1, 2]), S(2, 3, 2, 4))
    add("default", lambda: K.Softmax(), S(3, 4))
    add("axis=1", lambda: K.Softmax(axis=1), S(2, 3, 4))
    add("axis=[1,2]", lambda: K.Softmax(axis=[1, 2]), S(2, 3, 4))
    add("mask", lambda: K.Softmax(), S(3, 4), mask=np.array([[1, 1, 0, 1], [0, 0, 0, 0], [1, 1, 1, 1]], bool))
    add("mask_axis=1", lambda: K.Softmax(axis=1), S(2, 3, 4), mask=B(2, 3, 4))
    add("default", lambda: K.Rescaling(1 / 255.0), S(2, 3, low=0, high=255))
    add("offset", lambda: K.Rescaling(2.0, offset=-1.0), S(2, 3, 2))
    add("offset_list", lambda: K.Rescaling([2.0, 0.5], offset=[-1.0, 3.0]), S(2, 3, 2))
    add("given", lambda: K.Normalization(mean=[0.5, -1.0, 2.0], variance=[1.5, 0.2, 3.0]), S(4, 3))
    add("given_scalar", lambda: K.Normalization(axis=None, mean=0.5, variance=2.0), S(4, 3))
    add("given_invert", lambda: K.Normalization(mean=[0.5, -1.0, 2.0], variance=[1.5, 0.2, 3.0], invert=True), S(4, 3))
    add("zero_variance", lambda: K.Normalization(mean=[0.0, 1.0], variance=[0.0, 1.0]), np.array([[1e-8, 2.0], [0.0, 3.0]]))
    data = np.round(np.random.default_rng(7).normal(2, 3, (7, 2, 3)), 3)
    for axis in (-1, 1, None, (1, 2)):
        add(f"adapt,axis={axis}".replace(" ", ""), lambda axis=axis: K.Normalization(axis=axis), S(2, 2, 3), weights=("adapt", data))
    add("adapt_invert", lambda: K.Normalization(invert=True), S(2, 2, 3), weights=("adapt", data))


def conv():
    for k, s, p, d, shape, f in [
        (3, 1, "valid", 1, (2, 7, 3), 4), (3, 1, "same", 1, (2, 7, 3), 2), (2, 2, "same", 1, (2, 7, 3), 2), (4, 3, "valid", 1, (2, 11, 2), 3),
        (3, 1, "valid", 2, (2, 9, 2), 3), (3, 1, "same", 3, (1, 9, 2), 3), (3, 1, "causal", 1, (2, 6, 2), 3), (3, 1, "causal", 2, (2, 7, 2), 3),
        (2, 2, "causal", 1, (2, 7, 2), 3), (1, 1, "valid", 1, (2, 5, 3), 4), (5, 2, "same", 1, (1, 4, 2), 2)]:
        add(f"k{k}s{s}{p}d{d}", lambda k=k, s=s, p=p, d=d, f=f: K.Conv1D(f, k, strides=s, padding=p, dilation_rate=d), S(*shape))
    add("groups=2", lambda: K.Conv1D(6, 3, groups=2), S(2, 6, 4))
    add("activation_no_bias", lambda: K.Conv1D(3, 2, activation="relu", use_bias=False), S(2, 5, 2))
    add("channels_first", lambda: K.Conv1D(3, 2, data_format="channels_first", padding="same"), S(2, 3, 5))

    for k, s, p, d, shape, f in [
        ((3, 3), 1, "valid", 1, (2, 5, 7, 3), 4), ((3, 3), 1, "same", 1, (2, 5, 6, 2), 3), ((3, 2), (2, 1), "same", 1, (2, 7, 5, 2), 3),
        ((2, 3), (2, 3), "valid", 1, (1, 7, 9, 2), 3), ((3, 3), 2, "same", 1, (2, 7, 9, 1), 2), ((3, 2), 2, "same", 1, (1, 8, 6, 2), 2),
        ((3, 3), 1, "valid", 2, (1, 7, 8, 2), 2), ((3, 2), 1, "same", (2, 3), (1, 6, 7, 2), 2), ((1, 1), 1, "valid", 1, (2, 3, 4, 5), 3),
        ((1, 1), 2, "same", 1, (2, 5, 4, 3), 2), ((5, 5), 1, "same", 1, (1, 3, 4, 2), 2), ((5, 7), 3, "same", 1, (1, 4, 5, 2), 2), ((4, 4), 2, "valid", 1, (2, 8, 7, 3), 2)]:
        add(f"k{k[0]}x{k[1]}s{s}{p}d{d}".replace(" ", ""), lambda k=k, s=s, p=p, d=d, f=f: K.Conv2D(f, k, strides=s, padding=p, dilation_rate=d), S(*shape))
    add("groups=2", lambda: K.Conv2D(4, 3, groups=2, padding="same"), S(2, 5, 4, 6))
    add("groups=3,strides=2", lambda: K.Conv2D(6, 3, groups=3, strides=2), S(2, 6, 7, 3))
    add("activation_no_bias", lambda: K.Conv2D(3, 2, activation="relu", use_bias=False), S(2, 4, 5, 2))
    add("channels_first", lambda: K.Conv2D(3, (2, 3), data_format="channels_first", strides=(1, 2), padding="same"), S(2, 2, 5, 6))
    add("kernel_covers_input", lambda: K.Conv2D(4, (3, 5)), S(3, 3, 5, 2))

    for k, s, p, shape in [((2, 3, 2), 1, "valid", (1, 4, 5, 3, 2)), ((3, 3, 3), (1, 2, 1), "same", (1, 4, 5, 3, 2)), ((2, 2, 2), 2, "same", (2, 3, 4, 5, 1))]:
        add(f"k{k}s{s}{p}".replace(" ", ""), lambda k=k, s=s, p=p: K.Conv3D(2, k, strides=s, padding=p), S(*shape))
    add("dilation=2", lambda: K.Conv3D(2, 2, dilation_rate=2), S(1, 4, 5, 3, 2))
    add("groups=2", lambda: K.Conv3D(4, 2, groups=2), S(1, 3, 3, 3, 4))

    for k, s, p, op, shape in [(3, 2, "valid", None, (2, 4, 3)), (3, 2, "same", None, (2, 4, 3)), (4, 2, "same", None, (2, 4, 2)), (4, 2, "valid", None, (1, 3, 2)), (2, 3, "valid", None, (1, 4, 2)),
                               (2, 3, "same", None, (1, 4, 2)), (3, 1, "same", None, (1, 5, 2)), (3, 1, "valid", None, (1, 5, 2)), (3, 2, "same", 1, (1, 4, 2)), (3, 2, "same", 0, (1, 4, 2)), (3, 2, "valid", 1, (1, 4, 2)), (3, 2, "valid", 0, (1, 4, 2)), (5, 3, "same", 2, (1, 3, 2))]:
        add(f"k{k}s{s}{p}o{op}", lambda k=k, s=s, p=p, op=op: K.Conv1DTranspose(3, k, strides=s, padding=p, output_padding=op), S(*shape))
    add("dilation=2", lambda: K.Conv1DTranspose(3, 3, dilation_rate=2), S(1, 5, 2))
    add("dilation=2,same", lambda: K.Conv1DTranspose(3, 3, dilation_rate=2, padding="same"), S(1, 5, 2))
    for k, s, p, op, shape in [((3, 3), 2, "same", None, (2, 3, 4, 2)), ((3, 3), 2, "valid", None, (2, 3, 4, 2)), ((4, 4), 2, "same", None, (1, 3, 2, 2)), ((4, 2), (2, 3), "valid", None, (1, 3, 4, 2)),
                               ((2, 3), (3, 1), "same", None, (1, 3, 4, 2)), ((3, 3), 2, "same", 1, (1, 3, 4, 2)), ((3, 3), 2, "same", (0, 1), (1, 3, 4, 2)), ((3, 3), 1, "same", None, (1, 4, 5, 3)), ((1, 1), 2, "same", None, (1, 3, 3, 2)), ((2, 2), 2, "valid", None, (2, 3, 3, 3))]:
        add(f"k{k[0]}x{k[1]}s{s}{p}o{op}".replace(" ", ""), lambda k=k, s=s, p=p, op=op: K.Conv2DTranspose(3, k, strides=s, padding=p, output_padding=op), S(*shape))
    add("no_bias_activation", lambda: K.Conv2DTranspose(2, 3, use_bias=False, activation="tanh"), S(1, 3, 4, 3))
    add("dilation=2", lambda: K.Conv2DTranspose(2, 3, dilation_rate=(2, 1)), S(1, 3, 4, 3))
    add("channels_first", lambda: K.Conv2DTranspose(3, (3, 2), strides=2, data_format="channels_first", padding="same"), S(2, 2, 3, 4))
    for p in ("valid", "same"):
        add(f"k3s2{p}", lambda p=p: K.Conv3DTranspose(2, (3, 2, 3), strides=(2, 1, 2), padding=p), S(1, 2, 3, 2, 2))

    for k, s, p, d, m, shape in [(3, 1, "valid", 1, 1, (2, 6, 3)), (3, 2, "same", 1, 2, (2, 7, 2)), (2, 1, "same", 2, 1, (1, 6, 3)), (4, 3, "valid", 1, 3, (1, 9, 2))]:
        add(f"k{k}s{s}{p}d{d}m{m}", lambda k=k, s=s, p=p, d=d, m=m: K.DepthwiseConv1D(k, strides=s, padding=p, dilation_rate=d, depth_multiplier=m), S(*shape))
    for k, s, p, d, m, shape in [((3, 3), 1, "valid", 1, 1, (2, 5, 6, 3)), ((3, 3), 2, "same", 1, 2, (2, 5, 7, 2)), ((2, 3), 1, "same", 2, 1, (1, 6, 5, 3)), ((3, 2), 2, "valid", 1, 3, (1, 6, 5, 2)), ((3, 3), 1, "same", 1, 1, (1, 5, 6, 1))]:
        add(f"k{k[0]}x{k[1]}s{s}{p}d{d}m{m}", lambda k=k, s=s, p=p, d=d, m=m: K.DepthwiseConv2D(k, strides=s, padding=p, dilation_rate=d, depth_multiplier=m), S(*shape))
    add("no_bias_activation", lambda: K.DepthwiseConv2D(3, use_bias=False, activation="relu"), S(1, 4, 5, 2))
    add("channels_first", lambda: K.DepthwiseConv2D(3, data_format="channels_first", depth_multiplier=2), S(1, 2, 5, 4))
    for k, s, p, d, m, shape in [(3, 1, "valid", 1, 1, (2, 6, 3)), (3, 2, "same", 1, 2, (2, 7, 2)), (2, 1, "same", 2, 1, (1, 6, 3))]:
        add(f"k{k}s{s}{p}d{d}m{m}", lambda k=k, s=s, p=p, d=d, m=m: K.SeparableConv1D(4, k, strides=s, padding=p, dilation_rate=d, depth_multiplier=m), S(*shape))
    for k, s, p, d, m, shape in [((3, 3), 1, "valid", 1, 1, (2, 5, 6, 3)), ((3, 3), 2, "same", 1, 2, (2, 5, 7, 2)), ((2, 3), 1, "same", 2, 1, (1, 6, 5, 3))]:
        add(f"k{k[0]}x{k[1]}s{s}{p}d{d}m{m}", lambda k=k, s=s, p=p, d=d, m=m: K.SeparableConv2D(4, k, strides=s, padding=p, dilation_rate=d, depth_multiplier=m), S(*shape))
    add("no_bias_activation", lambda: K.SeparableConv2D(4, 3, use_bias=False, activation="relu"), S(1, 4, 5, 2))


def pooling():
    for name in ("MaxPooling", "AveragePooling"):
        c1, c2, c3 = (getattr(K, f"{name}{n}D") for n in (1, 2, 3))
        for k, s, p, shape in [(2, None, "valid", (2, 7, 3)), (2, None, "same", (2, 7, 3)), (3, 1, "same", (2, 6, 2)), (3, 2, "valid", (2, 8, 2)), (4, 3, "same", (1, 9, 2)), (2, 3, "valid", (1, 8, 2))]:
            add(f"k{k}s{s}{p}", lambda k=k, s=s, p=p, c=c1: c(k, strides=s, padding=p), S(*shape))
        add("channels_first", lambda c=c1: c(2, data_format="channels_first"), S(2, 3, 7))
        for k, s, p, shape in [((2, 2), None, "valid", (2, 5, 6, 3)), ((2, 2), None, "same", (2, 5, 7, 2)), ((3, 3), 1, "same", (1, 4, 5, 2)), ((3, 2), (2, 1), "same", (2, 6, 5, 1)), ((3, 3), 2, "same", (1, 6, 8, 2)), ((3, 3), 2, "valid", (1, 7, 8, 2)), ((2, 3), (3, 2), "valid", (1, 7, 9, 2))]:
            add(f"k{k[0]}x{k[1]}s{s}{p}".replace(" ", ""), lambda k=k, s=s, p=p, c=c2: c(k, strides=s, padding=p), S(*shape))
        add("channels_first", lambda c=c2: c(2, data_format="channels_first", padding="same"), S(2, 3, 5, 4))
        for k, s, p in [(2, None, "valid"), (2, None, "same"), ((3, 2, 1), (1, 2, 2), "same")]:
            add(f"k{k}s{s}{p}".replace(" ", ""), lambda k=k, s=s, p=p, c=c3: c(k, strides=s, padding=p), S(1, 5, 4, 3, 2))
    for name in ("GlobalMaxPooling", "GlobalAveragePooling"):
        for n, shape in [(1, (2, 5, 3)), (2, (2, 4, 3, 2)), (3, (1, 3, 2, 4, 2))]:
            c = getattr(K, f"{name}{n}D")
            add("default", lambda c=c: c(), S(*shape))
            add("keepdims", lambda c=c: c(keepdims=True), S(*shape))
            add("channels_first", lambda c=c: c(data_format="channels_first"), S(*shape))
    add("mask", lambda: K.GlobalAveragePooling1D(), S(3, 4, 2), mask=np.array([[1, 1, 0, 0], [1, 0, 1, 1], [1, 1, 1, 1]], bool))
    add("mask_keepdims", lambda: K.GlobalAveragePooling1D(keepdims=True), S(3, 4, 2), mask=B(3, 4))
    for n, shape, out in [(1, (2, 7, 2), 3), (2, (1, 7, 5, 2), (3, 2)), (3, (1, 5, 4, 6, 1), (2, 3, 4))]:
        for kind in ("Average", "Max"):
            add("default", lambda n=n, out=out, kind=kind: getattr(K, f"Adaptive{kind}Pooling{n}D")(out), S(*shape))


def normalization():
    for training in (False, True):
        t = {"training": training}
        tag = f"training={training}"
        add(f"{tag}", lambda: K.BatchNormalization(), S(5, 3), **t)
        add(f"rank4,{tag}", lambda: K.BatchNormalization(), S(2, 3, 4, 2), **t)
        add(f"axis=1,{tag}", lambda: K.BatchNormalization(axis=1, momentum=0.8, epsilon=1e-2), S(3, 2, 4), **t)
        add(f"no_scale,{tag}", lambda: K.BatchNormalization(scale=False), S(4, 3), **t)
        add(f"no_center,{tag}", lambda: K.BatchNormalization(center=False), S(4, 3), **t)
        add(f"neither,{tag}", lambda: K.BatchNormalization(center=False, scale=False), S(4, 3), **t)
        add(f"mask,{tag}", lambda: K.BatchNormalization(momentum=0.7), S(3, 4, 2), mask=B(3, 4), **t)
        add(f"frozen,{tag}", lambda: K.BatchNormalization(trainable=False), S(4, 3), **t)
        add(f"renorm,{tag}", lambda: K.BatchNormalization(renorm=True, renorm_clipping={"rmax": 1.5, "rmin": 0.6, "dmax": 0.7}), S(5, 3), **t)
    add("batch_of_one,training=True", lambda: K.BatchNormalization(), S(1, 3), training=True)
    add("second_call,training=True", lambda: K.BatchNormalization(momentum=0.6), S(4, 3), training=True, previous=[(S(4, 3),), (S(2, 3),)])
    add("default", lambda: K.LayerNormalization(), S(3, 5))
    add("rank3", lambda: K.LayerNormalization(epsilon=1e-6), S(2, 3, 4))
    add("axis=1", lambda: K.LayerNormalization(axis=1), S(2, 3, 4))
    add("axis=[1,2]", lambda: K.LayerNormalization(axis=[1, 2]), S(2, 3, 4))
    add("axis=[-1,-2]", lambda: K.LayerNormalization(axis=[-1, -2]), S(2, 3, 4))
    add("no_scale", lambda: K.LayerNormalization(scale=False), S(2, 4))
    add("no_center", lambda: K.LayerNormalization(center=False), S(2, 4))
    add("constant_row", lambda: K.LayerNormalization(), np.array([[2.0, 2, 2, 2], [1, 2, 3, 4]]))
    for g, shape in [(2, (2, 5, 4)), (1, (2, 3, 6)), (6, (2, 3, 6)), (3, (2, 2, 3, 6)), (-1, (2, 3, 4))]:
        add(f"groups={g}", lambda g=g: K.GroupNormalization(groups=g), S(*shape))
    add("axis=1", lambda: K.GroupNormalization(groups=2, axis=1, epsilon=1e-2), S(2, 4, 3))
    add("no_scale_center", lambda: K.GroupNormalization(groups=2, scale=False, center=False), S(2, 3, 4))
    add("default", lambda: K.RMSNormalization(), S(3, 5))
    add("epsilon", lambda: K.RMSNormalization(epsilon=1e-2), S(2, 3, 4))
    add("axis=[1,2]", lambda: K.RMSNormalization(axis=[1, 2]), S(2, 3, 4))
    add("default", lambda: K.UnitNormalization(), S(3, 5))
    add("axis=1", lambda: K.UnitNormalization(axis=1), S(2, 3, 4))
    add("axis=[1,2]", lambda: K.UnitNormalization(axis=[1, 2]), S(2, 3, 4))
    add("zero_row", lambda: K.UnitNormalization(), np.array([[0.0, 0, 0], [1, 2, 2]]))
    for training in (False, True):
        add(f"dense,training={training}", lambda: K.SpectralNormalization(K.Dense(3), power_iterations=2), S(4, 5), training=training)
        add(f"conv,training={training}", lambda: K.SpectralNormalization(K.Conv2D(2, 2)), S(1, 3, 4, 2), training=training)


def reshaping_merging():
    add("default", lambda: K.Flatten(), S(2, 3, 4))
    add("rank4", lambda: K.Flatten(), S(2, 3, 2, 2))
    add("rank1", lambda: K.Flatten(), S(3))
    add("channels_first", lambda: K.Flatten(data_format="channels_first"), S(2, 3, 4, 2))
    for target, shape in [((6, 2), (2, 3, 4)), ((-1,), (2, 3, 4)), ((2, -1, 3), (2, 3, 4)), ((), (3, 1))]:
        add(f"{target}".replace(" ", ""), lambda target=target: K.Reshape(target), S(*shape))
    add("(2,1)", lambda: K.Permute((2, 1)), S(2, 3, 4))
    add("(3,1,2)", lambda: K.Permute((3, 1, 2)), S(2, 3, 4, 2))
    add("3", lambda: K.RepeatVector(3), S(2, 4))
    for pad in (1, (2, 3), (0, 1)):
        add(f"{pad}".replace(" ", ""), lambda pad=pad: K.ZeroPadding1D(pad), S(2, 3, 2))
    for pad in (1, (1, 2), ((1, 2), (0, 3))):
        add(f"{pad}".replace(" ", ""), lambda pad=pad: K.ZeroPadding2D(pad), S(2, 3, 2, 2))
    add("channels_first", lambda: K.ZeroPadding2D((1, 2), data_format="channels_first"), S(1, 2, 3, 2))
    add("((1,0),(0,2),(1,1))", lambda: K.ZeroPadding3D(((1, 0), (0, 2), (1, 1))), S(1, 2, 2, 3, 2))
    for crop in (1, (1, 2), (0, 1)):
        add(f"{crop}".replace(" ", ""), lambda crop=crop: K.Cropping1D(crop), S(2, 5, 2))
    for crop in (1, (1, 2), ((1, 0), (2, 1))):
        add(f"{crop}".replace(" ", ""), lambda crop=crop: K.Cropping2D(crop), S(1, 5, 6, 2))
    add("default", lambda: K.Cropping2D(), S(1, 3, 4, 2))
    add("channels_first", lambda: K.Cropping2D(((1, 0), (2, 1)), data_format="channels_first"), S(1, 2, 5, 6))
    add("((1,0),(0,2),(1,1))", lambda: K.Cropping3D(((1, 0), (0, 2), (1, 1))), S(1, 3, 4, 4, 2))
    add("2", lambda: K.UpSampling1D(), S(2, 3, 2))
    add("3", lambda: K.UpSampling1D(3), S(2, 3, 2))
    for interp in ("nearest", "bilinear"):
        for size in ((2, 2), (2, 3), (1, 3)):
            add(f"{size},{interp}".replace(" ", ""), lambda size=size, interp=interp: K.UpSampling2D(size, interpolation=interp), S(2, 3, 2, 2))
    for interp in ("bicubic", "lanczos3"):
        add(f"(2,3),{interp}", lambda interp=interp: K.UpSampling2D((2, 3), interpolation=interp), S(1, 4, 5, 2))
    add("channels_first", lambda: K.UpSampling2D((2, 3), data_format="channels_first", interpolation="bilinear"), S(1, 2, 3, 4))
    add("(2,1,3)", lambda: K.UpSampling3D((2, 1, 3)), S(1, 2, 3, 2, 2))

    for name in ("Add", "Subtract", "Multiply", "Average", "Maximum", "Minimum"):
        c = getattr(K, name)
        add("two", lambda c=c: c(), [S(2, 3), S(2, 3)])
        if name != "Subtract":
            add("three", lambda c=c: c(), [S(2, 3, 2), S(2, 3, 2), S(2, 3, 2)])
        add("broadcast", lambda c=c: c(), [S(2, 3, 4), S(2, 1, 4)])
        add("broadcast_rank", lambda c=c: c(), [S(2, 4, 3), S(2, 3)])
    for axis, shapes in [(-1, [(2, 3), (2, 1), (2, 4)]), (1, [(2, 3, 2), (2, 1, 2)]), (-2, [(2, 3, 2), (2, 1, 2)]), (0, [(2, 3), (1, 3)]), (3, [(1, 2, 3, 2), (1, 2, 3, 4)])]:
        add(f"axis={axis}", lambda axis=axis: K.Concatenate(axis=axis), [S(*s) for s in shapes])
    add("masks", lambda: K.Concatenate(axis=1), [S(2, 3, 2), S(2, 2, 2)], compute_mask=[B(2, 3), B(2, 2)])
    add("masks_one_none", lambda: K.Concatenate(axis=1), [S(2, 3, 2), S(2, 2, 2)], compute_mask=[B(2, 3), None])
    add("masks_last_axis", lambda: K.Concatenate(), [S(2, 3, 2), S(2, 3, 1)], compute_mask=[B(2, 3), B(2, 3)])
    add("masks", lambda: K.Add(), [S(2, 3, 2), S(2, 3, 2)], compute_mask=[B(2, 3), B(2, 3)])
    for axes, norm, shapes in [(1, False, [(2, 4), (2, 4)]), (1, True, [(2, 4), (2, 4)]), ((2, 1), False, [(2, 3, 4), (2, 4, 5)]), ((1, 2), False, [(2, 4, 3), (2, 5, 4)]), (2, True, [(2, 3, 4), (2, 5, 4)]), (-1, False, [(2, 3, 4), (2, 5, 4)])]:
        add(f"axes={axes},normalize={norm}".replace(" ", ""), lambda axes=axes, norm=norm: K.Dot(axes=axes, normalize=norm), [S(*s) for s in shapes])


def regularization():
    for training in (False, True):
        add(f"rate=0,training={training}", lambda: K.Dropout(0.0), S(2, 3), training=training)
        add(f"rate=1,training={training}", lambda: K.Dropout(1.0, seed=3), S(2, 3), training=training)
        add(f"rate=0,training={training}", lambda: K.SpatialDropout1D(0.0), S(2, 3, 2), training=training)
        add(f"rate=0,training={training}", lambda: K.SpatialDropout2D(0.0), S(2, 3, 2, 2), training=training)
        add(f"rate=0,training={training}", lambda: K.SpatialDropout3D(0.0), S(1, 2, 3, 2, 2), training=training)
        add(f"rate=0,training={training}", lambda: K.GaussianDropout(0.0), S(2, 3), training=training)
        add(f"stddev=0,training={training}", lambda: K.GaussianNoise(0.0), S(2, 3), training=training)
        add(f"rate=0,training={training}", lambda: K.AlphaDropout(0.0), S(2, 3), training=training)
    add("rate=.4,training=False", lambda: K.Dropout(0.4), S(2, 3), training=False)
    add("rate=.4,training=False", lambda: K.SpatialDropout1D(0.4), S(2, 3, 2), training=False)
    add("rate=.4,training=False", lambda: K.GaussianDropout(0.4), S(2, 3), training=False)
    add("stddev=.4,training=False", lambda: K.GaussianNoise(0.4), S(2, 3), training=False)
    add("rate=.4,training=False", lambda: K.AlphaDropout(0.4), S(2, 3), training=False)
    add("l1=.1,l2=.2", lambda: K.ActivityRegularization(l1=0.1, l2=0.2), S(3, 4))
    add("default", lambda: K.ActivityRegularization(), S(3, 4))


def rnn():
    # No sequence begins with a masked step (seen in its own direction): there JAX
    # repeats the first state, where the documented result is zeros.
    mask = np.array([[1, 1, 1, 1], [1, 0, 1, 0], [1, 1, 0, 0]], bool)
    back = mask[:, ::-1]
    both = np.array([[1, 1, 1, 1], [1, 0, 1, 1], [1, 0, 0, 1]], bool)
    for name, states in (("SimpleRNN", 1), ("GRU", 1), ("LSTM", 2)):
        c = getattr(K, name)
        x = S(3, 4, 2)
        u = 3
        init = [S(3, u) for _ in range(states)]
        add("default", lambda c=c: c(u), x)
        add("return_sequences", lambda c=c: c(u, return_sequences=True), x)
        add("return_state", lambda c=c: c(u, return_state=True), x)
        add("return_both", lambda c=c: c(u, return_sequences=True, return_state=True), x)
        add("go_backwards", lambda c=c: c(u, go_backwards=True), x)
        add("go_backwards_sequences", lambda c=c: c(u, go_backwards=True, return_sequences=True, return_state=True), x)
        add("mask", lambda c=c: c(u), x, mask=mask)
        add("mask_sequences", lambda c=c: c(u, return_sequences=True, return_state=True), x, mask=mask)
        add("mask_zero_output", lambda c=c: c(u, return_sequences=True, return_state=True, zero_output_for_mask=True), x, mask=mask)
        add("mask_go_backwards", lambda c=c: c(u, return_sequences=True, go_backwards=True), x, mask=back)
        add("initial_state", lambda c=c: c(u, return_sequences=True, return_state=True), x, initial_state=init)
        add("initial_state_mask", lambda c=c: c(u, return_state=True), x, initial_state=init, mask=mask)
        add("no_bias", lambda c=c: c(u, use_bias=False), x)
        add("activation=relu", lambda c=c: c(u, activation="relu", return_sequences=True), x)
        add("unroll", lambda c=c: c(u, unroll=True, return_sequences=True), x, mask=mask)
        add("one_step", lambda c=c: c(u), S(2, 1, 3))
        add("stateful", lambda c=c: c(u, stateful=True, return_sequences=True), x, previous=[(S(3, 4, 2),)])
        add("regularizers", lambda c=c: c(u, kernel_regularizer="l1", recurrent_regularizer="l2", bias_regularizer="l2", activity_regularizer="l2"), x)
        if name != "SimpleRNN":
            add("activations", lambda c=c: c(u, activation="softsign", recurrent_activation="hard_sigmoid", return_sequences=True), x)
        cell = getattr(K, name + "Cell")
        add("default", lambda cell=cell: cell(u), S(3, 2), [S(3, u) for _ in range(states)])
        add("no_bias", lambda cell=cell: cell(u, use_bias=False), S(3, 2), [S(3, u) for _ in range(states)])
        add(f"{name}Cell", lambda cell=cell: K.RNN(cell(u), return_sequences=True, return_state=True), x)
        add(f"{name}Cell_mask_zero_output", lambda cell=cell: K.RNN(cell(u), return_sequences=True, zero_output_for_mask=True), x, mask=mask)
    add("reset_before", lambda: K.GRU(3, reset_after=False, return_sequences=True), S(3, 4, 2))
    add("reset_before_mask", lambda: K.GRU(3, reset_after=False, return_sequences=True, return_state=True), S(3, 4, 2), mask=mask)
    add("reset_before_no_bias", lambda: K.GRU(3, reset_after=False, use_bias=False), S(3, 4, 2))
    add("reset_before", lambda: K.GRUCell(3, reset_after=False), S(3, 2), [S(3, 3)])
    stack = lambda: K.StackedRNNCells([K.LSTMCell(3), K.GRUCell(2), K.SimpleRNNCell(4)])
    add("default", stack, S(2, 3), [[S(2, 3), S(2, 3)], S(2, 2), S(2, 4)])
    add("stacked", lambda: K.RNN(stack()), S(2, 4, 3))
    add("stacked_sequences", lambda: K.RNN(stack(), return_sequences=True), S(2, 4, 3))
    add("stacked_state", lambda: K.RNN(stack(), return_state=True), S(2, 4, 3))
    add("stacked_list", lambda: K.RNN([K.LSTMCell(3), K.LSTMCell(2)], return_sequences=True), S(2, 4, 3), mask=np.array([[1, 1, 0, 0], [1, 0, 1, 1]], bool))
    for merge in ("concat", "sum", "mul", "ave", None):
        for seq in (False, True):
            add(f"lstm,{merge},sequences={seq}", lambda merge=merge, seq=seq: K.Bidirectional(K.LSTM(3, return_sequences=seq), merge_mode=merge), S(3, 4, 2))
        add(f"gru,{merge},mask", lambda merge=merge: K.Bidirectional(K.GRU(2, return_sequences=True), merge_mode=merge), S(3, 4, 2), mask=both)
    add("gru,mask,last", lambda: K.Bidirectional(K.GRU(2)), S(3, 4, 2), mask=mask)
    add("lstm,return_state", lambda: K.Bidirectional(K.LSTM(2, return_sequences=True, return_state=True)), S(3, 4, 2))
    add("lstm,initial_state", lambda: K.Bidirectional(K.LSTM(2)), S(3, 4, 2), initial_state=[S(3, 2) for _ in range(4)])
    add("backward_layer", lambda: K.Bidirectional(K.GRU(2, return_sequences=True), backward_layer=K.LSTM(3, return_sequences=True, go_backwards=True)), S(2, 4, 2))
    add("dense", lambda: K.TimeDistributed(K.Dense(3, activation="relu")), S(2, 4, 5))
    add("conv", lambda: K.TimeDistributed(K.Conv2D(2, 2)), S(2, 3, 4, 3, 2))
    add("flatten", lambda: K.TimeDistributed(K.Flatten()), S(2, 3, 4, 2))
    add("dense,mask", lambda: K.TimeDistributed(K.Dense(3)), S(3, 4, 2), mask=mask)
    add("batch_norm,training=True", lambda: K.TimeDistributed(K.BatchNormalization(momentum=0.5)), S(2, 3, 4), training=True)
    add("default", lambda: K.ConvLSTM1D(2, 3, padding="same", return_sequences=True), S(1, 3, 5, 2))
    add("default", lambda: K.ConvLSTM2D(2, (2, 3), padding="same"), S(1, 3, 4, 3, 2))
    add("valid_strides", lambda: K.ConvLSTM2D(2, 2, strides=(1, 2), return_sequences=True, return_state=True), S(2, 3, 4, 5, 1))
    add("dilation_no_bias", lambda: K.ConvLSTM2D(2, 2, dilation_rate=2, use_bias=False), S(1, 2, 5, 4, 1))


def attention():
    q, v, k = S(2, 4, 3), S(2, 5, 3), S(2, 5, 3)
    am = np.ones((2, 4, 5), bool)
    am[0, :, 3:] = am[1, 2, :4] = False
    qm = np.array([[1, 1, 1, 0], [1, 1, 0, 0]], bool)
    vm = np.array([[1, 1, 1, 0, 0], [1, 0, 1, 1, 1]], bool)
    M = K.MultiHeadAttention
    add("self", lambda: M(2, 3), S(2, 4, 5), S(2, 4, 5))
    add("cross", lambda: M(2, 3), q, v)
    add("cross_key", lambda: M(2, 3), S(2, 4, 3), S(2, 5, 2), S(2, 5, 4))
    add("value_dim", lambda: M(3, 2, value_dim=4), q, v, return_attention_scores=True)
    add("output_shape", lambda: M(2, 3, output_shape=6), q, v)
    add("output_shape=(2,3)", lambda: M(2, 3, output_shape=(2, 3)), q, v)
    add("no_bias", lambda: M(2, 3, use_bias=False), q, v)
    add("one_head", lambda: M(1, 4), q, v)
    add("scores", lambda: M(2, 3), q, v, return_attention_scores=True)
    add("attention_mask", lambda: M(2, 3), q, v, attention_mask=am)
    add("attention_mask_heads", lambda: M(2, 3), q, v, attention_mask=np.stack([am, am[:, ::-1]], 1))
    add("attention_mask_scores", lambda: M(2, 3), q, v, attention_mask=am, return_attention_scores=True)
    add("causal", lambda: M(2, 3), S(2, 4, 5), S(2, 4, 5), use_causal_mask=True)
    add("causal_cross", lambda: M(2, 3), q, v, use_causal_mask=True)
    add("causal_scores", lambda: M(2, 3), S(2, 4, 5), S(2, 4, 5), use_causal_mask=True, return_attention_scores=True)
    add("value_mask", lambda: M(2, 3), q, v, value_mask=vm)
    add("value_mask_scores", lambda: M(2, 3), q, v, value_mask=vm, return_attention_scores=True)
    add("query_mask", lambda: M(2, 3), q, v, query_mask=qm)
    add("query_mask_scores", lambda: M(2, 3), q, v, query_mask=qm, return_attention_scores=True)
    add("key_mask", lambda: M(2, 3), q, v, k, key_mask=vm)
    add("all_masks", lambda: M(2, 3), q, v, k, query_mask=qm, value_mask=vm, key_mask=np.roll(vm, 1, 1) | vm, attention_mask=am, use_causal_mask=True, return_attention_scores=True)
    add("sliding_window=2", lambda: M(2, 3, sliding_window=2), S(1, 6, 3), S(1, 6, 3))
    add("sliding_window=3,causal", lambda: M(2, 3, sliding_window=3), S(1, 6, 3), S(1, 6, 3), use_causal_mask=True)
    add("attention_axes=2", lambda: M(2, 3, attention_axes=2), S(2, 3, 4, 5), S(2, 3, 4, 5))
    add("attention_axes=(1,2)", lambda: M(2, 3, attention_axes=(1, 2)), S(2, 3, 2, 4), S(2, 2, 2, 4))
    add("rank4", lambda: M(2, 3), S(2, 2, 3, 4), S(2, 2, 3, 4))
    add("use_gate", lambda: M(2, 3, use_gate=True), q, v)
    add("dropout,training=False", lambda: M(2, 3, dropout=0.4), q, v, training=False)
    G = K.GroupQueryAttention
    add("default", lambda: G(3, 4, 2), S(2, 4, 5), S(2, 4, 5))
    add("cross_key", lambda: G(3, 4, 2), q, v, k)
    add("single_kv", lambda: G(3, 4, 1), q, v)
    add("no_bias_scores", lambda: G(3, 2, 2, use_bias=False), q, v, return_attention_scores=True)
    add("attention_mask", lambda: G(3, 4, 2), q, v, attention_mask=am)
    add("causal", lambda: G(3, 4, 2), S(2, 4, 5), S(2, 4, 5), use_causal_mask=True)
    add("value_mask_scores", lambda: G(3, 4, 2), q, v, value_mask=vm, return_attention_scores=True)
    add("use_gate", lambda: G(3, 4, 2, use_gate=True), q, v)
    add("sliding_window=2", lambda: G(3, 4, 2, sliding_window=2), S(1, 6, 3), S(1, 6, 3))
    for name, kws in (("Attention", [{}, {"use_scale": True}, {"score_mode": "concat"}, {"score_mode": "concat", "use_scale": True}]), ("AdditiveAttention", [{}, {"use_scale": False}])):
        c = getattr(K, name)
        for kw in kws:
            tag = ",".join(f"{a}={b}" for a, b in kw.items()) or "default"
            mk = lambda c=c, kw=kw: c(**kw)
            add(tag, mk, [q, v])
            add(tag + ",key", mk, [q, v, k])
            add(tag + ",masks", mk, [q, v], mask=[qm, vm])
            add(tag + ",value_mask_scores", mk, [q, v, k], mask=[None, vm], return_attention_scores=True)
            if name == "Attention":
                add(tag + ",causal", mk, [S(2, 4, 3), S(2, 4, 3)], use_causal_mask=True)
        add("dropout,training=False", lambda c=c: c(dropout=0.5), [q, v], training=False)


# ---------------------------------------------------------------- running

def fill(structure, r):
    if isinstance(structure, S):
        return structure.fill(r)
    if isinstance(structure, (list, tuple)):
        return [fill(s, r) for s in structure]
    return structure


def collect(structure, name, found):
    """Replaces the arrays of a structure by {"input": name} and collects them."""
    if isinstance(structure, np.ndarray):
        found.append((name, structure))
        return {"input": name}
    if isinstance(structure, list):
        return [collect(s, f"{name}_{i}", found) for i, s in enumerate(structure)]
    return structure


def restore(structure, values):
    if isinstance(structure, dict):
        return values[structure["input"]]
    if isinstance(structure, list):
        return [restore(s, values) for s in structure]
    return structure


ARG_NAMES = {"MultiHeadAttention": ["query", "value", "key"], "GroupQueryAttention": ["query", "value", "key"],
             "LSTMCell": ["x", "states"], "GRUCell": ["x", "states"], "SimpleRNNCell": ["x", "states"], "StackedRNNCells": ["x", "states"]}


def set_weights(layer, r):
    for w in layer.weights:
        shape = tuple(w.shape)
        if "variance" in w.path or "stddev" in w.path:
            value = np.round(r.uniform(0.5, 2.0, shape), 3)
        elif "gamma" in w.path or w.path.endswith("scale"):
            value = np.round(r.uniform(0.5, 1.5, shape), 3)
        elif "renorm" in w.path or not str(w.dtype).startswith(("float", "bfloat")):
            continue
        else:
            value = common.grid(r, shape, 0.5)
        w.assign(value)


def run(writers, row, dtype, policy=None):
    which, label, make, args, kwargs, weights, previous = row
    common.reset()
    layer = make()
    if policy:
        layer = layer.__class__.from_config({**layer.get_config(), "dtype": policy})
    cls = type(layer).__name__
    if cls == "GroupedQueryAttention":
        cls = "GroupQueryAttention"
    name = f"{cls}/{label}"
    r = common.rng("layers", name)
    training = kwargs.get("training")

    found = []
    names = ARG_NAMES.get(cls, ["x"])
    call_args = [collect(fill(a, r), n, found) for n, a in zip(names, args)]
    mask_only = collect(fill(kwargs.get("compute_mask"), r), "compute_mask", found)
    kwargs = {k: v for k, v in kwargs.items() if k != "compute_mask"}
    call_kwargs = {k: collect(fill(v, r), k, found) for k, v in kwargs.items()}
    before = [[collect(fill(a, r), f"previous_{i}", found) for a in p] for i, p in enumerate(previous)]
    values = {}
    for n, a in found:
        values[n] = a.astype(dtype) if a.dtype == np.float64 else a

    # Build on real data, then fix the weights.
    tensors = {n: keras.ops.convert_to_tensor(a) for n, a in values.items()}
    adapt = None
    if weights and weights[0] == "adapt":
        adapt = weights[1].astype(dtype)
        layer.adapt(adapt)
    layer(*restore(call_args, tensors), **{k: restore(v, tensors) for k, v in call_kwargs.items()})
    if getattr(layer, "stateful", False):
        layer.reset_state()
    if not adapt is not None:
        set_weights(layer, r)
    stored = [(w.path, common.numpy(w)) for w in layer.weights]
    if len({p for p, _ in stored}) != len(stored):
        raise ValueError(f"{name}: weight paths are not unique: {[p for p, _ in stored]}")
    for p in before:
        layer(*restore(p, tensors), **{k: restore(v, tensors) for k, v in call_kwargs.items()})

    trainable = [v.value for v in layer.trainable_variables]
    fixed = [v.value for v in layer.non_trainable_variables]
    floats = [n for n, a in values.items() if a.dtype.kind == "f" and not n.startswith("previous_")]

    def forward(trainable, inputs):
        full = {**tensors, **inputs}
        return layer.stateless_call(trainable, fixed, *restore(call_args, full),
                                    **{k: restore(v, full) for k, v in call_kwargs.items()}, return_losses=True)

    out, new_fixed, losses = forward(trainable, {})
    flat = [o for o in tree.flatten(out) if o is not None]
    single = len(flat) == 1 and not isinstance(out, (list, tuple))
    outputs = [("output" if single else f"output_{i}", common.numpy(o)) for i, o in enumerate(flat)]
    cotangents = []
    for n, o in outputs:
        if str(o.dtype).startswith(("float", "bfloat")):
            cotangents.append((n.replace("output", "cotangent"), common.grid(r, o.shape, 1.0, 2).astype(dtype)))

    def objective(trainable, inputs):
        out, _, losses = forward(trainable, inputs)
        total = 0.0
        flat = [o for o in tree.flatten(out) if o is not None and str(o.dtype).startswith(("float", "bfloat"))]
        for o, (_, c) in zip(flat, cotangents):
            total = total + (o.astype(dtype) * c).sum()
        for l in losses:
            total = total + l.astype(dtype)
        return total

    float_inputs = {n: tensors[n] for n in floats}
    g_weights, g_inputs = jax.grad(objective, argnums=(0, 1))(trainable, float_inputs)
    gradients = [(n, common.numpy(g_inputs[n])) for n in floats if name != "UnitNormalization/zero_row"]  # NaN there
    gradients += [(v.path, common.numpy(g)) for v, g in zip(layer.trainable_variables, g_weights)]
    if dtype == "float64" and cls != "Masking":  # a step of h unmasks
        check(writers[which], name, objective, trainable, float_inputs, g_weights, g_inputs, r)

    if losses:
        outputs.append(("losses", np.array([float(l) for l in losses], dtype)))
    if getattr(layer, "supports_masking", False):
        mask_in = call_kwargs.get("mask", mask_only)
        given = restore(mask_in, tensors) if mask_in is not None else None
        first = restore(call_args[0], tensors)
        try:
            mask_out = layer.compute_mask(first, given)
        except Exception as e:  # a few layers refuse missing masks
            mask_out = None
        for i, m in enumerate(tree.flatten(mask_out)):
            if m is not None and given is not None or (m is not None and cls in ("Masking", "Embedding")):
                outputs.append(("mask" if i == 0 else f"mask_{i}", common.numpy(m)))
    seeds = {id(v) for v in layer.non_trainable_variables} - {id(w) for w in layer.weights}
    for v, old, new in zip(layer.non_trainable_variables, fixed, new_fixed):
        if id(v) in seeds and not getattr(layer, "stateful", False):
            continue
        if not np.array_equal(common.numpy(old), common.numpy(new)):
            outputs.append(("after/" + v.path, common.numpy(new)))

    class_name, config = common.object_config(layer)
    inputs = list(values.items()) + cotangents
    if adapt is not None:
        inputs.append(("adapt_data", adapt))
    extra = {"call": {"args": call_args, "kwargs": call_kwargs},
             "trainable": [w.trainable for w in layer.weights]}
    if mask_only is not None:
        extra["compute_mask"] = mask_only
    if before:
        extra["previous_calls"] = before
    shapes = tree.map_structure(lambda t: list(t.shape), restore(call_args[0], tensors))
    extra["build_shapes"] = shapes
    tol = {}
    if policy:
        tol = {"mixed_bfloat16": {"rtol": 0.02, "atol": 0.02}, "mixed_float16": {"rtol": 0.003, "atol": 0.003}}[policy]
    writers[which].case(name, class_name, config, policy or dtype, inputs=inputs, outputs=outputs,
                        gradients=gradients, weights=stored, extra=extra, **tol)


def check(w, name, objective, trainable, inputs, g_weights, g_inputs, r):
    """Central differences along one random direction, in float64."""
    h = 1e-5
    d_w = [r.normal(size=t.shape) for t in trainable]
    d_i = {n: r.normal(size=t.shape) for n, t in inputs.items()}

    def at(s):
        return float(objective([t + s * d for t, d in zip(trainable, d_w)], {n: t + s * d_i[n] for n, t in inputs.items()}))

    numeric = (at(h) - at(-h)) / (2 * h)
    exact = sum(float((np.asarray(g) * d).sum()) for g, d in zip(g_weights, d_w))
    exact += sum(float((np.asarray(g_inputs[n]) * d).sum()) for n, d in d_i.items())
    if not abs(numeric - exact) <= 1e-6 * max(1.0, abs(exact)):
        w.notes.append(f"{name}: gradient {exact:.9g}, central difference {numeric:.9g}")


SETS = {"layers_core": core, "layers_conv": conv, "layers_pooling": pooling, "layers_normalization": normalization,
        "layers_reshaping_merging": reshaping_merging, "layers_regularization": regularization,
        "layers_rnn": rnn, "layers_attention": attention}

MIXED = {"Dense/default", "Dense/activation=relu", "Conv2D/k3x3s1samed1", "Embedding/default", "LayerNormalization/default",
         "BatchNormalization/training=True", "BatchNormalization/training=False", "LSTM/return_sequences",
         "MultiHeadAttention/cross", "MultiHeadAttention/attention_mask", "Softmax/mask", "MaxPooling2D/k2x2sNonevalid",
         "AveragePooling2D/k2x2sNonesame", "Add/two", "Concatenate/axis=-1", "RMSNormalization/default", "GroupNormalization/groups=2"}


def main():
    global SET
    out = common.out_dir()
    only = [s for s in sys.argv[2:]]
    for SET, table in SETS.items():
        table()
    failed = 0
    for which in SETS:
        if only and which not in only:
            continue
        w = common.Writer(which, __file__)
        rows = [r for r in ROWS if r[0] == which]
        for row in rows:
            try:
                run({which: w}, row, common.DTYPE)
            except Exception as e:
                failed += 1
                print("FAILED", which, row[1], common.DTYPE, type(e).__name__, str(e)[:400])
        if common.DTYPE == "float32":
            for policy in ("mixed_bfloat16", "mixed_float16"):
                for row in rows:
                    if mixed_name(row) in MIXED:
                        run({which: w}, row, "float32", policy)
        w.write(out)
    if failed:
        raise SystemExit(f"{failed} cases failed")


def mixed_name(row):
    common.reset()
    return f"{type(row[2]()).__name__}/{row[1]}"


common.run(main)
