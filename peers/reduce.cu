// What the kernels are compared with, as one shared library that `peers/run/` loads: the ladder in CUDA C++ (ladder.cu), which adds up
// `int`s, and CUB and Thrust for each type. All work on the caller's stream.
//
//     nvcc -O3 -std=c++17 -arch=native -shared -Xcompiler -fPIC reduce.cu -o libpeers.so      # `cargo xtask peers` does this
//
// The functions marked `extern "C"` are the whole interface. Those that answer with an `int` answer with a `cudaError_t`.
// A contender is known by its index below peers_count().

#include <cstdint>
#include <string>

#include "ladder.cu"
#include "libraries.cu"
#include "peer.h"

namespace {

using InPlace = void (*)(int *, int *, size_t);
using Reading = void (*)(const int *, int *, size_t);
using OneLaunch = void (*)(const int *, int *, size_t, int *, unsigned *);

// The kernels that exist once for each block size.
struct OfBlock {
    unsigned block;
    InPlace complete_unroll;
    Reading complete_unroll_shared, shuffle, vectorized;
    OneLaunch single_pass;
};

#define OF_BLOCK(B) {B, complete_unroll_##B, complete_unroll_shared_##B, shuffle_##B, vectorized_##B, single_pass_##B}
const OfBlock OF_BLOCKS[] = {OF_BLOCK(64), OF_BLOCK(128), OF_BLOCK(256), OF_BLOCK(512), OF_BLOCK(1024)};

const OfBlock *of_block(unsigned block)
{
    for (const OfBlock &one : OF_BLOCKS)
        if (one.block == block)
            return &one;
    return nullptr;
}

template <unsigned K>
size_t tiles(size_t n, unsigned block)
{
    return (n + size_t(K) * block - 1) / (size_t(K) * block);
}

// No more blocks than the multiprocessors hold at once with 2048 threads each, as the Rust kernels are launched.
size_t resident(size_t n, unsigned block)
{
    int device = 0, multiprocessors = 1;
    cudaGetDevice(&device);
    cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device);
    size_t most = size_t(multiprocessors) * (2048 / block);
    return min(tiles<16>(n, block), most);
}

// What the ladder works on.
int *ints(void *memory)
{
    return static_cast<int *>(memory);
}

template <InPlace KERNEL, unsigned K>
cudaError_t launch_in_place(const Call &call)
{
    KERNEL<<<tiles<K>(call.n, call.block), call.block, 0, call.stream>>>(ints(call.input), ints(call.out), call.n);
    return cudaGetLastError();
}

cudaError_t launch_complete_unroll(const Call &call)
{
    const OfBlock *kernels = of_block(call.block);
    if (!kernels)
        return cudaErrorInvalidConfiguration;
    kernels->complete_unroll<<<tiles<8>(call.n, call.block), call.block, 0, call.stream>>>(ints(call.input), ints(call.out), call.n);
    return cudaGetLastError();
}

template <Reading OfBlock::*KERNEL, size_t (*BLOCKS)(size_t, unsigned)>
cudaError_t launch_reading(const Call &call)
{
    const OfBlock *kernels = of_block(call.block);
    if (!kernels)
        return cudaErrorInvalidConfiguration;
    (kernels->*KERNEL)<<<BLOCKS(call.n, call.block), call.block, 0, call.stream>>>(ints(call.input), ints(call.out), call.n);
    return cudaGetLastError();
}

// Its partials, and after them the counter.
cudaError_t single_pass_scratch(size_t n, unsigned block, size_t *bytes)
{
    *bytes = (resident(n, block) + 1) * sizeof(int);
    return cudaSuccess;
}

cudaError_t launch_single_pass(const Call &call)
{
    const OfBlock *kernels = of_block(call.block);
    if (!kernels)
        return cudaErrorInvalidConfiguration;
    unsigned blocks = unsigned(resident(call.n, call.block));
    int *partials = reinterpret_cast<int *>(call.scratch);
    unsigned *counter = reinterpret_cast<unsigned *>(partials + blocks);
    kernels->single_pass<<<blocks, call.block, 0, call.stream>>>(ints(call.input), partials, call.n, ints(call.out), counter);
    return cudaGetLastError();
}

#define IN_PLACE(NAME, K) {"CUDA C++", #NAME, "i32", true, tiles<K>, no_scratch, launch_in_place<NAME, K>}
#define READING(NAME, BLOCKS) {"CUDA C++", #NAME, "i32", false, BLOCKS, no_scratch, launch_reading<&OfBlock::NAME, BLOCKS>}

const Peer PEERS[] = {
    IN_PLACE(neighbored, 1),
    IN_PLACE(neighbored_less, 1),
    IN_PLACE(interleaved, 1),
    IN_PLACE(unroll2, 2),
    IN_PLACE(unroll4, 4),
    IN_PLACE(unroll8, 8),
    IN_PLACE(unroll_warps8, 8),
    IN_PLACE(unroll_warps8_sync, 8),
    IN_PLACE(complete_unroll_warps8, 8),
    {"CUDA C++", "complete_unroll", "i32", true, tiles<8>, no_scratch, launch_complete_unroll},
    READING(complete_unroll_shared, tiles<8>),
    READING(shuffle, tiles<8>),
    READING(vectorized, resident),
    {"CUDA C++", "single_pass", "i32", false, one, single_pass_scratch, launch_single_pass},
    ALL_LIBRARIES
};

#define TEXT_OF(X) #X
#define TEXT(X) TEXT_OF(X)

} // namespace

extern "C" {

// What this was built with.
const char *peers_compiler()
{
    static const std::string text = "nvcc " TEXT(__CUDACC_VER_MAJOR__) "." TEXT(__CUDACC_VER_MINOR__) "." TEXT(
        __CUDACC_VER_BUILD__) ", CUB " + std::to_string(CUB_MAJOR_VERSION) + "." + std::to_string(CUB_MINOR_VERSION) + "."
        + std::to_string(CUB_SUBMINOR_VERSION);
    return text.c_str();
}

uint32_t peers_count()
{
    return sizeof PEERS / sizeof *PEERS;
}

// Who wrote it: `CUDA C++`, for a counterpart of the Rust kernel of the same name, or `library`.
const char *peers_maker(uint32_t index)
{
    return PEERS[index].maker;
}

const char *peers_name(uint32_t index)
{
    return PEERS[index].name;
}

// What it adds up, by its name in Rust.
const char *peers_element_type(uint32_t index)
{
    return PEERS[index].element_type;
}

// Whether it overwrites its input.
uint32_t peers_in_place(uint32_t index)
{
    return PEERS[index].in_place;
}

// How many sums a launch leaves in `out`; 0 where it answers on the host.
size_t peers_results(uint32_t index, size_t n, uint32_t block)
{
    return PEERS[index].results(n, block);
}

int peers_scratch_bytes(uint32_t index, size_t n, uint32_t block, size_t *bytes)
{
    return PEERS[index].scratch_bytes(n, block, bytes);
}

// Queues the reduction of n > 0 elements on the stream. `scratch` is as large as peers_scratch_bytes says, and 0 before the first launch.
int peers_launch(uint32_t index, void *input, size_t n, void *out, void *scratch, size_t scratch_bytes, uint32_t block,
                 cudaStream_t stream, void *answer)
{
    return PEERS[index].launch({input, n, out, static_cast<char *>(scratch), scratch_bytes, block, stream, answer});
}

// What is missing for want of a newer CUB; null after the last.
const char *peers_left_out_name(uint32_t index)
{
    return left_out(index).name;
}

const char *peers_left_out_reason(uint32_t index)
{
    return left_out(index).reason;
}

const char *peers_error(int error)
{
    return cudaGetErrorString(static_cast<cudaError_t>(error));
}

} // extern "C"
