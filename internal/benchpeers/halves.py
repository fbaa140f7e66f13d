#!/usr/bin/env python3
"""16-bit floats and quantized layers beside float32, ours beside PyTorch and JAX, in turns on one processor.

    halves.py --worker BINARY [--torch PYTHON] [--jax PYTHON] [--cpu N] [--rounds 3] [--secs 0.2] [--json FILE] SECTION...

Sections: products (GFLOP/s of single products, attention too), training, small (training of the smaller workloads), quantized
(Dense layers), random (products of --count random shapes, of any form, and their distribution). Rates are the best of the rounds; the ratios at the end of a line are ours in bfloat16 by the others.
"""
import argparse, json, os, random, subprocess, sys, threading, time

HERE = os.path.dirname(os.path.abspath(__file__))
PRODUCTS = """product-64x64x64-nn product-128x128x128-nn product-256x256x256-nn product-512x512x512-nn product-1024x1024x1024-nn product-2048x2048x2048-nn
product-64x512x784-nn product-64x512x784-nt product-64x784x512-nt product-784x512x64-tn product-512x512x64-tn product-64x10x512-nn
product-2048x384x128-nn product-2048x128x384-nt product-128x384x2048-tn product-2048x512x128-nn product-2048x128x512-nn product-128x512x2048-tn
product-2048x1000x128-nn product-128x1000x2048-tn product-2048x192x768-nn product-192x768x2048-tn
product-16384x64x64-nn product-64x4096x4096-nn product-64x4096x4096-nt product-1x4096x4096-nt product-4096x64x64-nn product-65536x16x144-nn product-144x16x65536-tn
batched-64x128x128x32-nt batched-64x128x32x128-nn batched-96x64x64x64-nt
attention-16x128x4x32 attention-32x64x3x64 attention-4x512x8x64""".split()
BIG = ["product-4096x4096x4096-nn"]
SECTIONS = {
    "products": [(p, {"ours": ":bfloat16", "ours32": ":float32", "torch": ":bfloat16", "torch32": ":float32", "jax": ":bfloat16"}) for p in PRODUCTS],
    "big": [(p, {"ours": ":bfloat16", "torch": ":bfloat16"}) for p in BIG],
    "training": [(k, {"ours": ":batch+mixed_bfloat16", "ours32": ":batch", "torch": ":cl+bf16", "torch32": ":cl", "jax": ":jit+bf16"})
                 for k in ("W4-adamw", "W3-mom", "W6-adamw")],
    "small": [(k, {"ours": ":batch+mixed_bfloat16", "ours32": ":batch", "torch": ":cl+bf16", "torch32": ":cl", "jax": ":jit+bf16"})
              for k in ("W1-sgd", "W1-adam", "W2-adam", "W5-adam")],
    "quantized": [(f"dense-{b}x4096x4096", {"int8": ":int8", "int4": ":int4", "ours": ":mixed_bfloat16", "ours32": ":float32", "torch": ":bfloat16", "torch32": ":float32",
                                            "torch8": ":int8"}) for b in (1, 8, 64, 512)],
}


def drawn(seed, count, most=1 << 30):
    """Products of lengths from 1 to 4096, each power of two as often as the next, of at most so many multiply-adds."""
    r, rows = random.Random(seed), []
    while len(rows) < count:
        form = r.choice(("product-{}-nn", "product-{}-nt", "product-{}-tn", "batched-{}-nn", "batched-{}-nt", "batched-{}-tn", "dense-{}"))
        n = [round(2 ** r.uniform(0, 12)) for _ in range(3)]
        if form[0] == "b":
            n = [round(2 ** r.uniform(1, 8))] + n
        work = 1
        for v in n:
            work *= v
        if work <= most:
            rows.append((form.format("x".join(map(str, n))), {"ours": ":mixed_bfloat16" if form[0] == "d" else ":bfloat16", "torch": ":bfloat16"}))
    return rows


def distribution(rows):
    """The least, the tenth from below, the median, and the share below 0.9."""
    ratios = sorted(r["ours"] / r["torch"] for r in rows.values() if r["torch"])
    n = len(ratios)
    if n:
        print(f"{n} shapes: worst {ratios[0]:.2f}, a tenth below {ratios[n // 10]:.2f}, median {ratios[n // 2]:.2f}, below 0.9 {sum(x < 0.9 for x in ratios) / n:.0%}")


OURS = ("ours", "ours32", "int8", "int4")


class Worker:
    def __init__(s, command, keys, env):
        s.p = subprocess.Popen(command + ["--threads", "1", *keys], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=env, cwd=HERE)
        s.keys = keys

    def ready(s, secs):
        timer = threading.Timer(secs, s.p.kill)
        timer.start()
        try:
            answer = json.loads(s.p.stdout.readline())
        except ValueError:
            answer = {"ready": [], "failed": {" ".join(s.p.args[:2]): f"it ended, or was not ready after {secs:.0f} s"}}
        timer.cancel()
        for k, e in answer["failed"].items():
            print(f"failed: {k}: {e[:200]}")
        s.keys = set(answer["ready"])

    def measure(s, key, secs):
        if key not in s.keys:
            return None
        s.p.stdin.write(f"{key} {secs}\n")
        s.p.stdin.flush()
        line = s.p.stdout.readline()
        return json.loads(line) if line else None

    def end(s):
        s.p.stdin.close()
        s.p.wait()


def section(name, a):
    end = time.time() + a.limit
    rows = SECTIONS[name]
    env = dict(os.environ, OMP_NUM_THREADS="1", MKL_NUM_THREADS="1", PEER_WARM="0.1", PYTHONPATH=os.path.join(HERE, "peers"))
    commands = {"ours": [a.worker], "torch": [a.torch, os.path.join(HERE, "peers", "peer_torch.py")], "jax": [a.jax, os.path.join(HERE, "peers", "peer_jax.py")]}
    of = lambda kind: "ours" if kind in OURS else kind.rstrip("0123456789")
    workers = {}
    for program, command in commands.items():
        keys = [key + v for key, kinds in rows for kind, v in kinds.items() if of(kind) == program]
        if command[0] and keys:
            workers[program] = Worker(command, keys, env)
            workers[program].ready(a.limit / 2)  # one after the other: they share a processor
    best = {}
    for _ in range(a.rounds):
        for key, kinds in rows:
            for kind, v in kinds.items():
                if time.time() > end:
                    break
                w = workers.get(of(kind))
                m = w and w.measure(key + v, a.secs)
                if m and m["rate"] > best.get((key, kind), {"rate": 0})["rate"]:
                    best[key, kind] = m
    for w in workers.values():
        w.end()
    kinds = list(rows[0][1])
    single = name not in ("training", "small")
    unit = "GFLOP/s" if single else "a second"
    print(f"\n{name}, {unit}: " + " ".join(kinds) + " | ours16 by ours32, torch16, torch32, jax16")
    result = {}
    for key, _ in rows:
        rate = lambda kind: best.get((key, kind), {"rate": 0})["rate"]
        flops = max([m["flops"] for (k, kind), m in best.items() if k == key and kind in OURS], default=0) / 1e9 if single else 1
        by = lambda kind: f"{rate('ours') / rate(kind):.2f}" if rate(kind) else "-"
        print(f"{key:32s}" + " ".join(f"{rate(k) * flops:8.1f}" for k in kinds) + " | " + " ".join(by(k) for k in ("ours32", "torch", "torch32", "jax")) +
              (f" | int8 by ours16 {rate('int8') / max(rate('ours'), 1e-9):.2f}, by ours32 {rate('int8') / max(rate('ours32'), 1e-9):.2f}" if "int8" in kinds else ""), flush=True)
        result[key] = {k: rate(k) * flops for k in kinds}
    return result


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--worker", required=True)
    p.add_argument("--torch", default="")
    p.add_argument("--jax", default="")
    p.add_argument("--cpu", type=int, default=-1, help="the processor on which everything runs")
    p.add_argument("--rounds", type=int, default=3)
    p.add_argument("--secs", type=float, default=0.2)
    p.add_argument("--limit", type=float, default=600, help="seconds for a section")
    p.add_argument("--json")
    p.add_argument("--seed", type=int, default=1, help="of the random shapes")
    p.add_argument("--count", type=int, default=60, help="of the random shapes")
    p.add_argument("--match", default="", help="only the keys that contain this")
    p.add_argument("sections", nargs="*", default=[])
    a = p.parse_args()
    if a.cpu >= 0:
        os.sched_setaffinity(0, {a.cpu})
    SECTIONS["random"] = drawn(a.seed, a.count)
    results = {}
    for name in a.sections or SECTIONS:
        SECTIONS[name] = [r for r in SECTIONS[name] if a.match in r[0]]
        if SECTIONS[name]:
            results[name] = section(name, a)
        if name == "random":
            distribution(results.get(name, {}))
    if a.json:
        with open(a.json, "w") as f:
            json.dump(results, f, indent=1)


if __name__ == "__main__":
    sys.exit(main())
