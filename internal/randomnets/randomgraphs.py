"""Draws random Functional models of functions of keras.ops with constants in their calls; see recording.py.

    python internal/randomnets/randomgraphs.py --count 100 --seed 0 --out folder
    python internal/randomnets/randomgraphs.py --check folder

A graph has one to three inputs of several types, operators and functions of tensors, numbers of Python and numpy, lists and arrays, with axes from both
ends, slices, and a few layers with weights in between, so that a training step goes through all of it.
"""
import operator

import recording  # before keras, for which it chooses a backend
import keras
import numpy as np
from keras import layers

ops = keras.ops


class Graph:
    def __init__(self, r):
        self.r, self.tensors = r, []
        n = r.choice([1, 2, 2, 3])
        self.inputs = []
        for _ in range(n):
            shape = [r.choice([1, 2, 3, 4, 5, None if r.random() < 0.2 else 3]) for _ in range(r.choice([1, 1, 2, 2, 3]))]
            self.inputs.append(keras.Input(shape, dtype=r.choice(['float32'] * 6 + ['int32', 'int32', 'float16', 'bool', 'uint8'])))
        self.tensors = list(self.inputs)

    def of(self, *choices):
        return self.r.choice(choices)

    def number(self):
        k = self.of(-2, -1, 0, 1, 2, 3)
        f = self.of(0.5, -1.5, 2.0, 0.1, 3.0, -0.25)
        return self.of(k, k, f, f, f, True, np.float32(f), np.float64(f), np.int32(k), np.int64(k), np.float16(f), np.uint8(abs(k)), np.bool_(k > 0))

    def values(self, shape, positive=False):
        """An array, or a nested list of numbers."""
        d = self.of('float32', 'float32', 'float64', 'int32', 'int64', 'bool', 'float16', 'uint8', 'int8')
        n = int(np.prod(shape))
        v = np.array([self.r.randint(1 if positive else -3, 4) * (0.5 if 'float' in d else 1) for _ in range(n)]).reshape(shape)
        v = (np.abs(v) if d[0] in 'ub' else v).astype(d)
        return v.tolist() if self.r.random() < 0.15 and d in ('float32', 'int32') else v

    def fitting(self, x):
        """A shape that broadcasts with that of x without changing its open axes."""
        s = [1 if d is None or self.r.random() < 0.25 else d for d in x.shape]
        s[0] = 1
        return s[self.r.randint(1, len(s)):] if self.r.random() < 0.7 else s

    def constant(self, x):
        return self.number() if self.r.random() < 0.5 else self.values(self.fitting(x))

    def float(self, x):
        return x if keras.backend.is_float_dtype(x.dtype) else ops.cast(x, self.of('float32', 'float32', 'float16'))

    def whole(self, x):
        if isinstance(x, np.ndarray):
            return x.astype('int32') if x.dtype.kind in 'fb' else x
        return ops.cast(x, 'int32') if keras.backend.is_float_dtype(x.dtype) or x.dtype == 'bool' else x

    def divisor(self, y):
        """y, or where it is of whole numbers, whose division by zero differs between backends, what is at least one."""
        return y if keras.backend.is_float_dtype(y.dtype) else ops.maximum(y, 1)

    def tensor(self):
        return self.r.choice(self.tensors[-4:] if self.r.random() < 0.7 else self.tensors)

    def other(self, x):
        """A second operand: a constant, or a tensor that broadcasts."""
        if self.r.random() < 0.55:
            return self.constant(x)
        alike = [t for t in self.tensors if len(t.shape) == len(x.shape) and all(a == b or 1 in (a, b) for a, b in zip(t.shape, x.shape))]
        return self.r.choice(alike)

    def axis(self, x):  # not of the examples
        k = self.r.randint(1, len(x.shape) - 1)
        return k if self.r.random() < 0.5 else k - len(x.shape)

    def axes(self, x):
        if self.r.random() < 0.6 or len(x.shape) < 3:
            return self.axis(x)
        picked = self.r.sample(range(1, len(x.shape)), self.r.randint(1, len(x.shape) - 1))
        return tuple(a if self.r.random() < 0.5 else a - len(x.shape) for a in picked)

    def operators(self):
        x = self.tensor()
        f = self.of(operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.mod, operator.pow, operator.lt, operator.ge, operator.eq,
                    operator.ne, operator.and_, operator.or_, operator.xor)
        if self.r.random() < 0.12:
            return self.of(operator.neg, operator.abs, operator.invert)(x)
        y = self.other(x)
        if f is operator.pow:
            x, y = abs(x), self.of(2, 2, 0.5, 3, 1.5, np.float32(2), np.array([1.0, 2.0, 0.5][:1], 'float32'))
            return x ** y if self.r.random() < 0.7 else self.of(2, 2.0, 0.5) ** self.tensor()
        if f in (operator.truediv, operator.floordiv, operator.mod):
            y = self.of(2, 4, 0.5, -2, 1.5, np.float32(2), self.values(self.fitting(x), True))
            return f(y, self.divisor(x)) if self.r.random() < 0.3 else f(x, y)
        return f(y, x) if self.r.random() < 0.3 else f(x, y)

    def binary(self):
        x = self.tensor()
        name = self.of('maximum', 'minimum', 'add', 'subtract', 'multiply', 'arctan2', 'hypot', 'logaddexp', 'heaviside', 'greater', 'less_equal', 'logical_and', 'logical_or', 'logical_xor',
                       'fmod', 'fmin', 'fmax', 'divide_no_nan', 'floor_divide', 'mod', 'isclose', 'true_divide', 'nextafter', 'gcd', 'bitwise_and', 'left_shift', 'logaddexp2', 'lcm',
                       'bitwise_or', 'bitwise_xor', 'right_shift', 'equal', 'not_equal', 'less', 'greater_equal')
        y = self.other(x)
        if name in ('floor_divide', 'mod', 'fmod', 'true_divide'):
            y = self.of(2, 0.5, -4, self.values(self.fitting(x), True))
            return getattr(ops, name)(*([y, self.divisor(x)] if self.r.random() < 0.3 else [x, y]))
        if name in ('left_shift', 'right_shift'):
            return getattr(ops, name)(self.whole(x), self.of(1, 2))
        if name.startswith('bitwise') or name in ('gcd', 'lcm'):
            x, y = self.whole(x), self.of(2, 3, 6) if isinstance(y, (int, float, list, np.generic)) else self.whole(y)
        return getattr(ops, name)(*([y, x] if self.r.random() < 0.3 else [x, y]))

    def unary(self):
        x = self.tensor()
        name = self.of('abs', 'negative', 'sign', 'square', 'sin', 'cos', 'tanh', 'sigmoid', 'relu', 'softplus', 'floor', 'ceil', 'round', 'isnan', 'isfinite', 'logical_not', 'erf', 'silu',
                       'expm1', 'log1p', 'sqrt', 'rsqrt', 'exp', 'elu', 'gelu', 'leaky_relu', 'hard_sigmoid', 'celu', 'softmax', 'log_softmax', 'glu', 'clip', 'cast', 'nan_to_num', 'ones_like',
                       'zeros_like', 'full_like', 'threshold', 'squareplus', 'soft_shrink', 'hard_shrink', 'sparsemax', 'normalize', 'arctan', 'sinh', 'arcsinh', 'cbrt', 'exp2', 'deg2rad', 'reciprocal',
                       'view', 'signbit', 'trunc', 'saturate_cast', 'selu', 'relu6', 'hard_silu', 'hard_tanh', 'tanh_shrink', 'log_sigmoid', 'softsign', 'sparse_plus', 'sparse_sigmoid',
                       'real', 'imag', 'conj', 'angle', 'isreal', 'isinf', 'isposinf', 'sinc', 'erfc', 'rad2deg', 'log', 'log2', 'log10', 'cosh', 'stop_gradient')
        f = getattr(ops, name)
        if name == 'angle':  # which of floats jumps at zero
            x = abs(x) + 1
        if name in ('log1p', 'sqrt', 'rsqrt', 'reciprocal', 'log', 'log2', 'log10'):
            x = abs(self.float(x)) + 0.5
        if name in ('exp', 'expm1', 'exp2', 'sinh', 'cosh'):
            x = ops.clip(x, -3, 3)
        if name in ('softmax', 'log_softmax', 'glu', 'sparsemax', 'normalize'):
            x = self.float(x)
            return f(x, axis=self.axis(x)) if self.r.random() < 0.7 or name == 'normalize' else f(x)
        if name in ('elu', 'leaky_relu', 'celu'):
            return f(self.float(x), self.of(0.1, 0.5, 1, 2))
        if name == 'clip':
            low = self.of(-1, 0, -0.5, self.values([x.shape[-1]] if x.shape[-1] else [1]))
            return f(x, low, self.of(1, 2.5, 0.5))
        if name in ('cast', 'saturate_cast'):
            d = self.of('float32', 'int32', 'float16', 'bool', 'uint8', 'float64', 'bfloat16', 'int8', 'int64')
            if name == 'saturate_cast' and 'float' in d:  # Keras's limits of whole numbers as floats overflow where they are made whole again: 1 becomes -2147483648
                x = self.float(x)
            return f(x, d)
        if name == 'view':
            return f(x)
        if name == 'full_like':
            return f(x, self.constant(x), *self.of([], [self.of('float32', 'int32')]))
        if name in ('ones_like', 'zeros_like') and self.r.random() < 0.5:
            return f(x, self.of('float32', 'int32', 'bool'))
        if name == 'threshold':
            return f(self.float(x), self.of(0.0, 0.5, 1), self.of(0.0, -1.0, 2))
        if name in ('soft_shrink', 'hard_shrink', 'squareplus'):
            return f(self.float(x), self.of(0.2, 0.5, 1))
        if name == 'round' and self.r.random() < 0.5:
            return f(x, self.of(1, 0, 2))
        return f(x)

    def reduction(self):
        x = self.tensor()
        if len(x.shape) < 2:
            return None
        name = self.of('sum', 'mean', 'max', 'min', 'prod', 'any', 'all', 'var', 'std', 'logsumexp', 'argmax', 'argmin', 'count_nonzero', 'median', 'cumsum', 'cumprod', 'sort', 'argsort', 'average',
                       'flip', 'roll', 'diff', 'norm', 'amax', 'nanmean', 'nansum', 'ptp', 'quantile', 'trapezoid', 'nanmax', 'moments', 'top_k',
                       'nanmin', 'nanprod', 'nanstd', 'nanvar', 'nanmedian', 'nanargmax', 'nanargmin', 'nancumsum', 'nancumprod', 'percentile', 'nanquantile', 'amin')
        f = getattr(ops, name)
        keep = {'keepdims': True} if self.r.random() < 0.5 else {}
        if name in ('argmax', 'argmin', 'nanargmax', 'nanargmin'):
            return f(x, axis=self.axis(x), **keep)
        if name == 'moments':
            a = self.axes(x)
            return f(self.float(x), [a] if isinstance(a, int) else a, **keep)[self.of(0, 1)]
        if name == 'top_k':
            return f(x, min(x.shape[-1] or 1, self.of(1, 2)))[0]
        if name == 'average':
            a = self.axis(x)
            w = self.of(None, self.values([x.shape[a] or 1], True), self.values([1] + [d or 1 for d in x.shape[1:]], True))
            return f(x, axis=a, weights=w if x.shape[a] else None)
        if name in ('quantile', 'nanquantile'):
            return f(self.float(x), self.of(0.5, 0.25, [0.1, 0.9], np.array([0.5, 0.75], 'float32')), axis=self.axis(x))
        if name == 'percentile':
            return f(self.float(x), self.of(50, 25.0, [10, 90]), axis=self.axis(x))
        if name == 'norm':
            return f(self.float(x), ord=self.of(None, 1, 2), axis=self.axis(x), **keep)
        if name in ('cumsum', 'cumprod', 'nancumsum', 'nancumprod', 'sort', 'argsort', 'flip', 'diff', 'trapezoid'):
            return f(x, axis=self.axis(x)) if name != 'diff' else f(x, self.of(1, 1, 2), self.axis(x))
        if name == 'roll':
            return f(x, self.of(1, -2, 5), self.axis(x))
        if name == 'count_nonzero':
            return f(x, axis=self.axes(x))
        if name in ('max', 'min') and self.r.random() < 0.3:
            return f(x, self.axes(x), initial=self.of(0, 1, -2.5), **keep)
        return f(x, axis=self.axes(x), **keep)

    def shapes(self):
        x = self.tensor()
        rank, known = len(x.shape), None not in x.shape[1:]
        name = self.of('reshape', 'transpose', 'swapaxes', 'moveaxis', 'expand_dims', 'squeeze', 'concatenate', 'stack', 'split', 'tile', 'repeat', 'pad', 'get_item', 'get_item', 'get_item', 'take',
                       'take_along_axis', 'where', 'where', 'one_hot', 'unstack', 'array_split', 'tril', 'slice', 'slice_update', 'select', 'flip', 'rot90', 'append', 'hstack',
                       'multi_hot', 'diagonal', 'isin', 'searchsorted', 'digitize', 'trace', 'array', 'shape', 'dstack',
                       'fliplr', 'hsplit', 'broadcast_to')
        if name == 'reshape' and known and rank > 1:
            n = int(np.prod(x.shape[1:]))
            return ops.reshape(x, self.of((-1, n), (-1, n, 1), (-1, 1, n), [-1, *x.shape[:0:-1]], (x.shape[0] or -1, n)))
        if name == 'transpose':
            order = list(range(1, rank))
            self.r.shuffle(order)
            return ops.transpose(x, [0] + [a if self.r.random() < 0.7 else a - rank for a in order])
        if name in ('swapaxes', 'moveaxis') and rank > 2:
            return getattr(ops, name)(x, self.axis(x), self.axis(x))
        if name == 'expand_dims':
            return ops.expand_dims(x, self.of(1, -1, rank, -rank, [1, -1], (-1, -2)))
        if name == 'squeeze' and 1 in x.shape[1:]:
            return ops.squeeze(x, list(x.shape[1:]).index(1) + self.of(1, 1 - rank))
        if name == 'fliplr':
            return ops.fliplr(x) if rank > 1 else None
        if name == 'hsplit':
            n = x.shape[1] if rank > 1 else None
            return self.r.choice(ops.hsplit(x, self.of(n, 1))) if n else None
        if name == 'broadcast_to' and known and rank > 1:
            return x + ops.broadcast_to(np.array(self.of([1], [0.5], [True]), self.of('int32', 'float32')), x.shape[1:])
        if name in ('concatenate', 'stack', 'append', 'hstack', 'dstack'):
            parts = [x, self.other(x), x][:self.of(2, 2, 3)]
            if name == 'append':
                return ops.append(x, parts[1], axis=self.axis(x))
            if name in ('hstack', 'dstack'):
                return getattr(ops, name)(parts)
            return getattr(ops, name)(parts, axis=self.axis(x))
        if name in ('split', 'array_split', 'unstack'):
            a = self.axis(x)
            n = x.shape[a]
            if not n:
                return None
            if name == 'unstack':
                return self.r.choice(ops.unstack(x, axis=a))
            return self.r.choice(getattr(ops, name)(x, self.of(n, 1, [1], np.array([1, 2]), (1, n)), a))
        if name == 'tile':
            return ops.tile(x, [1] + [self.of(1, 2) for _ in range(rank - 1)])
        if name == 'repeat':
            return ops.repeat(x, self.of(2, 1, 3), self.axis(x))
        if name == 'pad':
            width = [[0, 0]] + [[self.of(0, 1, 2), self.of(0, 1)] for _ in range(rank - 1)]
            return ops.pad(x, self.of(width, np.array(width), tuple(map(tuple, width))), **self.of({}, {'constant_values': self.of(1, -2, 0.5)}, {'mode': self.of('reflect', 'symmetric')}))
        if name == 'get_item':
            return x[self.key(x)]
        if name == 'take':
            a = self.axis(x)
            n = x.shape[a] or 1
            k = self.of(0, n - 1, -1, [0, n - 1], np.array([[0, -1], [n - 1, 0]]), np.array([0, 0], 'int64'), np.int32(0))
            return ops.take(x, k, axis=a) if self.r.random() < 0.8 else ops.take(ops.convert_to_tensor(np.arange(30, dtype='float32').reshape(10, 3)), ops.cast(abs(x), 'int32') % 10, axis=0)
        if name == 'take_along_axis' and known:
            a = self.axis(x)
            k = ops.argsort(x, axis=a)
            return ops.take_along_axis(x, k, axis=a)
        if name == 'where':
            c = self.of(x > 0, x, self.values(self.fitting(x)))
            first, second = self.other(x), self.other(x)
            return ops.where(c, *self.of((first, second), (x, second), (first, x)))
        if name == 'select':
            return ops.select([x > 1, x > 0], [self.other(x), x], default=self.of(0, 1, -1.5))
        if name in ('one_hot', 'multi_hot'):
            k = self.of({}, {'dtype': self.of('int32', 'float16', 'bool')})
            return getattr(ops, name)(ops.cast(x, 'int32'), self.of(2, 3, 4), **({} if self.r.random() < 0.6 else {'axis': self.of(-1, 1)}), **k)
        if name == 'tril':
            return self.of(ops.tril, ops.triu)(x, self.of(0, 1, -1)) if rank > 2 else None
        if name in ('diagonal', 'trace') and rank > 2:
            return getattr(ops, name)(x, self.of(0, 1, -1), self.of(1, 1 - rank), self.of(rank - 1, -1)) if rank > 2 else None
        if name == 'isin':
            return ops.isin(x, self.of([0, 1, 2], np.array([1.0, -1.0], 'float32'), 1), **self.of({}, {'invert': True}))
        if name == 'searchsorted':
            return ops.searchsorted(np.array([-1.0, 0.0, 0.5, 2.0], 'float32'), self.float(x), **self.of({}, {'side': 'right'}))
        if name == 'digitize':
            return ops.digitize(x, self.of(np.array([-1.0, 0.0, 2.0]), [0, 1, 2], np.array([0, 1], 'int32')))
        if name == 'slice_update' and known:
            return ops.slice_update(x, [0] * rank, x * 2) if self.r.random() < 0.5 else None
        if name == 'rot90' and rank > 2:
            return ops.rot90(x, self.of(1, 2, -1), axes=(1, 2))
        if name == 'array':
            return ops.array(x, *self.of([], ['float32'], ['int32']))
        if name == 'shape' and known:
            return ops.reshape(x, ops.shape(x))
        return None

    def key(self, x):
        key = []
        for n in x.shape[1:][:self.r.randint(0, len(x.shape) - 1)]:
            q = self.r.random()
            if q < 0.3:
                key.append(self.of(0, -1))
            elif q < 0.85 or n is None:
                key.append(slice(self.of(None, 0, 1, -2), self.of(None, n, -1, 2, 9), self.of(None, None, 1, 2, -1)))
            elif q < 0.93:
                key.append(None)
            else:
                key.append(self.of(np.array([0, n - 1]), [0, -1]))
        q = self.r.random()
        if q < 0.2:
            return (Ellipsis, self.of(0, slice(None, None, -1), None, slice(0, 1)))
        if q < 0.3:
            return slice(None)
        key = (slice(None),) + tuple(key)
        return key + ((Ellipsis,) if q < 0.45 else ())

    def products(self):
        x = self.float(self.tensor())
        n = x.shape[-1]
        if n is None:
            return None
        name = self.of('matmul', '@', 'dot', 'tensordot', 'einsum', 'inner', 'layer', 'layer', 'layer', 'cross', 'conv', 'norm')
        w = self.values([n, self.of(1, 2, 3)])
        if isinstance(w, list) or w.dtype == bool:
            w = np.array(w, 'float32')
        if name == 'layer':
            return self.of(layers.Dense(self.of(2, 3)), layers.LayerNormalization(), layers.Dense(n, activation='tanh'), layers.EinsumDense('...x,xy->...y', [None] * (len(x.shape) - 2) + [2]))(x)
        if name == '@':
            return x @ w
        if name in ('matmul', 'dot'):
            return getattr(ops, name)(x, w)
        if name == 'tensordot':
            return ops.tensordot(x, w, axes=self.of(1, [[-1], [0]], [[len(x.shape) - 1], [0]]))
        if name == 'einsum':
            return ops.einsum('...i,ij->...j', x, w) if len(x.shape) != 2 else ops.einsum(self.of('bi,ij->bj', 'bi,ij->bij'), x, w)
        if name == 'inner':
            return ops.inner(x, w.T.copy())
        if name == 'cross' and n == 3:
            return ops.cross(x, self.of(np.array([1.0, 0.5, -1.0], 'float32'), [1.0, 0.0, 2.0]))
        if name == 'conv' and len(x.shape) == 3:
            k = np.array([[[self.of(0.5, -1, 1.0) for _ in range(2)] for _ in range(n)] for _ in range(2)], 'float32')
            return ops.conv(x, k, self.of(1, 2), self.of('same', 'valid'), data_format='channels_last')
        if name == 'norm':
            return self.of(lambda: ops.layer_normalization(x, gamma=np.ones(n, 'float32') * 2, beta=np.zeros(n, 'float32') + 0.5, epsilon=1e-3), lambda: ops.rms_normalization(x, np.ones(n, 'float32') * 0.5))()
        return None

    def grow(self):
        kind = self.of(self.operators, self.operators, self.operators, self.binary, self.binary, self.unary, self.unary, self.reduction, self.shapes, self.shapes, self.shapes, self.products)
        y = kind()
        if isinstance(y, (list, tuple)):
            y = self.r.choice(y)
        if y is None or not hasattr(y, 'shape') or len(y.shape) < 1 or y.shape[0] is not None or len(y.shape) > 5 or 0 in y.shape or 'complex' in str(y.dtype):
            return
        if np.prod([d or 5 for d in y.shape[1:]]) > 400:
            return
        self.tensors.append(y)


def graph(r, number, folder, refused):
    g = Graph(r)
    for _ in range(r.randint(4, 14)):
        try:
            g.grow()
        except Exception as e:
            refused.append(type(e).__name__ + ': ' + ' '.join(str(e).split())[:150])
    ends = [t for t in g.tensors if t not in g.inputs] or g.tensors
    ends = [ends[-1]] + ([ends[-2]] if len(ends) > 1 and r.random() < 0.3 else [])
    outputs = []
    for x in ends:
        if r.random() < 0.8:  # something to train, of any number of axes
            x = ops.cast(x, 'float32') if x.dtype != 'float32' else x
            x = ops.clip(x, -30, 30)
            if x.shape[-1] is not None and len(x.shape) > 1:
                x = layers.Dense(2)(x)
        outputs.append(x)
    m = keras.Model(g.inputs, outputs if len(outputs) > 1 else outputs[0])
    return recording.Case(r, m, folder, number).record()


if __name__ == '__main__':
    recording.run(graph)
