// A sum in one cooperative launch:
//
//     nvcc -ptx -arch=sm_90 grid.cu -o grid.nvcc.sm_90.ptx

#include <cooperative_groups.h>
namespace cg = cooperative_groups;
extern "C" __global__ void grid_total(const int* in, int* partial, int* total, int n) {
  __shared__ int s[256];
  int t = threadIdx.x, sum = 0;
  for (int i = blockIdx.x*blockDim.x + t; i < n; i += gridDim.x*blockDim.x) sum += in[i];
  s[t] = sum; __syncthreads();
  for (int k = blockDim.x/2; k > 0; k /= 2) { if (t < k) s[t] += s[t+k]; __syncthreads(); }
  if (t == 0) partial[blockIdx.x] = s[0];
  cg::this_grid().sync();
  if (blockIdx.x == 0 && t == 0) { int x = 0; for (int i = 0; i < gridDim.x; i++) x += partial[i]; *total = x; }
}
