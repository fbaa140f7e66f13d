"""Draws initializers, constraints, regularizers and layers that draw numbers in training, with any configuration, wrong ones too, and writes down what Keras makes of them.

    python internal/randomtraining/parts.py 200 0 cases.json.gz

What is computed is recorded as numbers. What is drawn is recorded as statistics of several draws, each with its mean and its deviation: moments, quantiles, and the squares of
means over each choice of axes, which show what is drawn together. Keras's random numbers are others.
"""
import itertools
import json
import os
import sys

os.environ['KERAS_BACKEND'] = 'tensorflow'
os.environ.setdefault('TF_CPP_MIN_LOG_LEVEL', '3')
os.environ.setdefault('CUDA_VISIBLE_DEVICES', '')
import keras
import numpy as np
import runs
import tensorflow as tf
from draw import Draw, error, exact_constants, numbers, plain, short, words, write

DRAWS = 24
WRONG = [-1, 'no', [1, 2], {}, True, None, 1e300]
SCALED = ['GlorotUniform', 'GlorotNormal', 'HeUniform', 'HeNormal', 'LecunUniform', 'LecunNormal']


def shape_of(d, least=0, most=5, longest=7):
    return [d.randint(1, longest) for _ in range(d.randint(least, most))]


def axes(d, rank):
    """Some axes of a shape, or one, now and then one that it has not."""
    one = lambda: d.randint(-rank, rank - 1) if rank and d.random() < 0.95 else d.of(rank, -rank - 1, 7)
    return one() if d.random() < 0.5 else [one() for _ in range(d.randint(0, 3))]


def draw_initializer(d):
    name = d.of('Zeros', 'Ones', 'Constant', 'Identity', 'Orthogonal', 'RandomNormal', 'RandomUniform', 'TruncatedNormal', 'VarianceScaling', 'VarianceScaling', 'VarianceScaling', *SCALED)
    shape = d.of([40, 50], [2000], [3, 3, 10, 20], [2, 3, 4, 5, 6], shape_of(d), shape_of(d, 0, 3, 60))
    if name in ('Identity', 'Orthogonal') and d.random() < 0.8:
        shape = shape_of(d, 2, 2 if name == 'Identity' else 4, 12)
    s = {}
    if name == 'Constant':
        s = {'value': d.of(0.3, -2, 7, 1e6)}
    if name in ('Identity', 'Orthogonal'):
        s = d.maybe(0.6, gain=d.of(0.5, 2, -1.5, 0.0))
    if name in ('RandomNormal', 'TruncatedNormal'):
        s = d.maybe(0.6, mean=d.of(0.0, 3.0, -0.7), stddev=d.of(0.01, 1, 5.0, 0.0))
    if name == 'RandomUniform':
        s = d.maybe(0.6, minval=d.of(-3.0, 0.0, -0.05), maxval=d.of(0.0, 0.2, 10))
    if name == 'VarianceScaling':
        s = d.maybe(0.7, scale=d.of(0.1, 1.0, 2, 30.0), mode=d.of('fan_in', 'fan_out', 'fan_avg'), distribution=d.of('truncated_normal', 'untruncated_normal', 'uniform'))
    if name in SCALED or name == 'VarianceScaling':
        if d.random() < 0.3:
            some = lambda: [d.randint(-len(shape), len(shape) - 1) if shape and d.random() < 0.95 else 5 for _ in range(d.randint(0, 2))]
            s.update(d.maybe(0.9, input_axes=some(), output_axes=some()))
    if name not in ('Zeros', 'Ones', 'Constant', 'Identity'):
        s.update(d.maybe(0.3, seed=d.of(0, 1, 1234567)))
    return {'class': name, 'settings': s, 'shape': shape, 'dtype': d.of('float32', 'float32', 'float64', *['float16', 'bfloat16'] * (name != 'Orthogonal'))}


def draw_constraint(d):
    name = d.of('MaxNorm', 'MaxNorm', 'MinMaxNorm', 'MinMaxNorm', 'NonNeg', 'UnitNorm')
    shape = shape_of(d, 0, 4, 5)
    s = {}
    if name in ('MaxNorm', 'MinMaxNorm'):
        s = d.maybe(0.7, max_value=d.of(0.5, 1, 2.0, 0, 10.0))
    if name == 'MinMaxNorm':
        s.update(d.maybe(0.6, min_value=d.of(0.1, 0.0, 0.5), rate=d.of(0.0, 0.3, 1, 2.0)))
        if s.get('max_value') == 0:  # below the least
            s['max_value'] = 3.0
    if name != 'NonNeg':
        s.update(d.maybe(0.7, axis=axes(d, len(shape))))
    return {'class': name, 'settings': s, 'x': array(d, shape)}


def array(d, shape):
    a = d.array(d.of('grid', 'grid', 'large', 'positive', 'integer'), shape, d.of('float64', 'float64', 'float32'))
    if a['kind'] == 'integer':
        a['below'] = d.of(1, 2, 3)
    return a


def draw_regularizer(d):
    name = d.of('L1', 'L2', 'L1L2', 'L1L2', 'OrthogonalRegularizer', 'OrthogonalRegularizer')
    shape = shape_of(d, 2, 2, 6) if name == 'OrthogonalRegularizer' and d.random() < 0.9 else shape_of(d, 0, 4, 5)
    s = d.maybe(0.7, **({n: d.of(0.0, 0.01, 0.5, 1, 1e-6) for n in (['l1', 'l2'] if name == 'L1L2' else [name.lower()])} if name[0] == 'L' else
                        {'factor': d.of(0.01, 0.5, 2.0, 0.0), 'mode': d.of('rows', 'columns')}))
    x = array(d, shape)
    x['dtype'] = 'float32'  # TensorFlow takes no other with Keras's factors
    return {'class': name, 'settings': s, 'x': x}


def draw_layer(d):
    name = d.of('Dropout', 'Dropout', 'SpatialDropout1D', 'SpatialDropout2D', 'SpatialDropout3D', 'AlphaDropout', 'AlphaDropout', 'GaussianDropout', 'GaussianNoise', 'LSTM', 'GRU', 'SimpleRNN',
                'MultiHeadAttention', 'Bidirectional', 'TimeDistributed')
    rank = int(name[-2]) + 2 if 'Spatial' in name else 3 if name in ('LSTM', 'GRU', 'SimpleRNN', 'MultiHeadAttention', 'Bidirectional', 'TimeDistributed') else d.randint(1, 4)
    shape = [d.of(3, 4, 6)] + [d.of(2, 3, 5) for _ in range(rank - 1)]
    if rank <= 2:
        shape[0] = 40
    rate = d.of(0.0, 0.1, 0.3, 0.5, 0.9)
    s = {'stddev': d.of(0.0, 0.1, 2.0)} if name == 'GaussianNoise' else {'rate': rate}
    if name in ('Dropout', 'AlphaDropout'):
        s.update(d.maybe(0.5, noise_shape=[d.of(n, n, 1, None) for n in shape]))
    if 'Spatial' in name and name[-2] != '1':
        s.update(d.maybe(0.5, data_format=d.of('channels_first', 'channels_last')))
    if name in ('LSTM', 'GRU', 'SimpleRNN'):
        s = {'units': d.of(2, 3), **d.maybe(0.7, dropout=rate, recurrent_dropout=d.of(0.2, 0.6), return_sequences=True, go_backwards=True), **d.maybe(0.3, unroll=True)}
    if name == 'MultiHeadAttention':
        s = {'num_heads': d.of(1, 2), 'key_dim': 2, 'dropout': rate}
    if name not in ('Bidirectional', 'TimeDistributed'):
        s.update(d.maybe(0.3, seed=d.of(0, 1, 99)))
    if name == 'Bidirectional':
        s = {'layer': keras.saving.serialize_keras_object(keras.layers.GRU(2, dropout=rate, recurrent_dropout=0.3, return_sequences=d.of(True, False)))}
    if name == 'TimeDistributed':
        s = {'layer': keras.saving.serialize_keras_object(d.of(keras.layers.Dropout(rate), keras.layers.GaussianNoise(0.5), keras.layers.Dropout(rate, noise_shape=[None, 1])))}
    return {'class': name, 'settings': s, 'x': d.array(d.of('grid', 'positive'), shape), 'dtype': d.of('float32', 'float32', 'float32', *['float16', 'float64'] * (name not in ('Bidirectional', 'TimeDistributed')))}


def spoil(d, c):
    """One setting is wrong, or has the name of none."""
    s = c['settings']
    if s and d.random() < 0.8:
        s[d.choice(sorted(s))] = d.of(*WRONG)
    else:
        s['scales'] = 1.0
    c['spoilt'] = True


def statistics(a):
    """Of one draw. The same ones are in parts_test.go."""
    a = np.asarray(a, 'float64')
    v = np.sort(a.ravel())
    out = [v.mean(), np.square(v).mean(), np.abs(v).mean(), (v == 0).mean(), v[0], v[-1]] + [v[len(v) * k // 8] for k in (1, 2, 4, 6, 7)]
    for n in range(1, a.ndim):
        out += [np.square(a.mean(axis=over)).mean() for over in itertools.combinations(range(a.ndim), n)]
    return out


def summary(draws):
    s = np.array([statistics(a) for a in draws])
    return {'statistics': [[short(m, 9), short(v, 9)] for m, v in zip(s.mean(0), s.std(0, ddof=1))]}


def same(a, b):
    return all(np.array_equal(x, y, equal_nan=True) for x, y in zip(a, b))


def answer_initializer(c):
    cls, s = getattr(keras.initializers, c['class']), c['settings']
    one = cls.from_config(dict(s))
    host = lambda i: keras.ops.convert_to_numpy(keras.ops.cast(i(tuple(c['shape']), dtype=c['dtype']), 'float64'))
    out = {'config': words(json.loads(json.dumps(one.get_config())))}
    first = host(one)
    if 'Random' in c['class'] or c['class'] in SCALED + ['TruncatedNormal', 'VarianceScaling', 'Orthogonal']:
        return {**out, **summary([host(cls.from_config({**s, 'seed': 100 + k})) for k in range(DRAWS)])}
    return {**out, 'value': plain(first, 9)}


def answer_constraint(c):
    one = getattr(keras.constraints, c['class']).from_config(dict(c['settings']))
    return {'config': words(json.loads(json.dumps(one.get_config()))), 'value': plain(keras.ops.convert_to_numpy(one(keras.ops.convert_to_tensor(numbers(c['x'])))), 9)}


def answer_regularizer(c):
    one = getattr(keras.regularizers, c['class']).from_config(dict(c['settings']))
    x = tf.constant(numbers(c['x']))
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = one(x)
    g = tape.gradient(y, x) if isinstance(y, tf.Tensor) else None
    return {'config': words(json.loads(json.dumps(one.get_config()))), 'value': plain(np.asarray(y), 9), 'gradient': plain(np.zeros(x.shape) if g is None else g.numpy(), 9)}


def answer_layer(c):
    s = {**c['settings'], 'dtype': c['dtype'], 'name': 'drawn'}
    one = keras.saving.deserialize_keras_object({'module': 'keras.layers', 'class_name': c['class'], 'config': s, 'registered_name': None})
    x = keras.ops.cast(numbers(c['x']), c['dtype'])
    call = (lambda: one(x, x, training=True)) if c['class'] == 'MultiHeadAttention' else (lambda: one(x, training=True))
    call()
    runs.set_weights(one, 5)
    return {'config': words(json.loads(json.dumps(keras.saving.serialize_keras_object(one)['config']))), **summary([keras.ops.convert_to_numpy(keras.ops.cast(call(), 'float64')) for _ in range(2 * DRAWS)])}


KINDS = {'initializer': (draw_initializer, answer_initializer), 'constraint': (draw_constraint, answer_constraint), 'regularizer': (draw_regularizer, answer_regularizer),
         'layer': (draw_layer, answer_layer)}


def run(seed):
    d = Draw(seed)
    kind = d.of(*KINDS, 'initializer')
    draw, answer = KINDS[kind]
    c = {'kind': kind, 'number': seed, **draw(d)}
    if d.random() < 0.2:
        spoil(d, c)
    try:
        c['answer'] = answer({**c, 'settings': json.loads(json.dumps(c['settings']))})
    except Exception as e:
        c['answer'] = {'error': error(e)}
    return c


def main():
    exact_constants()
    cases = []
    for number in range(int(sys.argv[2]), int(sys.argv[2]) + int(sys.argv[1])):
        keras.utils.set_random_seed(number)
        cases.append(run(number))
    write(sys.argv[3], cases)
    print(len(cases), 'parts, Keras refuses', sum('error' in c['answer'] for c in cases), file=sys.stderr)


if __name__ == '__main__':
    main()
