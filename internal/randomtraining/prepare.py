"""Draws calls of what prepares data for models, and writes down what Keras makes of them.

    python internal/randomtraining/prepare.py 300 0 internal/randomtraining/testdata/prepare.json.gz

These are pad_sequences, to_categorical, normalize, split_dataset, timeseries_dataset_from_array, and image_, text_ and audio_dataset_from_directory, whose files are part of the case. Recorded is
what comes out in order, or that Keras refuses.
"""
import base64
import io
import os
import sys
import tempfile
import wave

os.environ['KERAS_BACKEND'] = 'tensorflow'
os.environ.setdefault('TF_CPP_MIN_LOG_LEVEL', '3')
os.environ.setdefault('CUDA_VISIBLE_DEVICES', '')
import keras
import numpy as np
from draw import Draw, error, numbers, plain, write
from PIL import Image

U = keras.utils


def draw_pad(d):
    dtype = d.of('int32', 'int32', 'float32', 'float64')
    number = (lambda: d.randint(-9, 300)) if dtype == 'int32' else (lambda: d.randint(-400, 400) / 8)
    s = d.maybe(0.5, maxlen=d.randint(1, 6), padding=d.of('pre', 'post'), truncating=d.of('pre', 'post'), value=d.of(0.0, 1.0, -1.0, 7.0) if dtype == 'int32' else d.of(0.5, -3.0))
    sequences = [[number() for _ in range(d.of(0, 1, 2, 3, 5, 8))] for _ in range(d.randint(1, 5))]
    return {'sequences': sequences if any(sequences) else [[number()]], 'dtype': dtype, 'settings': s}  # of empty ones Keras makes an empty array


def answer_pad(c):
    return [plain(U.pad_sequences(c['sequences'], dtype=c['dtype'], **c['settings']))]


def draw_categorical(d):
    shape = d.of([d.randint(1, 5)], [d.randint(1, 5), 1], [2, d.randint(1, 4)], [d.randint(1, 3), 2, 1], [1, 1], [1])
    return {'x': d.array('integer', shape, d.of('int32', 'int64', 'uint8', 'float32', 'bool'), below=2 if d.random() < 0.3 else d.randint(1, 7)), 'settings': d.maybe(0.5, num_classes=d.randint(1, 7))}


def answer_categorical(c):
    return [plain(U.to_categorical(numbers(c['x']), **c['settings']))]


def draw_normalize(d):
    rank = d.of(2, 2, 3)  # Keras gives a vector an axis more
    kind = d.of('grid', 'grid', 'integer')
    return {'x': d.array(kind, [d.randint(1, 4) for _ in range(rank)], d.of('float32', 'float64'), **({'below': 2} if kind == 'integer' else {})),
            'settings': d.maybe(0.7, axis=d.of(-1, -rank, rank - 1), order=d.of(1, 2, 2, 3, 0.5, 'inf', 0, 1.5))}


def answer_normalize(c):
    s = dict(c['settings'])
    if 'order' in s:
        s['order'] = float(s['order'])
    with np.errstate(all='ignore'):
        return [plain(U.normalize(numbers(c['x']), **s))]


def draw_split(d):
    n, k = d.of(1, 2, 3, 4, 5, 10, 11, 15), d.of(1, 1, 2, 3)
    size = lambda: d.of(None, None, d.randint(-1, n + 1), round(d.uniform(0, 1), 2), 0.5, 0.25, 1.0)
    return {'xs': [d.array('grid', [n] + d.of([], [2], [1, 3])) for _ in range(k)], 'settings': {'left_size': size(), 'right_size': size()}}


def answer_split(c):
    xs = [numbers(s) for s in c['xs']]
    parts = U.split_dataset(tuple(xs) if len(xs) > 1 else xs[0], shuffle=False, **c['settings'])
    out = []
    for p in parts:
        rows = [keras.tree.flatten(r) for r in p.as_numpy_iterator()]
        out += [plain(np.stack([r[k] for r in rows])) for k in range(len(xs))]
    return out


def draw_timeseries(d):
    n = d.of(3, 5, 8, 12)
    c = {'x': d.array('grid', [n] + d.of([], [1], [2], [2, 2])), 'length': d.of(1, 2, 2, 3, 3, 5, 9),
         'settings': d.maybe(0.4, sequence_stride=d.of(1, 2, 3, 5), sampling_rate=d.of(1, 2, 3), start_index=d.randint(0, 3), end_index=d.randint(3, n + 1), batch_size=d.of(1, 2, 3, None))}
    if d.random() < 0.6:
        c['y'] = d.array('integer', [d.of(n, n, n + 2, max(n - 1, 1), max(n - d.randint(1, 4), 1))] + d.of([], [], [2]), below=9)
    return c


def answer_timeseries(c):
    ds = U.timeseries_dataset_from_array(numbers(c['x']), numbers(c['y']) if 'y' in c else None, c['length'], **c['settings'])
    return [plain(a) for b in ds.as_numpy_iterator() for a in keras.tree.flatten(b)]


def image(d):
    mode = d.of('RGB', 'RGB', 'L', 'RGBA', 'LA', 'P')  # of one bit, TensorFlow makes 0 and 1 instead of 0 and 255
    kind = d.of('png', 'png', 'png', 'bmp', 'gif')
    if kind != 'png':
        mode = {'bmp': 'RGB', 'gif': 'L'}[kind]
    w, h = d.randint(1, 7), d.randint(1, 7)
    channels = {'RGB': 3, 'RGBA': 4, 'LA': 2}.get(mode, 1)
    a = np.array([d.randrange(256) for _ in range(w * h * channels)], 'uint8').reshape([h, w] + ([channels] if channels > 1 else []))
    im = Image.fromarray(a // 8 * 8, 'L') if mode == 'P' else Image.fromarray(a, mode)
    if mode == 'P':
        im = im.convert(mode)
    b = io.BytesIO()
    im.save(b, kind)
    return kind, b.getvalue()


def text(d):
    return 'txt', d.of('', 'a', 'some words\n', 'Ünïcödé ß', 'line\r\nline', 'tab\tnul', '  spaces  ', 'x' * d.randint(1, 12)).encode()


def sound(d):
    b = io.BytesIO()
    with wave.open(b, 'wb') as w:
        w.setnchannels(d.sound_channels)
        w.setsampwidth(2)
        w.setframerate(d.of(8000, 16000))
        w.writeframes(np.array([d.randint(-32768, 32767) for _ in range(d.sound_channels * d.randint(1, 9))], '<i2').tobytes())
    return 'wav', b.getvalue()


def draw_files(d, make):
    files = {}
    for name in d.sample(['cats', 'Dogs', 'a_b', 'b1', 'B2', '10', '9', 'é'], d.of(1, 2, 2, 3)):
        for _ in range(d.of(1, 2, 2, 3)):
            kind, content = make(d)
            file = d.of('', '', 'sub/', 'Sub2/', '.hidden/') + d.of('a', 'B', 'c', '10', '9', 'x.y', '-', '_') + '.' + (kind.upper() if d.random() < 0.1 else kind)
            files['%s/%s' % (name, file)] = base64.b64encode(content).decode()
    if d.random() < 0.3:
        files[d.of('loose.txt', 'cats/readme.md', 'Dogs/no', '.git/x.png', 'empty/nothing.dat')] = base64.b64encode(b'what is this?').decode()
    return files


def draw_folder(d, make):
    files = draw_files(d, make)
    names = sorted({f.split('/')[0] for f in files if '/' in f})
    s = d.maybe(0.4, label_mode=d.of('int', 'categorical', 'binary', None), batch_size=d.of(1, 2, 3, None))
    if d.random() < 0.2:
        s['class_names'] = d.sample(names, d.randint(1, len(names))) + d.of([], [], [], ['absent'])
    elif d.random() < 0.2 and s.get('label_mode', 'int') is not None:  # without a mode, Keras passes them over
        labels = [d.randrange(3) for _ in range(len(files) + d.of(0, 0, 0, 1))]
        s['labels'] = [sorted(set(labels)).index(v) for v in labels]  # others would be no position among the classes
    if d.random() < 0.25:
        s.update(validation_split=d.of(0.2, 0.34, 0.5, 0.9), subset=d.of('training', 'validation'))
    return {'files': files, 'settings': s}


def draw_images(d):
    c = draw_folder(d, image)
    c['settings'].update(d.maybe(0.4, color_mode=d.of('rgb', 'rgba', 'grayscale'), interpolation=d.of('bilinear', 'nearest', 'area', 'bicubic', 'lanczos3', 'lanczos5', 'gaussian', 'mitchellcubic')))
    c['settings'].update(d.of({}, {}, {}, {'crop_to_aspect_ratio': True}, {'pad_to_aspect_ratio': True}), image_size=[d.randint(1, 6), d.randint(1, 6)])
    return c


def draw_texts(d):
    c = draw_folder(d, text)
    c['settings'].update(d.maybe(0.4, max_length=d.randint(1, 8)))
    return c


def draw_sounds(d):
    d.sound_channels = d.of(1, 1, 2)
    c = draw_folder(d, sound)
    c['settings'].update(d.maybe(0.5, output_sequence_length=d.randint(1, 12)))
    return c


def answer_folder(c, read):
    with tempfile.TemporaryDirectory() as folder:
        for name, content in c['files'].items():
            os.makedirs(os.path.dirname(folder + '/' + name), exist_ok=True)
            with open(folder + '/' + name, 'wb') as f:
                f.write(base64.b64decode(content))
        s = c['settings']
        if 'validation_split' in s:  # a part of no files takes all or none from the training
            total = sum(1 for _ in read(folder, shuffle=False, verbose=False, **{k: v for k, v in s.items() if k not in ('validation_split', 'subset', 'batch_size')}, batch_size=None))
            if int(s['validation_split'] * total) in (0, total):
                raise EOFError
        ds = read(folder, shuffle=False, verbose=False, **s)
        out = []
        for b in ds.as_numpy_iterator():
            for a in keras.tree.flatten(b):
                a = np.asarray(a)
                out.append({'shape': list(a.shape), 'texts': [base64.b64encode(t).decode() for t in a.ravel()]} if a.dtype == object or a.dtype.kind == 'S' else plain(a, 6))
        c['names'] = list(ds.class_names or [])
        return out


KINDS = {'pad': (draw_pad, answer_pad), 'categorical': (draw_categorical, answer_categorical), 'normalize': (draw_normalize, answer_normalize), 'split': (draw_split, answer_split),
         'timeseries': (draw_timeseries, answer_timeseries),
         'images': (draw_images, lambda c: answer_folder(c, U.image_dataset_from_directory)), 'texts': (draw_texts, lambda c: answer_folder(c, U.text_dataset_from_directory)),
         'sounds': (draw_sounds, lambda c: answer_folder(c, U.audio_dataset_from_directory))}


def stricter(c):
    """Whether one side refuses what the other one has a good answer to. Of n steps, Keras takes no end_index of n, and no stride or rate of n; windows that do not fit are none. It does not read
    BMP and GIF with other channels than three, nor an image of which a crop has no pixels, and knows fewer ways of resizing."""
    said, s = c['answer'].get('error', ''), c['settings']
    if c['class'] == 'timeseries':
        last = s.get('end_index', c['x']['shape'][0])
        return 'lower than the length' in said or (c['length'] - 1) * s.get('sampling_rate', 1) >= last - s.get('start_index', 0)
    return any(w in said for w in ('channels', 'output dimensions', 'user-defined', 'Invalid value for argument `interpolation`', 'EOFError'))


def main():
    out = []
    for number in range(int(sys.argv[2]), int(sys.argv[2]) + int(sys.argv[1])):
        d = Draw(number)
        kind = d.choice(sorted(KINDS))
        c = {'class': kind, 'number': number, **KINDS[kind][0](d)}
        try:
            c['answer'] = {'arrays': KINDS[kind][1](c)}
        except Exception as e:
            c['answer'] = {'error': error(e)}
        if not stricter(c):
            out.append(c)
    write(sys.argv[3], out)
    refused = {}
    for c in out:
        if 'error' in c['answer']:
            refused.setdefault(c['class'] + ' ' + c['answer']['error'], []).append(c['number'])
    if os.environ.get('PREPARE_DEBUG'):
        for k, v in sorted(refused.items()):
            print(k, v[:4], file=sys.stderr)
    print(len(out), 'calls,', sum(map(len, refused.values())), 'refused', file=sys.stderr)


if __name__ == '__main__':
    main()
