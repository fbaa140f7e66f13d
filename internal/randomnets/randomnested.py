"""Draws layers inside of layers and models, several deep, trains each with Keras, and writes down what comes of it.

    python internal/randomnets/randomnested.py --count 100 --seed 0 --out folder
    python internal/randomnets/randomnested.py --check folder

Wrappers of wrappers, models in models and in wrappers, layers used twice inside of them, classes of one's own, initializers, regularizers and constraints, types for single layers,
parts that are frozen inside or outside, names used twice in different models. recording.py says what is in the files.
"""
import os

os.environ.setdefault('KERAS_BACKEND', 'tensorflow')
os.environ.setdefault('TF_CPP_MIN_LOG_LEVEL', '3')
os.environ.setdefault('CUDA_VISIBLE_DEVICES', '')
import keras
import numpy as np
import recording

L = keras.layers
own = keras.saving.register_keras_serializable('Drawn')


@own
class Scaled(L.Layer):
    """What a layer inside makes, times a factor and a weight."""

    def __init__(self, layer, factor=2.0, **more):
        super().__init__(**more)
        self.layer, self.factor = layer, factor

    def build(self, shape):
        if not self.layer.built:
            self.layer.build(shape)
        self.scale = self.add_weight(shape=(), initializer='ones', name='scale')
        self.built = True

    def call(self, x, training=False):
        return self.layer(x, training=training) * keras.ops.cast(self.factor * self.scale, self.compute_dtype) if self.layer._call_has_training_arg else self.layer(x) * keras.ops.cast(self.factor * self.scale, self.compute_dtype)

    def compute_output_shape(self, shape):
        return self.layer.compute_output_shape(shape)

    def get_config(self):
        return {**super().get_config(), 'layer': keras.saving.serialize_keras_object(self.layer), 'factor': self.factor}

    @classmethod
    def from_config(cls, config):
        return cls(**{**config, 'layer': keras.saving.deserialize_keras_object(config['layer'])})


@own
class Ring(keras.regularizers.Regularizer):
    def __init__(self, factor=0.01):
        self.factor = factor

    def __call__(self, w):
        return self.factor * keras.ops.sum(keras.ops.square(keras.ops.square(w) - 1.0))

    def get_config(self):
        return {'factor': self.factor}


@own
class Tame(keras.constraints.Constraint):
    def __call__(self, w):
        return keras.ops.tanh(w)


@own
class Stairs(keras.initializers.Initializer):
    def __init__(self, step=0.1):
        self.step = step

    def __call__(self, shape, dtype=None):
        return keras.ops.convert_to_tensor(np.arange(np.prod(shape)).reshape(shape) % 5 * self.step, dtype)

    def get_config(self):
        return {'step': self.step}


class Nested:
    def __init__(self, r):
        self.r, self.again = r, []

    def of(self, *choices):
        return self.r.choice(choices)

    def maybe(self, chance, **settings):
        return {k: v for k, v in settings.items() if self.r.random() < chance}

    def regularizer(self):
        return self.of('l2', keras.regularizers.L1L2(0.01, 0.02), {'class_name': 'L2', 'config': {'l2': 0.05}}, Ring(0.02), keras.regularizers.OrthogonalRegularizer(0.1))

    def constraint(self):
        return self.of('unit_norm', keras.constraints.MaxNorm(0.7, axis=0), keras.constraints.MinMaxNorm(0.1, 0.8, 0.5), 'non_neg', Tame())

    def start(self):
        return self.of('he_normal', keras.initializers.Orthogonal(0.5, seed=1), {'class_name': 'RandomUniform', 'config': {'minval': -0.3, 'maxval': 0.3}}, Stairs(0.2), keras.initializers.VarianceScaling(2.0, 'fan_avg', 'uniform'))

    def common(self, kernel=True):
        """Settings that any layer with weights may have; names are used again in other models."""
        s = self.maybe(0.1, dtype=self.of('mixed_bfloat16', 'float64', 'float32', 'mixed_float16'))
        s.update(self.maybe(0.1, trainable=False))
        if self.r.random() < 0.3:
            s['name'] = self.of('same', 'other', 'inner')
        if kernel:
            s.update(self.maybe(0.25, kernel_regularizer=self.regularizer(), kernel_constraint=self.constraint(), kernel_initializer=self.start(), bias_regularizer='l1'))
        return s

    def cell(self):
        units = self.of(2, 3)
        return self.of(L.LSTMCell, L.GRUCell, L.SimpleRNNCell)(units, **self.common(), **self.maybe(0.2, recurrent_regularizer='l2', use_bias=False))

    def cells(self, depth):
        if depth > 0 and self.r.random() < 0.7:
            return L.StackedRNNCells([self.cells(depth - 1) if self.r.random() < 0.2 else self.cell() for _ in range(self.of(1, 2, 3))])
        return self.cell()

    def recurrent(self, sequences, depth):
        """A layer over a sequence."""
        common = {'return_sequences': sequences}
        r = self.r.random()
        if r < 0.5:
            one = L.RNN(self.cells(2), **common, **self.maybe(0.2, go_backwards=True))
        else:
            one = self.of(L.LSTM, L.GRU, L.SimpleRNN)(self.of(2, 3), **common, **self.common())
        if self.r.random() < 0.4:
            one = L.Bidirectional(one, merge_mode=self.of('concat', 'sum', 'mul', 'ave'), **self.maybe(0.2, trainable=False))
        return one

    def plain(self):
        """A layer that keeps the rank."""
        return self.of(lambda: L.Dense(self.of(2, 3, 4), activation=self.of(None, 'tanh', 'gelu'), **self.common()), lambda: L.LayerNormalization(**self.common(False)), lambda: L.BatchNormalization(**self.common(False)),
                       lambda: L.Activation(self.of('relu', 'softplus')), lambda: L.EinsumDense('...x,xy->...y', (None, 3), **self.common()), lambda: L.UnitNormalization(), lambda: L.Dropout(1e-7),
                       lambda: L.SpectralNormalization(L.Dense(3), **self.maybe(0.3, power_iterations=2)))()

    def layer(self, shape, depth):
        """A layer or model for an input of a shape without its batch."""
        kinds = [self.plain]
        if depth > 0:
            kinds += [lambda: self.model(shape, depth - 1)] * 2 + [lambda: Scaled(self.layer(shape, depth - 1), self.of(0.5, 2.0), **self.maybe(0.2, trainable=False))]
            if len(shape) >= 2:
                kinds += [lambda: L.TimeDistributed(self.layer(shape[1:], depth - 1), **self.maybe(0.2, trainable=False))] * 3
        if len(shape) == 2:
            kinds += [lambda: self.recurrent(self.of(True, False), depth)] * 2 + [lambda: L.Conv1D(3, 2, padding='same', **self.common())]
        if len(shape) == 3:
            kinds += [lambda: L.Conv2D(3, 2, padding=self.of('same', 'valid'), **self.common()), lambda: L.ConvLSTM1D(2, 2, padding='same', return_sequences=self.of(True, False))]
        return self.r.choice(kinds)()

    def model(self, shape, depth):
        x = inputs = keras.Input(shape)
        if self.r.random() < 0.4:
            m = keras.Sequential([inputs] + [l for l in self.chain(shape, depth)], **self.maybe(0.3, name=self.of('same', 'block')))
        else:
            known = [(x, None)]
            for _ in range(self.of(1, 2, 3)):
                x, used = known[-1][0], [l for t, l in known[1:] if l is not None and t.shape == known[-1][0].shape and getattr(l, '_drawn_for', None) == tuple(known[-1][0].shape)]
                if used and self.r.random() < 0.5:
                    y, layer = used[0](x), None  # again
                else:
                    layer = self.layer(list(x.shape[1:]), depth)
                    y = layer(x)
                    layer._drawn_for = tuple(x.shape)
                if y.shape == x.shape and y.dtype == x.dtype and self.r.random() < 0.3:
                    y = L.Add()([x, y])
                known.append((y, layer))
            m = keras.Model(inputs, known[-1][0], **self.maybe(0.3, name=self.of('same', 'block')))
        if self.r.random() < 0.15:
            m.trainable = False
            for l in m._flatten_layers():
                if isinstance(l, L.ConvLSTM1D):
                    l.trainable = True  # Keras forgets the freeze when it reads a file: docs/api.md, frozen layers
        return m

    def chain(self, shape, depth):
        out, x = [], keras.Input(shape)
        for _ in range(self.of(1, 2)):
            layer = self.layer(list(x.shape[1:]), depth)
            x = layer(x)
            out.append(layer)
        return out


def case(r, number, folder, refused):
    while True:
        made = Nested(r)
        shape = r.choice([[4], [3, 4], [3, 4], [2, 3, 4], [2, 2, 3, 4]])
        try:
            m = made.model(shape, 3)
        except Exception as e:
            refused.append(type(e).__name__ + ': ' + ' '.join(str(e).split())[:150])
            continue
        if m.trainable_weights and m.count_params() < 3000:
            break
    out = recording.Case(r, m, folder, number).record()
    if isinstance(out, dict):  # statistics of a batch are those of a replica's part of it
        out['alone'] = any(isinstance(l, (L.BatchNormalization, L.TimeDistributed)) for l in m._flatten_layers())
    return out


if __name__ == '__main__':
    recording.run(case)
