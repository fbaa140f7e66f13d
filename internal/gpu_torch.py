"""The workloads of kernels/cuda's TestHardwareSpeed in PyTorch: torch.compile with CUDA graphs, and cuDNN's LSTM.

gpu_torch.py FOLDER writes FOLDER/torch.md and FOLDER/torch.json. GOKERAS_TORCH_DEVICE=cpu tries the program without a GPU.
"""
import json
import os
import sys
import time

import torch
from torch import nn

device = os.environ.get("GOKERAS_TORCH_DEVICE", "cuda")
steps = 200 if device == "cuda" else 2
batch = 64


def wait():
    if device == "cuda":
        torch.cuda.synchronize()


class Last(nn.Module):
    """The last output of an LSTM."""

    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(16, 128, batch_first=True)
        self.dense = nn.Linear(128, 10)

    def forward(self, x):
        return self.dense(self.lstm(x)[0][:, -1])


def best(f, rounds):
    """The least time of a call in milliseconds, of four series."""
    least = float("inf")
    for _ in range(4):
        wait()
        begin = time.perf_counter()
        for _ in range(rounds):
            f()
        wait()
        least = min(least, (time.perf_counter() - begin) / rounds * 1e3)
    return least


def train(model, shape, compiled=True):
    model = model.to(device).to(memory_format=torch.channels_last) if len(shape) == 3 else model.to(device)
    optimizer = torch.optim.Adam(model.parameters(), fused=device == "cuda", capturable=device == "cuda")
    loss = nn.CrossEntropyLoss()
    x, y = torch.randn(batch, *shape, device=device), torch.randint(0, 10, (batch,), device=device)

    def step():
        optimizer.zero_grad(set_to_none=True)
        loss(model(x), y).backward()
        optimizer.step()

    if device != "cuda":
        return best(step, steps)
    if compiled:
        model = torch.compile(model)
    stream = torch.cuda.Stream()  # the whole step as one graph, as here
    with torch.cuda.stream(stream):
        for _ in range(5):
            step()
    wait()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        step()
    return best(graph.replay, steps)


def rows():
    mlp = lambda: nn.Sequential(nn.Linear(784, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 10))
    cnn = nn.Sequential(
        nn.Conv2d(1, 32, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(32, 64, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Dropout(0.5), nn.Linear(1600, 10))
    yield "MLP 784-512-512-10, Adam, batch 64", lambda: train(mlp(), (784,))
    yield "MNIST CNN, Adam, batch 64", lambda: train(cnn, (1, 28, 28))
    yield "LSTM 128 over 100 steps of 16, Adam, batch 64", lambda: train(Last(), (100, 16), compiled=False)
    model = mlp().to(device).eval()
    example = torch.randn(1, 784)

    def predict():
        with torch.inference_mode():
            model(example.to(device)).cpu()

    yield "MLP 784-512-512-10, predict one example", lambda: best(predict, steps)
    n = 8192 if device == "cuda" else 256
    a, b = (torch.randn(n, n, device=device, dtype=torch.bfloat16) for _ in range(2))
    yield f"square bfloat16 product of {n}", lambda: best(lambda: a @ b, 20)


folder, out = sys.argv[1], []
torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
for name, measure in rows():
    try:
        out.append({"workload": name, "device": f"torch {torch.__version__}", "milliseconds": measure()})
    except Exception as e:  # one row less
        out.append({"workload": name, "device": f"torch {torch.__version__}", "error": repr(e)[:200]})
with open(os.path.join(folder, "torch.json"), "w") as f:
    json.dump({"rows": out}, f, indent=2)
with open(os.path.join(folder, "torch.md"), "w") as f:
    f.write("\n| workload | PyTorch | ms |\n|---|---|---|\n")
    for r in out:
        f.write(f"| {r['workload']} | {r['device']} | {r.get('error') or format(r['milliseconds'], '.3f')} |\n")
