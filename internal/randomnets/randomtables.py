"""Draws preprocessing layers with random settings, vocabularies and data, and records what Keras makes of them.

    KERAS_BACKEND=tensorflow python internal/randomnets/randomtables.py --count 100 --seed 0 --out folder
    KERAS_BACKEND=tensorflow python internal/randomnets/randomtables.py --check folder

Layers of words and numbers (TextVectorization, StringLookup, IntegerLookup, Hashing, HashedCrossing, CategoryEncoding, Discretization, Normalization) are made from a
configuration; they get a vocabulary or are adapted; they are called; and a model with the layer is written to a file, which the other program reads. models.json has
the answers or, where Keras refuses, the error. Text stands in it byte by byte, each as the character of that number, since not all text is UTF-8.
"""
import json
import os
import sys

os.environ.setdefault('KERAS_BACKEND', 'tensorflow')
os.environ.setdefault('TF_CPP_MIN_LOG_LEVEL', '3')
os.environ.setdefault('CUDA_VISIBLE_DEVICES', '')
import warnings
warnings.filterwarnings('ignore')
import drawing
import keras
import numpy as np
import tensorflow as tf
from keras import layers as L

WORDS = ['a', 'b', 'A', 'bb', 'ab', 'cat', 'Cat', 'dog.', "don't", 'x-y', 'été', 'ÉTÉ', 'straße', 'İ', 'ñ', 'n\u0303', '猫', '🙂', '👩\u200d👧', 'naïve', '-1', '0', '1.5', '[UNK]', '[unk]', 'UNK', '', 'mask',
         'a b', 'tab\there', '_', '!!', '¿que?', '«x»', 'a\u00a0b', 'a\u2003b', 'line\nbreak', 'cr\rx', 'v\x0bt', 'nul\x1cx', '\ufeffbom', ' lead', 'trail ']
PLAIN = ['a', 'b', 'c', 'bb', 'cat', 'dog', 'été', '猫', '🙂', 'Cat', 'zebra', '10', '9']
SPACES = [' ', ' ', ' ', '  ', '\t', '\n', ' \r\n', '\u00a0', '\u2003', '\x0b', ', ', '-', '']


def text(b):
    return (b if isinstance(b, bytes) else str(b).encode('utf-8')).decode('latin-1')


def data(s):
    return s.encode('latin-1')


class Draw(drawing.Draw):
    def word(self, plain):
        return self.choice(PLAIN if plain else WORDS)

    def sentence(self, plain, broken=False):
        if self.random() < 0.08:
            return b''
        parts = []
        for _ in range(self.randint(1, 6)):
            parts += [self.word(plain), ' ' if plain else self.of(*SPACES)]
        out = ''.join(parts if self.random() < 0.5 else parts[:-1]).encode()
        if broken and self.random() < 0.05:  # no UTF-8, which Keras cannot have in a vocabulary
            out += self.of(b'\xff', b'\xc3', b' \xe2\x82 x', b'\xed\xa0\x80', b'\xf0\x9f\x99')
        return out

    def strings(self, shape, one):
        a = np.empty(shape, object)
        for i in np.ndindex(*shape):
            w = one()
            a[i] = w if isinstance(w, bytes) else w.encode()
        return a

    def whole(self, shape, low=-2, high=9, huge=True):
        a = np.array([self.randint(low, high) for _ in range(int(np.prod(shape)))], 'int64').reshape(shape)
        if huge and self.random() < 0.05 and a.size:
            a.ravel()[0] = self.of(2**40, -2**40, 2**31, 10**12)
        return a

    def numbers(self, shape):
        a = np.array([self.of(self.gauss(0, 2), self.gauss(0, 2), self.randint(-3, 3), 0.5, 1e6 * self.random()) for _ in range(int(np.prod(shape)))], 'float32').reshape(shape)
        return a


def spec(a):
    a = np.asarray(a)
    out = {'shape': list(a.shape), 'dtype': 'string' if a.dtype == object else str(a.dtype)}
    if a.dtype == object:
        out['text'] = [text(x) for x in a.ravel()]
    else:
        out['data'] = [float(x) if np.isfinite(x) else None for x in a.ravel().astype('float64')]
    return out


def array(s):
    if s['dtype'] == 'string':
        a = np.empty(len(s['text']), object)
        a[:] = [data(x) for x in s['text']]
        return a.reshape(s['shape'])
    return np.array([np.nan if v is None else v for v in s['data']], 'float64').astype(s['dtype']).reshape(s['shape'])


def tensor(a):
    return tf.constant(a, tf.string) if a.dtype == object else tf.constant(a)


def answer(y):
    if isinstance(y, tf.RaggedTensor):
        y = y.to_tensor()  # as predict gives it
    a = y.numpy() if hasattr(y, 'numpy') else np.asarray(y)
    return spec(a)


def error(e):
    return {'error': (type(e).__name__ + ': ' + ' '.join(str(e).split()))[:300]}


# Layers: each function returns a class, settings, what the layer is adapted to, vocabularies to set, and calls.

def lookup_settings(d, whole):
    mode = d.of('int', 'int', 'int', 'one_hot', 'multi_hot', 'count', 'tf_idf')
    s = {'output_mode': mode} if mode != 'int' or d.random() < 0.5 else {}
    s.update(d.maybe(0.3, num_oov_indices=d.of(0, 1, 2, 3, 7)))
    if d.random() < 0.3:
        s['max_tokens'] = d.of(2, 3, 4, 5, 6, 10, 30, 1)
        s.update(d.maybe(0.4, pad_to_max_tokens=True))
    if d.random() < 0.1 and mode == 'int':
        s['invert'] = True
    if whole:
        s.update(d.maybe(0.4, mask_token=d.of(0, 0, 1, -1, 5)))
        s.update(d.maybe(0.2, oov_token=d.of(-1, 0, 99, -5)))
        s.update(d.maybe(0.3, oov_method=d.of('farmhash', 'floormod')))
        if s.get('oov_method') == 'farmhash':
            s.update(d.maybe(0.5, salt=d.of(5, [1, 2], [133, 137])))
    else:
        s.update(d.maybe(0.4, mask_token=d.of('', 'mask', 'a', '[UNK]', '[MASK]')))
        s.update(d.maybe(0.2, oov_token=d.of('[UNK]', '', 'a', 'oov', 'été')))
        s.update(d.maybe(0.2, salt=d.of(5, [1, 2], [133, 137])))
    return s


def vocabulary(d, s, make, least=1):
    words = [make() for _ in range(d.randint(least, 7))]
    if d.random() < 0.85:
        words = list(dict.fromkeys(words))
    return words


def weights(d, n):
    return [round(d.uniform(0.1, 2), 3) for _ in range(n if d.random() < 0.95 else n + 1)]


def with_vocabulary(d, s, make, special=()):
    """How the layer learns: by its settings, by set_vocabulary, or from data."""
    how = d.of('adapt', 'adapt', 'adapt', 'settings', 'set')
    words = idf = None
    if how != 'adapt':
        words = vocabulary(d, s, make)
        if d.random() < 0.25:
            words = list(special) + words
        if s.get('output_mode') == 'tf_idf' and d.random() < 0.95:
            idf = weights(d, len(words))
    if how == 'settings':
        s['vocabulary'] = words
        if idf is not None:
            s['idf_weights'] = idf
        words = idf = None
    return how, words, idf


def specials(d, s, mask, oov, whole):
    out = []
    if mask is not None and s.get('output_mode', 'int') == 'int':
        out.append(mask)
    return out + [oov] * s.get('num_oov_indices', 1)


def shape_of(d, weighed=False):
    rank = 2 if weighed else d.of(1, 2, 2, 2, 3)
    return {1: [], 2: [d.of(1, 1, 2, 3)], 3: [d.of(1, 2), d.of(1, 3)]}[rank]


def string_lookup(d):
    s = lookup_settings(d, False)
    plain = d.random() < 0.5
    word = lambda: d.word(plain)
    how, words, idf = with_vocabulary(d, s, word, specials(d, s, s.get('mask_token'), s.get('oov_token', '[UNK]'), False))
    inner = shape_of(d, s.get('output_mode') == 'tf_idf')  # of three axes Keras cannot learn weights, and of one it takes a batch for one example
    batches = [d.strings([d.of(1, 2, 4, 6)] + inner, word) for _ in range(d.of(1, 1, 2))] if how == 'adapt' else []
    if s.get('invert'):
        calls = [d.whole([d.of(1, 3)] + inner)]
    else:
        calls = [d.strings([d.of(1, 2, 4)] + inner, word) for _ in range(2)]
    return 'StringLookup', s, batches, words, idf, [[c] for c in calls]


def integer_lookup(d):
    s = lookup_settings(d, True)
    whole = lambda: d.randint(-2, 9)
    how, words, idf = with_vocabulary(d, s, whole, specials(d, s, s.get('mask_token'), s.get('oov_token', -1), True))
    inner = shape_of(d, s.get('output_mode') == 'tf_idf')
    batches = [d.whole([d.of(1, 2, 4, 6)] + inner) for _ in range(d.of(1, 1, 2))] if how == 'adapt' else []
    return 'IntegerLookup', s, batches, words, idf, [[d.whole([d.of(1, 2, 4)] + inner)] for _ in range(2)]


def text_vectorization(d):
    mode = d.of('int', 'int', 'int', 'one_hot', 'multi_hot', 'count', 'tf_idf')
    s = {'output_mode': mode} if mode != 'int' or d.random() < 0.5 else {}
    s.update(d.maybe(0.5, standardize=d.of(None, 'lower', 'strip_punctuation', 'lower_and_strip_punctuation'), split=d.of(None, 'whitespace', 'character')))
    s.update(d.maybe(0.35, ngrams=d.of(1, 2, 3, (2,), (1, 3), (3, 1), (2, 2), (1,))))
    if mode == 'int':
        s.update(d.maybe(0.35, output_sequence_length=d.of(1, 2, 3, 5, 9)))
    if d.random() < 0.3:
        s['max_tokens'] = d.of(2, 3, 4, 5, 6, 10, 30)
        s.update(d.maybe(0.4, pad_to_max_tokens=True))
    if mode == 'one_hot' and s.get('split', '') is None:
        s.pop('ngrams', None)  # whose rows of one number have another shape in a model than in a call
    plain = d.random() < 0.4
    word = lambda: d.word(plain)
    how, words, idf = with_vocabulary(d, s, word, ['', '[UNK]'] if mode == 'int' else ['[UNK]'])
    inner = d.of([], [1], [1], [2] if d.random() < 0.3 else [1])
    if s.get('split', '') is None:  # Keras takes a batch of texts for the words of one
        inner = d.of([1], [2], [3]) if mode != 'int' or s.get('ngrams') or s.get('output_sequence_length') else d.of([], [1], [2], [3])
    batches = [d.strings([d.of(1, 2, 4, 6)] + inner, lambda: d.sentence(plain)) for _ in range(d.of(1, 1, 2))] if how == 'adapt' else []
    return 'TextVectorization', s, batches, words, idf, [[d.strings([d.of(1, 2, 4)] + inner, lambda: d.sentence(plain, True))] for _ in range(2)]


def feature(d, shape, floats=False):
    kind = d.of('text', 'text', 'whole', 'float' if floats else 'whole')
    if kind == 'text':
        return d.strings(shape, lambda: d.word(False))
    return d.whole(shape) if kind == 'whole' else d.numbers(shape)


def hashing(d):
    s = {'num_bins': d.of(1, 2, 3, 5, 17, 1000), **d.maybe(0.5, output_mode=d.of('int', 'one_hot', 'multi_hot', 'count'))}
    s.update(d.maybe(0.3, salt=d.of(0, 5, [1, 2], [133, 137])))
    x = feature(d, [d.of(1, 3)] + shape_of(d), True)
    if d.random() < 0.3:
        s['mask_value'] = d.of('', 'a', 'cat', 'été') if x.dtype == object else d.of(0, 1, -1) if x.dtype == 'int64' or d.random() < 0.5 else 0.5
    if s.get('output_mode', 'int') == 'int':
        s.update(d.maybe(0.2, dtype=d.of('int32', 'int64')))
    else:
        s.update(d.maybe(0.2, dtype=d.of('int32', 'float16', 'float64', 'int64', 'float32')))
    return 'Hashing', s, [], None, None, [[x]]


def crossing(d):
    s = {'num_bins': d.of(1, 2, 3, 5, 17, 1000), **d.maybe(0.5, output_mode=d.of('int', 'one_hot'))}
    shape = [d.of(1, 3)] + d.of([], [1], [1], [2] if d.random() < 0.2 else [1])
    return 'HashedCrossing', s, [], None, None, [[feature(d, shape) for _ in range(2)]]


def category(d):
    n = d.of(1, 3, 5, 8)
    s = {'num_tokens': n, **d.maybe(0.7, output_mode=d.of('one_hot', 'multi_hot', 'count'))}
    x = d.whole([d.of(1, 3)] + shape_of(d), 0, n - 1)
    x = np.clip(x, 0, n - 1).astype(d.of('int32', 'int64', 'float32', 'int32'))
    more = []
    if s.get('output_mode') == 'count' and d.random() < 0.5:
        more = [d.numbers(x.shape)]
    return 'CategoryEncoding', {**s, **d.maybe(0.1, dtype=d.of('float16', 'float64', 'int32'))}, [], None, None, [[x] + more]


def discretization(d):
    s = d.maybe(0.5, output_mode=d.of('int', 'one_hot', 'multi_hot', 'count'))
    inner = shape_of(d)
    batches = []
    if d.random() < 0.5:
        s['bin_boundaries'] = sorted(d.of(-1.0, 0.0, 0.5, 1.0, 2.5, 3, -7.25) for _ in range(d.randint(1, 4)))
    else:
        s['num_bins'] = d.of(1, 2, 3, 5, 8)
        s.update(d.maybe(0.4, epsilon=d.of(0.1, 0.001, 0.3)))
        kind = kind_of(d)
        batches = [feature_numbers(d, [d.of(1, 3, 12, 60)] + inner, kind) for _ in range(d.of(1, 1, 2, 3))]
    return 'Discretization', s, batches, None, None, [[feature_numbers(d, [d.of(1, 3)] + inner, kind_of(d))]]


def feature_numbers(d, shape, kind='float32'):
    return d.numbers(shape) if kind == 'float32' else d.whole(shape, huge=False).astype(kind)


def kind_of(d):
    return d.of('int32', 'int64') if d.random() < 0.25 else 'float32'


def normalization(d):
    inner = shape_of(d) or [d.of(1, 2)]
    rank = len(inner) + 1
    axis = d.of(-1, -1, None, rank - 1, [1, -1] if rank > 2 else -1, 1, -rank if d.random() < 0.1 else 1, [1, 2] if rank > 2 else [1])
    s = {'axis': axis} if axis != -1 or d.random() < 0.5 else {}
    s.update(d.maybe(0.25, invert=True))
    batches = []
    if d.random() < 0.3:
        n = () if axis is None else (inner[-1],)
        s['mean'], s['variance'] = (round(d.gauss(0, 1), 2), round(d.uniform(0, 2), 2)) if d.random() < 0.4 or axis not in (-1, rank - 1) else ([0.5] * n[0] if n else 0.5, [2.0] * n[0] if n else 2.0)
    elif d.random() < 0.9:
        kind = kind_of(d)
        batches = [feature_numbers(d, [d.of(1, 3, 12)] + inner, kind) for _ in range(d.of(1, 1, 2, 3))]
    return 'Normalization', s, batches, None, None, [[feature_numbers(d, [d.of(1, 3)] + inner, kind_of(d))]]


KINDS = [text_vectorization, text_vectorization, text_vectorization, string_lookup, string_lookup, integer_lookup, integer_lookup, hashing, crossing, category, discretization, normalization]


def learn(layer, row, arrays):
    batches = [array(b) for b in row['batches']]
    if len(batches) == 1:
        layer.adapt(batches[0] if batches[0].dtype != object else tf.constant(batches[0], tf.string))
    elif batches:
        def all():
            for b in batches:
                yield tensor(b)
        first = tensor(batches[0])
        layer.adapt(tf.data.Dataset.from_generator(all, output_signature=tf.TensorSpec([None] + list(first.shape[1:]), first.dtype)))
    if row['words'] is not None:
        words = [data(w).decode() for w in row['words']] if row['words'] and isinstance(row['words'][0], str) else row['words']
        layer.set_vocabulary(words, **({} if row['idf'] is None else {'idf_weights': row['idf']}))


def record(d, number, folder):
    name, s, batches, words, idf, calls = d.choice(KINDS)(d)
    row = {'number': number, 'class': name, 'batches': [spec(b) for b in batches], 'words': [text(w) for w in words] if words and isinstance(words[0], str) else words, 'idf': idf,
           'calls': [[spec(a) for a in c] for c in calls], 'settings': {k: list(v) if isinstance(v, tuple) else v for k, v in s.items()}}
    try:
        layer = getattr(L, name)(**s)
    except Exception as e:
        row['failed'] = 'settings', error(e)['error']
        return row
    row['config'] = layer.get_config()
    try:
        learn(layer, row, batches)
    except Exception as e:
        row['failed'] = 'learning', error(e)['error']
        return row
    if hasattr(layer, 'get_vocabulary'):
        for key, special in (('vocabulary', True), ('tokens', False)):
            v = layer.get_vocabulary(include_special_tokens=special)
            row[key] = [text(w) if isinstance(w, (str, bytes)) else int(w) for w in v]
    answers(row, layer, calls)
    try:
        inputs = [keras.Input(list(a.shape[1:]), dtype='string' if a.dtype == object else str(a.dtype)) for a in calls[0]]
        m = keras.Model(inputs, layer(inputs if len(inputs) > 1 and name != 'CategoryEncoding' else inputs[0], **({'count_weights': inputs[1]} if name == 'CategoryEncoding' and len(inputs) > 1 else {})))
        m.save('%s/%d.keras' % (folder, number))
        again = keras.saving.load_model('%s/%d.keras' % (folder, number))
        other = {}
        answers(other, again.layers[-1], calls)
        row['file'] = other['answers']
    except Exception as e:
        row['unsaved'] = error(e)['error']
        if os.path.exists('%s/%d.keras' % (folder, number)):
            os.remove('%s/%d.keras' % (folder, number))
    return row


def called(layer, c):
    x = [tensor(a) for a in c]
    if type(layer).__name__ == 'CategoryEncoding':
        return layer(x[0], **({'count_weights': x[1]} if len(x) > 1 else {}))
    return layer(x if len(x) > 1 else x[0])


def answers(row, layer, calls):
    row['answers'] = []
    for c in calls:
        try:
            row['answers'].append(answer(called(layer, c)))
        except Exception as e:
            row['answers'].append(error(e))


def draw(a):
    os.makedirs(a.out, exist_ok=True)
    rows = []
    for i in range(a.count):
        keras.utils.set_random_seed(a.seed + i)
        row = record(Draw(a.seed + i), i, a.out)
        row['seed'] = a.seed + i
        rows.append(row)
    with open(a.out + '/models.json', 'w') as f:
        json.dump({'keras': keras.__version__, 'models': rows}, f)
    print(len(rows), 'layers,', sum('failed' in r for r in rows), 'refused,', sum('file' in r for r in rows), 'files', file=sys.stderr)


def same(x, y):
    if 'error' in x or 'error' in y:
        return ('error' in x) == ('error' in y)
    if x['shape'] != y['shape'] or x.get('text') != y.get('text'):
        return False
    return all(v == w or None not in (v, w) and abs(v - w) <= 1e-5 * max(1, abs(w)) for v, w in zip(x.get('data', []), y.get('data', [])))


def check(folder):
    """Opens what the other program wrote and prints what differs."""
    opened = 0
    for row in json.load(open(folder + '/models.json'))['models']:
        path = '%s/%d.ours.keras' % (folder, row['number'])
        if not os.path.exists(path):
            continue
        if '`idf_weights` must be the same length' in row.get('unsaved', ''):  # padded weights, which Keras writes and cannot read
            opened += 1
            continue
        try:
            m = keras.saving.load_model(path)
            opened += 1
            got = {}
            answers(got, m.layers[-1], [[array(x) for x in c] for c in row['calls']])
            for g, w in zip(got['answers'], row['answers']):
                if not same(g, w):
                    print('model of seed %d: %s gives %.200s, not %.200s' % (row['seed'], row['class'], g, w))
        except Exception as e:
            print('model of seed %d: %s: %s: %s' % (row['seed'], row['class'], type(e).__name__, ' '.join(str(e).split())[:300]))
    print('opened', opened)


p = drawing.arguments()
p.add_argument('--check')
a = p.parse_args()
check(a.check) if a.check else draw(a)
