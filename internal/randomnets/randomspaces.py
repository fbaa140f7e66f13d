"""Draws feature spaces (keras.utils.FeatureSpace) over random tables, and writes down what Keras makes of other rows.

    KERAS_BACKEND=tensorflow python internal/randomnets/randomspaces.py --count 100 --seed 0 --out folder

spaces.json has the features, the tables and the results; N.keras is a space after it has learned.
"""
import json
import os
import sys

os.environ.setdefault('KERAS_BACKEND', 'tensorflow')
os.environ.setdefault('TF_CPP_MIN_LOG_LEVEL', '3')
os.environ.setdefault('CUDA_VISIBLE_DEVICES', '')
import drawing
import keras
import numpy as np
import tensorflow as tf

F, L = keras.utils.FeatureSpace, keras.layers
WORDS = ['a', 'b', 'cat', 'Dog', 'été', '[UNK]', 'x y', '-1', 'b cat']  # no empty one, which Keras loses where it is the last in a file


def feature(d, row):
    """A feature, and the type of its column. A row of all features has none of whole numbers, mostly."""
    mode = d.maybe(0.6, output_mode=d.of('int', 'one_hot') if not row or d.random() < 0.03 else 'one_hot')
    kind = d.of('float', 'normalized', 'rescaled', 'discretized', 'integers', 'integers', 'words', 'words', 'hashed words', 'hashed integers', 'custom')
    if kind == 'float':
        return F.float(), 'float32'
    if kind == 'normalized':
        return F.float_normalized(), 'float32'
    if kind == 'rescaled':
        return F.float_rescaled(scale=d.of(0.5, -2.0), offset=d.of(0.0, 3.0)), 'float32'
    if kind == 'discretized':
        n = d.randint(2, 6)
        return (F.float_discretized(n, **mode) if d.random() < 0.95 else F.float_discretized(None, bin_boundaries=sorted({round(d.gauss(0, 1), 1) for _ in range(n - 1)}), **mode)), 'float32'
    categories = {**mode, **d.maybe(0.3, max_tokens=d.of(3, 4, 10), num_oov_indices=d.of(1, 2, 3))}
    if kind == 'integers':
        return F.integer_categorical(**categories), 'int32'
    if kind == 'words':
        return F.string_categorical(**categories), 'string'
    if kind == 'hashed words':
        return F.string_hashed(d.of(1, 3, 10), **mode), 'string'
    if kind == 'hashed integers':
        return F.integer_hashed(d.of(1, 3, 10), **mode), 'int32'
    mode = mode.get('output_mode', 'one_hot')
    return d.of(lambda: (F.feature('string', L.TextVectorization(output_mode=d.of('multi_hot', 'count', 'tf_idf')), 'float'), 'string'),
                lambda: (F.feature('int32', L.IntegerLookup(num_oov_indices=d.of(1, 2), **d.maybe(0.4, mask_token=0)), mode), 'int32'),
                lambda: (F.feature('string', L.StringLookup(**d.maybe(0.4, mask_token='a', oov_token='?')), mode), 'string'),
                lambda: (F.feature('string', L.StringLookup(output_mode=d.of('multi_hot', 'count', 'tf_idf', 'one_hot')), 'float'), 'string'),
                lambda: (F.feature('float32', L.Normalization(invert=d.of(True, False)), 'float'), 'float32'),
                lambda: (F.feature('string', L.Hashing(4, **d.maybe(0.5, salt=7, mask_value='a')), mode), 'string'))()


def column(d, kind, n):
    if kind == 'string':
        return [d.choice(WORDS) for _ in range(n)]
    if kind == 'int32':
        return [d.randint(-1, 8) for _ in range(n)]
    return [round(d.gauss(0, 2), 2) for _ in range(n)]


def tensors(table, kinds):
    return {k: tf.constant(v, tf.string) if kinds[k] == 'string' else tf.constant(v, kinds[k]) for k, v in table.items()}


def case(d, number, folder):
    mode = d.of('concat', 'dict')
    made = {'f%d' % k if d.random() < 0.7 else 'B%d' % k: feature(d, mode == 'concat') for k in range(d.randint(1, 5))}
    all, kinds = {k: v[0] for k, v in made.items()}, {k: v[1] for k, v in made.items()}
    crossable = [k for k, f in all.items() if type(f.preprocessor).__name__ in ('StringLookup', 'IntegerLookup', 'Hashing', 'Discretization')]
    crosses = []
    if len(crossable) > 1 and d.random() < 0.7:
        for _ in range(d.randint(1, 2)):
            crosses.append(F.cross(sorted(d.sample(crossable, 2 if d.random() < 0.95 else min(3, len(crossable)))), d.of(2, 5, 16), **d.maybe(0.5, output_mode=d.of('int', 'one_hot') if mode == 'dict' else 'one_hot')))
    crosses = list({x.name: x for x in crosses}.values())
    train, test = {k: column(d, t, 12) for k, t in kinds.items()}, {k: column(d, t, 5) for k, t in kinds.items()}
    c = {'number': number, 'types': kinds, 'mode': mode, 'train': train, 'test': test,
         'features': {k: {'mode': f.output_mode, 'type': f.dtype, 'preprocessor': json.loads(json.dumps(keras.saving.serialize_keras_object(f.preprocessor))) if kinds[k] != 'float32' or 'Identity' not in type(f.preprocessor).__name__ else None}
                      for k, f in all.items()},
         'crosses': [{'features': list(x.feature_names), 'bins': x.crossing_dim, 'mode': x.output_mode} for x in crosses]}
    try:
        space = F(all, output_mode=mode, crosses=crosses or None, crossing_dim=None)
        space.adapt(tf.data.Dataset.from_tensor_slices(tensors(train, kinds)).batch(d.of(4, 12)))
        y = space(tensors(test, kinds))
        y = y if isinstance(y, dict) else {'': y}
        c['results'] = {k: {'dtype': str(v.numpy().dtype), 'shape': list(v.shape), 'data': [float('%.7g' % x) for x in v.numpy().astype('float64').ravel()]} for k, v in y.items()}
        space.save('%s/%d.keras' % (folder, number))
    except Exception as e:
        c['error'] = (type(e).__name__ + ': ' + ' '.join(str(e).split()))[:300]
    return c


def main():
    a = drawing.arguments().parse_args()
    os.makedirs(a.out, exist_ok=True)
    cases = []
    for i in range(a.count):
        keras.utils.set_random_seed(a.seed + i)
        keras.backend.clear_session()
        cases.append({**case(drawing.Draw(a.seed + i), i, a.out), 'seed': a.seed + i})
    with open(a.out + '/spaces.json', 'w') as f:
        json.dump(cases, f, separators=(',', ':'))
    print(len(cases), 'spaces,', sum('error' in c for c in cases), 'refused', {c['error'][:110] for c in cases if 'error' in c}, file=sys.stderr)


if __name__ == '__main__':
    main()
