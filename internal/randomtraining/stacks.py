"""Draws Sequential models without an input, which their first call, build() or the model around them builds; files.py writes them."""
import keras
from draw import numbers

L = keras.layers


def layer(d, shape):
    """A layer for examples of a shape."""
    rank, name = len(shape), d.maybe(0.3, name=d.of('first', 'deep', 'block', 'again'))
    kinds = [lambda: L.Dense(d.of(2, 3), activation=d.of(None, 'tanh', 'relu'), **name, **d.maybe(0.2, use_bias=False, kernel_regularizer='l2', trainable=False)), lambda: L.LayerNormalization(**name), lambda: L.BatchNormalization(momentum=0.5, **name),
             lambda: L.Dropout(1e-9, **name), lambda: L.Activation('tanh', **name), lambda: L.PReLU(**name)]
    if rank == 2:
        kinds += [lambda: L.Conv1D(3, 2, padding='same', **name), lambda: L.LSTM(d.of(2, 3), return_sequences=True, **name), lambda: L.GRU(3, **name), lambda: L.Bidirectional(L.SimpleRNN(2, return_sequences=True), **name),
                  lambda: L.TimeDistributed(d.of(L.Dense(2), keras.Sequential([L.Dense(3), L.Activation('relu')])), **name), lambda: L.Flatten(**name), lambda: L.GlobalAveragePooling1D(**name), lambda: L.Masking(**name)]
    if rank == 3:
        kinds += [lambda: L.Conv2D(2, 2, padding='same', **name), lambda: L.MaxPooling2D(2, padding='same', **name), lambda: L.Flatten(**name), lambda: L.GlobalMaxPooling2D(**name)]
    return d.choice(kinds)()


def stack(d, shape, depth):
    """Layers that fit on each other, some of which are models: Sequential without an input, or Functional."""
    made = []
    for _ in range(d.of(1, 2, 3)):
        kind = d.random()
        if depth and kind < 0.2:
            inner, shape = stack(d, shape, depth - 1)
            l = keras.Sequential(inner, **d.maybe(0.4, name=d.of('inner', 'block')), **d.maybe(0.2, trainable=False))
        elif depth and kind < 0.35:
            inner, after = stack(d, shape, depth - 1)
            i = x = keras.Input(shape)
            for l in inner:
                x = l(x)
            l, shape = keras.Model(i, x, **d.maybe(0.4, name=d.of('inner', 'block'))), after
        else:
            l = layer(d, shape)
            shape = tuple(l.compute_output_shape((1,) + tuple(shape))[1:])
        if l.name in [m.name for m in made]:
            raise ValueError('a name twice')
        made.append(l)
    return made, shape


def network(d):
    """A model of stacks, as draw_model of runs.py returns one."""
    while True:
        kind = d.of('vector', 'steps', 'steps', 'tokens', 'image')
        shape = {'vector': (3,), 'steps': (4, 2), 'tokens': (3,), 'image': (4, 4, 2)}[kind]
        spec = d.array('integer', shape, 'int32', below=5) if kind == 'tokens' else d.array('grid', shape)
        try:
            before = [L.Embedding(5, 3, mask_zero=d.random() < 0.5)] if kind == 'tokens' else []
            made, _ = stack(d, shape + (3,) if before else shape, 2)
            m = keras.Sequential(before + made, **d.maybe(0.4, name=d.of('whole', 'block')))
            built(d, m, shape, spec)
            if d.random() < 0.3:
                i = keras.Input(shape, dtype=spec['dtype'], name='in0')
                m = keras.Model(i, m(i)) if d.random() < 0.5 else keras.Sequential([m, L.Dense(2)])
                built(d, m, shape, spec)
        except ValueError:
            continue
        if m.trainable_weights and m.count_params() < 1500:
            out = tuple(m.compute_output_shape((1,) + shape)[1:])
            return m, [spec], [('number', 2, None, out)], False, d.randint(2, 4)


def built(d, m, shape, spec):
    if m.built and m.weights:
        return
    if d.random() < 0.5:
        m.build((None,) + shape)
    else:
        m(numbers({**spec, 'shape': [2] + list(shape)}))
