#!/usr/bin/env python3
"""Measures this library beside other frameworks and prints one table: python3 run.py [--rounds N] [--secs S] [--threads 1,2] [--only TEXT] [--out FILE]

Every framework is a worker process (peers/, worker/) that builds and warms up its workloads and then answers "KEY SECONDS" lines. Samples are
interleaved: in every round each workload is measured once in each worker, right one after the other, so that all see the same machine. A ratio
is the median over the rounds of our rate by the best other rate of the same round.

Environment: TF_PY and TORCH_PY, the Python binaries that have the frameworks (run.sh makes them), GO_WORKER, our worker's binary, GOMLX_WORKER,
that of GoMLX.
"""
import argparse, collections, json, os, statistics, subprocess, sys, time

HERE = os.path.dirname(os.path.abspath(__file__))
PEERS = os.path.join(HERE, "peers")
TF, TORCH = os.environ.get("TF_PY"), os.environ.get("TORCH_PY")
KEEP = {"MALLOC_MMAP_THRESHOLD_": "4294967296", "MALLOC_TRIM_THRESHOLD_": "17179869184", "MALLOC_TOP_PAD_": "268435456"}  # glibc keeps freed memory
WORKERS = {  # name: (command, environment)
    "gokeras": ([os.environ.get("GO_WORKER")], {}),
    "tensorflow": ([TF, "peer_keras.py"], {"KERAS_BACKEND": "tensorflow", "TF_ENABLE_ONEDNN_OPTS": "0"}),
    "tensorflow+onednn": ([TF, "peer_keras.py"], {"KERAS_BACKEND": "tensorflow", "TF_ENABLE_ONEDNN_OPTS": "1", **KEEP}),
    "keras+jax": ([TF, "peer_keras.py"], {"KERAS_BACKEND": "jax"}),
    "jax": ([TF, "peer_jax.py"], {}),
    "onnxruntime": ([TF, "peer_ort.py"], {}),
    "torch": ([TORCH, "peer_torch.py"], KEEP),
    "gomlx": ([os.environ.get("GOMLX_WORKER")], {}),
}
ROWS = [  # workload, what it is, bar, {worker: variants}
    ("W1-sgd", "MLP, SGD", 1.2, {"gokeras": "fit", "jax": "jit", "torch": "eager comp", "tensorflow+onednn": "tight", "tensorflow": "fit", "gomlx": "go"}),
    ("W1-adam", "MLP, Adam", 1.2, {"gokeras": "fit", "jax": "jit", "torch": "eager", "tensorflow+onednn": "tight", "gomlx": "go"}),
    ("W2-sgd", "CNN, SGD", 1.5, {"gokeras": "fit", "jax": "jit", "torch": "cl", "tensorflow+onednn": "fit tight", "tensorflow": "fit", "gomlx": "go"}),
    ("W2-adam", "CNN, Adam", 1.5, {"gokeras": "fit", "torch": "cl", "tensorflow+onednn": "fit tight", "gomlx": "go"}),
    ("W3-mom", "ResNet-20, momentum", 1.15, {"gokeras": "fit", "torch": "cl", "tensorflow+onednn": "tight"}),
    ("W4-adamw", "GPT, AdamW", 1.2, {"gokeras": "fit", "torch": "eager", "jax": "jit", "tensorflow+onednn": "tight"}),
    ("W5-adam", "LSTM, Adam", 1.25, {"gokeras": "fit", "torch": "eager", "jax": "jit", "tensorflow+onednn": "tight"}),
    ("W10-sgd", "Dense(1), steps through Fit", 50, {"gokeras": "fit", "tensorflow": "fit", "keras+jax": "fit"}),
    ("W1-b1", "predict 1, MLP", 1.0, {"gokeras": "predict", "tensorflow": "pob lite", "onnxruntime": "run", "torch": "call script", "jax": "jit"}),
    ("W2-b1", "predict 1, CNN", 1.3, {"gokeras": "predict", "tensorflow": "pob lite", "onnxruntime": "run", "torch": "call script", "jax": "jit"}),
    ("W1-b256", "predict 256, MLP", 1.0, {"gokeras": "predict", "tensorflow": "lite", "onnxruntime": "run", "torch": "script", "jax": "jit"}),
    ("W2-b256", "predict 256, CNN", 1.2, {"gokeras": "predict", "tensorflow": "lite", "onnxruntime": "run", "torch": "cl script"}),
]


class Worker:
    def __init__(self, name, keys, threads):
        command, env = WORKERS[name]
        t = str(threads)
        cpus = ",".join(str(c) for c in sorted(os.sched_getaffinity(0))[-threads:])
        env = dict(os.environ, OMP_NUM_THREADS=t, MKL_NUM_THREADS=t, GOMAXPROCS=t, TF_CPP_MIN_LOG_LEVEL="2", **env)
        self.process = subprocess.Popen(["taskset", "-c", cpus, *command, "--threads", t, *keys], cwd=PEERS, env=env, text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)

    def read(self):
        """Returns the next object that the worker printed; what frameworks print beside them is passed on."""
        while line := self.process.stdout.readline():
            if line.startswith("{"):
                return json.loads(line)
            print(line, end="", file=sys.stderr)
        raise RuntimeError(f"the worker ended with status {self.process.wait()}")

    def measure(self, key, secs):
        self.process.stdin.write(f"{key} {secs}\n")
        self.process.stdin.flush()
        return self.read()

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def available(name):
    return all(WORKERS[name][0])


def measure(a, threads, rows):
    """Returns {workload: [{(worker, variant): measurement}, one for each round]}."""
    keys = collections.defaultdict(list)
    for workload, _, _, workers in rows:
        for name, variants in workers.items():
            if available(name):
                keys[name] += [f"{workload}:{v}" for v in variants.split()]
    running, ready = {}, {}
    for name, list_ in keys.items():
        running[name] = Worker(name, list_, threads)
        try:
            info = running[name].read()
        except RuntimeError as e:
            print(f"{name}: {e}", file=sys.stderr)
            del running[name]
            continue
        ready[name] = set(info["ready"])
        for key, why in info["failed"].items():
            print(f"{name} {key}: {why}", file=sys.stderr)
    results = collections.defaultdict(list)
    for r in range(a.rounds):
        for workload, _, _, workers in rows:
            samples = {}
            for name in workers:
                for variant in workers[name].split():
                    key = f"{workload}:{variant}"
                    if name in running and key in ready[name]:
                        m = running[name].measure(key, a.secs)
                        samples[name, variant] = m
                        if a.out:
                            with open(a.out, "a") as f:
                                f.write(json.dumps(dict(m, worker=name, threads=threads, round=r)) + "\n")
            results[workload].append(samples)
    for w in running.values():
        w.close()
    return results


def table(results, threads, rows):
    print(f"\n{threads} thread(s)\n\n| workload | ours | best other | ratio | bar | % of FMA peak | ours p50 us | best other p50 us |\n|---|---|---|---|---|---|---|---|")
    for workload, title, bar, _ in rows:
        rounds = [s for s in results[workload] if any(k[0] == "gokeras" for k in s)]
        if not rounds:
            continue
        mine = [max((m for k, m in s.items() if k[0] == "gokeras"), key=lambda m: m["rate"]) for s in rounds]
        others = [max(((m["rate"], k, m) for k, m in s.items() if k[0] != "gokeras"), key=lambda t: t[0], default=None) for s in rounds]
        rate = statistics.median(m["rate"] for m in mine)
        peak = statistics.median(m["rate"] * m["flops"] / m["peak"] for m in mine)
        p50 = f"{statistics.median(m['p50'] for m in mine):.0f}" if "p50" in mine[0] else ""
        best, ratio, other50 = "none ran", "", ""
        if all(others):
            name, variant = collections.Counter(o[1] for o in others).most_common(1)[0][0]
            best = f"{statistics.median(o[0] for o in others):,.0f} ({name} {variant})"
            ratio = f"{statistics.median(m['rate'] / o[0] for m, o in zip(mine, others)):.2f}"
            other50 = f"{statistics.median(o[2]['p50'] for o in others):.0f}" if "p50" in others[0][2] else ""
        percent = f"{100 * peak:.0f}" if peak else ""
        print(f"| {title} | {rate:,.0f} | {best} | {ratio} | {bar} | {percent} | {p50} | {other50} |")
    beside("gomlx", "GoMLX", results, rows)


def beside(name, label, results, rows):
    """One other worker's rates, where it is not the best and so not in the table."""
    lines = []
    for workload, title, _, workers in rows:
        pairs = [(max(m["rate"] for k, m in s.items() if k[0] == "gokeras"), max(m["rate"] for k, m in s.items() if k[0] == name))
                 for s in results[workload] if {"gokeras", name} <= {k[0] for k in s}]
        if pairs:
            lines.append(f"| {title} | {statistics.median(o for _, o in pairs):,.0f} | {statistics.median(m / o for m, o in pairs):.1f} |")
    if lines:
        print(f"\n| workload | {label} | ours by {label} |\n|---|---|---|", *lines, sep="\n")


def first_steps(rounds):
    """Seconds from the start of a process to its first training step."""
    commands = {"gokeras": [os.environ.get("GO_WORKER"), "--first-step"]}
    for name, python in (("tf", TF), ("kjax", TF), ("jax", TF), ("torch", TORCH)):
        commands[name] = [python, "first_step.py", name]
    print("\n| process start to first CNN training step | seconds, median | least |\n|---|---|---|")
    for name, command in commands.items():
        if not all(command):
            continue
        env = dict(os.environ, TF_CPP_MIN_LOG_LEVEL="2", KERAS_BACKEND="jax" if name == "kjax" else "tensorflow")
        times = []
        for _ in range(rounds + 1):  # the first fills the page cache
            begin = time.perf_counter()
            if subprocess.run(command, cwd=PEERS, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode == 0:
                times.append(time.perf_counter() - begin)
        if len(times) > 1:
            print(f"| {name} | {statistics.median(times[1:]):.2f} | {min(times[1:]):.2f} |")


def memory():
    """The largest resident size of a fresh process that trains for a second."""
    print("\n| peak memory of training, MB | ours | others | ours by torch |\n|---|---|---|---|")
    for workload, title, _, workers in ROWS:
        if workload not in ("W2-sgd", "W3-mom", "W4-adamw"):
            continue
        sizes = {}
        for name in workers:
            if available(name):
                key = f"{workload}:{workers[name].split()[0]}"
                w = Worker(name, [key], 1)
                try:
                    if key in w.read()["ready"]:
                        sizes[name] = w.measure(key, 1.0)["rss"]
                    w.close()
                except RuntimeError as e:
                    print(f"{name}: {e}", file=sys.stderr)
        ours = sizes.pop("gokeras", None)
        if ours and sizes:
            others = ", ".join(f"{name} {size:.0f}" for name, size in sorted(sizes.items(), key=lambda s: s[1]))
            print(f"| {title} | {ours:.0f} | {others} | {ours / sizes['torch'] if 'torch' in sizes else float('nan'):.2f} |")


def epochs(directory, rounds):
    """Whole processes that train the convolutional network for one epoch on 60,000 images."""
    commands = {"gokeras": ([os.environ.get("GO_WORKER"), "--epoch", directory], {})}
    for name, python, peer in (("tensorflow", TF, "tf"), ("tensorflow+onednn", TF, "tf"), ("keras+jax", TF, "kjax"), ("torch", TORCH, "torch")):
        commands[name] = ([python, "epoch.py", peer, directory], WORKERS[name][1])
    results = collections.defaultdict(list)
    for _ in range(rounds):
        for name, (command, env) in commands.items():
            if not command[0]:
                continue
            begin = time.perf_counter()
            p = subprocess.run(command, cwd=PEERS, env=dict(os.environ, TF_CPP_MIN_LOG_LEVEL="2", **env), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
            if p.returncode == 0:
                results[name].append((time.perf_counter() - begin, json.loads(p.stdout.splitlines()[-1])))
    print("\n| one epoch of MNIST, all threads | whole process, s | training, s | test accuracy |\n|---|---|---|---|")
    for name, list_ in results.items():
        middle = [statistics.median(v) for v in ([t for t, _ in list_], [r["seconds"] for _, r in list_], [r["accuracy"] for _, r in list_])]
        print(f"| {name} | {middle[0]:.1f} | {middle[1]:.1f} | {middle[2]:.4f} |")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--secs", type=float, default=0.7)
    parser.add_argument("--threads", default="1,%d" % len(os.sched_getaffinity(0)))
    parser.add_argument("--only", default="", help="workloads whose key contains this")
    parser.add_argument("--mnist", default=os.environ.get("MNIST_DIR", ""), help="directory with MNIST's IDX files, for the row of a whole epoch")
    parser.add_argument("--out", default="", help="file that gets every sample as a JSON line")
    a = parser.parse_args()
    rows = [r for r in ROWS if a.only in r[0]]
    for name in WORKERS:
        if not available(name):
            print(f"{name}: not installed, left out", file=sys.stderr)
    for threads in sorted({int(t) for t in a.threads.split(",")}):
        table(measure(a, threads, rows), threads, rows)
    if not a.only:
        first_steps(3)
        memory()
        print("", flush=True)
        subprocess.run([os.environ["GO_WORKER"], "--scaling", "--rounds", "9"], check=True)
        if a.mnist:
            epochs(os.path.abspath(a.mnist), 2)
        else:
            print("one epoch of MNIST is left out: name a directory of IDX files with --mnist or MNIST_DIR", file=sys.stderr)


if __name__ == "__main__":
    main()
