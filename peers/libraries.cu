// CUB and Thrust as contenders, for each type: reduce.cu includes this.

#include <algorithm>
#include <new>

#include <cub/cub.cuh>
#include <thrust/execution_policy.h>
#include <thrust/reduce.h>

// Whether CUB takes a wish for the order of additions, whatever the number of elements: since 3.2.
#define HAS_ORDERS (CUB_VERSION >= 300200)
#if HAS_ORDERS
#include <cuda/memory_resource>
#include <cuda/stream_ref>
#endif

#include "peer.h"

namespace {

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

#if HAS_ORDERS
// Scratch memory that is there already, for an interface that would allocate it in each call: once, and so much. Asked without any,
// it says how much is wanted, and gives none.
struct Memory {
    void *start;
    size_t bytes;
    bool is_taken;
};

struct Scratch {
    Memory *memory;

    void *allocate_sync(size_t bytes, size_t = 0)
    {
        bool is_enough = memory->start && bytes <= memory->bytes && !memory->is_taken;
        if (!memory->start)
            memory->bytes = bytes;
        if (!is_enough)
            throw std::bad_alloc();
        memory->is_taken = true;
        return memory->start;
    }
    void deallocate_sync(void *, size_t, size_t = 0) noexcept
    {
        memory->is_taken = false;
    }
    void *allocate(cuda::stream_ref, size_t bytes, size_t = 0)
    {
        return allocate_sync(bytes);
    }
    void deallocate(cuda::stream_ref, void *, size_t, size_t = 0) noexcept
    {
        memory->is_taken = false;
    }
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
    Memory memory{scratch, bytes, false};
    Where where{{&memory}, cuda::stream_ref{stream}};
    cuda::std::execution::env environment{where, cuda::execution::require(Order{})};
    cudaError_t error = cub::DeviceReduce::Sum(input, out, n, environment);
    bytes = memory.bytes;
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

#define CUB(NAME, T, TYPE, ...) {"library", NAME, TYPE, false, one, cub_scratch<T, __VA_ARGS__>, launch_cub<T, __VA_ARGS__>}
#if HAS_ORDERS
// Integers are the same in any order.
#define GPU_TO_GPU(T, TYPE) CUB("CUB, gpu_to_gpu", T, TYPE, cub_ordered<T, cuda::execution::determinism::gpu_to_gpu_t>),
#define NOT_GUARANTEED(T, TYPE) \
    CUB("CUB, not_guaranteed", T, TYPE, cub_ordered<T, cuda::execution::determinism::not_guaranteed_t>),
#else
#define GPU_TO_GPU(T, TYPE)
#define NOT_GUARANTEED(T, TYPE)
#endif
#define LIBRARIES(T, TYPE)                                                             \
    CUB("cub::DeviceReduce::Sum", T, TYPE, cub_default<T>),                            \
    CUB("CUB, tuned: 256 x 16", T, TYPE, cub_tuned<T, 256, 16>),                       \
    CUB("CUB, tuned: 512 x 16", T, TYPE, cub_tuned<T, 512, 16>),                       \
    CUB("CUB, tuned: 512 x 32", T, TYPE, cub_tuned<T, 512, 32>),                       \
    NOT_GUARANTEED(T, TYPE)                                                            \
    {"library", "thrust::reduce", TYPE, false, on_the_host, no_scratch, launch_thrust<T>}

#define ALL_LIBRARIES                                                                  \
    LIBRARIES(int, "i32"), LIBRARIES(int64_t, "i64"), LIBRARIES(float, "f32"),         \
    LIBRARIES(double, "f64"), GPU_TO_GPU(float, "f32") GPU_TO_GPU(double, "f64")

const LeftOut LEFT_OUT[] = {
#if !HAS_ORDERS
    {"CUB, gpu_to_gpu", "it takes CUB 3.2 or later"},
    {"CUB, not_guaranteed", "it takes CUB 3.2 or later"},
#endif
    {nullptr, nullptr},
};

const LeftOut &left_out(uint32_t index)
{
    constexpr size_t count = sizeof LEFT_OUT / sizeof *LEFT_OUT - 1;
    return LEFT_OUT[std::min<size_t>(index, count)];
}

} // namespace
