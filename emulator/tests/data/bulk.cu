// Bulk reductions, asynchronous stores and reductions between blocks, multicasts and cache policies, as cuda::ptx writes them:
//
//     nvcc -std=c++17 -ptx -arch=sm_90a -I <CCCL> bulk.cu -o bulk.nvcc.sm_90a.ptx
#include <cooperative_groups.h>
#include <cuda/ptx>
#include <cuda_bf16.h>
#include <cuda_fp16.h>

namespace cg = cooperative_groups;
namespace ptx = cuda::ptx;

// Each block adds its tile of 128 elements to the same 128 sums.
template <typename T, typename Op>
__device__ void reduce_tile(const T* input, T* sums, Op op) {
    __shared__ alignas(16) T tile[128];
    tile[threadIdx.x] = input[blockIdx.x * 128 + threadIdx.x];
    ptx::fence_proxy_async(ptx::space_shared);
    __syncthreads();
    if (threadIdx.x == 0) {
        ptx::cp_reduce_async_bulk(ptx::space_global, ptx::space_shared, op, sums, tile, sizeof(tile));
        ptx::cp_async_bulk_commit_group();
        ptx::cp_async_bulk_wait_group(ptx::n32_t<0>());
    }
}

extern "C" __global__ void add_s32(const int* input, int* sums) { reduce_tile(input, sums, ptx::op_add); }
extern "C" __global__ void max_s64(const int64_t* input, int64_t* sums) { reduce_tile(input, sums, ptx::op_max); }
extern "C" __global__ void inc_u32(const unsigned* input, unsigned* sums) { reduce_tile(input, sums, ptx::op_inc); }
extern "C" __global__ void dec_u32(const unsigned* input, unsigned* sums) { reduce_tile(input, sums, ptx::op_dec); }
extern "C" __global__ void xor_b64(const uint64_t* input, uint64_t* sums) { reduce_tile(input, sums, ptx::op_xor_op); }
extern "C" __global__ void add_f32(const float* input, float* sums) { reduce_tile(input, sums, ptx::op_add); }
extern "C" __global__ void add_f64(const double* input, double* sums) { reduce_tile(input, sums, ptx::op_add); }
extern "C" __global__ void add_f16(const __half* input, __half* sums) { reduce_tile(input, sums, ptx::op_add); }
extern "C" __global__ void min_f16(const __half* input, __half* sums) { reduce_tile(input, sums, ptx::op_min); }
extern "C" __global__ void max_bf16(const __nv_bfloat16* input, __nv_bfloat16* sums) {
    reduce_tile(input, sums, ptx::op_max);
}

__device__ void wait_for(uint64_t* barrier) {
    while (!ptx::mbarrier_try_wait_parity(barrier, 0)) {
    }
}

// An mbarrier that expects one arrival, of which the first thread's brings so many bytes with it.
__device__ void begin(uint64_t* barrier, unsigned bytes) {
    if (threadIdx.x == 0) {
        ptx::mbarrier_init(barrier, 1);
        ptx::fence_mbarrier_init(ptx::sem_release, ptx::scope_cluster);
        ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, barrier, bytes);
    }
    cg::this_cluster().sync();
}

// Each of two blocks of 64 threads stores its words in the other's memory, vectors of four, and adds to a sum there.
extern "C" __global__ void __cluster_dims__(2) swap(const unsigned* input, unsigned* output) {
    __shared__ alignas(16) unsigned words[64];
    __shared__ alignas(8) uint64_t sum, barrier;
    auto cluster = cg::this_cluster();
    unsigned peer = cluster.block_rank() ^ 1;
    if (threadIdx.x == 0) sum = 0;
    begin(&barrier, sizeof(words) + 64 * sizeof(sum));
    auto* mine = input + blockIdx.x * 64;
    auto* to = cluster.map_shared_rank(&barrier, peer);
    if (threadIdx.x % 4 == 0) {
        unsigned four[4] = {mine[threadIdx.x], mine[threadIdx.x + 1], mine[threadIdx.x + 2], mine[threadIdx.x + 3]};
        ptx::st_async(cluster.map_shared_rank(words, peer) + threadIdx.x, four, to);
    }
    ptx::red_async(ptx::op_add, cluster.map_shared_rank(&sum, peer), uint64_t(mine[threadIdx.x]), to);
    wait_for(&barrier);
    output[blockIdx.x * 64 + threadIdx.x] = words[threadIdx.x];
    if (threadIdx.x == 0) {
        output[128 + 2 * blockIdx.x] = unsigned(sum);
        output[129 + 2 * blockIdx.x] = unsigned(sum >> 32);
    }
    cluster.sync();
}

// Each of two blocks of 64 threads takes the least of its words and the other's, by a bulk reduction into the other's memory.
extern "C" __global__ void __cluster_dims__(2) least(const int* input, int* output) {
    __shared__ alignas(16) int sent[64], words[64];
    __shared__ alignas(8) uint64_t barrier;
    auto cluster = cg::this_cluster();
    unsigned peer = cluster.block_rank() ^ 1;
    sent[threadIdx.x] = words[threadIdx.x] = input[blockIdx.x * 64 + threadIdx.x];
    ptx::fence_proxy_async(ptx::space_shared);
    begin(&barrier, sizeof(words));
    if (threadIdx.x == 0) {
        ptx::cp_reduce_async_bulk(ptx::space_cluster, ptx::space_shared, ptx::op_min, cluster.map_shared_rank(words, peer),
                                  sent, sizeof(sent), cluster.map_shared_rank(&barrier, peer));
    }
    wait_for(&barrier);
    output[blockIdx.x * 64 + threadIdx.x] = words[threadIdx.x];
    cluster.sync();
}

// The first of four blocks of 64 threads copies 64 words to all but the third of them.
extern "C" __global__ void __cluster_dims__(4) multicast(const int* input, int* output) {
    __shared__ alignas(16) int words[64];
    __shared__ alignas(8) uint64_t barrier;
    auto cluster = cg::this_cluster();
    words[threadIdx.x] = -1;
    ptx::fence_proxy_async(ptx::space_shared);
    begin(&barrier, sizeof(words));
    if (blockIdx.x == 0 && threadIdx.x == 0) {
        ptx::cp_async_bulk(ptx::space_cluster, ptx::space_global, words, input, sizeof(words), &barrier, uint16_t(0b1011));
    }
    if (blockIdx.x != 2) wait_for(&barrier);
    output[blockIdx.x * 64 + threadIdx.x] = words[threadIdx.x];
    cluster.sync();
}

// A load and a store with policies of each kind.
extern "C" __global__ void policies(const int* input, int* output) {
    uint64_t fractional, range;
    asm("createpolicy.fractional.L2::evict_last.L2::evict_unchanged.b64 %0, 0.5;" : "=l"(fractional));
    asm("createpolicy.range.global.L2::evict_last.b64 %0, [%1], 256, 512;" : "=l"(range) : "l"(input));
    int value;
    asm volatile("ld.global.L2::cache_hint.s32 %0, [%1], %2;" : "=r"(value) : "l"(input + threadIdx.x), "l"(fractional));
    asm volatile("st.global.L2::cache_hint.s32 [%0], %1, %2;" ::"l"(output + threadIdx.x), "r"(value + 1), "l"(range) : "memory");
}
