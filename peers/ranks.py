"""torch.distributed.all_reduce after torch.sum, one process per GPU: what `examples/ranks` is compared with.

    torchrun --nproc-per-node 2 peers/ranks.py 28

Each rank sums 2^N floats and the ranks combine the sums by NCCL, queued and waited for; then the same captured into a graph. Without a GPU it
says so and ends with status 2; `--gloo` runs it on the CPU, to try the script itself.
"""

import os
import sys
import time

import torch
import torch.distributed as distributed

REPEAT = 100


def median_us(call, wait):
    times = []
    for _ in range(REPEAT):
        start = time.perf_counter()
        call()
        wait()
        times.append(1e6 * (time.perf_counter() - start))
    return sorted(times)[REPEAT // 2]


def main():
    is_on_cpu = "--gloo" in sys.argv
    exponents = [argument for argument in sys.argv[1:] if argument != "--gloo"]
    n = 1 << int(exponents[0] if exponents else 20)
    if not is_on_cpu and not torch.cuda.is_available():
        print("no GPU: give --gloo to try the script on the CPU", file=sys.stderr)
        return 2
    if is_on_cpu:
        device, wait = torch.device("cpu"), lambda: None
    else:
        device = torch.device("cuda", int(os.environ.get("LOCAL_RANK", "0")))
        torch.cuda.set_device(device)
        wait = torch.cuda.synchronize
    distributed.init_process_group("gloo" if is_on_cpu else "nccl")
    rank, size = distributed.get_rank(), distributed.get_world_size()
    values = torch.ones(n, device=device)
    total = torch.empty(1, device=device)

    def reduce():
        torch.sum(values, 0, keepdim=True, out=total)
        distributed.all_reduce(total)

    for _ in range(5):
        reduce()
    wait()
    text = f"{median_us(reduce, wait):.1f} us"
    if not is_on_cpu:
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            reduce()
        text += f", as a graph: {median_us(graph.replay, wait):.1f} us"
    if total.item() != n * size:
        print(f"rank {rank}: the sum is {total.item()} and should be {n * size}", file=sys.stderr)
        return 1
    print(f"rank {rank} of {size}: torch.sum, then all_reduce, of {n} f32 each: {text}")
    distributed.destroy_process_group()
    return 0


if __name__ == "__main__":
    sys.exit(main())
