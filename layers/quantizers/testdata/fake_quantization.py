"""Writes fake_quantization.json with Keras 3.15.1 and JAX."""
import os, json
os.environ["KERAS_BACKEND"] = "jax"
import numpy as np, jax
from keras.quantizers import fake_quant_with_min_max_vars as fake
rng = np.random.default_rng(2)
x = rng.uniform(-3, 3, (4, 3)).astype("float32")
x[0, 0], x[1, 1] = 100., -100.
up = rng.normal(size=x.shape).astype("float32")
cases = []
for low, high, axis in [(-1.0, 2.0, None), (0.0, 6.0, None), (0.5, 1.5, None), (-2.0, -0.5, None), ([-1.1, -2., -.3], [1., .5, 2.2], 1), ([-1.1, -2., -.3, -.1], [1., .5, 2.2, 3.], 0)]:
    for bits in (8, 4, 16):
        for narrow in (False, True):
            lo, hi = np.asarray(low, "float32"), np.asarray(high, "float32")
            f = lambda a, b, c: fake(a, b, c, num_bits=bits, narrow_range=narrow, axis=axis)
            if axis == 0:  # which Keras does right with TensorFlow alone
                f = lambda a, b, c: fake(a.T, b, c, num_bits=bits, narrow_range=narrow, axis=1).T
            y, vjp = jax.vjp(f, x, lo, hi)
            gx, glo, ghi = vjp(up)
            cases.append(dict(low=lo.ravel().tolist(), high=hi.ravel().tolist(), axis=axis, bits=bits, narrow=narrow, y=np.asarray(y).ravel().tolist(),
                              x_gradient=np.asarray(gx).ravel().tolist(), low_gradient=np.asarray(glo).ravel().tolist(), high_gradient=np.asarray(ghi).ravel().tolist()))
json.dump(dict(x=x.ravel().tolist(), upstream=up.ravel().tolist(), cases=cases), open("fake_quantization.json", "w"))
