// A contender of a file of this folder: what is reduced, and how. Each file is a shared library of its own, which `peers/run/` loads:
//
//     nvcc -O3 -std=c++17 -arch=native -shared -Xcompiler -fPIC rows.cu -o librows.so      # `cargo xtask peers shapes` does this
//
// A file defines CONTENDERS and NOTE, and ends with EXPORT. The functions marked `extern "C"` are the whole interface. Those that answer
// with an `int` answer with a `cudaError_t`. A contender is known by its index below shapes_count().

#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include <cub/cub.cuh>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/transform_iterator.h>

// Whether CUB has segments that are all of one size.
#define HAS_FIXED_SIZE (CUB_VERSION >= 300200)

// What is to be reduced. `peers/run/shapes/library.rs` has the same.
struct Task {
    const void *values;
    const uint32_t *keys;
    // Where segments begin, and the last ends: one more than there are segments.
    const uint32_t *offsets;
    void *results;
    uint32_t *keys_of_runs;
    int64_t *runs;
    uint64_t n;
    // Rows, segments or runs.
    uint64_t rows;
    // Values of a row.
    uint64_t columns;
    void *scratch;
    size_t scratch_bytes;
    cudaStream_t stream;
};

namespace {

// Without scratch memory a contender only says how many bytes of it are wanted, as CUB does.
using Run = cudaError_t (*)(const Task &task, void *scratch, size_t &bytes);

struct Contender {
    // Its name; `array`, `rows`, `segments`, `scan`, `scan of rows` or `keys`; and by their names in Rust the operator, what is reduced, and
    // what a result is: a type, `index and value` or `moments`.
    const char *name, *kind, *operation, *element_type, *result_type;
    // Whether its launches can be captured into a graph: `yes` or `no`.
    const char *captured;
    Run run;
};

template <typename T>
const T *values(const Task &task)
{
    return static_cast<const T *>(task.values);
}

template <typename T>
T *results(const Task &task)
{
    return static_cast<T *>(task.results);
}

// Where a row begins.
struct RowStart {
    int columns;

    __host__ __device__ int operator()(int row) const
    {
        return row * columns;
    }
};

// Where the rows of a task begin; one further, where they end.
inline auto row_starts(const Task &task)
{
    return thrust::make_transform_iterator(thrust::make_counting_iterator(0), RowStart{int(task.columns)});
}

#define TEXT_OF(X) #X
#define TEXT(X) TEXT_OF(X)

} // namespace

#define EXPORT                                                                                                          \
    extern "C" {                                                                                                        \
    uint32_t shapes_count()                                                                                             \
    {                                                                                                                   \
        return sizeof CONTENDERS / sizeof *CONTENDERS;                                                                  \
    }                                                                                                                   \
    const char *shapes_compiler()                                                                                       \
    {                                                                                                                   \
        static const std::string text = "nvcc " TEXT(__CUDACC_VER_MAJOR__) "." TEXT(__CUDACC_VER_MINOR__) "." TEXT(     \
            __CUDACC_VER_BUILD__) ", CUB " + std::to_string(CUB_MAJOR_VERSION) + "."                                    \
            + std::to_string(CUB_MINOR_VERSION) + "." + std::to_string(CUB_SUBMINOR_VERSION);                           \
        return text.c_str();                                                                                            \
    }                                                                                                                   \
    const char *shapes_note()                                                                                           \
    {                                                                                                                   \
        return NOTE;                                                                                                    \
    }                                                                                                                   \
    const char *shapes_text(uint32_t index, uint32_t what)                                                              \
    {                                                                                                                   \
        const Contender &one = CONTENDERS[index];                                                                       \
        const char *texts[] = {one.name, one.kind, one.operation, one.element_type, one.result_type, one.captured};     \
        return texts[what];                                                                                             \
    }                                                                                                                   \
    int shapes_scratch_bytes(uint32_t index, const Task *task, size_t *bytes)                                           \
    {                                                                                                                   \
        *bytes = 0;                                                                                                     \
        return CONTENDERS[index].run(*task, nullptr, *bytes);                                                           \
    }                                                                                                                   \
    int shapes_launch(uint32_t index, const Task *task)                                                                 \
    {                                                                                                                   \
        size_t bytes = task->scratch_bytes;                                                                             \
        return CONTENDERS[index].run(*task, task->scratch, bytes);                                                      \
    }                                                                                                                   \
    const char *shapes_error(int error)                                                                                 \
    {                                                                                                                   \
        return cudaGetErrorString(static_cast<cudaError_t>(error));                                                     \
    }                                                                                                                   \
    }
