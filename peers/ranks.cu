// NCCL after CUB, one process per GPU: what `examples/ranks` is compared with. Started by a launcher, like that:
//
//   nvcc -O3 -std=c++17 -o ranks_cub peers/ranks.cu -lnccl
//   torchrun --no-python --nproc-per-node 2 ./ranks_cub 28
//
// Each rank sums 2^N floats by cub::DeviceReduce::Sum and combines the sums by ncclAllReduce, queued on one stream and waited for; then the
// same captured into a graph. The rank, their number and the number on the host come from torchrun's variables or Open MPI's. NCCL's id goes
// through a file, RANKS_ID or /tmp/ranks_id.MASTER_PORT, that all ranks of the host see and that is removed before.

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include <cub/cub.cuh>
#include <nccl.h>

#define CHECK(call, good, text)                                                                          \
    do {                                                                                                 \
        auto outcome = (call);                                                                           \
        if (outcome != good) {                                                                           \
            std::fprintf(stderr, "%s: %s\n", #call, text(outcome));                                      \
            std::exit(2);                                                                                \
        }                                                                                                \
    } while (false)
#define CUDA(call) CHECK(call, cudaSuccess, cudaGetErrorString)
#define NCCL(call) CHECK(call, ncclSuccess, ncclGetErrorString)

static int number(const char *one, const char *other, int otherwise)
{
    const char *text = std::getenv(one);
    text = text ? text : std::getenv(other);
    return text ? std::atoi(text) : otherwise;
}

static ncclUniqueId exchange_id(int rank)
{
    const char *port = std::getenv("MASTER_PORT");
    const char *given = std::getenv("RANKS_ID");
    const std::string path = given ? given : std::string("/tmp/ranks_id.") + (port ? port : "0");
    ncclUniqueId id;
    if (rank == 0) {
        NCCL(ncclGetUniqueId(&id));
        const std::string draft = path + ".draft";
        std::FILE *file = std::fopen(draft.c_str(), "wb");
        if (!file || std::fwrite(&id, sizeof id, 1, file) != 1 || std::fclose(file) != 0 ||
            std::rename(draft.c_str(), path.c_str()) != 0) {
            std::fprintf(stderr, "cannot write %s\n", path.c_str());
            std::exit(2);
        }
        return id;
    }
    for (int attempt = 0; attempt < 600; attempt++) {
        if (std::FILE *file = std::fopen(path.c_str(), "rb")) {
            const bool is_there = std::fread(&id, sizeof id, 1, file) == 1;
            std::fclose(file);
            if (is_there)
                return id;
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
    std::fprintf(stderr, "rank %d waited 60 s for %s\n", rank, path.c_str());
    std::exit(2);
}

template <typename Queue>
static double median_us(cudaStream_t stream, Queue queue)
{
    std::vector<double> times;
    for (int round = 0; round < 100; round++) {
        const auto start = std::chrono::steady_clock::now();
        queue();
        CUDA(cudaStreamSynchronize(stream));
        times.push_back(std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count());
    }
    std::sort(times.begin(), times.end());
    return times[times.size() / 2];
}

int main(int count, char **arguments)
{
    const size_t n = size_t(1) << (count > 1 ? std::atoi(arguments[1]) : 20);
    const int rank = number("RANK", "OMPI_COMM_WORLD_RANK", 0);
    const int size = number("WORLD_SIZE", "OMPI_COMM_WORLD_SIZE", 1);
    CUDA(cudaSetDevice(number("LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", 0)));
    ncclComm_t communicator;
    NCCL(ncclCommInitRank(&communicator, size, exchange_id(rank), rank));

    float *values, *sum;
    CUDA(cudaMalloc(&values, n * sizeof(float)));
    CUDA(cudaMalloc(&sum, sizeof(float)));
    const std::vector<float> ones(n, 1.0f);
    CUDA(cudaMemcpy(values, ones.data(), n * sizeof(float), cudaMemcpyHostToDevice));
    size_t bytes = 0;
    void *scratch;
    CUDA(cub::DeviceReduce::Sum(nullptr, bytes, values, sum, n));
    CUDA(cudaMalloc(&scratch, bytes));
    cudaStream_t stream;
    CUDA(cudaStreamCreate(&stream));
    const auto queue = [&] {
        CUDA(cub::DeviceReduce::Sum(scratch, bytes, values, sum, n, stream));
        NCCL(ncclAllReduce(sum, sum, 1, ncclFloat, ncclSum, communicator, stream));
    };
    const double queued = median_us(stream, queue);
    cudaGraph_t graph;
    cudaGraphExec_t executable;
    CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    queue();
    CUDA(cudaStreamEndCapture(stream, &graph));
    CUDA(cudaGraphInstantiate(&executable, graph, 0));
    const double launched = median_us(stream, [&] { CUDA(cudaGraphLaunch(executable, stream)); });
    float found;
    CUDA(cudaMemcpy(&found, sum, sizeof found, cudaMemcpyDeviceToHost));
    // Powers of two: exact in any order while there are as many ranks.
    if (found != float(n) * float(size)) {
        std::fprintf(stderr, "rank %d: the sum is %g and should be %g\n", rank, found, float(n) * float(size));
        return 1;
    }
    std::printf("rank %d of %d: CUB, then NCCL, of %zu f32 each: %.1f us, as a graph: %.1f us\n", rank, size, n, queued, launched);
    // The captured collective goes before the communicator.
    CUDA(cudaGraphExecDestroy(executable));
    CUDA(cudaGraphDestroy(graph));
    NCCL(ncclCommDestroy(communicator));
    return 0;
}
