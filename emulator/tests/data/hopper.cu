// Atomic operations of sm_90 and clusters:
//
//     nvcc -ptx -arch=sm_90 hopper.cu -o hopper.nvcc.sm_90.ptx

#include <cuda_fp16.h>
#include <cuda_bf16.h>
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
extern "C" __global__ void half_atomics(__half* h, __half2* h2, __nv_bfloat16* b, __nv_bfloat162* b2, float2* f2, float4* f4) {
  atomicAdd(h, __float2half(1.5f)); atomicAdd(h2, __floats2half2_rn(0.5f, -1.f)); atomicAdd(b, __float2bfloat16(2.f)); atomicAdd(b2, __floats2bfloat162_rn(1.f,3.f));
  atomicAdd(f2, make_float2(1.f,2.f)); float4 o = atomicAdd(f4, make_float4(1.f,2.f,3.f,4.f)); if (threadIdx.x == 0) f2[1].x = o.x;
}
struct alignas(16) Q { unsigned long long a, b; };
extern "C" __global__ void wide_cas(__uint128_t* p, __uint128_t* out) {
  __uint128_t old = atomicCAS(p, (__uint128_t)0, (__uint128_t)threadIdx.x + 5); out[threadIdx.x] = old; 
}
extern "C" __global__ void wide_exch(Q* p, Q* out) {
  Q q; q.a = 3; q.b = 4; out[threadIdx.x] = atomicExch(p, q);
}
extern "C" __global__ void __cluster_dims__(4,1,1) cluster_sum(const int* in, int* out) {
  __shared__ int s; cg::cluster_group c = cg::this_cluster();
  int t = threadIdx.x;
  int v = __reduce_add_sync(~0u, in[blockIdx.x*32+t]);
  if (t == 0) s = v;
  c.sync();
  if (c.block_rank() == 0 && t == 0) { int x = 0; for (int i = 0; i < c.num_blocks(); i++) x += *c.map_shared_rank(&s, i); out[blockIdx.x/4] = x; }
  c.sync();
  if (t == 1) atomicAdd(c.map_shared_rank(&s, (c.block_rank()+1)%4), 0);
  c.sync();
}
