"""Draws random networks with open axes and writes down what Keras makes of each.

    python internal/randomnets/randomnets.py --count 400 --seed 0 --out keras/testdata/random_networks.json.gz

A network is a list of inputs and of steps; a step is a layer (class and settings) with the numbers of the tensors that it takes: the inputs
first, then one for each step that works. Written down are the shape that Keras infers after each step, open axes as null, or the text with which it
refuses, whereupon the network goes on without that step; the number of parameters of each layer; and, for one choice of lengths for the open
axes, the shapes that the computation really has. "crash" marks texts that no check of Keras wrote.
"""
import argparse
import gzip
import json
import os
import random
import re

os.environ.setdefault('KERAS_BACKEND', 'jax')
os.environ.setdefault('JAX_PLATFORMS', 'cpu')
import jax
import keras
from keras import layers
from keras.src import backend


class Draw(random.Random):
    """Draws a layer and its settings for an input of a given shape."""

    def of(self, *choices):
        return self.choice(choices)

    def format(self):
        return {'data_format': 'channels_first'} if self.random() < 0.12 else {}

    def maybe(self, name, *choices):
        return {name: self.choice(choices)} if self.random() < 0.5 else {}

    def per_axis(self, d, *choices):
        """One number for all axes, or a list."""
        if self.random() < 0.7:
            return self.choice(choices)
        return [self.choice(choices) for _ in range(d)]

    def window(self, d):
        return self.per_axis(d, 1, 2, 2, 3, 3, 5, 64, 100)

    def conv(self, d, kinds):
        kind, n = self.choice(kinds), '%dD' % d
        c = {'kernel_size': self.per_axis(d, 1, 2, 3, 3, 5, 64), 'padding': self.of('valid', 'same'), **self.format()}
        if kind != 'Depthwise':
            c['filters'] = self.of(2, 4, 8)
        stride = self.of(1, 1, 2, 3, 100)
        c['strides'] = stride
        if kind == 'Transpose':
            c['strides'] = self.of(1, 2, 3)
            c['kernel_size'] = self.of(1, 2, 3, 4)
            if c['strides'] > 1:
                c.update(self.maybe('output_padding', None, 0, 1))
            return 'Conv' + n + 'Transpose', c
        if stride == 1:
            c['dilation_rate'] = self.of(1, 1, 2, 3)
        if kind in ('Depthwise', 'Separable'):
            c.update(self.maybe('depth_multiplier', 1, 2))
            c['kernel_size'] = self.of(1, 2, 3)
            return kind + 'Conv' + n, c
        if d == 1 and self.random() < 0.3:
            c['padding'] = 'causal'
        c.update(self.maybe('groups', 1, 2))
        c.update(self.maybe('use_bias', True, False))
        return 'Conv' + n, c

    def pooling(self, d):
        n = '%dD' % d
        k = self.of('Max', 'Average', 'Max', 'Average', 'Global', 'Adaptive')
        if k == 'Global':
            return 'Global' + self.of('Max', 'Average') + 'Pooling' + n, {'keepdims': self.of(True, False), **self.format()}
        if k == 'Adaptive':
            return 'Adaptive' + self.of('Max', 'Average') + 'Pooling' + n, {'output_size': self.of(1, 2, 3), **self.format()}
        return k + 'Pooling' + n, {'pool_size': self.window(d), 'padding': self.of('valid', 'same'), 'strides': self.of(None, None, 1, 2, 3), **self.format()}

    def spatial(self, d):
        n = '%dD' % d
        k = self.of('conv', 'conv', 'pool', 'pool', 'UpSampling', 'ZeroPadding', 'Cropping', 'SpatialDropout')
        if k == 'conv':
            kinds = ['', '', 'Transpose'] + (['Depthwise', 'Separable'] if d < 3 else [])
            return self.conv(d, kinds)
        if k == 'pool':
            return self.pooling(d)
        if k == 'SpatialDropout':
            return k + n, {'rate': 0.3}
        if k == 'UpSampling':
            c = {'size': self.of(2, 3) if d == 1 else self.per_axis(d, 1, 2, 3)}
            return k + n, c
        amount = self.of(1, 2, 5)
        if self.random() < 0.3:
            amount = [self.of(0, 1, 2), self.of(1, 3)] if d == 1 else [[self.of(0, 1), self.of(1, 2)] for _ in range(d)]
        return k + n, {k.replace('Zero', '').lower(): amount}

    def recurrent(self, **more):
        c = {'units': self.of(2, 3), 'return_sequences': self.of(True, False), **self.maybe('unroll', False), **more}
        return self.of('LSTM', 'GRU', 'SimpleRNN'), c

    def sequence(self):
        k = self.of('rnn', 'rnn', 'TimeDistributed', 'Bidirectional', 'MultiHeadAttention', 'GroupQueryAttention', 'Attention', 'RNN')
        if k == 'rnn':
            return self.recurrent()
        if k == 'RNN':
            cells = [[self.of('LSTMCell', 'GRUCell', 'SimpleRNNCell'), {'units': self.of(2, 3)}] for _ in range(self.of(1, 2))]
            return 'RNN', {'cell': cells[0] if len(cells) == 1 else ['StackedRNNCells', {'cells': cells}], 'return_sequences': self.of(True, False)}
        if k == 'TimeDistributed':
            return k, {'layer': self.of(['Dense', {'units': 3}], ['Dropout', {'rate': 0.5}], ['LayerNormalization', {}])}
        if k == 'Bidirectional':
            return k, {'layer': list(self.recurrent()), 'merge_mode': self.of('concat', 'sum', 'mul', 'ave')}
        if k == 'MultiHeadAttention':
            return k, {'num_heads': self.of(1, 2), 'key_dim': self.of(2, 4), **self.maybe('output_shape', 5), **self.maybe('use_bias', False)}
        if k == 'GroupQueryAttention':
            return k, {'head_dim': self.of(2, 4), 'num_query_heads': 4, 'num_key_value_heads': self.of(1, 2, 4)}
        return self.of(('Attention', self.maybe('use_scale', True)), ('AdditiveAttention', {}))

    def anything(self, rank):
        k = self.of('Dense', 'Dense', 'Flatten', 'Reshape', 'Reshape', 'Activation', 'LayerNormalization', 'BatchNormalization', 'Permute', 'RepeatVector',
                    'EinsumDense', 'GroupNormalization', 'UnitNormalization', 'RMSNormalization', 'PReLU', 'simple', 'SpectralNormalization')
        if k == 'Dense':
            return k, {'units': self.of(1, 3, 8), **self.maybe('use_bias', False)}
        if k == 'Reshape':
            return k, {'target_shape': self.of([-1], [-1, 4], [4, -1], [2, -1, 4], [8], [4, 2], [-1, 3], [1, 8], [2, 2, -1])}
        if k == 'Activation':
            return k, {'activation': self.of('relu', 'softmax', 'gelu', 'tanh')}
        if k == 'LayerNormalization':
            return k, self.maybe('axis', -1, 1, [1, -1] if rank > 2 else -1)  # Keras takes one axis twice
        if k == 'BatchNormalization':
            return k, {**self.maybe('axis', -1, 1), **self.maybe('scale', False)}
        if k == 'Permute':
            dims = list(range(1, rank))
            self.shuffle(dims)
            return k, {'dims': dims}
        if k == 'RepeatVector':
            return k, {'n': self.of(2, 5)}
        if k == 'EinsumDense':
            if rank == 2:
                return k, {'equation': 'ab,bc->ac', 'output_shape': self.of(3, [4]), 'bias_axes': 'c'}
            return k, {'equation': '...x,xy->...y', 'output_shape': self.of(5, [None, 5]), 'bias_axes': self.of(None, 'y')}
        if k == 'GroupNormalization':
            return k, {'groups': self.of(1, 2, 4, -1), **self.maybe('axis', -1, 1)}
        if k in ('UnitNormalization', 'RMSNormalization'):
            return k, self.maybe('axis', -1)
        if k == 'PReLU':
            return k, self.maybe('shared_axes', [1], list(range(1, rank - 1)) or [1])
        if k == 'SpectralNormalization':
            return k, {'layer': ['Dense', {'units': 4}]}
        if k == 'simple':
            return self.of(('ReLU', {}), ('LeakyReLU', {}), ('ELU', {}), ('Softmax', {}), ('Identity', {}), ('Dropout', {'rate': 0.5}), ('GaussianNoise', {'stddev': 0.1}),
                           ('GaussianDropout', {'rate': 0.2}), ('AlphaDropout', {'rate': 0.2}), ('Masking', {}), ('ActivityRegularization', {'l2': 0.1}),
                           ('Rescaling', {'scale': 2.0}), ('Discretization', {'bin_boundaries': [0.0, 1.0]}))
        return k, {}

    def image(self):
        # RandomCrop is not here: Keras infers the size of training, while predictions keep that of the image
        return self.of(('Resizing', {'height': self.of(4, 7), 'width': self.of(3, 8), **self.of({}, {'crop_to_aspect_ratio': True}, {'pad_to_aspect_ratio': True})}),
                       ('CenterCrop', {'height': self.of(2, 4), 'width': self.of(3, 4)}), ('RandomFlip', {}),
                       ('RandomRotation', {'factor': 0.1}), ('RandomZoom', {'height_factor': 0.1}), ('RandomContrast', {'factor': 0.1}),
                       ('RandomTranslation', {'height_factor': 0.1, 'width_factor': 0.1}))

    def layer(self, rank, integer):
        """Class and settings for an input of that rank."""
        if integer:
            return self.of(('Embedding', {'input_dim': 10, 'output_dim': self.of(4, 8), **self.maybe('mask_zero', True)}),
                           ('Embedding', {'input_dim': 10, 'output_dim': 3}),
                           ('CategoryEncoding', {'num_tokens': 10, 'output_mode': self.of('multi_hot', 'count', 'one_hot')}), ('Hashing', {'num_bins': 7}))
        d = rank - 2
        kinds = [lambda: self.anything(rank)]
        if 1 <= d <= 3:
            kinds += [lambda: self.spatial(d)] * 2
        if d == 1:
            kinds += [self.sequence]
        if d == 2:
            kinds += [self.image]
        if 2 <= d <= 3 and self.random() < 0.3:
            return 'ConvLSTM%dD' % (d - 1), {'filters': 2, 'kernel_size': self.of(1, 2, 3), 'padding': self.of('valid', 'same'), 'return_sequences': self.of(True, False)}
        if rank == 3 and self.random() < 0.05:
            return 'STFTSpectrogram', {'frame_length': 16, 'frame_step': self.of(4, 8), 'fft_length': 16, **self.maybe('padding', 'valid', 'same')}
        return self.choice(kinds)()

    def merge(self):
        return self.of(('Add', {}), ('Subtract', {}), ('Multiply', {}), ('Average', {}), ('Maximum', {}), ('Minimum', {}), ('Concatenate', {}),
                       ('Concatenate', {'axis': 1}), ('Concatenate', {'axis': -2}), ('Dot', {'axes': -1}), ('Dot', {'axes': self.of(1, 2, [1, 2], [2, 1])}))


TWICE = {'MultiHeadAttention', 'GroupQueryAttention'}
PAIR = {'Attention', 'AdditiveAttention'}
BORN_WITH_LAYER = {'layer', 'cell', 'cells'}


def make(name, settings):
    settings = dict(settings)
    for key in BORN_WITH_LAYER & settings.keys():
        v = settings[key]
        settings[key] = make(*v) if isinstance(v[0], str) else [make(*c) for c in v]
    if name in ('RandomFlip', 'RandomRotation', 'RandomZoom', 'RandomContrast', 'RandomTranslation'):
        settings['seed'] = 1
    return getattr(layers, name)(**settings)


def shape(t):
    return [None if d is None else int(d) for d in t.shape]


def call(layer, name, x):
    if name in TWICE:
        return layer(x[0], x[0])
    if name in PAIR:
        return layer([x[0], x[0]])
    return layer(x if len(x) > 1 else x[0])


def draw_inputs(r, rank):
    inputs = []
    for _ in range(r.choice([1, 1, 1, 2])):
        s = [r.choice([None, None, r.choice([1, 4, 6, 8, 12, 64, 96, 320, 7919])]) for _ in range(rank - 2)]
        if rank >= 4:
            s = [min(d, 64) if d else d for d in s]
        inputs.append([None] + s + [r.choice([8, 8, 4, None if r.random() < 0.2 else 8])])
    return inputs


def network(seed):
    r = Draw(seed)
    rank = r.choice([2, 3, 3, 3, 4, 4, 5])
    inputs, integer = draw_inputs(r, rank), False
    if r.random() < 0.12:
        inputs, integer = [[None, r.of(None, 12, 64)]], True
    tensors = [keras.Input(s[1:], dtype='int32' if integer else 'float32') for s in inputs]
    out = {'inputs': inputs, 'integer': integer, 'steps': []}
    made = []
    for k in range(r.randint(1, 6)):
        if len(tensors) > 1 + integer and r.random() < 0.3:
            take = r.sample(range(int(integer), len(tensors)), 2)
            alike = [i for i in range(int(integer), len(tensors)) if i != take[0] and shape(tensors[i]) == shape(tensors[take[0]])]
            if alike and r.random() < 0.6:
                take[1] = r.choice(alike)
            name, settings = r.merge()
        else:
            take = [r.choice([len(tensors) - 1, len(tensors) - 1, r.randrange(int(integer and k > 0), len(tensors))])]
            name, settings = r.layer(len(tensors[take[0]].shape), integer and k == 0)
        step = {'class': name, 'config': settings, 'take': take}
        out['steps'].append(step)
        try:
            layer = make(name, settings)
            y = call(layer, name, [tensors[i] for i in take])
        except Exception as e:
            refusal(step, e)
            continue
        step['shape'], step['params'] = shape(y), layer.count_params()
        tensors.append(y)
        made.append(layer)
    if made:
        run(r, out, tensors, made)
    return out


def run(r, out, tensors, made):
    """Works the steps out for lengths of the open axes."""
    batch, length = r.randint(1, 3), r.randint(1, 120)
    fill = [[batch] + [length if d is None else d for d in s[1:]] for s in out['inputs']]
    row = {'inputs': fill, 'shapes': []}
    out['run'] = row

    done = []
    steps = [s for s in out['steps'] if 'shape' in s]
    for k in range(len(made)):  # the shapes up to the step that fails
        try:
            last = backend.compute_output_spec(lambda *a: prefix(made[:k + 1], steps, a), *[keras.KerasTensor(s, dtype=t.dtype) for s, t in zip(fill, tensors)])
            done.append(shape(last))
        except Exception as e:
            refusal(row, e)
            break
    row['shapes'] = done


def refusal(into, e):
    into['error'] = ' '.join(re.sub('\x1b\\[[0-9]*m', '', str(e)).split())[:120]
    if 'NoneType' in str(e) or not isinstance(e, (ValueError, NotImplementedError, TypeError)):
        into['crash'] = True


def prefix(made, steps, arrays):
    arrays = list(arrays)
    for layer, step in zip(made, steps):
        arrays.append(call(layer, step['class'], [arrays[i] for i in step['take']]))
    return arrays[-1]


def main():
    p = argparse.ArgumentParser()
    p.add_argument('--count', type=int, default=400)
    p.add_argument('--seed', type=int, default=0, help='of the first network; the others follow')
    p.add_argument('--out', required=True)
    a = p.parse_args()
    rows = []
    for i in range(a.count):
        rows.append(network(a.seed + i))
        if i % 100 == 99:
            keras.backend.clear_session()
            jax.clear_caches()
    text = '{"keras":"%s","seed":%d,"networks":[\n' % (keras.__version__, a.seed) + ',\n'.join(json.dumps(r, separators=(',', ':')) for r in rows) + '\n]}\n'
    with gzip.GzipFile(a.out, 'wb', mtime=0) as f:
        f.write(text.encode())
    refused = sum('error' in s for r in rows for s in r['steps'])
    print(f'{len(rows)} networks with {refused} steps that Keras refuses, {sum("run" in r and "error" not in r["run"] for r in rows)} worked out')


if __name__ == '__main__':
    main()
