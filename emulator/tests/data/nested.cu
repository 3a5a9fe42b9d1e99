// Grids launched from the device, by nvcc: `nvcc -rdc=true -arch=sm_90 -ptx nested.cu -o nested.nvcc.sm_90.ptx`

// Takes a ticket and notes who took it: the order in which grids run.
__device__ void note(unsigned *log, unsigned who) { log[atomicAdd(log, 1) + 1] = who; }

__global__ void leaf(unsigned *log, unsigned who, double scale) {
    if (threadIdx.x == 0) note(log, who + blockIdx.x + (unsigned)(10 * scale));
}

// A child with a child of its own: complete only when that one is.
__global__ void branch(unsigned *log, unsigned who) {
    if (threadIdx.x == 0) {
        note(log, who);
        leaf<<<1, 32>>>(log, who + 1, 0.0);
    }
}

// Two in the block's stream, one after a tail launch that comes last all the same.
__global__ void streams(unsigned *log) {
    if (threadIdx.x == 0) {
        leaf<<<2, 64, 0, cudaStreamTailLaunch>>>(log, 90, 0.0);
        branch<<<1, 32>>>(log, 10);
        branch<<<1, 32>>>(log, 20);
        leaf<<<1, 32, 0, cudaStreamFireAndForget>>>(log, 40, 1.0);
        note(log, 1);
    }
}

// What a thread has written, its child finds.
__global__ void add_up(unsigned *data, unsigned count) {
    unsigned half = count / 2;
    data[threadIdx.x] += data[threadIdx.x + half];
    __syncthreads();
    if (threadIdx.x == 0 && half > 1) add_up<<<1, half / 2>>>(data, half);
}

// Shapes that no device takes.
__global__ void refused(unsigned *errors, unsigned blocks, unsigned threads, unsigned shared, unsigned long long stream) {
    leaf<<<blocks, threads, shared, (cudaStream_t)stream>>>(errors + 4, 1, 0.0);
    errors[0] = cudaPeekAtLastError();
    errors[1] = cudaGetLastError();
    errors[2] = cudaGetLastError();
}

// Through a table of kernels.
typedef void (*Kernel)(unsigned *, unsigned, double);
__device__ Kernel table[2] = {leaf, leaf};
__global__ void by_pointer(unsigned *log, unsigned which) {
    table[which]<<<1, 32>>>(log, 70, 0.5);
}

__global__ void set(unsigned *data, unsigned value) { data[threadIdx.x] = value; }

// What a parent and its children do to the same words; by `which`, in order or not.
__global__ void shared_words(unsigned *data, unsigned which) {
    data[blockIdx.x] = 7;
    __syncthreads();
    if (threadIdx.x != 0 || blockIdx.x != 0) return;
    switch (which) {
        case 0: set<<<1, 1>>>(data, 1); break;
        case 1: set<<<1, 1>>>(data, 1); set<<<1, 1>>>(data, 2); break;
        case 2: set<<<1, 2, 0, cudaStreamTailLaunch>>>(data, 1); set<<<1, 2, 0, cudaStreamTailLaunch>>>(data, 2); break;
        case 3: set<<<1, 1>>>(data, 1); data[0] = 8; break;
        case 4: set<<<1, 1, 0, cudaStreamFireAndForget>>>(data, 1); set<<<1, 1, 0, cudaStreamFireAndForget>>>(data, 2); break;
        case 5: set<<<1, 2>>>(data, 1); break;
    }
}

// Launches itself until it is so deep.
__global__ void deeper(unsigned *reached, unsigned depth, unsigned most) {
    *reached = depth;
    if (depth < most) deeper<<<1, 1>>>(reached, depth + 1, most);
}

// So many grids, none of which can begin before it is over.
__global__ void tails(unsigned *log, unsigned count) {
    for (unsigned i = 0; i < count; i++) leaf<<<1, 1, 0, cudaStreamTailLaunch>>>(log, i, 0.0);
}

// A pointer that is no use to a child.
__global__ void own_memory(unsigned *out) {
    __shared__ unsigned words[32];
    words[threadIdx.x] = threadIdx.x;
    if (threadIdx.x == 0) set<<<1, 1>>>(words, 1);
    out[threadIdx.x] = words[threadIdx.x];
}

__global__ void overrun(unsigned *data, unsigned count) {
    if (threadIdx.x == 0) set<<<1, count>>>(data, 1);
}
