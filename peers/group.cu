// CUB, then NCCL, in one process: what a `Group` of several GPUs is compared with.
//
//     nvcc -O3 -std=c++17 -arch=native -shared -Xcompiler -fPIC group.cu -o libgroup.so -lnccl      # `cargo xtask peers groups` does this
//
// Each GPU sums its part by cub::DeviceReduce::Sum, and one ncclAllReduce of one value follows on the same stream. The functions marked
// `extern "C"` are the whole interface; each answers with nothing, or with a sentence.

#include <string>
#include <vector>

#include <cub/cub.cuh>
#include <nccl.h>

namespace {

struct Member {
    int device;
    float *sum;
    void *scratch;
    size_t bytes;
    ncclComm_t communicator;
};

std::vector<Member> members;
std::string message;

const char *failed(const char *call, const char *reason)
{
    message = std::string(call) + ": " + reason;
    return message.c_str();
}

#define CUDA(call)                                                                                                      \
    if (cudaError_t error = (call); error != cudaSuccess)                                                               \
        return failed(#call, cudaGetErrorString(error))
#define NCCL(call)                                                                                                      \
    if (ncclResult_t error = (call); error != ncclSuccess)                                                              \
        return failed(#call, ncclGetErrorString(error))

#define TEXT_OF(X) #X
#define TEXT(X) TEXT_OF(X)

} // namespace

extern "C" {

const char *group_compiler()
{
    int version = 0;
    ncclGetVersion(&version);
    static const std::string text = "nvcc " TEXT(__CUDACC_VER_MAJOR__) "." TEXT(__CUDACC_VER_MINOR__) "." TEXT(__CUDACC_VER_BUILD__) ", CUB "
        + std::to_string(CUB_MAJOR_VERSION) + "." + std::to_string(CUB_MINOR_VERSION) + "." + std::to_string(CUB_SUBMINOR_VERSION) + ", NCCL "
        + std::to_string(version / 10000) + "." + std::to_string(version / 100 % 100) + "." + std::to_string(version % 100);
    return text.c_str();
}

// Makes the communicators of GPUs 0 to `count` - 1, and the memory for parts of up to `most` values.
const char *group_open(int count, size_t most)
{
    std::vector<ncclComm_t> communicators(count);
    NCCL(ncclCommInitAll(communicators.data(), count, nullptr));
    for (int device = 0; device < count; device++) {
        Member member{device, nullptr, nullptr, 0, communicators[device]};
        CUDA(cudaSetDevice(device));
        CUDA(cudaMalloc(&member.sum, sizeof(float)));
        CUDA(cub::DeviceReduce::Sum(nullptr, member.bytes, static_cast<const float *>(nullptr), member.sum, most));
        CUDA(cudaMalloc(&member.scratch, member.bytes));
        members.push_back(member);
    }
    return nullptr;
}

// Queues the sum of all parts, each on the stream of its GPU.
const char *group_queue(const float *const *parts, const size_t *lengths, const cudaStream_t *streams)
{
    for (const Member &member : members) {
        CUDA(cudaSetDevice(member.device));
        size_t bytes = member.bytes;
        const int at = member.device;
        CUDA(cub::DeviceReduce::Sum(member.scratch, bytes, parts[at], member.sum, lengths[at], streams[at]));
    }
    NCCL(ncclGroupStart());
    for (const Member &member : members) {
        NCCL(ncclAllReduce(member.sum, member.sum, 1, ncclFloat, ncclSum, member.communicator, streams[member.device]));
    }
    NCCL(ncclGroupEnd());
    return nullptr;
}

// The sum that a GPU has, when everything that is queued has been done.
const char *group_sum(int device, float *sum)
{
    CUDA(cudaSetDevice(device));
    CUDA(cudaMemcpy(sum, members[device].sum, sizeof *sum, cudaMemcpyDeviceToHost));
    return nullptr;
}

const char *group_close()
{
    for (const Member &member : members) {
        CUDA(cudaSetDevice(member.device));
        NCCL(ncclCommDestroy(member.communicator));
        CUDA(cudaFree(member.scratch));
        CUDA(cudaFree(member.sum));
    }
    members.clear();
    return nullptr;
}
}
