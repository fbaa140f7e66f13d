"""Loss vectors: every loss class, value and gradient with respect to y_pred.

Run: KERAS_BACKEND=jax python gen/losses.py <output directory>
Versions: see common.py.

A case holds
  inputs     y_true, y_pred, and where used sample_weight and mask (the Keras mask on y_pred)
  outputs    loss: the reduced value (a scalar, or per sample where reduction is none)
  gradients  y_pred: gradient of sum(loss); absent where extra.no_gradient is set
Labels are kept away from kinks (|error| = delta, ties of a maximum), because a
subgradient there is a matter of taste; cases named ".../saturated" are not.
"""

import jax
import numpy as np

import common
import keras
from keras import losses as L
from keras.src import backend

ALL = ("sum_over_batch_size", "sum", "none", "mean_with_sample_weight")


def regression(r, shape):
    t = common.grid(r, shape)
    return t, t + np.where(r.random(shape) < 0.5, -1, 1) * np.round(r.uniform(0.05, 2.4, shape), 3)


def positive(r, shape):
    return np.round(r.uniform(0.1, 3.0, shape), 3), np.round(r.uniform(0.1, 3.0, shape), 3)


def binary(r, shape, soft=False):
    p = np.round(r.uniform(0.02, 0.98, shape), 3)
    t = np.round(r.uniform(0, 1, shape), 3) if soft else (r.random(shape) < 0.5).astype("float64")
    return t, p


def logits(r, shape):
    return (r.random(shape) < 0.5).astype("float64"), common.grid(r, shape, 2.0)


def one_hot(r, shape, soft=False):
    classes = shape[-1]
    if soft:
        t = r.uniform(0.05, 1, shape)
        return np.round(t / t.sum(-1, keepdims=True), 4)
    return np.eye(classes)[r.integers(0, classes, shape[:-1])]


def simplex(r, shape, soft=False, unnormalised=False):
    p = r.uniform(0.05, 1, shape)
    if not unnormalised:
        p = p / p.sum(-1, keepdims=True)
    return one_hot(r, shape, soft), np.round(p, 4)


def sparse(r, shape, from_logits=False):
    t = r.integers(0, shape[-1], shape[:-1]).astype("int32")
    if from_logits:
        return t, common.grid(r, shape, 2.0)
    return t, simplex(r, shape)[1]


def rows():
    """(name, class, kwargs, y_true, y_pred, options)"""
    out = []

    def add(name, cls, data, reductions=("sum_over_batch_size",), weight=None, mask=None, exact=False, no_gradient=False, **kw):
        for red in reductions:
            out.append((f"{cls.__name__}/{name}/{red}", cls, {**kw, "reduction": red}, data, weight, mask, exact, no_gradient))

    def common_set(cls, make, **kw):
        """Reductions with and without weights, 2-D and 3-D, rank-1 labels, a mask."""
        r = common.rng("losses", cls.__name__, "common", sorted(kw))
        tag = "".join(f"{k}={v}," for k, v in sorted(kw.items())).rstrip(",") or "default"
        tag = tag.replace(" ", "")
        flat, deep = make(r, (5, 3)), make(r, (3, 4, 2))
        w_n = np.round(r.uniform(0, 2, 5), 2)
        w_n[2] = 0
        add(tag, cls, flat, ALL, **kw)
        add(tag + "/weights_n", cls, flat, ALL, weight=w_n, **kw)
        add(tag + "/weights_n1", cls, flat, weight=w_n[:, None], **kw)
        add(tag + "/weights_zero", cls, flat, ("sum_over_batch_size", "mean_with_sample_weight"), weight=np.zeros(5), **kw)
        add(tag + "/deep", cls, deep, ("sum_over_batch_size", "none"), **kw)
        w_nt = np.round(r.uniform(0, 2, (3, 4)), 2)
        m = r.random((3, 4)) < 0.6
        m[0] = [True, True, False, False]
        add(tag + "/deep_weights_nt", cls, deep, ALL, weight=w_nt, **kw)
        add(tag + "/deep_weights_n1", cls, deep, ("sum_over_batch_size", "mean_with_sample_weight"), weight=w_nt[:, :1], **kw)
        add(tag + "/deep_mask", cls, deep, ALL, mask=m, **kw)
        add(tag + "/deep_mask_weights", cls, deep, ALL, mask=m, weight=w_nt, **kw)
        add(tag + "/deep_mask_all_false", cls, deep, ("sum_over_batch_size", "sum"), mask=np.zeros((3, 4), bool), **kw)

    def variant(cls, name, make, shape=(5, 3), reductions=("sum_over_batch_size", "none"), **kw):
        add(name, cls, make(common.rng("losses", cls.__name__, name), shape), reductions, **kw)

    def rank(cls, make):
        r = common.rng("losses", cls.__name__, "rank")
        t, p = make(r, (6, 1))
        add("labels_n_predictions_n1", cls, (t[:, 0], p), ("sum_over_batch_size", "none"))
        add("labels_n1_predictions_n", cls, (t, p[:, 0]), ("sum_over_batch_size",))
        add("labels_n1_predictions_n1_weights", cls, (t, p), ("sum_over_batch_size",), weight=np.round(r.uniform(0, 2, 6), 2))

    for cls in (L.MeanSquaredError, L.MeanAbsoluteError, L.LogCosh):
        common_set(cls, regression)
        rank(cls, regression)
    variant(L.LogCosh, "large", lambda r, s: (np.zeros(s), np.array([[60.0, -60.0, 1e-3], [90.0, -200.0, -1e-3]])), (2, 3))
    common_set(L.MeanAbsolutePercentageError, positive)
    variant(L.MeanAbsolutePercentageError, "zero_label", lambda r, s: (np.array([[0.0, 2.0, -4.0]]), np.array([[0.5, 1.0, -1.0]])), (1, 3), exact=True)
    common_set(L.MeanSquaredLogarithmicError, positive)
    variant(L.MeanSquaredLogarithmicError, "negative", lambda r, s: (np.array([[0.0, 2.0, -4.0]]), np.array([[0.5, -1.0, -1.0]])), (1, 3), exact=True)
    common_set(L.Huber, regression)
    for d in (0.3, 2.5):
        variant(L.Huber, f"delta={d}", regression, delta=d)
    common_set(L.Poisson, positive)
    common_set(L.CosineSimilarity, regression)
    for axis in (0, 1):
        variant(L.CosineSimilarity, f"axis={axis}", regression, (3, 4, 2), axis=axis)
    variant(L.CosineSimilarity, "zero_row", lambda r, s: (np.array([[1.0, 2.0], [0.0, 0.0]]), np.array([[-0.5, 2.0], [1.0, 1.0]])), (2, 2))
    common_set(L.KLDivergence, lambda r, s: (simplex(r, s, soft=True)[0], simplex(r, s)[1]))
    variant(L.KLDivergence, "saturated", lambda r, s: (np.array([[1.0, 0.0, 0.0], [0.5, 0.5, 0.0]]), np.array([[0.0, 1.0, 0.0], [1.5, -0.2, 0.3]])), (2, 3), exact=True)
    for cls in (L.Hinge, L.SquaredHinge):
        common_set(cls, logits)
        variant(cls, "labels_minus_one", lambda r, s: (logits(r, s)[0] * 2 - 1, common.grid(r, s)))
        variant(cls, "labels_mixed", lambda r, s: (np.round(r.uniform(-1, 2, s), 2), common.grid(r, s)))
        rank(cls, logits)
    common_set(L.CategoricalHinge, lambda r, s: (one_hot(r, s), common.grid(r, s)))

    common_set(L.BinaryCrossentropy, binary)
    common_set(L.BinaryCrossentropy, logits, from_logits=True)
    rank(L.BinaryCrossentropy, binary)
    for s in (0.1, 0.5):
        variant(L.BinaryCrossentropy, f"label_smoothing={s}", binary, label_smoothing=s)
        variant(L.BinaryCrossentropy, f"label_smoothing={s},from_logits", logits, label_smoothing=s, from_logits=True)
    variant(L.BinaryCrossentropy, "soft_labels", lambda r, s: binary(r, s, True))
    variant(L.BinaryCrossentropy, "axis=1", binary, (3, 4, 2), axis=1)
    sat_p = (np.array([[0.0, 1.0, 0.0, 1.0], [1.0, 0.0, 0.5, 1e-9]]), np.array([[0.0, 1.0, 1.0, 0.0], [1.3, -0.3, 1e-9, 0.999999999]]))
    sat_l = (np.array([[0.0, 1.0, 0.0, 1.0], [1.0, 0.0, 0.5, 0.0]]), np.array([[-120.0, 120.0, 120.0, -120.0], [2e4, 30.0, 0.25, -30.0]]))
    variant(L.BinaryCrossentropy, "saturated", lambda r, s: sat_p, (2, 4), exact=True)
    variant(L.BinaryCrossentropy, "saturated,from_logits", lambda r, s: sat_l, (2, 4), from_logits=True)

    for name, kw in [("gamma=0", {"gamma": 0.0}), ("gamma=3.5", {"gamma": 3.5}), ("balanced", {"apply_class_balancing": True}),
                     ("balanced,alpha=.8", {"apply_class_balancing": True, "alpha": 0.8}), ("smoothing", {"label_smoothing": 0.2})]:
        variant(L.BinaryFocalCrossentropy, name, binary, **kw)
        variant(L.BinaryFocalCrossentropy, name + ",from_logits", logits, from_logits=True, **kw)
    common_set(L.BinaryFocalCrossentropy, binary)
    common_set(L.BinaryFocalCrossentropy, logits, from_logits=True)
    variant(L.BinaryFocalCrossentropy, "saturated", lambda r, s: (np.array([[0.0, 1.0, 0.0, 1.0]]), np.array([[0.0, 1.0, 1.0, 0.0]])), (1, 4), exact=True)

    hot_logits = lambda r, s: (one_hot(r, s), common.grid(r, s, 2.0))
    for cls in (L.CategoricalCrossentropy, L.CategoricalFocalCrossentropy):
        common_set(cls, simplex)
        common_set(cls, hot_logits, from_logits=True)
        variant(cls, "unnormalised", lambda r, s: simplex(r, s, unnormalised=True))
        variant(cls, "soft_labels", lambda r, s: simplex(r, s, soft=True))
        variant(cls, "smoothing", simplex, label_smoothing=0.2)
        variant(cls, "smoothing,from_logits", hot_logits, label_smoothing=0.2, from_logits=True)
        variant(cls, "axis=1", lambda r, s: (np.moveaxis(one_hot(r, (3, 2, 4)), -1, 1), simplex(r, (3, 4, 2))[1]), (3, 4, 2), axis=1)
        variant(cls, "saturated", lambda r, s: (np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.3, 0.3, 0.4]]), np.array([[0.0, 1.0, 0.0], [0.0, 1.0, 0.0], [1.0, 0.0, 1e-12]])), (3, 3), exact=True)
    variant(L.CategoricalCrossentropy, "saturated,from_logits", lambda r, s: (np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0]]), np.array([[-200.0, 300.0, 0.0], [-1e4, 5.0, 1e4]])), (2, 3), from_logits=True)
    for name, kw in [("gamma=0", {"gamma": 0.0}), ("gamma=3,alpha=.7", {"gamma": 3.0, "alpha": 0.7})]:
        variant(L.CategoricalFocalCrossentropy, name, simplex, **kw)
        variant(L.CategoricalFocalCrossentropy, name + ",from_logits", hot_logits, from_logits=True, **kw)

    S = L.SparseCategoricalCrossentropy
    common_set(S, sparse)
    common_set(S, lambda r, s: sparse(r, s, True), from_logits=True)
    variant(S, "labels_n1", lambda r, s: (sparse(r, s)[0][:, None], sparse(r, s)[1]))
    variant(S, "labels_nt1", lambda r, s: (sparse(r, s)[0][..., None], sparse(r, s)[1]), (3, 4, 5))
    variant(S, "float_labels", lambda r, s: (sparse(r, s)[0].astype("float64"), sparse(r, s)[1]))
    variant(S, "image", lambda r, s: sparse(r, s, True), (2, 3, 3, 4), from_logits=True)
    for fl in (False, True):
        for ignore in (-1, 1):
            def ignoring(r, s, fl=fl, ignore=ignore):
                t, p = sparse(r, s, fl)
                t[0, 0] = t[1, 2] = t[2] = ignore
                return t, p
            name = f"ignore_class={ignore}" + (",from_logits" if fl else "")
            variant(S, name, ignoring, (3, 4, 3), ALL, from_logits=fl, ignore_class=ignore)
            r = common.rng("losses", "ignore", fl, ignore)
            add(name + "/weights_nt", S, ignoring(r, (3, 4, 3)), ALL, weight=np.round(r.uniform(0, 2, (3, 4)), 2), from_logits=fl, ignore_class=ignore)
            m = np.array([[1, 1, 1, 0], [1, 1, 0, 0], [1, 1, 1, 1]], bool)
            add(name + "/mask", S, ignoring(r, (3, 4, 3)), ALL, mask=m, from_logits=fl, ignore_class=ignore)
    variant(S, "saturated", lambda r, s: (np.array([1, 0, 2], "int32"), np.array([[0.0, 1.0, 0.0], [0.0, 1.0, 0.0], [1.0, 0.0, 1e-12]])), (3, 3), exact=True)
    variant(S, "saturated,from_logits", lambda r, s: (np.array([1, 0], "int32"), np.array([[-200.0, 300.0, 0.0], [-1e4, 5.0, 1e4]])), (2, 3), from_logits=True)

    for cls in (L.Dice, L.Tversky):
        variant(cls, "default", binary, (3, 4, 2), ALL)
        variant(cls, "weights", binary, (3, 4, 2), ("sum_over_batch_size",), weight=np.array(0.7))
        variant(cls, "axis=(1,2)", binary, (3, 4, 2), ALL, axis=(1, 2))
        variant(cls, "axis=(1,2)/weights", binary, (3, 4, 2), ALL, axis=(1, 2), weight=np.array([0.5, 2.0, 0.0]))
        variant(cls, "axis=-1", binary, (3, 4, 2), axis=-1)
        variant(cls, "zero_labels", lambda r, s: (np.zeros(s), binary(r, s)[1]), (3, 2), ("sum_over_batch_size",))
    variant(L.Tversky, "alpha=.3,beta=.7", binary, (3, 4, 2), alpha=0.3, beta=0.7)

    def ctc(r, s):
        t = r.integers(1, s[-1], (s[0], 3)).astype("int32")
        t[0, 2] = 0
        t[1, 1] = t[1, 0]
        return t, common.grid(r, s, 1.5)
    variant(L.CTC, "default", ctc, (3, 7, 5), ALL)
    variant(L.CTC, "weights", ctc, (3, 7, 5), ALL, weight=np.array([0.5, 2.0, 0.0]))

    def circle(r, s):
        p = r.normal(size=s)
        return np.array([0, 1, 0, 2, 1, 1], "int32"), np.round(p / np.linalg.norm(p, axis=-1, keepdims=True), 5)
    variant(L.Circle, "default", circle, (6, 4), ALL)
    variant(L.Circle, "gamma=4,margin=.25", circle, (6, 4), gamma=4, margin=0.25)
    variant(L.Circle, "keep_diagonal", circle, (6, 4), gamma=4, remove_diagonal=False)
    variant(L.Circle, "weights", circle, (6, 4), ("sum_over_batch_size",), gamma=4, weight=np.array([0.5, 2.0, 0.0, 1, 1, 3]))
    G = L.CategoricalGeneralizedCrossEntropy
    variant(G, "default", sparse, (5, 3), ALL)
    variant(G, "q=.2", sparse, q=0.2)
    variant(G, "weights", sparse, (5, 3), ALL, weight=np.array([0.5, 2.0, 0.0, 1, 1]))
    return out


def run(w, row, dtype):
    name, cls, kw, (t, p), weight, mask, exact, no_gradient = row
    loss = cls(**{**kw, "dtype": dtype})
    t = np.asarray(t)
    if t.dtype == np.float64:
        t = t.astype(dtype)
    p = np.asarray(p).astype(dtype)
    sw = None if weight is None else np.asarray(weight).astype(dtype)

    def value(pred):
        pred = keras.ops.convert_to_tensor(pred)
        if mask is not None:
            pred = pred + 0  # a fresh array that can carry the mask
            backend.set_keras_mask(pred, mask=keras.ops.convert_to_tensor(mask))
        return loss(t, pred, sample_weight=sw)

    out = common.numpy(value(p))
    grad = None if no_gradient else jax.grad(lambda q: value(q).sum())(p)
    class_name, config = common.object_config(loss)
    inputs = {"y_true": t, "y_pred": p, "sample_weight": sw, "mask": mask}
    w.case(name, class_name, config, dtype, inputs=inputs, outputs={"loss": out},
           gradients=None if grad is None else {"y_pred": grad}, exact_scale=exact)


def main():
    w = common.Writer("losses", __file__)
    table = rows()
    for dtype in (common.DTYPE,):
        for row in table:
            run(w, row, dtype)
    w.write(common.out_dir())


common.run(main)
