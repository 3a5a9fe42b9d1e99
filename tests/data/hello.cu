// Prints from the device; compiled by nvcc 13.0.88: nvcc -ptx -arch=sm_80 hello.cu -o hello.ptx
#include <cstdio>
extern "C" __global__ void hello(int n) { if (threadIdx.x < 2) printf("block %d thread %d: %s %5.2f %lld\n", blockIdx.x, threadIdx.x, "hi", 1.5 * n, 1234567890123LL); }
