"""The workloads of kernels/cuda's TestHardwareSpeed in PyTorch: as CUDA graphs, then with torch.compile too, and cuDNN's LSTM.

gpu_torch.py FOLDER writes FOLDER/torch.md and FOLDER/torch.json after each row, and prints when it is done. What is kept is the least time.
torch.compile takes a minute for the large models: what comes last may be cut off. GOKERAS_TORCH_DEVICE=cpu tries the program without a GPU.
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
compiling = False  # in the second pass


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
    if compiled and compiling:
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


class Bottleneck(nn.Module):
    """A block of ResNet-50."""

    def __init__(self, inside, outside, stride, before):
        super().__init__()
        width, self.relu = outside // 4, nn.ReLU()
        conv = lambda a, b, k, s=1: nn.Sequential(nn.Conv2d(a, b, k, s, k // 2, bias=False), nn.BatchNorm2d(b))
        self.short = conv(before, outside, 1, stride) if inside == 0 else nn.Identity()
        self.first, self.second, self.third = conv(before, width, 1, stride), conv(width, width, 3), conv(width, outside, 1)

    def forward(self, x):
        return self.relu(self.third(self.relu(self.second(self.relu(self.first(x))))) + self.short(x))


def resnet50():
    parts, before = [nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(), nn.MaxPool2d(3, 2, 1)], 64
    for stage, (outside, blocks) in enumerate([(256, 3), (512, 4), (1024, 6), (2048, 3)]):
        for i in range(blocks):
            parts.append(Bottleneck(i, outside, 2 if stage > 0 and i == 0 else 1, before))
            before = outside
    return nn.Sequential(*parts, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(2048, 1000))


class Block(nn.Module):
    """A block of GPT-2, with PyTorch's own attention."""

    def __init__(self, width, heads):
        super().__init__()
        self.heads, self.norm, self.second = heads, nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.wide, self.back = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        q, k, v = (p.unflatten(-1, (self.heads, -1)).transpose(1, 2) for p in self.qkv(self.norm(x)).chunk(3, -1))
        y = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(y.transpose(1, 2).flatten(2))
        return x + self.back(nn.functional.gelu(self.wide(self.second(x))))


class GPT2(nn.Module):
    def __init__(self, blocks=12, width=768, heads=12, words=50304, places=1024):
        super().__init__()
        self.tokens, self.places = nn.Embedding(words, width), nn.Embedding(places, width)
        self.blocks = nn.Sequential(*(Block(width, heads) for _ in range(blocks)))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, words, bias=False)

    def forward(self, ids):
        x = self.tokens(ids) + self.places(torch.arange(ids.shape[1], device=ids.device))
        return self.head(self.norm(self.blocks(x)))


def train_large(model, x, classes, targets, rounds):
    """A step in bfloat16 with torch.compile, as one CUDA graph."""
    model = model.to(device)
    if x.dim() == 4:
        model, x = model.to(memory_format=torch.channels_last), x.contiguous(memory_format=torch.channels_last)
    optimizer = torch.optim.Adam(model.parameters(), fused=device == "cuda", capturable=device == "cuda")
    y = torch.randint(0, classes, targets, device=device).flatten()
    forward = torch.compile(model) if compiling else model

    def step():
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast(device, torch.bfloat16):
            loss = nn.functional.cross_entropy(forward(x).flatten(0, -2), y)
        loss.backward()
        optimizer.step()

    if device != "cuda":
        return best(step, 1)
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        for _ in range(4):
            step()
    wait()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        step()
    return best(graph.replay, rounds)


def large():
    if device == "cuda":
        yield "ResNet-50, mixed bfloat16, Adam, batch 256", lambda: train_large(resnet50(), torch.randn(256, 3, 224, 224, device=device), 1000, (256,), 20)
        yield "GPT-2 124M, mixed bfloat16, Adam, 1024 tokens, batch 16", lambda: train_large(
            GPT2(), torch.randint(0, 50304, (16, 1024), device=device), 50304, (16, 1024), 20)
    else:
        yield "ResNet-50", lambda: train_large(resnet50(), torch.randn(1, 3, 64, 64), 1000, (1,), 1)
        yield "GPT-2", lambda: train_large(GPT2(1, 16, 2, 32, 16), torch.randint(0, 32, (1, 16)), 32, (1, 16), 1)


def rows():
    mlp = lambda: nn.Sequential(nn.Linear(784, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 10))
    cnn = nn.Sequential(
        nn.Conv2d(1, 32, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(32, 64, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Dropout(0.5), nn.Linear(1600, 10))
    yield "MLP 784-512-512-10, Adam, batch 64", lambda: train(mlp(), (784,))
    yield "MNIST CNN, Adam, batch 64", lambda: train(cnn, (1, 28, 28))
    yield "LSTM 128 over 100 steps of 16, Adam, batch 64", lambda: train(Last(), (100, 16), compiled=False)

    def predict(model, *shape):
        model, example = model.to(device).eval(), torch.randn(1, *shape)

        def call():
            with torch.inference_mode():
                model(example.to(device)).cpu()

        return best(call, steps)

    yield "predict one example, MLP 784-512-512-10", lambda: predict(mlp(), 784)
    yield "predict one example, MNIST CNN", lambda: predict(cnn, 1, 28, 28)
    yield from large()
    n = 8192 if device == "cuda" else 256
    a, b = (torch.randn(n, n, device=device, dtype=torch.bfloat16) for _ in range(2))
    yield f"square bfloat16 product of {n}", lambda: best(lambda: a @ b, 20)


torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False


def write(folder, out):
    with open(os.path.join(folder, "torch.json"), "w") as f:
        json.dump({"rows": list(out.values())}, f, indent=2)
    with open(os.path.join(folder, "torch.md"), "w") as f:
        f.write("\n| workload | PyTorch | ms |\n|---|---|---|\n")
        for r in out.values():
            f.write(f"| {r['workload']} | {r['device']} | {r.get('error') or format(r['milliseconds'], '.3f')} |\n")


if __name__ == "__main__":
    folder, out, began = sys.argv[1], {}, time.time()
    print(f"torch {torch.__version__}", flush=True)
    for compiling in (False, True) if device == "cuda" else (False,):
        for name, measure in sorted(rows(), key=lambda r: compiling and "mixed" not in r[0]):  # then the large ones first
            if compiling and (not name.endswith("batch 64") and "mixed" not in name or name.startswith("LSTM")):
                continue  # there is nothing to compile
            how = f"torch {torch.__version__}" + (", torch.compile" if compiling else "")
            try:
                row = {"workload": name, "device": how, "milliseconds": measure()}
            except Exception as e:  # one row less
                row = {"workload": name, "device": how, "error": repr(e)[:200]}
            print(f"{time.time() - began:6.1f} s  {name}, {how}: {row.get('error') or row['milliseconds']}", flush=True)
            if row.get("milliseconds", float("inf")) <= out.get(name, row).get("milliseconds", float("inf")):
                out[name] = row
            write(folder, out)
