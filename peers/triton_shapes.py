"""Kernels in Triton, as people write them: each program reduces a tile of rows, or of columns, in a loop over the other axis."""

import triton
import triton.language as tl

# Values of a tile.
TILE = 4096
# The most columns of a tile of columns.
COLUMNS = 128


@triton.jit
def sum_of_tiles(values, results, rows, columns, stride_out, stride_in, OUT: tl.constexpr, IN: tl.constexpr):
    out = tl.program_id(0) * OUT + tl.arange(0, OUT)
    total = tl.zeros([OUT, IN], dtype=tl.float32)
    for start in range(0, columns, IN):
        place = start + tl.arange(0, IN)
        mask = (out < rows)[:, None] & (place < columns)[None, :]
        total += tl.load(values + out[:, None] * stride_out + place[None, :] * stride_in, mask=mask, other=0.0)
    tl.store(results + out, tl.sum(total, axis=1), mask=out < rows)


@triton.jit
def max_of_tiles(values, results, rows, columns, stride_out, stride_in, OUT: tl.constexpr, IN: tl.constexpr):
    out = tl.program_id(0) * OUT + tl.arange(0, OUT)
    greatest = tl.full([OUT, IN], float("-inf"), dtype=tl.float32)
    for start in range(0, columns, IN):
        place = start + tl.arange(0, IN)
        mask = (out < rows)[:, None] & (place < columns)[None, :]
        loaded = tl.load(values + out[:, None] * stride_out + place[None, :] * stride_in, mask=mask, other=float("-inf"))
        greatest = tl.maximum(greatest, loaded)
    tl.store(results + out, tl.max(greatest, axis=1), mask=out < rows)


@triton.jit
def argmax_of_tiles(values, results, rows, columns, stride_out, stride_in, OUT: tl.constexpr, IN: tl.constexpr):
    out = tl.program_id(0) * OUT + tl.arange(0, OUT)
    greatest = tl.full([OUT, IN], float("-inf"), dtype=tl.float32)
    where = tl.zeros([OUT, IN], dtype=tl.int32)
    for start in range(0, columns, IN):
        place = start + tl.arange(0, IN)
        mask = (out < rows)[:, None] & (place < columns)[None, :]
        loaded = tl.load(values + out[:, None] * stride_out + place[None, :] * stride_in, mask=mask, other=float("-inf"))
        where = tl.where(loaded > greatest, place[None, :], where)
        greatest = tl.maximum(greatest, loaded)
    top = tl.max(greatest, axis=1)
    candidates = tl.where(greatest == top[:, None], where, 2147483647)
    tl.store(results + out, tl.min(candidates, axis=1), mask=out < rows)


@triton.jit
def logsumexp_of_tiles(values, results, rows, columns, stride_out, stride_in, OUT: tl.constexpr, IN: tl.constexpr):
    out = tl.program_id(0) * OUT + tl.arange(0, OUT)
    # Less than any value, and no infinity, whose distance to another is none.
    greatest = tl.full([OUT, IN], -1.0e30, dtype=tl.float32)
    total = tl.zeros([OUT, IN], dtype=tl.float32)
    for start in range(0, columns, IN):
        place = start + tl.arange(0, IN)
        mask = (out < rows)[:, None] & (place < columns)[None, :]
        loaded = tl.load(values + out[:, None] * stride_out + place[None, :] * stride_in, mask=mask, other=float("-inf"))
        greater = tl.maximum(greatest, loaded)
        total = total * tl.exp(greatest - greater) + tl.exp(loaded - greater)
        greatest = greater
    top = tl.max(greatest, axis=1)
    total = tl.sum(total * tl.exp(greatest - top[:, None]), axis=1)
    tl.store(results + out, top + tl.log(total), mask=out < rows)


KERNELS = {
    "sum": sum_of_tiles,
    "max": max_of_tiles,
    "argmax": argmax_of_tiles,
    "log-sum-exp": logsumexp_of_tiles,
}


def solutions(torch, kind, operator, matrix):
    """A kernel for each operator; of columns sums and maxima only, as each shape of a tile is compiled anew."""
    if operator not in KERNELS or (kind == "columns" and operator not in ("sum", "max")):
        return {}
    rows, columns = matrix.shape
    if kind == "rows":
        many, length, strides = rows, columns, (columns, 1)
        within = min(length, TILE)
        out = max(1, TILE // within)
    else:
        many, length, strides = columns, rows, (1, columns)
        out = min(many, COLUMNS)
        within = min(length, TILE // out)
    of = torch.int32 if operator == "argmax" else torch.float32
    kernel, grid = KERNELS[operator], (triton.cdiv(many, out),)

    def launch():
        results = torch.empty(many, dtype=of, device="cuda")
        kernel[grid](matrix, results, many, length, *strides, OUT=out, IN=within, num_warps=8)
        return results

    return {f"Triton, a tile of {kind}": launch}
