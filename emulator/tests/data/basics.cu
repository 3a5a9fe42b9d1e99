// Pieces of CUDA C++ as a compiler sees them in everyday kernels. Every kernel writes one value per thread.
#include <cooperative_groups.h>
namespace cg = cooperative_groups;

template <typename T, int N> __device__ T horner(const T (&c)[N], T x) { T s = 0; for (int i = N - 1; i >= 0; --i) s = s * x + c[i]; return s; }
struct Point { double x; float y; short z; char w; };
__constant__ int table[8] = {3, 1, 4, 1, 5, 9, 2, 6};
__device__ unsigned counter = 7;
__device__ int *where = (int *)&counter;

extern "C" __global__ void structs(int *out, Point p, int n) { out[threadIdx.x] = (int)(p.x * 2) + (int)p.y + p.z + p.w + n; }
extern "C" __global__ void templates(int *out) {
    const int c[4] = {1, 2, 3, 4}; const double d[3] = {0.5, 0.25, 2};
    out[threadIdx.x] = horner(c, (int)threadIdx.x) + (int)horner(d, (double)threadIdx.x);
}
extern "C" __global__ void switches(int *out, int k) {
    int r;
    switch ((threadIdx.x + k) % 11) {
        case 0: r = 17; break; case 1: r = threadIdx.x * 3; break; case 2: r = -5; break; case 3: r = k; // falls through
        case 4: r = k + 100; break; case 5: r = 55; break; case 6: r = threadIdx.x ^ 21; break; case 7: r = 1 << (threadIdx.x & 7); break;
        case 8: r = 88; break; case 9: r = -(int)threadIdx.x; break; default: r = 1000;
    }
    out[threadIdx.x] = r;
}
__device__ __noinline__ int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
extern "C" __global__ void recursion(int *out) { out[threadIdx.x] = fib(threadIdx.x % 12); }
typedef int (*Op)(int, int);
__device__ __noinline__ int plus(int a, int b) { return a + b; }
__device__ __noinline__ int times(int a, int b) { return a * b; }
__device__ __noinline__ int minus(int a, int b) { return a - b; }
__device__ Op ops[3] = {plus, times, minus};
extern "C" __global__ void pointers(int *out) { out[threadIdx.x] = ops[threadIdx.x % 3]((int)threadIdx.x, 7); }
struct Shape { __device__ virtual int area() const { return -1; } };
struct Square : Shape { int a; __device__ Square(int a) : a(a) {} __device__ int area() const override { return a * a; } };
struct Bar : Shape { int a; __device__ Bar(int a) : a(a) {} __device__ int area() const override { return 2 * a; } };
extern "C" __global__ void virtuals(int *out) {
    Square s(threadIdx.x); Bar b(threadIdx.x); Shape plain; const Shape *all[3] = {&s, &b, &plain};
    out[threadIdx.x] = all[threadIdx.x % 3]->area();
}
extern "C" __global__ void locals(int *out, int k) {
    int a[32]; for (int i = 0; i < 32; ++i) a[(i * k) & 31] = i * i + threadIdx.x;
    int s = 0; for (int i = 0; i < 8; ++i) s += a[(threadIdx.x + i * 5) & 31] * table[i];
    out[threadIdx.x] = s;
}
extern "C" __global__ void variables(int *out) {
    unsigned old = atomicAdd(&counter, 1u); out[threadIdx.x] = (int)(old >= 7 && old < 7 + blockDim.x); __syncthreads(); if (threadIdx.x == 0) out[0] = *where;
}
extern "C" __global__ void dynamic_shared(int *out) {
    extern __shared__ int pool[]; __shared__ int fixed[4];
    pool[threadIdx.x] = threadIdx.x * 2; if (threadIdx.x < 4) fixed[threadIdx.x] = 1000 * threadIdx.x; __syncthreads();
    out[threadIdx.x] = pool[blockDim.x - 1 - threadIdx.x] + fixed[threadIdx.x & 3];
}
extern "C" __global__ void wide(int *out, long long a, unsigned long long b) {
    unsigned __int128 p = (unsigned __int128)b * (b + threadIdx.x); unsigned __int128 q = p / (threadIdx.x + 3), r = p % 1000003;
    long long s = (a + threadIdx.x) / 7 * 3 + (a - (long long)threadIdx.x) % 13; unsigned long long u = b / (threadIdx.x + 1) + b % (threadIdx.x + 9);
    out[threadIdx.x] = (int)(q >> 70) ^ (int)r ^ (int)s ^ (int)u ^ (int)(u >> 32);
}
extern "C" __global__ void bits(int *out, unsigned x) {
    unsigned v = x * (threadIdx.x + 1);
    out[threadIdx.x] = __popc(v) + __clz(v) * 3 + __ffs(v) * 5 + (__brev(v) >> 20) + __byte_perm(v, x, 0x5214) % 1000 + __funnelshift_l(v, x, threadIdx.x) % 777 + __funnelshift_rc(v, x, threadIdx.x + 20) % 333
        + __dp4a(v, x, 3u) + __dp2a_lo((int)v, (int)x, 1) + __popcll(((unsigned long long)v << 32) | x) + __clzll(v) + (int)__mulhi((int)v, (int)x) + (int)__umul24(v, x) + __hadd((int)v, (int)x) + (int)__usad(v, x, 5u) + __fns(v, 0, 3);
}
extern "C" __global__ void block_votes(int *out, int k) {
    int p = (int)threadIdx.x < k; int c = __syncthreads_count(p), a = __syncthreads_and(p), o = __syncthreads_or(p); out[threadIdx.x] = c * 4 + a * 2 + o;
}
extern "C" __global__ void warp_votes(int *out, int k) {
    unsigned l = threadIdx.x & 31; int p = (int)l < k;
    int r = __all_sync(~0u, p) + 2 * __any_sync(~0u, p) + (__ballot_sync(~0u, p) % 1009); r += __popc(__match_any_sync(~0u, l / 5)) * 10000;
    int same; unsigned m = __match_all_sync(~0u, k, &same); r += same * 100000 + (m == ~0u) * 200000; r += __popc(__activemask());
    out[threadIdx.x] = r;
}
extern "C" __global__ void tiles(int *out) {
    auto block = cg::this_thread_block(); auto tile = cg::tiled_partition<8>(block); int v = threadIdx.x;
    for (int d = tile.size() / 2; d; d /= 2) v += tile.shfl_down(v, d);
    v = tile.shfl(v, 0); tile.sync(); auto warp = cg::tiled_partition<32>(block); int all = warp.any(v > 900) + warp.ballot(v & 1) % 5;
    if (threadIdx.x % 3 == 0) { auto active = cg::coalesced_threads(); all += active.size() * 1000 + active.thread_rank() * 100000; }
    block.sync(); out[threadIdx.x] = v + all;
}
extern "C" __global__ void floats(float *out, float x) {
    float t = x + threadIdx.x * 0.25f; float s = sqrtf(t) + expf(-t * 0.1f) + sinf(t) * cosf(t) + logf(t) + powf(t, 1.5f) + t / 3.0f + rsqrtf(t) + fmaf(t, t, 1.0f) + floorf(t * 7) + roundf(t * 3.3f) + truncf(-t) + fmodf(t, 0.7f) + tanhf(t * 0.1f) + atan2f(t, 2.0f) + erff(t * 0.2f) + cbrtf(t) + hypotf(t, 2.0f) + ldexpf(t, 3) + copysignf(1.0f, -t) + fminf(t, 5.0f) + fmaxf(t, 6.0f) + fabsf(-t) + rintf(t * 2.5f);
    out[threadIdx.x] = s;
}
extern "C" __global__ void fast_floats(float *out, float x) {
    float t = x + threadIdx.x * 0.25f; out[threadIdx.x] = __sinf(t) + __cosf(t) + __expf(-t) + __logf(t) + __powf(t, 1.5f) + __fdividef(t, 3.0f) + __frsqrt_rn(t) + __fmaf_rz(t, t, 1.0f) + __fsqrt_ru(t) + __fdiv_rd(t, 7.0f) + __saturatef(t * 0.01f) + __frcp_rn(t) + __tanf(t);
}
extern "C" __global__ void doubles(double *out, double x) {
    double t = x + threadIdx.x * 0.25; out[threadIdx.x] = sqrt(t) + exp(-t * 0.1) + sin(t) * cos(t) + log(t) + pow(t, 1.5) + t / 3.0 + rsqrt(t) + fma(t, t, 1.0) + floor(t * 7) + round(t * 3.3) + fmod(t, 0.7) + tanh(t * 0.1) + atan2(t, 2.0) + erf(t * 0.2) + cbrt(t) + lgamma(t) + (double)__double2int_rz(t) + __longlong_as_double(__double_as_longlong(t)) + __ddiv_ru(t, 3.0);
}
extern "C" __global__ void conversions(int *out, float x) {
    float t = (x + threadIdx.x) * (threadIdx.x & 1 ? -1.5f : 2.75f); double d = t * 1.1;
    out[threadIdx.x] = __float2int_rn(t) + __float2int_ru(t) * 3 + (int)(unsigned char)(int)t + (int)(short)(t * 1000) + (int)(long long)(d * 1e9) + (int)(unsigned)fabsf(t) + __float_as_int(t) % 97 + (int)(d * 3) + __double2hiint(d) % 89 + (int)(float)(threadIdx.x * 16777217u) + __float2uint_rd(t > 0 ? t : 0) + (int)__ll2float_rz(123456789012345ll) + (int)(signed char)threadIdx.x * 5;
}
