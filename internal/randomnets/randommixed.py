"""Draws networks whose layers have different dtype policies, and writes down what Keras makes of them.

    python internal/randomnets/randommixed.py --count 100 --seed 0 --out folder
    python internal/randomnets/randommixed.py --check folder

A network is drawn in float32, and then policies are put into its configuration, names, objects and DTypePolicyMaps: of layers, layers inside of layers,
models and inputs; some layers name none and have the global one. Both programs read the document, or refuse it. What follows is a list of stages, each
from given weights to expected ones: predictions, a step of training, quantize, LoRA, and a file, from which Keras goes on. For each network there are an
entry of mixed.json and, where Keras can write it, N.keras. --check opens N.ours.keras, which another program wrote after the last stage.
"""
import copy
import json
import os
import random
import re
import sys

import recording  # before keras, for which it chooses a backend
os.environ.setdefault('JAX_ENABLE_X64', '1')
import keras
import numpy as np
from keras import layers
from keras.dtype_policies import DTypePolicyMap

from drawing import arguments
from recording import array, lists, plain, rounded, untyped

FLOATS = ['float32', 'mixed_bfloat16', 'mixed_float16', 'bfloat16', 'float16', 'float64']
ROUGH = {'float16': 1e-2, 'bfloat16': 6e-2, 'float32': 5e-4, 'float64': 5e-4}
MERGES = ['Add', 'Subtract', 'Multiply', 'Average', 'Maximum', 'Minimum', 'Concatenate']
QUANTIZABLE = ('Dense', 'EinsumDense', 'Embedding', 'ReversibleEmbedding')
# Of other layers Keras 3.15 knows no path, so that no key fits.
MAPPED = ('Dense', 'EinsumDense', 'Embedding', 'ReversibleEmbedding', 'BatchNormalization', 'LayerNormalization', 'GroupNormalization', 'MultiHeadAttention', 'GroupQueryAttention', 'Conv1D',
          'SeparableConv1D', 'LSTM', 'GRU', 'SimpleRNN', 'Add', 'Maximum', 'PReLU')
LACKS = 'is not supported by dot_general on CPU'  # of JAX, for gradients of attention in 16 bits
WRONG = ['float8', 'mixed_float32', 'int8_from_', 'int8_from_float16', 'int4_from_int8_from_float32', 'bfloat32', 'int9_from_float32', 'int4/0_from_float32', 'gptq/4_from_float32',
         'awq/3/8_from_float32', 'gptq/5/8_from_float32', 'int8_from_mixed_float16', 'int4/x_from_float32', 'string', 'float8_from_int8_from_float32', 'Float32', ' float32', 'mixed_int8']


def masked(lookup):
    """A lookup that keeps the mask of a quantized ReversibleEmbedding, as one of floats does: Keras 3.15 sets it in call, which does not run any more then."""
    def call(self, inputs, reverse=False):
        y = lookup(self, inputs, reverse)
        if not reverse and self.mask_zero:
            keras.src.backend.set_keras_mask(y, keras.ops.not_equal(inputs, 0))
        return y
    return call


for name in ('_int8_call', '_int4_call'):
    setattr(layers.ReversibleEmbedding, name, masked(getattr(layers.ReversibleEmbedding, name)))


class Network:
    """Layers with names of their own, in float32."""

    def __init__(self, r):
        self.r, self.count = r, 0
        self.each = False  # whether a Dense is in a TimeDistributed, where Keras 3.15 multiplies by integers as they are

    def name(self, prefix):
        self.count += 1
        return '%s%d' % (prefix, self.count)

    def of(self, *choices):
        return self.r.choice(choices)

    def width(self):
        return self.r.randint(2, 6)

    def activation(self):
        return self.of(None, None, 'tanh', 'sigmoid', 'relu', 'softmax', 'gelu')

    def dense(self):
        return layers.Dense(self.width(), activation=self.activation(), use_bias=self.r.random() < 0.8, name=self.name('dense'),
                            **({'kernel_regularizer': 'l2', 'activity_regularizer': keras.regularizers.L2(0.01)} if self.r.random() < 0.1 else {}))

    def each_dense(self):
        self.each = True
        return self.dense()

    def einsum(self, rank):
        u = self.width()
        equation, shape = self.of(*{2: [('ab,bc->ac', (u,))], 3: [('abc,cd->abd', (None, u)), ('abc,cde->abde', (None, u, 2))]}[rank])
        return layers.EinsumDense(equation, shape, activation=self.activation(), bias_axes=self.of(None, equation[-1]), name=self.name('einsum'))

    def normalization(self):
        kind = self.of('BatchNormalization', 'BatchNormalization', 'LayerNormalization', 'RMSNormalization', 'UnitNormalization', 'GroupNormalization')
        return getattr(layers, kind)(name=self.name('norm'), **({'groups': 1} if kind == 'GroupNormalization' else {}))

    def plain(self):
        return self.of(lambda n: layers.Activation(self.of('tanh', 'softmax', 'gelu', 'softplus', 'log_softmax', 'silu'), name=n), lambda n: layers.Rescaling(0.5, 0.1, name=n),
                       lambda n: layers.LeakyReLU(name=n), lambda n: layers.PReLU(name=n), lambda n: layers.Softmax(name=n), lambda n: layers.Identity(name=n),
                       lambda n: layers.ELU(name=n), lambda n: layers.ReLU(max_value=1.5, name=n), lambda n: layers.ActivityRegularization(l2=0.01, name=n),
                       lambda n: layers.Dropout(0.0, name=n))(self.name('plain'))

    def cell(self):
        kind = self.of('SimpleRNNCell', 'LSTMCell', 'GRUCell')
        return getattr(layers, kind)(self.width(), name=self.name('cell'), **({'reset_after': self.r.random() < 0.5} if kind == 'GRUCell' else {}))

    def recurrent(self, sequences):
        settings = dict(return_sequences=sequences, go_backwards=self.r.random() < 0.2)
        if self.r.random() < 0.35:
            cell = self.of(self.cell, lambda: layers.StackedRNNCells([self.cell() for _ in range(2)], name=self.name('stack')), self.cell)()
            return layers.RNN(cell, name=self.name('rnn'), **settings)
        return self.of(layers.SimpleRNN, layers.LSTM, layers.GRU)(self.width(), name=self.name('rnn'), **settings)

    def sequence_layer(self):
        """Of (examples, steps, features)."""
        return self.of(lambda: self.recurrent(self.r.random() < 0.6), lambda: self.recurrent(True), self.bidirectional,
                       lambda: layers.TimeDistributed(self.of(self.each_dense, self.normalization, self.plain)(), name=self.name('each')),
                       lambda: layers.Conv1D(self.width(), 2, padding=self.of('same', 'causal'), activation=self.activation(), name=self.name('conv')),
                       lambda: layers.SeparableConv1D(self.width(), 2, padding='same', name=self.name('conv')),
                       lambda: layers.GlobalAveragePooling1D(name=self.name('pool')), lambda: layers.MaxPooling1D(2, padding='same', name=self.name('pool')),
                       lambda: layers.AveragePooling1D(2, name=self.name('pool')), lambda: layers.Flatten(name=self.name('flat')), lambda: layers.UpSampling1D(2, name=self.name('up')))()

    def bidirectional(self):
        kind, sequences, u = self.of(layers.LSTM, layers.GRU, layers.SimpleRNN), self.r.random() < 0.5, self.width()
        back = kind(u, return_sequences=sequences, go_backwards=True, name=self.name('rnn')) if self.r.random() < 0.3 else None
        return layers.Bidirectional(kind(u, return_sequences=sequences, name=self.name('rnn')), backward_layer=back, merge_mode=self.of('concat', 'sum', 'ave', 'mul'), name=self.name('both'))

    def attention(self, x, other):
        kind = self.r.random()
        if kind < 0.5:
            return layers.MultiHeadAttention(2, self.of(2, 3), use_bias=self.r.random() < 0.7, name=self.name('heads'))(x, other, use_causal_mask=self.r.random() < 0.3)
        if kind < 0.7:
            return layers.GroupQueryAttention(2, 2, 1, name=self.name('group'))(x, other)
        if x.shape[-1] != other.shape[-1]:
            other = layers.Dense(x.shape[-1], name=self.name('dense'))(other)
        return self.of(layers.Attention, layers.AdditiveAttention)(use_scale=self.r.random() < 0.7, name=self.name('attention'))([x, other])

    def chain(self, rank):
        """A layer that fits anything of this rank."""
        choices = [self.dense, self.dense, self.dense, self.dense if rank > 3 else lambda: self.einsum(rank), self.normalization, self.plain]
        if rank == 3:
            choices += [self.sequence_layer] * 5
        return self.of(*choices)()

    def sequential(self, shape):
        m = keras.Sequential([keras.Input(shape)], name=self.name('seq'))
        for _ in range(self.r.randint(1, 3)):
            m.add(self.chain(len(m.outputs[0].shape) if m.layers else 1 + len(shape)))
        return m

    def inner(self, shape):
        start = keras.Input(shape, name=self.name('in'))
        x = self.graph([start], 1 + (self.r.random() < 0.5), 0)
        return keras.Model(start, x, name=self.name('model'))

    def graph(self, tensors, n, depth):
        used = []
        for _ in range(n):
            x, kind = self.r.choice(tensors[-2:]), self.r.random()
            alike = [t for t in tensors if tuple(t.shape) == tuple(x.shape)]
            same = [(l, t) for l, s in used for t in tensors if tuple(t.shape) == s]
            if kind < 0.2 and len(alike) > 1:
                merge = self.of(*MERGES)
                y = getattr(layers, merge)(name=self.name('merge'))(self.r.sample(alike, 2))
            elif kind < 0.3 and len(alike) > 1:
                a, b = self.r.sample(alike, 2)
                y = self.of(lambda: a + b, lambda: a * b, lambda: keras.ops.maximum(a, b), lambda: keras.ops.concatenate([a, b], -1), lambda: a - 0.5 * b)()
            elif kind < 0.36:
                y = self.of(lambda: x * 0.5 + 1.0, lambda: keras.ops.tanh(x), lambda: keras.ops.mean(x, axis=-1, keepdims=True), lambda: keras.ops.softmax(x), lambda: keras.ops.cast(x, self.of('float32', 'bfloat16', 'float16')),
                            lambda: keras.ops.maximum(x, 0.1))()
            elif kind < 0.5 and same:
                layer, t = self.r.choice(same)
                y = layer(t)
            elif kind < 0.62 and depth:
                layer = self.of(self.sequential, self.inner)(x.shape[1:])
                used.append((layer, tuple(x.shape)))
                y = layer(x)
            elif kind < 0.8 and len(x.shape) == 3:
                other = self.r.choice([t for t in tensors if len(t.shape) == 3])
                y = self.attention(x, other)
            else:
                layer = self.chain(len(x.shape))
                used.append((layer, tuple(x.shape)))
                y = layer(x)
            tensors.append(y)
        return tensors[-1]

    def model(self):
        r, kind = self.r, self.r.random()
        if kind < 0.3:
            m = self.sequential(self.of((4,), (3, 4)))
            if r.random() < 0.3:
                m.add(self.sequential(m.outputs[0].shape[1:]))
            return m
        if kind < 0.6:
            inputs = [keras.Input(self.of((4,), (3, 4)), name=self.name('in'))]
            if r.random() < 0.3:
                inputs.append(keras.Input(inputs[0].shape[1:], name=self.name('in')))
            y = self.graph(list(inputs), r.randint(2, 6), 1)
        elif kind < 0.75:
            inputs = [keras.Input((3, 4), name=self.name('in'))]
            y = self.graph(list(inputs), r.randint(1, 5), 1)
        else:
            inputs = [keras.Input((4,), dtype='int32', name=self.name('in'))]
            w = self.width()
            reversible = r.random() < 0.5
            if reversible:
                e = layers.ReversibleEmbedding(7, w, tie_weights=r.random() < 0.7, mask_zero=r.random() < 0.3, logit_soft_cap=self.of(None, 5.0), reverse_dtype=self.of(None, None, 'float32', 'float16', 'bfloat16'), name=self.name('embed'))
            else:
                e = layers.Embedding(7, w, mask_zero=r.random() < 0.3, name=self.name('embed'))
            y = self.graph([e(inputs[0])], r.randint(1, 4), 1)
            if reversible and len(y.shape) == 3:
                if y.shape[-1] != w:
                    y = layers.Dense(w, name=self.name('dense'))(y)
                y = e(y, reverse=True)
        if not isinstance(y, list) and r.random() < 0.15:
            y = [y, layers.Dense(2, name=self.name('dense'))(y)]
        return keras.Model(inputs, y, name=self.name('model'))


class Policies:
    """Policies for the layers of a document."""

    def __init__(self, r):
        self.r = r
        self.floats = r.sample(FLOATS, r.randint(1, 3))
        self.chance = r.choice([0.3, 0.6, 1.0])
        self.quantized = r.choice([0, 0, 0, 0.3, 0.8])
        self.maps = [self.map() for _ in range(r.choice([0, 0, 0, 1, 2]))]
        self.wrong = r.random() < 0.08

    def float(self):
        return self.r.choice(self.floats)

    def quantization(self, source):
        mode = self.r.choice(['int8', 'int8', 'int4', 'int4/-1', 'int4/2', 'int4/128', 'int4/3', 'float8', 'gptq/4/-1', 'gptq/4/2', 'gptq/8/128', 'gptq/2/-1', 'awq/4/-1', 'awq/4/2'])
        if mode == 'int8' and 'float16' in source and 'bfloat16' not in source and self.r.random() < 0.8:
            mode = 'int4'
        return mode + '_from_' + source

    def name(self, cls=None):
        if self.wrong and self.r.random() < 0.3:
            self.wrong = False
            return self.r.choice(WRONG)
        if cls in QUANTIZABLE and self.r.random() < self.quantized or cls is None and self.r.random() < self.quantized / 4:
            return self.quantization(self.float())
        return self.float()

    def map(self):
        """Keys are paths and expressions of them."""
        keys = ['dense[13579]', 'dense[02468]', '(.*/)?norm.*', 'heads[0-9]+/(query|key)', 'heads[0-9]+', 'embed[0-9]', '.*rnn[0-9]*.*', 'einsum[13579]', '(.*/)?einsum[02468]', 'merge.*',
                'model[0-9]+', '.*cell.*', 'conv[0-9]+(/.*)?', 'in1', 'dense', 'group[0-9]+/value']
        m = DTypePolicyMap(self.r.choice(FLOATS + ['float32'] * 4 + ([None] if self.r.random() < 0.5 else [])))
        for key in self.r.sample(keys, self.r.randint(1, 4)):
            m[key] = self.quantization(self.float()) if self.r.random() < 0.15 and re.search('dense|einsum|embed|query', key) else self.float()
        return keras.dtype_policies.serialize(m)

    def entry(self, cls):
        if self.maps and cls in MAPPED and self.r.random() < 0.5:
            return copy.deepcopy(self.r.choice(self.maps))
        name = self.name(cls)
        try:
            policy = keras.dtype_policies.get(name)
        except Exception:
            return name
        return name if self.r.random() < 0.3 else keras.dtype_policies.serialize(policy)

    def put(self, o, missing):
        """Policies in all layers and models of a document."""
        if isinstance(o, list):
            for e in o:
                self.put(e, missing)
        if not isinstance(o, dict):
            return
        c = o.get('config')
        if isinstance(c, dict) and 'class_name' in o:
            cls = o['class_name']
            if cls == 'InputLayer':
                if c['dtype'].startswith('float') and self.r.random() < 0.2:
                    c['dtype'] = self.r.choice(['float16', 'bfloat16', 'float64', 'float32'])
                return
            if cls.endswith(('Policy', 'PolicyMap')) or cls == '__keras_tensor__':
                return
            if 'dtype' in c and not cls == 'Cast':
                if self.r.random() < missing:
                    del c['dtype']
                elif self.r.random() < self.chance:
                    c['dtype'] = self.entry(cls)
        for v in o.values():
            self.put(v, missing)


def network(r):
    """A document, and the global policy under which it is read."""
    keras.config.set_dtype_policy('float32')
    keras.backend.clear_session()
    n = Network(r)
    m = n.model()
    document = json.loads(m.to_json())
    given = Policies(r)
    if n.each:
        given.quantized, given.maps = 0, []
    globally = r.choice([None, None, None] + FLOATS + ['mixed_float16'])
    given.put(document['config'], 0.4 if globally else 0)
    return document, globally, not n.each


def dtypes(o):
    """The policies in a document, in the order of the names of layers, and those of layers inside of layers."""
    found = []

    def look(o, path):
        if isinstance(o, list):
            for i, e in enumerate(o):
                look(e, path + '/%d' % i)
        if isinstance(o, dict):
            c = o.get('config')
            if isinstance(c, dict) and 'class_name' in o and 'dtype' in c and o['class_name'] not in ('__keras_tensor__', 'Sequential'):
                found.append([path, without_ids(c['dtype'])])
            for k in sorted(o):
                look(o[k], path + '/' + k)
    look(o, '')
    return found


def without_ids(v):
    if isinstance(v, dict):
        return {k: without_ids(w) for k, w in v.items() if k != 'shared_object_id'}
    return v


def outputs(m):
    """The types of the results of layers, by their names; of a layer that is called several times, of the first call."""
    found = {}
    for l in m._flatten_layers(include_self=False):
        if l._inbound_nodes and not isinstance(l, (layers.InputLayer, layers.TimeDistributed, layers.ReversibleEmbedding, keras.Model)) and not type(l).__module__.startswith('keras.src.ops'):
            ys = l._inbound_nodes[0].output_tensors
            found[l.name] = [str(y.dtype) for y in ys]
    return found


def written(w):
    return plain(w.value if hasattr(w, 'value') else w, keras.backend.standardize_dtype(w.dtype))


class Mixed:
    def __init__(self, r, m, x):
        self.r, self.m, self.x, self.stages = r, m, x, []

    def given(self):
        x = [keras.ops.convert_to_tensor(a, i.dtype) for a, i in zip(self.x, self.m.inputs)]
        return x if len(x) > 1 else x[0]

    def predict(self):
        return [plain(a) for a in lists(self.m(self.given(), training=False))]

    def weights(self):
        return [written(w) for w in self.m.weights]

    def back(self, start):
        for w, v in zip(self.m.weights, start):
            w.assign(v)

    def stage(self, kind, act=None, **settings):
        """What comes of an action, as far as rounding leaves it alone; whether one can go on."""
        s = {'kind': kind, 'start': self.weights(), **settings}
        start = [array(w) for w in self.m.weights]
        self.stages.append(s)
        try:
            s.update(act() if act else {})
        except Exception as e:
            if LACKS in str(e):
                self.stages.pop()
                return False
            s['error'] = '%s: %s' % (type(e).__name__, ' '.join(str(e).split())[:300])
            return False
        s['weights'] = self.weights()
        s['paths'] = [w.path for w in self.m.weights]
        s['y'] = self.predict()
        if any(v is None for a in s['y'] + s['weights'] for v in a['data']) or sum(len(a['data']) for a in s['weights']) > 3000:
            self.stages.pop()
            return False
        end = [array(w) for w in self.m.weights]
        s['off'] = self.off(s, kind, act, start)
        self.back(end)
        return True

    def off(self, s, kind, act, start):
        """How far results are from each other that are rounded in other places: of each output, and of each weight's change."""
        off = {'y': [0.0] * len(s['y']), 'weights': [0.0] * len(s['weights']), 'loss': 0.0}
        for seed in range(3):
            with rounded(seed):
                for i, y in enumerate(self.predict()):
                    off['y'][i] = max(off['y'][i], distance(y, s['y'][i]))
            if kind == 'step':
                self.back(start)
                with rounded(seed):
                    again = act()
                off['loss'] = max(off['loss'], abs(again['loss'] - s['loss']))
                for i, w in enumerate(self.weights()):
                    off['weights'][i] = max(off['weights'][i], distance(w, s['weights'][i]))
                self.back([untyped(w) for w in s['weights']])
        return off

    def step(self):
        rate, momentum, adam = self.r.choice([0.05, 0.2]), self.r.choice([0.0, 0.9]), self.r.random() < 0.3
        optimizer = {'adam': adam, 'rate': rate, 'momentum': momentum}
        adam &= not any(keras.backend.standardize_dtype(w.dtype) in ('float16', 'bfloat16') for w in self.m.weights)  # in which Keras's beta_2 is 1, so that nothing learns
        optimizer['adam'] = adam
        y = self.predict()
        targets = [recording.drawn(self.r, a['shape'], 'float32') for a in y]

        def act():
            self.compile(optimizer)
            scaled = type(self.m.optimizer).__name__ == 'LossScaleOptimizer'
            loss = self.m.train_on_batch(self.given(), targets if len(targets) > 1 else targets[0])
            return {'loss': float(lists(loss)[0]), 'scaled': scaled, 'slots': [written(v) for v in self.m.optimizer.variables]}
        return self.stage('step', act, optimizer=optimizer, targets=[plain(t) for t in targets])

    def compile(self, o):
        made = keras.optimizers.Adam(o['rate'] / 10, epsilon=0.01) if o['adam'] else keras.optimizers.SGD(o['rate'], momentum=o['momentum'])
        self.m.compile(made, 'mse', run_eagerly=True)

    def quantize(self):
        mode, odd = self.r.choice(['int8', 'int8', 'int4', 'float8']), self.r.random() < 0.3
        return self.stage('quantize', lambda: self.m.quantize(mode, filters='[13579]$' if odd else None) or {}, mode=mode, odd=odd)

    def lora(self):
        able = [l.name for l in self.m._flatten_layers(include_self=False) if hasattr(l, 'enable_lora') and not getattr(l, 'lora_enabled', False) and '/' not in l.name and re.search('[0-9]$', l.name)]
        if not able:
            return True
        name, rank, alpha = self.r.choice(able), self.r.randint(1, 2), self.r.choice([None, 3])

        def act():
            l = next(l for l in self.m._flatten_layers() if l.name == name)
            l.enable_lora(rank, lora_alpha=alpha) if alpha else l.enable_lora(rank)
            for w in l.weights:
                if 'lora' in w.path:
                    w.assign(numbers(self.r, w.shape) * 0.3)
            return {}
        return self.stage('lora', act, layer=name, rank=rank, alpha=alpha or 0)

    def file(self, path):
        def act():
            self.m.save(path)
            self.m = keras.saving.load_model(path)
            return {'file': os.path.basename(path)}
        return self.stage('file', act)


def distance(a, b):
    return max([0.0] + [abs(v - w) if None not in (v, w) else 0 if v == w else 1e9 for v, w in zip(a['data'], b['data'])])


def numbers(r, shape):
    return np.random.default_rng(r.randrange(1 << 30)).standard_normal(shape)


def start(r, m):
    """Weights that no initializer makes."""
    for w in m.weights:
        d = keras.backend.standardize_dtype(w.dtype)
        name = w.path.split('/')[-1]
        if d in ('int8', 'uint8'):
            low, high = (0, 256) if d == 'uint8' else (-128, 128) if 'zero' not in name else (-8, 8)
            w.assign(np.random.default_rng(r.randrange(1 << 30)).integers(low, high, w.shape).astype(d))
        elif name in ('kernel_scale', 'embeddings_scale', 'reverse_embeddings_scale'):
            v = np.random.default_rng(r.randrange(1 << 30)).uniform(40, 90, w.shape)
            w.assign(v if len(w.shape) < 2 else 1 / v)
        elif 'float' in d and not re.search('scale$|amax|moving|g_idx', name):
            w.assign(array(w).astype('float64') + numbers(r, w.shape) * 0.2)


def case(r, number, folder):
    document, globally, quantizable = network(r)
    out = {'number': number, 'document': document, 'global': globally or ''}
    keras.backend.clear_session()
    keras.config.set_dtype_policy(globally or 'float32')
    try:
        m = keras.models.model_from_json(json.dumps(document))
    except Exception as e:
        out['error'] = '%s: %s' % (type(e).__name__, ' '.join(str(e).split())[-300:])
        return None if 'not implemented for' in out['error'] or 'Unsupported dtype' in out['error'] else out  # of a backend: orthogonal matrices of 16 bits
    out['dtypes'], out['outputs'] = dtypes(json.loads(m.to_json())), outputs(m)
    start(r, m)
    x = [recording.drawn(r, [3] + list(i.shape[1:]), i.dtype) if 'float' in i.dtype else np.random.default_rng(r.randrange(1 << 30)).integers(0, 7, [3] + list(i.shape[1:])).astype('int32') for i in m.inputs]
    out['x'] = [plain(a, i.dtype) for a, i in zip(x, m.inputs)]
    c = Mixed(r, m, x)
    out['stages'] = c.stages
    out['narrow'] = narrow(m)
    if not c.stage('predict'):
        return out if 'error' in (c.stages or [{}])[-1] else None
    more = [c.step, c.quantize, c.lora, c.step, lambda: c.file('%s/%d.keras' % (folder, number)), c.step, c.lora, c.step]
    for i, act in enumerate(more):
        if act in (c.quantize, c.lora) and r.random() < 0.5 or act == c.quantize and not quantizable:
            continue
        if act == c.step and (not c.m.trainable_weights or backwards(c.m)):
            continue
        if not act():
            break
    out['narrow'] = max(out['narrow'], narrow(c.m))
    return out


def backwards(m):
    """Whether there are quantized scores, whose gradient Keras leaves out."""
    return any(isinstance(l, layers.ReversibleEmbedding) and l.quantization_mode for l in m._flatten_layers())


def narrow(m):
    rough = 5e-4
    for l in m._flatten_layers():
        rough = max([rough] + [ROUGH.get(d, 0) for d in (l.compute_dtype, l.variable_dtype)])
        rough = max(rough, {'int8': 0.03, 'float8': 0.2}.get(l.quantization_mode, 0))
        for n in getattr(l, '_inbound_nodes', [])[:1]:
            rough = max([rough] + [ROUGH.get(str(y.dtype), 0) for y in n.output_tensors])
    return rough


def main():
    a = arguments()
    a.add_argument('--check')
    a.add_argument('--debug', action='store_true')
    a = a.parse_args()
    if a.check:
        return check(a.check)
    os.makedirs(a.out, exist_ok=True)
    rows, failed, errors = [], {}, {}
    for i in range(a.count):
        r = random.Random(a.seed + i)
        keras.utils.set_random_seed(a.seed + i)
        try:
            row = case(r, i, a.out)
        except Exception as e:
            failed[type(e).__name__ + ': ' + ' '.join(str(e).split())[:150]] = a.seed + i
            if a.debug:
                raise
            continue
        if row:
            row['seed'] = a.seed + i
            rows.append(row)
            for s in [row] + row.get('stages', []):
                if 'error' in s:
                    errors.setdefault((s.get('kind', 'document'), s['error'][:110]), []).append(row['seed'])
    with open(a.out + '/mixed.json', 'w') as f:
        json.dump({'keras': keras.__version__, 'backend': keras.backend.backend(), 'cases': rows}, f)
    print(len(rows), 'networks, refused', sum('error' in row for row in rows), 'no network', failed, file=sys.stderr)
    for k, v in errors.items():
        print(k, len(v), v[:3], file=sys.stderr)


def check(folder):
    with open(folder + '/mixed.json') as f:
        rows = json.load(f)['cases']
    opened = 0
    for row in rows:
        path = '%s/%d.ours.keras' % (folder, row['number'])
        if not os.path.exists(path):
            continue
        keras.config.set_dtype_policy(row['global'] or 'float32')
        try:
            m = keras.saving.load_model(path)
            opened += 1
            with open(path + '.json') as f:
                want = json.load(f)
            c = Mixed(random.Random(0), m, [untyped(x) for x in row['x']])
            for i, (y, w, off) in enumerate(zip(c.predict(), want['y'], want['off'])):
                far, largest = distance(y, w), max([1] + [abs(v) for v in w['data']])
                if not far <= row['narrow'] * largest + 4 * off:
                    print('model of seed %d: output %d of type %s, here %s, is off by %g (largest %g)' % (row['seed'], i, y['dtype'], w['dtype'], far, largest))
            got = dtypes(json.loads(m.to_json()))
            if got != want['dtypes']:
                print('model of seed %d: policies %s, Keras had %s' % (row['seed'], [g for g in got if g not in want['dtypes']], [w for w in want['dtypes'] if w not in got]))
            if getattr(m, 'optimizer', None) is not None and 'targets' in want:
                loss = float(lists(m.train_on_batch(c.given(), [untyped(t) for t in want['targets']] if len(want['targets']) > 1 else untyped(want['targets'][0])))[0])
                if not abs(loss - want['loss']) <= row['narrow'] * max(1, abs(loss)) * 2 + 4 * want['loss_off']:
                    print('model of seed %d: the next step has the loss %g, not %g' % (row['seed'], loss, want['loss']))
        except Exception as e:
            if LACKS in str(e):
                continue
            print('model of seed %d: %s: %s' % (row['seed'], type(e).__name__, ' '.join(str(e).split())[:300]))
    print('opened', opened)


if __name__ == '__main__':
    main()
