// Arrays and rows of i8 by CUB.

#include "segmented.h"

namespace {

using Value = int8_t;

// Added up in i32, as ours.
struct Widen {
    __host__ __device__ int operator()(int8_t value) const
    {
        return value;
    }
};

cudaError_t sum_of(const Task &task, void *scratch, size_t &bytes)
{
    auto wide = thrust::make_transform_iterator(values<Value>(task), Widen{});
    return cub::DeviceReduce::Sum(scratch, bytes, wide, results<int>(task), int64_t(task.columns), task.stream);
}

cudaError_t sum_of_rows(const Task &task, void *scratch, size_t &bytes)
{
    auto wide = thrust::make_transform_iterator(values<Value>(task), Widen{});
    auto begin = row_starts(task);
    return cub::DeviceSegmentedReduce::Sum(scratch, bytes, wide, results<int>(task), int64_t(task.rows), begin, begin + 1, task.stream);
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
    {"cub::DeviceReduce::Sum", "array", "sum", "i8", "i32", "yes", sum_of},
    {"cub::DeviceReduce::Max", "array", "max", "i8", "i8", "yes", max_of},
    {"cub::DeviceReduce::ArgMax", "array", "argmax", "i8", "i64", "yes", argmax_of},
    {"cub::DeviceSegmentedReduce::Sum", "rows", "sum", "i8", "i32", "yes", sum_of_rows},
    SEGMENTED("Max", "rows", "max", "i8", "i8", segmented_max<Value, ByRows>)
    SEGMENTED("ArgMax", "rows", "argmax", "i8", "index and value", segmented_argmax<Value, ByRows>)
};

} // namespace

EXPORT
