#!/usr/bin/env python3
"""Predicts one example at a time from many goroutines at once, beside ONNX Runtime from as many threads: python3 callers.py [--callers 1,2,16] [--secs S] [--rounds N] NAME...

A NAME is one of models.py's. ONNX Runtime runs with one thread for each call and with one for each processor; the better of both counts. A rate is the
best of the rounds, in predictions a second; a ratio is ours by that of ONNX Runtime with as many callers.
"""
import argparse, os, statistics, subprocess, sys, threading, time
import models


def ours(model, callers, a):
    command = [os.environ["GO_WORKER"], "--concurrent", ",".join(map(str, callers)), "--secs", str(a.secs), "--rounds", str(a.rounds), model]
    words = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.split()
    return [float(w) for w in words[1:]]


def rate(run, callers, secs):
    """Returns how many runs a second so many threads get done."""
    counts, over = [0] * callers, threading.Event()

    def call(i):
        while not over.is_set():
            run()
            counts[i] += 1
    threads = [threading.Thread(target=call, args=(i,)) for i in range(callers)]
    run()
    begin = time.perf_counter()
    for t in threads:
        t.start()
    time.sleep(secs)
    over.set()
    for t in threads:
        t.join()
    return sum(counts) / (time.perf_counter() - begin)


def peer(file, callers, a):
    sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "peers"))
    best = [0.0] * len(callers)
    for threads in {1, len(os.sched_getaffinity(0))}:
        sys.argv = [sys.argv[0], "--threads", str(threads)]
        sys.modules.pop("peer_file", None)
        import peer_file
        run = peer_file.onnxruntime(file, 1)
        for _ in range(a.rounds):
            best = [max(b, rate(run, n, a.secs)) for b, n in zip(best, callers)]
    return best


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="+")
    parser.add_argument("--callers", type=lambda t: [int(n) for n in t.split(",")], default=[1, 2, 16])
    parser.add_argument("--secs", type=float, default=0.3)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--folder", default=os.path.join(os.environ.get("BENCH_DIR", "."), "models"))
    a = parser.parse_args()
    os.makedirs(a.folder, exist_ok=True)
    print("| model | callers | ours, 1/s | by one caller | by ONNX Runtime |\n|---|---|---|---|---|")
    ratios = {n: [] for n in a.callers}
    for model in models.make(os.path.abspath(a.folder), a.names, ""):
        rates = ours(model["keras"], a.callers, a)
        others = peer(model["onnx"], a.callers, a) if model.get("onnx") else [0] * len(rates)
        for n, r, o in zip(a.callers, rates, others):
            if o:
                ratios[n].append(r / o)
            print(f"| {model['name']} | {n} | {r:.4g} | {r / rates[0]:.2f} | {f'{r / o:.2f}' if o else ''} |", flush=True)
    for n, all_ in ratios.items():
        if all_:
            print(f"\n{n} callers: {len(all_)} models, by ONNX Runtime: worst {min(all_):.2f}, median {statistics.median(all_):.2f}, best {max(all_):.2f}")


if __name__ == "__main__":
    main()
