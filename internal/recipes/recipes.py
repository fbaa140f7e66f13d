#!/usr/bin/env python3
"""Writes networks of the kinds that people build to .keras files: python3 recipes.py [--record] FOLDER [NAME...], all where none is named.
DTYPE names a policy in place of float32. Those of large.py are written where they are named, or all of them by the word "large".

It prints the files, or with --list the names. Each network is written down from what is generally known of its architecture, in sizes of which a step
takes milliseconds on one processor. models.py of internal/benchpeers times them beside other frameworks. With --record nothing is dropped out, and an
archive beside each file has inputs, targets, and Keras's predictions before and after three steps.
"""
import os, sys
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("KERAS_BACKEND", "jax")
import keras
import numpy as np
from keras import layers as L, ops
from large import LARGE

RECIPES = {}


def recipe(f):
    RECIPES[f.__name__] = f
    return f


def image(*shape):
    return keras.Input(shape)


def tokens(n, name=None):
    return keras.Input((n,), dtype="int32", name=name)


def conv_bn(x, filters, size=3, activation="relu", **how):
    x = L.BatchNormalization()(L.Conv2D(filters, size, padding="same", use_bias=False, **how)(x))
    return L.Activation(activation)(x) if activation else x


def feed_forward(x, width, activation="relu"):
    return L.Dense(x.shape[-1])(L.Dense(width, activation=activation)(x))


def encoder_block(x, heads, size, width, activation="relu", **how):
    x = L.LayerNormalization(epsilon=1e-6)(L.Add()([x, L.MultiHeadAttention(heads, size, dropout=0.1)(x, x, **how)]))
    return L.LayerNormalization(epsilon=1e-6)(L.Add()([x, L.Dropout(0.1)(feed_forward(x, width, activation))]))


def pre_norm_block(x, heads, size, width, activation="gelu"):
    y = L.LayerNormalization(epsilon=1e-6)(x)
    x = x + L.MultiHeadAttention(heads, size)(y, y)
    return x + feed_forward(L.LayerNormalization(epsilon=1e-6)(x), width, activation)


def positions(x, length, width):
    return x + L.Embedding(length, width)(ops.arange(length))


def words(ids, vocabulary, width, mask_zero=False):
    return positions(L.Embedding(vocabulary, width, mask_zero=mask_zero)(ids), ids.shape[1], width)


def patches(x, size, width):
    x = L.Conv2D(width, size, strides=size)(x)
    return L.Reshape((x.shape[1] * x.shape[2], width))(x)


# Images.


@recipe
def digits():
    i = image(28, 28, 1)
    x = L.MaxPooling2D()(L.Conv2D(32, 3, activation="relu")(i))
    x = L.MaxPooling2D()(L.Conv2D(64, 3, activation="relu")(x))
    return i, L.Dense(10, activation="softmax")(L.Dropout(0.5)(L.Flatten()(x)))


@recipe
def small_xception():
    i = image(96, 96, 3)
    x = conv_bn(L.Rescaling(1 / 255)(i), 64, strides=2)
    before = x
    for filters in (128, 256, 384):
        for _ in range(2):
            x = L.BatchNormalization()(L.SeparableConv2D(filters, 3, padding="same")(L.Activation("relu")(x)))
        x = L.MaxPooling2D(3, strides=2, padding="same")(x)
        x = before = x + L.Conv2D(filters, 1, strides=2, padding="same")(before)
    x = L.Activation("relu")(L.BatchNormalization()(L.SeparableConv2D(512, 3, padding="same")(x)))
    return i, L.Dense(1)(L.Dropout(0.25)(L.GlobalAveragePooling2D()(x)))


@recipe
def unet():
    i = image(96, 96, 3)
    x, skips = i, []
    for filters in (16, 32, 64):
        x = conv_bn(conv_bn(x, filters), filters)
        skips.append(x)
        x = L.MaxPooling2D()(x)
    x = conv_bn(x, 128)
    for filters, skip in zip((64, 32, 16), skips[::-1]):
        x = L.Concatenate()([L.Conv2DTranspose(filters, 2, strides=2)(x), skip])
        x = conv_bn(conv_bn(x, filters), filters)
    return i, L.Conv2D(3, 1, activation="softmax")(x)


@recipe
def segmentation_xception_unet():
    i = image(96, 96, 3)
    x = before = conv_bn(i, 32, strides=2)
    for filters in (64, 128, 256):
        for _ in range(2):
            x = L.BatchNormalization()(L.SeparableConv2D(filters, 3, padding="same")(L.Activation("relu")(x)))
        x = L.MaxPooling2D(3, strides=2, padding="same")(x)
        x = before = x + L.Conv2D(filters, 1, strides=2, padding="same")(before)
    for filters in (256, 128, 64, 32):
        for _ in range(2):
            x = L.BatchNormalization()(L.Conv2DTranspose(filters, 3, padding="same")(L.Activation("relu")(x)))
        x = L.UpSampling2D()(x)
        x = before = x + L.Conv2D(filters, 1, padding="same")(L.UpSampling2D()(before))
    return i, L.Conv2D(3, 3, activation="softmax", padding="same")(x)


@recipe
def deeplab():
    i = image(128, 128, 3)
    low = conv_bn(conv_bn(i, 32, strides=2), 48, strides=2)
    x = conv_bn(conv_bn(low, 96, strides=2), 128)
    pooled = L.UpSampling2D(x.shape[1:3], interpolation="bilinear")(conv_bn(ops.mean(x, axis=(1, 2), keepdims=True), 64, 1))
    x = L.Concatenate()([pooled, conv_bn(x, 64, 1)] + [conv_bn(x, 64, dilation_rate=rate) for rate in (2, 4, 6)])
    x = L.UpSampling2D(2, interpolation="bilinear")(conv_bn(x, 64, 1))
    x = conv_bn(conv_bn(L.Concatenate()([x, conv_bn(low, 24, 1)]), 64), 64)
    return i, L.Conv2D(20, 1)(L.UpSampling2D(4, interpolation="bilinear")(x))


@recipe
def gan_discriminator():
    i = image(64, 64, 3)
    x = i
    for filters in (64, 128, 128):
        x = L.LeakyReLU(negative_slope=0.2)(L.Conv2D(filters, 4, strides=2, padding="same")(x))
    return i, L.Dense(1, activation="sigmoid")(L.Dropout(0.2)(L.Flatten()(x)))


@recipe
def gan_generator():
    i = keras.Input((128,))
    x = L.Reshape((8, 8, 128))(L.Dense(8 * 8 * 128)(i))
    for filters in (128, 192, 256):
        x = L.LeakyReLU(negative_slope=0.2)(L.Conv2DTranspose(filters, 4, strides=2, padding="same")(x))
    return i, L.Conv2D(3, 5, padding="same", activation="sigmoid")(x)


@recipe
def critic_with_layer_norm():
    i = image(32, 32, 3)
    x = i
    for filters in (64, 128, 256):
        x = L.Dropout(0.3)(L.LeakyReLU(negative_slope=0.2)(L.LayerNormalization()(L.Conv2D(filters, 5, strides=2, padding="same")(x))))
    return i, L.Dense(1)(L.Flatten()(x))


@recipe
def autoencoder():
    i = image(28, 28, 1)
    x = i
    for _ in range(2):
        x = L.MaxPooling2D(padding="same")(L.Conv2D(32, 3, activation="relu", padding="same")(x))
    for _ in range(2):
        x = L.Conv2DTranspose(32, 3, strides=2, activation="relu", padding="same")(x)
    return i, L.Conv2D(1, 3, activation="sigmoid", padding="same")(x)


@recipe
def variational_parts():
    i = image(28, 28, 1)
    x = L.Conv2D(64, 3, strides=2, activation="relu", padding="same")(L.Conv2D(32, 3, strides=2, activation="relu", padding="same")(i))
    x = L.Dense(16, activation="relu")(L.Flatten()(x))
    mean, log_variance = L.Dense(2)(x), L.Dense(2)(x)
    z = mean + ops.exp(0.5 * log_variance)
    x = L.Reshape((7, 7, 64))(L.Dense(7 * 7 * 64, activation="relu")(z))
    x = L.Conv2DTranspose(32, 3, strides=2, activation="relu", padding="same")(L.Conv2DTranspose(64, 3, strides=2, activation="relu", padding="same")(x))
    divergence = ops.mean(ops.sum(-0.5 * (1 + log_variance - ops.square(mean) - ops.exp(log_variance)), axis=1))
    return i, [L.Conv2DTranspose(1, 3, activation="sigmoid", padding="same")(x), L.Reshape((1,))(ops.sum(z, axis=1, keepdims=True) + divergence)]


@recipe
def super_resolution():
    i = image(64, 64, 1)
    x = L.Conv2D(64, 5, activation="relu", padding="same")(i)
    x = L.Conv2D(32, 3, activation="relu", padding="same")(L.Conv2D(64, 3, activation="relu", padding="same")(x))
    x = L.Reshape((64, 64, 3, 3, 1))(L.Conv2D(9, 3, padding="same")(x))
    return i, L.Reshape((192, 192, 1))(ops.transpose(x, (0, 1, 3, 2, 4, 5)))


@recipe
def enhanced_super_resolution():
    i = image(24, 24, 3)
    x = first = L.Conv2D(64, 3, padding="same")(L.Rescaling(1 / 255)(i))
    for _ in range(6):
        x = x + L.Conv2D(64, 3, padding="same")(L.Conv2D(64, 3, padding="same", activation="relu")(x))
    x = L.Conv2D(64, 3, padding="same")(x) + first
    for _ in range(2):
        n = x.shape[1]
        x = L.Reshape((n, n, 2, 2, 64))(L.Conv2D(256, 3, padding="same")(x))
        x = L.Reshape((2 * n, 2 * n, 64))(ops.transpose(x, (0, 1, 3, 2, 4, 5)))
    return i, L.Conv2D(3, 3, padding="same")(x)


@recipe
def low_light_curves():
    i = image(96, 96, 3)
    conv = lambda x, filters=32, activation="relu": L.Conv2D(filters, 3, padding="same", activation=activation)(x)
    dark = L.Activation("sigmoid")(i)  # from 0 to 1, where the curves stay
    a = conv(dark)
    b = conv(a)
    c = conv(b)
    d = conv(c)
    e = conv(L.Concatenate()([c, d]))
    f = conv(L.Concatenate()([b, e]))
    curves = conv(L.Concatenate()([a, f]), 24, "tanh")
    x = dark
    for n in range(8):
        x = x + curves[..., 3 * n:3 * n + 3] * (ops.square(x) - x)
    return i, x


@recipe
def residual_network():
    i = image(32, 32, 3)
    x = conv_bn(i, 16)
    for filters, stride in ((16, 1), (16, 1), (32, 2), (32, 1), (64, 2), (64, 1)):
        short = x if stride == 1 else conv_bn(x, filters, 1, None, strides=stride)
        x = L.Activation("relu")(conv_bn(conv_bn(x, filters, strides=stride), filters, activation=None) + short)
    return i, L.Dense(10)(L.GlobalAveragePooling2D()(x))


@recipe
def dense_blocks():
    i = image(32, 32, 3)
    x = L.Conv2D(24, 3, padding="same")(i)
    for block in range(3):
        for _ in range(4):
            y = L.Conv2D(48, 1, use_bias=False)(L.Activation("relu")(L.BatchNormalization()(x)))
            y = L.Conv2D(12, 3, padding="same", use_bias=False)(L.Activation("relu")(L.BatchNormalization()(y)))
            x = L.Concatenate()([x, y])
        if block < 2:
            x = L.AveragePooling2D(2)(L.Conv2D(x.shape[-1] // 2, 1)(L.Activation("relu")(L.BatchNormalization()(x))))
    return i, L.Dense(10)(L.GlobalAveragePooling2D()(x))


@recipe
def squeeze_and_excite():
    i = image(64, 64, 3)
    x = conv_bn(i, 16, activation="silu", strides=2)
    for filters, stride in ((24, 2), (24, 1), (40, 2), (40, 1), (80, 2), (80, 1)):
        y = conv_bn(x, 4 * x.shape[-1], 1, "silu")
        y = L.Activation("silu")(L.BatchNormalization()(L.DepthwiseConv2D(5, strides=stride, padding="same", use_bias=False)(y)))
        s = L.GlobalAveragePooling2D(keepdims=True)(y)
        y = y * L.Conv2D(y.shape[-1], 1, activation="sigmoid")(L.Conv2D(max(4, y.shape[-1] // 16), 1, activation="silu")(s))
        y = conv_bn(y, filters, 1, None)
        x = x + y if y.shape == x.shape else y
    return i, L.Dense(10)(L.GlobalAveragePooling2D()(x))


@recipe
def shuffled_groups():
    i = image(48, 48, 3)
    x = conv_bn(i, 24, strides=2)
    for _ in range(4):
        h, w, c = x.shape[1:]
        y = conv_bn(x, c, 1, groups=3)
        y = L.Reshape((h, w, c))(ops.transpose(L.Reshape((h, w, 3, c // 3))(y), (0, 1, 2, 4, 3)))
        y = L.BatchNormalization()(L.DepthwiseConv2D(3, padding="same", use_bias=False)(y))
        y = L.BatchNormalization()(L.Conv2D(c, 1, groups=3, use_bias=False)(y))
        x = L.Activation("relu")(L.Concatenate()([x, y])) if c < 96 else L.Activation("relu")(x + y)
    return i, L.Dense(10)(L.GlobalAveragePooling2D()(x))


@recipe
def detector_pyramid():
    i = image(128, 128, 3)
    x, levels = conv_bn(i, 16, strides=2), []
    for filters in (32, 64, 96, 128):
        x = conv_bn(conv_bn(x, filters, strides=2), filters)
        levels.append(x)
    c3, c4, c5 = (L.Conv2D(64, 1)(c) for c in levels[1:])
    p4 = c4 + L.UpSampling2D()(c5)
    p3 = c3 + L.UpSampling2D()(p4)
    heads = [[L.Conv2D(64, 3, padding="same", activation="relu") for _ in range(2)] + [L.Conv2D(n, 3, padding="same")] for n in (9 * 4, 9 * 20)]
    boxes, classes = [], []
    for p in (p3, p4, c5):
        p = L.Conv2D(64, 3, padding="same")(p)
        for head, out, n in zip(heads, (boxes, classes), (4, 20)):
            y = p
            for layer in head:
                y = layer(y)
            out.append(L.Reshape((-1, n))(y))
    return i, L.Concatenate(axis=-1)([L.Concatenate(axis=1)(boxes), L.Concatenate(axis=1)(classes)])


@recipe
def neural_style_features():
    i = image(96, 96, 3)
    x, grams = i, []
    for filters, convs in ((32, 2), (64, 2), (128, 3)):
        for _ in range(convs):
            x = L.Conv2D(filters, 3, padding="same", activation="relu")(x)
        flat = L.Reshape((-1, filters))(x)
        grams.append(ops.matmul(ops.transpose(flat, (0, 2, 1)), flat) / float(flat.shape[1]))
        x = L.MaxPooling2D()(x)
    return i, grams


@recipe
def siamese_images():
    a, b = image(28, 28, 1), image(28, 28, 1)
    i = image(28, 28, 1)
    x = L.AveragePooling2D(2)(L.Conv2D(4, 5, activation="tanh")(L.BatchNormalization()(i)))
    x = L.AveragePooling2D(2)(L.Conv2D(16, 5, activation="tanh")(x))
    tower = keras.Model(i, L.Dense(10, activation="tanh")(L.BatchNormalization()(L.Flatten()(x))))
    distance = ops.sqrt(ops.maximum(ops.sum(ops.square(tower(a) - tower(b)), axis=1, keepdims=True), 1e-7))
    return [a, b], L.Dense(1, activation="sigmoid")(L.BatchNormalization()(distance))


@recipe
def diffusion_unet():
    noisy, variance = image(32, 32, 3), image(1, 1, 1)
    angles = variance * ops.reshape(6.2831855 * ops.exp(ops.linspace(0.0, 6.9, 16)), (1, 1, 1, 16))
    embedded = L.UpSampling2D(32)(L.Concatenate()([ops.sin(angles), ops.cos(angles)]))
    x = L.Concatenate()([L.Conv2D(32, 1)(noisy), embedded])

    def residual(x, width):
        short = x if x.shape[-1] == width else L.Conv2D(width, 1)(x)
        x = L.Conv2D(width, 3, padding="same", activation="swish")(L.BatchNormalization(center=False, scale=False)(x))
        return L.Conv2D(width, 3, padding="same")(x) + short
    skips = []
    for width in (32, 64):
        for _ in range(2):
            x = residual(x, width)
            skips.append(x)
        x = L.AveragePooling2D(2)(x)
    x = residual(residual(x, 96), 96)
    for width in (64, 32):
        x = L.UpSampling2D(interpolation="bilinear")(x)
        for _ in range(2):
            x = residual(L.Concatenate()([x, skips.pop()]), width)
    return [noisy, variance], L.Conv2D(3, 1, kernel_initializer="zeros")(x)


@recipe
def diffusion_with_attention():
    noisy, time = image(16, 16, 32), keras.Input((64,))
    t = L.Dense(128, activation="silu")(L.Dense(128, activation="silu")(time))
    x = noisy
    for width in (64, 64, 128):
        short = x if x.shape[-1] == width else L.Conv2D(width, 1)(x)
        y = L.Conv2D(width, 3, padding="same")(L.Activation("silu")(L.GroupNormalization(8)(x)))
        y = y + L.Reshape((1, 1, width))(L.Dense(width)(t))
        x = short + L.Conv2D(width, 3, padding="same")(L.Activation("silu")(L.GroupNormalization(8)(y)))
        y = L.Reshape((256, width))(L.GroupNormalization(8)(x))
        scores = ops.softmax(ops.einsum("bqc,bkc->bqk", L.Dense(width)(y), L.Dense(width)(y)) * width ** -0.5)
        x = x + L.Reshape((16, 16, width))(L.Dense(width)(ops.einsum("bqk,bkc->bqc", scores, L.Dense(width)(y))))
    return [noisy, time], L.Conv2D(32, 3, padding="same")(L.Activation("silu")(L.GroupNormalization(8)(x)))


# Transformers and mixers of images.


@recipe
def vision_transformer():
    i = image(72, 72, 3)
    x = positions(patches(i, 6, 64), 144, 64)
    for _ in range(4):
        x = pre_norm_block(x, 4, 64, 128)
    x = L.Dropout(0.5)(L.Flatten()(L.LayerNormalization(epsilon=1e-6)(x)))
    return i, L.Dense(100)(L.Dense(512, activation="gelu")(x))


@recipe
def mixer():
    i = image(64, 64, 3)
    x = patches(i, 8, 128)
    for _ in range(4):
        y = L.Permute((2, 1))(L.LayerNormalization()(x))
        x = x + L.Permute((2, 1))(feed_forward(y, 64, "gelu"))
        x = x + feed_forward(L.LayerNormalization()(x), 256, "gelu")
    return i, L.Dense(100)(L.Dropout(0.2)(L.GlobalAveragePooling1D()(x)))


@recipe
def spatial_gating():
    i = image(64, 64, 3)
    x = patches(i, 8, 128)
    for _ in range(4):
        u, v = ops.split(L.Dense(256, activation="gelu")(L.LayerNormalization(epsilon=1e-6)(x)), 2, axis=-1)
        v = L.Permute((2, 1))(L.Dense(64, bias_initializer="ones")(L.Permute((2, 1))(L.LayerNormalization(epsilon=1e-6)(v))))
        x = x + L.Dense(128)(u * v)
    return i, L.Dense(100)(L.GlobalAveragePooling1D()(x))


@recipe
def fourier_mixer():
    i = image(64, 64, 3)
    x = patches(i, 8, 128)
    for _ in range(4):
        real, _ = ops.fft2((x, ops.zeros_like(x)))
        x = L.LayerNormalization(epsilon=1e-6)(x + real)
        x = L.LayerNormalization(epsilon=1e-6)(x + feed_forward(x, 256, "gelu"))
    return i, L.Dense(100)(L.GlobalAveragePooling1D()(x))


@recipe
def conv_mixer():
    i = image(32, 32, 3)
    x = L.BatchNormalization()(L.Activation("gelu")(L.Conv2D(128, 2, strides=2)(i)))
    for _ in range(4):
        y = L.BatchNormalization()(L.Activation("gelu")(L.DepthwiseConv2D(5, padding="same")(x)))
        x = L.BatchNormalization()(L.Activation("gelu")(L.Conv2D(128, 1)(x + y)))
    return i, L.Dense(10)(L.GlobalAveragePooling2D()(x))


@recipe
def compact_convolutional_transformer():
    i = image(32, 32, 3)
    x = i
    for filters in (64, 128):
        x = L.MaxPooling2D(3, 2, padding="same")(L.ZeroPadding2D(1)(L.Conv2D(filters, 3, use_bias=False, activation="relu", kernel_initializer="he_normal")(x)))
    x = L.Reshape((-1, 128))(x)
    x = positions(x, x.shape[1], 128)
    for _ in range(2):
        x = pre_norm_block(x, 2, 128, 128)
    x = L.LayerNormalization(epsilon=1e-5)(x)
    weights = ops.softmax(L.Dense(1)(x), axis=1)
    return i, L.Dense(10)(L.Reshape((128,))(ops.matmul(ops.transpose(weights, (0, 2, 1)), x)))


@recipe
def shifted_windows():
    i = image(32, 32, 3)
    n, c, w = 16, 64, 4
    x = patches(i, 2, c)
    x = positions(x, n * n, c)
    for shift in (0, 2):
        y = L.Reshape((n, n, c))(L.LayerNormalization(epsilon=1e-5)(x))
        if shift:
            y = ops.roll(y, (-shift, -shift), (1, 2))
        y = ops.reshape(ops.transpose(ops.reshape(y, (-1, n // w, w, n // w, w, c)), (0, 1, 3, 2, 4, 5)), (-1, w * w, c))
        q, k, v = ops.unstack(ops.transpose(ops.reshape(L.Dense(3 * c)(y), (-1, w * w, 3, 8, c // 8)), (2, 0, 3, 1, 4)), 3)
        y = ops.matmul(ops.softmax(ops.matmul(q * (c // 8) ** -0.5, ops.transpose(k, (0, 1, 3, 2)))), v)
        y = L.Dense(c)(ops.reshape(ops.transpose(y, (0, 2, 1, 3)), (-1, w * w, c)))
        y = ops.reshape(ops.transpose(ops.reshape(y, (-1, n // w, n // w, w, w, c)), (0, 1, 3, 2, 4, 5)), (-1, n, n, c))
        if shift:
            y = ops.roll(y, (shift, shift), (1, 2))
        x = x + L.Reshape((n * n, c))(y)
        x = x + feed_forward(L.LayerNormalization(epsilon=1e-5)(x), 256, "gelu")
    return i, L.Dense(100)(L.GlobalAveragePooling1D()(x))


@recipe
def shifted_features():
    i = image(32, 32, 3)
    x = L.Conv2D(96, 4, strides=4)(i)
    for _ in range(4):
        a, b, c, d, rest = ops.split(x, [8, 16, 24, 32], axis=-1)
        a, b = ops.pad(a[:, :, 1:], ((0, 0), (0, 0), (0, 1), (0, 0))), ops.pad(b[:, :, :-1], ((0, 0), (0, 0), (1, 0), (0, 0)))
        c, d = ops.pad(c[:, 1:], ((0, 0), (0, 1), (0, 0), (0, 0))), ops.pad(d[:, :-1], ((0, 0), (1, 0), (0, 0), (0, 0)))
        x = ops.concatenate([a, b, c, d, rest], axis=-1)
        x = x + feed_forward(L.LayerNormalization(epsilon=1e-5)(x), 192, "gelu")
    return i, L.Dense(10)(L.GlobalAveragePooling2D()(L.LayerNormalization(epsilon=1e-5)(x)))


@recipe
def external_attention():
    i = image(32, 32, 3)
    x = positions(patches(i, 2, 64), 256, 64)
    for _ in range(3):
        y = L.Reshape((256, 4, 64))(L.Dense(256)(L.LayerNormalization(epsilon=1e-5)(x)))
        scores = ops.softmax(L.Dense(16)(ops.transpose(y, (0, 2, 1, 3))), axis=2)
        scores = scores / (1e-9 + ops.sum(scores, axis=-1, keepdims=True))
        x = x + L.Dense(64)(L.Reshape((256, 256))(ops.transpose(L.Dense(64)(scores), (0, 2, 1, 3))))
        x = x + feed_forward(L.LayerNormalization(epsilon=1e-5)(x), 64, "gelu")
    return i, L.Dense(100)(L.GlobalAveragePooling1D()(x))


@recipe
def latent_cross_attention():
    i = image(64, 64, 3)
    x = positions(patches(i, 2, 64), 1024, 64)
    z = ops.zeros_like(x[:, :64]) + L.Embedding(64, 64)(ops.arange(64))
    for _ in range(2):
        q, k, v = (L.Dense(64)(t) for t in (L.LayerNormalization(epsilon=1e-6)(z), x, x))
        z = z + L.Attention(use_scale=True)([q, v, k])
        z = z + feed_forward(L.LayerNormalization(epsilon=1e-6)(z), 64, "gelu")
        for _ in range(2):
            z = pre_norm_block(z, 8, 8, 64)
    return i, L.Dense(100)(L.GlobalAveragePooling1D()(z))


@recipe
def masked_patches():
    i, kept = image(48, 48, 3), tokens(16)
    x = patches(i, 6, 64)
    x = positions(x, 64, 64)
    x = ops.take_along_axis(x, ops.expand_dims(kept, -1), axis=1)
    for _ in range(3):
        x = pre_norm_block(x, 4, 32, 128)
    return [i, kept], L.Dense(108)(L.LayerNormalization(epsilon=1e-6)(x))


# Text and other sequences.


@recipe
def text_convolutions():
    i = tokens(400)
    x = L.Dropout(0.5)(L.Embedding(20000, 128)(i))
    for _ in range(2):
        x = L.Conv1D(128, 7, strides=3, activation="relu")(x)
    return i, L.Dense(1, activation="sigmoid")(L.Dropout(0.5)(L.Dense(128, activation="relu")(L.GlobalMaxPooling1D()(x))))


@recipe
def bidirectional_lstm():
    i = tokens(100)
    x = L.Bidirectional(L.LSTM(64, return_sequences=True))(L.Embedding(20000, 128)(i))
    return i, L.Dense(1, activation="sigmoid")(L.Bidirectional(L.LSTM(64))(x))


@recipe
def masked_tagger():
    i = tokens(50)
    x = L.Bidirectional(L.GRU(64, return_sequences=True))(L.Embedding(10000, 64, mask_zero=True)(i))
    return i, L.TimeDistributed(L.Dense(12, activation="softmax"))(L.SpatialDropout1D(0.1)(x))


@recipe
def text_transformer():
    i = tokens(128)
    x = encoder_block(words(i, 20000, 32), 2, 32, 32)
    return i, L.Dense(2, activation="softmax")(L.Dropout(0.1)(L.Dense(20, activation="relu")(L.Dropout(0.1)(L.GlobalAveragePooling1D()(x)))))


@recipe
def miniature_gpt():
    i = tokens(80)
    x = words(i, 4000, 128)
    for _ in range(2):
        x = encoder_block(x, 2, 64, 256, use_causal_mask=True)
    return i, L.Dense(4000)(x)


@recipe
def translation_transformer():
    source, target = tokens(20), tokens(20)
    memory = encoder_block(words(source, 5000, 128, mask_zero=True), 8, 16, 512)
    x = words(target, 5000, 128, mask_zero=True)
    x = L.LayerNormalization()(x + L.MultiHeadAttention(8, 16)(x, x, use_causal_mask=True))
    x = L.LayerNormalization()(x + L.MultiHeadAttention(8, 16)(x, memory))
    x = L.LayerNormalization()(x + feed_forward(x, 512))
    return [source, target], L.Dense(5000, activation="softmax")(L.Dropout(0.5)(x))


@recipe
def bert_like():
    i, segments = tokens(64), tokens(64)
    x = L.LayerNormalization(epsilon=1e-12)(words(i, 8000, 128) + L.Embedding(12, 128)(segments))
    for _ in range(3):
        x = encoder_block(x, 2, 64, 512, "gelu")
    return [i, segments], L.Dense(2)(L.Dense(128, activation="tanh")(x[:, 0]))


@recipe
def rotary_decoder():
    i = tokens(64)
    x = L.Embedding(4000, 128)(i)
    angles = ops.expand_dims(ops.arange(64, dtype="float32"), 1) * ops.expand_dims(ops.exp(-0.5756 * ops.arange(16, dtype="float32")), 0)
    cosines, sines = (ops.reshape(ops.concatenate([f(angles)] * 2, axis=-1), (1, 64, 1, 32)) for f in (ops.cos, ops.sin))

    def rotate(x):
        a, b = ops.split(x, 2, axis=-1)
        return x * cosines + ops.concatenate([-b, a], axis=-1) * sines
    for _ in range(3):
        y = L.RMSNormalization()(x)
        q, k, v = (L.Reshape((64, n, 32))(L.Dense(32 * n, use_bias=False)(y)) for n in (4, 2, 2))
        q, k = rotate(q), rotate(k)
        k, v = ops.repeat(k, 2, axis=2), ops.repeat(v, 2, axis=2)
        scores = ops.einsum("bqhd,bkhd->bhqk", q, k) * 32 ** -0.5
        scores = ops.where(ops.expand_dims(ops.arange(64), 1) >= ops.expand_dims(ops.arange(64), 0), scores, -1e9)
        y = ops.einsum("bhqk,bkhd->bqhd", ops.softmax(scores), v)
        x = x + L.Dense(128, use_bias=False)(L.Reshape((64, 128))(y))
        y = L.RMSNormalization()(x)
        x = x + L.Dense(128, use_bias=False)(L.Dense(344, activation="silu", use_bias=False)(y) * L.Dense(344, use_bias=False)(y))
    return i, L.Dense(4000, use_bias=False)(L.RMSNormalization()(x))


@recipe
def character_seq2seq():
    encoder, decoder = keras.Input((16, 71)), keras.Input((32, 93))
    _, h, c = L.LSTM(128, return_state=True)(encoder)
    x = L.LSTM(128, return_sequences=True)(decoder, initial_state=[h, c])
    return [encoder, decoder], L.Dense(93, activation="softmax")(x)


@recipe
def seq2seq_with_attention():
    source, target = tokens(24), tokens(20)
    memory, h = L.GRU(96, return_sequences=True, return_state=True)(L.Embedding(4000, 64)(source))
    x = L.GRU(96, return_sequences=True)(L.Embedding(4000, 64)(target), initial_state=h)
    context = L.AdditiveAttention()([x, memory])
    return [source, target], L.Dense(4000)(L.Dense(96, activation="tanh")(L.Concatenate()([x, context])))


@recipe
def addition():
    i = keras.Input((7, 12))
    x = L.LSTM(128, return_sequences=True)(L.RepeatVector(4)(L.LSTM(128)(i)))
    return i, L.Dense(12, activation="softmax")(x)


@recipe
def weather_lstm():
    i = keras.Input((120, 7))
    return i, L.Dense(1)(L.LSTM(32)(i))


@recipe
def series_convolutions():
    i = keras.Input((256, 1))
    x = i
    for _ in range(3):
        x = L.ReLU()(L.BatchNormalization()(L.Conv1D(64, 3, padding="same")(x)))
    return i, L.Dense(2, activation="softmax")(L.GlobalAveragePooling1D()(x))


@recipe
def series_transformer():
    i = keras.Input((128, 1))
    x = i
    for _ in range(2):
        y = L.MultiHeadAttention(4, 64)(L.LayerNormalization(epsilon=1e-6)(x), x) + x
        x = y + L.Conv1D(1, 1)(L.Dropout(0.25)(L.Conv1D(4, 1, activation="relu")(L.LayerNormalization(epsilon=1e-6)(y))))
    return i, L.Dense(2, activation="softmax")(L.Dense(128, activation="relu")(L.GlobalAveragePooling1D(data_format="channels_first")(x)))


@recipe
def anomaly_autoencoder():
    i = keras.Input((288, 1))
    x = L.Dropout(0.2)(L.Conv1D(32, 7, padding="same", strides=2, activation="relu")(i))
    x = L.Conv1D(16, 7, padding="same", strides=2, activation="relu")(x)
    x = L.Dropout(0.2)(L.Conv1DTranspose(16, 7, padding="same", strides=2, activation="relu")(x))
    x = L.Conv1DTranspose(32, 7, padding="same", strides=2, activation="relu")(x)
    return i, L.Conv1DTranspose(1, 7, padding="same")(x)


@recipe
def wave_blocks():
    i = keras.Input((512, 1))
    x, total = L.Conv1D(32, 2, padding="causal")(i), 0
    for rate in (1, 2, 4, 8, 16, 32):
        y = L.Conv1D(32, 2, padding="causal", dilation_rate=rate, activation="tanh")(x) * L.Conv1D(32, 2, padding="causal", dilation_rate=rate, activation="sigmoid")(x)
        y = L.Conv1D(32, 1)(y)
        total = total + y
        x = x + y
    return i, L.Conv1D(64, 1)(L.Conv1D(64, 1, activation="relu")(L.ReLU()(total)))


@recipe
def speaker_residuals():
    i = keras.Input((2000, 1))
    x = i
    for filters, n in ((16, 2), (32, 2), (64, 3), (128, 3)):
        short = L.Conv1D(filters, 1, padding="same")(x)
        for _ in range(n - 1):
            x = L.Conv1D(filters, 3, padding="same", activation="relu")(x)
        x = L.Activation("relu")(L.Conv1D(filters, 3, padding="same")(x) + short)
        x = L.MaxPooling1D(2, 2)(x)
    x = L.Flatten()(L.AveragePooling1D(3, 3)(x))
    return i, L.Dense(5, activation="softmax")(L.Dense(128, activation="relu")(L.Dense(256, activation="relu")(x)))


@recipe
def spectrogram_recognizer():
    i = keras.Input((100, 129))
    x = L.Reshape((100, 129, 1))(i)
    for filters, size, stride in ((32, (11, 41), (2, 2)), (32, (11, 21), (1, 2))):
        x = L.ReLU()(L.BatchNormalization()(L.Conv2D(filters, size, strides=stride, padding="same", use_bias=False)(x)))
    x = L.Reshape((-1, x.shape[-2] * x.shape[-1]))(x)
    for _ in range(2):
        x = L.Bidirectional(L.GRU(64, return_sequences=True))(x)
    return i, L.Dense(32, activation="softmax")(L.Dropout(0.5)(L.Dense(128, activation="relu")(x)))


@recipe
def spectrogram_of_audio():
    i = keras.Input((4000,))
    real, imaginary = ops.stft(i, 256, 128, 256)
    x = ops.log(ops.square(real) + ops.square(imaginary) + 1e-6)
    x = L.Conv1D(64, 3, activation="relu")(L.BatchNormalization()(x))
    return i, L.Dense(10)(L.GlobalAveragePooling1D()(x))


@recipe
def captcha_reader():
    i = image(100, 50, 1)
    x = L.MaxPooling2D()(L.Conv2D(32, 3, activation="relu", padding="same")(i))
    x = L.MaxPooling2D()(L.Conv2D(64, 3, activation="relu", padding="same")(x))
    x = L.Dropout(0.2)(L.Dense(64, activation="relu")(L.Reshape((25, 12 * 64))(x)))
    x = L.Bidirectional(L.LSTM(64, return_sequences=True))(L.Bidirectional(L.LSTM(128, return_sequences=True))(x))
    return i, L.Dense(20, activation="softmax")(x)


# Videos, volumes and points.


@recipe
def next_frames():
    i = keras.Input((6, 24, 24, 1))
    x = i
    for size in (5, 3, 1):
        x = L.BatchNormalization()(L.ConvLSTM2D(16, size, padding="same", return_sequences=True, activation="relu")(x))
    return i, L.Conv3D(1, 3, activation="sigmoid", padding="same")(x)


@recipe
def scan_volumes():
    i = keras.Input((32, 32, 16, 1))
    x = i
    for filters in (32, 64):
        x = L.BatchNormalization()(L.MaxPooling3D()(L.Conv3D(filters, 3, activation="relu")(x)))
    x = L.Dense(128, activation="relu")(L.GlobalAveragePooling3D()(x))
    return i, L.Dense(1, activation="sigmoid")(L.Dropout(0.3)(x))


@recipe
def factored_video():
    i = keras.Input((8, 32, 32, 3))
    x = i
    for filters, stride in ((16, 1), (32, 2), (64, 2)):
        x = L.Conv3D(filters, (1, 3, 3), strides=(1, stride, stride), padding="same")(x)
        x = L.ReLU()(L.BatchNormalization()(L.Conv3D(filters, (3, 1, 1), padding="same")(x)))
    return i, L.Dense(10)(L.GlobalAveragePooling3D()(x))


@recipe
def tubelets():
    i = keras.Input((16, 28, 28, 1))
    x = L.Reshape((-1, 64))(L.Conv3D(64, (4, 7, 7), strides=(4, 7, 7))(i))
    x = positions(x, x.shape[1], 64)
    for _ in range(3):
        x = pre_norm_block(x, 4, 16, 256)
    return i, L.Dense(11, activation="softmax")(L.GlobalAveragePooling1D()(L.LayerNormalization(epsilon=1e-6)(x)))


@recipe
def frame_classifier():
    i = keras.Input((8, 32, 32, 3))
    tower = keras.Sequential([keras.Input((32, 32, 3)), L.Conv2D(16, 3, strides=2, activation="relu"), L.Conv2D(32, 3, strides=2, activation="relu"), L.GlobalMaxPooling2D()])
    x = L.GRU(16, return_sequences=True)(L.TimeDistributed(tower)(i))
    return i, L.Dense(5, activation="softmax")(L.Dense(8, activation="relu")(L.Dropout(0.4)(L.GRU(8)(x))))


def point_layers(x, *filters):
    for n in filters:
        x = L.Activation("relu")(L.BatchNormalization(momentum=0.0)(L.Conv1D(n, 1)(x)))
    return x


def point_transform(x, n):
    t = L.GlobalMaxPooling1D()(point_layers(x, 32, 64, 256))
    for width in (128, 64):
        t = L.Activation("relu")(L.BatchNormalization(momentum=0.0)(L.Dense(width)(t)))
    return L.Dot(axes=(2, 1))([x, L.Reshape((n, n))(L.Dense(n * n, kernel_initializer="zeros")(t))])


@recipe
def points():
    i = keras.Input((512, 3))
    x = point_layers(point_transform(i, 3), 32, 32)
    x = point_layers(point_transform(x, 32), 32, 64, 256)
    x = L.GlobalMaxPooling1D()(x)
    for width in (128, 64):
        x = L.Dropout(0.3)(L.Activation("relu")(L.BatchNormalization(momentum=0.0)(L.Dense(width)(x))))
    return i, L.Dense(10, activation="softmax")(x)


@recipe
def radiance_field():
    i = keras.Input((1024, 99))
    x = i
    for n in range(8):
        x = L.Dense(64, activation="relu")(x)
        if n == 4:
            x = L.Concatenate()([x, i])
    colour, density = ops.split(L.Dense(4)(x), [3], axis=-1)
    density = ops.reshape(ops.relu(density), (-1, 32, 32))
    alpha = 1.0 - ops.exp(-density * 0.1)
    weights = alpha * ops.cumprod(1.0 - alpha + 1e-10, axis=-1)
    return i, ops.sum(ops.expand_dims(weights, -1) * ops.reshape(ops.sigmoid(colour), (-1, 32, 32, 3)), axis=-2)


# Tables, graphs, recommendations and control.


@recipe
def matrix_factors():
    user, film = tokens(1), tokens(1)
    u, f = (L.Flatten()(L.Embedding(n, 50)(i)) for n, i in ((5000, user), (9000, film)))
    bias = L.Flatten()(L.Embedding(5000, 1)(user)) + L.Flatten()(L.Embedding(9000, 1)(film))
    return [user, film], ops.sigmoid(L.Dot(axes=1)([u, f]) + bias)


@recipe
def behaviour_transformer():
    films, ratings, target = tokens(8), keras.Input((8,)), tokens(1)
    table = L.Embedding(4000, 60)
    x = positions(table(films), 8, 60) * ops.expand_dims(ratings, -1)
    x = L.Concatenate(axis=1)([x, table(target)])
    x = encoder_block(x, 3, 20, 60)
    x = L.Flatten()(x)
    for width in (256, 128):
        x = L.Dropout(0.1)(L.LeakyReLU()(L.BatchNormalization()(L.Dense(width)(x))))
    return [films, ratings, target], L.Dense(1)(x)


@recipe
def wide_deep_cross():
    ids = [tokens(1) for _ in range(8)]
    numbers = keras.Input((10,))
    x0 = L.Concatenate()([L.Flatten()(L.Embedding(100, 6)(i)) for i in ids] + [numbers])
    deep = cross = x0
    for _ in range(3):
        deep = L.Dropout(0.2)(L.ReLU()(L.BatchNormalization()(L.Dense(64)(deep))))
        cross = x0 * L.Dense(x0.shape[-1])(cross) + cross
    return ids + [numbers], L.Dense(7, activation="softmax")(L.Concatenate()([cross, deep]))


@recipe
def tabular_transformer():
    ids = [tokens(1) for _ in range(8)]
    numbers = keras.Input((5,))
    x = L.Concatenate(axis=1)([L.Embedding(40, 16)(i) for i in ids])
    x = positions(x, 8, 16)
    for _ in range(3):
        x = encoder_block(x, 4, 16, 16, "gelu")
    x = L.Concatenate()([L.Flatten()(x), L.LayerNormalization(epsilon=1e-6)(numbers)])
    for width in (64, 32):
        x = L.Dropout(0.2)(L.Dense(width, activation="selu")(L.BatchNormalization()(x)))
    return ids + [numbers], L.Dense(1, activation="sigmoid")(x)


@recipe
def gated_variable_selection():
    inputs = [keras.Input((1,)) for _ in range(12)]

    def gated(x, width):
        short = x if x.shape[-1] == width else L.Dense(width)(x)
        x = L.Dropout(0.15)(L.Dense(width)(L.Dense(width, activation="elu")(x)))
        return L.LayerNormalization()(short + L.Dense(width)(x) * L.Dense(width, activation="sigmoid")(x))
    features = [L.Dense(16)(i) for i in inputs]
    weights = ops.expand_dims(ops.softmax(L.Dense(12)(gated(L.Concatenate()(features), 16))), -1)
    stacked = ops.stack([gated(f, 16) for f in features], axis=1)
    return inputs, L.Dense(1, activation="sigmoid")(ops.squeeze(ops.matmul(ops.transpose(weights, (0, 2, 1)), stacked), 1))


@recipe
def soft_decision_tree():
    i = keras.Input((30,))
    decisions = L.Dense(16, activation="sigmoid")(L.BatchNormalization()(i))
    both = ops.concatenate([ops.expand_dims(decisions, 2), 1.0 - ops.expand_dims(decisions, 2)], axis=2)
    reach, first = ops.ones_like(decisions[:, :1, None]), 1
    for level in range(4):
        n = 2 ** level
        reach = ops.repeat(reach, 2, axis=2) * both[:, first:first + n]
        reach = ops.reshape(reach, (-1, 2 * n, 1))
        first += n
    return i, L.Dense(2, use_bias=False)(L.Flatten()(reach))


@recipe
def sensors_mlp():
    i = keras.Input((60,))
    x = L.Normalization(mean=0.0, variance=1.0)(i)
    for _ in range(3):
        x = L.Dropout(0.3)(L.Dense(256, activation="relu")(x))
    return i, L.Dense(1, activation="sigmoid")(x)


@recipe
def snake_network():
    i = keras.Input((40, 16))
    x = L.Dense(64)(i)
    for n in range(3):
        y = L.Dense(64, activation="mish")(x)
        x = L.UnitNormalization()(x + ops.sin(y) * 0.5 + ops.log1p(ops.abs(y)))
    return i, L.Dense(3)(ops.max(x, axis=1) + ops.logsumexp(x, axis=1) + ops.std(x, axis=1))


@recipe
def dense_graph():
    nodes, edges = keras.Input((64, 32)), keras.Input((64, 64))
    x = nodes
    for width in (32, 32):
        messages = ops.matmul(ops.sigmoid(edges) / 64.0, feed_forward(x, width, "gelu"))
        x = x + L.Dense(width, activation="gelu")(L.Concatenate()([x, messages]))
        x = x / ops.maximum(ops.sqrt(ops.sum(ops.square(x), axis=-1, keepdims=True)), 1e-6)
    return [nodes, edges], L.Dense(7)(x)


@recipe
def graph_attention():
    nodes, neighbours = keras.Input((64, 32)), tokens((10))
    x = L.Dense(32)(nodes)
    near = ops.take_along_axis(x, ops.expand_dims(neighbours, -1), axis=1)
    scores = L.LeakyReLU(0.2)(L.Dense(1)(ops.concatenate([ops.repeat(ops.expand_dims(x, 2), 10, axis=2), ops.repeat(ops.expand_dims(near, 1), 64, axis=1)], axis=-1)))
    y = ops.sum(ops.softmax(scores, axis=2) * ops.expand_dims(near, 1), axis=2)
    return [nodes, neighbours], L.Dense(4)(ops.elu(y))


@recipe
def atari_values():
    i = image(84, 84, 4)
    x = i
    for filters, size, stride in ((32, 8, 4), (64, 4, 2), (64, 3, 1)):
        x = L.Conv2D(filters, size, strides=stride, activation="relu")(x)
    return i, L.Dense(4)(L.Dense(512, activation="relu")(L.Flatten()(x)))


@recipe
def actor_and_critic():
    i = keras.Input((4,))
    x = L.Dense(128, activation="relu")(i)
    return i, [L.Dense(2, activation="softmax")(x), L.Dense(1)(x)]


@recipe
def continuous_critic():
    state, action = keras.Input((24,)), keras.Input((6,))
    s = L.Dense(32, activation="relu")(L.Dense(16, activation="relu")(state))
    x = L.Concatenate()([s, L.Dense(32, activation="relu")(action)])
    for _ in range(2):
        x = L.Dense(256, activation="relu")(x)
    return [state, action], L.Dense(1)(x)


@recipe
def coupling_layers():
    i = keras.Input((2,))
    x, total = i, 0.0
    for n in range(4):
        mask = ops.convert_to_tensor([[1.0, 0.0] if n % 2 else [0.0, 1.0]])
        h = x * mask
        s = t = h
        for _ in range(3):
            s, t = L.Dense(64, activation="relu")(s), L.Dense(64, activation="relu")(t)
        s, t = L.Dense(2, activation="tanh")(s) * (1.0 - mask), L.Dense(2)(t) * (1.0 - mask)
        x = (x - t) * ops.exp(-s) * (1.0 - mask) + h
        total = total - ops.sum(s, axis=1, keepdims=True)
    return i, L.Concatenate()([x, total])


@recipe
def codebook():
    i = image(28, 28, 1)
    x = L.Conv2D(64, 3, activation="relu", strides=2, padding="same")(L.Conv2D(32, 3, activation="relu", strides=2, padding="same")(i))
    x = L.Conv2D(16, 1, padding="same")(x)
    flat = L.Reshape((49, 16))(x)
    scores = L.Dense(64)(flat)
    soft = L.Dense(16, use_bias=False)(ops.one_hot(ops.argmax(scores, axis=-1), 64) + ops.softmax(scores))
    x = L.Reshape((7, 7, 16))(flat + ops.stop_gradient(soft - flat) + 0.1 * soft)
    x = L.Conv2DTranspose(32, 3, activation="relu", strides=2, padding="same")(L.Conv2DTranspose(64, 3, activation="relu", strides=2, padding="same")(x))
    return i, L.Conv2DTranspose(1, 3, padding="same")(x)


@recipe
def involution():
    i = image(32, 32, 3)
    x = L.Conv2D(16, 3, padding="same")(i)
    for _ in range(2):
        k = L.Conv2D(9, 1)(L.ReLU()(L.BatchNormalization()(L.Conv2D(8, 1)(x))))
        near = L.Reshape((32, 32, 9, 16))(ops.image.extract_patches(x, 3, strides=1, padding="same"))
        x = L.ReLU()(ops.sum(ops.expand_dims(k, -1) * near, axis=3))
    return i, L.Dense(10)(L.Dense(64, activation="relu")(L.Flatten()(L.MaxPooling2D(4)(x))))


def record(model, path):
    """Saves the model, compiled, and what Keras computes with it."""
    for layer in model._flatten_layers():
        if isinstance(layer, (L.Dropout, L.SpatialDropout1D)):
            layer.rate = 0.0
        elif isinstance(layer, L.MultiHeadAttention):
            layer._dropout = 0.0
    model.compile(keras.optimizers.SGD(1e-3), "mse")
    model.save(path)
    r = np.random.default_rng(5)
    draw = lambda i: r.uniform(-1, 1, (4, *i.shape[1:])).astype("float32") if "float" in i.dtype else r.integers(0, 10, (4, *i.shape[1:])).astype("int32")
    x = [draw(i) for i in model.inputs]
    alone = lambda a: a[0] if len(a) == 1 else a
    predict = lambda: [p for p in [model.predict_on_batch(alone(x))] for p in (p if isinstance(p, list) else [p])]
    before = predict()
    y = [p + 0.5 * r.standard_normal(p.shape).astype("float32") for p in before]
    for _ in range(3):
        model.train_on_batch(alone(x), alone(y))
    arrays = {f"{kind}{n}": a for kind, list_ in (("x", x), ("y", y), ("before", before), ("after", predict())) for n, a in enumerate(list_)}
    np.savez(path.removesuffix("keras") + "npz", **arrays)


def main():
    if sys.argv[1:] == ["--list"]:
        return print(*RECIPES, sep="\n")
    recording = sys.argv[1] == "--record"
    if keras.backend.backend() == "jax":
        import jax
        jax.config.update("jax_cpu_enable_async_dispatch", False)  # with two processors, compiling may wait for ever for what still runs
    keras.config.set_dtype_policy(os.environ.get("DTYPE", "float32"))
    folder, *names = sys.argv[1 + recording:]
    for name in [n for name in names for n in (LARGE if name == "large" else [name])] or RECIPES:
        keras.utils.set_random_seed(1)
        inputs, outputs = (RECIPES | LARGE)[name]()
        path = os.path.join(folder, name + ".keras")
        model = keras.Model(inputs, outputs, name=name)
        record(model, path) if recording else model.save(path)
        print(path, flush=True)


if __name__ == "__main__":
    main()
