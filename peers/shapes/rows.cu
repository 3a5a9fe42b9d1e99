// Rows of f32 by CUB and Thrust.

#include <thrust/execution_policy.h>
#include <thrust/iterator/discard_iterator.h>
#include <thrust/reduce.h>

#include "segmented.h"

namespace {

struct RowOf {
    int columns;

    __host__ __device__ int operator()(int index) const
    {
        return index / columns;
    }
};

// As the examples of Thrust have it; it allocates its scratch memory and waits, each time.
cudaError_t thrust_rows(const Task &task, void *scratch, size_t &bytes)
{
    if (!scratch) {
        bytes = 1;
        return cudaSuccess;
    }
    try {
        auto rows = thrust::make_transform_iterator(thrust::make_counting_iterator(0), RowOf{int(task.columns)});
        thrust::reduce_by_key(thrust::cuda::par.on(task.stream), rows, rows + int(task.n), values<float>(task),
                              thrust::make_discard_iterator(), results<float>(task));
        return cudaSuccess;
    } catch (...) {
        cudaError_t error = cudaGetLastError();
        return error != cudaSuccess ? error : cudaErrorUnknown;
    }
}

const char *const NOTE = FIXED_NOTE;

const Contender CONTENDERS[] = {
    FIXED("Sum", "sum", "f32", "f32", fixed_sum<float, float>)
    FIXED("Max", "max", "f32", "f32", fixed_max<float>)
    FIXED("ArgMax", "argmax", "f32", "index and value", fixed_argmax<float>)
    SEGMENTED("Sum", "rows", "sum", "f32", "f32", segmented_sum<float, float, ByRows>)
    SEGMENTED("Max", "rows", "max", "f32", "f32", segmented_max<float, ByRows>)
    SEGMENTED("ArgMax", "rows", "argmax", "f32", "index and value", segmented_argmax<float, ByRows>)
    {"thrust::reduce_by_key", "rows", "sum", "f32", "f32", "no", thrust_rows},
};

} // namespace

EXPORT
