// What the kernels are compared with, as one shared library that `peers/run/` loads: the ladder in CUDA C++ (ladder.cu), which adds up
// `int`s, and CUB and Thrust for each type. All work on the caller's stream.
//
//     nvcc -O3 -std=c++17 -arch=native -shared -Xcompiler -fPIC reduce.cu -o libpeers.so      # `cargo xtask peers` does this
//
// The functions behind `extern "C"` are the whole interface. Those that answer with an `int` answer with a `cudaError_t`.
// A contender is known by its index below peers_count().

#include <cstdint>
#include <string>

#include <cub/cub.cuh>
#include <thrust/execution_policy.h>
#include <thrust/reduce.h>

// CUB's promises about the order of additions, which it takes since 3.1 and 3.2.
#define HAS_GPU_TO_GPU (CUB_VERSION >= 300100)
#define HAS_NOT_GUARANTEED (CUB_VERSION >= 300200)
#if HAS_GPU_TO_GPU
#include <cuda/execution>
#include <cuda/memory_resource>
#include <cuda/stream_ref>
#endif

#include "ladder.cu"

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

// One reduction to launch.
struct Call {
    void *input;
    size_t n;
    // As many as `results` promises; the sum of all is the sum.
    void *out;
    // Zeroed before the first launch.
    char *scratch;
    size_t scratch_bytes;
    unsigned block;
    cudaStream_t stream;
    // For who answers on the host.
    void *answer;
};

struct Peer {
    const char *maker, *name, *element_type;
    bool in_place;
    // How many sums the launch leaves in `out`; 0 where it answers on the host.
    size_t (*results)(size_t n, unsigned block);
    cudaError_t (*scratch_bytes)(size_t n, unsigned block, size_t *bytes);
    cudaError_t (*launch)(const Call &call);
};

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

size_t one(size_t, unsigned)
{
    return 1;
}

size_t on_the_host(size_t, unsigned)
{
    return 0;
}

cudaError_t no_scratch(size_t, unsigned, size_t *bytes)
{
    *bytes = 0;
    return cudaSuccess;
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

// Its partials, and behind them the counter.
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

template <typename T>
cudaError_t cub_default(void *scratch, size_t &bytes, const T *input, T *out, size_t n, cudaStream_t stream)
{
    return cub::DeviceReduce::Sum(scratch, bytes, input, out, n, stream);
}

// CUB's own dispatch with blocks of THREADS threads that each load ITEMS elements of 4 bytes, or half as many of 8, 16 bytes at a time.
template <typename T, int THREADS, int ITEMS>
struct Tuned {
    struct Policy : cub::ChainedPolicy<500, Policy, Policy> {
        using ReducePolicy = cub::AgentReducePolicy<THREADS, ITEMS, T, 16 / sizeof(T), cub::BLOCK_REDUCE_WARP_REDUCTIONS,
                                                    cub::LOAD_LDG>;
        using SingleTilePolicy = ReducePolicy;
        using SegmentedReducePolicy = ReducePolicy;
        using ReduceNondeterministicPolicy = ReducePolicy;
    };
    using MaxPolicy = Policy;
};

template <typename T, int THREADS, int ITEMS>
cudaError_t cub_tuned(void *scratch, size_t &bytes, const T *input, T *out, size_t n, cudaStream_t stream)
{
    using Offset = cub::detail::choose_offset_t<size_t>;
    using Dispatch = cub::DispatchReduce<const T *, T *, Offset, cuda::std::plus<>, T, T, cuda::std::identity,
                                         Tuned<T, THREADS, ITEMS>>;
    return Dispatch::Dispatch(scratch, bytes, input, out, Offset(n), {}, T(), stream);
}

#if HAS_GPU_TO_GPU
// Scratch memory that is there already, for an interface that would allocate it in each call. Asked without any, it says how much is
// wanted, and gives none.
struct Scratch {
    void *memory;
    size_t *wanted;

    void *allocate_sync(size_t bytes, size_t = 0)
    {
        *wanted = bytes;
        if (!memory)
            throw std::bad_alloc();
        return memory;
    }
    void deallocate_sync(void *, size_t, size_t = 0) noexcept {}
    void *allocate(cuda::stream_ref, size_t bytes, size_t = 0)
    {
        return allocate_sync(bytes);
    }
    void deallocate(cuda::stream_ref, void *, size_t, size_t = 0) noexcept {}
    bool operator==(const Scratch &other) const
    {
        return memory == other.memory;
    }
    bool operator!=(const Scratch &other) const
    {
        return memory != other.memory;
    }
    friend void get_property(const Scratch &, cuda::mr::device_accessible) noexcept {}
};

// What an algorithm asks of its environment.
struct Where {
    Scratch scratch;
    cuda::stream_ref stream;

    Scratch query(const cuda::mr::get_memory_resource_t &) const noexcept
    {
        return scratch;
    }
    cuda::stream_ref query(const cuda::get_stream_t &) const noexcept
    {
        return stream;
    }
};

template <typename T, typename Order>
cudaError_t cub_ordered(void *scratch, size_t &bytes, const T *input, T *out, size_t n, cudaStream_t stream)
{
    Where where{{scratch, &bytes}, cuda::stream_ref{stream}};
    cuda::std::execution::env environment{where, cuda::execution::require(Order{})};
    cudaError_t error = cub::DeviceReduce::Sum(input, out, n, environment);
    return !scratch && error == cudaErrorMemoryAllocation ? cudaSuccess : error;
}
#endif

template <typename T>
using Cub = cudaError_t (*)(void *, size_t &, const T *, T *, size_t, cudaStream_t);

template <typename T, Cub<T> SUM>
cudaError_t cub_scratch(size_t n, unsigned, size_t *bytes)
{
    *bytes = 0;
    return SUM(nullptr, *bytes, nullptr, nullptr, n, nullptr);
}

template <typename T, Cub<T> SUM>
cudaError_t launch_cub(const Call &call)
{
    size_t bytes = call.scratch_bytes;
    return SUM(call.scratch, bytes, static_cast<const T *>(call.input), static_cast<T *>(call.out), call.n, call.stream);
}

// Allocates its scratch memory and waits for the result, each time: that is what a caller gets.
template <typename T>
cudaError_t launch_thrust(const Call &call)
{
    try {
        const T *input = static_cast<const T *>(call.input);
        *static_cast<T *>(call.answer) = thrust::reduce(thrust::cuda::par.on(call.stream), input, input + call.n);
        return cudaSuccess;
    } catch (...) {
        cudaError_t error = cudaGetLastError();
        return error != cudaSuccess ? error : cudaErrorUnknown;
    }
}

#define IN_PLACE(NAME, K) {"CUDA C++", #NAME, "i32", true, tiles<K>, no_scratch, launch_in_place<NAME, K>}
#define READING(NAME, BLOCKS) {"CUDA C++", #NAME, "i32", false, BLOCKS, no_scratch, launch_reading<&OfBlock::NAME, BLOCKS>}
#define CUB(NAME, T, TYPE, ...) {"library", NAME, TYPE, false, one, cub_scratch<T, __VA_ARGS__>, launch_cub<T, __VA_ARGS__>}
#if HAS_GPU_TO_GPU
// Integers are the same in any order.
#define GPU_TO_GPU(T, TYPE) CUB("CUB, gpu_to_gpu", T, TYPE, cub_ordered<T, cuda::execution::determinism::gpu_to_gpu_t>),
#else
#define GPU_TO_GPU(T, TYPE)
#endif
#if HAS_NOT_GUARANTEED
#define NOT_GUARANTEED(T, TYPE) \
    CUB("CUB, not_guaranteed", T, TYPE, cub_ordered<T, cuda::execution::determinism::not_guaranteed_t>),
#else
#define NOT_GUARANTEED(T, TYPE)
#endif
#define LIBRARIES(T, TYPE)                                                             \
    CUB("cub::DeviceReduce::Sum", T, TYPE, cub_default<T>),                            \
    CUB("CUB, tuned: 256 x 16", T, TYPE, cub_tuned<T, 256, 16>),                       \
    CUB("CUB, tuned: 512 x 16", T, TYPE, cub_tuned<T, 512, 16>),                       \
    CUB("CUB, tuned: 512 x 32", T, TYPE, cub_tuned<T, 512, 32>),                       \
    NOT_GUARANTEED(T, TYPE)                                                            \
    {"library", "thrust::reduce", TYPE, false, on_the_host, no_scratch, launch_thrust<T>}

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
    LIBRARIES(int, "i32"),
    LIBRARIES(int64_t, "i64"),
    LIBRARIES(float, "f32"),
    LIBRARIES(double, "f64"),
    GPU_TO_GPU(float, "f32")
    GPU_TO_GPU(double, "f64")
};

struct LeftOut {
    const char *name, *reason;
};

const LeftOut LEFT_OUT[] = {
#if !HAS_GPU_TO_GPU
    {"CUB, gpu_to_gpu", "CUB has it since 3.1"},
#endif
#if !HAS_NOT_GUARANTEED
    {"CUB, not_guaranteed", "CUB has it since 3.2"},
#endif
    {nullptr, nullptr},
};

const LeftOut &left_out(uint32_t index)
{
    constexpr uint32_t count = sizeof LEFT_OUT / sizeof *LEFT_OUT - 1;
    return LEFT_OUT[index < count ? index : count];
}

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

// What is missing for want of a newer CUB; null behind the last.
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
