"""Kernels in Triton, as people write them: each program reduces a tile of rows, or of columns, in a loop over the other axis."""

import triton
import triton.language as tl

# Values of a tile.
TILE = 4096
# The most columns of a tile of columns.
COLUMNS = 128


@triton.jit
def sum_of_tiles(values, results, rows, columns, stride_out, stride_in, OUT: tl.constexpr, IN: tl.constexpr, OF: tl.constexpr):
    out = tl.program_id(0) * OUT + tl.arange(0, OUT)
    total = tl.zeros([OUT, IN], dtype=OF)
    for start in range(0, columns, IN):
        place = start + tl.arange(0, IN)
        mask = (out < rows)[:, None] & (place < columns)[None, :]
        total += tl.load(values + out[:, None] * stride_out + place[None, :] * stride_in, mask=mask, other=0).to(OF)
    tl.store(results + out, tl.sum(total, axis=1), mask=out < rows)


@triton.jit
def mean_of_tiles(values, results, rows, columns, stride_out, stride_in, OUT: tl.constexpr, IN: tl.constexpr, OF: tl.constexpr):
    out = tl.program_id(0) * OUT + tl.arange(0, OUT)
    total = tl.zeros([OUT, IN], dtype=OF)
    for start in range(0, columns, IN):
        place = start + tl.arange(0, IN)
        mask = (out < rows)[:, None] & (place < columns)[None, :]
        total += tl.load(values + out[:, None] * stride_out + place[None, :] * stride_in, mask=mask, other=0).to(OF)
    tl.store(results + out, tl.sum(total, axis=1) / columns, mask=out < rows)


@triton.jit
def max_of_tiles(
    values, results, rows, columns, stride_out, stride_in, OUT: tl.constexpr, IN: tl.constexpr, OF: tl.constexpr, LEAST: tl.constexpr
):
    out = tl.program_id(0) * OUT + tl.arange(0, OUT)
    greatest = tl.full([OUT, IN], LEAST, dtype=OF)
    for start in range(0, columns, IN):
        place = start + tl.arange(0, IN)
        mask = (out < rows)[:, None] & (place < columns)[None, :]
        loaded = tl.load(values + out[:, None] * stride_out + place[None, :] * stride_in, mask=mask, other=LEAST).to(OF)
        greatest = tl.maximum(greatest, loaded)
    tl.store(results + out, tl.max(greatest, axis=1), mask=out < rows)


@triton.jit
def argmax_of_tiles(
    values, results, rows, columns, stride_out, stride_in, OUT: tl.constexpr, IN: tl.constexpr, OF: tl.constexpr, LEAST: tl.constexpr
):
    out = tl.program_id(0) * OUT + tl.arange(0, OUT)
    greatest = tl.full([OUT, IN], LEAST, dtype=OF)
    where = tl.zeros([OUT, IN], dtype=tl.int32)
    for start in range(0, columns, IN):
        place = start + tl.arange(0, IN)
        mask = (out < rows)[:, None] & (place < columns)[None, :]
        loaded = tl.load(values + out[:, None] * stride_out + place[None, :] * stride_in, mask=mask, other=LEAST).to(OF)
        where = tl.where(loaded > greatest, place[None, :], where)
        greatest = tl.maximum(greatest, loaded)
    top = tl.max(greatest, axis=1)
    candidates = tl.where(greatest == top[:, None], where, 2147483647)
    tl.store(results + out, tl.min(candidates, axis=1), mask=out < rows)


@triton.jit
def joined(mean, squares, count, other_mean, other_squares, other_count):
    """Of two parts together, by Chan: the mean, the sum of the squares of the distances to it, and how many values they have."""
    both = count + other_count
    share = tl.where(both == 0.0, 0.0, other_count / both)
    distance = other_mean - mean
    return mean + distance * share, squares + other_squares + distance * distance * count * share, both


@triton.jit
def variance_of_tiles(values, results, rows, columns, stride_out, stride_in, OUT: tl.constexpr, IN: tl.constexpr):
    # By Welford, at each place of the tile: the difference of a mean of squares and the square of a mean would cancel.
    out = tl.program_id(0) * OUT + tl.arange(0, OUT)
    mean = tl.zeros([OUT, IN], dtype=tl.float32)
    squares = tl.zeros([OUT, IN], dtype=tl.float32)
    count = tl.zeros([OUT, IN], dtype=tl.float32)
    for start in range(0, columns, IN):
        place = start + tl.arange(0, IN)
        mask = (out < rows)[:, None] & (place < columns)[None, :]
        loaded = tl.load(values + out[:, None] * stride_out + place[None, :] * stride_in, mask=mask, other=0.0)
        count = tl.where(mask, count + 1.0, count)
        distance = loaded - mean
        mean = tl.where(mask, mean + distance / count, mean)
        squares = tl.where(mask, squares + distance * (loaded - mean), squares)
    mean, squares, count = tl.reduce((mean, squares, count), 1, joined)
    tl.store(results + out, squares / count, mask=out < rows)


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
    "mean": mean_of_tiles,
    "variance": variance_of_tiles,
    "log-sum-exp": logsumexp_of_tiles,
}


def typed(torch, operator, dtype):
    """What results are, and the constants of the kernel that say what it computes in. Of small floats it computes in 32 bits, and leaves
    results of 16; sums of small integers have 32 bits, and their means are floats."""
    is_integer = dtype == torch.int8
    of = {"OF": tl.int32 if is_integer else tl.float32}
    least = {"LEAST": -128 if is_integer else float("-inf")}
    return {
        "sum": (torch.int32 if is_integer else dtype, of),
        "max": (dtype, of | least),
        "argmax": (torch.int32, of | least),
        "mean": (torch.float32 if is_integer else dtype, of),
        "variance": (dtype, {}),
        "log-sum-exp": (dtype, {}),
    }[operator]


def tile(kind, rows, columns):
    """How many reductions there are, how many values each has, the strides from one to the next, and the tile of a program. Each shape of
    a tile is compiled anew: the matrices of `peers/run/shapes/problem.rs` take six for rows, and six for columns."""
    if kind == "rows":
        within = triton.next_power_of_2(min(columns, TILE))
        return rows, columns, (columns, 1), (TILE // within, within)
    out = triton.next_power_of_2(min(columns, COLUMNS))
    return columns, rows, (1, columns), (out, triton.next_power_of_2(min(rows, TILE // out)))


def solutions(torch, kind, operator, matrix):
    """A kernel for each operator."""
    if operator not in KERNELS:
        return {}
    many, length, strides, (out, within) = tile(kind, *matrix.shape)
    of, constants = typed(torch, operator, matrix.dtype)
    kernel, grid = KERNELS[operator], (triton.cdiv(many, out),)

    def launch():
        results = torch.empty(many, dtype=of, device="cuda")
        kernel[grid](matrix, results, many, length, *strides, OUT=out, IN=within, num_warps=8, **constants)
        return results

    return {f"Triton, a tile of {kind}": launch}
