#include <cuda/atomic>
#include <cstdio>
#include <cassert>
extern "C" __global__ void atomics(int *out, unsigned *u, unsigned long long *w, float *f, double *d) {
    int t = threadIdx.x; unsigned o = atomicAdd(u, 2u); atomicSub(u + 1, 1u); atomicMin(u + 2, t); atomicMax(u + 3, t); atomicInc(u + 4, 6); atomicDec(u + 5, 9); atomicAnd(u + 6, ~(1u << (t & 31))); atomicOr(u + 7, 1u << (t & 31)); atomicXor(u + 8, t);
    atomicExch(u + 9, 77u); atomicCAS(u + 10, 0u, 5u); atomicAdd(w, 1ull << 33); atomicMax(w + 1, (unsigned long long)t << 40); atomicAdd(f, 0.5f); atomicAdd(d, 0.25); atomicAdd_block(u + 11, 1u); atomicAdd_system(u + 12, 3u); atomicMin((int *)u + 13, -t); atomicMax((long long *)w + 2, -(long long)t);
    double old = d[1], seen; do { seen = old; old = __longlong_as_double(atomicCAS((unsigned long long *)(d + 1), __double_as_longlong(seen), __double_as_longlong(seen + t))); } while (__double_as_longlong(old) != __double_as_longlong(seen));
    __shared__ int s; if (t == 0) s = 0; __syncthreads(); atomicAdd(&s, t); __syncthreads(); out[t] = s + (o % 2);
}
extern "C" __global__ void references(int *out, int *data) {
    cuda::atomic_ref<int, cuda::thread_scope_device> a(data[0]); cuda::atomic_ref<int, cuda::thread_scope_block> b(data[1]);
    a.fetch_add(threadIdx.x, cuda::memory_order_relaxed); b.fetch_max((int)threadIdx.x, cuda::memory_order_acq_rel); __syncthreads();
    int e = 5; b.compare_exchange_strong(e, 6, cuda::memory_order_seq_cst); cuda::atomic_thread_fence(cuda::memory_order_seq_cst, cuda::thread_scope_device);
    out[threadIdx.x] = a.load(cuda::memory_order_acquire) * 1000 + b.load(); __syncthreads(); if (threadIdx.x == 0) a.store(-1, cuda::memory_order_release);
}
extern "C" __global__ void lock(int *out, int *state) {
    for (bool done = false; !done;) { if (atomicCAS(state, 0, 1) == 0) { __threadfence(); volatile int *v = state + 1; *v = *v + 1; __threadfence(); atomicExch(state, 0); done = true; } }
    out[threadIdx.x] = 1;
}
extern "C" __global__ void spin(int *out, volatile int *flag) {
    if (threadIdx.x == 40) { __nanosleep(100); flag[0] = 9; __threadfence(); } else { while (flag[0] == 0); }
    out[threadIdx.x] = flag[0];
}
extern "C" __global__ void clocks(int *out) { long long a = clock64(); unsigned b = clock(); __nanosleep(10); out[threadIdx.x] = clock64() > a && clock() != b; }
extern "C" __global__ void prints(int *out, int n) { if ((int)threadIdx.x < n) printf("thread %d of %u: %s %5.2f|%-4d|%04x %c %lld %%\n", threadIdx.x, blockDim.x, "hello", threadIdx.x * 1.5, 7, 255u, 'x', -5000000000ll); out[threadIdx.x] = printf("plain\n"); }
extern "C" __global__ void asserts(int *out, int n) { assert((int)threadIdx.x < n && "too many threads"); out[threadIdx.x] = 1; }
