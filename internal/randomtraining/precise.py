"""Draws training in float64 and writes down what Keras makes of it, to thirteen digits.

    python internal/randomtraining/precise.py 60 0 internal/randomtraining/testdata/precise.json.gz

A case is a network of layers with constants of their own (activations, normalization, attention, convolutions, recurrent layers), losses with any of their options, metrics, an optimizer, data and weights whose
numbers have all the bits of float64, two calls of fit, and what evaluate and predict say after each. A constant, a loss, a metric or a file that has less than float64 shows in the eighth digit. JAX computes, told
to keep float64 where Keras promotes types, as it does for TensorFlow. That has numbers of Python as float32: with KERAS_BACKEND=tensorflow, which draws several times as fast, only 1e-6 can be asked for.
"""
import json
import os
import sys
import warnings

os.environ.setdefault('KERAS_BACKEND', 'jax')
os.environ.setdefault('TF_CPP_MIN_LOG_LEVEL', '3')
os.environ.setdefault('JAX_ENABLE_X64', '1')
os.environ.setdefault('JAX_PLATFORMS', 'cpu')
os.environ.setdefault('XLA_FLAGS', '--xla_backend_optimization_level=0 --xla_llvm_disable_expensive_passes=true')  # most of the time would go into compiling
import keras
import numpy as np
import runs
from draw import Draw, dense_gradients, numbers, plain, record, short
from keras.src.backend.common import dtypes

dtypes.BIT64_TO_BIT32_DTYPE['float64'] = 'float64'
L = keras.layers
DIGITS = 13
ACTIVATIONS = ('celu', 'elu', 'exponential', 'gelu', 'hard_shrink', 'hard_sigmoid', 'hard_silu', 'hard_tanh', 'leaky_relu', 'linear', 'log_sigmoid', 'log_softmax', 'mish', 'relu', 'relu6', 'selu', 'sigmoid', 'silu', 'softmax',
               'soft_shrink', 'softplus', 'softsign', 'sparse_plus', 'sparse_sigmoid', 'sparsemax', 'squareplus', 'swish', 'tanh', 'tanh_shrink', 'threshold')


def dense(d, units=None):
    s = {'activation': d.of(*ACTIVATIONS)}
    R, C = keras.regularizers, keras.constraints
    s.update(d.maybe(0.2, kernel_regularizer=d.of('l1', 'l2', R.L1L2(0.013, 0.021), R.OrthogonalRegularizer(0.017)), bias_regularizer=R.L2(0.007), activity_regularizer=R.L1L2(0.003, 0.011),
                     kernel_constraint=d.of(C.MaxNorm(0.7), C.UnitNorm(), C.NonNeg(), C.MinMaxNorm(0.3, 0.9, rate=0.7))))
    return L.Dense(units or d.of(2, 3, 4), **s)


def between(d, rank):
    """A layer that keeps the shape."""
    choices = [lambda: L.BatchNormalization(momentum=d.of(0.7, 0.9), **d.maybe(0.5, epsilon=1e-4, center=False)), lambda: L.LayerNormalization(**d.maybe(0.5, epsilon=1e-5)), lambda: L.RMSNormalization(),
               lambda: L.UnitNormalization(), lambda: L.PReLU(), lambda: L.LeakyReLU(0.17), lambda: L.ELU(0.7), lambda: L.ReLU(**d.maybe(0.5, max_value=0.9, negative_slope=0.13, threshold=0.07)), lambda: L.Softmax(), lambda: L.Rescaling(1 / 3, 0.1), lambda: L.Activation(d.of(*ACTIVATIONS)),
               lambda: L.GroupNormalization(1), lambda: L.LayerNormalization(center=False)]
    return d.of(*choices)()


def vector(d, k):
    i = keras.Input((d.of(2, 3, 5),), name='in%d' % k)
    x = dense(d)(i)
    if d.random() < 0.2:
        x = L.Concatenate()([x, L.Activation('tanh')(i)])
    return i, x, d.array('grid', i.shape[1:], 'float64')


def steps(d, k):
    i = keras.Input((d.of(3, 4), d.of(2, 4)), name='in%d' % k)
    x = L.Masking(0.0)(i) if d.random() < 0.3 else i
    kind = d.of('recurrent', 'recurrent', 'attention', 'convolution', 'additive')
    if kind == 'recurrent':
        x = runs.recurrent(d, True, False)(x)
    elif kind == 'attention':
        x = L.MultiHeadAttention(2, 2, dropout=1e-14, **d.maybe(0.5, use_bias=False, value_dim=3))(x, x)  # without dropout, JAX has scores in float32
    elif kind == 'additive':
        x = d.of(L.AdditiveAttention(), L.Attention(use_scale=True), L.Attention(score_mode='concat'))([x, x])
    else:
        x = d.of(lambda: L.Conv1D(3, 2, padding=d.of('same', 'causal'), activation=d.of('gelu', 'silu', 'selu')), lambda: L.SeparableConv1D(3, 2, padding='same'), lambda: L.DepthwiseConv1D(2, depth_multiplier=2), lambda: L.Conv1DTranspose(2, 2))()(x)
    spec = d.array('integer', i.shape[1:], 'float64', below=3) if d.random() < 0.3 else d.array('grid', i.shape[1:], 'float64')
    return i, x, spec


def image(d, k):
    i = keras.Input((5, 4, 2), name='in%d' % k)
    x = d.of(lambda: L.Conv2D(3, d.of(2, 3), padding=d.of('same', 'valid'), strides=d.of(1, 2), activation=d.of('gelu', 'relu', 'softplus')), lambda: L.DepthwiseConv2D(2, depth_multiplier=2), lambda: L.SeparableConv2D(3, 2),
             lambda: L.Conv2DTranspose(2, 3, strides=d.of(1, 2)), lambda: L.Conv2D(4, 2, groups=2, dilation_rate=2))()(i)
    if d.random() < 0.3:
        x = d.of(lambda: L.UpSampling2D(2, interpolation=d.of('nearest', 'bilinear')), lambda: L.Resizing(3, 3, interpolation=d.of('bilinear', 'bicubic', 'lanczos3'), antialias=d.of(True, False)), lambda: L.ZeroPadding2D(1))()(x)
    if d.random() < 0.6 and min(x.shape[1:3]) > 1:
        x = d.of(L.MaxPooling2D, L.AveragePooling2D)(2, padding=d.of('same', 'valid'))(x)
    return i, x, d.array('grid', i.shape[1:], 'float64')


def tokens(d, k):
    i = keras.Input((d.of(3, 4),), dtype='int32', name='in%d' % k)
    x = L.Embedding(5, 4, mask_zero=d.random() < 0.4)(i)
    return i, x, d.array('integer', i.shape[1:], 'int32', below=5)


def network(d):
    inputs, features, specs = [], [], []
    for k in range(d.of(1, 1, 2)):
        i, x, s = d.of(vector, vector, steps, steps, image, tokens)(d, k)
        for _ in range(d.of(0, 0, 1, 2)):
            x = between(d, len(x.shape))(x)
        inputs.append(i)
        specs.append(s)
        if len(x.shape) == 4:
            x = d.of(L.Flatten, L.GlobalAveragePooling2D, L.GlobalMaxPooling2D)()(x)
        elif len(x.shape) == 3:
            x = d.of(lambda: runs.recurrent(d, False, False), L.GlobalAveragePooling1D, L.GlobalMaxPooling1D, L.Flatten)()(x)
        features.append(x)
    x = features[0] if len(features) == 1 else L.Concatenate()(features)
    if d.random() < 0.3:
        x = dense(d)(x)
    heads, outputs = [], []
    for k in range(d.of(1, 1, 1, 2)):
        kind = d.of('number', 'number', 'positive', 'bit', 'class', 'hot')
        width = {'number': d.of(1, 3), 'positive': d.of(1, 2), 'bit': d.of(1, 2), 'class': 3, 'hot': 3}[kind]
        act = {'number': None, 'positive': d.of('softplus', 'exponential'), 'bit': d.of('sigmoid', None), 'class': d.of('softmax', None), 'hot': d.of('softmax', None)}[kind]
        outputs.append(L.Dense(width, activation=act, name='out%d' % k)(x))
        heads.append((kind, width, act))
    return keras.Model(inputs if len(inputs) > 1 else inputs[0], outputs if len(outputs) > 1 else outputs[0]), specs, heads


def draw_loss(d, head):
    kind, width, act = head
    logits = {} if act else {'from_logits': True}
    r = d.maybe(0.35, reduction=d.of('sum', 'mean_with_sample_weight', 'mean'))
    K = keras.losses
    if kind == 'number':
        return d.of(K.MeanSquaredError(**r), K.MeanAbsoluteError(**r), K.Huber(**r, delta=d.of(0.3, 1.1)), K.LogCosh(**r), K.CosineSimilarity(**r) if width > 1 else K.LogCosh(**r), K.MeanAbsolutePercentageError(**r), K.SquaredHinge(**r), K.Hinge(**r))
    if kind == 'positive':
        return d.of(K.Poisson(**r), K.MeanSquaredLogarithmicError(**r), K.KLDivergence(**r))
    if kind == 'bit':
        return d.of(K.BinaryCrossentropy(**logits, **r, **d.maybe(0.5, label_smoothing=0.1)), K.BinaryFocalCrossentropy(**logits, **r, **d.maybe(0.5, apply_class_balancing=True, alpha=0.3, gamma=1.7, label_smoothing=0.07)),
                    *([K.Dice(), K.Tversky(alpha=0.3, beta=0.6)] if act else [K.Hinge(**r)]))
    if kind == 'class':
        return d.of(K.SparseCategoricalCrossentropy(**logits, **r), K.SparseCategoricalCrossentropy(**logits, ignore_class=1, **r))
    return d.of(K.CategoricalCrossentropy(**logits, **r, **d.maybe(0.5, label_smoothing=0.1)), K.CategoricalFocalCrossentropy(**logits, **r, **d.maybe(0.5, alpha=0.3, gamma=1.7, label_smoothing=0.07)), K.KLDivergence(**r) if act else K.CategoricalHinge(**r), K.MeanSquaredError(**r))


def draw_metrics(d, head):
    kind, width, act = head
    M = keras.metrics
    if kind in ('number', 'positive'):
        choice = ['mae', 'mse', M.RootMeanSquaredError(), M.CosineSimilarity(), M.R2Score(), M.LogCoshError(), M.MeanAbsolutePercentageError(), M.MeanSquaredLogarithmicError(), M.Poisson(), M.PearsonCorrelation(), M.ConcordanceCorrelation(), M.KLDivergence(), M.SquaredHinge()]
        if kind == 'number':
            choice = choice[:7] + choice[9:11] + choice[12:]
    elif kind == 'bit':
        choice = ['accuracy', M.BinaryAccuracy(threshold=0.4), M.BinaryCrossentropy(from_logits=not act, label_smoothing=0.1)] + ([M.AUC(num_thresholds=7), M.AUC(num_thresholds=20, curve='PR', name='pr'), M.Precision(), M.Recall(thresholds=[0.3, 0.6]), M.PrecisionAtRecall(0.5), M.FBetaScore(average='macro', beta=0.7, threshold=0.4)] if act else [])
    elif kind == 'class':
        choice = ['accuracy', M.SparseTopKCategoricalAccuracy(k=2), M.SparseCategoricalCrossentropy(from_logits=not act)]
    else:
        choice = ['accuracy', M.CategoricalCrossentropy(from_logits=not act, label_smoothing=0.1), M.TopKCategoricalAccuracy(k=2), M.F1Score(average='weighted'), M.KLDivergence() if act else M.CategoricalHinge()]
    if keras.backend.backend() == 'tensorflow':  # which has no places among numbers of float64
        choice = [m for m in choice if 'TopK' not in type(m).__name__]
    return d.sample(choice, d.randint(0, min(3, len(choice))))


def draw_optimizer(d):
    while True:
        o = runs.draw_optimizer(d)
        inner = getattr(o, 'inner_optimizer', o)
        # Lion and Muon take the sign of what may be rounding, and Lamb makes a whole step of it. Nadam of JAX counts the steps that accumulate gradients, too,
        # and Ftrl makes weights 0, where JAX has another gradient of L1 than TensorFlow and PyTorch.
        if type(inner).__name__ not in ('Lion', 'Muon', 'Lamb', 'Ftrl') and not (type(inner).__name__ == 'Nadam' and inner.gradient_accumulation_steps):
            return o


def labels(d, head, n):
    kind, width, act = head
    if kind in ('number', 'positive'):
        return d.array('grid' if kind == 'number' else 'positive', [n, width], 'float64')
    if kind == 'bit':
        return d.array('integer', [n, width], d.of('int32', 'float64'), below=2)
    if kind == 'class':
        return d.array('integer', [n] + d.of([], [1]), d.of('int32', 'float64'), below=3)
    return d.array(d.of('onehot', 'simplex'), [n, width], 'float64')


def set_weights(m, seed):
    """Numbers with all the bits of their type. setPreciseWeights of precise_test.go has the same."""
    for k, w in enumerate(m.weights):
        if not str(w.dtype).startswith('float'):
            continue
        positive = 'variance' in w.name or w.name == 'gamma'
        w.assign(numbers({'kind': 'positive' if positive else 'grid', 'seed': seed + k, 'shape': list(w.shape), 'dtype': 'float64'}) / 3)


def logs_of(h):
    return {k: [[short(x, DIGITS) for x in np.asarray(v, 'float64').ravel()] for v in values] for k, values in h.items()}


def arrays(variables):
    return [plain(keras.ops.convert_to_numpy(v), DIGITS) for v in variables]


def run(seed):
    d = Draw(seed)
    keras.config.set_floatx('float64')
    keras.config.set_dtype_policy('float64')
    m, specs, heads = network(d)
    n = d.randint(4, 9)
    c = {'class': 'precise', 'number': seed, 'tolerance': 1e-10 if keras.backend.backend() == 'jax' else 1e-6, 'seed': d.randrange(1 << 20), 'batch': d.randint(3, 5), 'x': [{**s, 'shape': [n] + list(s['shape'])} for s in specs], 'y': [labels(d, h, n) for h in heads], 'w': None, 'devices': d.of('one', 'one', 'mirrored 2', 'mirrored 3', 'central 2')}
    layers = m._flatten_layers()
    if any(isinstance(l, L.BatchNormalization) for l in layers):
        c['devices'] = 'one'
        if n % c['batch'] == 1:
            c['batch'] += 1
    if d.random() < 0.5 and not any(isinstance(l, L.Masking) or getattr(l, 'mask_zero', False) for l in layers):
        c['w'] = [d.array('positive', [n], 'float64') for _ in heads]
    losses, metrics, weighted = [draw_loss(d, h) for h in heads], [draw_metrics(d, h) for h in heads], [draw_metrics(d, h) if d.random() < 0.4 else [] for h in heads]
    config = {'optimizer': draw_optimizer(d)}
    if len(heads) == 1:
        config.update(loss=losses[0], metrics=metrics[0] or None, weighted_metrics=weighted[0] or None)
    else:
        config.update(loss=losses, metrics=metrics, weighted_metrics=weighted, loss_weights=d.of(None, [d.of(0.3, 1.0, 1.7) for _ in heads]))
    m.compile(**config)
    m.compile(**keras.saving.deserialize_keras_object(m.get_compile_config()))  # Keras leaves out some arguments of losses
    m.run_eagerly = keras.backend.backend() == 'tensorflow' or getattr(m.optimizer, 'use_ema', False)  # of averages, Keras keeps arrays that compiled steps of JAX have taken
    c['model'] = json.loads(m.to_json())
    set_weights(m, c['seed'])
    x = {'in%d' % k: numbers(s) for k, s in enumerate(c['x'])}
    pack = lambda v: v[0] if len(v) == 1 else v
    x, y, w = x if len(x) > 1 else x['in0'], pack([numbers(s) for s in c['y']]), None if c['w'] is None else pack([numbers(s) for s in c['w']])
    c['calls'] = []
    for epochs in (d.randint(1, 3), 1):
        h = m.fit(x, y, sample_weight=w, batch_size=c['batch'], epochs=epochs, shuffle=False, verbose=0)
        scores = m.evaluate(x, y, sample_weight=w, batch_size=c['batch'], verbose=0, return_dict=True)
        o = m.optimizer
        c['calls'].append({'epochs': epochs, 'answer': {'history': logs_of(h.history), 'scores': {k: [short(v, DIGITS) for v in np.asarray(s, 'float64').ravel()] for k, s in scores.items()}, 'types': [str(w.dtype) for w in m.weights],
                                                        'predictions': [plain(p, DIGITS) for p in keras.tree.flatten(m.predict(x, batch_size=c['batch'], verbose=0))], 'weights': arrays(m.weights),
                                                        'slots': arrays(o.variables) if type(getattr(o, 'inner_optimizer', o)).__name__ not in ('Nadam', 'Adafactor') else None}})
    if not all(isinstance(v, float) for a in c['calls'][-1]['answer']['weights'] for v in a['data']):
        raise ValueError('weights that are not finite')
    return c


if __name__ == '__main__':
    warnings.simplefilter('ignore')
    dense_gradients()
    record(run, 'cases')
