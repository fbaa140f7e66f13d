"""Draws models and optimizers, trains them two steps, and writes files of every kind, with which the other program trains on.

    KERAS_BACKEND=tensorflow python internal/randomtraining/files.py draw --count 100 --seed 0 --out folder
    KERAS_BACKEND=tensorflow python internal/randomtraining/files.py check --out folder

N.keras, N.weights.h5 and N.weights.json are written after two steps, N.start.keras before the first; N.weights.json is in several parts. cases.json has data, and losses and
predictions of a third and a fourth step. The other program reads each file, takes the third step, and writes N.ours.keras and so on, with which check takes the fourth, and N.onnx, which ONNX Runtime
runs if it is there. --networks says what is drawn: those of runs.py, recurrent ones of recurrent.py, or stacks of stacks.py; of the latter two there are .h5 files, too.
"""
import argparse
import json
import os
import sys

os.environ.setdefault('KERAS_BACKEND', 'tensorflow')
os.environ.setdefault('TF_CPP_MIN_LOG_LEVEL', '3')
os.environ.setdefault('CUDA_VISIBLE_DEVICES', '')
import keras
import numpy as np
import recurrent
import runs
import stacks
from draw import Draw, agree, dense_gradients, error, numbers, plain, short

L = keras.layers
KINDS = ['keras', 'weights.h5', 'weights.json']


def adorned(d, m):
    """The model with what files should keep: frozen layers, dropout that drops nothing but has a state, a model around it."""
    for l in m.layers:
        if l.weights and d.random() < 0.2:
            l.trainable = False
    if d.random() < 0.3:
        inputs = [keras.Input(batch_shape=i.shape, dtype=i.dtype, name=i.name) for i in m.inputs]
        out = keras.tree.flatten(m(inputs if len(inputs) > 1 else inputs[0]))
        out = [L.Dropout(1e-7, seed=d.of(None, 3))(o) if d.random() < 0.5 else L.Activation('linear')(o) for o in out]
        m = keras.Model(inputs if len(inputs) > 1 else inputs[0], out if len(out) > 1 else out[0])
    return m


class Case:
    def __init__(self, row):
        self.x = {'in%d' % k: numbers(s) for k, s in enumerate(row['x'])}
        self.x = self.x if len(self.x) > 1 else self.x['in0']
        self.y = [numbers(s) for s in row['y']]

    def step(self, m):
        y = self.y if len(self.y) > 1 else self.y[0]
        out = m.train_on_batch(self.x, y, return_dict=True)
        return {'loss': short(out['loss'], 7), 'predictions': [plain(keras.ops.convert_to_numpy(p), 7) for p in keras.tree.flatten(m(self.x, training=False))]}


NETWORKS = {'runs': runs.draw_model, 'recurrent': recurrent.network, 'stacks': stacks.network}


def record(d, folder, number, networks='runs'):
    stateful = True  # whose states are no part of a file
    while stateful:
        m, specs, heads, stateful, batch = NETWORKS[networks](d)
    m = adorned(d, m)
    losses = [runs.draw_loss(d, h) for h in heads]
    optimizer = runs.draw_optimizer(d)
    if d.random() < 0.25 and type(optimizer).__name__ != 'LossScaleOptimizer':
        optimizer = keras.optimizers.LossScaleOptimizer(optimizer, initial_scale=d.of(2.0, 1024.0), dynamic_growth_steps=d.of(2, 2000))
    m.compile(optimizer, losses if len(losses) > 1 else losses[0], run_eagerly=True)
    n = batch + 1
    row = {'number': number, 'optimizer': type(optimizer).__name__, 'settings': json.loads(json.dumps(optimizer.get_config(), default=str)),
           'x': [{**s, 'shape': [n] + s['shape']} for s in specs], 'y': [runs.labels(d, h, n) for h in heads]}
    if any(type(l).__name__ == 'Masking' or getattr(l, 'mask_zero', False) for l in m._flatten_layers()):
        for v, h in zip(row['y'], heads):  # of labels with an axis less, Keras multiplies the losses of examples with a mask of steps, if there are as many
            if len(h[3]) > 1 and h[0] in ('number', 'bit'):
                v['shape'] = [n] + list(h[3])
    runs.set_weights(m, 5)
    c, base = Case(row), '%s/%d.' % (folder, number)
    m.save(base + 'start.keras')
    first = [c.step(m), c.step(m)]
    if not all(np.isfinite(s['loss']) for s in first):
        raise ValueError('no finite loss')
    row['kinds'] = []
    if networks != 'runs':
        record_h5(m, c, row, base)
    for kind in KINDS:
        try:
            if kind == 'weights.json':
                size = sum(w.numpy().nbytes for w in m.weights + m.optimizer.variables)
                m.save_weights(base + kind, max_shard_size=max(size / 3 / 1e9, 2e-6))
            elif kind == 'weights.h5':
                m.save_weights(base + kind)
            else:
                m.save(base + kind)
            check_reading(c, m, base, kind)
            row['kinds'].append(kind)
        except Exception as e:
            row.setdefault('unsaved', {})[kind] = error(e)
    row['third'] = c.step(m)
    row['fourth'] = c.step(m)
    near = keras.saving.load_model(base + 'start.keras')
    near.run_eagerly = True
    for w in near.weights:
        w.assign(w * (1 + 2e-7))
    c.step(near), c.step(near)
    if not agree([c.step(near), c.step(near)], [row['third'], row['fourth']], 1e-3):
        raise ValueError('rounding decides')
    return row


def record_h5(m, c, row, base):
    """A file in the format of Keras 2, which has no optimizer that all can read: what is predicted from it."""
    try:
        m.save(base + 'h5', include_optimizer=False)
        again = keras.saving.load_model(base + 'h5', compile=False)
    except Exception as e:
        row.setdefault('unsaved', {})['h5'] = error(e)
        return
    row['read'] = [plain(keras.ops.convert_to_numpy(p), 7) for p in keras.tree.flatten(again(c.x, training=False))]
    if not agree(row['read'], [plain(keras.ops.convert_to_numpy(p), 7) for p in keras.tree.flatten(m(c.x, training=False))]):
        del row['read']


def opened(base, kind, c):
    """A model of a file; for one of weights a model that has trained a step, as only then there is a place for the optimizer's."""
    if not kind.startswith('weights'):
        m = keras.saving.load_model(base + kind)
    else:
        m = keras.saving.load_model(base.replace('.ours', '') + 'start.keras')
        c.step(m)
        m.load_weights(base + kind)
    m.run_eagerly = True
    return m


def check_reading(c, m, base, kind):
    """Keras must be able to go on with its own file as without it."""
    again = opened(base, kind, c)
    a, b = [keras.ops.convert_to_numpy(v) for v in m.weights + m.optimizer.variables], [keras.ops.convert_to_numpy(v) for v in again.weights + again.optimizer.variables]
    if len(a) != len(b) or not all(np.array_equal(v, w) for v, w in zip(a, b)):
        names = [v.path for v in m.weights + m.optimizer.variables]
        raise ValueError('Keras does not read it as it wrote it: %d, %d, %s' % (len(a), len(b), [n for n, v, w in zip(names, a, b) if not np.array_equal(v, w)]))


def draw(a):
    os.makedirs(a.out, exist_ok=True)
    rows, failed = [], {}
    for i in range(a.count):
        keras.backend.clear_session()
        keras.utils.set_random_seed(a.seed + i)
        try:
            rows.append({**record(Draw(a.seed + i), a.out, i, a.networks), 'seed': a.seed + i})
        except Exception as e:
            failed[error(e)] = a.seed + i
            if a.debug:
                raise
    with open(a.out + '/cases.json', 'w') as f:
        json.dump(rows, f)
    print(len(rows), 'cases,', sum(len(r['kinds']) for r in rows), 'files, Keras fails with', failed, 'cannot read', {(k, v) for r in rows for k, v in r.get('unsaved', {}).items()}, file=sys.stderr)


def run_onnx(row, folder):
    """Has ONNX Runtime compute what was predicted after the third step."""
    path = '%s/%d.onnx' % (folder, row['number'])
    if not os.path.exists(path):
        return
    try:
        import onnxruntime
    except ImportError:
        return
    try:
        session = onnxruntime.InferenceSession(path, providers=['CPUExecutionProvider'])
        types = {'tensor(float)': 'float32', 'tensor(int32)': 'int32', 'tensor(int64)': 'int64', 'tensor(bool)': 'bool', 'tensor(double)': 'float64'}
        out = session.run(None, {i.name: numbers(s).astype(types[i.type]) for i, s in zip(session.get_inputs(), row['x'])})
        got = [plain(v, 7) for v in out]
        if not agree(got, row['third']['predictions'], 2e-3):
            print('case of seed %d, ONNX Runtime: %.300s, not %.300s' % (row['seed'], got, row['third']['predictions']))
    except Exception as e:
        print('case of seed %d, ONNX Runtime: %s' % (row['seed'], error(e)))


def check(folder):
    count = 0
    for row in json.load(open(folder + '/cases.json')):
        keras.backend.clear_session()
        run_onnx(row, folder)
        for kind in row['kinds']:
            base = '%s/%d.ours.' % (folder, row['number'])
            if not os.path.exists(base + kind):
                continue
            try:
                c = Case(row)
                m = opened(base, kind, c)
                got = c.step(m)
                count += 1
                if type(getattr(m.optimizer, 'inner_optimizer', None)).__name__ == 'Nadam':  # whose product Keras forgets
                    continue
                if not agree(got, row['fourth'], 2e-3):
                    print('case of seed %d, %s, %s: %.300s, not %.300s' % (row['seed'], row['optimizer'], kind, got, row['fourth']))
            except Exception as e:
                print('case of seed %d, %s, %s: %s' % (row['seed'], row['optimizer'], kind, error(e)))
    print('opened', count)


p = argparse.ArgumentParser()
p.add_argument('what')
p.add_argument('--count', type=int, default=100)
p.add_argument('--seed', type=int, default=0)
p.add_argument('--out')
p.add_argument('--networks', default='runs')
p.add_argument('--debug', action='store_true')
a = p.parse_args()
dense_gradients()
check(a.out) if a.what == 'check' else draw(a)
