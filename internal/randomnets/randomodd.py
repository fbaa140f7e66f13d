"""Draws layers as randomlayers.py does, and reads the configuration of each with odd values in place of its own: null, words, numbers as text, lists, no key at all.

    python internal/randomnets/randomodd.py --count 300 --seed 0 --out folder

In models.json there are, for each model, its inputs and predictions, and for each odd value what Keras makes of it: an error, other predictions of the same weights, or the same, and whether it still trains.
Each key of each class has its turn once.
"""
import argparse
import json
import os
import random
import sys

os.environ.setdefault('KERAS_BACKEND', 'numpy')
import recording  # before keras, for which it chooses a backend
import keras
from keras import layers as L

import randomlayers
from oddvalues import VALUES, left_out, replaced

# With NumPy, loops that are unrolled, and those in a Bidirectional with None, have no zeros in the place of masked steps.
LEFT_OUT = {('unroll', True), ('zero_output_for_mask', None)}
SKIPPED = {'name', 'module', 'registered_name', 'class_name', 'build_config', 'inbound_nodes', 'shared_object_id'}


class Layers(randomlayers.Layers):
    def noise(self):
        x = self.space(2, 3)
        return self.of(lambda: L.Dropout(0.5, seed=self.of(None, 3))(x), lambda: L.SpatialDropout1D(0.2)(self.steps()), lambda: L.SpatialDropout2D(0.2)(x), lambda: L.SpatialDropout3D(0.2)(self.space(3)),
                       lambda: L.GaussianNoise(0.3)(x), lambda: L.GaussianDropout(0.3)(x), lambda: L.AlphaDropout(0.3)(x), lambda: L.Dense(2, lora_rank=1)(x), lambda: L.RandomContrast(0.3)(x), lambda: L.RandomBrightness(0.3)(x),
                       lambda: L.RandomFlip()(x), lambda: L.RandomRotation(0.2)(x), lambda: L.RandomZoom(0.2)(x), lambda: L.RandomTranslation(0.2, 0.1)(x), lambda: L.RandomGrayscale(0.2)(x), lambda: L.RandomHue(0.2)(x),
                       lambda: L.RandomSaturation(0.2)(x), lambda: L.RandomSharpness(0.2)(x), lambda: L.RandomPosterization(4)(x), lambda: L.RandomShear(0.1, 0.1)(x), lambda: L.RandomErasing(0.2)(x), lambda: L.RandomGaussianBlur()(x),
                       lambda: L.RandomInvert(0.2)(x), lambda: L.RandomColorJitter((0, 1), 0.2, 0.2, 0.2, 0.2)(x), lambda: L.RandomColorDegeneration(0.2)(x), lambda: L.RandomPerspective()(x), lambda: L.RandomElasticTransform()(x),
                       lambda: L.AugMix()(x), lambda: L.RandAugment()(x), lambda: L.CutMix()(x), lambda: L.MixUp()(x), lambda: L.Solarization()(x), lambda: L.AutoContrast()(x), lambda: L.Equalization()(x), lambda: L.RandomCrop(2, 2)(x))()


def places(v, at=(), name=''):
    """The keys of configurations below v, each with a name that begins with its class."""
    if isinstance(v, dict):
        object_ = 'class_name' in v and isinstance(v.get('config'), dict)
        for k, w in v.items():
            if k in SKIPPED:
                continue
            if object_:
                if k == 'config':
                    yield from places(w, at + (k,), v['class_name'])
                continue
            yield at + (k,), '%s.%s' % (name, k)
            yield from places(w, at + (k,), '%s.%s' % (name, k))
    elif isinstance(v, list):
        for i, w in enumerate(v):
            yield from places(w, at + (i,), name)


def text(e):
    return type(e).__name__ + ': ' + ' '.join(str(e).split())[:200]


class Odd:
    def __init__(self, r, m, number, folder):
        self.m, self.number = m, number
        self.case = recording.Case(r, m, folder, number)
        self.trains = True
        self.weights = [recording.array(w) for w in m.weights]

    def answer(self, config):
        m = keras.models.model_from_json(json.dumps(config))
        if [tuple(w.shape) for w in m.weights] != [w.shape for w in self.weights]:
            return {'outcome': 'other weights'}
        for w, v in zip(m.weights, self.weights):
            w.assign(v)
        self.case.m = m
        self.case.types = [keras.backend.standardize_dtype(o.dtype) for o in m.outputs]
        made = {'outcome': 'predicts', 'y': self.case.predict()}
        if any(v is None for a in made['y'] for v in a['data']):
            return {**made, 'outcome': 'not finite'}
        if self.trains:
            try:
                self.train(m)
            except Exception as e:
                made.update(outcome='cannot train', error=text(e))
        return made

    def train(self, m):
        """What a step of training asks of the parts of a model, without gradients, which NumPy does not have."""
        m(self.case.given(), training=True)
        m.losses
        for w in m.trainable_weights:
            if w.constraint is not None:
                w.constraint(w)

    def record(self, seen):
        config = json.loads(self.m.to_json())
        if any(layer['config'].get('negative_slope', 0) > 1 for layer in config['config']['layers']):
            return None  # of which NumPy takes the larger line
        own = self.answer(config)
        y, self.trains = own['y'], own['outcome'] == 'predicts'
        if own['outcome'] == 'not finite':
            return None
        if sum(len(a['data']) for a in y) > 2000:
            return None
        cases = []
        for i, layer in enumerate(config['config']['layers']):
            for at, name in places(layer):
                if name in seen:
                    continue
                seen.add(name)
                at = ('config', 'layers', i) + at
                for value in VALUES:
                    if left_out(LEFT_OUT, at, value):
                        continue
                    try:
                        odd = self.answer(replaced(config, at, value))
                        if odd['outcome'] == 'predicts' and odd['y'] == y:
                            odd = {'outcome': 'same'}
                    except Exception as e:
                        odd = {'outcome': 'error', 'error': text(e)}
                    cases.append({'name': name, 'at': at, 'value': value, **odd})
        if not cases:
            return None
        self.m.save(self.case.base + '.keras')
        return {'number': self.number, 'x': [recording.plain(a, i.dtype) for a, i in zip(self.case.x, self.m.inputs)], 'y': y, 'cases': cases}


def main():
    p = argparse.ArgumentParser()
    p.add_argument('--count', type=int, default=100)
    p.add_argument('--seed', type=int, default=0)
    p.add_argument('--out', required=True)
    a = p.parse_args()
    os.makedirs(a.out, exist_ok=True)
    seen, rows, failed = set(), [], {}
    for i in range(a.count):
        r = random.Random(a.seed + i)
        keras.utils.set_random_seed(a.seed + i)
        made = Layers(r)
        try:
            y = getattr(made, r.choice(randomlayers.KINDS + ['noise'] * 6))()
            if y is None:
                continue
            m = keras.Model(made.inputs, y)
            row = Odd(r, m, i, a.out).record(seen)
        except Exception as e:
            failed[type(e).__name__ + ': ' + ' '.join(str(e).split())[:100]] = a.seed + i
            continue
        if row:
            row['seed'] = a.seed + i
            rows.append(row)
    with open(a.out + '/models.json', 'w') as f:
        json.dump({'keras': keras.__version__, 'models': rows}, f)
    print(len(rows), 'models,', sum(len(row['cases']) for row in rows), 'odd values; Keras fails with', failed, file=sys.stderr)


if __name__ == '__main__':
    main()
