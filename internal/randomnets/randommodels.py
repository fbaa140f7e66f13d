"""Draws random models, trains each one step with Keras, and writes down what comes of it.

    python internal/randomnets/randommodels.py --count 100 --seed 0 --out folder
    python internal/randomnets/randommodels.py --check folder

Models are Sequential, Functional with layers used twice, nested in each other (also twice), and subclassed. For each there is a file, N.keras or,
for subclassed ones, N.weights.h5, and in models.json the lines of its summary, inputs, what it predicts, the loss of one training step, and what it predicts
then. --check opens N.ours.keras (or .weights.h5), which were written after that step by another program, and compares what they predict.
"""
import argparse
import contextlib
import json
import os
import sys

os.environ.setdefault('KERAS_BACKEND', 'jax')
os.environ.setdefault('JAX_PLATFORMS', 'cpu')
os.environ['COLUMNS'] = '200'  # of the terminal that summaries are made for
import keras
import numpy as np
from keras import layers

from randomnets import Draw, make

# What draws numbers in training, has no gradient, or holds a state that is not a weight.
APART = ('Dropout', 'Noise', 'Random', 'Hashing', 'Discretization', 'CategoryEncoding', 'SpectralNormalization', 'ConvLSTM', 'STFT', 'Attention', 'GroupQuery')
MERGES = ['Add', 'Subtract', 'Multiply', 'Average', 'Maximum', 'Concatenate']


def draw_layer(r, rank):
    while True:
        name, settings = r.layer(rank, False)
        text = name + json.dumps(settings)
        if keras.backend.backend() == 'torch' and ('Adaptive' in name or 'Average' in name and 'same' in text):
            continue  # of which Keras has other results with PyTorch than with its other backends
        if not any(a in text for a in APART) and '64' not in text and '100' not in text and 'channels_first' not in text:
            return make(name, settings)


def draw_chain(r, x, n):
    """Up to n layers that fit x, and what they make of it."""
    chain = []
    for _ in range(20 * n):
        if len(chain) == n:
            break
        try:
            layer = draw_layer(r, len(x.shape))
            y = layer(x)
        except Exception:
            continue
        if any(d == 0 for d in y.shape) or np.prod([d or 8 for d in y.shape[1:]]) > 4096:
            continue
        chain.append(layer)
        x = y
    return chain, x


def again(layers_):
    return [l.__class__.from_config(l.get_config()) for l in layers_]


def draw_shape(r):
    rank = r.choice([2, 2, 3, 3, 4])
    lengths = [r.choice([None, 6, 8, 12]) for _ in range(rank - 2)]
    if rank == 4:
        lengths = [d or 8 for d in lengths]
    return lengths + [r.choice([3, 4, 8])]


def sequential(r, shape, n=None):
    chain, _ = draw_chain(r, keras.Input(shape), n or r.randint(1, 5))
    return keras.Sequential([keras.Input(shape)] + again(chain))


def functional(r, shape, depth=1):
    inputs = keras.Input(shape)
    tensors, used = [inputs], []
    for _ in range(r.randint(2, 5)):
        x = r.choice(tensors[-2:])
        kind = r.random()
        alike = [t for t in tensors if t.shape == x.shape]
        if kind < 0.25 and len(alike) > 1:
            y = getattr(layers, r.choice(MERGES))()(r.sample(alike, 2))
        elif kind < 0.5 and used:  # a layer or a model that was used before
            layer, fits = r.choice(used)
            same = [t for t in tensors if t.shape == fits]
            y = layer(r.choice(same))
        elif kind < 0.75 and depth > 0 and None not in x.shape[1:]:
            inner = r.choice([sequential, functional])
            layer = inner(r, list(x.shape[1:]), *([depth - 1] if inner is functional else []))
            used.append((layer, x.shape))
            y = layer(x)
        elif kind < 0.85:
            y = r.choice([lambda: x * 0.5 + 1.0, lambda: keras.ops.tanh(x), lambda: keras.ops.mean(x, axis=-1, keepdims=True), lambda: keras.ops.maximum(x, 0.1)])()
        else:
            chain, y = draw_chain(r, x, 1)
            if not chain:
                continue
            used.append((chain[0], x.shape))
        tensors.append(y)
    ends = [tensors[-1]]
    if depth > 0 and len(tensors) > 3 and r.random() < 0.3:
        ends.append(tensors[-2])
    return keras.Model(inputs, ends if len(ends) > 1 else ends[0])


def nested(r, shape):
    """A Sequential of models and layers."""
    first = sequential(r, shape, 2)
    parts = [keras.Input(shape), first]
    if None not in first.output_shape[1:]:
        parts.append(functional(r, list(first.output_shape[1:]), 0))
    return keras.Sequential(parts)


class Chain(keras.Model):
    """Layers one after the other; those in skips are added to what they take."""

    def __init__(self, blocks, skips):
        super().__init__()
        self.blocks, self.skips = blocks, skips

    def call(self, x, training=None):  # handed on, because in training steps with JAX Keras does not do it, as it does with its other backends
        for i, block in enumerate(self.blocks):
            y = block(x, training=training) if block._call_has_training_arg else block(x)
            x = x + y if i in self.skips else y
        return x


def subclassed(r, shape):
    x = keras.Input(shape)
    chain, skips = [], []
    for i in range(r.randint(1, 4)):
        more, y = draw_chain(r, x, 1)
        if not more:
            break
        if y.shape == x.shape and r.random() < 0.7:
            skips.append(len(chain))
        x = y
        chain += more
    return Chain(again(chain), skips)


def numbers(r, shape):
    return (np.random.default_rng(r.randrange(1 << 30)).standard_normal(shape) * 0.7).astype('float32')


def array(a):
    return keras.ops.convert_to_numpy(a)


def plain(a):
    a = array(a).astype('float32')
    return {'shape': list(a.shape), 'data': [float(v) if np.isfinite(v) else None for v in a.ravel()]}


def lists(y):
    return list(y) if isinstance(y, (list, tuple)) else [y]


@contextlib.contextmanager
def rounded(seed):
    """Makes what layers return differ in the last digits, as it does between programs that compute the same in another order."""
    call, noise = keras.layers.Layer.__call__, np.random.default_rng(seed)

    def near(a):
        if a is None or isinstance(a, keras.KerasTensor) or not keras.backend.is_float_dtype(a.dtype):
            return a
        return a * (1 + noise.choice([-4e-7, 0, 4e-7], a.shape).astype('float32'))

    def noisy(self, *args, **kwargs):
        return keras.tree.map_structure(near, call(self, *args, **kwargs))

    keras.layers.Layer.__call__ = noisy
    try:
        yield
    finally:
        keras.layers.Layer.__call__ = call


def rounding_decides(m, x, targets, compile, loss, after):
    """Whether the results of a training step depend on the last digits of what layers compute: a BatchNormalization of a feature that is constant makes
    30 times as much of what rounding left of it, and several after each other make what no two programs have in common."""
    start = m.get_weights()
    off = 0
    for seed in range(3):
        compile()
        with rounded(seed):
            got = float(lists(m.train_on_batch(x, targets if len(targets) > 1 else targets[0]))[0])
            off = max(off, abs(got - loss) / max(1, abs(loss)) / 1e-4)
            for a, b in zip(lists(m(x, training=False)), after):
                a, b = array(a), array(b)
                off = max(off, np.max(np.abs(a - b), initial=0) / max(1, np.max(np.abs(b), initial=0)) / 5e-4)
        m.set_weights(start)
    return off > 0.3


def turned(m):
    """Whether Keras has the axes of an ellipsis the wrong way round in the shape that it infers, and so in the inputs of models that follow, which would refuse what they get if Keras looked."""
    einsums = [l for l in m._flatten_layers() if isinstance(l, keras.layers.EinsumDense) and '...' in l.equation]
    return any(tuple(n.input_tensors[0].shape[1:-1]) != tuple(n.output_tensors[0].shape[1:-1]) for l in einsums for n in l._inbound_nodes)


def model(r, number, folder):
    kind = r.choice([sequential, functional, functional, nested, subclassed])
    shape = draw_shape(r)
    keras.utils.set_random_seed(r.randrange(1 << 30))
    m = kind(r, shape)
    if turned(m):
        return None
    x = numbers(r, [3] + [d or 9 for d in shape])
    out = {'kind': kind.__name__, 'number': number, 'x': plain(x)}
    y = lists(m(x, training=False))
    if not m.trainable_weights or sum(array(a).size for a in y) > 20000:
        return None
    for w in m.trainable_weights:  # no ties, nothing that is exactly zero
        w.assign(array(w) + numbers(r, w.shape) * 0.1)
    y = lists(m(x, training=False))
    rate, momentum, nesterov = r.choice([0.01, 0.1]), r.choice([0.0, 0.9]), r.random() < 0.5

    def compile():
        m.compile(keras.optimizers.SGD(rate, momentum=momentum, nesterov=nesterov), 'mse', run_eagerly=True)

    compile()
    out['optimizer'] = {'rate': rate, 'momentum': momentum, 'nesterov': nesterov}
    m.optimizer.build(m.trainable_variables)  # as loading does
    if kind is subclassed:
        m.save_weights('%s/%d.weights.h5' % (folder, number))
        out['layers'] = [keras.saving.serialize_keras_object(l) for l in m.blocks]
        out['skips'] = m.skips
    else:
        m.save('%s/%d.keras' % (folder, number))
        lines = []  # of the model in the file: in another one, calls that are in no model count too
        keras.saving.load_model('%s/%d.keras' % (folder, number)).summary(print_fn=lambda s, line_break=False: lines.append(s), line_length=120)
        if not any(isinstance(l, keras.layers.EinsumDense) and '...' in l.equation for l in m._flatten_layers()):  # whose shapes Keras shows with the axes of the ellipsis turned round
            out['summary'] = '\n'.join(lines)
    out['params'] = m.count_params()
    out['y'] = [plain(a) for a in y]
    targets = [numbers(r, a.shape) for a in map(array, y)]
    out['targets'] = [plain(t) for t in targets]
    start = m.get_weights()
    loss = m.train_on_batch(x, targets if len(targets) > 1 else targets[0])
    out['loss'] = float(lists(loss)[0])
    after = lists(m(x, training=False))
    out['after'] = [plain(a) for a in after]
    if not all(np.isfinite(array(a)).all() for a in y + after):
        return None
    m.set_weights(start)
    if rounding_decides(m, x, targets, compile, out['loss'], after):
        return 'rounding decides'
    return out


def draw(a):
    os.makedirs(a.out, exist_ok=True)
    rows, failed, rounding = [], {}, []
    for i in range(a.count):
        r = Draw(a.seed + i)
        try:
            row = model(r, i, a.out)
        except Exception as e:
            failed[type(e).__name__ + ': ' + ' '.join(str(e).split())[:200]] = a.seed + i
            row = None
        if row == 'rounding decides':
            rounding.append(a.seed + i)
        elif row:
            row['seed'] = a.seed + i
            rows.append(row)
        if i % 50 == 49:
            keras.backend.clear_session()
    with open(a.out + '/models.json', 'w') as f:
        json.dump({'keras': keras.__version__, 'models': rows}, f)
    kinds = {k: sum(row['kind'] == k for row in rows) for k in sorted({row['kind'] for row in rows})}
    print(len(rows), 'models', kinds, 'rounding decides', rounding, 'Keras fails with', failed, file=sys.stderr)


def check(folder):
    """Prints what differs; the other program counts the lines."""
    with open(folder + '/models.json') as f:
        rows = json.load(f)['models']
    opened = 0
    for row in rows:
        base = '%s/%d' % (folder, row['number'])
        x = np.array(row['x']['data'], 'float32').reshape(row['x']['shape'])
        try:
            if row['kind'] == 'subclassed':
                if not os.path.exists(base + '.ours.weights.h5'):
                    continue
                m = Chain([keras.saving.deserialize_keras_object(l) for l in row['layers']], row['skips'])
                m(x)
                m.load_weights(base + '.ours.weights.h5')
            else:
                if not os.path.exists(base + '.ours.keras'):
                    continue
                m = keras.saving.load_model(base + '.ours.keras')
                m.compile(m.optimizer, 'mse', run_eagerly=True)
            opened += 1
            for got, want in zip(lists(m(x, training=False)), row['after']):
                w = np.array(want['data'], 'float32').reshape(want['shape'])
                off = np.max(np.abs(array(got) - w), initial=0) / max(1, np.max(np.abs(w), initial=0))
                if not off < 1e-3:
                    print('model of seed %d (%s): predictions differ by %g of the largest' % (row['seed'], row['kind'], off))
        except Exception as e:
            print('model of seed %d (%s): %s: %s' % (row['seed'], row['kind'], type(e).__name__, ' '.join(str(e).split())[:300]))
    print('opened', opened)


def main():
    p = argparse.ArgumentParser()
    p.add_argument('--count', type=int, default=100)
    p.add_argument('--seed', type=int, default=0)
    p.add_argument('--out')
    p.add_argument('--check')
    a = p.parse_args()
    if a.check:
        check(a.check)
    else:
        draw(a)


if __name__ == '__main__':
    main()
