// Scans and reductions by key of f32, by CUB and Thrust.

#include <thrust/execution_policy.h>
#include <thrust/reduce.h>

#include "contender.h"

namespace {

struct Greater {
    __host__ __device__ float operator()(float left, float right) const
    {
        return left < right ? right : left;
    }
};

struct Plus {
    __host__ __device__ float operator()(float left, float right) const
    {
        return left + right;
    }
};

struct RowOf {
    int columns;

    __host__ __device__ int operator()(int index) const
    {
        return index / columns;
    }
};

auto row_of_each(const Task &task)
{
    return thrust::make_transform_iterator(thrust::make_counting_iterator(0), RowOf{int(task.columns)});
}

cudaError_t scan_sum(const Task &task, void *scratch, size_t &bytes)
{
    return cub::DeviceScan::InclusiveSum(scratch, bytes, values<float>(task), results<float>(task), int64_t(task.n), task.stream);
}

cudaError_t scan_max(const Task &task, void *scratch, size_t &bytes)
{
    return cub::DeviceScan::InclusiveScan(scratch, bytes, values<float>(task), results<float>(task), Greater{}, int64_t(task.n),
                                          task.stream);
}

// Of rows: what scans begins anew where the number of the row changes.
cudaError_t scan_rows_sum(const Task &task, void *scratch, size_t &bytes)
{
    return cub::DeviceScan::InclusiveSumByKey(scratch, bytes, row_of_each(task), values<float>(task), results<float>(task), int(task.n),
                                              ::cuda::std::equal_to<>{}, task.stream);
}

cudaError_t scan_rows_max(const Task &task, void *scratch, size_t &bytes)
{
    return cub::DeviceScan::InclusiveScanByKey(scratch, bytes, row_of_each(task), values<float>(task), results<float>(task), Greater{},
                                               int(task.n), ::cuda::std::equal_to<>{}, task.stream);
}

cudaError_t by_key(const Task &task, void *scratch, size_t &bytes)
{
    return cub::DeviceReduce::ReduceByKey(scratch, bytes, task.keys, task.keys_of_runs, values<float>(task), results<float>(task),
                                          task.runs, Plus{}, int(task.n), task.stream);
}

// It allocates its scratch memory and waits, each time.
cudaError_t thrust_by_key(const Task &task, void *scratch, size_t &bytes)
{
    if (!scratch) {
        bytes = 1;
        return cudaSuccess;
    }
    try {
        thrust::reduce_by_key(thrust::cuda::par.on(task.stream), task.keys, task.keys + task.n, values<float>(task), task.keys_of_runs,
                              results<float>(task));
        return cudaSuccess;
    } catch (...) {
        cudaError_t error = cudaGetLastError();
        return error != cudaSuccess ? error : cudaErrorUnknown;
    }
}

const char *const NOTE = "";

const Contender CONTENDERS[] = {
    {"cub::DeviceScan::InclusiveSum", "scan", "sum", "f32", "f32", "yes", scan_sum},
    {"cub::DeviceScan::InclusiveScan", "scan", "max", "f32", "f32", "yes", scan_max},
    {"cub::DeviceScan::InclusiveSumByKey", "scan of rows", "sum", "f32", "f32", "yes", scan_rows_sum},
    {"cub::DeviceScan::InclusiveScanByKey", "scan of rows", "max", "f32", "f32", "yes", scan_rows_max},
    {"cub::DeviceReduce::ReduceByKey", "keys", "sum", "f32", "f32", "yes", by_key},
    {"thrust::reduce_by_key", "keys", "sum", "f32", "f32", "no", thrust_by_key},
};

} // namespace

EXPORT
