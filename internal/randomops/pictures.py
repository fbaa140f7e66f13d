"""Draws calls of the functions of keras.ops for images, matrices and spectra, and of nn that randomops.py does not draw; `randomops.py draw N SEED FILE
pictures` writes them down."""
import math

MODES = ['constant', 'nearest', 'wrap', 'mirror', 'reflect']
SMOOTH = ['bilinear', 'nearest', 'bicubic', 'lanczos3', 'lanczos5']


def picture(d, first=None, batch=None):
    """An image or a batch of images, and the format of its channels."""
    h, w, c = d.randint(1, 9), d.randint(1, 9), d.of(1, 2, 3)
    form = d.of('channels_last', 'channels_last', 'channels_last', 'channels_first') if first is None else first
    s = [h, w, c] if form == 'channels_last' else [c, h, w]
    if batch or batch is None and d.random() < 0.7:
        s = [d.randint(1, 3)] + s
    kind = d.of('float32', 'float32', 'float32', 'uint8', 'float16', 'int32')
    return d.array(kind, s, False), form, h, w


def images(d, Call):
    name = d.of('resize', 'resize', 'resize', 'affine_transform', 'affine_transform', 'perspective_transform', 'map_coordinates', 'extract_patches', 'pad_images',
                'crop_images', 'scale_and_translate', 'sobel_edges', 'gaussian_blur', 'ssim', 'rgb_to_grayscale', 'rgb_to_hsv', 'hsv_to_rgb')
    x, form, h, w = picture(d)
    c = Call(name)
    if name == 'resize':
        c.take(x).also(size=[d.randint(1, 12), d.randint(1, 12)], interpolation=d.choice(SMOOTH), antialias=d.of(False, False, True), data_format=form)
        if d.random() < 0.3:
            c.also(**{d.of('crop_to_aspect_ratio', 'pad_to_aspect_ratio'): True})
            c.also(fill_mode='constant', fill_value=d.of(0.0, 2.0))
        return c
    if name == 'affine_transform':
        n = [x['shape'][0]] if len(x['shape']) == 4 else []
        t = {'dtype': 'float32', 'shape': n + [8], 'data': [v for _ in range(math.prod(n)) for v in (
            d.uniform(0.5, 1.5), d.uniform(-0.5, 0.5), d.uniform(-3, 3), d.uniform(-0.5, 0.5), d.uniform(0.5, 1.5), d.uniform(-3, 3), 0.0, 0.0)]}  # TensorFlow alone divides by what the last two say
        return c.take(x, t).also(interpolation=d.of('bilinear', 'nearest'), fill_mode=d.choice(MODES), fill_value=d.of(0, 2.5), data_format=form)
    if name == 'perspective_transform':
        n = [x['shape'][0]] if len(x['shape']) == 4 else []
        corners = [0, 0, 0, w, h, 0, h, w]

        def moved():
            return {'dtype': 'float32', 'shape': n + [4, 2], 'data': [v + d.uniform(-0.4, 0.4) for _ in range(math.prod(n)) for v in corners]}
        return c.take(x, moved(), moved()).also(interpolation=d.of('bilinear', 'nearest'), fill_value=d.of(0, 1.0), data_format=form)
    if name == 'map_coordinates':
        s = d.shape(1, 3)
        s = [max(1, min(n, 7)) for n in s]
        to = d.shape(0, 2)
        where = {'dtype': 'float32', 'shape': [len(s)] + to, 'data': [d.of(d.uniform(-4, n + 3), d.uniform(0, n - 1), float(d.randint(-2, n + 1))) for n in s for _ in range(math.prod(to))]}
        return c.take(d.array(d.of('float32', 'float32', 'int32', 'uint8'), s, False), where).also(order=d.of(0, 1), fill_mode=d.choice(MODES), fill_value=d.of(0, 2.0))
    if name == 'extract_patches':
        size = [d.randint(1, 3), d.randint(1, 3)]
        return c.take(d.array('float32', x['shape'], False)).also(size=d.of(size, size[0]), strides=d.of(None, 1, 2, [1, 2]), dilation_rate=d.of(1, 1, 2),
                                                                 padding=d.of('valid', 'same'), data_format=form)
    if name in ('pad_images', 'crop_images'):
        word, by = ('padding', d.randint) if name == 'pad_images' else ('cropping', lambda a, b: d.randint(0, 2))
        c.take(x).also(data_format=form)
        for low, high, n, target in (('top', 'bottom', h, 'target_height'), ('left', 'right', w, 'target_width')):
            r = d.random()
            if r < 0.4:
                c.also(**{low + '_' + word: by(0, 3), high + '_' + word: by(0, 3)})
            else:
                c.also(**{d.of(low, high) + '_' + word: by(0, 2), target: max(1, n + d.randint(0, 4) if word == 'padding' else n - d.randint(0, 4))})
        return c
    if name == 'scale_and_translate':
        x['dtype'] = 'float32'
        x['data'] = [float(v) for v in x['data']]
        r = len(x['shape'])
        dims = sorted(d.sample(range(r), d.randint(1, 2)))
        out = [d.randint(1, 9) if i in dims else n for i, n in enumerate(x['shape'])]
        c.take(x)
        c.args.append(out)
        c.take({'dtype': 'float32', 'shape': [len(dims)], 'data': [d.uniform(0.3, 2.5) for _ in dims]}, {'dtype': 'float32', 'shape': [len(dims)], 'data': [d.uniform(-2, 2) for _ in dims]})
        c.args.append(dims)
        c.args.append(d.of('linear', 'cubic', 'lanczos3', 'lanczos5', 'nearest', 'bilinear'))
        return c.also(antialias=d.of(True, False))
    if name == 'gaussian_blur':
        x, form, h, w = picture(d, batch=True)
        return c.take(d.array(d.of('float32', 'float16'), x['shape'], False)).also(kernel_size=[d.of(1, 3, 5), d.of(1, 3, 4)], sigma=[d.of(0.5, 1.0, 2.0), d.of(0.7, 3.0)], data_format=form)
    if name == 'ssim':
        x, form, h, w = picture(d, 'channels_last', True)
        return c.take(d.array('float32', x['shape'], False, True), d.array('float32', x['shape'], False, True)).also(max_val=d.of(1.0, 3.0), filter_size=d.of(1, 3, 11), filter_sigma=d.of(0.5, 1.5))
    if name == 'sobel_edges':
        return c.take(d.array('float32', x['shape'], False)).also(data_format=form)
    s = list(x['shape'])
    s[-1 if form == 'channels_last' else -3] = 3
    n = math.prod(s)
    x = {'dtype': d.of('float32', 'float32', 'float16', 'float64'), 'shape': s, 'data': [d.of(round(d.random(), 2), 0.0, 1.0, 0.5) for _ in range(n)]}
    return c.take(x).also(data_format=form)


def matrices(d, Call):
    name = d.of('cholesky', 'cholesky_inverse', 'det', 'slogdet', 'logdet', 'inv', 'solve', 'solve_triangular', 'pinv', 'matrix_rank', 'lstsq', 'eigh_values', 'svd_values', 'norm',
                'qr_product', 'fft', 'rfft', 'irfft', 'stft', 'extract_sequences')
    t = d.of('float32', 'float32', 'float64')
    n, m, batch = d.randint(1, 6), d.randint(1, 6), [d.randint(1, 3) for _ in range(d.of(0, 0, 1, 2))]

    def square(n, sure=3.0):
        return {'dtype': t, 'shape': batch + [n, n], 'data': [d.uniform(-1, 1) + (sure if i == j else 0) for _ in range(math.prod(batch)) for i in range(n) for j in range(n)]}

    def symmetric(n):
        data = []
        for _ in range(math.prod(batch)):
            a = [[d.uniform(-1, 1) for _ in range(n)] for _ in range(n)]
            data += [(a[i][j] + a[j][i]) / 4 + (n if i == j else 0) for i in range(n) for j in range(n)]
        return {'dtype': t, 'shape': batch + [n, n], 'data': data}
    c = Call(name)
    if name in ('cholesky', 'cholesky_inverse'):
        a = symmetric(n)
        if name == 'cholesky_inverse':
            a['data'] = [v if i % n <= i // n % n else 0.0 for i, v in enumerate(a['data'])]
            return c.take(a)
        return c.take(a).also(**d.of({}, {'upper': True}))
    if name in ('det', 'slogdet', 'logdet', 'inv'):
        return c.take(symmetric(n) if name == 'logdet' else square(n, d.of(3.0, 0.0)))
    if name in ('solve', 'lstsq'):
        if name == 'lstsq':
            batch.clear()
            a = d.array(t, [n + m, n], False)
            return c.take(a, d.array(t, d.of([n + m], [n + m, 2]), False))
        return c.take(square(n), d.array(t, batch + [n, m], False))
    if name == 'solve_triangular':
        return c.take(square(n), d.array(t, batch + [n, m], False)).also(lower=d.of(True, False))
    if name in ('pinv', 'matrix_rank'):
        return c.take(d.array(t, batch + [n, m], False))
    if name == 'norm':
        s = d.shape(2, 3)
        s = [max(1, v) for v in s]
        axis = d.sample(range(len(s)), 2)
        return c.take(d.array(t, s, False)).also(ord=d.of('fro', 'nuc', 1, -1, 2, -2, 'Infinity', '-Infinity'), axis=axis, keepdims=d.of(True, False))
    if name in ('fft', 'irfft'):
        s = d.shape(1, 2) + [d.randint(1, 9)]
        c.args.append([c.add(d.array('float32', s, False)), c.add(d.array('float32', s, False))])
        return c.also(**d.maybe_length(s[-1])) if name == 'irfft' else c
    if name == 'rfft':
        s = d.shape(0, 2) + [d.randint(1, 9)]
        return c.take(d.array('float32', s, False)).also(**d.maybe_length(s[-1]))
    if name == 'stft':
        return c.take(d.array('float32', d.shape(0, 1) + [d.randint(6, 30)], False)).also(sequence_length=d.randint(2, 6), sequence_stride=d.randint(1, 5), fft_length=8,
                                                                                         window=d.of('hann', 'hamming', None), center=d.of(True, False))
    if name == 'extract_sequences':
        return c.take(d.array('float32', d.shape(0, 2) + [d.randint(4, 15)], False)).also(sequence_length=d.randint(1, 4), sequence_stride=d.randint(1, 5))
    return matrices(d, Call)


def layers(d, Call):
    name = d.of('batch_normalization', 'rms_normalization', 'binary_crossentropy', 'categorical_crossentropy', 'sparse_categorical_crossentropy', 'psnr', 'fold', 'unfold',
                'adaptive_average_pool', 'adaptive_max_pool', 'ctc_loss', 'polar', 'histogram', 'logspace', 'geomspace', 'allclose', 'unique', 'hsplit', 'vsplit', 'dsplit')
    c = Call(name)
    f = d.of('float32', 'float32', 'float64', 'float16')
    s = [max(1, n) for n in d.shape(2, 4)]
    if name == 'batch_normalization':
        axis = d.randint(-len(s), len(s) - 1)
        k = [s[axis]]
        c.take(d.array(f, s, False), d.array(f, k, False), d.array(f, k, False, True))
        c.args.append(axis)
        if d.random() < 0.5:
            c.also(offset=c.add(d.array(f, k, False)), scale=c.add(d.array(f, k, False)))
        return c.also(epsilon=d.of(1e-3, 0.1))
    if name == 'rms_normalization':
        c.take(d.array('float32', s, False))
        axis = d.of(-1, -1, len(s) - 1)
        if d.random() < 0.5:
            c.also(scale=c.add(d.array('float32', [s[-1]], False)))
        return c.also(axis=axis, epsilon=d.of(1e-6, 0.1))
    if 'crossentropy' in name:
        logits = d.of(True, False)
        p = d.array('float32', s, False) if logits else {'dtype': 'float32', 'shape': s, 'data': [d.of(round(d.random(), 2), round(d.random(), 2), 0.0, 1.0) for _ in range(math.prod(s))]}
        if name[0] == 's':
            return c.take(d.indices(s[:-1] + d.of([], [1]), 0, s[-1] - 1, 'int32'), p).also(from_logits=logits)
        t = {'dtype': 'float32', 'shape': s, 'data': [d.of(0.0, 1.0, round(d.random(), 2)) for _ in range(math.prod(s))]}
        c.take(t, p).also(from_logits=logits)
        return c if name[0] == 'b' else c.also(axis=d.of(-1, d.randint(1, len(s) - 1)))
    if name == 'psnr':
        return c.take(d.array('float32', s, False), d.array('float32', s, False)).also(max_val=d.of(1.0, 255.0))
    if name == 'unfold':
        x = d.array('float32', [d.randint(1, 2), d.randint(1, 3), d.randint(4, 7), d.randint(4, 7)], False)
        return c.take(x).also(kernel_size=d.of(2, [1, 3]), dilation=d.of(1, 2), padding=d.of(0, 1), stride=d.of(1, 2))
    if name == 'fold':
        out, k, pad = [d.randint(3, 6), d.randint(3, 6)], [d.of(1, 2), d.of(2, 3)], d.of(0, 1)
        stride = d.of(1, 2)
        blocks = math.prod((o + 2 * pad - q) // stride + 1 for o, q in zip(out, k))
        return c.take(d.array('float32', [d.randint(1, 2), 2 * math.prod(k), blocks], False)).also(output_size=out, kernel_size=k, padding=pad, stride=stride)
    if 'adaptive' in name:
        r = d.randint(1, 3)
        x = d.array('float32', [d.randint(1, 2)] + [d.randint(2, 7) for _ in range(r)] + [2], False)
        return c.take(x).also(output_size=[d.randint(1, n) for n in x['shape'][1:-1]] if r > 1 else d.randint(1, x['shape'][1]), data_format='channels_last')
    if name == 'ctc_loss':
        b, t, k = d.randint(1, 3), d.randint(3, 6), 4
        lengths = [d.randint(0, 3) for _ in range(b)]
        return c.take(d.indices([b, 3], 1, k - 1, 'int32'), d.array('float32', [b, t, k], False), {'dtype': 'int32', 'shape': [b], 'data': lengths},
                      {'dtype': 'int32', 'shape': [b], 'data': [d.randint(min(t, 2 * n + 1), t) for n in lengths]}).also(mask_index=0)
    if name == 'polar':
        return layers(d, Call)
    if name == 'histogram':
        return c.take(d.array('float32', s[:1], False)).also(bins=d.randint(1, 6), range=d.of([-2.0, 2.0], [0.0, 5.0]))
    if name in ('logspace', 'geomspace'):
        return c.take(d.array('float32', s[:1], False, True), d.array('float32', s[:1], False, True)).also(num=d.randint(2, 5), endpoint=d.of(True, False), axis=d.of(0, -1),
                                                                                                         **d.of({}, {'base': 3} if name == 'logspace' else {}))
    if name in ('hsplit', 'vsplit', 'dsplit'):
        s = [d.randint(1, 6) for _ in range(3)]
        n = s['vhd'.index(name[0])]
        return c.take(d.array(f, s, False)).also(indices_or_sections=d.of(*[k for k in range(1, n + 1) if n % k == 0], [d.randint(0, n)]))
    return layers(d, Call)


FAMILIES = [images, images, matrices, layers]
