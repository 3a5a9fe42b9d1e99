// A contender of reduce.cu: what is launched, and with what.

#pragma once

#include <cstddef>
#include <cstdint>

namespace {

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

// Who does not take part, for want of something.
struct LeftOut {
    const char *name, *reason;
};

} // namespace
