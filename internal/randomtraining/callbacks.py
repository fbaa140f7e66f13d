"""Draws arguments of fit and callbacks, trains a small network with them, and writes down what Keras makes of them.

    KERAS_BACKEND=torch python internal/randomtraining/callbacks.py 200 0 internal/randomtraining/testdata/callbacks.json.gz

Beside what runs.py draws there are callbacks that write files (ModelCheckpoint of every form, CSVLogger), schedules, NaN in the data, validation by data of its own, and steps per
epoch. The other program may have to interrupt a run and go on from a backup in a model that was made anew, with the same end. Recorded are the history, the files, the log, which calls
callbacks get, the learning rate and the weights at the end, or that Keras refuses.
"""
import contextlib
import csv
import io
import json
import os
import sys
import tempfile

os.environ.setdefault('TF_CPP_MIN_LOG_LEVEL', '3')
import keras
import numpy as np
from draw import Draw, error, numbers, plain, short, write
from runs import logs_of

CB = keras.callbacks
MONITORS = ['loss', 'loss', 'val_loss', 'val_loss', 'mae', 'val_mae', 'nothing']


class Calls(CB.Callback):
    """Counts what is called, and keeps the names of logs."""

    def __init__(self):
        super().__init__()
        self.text = []

    def on_epoch_begin(self, epoch, logs=None):
        self.text.append('e%d' % epoch)

    def on_epoch_end(self, epoch, logs=None):
        self.text.append('E%d:%s' % (epoch, ' '.join(sorted(logs or {}))))

    def on_train_batch_end(self, batch, logs=None):
        self.text.append('b%d' % batch)

    def on_test_batch_end(self, batch, logs=None):
        self.text.append('t%d' % batch)

    def on_test_begin(self, logs=None):
        self.text.append('T')

    def on_train_end(self, logs=None):
        self.text.append('end:%s' % ' '.join(sorted(logs or {})))


def draw_callbacks(d, epochs, ema, outputs):
    out = []
    watched = MONITORS  # with several outputs Keras takes the direction of mae for that of a_mae, and warns that there is none of that name

    def add(chance, name, settings):
        if d.random() < chance:
            out.append({'class': name, 'settings': settings})

    mode = lambda: d.of('auto', 'min', 'max', 'auto')
    add(0.35, 'EarlyStopping', {'monitor': d.of(*watched), **d.maybe(0.4, patience=d.randint(0, 2), min_delta=d.of(0.0, 0.05, -0.2), mode=mode(), baseline=d.of(0.0, 0.5, 5.0), restore_best_weights=True,
                                                                     start_from_epoch=d.randint(0, 3))})
    add(0.35, 'ReduceLROnPlateau', {'monitor': d.of(*watched), **d.maybe(0.5, patience=d.randint(1, 3), min_delta=d.of(0.0, 0.3), mode=mode(), cooldown=d.randint(0, 2), factor=d.of(0.5, 0.1),
                                                                         min_lr=d.of(0.0, 0.004))})
    add(0.25, 'LearningRateScheduler', {'rates': [d.of(0.1, 0.01, 0.02, 'half', 'same') for _ in range(epochs)]})
    for k in range(2):
        weights = d.random() < 0.6
        ending = '.weights.h5' if weights else '.keras'
        name = d.of('m', 'at{epoch}', 'at{epoch:03d}', 'e{epoch:02d}-{loss:.1f}', '{val_loss:.1f}', 'b{batch}-{epoch}', 'acc{mae:.0f}') + ending
        s = {'filepath': 'c%d' % k + name, 'save_weights_only': weights, **d.maybe(0.4, monitor=d.of(*watched), save_best_only=True, mode=mode(), initial_value_threshold=d.of(0.0, 0.7, 2.0))}
        s.update(d.maybe(0.35, save_freq=d.of(1, 2, 3, 5)))
        if '{batch}' in name:
            s['save_freq'] = d.of(1, 2, 3)
        add(0.35, 'ModelCheckpoint', s)
    add(0.3, 'CSVLogger', {'filename': 'log.csv', **d.maybe(0.3, separator=d.of(';', '\t'), append=True)})
    add(0.2, 'TerminateOnNaN', d.maybe(0.3, raise_error=True))
    if ema:
        add(0.4, 'SwapEMAWeights', {'swap_on_epoch': d.random() < 0.5})
    d.shuffle(out)
    return out


def made(c, folder):
    s = dict(c['settings'])
    if c['class'] == 'LearningRateScheduler':
        rates = s['rates']
        return CB.LearningRateScheduler(lambda epoch, rate: {'half': rate / 2, 'same': rate}.get(rates[epoch], rates[epoch]))
    for key in ('filepath', 'filename'):
        if key in s:
            s[key] = folder + '/' + s[key]
    return getattr(CB, c['class'])(**s)


def network(c):
    i = keras.Input((3,))
    x = keras.layers.Dense(3, activation='tanh')(i)
    if c['norm']:
        x = keras.layers.BatchNormalization(momentum=0.5)(x)
    outs = [keras.layers.Dense(1, name='a')(x)]
    if c['outputs'] > 1:
        outs.append(keras.layers.Dense(2, name='b')(x))
    m = keras.Model(i, outs if len(outs) > 1 else outs[0])
    o = getattr(keras.optimizers, c['optimizer'])(**c['options'])
    m.compile(o, 'mse', metrics=['mae'] if len(outs) == 1 else [['mae'], []], run_eagerly=True)
    for k, w in enumerate(m.weights):
        w.assign(numbers({'kind': 'positive' if 'variance' in w.name or w.name == 'gamma' else 'grid', 'seed': c['seed'] + k, 'shape': list(w.shape), 'dtype': 'float32'}))
    return m


def values(spec, nan):
    a = numbers(spec)
    if nan is not None and nan < len(a):
        a[nan] = np.nan
    return a


def run(seed):
    d = Draw(seed)
    n, batch = d.randint(3, 11), d.randint(1, 4)
    epochs = d.randint(1, 5)
    c = {'class': 'fit', 'number': seed, 'seed': d.randrange(1 << 20), 'norm': batch > 1 and n % batch != 1 and d.random() < 0.2,  # of one example, what goes through it is rounding
         'outputs': d.of(1, 1, 2), 'optimizer': d.of('SGD', 'Adam', 'RMSprop'),
         'options': {'learning_rate': d.of(0.1, 0.01), **d.maybe(0.25, use_ema=True, ema_momentum=0.5, ema_overwrite_frequency=d.of(1, 2, 3))}, 'nan': d.randrange(n) if d.random() < 0.1 else None}
    fit = {'epochs': epochs, 'batch_size': batch, **d.maybe(0.2, initial_epoch=d.randint(0, epochs - 1))}
    fit.update(d.maybe(0.25, steps_per_epoch=d.randint(1, -(-n // batch))))
    kind = d.of('none', 'none', 'split', 'data', 'data')
    if kind == 'split':
        fit['validation_split'] = d.of(0.2, 0.34, 0.5)
    if kind != 'none':
        fit.update(d.maybe(0.3, validation_freq=d.of(1, 2, 3, [1, 3], [2]), validation_batch_size=d.of(1, 2)))
    if kind == 'data':
        fit.update(d.maybe(0.25, validation_steps=1))
    if kind == 'split' and int(n * (1 - fit['validation_split'])) % batch == 1:  # that is a batch of one example, too
        c['norm'] = False
    c['fit'] = fit
    c['x'], c['v'] = d.array('grid', [n, 3]), d.array('grid', [d.randint(2, 4), 3]) if kind == 'data' else None
    c['y'] = [d.array('grid', [n, k + 1]) for k in range(c['outputs'])]
    c['vy'] = [d.array('grid', [c['v']['shape'][0], k + 1]) for k in range(c['outputs'])] if kind == 'data' else None
    c['callbacks'] = draw_callbacks(d, epochs, 'use_ema' in c['options'], c['outputs'])
    c['model'] = json.loads(network(c).to_json())
    c['backup'] = {'backup_dir': 'backup', **d.maybe(0.5, save_freq=d.of(1, 2, 3)), **d.maybe(0.2, delete_checkpoint=False)} if d.random() < 0.35 else None
    c['interrupt'] = d.randint(0, 2 * -(-n // batch)) if c['backup'] else None
    return c


def execute(c):
    """What comes of a case."""
    x, pack = values(c['x'], c['nan']), lambda v: v if len(v) > 1 else v[0]
    y = pack([numbers(s) for s in c['y']])
    fit = dict(c['fit'])
    if c['v']:
        fit['validation_data'] = (numbers(c['v']), pack([numbers(s) for s in c['vy']]))
    with tempfile.TemporaryDirectory() as folder:
        m = network(c)
        calls = Calls()
        try:
            h = m.fit(x, y, shuffle=False, verbose=0, callbacks=[made(k, folder) for k in c['callbacks']] + [calls], **fit)
        except Exception as e:
            return {'error': error(e), 'calls': calls.text}
        a = {'history': logs_of(h.history), 'epochs': h.epoch, 'calls': calls.text, 'weights': [plain(keras.ops.convert_to_numpy(w), 7) for w in m.weights],
             'rate': short(m.optimizer.learning_rate, 6)}
        kept = c['backup'] and 'delete_checkpoint' in c['backup'] and sum(call[0] == 'b' for call in calls.text) >= c['backup'].get('save_freq', 0)
        a['files'] = sorted(os.listdir(folder) + (['backup'] if kept else []))
        if 'log.csv' in a['files']:
            a['log'] = open(folder + '/log.csv').read().split('\n')
        for f in a['files']:
            if f.endswith('.weights.h5'):
                fresh = network(c)
                fresh.load_weights(folder + '/' + f)
                a.setdefault('saved', {})[f] = [plain(keras.ops.convert_to_numpy(w), 6) for w in fresh.weights]
        return a


def main():
    out = []
    for k in range(int(sys.argv[1])):
        keras.backend.clear_session()
        c = run(int(sys.argv[2]) + k)
        with contextlib.redirect_stdout(io.StringIO()):
            c['answer'] = execute(c)
        out.append(c)
    write(sys.argv[3], out)
    print(len(out), 'cases,', sum('error' in c['answer'] for c in out), 'refused', file=sys.stderr)


if __name__ == '__main__':
    main()
