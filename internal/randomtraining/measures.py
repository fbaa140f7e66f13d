"""Draws random losses, metrics and schedules of learning rates, and writes down what Keras makes of them.

    python internal/randomtraining/measures.py draw 900 0 cases.json
    KERAS_BACKEND=tensorflow python internal/randomtraining/measures.py answer cases.json tensorflow.json
    KERAS_BACKEND=torch python internal/randomtraining/measures.py answer cases.json torch.json
    python internal/randomtraining/measures.py join cases.json tensorflow.json torch.json internal/randomtraining/testdata/measures.json.gz

A loss has a configuration, labels and predictions of any rank, weights and a mask; its value and its gradient are recorded. A metric is updated several
times, with and without weights, and reset now and then; its results are recorded. A schedule is asked for its rate at steps up to 2^31. join keeps what two
backends agree on. With a number, a seed and a file instead, all of it is done at once, with TensorFlow and NumPy: JAX compiles each operation for each shape,
for minutes. NumPy gives no gradients: those of TensorFlow are kept if they are about the same a little before and behind.
"""
import os
import subprocess
import sys
import tempfile

import numpy as np
from draw import Draw, agree, error, numbers, plain, read, short, write

ALIKE = ['MeanSquaredError', 'MeanAbsoluteError', 'MeanAbsolutePercentageError', 'MeanSquaredLogarithmicError', 'CosineSimilarity', 'Huber', 'LogCosh', 'Hinge',
         'SquaredHinge', 'CategoricalHinge', 'KLDivergence', 'Poisson', 'BinaryCrossentropy', 'BinaryFocalCrossentropy', 'CategoricalCrossentropy',
         'CategoricalFocalCrossentropy', 'Dice', 'Tversky']
OTHERS = ['SparseCategoricalCrossentropy', 'CategoricalGeneralizedCrossEntropy', 'Circle', 'CTC']
FITTING = ['MeanSquaredError', 'MeanAbsoluteError', 'Huber', 'LogCosh', 'Hinge', 'SquaredHinge', 'MeanAbsolutePercentageError', 'MeanSquaredLogarithmicError']


def settings(d, name, rank, classes):
    s = {}
    if 'rossentropy' in name:
        s.update(d.maybe(0.4, from_logits=True))
        if 'Sparse' in name:
            s.update(d.maybe(0.4, ignore_class=d.of(-1, 0, 1, 255)))
        else:
            s.update(d.maybe(0.3, label_smoothing=d.of(0.1, 0.5, 1.0)))
        if rank > 1:
            s.update(d.maybe(0.25, axis=d.of(-1, 1, 1 - rank, rank - 1)))
    if 'Focal' in name:
        s.update(d.maybe(0.4, gamma=d.of(0.0, 0.5, 1.0, 3.5)))
        s.update(d.maybe(0.4, alpha=d.of(0.1, 0.8, 1.0, [0.3] * classes) if 'Categorical' in name else d.of(0.1, 0.8, 1.0)))
        if 'Binary' in name:
            s.update(d.maybe(0.5, apply_class_balancing=True))
    if name == 'CosineSimilarity':
        s.update(d.maybe(0.5, axis=d.of(-1, 0, 1, -2)))
    if name == 'Huber':
        s.update(d.maybe(0.6, delta=d.of(0.1, 0.5, 2.0)))
    if name in ('Dice', 'Tversky'):
        s.update(d.maybe(0.6, axis=d.of([1], [1, 2], [0], -1, [-1], [1, 2, 3], [-2, -1])))
    if name == 'Tversky':
        s.update(d.maybe(0.6, alpha=d.of(0.1, 0.9), beta=d.of(0.2, 0.8)))
    if name == 'CategoricalGeneralizedCrossEntropy':
        s.update(d.maybe(0.6, q=d.of(0.1, 0.7, 1.0, 0.99)))
    if name == 'Circle':
        s.update(d.maybe(0.5, gamma=d.of(1.0, 10.0, 256.0), margin=d.of(0.1, 0.25), remove_diagonal=False))
    return s


def predictions(d, name, s, shape):
    if s.get('from_logits') or name in ('CTC',):
        return d.array(d.of('grid', 'grid', 'large'), shape)
    if 'Categorical' in name and 'Hinge' not in name or name == 'KLDivergence':
        return d.array(d.of('simplex', 'simplex', 'inner', 'fraction'), shape)
    if 'Binary' in name or name in ('Dice', 'Tversky'):
        return d.array(d.of('inner', 'fraction'), shape)
    if name in ('Poisson', 'MeanSquaredLogarithmicError'):
        return d.array(d.of('positive', 'positive', 'grid'), shape)
    return d.array(d.of('grid', 'grid', 'grid', 'large'), shape)


def labels(d, name, shape):
    if name in ('Hinge', 'SquaredHinge'):
        return d.of(d.array('sign', shape), d.array('integer', shape, below=2), d.array('integer', shape, 'int32', below=2))
    if 'Binary' in name:
        return d.of(d.array('integer', shape, below=2), d.array('integer', shape, d.of('int32', 'bool', 'uint8', 'int64'), below=2), d.array('fraction', shape))
    if 'Categorical' in name or name in ('KLDivergence', 'Dice', 'Tversky'):
        return d.of(d.array('onehot', shape), d.array('simplex', shape), d.array('onehot', shape, d.of('int32', 'bool')))
    if name in ('Poisson', 'MeanSquaredLogarithmicError'):
        return d.of(d.array('positive', shape), d.array('integer', shape, 'int32', below=5))
    return d.of(d.array('grid', shape), d.array('grid', shape), d.array('grid', shape, 'float64'), d.array('integer', shape, 'int32', below=4))


def weights(d, shape):
    """Of values of a shape: one for each example or value, with axes of one in between. Keras aligns fewer axes with the last ones, which is refused here."""
    r = d.random()
    if r < 0.3:
        return None
    s = [n if d.random() < 0.7 else 1 for n in shape]
    if r < 0.4:
        s = []
    elif r < 0.5:
        s += [1]
    elif r < 0.55 and s and shape[0] > 1:
        s[0] = shape[0] + 1
    return d.of(d.array('positive', s), d.array('positive', s), d.array('integer', s, 'float32', below=2), d.array('integer', s, d.of('int32', 'bool'), below=2),
                d.array('integer', s, below=1), d.array('grid', s))


def draw_loss(d):
    name = d.choice(ALIKE + OTHERS)
    rank = d.of(2, 2, 2, 3, 3, 4)  # (batch) counts as (batch, 1) here, and as one value in Keras
    shape = [d.randint(1, 4) for _ in range(rank)]
    if name == 'CosineSimilarity':  # a vector of one number has no gradient, but for rounding
        shape = [max(2, n) for n in shape]
    s = settings(d, name, rank, shape[-1])
    if name in ('SparseCategoricalCrossentropy', 'CategoricalGeneralizedCrossEntropy'):
        axis = s.get('axis', -1) % rank if -rank <= s.get('axis', -1) < rank else rank - 1
        shape[axis] = max(2, shape[axis])
        y = [n for i, n in enumerate(shape) if i != axis] + ([] if 'Generalized' in name else d.of([], [], [1]))
        p = d.array('inner', shape) if 'Generalized' in name else predictions(d, name, s, shape)
        t = d.array('integer', y, d.of('int32', 'float32', 'int64'), below=shape[axis])
    elif name == 'Circle':
        shape = [d.randint(2, 5), d.randint(2, 4)]
        p, t = d.array('grid', shape), d.array('integer', d.of(shape[:1], shape[:1] + [1]), 'int32', below=2)
    elif name == 'CTC':
        shape = [d.randint(1, 3), d.randint(3, 6), 4]
        p, t = d.array('grid', shape), d.array('integer', [shape[0], d.randint(1, 3)], 'int32', below=d.of(2, 3, 4))
    else:
        p = predictions(d, name, s, shape)
        y = list(shape)
        if name in FITTING and d.random() < 0.2:  # the others take no labels with an axis more or less
            y = y[:-1] if y[-1] == 1 else y + [1]
        t = labels(d, name, y)
    if d.random() < 0.15:
        p['dtype'] = d.of('float16', 'bfloat16', 'float64')
    if d.random() < 0.1:
        s['dtype'] = d.of('float16', 'bfloat16', 'float64')
    s.update(d.maybe(0.7, reduction=d.of('sum', 'none', None, 'mean', 'mean_with_sample_weight', 'sum_over_batch_size')))
    axis = s.get('axis', -1) if isinstance(s.get('axis', -1), int) and name not in ('Dice', 'Tversky') else -1
    values = [n for i, n in enumerate(shape) if i != axis % rank] if -rank <= axis < rank else shape[:-1]
    if name in ('Circle', 'CTC'):
        values = shape[:1]
    if name in ('Dice', 'Tversky') or len(t['shape']) < rank and 'Sparse' not in name and 'Generalized' not in name:
        values = []
    c = {'class': name, 'settings': s, 'labels': t, 'predictions': p, 'weights': weights(d, values)}
    if d.random() < 0.25 and values:
        m = [n if i == 0 or d.random() < 0.8 else 1 for i, n in enumerate(values)]
        c['mask'] = d.array('integer', m, 'bool', below=d.of(2, 2, 2, 1))
    return c


METRICS = '''AUC Accuracy BinaryAccuracy BinaryCrossentropy BinaryIoU CategoricalAccuracy CategoricalCrossentropy CategoricalHinge ConcordanceCorrelation
CosineSimilarity F1Score FBetaScore FalseNegatives FalsePositives Hinge IoU KLDivergence LogCoshError Mean MeanAbsoluteError MeanAbsolutePercentageError MeanIoU
MeanSquaredError MeanSquaredLogarithmicError OneHotIoU OneHotMeanIoU PearsonCorrelation Poisson Precision PrecisionAtRecall R2Score Recall RecallAtPrecision
RootMeanSquaredError SensitivityAtSpecificity SparseCategoricalAccuracy SparseCategoricalCrossentropy SparseTopKCategoricalAccuracy SpecificityAtSensitivity
SquaredHinge Sum TopKCategoricalAccuracy TrueNegatives TruePositives'''.split()
CONFUSION = ('FalseNegatives', 'FalsePositives', 'TrueNegatives', 'TruePositives', 'Precision', 'Recall')


def metric_settings(d, name, rank, classes):
    s = {}
    thresholds = d.of(0.3, 0.5, [0.5], [0.2, 0.5, 0.8], [0.0, 1.0], 0.0, 1.0)
    if name == 'AUC':
        s = d.maybe(0.5, curve=d.of('ROC', 'PR'), summation_method=d.of('interpolation', 'minoring', 'majoring'), num_thresholds=d.of(2, 3, 5, 50),
                    from_logits=True)
        s.update(d.maybe(0.2, thresholds=d.of([0.5], [0.2, 0.7], [0.0, 0.3, 1.0], [0.9, 0.1])))
        if d.random() < 0.4:
            s['multi_label'] = True
            s.update(d.maybe(0.4, num_labels=classes))
            s.update(d.maybe(0.4, label_weights=[0.5, 2.0, 1.0, 3.0, 1.5][:classes]))
    if name in CONFUSION:
        s = d.maybe(0.5, thresholds=thresholds)
    if name in ('Precision', 'Recall'):
        s.update(d.maybe(0.3, top_k=d.randint(1, classes)))
        s.update(d.maybe(0.3, class_id=d.randint(0, classes - 1)))
    if '_at_' in name or 'At' in name:
        s = {{'PrecisionAtRecall': 'recall', 'RecallAtPrecision': 'precision', 'SensitivityAtSpecificity': 'specificity',
              'SpecificityAtSensitivity': 'sensitivity'}[name]: d.of(0.0, 0.3, 0.5, 0.8, 1.0)}
        s.update(d.maybe(0.6, num_thresholds=d.of(1, 2, 3, 10, 100), class_id=d.randint(0, classes - 1)))
    if name == 'BinaryAccuracy':
        s = d.maybe(0.5, threshold=d.of(0.2, 0.5, 0.9, 0.0))
    if name == 'BinaryIoU':
        s = d.maybe(0.6, threshold=d.of(0.2, 0.7), target_class_ids=d.of([0], [1], [0, 1]))
    if 'rossentropy' in name:
        s = d.maybe(0.4, from_logits=True)
        if 'Sparse' in name:
            s.update(d.maybe(0.4, ignore_class=d.of(0, 1, -1)))
        else:
            s.update(d.maybe(0.3, label_smoothing=d.of(0.1, 0.5)))
        if 'Categorical' in name:
            s.update(d.maybe(0.2, axis=d.of(-1, rank - 1)))
    if name in ('ConcordanceCorrelation', 'CosineSimilarity', 'PearsonCorrelation'):
        s = d.maybe(0.4, axis=d.of(-1, 0, rank - 1, -rank))
    if name in ('F1Score', 'FBetaScore'):
        s = d.maybe(0.6, average=d.of(None, 'micro', 'macro', 'weighted'), threshold=d.of(0.3, 0.5, 0.9))
        if name == 'FBetaScore':
            s.update(d.maybe(0.6, beta=d.of(0.5, 2.0)))
    if name in ('IoU', 'MeanIoU', 'OneHotIoU', 'OneHotMeanIoU'):
        s = {'num_classes': classes}
        if 'Mean' not in name:
            s['target_class_ids'] = d.sample(range(classes), d.randint(1, classes))
        s.update(d.maybe(0.3, ignore_class=d.of(0, 1, -1)))
        s.update(d.maybe(0.3, sparse_y_pred=d.of(True, False)))
        if 'OneHot' not in name:
            s.update(d.maybe(0.3, sparse_y_true=d.of(True, False)))
    if name == 'R2Score':
        s = d.maybe(0.6, class_aggregation=d.of('uniform_average', 'variance_weighted_average', None), num_regressors=d.of(0, 1, 2, 5))
    if 'TopK' in name:
        s = d.maybe(0.6, k=d.randint(1, classes + 1))
        if 'Sparse' in name:
            s.update(d.maybe(0.2, from_sorted_ids=True))
    s.update(d.maybe(0.06, dtype=d.of('float64', 'float16', 'bfloat16')))
    return s


def draw_metric(d):
    name = d.choice(METRICS)
    rank = d.of(2, 2, 2, 3, 3)
    tail = [d.randint(1, 4) for _ in range(rank - 1)]
    classes = tail[-1] if tail else d.randint(2, 4)
    if 'IoU' in name:
        classes = max(2, classes)
        if tail:
            tail[-1] = classes
    s = metric_settings(d, name, rank, classes)
    weighted, updates = d.of(0, 0.5, 1), []
    how = d.of(0, 1, 2, 3, 4)
    short_labels = d.of(False, False, True)
    for _ in range(d.randint(1, 5)):
        shape = [d.of(1, 2, 3, 5, 8)] + tail
        if name in ('Mean', 'Sum'):
            p = d.array(d.of('grid', 'integer'), shape, d.of('float32', 'float32', 'int32', 'bool'), below=5)
            t = None
            if p['kind'] == 'grid':
                p['dtype'] = 'float32'
        elif 'IoU' in name and name != 'BinaryIoU':
            def part(sparse):
                if sparse:
                    return d.array('integer', shape[:-1] if how and not (s.get('sparse_y_true') is None and s.get('sparse_y_pred') is None) else shape, 'int32', below=classes)
                return d.array('onehot' if d.random() < 0.5 else 'simplex', shape)
            p = part(s.get('sparse_y_pred', 'OneHot' not in name))
            t = part(s.get('sparse_y_true', True) and 'OneHot' not in name)
        elif 'Sparse' in name:
            p = d.array('grid' if s.get('from_logits') else 'simplex', shape)
            t = d.array('integer', shape[:-1] + [1] if short_labels else shape[:-1], d.of('int32', 'float32'), below=classes)
            if s.get('from_sorted_ids'):
                p = d.array('integer', shape, 'int32', below=classes)
        elif name in ('Accuracy',):
            p, t = d.array('integer', shape, 'int32', below=3), d.array('integer', shape, d.of('int32', 'float32'), below=3)
        elif 'Categorical' in name and 'Hinge' not in name or name == 'KLDivergence' or name in ('F1Score', 'FBetaScore'):
            p, t = d.array('grid' if s.get('from_logits') else 'simplex', shape), d.array(d.of('onehot', 'onehot', 'simplex') if 'Score' not in name else 'onehot', shape)
        elif name in ('PearsonCorrelation', 'ConcordanceCorrelation', 'R2Score', 'MeanSquaredError', 'MeanAbsoluteError', 'RootMeanSquaredError', 'LogCoshError',
                      'CosineSimilarity', 'MeanAbsolutePercentageError', 'CategoricalHinge', 'Hinge', 'SquaredHinge'):
            p = d.array('grid', shape)
            t = labels(d, name, shape)
        elif name in ('Poisson', 'MeanSquaredLogarithmicError'):
            p, t = d.array('positive', shape), d.array('positive', shape)
        else:
            p = d.array('grid' if s.get('from_logits') else d.of('inner', 'fraction'), shape)
            t = d.array('integer', shape, d.of('int32', 'float32', 'bool'), below=2)
        u = {'predictions': p}
        if t is not None:
            if how == 1 and t['shape'][-1:] == [1] and name in FITTING and 'Hinge' not in name:
                t['shape'] = t['shape'][:-1]
            u['labels'] = t
        if d.random() < weighted and not (rank == 3 and name in CONFUSION + ('AUC', 'PrecisionAtRecall', 'RecallAtPrecision', 'SensitivityAtSpecificity', 'SpecificityAtSensitivity')):
            k = 1 if 'Score' in name else d.randint(0, rank) if how == 2 else rank - 1 if how == 3 else 1
            u['weights'] = d.array(d.of('positive', 'integer'), shape[:k] + ([1] if how == 4 and 'Score' not in name else []), 'float32', below=2)
        if d.random() < 0.15:
            u['reset'] = True
        if d.random() < 0.1 and ('weights' not in u or len(u['weights']['shape']) == 1):
            u['mask'] = d.array('integer', shape[:1] if 'weights' in u else shape[:d.randint(1, rank - 1)], 'bool', below=2)
        updates.append(u)
    return {'class': name, 'settings': s, 'updates': updates}


def draw_schedule(d):
    name = d.of('ExponentialDecay', 'InverseTimeDecay', 'PolynomialDecay', 'PiecewiseConstantDecay', 'CosineDecay', 'CosineDecayRestarts')
    rate, n = d.of(1.0, 0.1, 1e-3, 5e-7, 30.0), d.of(1, 2, 7, 100, 1000, 12345, 10**6, 10**7)
    if name == 'PiecewiseConstantDecay':
        k = d.randint(1, 4)
        bounds = sorted(d.sample([1, 2, 5, 10, 100, 1000, 12345, 10**6, 2**24 + 1], k))
        if d.random() < 0.3 and bounds[-1] <= 10**6:
            bounds = [float(b) + d.of(0.0, 0.5) for b in bounds]
        s = {'boundaries': bounds, 'values': [d.of(1.0, 0.5, 0.1, 1e-3, 1e-5) for _ in range(k + 1)]}
        marks = [int(b) for b in bounds]
    else:
        s = {'initial_learning_rate': rate, 'decay_steps': n}
        marks = [n]
        if name in ('ExponentialDecay', 'InverseTimeDecay'):
            s['decay_rate'] = d.of(0.5, 0.96, 0.9999, 2.0, 1e-3)
            s.update(d.maybe(0.5, staircase=True))
        if name == 'PolynomialDecay':
            s.update(d.maybe(0.5, end_learning_rate=d.of(0.0, 1e-3, 2.0), power=d.of(0.5, 2.0, 3.0, 0.0), cycle=True))
        if name == 'CosineDecay':
            s.update(d.maybe(0.5, alpha=d.of(0.1, 0.5, 1.0)))
            if d.random() < 0.5:
                w = d.of(1, 3, 100, 5000)
                s.update(warmup_target=d.of(1.0, 0.2, 1e-4, None), warmup_steps=w)
                marks += [w, w + n]
        if name == 'CosineDecayRestarts':
            s = {'initial_learning_rate': rate, 'first_decay_steps': n, **d.maybe(0.5, t_mul=d.of(1.0, 1.5, 3.0), m_mul=d.of(0.5, 0.9, 2.0), alpha=d.of(0.1, 0.01))}
            marks += [2 * n, 3 * n, 7 * n]
    steps = {0, 1, 2, 50, 10**4}
    if name != 'CosineDecayRestarts' and not s.get('cycle'):  # elsewhere the rounding of such steps in float32 decides
        steps.update([10**6, 2**24 - 1, 2**24 + 1, 10**9, 2**31 - 1])
    for m in marks:
        steps.update(x for x in (m - 1, m, m + 1, m // 2, 10 * m) if 0 <= x < (2**31 if 2**31 - 1 in steps else 10**5))
    return {'class': name, 'settings': s, 'steps': sorted(steps)}


def draw(count, seed):
    d = Draw(seed)
    return [d.of(draw_loss, draw_loss, draw_metric, draw_metric, draw_metric, draw_schedule if d.random() < 0.3 else draw_loss)(d) for _ in range(count)]


def answer_loss(c):
    import keras
    from keras.src import backend
    loss = getattr(keras.losses, c['class'])(**c['settings'])
    t = keras.ops.convert_to_tensor(numbers(c['labels']))
    p = keras.ops.cast(keras.ops.convert_to_tensor(numbers(c['predictions'])), c['predictions']['dtype'])
    w = None if c['weights'] is None else keras.ops.convert_to_tensor(numbers(c['weights']))

    def value(p):
        if 'mask' in c:
            backend.set_keras_mask(p, keras.ops.convert_to_tensor(numbers(c['mask'])))
        return loss(t, p, sample_weight=w)

    out = value(p)
    result = {'value': plain(keras.ops.convert_to_numpy(keras.ops.cast(out, 'float64'))),
              'dtype': keras.backend.standardize_dtype(out.dtype)}
    if backend.backend() == 'tensorflow':
        import tensorflow as tf

        def gradient(p):
            with tf.GradientTape() as tape:
                tape.watch(p)
                y = tf.reduce_sum(value(tf.identity(p) if 'mask' in c else p))
            return tf.cast(tape.gradient(y, p), 'float64').numpy()

        g = gradient(p)
        size = 0.1 * np.abs(g) + 1e-6
        step = tf.cast(0.02 if 'float16' in str(c) else 1e-4, p.dtype)
        result.update(gradient=plain(g), bent=bool(np.any(np.abs(gradient(p + step) - g) > size) or np.any(np.abs(gradient(p - step) - g) > size)))
    elif backend.backend() == 'jax':
        import jax
        g = jax.grad(lambda p: value(p + 0).sum().astype('float32'))(p)
        result['gradient'] = plain(np.asarray(g.astype('float32')))
    elif backend.backend() == 'torch':
        p.requires_grad_(True)
        value(p + 0).sum().backward()
        result['gradient'] = plain(keras.ops.convert_to_numpy(keras.ops.cast(p.grad, 'float64')))
    return result


def answer_metric(c):
    import keras
    m = getattr(keras.metrics, c['class'])(**c['settings'])
    results = []
    for u in c['updates']:
        if u.get('reset'):
            m.reset_state()
        p = keras.ops.convert_to_tensor(numbers(u['predictions']))
        if 'mask' in u:
            from keras.src import backend
            backend.set_keras_mask(p, keras.ops.convert_to_tensor(numbers(u['mask'])))
        args = [p] if 'labels' not in u else [keras.ops.convert_to_tensor(numbers(u['labels'])), p]
        w = keras.ops.convert_to_tensor(numbers(u['weights'])) if 'weights' in u else None
        m.update_state(*args, sample_weight=w)
        results.append(plain(keras.ops.convert_to_numpy(keras.ops.cast(m.result(), 'float32'))))
    return {'results': results}


def answer_schedule(c):
    import keras
    s = getattr(keras.optimizers.schedules, c['class'])(**c['settings'])
    return {'rates': [short(keras.ops.convert_to_numpy(s(keras.ops.convert_to_tensor(n, dtype='int32')))) for n in c['steps']]}


def answer(cases):
    answers = []
    for c in cases:
        try:
            answers.append(answer_schedule(c) if 'steps' in c else answer_metric(c) if 'updates' in c else answer_loss(c))
        except Exception as e:
            answers.append({'error': error(e)})
    return answers


def coarse(c):
    """Whether what is compared would be rounding: in 16 bits, what is left of numbers that cancel out; or whether Keras compares as many classes as there are labels, by broadcasting."""
    half, name = c['settings'].get('dtype') in ('float16', 'bfloat16'), c['class']
    if half and (name in ('PearsonCorrelation', 'ConcordanceCorrelation', 'R2Score') or 'rossentropy' in name and c.get('predictions', {'shape': [1]})['shape'][-1] == 1):
        return True
    s = c['settings']
    return name == 'MeanIoU' and s.get('sparse_y_pred', True) != s.get('sparse_y_true', True) and any(u['labels']['shape'] == u['predictions']['shape'] for u in c['updates'])


def unspoken(c):
    """Whether labels of CTC have a blank before their end, of which TensorFlow's gradient is not that of its own loss (finite differences in float64 agree with JAX), or need more steps than there
    are: the loss is then about 1e5, of which float32 leaves hundredths."""
    for y in numbers(c['labels']):
        n = int((y != 0).sum())
        if (y[:n] == 0).any() or n + int((y[1:n] == y[:n][:-1]).sum()) > c['predictions']['shape'][1]:
            return True
    return False


def fresh(count, seed, path):
    with tempfile.TemporaryDirectory() as folder:
        names = [folder + '/' + n for n in ('cases.json', 'tensorflow.json', 'numpy.json')]
        write(names[0], draw(count, seed))
        for b in (1, 2):
            subprocess.run([sys.executable, __file__, 'answer', names[0], names[b]], env={**os.environ, 'KERAS_BACKEND': os.path.basename(names[b])[:-5]}, check=True)
        write(path, join(read(names[0]), [read(names[1]), read(names[2])]))


def join(cases, lists):
    kept = []
    for i, c in enumerate(cases):
        a, b = lists[0][i], lists[1][i]
        alone = {'dtype', 'bent'} if 'gradient' in b or 'error' in b else {'dtype', 'bent', 'gradient'}
        if not agree({k: v for k, v in a.items() if k not in alone}, {k: v for k, v in b.items() if k not in alone}, 2e-2 if 'float16' in str(c) else 1e-4):
            continue
        if 'gradient' in a and 'gradient' not in b and 'error' not in b and (a['bent'] or c['class'] == 'CTC' and unspoken(c)):
            continue  # TensorFlow takes one side of a bend, others the mean
        if 'weights' in c and c['weights'] and len(c['weights']['shape']) == 1 and len(c['predictions']['shape']) > 2:
            continue  # aligned with the last axis
        if coarse(c):
            continue
        if 'error' in a and (not a['error'].startswith('ValueError') or 'Only axis=-1' in a['error'] or 'same rank' in a['error']):
            continue  # of the backend, which says nothing of Keras
        kept.append({**c, 'answer': a})
    print(len(cases), 'cases,', len(kept), 'on which both agree,', sum('error' in c['answer'] for c in kept), 'errors', file=sys.stderr)
    return kept


if __name__ == '__main__':
    os.environ.setdefault('TF_CPP_MIN_LOG_LEVEL', '3')
    if sys.argv[1] == 'draw':
        write(sys.argv[4], draw(int(sys.argv[2]), int(sys.argv[3])))
    elif sys.argv[1] == 'answer':
        write(sys.argv[3], answer(read(sys.argv[2])))
    elif sys.argv[1].isdigit():
        fresh(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3])
    else:
        write(sys.argv[5], join(read(sys.argv[2]), [read(sys.argv[3]), read(sys.argv[4])]))
