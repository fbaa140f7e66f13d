"""Draws layers that change images at random, with random settings, and writes down what they do in training.

    KERAS_BACKEND=numpy python internal/randomnets/randomimages.py --count 300 --seed 0 --out internal/randomnets/testdata/images.json.gz

The random numbers of Keras are others, so there are two kinds of cases. Where settings leave nothing to chance (a factor from 0.3 to 0.3), the results are recorded: images, boxes, masks, labels.
Where they do, the layer gets many copies of one image, and the distribution of two sums over each result is recorded, as quantiles.
"""
import gzip
import json
import os
import sys

os.environ.setdefault('KERAS_BACKEND', 'numpy')  # TensorFlow has another wrap and another blur of oblong windows
os.environ.setdefault('TF_CPP_MIN_LOG_LEVEL', '3')
os.environ.setdefault('CUDA_VISIBLE_DEVICES', '')
import drawing
import keras
import numpy as np

L = keras.layers
COPIES = 300
MODES = ['constant', 'reflect', 'wrap', 'nearest']
BOXES = ['xyxy', 'yxyx', 'xywh', 'center_xywh', 'center_yxhw', 'rel_xyxy', 'rel_yxyx', 'rel_xywh', 'rel_center_xywh']


class Draw(drawing.Draw):
    def within(self, low, high):
        return round(self.uniform(low, high - 0.01), 2) + 0.0017  # so that no cell lies between two others

    def factor(self, low, high, sure, number=True):
        """A setting that is one number with certainty, or a range, or a number that stands for one."""
        a, b = self.within(low, high), self.within(low, high)
        if sure:
            return [a, a]
        return self.of([a, b], [b, a], abs(a)) if number else sorted([a, b])


def moved(d, sure):
    return {**d.maybe(0.7, fill_mode=d.choice(MODES), interpolation=d.of('nearest', 'bilinear')), **d.maybe(0.4, fill_value=d.of(0.0, 7.5, 100.0))}


def colours(d):
    return d.maybe(0.5, value_range=d.of([0, 255], [0, 1], [0, 128], [-1, 1], [20, 100]))


def settings(d, sure):
    """A class, its settings, what channels it takes, and whether boxes are Keras's."""
    name = d.of('RandomBrightness', 'RandomContrast', 'RandomRotation', 'RandomZoom', 'RandomTranslation', 'RandomShear', 'RandomHue', 'RandomSaturation', 'RandomColorDegeneration', 'RandomSharpness',
                'RandomPosterization', 'Solarization', 'RandomGaussianBlur', 'RandomGrayscale', 'RandomInvert', 'AutoContrast', 'Equalization', 'CLAHE', 'RandomColorJitter', 'CenterCrop', 'Resizing',
                'MaxNumBoundingBoxes', 'RandomFlip', 'RandomErasing', 'RandomPerspective', 'RandomElasticTransform', 'CutMix', 'MixUp')
    s, channels = {}, d.of(1, 3, 3, 4)
    f = lambda low, high, number=True: d.factor(low, high, sure, number)
    if name == 'RandomBrightness':
        s = {'factor': f(-1, 1), **colours(d)}
    elif name == 'RandomContrast':
        s = {'factor': f(0, 1), **colours(d)}
        if sure:
            s['factor'] = [0.0, 0.0]  # from 1 - a to 1 + b
    elif name == 'RandomRotation':
        s = {'factor': f(-0.6, 0.6), **moved(d, sure)}
    elif name == 'RandomZoom':
        s = {'height_factor': f(-0.6, 0.6), **d.maybe(0.5, width_factor=f(-0.6, 0.6)), **moved(d, sure)}
    elif name == 'RandomTranslation':
        s = {'height_factor': f(-0.7, 0.7), 'width_factor': f(-0.7, 0.7), **moved(d, sure)}
    elif name == 'RandomShear':
        s = {**d.maybe(0.8, x_factor=f(0, 0.6), y_factor=f(0, 0.6)), **moved(d, sure)}
        if sure:
            s = {**s, 'x_factor': [0.0, 0.0], 'y_factor': [0.0, 0.0]}  # both ways
    elif name == 'RandomHue':
        s, channels = {'factor': [0.0, 0.0] if sure else f(0, 1), **colours(d)}, 3
    elif name in ('RandomSaturation', 'RandomColorDegeneration'):
        s, channels = {'factor': f(0, 0.95), **colours(d)}, 3
    elif name == 'RandomSharpness':
        s = {'factor': f(0, 1), **colours(d)}
    elif name == 'RandomPosterization':
        n = d.randint(1, 8)
        s = {'factor': [n, n] if sure else sorted(d.sample(range(1, 9), 2)), **colours(d)}
    elif name == 'Solarization':
        s = {'addition_factor': f(0, 0.6), 'threshold_factor': f(0, 0.6), **colours(d)}
        if sure:
            s.update(addition_factor=0.0, threshold_factor=0.0)  # from a to 255 b
    elif name == 'RandomGaussianBlur':
        k = d.of(1, 3, 5)
        s = {'factor': [1.0, 1.0], 'kernel_size': d.of(k, [k, k], [3, 5]), 'sigma': d.factor(0.2, 1, True), **colours(d)}
        if not sure:
            s['factor'] = d.of(0.0, 0.3, [0.2, 0.9], 1.0)
    elif name in ('RandomGrayscale', 'RandomInvert'):
        s = {'factor': d.of(0.0, 1.0) if sure else d.of(0.3, 0.5, 0.8)}
        if name == 'RandomInvert':
            s = {'factor': [s['factor']] * 2 if sure else s['factor'], **colours(d)}
        else:
            channels = 3
    elif name in ('AutoContrast', 'Equalization'):
        s = colours(d)
        if name == 'Equalization':
            s.update(d.maybe(0.4, bins=d.of(16, 64, 256)))
    elif name == 'CLAHE':
        name = 'ContrastLimitedAdaptiveHistogramEqualization'
        s, channels = {**d.maybe(0.5, value_range=d.of([0, 255], [0, 1]), clip_limit=d.of(1.0, 2.0, 4.0), tile_grid_size=d.of([2, 2], [1, 3], [3, 2]))}, d.of(1, 3)
    elif name == 'RandomColorJitter':
        channels = 3
        if sure:
            s = {**d.maybe(0.6, brightness_factor=f(-0.5, 0.5)), **d.maybe(0.4, contrast_factor=[0.0, 0.0], hue_factor=[0.0, 0.0], saturation_factor=f(0, 0.9)), **colours(d)}
        else:
            s = {**d.maybe(0.6, brightness_factor=f(-0.5, 0.5), contrast_factor=f(0, 0.9), hue_factor=f(0, 0.5), saturation_factor=f(0, 0.9)), **colours(d)}
    elif name == 'CenterCrop':
        s = {'height': d.randint(1, 8), 'width': d.randint(1, 8)}
    elif name == 'Resizing':
        s = {'height': d.randint(1, 9), 'width': d.randint(1, 9), **d.maybe(0.5, interpolation=d.of('nearest', 'bilinear', 'bicubic', 'lanczos3')),
             **d.of({}, {}, {'crop_to_aspect_ratio': True}, {'pad_to_aspect_ratio': True, 'fill_value': d.of(0.0, 9.0)})}
    elif name == 'MaxNumBoundingBoxes':
        s = {'max_number': d.randint(1, 5)}
    elif name == 'RandomFlip':
        s = d.maybe(0.8, mode=d.of('horizontal', 'vertical', 'horizontal_and_vertical'))
    elif name == 'RandomErasing':
        s = {**d.maybe(0.6, factor=d.of(0.4, 1.0, [0.2, 0.8]), scale=d.of(0.3, [0.1, 0.5], [0.4, 0.4]), fill_value=d.of(0.0, 60.0)), **colours(d)}
    elif name == 'RandomPerspective':
        s = d.maybe(0.7, factor=d.of(0.4, 1.0, [0.2, 0.8]), scale=d.of(0.2, 0.6, 1.0), interpolation=d.of('nearest', 'bilinear'), fill_value=d.of(0.0, 40.0))
        if sure:
            s['scale'] = 0.0
    elif name == 'RandomElasticTransform':
        s = {'scale': d.factor(0.1, 1, True), **d.maybe(0.7, factor=d.of(0.4, 1.0), interpolation=d.of('nearest', 'bilinear'), fill_mode=d.choice(MODES), fill_value=d.of(0.0, 40.0)), **colours(d)}
    elif name == 'CutMix':
        s = {'factor': d.of([0.5, 0.5], [1.0, 1.0], [0.2, 0.2])}  # one for all images
    elif name == 'MixUp':
        s = d.maybe(0.6, alpha=d.of(0.2, 1.0, 3.0))
    return name, s, channels


SURE = '''RandomBrightness RandomContrast RandomRotation RandomZoom RandomTranslation RandomShear RandomHue RandomSaturation RandomColorDegeneration RandomSharpness RandomPosterization Solarization
RandomGaussianBlur RandomGrayscale RandomInvert AutoContrast Equalization ContrastLimitedAdaptiveHistogramEqualization RandomColorJitter CenterCrop Resizing MaxNumBoundingBoxes RandomPerspective'''.split()
ALWAYS_SURE = ('AutoContrast', 'Equalization', 'ContrastLimitedAdaptiveHistogramEqualization', 'CenterCrop', 'Resizing', 'MaxNumBoundingBoxes')
# Of the others Keras contradicts itself; see layers.LabelledImages.
BOXED = ('RandomBrightness', 'RandomContrast', 'RandomZoom', 'RandomTranslation', 'RandomHue', 'RandomSaturation', 'RandomColorDegeneration', 'RandomSharpness', 'RandomPosterization', 'Solarization',
         'RandomInvert', 'AutoContrast', 'Equalization', 'RandomColorJitter', 'CenterCrop', 'Resizing', 'MaxNumBoundingBoxes', 'RandomGaussianBlur')


def picture(d, shape, value_range, kind):
    low, high = value_range
    n = int(np.prod(shape))
    v = np.array([d.random() for _ in range(n)]) * (high - low) + low
    if kind != 'float32' or high - low > 2:
        v = np.round(v)
    return v.reshape(shape).astype(kind)


def spec(a):
    a = keras.ops.convert_to_numpy(a)
    return {'dtype': str(a.dtype), 'shape': list(a.shape), 'data': [float('%.7g' % x) if np.isfinite(x) else None for x in a.astype('float64').ravel()]}


def boxes(d, kind, n, h, w):
    out = []
    for _ in range(n):
        x, y = d.randint(0, w - 1), d.randint(0, h - 1)
        x2, y2 = d.randint(x + 1, w), d.randint(y + 1, h)
        out.append([x, y, x2, y2])
    a = np.array(out, 'float32').reshape(1, n, 4)
    return keras.ops.convert_to_numpy(keras.utils.bounding_boxes.convert_format(a, 'xyxy', kind, height=h, width=w))[0]


def sums(images):
    """Two numbers for each image."""
    v = np.nan_to_num(keras.ops.convert_to_numpy(images).astype('float64')).reshape(len(images), -1)
    k = np.arange(v.shape[1])
    return [v.mean(1), (v * (k * 37 % 11 - 5)).mean(1)]


def case(d, number):
    sure = d.random() < 0.7
    while True:
        name, s, channels = settings(d, sure)
        if sure and name not in SURE or not sure and name in ALWAYS_SURE:
            continue
        break
    h, w = d.randint(1, 7), d.randint(1, 7)
    if name == 'RandomPerspective':  # of whose four corners no three may lie on a line
        h, w = d.randint(2, 7), d.randint(2, 7)
    if name.startswith('Contrast') or name == 'RandomElasticTransform':
        h, w = d.randint(6, 9), d.randint(6, 9)
    first = d.random() < 0.25 and name != 'RandomColorJitter'  # whose parts Keras does not tell
    more = {'data_format': 'channels_first'} if first else {}
    kind = d.of('float32', 'float32', 'uint8', 'int32')
    value_range = s.get('value_range', [0, 255])
    # Of whole numbers RandomSaturation refuses, RandomBrightness adds a delta that has become a whole number of their type, and NumPy resizes to what other backends do not.
    if value_range[1] <= 1 or name in ('RandomSaturation', 'RandomBrightness', 'RandomColorJitter') or s.get('interpolation') in ('bicubic', 'lanczos3'):
        kind = 'float32'
    one = [channels, h, w] if first else [h, w, channels]
    out = {'number': number, 'class': name}
    if not sure:
        image = picture(d, one, value_range, kind)
        x = np.stack([image] * COPIES)
        if name in ('CutMix', 'MixUp'):
            x = np.stack([image, picture(d, one, value_range, kind)] * (COPIES // 2))
        given, inputs = x, {'image': spec(x[0]), 'other': spec(x[1])}
        out['copies'] = COPIES
    else:
        batch = d.of(None, 1, 2, 3)
        given = picture(d, one if batch is None else [batch] + one, value_range, kind)
        inputs = {'images': spec(given)}
        if d.random() < 0.5 and name != 'RandomGrayscale' and not name.startswith('Contrast'):
            given = {'images': given}
            rows = [] if batch is None else [batch]
            if name in BOXED and (d.random() < 0.6 or name == 'MaxNumBoundingBoxes'):
                more['bounding_box_format'] = d.choice(BOXES if name != 'CenterCrop' else BOXES[:5])  # whether a box is left can be a matter of rounding
                n = d.randint(1, 3)
                b = np.stack([boxes(d, more['bounding_box_format'], n, h, w) for _ in range(batch or 1)])
                k = np.array([[d.randint(0, 4) for _ in range(n)] for _ in range(batch or 1)], 'float32')
                given['bounding_boxes'] = {'boxes': b if rows else b[0], 'labels': k if rows else k[0]}
                inputs['boxes'], inputs['box_labels'] = spec(b if rows else b[0]), spec(k if rows else k[0])
            if name not in ('MaxNumBoundingBoxes', 'CenterCrop') and d.random() < 0.6:  # CenterCrop resizes masks as if they were images
                m = picture(d, rows + ([1, h, w] if first else [h, w, 1]), [0, 4], 'uint8')
                given['segmentation_masks'], inputs['masks'] = m, spec(m)
            if rows and d.random() < 0.4 and name != 'MaxNumBoundingBoxes':
                y = picture(d, rows + [2], [0, 4], 'float32')
                given['labels'], inputs['labels'] = y, spec(y)
            if len(given) == 1:
                given = given['images']
    out['inputs'] = inputs
    try:
        layer = getattr(L, name)(**s, **more)
        out['object'] = {'module': 'keras.layers', 'class_name': name, 'registered_name': None, 'config': layer.get_config() if d.random() < 0.5 else {**s, **more}}
        if d.random() < 0.1:
            out['inference'] = True
        y = layer(given, training='inference' not in out)
        if not sure:
            out['quantiles'] = [[float('%.6g' % q) for q in np.quantile(v, np.linspace(0, 1, 41))] for v in sums(y)]
            return out
        if not isinstance(y, dict):
            y = {'images': y}
        out['outputs'] = {k: spec(y[a] if b is None else y[a][b]) for k, a, b in (('images', 'images', None), ('boxes', 'bounding_boxes', 'boxes'), ('box_labels', 'bounding_boxes', 'labels'),
                                                                              ('masks', 'segmentation_masks', None), ('labels', 'labels', None)) if a in y}
    except Exception as e:
        out.setdefault('object', {'module': 'keras.layers', 'class_name': name, 'registered_name': None, 'config': {**s, **more}})
        out['error'] = (type(e).__name__ + ': ' + ' '.join(str(e).split()))[:300]
    return out


def main():
    a = drawing.arguments().parse_args()
    cases = []
    for i in range(a.count):
        keras.utils.set_random_seed(a.seed + i)
        cases.append({**case(Draw(a.seed + i), i), 'seed': a.seed + i})
    with open(a.out, 'wb') as f, gzip.GzipFile(fileobj=f, mode='wb', mtime=0, filename='') as z:
        z.write(json.dumps(cases, separators=(',', ':')).encode())
    print(len(cases), 'cases,', sum('error' in c for c in cases), 'refused', file=sys.stderr)


if __name__ == '__main__':
    main()
