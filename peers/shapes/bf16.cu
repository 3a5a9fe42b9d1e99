// Arrays and rows of bf16 by CUB.

#include <cuda_bf16.h>

#include "segmented.h"

namespace {

using Value = __nv_bfloat16;

// Added up in f32, as ours.
struct Widen {
    __host__ __device__ float operator()(__nv_bfloat16 value) const
    {
        return __bfloat162float(value);
    }
};

cudaError_t sum_of(const Task &task, void *scratch, size_t &bytes)
{
    auto wide = thrust::make_transform_iterator(values<Value>(task), Widen{});
    return cub::DeviceReduce::Sum(scratch, bytes, wide, results<float>(task), int64_t(task.columns), task.stream);
}

cudaError_t sum_of_rows(const Task &task, void *scratch, size_t &bytes)
{
    auto wide = thrust::make_transform_iterator(values<Value>(task), Widen{});
    auto begin = row_starts(task);
    return cub::DeviceSegmentedReduce::Sum(scratch, bytes, wide, results<float>(task), int64_t(task.rows), begin, begin + 1,
                                           task.stream);
}

cudaError_t max_of(const Task &task, void *scratch, size_t &bytes)
{
    return cub::DeviceReduce::Max(scratch, bytes, values<Value>(task), results<Value>(task), int64_t(task.columns), task.stream);
}

// The index first, and after it the value.
cudaError_t argmax_of(const Task &task, void *scratch, size_t &bytes)
{
    int64_t *index = results<int64_t>(task);
    Value *value = reinterpret_cast<Value *>(index + 1);
    return cub::DeviceReduce::ArgMax(scratch, bytes, values<Value>(task), value, index, int64_t(task.columns), task.stream);
}

const char *const NOTE = "";

const Contender CONTENDERS[] = {
    {"cub::DeviceReduce::Sum", "array", "sum", "bf16", "f32", "yes", sum_of},
    {"cub::DeviceReduce::Max", "array", "max", "bf16", "bf16", "yes", max_of},
    {"cub::DeviceReduce::ArgMax", "array", "argmax", "bf16", "i64", "yes", argmax_of},
    {"cub::DeviceSegmentedReduce::Sum", "rows", "sum", "bf16", "f32", "yes", sum_of_rows},
    SEGMENTED("Max", "rows", "max", "bf16", "bf16", segmented_max<Value, ByRows>)
    SEGMENTED("ArgMax", "rows", "argmax", "bf16", "index and value", segmented_argmax<Value, ByRows>)
};

} // namespace

EXPORT
