// The ladder in CUDA C++: the counterpart, step by step, of kernels/src/ladder/l01…l11, under the same entry names and with the
// same arguments, to compare compilers and as a second source of PTX for the emulator.
//
//     nvcc -ptx -arch=sm_80 -O3 ladder.cu -o ladder.ptx
//
// Launch ceil(n / (k * blockDim.x)) blocks, k elements per thread (1 for the first three steps, 2 and 4 for unroll2 and unroll4,
// 8 up to shuffle), of a power of two threads from 64 to 1024; `partials` takes one sum per block. vectorized and single_pass take 16
// elements per thread and any number of blocks. Steps 1 to 7 overwrite the input. Right for every n: a tile that n cuts short has
// fewer elements, and every thread reaches every barrier.
//
// Sums are taken in `unsigned`, where overflow wraps, as the Rust kernels' do.

#include <cstddef>

namespace {

// The number of elements in this block's tile of at most `length`, which starts at `start`.
__device__ __forceinline__ unsigned tile_count(size_t n, size_t start, unsigned length)
{
    size_t rest = n - start;
    return rest < length ? (unsigned)rest : length;
}

__device__ __forceinline__ int add(int a, int b)
{
    return (int)((unsigned)a + (unsigned)b);
}

// One step of the interleaved tree over the first `count` elements of `tile`, and a barrier.
__device__ __forceinline__ void tree_step(int *tile, unsigned count, unsigned stride)
{
    unsigned tid = threadIdx.x;
    if (tid < stride && tid + stride < count)
        tile[tid] = add(tile[tid], tile[tid + stride]);
    __syncthreads();
}

// The sum of this thread's K elements, `block` apart.
template <unsigned K>
__device__ __forceinline__ int sum_of_elements(const int *tile, unsigned count, unsigned block)
{
    unsigned tid = threadIdx.x;
    int sum = 0;
    if (count == K * block) {
        int element[K];
#pragma unroll
        for (unsigned k = 0; k < K; ++k)
            element[k] = tile[tid + k * block];
#pragma unroll
        for (unsigned k = 0; k < K; ++k)
            sum = add(sum, element[k]);
    } else {
#pragma unroll 1
        for (unsigned index = tid; index < count; index += block)
            sum = add(sum, tile[index]);
    }
    return sum;
}

// Puts this thread's sum in place of its first element; returns how many sums there are.
__device__ __forceinline__ unsigned store_sum(int *tile, unsigned count, unsigned block, int sum)
{
    unsigned sums = count < block ? count : block;
    if (threadIdx.x < sums)
        tile[threadIdx.x] = sum;
    __syncthreads();
    return sums;
}

template <unsigned K>
__device__ __forceinline__ void unroll(int *input, int *partials, size_t n)
{
    unsigned block = blockDim.x;
    size_t start = (size_t)blockIdx.x * K * block;
    unsigned count = tile_count(n, start, K * block);
    int *tile = input + start;

    unsigned sums = store_sum(tile, count, block, sum_of_elements<K>(tile, count, block));
    for (unsigned stride = block / 2; stride > 0; stride >>= 1)
        tree_step(tile, sums, stride);
    if (threadIdx.x == 0)
        partials[blockIdx.x] = tile[0];
}

// The last warp of steps 5 to 7: volatile accesses, no barrier. Below 64 sums the tree goes on as before.
__device__ __forceinline__ void last_warp(int *tile, unsigned sums)
{
    unsigned tid = threadIdx.x;
    if (sums < 64) {
        for (unsigned stride = 32; stride > 0; stride >>= 1)
            tree_step(tile, sums, stride);
    } else if (tid < 32) {
        volatile int *v = tile;
        v[tid] = add(v[tid], v[tid + 32]);
        v[tid] = add(v[tid], v[tid + 16]);
        v[tid] = add(v[tid], v[tid + 8]);
        v[tid] = add(v[tid], v[tid + 4]);
        v[tid] = add(v[tid], v[tid + 2]);
        v[tid] = add(v[tid], v[tid + 1]);
    }
}

// The sum of 64 values by the first warp, with warp barriers; in lane 0.
__device__ __forceinline__ int sum_of_64(int *values)
{
    unsigned lane = threadIdx.x;
    int sum = add(values[lane], values[lane + 32]);
#pragma unroll
    for (unsigned stride = 16; stride > 0; stride >>= 1) {
        values[lane] = sum;
        __syncwarp();
        sum = add(sum, values[lane + stride]);
        __syncwarp();
    }
    return sum;
}

template <unsigned B>
__device__ __forceinline__ void complete_unroll(int *input, int *partials, size_t n)
{
    size_t start = (size_t)blockIdx.x * 8 * B;
    unsigned count = tile_count(n, start, 8 * B);
    int *tile = input + start;

    unsigned sums = store_sum(tile, count, B, sum_of_elements<8>(tile, count, B));
    if (B >= 1024) tree_step(tile, sums, 512);
    if (B >= 512) tree_step(tile, sums, 256);
    if (B >= 256) tree_step(tile, sums, 128);
    if (B >= 128) tree_step(tile, sums, 64);
    last_warp(tile, sums);
    if (threadIdx.x == 0)
        partials[blockIdx.x] = tile[0];
}

__device__ __forceinline__ void shared_step(int *sums, unsigned stride)
{
    unsigned tid = threadIdx.x;
    if (tid < stride)
        sums[tid] = add(sums[tid], sums[tid + stride]);
    __syncthreads();
}

template <unsigned B>
__device__ __forceinline__ void complete_unroll_shared(const int *input, int *partials, size_t n)
{
    __shared__ int sums[B];
    size_t start = (size_t)blockIdx.x * 8 * B;
    unsigned count = tile_count(n, start, 8 * B);

    sums[threadIdx.x] = sum_of_elements<8>(input + start, count, B);
    __syncthreads();
    if (B >= 1024) shared_step(sums, 512);
    if (B >= 512) shared_step(sums, 256);
    if (B >= 256) shared_step(sums, 128);
    if (B >= 128) shared_step(sums, 64);
    if (threadIdx.x < 32) {
        int sum = sum_of_64(sums);
        if (threadIdx.x == 0)
            partials[blockIdx.x] = sum;
    }
}

__device__ __forceinline__ int warp_sum(int sum)
{
#pragma unroll
    for (unsigned delta = 16; delta > 0; delta >>= 1)
        sum = add(sum, __shfl_down_sync(0xffffffffu, sum, delta));
    return sum;
}

template <unsigned B>
__device__ __forceinline__ void shuffle(const int *input, int *partials, size_t n)
{
    __shared__ int warp_sums[B / 32];
    unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    size_t start = (size_t)blockIdx.x * 8 * B;
    unsigned count = tile_count(n, start, 8 * B);

    int sum = warp_sum(sum_of_elements<8>(input + start, count, B));
    if (lane == 0)
        warp_sums[warp] = sum;
    __syncthreads();
    if (warp == 0) {
        sum = warp_sum(lane < B / 32 ? warp_sums[lane] : 0);
        if (lane == 0)
            partials[blockIdx.x] = sum;
    }
}

// The sum of the block's values as in `shuffle`, in thread 0.
template <unsigned B>
__device__ __forceinline__ int block_sum(int sum, int *warp_sums)
{
    unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    sum = warp_sum(sum);
    if (lane == 0)
        warp_sums[warp] = sum;
    __syncthreads();
    if (warp == 0)
        sum = warp_sum(lane < B / 32 ? warp_sums[lane] : 0);
    return sum;
}

__device__ __forceinline__ int sum_of_vector(int4 v)
{
    return add(add(v.x, v.y), add(v.z, v.w));
}

// The sum of this thread's elements in all tiles of 16 B elements that are the block's: four 16-byte loads from each.
template <unsigned B>
__device__ __forceinline__ int sum_of_tiles(const int *input, size_t n)
{
    constexpr unsigned TILE = 16 * B;
    unsigned tid = threadIdx.x;
    size_t start = (size_t)blockIdx.x * TILE, step = (size_t)gridDim.x * TILE;
    int sum = 0;
    for (; start + TILE <= n; start += step) {
        const int4 *mine = reinterpret_cast<const int4 *>(input + start) + tid;
        int4 v0 = mine[0], v1 = mine[B], v2 = mine[2 * B], v3 = mine[3 * B];
        sum = add(sum, add(add(sum_of_vector(v0), sum_of_vector(v1)), add(sum_of_vector(v2), sum_of_vector(v3))));
    }
    if (start < n) {
        const int *tile = input + start;
        unsigned count = (unsigned)(n - start), vectors = count / 4;
        for (unsigned index = tid; index < vectors; index += B)
            sum = add(sum, sum_of_vector(reinterpret_cast<const int4 *>(tile)[index]));
        if (4 * vectors + tid < count)
            sum = add(sum, tile[4 * vectors + tid]);
    }
    return sum;
}

template <unsigned B>
__device__ __forceinline__ void vectorized(const int *input, int *partials, size_t n)
{
    __shared__ int warp_sums[B / 32];
    int sum = block_sum<B>(sum_of_tiles<B>(input, n), warp_sums);
    if (threadIdx.x == 0)
        partials[blockIdx.x] = sum;
}

// The last block to finish adds up the partials of all. `counter` is 0 before, and 0 again at the end.
template <unsigned B>
__device__ __forceinline__ void single_pass(const int *input, int *partials, size_t n, int *total, unsigned *counter)
{
    __shared__ int warp_sums[B / 32];
    __shared__ bool is_last;
    int sum = block_sum<B>(sum_of_tiles<B>(input, n), warp_sums);
    if (threadIdx.x == 0) {
        partials[blockIdx.x] = sum;
        __threadfence();
        is_last = atomicAdd(counter, 1) == gridDim.x - 1;
        __threadfence();
    }
    __syncthreads();
    if (!is_last)
        return;
    const volatile int *all = partials;
    sum = 0;
    for (unsigned index = threadIdx.x; index < gridDim.x; index += B)
        sum = add(sum, all[index]);
    sum = block_sum<B>(sum, warp_sums);
    if (threadIdx.x == 0) {
        *total = sum;
        atomicExch(counter, 0);
    }
}

} // namespace

extern "C" __global__ void neighbored(int *input, int *partials, size_t n)
{
    unsigned tid = threadIdx.x, block = blockDim.x;
    size_t start = (size_t)blockIdx.x * block;
    unsigned count = tile_count(n, start, block);
    int *tile = input + start;

    for (unsigned stride = 1; stride < block; stride *= 2) {
        if (tid % (2 * stride) == 0 && tid + stride < count)
            tile[tid] = add(tile[tid], tile[tid + stride]);
        __syncthreads();
    }
    if (tid == 0)
        partials[blockIdx.x] = tile[0];
}

extern "C" __global__ void neighbored_less(int *input, int *partials, size_t n)
{
    unsigned tid = threadIdx.x, block = blockDim.x;
    size_t start = (size_t)blockIdx.x * block;
    unsigned count = tile_count(n, start, block);
    int *tile = input + start;

    for (unsigned stride = 1; stride < block; stride *= 2) {
        unsigned index = 2 * stride * tid;
        if (index + stride < count)
            tile[index] = add(tile[index], tile[index + stride]);
        __syncthreads();
    }
    if (tid == 0)
        partials[blockIdx.x] = tile[0];
}

extern "C" __global__ void interleaved(int *input, int *partials, size_t n)
{
    unsigned tid = threadIdx.x, block = blockDim.x;
    size_t start = (size_t)blockIdx.x * block;
    unsigned count = tile_count(n, start, block);
    int *tile = input + start;

    for (unsigned stride = block / 2; stride > 0; stride >>= 1)
        tree_step(tile, count, stride);
    if (tid == 0)
        partials[blockIdx.x] = tile[0];
}

extern "C" __global__ void unroll2(int *input, int *partials, size_t n) { unroll<2>(input, partials, n); }
extern "C" __global__ void unroll4(int *input, int *partials, size_t n) { unroll<4>(input, partials, n); }
extern "C" __global__ void unroll8(int *input, int *partials, size_t n) { unroll<8>(input, partials, n); }

extern "C" __global__ void unroll_warps8(int *input, int *partials, size_t n)
{
    unsigned block = blockDim.x;
    size_t start = (size_t)blockIdx.x * 8 * block;
    unsigned count = tile_count(n, start, 8 * block);
    int *tile = input + start;

    unsigned sums = store_sum(tile, count, block, sum_of_elements<8>(tile, count, block));
    for (unsigned stride = block / 2; stride > 32; stride >>= 1)
        tree_step(tile, sums, stride);
    last_warp(tile, sums);
    if (threadIdx.x == 0)
        partials[blockIdx.x] = tile[0];
}

extern "C" __global__ void unroll_warps8_sync(int *input, int *partials, size_t n)
{
    unsigned block = blockDim.x;
    size_t start = (size_t)blockIdx.x * 8 * block;
    unsigned count = tile_count(n, start, 8 * block);
    int *tile = input + start;

    unsigned sums = store_sum(tile, count, block, sum_of_elements<8>(tile, count, block));
    unsigned stride = block / 2;
    for (; stride > 32; stride >>= 1)
        tree_step(tile, sums, stride);
    if (sums < 64) {
        for (; stride > 0; stride >>= 1)
            tree_step(tile, sums, stride);
        if (threadIdx.x == 0)
            partials[blockIdx.x] = tile[0];
    } else if (threadIdx.x < 32) {
        int sum = sum_of_64(tile);
        if (threadIdx.x == 0)
            partials[blockIdx.x] = sum;
    }
}

extern "C" __global__ void complete_unroll_warps8(int *input, int *partials, size_t n)
{
    unsigned block = blockDim.x;
    size_t start = (size_t)blockIdx.x * 8 * block;
    unsigned count = tile_count(n, start, 8 * block);
    int *tile = input + start;

    unsigned sums = store_sum(tile, count, block, sum_of_elements<8>(tile, count, block));
    if (block >= 1024) tree_step(tile, sums, 512);
    if (block >= 512) tree_step(tile, sums, 256);
    if (block >= 256) tree_step(tile, sums, 128);
    if (block >= 128) tree_step(tile, sums, 64);
    last_warp(tile, sums);
    if (threadIdx.x == 0)
        partials[blockIdx.x] = tile[0];
}

#define ENTRIES(B)                                                                                                 \
    extern "C" __global__ void complete_unroll_##B(int *input, int *partials, size_t n)                            \
    {                                                                                                              \
        complete_unroll<B>(input, partials, n);                                                                    \
    }                                                                                                              \
    extern "C" __global__ void complete_unroll_shared_##B(const int *input, int *partials, size_t n)               \
    {                                                                                                              \
        complete_unroll_shared<B>(input, partials, n);                                                             \
    }                                                                                                              \
    extern "C" __global__ void shuffle_##B(const int *input, int *partials, size_t n)                              \
    {                                                                                                              \
        shuffle<B>(input, partials, n);                                                                            \
    }                                                                                                              \
    extern "C" __global__ void vectorized_##B(const int *input, int *partials, size_t n)                           \
    {                                                                                                              \
        vectorized<B>(input, partials, n);                                                                         \
    }                                                                                                              \
    extern "C" __global__ void single_pass_##B(const int *input, int *partials, size_t n, int *total,              \
                                               unsigned *counter)                                                  \
    {                                                                                                              \
        single_pass<B>(input, partials, n, total, counter);                                                        \
    }

ENTRIES(64)
ENTRIES(128)
ENTRIES(256)
ENTRIES(512)
ENTRIES(1024)
