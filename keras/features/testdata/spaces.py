"""Feature spaces of Keras: random ones, adapted to random tables, saved, with what they make of another table.

Run: KERAS_BACKEND=tensorflow python spaces.py spaces.zip
Made with keras 3.15.1 and tensorflow-cpu 2.21.0. The zip holds <case>.keras, as Keras saved it, and cases.json: for each case the
options to build it, the columns that it was adapted to and those that it encoded, and the results by name ("" joined to one row).

    python spaces.py check file.keras table.json   prints as JSON what Keras makes of a table with a file of ours
"""

import json
import os
import sys
import tempfile
import zipfile

os.environ.setdefault("KERAS_BACKEND", "tensorflow")

import keras  # noqa: E402
import numpy as np  # noqa: E402

FeatureSpace = keras.utils.FeatureSpace
SENTENCES = ["the cat sat", "a dog, a cat!", "THE end", "", "over and over"]
WORDS = ["red", "green", "blue", "grey", "black", "", "weiß", "色"]


def feature(r, kind, mode):
    if kind == "float":
        return FeatureSpace.float(), {}
    if kind == "float_normalized":
        return FeatureSpace.float_normalized(), {}
    if kind == "float_rescaled":
        scale, offset = round(r.uniform(-2, 2), 2), round(r.uniform(-2, 2), 2)
        return FeatureSpace.float_rescaled(scale=scale, offset=offset), {"scale": scale, "offset": offset}
    if kind.startswith("text_"):
        given = kind.removeprefix("text_")
        layer = keras.layers.TextVectorization(output_mode=given, output_sequence_length=4 if given == "int" else None)
        return FeatureSpace.feature(dtype="string", preprocessor=layer, output_mode="int" if given == "int" else "float"), {}
    bins = int(r.integers(2, 7))
    if kind == "float_discretized":
        return FeatureSpace.float_discretized(num_bins=bins, output_mode=mode), {"bins": bins}
    if kind == "integer_hashed":
        return FeatureSpace.integer_hashed(bins, output_mode=mode), {"bins": bins}
    if kind == "string_hashed":
        return FeatureSpace.string_hashed(bins, output_mode=mode), {"bins": bins}
    return getattr(FeatureSpace, kind)(output_mode=mode), {}


def column(r, kind, n):
    if kind.startswith("float"):
        return np.round(r.normal(size=n) * 3, 2).tolist()
    if kind.startswith("integer"):
        return r.integers(-3, 9, n).tolist()
    if kind.startswith("text_"):
        return [SENTENCES[i] for i in r.integers(0, len(SENTENCES), n)]
    return [WORDS[i] for i in r.integers(0, len(WORDS), n)]


KINDS = ["float", "float_normalized", "float_rescaled", "float_discretized", "integer_categorical", "string_categorical", "integer_hashed", "string_hashed"]


TEXTS = 9  # the seed of the space with TextVectorization


def space(seed):
    r = np.random.default_rng([20261122, seed])
    as_dict = seed % 2 == 1
    texts = ["text_tf_idf", "text_int", "text_multi_hot", "text_count", "string_hashed", "float_discretized"]
    kinds = dict(zip("abcdef", texts)) if seed == TEXTS else {f"c{i}": KINDS[int(k)] for i, k in enumerate(r.permutation(np.resize(np.arange(len(KINDS)), 5 if seed else 16)))}
    features, described = {}, {}
    for name, kind in kinds.items():
        mode = "int" if as_dict and r.random() < 0.5 else "one_hot"
        features[name], options = feature(r, kind, mode)
        described[name] = {"kind": kind, "mode": mode, **options}
    discrete = [n for n, k in kinds.items() if k not in ("float", "float_normalized", "float_rescaled") and not k.startswith("text_")]
    crosses = [tuple(r.choice(discrete, size=2, replace=False).tolist()) for i in range(min(2, len(discrete) - 1))]
    crosses = [tuple(str(n) for n in c) for c in crosses]
    made = FeatureSpace(features, crosses=crosses, crossing_dim=7, output_mode="dict" if as_dict else "concat")
    train = {n: column(r, k, 70) for n, k in kinds.items()}
    test = {n: column(r, k, 9) for n, k in kinds.items()}
    made.adapt(train)
    return made, {"features": described, "crosses": crosses, "dict": as_dict, "train": train, "test": test, "results": results(made, test)}


def results(made, table):
    out = made({k: np.array(v) if not isinstance(v[0], str) else v for k, v in table.items()})
    out = out if isinstance(out, dict) else {"": out}
    return {k: {"shape": list(v.shape), "dtype": str(keras.backend.standardize_dtype(v.dtype)), "data": np.asarray(v).reshape(-1).tolist()} for k, v in out.items()}


def main():
    if sys.argv[1] == "check":
        table = json.load(open(sys.argv[3]))
        print(json.dumps(results(keras.models.load_model(sys.argv[2]), table)))
        return
    cases = []
    with zipfile.ZipFile(sys.argv[1], "w", zipfile.ZIP_DEFLATED) as z:
        for seed in (*range(8), TEXTS):
            made, case = space(seed)
            with tempfile.TemporaryDirectory() as folder:
                path = os.path.join(folder, "space.keras")
                made.save(path)
                z.write(path, f"{seed}.keras")
            cases.append({"name": str(seed), **case})
        z.writestr("cases.json", json.dumps(cases))


main()
