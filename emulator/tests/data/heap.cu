// Memory that kernels allocate themselves.
//
//     nvcc -ptx -arch=sm_90 heap.cu -o heap.nvcc.sm_90.ptx
#include <cstdlib>

struct Node {
    int value;
    Node *next;
};

// Each thread keeps the numbers from its own on as a list, sums it up from the last to the first, and frees it.
extern "C" __global__ void lists(int *sums, int count) {
    Node *list = nullptr;
    for (int i = 0; i < count; i++) {
        list = new Node{(int)threadIdx.x + i, list};
    }
    int sum = 0;
    while (list) {
        sum = sum * 3 + list->value;
        Node *next = list->next;
        delete list;
        list = next;
    }
    sums[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

// One thread allocates for its block, another frees: `rows` stays for the launch of `take`.
extern "C" __global__ void keep(int **rows, int length) {
    __shared__ int *row;
    if (threadIdx.x == 0) {
        row = rows[blockIdx.x] = (int *)malloc(length * sizeof(int));
    }
    __syncthreads();
    for (int i = threadIdx.x; i < length; i += blockDim.x) {
        row[i] = i * i + blockIdx.x;
    }
}

extern "C" __global__ void take(int **rows, int length, int *out) {
    int *row = rows[blockIdx.x];
    for (int i = threadIdx.x; i < length; i += blockDim.x) {
        out[blockIdx.x * length + i] = row[length - 1 - i];
    }
    __syncthreads();
    if (threadIdx.x == blockDim.x - 1) {
        free(row);
        free(nullptr);
    }
}

// How many pieces of so many bytes there are, at multiples of 16.
extern "C" __global__ void exhaust(int *out, size_t bytes) {
    void *last = nullptr;
    int count = 0;
    while (void **piece = (void **)malloc(bytes)) {
        *piece = last;
        last = piece;
        count += (size_t)piece % 16 == 0;
    }
    while (last) {
        void *before = *(void **)last;
        free(last);
        last = before;
    }
    out[0] = count;
}
