#!/usr/bin/env python3
"""Predicts and trains with batches of many lengths, beside Keras on PyTorch, which compiles nothing: python3 lengths.py [--count N] [--seed S] [--rounds N]

Networks with open axes are drawn at random: sequences of tokens and of numbers, and images. A table has the microseconds of a prediction of one example and of
a training step on 16 with batches of one length, with lengths that were not seen before, and with 100 lengths in random order, and what the last takes by
PyTorch's time for the same.
"""
import argparse, os, random, statistics, subprocess, time

os.environ["KERAS_BACKEND"] = "torch"
import keras, numpy, torch
from keras import layers as L

SHORTEST, LONGEST, EACH = 16, 128, 100  # as in worker/lengths.go


def tokens(r):
    i = L.Input((None,), dtype="int32")
    return i, L.Embedding(1000, r.choice([16, 32, 64, 128]), mask_zero=r.random() < 0.3)(i)


def numbers(r):
    i = L.Input((None, r.choice([3, 16, 40])))
    return i, L.Dense(r.choice([16, 32, 64]))(i)


def transformer(r):
    i, x = tokens(r)
    for _ in range(r.choice([1, 2, 4])):
        heads = r.choice([1, 2, 4])
        x = L.LayerNormalization()(x + L.MultiHeadAttention(heads, x.shape[-1] // heads)(x, x))
        x = L.LayerNormalization()(x + L.Dense(x.shape[-1])(L.Dense(x.shape[-1] * r.choice([2, 4]), activation=r.choice(["gelu", "relu"]))(x)))
    return i, L.Dense(4)(L.GlobalAveragePooling1D()(x))


def recurrent(r):
    i, x = r.choice([tokens, numbers])(r)
    for n in range(r.choice([1, 2])):
        layer = r.choice([L.GRU, L.LSTM])(r.choice([16, 32, 64]), return_sequences=True)
        x = L.Bidirectional(layer)(x) if r.random() < 0.5 else layer(x)
    return i, L.Dense(10)(x)


def convolutions(r):
    i, x = numbers(r)
    for _ in range(r.choice([1, 2, 3])):
        x = L.Conv1D(r.choice([16, 32, 64]), r.choice([3, 5]), padding=r.choice(["same", "causal"]), activation=r.choice(["relu", "elu", "gelu"]))(x)
        if r.random() < 0.5:
            x = L.MaxPooling1D(2, padding="same")(x)
    return i, L.Dense(10)(r.choice([L.GlobalMaxPooling1D, L.GlobalAveragePooling1D])()(x))


def images(r):
    i = x = L.Input((None, None, r.choice([1, 3])))
    for _ in range(r.choice([2, 3, 4])):
        x = L.Conv2D(r.choice([8, 16, 32]), 3, strides=r.choice([1, 2]), padding="same", use_bias=False)(x)
        x = L.Activation(r.choice(["relu", "silu"]))(L.BatchNormalization()(x))
    return i, r.choice([L.Conv2D(5, 1), lambda x: L.Dense(5)(L.GlobalAveragePooling2D()(x))])(x)


def batch(model, n, r, length=None):
    i = model.inputs[0]
    shape = [n] + [a or length or r.randrange(SHORTEST, LONGEST) for a in i.shape[1:]]
    draw = numpy.random.default_rng(1)
    return draw.integers(1, 10, shape).astype("int32") if i.dtype == "int32" else draw.standard_normal(shape).astype("float32")


def mean(run, list_):
    begin = time.perf_counter()
    for b in list_:
        run(b)
    return (time.perf_counter() - begin) * 1e6 / len(list_)


def peer(model, rounds):
    """Returns the microseconds of a prediction and of a step with lengths in random order."""
    times, r = [], random.Random(3)
    optimizer = torch.optim.SGD([v.value for v in model.trainable_variables], 1e-3)

    def predict(b):
        with torch.no_grad():
            model(b[0], training=False)

    def step(b):
        optimizer.zero_grad()
        torch.nn.functional.mse_loss(model(b[0], training=True), b[1]).backward()
        optimizer.step()
    for n, run in ((1, predict), (16, step)):
        drawn = [torch.from_numpy(batch(model, n, r)) for _ in range(EACH)]
        with torch.no_grad():
            drawn = [(x, model(x, training=False)) for x in drawn]
        mean(run, drawn[:10])
        times.append(min(mean(run, drawn) for _ in range(rounds)))
    return times


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--count", type=int, default=12)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--folder", default=os.path.join(os.environ.get("BENCH_DIR", "."), "lengths"))
    a = parser.parse_args()
    os.makedirs(a.folder, exist_ok=True)
    torch.set_num_threads(len(os.sched_getaffinity(0)))
    print("| network | | one length, µs | new lengths | known lengths | by PyTorch |\n|---|---|---|---|---|---|")
    by, slower = {"predict": [], "train": []}, {"predict": [], "train": []}
    for number in range(a.seed, a.seed + a.count):
        r = random.Random(number)
        kind = (transformer, recurrent, convolutions, images)[number % 4]
        keras.utils.set_random_seed(number)
        inputs, outputs = kind(r)
        model = keras.Model(inputs, outputs, name=f"{kind.__name__}_{number}")
        path = os.path.join(a.folder, model.name + ".keras")
        model.save(path)
        words = subprocess.run([os.environ["GO_WORKER"], "--lengths", "--rounds", str(a.rounds), path], check=True, stdout=subprocess.PIPE, text=True).stdout.split()
        ours = [float(w) for w in words[1:]]
        for k, (what, theirs) in enumerate(zip(by, peer(model, a.rounds))):
            once, fresh, known = ours[3 * k:3 * k + 3]
            by[what].append(theirs / known)
            slower[what].append(fresh / known)
            print(f"| {model.name} | {what} | {once:.4g} | {fresh:.4g} | {known:.4g} | {theirs / known:.2f} |", flush=True)
    for what in by:
        print(f"\n{what}: {len(by[what])} networks, by PyTorch's time: worst {min(by[what]):.2f}, median {statistics.median(by[what]):.2f}; a new length takes {statistics.median(slower[what]):.1f} times a known one at the median, {max(slower[what]):.1f} at most")


if __name__ == "__main__":
    main()
