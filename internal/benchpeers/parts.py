#!/usr/bin/env python3
"""Times optimizers, losses and metrics beside Keras's backends: python3 parts.py [--count 20] [--seed 1] [--rounds N] [--threads N].

peers/make_parts.py draws models whose steps are mostly an optimizer's, a loss's or a metric's work, with random options. Ratios are those of models.py:
the best other least time of a step by ours.
"""
import argparse, json, os, subprocess
import models, run

PEERS = [p for p in models.PEERS if p.startswith("keras+")]


def make(folder, count, seed):
    script = os.path.join(run.PEERS, "make_parts.py")
    out = subprocess.run([run.TF, script, folder, str(count), str(seed)], check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout
    return [json.loads(line) for line in out.splitlines()]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--count", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--secs", type=float, default=0.1)
    parser.add_argument("--together", type=int, default=10, help="parts that share their workers, which start once for all of them")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--only", type=lambda t: t.split(","), default=PEERS, help="peers to compare with")
    a = parser.parse_args()
    folder = os.path.abspath(os.path.join(os.environ.get("BENCH_DIR", "."), "parts"))
    os.makedirs(folder, exist_ok=True)
    parts, samples = make(folder, a.count, a.seed), []
    for i in range(0, len(parts), a.together):
        models.measure(parts[i:i + a.together], a.only, a, samples.append, cases=lambda p: [(p["batch"], p["what"])])
    models.table(samples)


if __name__ == "__main__":
    main()
