"""Draws losses and metrics of no elements, of weights that are all zero and of masks that leave nothing, and writes down what Keras makes of them.

    python internal/randomtraining/empty.py 200 0 internal/randomtraining/testdata/empty.json.gz

The cases are those of measures.py, in which an axis then has no elements, or no element counts. TensorFlow and NumPy have to agree, as there.
"""
import os
import subprocess
import sys
import tempfile

import measures
from draw import Draw, read, write

NOTHING = {'kind': 'integer', 'below': 1}


def without(spec, axis, rank):
    """The array without elements along an axis of an array of that rank, which begins as this one does. Axes of one are for all."""
    if spec and axis < len(spec['shape']) and (spec['shape'][axis] != 1 or len(spec['shape']) == rank):
        spec['shape'][axis] = 0


def hollow(d, c):
    parts = c['updates'] if 'updates' in c else [c]
    if 'updates' in c and d.random() < 0.5:
        parts = [d.choice(parts)]
    axis = d.of(0, 0, 0, 1, 2, -1)
    for u in parts:
        rank = len(u['predictions']['shape'])
        if not rank:
            continue
        how = d.of('axis', 'axis', 'axis', 'weights', 'mask')
        if how == 'axis' and ('axis' not in c['settings'] or not axis):
            for name in ('predictions', 'labels', 'weights', 'mask'):
                without(u.get(name), axis % rank, rank)
        elif how in ('axis', 'weights'):
            shape = u['weights']['shape'] if u.get('weights') else u['predictions']['shape'][:1]
            u['weights'] = {'seed': 0, 'dtype': 'float32', **NOTHING, 'shape': shape}
        elif u.get('mask'):
            u['mask'].update(NOTHING)
    return c


def draw(count, seed):
    d = Draw(seed)
    return [hollow(d, c) for c in measures.draw(2 * count, seed) if 'steps' not in c][:count]


def fresh(count, seed, path):
    with tempfile.TemporaryDirectory() as folder:
        names = [folder + '/' + n for n in ('cases.json', 'tensorflow.json', 'numpy.json')]
        write(names[0], draw(count, seed))
        for n in names[1:]:
            subprocess.run([sys.executable, measures.__file__, 'answer', names[0], n], env={**os.environ, 'KERAS_BACKEND': os.path.basename(n)[:-5]}, check=True)
        kept = measures.join(read(names[0]), [read(n) for n in names[1:]])
        write(path, [c for c in kept if 'cannot reshape' not in c['answer'].get('error', '')])  # what draw.py makes no numbers of


if __name__ == '__main__':
    os.environ.setdefault('TF_CPP_MIN_LOG_LEVEL', '3')
    fresh(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3])
