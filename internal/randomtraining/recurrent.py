"""Draws recurrent networks, and sequences of calls on each, and writes down what Keras has after each call.

    KERAS_BACKEND=tensorflow python internal/randomtraining/recurrent.py 100 0 internal/randomtraining/testdata/recurrent.json.gz

Networks are chains and encoders with decoders: layers over cells of one's own and stacks of cells, in both directions with different layers for each, convolutional ones, layers for every step; with every
option, masks that come from tokens, from the middle of the network or as an argument, states that are inputs, outputs or those of other layers, and layers that keep states between batches. Calls are those of calls.py that
bear on states: fits, evaluations, predictions, steps, resets, files of each kind from which the model goes on.
"""
import json
import os
import warnings

os.environ.setdefault('KERAS_BACKEND', 'tensorflow')
os.environ.setdefault('TF_CPP_MIN_LOG_LEVEL', '3')
os.environ.setdefault('CUDA_VISIBLE_DEVICES', '')
os.environ.setdefault('JAX_ENABLE_X64', '1')
import keras
import calls
import runs
from draw import Draw, dense_gradients, numbers, record

L = keras.layers
own = keras.saving.register_keras_serializable('Drawn')


@own
class Leaky(L.Layer):
    """A cell of one's own: two states, of which the second one is no vector of the first one's length, and a result that is neither."""

    def __init__(self, units, leak=0.5, **more):
        super().__init__(**more)
        self.units, self.leak = units, leak
        self.state_size, self.output_size = [units, 1], units

    def build(self, shape):
        self.kernel = self.add_weight(shape=(shape[-1], self.units), name='kernel')
        self.mix = self.add_weight(shape=(self.units, self.units), name='mix')

    def call(self, x, states, training=False):
        h, n = states
        h = h * self.leak + keras.ops.tanh(keras.ops.matmul(x, self.kernel) + keras.ops.matmul(h, self.mix)) * (1 - self.leak)
        n = n + 1.0
        return h / n, [h, n]

    def get_config(self):
        return {**super().get_config(), 'units': self.units, 'leak': self.leak}


class Network:
    def __init__(self, d, stateful, batch):
        self.d, self.stateful, self.batch = d, stateful, batch
        self.inputs, self.specs, self.extra, self.norm = [], [], [], False

    def input(self, shape, kind='grid', dtype=None, **more):
        fixed = {'batch_shape': (self.batch,) + tuple(shape)} if self.stateful else {'shape': tuple(shape)}
        i = keras.Input(**fixed, dtype=dtype, name='in%d' % len(self.inputs))
        self.inputs.append(i)
        self.specs.append(self.d.array(kind, shape, dtype or keras.config.floatx(), **more))
        return i

    def options(self, cls, cell=False):
        d = self.d
        s = d.maybe(0.15, use_bias=False, activation=d.of('relu', 'sigmoid', None), dropout=0.0, recurrent_dropout=0.0, kernel_regularizer='l2', recurrent_constraint=keras.constraints.MaxNorm(0.6))
        if cls not in (L.SimpleRNN, L.SimpleRNNCell):
            s.update(d.maybe(0.2, recurrent_activation=d.of('hard_sigmoid', 'tanh')))
        if cls in (L.LSTM, L.LSTMCell):
            s.update(d.maybe(0.2, unit_forget_bias=False))
        if cls in (L.GRU, L.GRUCell):
            s.update(d.maybe(0.4, reset_after=False))
        return s

    def cell(self):
        cls = self.d.of(L.LSTMCell, L.GRUCell, L.SimpleRNNCell, Leaky)
        return cls(self.d.of(2, 3), **(self.d.maybe(0.5, leak=0.25) if cls is Leaky else self.options(cls)))

    def cells(self):
        d = self.d
        if d.random() < 0.4:
            return self.cell()
        made = [self.cell() for _ in range(d.of(1, 2, 3))]
        if d.random() < 0.2:
            made.append(L.StackedRNNCells([self.cell(), self.cell()]))
        return d.of(made, L.StackedRNNCells(made))

    def one(self, sequences, state, steps, **more):
        """A layer of vectors, in one direction."""
        d = self.d
        s = {'return_sequences': sequences, 'return_state': state, 'stateful': self.keeps, **more}
        s.update(d.maybe(0.2, zero_output_for_mask=True))
        if 'go_backwards' not in s:
            s.update(d.maybe(0.2, go_backwards=True))
        if steps:
            s.update(d.maybe(0.2, unroll=True))
        if d.random() < 0.35:
            return L.RNN(self.cells(), **s)
        cls = d.of(L.LSTM, L.GRU, L.SimpleRNN)
        return cls(d.of(2, 3), **s, **self.options(cls))

    def states(self, layer, known):
        """Initial states for a layer: of other layers, of inputs, or None."""
        sizes = layer.state_size if not isinstance(layer, L.Bidirectional) else [layer.forward_layer.state_size, layer.backward_layer.state_size]
        sizes = keras.tree.flatten(sizes)
        if self.d.random() < 0.6 or any(not isinstance(v, int) for v in sizes):
            return None
        found = []
        for n in sizes:
            fit = [t for t in known if t.shape[-1] == n and len(t.shape) == 2]
            found.append(self.d.choice(fit) if fit and self.d.random() < 0.6 else self.input((n,)))
        if isinstance(layer, L.RNN) and isinstance(layer.cell, L.StackedRNNCells):
            return None if any(isinstance(v, (list, tuple)) for v in layer.state_size) else found
        return found

    def recurrent(self, x, known, last):
        d = self.d
        self.keeps = self.stateful and d.random() < 0.8
        sequences, state, steps = not last or d.random() < 0.4, d.random() < 0.4, x.shape[1]
        if d.random() < 0.3:
            forward = self.one(sequences, state, steps, go_backwards=d.random() < 0.15)
            back = None
            if d.random() < 0.4:
                back = self.one(sequences, state, steps, go_backwards=not forward.go_backwards)
            same = back is None or back.compute_output_shape(x.shape) == forward.compute_output_shape(x.shape)
            layer = L.Bidirectional(forward, backward_layer=back, merge_mode=d.of('concat', 'sum', 'mul', 'ave', None) if same else d.of('concat', None))
        else:
            layer = self.one(sequences, state, steps)
        call = {}
        if d.random() < 0.15:
            call['mask'] = self.input((steps or self.length,), 'integer', 'bool', below=2)
        initial = self.states(layer, known)
        if initial is not None:
            call['initial_state'] = initial if len(initial) > 1 or d.random() < 0.5 else initial[0]
        y = keras.tree.flatten(layer(x, **call))
        whole = 2 if isinstance(layer, L.Bidirectional) and layer.merge_mode is None else 1
        self.extra += [t for t in y[1:] if len(t.shape) == 2]
        return L.Add()(y[:2]) if whole == 2 and y[0].shape == y[1].shape else y[0]

    def each(self, x):
        """A layer for every step."""
        d = self.d
        def model():
            i = keras.Input(x.shape[2:])
            return keras.Model(i, L.Dense(3)(L.LayerNormalization()(i)))
        def norm():
            self.norm = True
            return L.BatchNormalization(momentum=0.5)
        return L.TimeDistributed(d.of(lambda: L.Dense(3, activation='tanh'), model, lambda: keras.Sequential([L.Dense(2), L.Activation('relu')]), norm, lambda: L.LayerNormalization(), lambda: L.TimeDistributed(L.Dense(2)) if len(x.shape) > 3 else L.Dense(2),
                                      lambda: L.Reshape((x.shape[-1], 1)) if len(x.shape) == 3 else L.Dense(2))())(x)

    def middle(self, x):
        d = self.d
        return d.of(lambda: L.Dense(3, activation='relu')(x), lambda: L.Masking(d.of(0.0, 0.5))(L.Dense(2, activation='relu')(x)), lambda: self.each(x), lambda: L.Dropout(0.0)(x), lambda: L.Conv1D(3, 2, padding='causal')(x),
                    lambda: L.LayerNormalization()(x), lambda: x)()

    def images(self):
        """A convolutional layer of one to three axes."""
        d = self.d
        rank, n = d.of(1, 1, 2, 3), d.of(2, 3)
        first = keras.backend.backend() != 'tensorflow' and d.random() < 0.3
        shape = [d.of(3, 4) for _ in range(rank)]
        c = d.of(1, 2)
        x = self.input([n] + ([c] + shape if first else shape + [c]))
        layers = d.of(1, 1, 2)
        for k in range(layers):
            last = k == layers - 1
            s = {'filters': 2, 'kernel_size': d.of(1, 2, 3) if last else 2, 'padding': d.of('same', 'valid') if last else 'same', 'return_sequences': not last or d.random() < 0.4, 'return_state': d.random() < 0.4,
                 'stateful': self.stateful and d.random() < 0.8, **d.maybe(0.2, use_bias=False, go_backwards=True, recurrent_activation='hard_sigmoid', unit_forget_bias=False, activation='relu', dropout=0.0, kernel_regularizer='l2')}
            s.update(d.maybe(0.2, strides=2) or d.maybe(0.2, dilation_rate=2) if last else {})
            if first:
                s['data_format'] = 'channels_first'
            layer = getattr(L, 'ConvLSTM%dD' % rank)(**s)
            call = {}
            if d.random() < 0.2:
                call['mask'] = self.input((n,), 'integer', 'bool', below=2)
            if d.random() < 0.25 and last and 'strides' not in s:
                state = [v for v in layer.compute_output_shape(x.shape)[1:]] if not s['return_state'] and not s['return_sequences'] else None
                if state and all(isinstance(v, int) for v in state):
                    call['initial_state'] = [self.input(state), self.input(state)]
            y = keras.tree.flatten(layer(x, **call))
            if d.random() < 0.5:
                self.extra += [L.Flatten()(t) for t in y[1:]]
            x = y[0]
        return L.TimeDistributed(L.Flatten())(x) if len(x.shape) == rank + 3 and d.random() < 0.6 else L.Flatten()(x) if len(x.shape) == rank + 2 or d.random() < 0.5 else x

    def sequence(self):
        d = self.d
        self.length = d.of(2, 3, 4)
        steps = d.of(None, self.length, self.length) if not self.stateful else d.of(self.length, self.length, None)
        kind = d.of('tokens', 'steps', 'steps', 'pictures')
        if kind == 'tokens':
            x = L.Embedding(5, 3, mask_zero=d.random() < 0.8)(self.input((steps,), 'integer', 'int32', below=5))
        elif kind == 'pictures':
            x = self.input((steps, 3, 2))
            x = L.TimeDistributed(d.of(lambda: L.Conv1D(2, 2), lambda: L.Bidirectional(L.GRU(2)), lambda: L.LSTM(2, return_sequences=d.random() < 0.5), lambda: L.Flatten(), lambda: L.GlobalMaxPooling1D(),
                                       lambda: keras.Sequential([L.SimpleRNN(2), L.Dense(2)]), lambda: L.TimeDistributed(L.Dense(2)))())(x)
            if len(x.shape) == 4:
                x = L.TimeDistributed(L.Flatten())(x)
        else:
            x = self.input((steps, d.of(1, 2, 3)), *d.of(('grid',), ('integer',)), **{'below': 3})
            if d.random() < 0.5:
                x = L.Masking(d.of(0.0, 1.0))(x)
        return x

    def model(self):
        d = self.d
        if d.random() < 0.2:
            out = self.images()
        else:
            x = self.sequence()
            known, depth = [], d.of(1, 2, 2, 3)
            for k in range(depth):
                x = self.recurrent(x, list(self.extra), k == depth - 1)
                if len(x.shape) == 3 and d.random() < 0.4:
                    x = self.middle(x)
                if len(x.shape) == 4:
                    x = L.TimeDistributed(L.Flatten())(x)
            out = x
        outputs = [L.Dense(2, name='out0')(out) if d.random() < 0.7 and out.shape[-1] is not None else out]
        if self.extra and d.random() < 0.5:
            outputs += d.sample(self.extra, min(len(self.extra), d.of(1, 2)))
        names = [t._keras_history.operation.name for t in outputs]
        outputs = [L.Activation('linear', name='again%d' % k)(t) if names[k] in names[:k] else t for k, t in enumerate(outputs)]  # of two outputs of one name Keras reports one
        m = keras.Model(self.inputs if len(self.inputs) > 1 else self.inputs[0], outputs if len(outputs) > 1 else outputs[0])
        for i, s in zip(self.inputs, self.specs):
            s['shape'] = [self.length if v is None else v for v in s['shape']]
        return m


def drawn(d, keeps):
    while True:
        stateful, batch = keeps and d.random() < 0.4, d.randint(2, 3)
        n = Network(d, stateful, batch)
        try:
            m = n.model()
        except (ValueError, TypeError, AttributeError, NotImplementedError) as e:
            if os.environ.get('DRAW_REFUSED'):
                print(type(e).__name__, str(e)[:200].replace('\n', ' '))
            continue
        if m.trainable_weights and m.count_params() < 1500:
            return n, m


def network(d):
    """A model that keeps no states, as draw_model of runs.py returns one."""
    net, m = drawn(d, False)
    heads = [('number', 2, None, keras.ops.convert_to_numpy(y).shape[1:]) for y in keras.tree.flatten(m(example(net, 2)))]
    return m, net.specs, heads, False, net.batch


def draw_call(d, s, n, batch, stateful):
    name = d.of('fit', 'fit', 'evaluate', 'predict', 'predict_on_batch', 'train_on_batch', 'train_on_batch', 'test_on_batch', 'set_weights', 'trainable', 'file', 'file', *(['reset'] * 3 if stateful else []))
    k = d.of(0, 1)
    lo = d.of(0, n[k] - batch) if stateful else d.randint(0, n[k] - 2)
    hi = lo + batch if stateful else d.randint(lo + 2, n[k])
    size = {'batch_size': batch} if stateful else d.maybe(0.7, batch_size=d.randint(2, 5))
    if name == 'fit':
        a = {'data': k, 'epochs': d.randint(1, 2), 'batch_size': batch}
        a.update(d.maybe(0.3, validation=d.of(0, 1)))
        return name, a
    if name in ('evaluate', 'predict'):
        return name, {'data': k, **size}
    if name in ('predict_on_batch', 'train_on_batch', 'test_on_batch'):
        return name, {'data': k, 'lo': lo, 'hi': hi}
    if name == 'set_weights':
        return name, {'seed': d.randrange(1 << 20)}
    if name == 'trainable':
        return name, {'layer': d.choice([l.name for l in s.m.layers if l.weights]), 'on': d.random() < 0.4}
    if name == 'file':
        kind = d.of('keras', 'weights.h5', 'weights.json')
        if stateful and kind == 'keras':  # whose states are no part of a file
            kind = 'weights.h5'
        return name, {'kind': kind, 'seed': d.randrange(1 << 20)}
    return name, {}


def run(seed, count):
    d = Draw(seed)
    wide = d.random() < 0.8
    keras.config.set_floatx('float64' if wide else 'float32')
    net, m = drawn(d, True)
    stateful, batch = net.stateful, net.batch
    heads = [('number', 2, None, keras.ops.convert_to_numpy(y).shape[1:]) for y in keras.tree.flatten(m(example(net, batch)))]
    n = [d.randint(1, 3) * batch if stateful else d.randint(4, 7) for _ in range(2)]
    c = {'class': 'calls', 'number': seed, 'seed': d.randrange(1 << 20), 'stateful': stateful, 'norm': net.norm, 'wide': wide, 'exact': True, 'data': [], 'weighted': False, 'classes': 0}
    for k in n:
        c['data'].append({'x': [{**s, 'seed': d.randrange(1 << 20), 'shape': [k] + s['shape']} for s in net.specs], 'y': [d.array('grid', [k] + list(h[3]), keras.config.floatx()) for h in heads], 'w': None})
    while True:
        config = {'optimizer': runs.draw_optimizer(d), 'loss': [d.of('mse', 'mae', 'huber') for _ in heads] if len(heads) > 1 else d.of('mse', 'huber')}
        if not any(w in str(calls.serialized(config)) for w in ('Lion', 'Muon', 'ScheduleFree')):
            break
    m.compile(**config, run_eagerly=calls.EAGER)
    c['model'] = json.loads(m.to_json())
    s = calls.Sequence(c)
    c['calls'] = []
    for _ in range(count):
        name, a = draw_call(d, s, n, batch, stateful)
        if not calls.step(s, c, name, json.loads(json.dumps(a))):
            break
    return c


def example(net, n):
    x = [numbers({**s, 'shape': [n] + s['shape']}) for s in net.specs]
    return x if len(x) > 1 else x[0]


if __name__ == '__main__':
    warnings.simplefilter('ignore')
    dense_gradients()
    record(lambda number: run(number, int(os.environ.get('CALLS_LENGTH', '8'))), 'sequences')
