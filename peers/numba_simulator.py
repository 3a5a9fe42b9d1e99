#!/usr/bin/env python3
"""Elements per second of Numba's CUDA simulator and of warpfold's emulator on the interleaved kernel, in one run.

Needs Python with numpy and numba (`pip install numba`), and a built warpfold:

    cargo build --release && python3 peers/numba_simulator.py target/release/warpfold

Both sums are verified. Numba is given 4096 elements, since it needs seconds for them; warpfold 2^20, its default.
Blocks of 512 threads.
"""

import json
import os
import subprocess
import sys
import time

os.environ["NUMBA_ENABLE_CUDASIM"] = "1"

import numpy as np
from numba import cuda

BLOCK = 512


@cuda.jit
def interleaved(data, partials):
    tid = cuda.threadIdx.x
    start = cuda.blockIdx.x * cuda.blockDim.x
    stride = cuda.blockDim.x // 2
    while stride > 0:
        if tid < stride and start + tid + stride < data.size:
            data[start + tid] += data[start + tid + stride]
        cuda.syncthreads()
        stride //= 2
    if tid == 0:
        partials[cuda.blockIdx.x] = data[start]


def numba_elements_per_second(n):
    data = np.random.default_rng(42).integers(-1000, 1000, n).astype(np.int32)
    expected = data.sum()
    blocks = (n + BLOCK - 1) // BLOCK
    device, partials = cuda.to_device(data), cuda.to_device(np.zeros(blocks, np.int32))
    start = time.perf_counter()
    interleaved[blocks, BLOCK](device, partials)
    elapsed = time.perf_counter() - start
    assert partials.copy_to_host().sum() == expected, "Numba's sum is wrong"
    return n / elapsed


def warpfold_elements_per_second(program, n):
    command = [program, "run", "interleaved", "-n", str(n), "--block", str(BLOCK), "--device", "emulator", "--json", "-"]
    best = 0.0
    for _ in range(5):
        report = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
        assert report["is_right"], "warpfold's sum is wrong"
        best = max(best, n / (report["emulator"]["emulated_in_ms"] / 1e3))
    return best


def main():
    if len(sys.argv) != 2:
        sys.exit("give the path of the warpfold program, for example target/release/warpfold")
    theirs = numba_elements_per_second(4096)
    ours = warpfold_elements_per_second(sys.argv[1], 1 << 20)
    print(f"Numba's simulator:   {theirs:14,.0f} elements per second (n = 4,096)")
    print(f"warpfold's emulator: {ours:14,.0f} elements per second (n = 1,048,576, counting)")
    print(f"ratio:               {ours / theirs:14,.0f}")


if __name__ == "__main__":
    main()
