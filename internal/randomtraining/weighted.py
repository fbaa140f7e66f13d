"""Draws training in which examples, steps and classes have weights, steps are masked, and batches have unequal sizes, and writes down what Keras makes of it.

    KERAS_BACKEND=tensorflow python internal/randomtraining/weighted.py 100 0 internal/randomtraining/testdata/weighted.json.gz

A case is a model and several calls of fit, with losses of every reduction, metrics with and without weights, data as arrays or as batches that may be one example long or end before the
steps of an epoch do, and sets of their own for validation. After each call Keras evaluates and predicts. It computes on one device from the first call to the last; the other program is told on which
devices to compute each call, and how to carry the model from one to the next: by a file, or by a backup of a run that is interrupted. Most models compute in float64, others in float32 or in
16 bits, which leave more to rounding.
"""
import contextlib
import io
import json
import os
import warnings

os.environ.setdefault('KERAS_BACKEND', 'tensorflow')
os.environ.setdefault('TF_CPP_MIN_LOG_LEVEL', '3')
os.environ.setdefault('CUDA_VISIBLE_DEVICES', '')
import keras
import numpy as np
import runs
from calls import digest
from draw import Draw, dense_gradients, error, numbers, plain, record, short

L = keras.layers


class Batches(keras.utils.PyDataset):
    """Arrays in batches of given sizes."""

    def __init__(self, arrays, sizes):
        super().__init__()
        self.arrays, self.bounds = arrays, np.cumsum([0] + sizes)

    def __len__(self):
        return len(self.bounds) - 1

    def __getitem__(self, i):
        cut = lambda a: a[self.bounds[i]:self.bounds[i + 1]]
        return tuple(tuple(map(cut, a)) if isinstance(a, list) else keras.tree.map_structure(cut, a) for a in self.arrays)


def draw_optimizer(d, policy):
    while True:
        o = runs.draw_optimizer(d)
        # Lion takes the sign of what may be rounding, Muon iterates on it, and the norms of Lamb and Adafactor multiply it.
        if type(o).__name__ in ('SGD', 'RMSprop', 'Adagrad') or policy == 'float64' and type(o).__name__ not in ('Lion', 'Muon'):
            return o


def draw_metrics(d, head, policy):
    """TensorFlow has no places among numbers of other types than float32."""
    while True:
        metrics = runs.draw_metrics(d, head)
        if policy == 'float32' or not any('TopK' in type(m).__name__ for m in metrics):
            return metrics


def draw_weights(d, heads, n, masked):
    """One array for each output. With a mask, Keras takes weights of steps, or of examples along two axes."""
    def one(head):
        steps = list(head[3][:-1])
        shape = [n] + d.of(steps, [1] * len(steps)) if steps else d.of([n], [n, 1])
        return d.array(d.of('positive', 'integer', 'integer'), shape, 'float32', below=d.of(2, 3))
    return [one(h) for h in heads]


def draw_sizes(d, n):
    """Sizes of batches, some of one example."""
    sizes = []
    while sum(sizes) < n:
        sizes.append(min(d.of(1, 2, 3, 4, 5), n - sum(sizes)))
    return sizes


def draw_set(d, specs, heads, masked):
    n = d.randint(4, 11)
    s = {'x': [{**s, 'seed': d.randrange(1 << 20), 'shape': [n] + s['shape']} for s in specs], 'y': [runs.labels(d, h, n) for h in heads], 'w': draw_weights(d, heads, n, masked)}
    for v, w, h in zip(s['y'], s['w'], heads):  # of labels with an axis less, Keras multiplies the losses of examples with a mask of steps, if there are as many
        if len(h[3]) > 1 and h[0] in ('number', 'bit'):
            v['shape'] = [n] + list(h[3])
    s['sizes'] = draw_sizes(d, n)
    return s


def draw_call(d, c, several, last):
    k = d.of(0, 1)
    a = {'data': k, 'epochs': d.randint(1, 3), 'batch_size': d.randint(1, 5), 'batches': d.random() < 0.4, 'weights': d.random() < 0.75, 'evaluate': {'data': d.of(0, 1), 'weights': d.random() < 0.7, 'batch_size': d.randint(1, 5)}}
    if not a['weights'] and c['classes'] and not a['batches'] and d.random() < 0.7:
        a['class_weight'] = {str(j): d.of(0.0, 0.5, 2.0) for j in range(c['classes'])}
    if d.random() < 0.3:
        a['steps_per_epoch'] = d.randint(1, 6)
    if d.random() < 0.4:
        a['validation'] = {'data': d.of(0, 1), 'weights': d.random() < 0.7}
        a.update(d.maybe(0.4, validation_batch_size=d.randint(1, 4)))
    elif not a['batches'] and d.random() < 0.3:
        a['validation_split'] = d.of(0.15, 0.2, 0.34, 0.5, 0.7)
    a['devices'] = d.of('one', 'mirrored 2', 'mirrored 3', 'central 2', 'central 3')
    a['by'] = '' if last else d.of('keras', 'keras', 'weights.h5', 'weights.json', 'arrays', 'backup')
    if a['by'] == 'backup':
        a.update(interrupt=d.randint(0, 4), backup=d.maybe(0.7, save_freq=d.of(1, 2)))
    return a


class Trained:
    def __init__(self, c, m):
        self.c, self.m, self.several = c, m, len(m.outputs) > 1

    def arrays(self, k, weights):
        s = self.c['data'][k]
        x = {'in%d' % j: numbers(v) for j, v in enumerate(s['x'])}
        pack = lambda v: v if self.several else v[0]
        return (x if len(x) > 1 else x['in0'], pack([numbers(v) for v in s['y']])) + ((pack([numbers(v) for v in s['w']]),) if weights else ())

    def fit(self, a):
        given = {k: v for k, v in a.items() if k in ('epochs', 'steps_per_epoch', 'validation_split', 'validation_batch_size')}
        if 'class_weight' in a:
            given['class_weight'] = {int(k): v for k, v in a['class_weight'].items()}
        if 'validation' in a:
            given['validation_data'] = self.arrays(a['validation']['data'], a['validation']['weights'])
        arrays = self.arrays(a['data'], a['weights'])
        if a['batches']:
            h = self.m.fit(Batches(arrays, self.c['data'][a['data']]['sizes']), verbose=0, shuffle=False, **given)
        else:
            x, y, *w = arrays
            h = self.m.fit(x, y, sample_weight=w[0] if w else None, batch_size=a['batch_size'], shuffle=False, verbose=0, **given)
        e = a['evaluate']
        x, y, *w = self.arrays(e['data'], e['weights'])
        scores = self.m.evaluate(x, y, sample_weight=w[0] if w else None, batch_size=e['batch_size'], verbose=0, return_dict=True)
        return {'history': runs.logs_of(h.history), 'scores': {k: [short(v, 8) for v in np.asarray(s).ravel()] for k, s in scores.items()},
                'predictions': [plain(p, 8) for p in keras.tree.flatten(self.m.predict(x, batch_size=e['batch_size'], verbose=0))],
                'weights': [digest(keras.ops.convert_to_numpy(w)) for w in self.m.weights]}


def run(seed):
    d = Draw(seed)
    policy = d.of('float64', 'float64', 'float64', 'float64', 'float32', 'mixed_bfloat16')
    keras.config.set_floatx('float64' if policy == 'float64' else 'float32')
    keras.config.set_dtype_policy(policy)
    while True:
        m, specs, heads, stateful, _ = runs.draw_model(d)
        masked = any(type(l).__name__ == 'Masking' or getattr(l, 'mask_zero', False) for l in m._flatten_layers())
        if not stateful and (masked or d.random() < 0.2) and not any(isinstance(l, L.BatchNormalization) for l in m._flatten_layers()):
            break
    if policy == 'float64':
        specs = [{**s, 'dtype': 'float64' if s['dtype'] == 'float32' else s['dtype']} for s in specs]
    several = len(heads) > 1
    losses, metrics, weighted = [runs.draw_loss(d, h) for h in heads], [draw_metrics(d, h, policy) for h in heads], [draw_metrics(d, h, policy) if d.random() < 0.6 else [] for h in heads]
    config = {'optimizer': draw_optimizer(d, policy)}
    if several:
        config.update(loss=losses, metrics=metrics, weighted_metrics=weighted, loss_weights=d.of(None, [d.of(0.5, 1.0, 2.0, 0.0) for _ in heads]))
    else:
        config.update(loss=losses[0], metrics=metrics[0], weighted_metrics=weighted[0])
    c = {'class': 'weighted', 'number': seed, 'policy': policy, 'seed': d.randrange(1 << 20), 'classes': 0, 'data': [draw_set(d, specs, heads, masked) for _ in range(2)]}
    if not several and heads[0][0] in ('class', 'bit') and heads[0][1] in (1, 3) and len(heads[0][3]) == 1:
        c['classes'] = 3 if heads[0][0] == 'class' else 2
    m.compile(**config, run_eagerly=True)
    c['model'] = json.loads(m.to_json())
    runs.set_weights(m, c['seed'])
    c['calls'], t = [], Trained(c, m)
    count = d.randint(2, 3)
    for k in range(count):
        a = json.loads(json.dumps(draw_call(d, c, several, k == count - 1)))
        try:
            with contextlib.redirect_stdout(io.StringIO()):
                a['answer'] = t.fit(a)
        except Exception as e:
            if os.environ.get('DRAW_DEBUG'):
                import traceback
                traceback.print_exc()
            a['answer'] = {'error': error(e)}
        c['calls'].append(a)
        if 'error' in a['answer']:
            break
    return c


if __name__ == '__main__':
    warnings.simplefilter('ignore')
    dense_gradients()
    record(run, 'cases')
