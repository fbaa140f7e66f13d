"""Draws a call of every function of keras.ops for each type of operand, and for each axis with length 0; `randomops.py draw N SEED FILE sweep` writes N of
them down. In a row of the table there are the shapes of the operands, a letter for an axis, and the other arguments."""
import math
import random

N, K, M, B = 3, 4, 2, 2
LENGTHS = {'n': N, 'k': K, 'm': M, 'b': B, '1': 1, '3': 3, '5': 5, 'c': 3}
TYPES = ['bool', 'uint8', 'uint16', 'uint32', 'int8', 'int16', 'int32', 'int64', 'float16', 'bfloat16', 'float32', 'float64']
EMPTY = ['float32', 'int32', 'bool']

ELEMENTS = '''abs sign square sqrt cbrt exp exp2 expm1 log log2 log10 log1p sin cos tan arcsin arccos arctan sinh cosh tanh arcsinh arccosh arctanh deg2rad rad2deg sinc
signbit ceil floor trunc isfinite isinf isnan isneginf isposinf logical_not real conj imag i0 rsqrt erf erfc erfinv relu relu6 sigmoid softplus softsign silu log_sigmoid
hard_sigmoid hard_silu hard_tanh hard_shrink soft_shrink tanh_shrink squareplus sparse_plus sparse_sigmoid selu elu celu gelu leaky_relu ravel ones_like zeros_like
bitwise_not negative reciprocal round nan_to_num angle isreal'''.split()
REDUCTIONS = '''sum mean prod max min std var all any amax amin logsumexp nansum nanmean nanmax nanmin nanprod nanstd nanvar median nanmedian ptp argmax argmin nanargmax
nanargmin count_nonzero average'''.split()
ALONG = '''cumsum cumprod nancumsum nancumprod sort argsort flip diff softmax log_softmax sparsemax normalize glu trapezoid'''.split()
PAIRS = '''add subtract multiply divide floor_divide mod fmod power divide_no_nan maximum minimum fmax fmin hypot heaviside equal not_equal greater less logical_and
logical_or logical_xor arctan2 logaddexp logaddexp2 isclose allclose bitwise_and bitwise_or bitwise_xor left_shift right_shift gcd lcm'''.split()

ROWS = [(name, ['nk'], {}) for name in ELEMENTS]
ROWS += [(name, ['nk', 'nk'], {}) for name in PAIRS]
for name in REDUCTIONS:
    ROWS += [(name, ['nkm'], {}), (name, ['nkm'], {'axis': 1}), (name, ['nkm'], {'axis': -1})]
    if name not in ('count_nonzero', 'average'):
        ROWS += [(name, ['nkm'], {'axis': 1, 'keepdims': True})]
    if name[:3] != 'arg' and name[:6] != 'nanarg' and name != 'average':
        ROWS += [(name, ['nkm'], {'axis': [0, 2]})]
for name in ALONG:
    ROWS += [(name, ['nk'], {}), (name, ['nk'], {'axis': 0})]
for name in ('quantile', 'nanquantile', 'percentile', 'nanpercentile'):
    for axis in (None, 0, -1):
        ROWS += [(name, ['nk', 25.0 if 'per' in name else 0.25], {'axis': axis})]
    ROWS += [(name, ['nk', [10.0, 50.0] if 'per' in name else [0.1, 0.5]], {'axis': 1, 'keepdims': True})]
ROWS += [('norm', ['nk'], {'ord': o, 'axis': a}) for o in (None, 1, 2, 3, 0, 'Infinity', '-Infinity') for a in (0, -1)]
ROWS += [('norm', ['nk'], {'ord': o, 'axis': [0, 1]}) for o in (None, 'fro', 1, -1, 2, -2, 'nuc', 'Infinity', '-Infinity')] + [('norm', ['nk'], {})]
ROWS += [('normalize', ['nk'], {'order': o}) for o in (1, 2, 3, 'Infinity')]
ROWS += [(name, [s, t], {}) for name in ('matmul', 'dot') for s, t in (('nk', 'km'), ('k', 'k'), ('nk', 'k'))]
ROWS += [('matmul', ['bnk', 'bkm'], {}), ('matmul', ['k', 'km'], {}), ('inner', ['nk', 'mk'], {}), ('outer', ['n', 'k'], {}), ('vdot', ['nk', 'nk'], {}), ('kron', ['nk', 'mb'], {}),
         ('cross', ['n3', 'n3'], {}), ('cross', ['nm', 'n3'], {}), ('tensordot', ['nk', 'km'], {'axes': 1}), ('tensordot', ['nkm', 'kmb'], {'axes': 2}), ('tensordot', ['n', 'k'], {'axes': 0}),
         ('correlate', ['n', 'k'], {'mode': 'full'}), ('correlate', ['k', 'n'], {'mode': 'valid'}), ('correlate', ['n', 'k'], {'mode': 'same'}), ('cdist', ['nk', 'mk'], {}), ('corrcoef', ['nk'], {})]
ROWS += [('einsum', [e, *s], {}) for e, *s in (('ij,jk->ik', 'nk', 'km'), ('ij->i', 'nk'), ('ij->', 'nk'), ('ii->i', 'nn'), ('bij,bjk->bik', 'bnk', 'bkm'), ('i,j->ij', 'n', 'k'))]
ROWS += [(name, ['nn'], {}) for name in ('det', 'slogdet', 'logdet', 'inv', 'cholesky', 'eigh', 'pinv', 'matrix_rank', 'lu_factor', 'cholesky_inverse', 'trace', 'diag', 'diagonal', 'diagflat', 'tril', 'triu', 'transpose', 'rot90')]
ROWS += [(name, ['bnn'], {}) for name in ('det', 'slogdet', 'inv', 'cholesky', 'trace', 'diagonal', 'tril', 'triu', 'transpose')]
ROWS += [('qr', ['nk'], {}), ('svd', ['nk'], {'full_matrices': False}), ('svd', ['nk'], {'compute_uv': False}), ('pinv', ['nk'], {}), ('matrix_rank', ['nk'], {}), ('solve', ['nn', 'nm'], {}),
         ('solve_triangular', ['nn', 'nm'], {'lower': True}), ('lstsq', ['kn', 'km'], {}), ('solve', ['bnn', 'bnm'], {}), ('diag', ['n'], {}), ('diagflat', ['nk'], {'k': 1})]
ROWS += [('concatenate', [['nk', 'nk']], {'axis': a}) for a in (0, 1)] + [('stack', [['nk', 'nk']], {'axis': a}) for a in (0, 2)] + [(f, [['nk', 'nk']], {}) for f in ('hstack', 'vstack', 'dstack')]
ROWS += [('append', ['nk', 'nk'], {'axis': a}) for a in (None, 0)] + [('split', ['kn', 2], {}), ('array_split', ['kn', 3], {}), ('split', ['kn', [1, 3]], {'axis': 0}), ('unstack', ['nk'], {'axis': 0})]
ROWS += [('reshape', ['nk', [-1]], {}), ('reshape', ['nk', [K, N]], {}), ('squeeze', ['n1'], {'axis': 1}), ('expand_dims', ['nk'], {'axis': 1}), ('moveaxis', ['nkm', 0, 2], {}), ('swapaxes', ['nkm', 0, 2], {}),
         ('tile', ['nk', [2, 3]], {}), ('repeat', ['nk', 2], {'axis': 0}), ('repeat', ['nk', 2], {}), ('roll', ['nk', 1], {}), ('roll', ['nk', 1], {'axis': 0}), ('pad', ['nk', [[1, 0], [0, 2]]], {}),
         ('pad', ['nk', 1], {'mode': 'reflect'}), ('pad', ['nk', 1], {'mode': 'symmetric'}), ('fliplr', ['nk'], {}), ('flipud', ['nk'], {}), ('meshgrid', ['n', 'k'], {}), ('broadcast_to', ['1k', [N, K]], {}),
         ('top_k', ['nk'], {'k': 2}), ('top_k', ['nk'], {'k': 0}), ('argpartition', ['nk', 1], {}), ('searchsorted', ['n', 'k'], {}), ('digitize', ['nk', 'm'], {}), ('isin', ['nk', 'm'], {}),
         ('bincount', ['n'], {'minlength': 5}), ('unique', ['n'], {'size': 4}), ('histogram', ['n'], {'bins': 3, 'range': [0.0, 3.0]}), ('clip', ['nk', 0, 2], {}), ('clip', ['nk', 0.5, 1.5], {}), ('where', ['nk', 'nk', 'nk'], {}),
         ('full_like', ['nk', 2], {}), ('vander', ['n'], {}), ('linspace', ['n', 'n'], {'num': 3}), ('linspace', ['n', 'n'], {'num': 0}), ('logspace', ['n', 'n'], {'num': 3}), ('geomspace', ['n', 'n'], {'num': 3}),
         ('threshold', ['nk', 0.5, 2.0], {}), ('one_hot', ['nk'], {'num_classes': 4}), ('multi_hot', ['nk'], {'num_classes': 4}), ('moments', ['nk'], {'axes': [0]}), ('moments', ['nk'], {'axes': [0, 1]}),
         ('take', ['nk', 'm'], {'axis': 0}), ('take', ['nk', 'm'], {}), ('take_along_axis', ['nk', 'nm'], {'axis': 1}), ('segment_sum', ['nk', 'n'], {'num_segments': 3}), ('segment_max', ['nk', 'n'], {'num_segments': 3}),
         ('scatter', ['m1', 'mk', [N, K]], {}), ('scatter_update', ['nk', 'm1', 'mk'], {}), ('slice', ['nk', [0, 0], [0, 2]], {}), ('slice_update', ['nk', [0, 0], 'mm'], {}), ('in_top_k', ['n', 'nk'], {'k': 2}),
         ('unravel_index', ['n', [2, 3]], {}), ('get_item', ['nk', {'key': [{'slice': [None, None, -1]}]}], {}), ('select', [['nk', 'nk'], ['nk', 'nk']], {})]
ROWS += [('batch_normalization', ['nk', 'k', 'k', -1], {}), ('layer_normalization', ['nk'], {}), ('rms_normalization', ['nk'], {}), ('binary_crossentropy', ['nk', 'nk'], {}),
         ('categorical_crossentropy', ['nk', 'nk'], {}), ('sparse_categorical_crossentropy', ['n', 'nk'], {}), ('psnr', ['nk', 'nk', 1.0], {}), ('dot_product_attention', ['bnmk', 'b5mk', 'b5mk'], {}),
         ('max_pool', ['bkkc', 2], {}), ('average_pool', ['bkkc', 2], {}), ('max_pool', ['bkc', 2], {'padding': 'same', 'strides': 1}), ('conv', ['bkkc', 'mmcn'], {}), ('conv', ['bkc', 'mcn'], {'padding': 'same'}),
         ('depthwise_conv', ['bkkc', 'mmcm'], {}), ('conv_transpose', ['bkkc', 'mmnc'], {'strides': 2}), ('separable_conv', ['bkkc', 'mmc1', '11cn'], {}), ('adaptive_average_pool', ['bkkc', [2, 2]], {}),
         ('adaptive_max_pool', ['bkkc', [2, 2]], {}), ('rfft', ['nk'], {}), ('fft', [['nk', 'nk']], {}), ('ifft2', [['nk', 'nk']], {}), ('irfft', [['nk', 'nk']], {}), ('stft', ['k'], {'sequence_length': 2, 'sequence_stride': 1, 'fft_length': 2}),
         ('extract_sequences', ['nk'], {'sequence_length': 2, 'sequence_stride': 1})]
ROWS += [('resize', ['kkc', [2, 3]], {'interpolation': i}) for i in ('bilinear', 'nearest', 'bicubic')] + [('rgb_to_grayscale', ['kk3'], {}), ('rgb_to_hsv', ['kk3'], {}), ('hsv_to_rgb', ['kk3'], {}),
         ('pad_images', ['kkc', 1, 1], {'target_height': 6, 'target_width': 7}), ('crop_images', ['kkc', 1, 1], {'target_height': 2, 'target_width': 2}), ('extract_patches', ['kkc', [2, 2]], {}),
         ('sobel_edges', ['bkkc'], {}), ('gaussian_blur', ['bkkc'], {}), ('ssim', ['bkkc', 'bkkc'], {'filter_size': 3})]

# Operands that hold places or lengths: their position, and the end of what they may hold.
PLACES = {'take': (1, 3), 'take_along_axis': (1, 4), 'segment_sum': (1, 3), 'segment_max': (1, 3), 'scatter': (0, 3), 'scatter_update': (1, 3), 'in_top_k': (0, 4), 'sparse_categorical_crossentropy': (0, 4)}
SORTED = {'searchsorted': 0, 'digitize': 1}


def values(r, dtype, shape, name, position):
    n = math.prod(shape)
    if PLACES.get(name, (None,))[0] == position:
        v = r.sample(range(PLACES[name][1]), n) if name in ('scatter', 'scatter_update') and n <= PLACES[name][1] else [r.randrange(PLACES[name][1]) for _ in range(n)]
    elif name in ('sort', 'argsort', 'top_k', 'argpartition', 'unique') and dtype != 'bool':
        v = r.sample(range(n), n)
    elif name in ('det', 'slogdet', 'logdet', 'inv', 'cholesky', 'eigh', 'solve', 'solve_triangular', 'lu_factor', 'cholesky_inverse', 'lstsq') and position == 0 and n:
        v = [3 if i // shape[-1] % shape[-2] == i % shape[-1] else 1 if (i // shape[-1] % shape[-2] + i % shape[-1]) % 3 == 0 else 0 for i in range(n)]
    elif name in ('left_shift', 'right_shift') and position == 1:
        v = [r.randrange(4) for _ in range(n)]
    else:
        low = 0 if dtype[0] == 'u' or dtype == 'bool' or name in ('vander', 'geomspace', 'logspace') else -2
        v = [r.randint(low, 4) if name not in ('geomspace', 'gcd') else r.randint(1, 4) for _ in range(n)]
    if SORTED.get(name) == position:
        v = sorted(v)
    if dtype == 'bool':
        return [x > 0 if name != 'det' else bool(x) for x in v]
    return [float(x) if 'float' in dtype else x for x in v]


def call(r, Call, row, dtypes, zero):
    """dtypes are those of the operands in turn; zero are the letters of empty axes."""
    name, operands, kwargs = row
    c, count = Call(name), 0

    def operand(o):
        nonlocal count
        if isinstance(o, list) and o and isinstance(o[0], str):
            return [operand(x) for x in o]
        if not isinstance(o, str) or name == 'einsum' and '->' in o:
            return o
        shape = [0 if x in zero else LENGTHS[x] for x in o]
        dtype = dtypes[count % len(dtypes)]
        if PLACES.get(name, (None,))[0] == count:
            dtype = 'int32' if len(dtypes) == 1 and ('float' in dtype or dtype == 'bool') else dtypes[-1] if 'int' in dtypes[-1] else 'int32'
        a = {'dtype': dtype, 'shape': shape, 'data': values(r, dtype, shape, name, count)}
        count += 1
        return c.add(a)
    c.args = [operand(o) for o in operands]
    return c.also(**kwargs)


def letters(row):
    flat = []
    for o in row[1]:
        flat += o if isinstance(o, list) and o and isinstance(o[0], str) else [o]
    words = [o for o in flat if isinstance(o, str) and '->' not in o]
    return sorted(set(''.join(words)) - set('135')), len(words)


def draw(count, seed, Call):
    """All types of the operands of each row, and all empty axes with a few types; count of them, or all where count is 0."""
    r = random.Random(seed)
    calls = []
    for row in ROWS:
        names, operands = letters(row)
        kinds = [(t,) for t in TYPES]
        if operands > 1:
            kinds += [(r.choice(TYPES), r.choice(TYPES)) for _ in range(4)]
        calls += [call(r, Call, row, k, '') for k in kinds]
        for zero in [*names, ''.join(names)] if len(names) > 1 else names:
            calls += [call(r, Call, row, (t,), zero) for t in EMPTY]
    if count:
        r.shuffle(calls)
    return calls[:count or None]
