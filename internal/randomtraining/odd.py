"""Draws losses, metrics, schedules and optimizers, and gives their configurations odd values: null, words, numbers as text, lists, no key at all.

    python internal/randomtraining/odd.py 100 0 cases.json.gz

Each key of each class has its turn once. What Keras makes of the value is recorded as in measures.py, of optimizers as two weights after three steps.
"""
import json
import os
import sys

os.environ['KERAS_BACKEND'] = 'numpy'  # which compiles nothing
import keras
import measures
import numpy as np
import runs
from draw import Draw, error, numbers, plain, write

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'randomnets'))
from oddvalues import VALUES, left_out, replaced

SHARES = ('recall', 'precision', 'sensitivity', 'specificity')  # of 1 are reached or not by rounding
# True picks all numbers, whole rates make schedules of whole numbers, large powers are rounded, other polynomials of Muon grow without bounds, and each letter of a word is a pattern.
LEFT_OUT = {('decay_steps', 0.5), *((k, v) for k in ('muon_a', 'muon_b', 'muon_c') for v in (0.5, -1, True)), ('top_k', True), *((k, True) for k in SHARES), ('class_id', True), ('initial_learning_rate', True), ('initial_learning_rate', -1), ('exclude_layers', 'word')}
SKIPPED = {'name', 'module', 'registered_name', 'class_name'}
SHAPES = [[3, 2], [2]]


def draw_optimizer(d):
    o = runs.draw_optimizer(d)
    return {'class': type(o).__name__, 'settings': o.get_config(), 'gradients': [[d.array('grid', s) for s in SHAPES] for _ in range(3)]}


def answer_optimizer(c):
    o = getattr(keras.optimizers, c['class']).from_config(c['settings'])
    weights = [keras.Variable(np.ones(s, 'float32'), name=n) for s, n in zip(SHAPES, ('kernel', 'bias'))]
    o.build(weights)
    for g in c['gradients']:
        o.apply([keras.ops.convert_to_tensor(numbers(a)) for a in g], weights)
    return {'weights': [plain(w.numpy()) for w in weights]}


def tried(c):
    c = json.loads(json.dumps(c))
    with np.errstate(all='ignore'):
        if 'gradients' not in c:
            return measures.answer([c])[0]
        try:
            return answer_optimizer(c)
        except Exception as e:
            return {'error': error(e)}


def configuration(c):
    if 'gradients' in c:
        return c['settings']
    made = keras.metrics if 'updates' in c else keras.optimizers.schedules if 'steps' in c else keras.losses
    return getattr(made, c['class'])(**c['settings']).get_config()


def places(v, at=(), name=''):
    """The keys of configurations below v, each with a name that begins with its class."""
    for k, w in v.items():
        if k in SKIPPED:
            continue
        yield at + (k,), '%s.%s' % (name, k)
        if isinstance(w, dict) and isinstance(w.get('config'), dict):
            yield from places(w['config'], at + (k, 'config'), w['class_name'])


def main(count, seed, path):
    seen, out = set(), []
    for i in range(count):
        d = Draw(seed + i)
        try:
            c = d.of(measures.draw_loss, measures.draw_metric, measures.draw_metric, draw_optimizer, draw_optimizer, measures.draw_schedule)(d)
            if c.get('predictions', {}).get('kind') == 'large':
                c['predictions']['kind'] = 'grid'  # of larger logits NumPy takes bounded logarithms
            c['settings'] = json.loads(json.dumps(configuration(c)))
        except Exception:
            continue  # of a configuration that Keras refuses
        if any(c['settings'].get(k) == 1 for k in SHARES) or any(wrong in str(tried(c)) for wrong in ('error', 'NaN')):
            continue
        for at, name in places(c['settings'], name=c['class']):
            if name in seen:
                continue
            seen.add(name)
            for value in VALUES:
                if left_out(LEFT_OUT, at, value):
                    continue
                odd = {**c, 'settings': replaced(c['settings'], at, value), 'key': name, 'value': value, 'number': seed + i}
                odd['answer'] = tried(odd)
                if 'NaN' not in str(odd['answer']) and not ('updates' in c and measures.coarse(odd)):  # which is no answer, nor a refusal
                    out.append(odd)
    print(len(seen), 'keys,', len(out), 'odd values', file=sys.stderr)
    write(path, out)


if __name__ == '__main__':
    main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3])
