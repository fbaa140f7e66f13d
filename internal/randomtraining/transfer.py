"""Draws models and others that are nearly the same, writes files of the first ones, and writes down what is in the others after they have read them.

    python internal/randomtraining/transfer.py 30 0 folder

The other model has a layer more or less, of another width, name or class, without a bias, in another place, or in a model of its own. Files are .weights.h5, in parts, .keras and, in the format of Keras 2,
.h5; they are read with skip_mismatch and without it, the last one also by_name. cases.json has the models, and for each file the weights as three numbers for each array, or that Keras refuses.
"""
import copy
import json
import os
import sys
import warnings

os.environ.setdefault('KERAS_BACKEND', 'numpy')  # which computes nothing here
os.environ.setdefault('TF_CPP_MIN_LOG_LEVEL', '3')
os.environ.setdefault('CUDA_VISIBLE_DEVICES', '')
import keras
import runs
from calls import digest
from draw import Draw, error

L = keras.layers
KINDS = ['weights.h5', 'weights.json', 'keras', 'h5']


def draw_layer(d, rank, name):
    width = d.of(2, 3, 3, 4)
    more = {'name': name} if name else {}
    if rank == 2:
        return d.of(lambda: L.Dense(width, **d.maybe(0.3, use_bias=False), **more), lambda: L.Dense(width, activation='tanh', **more), lambda: L.BatchNormalization(**d.maybe(0.3, scale=False, center=False), **more),
                    lambda: L.LayerNormalization(**more), lambda: L.Activation('relu', **more), lambda: L.PReLU(**more), lambda: L.Dropout(0.1, **more),
                    lambda: keras.Sequential([L.Dense(width), L.Dense(3)], **more), lambda: L.UnitNormalization(**more))()
    return d.of(lambda: L.Conv1D(width, 2, padding='same', **d.maybe(0.3, use_bias=False), **more), lambda: L.SeparableConv1D(width, 2, padding='same', **more), lambda: L.DepthwiseConv1D(2, padding='same', **more),
                lambda: L.LSTM(width, return_sequences=True, **d.maybe(0.3, use_bias=False), **more), lambda: L.GRU(width, return_sequences=True, **d.maybe(0.4, reset_after=False), **more),
                lambda: L.SimpleRNN(width, return_sequences=True, **more), lambda: L.Bidirectional(L.LSTM(width, return_sequences=True), **d.maybe(0.4, merge_mode='sum'), **more),
                lambda: L.TimeDistributed(L.Dense(width), **more), lambda: L.EinsumDense('abc,cd->abd', (None, width), **d.maybe(0.5, bias_axes='d'), **more), lambda: L.Dense(width, **more),
                lambda: L.RNN([L.LSTMCell(width), L.GRUCell(3)], return_sequences=True, **more), lambda: L.GroupNormalization(1, **more), lambda: keras.Sequential([L.Dense(width), L.LayerNormalization()], **more),
                lambda: L.MultiHeadAttention(2, 2, **more))()


def built(chain, kind, shape):
    """A Sequential, or a model in which attention is of a tensor to itself and equal shapes are added."""
    i = keras.Input(shape, name='in0')
    made = [keras.saving.deserialize_keras_object(copy.deepcopy(s)) for s in chain]
    if kind == 'sequential':
        return keras.Sequential([i] + made)
    x = i
    for k, l in enumerate(made):
        y = l(x, x) if isinstance(l, L.MultiHeadAttention) else l(x)
        x = L.Add(name='add%d' % k)([x, y]) if y.shape == x.shape and k % 2 else y
    return keras.Model(i, x)


def draw_chain(d, rank):
    named = d.random() < 0.5
    chain = []
    for k in range(d.randint(2, 5)):
        if rank == 3 and d.random() < 0.2:
            chain.append(d.of(L.Flatten(), L.GlobalAveragePooling1D(), L.LSTM(2), L.GRU(3)))
            rank = 2
        else:
            chain.append(draw_layer(d, rank, 'layer%d' % k if named or d.random() < 0.2 else None))
    return [json.loads(json.dumps(keras.saving.serialize_keras_object(l))) for l in chain]


def find(s, keys):
    """The dicts in a configuration that have one of the keys."""
    found = []
    if isinstance(s, dict):
        found += [(s, k) for k in keys if k in s]
        for v in s.values():
            found += find(v, keys)
    elif isinstance(s, list):
        for v in s:
            found += find(v, keys)
    return found


def mutated(d, chain, rank):
    chain = copy.deepcopy(chain)
    k = d.randrange(len(chain))
    what = d.of('none', 'width', 'width', 'width', 'name', 'insert', 'delete', 'bias', 'replace', 'swap', 'wrap', 'last')
    if what == 'width':
        places = find(chain, ['units', 'filters', 'key_dim'])
        if places:
            c, key = d.choice(places)
            c[key] += d.of(-1, 1, 2)
    elif what == 'last':
        places = find(chain[-1], ['units', 'filters'])
        for c, key in places:
            c[key] += 1
    elif what == 'name':
        chain[k]['config']['name'] = 'other'
    elif what in ('insert', 'replace'):
        new = json.loads(json.dumps(keras.saving.serialize_keras_object(draw_layer(d, d.of(rank, 2), d.of('new', None)))))
        chain[k:k + (what == 'replace')] = [new]
    elif what == 'delete' and len(chain) > 1:
        del chain[k]
    elif what == 'bias':
        places = find(chain, ['use_bias'])
        if places:
            c, key = d.choice(places)
            c[key] = not c[key]
    elif what == 'swap' and len(chain) > 1:
        k = d.randrange(len(chain) - 1)
        chain[k:k + 2] = chain[k + 1], chain[k]
    elif what == 'wrap':
        try:
            inner = keras.Sequential([keras.saving.deserialize_keras_object(copy.deepcopy(chain[k]))], name='around')
            chain[k] = json.loads(json.dumps(keras.saving.serialize_keras_object(inner)))
        except Exception:
            pass
    return what, chain


def state(m):
    return [digest(keras.ops.convert_to_numpy(w)) for w in m.weights]


def case(d, folder, number):
    rank = d.of(2, 3, 3)
    shape = (3,) if rank == 2 else (4, 3)
    while True:
        try:
            chain, kind = draw_chain(d, rank), d.of('sequential', 'functional')
            keras.backend.clear_session()
            m = built(chain, kind, shape)
            if not m.weights:
                continue
            what, other = mutated(d, chain, rank)
            if d.random() < 0.3:
                more, other = mutated(d, other, rank)
                what += ', ' + more
            keras.backend.clear_session()
            document = json.loads(built(other, kind if d.random() < 0.9 else d.of('sequential', 'functional'), shape).to_json())
            keras.backend.clear_session()
            m = built(chain, kind, shape)
            break
        except Exception:
            continue
    row = {'number': number, 'what': what, 'model': document, 'seed': d.randrange(1 << 20), 'read': []}
    runs.set_weights(m, d.randrange(1 << 20))
    row['theirs'] = [w.path for w in m.weights]
    for kind in KINDS:
        path = '%s/%d.%s' % (folder, number, kind)
        if kind == 'weights.json':
            m.save_weights(path, max_shard_size=3e-7)
        elif kind == 'weights.h5':
            m.save_weights(path)
        else:
            m.save(path)
        for skip, by_name in [(False, False), (True, False)] + [(False, True), (True, True)] * (kind == 'h5'):
            keras.backend.clear_session()
            o = keras.models.model_from_json(json.dumps(document))
            runs.set_weights(o, row['seed'])
            answer = {'kind': kind, 'skip': skip, 'byname': by_name}
            try:
                o.load_weights(path, skip_mismatch=skip, **({'by_name': True} if by_name else {}))
                answer['state'] = state(o)
            except Exception as e:
                answer['error'] = error(e)
            row['read'].append(answer)
    row['paths'] = [w.path for w in o.weights]
    return row


def main():
    folder, rows, failed = sys.argv[3], [], {}
    os.makedirs(folder, exist_ok=True)
    for i in range(int(sys.argv[1])):
        seed = int(sys.argv[2]) + i
        try:
            rows.append({**case(Draw(seed), folder, i), 'drawn': seed})
        except Exception as e:
            failed[error(e)] = seed
            if os.environ.get('DRAW_DEBUG'):
                raise
        with open(folder + '/cases.json', 'w') as f:
            json.dump(rows, f)
    print(len(rows), 'models, Keras refuses', sum('error' in a for r in rows for a in r['read']), 'of', sum(len(r['read']) for r in rows), 'readings, fails with', failed, file=sys.stderr)


if __name__ == '__main__':
    warnings.simplefilter('ignore')
    main()
