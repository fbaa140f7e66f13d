"""Recurrent and attention layers where masks, states and wrappers meet: what layers.py leaves out.

Run: KERAS_BACKEND=tensorflow python gen/layers_sequence.py <output directory>
Versions: see common.py.

The set is computed with TensorFlow, because JAX always takes the softmax of fused attention in float32, and repeats the
first state at a masked first step where TensorFlow (and the documentation) repeats the result before it, zeros.

A case holds what one of layers.py does (inputs, weights, outputs, gradients, extra.call), and in addition
  extra.masks    the mask that travels with an input: {input: name of the mask}
  outputs        "mask" (or "mask_0", ...): the mask that travels with a result
"""

import numpy as np

import common
import keras
import tensorflow as tf
from keras import layers as K
from keras import regularizers as R
from keras.src import backend
from keras.src import tree

ROWS = []


def add(set_name, label, make, *args, masks=(), previous=(), policy=None, **kwargs):
    """masks: one per positional tensor (None for none), travelling with it."""
    ROWS.append((set_name, label, make, args, masks, previous, policy, kwargs))


def X(*shape):
    return ("random", shape)


# Steps missing at the start, in the middle, at the end; all; none.
M7 = np.array([[0, 0, 1, 1, 0, 1, 1], [1, 1, 0, 1, 1, 0, 0], [0, 0, 0, 0, 0, 0, 0], [1, 1, 1, 1, 1, 1, 1]], bool)
B, T, F, U = 4, 7, 3, 5


def recurrent():
    x, y = X(B, T, F), X(B, T, F)
    for name, states in (("SimpleRNN", 1), ("GRU", 1), ("LSTM", 2)):
        c = getattr(K, name)
        init = [X(B, U) for _ in range(states)]
        for backwards in (False, True):
            tag = ",backwards" if backwards else ""
            add("r", "states_mask_sequences" + tag, lambda c=c, b=backwards: c(U, return_sequences=True, return_state=True, go_backwards=b), x, mask=M7, initial_state=init)
            add("r", "states_mask_last" + tag, lambda c=c, b=backwards: c(U, return_state=True, go_backwards=b), x, mask=M7, initial_state=init)
            add("r", "mask_sequences" + tag, lambda c=c, b=backwards: c(U, return_sequences=True, return_state=True, go_backwards=b), x, masks=[M7])
            add("r", "zero_output_last" + tag, lambda c=c, b=backwards: c(U, zero_output_for_mask=True, go_backwards=b), x, masks=[M7])
            add("r", "zero_output_sequences" + tag, lambda c=c, b=backwards: c(U, zero_output_for_mask=True, return_sequences=True, go_backwards=b), x, mask=M7, initial_state=init)
        # With initial states Keras leaves the mask that travels with the input unused; the result still carries it.
        add("r", "states_travelling_mask", lambda c=c: c(U, return_sequences=True, return_state=True), x, masks=[M7], initial_state=init)
        add("r", "stateful_mask", lambda c=c: c(U, stateful=True, return_sequences=True, return_state=True), x, masks=[M7], previous=[y, X(B, T, F)])
        add("r", "stateful_states", lambda c=c: c(U, stateful=True), x, previous=[y], initial_state=init)
        add("r", "mixed", lambda c=c: c(U, return_sequences=True, return_state=True), x, masks=[M7], policy="mixed_bfloat16")
        for merge in ("concat", "sum", None):
            add("r", f"{name},{merge},states_mask", lambda c=c, m=merge: K.Bidirectional(c(U, return_sequences=True, return_state=True), merge_mode=m), x, mask=M7, initial_state=init + [X(B, U) for _ in range(states)])
            add("r", f"{name},{merge},mask,last", lambda c=c, m=merge: K.Bidirectional(c(U), merge_mode=m), x, masks=[M7])
        add("r", f"{name},states_travelling_mask", lambda c=c: K.Bidirectional(c(U, return_sequences=True)), x, masks=[M7], initial_state=init + [X(B, U) for _ in range(states)])
        z, u = X(2, 5, 3), 2
        add("r", "default", lambda c=c: c(u), z)
        add("r", "no_bias,relu", lambda c=c: c(u, use_bias=False, activation="relu", return_sequences=True), z)
        add("r", "one_step", lambda c=c: c(u, return_state=True), X(2, 1, 3))
        add("r", "unroll,mask", lambda c=c: c(u, unroll=True, return_sequences=True), z, masks=[M7[:2, :5]])
        add("r", "regularizers", lambda c=c: c(u, kernel_regularizer=R.L1(0.25), recurrent_regularizer=R.L2(0.125), bias_regularizer=R.L2(0.5), activity_regularizer=R.L2(0.5)), z)
        cell = getattr(K, name + "Cell")
        own = [X(2, u) for _ in range(states)]
        add("r", "cell", lambda cell=cell: cell(u), X(2, 3), own)
        add("r", "cell,no_bias", lambda cell=cell: cell(u, use_bias=False, activation="softsign"), X(2, 3), own)
        add("r", f"{name}Cell,backwards", lambda cell=cell: K.RNN(cell(u), return_sequences=True, return_state=True, go_backwards=True), z)
        if name != "SimpleRNN":
            add("r", "activations", lambda c=c: c(u, activation="softsign", recurrent_activation="hard_sigmoid", return_sequences=True), z)
        add("r", f"{name},stateful", lambda c=c: K.Bidirectional(c(U, stateful=True, return_sequences=True)), x, previous=[y])
    add("r", "LSTM,backwards_first", lambda: K.Bidirectional(K.LSTM(2, return_sequences=True, go_backwards=True), backward_layer=K.LSTM(2, return_sequences=True)), x, masks=[M7])
    add("r", "LSTM,mixed", lambda: K.Bidirectional(K.LSTM(4, return_sequences=True), merge_mode="ave"), x, policy="mixed_bfloat16")
    for reset_before in ({}, {"use_bias": False}):
        add("r", f"reset_before,{len(reset_before)}", lambda kw=reset_before: K.GRU(2, reset_after=False, return_sequences=True, **kw), X(2, 5, 3), masks=[M7[:2, :5]])
        add("r", f"reset_before,{len(reset_before)}", lambda kw=reset_before: K.GRUCell(2, reset_after=False, **kw), X(2, 3), [X(2, 2)])
    add("r", "cells", lambda: K.StackedRNNCells([K.LSTMCell(3), K.GRUCell(2), K.SimpleRNNCell(4)]), X(2, 3), [[X(2, 3), X(2, 3)], [X(2, 2)], [X(2, 4)]])
    add("r", "list,states", lambda: K.RNN([K.GRUCell(2), K.LSTMCell(3)], return_state=True), X(2, 5, 3), initial_state=[[X(2, 2)], [X(2, 3), X(2, 3)]])
    stack = lambda: K.StackedRNNCells([K.LSTMCell(3), K.GRUCell(2), K.LSTMCell(4)])
    add("r", "stack,mask", lambda: K.RNN(stack(), return_sequences=True, return_state=True), x, masks=[M7])
    add("r", "stack,mask,last", lambda: K.RNN(stack()), x, masks=[M7])
    add("r", "stack,mask,backwards", lambda: K.RNN(stack(), return_sequences=True, go_backwards=True, zero_output_for_mask=True), x, masks=[M7])
    add("r", "stack", lambda: K.Bidirectional(K.RNN(stack(), return_sequences=True)), x, masks=[M7])
    add("r", "stack,last", lambda: K.Bidirectional(K.RNN(K.StackedRNNCells([K.LSTMCell(2), K.LSTMCell(2)])), merge_mode="mul"), x, masks=[M7])
    C1, C2, C3 = K.ConvLSTM1D, K.ConvLSTM2D, K.ConvLSTM3D
    m = M7[:2, :4] | np.array([[0, 0, 0, 1], [0, 0, 0, 0]], bool)
    add("r", "same,mask", lambda: C1(2, 3, padding="same", return_sequences=True, return_state=True), X(2, 4, 5, 2), masks=[m])
    add("r", "strides,backwards", lambda: C1(2, 3, strides=2, return_sequences=True, go_backwards=True, use_bias=False), X(2, 3, 7, 1))
    add("r", "states,zero_output", lambda: C1(2, 2, zero_output_for_mask=True, return_sequences=True, activation="relu"), X(2, 4, 4, 2), initial_state=[X(2, 3, 2), X(2, 3, 2)], mask=m)
    add("r", "stateful", lambda: C1(2, 2, stateful=True, padding="same"), X(2, 3, 4, 2), previous=[X(2, 3, 4, 2)])
    add("r", "same", lambda: C2(2, (2, 3), padding="same", recurrent_activation="hard_sigmoid"), X(2, 3, 4, 3, 2), masks=[m[:, :3]])
    add("r", "valid_strides", lambda: C2(2, 2, strides=(1, 2), return_state=True), X(1, 3, 4, 5, 1))
    add("r", "dilation", lambda: C2(1, 2, dilation_rate=2, return_sequences=True), X(1, 2, 5, 4, 1))
    add("r", "same", lambda: C3(1, (1, 2, 2), padding="same"), X(1, 2, 2, 3, 2, 2))
    mask3 = np.stack([M7[:, :3], M7[:, 2:5]], 1)
    add("r", "lstm,mask", lambda: K.TimeDistributed(K.LSTM(2)), X(B, 2, 3, F), masks=[mask3])
    add("r", "bidirectional,mask", lambda: K.TimeDistributed(K.Bidirectional(K.GRU(2, return_sequences=True))), X(B, 2, 3, F), masks=[mask3])
    add("r", "batch_norm,mask,training", lambda: K.TimeDistributed(K.BatchNormalization(momentum=0.5)), x, masks=[M7 | (np.arange(B)[:, None] == 3)], training=True)
    add("r", "batch_norm4,training", lambda: K.TimeDistributed(K.BatchNormalization(momentum=0.5)), X(B, 2, 3, F), training=True)
    add("r", "nested", lambda: K.TimeDistributed(K.TimeDistributed(K.Dense(2, activation="tanh"))), X(2, 3, 4, F))
    add("r", "dense,mixed", lambda: K.TimeDistributed(K.Dense(2, activation="tanh")), x, masks=[M7], policy="mixed_bfloat16")


PAD = np.array([[1, 1, 1, 1, 0], [0, 0, 1, 1, 1], [0, 0, 0, 0, 0], [1, 1, 1, 1, 1]], bool)
PAD4 = np.array([[1, 1, 1, 0], [1, 0, 1, 1], [1, 1, 1, 1], [0, 0, 0, 0]], bool)


def attention():
    x = X(4, 5, 6)
    q, v, k = X(4, 4, 3), X(4, 5, 6), X(4, 5, 2)
    given = np.random.default_rng(5).random((4, 5, 5)) < 0.6
    given[1, 2] = False
    heads = np.random.default_rng(6).random((4, 2, 4, 5)) < 0.6
    cross = np.random.default_rng(7).random((4, 4, 5)) < 0.6
    for name, make in (("MultiHeadAttention", lambda **kw: K.MultiHeadAttention(2, 4, **kw)), ("GroupQueryAttention", lambda **kw: K.GroupQueryAttention(4, 6, 2, **kw))):
        for scores in (False, True):
            s = {"return_attention_scores": True} if scores else {}
            tag = ",scores" if scores else ""
            add("a", f"{name},self_padding{tag}", make, x, x, masks=[PAD, PAD], **s)
            add("a", f"{name},self_padding_causal{tag}", make, x, x, masks=[PAD, PAD], use_causal_mask=True, **s)
            add("a", f"{name},value_padding{tag}", make, q, v, masks=[None, PAD], **s)
            add("a", f"{name},all_padding{tag}", make, q, v, k, masks=[PAD4, PAD, PAD[::-1]], attention_mask=cross, **s)
            add("a", f"{name},given{tag}", make, x, x, attention_mask=given, **s)
            add("a", f"{name},given_causal{tag}", make, x, x, attention_mask=given, use_causal_mask=True, **s)
            add("a", f"{name},window_padding{tag}", lambda make=make: make(sliding_window=2), x, x, masks=[PAD, PAD], **s)
            add("a", f"{name},window_causal{tag}", lambda make=make: make(sliding_window=2), x, x, use_causal_mask=True, **s)
        add("a", f"{name},dropout_padding", lambda make=make: make(dropout=0.4), x, x, masks=[PAD, PAD])
        add("a", f"{name},gate_padding", lambda make=make: make(use_gate=True, use_bias=False), q, v, masks=[PAD4, PAD])
        add("a", f"{name},regularizers", lambda make=make: make(kernel_regularizer=R.L2(0.125), bias_regularizer=R.L1(0.25), activity_regularizer=R.L2(0.5)), q, v)
        add("a", f"{name},mixed", make, x, x, masks=[PAD, PAD], policy="mixed_bfloat16")
        add("a", f"{name},mixed,scores", make, x, x, masks=[PAD, PAD], policy="mixed_bfloat16", return_attention_scores=True)
    # Sizes of heads are squares: Keras rounds the root to float32.
    M = K.MultiHeadAttention
    for name, kw in (("plain", {}), ("no_bias", {"use_bias": False}), ("value_dim", {"value_dim": 3}), ("output_shape", {"output_shape": 2})):
        add("a", name, lambda kw=kw: M(2, 4, **kw), q, v)
    add("a", "causal_cross", lambda: M(1, 4), q, v, use_causal_mask=True)
    add("a", "causal_cross,scores", lambda: M(1, 4), q, v, k, use_causal_mask=True, return_attention_scores=True)
    add("a", "rank4", lambda: M(2, 4), X(2, 2, 3, 4), X(2, 3, 2, 4))
    add("a", "single_kv", lambda: K.GroupQueryAttention(4, 3, 1), q, v, k)
    add("a", "heads_mask", lambda: M(2, 4), q, v, attention_mask=heads)
    add("a", "value_dim_key", lambda: M(3, 1, value_dim=4, output_shape=(2, 3)), q, v, k, masks=[None, PAD, None])
    add("a", "axes=2,mask", lambda: M(2, 4, attention_axes=(2,)), X(4, 2, 5, 3), X(4, 2, 5, 3), masks=[np.stack([PAD, PAD[::-1]], 1), np.stack([PAD, PAD[::-1]], 1)])
    add("a", "axes=-2,causal", lambda: M(2, 4, attention_axes=-2), X(2, 4, 4, 3), X(2, 4, 4, 3), use_causal_mask=True)
    add("a", "axes=(1,2),given", lambda: M(2, 4, attention_axes=(1, 2)), X(2, 3, 2, 4), X(2, 2, 2, 4), attention_mask=np.random.default_rng(8).random((2, 3, 2, 2, 2)) < 0.6)
    same = X(4, 4, 3)
    for name, make in (("dot", lambda **kw: K.Attention(use_scale=True, **kw)), ("concat", lambda **kw: K.Attention(score_mode="concat", use_scale=True, **kw)), ("additive", lambda **kw: K.AdditiveAttention(**kw))):
        add("a", f"{name},padding", make, [same, X(4, 5, 3)], masks=[PAD4, PAD], return_attention_scores=True)
        add("a", f"{name},padding_causal", make, [X(4, 5, 3), X(4, 5, 3), X(4, 5, 3)], masks=[PAD, PAD, None], use_causal_mask=True)
        add("a", f"{name},rank4", make, [X(2, 3, 4, 2), X(2, 3, 5, 2)])
    add("a", "dot,mixed", lambda: K.Attention(use_scale=True), [same, X(4, 5, 3)], masks=[PAD4, PAD], policy="mixed_bfloat16")


def fill(structure, r, found, name):
    """Makes arrays of a structure, collects them by name and returns it with {"input": name} in their place. One tuple
    gives one array, however often it is met."""
    if isinstance(structure, list):
        return [fill(s, r, found, f"{name}_{i}") for i, s in enumerate(structure)]
    if isinstance(structure, tuple) and len(structure) == 2 and structure[0] == "random":
        for n, (key, _) in found.items():
            if key is structure:
                return {"input": n}
        found[name] = (structure, common.grid(r, structure[1], 1.0, 3))
        return {"input": name}
    if isinstance(structure, np.ndarray):
        found[name] = (structure, structure)
        return {"input": name}
    return structure


def restore(structure, values):
    if isinstance(structure, dict):
        return values[structure["input"]]
    if isinstance(structure, list):
        return [restore(s, values) for s in structure]
    return structure


def names_of(structure):
    if isinstance(structure, dict):
        return [structure["input"]]
    return [n for s in structure for n in names_of(s)] if isinstance(structure, list) else []


def set_weights(layer, r):
    for w in layer.weights:
        shape = tuple(w.shape)
        if "variance" in w.path or "gamma" in w.path or w.path.endswith("scale"):
            w.assign(np.round(r.uniform(0.5, 1.5, shape), 3))
        else:
            w.assign(common.grid(r, shape, 0.6, 3))


def run(writer, row, dtype):
    _, label, make, args, masks, previous, policy, kwargs = row
    common.reset()
    keras.config.set_dtype_policy(policy or dtype)
    layer = make()
    cls = type(layer).__name__.replace("GroupedQuery", "GroupQuery")
    name = f"{cls}/{label}"
    r = common.rng("layers_sequence", name)
    attends = cls in ("MultiHeadAttention", "GroupQueryAttention")
    arg_names = ["query", "value", "key"] if attends else ["x", "states"]
    found = {}
    call_args = [fill(a, r, found, n) for n, a in zip(arg_names, args)]
    call_kwargs = {n: fill(a, r, found, n) for n, a in kwargs.items()}
    before = [[fill(p, r, found, f"previous_{i}")] for i, p in enumerate(previous)]
    carried = {}
    for n, m in zip(names_of(call_args), masks):
        if m is not None:
            carried[n] = fill(m, r, found, "mask_" + n)["input"]
    values = {n: (a.astype(dtype) if a.dtype == np.float64 else a) for n, (_, a) in found.items()}

    def tensors():
        made = {n: tf.constant(a) for n, a in values.items()}
        for n, m in carried.items():
            backend.set_keras_mask(made[n], made[m])
        return made

    def call(made, args):
        return layer(*restore(args, made), **{n: restore(a, made) for n, a in call_kwargs.items()})

    call(tensors(), call_args)  # builds
    if getattr(layer, "stateful", False):
        for member in ("forward_layer", "backward_layer"):
            getattr(layer, member, layer).reset_state()
    set_weights(layer, r)
    stored = [(w.path, common.numpy(w)) for w in layer.weights]
    for p in before:
        call(tensors(), p)
    made = tensors()
    floats = [n for n, a in values.items() if a.dtype.kind == "f" and not n.startswith("previous_")]
    with tf.GradientTape() as tape:
        for n in floats:
            tape.watch(made[n])
        out = call(made, call_args)
        flat = [o for o in tree.flatten(out) if o is not None]
        single = len(flat) == 1
        outputs = [("output" if single else f"output_{i}", o) for i, o in enumerate(flat)]
        cotangents, total = [], 0.0
        for n, o in outputs:
            c = common.grid(r, tuple(o.shape), 1.0, 2).astype(dtype)
            cotangents.append((n.replace("output", "cotangent"), c))
            total += tf.reduce_sum(tf.cast(o, dtype) * c)
        for loss in layer.losses:
            total += tf.cast(loss, dtype)
    sources = {n: made[n] for n in floats}
    g_inputs, g_weights = tape.gradient(total, (sources, [w.value for w in layer.trainable_weights]))
    gradients = [(n, g if g is not None else tf.zeros_like(made[n])) for n, g in g_inputs.items()]
    gradients += [(w.path, tf.convert_to_tensor(g) if g is not None else tf.zeros(w.shape, w.dtype)) for w, g in zip(layer.trainable_weights, g_weights)]

    if policy:  # zero but for rounding: a bias of the keys moves all scores of a query alike
        gradients = [(n, g) for n, g in gradients if not n.endswith("key/bias")]
    results = [(n, common.numpy(tf.cast(o, "float32") if o.dtype == "bfloat16" else o)) for n, o in outputs]
    for i, (_, o) in enumerate(outputs):
        m = backend.get_keras_mask(o)
        if m is not None and not (attends and i > 0):  # the probabilities carry a mask by accident
            results.append(("mask" if single else f"mask_{i}", common.numpy(m)))
    if layer.losses:
        results.append(("losses", np.array([float(l) for l in layer.losses], dtype)))
    old = dict(stored)
    for w in layer.non_trainable_weights:
        if not np.array_equal(old[w.path], common.numpy(w)):
            results.append(("after/" + w.path, common.numpy(w)))
    class_name, config = common.object_config(layer)
    extra = {"call": {"args": call_args, "kwargs": call_kwargs}, "masks": carried, "trainable": [w.trainable for w in layer.weights]}
    if before:
        extra["previous_calls"] = before
    tol = {"rtol": 0.04, "atol": 0.04} if policy else {}
    # A row of Attention in which all is hidden knows no differences below 64 in float32; they are none of rounding.
    tol["exact_scale"] = cls in ("Attention", "AdditiveAttention")
    writer.case(name, class_name, config, policy or dtype, inputs=list(values.items()) + cotangents, outputs=results,
                gradients=gradients, weights=stored, extra=extra, **tol)


def main():
    out = common.out_dir()
    recurrent()
    attention()
    w = common.Writer("layers_sequence", __file__)
    for i, row in enumerate(ROWS):
        # All in float64; policies and every third also in float32, which layers.py has more of.
        if common.DTYPE == "float64" and not row[6] or common.DTYPE == "float32" and (row[6] or i % 3 == 0):
            run(w, row, common.DTYPE)
    w.write(out)


common.run(main)
