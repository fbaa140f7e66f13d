"""Writes loss_scale.json.gz: what real Keras does with steps of mixed_float16 whose gradients overflow.

    KERAS_BACKEND=jax python loss_scale.py record jax.json
    KERAS_BACKEND=tensorflow python loss_scale.py record tensorflow.json
    python loss_scale.py join jax.json tensorflow.json

A case trains a small network on one batch after the other; the targets of some are so large that gradients of the scaled loss overflow, or NaN. After each batch
all variables of the optimizer and the weights are recorded. With TensorFlow there are cases on a MirroredStrategy of two devices, too.
"""
import contextlib
import gzip
import json
import os
import sys

os.environ.setdefault('TF_CPP_MIN_LOG_LEVEL', '3')
os.environ.setdefault('CUDA_VISIBLE_DEVICES', '')
import keras
import numpy as np

O = keras.optimizers
WEIGHTS = [[[0.5, -0.25, 0.75, 0.125], [-0.5, 0.25, 0.5, -0.75], [0.25, 0.625, -0.375, 0.5]], [0.125, -0.25, 0.0, 0.25], [[0.5, -0.5], [0.25, 0.75], [-0.625, 0.25], [0.375, 0.5]],
           [0.25, -0.125]]
BATCHES = 9
# What is wrong with some batches: the row from which on their targets are replaced, and by what.
TROUBLE = {'large': {0: (0, 3e4), 4: (0, 3e4), 5: (0, 3e4)}, 'first half': {2: (-4, 3e4), 6: (-4, 3e4)}, 'nan': {1: (0, np.nan), 4: (0, np.inf)}, 'none': {}}
INNER = {
    'sgd': lambda: O.SGD(0.1, momentum=0.9),
    'scheduled': lambda: O.SGD(O.schedules.ExponentialDecay(0.2, 2, 0.5)),
    'adam': lambda: O.Adam(0.05, epsilon=0.01),
    'adamw': lambda: O.AdamW(0.05, epsilon=0.01, weight_decay=0.1),
    'clipped': lambda: O.SGD(0.1, global_clipnorm=0.5),
    'averaged': lambda: O.SGD(0.1, use_ema=True, ema_momentum=0.5),
    'overwritten': lambda: O.SGD(0.1, use_ema=True, ema_momentum=0.5, ema_overwrite_frequency=2),
    'accumulated': lambda: O.SGD(0.1, gradient_accumulation_steps=2),
    'nadam': lambda: O.Nadam(0.05, epsilon=0.01),
    'rmsprop': lambda: O.RMSprop(0.02, centered=True, epsilon=0.1),
}
CASES = [(inner, 'large', None, None) for inner in INNER] + [(inner, t, 4.0, 2) for inner in ('sgd', 'adam', 'accumulated') for t in ('none', 'nan')] + \
    [('sgd', 'first half', 2.0 ** 15, 3), ('adam', 'first half', 2.0 ** 15, 3), ('adamw', 'none', 2.0 ** 23, 2)]


# On two devices Keras clips before the mean of the gradients; on JAX, the scaled Nadam forgets the product of its momentums (and averages and accumulation on two devices end in errors).
PECULIAR = [('clipped', 'tensorflow', 2), ('nadam', 'jax', 1)]


def batches(trouble):
    k = np.arange(BATCHES * 8 * 3).reshape(BATCHES, 8, 3)
    x = (k * 7 % 17 - 8) / 8.0
    y = (np.arange(BATCHES * 8 * 2).reshape(BATCHES, 8, 2) * 5 % 13 - 6) / 8.0
    for i, (row, v) in TROUBLE[trouble].items():
        if row < 0:
            y[i, :-row] = v
        else:
            y[i, row:] = v
    return x.astype('float32'), y.astype('float32')


def plain(v):
    a = np.asarray(keras.ops.convert_to_numpy(v)).astype('float64')
    return {'shape': list(a.shape), 'data': [float('%.6g' % x) if np.isfinite(x) else str(x) for x in a.ravel()]}


def run(case, strategy=None):
    inner, trouble, scale, growth = case
    keras.utils.clear_session()
    keras.config.set_dtype_policy('mixed_float16')
    with strategy.scope() if strategy else contextlib.nullcontext():
        return steps(inner, trouble, scale, growth, 2 if strategy else 1)


def steps(inner, trouble, scale, growth, replicas):
    m = keras.Sequential([keras.Input((3,)), keras.layers.Dense(4, activation='tanh'), keras.layers.Dense(2)])
    for w, v in zip(m.weights, WEIGHTS):
        w.assign(v)
    o = INNER[inner]()
    if scale is not None:
        o = O.LossScaleOptimizer(o, initial_scale=scale, dynamic_growth_steps=growth)
    m.compile(o, 'mse')
    x, y = batches(trouble)
    out = {'inner': inner, 'trouble': trouble, 'scale': scale, 'growth': growth, 'replicas': replicas, 'backend': keras.backend.backend(), 'steps': [],
           'x': plain(x), 'y': plain(y), 'start': [plain(w) for w in m.weights]}
    for i in range(BATCHES):
        h = m.fit(x[i], y[i], batch_size=8, shuffle=False, verbose=0)
        o = m.optimizer
        out['steps'].append({'loss': plain(h.history['loss'][0]), 'iterations': int(keras.ops.convert_to_numpy(o.iterations)), 'variables': [{'name': v.path.split('/', 1)[-1], **plain(v)} for v in o.variables],
                             'weights': [plain(w) for w in m.weights]})
    return out


def record():
    if keras.backend.backend() != 'tensorflow':
        return attempt(None)
    import tensorflow as tf
    tf.config.set_logical_device_configuration(tf.config.list_physical_devices('CPU')[0], [tf.config.LogicalDeviceConfiguration()] * 2)
    return attempt(None) + attempt(tf.distribute.MirroredStrategy(['CPU:0', 'CPU:1']))


def attempt(strategy):
    """All cases but those in which Keras fails."""
    cases = []
    for c in CASES:
        try:
            cases.append(run(c, strategy))
        except Exception as e:
            print(c, strategy is not None, type(e).__name__, ' '.join(str(e).split())[:200], file=sys.stderr)
    return cases


if __name__ == '__main__':
    if sys.argv[1] == 'record':
        json.dump(record(), open(sys.argv[2], 'w'))
    else:
        cases = [c for p in sys.argv[2:] for c in json.load(open(p)) if (c['inner'], c['backend'], c['replicas']) not in PECULIAR]
        path = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'loss_scale.json.gz')
        with open(path, 'wb') as f, gzip.GzipFile(fileobj=f, mode='wb', mtime=0, filename='') as z:
            z.write(json.dumps(cases, separators=(',', ':')).encode())
