"""Draws calls of models with what does not fit them, and writes down what Keras does: numbers, or an error.

    KERAS_BACKEND=tensorflow python internal/randomtraining/inputs.py 130 6000 internal/randomtraining/testdata/inputs.json.gz

The recorded file has calls with wrong names of other seeds, too.

A call begins as a right one of fit, evaluate, predict, train_on_batch, test_on_batch or predict_on_batch. Some of it is then spoilt: names and kinds of structures (an array, a list, a dict), numbers of arrays,
ranks, lengths, rows, types, values that are NaN or no class, weights, options. Data are arrays or a generator of batches that may be of different shapes.
"""
import contextlib
import copy
import io
import json
import os
import signal
import sys
import warnings

os.environ.setdefault('TF_CPP_MIN_LOG_LEVEL', '3')
os.environ.setdefault('CUDA_VISIBLE_DEVICES', '')
import keras
import numpy as np
import runs
from draw import Draw, error, numbers, plain, short, write

L = keras.layers
Input = keras.Input


def models(d):
    """A model, its inputs (kind, shape, type, more) and its outputs (kind of target, width)."""
    kind = d.of('sequential', 'sequential', 'one', 'two', 'heads', 'both', 'images', 'words', 'steps', 'batch')
    loss = {'number': 'mse', 'class': 'sparse_categorical_crossentropy', 'onehot': 'categorical_crossentropy', 'bit': 'binary_crossentropy'}
    vector = ('grid', [4], 'float32', {})

    def head(x, name):
        of = d.of('number', 'number', 'class', 'onehot', 'bit')
        width = {'number': d.of(1, 2), 'class': 3, 'onehot': 3, 'bit': 1}[of]
        return L.Dense(width, activation=last_activation(of), name=name)(x), (of, width, loss[of])
    if kind == 'sequential':
        i, ins = [Input((4,), name='first')], [vector]
        x, out = head(L.Dense(3, activation='tanh', name='inner')(i[0]), 'out')
        m = keras.Sequential([i[0], L.Dense(3, activation='tanh', name='inner'), L.Dense(out[1], activation=last_activation(out[0]), name='out')])
        return m, ins, [out]
    if kind in ('one', 'heads', 'batch'):
        i, ins = [Input((4,), name='first', **({'batch_size': 2} if kind == 'batch' else {}))], [vector]
        x = L.Dense(3, activation='tanh', name='inner')(i[0])
    elif kind in ('two', 'both'):
        i, ins = [Input((4,), name='first'), Input((2,), name='second')], [vector, ('grid', [2], 'float32', {})]
        x = L.Dense(3, activation='tanh', name='inner')(L.Concatenate(name='join')(i))
    elif kind == 'images':
        i, ins = [Input((4, 4, 1), name='image')], [('grid', [4, 4, 1], 'float32', {})]
        x = L.Flatten(name='flat')(L.Conv2D(2, 3, name='conv')(i[0]))
    elif kind == 'words':
        i, ins = [Input((3,), dtype='int32', name='words')], [('integer', [3], 'int32', {'below': 5})]
        x = L.Flatten(name='flat')(L.Embedding(5, 2, name='table')(i[0]))
    else:
        i, ins = [Input((None, 2), name='steps')], [('grid', [3, 2], 'float32', {})]
        x = L.SimpleRNN(3, name='cell')(i[0])
    outs = [head(x, 'out%d' % k) for k in range(2 if kind in ('heads', 'both') else 1)]
    return keras.Model(i if len(i) > 1 else i[0], [o[0] for o in outs] if len(outs) > 1 else outs[0][0], name='model'), ins, [o[1] for o in outs]


def last_activation(of):
    return {'number': None, 'bit': 'sigmoid'}.get(of, 'softmax')


class Drawn:
    """The data of a call: lists of specifications that are spoilt in place."""

    def __init__(self, d, m, ins, outs, n):
        self.d, self.names, self.targets = d, [i.name for i in m.inputs], getattr(m, 'output_names', ['out'])
        self.x = [d.array(kind, [n] + shape, dtype, **more) for kind, shape, dtype, more in ins]
        self.y = [self.target(o, n) for o in outs]
        self.w = [d.array('positive', [n]) for _ in outs] if d.random() < 0.3 else None
        self.as_x = d.of('plain', 'plain', 'dict')
        self.as_y = d.of('plain', 'plain', 'dict') if len(outs) > 1 else 'plain'

    def target(self, o, n):
        d = self.d
        return {'number': lambda: d.array('grid', [n, o[1]]), 'class': lambda: d.array('integer', [n] + d.of([], [1]), d.of('int32', 'int64', 'float32'), below=3), 'onehot': lambda: d.array('onehot', [n, 3]),
                'bit': lambda: d.array('integer', [n] + d.of([], [1]), d.of('int32', 'float32'), below=2)}[o[0]]()

    def value(self):
        return {'x': pack(self.x, self.names, self.as_x), 'y': pack(self.y, self.targets, self.as_y), 'w': pack(self.w, self.targets, self.as_y)}


def pack(arrays, names, how):
    """The structure of a component: null, an array, {"list": ...} or {"dict": ...}."""
    if arrays is None:
        return None
    if how == 'dict':
        return {'dict': {(names[k] if k < len(names) else 'more'): a for k, a in enumerate(arrays)}}
    return arrays[0] if len(arrays) == 1 and how == 'plain' else {'list': arrays}


def array_of(d, v):
    """One of the arrays of the data."""
    return d.choice(v.x + (v.y or []) + (v.w or []))


def spoil(d, v, outs):
    """Changes something of the data, and returns its name."""
    a = array_of(d, v)
    shape = a['shape']
    what = d.of('axis', 'axis', 'rank up', 'rank down', 'rows', 'all rows', 'type', 'type', 'value', 'value', 'label', 'wrong name', 'more', 'fewer', 'no y', 'kind of x', 'kind of y', 'weights', 'weights', 'swap', 'list of one')
    if what == 'axis' and len(shape) > 1:
        k = d.randint(1, len(shape) - 1)
        shape[k] = max(0, shape[k] + d.of(-1, 1, 1, 2))
    elif what == 'rank up':
        shape.insert(d.randint(1, len(shape)), d.of(1, 1, 2))
    elif what == 'rank down' and shape:
        shape.pop(d.randint(min(1, len(shape) - 1), len(shape) - 1))
    elif what == 'rows' and shape:
        shape[0] = max(0, shape[0] + d.of(-1, 1, -100))
    elif what == 'all rows':
        n = d.of(0, 1, 1)
        for b in v.x + (v.y or []) + (v.w or []):
            b['shape'][:1] = [n]
    elif what == 'type':
        a['dtype'] = d.of('float64', 'float16', 'int32', 'int64', 'uint8', 'int8', 'bool', 'float32', 'uint32')
    elif what == 'value':
        a['spoil'] = d.of('nan', 'inf', '-inf')
    elif what == 'label' and v.y:
        d.choice(v.y).update(d.of({'from': 1}, {'from': -1}, {'from': 5}))
    elif what == 'wrong name':
        if d.random() < 0.6:
            v.as_x, v.names = 'dict', list(v.names)
            v.names[d.randint(0, len(v.names) - 1)] = d.of('other', 'First', 'input_1', '', 'x')
        else:
            v.as_y, v.targets = 'dict', list(v.targets)
            v.targets[d.randint(0, len(v.targets) - 1)] = d.of('other', 'Out', 'y', 'loss')
    elif what == 'more':
        part = d.of(v.x, v.x, v.y or v.x)
        part.append(copy.deepcopy(part[-1]))
    elif what == 'fewer':
        d.of(v.x, v.y or v.x).pop()
    elif what == 'no y':
        v.y, v.w = None, d.of(None, v.w)
    elif what == 'kind of x':
        v.as_x = d.of('dict', 'list')
    elif what == 'kind of y':
        v.as_y = d.of('dict', 'list')
    elif what == 'weights':
        n = v.x[0]['shape'][0] if v.x and v.x[0]['shape'] else 4
        v.w = [d.array(d.of('positive', 'grid', 'fraction'), d.of([n], [n], [n, 1], [n, 2], [1], [n, 1, 1], [max(0, n - 1)], []), d.of('float32', 'float64', 'int32', 'bool')) for _ in range(d.of(len(outs), len(outs), 1, 2))]
        if d.random() < 0.25:
            v.w[0]['spoil'] = d.of('nan', 'inf')
    elif what == 'swap':
        v.x.reverse()
    elif what == 'list of one':
        v.as_x = v.as_y = 'list'
    else:
        return None
    return what


def options(d, name, n):
    """Options, most of them right."""
    o = {}
    if name in ('fit', 'evaluate', 'predict'):
        o['batch_size'] = d.of(2, 3, n, 1)
        o.update(d.maybe(0.1, batch_size=d.of(-1, 1000000, 2**31)))
    if name == 'fit':
        o['epochs'] = d.of(1, 2, 2)
        o.update(d.maybe(0.08, epochs=d.of(0, -1, 3), initial_epoch=d.of(0, 1, 2, 5, -1), steps_per_epoch=d.of(1, 2, 7, -1), validation_split=d.of(0.2, 0.5, 0.0001, 0.9999, 1.0, 1.5, -0.1, 0.99), validation_freq=d.of(1, 2, 5, 0, -1),
                         validation_steps=d.of(1, 2, 7, -1), validation_batch_size=d.of(1, 5, -1, 1000)))
    if name in ('fit', 'train_on_batch'):
        o.update(d.maybe(0.12, class_weight=d.of({'0': 2.0}, {'0': 0.5, '1': 1.0, '2': 3.0}, {'7': 2.0}, {'-1': 2.0}, {'0': 0.0}, {'1': -1.0})))
    if name in ('evaluate', 'predict'):
        o.update(d.maybe(0.08, steps=d.of(1, 2, 7, -1)))
    return o


def made(v):
    """What Keras is given for a structure."""
    if v is None:
        return None
    if 'list' in v:
        return [made(a) for a in v['list']]
    if 'dict' in v:
        return {k: made(a) for k, a in v['dict'].items()}
    a = numbers({**v, 'dtype': 'float64'})
    a = np.asarray(a)
    if v.get('spoil') and a.size:
        if not v['dtype'].startswith('float'):
            return a.astype(v['dtype'])
        a.ravel()[0] = {'nan': np.nan, 'inf': np.inf, '-inf': -np.inf}[v['spoil']]
    with np.errstate(all='ignore'):
        return (abs(a) if v['dtype'] in ('uint8', 'uint32') else a).astype(v['dtype'])


def call(m, c):
    """What Keras returns for the call."""
    o = copy.deepcopy(c['options'])
    if 'class_weight' in o:
        o['class_weight'] = {int(k): float(v) for k, v in o['class_weight'].items()}
    name = c['name']
    batches = [{k: made(v) for k, v in b.items()} for b in c['batches']]
    first = batches[0]
    if name == 'predict_on_batch':
        return {'predictions': [plain(p, 7) for p in keras.tree.flatten(m.predict_on_batch(first['x']))]}
    if name in ('train_on_batch', 'test_on_batch'):
        return scores(getattr(m, name)(first['x'], first['y'], sample_weight=first['w'], return_dict=True, **o))
    if c['generator']:
        given = [(tuple(b[k] for k in ('x', 'y', 'w')[:1 + (b['y'] is not None) + (b['y'] is not None and b['w'] is not None)]) for b in batches)]
        o.pop('batch_size', None)
        o.pop('validation_split', None)
        weights = {}
    else:
        given = [first['x']] + ([first['y']] if name != 'predict' else [])
        weights = {'sample_weight': first['w']} if name != 'predict' and first['w'] is not None else {}
    if name == 'predict':
        return {'predictions': [plain(p, 7) for p in keras.tree.flatten(m.predict(*given, verbose=0, **o))]}
    if name == 'evaluate':
        return scores(m.evaluate(*given, verbose=0, return_dict=True, **weights, **o))
    if c['validation']:
        v = {k: made(a) for k, a in c['validation'].items()}
        o['validation_data'] = (v['x'], v['y']) if v['w'] is None else (v['x'], v['y'], v['w'])
    h = m.fit(*given, verbose=0, shuffle=False, **weights, **o)
    return {'history': runs.logs_of(h.history), 'epochs': h.epoch}


def scores(s):
    return {'scores': {k: [short(v, 7) for v in np.asarray(v).ravel()] for k, v in s.items()}}


def run(seed):
    d = Draw(seed)
    m, ins, outs = models(d)
    n = d.of(4, 4, 5, 6)
    name = d.of('fit', 'fit', 'fit', 'evaluate', 'predict', 'train_on_batch', 'test_on_batch', 'predict_on_batch')
    c = {'class': 'inputs', 'number': seed, 'seed': d.randrange(1 << 20), 'name': name, 'generator': name in ('fit', 'evaluate', 'predict') and d.random() < 0.25, 'batches': [], 'validation': None, 'spoilt': []}
    m.compile('sgd', [o[2] for o in outs] if len(outs) > 1 else outs[0][2], metrics=[['mae'] if o[0] == 'number' else ['accuracy'] for o in outs] if len(outs) > 1 else ['mae' if outs[0][0] == 'number' else 'accuracy'], run_eagerly=True)
    c['model'] = json.loads(m.to_json())
    many = d.randint(1, 3) if c['generator'] else 1
    data = [Drawn(d, m, ins, outs, n) for _ in range(many)]
    for v in data[1:]:  # alike
        v.w, v.as_x, v.as_y = (None if data[0].w is None else [d.array('positive', [n]) for _ in outs]), data[0].as_x, data[0].as_y
    c['options'] = options(d, name, n)
    if c['generator'] and 'epochs' in c['options']:
        c['options'].update(epochs=1, initial_epoch=0)  # it gives its batches once
    for _ in range(d.of(0, 1, 1, 1, 2)):
        c['spoilt'].append(spoil(d, d.choice(data), outs))
    for v in data[1:]:  # Keras on TensorFlow reads all batches of a generator in the types of the first, be it bool; here each has its own
        for a, b in zip(data[0].x + (data[0].y or []) + (data[0].w or []), v.x + (v.y or []) + (v.w or [])):
            b['dtype'] = a['dtype']
        if v.x and v.x[0]['shape'][:1] == [0] or data[0].x and data[0].x[0]['shape'][:1] == [0]:  # of a batch without examples Keras makes NaN; here it changes nothing
            for b in v.x + data[0].x + (v.y or []) + (data[0].y or []) + (v.w or []) + (data[0].w or []):
                b['shape'][:1] = [1]
    c['batches'] = [copy.deepcopy(v.value()) for v in data]
    if name == 'fit' and d.random() < 0.25:
        v = Drawn(d, m, ins, outs, 3)
        if d.random() < 0.4:
            c['spoilt'].append('validation: %s' % spoil(d, v, outs))
        c['validation'] = copy.deepcopy(v.value())
    runs.set_weights(m, c['seed'])
    signal.alarm(60)
    try:
        with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
            warnings.simplefilter('ignore')
            c['answer'] = call(m, json.loads(json.dumps(c)))
    except Exception as e:
        c['answer'] = {'error': error(e)}
    signal.alarm(0)
    return c


def main():
    out = []
    for k in range(int(sys.argv[1])):
        keras.backend.clear_session()
        out.append(run(int(sys.argv[2]) + k))
    write(sys.argv[3], out)
    print(len(out), 'calls, Keras refuses', sum('error' in c['answer'] for c in out), file=sys.stderr)


if __name__ == '__main__':
    main()
