"""Draws a layer of any class with random settings, calls it in a small Functional model, and writes down what comes of it; see recording.py.

    python internal/randomnets/randomlayers.py --count 100 --seed 0 --out folder
    python internal/randomnets/randomlayers.py --check folder

Drawn are all settings that change results (also what a randomnets.py leaves out: both orders of axes, regularizers, constraints, policies
of types, frozen layers), arguments of the call (masks, states, attention to other tensors), and what reads a mask after the layer.
"""
import recording  # before keras, for which it chooses a backend
import keras
import numpy as np
from keras import layers as L

ACTIVATIONS = '''relu relu6 sigmoid tanh softplus softsign silu gelu elu selu leaky_relu hard_sigmoid hard_silu hard_tanh hard_shrink soft_shrink tanh_shrink squareplus sparse_plus
sparse_sigmoid sparsemax celu exponential linear log_sigmoid mish softmax log_softmax threshold glu'''.split()
POLICIES = ['mixed_float16', 'mixed_bfloat16', 'bfloat16', 'float16']


class Layers:
    def __init__(self, r):
        self.r, self.inputs, self.training = r, [], True

    def of(self, *choices):
        return self.r.choice(choices)

    def maybe(self, chance, **settings):
        return {k: v for k, v in settings.items() if self.r.random() < chance}

    def input(self, *shape, dtype='float32', **more):
        i = keras.Input(shape, dtype=dtype, **more)
        self.inputs.append(i)
        return i

    def length(self):
        return self.of(3, 4, 5, 6, None if self.r.random() < 0.4 else 5)

    def vector(self):
        return self.input(self.of(1, 2, 3, 4, 6))

    def steps(self, mask=0.5):
        """A sequence, with a mask or without one."""
        q = self.r.random()
        if q < mask / 2:
            i = self.input(self.length(), dtype=self.of('int32', 'int32', 'uint8', 'float32'))
            return L.Embedding(5, self.of(1, 2, 3, 4), mask_zero=True)(L.Rescaling(1.0)(abs(i)) if i.dtype == 'float32' else abs(i) if i.dtype == 'int32' else i)
        if q < mask:
            i = self.input(self.length(), self.of(1, 2, 3, 4))
            return L.Masking()(keras.ops.maximum(i, 0.0) if self.r.random() < 0.5 else keras.ops.round(i))
        return self.input(self.length(), self.of(1, 2, 3, 4))

    def space(self, d, channels=None):
        side = [self.of(1, 3, 4, 5, 6, None if self.r.random() < 0.2 else 4) for _ in range(d)]
        return self.input(*side, channels or self.of(1, 2, 3, 4))

    def anything(self):
        return self.of(self.vector, self.steps, lambda: self.space(1), lambda: self.space(2), lambda: self.space(3))()

    def activation(self):
        a = self.of(*ACTIVATIONS)
        return 'tanh' if a == 'glu' else a

    def regularizer(self):
        R = keras.regularizers
        return self.of('l1', 'l2', R.L1L2(0.01, 0.02), R.L2(0.05), R.OrthogonalRegularizer(0.01) if self.r.random() < 0.2 else R.L1(0.03))

    def constraint(self):
        C = keras.constraints
        return self.of(C.MaxNorm(0.5), C.UnitNorm(), C.NonNeg(), C.MinMaxNorm(0.2, 0.8, rate=0.5), C.MaxNorm(1.0, axis=[0]), C.UnitNorm(axis=-1))

    def weighted(self, *parts):
        """Settings that every layer with weights has."""
        s = self.maybe(0.15, activity_regularizer=self.regularizer() if self.r.random() < 0.5 else 'l2')
        for p in parts or ('kernel', 'bias'):
            s.update(self.maybe(0.12, **{p + '_regularizer': self.regularizer() if p == 'kernel' else 'l2', p + '_constraint': self.constraint()}))
        return s

    def per_axis(self, d, *choices):
        return self.of(*choices) if self.r.random() < 0.6 else tuple(self.of(*choices) for _ in range(d))

    def format(self):
        return {'data_format': self.of('channels_first', 'channels_last')} if self.r.random() < 0.3 else {}

    # Layers: each function returns what one makes of its inputs.

    def dense(self):
        x = self.anything()
        return L.Dense(self.of(1, 2, 3, 5), **self.maybe(0.5, activation=self.activation(), use_bias=False), **self.weighted())(x)

    def einsum(self):
        equation, shape, bias, given = self.of(('ab,bc->ac', 3, 'c', [4]), ('abc,cd->abd', (5, 3), 'd', [5, 2]), ('abc,cde->abde', (4, 2, 3), 'de', [4, 3]), ('abc,cde->abde', (4, 2, 3), 'e', [4, 3]),
                                               ('...x,xy->...y', 2, 'y', [5, 3]), ('abcd,cde->abe', (4, 4), 'e', [4, 2, 3]), ('abc,bd->adc', (2, 3), 'dc', [4, 3]), ('abc,bcd->ad', 2, 'd', [3, 2]),
                                               ('abc,bd->acd', (3, 2), 'c', [4, 3]), ('ab,bc->ca', 3, None, [4]), ('abc,bc->ac', 3, 'c', [4, 3]), ('ab,bcd->acd', (2, 3), 'cd', [4]))
        return L.EinsumDense(equation, shape, bias_axes=self.of(None, bias), **self.maybe(0.3, activation=self.activation()), **self.weighted())(self.input(*given))

    def conv(self):
        d = self.of(1, 1, 2, 2, 3)
        kind = self.of('Conv', 'Conv', 'Conv', 'Transpose', 'Transpose', 'Separable', 'Depthwise')
        if kind in ('Separable', 'Depthwise'):
            d = min(d, 2)
        x = self.steps() if d == 1 and self.r.random() < 0.4 else self.space(d)
        s = {'kernel_size': self.per_axis(d, 1, 2, 3), 'padding': self.of('valid', 'same'), **self.format(), **self.maybe(0.3, activation=self.activation(), use_bias=False)}
        if s.get('activation') in ('softmax', 'log_softmax', 'sparsemax'):
            s.pop('activation')
        channels = x.shape[1] if s.get('data_format') == 'channels_first' else x.shape[-1]
        if kind != 'Depthwise':
            s['filters'] = self.of(1, 2, 3, 4)
        stride = self.per_axis(d, 1, 1, 2, 3)
        if kind in ('Separable', 'Depthwise'):
            stride = self.of(1, 2)
            s.update(self.maybe(0.5, depth_multiplier=2))
        s['strides'] = stride
        one = stride == 1 or isinstance(stride, tuple) and max(stride) == 1
        if kind == 'Transpose':
            s.update(self.maybe(0.3, output_padding=self.of(0, 1)))
            if one and self.r.random() < 0.3 and 'output_padding' not in s:
                s['dilation_rate'] = self.of(2, 1)
        elif one:
            s['dilation_rate'] = self.per_axis(d, 1, 2) if kind == 'Conv' else self.of(1, 2)
        if kind == 'Conv':
            if d == 1 and self.r.random() < 0.25:
                s['padding'] = 'causal'
            if channels and self.r.random() < 0.3:
                g = self.of(1, 2, channels)
                if channels % g == 0:
                    s.update(groups=g, filters=g * self.of(1, 2))
        s.update(self.weighted(*{'Separable': ('depthwise', 'pointwise', 'bias'), 'Depthwise': ('depthwise', 'bias')}.get(kind, ())))
        name = {'Transpose': 'Conv%dDTranspose'}.get(kind, kind.replace('Conv', '') + 'Conv%dD') % d
        return getattr(L, name)(**s)(x)

    def pool(self):
        d = self.of(1, 2, 2, 3)
        x = self.steps() if d == 1 and self.r.random() < 0.6 else self.space(d)
        kind = self.of('Max', 'Average', 'GlobalMax', 'GlobalAverage', 'AdaptiveMax', 'AdaptiveAverage')
        if kind[0] == 'G':
            return getattr(L, kind + 'Pooling%dD' % d)(keepdims=self.of(True, False), **self.format())(x)
        if kind[1] == 'd':
            return getattr(L, kind + 'Pooling%dD' % d)(self.per_axis(d, 1, 2, 3), **self.format())(x)
        return getattr(L, kind + 'Pooling%dD' % d)(self.per_axis(d, 1, 2, 3), strides=self.of(None, None, 1, 2, 3), padding=self.of('valid', 'same'), **self.format())(x)

    def normalization(self):
        x = self.anything()
        rank = len(x.shape)
        kind = self.of('Batch', 'Batch', 'Layer', 'Layer', 'Group', 'Unit', 'RMS', 'Spectral')
        axis = self.of(-1, -1, 1, rank - 1)
        if kind == 'Batch':
            s = self.maybe(0.3, momentum=self.of(0.5, 0.9), epsilon=0.01, center=False, scale=False, trainable=False)
            s.update(self.maybe(0.2, renorm=True))
            s.update(self.maybe(0.1, gamma_regularizer='l2', beta_constraint='non_neg'))
            return L.BatchNormalization(axis=axis, **s)(x)
        if kind == 'Layer':
            axis = self.of(axis, axis, [1, -1] if rank > 2 else [1], list(range(1, rank)))
            return L.LayerNormalization(axis=axis, **self.maybe(0.3, epsilon=0.01, center=False, scale=False, gamma_regularizer='l1'))(x)
        if kind == 'Group':
            n = x.shape[axis] or 1
            return L.GroupNormalization(groups=self.of(-1, 1, n, 2 if n % 2 == 0 else 1), axis=axis, **self.maybe(0.3, epsilon=0.01, center=False, scale=False))(x)
        if kind == 'Unit':
            return L.UnitNormalization(axis=self.of(axis, [1, -1] if rank > 2 else 1))(x)
        if kind == 'RMS':
            return L.RMSNormalization(axis=self.of(axis, -1, [1, -1] if rank > 2 else -1), **self.maybe(0.3, epsilon=0.01))(x)
        made = L.SpectralNormalization(L.Dense(3), power_iterations=self.of(1, 2))
        made.trainable = keras.backend.backend() != 'jax'  # where a step takes the gradient through the division of a kernel, and then drops what was assigned
        return made(x)

    def cell_settings(self, name):
        s = {'units': self.of(1, 2, 3), **self.maybe(0.2, activation=self.of('relu', 'sigmoid', 'softsign', 'elu', 'linear'), use_bias=False)}
        if name != 'SimpleRNN':
            s.update(self.maybe(0.25, recurrent_activation=self.of('hard_sigmoid', 'tanh', 'relu6')))
        if name == 'LSTM':
            s.update(self.maybe(0.3, unit_forget_bias=False))
        if name == 'GRU':
            s.update(self.maybe(0.4, reset_after=False))
        s.update(self.maybe(0.08, kernel_regularizer='l2', recurrent_regularizer='l1', bias_regularizer='l2', kernel_constraint=self.constraint(), recurrent_constraint=self.constraint()))
        return s

    def recurrent_layer(self, **more):
        name = self.of('LSTM', 'GRU', 'SimpleRNN')
        s = {**self.cell_settings(name), **self.maybe(0.35, return_sequences=True, go_backwards=True), **more}
        s.update(self.maybe(0.1, activity_regularizer='l2'))
        return name, getattr(L, name)(**s)

    def recurrent(self):
        x = self.steps(0.6)
        if x.shape[1] and self.r.random() < 0.15:
            name, layer = self.recurrent_layer(unroll=True, **self.maybe(0.2, return_state=True))
        else:
            name, layer = self.recurrent_layer(**self.maybe(0.25, return_state=True))
        more = {}
        if self.r.random() < 0.3:
            states = [self.input(layer.units) for _ in range(2 if name == 'LSTM' else 1)]
            more['initial_state'] = states if name == 'LSTM' or self.r.random() < 0.5 else states[0]
        if self.r.random() < 0.2:
            more['mask'] = self.input(x.shape[1], dtype='bool')
        y = layer(x, **more)
        return list(y) if isinstance(y, (list, tuple)) else y

    def bidirectional(self):
        x = self.steps(0.6)
        name, layer = self.recurrent_layer(return_state=self.r.random() < 0.2, go_backwards=False)
        s = {'merge_mode': self.of('concat', 'sum', 'mul', 'ave', None)}
        if self.r.random() < 0.3:
            c = layer.get_config()
            s['backward_layer'] = type(layer).from_config({**c, 'go_backwards': True, 'name': 'back', **self.maybe(0.5, activation='sigmoid')})
        more = {}
        if self.r.random() < 0.2:
            more['initial_state'] = [self.input(layer.units) for _ in range(4 if name == 'LSTM' else 2)]
        y = L.Bidirectional(layer, **s)(x, **more)
        return list(y) if isinstance(y, (list, tuple)) else y

    def cells(self):
        x = self.steps(0.6)
        made = []
        for _ in range(self.of(1, 2, 3)):
            name = self.of('LSTM', 'GRU', 'SimpleRNN')
            made.append(getattr(L, name + 'Cell')(**self.cell_settings(name)))
        cell = made[0] if len(made) == 1 else self.of(L.StackedRNNCells(made), made)
        y = L.RNN(cell, **self.maybe(0.35, return_sequences=True, return_state=True, go_backwards=True, zero_output_for_mask=True))(x)
        return list(keras.tree.flatten(y)) if isinstance(y, (list, tuple)) else y

    def distributed(self):
        if self.r.random() < 0.5:
            x = self.steps()
            inner = self.of(L.Dense(2, activation='tanh'), L.LayerNormalization(), L.BatchNormalization(), keras.Sequential([L.Dense(3), L.Dense(2)]), L.Activation('softmax'), L.Dense(1), L.RMSNormalization())
        else:
            x = self.input(self.length(), 4, 3)
            inner = self.of(L.Conv1D(2, 2), L.LSTM(2), L.Flatten(), L.GlobalMaxPooling1D(), L.Bidirectional(L.GRU(2)), L.MaxPooling1D(2), L.Reshape((-1,)), L.Permute((2, 1)), L.Dense(2))
        y = L.TimeDistributed(inner)(x)
        if self.r.random() < 0.2:
            y = L.TimeDistributed(L.Dense(2))(y)
        return y

    def conv_lstm(self):
        d = self.of(1, 1, 2, 3)
        s = {'filters': self.of(1, 2), 'kernel_size': self.per_axis(d, 1, 2, 3), 'padding': self.of('valid', 'same'), **self.maybe(0.3, strides=self.per_axis(d, 1, 2), return_sequences=True, return_state=True),
             **self.maybe(0.2, use_bias=False, go_backwards=True, recurrent_activation='hard_sigmoid', unit_forget_bias=False, activation='relu', dilation_rate=2), **self.format()}
        if s.get('strides', 1) != 1:
            s.pop('dilation_rate', None)
        x = self.input(self.of(2, 3), *[self.of(3, 4) for _ in range(d)], self.of(1, 2))
        y = getattr(L, 'ConvLSTM%dD' % d)(**s)(x)
        return list(y) if isinstance(y, (list, tuple)) else y

    def attention(self):
        kind = self.of('Attention', 'AdditiveAttention', 'MultiHeadAttention', 'MultiHeadAttention', 'GroupQueryAttention')
        if keras.backend.backend() == 'torch' and kind[0] == 'G':
            kind = 'MultiHeadAttention'  # PyTorch has other gradients than the other backends where a mask leaves nothing of a row
        q = self.steps(0.4)
        width = q.shape[-1]
        value = q if self.r.random() < 0.3 else self.input(self.length(), width)
        key = None if self.r.random() < 0.5 else value if self.r.random() < 0.5 else self.input(value.shape[1], width)
        score = {'return_attention_scores': True} if self.r.random() < 0.3 else {}
        causal = {'use_causal_mask': True} if self.r.random() < 0.3 else {}
        if kind in ('Attention', 'AdditiveAttention'):
            s = self.maybe(0.5, use_scale=self.of(True, False))
            if kind == 'Attention':
                s.update(self.maybe(0.3, score_mode='concat'))
            given = [q, value] + ([key] if key is not None else [])
            more = {}
            if self.r.random() < 0.2:
                more['mask'] = [self.of(None, self.input(q.shape[1], dtype='bool')), self.input(value.shape[1], dtype='bool')][:2]
            return self.flat(getattr(L, kind)(**s)(given, **more, **score, **causal))
        if kind == 'MultiHeadAttention':
            layer = L.MultiHeadAttention(self.of(1, 2), self.of(1, 2, 3), **self.maybe(0.3, value_dim=self.of(1, 4), use_bias=False, output_shape=self.of(3, (2, 2))), **self.weighted('kernel', 'bias'))
        else:
            n = self.of(1, 2, 4)
            layer = L.GroupQueryAttention(self.of(1, 2, 3), n, self.of(*[k for k in (1, 2, 4) if n % k == 0]), **self.maybe(0.3, use_bias=False, use_gate=True))
        more = {}
        if self.r.random() < 0.25 and q.shape[1] and value.shape[1]:
            more['attention_mask'] = self.input(q.shape[1], value.shape[1], dtype='bool')
        if self.r.random() < 0.15:
            more['value_mask'] = self.input(value.shape[1], dtype='bool')
        if self.r.random() < 0.15:
            more['query_mask'] = self.input(q.shape[1], dtype='bool')
        return self.flat(layer(q, value, **({} if key is None else {'key': key}), **more, **score, **causal))

    def flat(self, y):
        return list(y) if isinstance(y, (list, tuple)) else y

    def embedding(self):
        i = self.input(*self.of([self.length()], [], [2, 3]), dtype=self.of('int32', 'int32', 'uint8', 'int8'))
        i = abs(i) if i.dtype != 'uint8' else i
        layer = L.Embedding(6, self.of(1, 2, 4), **self.maybe(0.3, mask_zero=True, embeddings_constraint=self.constraint(), embeddings_regularizer='l2', activity_regularizer='l1'))
        y = layer(i)
        if self.r.random() < 0.3 and len(i.shape) == 2:
            layer = L.ReversibleEmbedding(6, 3, **self.maybe(0.4, tie_weights=False, mask_zero=True, logit_soft_cap=2.0))
            y = layer(layer(i), reverse=True)
        return y

    def merge(self):
        x = self.of(self.vector, self.steps, self.steps, lambda: self.space(2))()
        n = self.of(2, 2, 3)
        kind = self.of('Add', 'Subtract', 'Multiply', 'Average', 'Maximum', 'Minimum', 'Concatenate', 'Concatenate', 'Dot')
        others = []
        for _ in range(n - 1 if kind not in ('Subtract', 'Dot') else 1):
            q = self.r.random()
            if kind == 'Concatenate' and q < 0.6 or q < 0.3:
                others.append(self.input(*x.shape[1:]))
            elif q < 0.6 and len(x.shape) == 3 and kind != 'Dot':
                others.append(L.Masking()(keras.ops.round(self.input(*x.shape[1:]))))
            elif kind not in ('Concatenate', 'Dot'):
                shape = [d if self.r.random() < 0.7 or d is None else 1 for d in x.shape[1:]]
                others.append(self.input(*shape) if self.r.random() < 0.8 or len(shape) < 2 else self.input(*shape[1:]))
            else:
                others.append(x)
        if kind == 'Concatenate':
            return L.Concatenate(axis=self.of(-1, -1, 1, len(x.shape) - 1))([x, *others])
        if kind == 'Dot':
            rank = len(x.shape)
            return L.Dot(axes=self.of(1, -1, rank - 1), normalize=self.of(True, False))([x, others[0]])
        given = [x, *others]
        self.r.shuffle(given)
        return getattr(L, kind)()(given)

    def shape(self):
        x = self.of(self.steps, lambda: self.space(1), lambda: self.space(2), lambda: self.space(3))()
        d = len(x.shape) - 2
        kind = self.of('Reshape', 'Permute', 'Flatten', 'Repeat', 'Crop', 'Pad', 'Up', 'Up')
        if kind == 'Reshape':
            return L.Reshape(self.of((-1,), (-1, 1), (1, -1), (-1, 2), (x.shape[-1], -1)))(x)
        if kind == 'Permute':
            order = list(range(1, d + 2))
            self.r.shuffle(order)
            return L.Permute(order)(x)
        if kind == 'Flatten':
            return L.Flatten(**self.format())(x)
        if kind == 'Repeat':
            return L.RepeatVector(self.of(1, 2, 3))(self.vector())
        if kind == 'Crop':
            amount = self.of(0, 1, (1, 0)) if d == 1 else self.of(1, tuple((self.of(0, 1), self.of(0, 1)) for _ in range(d)), tuple(self.of(0, 1) for _ in range(d)))
            return getattr(L, 'Cropping%dD' % d)(amount, **(self.format() if d > 1 else {}))(x)
        if kind == 'Pad':
            amount = self.of(1, 2, (1, 0)) if d == 1 else self.of(1, tuple((self.of(0, 1), self.of(0, 2)) for _ in range(d)), tuple(self.of(0, 1) for _ in range(d)))
            return getattr(L, 'ZeroPadding%dD' % d)(amount, **self.format())(x)
        if d == 2:
            return L.UpSampling2D(self.per_axis(2, 1, 2, 3), interpolation=self.of('nearest', 'nearest', 'bilinear', 'bicubic', 'lanczos3', 'lanczos5'), **self.format())(x)
        return getattr(L, 'UpSampling%dD' % d)(self.of(1, 2, 3), **(self.format() if d == 3 else {}))(x)

    def activations(self):
        x = self.anything()
        rank = len(x.shape)
        return self.of(lambda: L.Activation(self.activation())(x), lambda: L.Activation(self.activation())(x), lambda: L.LeakyReLU(self.of(0.0, 0.1, 1.5))(x), lambda: L.ELU(self.of(0.5, 2.0))(x),
                       lambda: L.ReLU(max_value=self.of(None, 0.5, 6.0), negative_slope=self.of(0.0, 0.1), threshold=self.of(0.0, 0.2))(x), lambda: L.Softmax(axis=self.of(-1, 1, [1, -1] if rank > 2 else -1))(x),
                       lambda: L.PReLU(shared_axes=self.of(None, [1], list(range(1, rank - 1)) or None), **self.maybe(0.3, alpha_regularizer='l2', alpha_constraint='non_neg'))(x),
                       lambda: L.ActivityRegularization(l1=self.of(0.0, 0.1), l2=self.of(0.0, 0.2))(x), lambda: L.Identity()(x), lambda: L.Dropout(0.0)(x), lambda: L.SpatialDropout1D(0.0)(self.steps()),
                       lambda: self.softmax())()

    def softmax(self):
        x = self.input(3, 4)
        return L.Softmax(self.of(-1, 1))(x, mask=self.input(3, 4, dtype='bool'))

    def preprocessing(self):
        kind = self.of('Rescaling', 'Normalization', 'Discretization', 'CategoryEncoding', 'Hashing', 'HashedCrossing', 'IntegerLookup', 'Resizing', 'CenterCrop', 'Mel', 'STFT')
        if kind == 'Rescaling':
            x = self.anything()
            return L.Rescaling(self.of(2.0, 1 / 255, [0.5] * (x.shape[-1] or 1)), offset=self.of(0.0, -1.0, [1.0] * (x.shape[-1] or 1)))(x)
        if kind == 'Normalization':
            x = self.of(self.vector, lambda: self.space(1, 3), lambda: self.space(2, 2))()
            n = x.shape[-1]
            return L.Normalization(axis=-1, mean=[0.5 * k for k in range(n)], variance=[1.0 + k for k in range(n)], invert=self.of(False, False, True))(x) if self.r.random() < 0.7 else L.Normalization(axis=None, mean=0.5, variance=2.0)(x)
        if kind == 'Discretization':
            mode = self.of('int', 'int', 'one_hot', 'multi_hot', 'count')
            return L.Discretization(bin_boundaries=self.of([0.0], [-1.0, 0.0, 0.5], [0.1, 0.2, 0.3, 1.0]), output_mode=mode)(self.input(self.of(1, 3)) if mode != 'int' else self.vector())
        if kind == 'CategoryEncoding':
            mode = self.of('one_hot', 'multi_hot', 'count')
            x = self.input(self.of(1, 3) if mode != 'one_hot' else self.of(1, 1, 2), dtype='uint8')
            if mode == 'count' and self.r.random() < 0.4:
                return L.CategoryEncoding(5, mode)(x, count_weights=self.input(x.shape[1]))
            return L.CategoryEncoding(self.of(5, 7), mode)(x)
        if kind == 'Hashing':
            return L.Hashing(self.of(3, 7), **self.maybe(0.4, mask_value=0, salt=self.of(7, [3, 9]), output_mode=self.of('int', 'one_hot', 'multi_hot', 'count')))(self.input(self.of(1, 3), dtype='int32'))
        if kind == 'HashedCrossing':
            return L.HashedCrossing(self.of(5, 9), output_mode=self.of('int', 'one_hot'))((self.input(1, dtype='int32'), self.input(1, dtype='int32')))
        if kind == 'IntegerLookup':
            mode = self.of('int', 'one_hot', 'multi_hot', 'count')
            return L.IntegerLookup(vocabulary=[1, 3, 4], output_mode=mode, num_oov_indices=self.of(1, 2), **self.maybe(0.3, mask_token=0, invert=False))(self.input(self.of(1, 3), dtype='int32'))
        if kind == 'Resizing':
            return L.Resizing(self.of(2, 5, 7), self.of(3, 8), interpolation=self.of('bilinear', 'nearest', 'bicubic', 'lanczos3', 'lanczos5'), **self.of({}, {}, {'crop_to_aspect_ratio': True}, {'pad_to_aspect_ratio': True, 'fill_value': 0.5}),
                              **self.maybe(0.3, antialias=True), **self.format())(self.input(*self.of((4, 6), (6, 3), (5, 5)), self.of(1, 3)))
        if kind == 'CenterCrop':
            return L.CenterCrop(self.of(2, 3, 6), self.of(2, 4), **self.format())(self.input(*self.of((4, 6), (5, 5)), 2))
        if kind == 'Mel':
            return L.MelSpectrogram(fft_length=16, sequence_stride=self.of(4, 8), sequence_length=self.of(16, 12), num_mel_bins=4, sampling_rate=100, min_freq=1, power_to_db=self.of(True, False), **self.maybe(0.3, mag_exp=1.0, window='hamming'))(self.input(40))
        return L.STFTSpectrogram(mode=self.of('log', 'magnitude', 'psd', 'real', 'imag', 'angle', 'stft'), frame_length=8, frame_step=self.of(4, 3), fft_length=self.of(8, 16), window=self.of('hann', 'hamming', None),
                                 periodic=self.of(True, False), scaling=self.of('density', 'spectrum', None), padding=self.of('valid', 'same'), expand_dims=self.of(True, False))(self.input(24, self.of(1, 2)))

    def policy(self):
        """The same layers computing in types of 16 bits."""
        old = keras.config.dtype_policy()
        keras.config.set_dtype_policy(self.of(*POLICIES))
        try:
            return self.of(self.dense, self.conv, self.pool, self.normalization, self.recurrent, self.attention, self.embedding, self.merge, self.shape, self.activations, self.cells)()
        finally:
            keras.config.set_dtype_policy(old)

    def end(self, y):
        """What reads the result and its mask."""
        if len(y.shape) == 3 and self.r.random() < 0.6 and keras.backend.is_float_dtype(y.dtype):
            return self.of(lambda: L.GlobalAveragePooling1D()(y), lambda: L.LSTM(2)(y), lambda: L.GRU(2, return_sequences=True)(y), lambda: L.Dense(2)(y))()
        if self.r.random() < 0.4 and y.shape[-1] and keras.backend.is_float_dtype(y.dtype):
            return L.Dense(2)(y)
        return y


KINDS = '''dense einsum conv conv conv pool normalization normalization recurrent recurrent bidirectional cells distributed conv_lstm attention attention embedding merge merge shape activations
preprocessing policy policy'''.split()


def case(r, number, folder, refused):
    while True:
        made = Layers(r)
        kind = r.choice(KINDS)
        try:
            y = getattr(made, kind)()
            if y is None:
                continue
            outputs = [made.end(t) for t in (y if isinstance(y, list) else [y])]
            if len(outputs) > 1 and r.random() < 0.3:
                outputs = outputs[:r.randint(1, len(outputs))]
            m = keras.Model(made.inputs, outputs if len(outputs) > 1 else outputs[0])
        except Exception as e:
            refused.append(kind + ': ' + type(e).__name__ + ': ' + ' '.join(str(e).split())[:150])
            continue
        break
    if r.random() < 0.1:
        frozen = r.choice(m.layers)
        # Keras forgets the freeze of these when it reads a file: docs/api.md, frozen layers.
        frozen.trainable = frozen.__class__.__name__.startswith(('ConvLSTM', 'MultiHeadAttention', 'GroupedQueryAttention'))
    out = recording.Case(r, m, folder, number).record()
    if isinstance(out, dict):
        out['kind'] = kind
    return out


if __name__ == '__main__':
    recording.run(case)
