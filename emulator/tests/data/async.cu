// Asynchronous copies (bulk with an mbarrier, and by cooperative groups) and half-precision floats:
//
//     nvcc -std=c++17 -ptx -arch=sm_90 -I <CCCL> async.cu -o async.nvcc.sm_90.ptx

#include <cuda/barrier>
#include <cuda/ptx>
#include <cuda_fp16.h>
#include <cuda_bf16.h>
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
using barrier = cuda::barrier<cuda::thread_scope_block>;
namespace ptx = cuda::ptx;
extern "C" __global__ void bulk_sum(const int* in, int* out, int n) {
  __shared__ alignas(128) int tile[1024];
  #pragma nv_diag_suppress static_var_with_dynamic_init
  __shared__ barrier bar;
  if (threadIdx.x == 0) { init(&bar, blockDim.x); ptx::fence_proxy_async(ptx::space_shared); }
  __syncthreads();
  int total = 0;
  for (int base = 0; base < n; base += 1024) {
    barrier::arrival_token token;
    if (threadIdx.x == 0) {
      cuda::device::experimental::cp_async_bulk_global_to_shared(tile, in + base, sizeof(tile), bar);
      token = cuda::device::barrier_arrive_tx(bar, 1, sizeof(tile));
    } else token = bar.arrive();
    bar.wait(std::move(token));
    for (int i = threadIdx.x; i < 1024; i += blockDim.x) total += tile[i];
    __syncthreads();
  }
  atomicAdd(out, total);
}
extern "C" __global__ void async_sum(const int* in, int* out, int n) {
  __shared__ int tile[256];
  auto block = cooperative_groups::this_thread_block();
  int total = 0;
  for (int base = 0; base < n; base += 256) {
    cooperative_groups::memcpy_async(block, tile, in + base, sizeof(int) * 256);
    cooperative_groups::wait(block);
    for (int i = threadIdx.x; i < 256; i += blockDim.x) total += tile[i];
    block.sync();
  }
  atomicAdd(out, total);
}
extern "C" __global__ void halves(const float* in, float* out, int n) {
  int i = threadIdx.x; 
  __half h = __float2half(in[i]); __half2 h2 = __floats2half2_rn(in[i], 2.0f);
  h2 = __hfma2(h2, h2, __float2half2_rn(0.5f));
  out[i] = __half2float(__hadd(h, h)) + __low2float(h2) + __high2float(h2);
  __nv_bfloat16 b = __float2bfloat16(in[i]);
  out[n + i] = __bfloat162float(b * b) + (h < __float2half(3.0f) ? 100.f : 0.f) + (float)(int)h;
}
