"""Draws several models over the same layers, and sequences of calls on them, and writes down what Keras has in all of them after each call.

    KERAS_BACKEND=tensorflow python internal/randomtraining/shared.py 100 0 internal/randomtraining/testdata/shared.json.gz

Beside a whole model there are models of its first layers, new layers on top of one of them, and models that call another one as a layer. Each is compiled for itself and has its own data. A call fits,
evaluates, trains on a batch, sets weights or the learning rate of one of them, compiles it anew, freezes a layer or reads weights from a file; after each, all models predict. What a model trains is
fixed by its first step after compile, as where Keras compiles steps. Small models compute in float64, wider ones, whose weights predictions keep in other forms, in float32 or 16 bits.
"""
import contextlib
import copy
import io
import json
import os
import warnings

os.environ.setdefault('KERAS_BACKEND', 'tensorflow')
os.environ.setdefault('TF_CPP_MIN_LOG_LEVEL', '3')
os.environ.setdefault('CUDA_VISIBLE_DEVICES', '')
import keras
import calls
import runs
from draw import Draw, error, numbers, record

L = keras.layers


class One(calls.Sequence):
    """One of the models, with what it trains. The layers of all are in one list."""

    def __init__(self, c, m, layers):
        self.c, self.m, self.layers, self.several, self.frozen = c, m, layers, len(m.outputs) > 1, None

    def data(self, k, lo=0, hi=None, weights=False):
        x, y, w = super().data(k, lo, hi, weights)
        return numbers(self.c['data'][k]['x'][0])[lo:hi], y, w

    @contextlib.contextmanager
    def training(self):
        """The layers are frozen as they were at the first step after compile."""
        now = [l.trainable for l in self.layers]
        if self.frozen is None:
            self.frozen = now
        for l, on in zip(self.layers, self.frozen):
            l.trainable = on
        yield
        for l, on in zip(self.layers, now):
            l.trainable = on

    def compile(self, config):
        self.m.compile(**keras.saving.deserialize_keras_object(config))
        self.m.run_eagerly, self.frozen = calls.EAGER, None

    def fit(self, **a):
        with self.training():
            return super().fit(**a)

    def train_on_batch(self, **a):
        with self.training():
            return super().train_on_batch(**a)

    def testing(self, call):
        return self.scores(call())

    def predictions(self):
        return [calls.digest(p) for p in keras.tree.flatten(self.m.predict(self.data(0)[0], verbose=0))]


def heads_of(d, m):
    """For each output what its numbers are."""
    kinds = {'softmax': 'class', 'sigmoid': 'bit'}
    found = []
    for t in m.outputs:
        act = getattr(getattr(t._keras_history.operation, 'activation', None), '__name__', None)
        kind = kinds.get(act, 'number') if t._keras_history.operation.name[:3] == 'out' else 'number'
        found.append((kind, t.shape[-1], act if kind != 'number' else None, t.shape[1:]))
    return found


def wide(d):
    """Layers whose weights predictions keep as kernels read them, or fold into each other."""
    i = keras.Input((6, 16), name='in0')
    x = L.Conv1D(32, d.of(1, 2, 3), padding=d.of('same', 'causal'), use_bias=d.random() < 0.7, activation=d.of(None, 'relu'), name='conv')(i)
    x = L.BatchNormalization(momentum=0.5, name='norm')(x) if d.random() < 0.5 else x
    x = d.of(lambda x: L.LSTM(24, name='rnn')(x), lambda x: L.GRU(24, name='rnn')(x), lambda x: L.Flatten(name='flat')(L.Dense(20, name='each')(x)), lambda x: L.GlobalAveragePooling1D(name='pool')(x))(x)
    x = L.Dense(d.of(40, 64), activation=d.of('tanh', 'relu', 'gelu'), name='deep')(x)
    outputs = [L.Dense(d.of(10, 33), name='out%d' % k)(x) for k in range(d.of(1, 1, 2))]
    return keras.Model(i, outputs if len(outputs) > 1 else outputs[0]), [d.array('grid', (6, 16))], outputs, None, None


def draw_models(d, policy):
    """The whole model as a document, and how the others are made of it."""
    m, specs, heads, _, _ = calls.network(d) if policy == 'float64' else wide(d)
    names = [l.name for l in m.layers[1:-len(heads)]]
    made = []
    for _ in range(d.randint(1, 3)):
        kind = d.of('part', 'part', 'top', 'around')
        made.append({'kind': kind, 'layer': d.choice(names), 'units': d.of(1, 2, 3)})
    if d.random() < 0.3:
        made.append({'kind': 'both', 'layer': d.choice(names), 'units': 0})
    return m, specs, made


def build(m, made):
    """The models, in the order of their description; the first one is the whole."""
    models = [m]
    for k, s in enumerate(made):
        at = m.get_layer(s['layer']).output
        if s['kind'] == 'part':
            models.append(keras.Model(m.inputs, at))
        elif s['kind'] == 'both':
            models.append(keras.Model(m.inputs, [at] + m.outputs))
        elif s['kind'] == 'top':
            models.append(keras.Model(m.inputs, L.Dense(s['units'], activation='tanh', name='top%d' % k)(at)))
        else:
            i = keras.Input(m.inputs[0].shape[1:], name='around%d' % k)
            y = m(i)
            models.append(keras.Model(i, L.Dense(s['units'], name='over%d' % k)(y[0] if isinstance(y, list) else y)))
    return models


def draw_call(d, ones, heads, n, norm, wide):
    k = d.randrange(len(ones))
    o = ones[k]
    name = d.of('compile', 'fit', 'fit', 'train_on_batch', 'train_on_batch', 'train_on_batch', 'test_on_batch', 'evaluate', 'set_weights', 'set_rate', 'trainable', 'trainable', 'file')
    data, a = d.of(0, 1), {}
    lo = d.randint(0, n[data] - 3)
    hi = d.randint(lo + 3, n[data])
    if name == 'compile':
        a = {'config': json.loads(json.dumps(calls.serialized(compiled(d, heads[k], norm, wide))))}
    elif name == 'fit':
        a = {'data': data, 'epochs': d.randint(1, 2), 'batch_size': 3}
        a.update(d.maybe(0.3, validation=d.of(0, 1)))
    elif name in ('train_on_batch', 'test_on_batch'):
        a = {'data': data, 'lo': lo, 'hi': hi}
    elif name == 'evaluate':
        a = {'data': data, 'batch_size': d.randint(2, 5)}
    elif name == 'set_weights':
        a = {'seed': d.randrange(1 << 20)}
    elif name == 'set_rate':
        if 'schedules' in str(calls.serialized(o.m.optimizer)):
            return k, 'evaluate', {'data': data}
        a = {'rate': d.of(0.05, 0.01, 0.002)}
    elif name == 'trainable':
        a = {'layer': d.choice([l.name for l in o.layers if l.weights]), 'on': d.random() < 0.5}
    elif name == 'file':
        a = {'kind': 'weights.h5' if wide else d.of('weights.h5', 'weights.json'), 'seed': d.randrange(1 << 20)}
    return k, name, a


def compiled(d, heads, norm, wide):
    if wide:  # where rounding is more than what many rules can bear
        return {'optimizer': keras.optimizers.SGD(d.of(0.01, 0.003), momentum=d.of(0.0, 0.5)), 'loss': ['mse'] * len(heads) if len(heads) > 1 else 'mse'}
    while True:
        c = calls.draw_compile(d, heads, norm)
        c.pop('steps_per_execution', None)
        if not any(w in str(calls.serialized(c)) for w in ('Lion', 'Muon', 'TopK', 'Schedule', 'Swap')):
            return c


def run(seed, count):
    d = Draw(seed)
    policy = d.of('float64', 'float32', 'float32', 'mixed_bfloat16')
    keras.config.set_floatx('float64' if policy == 'float64' else 'float32')
    keras.config.set_dtype_policy(policy)
    m, specs, made = draw_models(d, policy)
    c = {'class': 'shared', 'number': seed, 'policy': policy, 'made': made, 'model': json.loads(m.to_json()), 'seed': d.randrange(1 << 20), 'norm': any(isinstance(l, L.BatchNormalization) for l in m._flatten_layers())}
    models = build(m, made)
    runs.set_weights(m, c['seed'])
    layers = list({id(l): l for o in models for l in o._flatten_layers(include_self=False) if l.weights and not isinstance(l, keras.Model)}.values())
    heads, n = [heads_of(d, o) for o in models], [3 * d.randint(2, 3) for _ in range(2)]
    ones, c['models'] = [], []
    for k, o in enumerate(models):
        sets = [{'x': [{**specs[0], 'dtype': policy if policy == 'float64' else 'float32', 'seed': d.randrange(1 << 20), 'shape': [r] + specs[0]['shape']}], 'y': [runs.labels(d, h, r) for h in heads[k]], 'w': None} for r in n]
        config = json.loads(json.dumps(calls.serialized(compiled(d, heads[k], c['norm'], policy != 'float64'))))
        c['models'].append({'data': sets, 'config': config, 'seed': c['seed'] + 100 * (k + 1)})
        if k:
            runs.set_weights(o, c['seed'] + 100 * (k + 1))
        ones.append(One({'data': sets}, o, layers))
        ones[-1].compile(copy.deepcopy(config))
    c['calls'] = []
    for _ in range(count):
        k, name, a = draw_call(d, ones, heads, n, c['norm'], policy != 'float64')
        a = json.loads(json.dumps(a))
        try:
            with contextlib.redirect_stdout(io.StringIO()):
                if name == 'trainable':
                    next(l for l in layers if l.name == a['layer']).trainable = a['on']
                    answer = {}
                else:
                    answer = getattr(ones[k], name)(**copy.deepcopy(a)) or {}
                answer['all'] = [o.predictions() for o in ones]
                answer['state'] = ones[k].state()
        except Exception as e:
            if os.environ.get('DRAW_DEBUG'):
                import traceback
                traceback.print_exc()
            answer = {'error': error(e)}
        c['calls'].append({'of': k, 'name': name, 'arguments': a, 'answer': answer})
        if 'error' in answer:
            break
    return c


if __name__ == '__main__':
    warnings.simplefilter('ignore')
    record(lambda number: run(number, int(os.environ.get('SHARED_LENGTH', '12'))), 'cases')
