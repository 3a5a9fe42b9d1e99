// Launches each step of ladder.cu once, for a profiler: ladder_launch LOG2_OF_N.
// Writes one line per launch, in order: kernel,parameter,indices (the second is n, the third is empty).

#include <cstdio>
#include <cstdlib>

#include "ladder.cu"

namespace {

constexpr unsigned BLOCK = 512;

template <typename Input>
struct Step {
    const char *name;
    void (*kernel)(Input *, int *, size_t);
    unsigned elements_per_thread;
};

template <typename Input>
void launch(const Step<Input> &step, int *input, int *partials, size_t n)
{
    size_t tile = static_cast<size_t>(step.elements_per_thread) * BLOCK;
    step.kernel<<<(n + tile - 1) / tile, BLOCK>>>(input, partials, n);
    printf("%s,%zu,\n", step.name, n);
}

} // namespace

int main(int count, char **words)
{
    size_t n = size_t(1) << (count > 1 ? atoi(words[1]) : 22);
    int *input = nullptr, *partials = nullptr;
    cudaMalloc(&input, n * sizeof(int));
    cudaMalloc(&partials, (n + BLOCK - 1) / BLOCK * sizeof(int));
    cudaMemset(input, 0, n * sizeof(int));

    const Step<int> in_place[] = {
        {"neighbored", neighbored, 1},
        {"neighbored_less", neighbored_less, 1},
        {"interleaved", interleaved, 1},
        {"unroll2", unroll2, 2},
        {"unroll4", unroll4, 4},
        {"unroll8", unroll8, 8},
        {"unroll_warps8", unroll_warps8, 8},
        {"unroll_warps8_sync", unroll_warps8_sync, 8},
        {"complete_unroll_warps8", complete_unroll_warps8, 8},
        {"complete_unroll_512", complete_unroll_512, 8},
    };
    const Step<const int> reading[] = {
        {"complete_unroll_shared_512", complete_unroll_shared_512, 8},
        {"shuffle_512", shuffle_512, 8},
    };
    for (const auto &step : in_place)
        launch(step, input, partials, n);
    for (const auto &step : reading)
        launch(step, input, partials, n);

    cudaError_t status = cudaDeviceSynchronize();
    if (status != cudaSuccess)
        fprintf(stderr, "%s\n", cudaGetErrorString(status));
    return status != cudaSuccess;
}
