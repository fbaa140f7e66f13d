"""torch.distributed's all_reduce with gloo, over the loopback interface. RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT say who this is."""
import os, time
import torch
import torch.distributed as dist
from protocol import serve

os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
torch.set_num_threads(1)
dist.init_process_group("gloo")
tensors = {}


def measure(size, count):
    x = tensors.setdefault(size, torch.ones(size // 4))
    seconds = []
    for _ in range(count):
        x.fill_(1)
        dist.barrier()
        begun = time.perf_counter()
        dist.all_reduce(x)
        seconds.append(time.perf_counter() - begun)
    assert x[0] == x[-1] == dist.get_world_size()
    return seconds


serve(measure)
dist.destroy_process_group()
