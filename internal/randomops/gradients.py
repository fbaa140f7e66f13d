"""What a backend makes of the gradients of a call: with `randomops.py gradients CALLS FILE` the answers are, for each input of a floating type, the
derivative of the sum of all floating results times weights. KERAS_BACKEND is jax, tensorflow or torch. join keeps those of the calls
on which two of them agree, or, with one list, all."""
import math

import randomops

FLOATS = ('float32', 'float64', 'float16', 'bfloat16')


def weights(shape):
    """What the elements of a result count: of both signs, no two neighbours alike, exact in every type."""
    import numpy as np
    return np.array([(i * 37 % 11 - 5) / 4 for i in range(math.prod(shape))], dtype='float64').reshape(shape)


def outcome(c):
    import keras
    xs = [randomops.tensor(a) for a in c['inputs']]
    of = [i for i, a in enumerate(c['inputs']) if a['dtype'] in FLOATS]
    if not of:
        raise TypeError('no floating input')

    def results(*given):
        all = list(xs)
        for i, x in zip(of, given):
            all[i] = x
        y = randomops.invoke(c, all)
        return [t for t in (y if isinstance(y, (list, tuple)) else [y]) if keras.backend.is_float_dtype(keras.backend.standardize_dtype(t.dtype))]
    given = [xs[i] for i in of]
    if keras.backend.backend() == 'jax':
        import jax
        ys, back = jax.vjp(results, *given)
        ds = back([jax.numpy.asarray(weights(y.shape)).astype(y.dtype) for y in ys])
    elif keras.backend.backend() == 'tensorflow':
        import tensorflow as tf
        with tf.GradientTape() as tape:
            tape.watch(given)
            ys = results(*given)
        ds = tape.gradient(ys, given, [tf.cast(weights(y.shape), y.dtype) for y in ys], unconnected_gradients='zero')
        ds = [tf.convert_to_tensor(d) for d in ds]
    else:
        import torch
        given = [x.detach().requires_grad_(True) for x in given]
        ys = results(*given)
        ds = torch.autograd.grad(ys, given, [torch.from_numpy(weights(y.shape)).to(y.dtype) for y in ys], allow_unused=True)
        ds = [torch.zeros_like(x) if d is None else d for d, x in zip(ds, given)]
    if not ys:
        raise TypeError('no floating result')
    return [randomops.array(d) for d in ds]
