"""What randomgraphs.py and randomlayers.py share: a model that was drawn is saved, predicts, is trained one step with Keras, and predicts again.

In models.json there are, for each model: its inputs and what it predicts, with types; the shapes that Keras infers, open axes as null; the number of its
parameters; and, where it has something to train, targets, the loss of one step of SGD, and what it predicts then, and the same after a second step. Models whose results depend on how sums are rounded
are left out.
"""
import argparse
import contextlib
import json
import os
import random
import sys

os.environ.setdefault('KERAS_BACKEND', 'jax')
os.environ.setdefault('JAX_PLATFORMS', 'cpu')
import warnings
warnings.filterwarnings('ignore')
import keras
import numpy as np

ROUGH = {'float16': 5e-4, 'bfloat16': 4e-3, 'float32': 4e-7, 'float64': 1e-15}


def array(a):
    return keras.ops.convert_to_numpy(a)


def lists(y):
    return list(y) if isinstance(y, (list, tuple)) else list(y.values()) if isinstance(y, dict) else [y]


def number(v):
    return float(v) if np.isfinite(v) else None


def plain(a, dtype=None):
    dtype = dtype or keras.backend.standardize_dtype(a.dtype)
    a = array(a).astype('float64')
    return {'dtype': dtype, 'shape': list(a.shape), 'data': [number(v) for v in a.ravel()]}


def untyped(x):
    return np.array([0 if v is None else v for v in x['data']]).reshape(x['shape']).astype(x['dtype'] if x['dtype'] != 'bfloat16' else 'float32')


def drawn(r, shape, dtype):
    """Examples for an input: numbers around zero, small whole numbers, or words."""
    rng = np.random.default_rng(r.randrange(1 << 30))
    if dtype == 'bool':
        return rng.random(shape) < 0.5
    if 'int' in dtype:
        return rng.integers(0 if dtype[0] == 'u' else -2, 5, shape).astype(dtype)
    return (rng.standard_normal(shape) * 0.7).astype('float32' if dtype == 'bfloat16' else dtype)


@contextlib.contextmanager
def rounded(seed):
    """Makes results differ in the last digits, as they do between programs that compute the same in another order."""
    call, noise = keras.Operation.__call__, np.random.default_rng(seed)

    def near(a):
        if a is None or isinstance(a, keras.KerasTensor) or not hasattr(a, 'dtype') or not keras.backend.is_float_dtype(a.dtype):
            return a
        off = ROUGH[keras.backend.standardize_dtype(a.dtype)]
        return a * keras.ops.cast(1 + noise.choice([-off, 0, off], tuple(a.shape)), a.dtype)

    def noisy(self, *args, **kwargs):
        return keras.tree.map_structure(near, call(self, *args, **kwargs))

    keras.Operation.__call__ = noisy
    try:
        yield
    finally:
        keras.Operation.__call__ = call


def far(got, want):
    """How far answers are from each other, in units of what the other program is allowed."""
    off = 0
    for a, b in zip(got, want):
        rough = max(tolerance(a['dtype']), tolerance(b['dtype']))
        largest = max([1] + [abs(v) for v in b['data'] if v is not None])
        for v, w in zip(a['data'], b['data']):
            off = max(off, 0 if v == w else 100 if None in (v, w) else abs(v - w) / largest / rough)
    return off


def resulting(declared, computed):
    """The type of a result. What Keras infers for it says what JAX keeps in 32 bits; where both differ otherwise, as in multi_hot of whole numbers, results have what is computed."""
    return declared if computed in (declared, declared.replace('64', '32')) else computed


def tolerance(dtype):
    return {'float16': 1e-2, 'bfloat16': 6e-2}.get(dtype, 5e-4)


class Case:
    def __init__(self, r, m, folder, number, arrays=None):
        self.r, self.m, self.base, self.number = r, m, '%s/%d' % (folder, number), number
        self.x = arrays or [drawn(r, [3] + [5 if d is None else d for d in i.shape[1:]], i.dtype) for i in m.inputs]
        self.types = [keras.backend.standardize_dtype(o.dtype) for o in m.outputs]

    def given(self):
        x = [keras.ops.convert_to_tensor(a, i.dtype) for a, i in zip(self.x, self.m.inputs)]
        return x if len(x) > 1 else x[0]

    def predict(self):
        return [plain(a, resulting(t, keras.backend.standardize_dtype(a.dtype))) for a, t in zip(lists(self.m(self.given(), training=False)), self.types)]

    def compile(self):
        self.m.compile(keras.optimizers.SGD(self.rate, momentum=self.momentum), self.loss, run_eagerly=True)

    def step(self):
        self.compile()
        return self.more()

    def more(self):
        """Another step of the same optimizer."""
        y = self.targets if len(self.targets) > 1 else self.targets[0]
        return float(lists(self.m.train_on_batch(self.given(), y))[0])

    def record(self, loss='mse'):
        r, m, self.loss = self.r, self.m, loss
        for w in m.trainable_weights:
            w.assign((array(w) + np.random.default_rng(r.randrange(1 << 30)).standard_normal(w.shape) * 0.1).astype('float32'))
        self.rate, self.momentum = r.choice([0.01, 0.1]), r.choice([0.0, 0.9])
        self.compile()
        m.optimizer.build(m.trainable_variables)  # as loading does
        m.save(self.base + '.keras')
        self.m = m = keras.saving.load_model(self.base + '.keras')  # files turn numbers of numpy into those of Python, which have other types
        self.types = [keras.backend.standardize_dtype(o.dtype) for o in m.outputs]
        y = self.predict()
        if sum(len(a['data']) for a in y) > 20000:
            return None
        if any(d not in (None, n) for a, o in zip(y, m.outputs) for d, n in zip(o.shape, a['shape'])):
            return None  # not the shape that Keras infers, as of RMSNormalization along axes that are not the last ones in their order
        out = {'number': self.number, 'x': [plain(a, i.dtype) for a, i in zip(self.x, m.inputs)], 'y': y, 'params': m.count_params(),
               'shapes': [list(o.shape) for o in m.outputs]}
        start = [array(w) for w in m.weights]
        with rounded(1):
            if far(self.predict(), y) > 0.3:
                return 'rounding decides'
        self.back(start)
        if m.trainable_weights:
            why = self.train(out, start)
            if why:
                return why
        return out

    def back(self, start):
        for w, v in zip(self.m.weights, start):
            w.assign(v)

    def train(self, out, start):
        self.targets = [drawn(self.r, a['shape'], 'float32') for a in out['y']]
        loss = self.step()
        after = self.predict()
        moved = [array(w) for w in self.m.weights]
        second = self.more()
        later = self.predict()
        if not np.isfinite(loss) or any(None in a['data'] for a in after):
            return None
        if all(np.array_equal(a, b) for a, b in zip(moved, start)):
            return None  # no output depends on a weight, which is an error elsewhere
        steady = np.isfinite(second) and not any(None in a['data'] for a in later)
        for seed in range(2):
            self.back(start)
            with rounded(seed):
                other = self.step()
            if abs(other - loss) > 3e-5 * max(1, abs(loss)) or far(self.predict(), after) > 0.3:
                return 'rounding decides'
            with rounded(seed + 2):
                other = self.more()
            steady &= abs(other - second) <= 3e-5 * max(1, abs(second)) and far(self.predict(), later) <= 0.3
        self.back(moved)
        if steady:
            out.update(second=second, later=later)
        out.update(targets=[plain(t) for t in self.targets], loss=loss, after=after, optimizer={'rate': self.rate, 'momentum': self.momentum})


def draw(make, a):
    os.makedirs(a.out, exist_ok=True)
    rows, failed, rounding, refused = [], {}, [], []
    for i in range(a.count):
        r = random.Random(a.seed + i)
        keras.utils.set_random_seed(a.seed + i)
        try:
            row = make(r, i, a.out, refused)
        except Exception as e:
            failed[type(e).__name__ + ': ' + ' '.join(str(e).split())[:150]] = a.seed + i
            if a.debug:
                raise
            row = None
        if row == 'rounding decides':
            rounding.append(a.seed + i)
        elif row:
            row['seed'] = a.seed + i
            rows.append(row)
        if i % 50 == 49:
            keras.backend.clear_session()
    with open(a.out + '/models.json', 'w') as f:
        json.dump({'keras': keras.__version__, 'models': rows}, f)
    print(len(rows), 'models,', sum('loss' in row for row in rows), 'trained, rounding decides in', len(rounding), 'steps refused', len(refused), 'Keras fails with', failed, file=sys.stderr)
    if a.refused:
        print('\n'.join(sorted(set(refused))), file=sys.stderr)


def check(folder):
    """Opens what the other program wrote after the step and prints what differs; it counts the lines."""
    with open(folder + '/models.json') as f:
        rows = json.load(f)['models']
    opened = 0
    for row in rows:
        path = '%s/%d.ours.keras' % (folder, row['number'])
        if not os.path.exists(path):
            continue
        try:
            m = keras.saving.load_model(path, safe_mode=False)
            opened += 1
            case = Case(random.Random(0), m, folder, row['number'], [untyped(x) for x in row['x']])
            off = far(case.predict(), row.get('after', row['y']))
            if not off < 2:
                print('model of seed %d: predictions are %g times too far from each other' % (row['seed'], off))
            if 'second' in row:
                case.targets, m.run_eagerly = [untyped(t) for t in row['targets']], True
                loss = case.more()
                off = far(case.predict(), row['later'])
                if not (abs(loss - row['second']) <= 1e-3 * max(1, abs(loss)) and off < 2):
                    print('model of seed %d: the next step has the loss %g, not %g, and predictions that are %g times too far from each other' % (row['seed'], loss, row['second'], off))
        except Exception as e:
            print('model of seed %d: %s: %s' % (row['seed'], type(e).__name__, ' '.join(str(e).split())[:300]))
    print('opened', opened)


def answer(folder):
    """Reads what the other program drew, takes its first step, writes N.theirs.keras, takes its second step, and prints what differs. Types have the names of Go's fields."""
    with open(folder + '/models.json') as f:
        rows = json.load(f)['models']
    small = lambda list_: [{'dtype': a['DType'], 'shape': a['Shape'], 'data': a['Data']} for a in list_]
    for row in rows:
        try:
            m = keras.saving.load_model('%s/%d.keras' % (folder, row['Number']), safe_mode=False)
            m.run_eagerly = True
            case = Case(random.Random(0), m, folder, row['Number'], [untyped(x) for x in small(row['X'])])
            case.targets = [untyped(t) for t in small(row['Targets'])]
            differs = [far(case.predict(), small(row['Y'])), far([{**small(row['X'])[0], 'data': [float(m.count_params())]}], [{**small(row['X'])[0], 'data': [float(row['Params'])]}])]
            start = [[array(w) for w in v] for v in (m.weights, m.optimizer.variables)]
            for loss, after in (('Loss', 'After'), ('Second', 'Later')):
                got = case.more()
                differs += [abs(got - row[loss]) / max(1, abs(row[loss])) / (2e-4 if 'float16' not in str(row['Y'][0]['DType']) else 1e-2), far(case.predict(), small(row[after]))]
                if loss == 'Loss':
                    m.save('%s/%d.theirs.keras' % (folder, row['Number']))
            for w, v in zip(m.weights + m.optimizer.variables, start[0] + start[1]):
                w.assign(v)
            with rounded(1):
                case.more()
                case.more()
            if far(case.predict(), small(row['Later'])) > 0.3 and max(differs) < 20:
                os.remove('%s/%d.theirs.keras' % (folder, row['Number']))  # rounding decides
            elif not max(differs) < 1:
                print('model of seed %d: %s times too far: predictions, parameters, loss, predictions, loss, predictions' % (row['Seed'], ['%.3g' % v for v in differs]))
        except Exception as e:
            print('model of seed %d: %s: %s' % (row['Seed'], type(e).__name__, ' '.join(str(e).split())[:300]))


def run(make):
    p = argparse.ArgumentParser()
    p.add_argument('--count', type=int, default=100)
    p.add_argument('--seed', type=int, default=0)
    p.add_argument('--out')
    p.add_argument('--check')
    p.add_argument('--answer')
    p.add_argument('--debug', action='store_true')
    p.add_argument('--refused', action='store_true')
    a = p.parse_args()
    answer(a.answer) if a.answer else check(a.check) if a.check else draw(make, a)
