"""Layers on inputs of every type: whether Keras takes them, and the type and the numbers of what it makes of them.

    KERAS_BACKEND=numpy python internal/randomnets/inputtypes.py answer numpy.json
    KERAS_BACKEND=tensorflow python internal/randomnets/inputtypes.py answer tensorflow.json
    python internal/randomnets/inputtypes.py join numpy.json tensorflow.json internal/randomnets/testdata/inputtypes.json.gz

The layers are those of vectors/gen/defaults.py. All numbers of floating weights follow from their places. ONLY names some of the classes. join keeps the cases on which the backends agree.
"""
import gzip
import json
import os
import sys
import warnings

warnings.filterwarnings('ignore')
os.environ.setdefault('TF_CPP_MIN_LOG_LEVEL', '3')
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'vectors', 'gen'))

TYPES = ['bool', 'uint8', 'uint16', 'uint32', 'int8', 'int16', 'int32', 'int64', 'float16', 'bfloat16', 'float64']
WORDS = {'StringLookup', 'TextVectorization', 'Lambda'}
IMAGES, VOLUMES, PAIR = [(5, 5, 3)], [(4, 4, 4, 2)], [(5, 4), (5, 4)]
# Layers whose first shapes of defaults.py say little, are too small, or are large.
SHAPES = {'Resizing': IMAGES, 'CenterCrop': IMAGES, 'RandomCrop': IMAGES, 'AugMix': [(6, 6, 3)], 'MelSpectrogram': [(96,)], 'STFTSpectrogram': [(40, 1)], 'GroupNormalization': [(2, 32)],
          'Hashing': [(3,)], 'IntegerLookup': [(3,)], 'HashedCrossing': [(1,), (1,)], 'CategoryEncoding': [(3,)], 'Dot': [(4,), (4,)], 'Discretization': [(3,)],
          'AdaptiveAveragePooling2D': IMAGES, 'AdaptiveMaxPooling2D': IMAGES, 'AdaptiveAveragePooling3D': VOLUMES, 'AdaptiveMaxPooling3D': VOLUMES, 'Attention': PAIR, 'AdditiveAttention': PAIR,
          'MultiHeadAttention': [(5, 4), (6, 4)], 'GroupQueryAttention': [(5, 4), (6, 4)], 'UnitNormalization': [(3, 4)], 'RMSNormalization': [(3, 4)], 'LayerNormalization': [(3, 4)]}
ARGUMENTS = {'MelSpectrogram': {'sequence_length': 64, 'fft_length': 64, 'sequence_stride': 32, 'num_mel_bins': 5, 'sampling_rate': 4000, 'max_freq': 2000},
             'STFTSpectrogram': {'frame_length': 16, 'frame_step': 8, 'fft_length': 16}, 'CenterCrop': {'height': 3, 'width': 3}, 'RandomCrop': {'height': 3, 'width': 3},
             'ConvLSTM1D': {'filters': 2, 'kernel_size': 2}, 'ConvLSTM2D': {'filters': 2, 'kernel_size': 2}, 'ConvLSTM3D': {'filters': 2, 'kernel_size': 2}}
INDICES = {'Embedding', 'ReversibleEmbedding', 'CategoryEncoding', 'IntegerLookup'}  # whose inputs are not negative


def weight(shape):
    import numpy as np
    n = int(np.prod(shape))
    return ((np.arange(n) * 5 + n) % 7 + 1).reshape(shape) / 8


def numbers(name, i, shape, dtype):
    import numpy as np
    n = 2 * int(np.prod(shape))
    v = (np.arange(n) * (3 + i) + i) % (2 if dtype == 'bool' else 5)
    if dtype[0] in 'if' and name not in INDICES:
        v = v - 1
    return v.reshape((2, *shape))


def written(y):
    import keras
    import numpy as np
    d = keras.backend.standardize_dtype(y.dtype)
    v = keras.ops.convert_to_numpy(y)
    v = v.astype('float32') if d == 'bfloat16' else v
    if v.dtype.kind == 'c':
        raise TypeError('complex')
    return {'dtype': d, 'shape': list(v.shape), 'data': [float(x) if np.isfinite(x) else None for x in v.astype('float64').ravel()]}


def case(name, make, shapes, dtype):
    import keras
    out = {'class': name, 'type': dtype, 'object': json.loads(json.dumps(keras.saving.serialize_keras_object(make()), default=lambda v: v.tolist() if hasattr(v, 'tolist') else str(v)))}
    x = [numbers(name, i, s, dtype) for i, s in enumerate(shapes)]
    out['inputs'] = [{'dtype': dtype, 'shape': list(a.shape), 'data': [float(v) for v in a.ravel()]} for a in x]
    try:
        inputs = [keras.Input(s, dtype=dtype) for s in shapes]
        layer = make()
        pair = name in ('MultiHeadAttention', 'GroupQueryAttention')
        y = layer(*inputs) if pair else layer(inputs if len(inputs) > 1 else inputs[0])
        m = keras.Model(inputs, y)
        for w in m.weights:
            if 'float' in str(w.dtype):
                w.assign(weight(w.shape))
        t = [keras.ops.cast(keras.ops.convert_to_tensor(a.astype('float64' if 'float' in dtype else dtype)), dtype) for a in x]
        out['outputs'] = [written(v) for v in keras.tree.flatten(m(t if len(t) > 1 else t[0], training=False))]
    except Exception as e:
        out['error'] = (type(e).__name__ + ': ' + ' '.join(str(e).split()))[:300]
    return out


def answer():
    import defaults
    import keras
    cases, only = [], os.environ.get('ONLY', '').split()
    for name, cls in defaults.classes(keras.layers, keras.layers.Layer).items():
        given = defaults.required(name, cls)
        if given is None or only and name not in only or name in WORDS or name.endswith('Cell') or name == 'StackedRNNCells':
            continue
        given = {**given, **ARGUMENTS.get(name, {})}

        def make():
            keras.utils.set_random_seed(1)
            keras.backend.clear_session()
            return cls(**{k: defaults.value(v) for k, v in given.items()})
        shapes = SHAPES.get(name)
        if shapes is None:
            shapes, _ = defaults.accepted(cls, given)
        if shapes is None:
            print('takes none:', name, file=sys.stderr)
            continue
        cases += [case(name, make, [tuple(s) for s in shapes], d) for d in TYPES]
    return cases


def same(a, b):
    if 'error' in a or 'error' in b:
        return 'error' in a and 'error' in b
    if [(o['dtype'], o['shape']) for o in a['outputs']] != [(o['dtype'], o['shape']) for o in b['outputs']]:
        return False
    for o, p in zip(a['outputs'], b['outputs']):
        rough = 0.02 if 'float16' in o['dtype'] else 1e-4
        for x, y in zip(o['data'], p['data']):
            if x != y and (x is None or y is None or abs(x - y) > rough * max(1, abs(x), abs(y))):
                return False
    return True


if __name__ == '__main__':
    if sys.argv[1] == 'answer':
        json.dump(answer(), open(sys.argv[2], 'w'))
    else:
        first, *others = [json.load(open(p)) for p in sys.argv[2:-1]]
        by = [{(c['class'], c['type']): c for c in o} for o in others]
        kept = [c for c in first if all((c['class'], c['type']) in o and same(c, o[c['class'], c['type']]) for o in by) and sum(len(o['data']) for o in c.get('outputs', [])) < 3000]
        print(len(kept), 'of', len(first), 'cases', file=sys.stderr)
        with open(sys.argv[-1], 'wb') as f, gzip.GzipFile(fileobj=f, mode='wb', mtime=0, filename='') as z:
            z.write(json.dumps(kept, separators=(',', ':')).encode())
