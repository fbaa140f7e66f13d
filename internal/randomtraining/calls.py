"""Draws sequences of calls on one model, and writes down what Keras has after each call.

    KERAS_BACKEND=tensorflow python internal/randomtraining/calls.py 100 0 internal/randomtraining/testdata/calls.json.gz

A sequence compiles (anew, and with the same optimizer), fits, evaluates, predicts, trains and tests on batches, sets weights and learning rates, freezes and thaws layers with and
without compiling again, writes files and goes on from them, backs up, resets states, enables LoRA, and quantizes. After each call the weights and the optimizer's variables are recorded as three numbers
for each array, beside what the call returned. Most models compute in float64, which leaves little to rounding. CALLS_GRAPH=1 lets TensorFlow compile steps. With PyTorch, Keras changes sample weights and
momentum in place, and some of float64 is float32.
"""
import contextlib
import copy
import io
import json
import os
import tempfile
import warnings

os.environ.setdefault('TF_CPP_MIN_LOG_LEVEL', '3')
os.environ.setdefault('CUDA_VISIBLE_DEVICES', '')
import callbacks
import keras
import numpy as np
import runs
from draw import Draw, error, numbers, plain, record, short

L = keras.layers
EAGER = not os.environ.get('CALLS_GRAPH')


def digest(a):
    """An array as three numbers that tell nearly any change."""
    a = np.asarray(a).astype('float64').ravel()
    i = np.arange(len(a))
    with np.errstate(all='ignore'):
        return [short(v, 8) for v in ((a * (i * 37 % 11 - 5)).sum(), (a * (i * 53 % 7 - 2)).sum(), np.abs(a).max() if len(a) else 0.0)]


def network(d):
    """A small network with what a step changes beside weights, and layers that can have LoRA."""
    i = keras.Input((3,), name='in0')
    x = L.Dense(4, activation='tanh', name='first', **d.maybe(0.2, kernel_regularizer='l2', kernel_constraint=keras.constraints.MaxNorm(0.7)))(i)
    norm = d.random() < 0.4
    if norm:
        x = L.BatchNormalization(momentum=0.5, name='norm')(x)
    inner = keras.Sequential([keras.Input((4,)), L.Dense(3, name='deep'), L.Activation('relu')] + ([L.BatchNormalization(momentum=0.7)] if norm and d.random() < 0.5 else []), name='inner')
    x = inner(x)
    x = L.Dropout(1e-9)(x) if d.random() < 0.3 else x
    heads, outputs = [], []
    for k in range(d.of(1, 1, 2)):
        kind, width, act = d.of(('number', 2, None), ('class', 3, 'softmax'), ('bit', 1, 'sigmoid'))
        outputs.append(L.Dense(width, activation=act, name='out%d' % k)(x))
        heads.append((kind, width, act, outputs[-1].shape[1:]))
    return keras.Model(i, outputs if len(outputs) > 1 else outputs[0]), [d.array('grid', (3,))], heads, False, d.randint(2, 4)


def draw_compile(d, heads, norm, lora=False):
    losses, metrics, weighted = [runs.draw_loss(d, h) for h in heads], [runs.draw_metrics(d, h) for h in heads], [runs.draw_metrics(d, h) if d.random() < 0.3 else [] for h in heads]
    c = {'optimizer': runs.draw_optimizer(d)}
    # Lion takes the sign of what is rounding before normalization, and Adafactor of what is left where LoRA's first steps, of one size, cancel out.
    while norm and 'Lion' in str(serialized(c)) or lora and 'Adafactor' in str(serialized(c)):
        c = {'optimizer': runs.draw_optimizer(d)}
    if len(heads) == 1:
        c.update(loss=losses[0], metrics=metrics[0], weighted_metrics=weighted[0])  # with None for both, Keras keeps those of the last time
    else:
        c.update(loss=losses, metrics=metrics, weighted_metrics=d.of(None, weighted), loss_weights=d.of(None, [d.of(0.5, 2.0) for _ in heads]))
    c.update(d.maybe(0.2, steps_per_execution=2))
    return c


class Sequence:
    """A model, what is in it, and its data."""

    def __init__(self, c, m=None):
        self.c, self.m, self.pending, self.fixed = c, m, {}, False
        if m is None:
            self.m = keras.models.model_from_json(json.dumps(c['model']))
            self.renew()
        self.m.run_eagerly = EAGER
        runs.set_weights(self.m, c['seed'])
        self.several = len(self.m.outputs) > 1

    def data(self, k, lo=0, hi=None, weights=False):
        s = self.c['data'][k]
        x = {'in%d' % j: numbers(v)[lo:hi] for j, v in enumerate(s['x'])}
        pack = lambda v: v if self.several else v[0]
        w = pack([numbers(v)[lo:hi] for v in s['w']]) if weights else None
        return x if len(x) > 1 else x['in0'], pack([numbers(v)[lo:hi] for v in s['y']]), w

    def state(self):
        get = lambda v: digest(keras.ops.convert_to_numpy(v))
        o = self.m.optimizer
        return {'weights': [get(w) for w in self.m.weights], 'slots': [get(v) for v in o.variables] if o is not None and o.built and type(getattr(o, 'inner_optimizer', None)).__name__ not in ('Nadam', 'Adafactor') else None}

    def layer(self, name):
        return next(l for l in self.m._flatten_layers() if l.name == name)

    def renew(self):
        """Compiles with an optimizer that will be built by the first step."""
        self.m.compile(**keras.saving.deserialize_keras_object(copy.deepcopy(self.m.get_compile_config())))
        self.m.run_eagerly, self.fixed = EAGER, False

    # Each call takes its arguments, and returns what is compared.
    def compile(self, config=None):
        self.settle()
        self.fixed = False
        m = self.m
        if config is None:  # with the optimizer that is there
            old = m.get_compile_config()
            given = keras.saving.deserialize_keras_object({k: v for k, v in old.items() if k != 'optimizer'})
            m.compile(m.optimizer, **given)
        else:
            m.compile(**keras.saving.deserialize_keras_object(config))
        m.run_eagerly = EAGER

    def fit(self, data, weights=False, callbacks=(), class_weight=None, validation=None, validation_weights=False, backup=None, interrupt=None, **fit):
        self.fixed = True
        x, y, w = self.data(data, weights=weights)
        if validation is not None:
            vx, vy, vw = self.data(validation, weights=validation_weights)
            fit['validation_data'] = (vx, vy) if vw is None else (vx, vy, vw)
        if class_weight:
            fit['class_weight'] = {int(k): v for k, v in class_weight.items()}
        with tempfile.TemporaryDirectory() as folder:
            h = self.m.fit(x, y, sample_weight=w, shuffle=False, verbose=0, callbacks=[globals()['callbacks'].made(k, folder) for k in callbacks], **fit)
        return {'history': runs.logs_of(h.history), 'epochs': h.epoch}

    def evaluate(self, data, weights=False, batch_size=None):
        x, y, w = self.data(data, weights=weights)
        return self.testing(lambda: self.m.evaluate(x, y, sample_weight=w, batch_size=batch_size, verbose=0, return_dict=True))

    def predict(self, data, batch_size=None):
        return {'predictions': [plain(p, 7) for p in keras.tree.flatten(self.m.predict(self.data(data)[0], batch_size=batch_size, verbose=0))]}

    def predict_on_batch(self, data, lo, hi):
        return {'predictions': [plain(p, 7) for p in keras.tree.flatten(self.m.predict_on_batch(self.data(data, lo, hi)[0]))]}

    def scores(self, s):
        return {'scores': {k: [short(v, 7) for v in np.asarray(v).ravel()] for k, v in s.items()}}

    def train_on_batch(self, data, lo, hi, weights=False, class_weight=None):
        self.fixed = True
        x, y, w = self.data(data, lo, hi, weights)
        given = {'class_weight': {int(k): v for k, v in class_weight.items()}} if class_weight else {}
        return self.scores(self.m.train_on_batch(x, y, sample_weight=w, return_dict=True, **given))

    def test_on_batch(self, data, lo, hi, weights=False):
        x, y, w = self.data(data, lo, hi, weights)
        return self.testing(lambda: self.m.test_on_batch(x, y, sample_weight=w, return_dict=True))

    def testing(self, call):
        built = self.m.optimizer.built
        scores = call()
        if self.m.optimizer.built and not built:  # by what does not use it
            self.renew()
        return self.scores(scores)

    def set_weights(self, seed):
        runs.set_weights(self.m, seed)

    def set_rate(self, rate):
        self.m.optimizer.learning_rate = rate

    def trainable(self, layer, on):
        self.pending[layer] = on
        if not self.fixed:
            self.settle()

    def settle(self):
        """What is trained is fixed by the first step after compile; eager Keras looks at each step, otherwise at each trace."""
        for name, on in self.pending.items():
            self.layer(name).trainable = on
        self.pending = {}

    def file(self, kind, seed=None):
        with tempfile.TemporaryDirectory() as folder:
            path = folder + '/m.' + kind
            if 'weights' in kind:
                self.m.save_weights(path, **({'max_shard_size': 2e-6} if kind == 'weights.json' else {}))
                runs.set_weights(self.m, seed)
                self.m.load_weights(path)
            else:
                self.settle()
                self.m.save(path)
                runs.set_weights(self.m, 3)
                self.m, self.fixed = keras.saving.load_model(path), False
                self.m.run_eagerly = EAGER

    def reset(self):
        for l in self.m._flatten_layers():
            if getattr(l, 'stateful', False) and hasattr(l, 'reset_state'):
                l.reset_state()

    def lora(self, layer, rank, alpha=None, seed=0):
        l = self.layer(layer)
        l.enable_lora(rank, lora_alpha=alpha)
        l.lora_kernel_a.assign(numbers({'kind': 'grid', 'seed': seed, 'shape': list(l.lora_kernel_a.shape), 'dtype': 'float32'}))

    def quantize(self, mode):
        self.m.quantize(mode)


def draw_fit(d, c, n, batch, ema, scheduled, pending, at_once):
    a = {'data': d.of(0, 1), 'epochs': d.randint(1, 3), 'batch_size': batch}
    rows = n[a['data']]
    if not c['stateful']:
        a.update(d.maybe(0.15, initial_epoch=d.randint(0, a['epochs'] - 1)))
        if at_once == 1:  # of which Keras runs whole multiples, whatever the steps of an epoch are
            a.update(d.maybe(0.15, steps_per_epoch=d.randint(1, -(-rows // batch))))
        a['batch_size'] = d.of(batch, batch, d.randint(2, 5))
    kind = d.of('none', 'none', 'split', 'data')
    if kind == 'split' and rows > 4 and not c['stateful']:
        a['validation_split'] = d.of(0.2, 0.4)
    elif kind == 'data':
        a['validation'] = d.of(0, 1)
        a.update(d.maybe(0.3, validation_weights=True) if c['weighted'] else {})
    if 'validation' in a or 'validation_split' in a:
        a.update(d.maybe(0.3, validation_freq=2))
        a.update(d.maybe(0.3, validation_batch_size=2) if not c['stateful'] else {})
    if c['weighted'] and d.random() < 0.4:
        a['weights'] = True
    elif c['classes'] and d.random() < 0.4:
        a['class_weight'] = {str(k): d.of(0.0, 0.5, 2.0) for k in range(c['classes'])}
    if d.random() < 0.35:
        a['callbacks'] = [k for k in callbacks.draw_callbacks(d, a['epochs'], ema, 1) if k['class'] in ('EarlyStopping', 'SwapEMAWeights') + (() if scheduled else ('ReduceLROnPlateau', 'LearningRateScheduler'))]
        for k in a['callbacks']:
            if k['settings'].get('monitor', 'loss') not in ('loss', 'val_loss'):
                k['settings']['monitor'] = 'loss'
        if any(k['class'] == 'EarlyStopping' for k in a['callbacks']):  # Keras leaves the weights among the averages where a run stops early
            for k in a['callbacks']:
                if k['class'] == 'SwapEMAWeights':
                    k['settings']['swap_on_epoch'] = False
    if d.random() < 0.15 and not c['stateful'] and not pending:  # another program would freeze its model before it compiles it
        a['backup'], a['interrupt'] = d.maybe(0.5, save_freq=d.of(1, 2)), d.randint(0, 5)
    return a


def draw_call(d, c, s, heads, n, batch):
    """A call that could come next."""
    m = s.m
    o = m.optimizer
    lora = any(call['name'] == 'lora' for call in c['calls'])
    if c['calls'] and c['calls'][-1]['name'] in ('lora', 'quantize'):
        return 'compile', {'config': json.loads(json.dumps(serialized(draw_compile(d, heads, c['norm'], lora))))}
    name = d.of('compile', 'compile', 'fit', 'fit', 'fit', 'fit', 'evaluate', 'evaluate', 'predict', 'predict_on_batch', 'train_on_batch', 'train_on_batch', 'test_on_batch', 'set_weights', 'set_rate',
                'trainable', 'trainable', 'file', 'file', 'lora', 'quantize' if d.random() < 0.6 else 'fit', *(['reset'] * 3 if c['stateful'] else []))
    quantized = any(call['name'] == 'quantize' for call in c['calls'])
    if name in ('set_weights', 'file', 'lora', 'quantize') and quantized or name == 'lora' and not any(hasattr(l, 'enable_lora') for l in m._flatten_layers()):
        name = 'predict'
    if name == 'quantize' and any(isinstance(l, L.TimeDistributed) for l in m._flatten_layers()):
        name = 'predict'  # Keras multiplies with the integers of an inner Dense there, and leaves out their scales
    if name == 'reset':
        return name, {}
    a, k = {}, d.of(0, 1)
    lo = 0 if c['stateful'] else d.randint(0, n[k] - 2)
    hi = batch if c['stateful'] else d.randint(lo + 2, n[k])
    size = {} if c['stateful'] else d.maybe(0.7, batch_size=d.randint(2, 5))
    if c['stateful']:
        size = {'batch_size': batch}
    w = d.maybe(0.4, weights=True) if c['weighted'] else {}
    if name == 'compile':
        if d.random() < 0.4:
            return name, {}
        config = draw_compile(d, heads, c['norm'], lora)
        return name, {'config': json.loads(json.dumps(serialized(config)))}
    if name == 'fit':
        return name, draw_fit(d, c, n, batch, getattr(getattr(o, 'inner_optimizer', o), 'use_ema', False), 'schedules' in str(serialized(o)), s.pending, m.steps_per_execution)
    if name == 'evaluate':
        return name, {'data': k, **size, **w}
    if name == 'predict':
        return name, {'data': k, **size}
    if name == 'predict_on_batch':
        return name, {'data': k, 'lo': lo, 'hi': hi}
    if name == 'train_on_batch':
        a = {'data': k, 'lo': lo, 'hi': hi, **w}
        if c['classes'] and not w and d.random() < 0.4:
            a['class_weight'] = {str(j): d.of(0.0, 0.5, 2.0) for j in range(c['classes'])}
        return name, a
    if name == 'test_on_batch':
        return name, {'data': k, 'lo': lo, 'hi': hi, **w}
    if name == 'set_weights':
        return name, {'seed': d.randrange(1 << 20)}
    if name == 'set_rate':
        if 'schedules' in str(serialized(o)):
            return 'predict', {'data': k, **size}
        if type(getattr(o, 'inner_optimizer', o)).__name__ == 'Lion':
            return name, {'rate': 0.002}
        return name, {'rate': d.of(0.05, 0.01, 0.002)}
    if name == 'trainable':
        # Of cells there are several of one name; a layer with LoRA that Keras thaws trains its kernel too.
        names = [l.name for l in list(m.layers) + [s.layer('deep') for l in m.layers if l.name == 'inner'] if l.weights and not any(getattr(x, 'lora_enabled', False) for x in l._flatten_layers())]
        return name, {'layer': d.choice(names or ['first']), 'on': d.random() < 0.4}
    if name == 'file':
        kind = d.of('keras', 'weights.h5', 'weights.json') if not c['stateful'] else 'weights.h5'
        if kind == 'keras' and not o.built and 'ScheduleFree' in str(serialized(o)):  # whose momentum Keras makes of the weights before it has read them
            kind = 'weights.h5'
        return name, {'kind': kind, 'seed': d.randrange(1 << 20)}
    if name == 'lora':
        return name, {'layer': d.choice([l.name for l in m._flatten_layers() if hasattr(l, 'enable_lora')] or ['']), 'rank': d.of(1, 2), **d.maybe(0.4, alpha=d.of(1.0, 4.0)), 'seed': d.randrange(1 << 20)}
    return name, {'mode': 'int8'}


def serialized(config):
    return keras.saving.serialize_keras_object(config)


def run(seed, count):
    d = Draw(seed)
    wide = d.random() < 0.8
    keras.config.set_floatx('float64' if wide else 'float32')
    other = True
    while other:
        m, specs, heads, stateful, batch = network(d) if d.random() < 0.6 else runs.draw_model(d)
        # With TensorFlow, rules differ for the rows of embeddings that a batch has. The gradient of a bias before batch normalization is what rounding leaves, of which Adam makes a whole step
        # where that is above its epsilon.
        other = any(isinstance(l, (L.Embedding,) if wide else (L.Embedding, L.BatchNormalization)) for l in m._flatten_layers())
    if wide:
        specs = [{**s, 'dtype': 'float64' if s['dtype'] == 'float32' else s['dtype']} for s in specs]
    c = {'class': 'calls', 'number': seed, 'seed': d.randrange(1 << 20), 'stateful': stateful, 'wide': wide, 'exact': True, 'data': [], 'weighted': False, 'classes': 0}
    masked = any(type(l).__name__ == 'Masking' or getattr(l, 'mask_zero', False) for l in m._flatten_layers())
    n = [d.randint(1, 3) * batch if stateful else d.randint(4, 9) for _ in range(2)]
    weights = [runs.draw_weights(d, heads, k, masked) for k in n]
    c['weighted'] = weights[0] is not None and weights[1] is not None
    for k, w in zip(n, weights):
        y = [runs.labels(d, h, k) for h in heads]
        for v, h in zip(y, heads):  # with one axis less, weights of steps would be those of examples
            if len(h[3]) > 1 and h[0] in ('number', 'bit'):
                v['shape'] = [k] + list(h[3])
        if c['weighted']:
            w = [dict(s, shape=[k]) if len(v['shape']) < len(h[3]) + 1 else s for s, v, h in zip(w, y, heads)]
        c['data'].append({'x': [{**s, 'seed': d.randrange(1 << 20), 'shape': [k] + s['shape']} for s in specs], 'y': y, 'w': w if c['weighted'] else None})
    if len(heads) == 1 and heads[0][0] in ('class', 'bit') and heads[0][1] in (1, 3) and len(heads[0][3]) == 1:
        c['classes'] = 3 if heads[0][0] == 'class' else 2
    c['norm'] = any(isinstance(l, L.BatchNormalization) for l in m._flatten_layers())
    m.compile(**draw_compile(d, heads, c['norm']), run_eagerly=EAGER)
    c['model'] = json.loads(m.to_json())
    s = Sequence(c)
    c['calls'] = []
    failed = {}
    for _ in range(count):
        name, a = draw_call(d, c, s, heads, n, batch)
        a = json.loads(json.dumps(a))
        if not step(s, c, name, a):
            failed[name] = c['calls'][-1]['answer']['error']
            break  # what is left in the model is Keras's matter
    return c


def step(s, c, name, a):
    try:
        with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
            warnings.simplefilter('ignore')
            answer = getattr(s, name)(**copy.deepcopy(a)) or {}  # Keras changes configurations that it reads
        answer['state'] = s.state()
    except Exception as e:
        if os.environ.get('DRAW_DEBUG'):
            import traceback
            traceback.print_exc()
        answer = {'error': error(e)}
    c['calls'].append({'name': name, 'arguments': a, 'answer': answer})
    return 'error' not in answer


if __name__ == '__main__':
    record(lambda number: run(number, int(os.environ.get('CALLS_LENGTH', '10'))), 'sequences')
