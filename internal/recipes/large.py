"""Networks of 49 to 162 million weights, in the sizes in which they are published, for models.py alone: steps take seconds and files hundreds of megabytes."""
from keras import layers as L, ops
import keras

LARGE = {}


def large(f):
    LARGE[f.__name__] = f
    return f


def attend(x, heads, width, other=None, causal=False):
    return L.MultiHeadAttention(heads, width // heads)(x, x if other is None else other, use_causal_mask=causal)


def widen(x, width):
    return L.Dense(width)(L.Dense(4 * width, activation="gelu")(x))


def block(x, width, heads, causal=False):
    """A block that normalizes before it computes."""
    x = x + attend(L.LayerNormalization(epsilon=1e-5)(x), heads, width, causal=causal)
    return x + widen(L.LayerNormalization(epsilon=1e-5)(x), width)


def words(length, vocabulary, width):
    i = keras.Input((length,), dtype="int32")
    return i, L.Embedding(vocabulary, width)(i) + L.Embedding(length, width)(ops.arange(length))


@large
def large_decoder():
    i, x = words(128, 50257, 768)
    for _ in range(12):
        x = block(x, 768, 12, causal=True)
    return i, L.Dense(50257, use_bias=False)(L.LayerNormalization()(x))


@large
def large_encoder():
    i, x = words(128, 30522, 768)
    x = L.LayerNormalization(epsilon=1e-12)(x)
    for _ in range(12):
        x = L.LayerNormalization(epsilon=1e-12)(x + attend(x, 12, 768))
        x = L.LayerNormalization(epsilon=1e-12)(x + widen(x, 768))
    return i, L.Dense(2)(L.Dense(768, activation="tanh")(x[:, 0]))


@large
def large_vision_transformer():
    i = keras.Input((224, 224, 3))
    x = L.Reshape((196, 768))(L.Conv2D(768, 16, 16)(i))
    for _ in range(12):
        x = block(x, 768, 12)
    return i, L.Dense(1000)(L.GlobalAveragePooling1D()(L.LayerNormalization()(x)))


@large
def large_gated_decoder():
    i, x = words(256, 32000, 512)
    for _ in range(8):
        y = L.RMSNormalization()(x)
        x = x + L.GroupQueryAttention(64, 8, 2)(y, y, use_causal_mask=True)
        y = L.RMSNormalization()(x)
        x = x + L.Dense(512, use_bias=False)(L.Dense(1408, activation="silu", use_bias=False)(y) * L.Dense(1408, use_bias=False)(y))
    return i, L.Dense(32000, use_bias=False)(L.RMSNormalization()(x))


@large
def large_denoiser():
    i, t = keras.Input((64, 64, 4)), keras.Input((320,))
    time = L.Dense(1280, activation="silu")(t)

    def normal(x):
        return L.Activation("silu")(L.GroupNormalization(32)(x))

    def residual(x, channels):
        y = L.Conv2D(channels, 3, padding="same")(normal(x)) + L.Reshape((1, 1, channels))(L.Dense(channels)(time))
        y = L.Conv2D(channels, 3, padding="same")(normal(y))
        return y + (x if x.shape[-1] == channels else L.Conv2D(channels, 1)(x))

    def attention(x):
        height, width, channels = x.shape[1:]
        y = L.LayerNormalization()(L.Reshape((height * width, channels))(L.GroupNormalization(32)(x)))
        return x + L.Reshape((height, width, channels))(attend(y, 8, channels))
    x, kept = L.Conv2D(160, 3, padding="same")(i), []
    for channels in (160, 320, 640):
        x = residual(x, channels)
        x = x if channels == 160 else attention(x)
        kept.append(x)
        x = L.Conv2D(channels, 3, strides=2, padding="same")(x)
    x = attention(residual(x, 640))
    for channels in (640, 320, 160):
        x = L.Conv2D(channels, 3, padding="same")(L.UpSampling2D()(x))
        x = residual(L.Concatenate()([x, kept.pop()]), channels)
    return [i, t], L.Conv2D(4, 3, padding="same")(normal(x))


@large
def large_speech_recognizer():
    i = keras.Input((750, 80))
    x = L.Conv1D(384, 3, padding="same", activation="gelu")(i)
    x = L.Conv1D(384, 3, strides=2, padding="same", activation="gelu")(x)
    for _ in range(4):
        x = block(x, 384, 6)
    sound = L.LayerNormalization()(x)
    j, y = words(64, 51864, 384)
    for _ in range(4):
        y = y + attend(L.LayerNormalization()(y), 6, 384, causal=True)
        y = y + attend(L.LayerNormalization()(y), 6, 384, sound)
        y = y + widen(L.LayerNormalization()(y), 384)
    return [i, j], L.Dense(51864, use_bias=False)(L.LayerNormalization()(y))


@large
def large_recommender():
    numbers = keras.Input((13,))
    x = numbers
    for units in (512, 256, 64):
        x = L.Dense(units, activation="relu")(x)
    inputs, vectors = [numbers], [L.Reshape((1, 64))(x)]
    for table in range(26):
        i = keras.Input((1,), dtype="int32")
        inputs.append(i)
        vectors.append(L.Embedding(20000 + 3000 * table, 64)(i))
    all_ = L.Concatenate(axis=1)(vectors)
    x = L.Concatenate()([x, L.Flatten()(L.Dot(axes=(2, 2))([all_, all_]))])
    for units in (1024, 1024, 512, 256):
        x = L.Dense(units, activation="relu")(x)
    return inputs, L.Dense(1, activation="sigmoid")(x)
