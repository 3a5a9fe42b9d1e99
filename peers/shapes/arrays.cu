// Whole arrays of f32 by CUB: what it has as a call, and what people make of its calls.

#include "contender.h"

namespace {

cudaError_t sum_of(const Task &task, void *scratch, size_t &bytes)
{
    return cub::DeviceReduce::Sum(scratch, bytes, values<float>(task), results<float>(task), int64_t(task.columns), task.stream);
}

cudaError_t max_of(const Task &task, void *scratch, size_t &bytes)
{
    return cub::DeviceReduce::Max(scratch, bytes, values<float>(task), results<float>(task), int64_t(task.columns), task.stream);
}

// The index first, and after it the value.
cudaError_t argmax_of(const Task &task, void *scratch, size_t &bytes)
{
    int64_t *index = results<int64_t>(task);
    float *value = reinterpret_cast<float *>(index + 1);
    return cub::DeviceReduce::ArgMax(scratch, bytes, values<float>(task), value, index, int64_t(task.columns), task.stream);
}

struct Product {
    const float *left, *right;

    __host__ __device__ float operator()(int64_t index) const
    {
        return left[index] * right[index];
    }
};

// Of the first values and as many after them.
cudaError_t dot_of(const Task &task, void *scratch, size_t &bytes)
{
    const float *left = values<float>(task);
    auto products = thrust::make_transform_iterator(thrust::make_counting_iterator(int64_t(0)), Product{left, left + task.columns});
    return cub::DeviceReduce::Sum(scratch, bytes, products, results<float>(task), int64_t(task.columns), task.stream);
}

// A variance in one pass, by Chan's rule.
struct Moments {
    float count, mean, squares;
};

struct Lift {
    __host__ __device__ Moments operator()(float value) const
    {
        return {1.0f, value, 0.0f};
    }
};

struct Join {
    __host__ __device__ Moments operator()(const Moments &left, const Moments &right) const
    {
        if (left.count == 0.0f)
            return right;
        if (right.count == 0.0f)
            return left;
        float count = left.count + right.count, distance = right.mean - left.mean, share = right.count / count;
        return {count, left.mean + distance * share, left.squares + right.squares + distance * distance * left.count * share};
    }
};

cudaError_t variance_of(const Task &task, void *scratch, size_t &bytes)
{
    auto lifted = thrust::make_transform_iterator(values<float>(task), Lift{});
    return cub::DeviceReduce::Reduce(scratch, bytes, lifted, results<Moments>(task), int64_t(task.columns), Join{},
                                     Moments{0.0f, 0.0f, 0.0f}, task.stream);
}

const char *const NOTE = "";

const Contender CONTENDERS[] = {
    {"cub::DeviceReduce::Sum", "array", "sum", "f32", "f32", "yes", sum_of},
    {"cub::DeviceReduce::Max", "array", "max", "f32", "f32", "yes", max_of},
    {"cub::DeviceReduce::ArgMax", "array", "argmax", "f32", "i64", "yes", argmax_of},
    {"cub::DeviceReduce::Sum of products", "array", "dot", "f32", "f32", "yes", dot_of},
    {"cub::DeviceReduce::Reduce of moments", "array", "variance", "f32", "moments", "yes", variance_of},
};

} // namespace

EXPORT
