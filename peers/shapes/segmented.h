// CUB's segmented reductions of values of type T, by three ways to say where segments are.

#pragma once

#include <cuda/std/utility>

#include "contender.h"

namespace {

// Offsets in memory.
struct ByOffsets {
    static auto begin(const Task &task)
    {
        return task.offsets;
    }
};

// Offsets that are computed: every row is a segment.
struct ByRows {
    static auto begin(const Task &task)
    {
        return row_starts(task);
    }
};

template <typename T, typename R, typename OFFSETS>
cudaError_t segmented_sum(const Task &task, void *scratch, size_t &bytes)
{
    auto begin = OFFSETS::begin(task);
    return cub::DeviceSegmentedReduce::Sum(scratch, bytes, values<T>(task), results<R>(task), int64_t(task.rows), begin, begin + 1,
                                           task.stream);
}

template <typename T, typename OFFSETS>
cudaError_t segmented_max(const Task &task, void *scratch, size_t &bytes)
{
    auto begin = OFFSETS::begin(task);
    return cub::DeviceSegmentedReduce::Max(scratch, bytes, values<T>(task), results<T>(task), int64_t(task.rows), begin, begin + 1,
                                           task.stream);
}

template <typename T, typename OFFSETS>
cudaError_t segmented_argmax(const Task &task, void *scratch, size_t &bytes)
{
    auto begin = OFFSETS::begin(task);
    return cub::DeviceSegmentedReduce::ArgMax(scratch, bytes, values<T>(task), results<cub::KeyValuePair<int, T>>(task),
                                              int64_t(task.rows), begin, begin + 1, task.stream);
}

#if HAS_FIXED_SIZE
template <typename T, typename R>
cudaError_t fixed_sum(const Task &task, void *scratch, size_t &bytes)
{
    return cub::DeviceSegmentedReduce::Sum(scratch, bytes, values<T>(task), results<R>(task), int64_t(task.rows), int(task.columns),
                                           task.stream);
}

template <typename T>
cudaError_t fixed_max(const Task &task, void *scratch, size_t &bytes)
{
    return cub::DeviceSegmentedReduce::Max(scratch, bytes, values<T>(task), results<T>(task), int64_t(task.rows), int(task.columns),
                                           task.stream);
}

template <typename T>
cudaError_t fixed_argmax(const Task &task, void *scratch, size_t &bytes)
{
    return cub::DeviceSegmentedReduce::ArgMax(scratch, bytes, values<T>(task), results<cuda::std::pair<int, T>>(task),
                                              int64_t(task.rows), int(task.columns), task.stream);
}

#define FIXED_NOTE ""
#define FIXED(NAME, OPERATION, TYPE, RESULT, ...) \
    {"cub::DeviceSegmentedReduce::" NAME ", one size", "rows", OPERATION, TYPE, RESULT, "yes", __VA_ARGS__},
#else
#define FIXED_NOTE "CUB before 3.2 has no segments of one size: its rows are segments between computed offsets"
#define FIXED(NAME, OPERATION, TYPE, RESULT, ...)
#endif

#define SEGMENTED(NAME, KIND, OPERATION, TYPE, RESULT, ...) \
    {"cub::DeviceSegmentedReduce::" NAME, KIND, OPERATION, TYPE, RESULT, "yes", __VA_ARGS__},

} // namespace
