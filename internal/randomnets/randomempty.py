"""Draws a layer of any class with random settings on axes of length 0 and 1, and writes down what Keras makes of batches of no, one and some examples.

    python internal/randomnets/randomempty.py --count 100 --seed 0 --out folder
    KERAS_BACKEND=tensorflow python internal/randomnets/randomempty.py --second folder

Layers and their settings are those of randomlayers.py; lengths of axes are other ones, and may be open. For each model there are N.keras and, in models.json, calls: inputs
and what is predicted, or the error; and, where there are targets, the loss of a step of SGD on that batch and what is predicted after it. The second run keeps the calls of
which TensorFlow says the same as JAX.
"""
import json
import os
import random
import sys

import recording  # before keras, for which it chooses a backend
import keras
import numpy as np

import randomlayers
from recording import drawn, far, lists, plain, untyped


class Edges(randomlayers.Layers):
    """Lengths of 0 and 1, and of about a vector."""

    def length(self):
        return self.of(0, 1, 2, 5, 8, 17, None, None, None)

    def vector(self):
        return self.input(self.of(0, 0, 1, 3, 8, 17))

    def space(self, d, channels=None):
        side = [self.of(0, 1, 1, 2, 3, 5, 9, None, None) for _ in range(d)]
        return self.input(*side, channels or self.of(1, 2, 4, 8))


def lengths(r, shape, batch):
    return [batch] + [r.choice([0, 0, 0, 1, 4, 9]) if d is None else d for d in shape[1:]]


def outcome(f):
    try:
        return f()
    except Exception as e:
        return {'error': (type(e).__name__ + ': ' + ' '.join(str(e).split()))[:160]}


def predict(m, x):
    x = [keras.ops.convert_to_tensor(untyped(a), a['dtype']) for a in x]
    return {'y': [plain(a) for a in lists(m(x if len(x) > 1 else x[0], training=False))]}


def step(m, x, targets):
    start = [keras.ops.convert_to_numpy(w) for w in m.weights]
    try:
        m.compile(keras.optimizers.SGD(0.1), 'mse', run_eagerly=True)
        y = [untyped(t) for t in targets]
        given = [keras.ops.convert_to_tensor(untyped(a), a['dtype']) for a in x]
        scores = m.train_on_batch(given if len(given) > 1 else given[0], y if len(y) > 1 else y[0])
        loss = float(lists(scores)[0])
        return {'loss': loss if np.isfinite(loss) else None, **predict(m, x)}
    finally:
        for w, v in zip(m.weights, start):
            w.assign(v)


def calls(r, m):
    out, types = [], [keras.backend.standardize_dtype(i.dtype) for i in m.inputs]
    for batch in r.sample([0, 1, 3, 17], 2):
        x = [plain(drawn(r, lengths(r, i.shape, batch), t), t) for i, t in zip(m.inputs, types)]
        if sum(len(a['data']) for a in x) > 3000:
            continue
        call = {'x': x, 'answer': outcome(lambda: predict(m, x))}
        y = call['answer'].get('y')
        if y and batch and m.trainable_weights and all('float' in a['dtype'] for a in y) and all(a['shape'][:1] == [batch] for a in y):
            call['targets'] = [plain(drawn(r, a['shape'], 'float32'), 'float32') for a in y]
            call['trained'] = outcome(lambda: step(m, x, call['targets']))
        out.append(call)
    return out


def wrong(m, given):
    """Whether Keras infers other lengths than it computes."""
    return any(d not in (None, n) for c in given for a, o in zip(c['answer'].get('y', []), m.outputs) for d, n in zip(o.shape, a['shape']))


def draw(count, seed, folder):
    os.makedirs(folder, exist_ok=True)
    rows, refused = [], {}
    for i in range(count):
        r = random.Random(seed + i)
        keras.utils.set_random_seed(seed + i)
        made, kind = Edges(r), r.choice(randomlayers.KINDS)
        try:
            y = getattr(made, kind)()
            outputs = [made.end(t) for t in (y if isinstance(y, list) else [y])]
            m = keras.Model(made.inputs, outputs if len(outputs) > 1 else outputs[0])
            m.save('%s/%d.keras' % (folder, i))
            m = keras.saving.load_model('%s/%d.keras' % (folder, i), safe_mode=False)
            given = calls(r, m)
        except Exception as e:
            text = kind + ': ' + type(e).__name__ + ': ' + ' '.join(str(e).split())[:110]
            refused[text] = refused.get(text, 0) + 1
            continue
        if wrong(m, given):
            continue
        rows.append({'number': i, 'seed': seed + i, 'kind': kind, 'calls': given})
        if i % 50 == 49:
            keras.backend.clear_session()
    save(folder, rows)
    print(len(rows), 'models, refused:', json.dumps(refused, indent=1), file=sys.stderr)


def save(folder, rows):
    with open(folder + '/models.json', 'w') as f:
        json.dump({'keras': keras.__version__, 'models': rows}, f)


def same(a, b):
    if ('error' in a) != ('error' in b):
        return False
    return 'error' in a or [v['shape'] for v in a['y']] == [v['shape'] for v in b['y']] and (a.get('loss') is None) == (b.get('loss') is None) and abs((a.get('loss') or 0) - (b.get('loss') or 0)) <= 1e-3 * max(
        1, abs(a.get('loss') or 0)) and far(a['y'], b['y']) < 1


def second(folder):
    with open(folder + '/models.json') as f:
        rows = json.load(f)['models']
    kept, off = [], {}
    for row in rows:
        try:
            m = keras.saving.load_model('%s/%d.keras' % (folder, row['number']), safe_mode=False)
        except Exception as e:
            print(row['seed'], 'cannot be read:', e, file=sys.stderr)
            continue
        agreed = []
        for c in row['calls']:
            other = outcome(lambda: predict(m, c['x']))
            if not same(c['answer'], other):
                text = '%s: %s | %s' % (row['kind'], c['answer'].get('error', 'takes'), other.get('error', 'takes'))
                off[text] = off.get(text, 0) + 1
                continue
            if 'trained' in c and not same(c['trained'], outcome(lambda: step(m, c['x'], c['targets']))):
                off[row['kind'] + ' trained'] = off.get(row['kind'] + ' trained', 0) + 1
                del c['trained'], c['targets']
            agreed.append(c)
        if agreed:
            kept.append({**row, 'calls': agreed})
    save(folder, kept)
    print(len(kept), 'models,', sum(len(r['calls']) for r in kept), 'calls; the backends differ in', json.dumps(off, indent=1), file=sys.stderr)


if __name__ == '__main__':
    from drawing import arguments
    p = arguments()
    p.add_argument('--second')
    a = p.parse_args()
    second(a.second) if a.second else draw(a.count, a.seed, a.out)
