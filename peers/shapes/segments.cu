// Segments of f32 between offsets, by CUB.

#include "segmented.h"

namespace {

const char *const NOTE = "";

const Contender CONTENDERS[] = {
    SEGMENTED("Sum", "segments", "sum", "f32", "f32", segmented_sum<float, float, ByOffsets>)
    SEGMENTED("Max", "segments", "max", "f32", "f32", segmented_max<float, ByOffsets>)
    SEGMENTED("ArgMax", "segments", "argmax", "f32", "index and value", segmented_argmax<float, ByOffsets>)
};

} // namespace

EXPORT
