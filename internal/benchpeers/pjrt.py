#!/usr/bin/env python3
"""Measures training steps and predictions through a PJRT plugin beside JAX's jit on the same plugin: pjrt.py [--rounds N] [--secs S] [KEY...]

The key dispatch is a program that squares four numbers in place, launched and waited for.

Both workers answer each key in turn, round after round. A ratio is the least time of ours by the least of JAX's, of the processor and by the
clock. Steps get their batches from host memory. Ours is that of Model.Fit, so it includes cutting batches, metrics and callbacks.
--compile N measures first steps instead, each in N processes of its own: tracing, lowering, compiling and one step of a model that is there.

Environment: JAX_PY, a Python binary that has JAX, GO_WORKER, our worker's binary, built with -tags pjrt, GOKERAS_PJRT_PLUGIN, the plugin's file.
"""
import argparse, os, sys
import run

KEYS = ["W1-sgd", "W1-adam", "W2-sgd", "W2-adam", "W3-mom", "W4-adamw", "W5-adam", "W1-b1", "W2-b1", "W1-b256", "W2-b256", "dispatch"]


def us(seconds):
    return f"{seconds * 1e6:.{0 if seconds > 1e-4 else 1}f}"


def first_steps(a, names):
    print("| workload | ours, s | JAX, s | ratio | ours, processor s | JAX's | ratio |\n|---|---|---|---|---|---|---|")
    for key in [k for k in a.keys if k != "dispatch"]:
        best = {}
        for r in range(a.compile):
            for n in names if r % 2 else names[::-1]:
                full = key + ":" + {"ours": "batch", "jax": "fed"}[n]
                w = run.Worker(n, [full], a.threads)
                wall, cpu = w.read()["first"][full]
                w.close()
                old = best.get(n, (wall, cpu))
                best[n] = min(old[0], wall), min(old[1], cpu)
        (ow, oc), (jw, jc) = best["ours"], best["jax"]
        print(f"| {key} | {ow:.2f} | {jw:.2f} | {ow / jw:.2f} | {oc:.2f} | {jc:.2f} | {oc / jc:.2f} |", flush=True)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--rounds", type=int, default=10)
    p.add_argument("--secs", type=float, default=0.5)
    p.add_argument("--compile", type=int, default=0)
    p.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    p.add_argument("keys", nargs="*", default=KEYS)
    a = p.parse_args()
    plugin = os.environ["GOKERAS_PJRT_PLUGIN"]
    run.WORKERS["ours"] = ([os.environ["GO_WORKER"], "--device", "xla:0"], {})
    run.WORKERS["jax"] = ([os.environ["JAX_PY"], "peer_jax.py"], {"PEER_JAX_PLUGIN": plugin})

    def variant(worker, key):
        if key == "dispatch":
            return key + {"ours": ":launch", "jax": ":jit"}[worker]
        return key + ":" + ({"ours": "predict", "jax": "jit"} if "-b" in key else {"ours": "fit", "jax": "fed"})[worker]
    names = ["ours", "jax"]
    if a.compile:
        return first_steps(a, names)
    workers = {n: run.Worker(n, [variant(n, k) for k in a.keys], a.threads) for n in names}
    for n in names:
        ready = workers[n].read()
        for key, why in ready["failed"].items():
            print(f"{n}: {key}: {why}", file=sys.stderr)
        if ready["failed"]:
            sys.exit(1)
    best = {}
    for r in range(a.rounds):
        for key in a.keys:
            for n in names if r % 2 else names[::-1]:
                m = workers[n].measure(variant(n, key), a.secs)
                step = m["p50"] / 1e6 if "p50" in m else m["wall"] / m["steps"]
                cpu = m["cpu"] * m["real"] / m["steps"]
                old = best.get((key, n), (step, cpu))
                best[key, n] = min(old[0], step), min(old[1], cpu)
    print("| workload | ours, us | JAX, us | ratio | ours, processor us | JAX's | ratio |\n|---|---|---|---|---|---|---|")
    for key in a.keys:
        (ow, oc), (jw, jc) = best[key, "ours"], best[key, "jax"]
        print(f"| {key} | {us(ow)} | {us(jw)} | {ow / jw:.2f} | {us(oc)} | {us(jc)} | {oc / jc:.2f} |")
    for w in workers.values():
        w.close()


if __name__ == "__main__":
    main()
