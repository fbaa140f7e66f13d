"""What kernels/cuda's TestHardwareMany... time, in PyTorch: all-reduces through NCCL, and steps of ResNet-50 and GPT-2 under DDP.

python3 -m torch.distributed.run --standalone --nproc-per-node=N gpu_many_torch.py FOLDER writes FOLDER/many-torch.md. Bus bandwidth is 2(n-1)/n of the bytes in
the time, as nccl-tests counts it. GOKERAS_TORCH_DEVICE=cpu tries the program without GPUs, with small sizes.
"""
import os
import sys

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from gpu_torch import GPT2, best, device, resnet50

gpu = device == "cuda"
rank, ranks = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
if gpu:
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
dist.init_process_group("nccl" if gpu else "gloo")


def slowest(milliseconds):
    t = torch.tensor([milliseconds], device=device, dtype=torch.float64)
    dist.all_reduce(t, dist.ReduceOp.MAX)
    return t.item()


def all_reduces():
    size = 1 << 10
    while size <= (256 << 20 if gpu else 1 << 14):
        x = torch.ones(size // 4, device=device)
        took = slowest(best(lambda: dist.all_reduce(x.zero_()), 20))
        yield f"| {size} | {took * 1e3:.1f} | {2 * (ranks - 1) / ranks * size / took / 1e6:.2f} |\n"
        size *= 16


def step_of(model, x, y, everywhere):
    """The time of a step in bfloat16, on this GPU alone or on all."""
    model = model.to(device)
    if x.dim() == 4:
        model, x = model.to(memory_format=torch.channels_last), x.contiguous(memory_format=torch.channels_last)
    if everywhere:
        model = DistributedDataParallel(model)
    forward = torch.compile(model) if gpu else model
    optimizer = torch.optim.Adam(model.parameters(), fused=gpu)

    def step():
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast(device, torch.bfloat16):
            loss = nn.functional.cross_entropy(forward(x).flatten(0, -2), y.flatten())
        loss.backward()
        optimizer.step()

    return slowest(best(step, 10 if gpu else 1))


def models():
    if gpu:
        yield "ResNet-50, mixed bfloat16, 256 examples on each", resnet50, torch.randn(256, 3, 224, 224, device=device), torch.randint(0, 1000, (256,), device=device)
        yield "GPT-2 124M, mixed bfloat16, 16 examples on each", GPT2, torch.randint(0, 50304, (16, 1024), device=device), torch.randint(0, 50304, (16, 1024), device=device)
    else:
        yield "GPT-2, one block", lambda: GPT2(1, 16, 2, 32, 16), torch.randint(0, 32, (1, 16)), torch.randint(0, 32, (1, 16))


text = f"\n| bytes over {ranks} GPUs, PyTorch {torch.__version__} | microseconds | GB/s on the bus |\n|---|---|---|\n" + "".join(all_reduces())
text += f"\n| training step, DDP | one GPU, ms | {ranks} GPUs, ms | scaling for each GPU |\n|---|---|---|---|\n"
for name, make, x, y in models():
    one, all_of_them = step_of(make(), x, y, False), step_of(make(), x, y, True)
    text += f"| {name} | {one:.2f} | {all_of_them:.2f} | {one / all_of_them:.3f} |\n"
if rank == 0:
    with open(os.path.join(sys.argv[1], "many-torch.md"), "w") as f:
        f.write(text)
dist.destroy_process_group()
