"""One epoch of the convolutional network (W2) on the 60,000 images of MNIST, batch 64, shuffled, all threads.
Usage: epoch.py tf|kjax|torch DIRECTORY, which holds the IDX files, plain or as .gz. Prints one JSON line: seconds of training, accuracy on the test images."""
import gzip
import json
import os
import sys
import time

import numpy as np

peer, directory = sys.argv[1:3]


def idx(name, header):
    path = os.path.join(directory, name)
    raw = gzip.open(path + ".gz").read() if os.path.exists(path + ".gz") else open(path, "rb").read()
    return np.frombuffer(raw, np.uint8, offset=header)


def part(name):
    images = idx(name + "-images-idx3-ubyte", 16).reshape(-1, 28, 28, 1).astype(np.float32) / 255
    return images, idx(name + "-labels-idx1-ubyte", 8).astype(np.int32)


(x, y), (xt, yt) = part("train"), part("t10k")
if peer == "torch":
    import torch
    import torch.nn.functional as F
    import peer_torch as P

    def images(a):
        return torch.from_numpy(a).permute(0, 3, 1, 2).contiguous()

    x, y, xt, yt = images(x), torch.from_numpy(y).long(), images(xt), torch.from_numpy(yt).long()
    m = P.model("W2")
    o = P.optimizer("sgd", m.parameters())
    begin = time.perf_counter()
    for rows in torch.randperm(len(x)).split(64):
        o.zero_grad()
        F.cross_entropy(m(x[rows]), y[rows]).backward()
        o.step()
    seconds = time.perf_counter() - begin
    with torch.inference_mode():
        accuracy = (m(xt).argmax(1) == yt).float().mean().item()
else:
    import peer_keras as P
    m = P.model("W2")
    m.compile(P.optimizer("sgd"), P.loss("W2"), metrics=["accuracy"])
    begin = time.perf_counter()
    m.fit(x, y, batch_size=64, epochs=1, verbose=0)
    seconds = time.perf_counter() - begin
    accuracy = float(m.evaluate(xt, yt, batch_size=256, verbose=0)[1])
print(json.dumps({"seconds": seconds, "accuracy": accuracy}), flush=True)
os._exit(0)
