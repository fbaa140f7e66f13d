"""Draws random models of words with masks, and writes down what one step of plain gradient descent makes of their weights.

    python internal/randomnets/randomgradients.py --count 50 --seed 0 --out folder

A model has embeddings of words, many of them equal and some masked, recurrent layers, attention, an encoder and a decoder that starts with its
states, convolutions with batch normalization, maxima over time, and regularizers. For each there is a file, N.keras, with the weights before the step;
gradients.json has the inputs, labels and, for each weight, its gradient in float64, and how far Keras's own in float32 is from it.
"""
import argparse
import json
import os
import sys

os.environ.setdefault('KERAS_BACKEND', 'tensorflow')
os.environ['TF_CPP_MIN_LOG_LEVEL'] = '3'
import keras
import numpy as np
from keras import layers

from randomnets import Draw


class Gradients(Draw):
    """Draws layers for sequences."""

    def regularizer(self):
        return self.of(None, None, None, 'l2', 'l1', keras.regularizers.OrthogonalRegularizer(0.01, self.of('rows', 'columns')))

    def recurrent(self, **more):
        kind = self.of(layers.LSTM, layers.GRU, layers.SimpleRNN)
        c = {'units': self.of(3, 5, 8), **self.maybe('use_bias', False), **self.maybe('go_backwards', True), 'kernel_regularizer': self.of(None, None, 'l2'), **more}
        if kind is layers.GRU:
            c.update(self.maybe('reset_after', False))
        if self.random() < 0.2:
            c['activation'] = self.of('relu', 'sigmoid')
        return kind(**c)

    def sequence(self, x):
        """A layer on a sequence that gives one."""
        k = self.of('rnn', 'rnn', 'bi', 'mha', 'mha', 'gqa', 'dot', 'additive', 'conv', 'time', 'norm', 'dense', 'cells', 'mask', 'add', 'pool', 'separable', 'embed')
        if k == 'rnn':
            return self.recurrent(return_sequences=True)(x)
        if k == 'bi':
            inner = self.recurrent(return_sequences=True, go_backwards=False)
            return layers.Bidirectional(inner, merge_mode=self.of('concat', 'sum', 'ave', 'mul'))(x)
        if k == 'mha':
            layer = layers.MultiHeadAttention(self.of(1, 2, 3), self.of(2, 4), **self.maybe('value_dim', 3), **self.maybe('use_bias', False))
            y = layer(x, x, use_causal_mask=self.random() < 0.4)
            return layers.Add()([x, y]) if self.random() < 0.5 else y
        if k == 'gqa':
            return layers.GroupQueryAttention(self.of(2, 4), 4, self.of(1, 2, 4))(x, x, use_causal_mask=self.random() < 0.3)
        if k == 'dot':
            return layers.Attention(use_scale=self.random() < 0.5, score_mode=self.of('dot', 'concat'))([x, x], use_causal_mask=self.random() < 0.3)
        if k == 'additive':
            return layers.AdditiveAttention(use_scale=self.random() < 0.7)([x, x], use_causal_mask=self.random() < 0.3)
        if k in ('conv', 'separable'):
            kind = layers.Conv1D if k == 'conv' else layers.SeparableConv1D
            more = {'kernel_regularizer': self.regularizer()} if k == 'conv' else {}
            x = kind(self.of(3, 8), self.of(1, 3), padding='same', **more)(x)
            if self.random() < 0.7:
                x = layers.BatchNormalization(momentum=self.of(0.0, 0.9))(x)
            return layers.Activation(self.of('relu', 'tanh'))(x)
        if k == 'time':
            return layers.TimeDistributed(self.of(layers.Dense(4, activation='relu'), layers.LayerNormalization()))(x)
        if k == 'norm':
            return self.of(layers.LayerNormalization(), layers.BatchNormalization(momentum=0.5), layers.UnitNormalization(), layers.RMSNormalization())(x)
        if k == 'dense':
            return layers.Dense(self.of(3, 8), self.of('relu', 'gelu', None, 'softmax'), kernel_regularizer=self.regularizer())(x)
        if k == 'cells':
            cells = [self.of(layers.LSTMCell, layers.GRUCell, layers.SimpleRNNCell)(self.of(2, 4)) for _ in range(self.of(1, 2))]
            return layers.RNN(cells[0] if len(cells) == 1 else layers.StackedRNNCells(cells), return_sequences=True)(x)
        if k == 'mask':
            return layers.Masking(0.0)(layers.Activation('relu')(x))
        if k == 'pool':
            return self.of(layers.MaxPooling1D, layers.AveragePooling1D)(2, 1, 'same')(x)
        if k == 'embed':
            return layers.Concatenate()([x, layers.Dense(2)(x)])
        y = layers.Dense(x.shape[-1])(x)
        return self.of(layers.Add, layers.Multiply, layers.Maximum, layers.Subtract)()([x, y])

    def words(self, name):
        i = keras.Input([self.of(5, 7)], dtype='int32', name=name)
        x = layers.Embedding(9, self.of(3, 4, 8), mask_zero=self.random() < 0.7, embeddings_regularizer=self.of(None, None, None, 'l2'))(i)
        if self.random() < 0.4:  # positions
            places = layers.Embedding(i.shape[1], x.shape[-1])(keras.ops.arange(i.shape[1]))
            x = x + places
        return i, x


def translator(r):
    """An encoder, and a decoder that starts with its states and looks at its outputs."""
    a, x = r.words('a')
    b, y = r.words('b')
    kind, units = r.of(layers.LSTM, layers.GRU), r.of(3, 6)
    seen, *states = kind(units, return_sequences=True, return_state=True)(x)
    if r.random() < 0.4:
        back = layers.Bidirectional(kind(units, return_sequences=True, return_state=True))(x)
        n = len(back[1:]) // 2
        seen, states = layers.Dense(units)(back[0]), [layers.Add()([p, q]) for p, q in zip(back[1:1 + n], back[1 + n:])]
    y = kind(units, return_sequences=True)(y, initial_state=states)
    k = r.of('additive', 'dot', 'mha', 'none')
    if k == 'mha':
        y = layers.Add()([y, layers.MultiHeadAttention(2, 3)(query=y, value=seen)])
    elif k != 'none':
        context = (layers.AdditiveAttention if k == 'additive' else layers.Attention)()([y, seen])
        y = layers.Concatenate()([y, context])
    return [a, b], y


def points(r):
    """Shared layers of points, the most of each feature, and a matrix that is made of them and should be orthogonal."""
    i = keras.Input([7, 3], name='a')

    def block(x, n):
        return layers.Activation('relu')(layers.BatchNormalization(momentum=0.0)(x))

    x = block(layers.Conv1D(6, 1, padding='valid')(i), 6)
    y = layers.GlobalMaxPooling1D()(x)
    y = block(layers.Dense(5)(y), 5)
    t = layers.Dense(9, kernel_initializer='zeros', bias_initializer=keras.initializers.Constant(0.3), activity_regularizer=r.regularizer() if r.random() < 0.5 else None)(y)
    x = layers.Dot(axes=(2, 1))([i, layers.Reshape((3, 3))(t)])
    return [i], block(layers.Conv1D(4, 1)(x), 4)


def blocks(r):
    """Transformer blocks; masks end at the first sum, because attention takes them off what it is given."""
    i, x = r.words('a')
    for _ in range(r.of(1, 2, 3)):
        y = layers.MultiHeadAttention(r.of(1, 2), r.of(2, 4))(x, x, use_causal_mask=r.random() < 0.3)
        x = r.of(layers.Add()([x, y]), x + y, layers.Concatenate()([x, y]))
        x = layers.LayerNormalization()(x)
        x = layers.Add()([x, layers.Dense(x.shape[-1], 'gelu')(x)])
    return [i], x


def network(r):
    kind = r.random()
    if kind < 0.3:
        inputs, x = translator(r)
    elif kind < 0.4:
        inputs, x = points(r)
    elif kind < 0.55:
        inputs, x = blocks(r)
    else:
        i, x = r.words('a')
        inputs = [i]
    for _ in range(r.randint(0 if kind < 0.55 else 1, 3)):
        for _ in range(10):
            try:
                x = r.sequence(x)
                break
            except ValueError:
                continue
    end = r.of('sequence', 'sequence', 'max', 'average', 'last', 'flatten')
    if end == 'max':
        x = layers.GlobalMaxPooling1D()(x)
    elif end == 'average':
        x = layers.GlobalAveragePooling1D()(x)
    elif end == 'last':
        x = r.recurrent()(x)
    elif end == 'flatten':
        x = layers.Flatten()(x)
    loss = r.of('class', 'class', 'mse', 'binary')
    x = layers.Dense(4, {'class': r.of(None, 'softmax'), 'mse': None, 'binary': 'sigmoid'}[loss])(x)
    return keras.Model(inputs, x), loss


def losses(kind, softmax):
    return {'class': keras.losses.SparseCategoricalCrossentropy(from_logits=not softmax), 'mse': 'mse', 'binary': 'binary_crossentropy'}[kind]


def step(m, x, y, weights, sample):
    """The change of each weight in one step, and the loss."""
    loss = m.train_on_batch(x, y, sample_weight=sample)
    return [np.array(keras.ops.convert_to_numpy(a), 'float64') for a in m.weights], float(np.ravel(loss)[0])


def model(r, number, folder):
    keras.utils.set_random_seed(r.randrange(1 << 30))
    rng = np.random.default_rng(r.randrange(1 << 30))
    m, kind = network(r)
    if not m.trainable_weights:
        return None
    for w in m.trainable_weights:  # no ties, nothing that is exactly zero
        w.assign(keras.ops.convert_to_numpy(w) + rng.standard_normal(w.shape).astype('float32') * 0.1)
    x = []
    for i in m.inputs:
        if i.dtype == 'int32':
            a = rng.integers(1, 9, (6,) + i.shape[1:])
            for row in a:
                if rng.random() < 0.6:
                    row[rng.integers(0 if rng.random() < 0.2 else 1, len(row) + 1):] = 0  # padding, now and then all of a sentence
            x.append(a.astype('int32'))
        else:
            x.append(rng.standard_normal((6,) + i.shape[1:]).astype('float32'))
    shape = m(x, training=False).shape
    y = rng.integers(0, 4, shape[:-1]).astype('int32') if kind == 'class' else rng.standard_normal(shape).astype('float32') if kind == 'mse' else rng.integers(0, 2, shape).astype('float32')
    softmax = 'softmax' == getattr(m.layers[-1].activation, '__name__', '')
    sample = None
    if r.random() < 0.2:
        sample = rng.random(6).astype('float32')
    m.compile(keras.optimizers.SGD(1.0), losses(kind, softmax), run_eagerly=True)
    m.optimizer.build(m.trainable_variables)
    m.save('%s/%d.keras' % (folder, number))
    start = m.get_weights()
    text = m.to_json().replace('float32', 'float64')
    keras.config.set_floatx('float64')
    try:
        wide = keras.models.model_from_json(text)
        wide.set_weights(start)
        wide.compile(keras.optimizers.SGD(1.0), losses(kind, softmax), run_eagerly=True)
        exact, loss = step(wide, [a.astype('float64') if a.dtype == np.float32 else a for a in x], y.astype('float64') if y.dtype == np.float32 else y, start, None if sample is None else sample.astype('float64'))
    finally:
        keras.config.set_floatx('float32')
    single, _ = step(m, x, y, start, sample)
    changes = []
    for w, a, b, s in zip(m.weights, exact, single, start):
        if not np.isfinite(a).all():
            return None
        changes.append({'path': w.path, 'shape': list(a.shape), 'after': a.ravel().tolist(), 'off': float(np.max(np.abs(a - b), initial=0)), 'largest': float(np.max(np.abs(a - s), initial=0))})
    return {'number': number, 'x': [{'shape': list(a.shape), 'data': a.ravel().tolist(), 'integer': a.dtype == np.int32} for a in x],
            'y': {'shape': list(y.shape), 'data': y.ravel().tolist(), 'integer': y.dtype == np.int32},
            'sample': None if sample is None else sample.tolist(), 'loss': loss, 'weights': changes, 'layers': [type(l).__name__ for l in m.layers]}


def main():
    p = argparse.ArgumentParser()
    p.add_argument('--count', type=int, default=50)
    p.add_argument('--seed', type=int, default=0)
    p.add_argument('--out', required=True)
    a = p.parse_args()
    os.makedirs(a.out, exist_ok=True)
    rows, failed = [], {}
    for i in range(a.count):
        try:
            row = model(Gradients(a.seed + i), i, a.out)
        except Exception as e:
            failed[type(e).__name__ + ': ' + ' '.join(str(e).split())[:200]] = a.seed + i
            row = None
        if row:
            row['seed'] = a.seed + i
            rows.append(row)
        if i % 20 == 19:
            keras.backend.clear_session()
    with open(a.out + '/gradients.json', 'w') as f:
        json.dump({'keras': keras.__version__, 'models': rows}, f)
    print(len(rows), 'models; Keras fails with', failed, file=sys.stderr)


if __name__ == '__main__':
    main()
