// Structures passed by value to functions that are not inlined: each callee works on a copy of its own.
// clang --target=nvptx64-nvidia-cuda -march=sm_80 -Xclang -target-feature -Xclang +ptx83 -O2 -S by_value.c -o by_value.clang.sm_80.ptx

typedef __builtin_va_list va_list;
#define KERNEL __attribute__((device_kernel))
#define APART __attribute__((noinline))
#define THREAD __nvvm_read_ptx_sreg_tid_x()

typedef struct { int values[40]; } Big;
typedef struct { __attribute__((aligned(64))) int values[20]; } Aligned;
typedef struct { char bytes[7]; } Odd;

static Big filled(int thread) {
    Big big;
    for (int i = 0; i < 40; i++) big.values[i] = i ^ thread;
    return big;
}

static int digest(const int *values, int count) {
    int sum = 0;
    for (int i = 0; i < count; i++) sum = sum * 7 + values[i];
    return sum;
}

// Changes its copy at places that only the run decides, and gives it back.
APART Big scrambled(Big big, int step) {
    for (int i = 0; i < 40; i++) big.values[(unsigned)(step * i) % 40] += i;
    return big;
}

KERNEL void structures(int *out) {
    Big mine = filled(THREAD);
    Big other = scrambled(mine, THREAD + 1);
    out[THREAD] = digest(other.values, 40) - digest(mine.values, 40);
}

// Each depth changes the copy that the depth above has passed, and looks at its own again after the call.
APART int descend(Big big, int depth) {
    big.values[depth % 40] += 1000;
    int below = depth == 0 ? 0 : descend(big, depth - 1);
    return below * 3 + big.values[(depth + 1) % 40] + big.values[depth % 40];
}

KERNEL void recursion(int *out) {
    Big mine = filled(THREAD);
    out[THREAD] = descend(mine, THREAD % 9) + mine.values[THREAD % 9];
}

typedef int (*Method)(Big, int);
APART static int first_of(Big big, int at) { big.values[at % 40] = 5; return digest(big.values, 20); }
APART static int last_of(Big big, int at) { big.values[39 - at % 40] = 6; return digest(big.values + 20, 20); }
__attribute__((address_space(1))) static Method methods[2] = {first_of, last_of};

KERNEL void pointers(int *out) {
    Big mine = filled(THREAD);
    out[THREAD] = methods[THREAD % 2](mine, THREAD) + mine.values[THREAD % 40];
}

APART Aligned aligned(Odd odd, Aligned values, int at) {
    odd.bytes[at % 7] += 1;
    for (int i = 0; i < 7; i++) values.values[(at + i) % 20] += odd.bytes[i];
    values.values[19] += ((unsigned long)&values.values[0] % 64 != 0) * 1000000;
    return values;
}

KERNEL void alignment(int *out) {
    Odd odd;
    Aligned values;
    for (int i = 0; i < 7; i++) odd.bytes[i] = THREAD - i;
    for (int i = 0; i < 20; i++) values.values[i] = i * THREAD;
    Aligned got = aligned(odd, values, THREAD);
    out[THREAD] = digest(got.values, 20) + odd.bytes[THREAD % 7] + values.values[THREAD % 20];
}

APART int sum_of(Odd odd, int count, ...) {
    va_list list;
    __builtin_va_start(list, count);
    int sum = 0;
    for (int i = 0; i < count; i++) {
        odd.bytes[(i + count) % 7] *= 2;
        sum = sum * 5 + __builtin_va_arg(list, int) + (int)__builtin_va_arg(list, double) + odd.bytes[i % 7];
    }
    __builtin_va_end(list);
    return sum;
}

KERNEL void varargs(int *out) {
    Odd odd;
    for (int i = 0; i < 7; i++) odd.bytes[i] = THREAD + i;
    int thread = THREAD;
    out[thread] = sum_of(odd, 3, thread, 1.5, -thread, (double)thread, 7, 100.0) + odd.bytes[thread % 7];
}
