"""Draws models whose inputs and outputs are lists, dicts and nests of both, and forms of losses, weights, metrics, labels and data for them, and writes down what Keras makes of it.

    KERAS_BACKEND=tensorflow python internal/randomtraining/structures.py 100 0 internal/randomtraining/testdata/structures.json.gz

Keys of dicts are the names of layers or other ones; some outputs share a layer, or are results of functions. Losses and metrics are words in all their spellings, or objects, in a list with gaps, a dict
of some outputs, a nest, or one for all; names are given twice. Recorded are the names and numbers of logs, or that Keras refuses.
"""
import contextlib
import copy
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
from draw import Draw, dense_gradients, error, numbers, plain, record, short

L, K, M = keras.layers, keras.losses, keras.metrics
LOSSES = {
    'number': ['mse', 'MSE', 'mean_squared_error', 'MeanSquaredError', 'mae', 'MAE', 'mean_absolute_error', 'huber', 'Huber', 'log_cosh', 'LogCosh', K.MeanSquaredError, K.MeanAbsoluteError],
    'bit': ['binary_crossentropy', 'bce', 'BCE', 'BinaryCrossentropy', 'binary_focal_crossentropy', 'crossentropy', 'ce', 'CE', 'hinge', 'squared_hinge', K.BinaryCrossentropy, K.BinaryFocalCrossentropy],
    'class': ['sparse_categorical_crossentropy', 'SparseCategoricalCrossentropy', 'crossentropy', 'ce', 'Crossentropy', K.SparseCategoricalCrossentropy],
    'hot': ['categorical_crossentropy', 'CategoricalCrossentropy', 'crossentropy', 'ce', 'kl_divergence', 'kld', 'KLD', 'KLDivergence', 'categorical_hinge', 'categorical_focal_crossentropy',
            'poisson', 'Poisson', K.CategoricalCrossentropy, K.KLDivergence],
}
METRICS = {  # without hinges, of which Keras pairs each example with each label where labels have an axis less
    'number': ['mse', 'MSE', 'mean_squared_error', 'MeanSquaredError', 'mae', 'MAE', 'mean_absolute_error', 'cosine_similarity', 'RootMeanSquaredError', M.MeanAbsoluteError, M.RootMeanSquaredError,
               M.CosineSimilarity, M.LogCoshError, 'LogCoshError', 'r2_score', 'R2Score', M.MeanSquaredError],
    'bit': ['accuracy', 'acc', 'Accuracy', 'ACC', 'binary_accuracy', 'BinaryAccuracy', 'binary_crossentropy', 'bce', M.BinaryAccuracy, M.BinaryCrossentropy, M.Precision, M.TruePositives,
            lambda **s: M.AUC(num_thresholds=5, **s), lambda **s: M.PrecisionAtRecall(0.5, num_thresholds=5, **s), 'Recall', 'FalseNegatives'],
    'class': ['accuracy', 'acc', 'Acc', 'sparse_categorical_accuracy', 'sparse_categorical_crossentropy', 'sparse_top_k_categorical_accuracy', M.SparseCategoricalAccuracy,
              lambda **s: M.SparseTopKCategoricalAccuracy(k=2, **s), M.SparseCategoricalCrossentropy],
    'hot': ['accuracy', 'acc', 'categorical_accuracy', 'CategoricalAccuracy', 'categorical_crossentropy', 'kl_divergence', 'KLDivergence', 'poisson', 'categorical_hinge', M.CategoricalAccuracy, M.CategoricalCrossentropy,
            M.KLDivergence, lambda **s: M.TopKCategoricalAccuracy(k=2, **s)],
}
KEYS = ['b', 'a', 'Z', 'out10', 'out2', 'y', 'score', 'in0', 'out']


class Nest:
    """A list or dict of leaves 0, 1, ... and of others, in the order of flattening."""

    def __init__(self, shape):
        self.shape = shape

    def of(self, leaves):
        made = lambda s: leaves[s] if isinstance(s, int) else {k: made(v) for k, v in s.items()} if isinstance(s, dict) else [made(v) for v in s]
        return made(self.shape)


def draw_nest(d, n, names):
    """The form of n tensors: one, a list, a dict, or deeper."""
    form = d.of('list', 'list', 'dict', 'dict', 'dict', 'deep') if n > 1 else d.of('one', 'one', 'one', 'list', 'dict')
    keys = list(names) if len(set(names)) == n and d.random() < 0.4 else d.sample(KEYS, n)
    if form == 'one':
        return Nest(0)
    if form == 'list':
        return Nest(list(range(n)))
    if form == 'dict':
        return Nest({k: i for i, k in enumerate(keys if d.random() < 0.5 else sorted(keys))})
    if n == 2:
        return Nest(d.of({'a': [0], 'b': 1}, [[0], [1]], {'m': {'p': 0, 'q': 1}}))
    return Nest(d.of({'a': [0, 1], 'b': 2}, [0, [1, 2]], [{'p': 0, 'q': 1}, 2], {'m': {'p': 0, 'q': 1}, 'n': [2]}, {'z': 0, 'a': [1, 2]}))


def ordered(nest, n):
    """Leaves in the order of keras.tree.flatten."""
    return keras.tree.flatten(nest.of(list(range(n))))


def draw_model(d):
    inputs, specs, features = [], [], []
    for k in range(d.of(1, 1, 2, 3)):
        name = d.of('in%d' % k, 'x%d' % k)
        kind = d.of('vector', 'vector', 'steps')
        if kind == 'vector':
            i = keras.Input((d.of(2, 3),), name=name)
            specs.append([None, i.shape[1]])
            features.append(L.Dense(3, activation='tanh')(i))
        else:
            i = keras.Input((d.of(None, 3), 2), name=name)
            specs.append([None, d.of(2, 3), 2] if i.shape[1] is None else [None, 3, 2])
            features.append(L.SimpleRNN(3)(i))
        inputs.append(i)
    x = L.Concatenate()(features) if len(features) > 1 else features[0]
    outputs, heads, last = [], [], None
    for k in range(d.of(1, 2, 2, 2, 3, 3)):
        if last is not None and d.random() < 0.2:  # the layer of another output, on something else
            layer, kind, width, act = last
            outputs.append(L.Activation('linear', name='again%d' % k)(layer(x * d.of(0.5, 2.0))))  # of two outputs of one name Keras reports one
        else:
            kind = d.of('number', 'number', 'bit', 'class', 'hot')
            width = {'number': d.of(1, 2), 'bit': 1, 'class': 3, 'hot': 3}[kind]
            act = {'number': None, 'bit': 'sigmoid', 'class': 'softmax', 'hot': 'softmax'}[kind]
            layer = L.Dense(width, activation=act, name=d.of('out%d' % k, 'out%d' % k, 'z%d' % (9 - k)))
            outputs.append(layer(x))
            last = layer, kind, width, act
            if kind == 'number' and d.random() < 0.15:
                outputs[-1] = outputs[-1] * 0.5
        heads.append((kind, width, act, outputs[-1].shape[1:]))
    names = [t._keras_history.operation.name for t in outputs]
    into, out = draw_nest(d, len(inputs), [i.name for i in inputs]), draw_nest(d, len(outputs), names)
    return keras.Model(into.of(inputs), out.of(outputs)), into, out, specs, heads


def made(d, word, name=0.25):
    return word if isinstance(word, str) else word(**d.maybe(name, name=d.of('m', 'far', 'accuracy')))


def by_names(out, names):
    """Whether the names of outputs can be keys for them."""
    flat = isinstance(out.shape, list) and not any(isinstance(v, (list, dict)) for v in out.shape)
    return flat or isinstance(out.shape, dict) and set(out.shape) == set(names)


def draw_losses(d, m, out, heads):
    losses = [made(d, d.choice(LOSSES[h[0]]), 0.2) for h in heads]
    n, names = len(heads), m.output_names
    if n > 1 and d.random() < 0.35:
        losses[d.randrange(n)] = None
    if len({h[0] for h in heads}) == 1 and d.random() < 0.5:
        return losses[0] if losses[0] is not None else losses[1], [True] * n
    form = d.of('nest', 'nest', 'list', 'names', 'some')
    flat, given = ordered(out, n), [v is not None for v in losses]
    if form == 'list' and isinstance(out.shape, list) or n == 1 and form != 'nest':
        return [losses[k] for k in flat] if n > 1 or d.random() < 0.5 else losses[0], given
    if form == 'names' and by_names(out, names):
        return {name: losses[k] for name, k in zip(names, flat)}, given
    v = out.of(losses)
    if form == 'some' and isinstance(v, dict):
        v = {k: l for k, l in v.items() if l is not None}
    return v, given


def draw_metrics(d, m, out, heads):
    def some(h):
        words = [made(d, d.choice(METRICS[h[0]])) for _ in range(d.of(0, 1, 1, 2, 3))]
        return words
    n, names = len(heads), m.output_names
    lists = [some(h) for h in heads]
    if n == 1:
        return d.of(lists[0], lists[0], [lists[0]], {next(iter(out.shape)) if isinstance(out.shape, dict) else names[0]: lists[0]})
    values = [d.of(v, v, v[0] if v else None, None) or None for v in lists]
    form = d.of('nest', 'nest', 'list', 'names', 'some')
    flat = ordered(out, n)
    if form == 'list':
        return [values[k] for k in flat]
    if form in ('names', 'some') and by_names(out, names):
        return {name: values[k] for name, k in zip(names, flat) if values[k] or form == 'names'}
    return out.of(values)


def draw_loss_weights(d, loss, out, heads):
    n = len(heads)
    w = [d.of(0.5, 2.0, 0.25, 3.0) for _ in heads]
    form = d.of('none', 'none', 'list', 'nest', 'like')
    if form == 'none':
        return None
    if form == 'list':
        return [2.0 - k / 2 for k in range(len(loss))] if isinstance(loss, (list, dict)) else w[0] if n == 1 else None
    if form == 'like' and isinstance(loss, dict):
        return {k: d.of(0.5, 2.0) for k in loss}
    return out.of(w) if isinstance(loss, type(out.shape)) and len(loss) == len(out.shape) else None


def build(v):
    """Arrays of specifications, in their structure."""
    if v is None:
        return None
    if isinstance(v, dict) and 'kind' in v:
        return numbers(v)
    if isinstance(v, dict):
        return {k: build(a) for k, a in v.items()}
    return [build(a) for a in v]


def draw_labels(d, m, out, heads, n, given, how):
    """Labels as the outputs are, as a list, under the names of outputs, or of those with a loss alone."""
    y = [runs.labels(d, h, n) for h in heads]
    flat, count = ordered(out, len(heads)), len(heads)
    if how == 'list' and count > 1 and isinstance(out.shape, list):
        return [y[k] for k in flat]
    if how == 'names' and by_names(out, m.output_names):
        return {name: y[k] for name, k in zip(m.output_names, flat)}
    if how == 'trained' and not all(given):
        rest = [y[k] for k in flat if given[k]]
        return rest if len(rest) > 1 or d.random() < 0.5 else rest[0]
    return out.of(y)


def draw_weights(d, y, n, how):
    """One for all, a list, or one for each array of labels."""
    one = lambda: d.array(d.of('positive', 'integer'), [n], below=3)
    if how == 'one':
        return one()
    each = lambda v: one() if 'kind' in v else {k: each(e) for k, e in v.items()} if isinstance(v, dict) else [each(e) for e in v]
    w = each(y)
    return [w[k] for k in w] if how == 'list' and isinstance(w, dict) and 'kind' not in w else w


def scores(s):
    return {k: [short(v, 7) for v in np.asarray(v).ravel()] for k, v in s.items()}


class Trained:
    def __init__(self, m):
        self.m = m

    def data(self, a):
        return build(a['x']), build(a['y']), build(a['w'])

    def fit(self, data, batch_size, epochs, validation=None, validation_split=0.0):
        x, y, w = self.data(data)
        more = {'validation_split': validation_split} if validation_split else {}
        if validation:
            more['validation_data'] = tuple(v for v in self.data(validation) if v is not None)
        h = self.m.fit(x, y, sample_weight=w, batch_size=batch_size, epochs=epochs, shuffle=False, verbose=0, **more)
        return {'history': runs.logs_of(h.history), 'epochs': h.epoch}

    def evaluate(self, data, batch_size):
        x, y, w = self.data(data)
        return {'scores': scores(self.m.evaluate(x, y, sample_weight=w, batch_size=batch_size, verbose=0, return_dict=True))}

    def train_on_batch(self, data):
        x, y, w = self.data(data)
        return {'scores': scores(self.m.train_on_batch(x, y, sample_weight=w, return_dict=True))}

    def test_on_batch(self, data):
        x, y, w = self.data(data)
        return {'scores': scores(self.m.test_on_batch(x, y, sample_weight=w, return_dict=True))}

    def predict(self, data, batch_size):
        return {'predictions': [plain(p, 7) for p in keras.tree.flatten(self.m.predict(build(data['x']), batch_size=batch_size, verbose=0))]}


def draw_call(d, draw_set):
    name = d.of('fit', 'fit', 'evaluate', 'predict', 'train_on_batch', 'test_on_batch')
    a = {'data': draw_set()}
    if name in ('fit', 'evaluate', 'predict'):
        a['batch_size'] = d.of(2, 3, 10)
    if name == 'fit':
        a['epochs'] = d.of(1, 2)
        kind = d.of('none', 'none', 'split', 'data')
        if kind == 'split':
            a['validation_split'] = 0.4
        elif kind == 'data':
            a['validation'] = draw_set()
    return name, a


def run(seed):
    d = Draw(seed)
    keras.config.set_floatx('float32')
    m, into, out, specs, heads = draw_model(d)
    loss, given = draw_losses(d, m, out, heads)
    config = {'optimizer': d.of('sgd', 'adam', 'SGD', 'Adam', 'rmsprop', 'RMSprop'), 'loss': loss, 'loss_weights': draw_loss_weights(d, loss, out, heads), 'metrics': draw_metrics(d, m, out, heads),
              'weighted_metrics': draw_metrics(d, m, out, heads) if d.random() < 0.4 else None}
    c = {'class': 'structures', 'number': seed, 'seed': d.randrange(1 << 20), 'calls': []}
    how, weighting = d.of('nest', 'nest', 'list', 'names', 'trained'), d.of('none', 'none', 'none', 'like', 'like', 'one', 'list')
    if how == 'trained' and not all(given):  # Keras compares metrics with the labels of other outputs then
        config.update(metrics=None, weighted_metrics=None)
    def draw_set():
        n, lengths = d.randint(4, 7), d.of(2, 3, 4)
        x = into.of([d.array('grid', [n] + [v or lengths for v in s[1:]]) for s in specs])
        y = draw_labels(d, m, out, heads, n, given, how)
        w = None if weighting == 'none' else draw_weights(d, y, n, weighting)
        return {'x': x, 'y': y, 'w': w}

    try:
        m.compile(**config, run_eagerly=True)
    except Exception as e:
        c['calls'] = [{'name': 'compile', 'arguments': {}, 'answer': {'error': error(e)}}]
        c['model'] = None
        return c
    c['model'] = json.loads(m.to_json())
    runs.set_weights(m, c['seed'])
    t = Trained(m)
    for _ in range(d.randint(1, 4)):
        name, a = draw_call(d, draw_set)
        a = json.loads(json.dumps(a))
        try:
            with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
                warnings.simplefilter('ignore')
                answer = getattr(t, name)(**copy.deepcopy(a))
        except Exception as e:
            if os.environ.get('DRAW_DEBUG'):
                import traceback
                traceback.print_exc()
            answer = {'error': error(e)}
        c['calls'].append({'name': name, 'arguments': a, 'answer': answer})
        if 'error' in answer:
            break
    return c


if __name__ == '__main__':
    warnings.simplefilter('ignore')
    dense_gradients()
    record(run, 'models')
