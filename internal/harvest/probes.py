"""Cases that Keras's tests do not give: text layers with all their modes, masks, stateful layers, structures, policies, quantisation.

    KERAS_BACKEND=torch python probes.py CASES --only 'mask*,stateful*,structure*,ops*,policy*,quantised*,lora*,custom*,lambda*,category*,normalization*'
    KERAS_BACKEND=tensorflow python probes.py CASES        # the rest; then the program check

Strings need TensorFlow. Cases of the kind "refuse" hold files that a program without Python cannot run; check lists what it says.
"""

import argparse
import json
import os
import shutil
import traceback

import numpy as np

WORDS = ["the quick brown fox", "Jumps over, the LAZY dog!", "", "fox fox dog", "été à Straße  naïve\tÉTÉ", "a-b_c d.e (f) it's 42"]


def build_cases(out, only="*"):
    import fnmatch

    import keras
    from keras import layers, ops

    try:
        import tensorflow as tf
    except ImportError:
        tf = None

    os.makedirs(os.path.join(out, "cases"), exist_ok=True)
    failures = []
    f32 = np.float32
    rng = np.random.default_rng(3)

    def randomise(model):
        for v in model.weights:
            if v.dtype in ("float32", "float16", "bfloat16", "float64"):
                a = keras.ops.convert_to_numpy(v.value).astype(f32) + 0.1 * rng.standard_normal(v.shape).astype(f32)
                v.assign(np.abs(a) + 0.05 if "variance" in v.path else a)

    def save_case(name, model, arrays, batch=32, label="", kind="probe", expected=None, perturb=False, half=False, file=None):
        if perturb:
            randomise(model)
        folder = os.path.join(out, "cases", name)
        os.makedirs(folder, exist_ok=True)
        path = os.path.join(folder, "model.keras")
        if file:
            file(path)
        else:
            model.save(path)
        np.savez(os.path.join(folder, "in.npz"), **arrays)
        if kind != "refuse" or expected is None:
            loaded = keras.saving.load_model(path, compile=False, safe_mode=False)
            t = arrays
            if any(v.dtype.kind == "U" for v in arrays.values()):
                t = {k: tf.constant(v.tolist() if v.dtype.kind == "U" else v) for k, v in arrays.items()}
            x = t if len(t) > 1 else next(iter(t.values()))
            if expected is None:
                n = len(next(iter(arrays.values())))
                parts = []
                for i in range(0, n, batch):
                    part = {k: v[i : i + batch] for k, v in x.items()} if isinstance(x, dict) else x[i : i + batch]
                    parts.append(loaded(part, training=False))
                r = parts[0]
                if isinstance(r, dict):
                    def join(k):
                        return np.concatenate([keras.ops.convert_to_numpy(p[k]) for p in parts])
                    expected = {k: join(k) for k in r} if all(not isinstance(v, (dict, list, tuple)) for v in r.values()) else None
                if expected is None:
                    cols = [[dense(v) for v in keras.tree.flatten(p)] for p in parts]
                    flat = [np.concatenate(c) for c in zip(*cols)]
                    names = loaded.output_names
                    if len(set(names)) < len(flat):
                        names = [f"output_{i}" for i in range(len(flat))]
                    expected = {"output": flat[0]} if len(flat) == 1 else dict(zip(names, flat))
        expected = {k: np.asarray(v, f32) if np.asarray(v).dtype.name in ("bfloat16", "float16") else np.asarray(v) for k, v in expected.items()}
        for k, v in expected.items():
            if v.dtype.kind in "SO":
                expected[k] = np.vectorize(lambda b: b.decode() if isinstance(b, bytes) else str(b), otypes=[str])(v)
        np.savez(os.path.join(folder, "out.npz"), **expected)
        case = {"name": name, "kind": kind, "label": label or name, "command": "predict", "test": "probes.py",
                "backend": keras.backend.backend(), "batch_size": batch, "half": half}
        with open(os.path.join(folder, "case.json"), "w", encoding="utf-8") as f:
            json.dump(case, f, indent=1)

    def dense(v):
        if tf and isinstance(v, tf.RaggedTensor):
            v = v.to_tensor()
        if tf and isinstance(v, tf.SparseTensor):
            v = tf.sparse.to_dense(v)
        return keras.ops.convert_to_numpy(v)

    def probe(name, make, **extra):
        done = os.path.join(out, "cases", name, "case.json")
        if not any(fnmatch.fnmatch(name, p) for p in only.split(",")) or os.path.exists(done):
            return
        keras.utils.clear_session()
        try:
            result = make()
            model, arrays = result[:2]
            save_case(name, model, arrays, **extra)
        except Exception as e:
            failures.append((name, f"{type(e).__name__}: {e}".replace("\n", " ")[:200]))
            shutil.rmtree(os.path.dirname(done), ignore_errors=True)  # half a case
            if os.environ.get("HARVEST_DEBUG"):
                traceback.print_exc()

    def one(layer, x, dtype=None, shape=None):
        """A model of one layer on one array."""
        i = keras.Input(shape=x.shape[1:] if shape is None else shape, dtype=dtype or ("string" if x.dtype.kind == "U" else str(x.dtype)), name="in0")
        return keras.Model(i, layer(i)), {"in0": x}

    words = np.array(WORDS)
    tokens = np.array([["a", "b", "c"], ["c", "z", ""], ["b", "b", "[UNK]"], ["é", "a", "a"]])
    column = tokens.reshape(-1, 1)
    vocabulary = ["a", "b", "c", "é"]

    # Look-up of strings and integers.
    for mode in ("int", "one_hot", "multi_hot", "count", "tf_idf"):
        for oov in (0, 1, 3):
            for mask in (None, "", "a"):
                kw = dict(vocabulary=[v for v in vocabulary if v != mask], output_mode=mode, num_oov_indices=oov, mask_token=mask)
                if mode == "tf_idf":
                    kw["idf_weights"] = [0.5, 1.5, 2.5, 3.5][: len(kw["vocabulary"])]
                known = tokens if oov else np.array([["a", "b", "c"], ["c", "c", "b"]])
                x = known.reshape(-1, 1) if mode == "one_hot" else known
                probe(f"string_lookup_{mode}_oov{oov}_mask{mask if mask is None else (mask or 'empty')}",
                      lambda: one(layers.StringLookup(**kw), x), label="StringLookup")
    probe("string_lookup_invert", lambda: one(layers.StringLookup(vocabulary=vocabulary, invert=True), np.array([[1, 2], [3, 4], [0, 9]])),
          label="StringLookup invert")
    probe("string_lookup_pad", lambda: one(layers.StringLookup(vocabulary=vocabulary, max_tokens=12, pad_to_max_tokens=True,
                                                               output_mode="multi_hot"), tokens), label="StringLookup")

    def adapted(layer, data, x):
        layer.adapt(data)
        return one(layer, x)

    probe("string_lookup_adapt", lambda: adapted(layers.StringLookup(), tokens, tokens), label="StringLookup adapt")
    probe("string_lookup_adapt_max", lambda: adapted(layers.StringLookup(max_tokens=3), tokens, tokens), label="StringLookup adapt")
    probe("string_lookup_adapt_tfidf", lambda: adapted(layers.StringLookup(output_mode="tf_idf"), tokens, tokens), label="StringLookup adapt")
    probe("string_lookup_sparse", lambda: one(layers.StringLookup(vocabulary=vocabulary, output_mode="count", sparse=True), tokens), label="StringLookup sparse")

    def from_file(cls, values, x, **kw):
        path = os.path.join(out, "vocabulary.txt")
        with open(path, "w", encoding="utf-8") as f:
            f.write("\n".join(map(str, values)) + "\n")
        m = one(cls(vocabulary=path, **kw), x)
        return m

    probe("string_lookup_file", lambda: from_file(layers.StringLookup, vocabulary, tokens), label="StringLookup from a file")
    numbers = np.array([[10, 20, 30], [30, 99, 0], [20, 20, -1], [40, 10, 10]])
    for mode in ("int", "one_hot", "multi_hot", "count", "tf_idf"):
        for oov in (0, 1, 3):
            for mask in (None, 0):
                kw = dict(vocabulary=[10, 20, 30, 40], output_mode=mode, num_oov_indices=oov, mask_token=mask)
                if mode == "tf_idf":
                    kw["idf_weights"] = [0.5, 1.5, 2.5, 3.5]
                known = numbers if oov else np.array([[10, 20, 30], [40, 40, 10]])
                x = known.reshape(-1, 1) if mode == "one_hot" else known
                probe(f"integer_lookup_{mode}_oov{oov}_mask{mask}", lambda: one(layers.IntegerLookup(**kw), x), label="IntegerLookup")
    probe("integer_lookup_int32", lambda: one(layers.IntegerLookup(vocabulary=[10, 20, 30, 40]), numbers.astype("int32")), label="IntegerLookup")
    probe("integer_lookup_invert", lambda: one(layers.IntegerLookup(vocabulary=[10, 20, 30], invert=True), np.array([[1, 2], [3, 0]])), label="IntegerLookup")
    probe("integer_lookup_adapt", lambda: adapted(layers.IntegerLookup(), numbers, numbers), label="IntegerLookup adapt")
    probe("integer_lookup_file", lambda: from_file(layers.IntegerLookup, [10, 20, 30], numbers), label="IntegerLookup from a file")

    # TextVectorization.
    for mode in ("int", "multi_hot", "count", "tf_idf"):
        for ngrams in (None, 2, (1, 3)):
            for split in ("whitespace", "character", None):
                if ngrams and split is None:
                    continue
                probe(f"text_{mode}_{ngrams}_{split}".replace(" ", "").replace("(", "").replace(")", "").replace(",", "_"),
                      lambda: adapted(layers.TextVectorization(output_mode=mode, ngrams=ngrams, split=split), words, words), label="TextVectorization")
    for standardize in ("lower", "strip_punctuation", "lower_and_strip_punctuation", None):
        probe(f"text_standardize_{standardize}", lambda: adapted(layers.TextVectorization(standardize=standardize), words, words), label="TextVectorization")
    probe("text_length", lambda: adapted(layers.TextVectorization(output_sequence_length=3), words, words), label="TextVectorization")
    probe("text_length_long", lambda: adapted(layers.TextVectorization(output_sequence_length=30), words, words), label="TextVectorization")
    probe("text_max_tokens", lambda: adapted(layers.TextVectorization(max_tokens=5), words, words), label="TextVectorization")
    probe("text_pad", lambda: adapted(layers.TextVectorization(max_tokens=50, pad_to_max_tokens=True, output_mode="tf_idf"), words, words), label="TextVectorization")
    probe("text_column", lambda: adapted(layers.TextVectorization(), words, words.reshape(-1, 1)), label="TextVectorization (batch, 1)")
    probe("text_ragged", lambda: adapted(layers.TextVectorization(ragged=True), words, words), label="TextVectorization ragged")
    probe("text_vocabulary", lambda: one(layers.TextVectorization(vocabulary=["fox", "dog", "the"]), words), label="TextVectorization vocabulary")
    probe("text_vocabulary_file", lambda: from_file(layers.TextVectorization, ["fox", "dog", "the"], words), label="TextVectorization from a file")
    probe("text_latin1", lambda: adapted(layers.TextVectorization(encoding="latin-1"), words[:4], words[:4]), label="TextVectorization encoding")

    def text_classifier():
        v = layers.TextVectorization(output_sequence_length=8)
        v.adapt(words)
        m = keras.Sequential([keras.Input((), dtype="string", name="in0"), v, layers.Embedding(v.vocabulary_size(), 4, mask_zero=True),
                              layers.Bidirectional(layers.LSTM(3)), layers.Dense(1, activation="sigmoid")])
        return m, {"in0": words}

    probe("text_classifier", text_classifier, perturb=True, label="text classifier")
    probe("text_custom_standardize", lambda: adapted(layers.TextVectorization(standardize=keras.saving.register_keras_serializable("p")(
        lambda x: tf.strings.lower(x))), words, words), label="custom standardize", kind="refuse")

    # Hashing and crossing.
    ids = np.array([[1, 2, 3], [100, -5, 7], [2**31 - 1, 0, 2**40]])
    for mode in ("int", "one_hot", "multi_hot", "count"):
        for salt in (None, 133, [133, 137]):
            for mask in (None, "a"):
                x = column if mode == "one_hot" else tokens
                probe(f"hashing_{mode}_{salt}_{mask}".replace(" ", "").replace("[", "").replace("]", "").replace(",", "_"),
                      lambda: one(layers.Hashing(num_bins=7, output_mode=mode, salt=salt, mask_value=mask), x), label="Hashing")
    probe("hashing_ints", lambda: one(layers.Hashing(num_bins=7), ids), label="Hashing of integers")
    probe("hashing_ints32", lambda: one(layers.Hashing(num_bins=7), ids[:2].astype("int32")), label="Hashing of integers")
    probe("hashing_ints_salt", lambda: one(layers.Hashing(num_bins=7, salt=9), ids), label="Hashing of integers")

    def crossing(x, y, **kw):
        a, b = [keras.Input(v.shape[1:], dtype="string" if v.dtype.kind == "U" else str(v.dtype), name=n) for v, n in ((x, "in0"), (y, "in1"))]
        return keras.Model([a, b], layers.HashedCrossing(**kw)((a, b))), {"in0": x, "in1": y}

    s1, s2 = np.array(["a", "b", "c", "a"]), np.array(["x", "y", "x", "z"])
    n1 = np.array([1, 2, 3, 1])
    for mode in ("int", "one_hot"):
        probe(f"crossing_strings_{mode}", lambda: crossing(s1, s2, num_bins=5, output_mode=mode), label="HashedCrossing")
        probe(f"crossing_mixed_{mode}", lambda: crossing(s1, n1, num_bins=5, output_mode=mode), label="HashedCrossing")
        probe(f"crossing_ints_{mode}", lambda: crossing(n1, n1[::-1].copy(), num_bins=5, output_mode=mode), label="HashedCrossing")
        probe(f"crossing_columns_{mode}", lambda: crossing(s1[:, None], s2[:, None], num_bins=5, output_mode=mode), label="HashedCrossing")

    # Encoding, bins, normalization.
    e = np.array([[1, 2, 0], [3, 3, 1]])
    for mode in ("multi_hot", "count", "one_hot"):
        probe(f"category_{mode}", lambda: one(layers.CategoryEncoding(num_tokens=4, output_mode=mode), e), label="CategoryEncoding")

    def weighted():
        a, b = keras.Input((3,), dtype="int64", name="in0"), keras.Input((3,), name="in1")
        return keras.Model([a, b], layers.CategoryEncoding(4, "count")(a, count_weights=b)), {"in0": e, "in1": np.array([[.5, 1, 2], [1, 2, 4]], f32)}

    probe("category_count_weights", weighted, label="CategoryEncoding weights")
    z = np.array([[-1.5, 1.0, 3.4], [0.0, 3.0, 1.3], [0.5, -0.5, np.nan]], f32)
    for mode in ("int", "one_hot", "multi_hot", "count"):
        x = z.reshape(-1, 1) if mode == "one_hot" else z
        probe(f"discretization_{mode}", lambda: one(layers.Discretization([0.0, 1.0, 2.0], output_mode=mode), x), label="Discretization")
    probe("discretization_adapt", lambda: adapted(layers.Discretization(num_bins=4, epsilon=0.01), rng.standard_normal((100, 2)).astype(f32), z), label="Discretization adapt")
    n = rng.standard_normal((20, 4, 3)).astype(f32)
    for axis in (-1, None, (1, 2), 1):
        probe(f"normalization_adapt_{axis}".replace(" ", "").replace("(", "").replace(")", "").replace(",", "_"),
              lambda: adapted(layers.Normalization(axis=axis), n, n), label="Normalization adapt")
    probe("normalization_invert", lambda: adapted(layers.Normalization(invert=True), n, n), label="Normalization")
    probe("normalization_given", lambda: one(layers.Normalization(mean=[1, 2, 3], variance=[4, 5, 6]), n), label="Normalization")

    # FeatureSpace.
    def feature_space(kind):
        from keras.utils import FeatureSpace

        data = {"f": np.linspace(0, 10, 12).astype(f32), "i": np.arange(12) % 4, "s": np.array(list("abcabcabcabd"))}
        ds = tf.data.Dataset.from_tensor_slices(data)
        fs = FeatureSpace(features={"f": FeatureSpace.float_normalized() if kind != "bins" else FeatureSpace.float_discretized(4),
                                    "i": FeatureSpace.integer_categorical(), "s": FeatureSpace.string_categorical()},
                          crosses=[("i", "s")] if kind == "cross" else None, crossing_dim=8, output_mode="concat")
        fs.adapt(ds)
        if kind == "whole":
            return fs, data
        inputs, encoded = fs.get_inputs(), fs.get_encoded_features()
        return keras.Model(inputs, layers.Dense(2, name="d")(encoded)), data

    for kind in ("plain", "bins", "cross"):
        probe(f"feature_space_{kind}", lambda: feature_space(kind), label="FeatureSpace model")
    probe("feature_space_saved_itself", lambda: (feature_space("whole")[0], {k: v[:4] for k, v in feature_space("whole")[1].items()}),
          expected={"output": np.zeros((4, 1), f32)}, kind="refuse", label="FeatureSpace itself")

    # Masks.
    seq = np.array([[1, 2, 3, 0, 0], [4, 0, 5, 1, 0], [2, 2, 2, 2, 2]])

    def masked(*tail, masking=False):
        if masking:
            x = rng.standard_normal((3, 5, 4)).astype(f32)
            x[0, 3:] = x[1, 1] = 0
            i = keras.Input((5, 4), name="in0")
            h = layers.Masking()(i)
        else:
            x, i = seq, keras.Input((5,), dtype="int64", name="in0")
            h = layers.Embedding(6, 4, mask_zero=True)(i)
        for t in tail:
            h = t(h)
        return keras.Model(i, h), {"in0": x}

    L = layers
    tails = {
        "lstm": [L.LSTM(3)], "lstm_seq_lstm": [L.LSTM(3, return_sequences=True), L.LSTM(2)], "gru_back": [L.GRU(3, go_backwards=True)],
        "simple": [L.SimpleRNN(3, zero_output_for_mask=True, return_sequences=True)], "lstm_zero": [L.LSTM(3, zero_output_for_mask=True, return_sequences=True)],
        "bi_concat": [L.Bidirectional(L.GRU(3, return_sequences=True)), L.GlobalAveragePooling1D()], "bi_sum": [L.Bidirectional(L.LSTM(3), merge_mode="sum")],
        "time_dense": [L.TimeDistributed(L.Dense(3)), L.GlobalAveragePooling1D()], "dropout": [L.Dropout(0.5), L.LSTM(2)],
        "batchnorm": [L.BatchNormalization(), L.LSTM(2)], "layernorm": [L.LayerNormalization(), L.LSTM(2)], "activation": [L.Activation("relu"), L.LSTM(2)],
        "softmax": [L.Softmax()], "conv1d": [L.Conv1D(3, 2, padding="same"), L.GRU(2)], "pool": [L.GlobalMaxPooling1D()], "avg": [L.GlobalAveragePooling1D()],
        "permute": [L.Permute((2, 1))], "reshape": [L.Reshape((5, 2, 2))], "flatten": [L.Flatten()], "repeat": [L.GlobalAveragePooling1D(), L.RepeatVector(3), L.LSTM(2)],
        "crop": [L.Cropping1D(1)], "pad": [L.ZeroPadding1D(1), L.LSTM(2)], "up": [L.UpSampling1D(2), L.GRU(2)], "rescale": [L.Rescaling(2.0), L.LSTM(2)],
        "stacked": [L.RNN([L.LSTMCell(3), L.GRUCell(2)])], "einsum": [L.EinsumDense("abc,cd->abd", (None, 3)), L.LSTM(2)], "prelu": [L.PReLU(), L.LSTM(2)],
        "groupnorm": [L.GroupNormalization(2), L.LSTM(2)], "rms": [L.RMSNormalization(), L.LSTM(2)], "masking_again": [L.Masking(0.1), L.LSTM(2)],
        "identity": [L.Identity(), L.LSTM(2)], "gauss": [L.GaussianNoise(0.1), L.LSTM(2)], "spatial": [L.SpatialDropout1D(0.2), L.LSTM(2)],
        "activityreg": [L.ActivityRegularization(0.1), L.LSTM(2)], "unitnorm": [L.UnitNormalization(), L.LSTM(2)],
    }
    for name, tail in tails.items():
        for masking in (False, True):
            clones = [t.__class__.from_config(t.get_config()) for t in tail]
            probe(f"mask_{name}_{'masking' if masking else 'embedding'}", lambda: masked(*clones, masking=masking), perturb=True, label=f"mask through {name}")

    def two_masked(make):
        a, b = keras.Input((5,), dtype="int64", name="in0"), keras.Input((5,), dtype="int64", name="in1")
        emb = layers.Embedding(6, 4, mask_zero=True)
        return keras.Model([a, b], make(emb(a), emb(b))), {"in0": seq, "in1": seq[::-1].copy()}

    twos = {
        "add": lambda a, b: L.LSTM(2)(L.Add()([a, b])), "concat_last": lambda a, b: L.LSTM(2)(L.Concatenate()([a, b])),
        "concat_time": lambda a, b: L.LSTM(2)(L.Concatenate(axis=1)([a, b])), "multiply": lambda a, b: L.GRU(2)(L.Multiply()([a, b])),
        "maximum": lambda a, b: L.GRU(2)(L.Maximum()([a, b])), "dot": lambda a, b: L.Dot(axes=2)([a, b]), "plus": lambda a, b: L.LSTM(2)(a + b),
        "attention": lambda a, b: L.Attention()([a, b]), "additive": lambda a, b: L.AdditiveAttention()([a, b]),
        "attention_scale": lambda a, b: L.GlobalAveragePooling1D()(L.Attention(use_scale=True, score_mode="concat")([a, b])),
        "attention_causal": lambda a, b: L.Attention()([a, b], use_causal_mask=True), "mha": lambda a, b: L.MultiHeadAttention(2, 3)(a, b),
        "mha_causal": lambda a, b: L.GlobalAveragePooling1D()(L.MultiHeadAttention(2, 3)(a, b, use_causal_mask=True)),
        "gqa": lambda a, b: L.GroupQueryAttention(3, 4, 2)(a, b), "mha_scores": lambda a, b: L.MultiHeadAttention(2, 3)(a, b, return_attention_scores=True),
        "subtract": lambda a, b: L.LSTM(2)(L.Subtract()([a, b])), "average": lambda a, b: L.LSTM(2)(L.Average()([a, b])),
        "states": lambda a, b: L.LSTM(4)(b, initial_state=L.LSTM(4, return_state=True)(a)[1:]),
        "decoder": lambda a, b: L.Dense(3)(L.GRU(4, return_sequences=True)(b, initial_state=L.GRU(4, return_state=True)(a)[1])),
    }
    for name, make in twos.items():
        probe(f"mask_two_{name}", lambda: two_masked(make), perturb=True, label=f"masks into {name}")

    # Stateful layers: the state goes on over the batches of one predict.
    for name, make in {"lstm": lambda: L.LSTM(3, stateful=True), "gru_seq": lambda: L.GRU(3, stateful=True, return_sequences=True),
                       "simple": lambda: L.SimpleRNN(3, stateful=True), "stacked": lambda: L.RNN([L.LSTMCell(3), L.LSTMCell(2)], stateful=True),
                       "bi": lambda: L.Bidirectional(L.LSTM(3, stateful=True)), "conv": lambda: L.ConvLSTM1D(2, 2, stateful=True)}.items():
        def stateful():
            shape = (4, 5, 6, 2) if name == "conv" else (4, 5, 2)
            i = keras.Input(batch_shape=shape, name="in0")
            return keras.Model(i, make()(i)), {"in0": rng.standard_normal((12,) + shape[1:]).astype(f32)}

        probe(f"stateful_{name}", stateful, batch=4, perturb=True, label=f"stateful {name}")

    # Structures of inputs and outputs.
    x4 = rng.standard_normal((6, 4)).astype(f32)

    def structure(kind):
        a, b = keras.Input((4,), name="in0"), keras.Input((4,), name="in1")
        d = L.Dense(3, name="d")
        arrays = {"in0": x4, "in1": x4[::-1].copy()}
        if kind == "dict_out":
            return keras.Model([a, b], {"p": d(a), "q": d(b)}), arrays
        if kind == "dict_in":
            return keras.Model({"in1": b, "in0": a}, d(a) - d(b)), arrays
        if kind == "dict_in_other_names":
            m = keras.Model({"left": a, "right": b}, d(a) - 2 * d(b))
            return m, {"left": x4, "right": arrays["in1"]}
        if kind == "nested_out":
            return keras.Model([a, b], {"p": [d(a), d(b)], "q": (L.Add(name="sum")([a, b]),)}), arrays
        if kind == "list_out":
            return keras.Model([a, b], [d(a), L.Dense(2, name="e")(b), L.Add(name="f")([a, b])]), arrays
        if kind == "one_in_list":
            return keras.Model([a], [d(a)]), {"in0": x4}
        if kind == "tuple_in":
            return keras.Model((a, b), (d(a), d(b))), arrays
        if kind == "input_is_output":
            return keras.Model([a, b], [a, d(b)]), arrays
        if kind == "same_twice":
            h = d(a)
            return keras.Model(a, [h, h]), {"in0": x4}
        if kind == "nested_model":
            inner = keras.Model([a, b], [d(a), L.Add()([a, b])])
            o, p = inner([b, a])
            deep = keras.Sequential([keras.Input((3,)), L.Dense(2), keras.Sequential([L.Dense(2), L.BatchNormalization()])])
            return keras.Model([a, b], [deep(o), p]), arrays
        if kind == "nested_dict_model":
            inner = keras.Model({"u": a, "v": b}, {"s": d(a) + d(b), "t": L.Add()([a, b])})
            r = inner({"u": b, "v": a})
            return keras.Model([a, b], L.Concatenate()([r["s"], r["t"]])), arrays
        if kind == "shared_model":
            inner = keras.Sequential([L.Dense(3, activation="tanh"), L.Dense(2)])
            return keras.Model([a, b], L.Concatenate()([inner(a), inner(b)])), arrays
        if kind == "shared_sub_layer":
            m1, m2 = keras.Sequential([keras.Input((4,)), d]), keras.Sequential([keras.Input((4,)), d, L.Dense(2)])
            return keras.Model([a, b], [m1(a), m2(b)]), arrays
        if kind == "optional_input":
            c = keras.Input((4,), name="in2", optional=True)
            return keras.Model([a, b, c], d(a) + d(b) + d(c)), dict(arrays, in2=x4)

    for kind in ("dict_out", "dict_in", "dict_in_other_names", "nested_out", "list_out", "one_in_list", "tuple_in", "input_is_output", "same_twice",
                 "nested_model", "nested_dict_model", "shared_model", "shared_sub_layer", "optional_input"):
        probe(f"structure_{kind}", lambda: structure(kind), perturb=True, label=f"structure {kind}")

    # keras.ops between layers.
    def ops_model(make, x=x4):
        i = keras.Input(x.shape[1:], name="in0")
        return keras.Model(i, make(i)), {"in0": x}

    x34 = rng.standard_normal((6, 3, 4)).astype(f32)
    ops_cases = {
        "einsum": lambda i: ops.einsum("bij,bkj->bik", i, i), "getitem": lambda i: i[:, ::2, -1], "getitem_newaxis": lambda i: i[:, None, ..., 1:3],
        "where": lambda i: ops.where(i > 0, i, ops.exp(i)), "shape": lambda i: ops.reshape(i, (-1, ops.shape(i)[1] * 4)), "pow": lambda i: 2 ** i + i ** 2,
        "floordiv": lambda i: (i * 10) // 3 + (i * 10) % 3, "compare": lambda i: ops.cast(ops.logical_and(i > 0, i < 1), "float32"),
        "top_k": lambda i: ops.top_k(i, 2)[0], "split": lambda i: ops.concatenate(ops.split(i, 2, axis=-1)[::-1], axis=-1), "argsort": lambda i: ops.argsort(i),
        "segment": lambda i: ops.one_hot(ops.argmax(i, axis=-1), 4), "norm": lambda i: ops.norm(i, axis=-1), "matmul": lambda i: i @ ops.transpose(i, (0, 2, 1)),
        "constant": lambda i: i + np.arange(4, dtype=f32), "rconstant": lambda i: np.arange(4, dtype=f32) - i, "take": lambda i: ops.take(i, [2, 0], axis=2),
        "take_along": lambda i: ops.take_along_axis(i, ops.argsort(i, axis=-1), axis=-1), "cumsum": lambda i: ops.cumsum(i, axis=1), "pad": lambda i: ops.pad(i, [[0, 0], [1, 2], [0, 1]]),
        "roll": lambda i: ops.roll(i, 1, axis=1), "stack": lambda i: ops.stack([i, -i], axis=-1), "logsumexp": lambda i: ops.logsumexp(i, axis=(1, 2)),
        "full_like": lambda i: ops.full_like(i, 3.0) * i, "clip": lambda i: ops.clip(i, -0.5, 0.5), "var": lambda i: ops.var(i, axis=-1), "std": lambda i: ops.std(i, axis=1, keepdims=True),
        "median": lambda i: ops.median(i, axis=-1), "quantile": lambda i: ops.quantile(i, 0.3, axis=-1), "inv": lambda i: ops.inv(i[:, :3, :3] + 5 * np.eye(3, dtype=f32)),
        "svd": lambda i: ops.svd(i, compute_uv=False), "qr": lambda i: ops.abs(ops.qr(i)[1]), "cholesky": lambda i: ops.cholesky(i @ ops.transpose(i, (0, 2, 1)) + np.eye(3, dtype=f32)),
        "solve": lambda i: ops.solve(i[:, :3, :3] + 5 * np.eye(3, dtype=f32), i), "det": lambda i: ops.det(i[:, :3, :3]), "erf": lambda i: ops.erf(i), "rfft": lambda i: ops.rfft(i)[0],
        "unstack": lambda i: ops.unstack(i, axis=1)[1], "abs": lambda i: abs(i), "neg": lambda i: -i, "swapaxes": lambda i: ops.swapaxes(i, 1, 2), "sort": lambda i: ops.sort(i, axis=1),
        "softmax2": lambda i: ops.softmax(i, axis=(1, 2)), "slice_update": lambda i: ops.slice_update(i, [0, 0, 0], ops.ones((1, 1, 1))), "scatter": lambda i: i,
        "fori": lambda i: ops.moveaxis(i, 1, 2), "diag": lambda i: ops.diagonal(i, axis1=1, axis2=2), "trace": lambda i: ops.trace(i, axis1=1, axis2=2), "tril": lambda i: ops.tril(i),
        "cross": lambda i: ops.cross(i[..., :3], i[..., 1:]), "bincount": lambda i: ops.bincount(ops.cast(ops.abs(i[:, 0]) * 3, "int32"), minlength=12), "digitize": lambda i: ops.digitize(i, [-1.0, 0.0, 1.0]),
        "searchsorted": lambda i: ops.cast(ops.floor(i), "int32"), "extract_sequences": lambda i: ops.extract_sequences(i, 2, 1), "in_top_k": lambda i: ops.relu6(i), "multi_hot": lambda i: ops.multi_hot(ops.argsort(i[:, 0]), 5),
    }
    for name, make in ops_cases.items():
        probe(f"ops_{name}", lambda: ops_model(make, x34), label=f"keras.ops {name}")

    # Policies.
    def policy(name):
        i = keras.Input((8, 8, 3), name="in0", dtype="float32")
        h = L.Conv2D(4, 3, dtype=name)(i)
        h = L.BatchNormalization(dtype=name)(h)
        h = L.Activation("gelu", dtype=name)(h)
        h = L.GlobalAveragePooling2D(dtype=name)(h)
        return keras.Model(i, L.Dense(3, dtype=name)(h)), {"in0": rng.standard_normal((4, 8, 8, 3)).astype(f32)}

    for name in ("mixed_bfloat16", "mixed_float16", "bfloat16", "float16", "float64"):
        probe(f"policy_{name}", lambda: policy(name), perturb=True, half=name != "float64", label=f"policy {name}")

    def policy_map():
        m = keras.DTypePolicyMap()
        m["a"] = keras.DTypePolicy("mixed_bfloat16")
        i = keras.Input((4,), name="in0")
        return keras.Model(i, L.Dense(3, dtype=m, name="a")(i)), {"in0": x4}

    probe("policy_map", policy_map, half=True, label="DTypePolicyMap")

    # Quantised models, LoRA.
    def network():
        i = keras.Input((6,), dtype="int32", name="in0")
        h = L.Embedding(10, 8)(i)
        h = L.EinsumDense("abc,cd->abd", (6, 8), bias_axes="d")(h)
        h = L.GlobalAveragePooling1D()(h)
        h = L.Dense(16, activation="relu")(h)
        return keras.Model(i, L.Dense(4)(h)), {"in0": np.arange(24).reshape(4, 6).astype("int32") % 10}

    for mode in ("int8", "int4", "float8"):
        def quantised():
            m, a = network()
            randomise(m)
            m.quantize(mode)
            return m, a

        probe(f"quantised_{mode}", quantised, label=f"quantised {mode}")

    def lora(mode):
        m, a = network()
        randomise(m)
        if mode:
            m.quantize(mode)
        for layer in m.layers:
            if hasattr(layer, "enable_lora"):
                layer.enable_lora(2)
                layer.lora_kernel_b.assign(0.1 * rng.standard_normal(layer.lora_kernel_b.shape)) if hasattr(layer, "lora_kernel_b") else \
                    layer.lora_embeddings_b.assign(0.1 * rng.standard_normal(layer.lora_embeddings_b.shape))
        return m, a

    probe("lora", lambda: lora(None), label="LoRA")
    probe("lora_int8", lambda: lora("int8"), label="LoRA int8")

    # What cannot run without Python.
    def of_lambda(f, **kw):
        i = keras.Input((4,), name="in0")
        return keras.Model(i, L.Lambda(f, **kw)(i)), {"in0": x4}

    probe("lambda_python", lambda: of_lambda(lambda x: x * 2), kind="refuse", label="Lambda")
    probe("lambda_named", lambda: of_lambda(keras.ops.relu), label="Lambda of keras.ops.relu")

    @keras.saving.register_keras_serializable(package="pkg")
    class Twice(L.Layer):
        def call(self, x):
            return 2 * x

    @keras.saving.register_keras_serializable(package="pkg")
    def swoosh(x):
        return x * 3

    @keras.saving.register_keras_serializable(package="pkg")
    class Net(keras.Model):
        def __init__(self, **kw):
            super().__init__(**kw)
            self.d = L.Dense(2)

        def call(self, x):
            return self.d(x)

    def custom(kind):
        i = keras.Input((4,), name="in0")
        if kind == "layer":
            return keras.Model(i, Twice()(i)), {"in0": x4}
        if kind == "activation":
            return keras.Model(i, L.Dense(2, activation=swoosh)(i)), {"in0": x4}
        m = Net()
        m(x4)
        return m, {"in0": x4}

    for kind in ("layer", "activation"):
        probe(f"custom_{kind}", lambda: custom(kind), kind="refuse", label=f"custom {kind}")
    probe("custom_model", lambda: custom("model"), kind="refuse", expected={"output": np.zeros((6, 2), f32)}, label="custom model")
    return failures


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("out")
    parser.add_argument("--only", default="*", help="names of probes, as patterns with commas between")
    args = parser.parse_args()
    failures = build_cases(os.path.abspath(args.out), args.only)
    print(f"{len(os.listdir(os.path.join(args.out, 'cases')))} cases; Keras itself could not make:")
    for name, e in failures:
        print(f"  {name}: {e}")


if __name__ == "__main__":
    main()
