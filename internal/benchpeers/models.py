#!/usr/bin/env python3
"""Times models of files beside ONNX Runtime, OpenVINO and Keras's backends: python3 models.py [--batches 1,8] [--train 16] [--rounds N] [--together N] [--threads N] NAME...

A NAME is a .keras file, an image network of keras.applications, the word applications for all of them, or drawn-N, a network drawn at random, which
drawn-N:float64 and so on are under another dtype policy (--dtype names one for all that are drawn); drawn stands for the first thirty. recipe-NAME is a
network of internal/recipes, recipes all of them but those of large.py, which are large. Workers and rounds are those of run.py; --only names the peers. A ratio is the best other least time by ours, of the
processor time of the fastest step over all rounds, or with several threads of its time by the clock. --out FILE gets every sample as a line of
JSON; --table FILE prints the table of such a file.
"""
import argparse, collections, json, os, statistics, subprocess, sys
import run

PEER = "peer_file.py"
for name, python, env in (("onnxruntime", run.TF, {"PEER_ENGINE": "onnxruntime"}), ("openvino", run.TF, {"PEER_ENGINE": "openvino"}),
                          ("keras+tensorflow", run.TF, {"PEER_ENGINE": "keras", "KERAS_BACKEND": "tensorflow"}),
                          ("keras+jax", run.TF, {"PEER_ENGINE": "keras", "KERAS_BACKEND": "jax", "JAX_PLATFORMS": "cpu"}),
                          ("keras+torch", run.TORCH, {"PEER_ENGINE": "keras", "KERAS_BACKEND": "torch", **run.KEEP})):
    run.WORKERS["file " + name] = ([python, PEER], env)
PEERS = ["onnxruntime", "openvino", "keras+tensorflow", "keras+jax", "keras+torch"]


RECIPES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "recipes", "recipes.py")


def written(folder, names):
    """Returns the names with the files of recipes, which are written, in place of their names."""
    listed = [n.removeprefix("recipe-") for n in names if n.startswith("recipe-") or n == "large"]
    if not listed and "recipes" not in names:
        return names
    text = subprocess.run([run.TF, RECIPES, folder, *([] if "recipes" in names else listed)], check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout
    return [n for n in names if n not in ("recipes", "large") and not n.startswith("recipe-")] + text.split()


def make(folder, names, dtype):
    names = written(folder, names)
    names = [n for name in names for n in ([f"drawn-{i}" for i in range(30)] if name == "drawn" else [os.path.abspath(name) if name.endswith(".keras") else name])]
    names = [f"{n}:{dtype}" if dtype and n.startswith(("drawn-", "composed-")) and ":" not in n else n for n in names]
    out = subprocess.run([os.environ["GO_WORKER"], "--make", folder, *names], check=True, stdout=subprocess.PIPE, text=True).stdout
    return [json.loads(line) for line in out.splitlines()]


def cases(model, batches, train):
    """Yields (batch, what) of a model; drawn networks have optimizers of their own."""
    for b in batches:
        yield b, "predict"
    for b in train:
        yield b, model.get("optimizer", "sgd")


def measure(group, peers, a, sink, cases):
    """Measures the cases of some models, lists of (batch, what), in turn in all workers."""
    running = {}
    for name in ["gokeras"] + peers:
        keys = {}
        for model in group:
            file = model.get("onnx") if name in ("onnxruntime", "openvino") else model["keras"]
            if file:
                keys |= {f"{file}@b{b}:{what}": (model["name"], b, what) for b, what in cases(model) if what == "predict" or not file.endswith(".onnx")}
        worker = name if name == "gokeras" else "file " + name
        if not keys or not run.available(worker):
            continue
        w = run.Worker(worker, list(keys), a.threads)
        try:
            info = w.read()
        except RuntimeError as e:
            print(f"{', '.join(m['name'] for m in group)}, {name}: {e}", file=sys.stderr)
            continue
        for key, why in info["failed"].items():
            print(f"{name} {key}: {why}", file=sys.stderr)
        running[name] = w, {keys[k]: k for k in info["ready"]}
    for _ in range(a.rounds):
        for model in group:
            for b, what in cases(model):
                for name, (w, keys) in running.items():
                    if key := keys.get((model["name"], b, what)):
                        m = w.measure(key, a.secs)
                        sink({"model": model["name"], "batch": b, "what": what, "worker": name, "least": m["least"], "rate": m["rate"]})
    for w, _ in running.values():
        w.close()


def table(samples):
    best = collections.defaultdict(dict)
    for s in samples:
        row = best[s["model"], s["batch"], s["what"]]
        row[s["worker"]] = min(row.get(s["worker"], float("inf")), s["least"])
    names = [p for p in PEERS if any(p in row for row in best.values())]
    print("\n| model | batch | | ours, ms | " + " | ".join(f"by {n}" for n in names) + " | by the best |\n" + "|---" * (len(names) + 5) + "|")
    ratios = collections.defaultdict(list)
    for (model, batch, what), row in best.items():
        ours = row.get("gokeras")
        if ours is None:
            continue
        others = [f"{row[n] / ours:.2f}" if n in row else "" for n in names]
        ratio = min((row[n] for n in names if n in row), default=0) / ours
        if ratio:
            ratios[what if what in ("predict", "evaluate") else "train"].append(ratio)
        print(f"| {model} | {batch} | {what} | {1e3 * ours:.3g} | {' | '.join(others)} | {f'{ratio:.2f}' if ratio else 'none ran'} |")
    for what, list_ in ratios.items():
        list_.sort()
        at = lambda q: list_[min(int(q * len(list_)), len(list_) - 1)]
        print(f"\n{what}: {len(list_)} rows, by the best other: worst {list_[0]:.2f}, quarter {at(0.25):.2f}, median {statistics.median(list_):.2f}, three quarters {at(0.75):.2f}, best {list_[-1]:.2f}")


def main():
    numbers = lambda text: [int(n) for n in text.split(",") if n]
    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="*", default=["ResNet50", "MobileNetV2", "EfficientNetB0", "ConvNeXtTiny", "drawn"])
    parser.add_argument("--batches", type=numbers, default=[1, 8], help="sizes of batches to predict")
    parser.add_argument("--train", type=numbers, default=[], help="sizes of batches to train on")
    parser.add_argument("--dtype", default="", help="dtype policy of the networks that are drawn, for example float64")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--secs", type=float, default=0.5)
    parser.add_argument("--together", type=int, default=1, help="models that share their workers, which start once for all of them")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--only", type=lambda t: t.split(","), default=PEERS, help="peers to compare with")
    parser.add_argument("--folder", default=os.path.join(os.environ.get("BENCH_DIR", "."), "models"))
    parser.add_argument("--out", default="")
    parser.add_argument("--table", default="")
    a = parser.parse_args()
    if a.table:
        return table(map(json.loads, open(a.table)))
    os.makedirs(a.folder, exist_ok=True)
    samples = []

    def sink(s):
        samples.append(s)
        if a.out:
            with open(a.out, "a") as f:
                f.write(json.dumps(s) + "\n")
    kinds = collections.defaultdict(list)  # JAX has floats of 64 bits in a whole process or not at all
    for model in make(os.path.abspath(a.folder), a.names, a.dtype):
        kinds[model["name"].partition(":")[2]].append(model)
    for models in kinds.values():
        for i in range(0, len(models), a.together):
            measure(models[i:i + a.together], a.only, a, sink, lambda m: cases(m, a.batches, a.train))
    table(samples)


if __name__ == "__main__":
    main()
