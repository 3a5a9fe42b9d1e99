// Kernels that are about their memory accesses and little else, to compare what the emulator counts with what Nsight Compute
// counts: the figures in emulator/tests/data/ncu.h200.csv. With a main program that launches each on every pattern.
//
//     nvcc -ptx -arch=sm_80 -O3 memory.cu -o memory.ptx      # for the emulator
//     nvcc -arch=sm_90 -O3 memory.cu -o memory               # for the profiler; ncu_counters.py does this and the rest
//
// The main program writes one line per launch, in order: kernel,parameter,indices.

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

// Words per thread in the shared array of bank_stride, and elements in those of the indexed kernels.
constexpr unsigned LARGEST_STRIDE = 32;
constexpr unsigned STRIDE_BLOCK = 64;
constexpr unsigned TILE = 1024;
// An index that keeps its lane out of the access.
constexpr unsigned NONE = 0xffffffffu;

// Elements of 4, 8 and 16 bytes.
typedef unsigned word1;
typedef uint2 word2;
typedef uint4 word4;

namespace {

__device__ __forceinline__ unsigned thread_index()
{
    return blockIdx.x * blockDim.x + threadIdx.x;
}

// Writes with a stride, waits, and reads what the mirrored thread has written, with the same stride.
template <typename T>
__device__ __forceinline__ void bank_stride(T *out, unsigned stride)
{
    __shared__ T tile[STRIDE_BLOCK * LARGEST_STRIDE];
    T value = out[thread_index()];
    tile[threadIdx.x * stride] = value;
    __syncthreads();
    out[thread_index()] = tile[(blockDim.x - 1 - threadIdx.x) * stride];
}

// Copies in[index] to out[index], for each lane that has one.
template <typename T>
__device__ __forceinline__ void global_indexed(const unsigned *indices, const T *in, T *out)
{
    unsigned index = indices[thread_index()];
    if (index != NONE)
        out[index] = in[index];
}

// Writes to tile[index], waits for the warp, and reads tile[index], for each lane that has one.
template <typename T>
__device__ __forceinline__ void shared_indexed(const unsigned *indices, T *out)
{
    __shared__ T tile[TILE];
    unsigned index = indices[thread_index()];
    T value = out[thread_index()];
    if (index != NONE)
        tile[index] = value;
    __syncwarp();
    if (index != NONE)
        value = tile[index];
    out[thread_index()] = value;
}

} // namespace

extern "C" __global__ void copy_offset(const int *in, int *out, unsigned n, unsigned offset)
{
    unsigned index = thread_index() + offset;
    if (index < n)
        out[index] = in[index];
}

extern "C" __global__ void copy_stride(const int *in, int *out, unsigned n, unsigned stride)
{
    unsigned index = thread_index() * stride;
    if (index < n)
        out[index] = in[index];
}

extern "C" __global__ void bank_stride_4(word1 *out, unsigned stride) { bank_stride(out, stride); }
extern "C" __global__ void bank_stride_8(word2 *out, unsigned stride) { bank_stride(out, stride); }
extern "C" __global__ void bank_stride_16(word4 *out, unsigned stride) { bank_stride(out, stride); }

#define INDEXED(BYTES, T)                                                                                          \
    extern "C" __global__ void global_indexed_##BYTES(const unsigned *indices, const T *in, T *out)                \
    {                                                                                                              \
        global_indexed(indices, in, out);                                                                          \
    }                                                                                                              \
    extern "C" __global__ void shared_indexed_##BYTES(const unsigned *indices, T *out)                             \
    {                                                                                                              \
        shared_indexed(indices, out);                                                                              \
    }

INDEXED(4, word1)
INDEXED(8, word2)
INDEXED(16, word4)

// Atomics with a result and without (`atom`, `red`), on global memory and on shared memory.
extern "C" __global__ void global_atomic_indexed(const unsigned *indices, unsigned *words, unsigned *out)
{
    unsigned index = indices[thread_index()];
    if (index != NONE)
        out[thread_index()] = atomicAdd(&words[index], thread_index() + 1);
}

extern "C" __global__ void global_reduction_indexed(const unsigned *indices, unsigned *words)
{
    unsigned index = indices[thread_index()];
    if (index != NONE)
        atomicAdd(&words[index], thread_index() + 1);
}

extern "C" __global__ void shared_atomic_indexed(const unsigned *indices, unsigned *out)
{
    __shared__ unsigned tile[TILE];
    unsigned index = indices[thread_index()];
    for (unsigned word = threadIdx.x; word < TILE; word += blockDim.x)
        tile[word] = 0;
    __syncthreads();
    if (index != NONE)
        out[thread_index()] = atomicAdd(&tile[index], thread_index() + 1);
}

namespace {

void check(cudaError_t status, const char *what)
{
    if (status != cudaSuccess) {
        fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(status));
        exit(1);
    }
}

// Memory of the device, set to zero.
template <typename T>
T *zeros(size_t elements)
{
    void *memory = nullptr;
    check(cudaMalloc(&memory, elements * sizeof(T)), "cudaMalloc");
    check(cudaMemset(memory, 0, elements * sizeof(T)), "cudaMemset");
    return static_cast<T *>(memory);
}

// The indices that the 32 lanes of a warp use: a name for people, and the numbers.
struct Pattern {
    const char *name;
    unsigned indices[32];
};

template <typename F>
Pattern pattern(const char *name, F index_of_lane)
{
    Pattern made{name, {}};
    for (unsigned lane = 0; lane < 32; ++lane)
        made.indices[lane] = index_of_lane(lane);
    return made;
}

std::vector<Pattern> patterns()
{
    unsigned long long state = 1;
    auto random = [&state](unsigned below) {
        state = state * 6364136223846793005ull + 1442695040888963407ull;
        return static_cast<unsigned>(state >> 33) % below;
    };
    std::vector<Pattern> all = {
        pattern("sequential", [](unsigned lane) { return lane; }),
        pattern("reversed", [](unsigned lane) { return 31 - lane; }),
        pattern("broadcast", [](unsigned) { return 5u; }),
        pattern("pairs", [](unsigned lane) { return lane / 2; }),
        pattern("quads", [](unsigned lane) { return lane / 4; }),
        pattern("halves", [](unsigned lane) { return lane / 16; }),
        pattern("twice", [](unsigned lane) { return lane % 16; }),
        pattern("one_lane", [](unsigned lane) { return lane == 3 ? 3 : NONE; }),
        pattern("even_lanes", [](unsigned lane) { return lane % 2 ? NONE : lane; }),
        pattern("low_half", [](unsigned lane) { return lane < 16 ? lane : NONE; }),
        pattern("every_8th", [](unsigned lane) { return lane % 8 ? NONE : lane; }),
        pattern("far_halves", [](unsigned lane) { return lane % 16 + lane / 16 * 512; }),
        pattern("one_bank", [](unsigned lane) { return lane * 32; }),
        pattern("two_banks", [](unsigned lane) { return lane * 16; }),
        pattern("column_pairs", [](unsigned lane) { return lane / 2 * 32 + lane % 2; }),
        pattern("offset_1", [](unsigned lane) { return lane + 1; }),
        // Which lanes must agree, or be absent, for a wide load to take both halves of its lanes at once.
        pattern("same_as_xor_2", [](unsigned lane) { return lane & ~2u; }),
        pattern("same_as_xor_4", [](unsigned lane) { return lane & ~4u; }),
        pattern("same_as_xor_8", [](unsigned lane) { return lane & ~8u; }),
        pattern("low_half_pairs", [](unsigned lane) { return lane < 16 ? lane & ~1u : lane; }),
        pattern("high_half_pairs", [](unsigned lane) { return lane < 16 ? lane : lane & ~1u; }),
        pattern("pairs_and_xor_2", [](unsigned lane) { return lane < 16 ? lane & ~1u : lane & ~2u; }),
        pattern("quarter_pairs", [](unsigned lane) { return lane < 8 ? lane & ~1u : lane; }),
        pattern("even_lanes_packed", [](unsigned lane) { return lane % 2 ? NONE : lane / 2; }),
        pattern("even_then_odd", [](unsigned lane) { return lane % 2 == lane / 16 ? lane / 2 : NONE; }),
        pattern("every_4th_packed", [](unsigned lane) { return lane % 4 ? NONE : lane / 4; }),
        pattern("pairs_of_4", [](unsigned lane) { return lane % 4 < 2 ? lane / 4 * 2 + lane % 2 : NONE; }),
        pattern("absent_or_same", [](unsigned lane) { return lane < 16 && lane % 2 ? NONE : lane / 2; }),
        pattern("far_pairs", [](unsigned lane) { return lane / 2 * 32; }),
        pattern("three_of_4", [](unsigned lane) { return lane % 4 == 3 ? NONE : lane / 4 * 2 + lane % 2; }),
    };
    for (unsigned below : {32u, 64u, 128u, 1024u})
        for (int copy = 0; copy < 2; ++copy)
            all.push_back(pattern("random", [&](unsigned) { return random(below); }));
    for (unsigned below : {32u, 256u, 1024u})
        all.push_back(pattern("random_some", [&](unsigned) {
            unsigned index = random(below);
            return random(2) ? index : NONE;
        }));
    for (unsigned below : {32u, 256u, 1024u}) {
        unsigned index = 0;
        all.push_back(pattern("random_pairs", [&](unsigned lane) {
            index = lane % 2 ? index : random(below);
            return random(4) ? index : NONE;
        }));
    }
    return all;
}

void launched(const char *kernel, const char *parameter, const unsigned *indices = nullptr)
{
    check(cudaGetLastError(), kernel);
    printf("%s,%s,", kernel, parameter);
    for (unsigned lane = 0; indices && lane < 32; ++lane)
        printf("%s%d", lane ? " " : "", static_cast<int>(indices[lane]));
    printf("\n");
}

void launched(const char *kernel, unsigned parameter)
{
    launched(kernel, std::to_string(parameter).c_str());
}

void launch_copies()
{
    constexpr unsigned BLOCKS = 4, BLOCK = 256, n = BLOCKS * BLOCK * LARGEST_STRIDE;
    int *in = zeros<int>(n), *out = zeros<int>(n);
    for (unsigned offset = 0; offset <= LARGEST_STRIDE; ++offset) {
        copy_offset<<<BLOCKS, BLOCK>>>(in, out, n, offset);
        launched("copy_offset", offset);
    }
    for (unsigned stride = 1; stride <= LARGEST_STRIDE; ++stride) {
        copy_stride<<<BLOCKS, BLOCK>>>(in, out, n, stride);
        launched("copy_stride", stride);
    }
}

void launch_banks()
{
    word4 *out = zeros<word4>(STRIDE_BLOCK);
    for (unsigned stride = 1; stride <= LARGEST_STRIDE; ++stride) {
        bank_stride_4<<<1, STRIDE_BLOCK>>>(reinterpret_cast<word1 *>(out), stride);
        launched("bank_stride_4", stride);
        bank_stride_8<<<1, STRIDE_BLOCK>>>(reinterpret_cast<word2 *>(out), stride);
        launched("bank_stride_8", stride);
        bank_stride_16<<<1, STRIDE_BLOCK>>>(out, stride);
        launched("bank_stride_16", stride);
    }
}

void launch_indexed()
{
    unsigned *indices = zeros<unsigned>(32);
    word4 *in = zeros<word4>(TILE), *out = zeros<word4>(TILE);
    auto as1 = [](word4 *words) { return reinterpret_cast<word1 *>(words); };
    auto as2 = [](word4 *words) { return reinterpret_cast<word2 *>(words); };
    for (const Pattern &one : patterns()) {
        check(cudaMemcpy(indices, one.indices, sizeof one.indices, cudaMemcpyHostToDevice), "cudaMemcpy");
        global_indexed_4<<<1, 32>>>(indices, as1(in), as1(out));
        launched("global_indexed_4", one.name, one.indices);
        global_indexed_8<<<1, 32>>>(indices, as2(in), as2(out));
        launched("global_indexed_8", one.name, one.indices);
        global_indexed_16<<<1, 32>>>(indices, in, out);
        launched("global_indexed_16", one.name, one.indices);
        shared_indexed_4<<<1, 32>>>(indices, as1(out));
        launched("shared_indexed_4", one.name, one.indices);
        shared_indexed_8<<<1, 32>>>(indices, as2(out));
        launched("shared_indexed_8", one.name, one.indices);
        shared_indexed_16<<<1, 32>>>(indices, out);
        launched("shared_indexed_16", one.name, one.indices);
        global_atomic_indexed<<<1, 32>>>(indices, as1(in), as1(out));
        launched("global_atomic_indexed", one.name, one.indices);
        global_reduction_indexed<<<1, 32>>>(indices, as1(in));
        launched("global_reduction_indexed", one.name, one.indices);
        shared_atomic_indexed<<<1, 32>>>(indices, as1(out));
        launched("shared_atomic_indexed", one.name, one.indices);
    }
}

} // namespace

int main(int count, char **words)
{
    std::string group = count > 1 ? words[1] : "";
    if (group == "copies")
        launch_copies();
    else if (group == "banks")
        launch_banks();
    else if (group == "indexed")
        launch_indexed();
    else {
        fprintf(stderr, "usage: memory copies|banks|indexed\n");
        return 2;
    }
    check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    return 0;
}
