"""Draws networks of wide layers, trains them three steps with Keras, and writes down the weights.

    python internal/randomnets/randomwide.py --count 100 --seed 0 --out folder

Other scripts draw layers of a few channels. From some numbers of channels, rows and pixels on, kernels are other ones, as those of convolutions of 32 channels are;
here all layers have 32 channels and more. For each network there are N.keras, before the first step, N.after.keras, after the third one, N.noise.keras, of the same three
steps with results of layers that differ in the last digits, and in models.json inputs, targets and losses.
"""
import json
import os
import sys

from recording import ROUGH, array, plain, rounded  # before keras, for which it chooses a backend
import keras
import numpy as np

from drawing import Draw, arguments

L = keras.layers
STEPS = 3
MOST = 600_000  # weights of a layer


class Network:
    def __init__(self, r):
        self.r = r

    def of(self, *choices):
        return self.r.choice(choices)

    def width(self):
        return self.of(32, 32, 33, 40, 48, 50, 64, 64, 72, 96, 128)

    def activation(self):
        return self.of('relu', 'relu', 'tanh', 'silu', 'gelu', 'linear', 'sigmoid')

    def convolution(self, x, d):
        """A convolution of any kind in d dimensions."""
        r, channels = self.r, x.shape[-1]
        kind = self.of('plain', 'plain', 'plain', 'plain', 'plain', 'strided', 'dilated', 'grouped', 'transposed', 'depthwise', 'separable')
        s = {'padding': self.of('same', 'same', 'valid') if min(x.shape[1:-1]) > 8 else 'same', 'activation': self.activation(), **r.maybe(0.2, use_bias=False)}
        size = self.of(1, 3, 3, 3, 3, 5) if d < 3 else self.of(1, 2, 3)
        if d == 2 and r.random() < 0.15:
            size = self.of((3, 1), (1, 3), (2, 3), (5, 3))
        s['kernel_size'] = size
        if kind in ('strided', 'transposed'):
            s['strides'] = self.of(2, 2, 1, 3)
        if kind == 'dilated':
            s['dilation_rate'] = 2
        if kind in ('depthwise', 'separable') and d < 3:
            s['depth_multiplier'] = self.of(1, 1, 2)
            return getattr(L, ('Depthwise' if kind == 'depthwise' else 'Separable') + 'Conv%dD' % d)(**s, **({'filters': self.width()} if kind == 'separable' else {}), **r.maybe(0.3, strides=2))(x)
        if kind == 'grouped':
            groups = self.of(*[g for g in (2, 3, 4, 8, 16, 32) if channels % g == 0] or [1])
            return getattr(L, 'Conv%dD' % d)(groups * max(self.width() // groups, 1), groups=groups, **s)(x)
        if kind == 'transposed':
            return getattr(L, 'Conv%dDTranspose' % d)(self.width(), **s)(x)
        if d == 1 and r.random() < 0.2:
            s['padding'] = 'causal'
        return getattr(L, 'Conv%dD' % d)(self.width(), **s)(x)

    def beside(self, x, d):
        """What stands between convolutions."""
        kind = self.of('none', 'none', 'batch', 'batch', 'layer', 'group', 'max', 'average', 'residual')
        if kind == 'batch':
            return L.Activation(self.activation())(L.BatchNormalization(momentum=0.9)(x))
        if kind == 'layer':
            return L.LayerNormalization()(x)
        if kind == 'group':
            return L.GroupNormalization(self.of(*[g for g in (1, 2, 4, 8) if x.shape[-1] % g == 0]))(x)
        if kind in ('max', 'average') and min(x.shape[1:-1]) >= 4:
            return getattr(L, ('Max' if kind == 'max' else 'Average') + 'Pooling%dD' % d)(2)(x)
        if kind == 'residual':
            return L.Add()([x, getattr(L, 'Conv%dD' % d)(x.shape[-1], 3, padding='same')(x)])
        return x

    def images(self):
        d = self.of(1, 2, 2, 2, 2, 2, 3)
        side = {1: lambda: self.of(12, 20, 33, 64), 2: lambda: self.of(5, 6, 7, 8, 9, 12, 14, 16), 3: lambda: self.of(3, 4, 5)}[d]
        i = keras.Input([side() for _ in range(d)] + [self.of(3, 32, 32, 33, 40, 48, 64, 72)])
        x = i
        for _ in range(self.r.randint(1, 3)):
            y = self.beside(self.convolution(x, d), d)
            if 0 in y.shape[1:] or np.prod(y.shape[1:]) > 40000:
                break
            x = y
        if np.prod(x.shape[1:]) < 1500 and self.r.random() < 0.4:
            x = L.Flatten()(x)
        else:
            x = getattr(L, 'Global' + self.of('Max', 'Average') + 'Pooling%dD' % d)()(x)
        return i, L.Dense(self.of(3, 10, 40))(x)

    def recurrent(self, x):
        make, both = getattr(L, self.of('LSTM', 'LSTM', 'GRU', 'GRU', 'SimpleRNN')), self.r.random() < 0.25
        layer = make(self.width(), return_sequences=True, go_backwards=not both and self.r.random() < 0.2, use_bias=self.r.random() < 0.8)
        return L.Bidirectional(layer, merge_mode=self.of('concat', 'sum'))(x) if both else layer(x)

    def attention(self, x):
        heads, size = self.of(2, 4), self.of(16, 24, 32, 64)
        if self.r.random() < 0.3:
            layer = L.GroupQueryAttention(size, heads, self.of(1, 2))
        else:
            layer = L.MultiHeadAttention(heads, size)
        y = layer(x, x, use_causal_mask=self.r.random() < 0.4)
        return self.of(lambda: L.Add()([x, y]), lambda: L.LayerNormalization()(L.Add()([x, y])), lambda: y)()

    def sequence(self):
        i = keras.Input((self.of(5, 9, 16, 33), self.of(32, 40, 64, 100)))
        x = i
        for _ in range(self.r.randint(1, 3)):
            x = self.of(self.recurrent, self.recurrent, self.attention, self.attention, lambda x: self.convolution(x, 1), lambda x: L.Dense(self.width(), activation=self.activation())(x))(x)
            if x.shape[1] < 2:
                break
        x = self.of(lambda: L.GlobalAveragePooling1D()(x), lambda: x[:, -1], lambda: getattr(L, self.of('LSTM', 'GRU'))(self.width())(x))()
        return i, L.Dense(self.of(3, 10, 40))(x)

    def tokens(self):
        i = keras.Input((self.of(5, 9, 16, 33),), dtype='int32')
        x = L.Embedding(50, self.width())(i)
        for _ in range(self.r.randint(1, 2)):
            x = self.of(self.recurrent, self.attention)(x)
        return i, L.Dense(50)(x)

    def dense(self):
        i = keras.Input((self.of(32, 100, 333, 784),))
        x = i
        for _ in range(self.r.randint(1, 3)):
            x = L.Dense(self.of(64, 100, 128, 200, 333, 512), activation=self.activation(), **self.r.maybe(0.2, use_bias=False))(x)
            x = self.of(lambda: x, lambda: L.BatchNormalization(momentum=0.9)(x), lambda: L.LayerNormalization()(x))()
        return i, L.Dense(self.of(1, 10, 100))(x)


def numbers(rng, shape):
    """Multiples of 1/64, which all types have."""
    return (np.round(rng.standard_normal(shape) * 45) / 64).astype('float32')


def model(seed, number, folder):
    r = Draw(seed)
    keras.utils.set_random_seed(seed)
    policy = r.choice(['float32'] * 7 + ['mixed_float16', 'mixed_bfloat16', 'mixed_bfloat16'])
    keras.config.set_dtype_policy(policy)
    try:
        kind = r.choice(['images'] * 6 + ['sequence'] * 3 + ['tokens', 'dense'])
        i, y = getattr(Network(r), kind)()
        m = keras.Model(i, L.Activation('linear', dtype='float32')(y))
    finally:
        keras.config.set_dtype_policy('float32')
    if any(np.prod(w.shape) > MOST for w in m.weights):
        return None
    rng = np.random.default_rng(seed)
    batch = r.choice([1, 2, 3, 4, 5, 8] if kind == 'images' else [2, 5, 16, 33] if kind != 'dense' else [3, 16, 64, 100])
    x = rng.integers(0, 50, (batch, *i.shape[1:])).astype('int32') if kind == 'tokens' else numbers(rng, (batch, *i.shape[1:]))
    targets = numbers(rng, (batch, *m.output_shape[1:]))
    settings = dict(learning_rate=r.choice([0.01, 0.05]), momentum=r.choice([0.0, 0.9]), nesterov=r.random() < 0.3)
    start = [array(w) for w in m.weights]

    def train(path):
        for w, v in zip(m.weights, start):
            w.assign(v)
        m.compile(keras.optimizers.SGD(**settings), 'mse', auto_scale_loss=False)
        m.optimizer.build(m.trainable_variables)
        if path.endswith('/%d.after.keras' % number):
            m.save('%s/%d.keras' % (folder, number))
        losses = [float(np.ravel(m.train_on_batch(x, targets))[0]) for _ in range(STEPS)]
        m.save(path)
        return losses

    losses = train('%s/%d.after.keras' % (folder, number))
    with rounded(seed):
        noise = train('%s/%d.noise.keras' % (folder, number))
    if not np.isfinite(losses + noise).all() or max(losses) > 1e3 or abs(noise[-1] - losses[-1]) > 1e4 * ROUGH[policy.replace('mixed_', '')] * max(1, losses[-1]):
        return 'rounding decides'
    return {'number': number, 'kind': kind, 'policy': policy, 'layers': [l.__class__.__name__ for l in m.layers], 'x': plain(x, str(x.dtype)), 'targets': plain(targets, 'float32'), 'losses': losses}


def draw(a):
    os.makedirs(a.out, exist_ok=True)
    rows, failed, rounding = [], {}, []
    for i in range(a.count):
        try:
            row = model(a.seed + i, i, a.out)
        except Exception as e:
            failed[type(e).__name__ + ': ' + ' '.join(str(e).split())[:150]] = a.seed + i
            row = None
        if row == 'rounding decides':
            rounding.append(a.seed + i)
        elif row:
            rows.append({**row, 'seed': a.seed + i})
        keras.backend.clear_session()
    with open(a.out + '/models.json', 'w') as f:
        json.dump({'keras': keras.__version__, 'models': rows}, f)
    print(len(rows), 'networks, rounding decides', rounding, 'Keras fails with', failed, file=sys.stderr)


if __name__ == '__main__':
    draw(arguments().parse_args())
