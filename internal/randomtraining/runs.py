"""Draws random training runs and writes down what Keras makes of them.

    KERAS_BACKEND=torch python internal/randomtraining/runs.py 120 0 torch.json
    KERAS_BACKEND=torch python internal/randomtraining/runs.py 120 120 more.json
    python internal/randomtraining/runs.py join internal/randomtraining/testdata/runs.json.gz torch.json more.json

A run is a model with one to three outputs (masks, shared layers, nested models, stateful layers among them), a configuration of Compile (losses as one, a list or a
dictionary, any optimizer with any of its options), data and weights made from seeds, arguments of fit, and callbacks. Recorded are the history, what evaluate
and predict say, and the history of another call of fit. join leaves out what Keras refused, and
long answers.
"""
import json
import os
import sys
import tempfile

from draw import Draw, dense_gradients, error, numbers, plain, read, short, write

if sys.argv[1] != 'join':
    os.environ.setdefault('TF_CPP_MIN_LOG_LEVEL', '3')
    import keras
    import numpy as np
    L = keras.layers


def draw_rate(d):
    if d.random() < 0.75:
        return d.of(0.1, 0.01, 0.003)
    s = keras.optimizers.schedules
    return d.of(lambda: s.ExponentialDecay(0.1, d.of(2, 5), 0.5, staircase=d.of(True, False)), lambda: s.PiecewiseConstantDecay([1, 4], [0.1, 0.02, 0.05]),
                lambda: s.CosineDecay(0.05, 6, alpha=0.1, warmup_target=d.of(None, 0.1), warmup_steps=d.of(0, 2)), lambda: s.PolynomialDecay(0.1, 5, 0.01, power=2.0, cycle=d.of(True, False)),
                lambda: s.InverseTimeDecay(0.1, 3, 0.5), lambda: s.CosineDecayRestarts(0.1, 3, t_mul=1.5, m_mul=0.8))()


def draw_optimizer(d):
    name = d.of('SGD', 'SGD', 'RMSprop', 'Adam', 'Adam', 'AdamW', 'Adadelta', 'Adagrad', 'Adamax', 'Adafactor', 'Nadam', 'Ftrl', 'Lion', 'Lamb', 'Muon', 'ScheduleFreeAdamW')
    if not hasattr(keras.optimizers, name) or name == 'ScheduleFreeAdamW' and keras.backend.backend() in ('jax', 'numpy'):  # which take the average from the old momentum, TensorFlow and PyTorch from the new one
        name = 'SGD'
    s = {'learning_rate': draw_rate(d)}
    s.update(d.maybe(0.2, weight_decay=d.of(0.01, 0.1)))
    s.update(d.of({}, {}, {'clipnorm': d.of(0.1, 1.0)}, {'clipvalue': d.of(0.05, 0.5)}, {'global_clipnorm': d.of(0.1, 1.0)}))
    if d.random() < 0.2:
        s.update(use_ema=True, ema_momentum=d.of(0.5, 0.9), ema_overwrite_frequency=d.of(None, 1, 3))
    s.update(d.maybe(0.2, gradient_accumulation_steps=d.of(2, 3)))
    s.update(d.maybe(0.15, loss_scale_factor=d.of(8.0, 1024.0)))
    if name == 'SGD':
        s.update(d.maybe(0.5, momentum=0.9, nesterov=True))
    if name == 'RMSprop':
        s.update(d.maybe(0.4, rho=0.8, momentum=0.5, centered=True))
    if name in ('Adam', 'AdamW'):
        s.update(d.maybe(0.4, amsgrad=True, beta_1=0.8, beta_2=0.95))
    if name == 'Adagrad':
        s.update(d.maybe(0.5, initial_accumulator_value=0.5))
    if name == 'Adafactor':
        s.update(d.maybe(0.4, relative_step=False, clip_threshold=0.5, beta_2_decay=-0.5))
    if name == 'Ftrl':
        s.update(d.maybe(0.4, l1_regularization_strength=0.01, l2_regularization_strength=0.02, l2_shrinkage_regularization_strength=0.01, beta=0.1))
    if name == 'ScheduleFreeAdamW':
        s.update(d.maybe(0.4, warmup_steps=3))
    if name == 'Lion':
        s['learning_rate'] = 0.003
    o = getattr(keras.optimizers, name)(**s)
    if d.random() < 0.1 and 'loss_scale_factor' not in s:
        o = keras.optimizers.LossScaleOptimizer(o, initial_scale=d.of(2.0, 1024.0), dynamic_growth_steps=d.of(2, 2000))
    return o


def dense(d, units=None):
    s = {'activation': d.of(None, 'tanh', 'relu', 'sigmoid', 'gelu')}
    s.update(d.maybe(0.15, kernel_regularizer=d.of('l1', 'l2', keras.regularizers.L1L2(0.01, 0.02)), bias_regularizer='l2', activity_regularizer=keras.regularizers.L2(0.05),
                     kernel_constraint=d.of(keras.constraints.MaxNorm(0.5), keras.constraints.UnitNorm(), keras.constraints.NonNeg())))
    return L.Dense(units or d.of(2, 3, 4), **s)


def recurrent(d, sequences, stateful):
    cls = d.of(L.LSTM, L.GRU, L.SimpleRNN)
    s = d.maybe(0.3, go_backwards=True, recurrent_activation='hard_sigmoid') if cls is not L.SimpleRNN else d.maybe(0.3, go_backwards=True)
    if cls is L.GRU:
        s.update(d.maybe(0.4, reset_after=False))
    r = cls(d.of(2, 3), return_sequences=sequences, stateful=stateful, **s)
    if d.random() < 0.3 and not stateful:
        return L.Bidirectional(cls(2, return_sequences=sequences), merge_mode=d.of('concat', 'sum', 'mul', 'ave'))
    return r


def nested(d, layer, x):
    """A layer, now and then inside a model of its own."""
    if d.random() < 0.75:
        return layer(x)
    i = keras.Input(x.shape[1:])
    if d.random() < 0.5:
        return keras.Sequential([layer, d.of(L.Activation('tanh'), L.LayerNormalization())])(x)
    return keras.Model(i, layer(i))(x)


def draw_model(d):
    stateful = d.random() < 0.12
    batch = d.randint(2, 4)
    specs, features, sequence = [], [], None
    for k in range(d.of(1, 1, 2)):
        kind = d.of('vector', 'vector', 'tokens', 'steps', 'steps', 'image') if not stateful else 'steps'
        fixed = {'batch_size': batch} if stateful else {}
        name = 'in%d' % k
        if kind == 'vector':
            i = keras.Input((d.of(2, 3, 4),), name=name)
            x = nested(d, dense(d), i)
            if d.random() < 0.2:
                x = d.of(L.BatchNormalization, L.LayerNormalization)()(x)
            specs.append(d.array('grid', i.shape[1:]))
        elif kind == 'tokens':
            i = keras.Input((d.of(3, 4),), dtype='int32', name=name)
            x = L.Embedding(5, 3, mask_zero=d.random() < 0.7)(i)
            if d.random() < 0.4:
                x = nested(d, dense(d), x)
            x = recurrent(d, True, False)(x)
            specs.append(d.array('integer', i.shape[1:], 'int32', below=5))
        elif kind == 'steps':
            i = keras.Input((d.of(2, 3, 4), d.of(1, 2)), name=name, **fixed)
            x = L.Masking(d.of(0.0, 1.0))(i) if d.random() < 0.6 else i
            x = recurrent(d, True, stateful)(x)
            if d.random() < 0.3:
                x = L.TimeDistributed(dense(d))(x)
            specs.append(d.array('integer', i.shape[1:], below=3) if d.random() < 0.5 else d.array('grid', i.shape[1:]))
        else:
            i = keras.Input((4, 4, d.of(1, 2)), name=name)
            x = L.Conv2D(2, d.of(2, 3), padding=d.of('same', 'valid'), activation='relu')(i)
            x = d.of(L.MaxPooling2D, L.AveragePooling2D)(2)(x)
            x = d.of(L.Flatten, L.GlobalAveragePooling2D, L.GlobalMaxPooling2D)()(x)
            specs.append(d.array('grid', i.shape[1:]))
        features.append((i, x))
        if len(x.shape) == 3:
            sequence = x
    vectors = []
    for _, x in features:
        if len(x.shape) == 3:
            x = d.of(lambda x: recurrent(d, False, stateful)(x), lambda x: L.GlobalAveragePooling1D()(x), lambda x: L.GlobalMaxPooling1D()(x), lambda x: L.Flatten()(x))(x)
        vectors.append(x)
    x = vectors[0] if len(vectors) == 1 else L.Concatenate()(vectors)
    if d.random() < 0.3:  # a layer that is used twice
        shared = L.Dense(x.shape[-1], activation='tanh')
        x = d.of(L.Add, L.Maximum, L.Subtract)()([shared(x), shared(shared(x))])
    heads, outputs = [], []
    for k in range(d.of(1, 1, 2, 3)):
        of = sequence if sequence is not None and d.random() < 0.4 else x
        kind = d.of('number', 'number', 'bit', 'class', 'hot')
        width = {'number': d.of(1, 2), 'bit': d.of(1, 1, 2), 'class': 3, 'hot': 3}[kind]
        act = {'number': None, 'bit': d.of('sigmoid', None), 'class': d.of('softmax', None), 'hot': d.of('softmax', None)}[kind]
        layer = L.Dense(width, activation=act, name='out%d' % k)
        outputs.append(layer(of))
        heads.append((kind, width, act, outputs[-1].shape[1:]))
    m = keras.Model([i for i, _ in features] if len(features) > 1 else features[0][0], outputs if len(outputs) > 1 else outputs[0])
    return m, specs, heads, stateful, batch


def draw_loss(d, head):
    kind, width, act, shape = head
    logits = {} if act else {'from_logits': True}
    r = d.maybe(0.35, reduction=d.of('sum', 'mean_with_sample_weight', 'mean'))
    K = keras.losses
    if kind == 'number':
        return d.of('mse', 'mae', 'huber', 'log_cosh', K.MeanSquaredError(**r), K.MeanAbsoluteError(**r), K.Huber(**r), K.CosineSimilarity(**r) if width > 1 else K.LogCosh(**r))
    if kind == 'bit':
        return d.of(K.BinaryCrossentropy(**logits, **r, **d.maybe(0.3, label_smoothing=0.1)), K.BinaryFocalCrossentropy(**logits, **r, **d.maybe(0.5, apply_class_balancing=True)),
                    'hinge' if not act else 'binary_crossentropy')
    if kind == 'class':
        return d.of(K.SparseCategoricalCrossentropy(**logits, **r), K.SparseCategoricalCrossentropy(**logits, ignore_class=1, **r))
    return d.of(K.CategoricalCrossentropy(**logits, **r, **d.maybe(0.3, label_smoothing=0.1)), K.CategoricalFocalCrossentropy(**logits, **r), 'kl_divergence' if act else 'mse',
                'categorical_crossentropy' if act else 'categorical_hinge')


def draw_metrics(d, head):
    kind, width, act, shape = head
    M = keras.metrics
    if kind == 'number':
        choice = ['mae', 'mse', M.RootMeanSquaredError(), M.MeanAbsoluteError(name='far'), 'cosine_similarity'] + ([M.R2Score()] if len(shape) == 1 else [])
    elif kind == 'bit':
        choice = ['accuracy', 'acc', M.BinaryAccuracy(threshold=0.4)] + ([M.AUC(num_thresholds=7), M.Precision(), M.Recall(thresholds=[0.3, 0.6])] if act else [])
    elif kind == 'class':
        choice = ['accuracy', 'sparse_categorical_accuracy', M.SparseTopKCategoricalAccuracy(k=2), M.SparseCategoricalCrossentropy(from_logits=not act)]
    else:
        choice = ['accuracy', 'ce', M.CategoricalAccuracy(), M.TopKCategoricalAccuracy(k=2)] + ([M.F1Score(average='macro')] if len(shape) == 1 else [])
        if 'ce' in choice:
            choice.remove('ce')
    picked = d.sample(choice, d.randint(0, min(2, len(choice))))
    return [p for p in picked if not (p == 'acc' and 'accuracy' in picked)]


def labels(d, head, n):
    kind, width, act, shape = head
    shape = [n] + list(shape)
    if kind == 'number':
        return d.array('grid', shape if width > 1 or d.random() < 0.7 else shape[:-1])
    if kind == 'bit':
        return d.array('integer', shape if width > 1 or d.random() < 0.7 else shape[:-1], d.of('int32', 'float32'), below=2)
    if kind == 'class':
        return d.array('integer', shape[:-1] + d.of([], [1]), d.of('int32', 'float32'), below=3)
    return d.array('onehot', shape)


def draw_weights(d, heads, n, masked):
    """None, one array, or one for each output. With PyTorch, Keras changes weights in place where there are masks."""
    if d.random() < 0.4 or masked:
        return None

    def one(head):
        steps = list(head[3][:-1])
        shape = [n] + (steps if steps else [])
        if steps and d.random() < 0.4:
            shape = [n, 1]
        return d.array(d.of('positive', 'integer'), shape, 'float32', below=2)
    if len(heads) == 1:
        return [one(heads[0])]
    return [one(h) for h in heads]


class Noise(keras.callbacks.Callback if sys.argv[1] != 'join' else object):
    """Logs numbers that were drawn."""

    def __init__(self, values):
        super().__init__()
        self.values = values

    def on_epoch_end(self, epoch, logs=None):
        v = self.values[epoch]
        if v is not None:
            logs['signal'] = float(v)


def draw_callbacks(d, epochs, ema):
    out = []

    def watched(s):  # of what has no direction of its own, Keras wants to know one
        if s['monitor'] == 'signal' and s.get('mode', 'auto') == 'auto':
            s['mode'] = d.of('min', 'max')
        return s

    if d.random() < 0.5:
        values = [d.of(*[round(d.uniform(-2, 2), 2) for _ in range(4)], 1.0, 1.0, 0.5) for _ in range(epochs)]
        for i in range(epochs):
            if d.random() < 0.1:
                values[i] = d.of(None, 'NaN', 'Infinity', '-Infinity')
        out.append({'class': 'Noise', 'values': values})
        if d.random() < 0.8:
            s = d.maybe(0.5, patience=d.randint(0, 3), min_delta=d.of(0.0, 0.3, -0.2), mode=d.of('min', 'max', 'auto'), baseline=d.of(0.0, 1.0, -5.0), restore_best_weights=True,
                        start_from_epoch=d.randint(0, 3))
            out.append({'class': 'EarlyStopping', 'settings': watched({'monitor': d.of('signal', 'signal', 'loss'), **s})})
        if d.random() < 0.5:
            s = d.maybe(0.5, patience=d.randint(1, 3), min_delta=d.of(0.0, 0.3), mode=d.of('min', 'max', 'auto'), cooldown=d.randint(0, 2), factor=d.of(0.5, 0.1), min_lr=d.of(0.0, 0.004))
            out.append({'class': 'ReduceLROnPlateau', 'settings': watched({'monitor': d.of('signal', 'signal', 'loss'), **s})})
        if d.random() < 0.4:
            s = d.maybe(0.5, save_best_only=True, mode=d.of('min', 'max', 'auto'), initial_value_threshold=d.of(0.0, 0.7))
            out.append({'class': 'ModelCheckpoint', 'settings': watched({'monitor': 'signal', 'save_weights_only': True, **s})})
    if ema and d.random() < 0.5:  # one that ends early with Keras leaves other weights in the model than others, and says so
        early = any(c['class'] == 'EarlyStopping' for c in out)
        out.append({'class': 'SwapEMAWeights', 'settings': {'swap_on_epoch': not early and d.random() < 0.5}})
    return out


def make_callback(c, folder):
    if c['class'] == 'Noise':
        return Noise(c['values'])
    s = dict(c['settings'])
    if c['class'] == 'ModelCheckpoint':
        s['filepath'] = folder + '/at{epoch:02d}.weights.h5'
    return getattr(keras.callbacks, c['class'])(**s)


def scaled(spec, number):
    return numbers(spec).astype(str(number))


def set_weights(m, seed):
    specs = []
    for k, w in enumerate(m.weights):
        if not str(w.dtype).startswith('float'):
            raise ValueError('a weight of ' + str(w.dtype))
        kind = 'positive' if 'variance' in w.name or w.name == 'gamma' else 'grid'
        v = numbers({'kind': kind, 'seed': seed + k, 'shape': list(w.shape), 'dtype': 'float32'})
        w.assign(v if kind == 'positive' else v / 4)


def logs_of(h):
    return {k: [[short(x, 6) for x in np.asarray(v).ravel()] for v in values] for k, values in h.items()}


def run(seed):
    d = Draw(seed)
    m, specs, heads, stateful, batch = draw_model(d)
    names = m.output_names
    losses, metrics, weighted = [draw_loss(d, h) for h in heads], [draw_metrics(d, h) for h in heads], [draw_metrics(d, h) if d.random() < 0.4 else [] for h in heads]
    several = len(heads) > 1
    config = {'optimizer': draw_optimizer(d)}
    if not several:
        config.update(loss=losses[0], metrics=metrics[0] or None, weighted_metrics=weighted[0] or None)
    else:
        how = d.of('list', 'dict', 'dict')
        if how == 'list':
            config.update(loss=losses, metrics=metrics, weighted_metrics=d.of(None, weighted), loss_weights=d.of(None, [d.of(0.5, 1.0, 2.0, 0.0) for _ in heads]))
        else:
            config.update(loss=dict(zip(names, losses)), metrics={n: v for n, v in zip(names, metrics) if v},
                          weighted_metrics={n: v for n, v in zip(names, weighted) if v} or None, loss_weights=d.of(None, {n: d.of(0.5, 2.0) for n in names}))
    n = d.randint(1, 3) * batch if stateful else d.randint(3, 11)
    fit = {'epochs': d.randint(1, 6), 'batch_size': batch}
    c = {'class': 'run', 'seed': d.randrange(1 << 20), 'stateful': stateful, 'x': [{**s, 'shape': [n] + s['shape']} for s in specs], 'y': [labels(d, h, n) for h in heads],
         'w': None}
    masked = any(type(l).__name__ == 'Masking' or getattr(l, 'mask_zero', False) for l in m._flatten_layers())
    for v, h in zip(c['y'], heads):  # of labels with an axis less, Keras multiplies the losses of examples with a mask of steps, if there are as many
        if masked and len(h[3]) > 1 and h[0] in ('number', 'bit'):
            v['shape'] = [n] + list(h[3])
    c['w'] = draw_weights(d, heads, n, masked)
    if c['w'] and any(len(s['shape']) < len(h[3]) + 1 for s, h in zip(c['y'], heads)):
        c['w'] = [dict(s, shape=[n]) if len(y['shape']) < len(h[3]) + 1 else s for s, y, h in zip(c['w'], c['y'], heads)]
    if not several and c['w'] is None and heads[0][0] in ('class', 'bit') and heads[0][1] in (1, 3) and len(heads[0][3]) == 1 and d.random() < 0.4:
        fit['class_weight'] = {str(k): d.of(0.0, 0.5, 2.0) for k in range(d.of(2, 3))}
    if not stateful and n > 4 and d.random() < 0.3:
        fit['validation_split'] = d.of(0.2, 0.4)
        fit.update(d.maybe(0.3, validation_freq=2, validation_batch_size=2))
    fit.update(d.maybe(0.15, initial_epoch=d.randint(0, fit['epochs'] - 1)))
    c['fit'], c['callbacks'] = fit, draw_callbacks(d, fit['epochs'], getattr(config['optimizer'], 'use_ema', False))
    m.compile(**config, run_eagerly=True)
    c['model'] = json.loads(m.to_json())
    set_weights(m, c['seed'])
    x = {'in%d' % k: numbers(s) for k, s in enumerate(c['x'])}
    x = x if len(x) > 1 else x['in0']
    ys = [numbers(s) for s in c['y']]
    ws = None if c['w'] is None else [numbers(s) for s in c['w']]
    as_dict = several and isinstance(config['loss'], dict)
    pack = (lambda v: dict(zip(names, v))) if as_dict else (lambda v: v if several else v[0])
    given = dict(fit)
    if 'class_weight' in given:
        given['class_weight'] = {int(k): v for k, v in given['class_weight'].items()}
    with tempfile.TemporaryDirectory() as folder:
        y, w = pack(ys), None if ws is None else pack(ws)
        h = m.fit(x, y, sample_weight=w, shuffle=False, verbose=0, callbacks=[make_callback(k, folder) for k in c['callbacks']], **given)
        a = {'history': logs_of(h.history), 'epochs': h.epoch, 'files': sorted(os.listdir(folder))}
    scores = m.evaluate(x, y, sample_weight=w, batch_size=batch, verbose=0, return_dict=True)
    a['scores'] = {k: [short(v, 6) for v in np.asarray(s).ravel()] for k, s in scores.items()}
    a['predictions'] = [plain(p, 6) for p in keras.tree.flatten(m.predict(x, batch_size=batch, verbose=0))]
    h = m.fit(x, y, sample_weight=w, shuffle=False, verbose=0, batch_size=batch, epochs=1)
    a['more'] = logs_of(h.history)
    a['then'] = [plain(p, 6) for p in keras.tree.flatten(m.predict(x, batch_size=batch, verbose=0))]
    return c, a


def joined(all_runs):
    kept = [c for c in all_runs if 'error' not in c and sum(len(p['data']) for p in c['answer']['predictions']) <= 80]
    print(len(all_runs), 'runs,', len(kept), 'without an error', file=sys.stderr)
    return kept


def main():
    if sys.argv[1] == 'join':
        write(sys.argv[2], joined([c for path in sys.argv[3:] for c in read(path)]))
        return
    dense_gradients()
    out = []
    for k in range(int(sys.argv[1])):
        number = int(sys.argv[2]) + k
        keras.backend.clear_session()
        try:
            c, a = run(number)
            out.append({**c, 'number': number, 'answer': a})
        except Exception as e:
            out.append({'class': 'run', 'number': number, 'error': error(e)})
            if os.environ.get('RUNS_DEBUG'):
                import traceback
                traceback.print_exc()
    write(sys.argv[3], joined(out) if sys.argv[3].endswith('.gz') else out)


if __name__ == '__main__':
    main()
