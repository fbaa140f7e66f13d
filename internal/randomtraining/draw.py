"""What the scripts of this folder share: random choices, numbers that both sides make from a seed, files of cases."""
import gzip
import json
import math
import os
import random
import sys

import numpy as np


class Draw(random.Random):
    def of(self, *choices):
        return self.choice(choices)

    def maybe(self, chance, **settings):
        """Some of the settings: each with the chance."""
        return {k: v for k, v in settings.items() if self.random() < chance}

    def array(self, kind, shape, dtype='float32', **more):
        return {'kind': kind, 'seed': self.randrange(1 << 20), 'shape': list(shape), 'dtype': dtype, **more}


def numbers(spec):
    """The array of a specification. The same few lines are in values_test.go."""
    shape, kind = spec['shape'], spec['kind']
    n, state = math.prod(shape), spec['seed']
    drawn = []
    for _ in range(n):
        state = (state * 1664525 + 1013904223) % 2**32
        drawn.append(state >> 8)
    v = np.array(drawn, dtype='int64')
    width = shape[-1] if shape else 1
    if kind == 'grid':
        v = (v % 401 - 200) / 100
    elif kind == 'large':
        v = (v % 401 - 200) / 2
    elif kind == 'positive':
        v = (v % 300 + 1) / 100
    elif kind == 'fraction':
        v = (v % 101) / 100
    elif kind == 'inner':
        v = (v % 97 + 2) / 100
    elif kind == 'integer':
        v = v % spec['below'] + spec.get('from', 0)
    elif kind == 'simplex':
        v = (v % 100 + 1).reshape(-1, width).astype('float64')
        v = v / v.sum(-1, keepdims=True) if n else v
    elif kind == 'onehot':
        rows = v.reshape(-1, width)[:, 0] % max(width, 1) if n else np.zeros(0, 'int64')
        v = np.eye(width)[rows]
    elif kind == 'sign':
        v = v % 2 * 2 - 1
    else:
        raise ValueError(kind)
    return v.reshape(shape).astype('float64').astype(spec['dtype'] if spec['dtype'] != 'bfloat16' else 'float32')


def plain(a, digits=8):
    """An array for a file: its shape and its numbers to a few digits."""
    a = np.asarray(a)
    return {'shape': list(a.shape), 'data': [short(x, digits) for x in a.astype('float64').ravel()]}


def short(x, digits=8):
    x = float(x)
    return float('%.*g' % (digits, x)) if math.isfinite(x) else 'NaN' if math.isnan(x) else 'Infinity' if x > 0 else '-Infinity'


def words(x):
    """A configuration as JSON has it, with words for numbers that are not finite."""
    if isinstance(x, dict):
        return {k: words(v) for k, v in x.items()}
    if isinstance(x, (list, tuple)):
        return [words(v) for v in x]
    return short(x) if isinstance(x, float) and not math.isfinite(x) else x


def error(e):
    return (type(e).__name__ + ': ' + ' '.join(str(e).split()))[:160]


def write(path, cases):
    data = json.dumps(cases, separators=(',', ':')).replace('},{"class"', '},\n{"class"').encode()
    with open(path, 'wb') as f:
        f.write(gzip.compress(data, 9, mtime=0) if path.endswith('.gz') else data)


def read(path):
    with (gzip.open if path.endswith('.gz') else open)(path) as f:
        return json.load(f)


def dense_gradients():
    """Optimizers get whole gradients of embeddings, as with all backends but TensorFlow: its have the rows of a batch, of which Adafactor takes other means, and Nadam leaves other rows' averages."""
    import keras
    if keras.backend.backend() == 'tensorflow':
        import tensorflow as tf
        for c in (keras.optimizers.Optimizer, keras.optimizers.LossScaleOptimizer):
            def apply(self, grads, trainable_variables=None, plain=c.apply):
                return plain(self, [tf.convert_to_tensor(g) if isinstance(g, tf.IndexedSlices) else g for g in grads], trainable_variables)
            c.apply = apply


def exact_constants():
    """Numbers of Python that TensorFlow is given for float64 reach it as they are. It makes them float32 first: Adam's 1 - 0.999 is then wrong in the fifth digit, and a small network with batch
    normalization over three examples in the fourth."""
    import keras
    if keras.backend.backend() == 'tensorflow':
        import tensorflow as tf
        core = keras.src.backend.core

        def cast(x, dtype, plain=core.cast):
            return tf.constant(x, 'float64') if isinstance(x, float) and dtype == 'float64' else plain(x, dtype)

        def convert(x, dtype=None, sparse=None, ragged=None, plain=core.convert_to_tensor):
            return plain(x, keras.config.floatx() if isinstance(x, float) and dtype is None else dtype, sparse, ragged)

        core.cast, core.convert_to_tensor = cast, convert
        keras.src.backend.cast, keras.src.backend.convert_to_tensor = cast, convert


def agree(x, y, rough=1e-4):
    """Whether two answers are the same but for rounding."""
    if isinstance(x, dict):
        return isinstance(y, dict) and ('error' in x or x.keys() == y.keys()) and all(k == 'error' or agree(v, y[k], rough) for k, v in x.items() if k in y or k != 'error') and ('error' in x) == ('error' in y)
    if isinstance(x, list):
        return isinstance(y, list) and len(x) == len(y) and all(agree(a, b, rough) for a, b in zip(x, y))
    if isinstance(x, float) and isinstance(y, float):
        return abs(x - y) <= rough * max(abs(x), abs(y), 1e-3)
    return x == y


def record(run, nouns):
    """Writes the cases that run draws for the numbers of the command line, and prints what Keras refuses."""
    import keras
    exact_constants()
    out, errors = [], {}
    for k in range(int(sys.argv[1])):
        keras.backend.clear_session()
        number = int(sys.argv[2]) + k
        try:
            c = run(number)
        except Exception as e:
            errors.setdefault(error(e), []).append(number)
            if os.environ.get('DRAW_DEBUG'):
                raise
            continue
        for call in c['calls']:
            if 'error' in call['answer']:
                errors.setdefault('%s: %s' % (call.get('name', 'fit'), call['answer']['error']), []).append(number)
        out.append(c)
        if len(out) % 5 == 0:
            write(sys.argv[3], out)
    write(sys.argv[3], out)
    print(len(out), nouns + ',', sum(len(c['calls']) for c in out), 'calls, Keras refuses', json.dumps(errors, indent=1), file=sys.stderr)
