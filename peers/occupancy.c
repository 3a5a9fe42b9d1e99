// What CUDA's own occupancy calculation gives: a table that emulator/tests/occupancy.rs compares with. It needs the header
// cuda_occupancy.h of the CUDA toolkit (in the Python package nvidia-cuda-runtime-cu12 as well), and no GPU:
//
//     gcc -I /usr/local/cuda/include peers/occupancy.c -o occupancy && ./occupancy > emulator/tests/data/occupancy.tsv
//
// The header knows how a multiprocessor gives its resources to blocks. How much it has of each is told by the driver on a GPU, and stands
// below from the table "Technical Specifications per Compute Capability" of the CUDA C++ Programming Guide.
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "cuda_occupancy.h"

static const struct {
    int sm, threads, shared_kib, shared_kib_per_block, reserved_kib;
} GPUS[] = {
    {70, 2048, 96, 96, 0},   {75, 1024, 64, 64, 0},    {80, 2048, 164, 163, 1},
    {86, 1536, 100, 99, 1},  {87, 1536, 164, 163, 1},  {89, 1536, 100, 99, 1},
    {90, 2048, 228, 227, 1}, {100, 2048, 228, 227, 1}, {120, 1536, 100, 99, 1},
};
static const int THREADS[] = {1, 64, 96, 256, 512, 1024};
static const int REGISTERS[] = {16, 33, 40, 62, 72, 128, 255};
static const int SHARED[] = {0, 100, 8192, 16384, 49152, 101376};

#define COUNT(list) (sizeof(list) / sizeof((list)[0]))

int main(void) {
    printf("# sm\tthreads\tregisters\tshared bytes\tblocks\tlimits: 1 warps, 2 registers, 4 shared memory, 8 blocks\n");
    for (size_t g = 0; g < COUNT(GPUS); g++) {
        cudaOccDeviceProp gpu;
        memset(&gpu, 0, sizeof gpu);
        gpu.computeMajor = GPUS[g].sm / 10;
        gpu.computeMinor = GPUS[g].sm % 10;
        gpu.maxThreadsPerBlock = 1024;
        gpu.maxThreadsPerMultiprocessor = GPUS[g].threads;
        gpu.regsPerBlock = gpu.regsPerMultiprocessor = 65536;
        gpu.warpSize = 32;
        gpu.sharedMemPerBlock = 48 << 10;
        gpu.sharedMemPerMultiprocessor = (size_t)GPUS[g].shared_kib << 10;
        gpu.sharedMemPerBlockOptin = (size_t)GPUS[g].shared_kib_per_block << 10;
        gpu.reservedSharedMemPerBlock = (size_t)GPUS[g].reserved_kib << 10;
        gpu.numSms = 1;
        for (size_t t = 0; t < COUNT(THREADS); t++)
            for (size_t r = 0; r < COUNT(REGISTERS); r++)
                for (size_t s = 0; s < COUNT(SHARED); s++) {
                    cudaOccFuncAttributes kernel;
                    memset(&kernel, 0, sizeof kernel);
                    kernel.maxThreadsPerBlock = 1024;
                    kernel.numRegs = REGISTERS[r];
                    kernel.shmemLimitConfig = FUNC_SHMEM_LIMIT_OPTIN;
                    kernel.maxDynamicSharedSizeBytes = gpu.sharedMemPerBlockOptin;
                    cudaOccDeviceState state;
                    memset(&state, 0, sizeof state);
                    state.carveoutConfig = SHAREDMEM_CARVEOUT_DEFAULT;
                    cudaOccResult result;
                    int status = cudaOccMaxActiveBlocksPerMultiprocessor(&result, &gpu, &kernel, &state, THREADS[t], SHARED[s]);
                    if (status != CUDA_OCC_SUCCESS) {
                        // More than the most that a block may ask for.
                        result.activeBlocksPerMultiprocessor = 0;
                        result.limitingFactors = OCC_LIMIT_SHARED_MEMORY;
                    }
                    printf("%d\t%d\t%d\t%d\t%d\t%u\n", GPUS[g].sm, THREADS[t], REGISTERS[r], SHARED[s],
                           result.activeBlocksPerMultiprocessor, result.limitingFactors & 15);
                }
    }
    return 0;
}
