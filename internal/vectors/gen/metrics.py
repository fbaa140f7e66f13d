"""Metric vectors: every metric class, updated over four uneven batches.

Run: KERAS_BACKEND=jax python gen/metrics.py <output directory>
Versions: see common.py.

A case holds
  inputs   y_true, y_pred (all batches joined on axis 0), sample_weight where used;
           "values" instead of the first two for Mean and Sum
  outputs  initial: result() before any update; result: result() after each batch,
           with a leading axis of length 4
  weights  the metric's variables after the last batch, in order
  extra    {"batch_sizes": [3, 5, 1, 4]}
"""

import numpy as np

import common
import keras
from keras import metrics as M

BATCHES = [3, 5, 1, 4]
N = sum(BATCHES)


def key(*k):
    return common.rng("metrics", *k)


def data(kind, r):
    if kind == "regression":
        t = common.grid(r, (N, 3))
        return t, t + common.grid(r, (N, 3), 0.7)
    if kind == "regression1":
        t = common.grid(r, (N, 1))
        return t, t + common.grid(r, (N, 1), 0.7)
    if kind == "deep":
        t = common.grid(r, (N, 4, 2))
        return t, t + common.grid(r, (N, 4, 2), 0.7)
    if kind == "positive":
        return np.round(r.uniform(0.1, 3, (N, 3)), 3), np.round(r.uniform(0.1, 3, (N, 3)), 3)
    if kind == "binary":
        p = np.round(r.uniform(0, 1, (N, 1)), 3)
        p[2] = 0.5
        return (r.random((N, 1)) < 0.45).astype("float64"), p
    if kind == "binary_flat":
        t, p = data("binary", r)
        return t[:, 0], p[:, 0]
    if kind == "binary_logits":
        return (r.random((N, 1)) < 0.45).astype("float64"), common.grid(r, (N, 1), 2.0)
    if kind == "multi_label":
        return (r.random((N, 3)) < 0.45).astype("float64"), np.round(r.uniform(0, 1, (N, 3)), 3)
    if kind == "multi_label_logits":
        return (r.random((N, 3)) < 0.45).astype("float64"), common.grid(r, (N, 3), 2.0)
    if kind == "simplex":
        p = r.uniform(0.05, 1, (N, 4))
        return np.eye(4)[r.integers(0, 4, N)], np.round(p / p.sum(-1, keepdims=True), 4)
    if kind == "soft_simplex":
        t = r.uniform(0.05, 1, (N, 4))
        p = r.uniform(0.05, 1, (N, 4))
        return np.round(t / t.sum(-1, keepdims=True), 4), np.round(p / p.sum(-1, keepdims=True), 4)
    if kind == "simplex_logits":
        return np.eye(4)[r.integers(0, 4, N)], common.grid(r, (N, 4), 2.0)
    if kind == "sparse":
        return r.integers(0, 4, N).astype("int32"), data("simplex", r)[1]
    if kind == "sparse_n1":
        t, p = data("sparse", r)
        return t[:, None], p
    if kind == "sparse_logits":
        return r.integers(0, 4, N).astype("int32"), common.grid(r, (N, 4), 2.0)
    if kind == "sparse7":
        return r.integers(0, 7, N).astype("int32"), np.round(r.uniform(0, 1, (N, 7)), 4)
    if kind == "hot7":
        return np.eye(7)[r.integers(0, 7, N)], np.round(r.uniform(0, 1, (N, 7)), 4)
    if kind == "sorted7":
        return r.integers(0, 7, (N, 1)).astype("int32"), np.stack([r.permutation(7) for _ in range(N)]).astype("int32")
    if kind == "sparse_deep":
        p = r.uniform(0.05, 1, (N, 3, 4))
        return r.integers(0, 4, (N, 3)).astype("int32"), np.round(p / p.sum(-1, keepdims=True), 4)
    if kind == "labels":
        return r.integers(0, 4, (N, 2)).astype("int32"), r.integers(0, 4, (N, 2)).astype("int32")
    if kind == "labels1":
        return r.integers(0, 4, N).astype("int32"), r.integers(0, 4, N).astype("int32")
    if kind == "signs":
        return (r.random((N, 3)) < 0.5) * 2.0 - 1, common.grid(r, (N, 3))
    if kind == "pixels":
        return r.integers(0, 3, (N, 2, 2)).astype("int32"), np.round(r.uniform(0, 1, (N, 2, 2, 3)), 4)
    if kind == "one_hot_pixels":
        return np.eye(3)[r.integers(0, 3, (N, 5))], np.round(r.uniform(0, 1, (N, 5, 3)), 4)
    raise ValueError(kind)


def rows():
    out = []

    def add(cls, kind, weights=("none", "n"), **kw):
        tag = ",".join(f"{k}={v}" for k, v in kw.items()).replace(" ", "") or "default"
        for weight in weights:
            out.append((f"{cls.__name__}/{kind}/{tag}" + ("" if weight == "none" else f"/weights_{weight}"), cls, kind, kw, weight))

    for cls in (M.MeanSquaredError, M.MeanAbsoluteError, M.RootMeanSquaredError, M.LogCoshError, M.CosineSimilarity):
        add(cls, "regression")
        add(cls, "regression1", ("none", "n1"))
        add(cls, "deep", ("none", "n", "nt"))
    add(M.CosineSimilarity, "regression", ("none",), axis=0)
    add(M.MeanSquaredError, "regression", ("zero",))
    add(M.MeanAbsolutePercentageError, "positive")
    add(M.MeanSquaredLogarithmicError, "positive")
    add(M.Poisson, "positive")
    add(M.KLDivergence, "soft_simplex")
    for cls in (M.Hinge, M.SquaredHinge):
        add(cls, "signs")
        add(cls, "multi_label_logits")
    add(M.CategoricalHinge, "simplex_logits")

    add(M.Accuracy, "labels1")
    add(M.Accuracy, "labels", ("none", "n"))
    for kind in ("binary", "binary_flat", "multi_label"):
        add(M.BinaryAccuracy, kind)
        add(M.BinaryAccuracy, kind, threshold=0.3)
    add(M.CategoricalAccuracy, "simplex")
    add(M.CategoricalAccuracy, "one_hot_pixels", ("none", "n", "nt"))
    for kind in ("sparse", "sparse_n1"):
        add(M.SparseCategoricalAccuracy, kind)
    add(M.SparseCategoricalAccuracy, "sparse_deep", ("none", "n", "nt"))
    add(M.TopKCategoricalAccuracy, "hot7")
    add(M.TopKCategoricalAccuracy, "hot7", k=2)
    add(M.SparseTopKCategoricalAccuracy, "sparse7")
    add(M.SparseTopKCategoricalAccuracy, "sparse7", k=3)
    add(M.SparseTopKCategoricalAccuracy, "sorted7", k=3, from_sorted_ids=True)
    add(M.BinaryCrossentropy, "multi_label")
    add(M.BinaryCrossentropy, "multi_label", label_smoothing=0.2)
    add(M.BinaryCrossentropy, "multi_label_logits", from_logits=True)
    add(M.CategoricalCrossentropy, "simplex")
    add(M.CategoricalCrossentropy, "simplex", label_smoothing=0.2)
    add(M.CategoricalCrossentropy, "simplex_logits", from_logits=True)
    add(M.SparseCategoricalCrossentropy, "sparse")
    add(M.SparseCategoricalCrossentropy, "sparse_logits", from_logits=True)
    add(M.SparseCategoricalCrossentropy, "sparse_deep", ("none", "n", "nt"))

    for cls in (M.TruePositives, M.TrueNegatives, M.FalsePositives, M.FalseNegatives):
        add(cls, "binary")
        add(cls, "multi_label", ("none", "n"))
        add(cls, "multi_label", thresholds=[0.2, 0.5, 0.85])
    for cls in (M.Precision, M.Recall):
        add(cls, "binary")
        add(cls, "binary_flat")
        add(cls, "multi_label", ("none", "n", "nt"))
        add(cls, "multi_label", thresholds=0.3)
        add(cls, "multi_label", thresholds=[0.2, 0.5, 0.85])
        add(cls, "multi_label", class_id=1)
        add(cls, "hot7", top_k=3)
        add(cls, "hot7", top_k=3, class_id=2)
        add(cls, "hot7", top_k=2, thresholds=[0.2, 0.8])
    for kw in ({"recall": 0.6}, {"recall": 0.8, "num_thresholds": 7}, {"recall": 0.5, "class_id": 1}):
        add(M.PrecisionAtRecall, "multi_label", **kw)
    for kw in ({"precision": 0.6}, {"precision": 0.3, "num_thresholds": 7}, {"precision": 0.99}):
        add(M.RecallAtPrecision, "multi_label", **kw)
    for kw in ({"specificity": 0.6}, {"specificity": 0.3, "num_thresholds": 7}, {"specificity": 0.5, "class_id": 1}):
        add(M.SensitivityAtSpecificity, "multi_label", **kw)
    for kw in ({"sensitivity": 0.6}, {"sensitivity": 0.3, "num_thresholds": 7}):
        add(M.SpecificityAtSensitivity, "multi_label", **kw)
    for curve in ("ROC", "PR", "PRGAIN"):
        for method in ("interpolation", "minoring", "majoring"):
            add(M.AUC, "binary", curve=curve, summation_method=method)
    add(M.AUC, "binary_flat")
    add(M.AUC, "binary", num_thresholds=3)
    add(M.AUC, "binary", num_thresholds=11, curve="PR")
    add(M.AUC, "binary", thresholds=[0.1, 0.4, 0.75])
    add(M.AUC, "binary", thresholds=[0.1, 0.4, 0.75], curve="PR")
    add(M.AUC, "binary_logits", from_logits=True)
    add(M.AUC, "multi_label", ("none", "n"))
    for curve in ("ROC", "PR"):
        add(M.AUC, "multi_label", multi_label=True, num_labels=3, curve=curve)
        add(M.AUC, "multi_label", multi_label=True, num_labels=3, curve=curve, label_weights=[0.2, 1.0, 3.0], num_thresholds=9)
    add(M.AUC, "multi_label_logits", multi_label=True, num_labels=3, from_logits=True)

    for average in (None, "micro", "macro", "weighted"):
        for threshold in (None, 0.4):
            add(M.F1Score, "simplex", average=average, threshold=threshold)
            add(M.FBetaScore, "multi_label", average=average, beta=2.0, threshold=threshold)
    add(M.FBetaScore, "simplex", beta=0.5)
    for kw in ({}, {"class_aggregation": None}, {"class_aggregation": "variance_weighted_average"}, {"num_regressors": 2}):
        add(M.R2Score, "regression", **kw)
    add(M.R2Score, "regression1")
    for cls in (M.PearsonCorrelation, M.ConcordanceCorrelation):
        add(cls, "regression", ("none", "n"))
        add(cls, "regression", ("none",), axis=[0, 1])
    add(M.ConcordanceCorrelation, "regression", ("none",), axis=0)
    add(M.MeanIoU, "labels1", num_classes=4)
    add(M.MeanIoU, "labels", ("none", "nt"), num_classes=5)
    add(M.MeanIoU, "labels1", num_classes=4, ignore_class=2)
    add(M.MeanIoU, "labels", ("nt",), num_classes=4, ignore_class=2)
    add(M.MeanIoU, "pixels", ("none",), num_classes=3, sparse_y_pred=False)
    add(M.IoU, "labels1", num_classes=4, target_class_ids=[0, 2])
    add(M.IoU, "labels1", ("none",), num_classes=4, target_class_ids=[1], ignore_class=3)
    add(M.BinaryIoU, "binary_flat")
    add(M.BinaryIoU, "binary_flat", target_class_ids=[1], threshold=0.3)
    add(M.OneHotIoU, "one_hot_pixels", ("none", "nt"), num_classes=3, target_class_ids=[0, 2])
    add(M.OneHotIoU, "one_hot_pixels", ("none",), num_classes=3, target_class_ids=[0, 2], ignore_class=1)
    add(M.OneHotMeanIoU, "one_hot_pixels", ("none", "nt"), num_classes=3)
    add(M.OneHotMeanIoU, "one_hot_pixels", ("none",), num_classes=3, sparse_y_pred=False)
    for cls in (M.Mean, M.Sum):
        add(cls, "values", ("none", "n"))
        add(cls, "values_deep", ("none", "n", "nt", "zero"))
    return out


def weights_of(kind, t, r):
    if kind == "none":
        return None
    if kind == "zero":
        return np.zeros(N)
    shape = {"n": (N,), "n1": (N, 1), "nt": t.shape[:2]}[kind]
    w = np.round(r.uniform(0, 2, shape), 2)
    w[4] = 0
    return w


def run(w, row, dtype):
    name, cls, kind, kw, weight = row
    r = key(name)
    if kind.startswith("values"):
        t, p = common.grid(r, (N,) if kind == "values" else (N, 3)), None
    else:
        t, p = data(kind, r)
    sw = weights_of(weight, t, r)
    cast = lambda a: None if a is None else (a.astype(dtype) if a.dtype == np.float64 else a)
    t, p, sw = cast(t), cast(p), cast(sw)
    metric = cls(**{**kw, "dtype": dtype})
    initial = None
    try:
        initial = common.numpy(metric.result())
    except (ValueError, AttributeError):
        pass  # F1Score and friends have no result before their first update
    results, at = [], 0
    for n in BATCHES:
        part = slice(at, at + n)
        at += n
        args = (t[part],) if p is None else (t[part], p[part])
        metric.update_state(*args, sample_weight=None if sw is None else sw[part])
        results.append(common.numpy(metric.result()))
    class_name, config = common.object_config(metric)
    inputs = {"values": t} if p is None else {"y_true": t, "y_pred": p}
    inputs["sample_weight"] = sw
    w.case(name, class_name, config, dtype, inputs=inputs,
           outputs={"initial": initial, "result": np.stack(results)},
           weights=[(v.name, v) for v in metric.variables],
           extra={"batch_sizes": BATCHES})


def main():
    w = common.Writer("metrics", __file__)
    failed = 0
    table = rows()
    for dtype in (common.DTYPE,):
        for row in table:
            common.reset()
            try:
                run(w, row, dtype)
            except Exception as e:
                failed += 1
                print("FAILED", row[0], dtype, type(e), str(e)[:300])
    w.write(common.out_dir())
    if failed:
        raise SystemExit(f"{failed} cases failed")


common.run(main)
