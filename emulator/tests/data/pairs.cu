// Two singles at once, as nvcc has them from sm_100 on.
//
//     nvcc -ptx -arch=sm_100 pairs.cu -o pairs.nvcc.sm_100.ptx
extern "C" __global__ void pairs(float2 *out, const float2 *in) {
    int i = threadIdx.x;
    float2 a = in[3 * i], b = in[3 * i + 1], c = in[3 * i + 2];
    out[12 * i] = __fadd2_rn(a, b);
    out[12 * i + 1] = __fadd2_rz(a, b);
    out[12 * i + 2] = __fadd2_rd(a, b);
    out[12 * i + 3] = __fadd2_ru(a, b);
    out[12 * i + 4] = __fmul2_rn(a, b);
    out[12 * i + 5] = __fmul2_rz(a, b);
    out[12 * i + 6] = __fmul2_rd(a, b);
    out[12 * i + 7] = __fmul2_ru(a, b);
    out[12 * i + 8] = __ffma2_rn(a, b, c);
    out[12 * i + 9] = __ffma2_rz(a, b, c);
    out[12 * i + 10] = __ffma2_rd(a, b, c);
    out[12 * i + 11] = __ffma2_ru(a, b, c);
}
