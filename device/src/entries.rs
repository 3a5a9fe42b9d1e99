//! Kernels of an operator, by a macro.

/// Makes the kernels of reductions: for each line, one over a whole array, and those over the rows and the columns of a matrix and over
/// segments.
///
/// ```ignore
/// warpfold_device::reductions! {
///     /// The sum.
///     sum_f32: Sum, f32;
///     /// The variance of a sample.
///     variance_i16: Variance = Variance { ddof: 1 }, i16;
/// }
/// ```
///
/// The crate needs `cuda_std`, whose `#[kernel]` makes the entries, and the features `abi_ptx` and `asm_experimental_arch` on the device.
/// A line `name: Type = value, T;` gives
/// - `name(input: *const T, n: usize, slots: *mut u64, counter: *mut u32, result: *mut Output)`: the reduction of the array, in one
///   launch of any grid. `slots` has [`most_words`](crate::slots::most_words) words for a state per block, which are 0 before and after, as
///   the counter is.
/// - what [`row_reductions!`](crate::row_reductions!), [`column_reductions!`](crate::column_reductions!),
///   [`fixed_reductions!`](crate::fixed_reductions!) and [`segment_reductions!`](crate::segment_reductions!) make of the line.
///
/// A line `name(parameter): Type = value of the parameter, T;` gives them one parameter more, the last, which is a `u64`:
/// `variance_f32(ddof): Variance = Variance { ddof }, f32;`.
///
/// Blocks have one dimension and any size up to 1024, where nothing else is said. Arrays and rows may begin at any element.
#[macro_export]
macro_rules! reductions {
    ($($(#[$doc:meta])* $name:ident: $operator:ident, $value:ty;)*) => {
        $crate::reductions! { $($(#[$doc])* $name: $operator = $operator, $value;)* }
    };
    ($($(#[$doc:meta])* $name:ident $(($parameter:ident))?: $operator:ty = $make:expr, $value:ty;)*) => {$(
        $crate::pastey::paste! {
            $(#[$doc])*
            ///
            /// # Safety
            /// - `input` points to `n` values that nothing writes, `slots` to empty ones of a state per block, `counter` to a word that is 0,
            ///   and `result` to one result; nothing else touches the last three.
            /// - The grid has one dimension, and a block 1 to 1024 threads.
            #[cuda_std::kernel]
            pub unsafe fn $name(
                input: *const $value,
                n: usize,
                slots: *mut u64,
                counter: *mut u32,
                result: *mut <$operator as $crate::operator::Operator<$value>>::Output,
                $($parameter: u64,)?
            ) {
                $crate::launch_bounds!(1024, 1);
                let scratch = $crate::raking_scratch!(scratch: <$operator as $crate::operator::Operator<$value>>::State, 1024);
                // SAFETY: the caller's promise.
                unsafe { $crate::reduce::array($make, input, n, slots, counter, result, scratch) }
            }
        }
        $crate::row_reductions! { $(#[$doc])* $name $(($parameter))?: $operator = $make, $value; }
        $crate::column_reductions! { $(#[$doc])* $name $(($parameter))?: $operator = $make, $value; }
        $crate::fixed_reductions! { $(#[$doc])* $name $(($parameter))?: $operator = $make, $value; }
        $crate::segment_reductions! { $(#[$doc])* $name $(($parameter))?: $operator = $make, $value; }
    )*};
}

/// Makes the kernels of reductions of rows, with lines like those of [`reductions!`](crate::reductions!), where that says what else the
/// crate needs.
///
/// A line `name: Type = value, T;` gives
/// - `name_rows(input: *const T, rows: usize, columns: usize, stride: usize, distance: usize, parts: u32, slots: *mut u64, counters: *mut u32,
///   results: *mut Output)`: the reduction of each row, by `parts` blocks; `stride` is the distance of two rows in elements. For long rows.
///   With one part the grid may have several rows of blocks: each has a matrix of its own, `distance` elements after the one before.
///   `slots` has [`most_words`](crate::slots::most_words) words for a state per part of each row, and `counters` has a word per row; all are 0
///   before and after. For one part neither is used.
/// - `name_large_array(input, n: usize, kept: u32, slots, counter: *mut u32, result)`: the reduction of a single row of `n` elements that the L2 cache
///   does not hold, by any grid; `kept` sixteenths of it stay there, as [`Kept`](crate::vector::Kept) says. `slots` has a state per block.
/// - `name_aligned_rows(input, rows, columns, stride, results)`: by a block for each row, where `input`, the bytes of a row and those of `stride`
///   elements are multiples of 16, and a vector of 16 bytes has several elements. The size of the block must be a multiple of 32.
/// - `name_short_rows(input, rows, columns, stride, distance, lanes: u32, results)`: by `lanes` lanes of a warp, a power of two up to 32. The size
///   of the block must be a multiple of 32, and the grid may have several rows of blocks.
/// - `name_packed_rows(input, rows, columns, results)`: rows side by side, through shared memory. A row has 1 to
///   [`PACKED_BYTES`](crate::rows::PACKED_BYTES) bytes; the size of the block is a multiple of 32 up to
///   [`PACKED_BLOCK`](crate::rows::PACKED_BLOCK).
#[macro_export]
macro_rules! row_reductions {
    ($($(#[$doc:meta])* $name:ident $(($parameter:ident))?: $operator:ty = $make:expr, $value:ty;)*) => {$(
        $crate::pastey::paste! {
            $(#[$doc])*
            /// Of each row, by blocks.
            ///
            /// # Safety
            /// - Row r of matrix m is `columns` values from `input + m · distance + r · stride` on, which nothing writes, and `results` points to one
            ///   result for each row of each matrix, which nothing else touches. `parts` is not 0. There is a row of blocks for each matrix.
            /// - With more than one part, there is one matrix, `slots` points to empty ones of a state for each part of each row, and `counters` to a
            ///   word per row that is 0; nothing else touches them.
            /// - A block has 1 to 1024 threads.
            #[cuda_std::kernel]
            #[allow(clippy::too_many_arguments, reason = "a kernel has no other way to take them")]
            pub unsafe fn [<$name _rows>](
                input: *const $value,
                rows: usize,
                columns: usize,
                stride: usize,
                distance: usize,
                parts: u32,
                slots: *mut u64,
                counters: *mut u32,
                results: *mut <$operator as $crate::operator::Operator<$value>>::Output,
                $($parameter: u64,)?
            ) {
                $crate::launch_bounds!(1024, 1);
                let scratch = $crate::scratch!(scratch: <$operator as $crate::operator::Operator<$value>>::State, 1024);
                let matrix = $crate::rows::Rows { input, rows, columns, stride };
                let (matrix, results) = matrix.of_blocks(distance, results);
                // SAFETY: the caller's promise.
                unsafe { $crate::rows::by_blocks($make, matrix, parts, slots, counters, results, scratch) }
            }

            $(#[$doc])*
            /// Of an array that the L2 cache does not hold.
            ///
            /// # Safety
            /// - `input` points to `n` values that nothing writes, `slots` to empty ones of a state per block, `counter` to a word that is 0,
            ///   and `result` to one result; nothing else touches the last three. `kept` is 1 to 16.
            /// - The grid has one dimension, and a block 1 to 1024 threads.
            #[cuda_std::kernel]
            pub unsafe fn [<$name _large_array>](
                input: *const $value,
                n: usize,
                kept: u32,
                slots: *mut u64,
                counter: *mut u32,
                result: *mut <$operator as $crate::operator::Operator<$value>>::Output,
                $($parameter: u64,)?
            ) {
                $crate::launch_bounds!(1024, 1);
                let scratch = $crate::raking_scratch!(scratch: <$operator as $crate::operator::Operator<$value>>::State, 1024);
                let kept = $crate::vector::Kept(kept);
                // SAFETY: the caller's promise.
                unsafe { $crate::reduce::large_array($make, input, n, kept, slots, counter, result, scratch) }
            }

            $(#[$doc])*
            /// Of each row, by a block of its own, where all rows are of whole vectors.
            ///
            /// # Safety
            /// - As for the kernel of blocks, without parts, of one matrix; the grid has `rows` blocks, and the size of a block is a multiple of 32.
            /// - `input`, the bytes of a row and those of `stride` values are multiples of 16.
            #[cuda_std::kernel]
            pub unsafe fn [<$name _aligned_rows>](
                input: *const $value,
                rows: usize,
                columns: usize,
                stride: usize,
                results: *mut <$operator as $crate::operator::Operator<$value>>::Output,
                $($parameter: u64,)?
            ) {
                $crate::launch_bounds!(1024, 1);
                let scratch = $crate::scratch!(scratch: <$operator as $crate::operator::Operator<$value>>::State, 1024);
                let matrix = $crate::rows::Rows { input, rows, columns, stride };
                // SAFETY: the caller's promise.
                unsafe { $crate::rows::aligned($make, matrix, results, scratch) }
            }

            $(#[$doc])*
            /// Of each row, by some lanes of a warp.
            ///
            /// # Safety
            /// - As for the kernel of blocks, without parts; the size of a block is a multiple of 32.
            /// - `lanes` is a power of two up to 32.
            #[cuda_std::kernel]
            #[allow(clippy::too_many_arguments, reason = "a kernel has no other way to take them")]
            pub unsafe fn [<$name _short_rows>](
                input: *const $value,
                rows: usize,
                columns: usize,
                stride: usize,
                distance: usize,
                lanes: u32,
                results: *mut <$operator as $crate::operator::Operator<$value>>::Output,
                $($parameter: u64,)?
            ) {
                $crate::launch_bounds!(1024, 1);
                let matrix = $crate::rows::Rows { input, rows, columns, stride };
                let (matrix, results) = matrix.of_blocks(distance, results);
                // SAFETY: the caller's promise.
                unsafe { $crate::rows::by_lanes($make, matrix, lanes, results) }
            }

            $(#[$doc])*
            /// Of each row, where they lie side by side.
            ///
            /// # Safety
            /// - `input` points to `rows · columns` values, which nothing writes, and `results` to one result per row, which nothing else
            ///   touches. A row has 1 to `PACKED_BYTES` bytes.
            /// - The grid has one dimension, and a block a multiple of 32 threads up to `PACKED_BLOCK`.
            #[cuda_std::kernel]
            pub unsafe fn [<$name _packed_rows>](
                input: *const $value,
                rows: usize,
                columns: usize,
                results: *mut <$operator as $crate::operator::Operator<$value>>::Output,
                $($parameter: u64,)?
            ) {
                $crate::launch_bounds!($crate::rows::PACKED_BLOCK);
                let tiles = $crate::shared_array!(tiles: [$crate::vector::Quad; $crate::rows::PACKED_VECTORS]);
                // SAFETY: the caller's promise.
                unsafe { $crate::rows::packed($make, input, rows, columns, results, tiles) }
            }
        }
    )*};
}

/// Makes the kernels of reductions by several devices together, with lines like those of [`reductions!`](crate::reductions!), where that
/// says what else the crate needs. They belong to none of the others.
///
/// A line `name: Type = value, T;` gives
/// - `name_part(input: *const T, n: usize, first: u64, blocks: *mut u64, counter: *mut u32, slots: *mut u64, rank: u32, of: u32, total: u64,
///   result: *mut Output)`: the reduction of an array of `total` values that several devices have parts of, each by one launch of any grid:
///   see [`meeting`](crate::meeting). The values that this device has begin with index `first`. `blocks` has
///   [`most_words`](crate::slots::most_words) words for a state per block, and `slots` for one per device, which are 0 before and after, as
///   the counter is.
#[macro_export]
macro_rules! part_reductions {
    ($($(#[$doc:meta])* $name:ident $(($parameter:ident))?: $operator:ty = $make:expr, $value:ty;)*) => {$(
        $crate::pastey::paste! {
            $(#[$doc])*
            /// Of an array that several devices have parts of.
            ///
            /// # Safety
            /// - `input` points to `n` values that nothing writes, `blocks` to empty slots of a state per block, and `counter` to a word that is
            ///   0; nothing else touches the last two. The grid has one dimension, and a block 1 to 1024 threads.
            /// - `slots` points to slots for `of` states, which this device reaches, and `rank` is below `of`. All are empty, or, where `rank` is
            ///   0, each other one gets a state without waiting for this launch, by launches like this one on other devices or from the host.
            ///   Nothing else touches them, and the launch of the round before with them is over on the first device.
            /// - On the first device `result` points to one result, which nothing else touches.
            #[cuda_std::kernel]
            #[allow(clippy::too_many_arguments, reason = "a kernel has no other way to take them")]
            pub unsafe fn [<$name _part>](
                input: *const $value,
                n: usize,
                first: u64,
                blocks: *mut u64,
                counter: *mut u32,
                slots: *mut u64,
                rank: u32,
                of: u32,
                total: u64,
                result: *mut <$operator as $crate::operator::Operator<$value>>::Output,
                $($parameter: u64,)?
            ) {
                $crate::launch_bounds!(1024, 1);
                let scratch = $crate::scratch!(scratch: <$operator as $crate::operator::Operator<$value>>::State, 1024);
                let values = (input, n, first);
                // SAFETY: the caller's promise.
                unsafe {
                    let meeting = $crate::meeting::Meeting::new(slots, rank, of);
                    $crate::meeting::part($make, values, blocks, counter, meeting, total, result, scratch);
                }
            }
        }
    )*};
}

/// Makes the kernels of reductions in the fixed order of [`fixed`](crate::fixed), with lines like those of
/// [`reductions!`](crate::reductions!), where that says what else the crate needs.
///
/// A line `name: Type = value, T;` gives
/// - `name_fixed_rows(input: *const T, rows: usize, columns: usize, stride: usize, distance: usize, states: *mut State, counters: *mut u32,
///   results: *mut Output)`: by blocks of [`BLOCK`](crate::fixed::BLOCK) threads. `states` has room for one state per chunk of each row, and
///   `counters` has a word per row, which is 0 before and after; for rows of one chunk neither is used, and the grid may have several rows of blocks:
///   each has a matrix of its own, `distance` elements after the one before.
/// - `name_fixed_short_rows(input, rows, columns, stride, distance, lanes: u32, results)`: of up to [`SHORT`](crate::fixed::SHORT) values, by 32
///   lanes of a warp, or fewer that are a power of two and not fewer than the values. The size of the block is a multiple of 32, and the grid may
///   have several rows of blocks.
/// - `name_fixed_columns(input, rows, columns, stride, matrices: u32, distance: usize, width: u32, states, counters, results)`: the reduction of each
///   column of each of `matrices` that are `distance` elements apart, by blocks of [`BLOCK`](crate::fixed::BLOCK) threads; `width` is that of
///   [`Strips`](crate::fixed::Strips). `states` has room for one state per chunk of each column, and `counters` has a word per strip, which is 0
///   before and after; for columns of one chunk neither is used.
/// - `name_fixed_segments(input, offsets: *const u64, are_wide: u32, segments: usize, counted: *const u64, states, counters, results)`: the
///   reduction of each segment, as [`segment_reductions!`](crate::segment_reductions!) has them. `states` has room for two states, and
///   `counters` a word that is 0 before and after, for each chunk of the values.
/// - `name_chunks(input, n: usize, first: u64, states)`: the state of each chunk of an array, whose first value has the index `first`; by
///   blocks of `BLOCK` threads. And `name_of_chunks(states, chunks: usize, n: usize, result)`: the result of an array from them, by one
///   block.
#[macro_export]
macro_rules! fixed_reductions {
    ($($(#[$doc:meta])* $name:ident $(($parameter:ident))?: $operator:ty = $make:expr, $value:ty;)*) => {$(
        $crate::pastey::paste! {
            $(#[$doc])*
            /// Of each row, in the fixed order.
            ///
            /// # Safety
            /// - Row r of matrix m is `columns` values from `input + m · distance + r · stride` on, which nothing writes, and `results` points to one
            ///   result for each row of each matrix, which nothing else touches. There is a row of blocks for each matrix.
            /// - If a row has more values than a chunk, there is one matrix, `states` points to one state for each chunk of each row, and `counters` to
            ///   a word per row that is 0; nothing else touches them.
            /// - A block has `fixed::BLOCK` threads.
            #[cuda_std::kernel]
            #[allow(clippy::too_many_arguments, reason = "a kernel has no other way to take them")]
            pub unsafe fn [<$name _fixed_rows>](
                input: *const $value,
                rows: usize,
                columns: usize,
                stride: usize,
                distance: usize,
                states: *mut <$operator as $crate::operator::Operator<$value>>::State,
                counters: *mut u32,
                results: *mut <$operator as $crate::operator::Operator<$value>>::Output,
                $($parameter: u64,)?
            ) {
                let scratch = $crate::shared_array!(scratch: [
                    <$operator as $crate::operator::Operator<$value>>::State;
                    $crate::fixed::BLOCK
                ]);
                let matrix = $crate::rows::Rows { input, rows, columns, stride };
                let (matrix, results) = matrix.of_blocks(distance, results);
                // SAFETY: the caller's promise.
                unsafe { $crate::fixed::by_blocks($make, matrix, states, counters, results, scratch) }
            }

            $(#[$doc])*
            /// Of each short row, in the fixed order.
            ///
            /// # Safety
            /// - As for the kernel of blocks, with rows of up to `fixed::SHORT` values; the size of a block is a multiple of 32.
            /// - `lanes` is 32, or another power of two that is no less than `columns`.
            #[cuda_std::kernel]
            #[allow(clippy::too_many_arguments, reason = "a kernel has no other way to take them")]
            pub unsafe fn [<$name _fixed_short_rows>](
                input: *const $value,
                rows: usize,
                columns: usize,
                stride: usize,
                distance: usize,
                lanes: u32,
                results: *mut <$operator as $crate::operator::Operator<$value>>::Output,
                $($parameter: u64,)?
            ) {
                let matrix = $crate::rows::Rows { input, rows, columns, stride };
                let (matrix, results) = matrix.of_blocks(distance, results);
                // SAFETY: the caller's promise.
                unsafe { $crate::fixed::by_warps($make, matrix, lanes, results) }
            }

            $(#[$doc])*
            /// Of each column, in the fixed order.
            ///
            /// # Safety
            /// - Row r of matrix m is `columns` values from `input + m · distance + r · stride` on, which nothing writes, and `results` points to one
            ///   result for each column of each matrix, which nothing else touches. There is at least one matrix.
            /// - `width` is that of `fixed::Strips` for the columns. If there are more rows than a chunk has values, `states` points to one
            ///   state for each chunk of each column, and `counters` to a word per strip that is 0; nothing else touches them.
            /// - The grid has one dimension, and a block `fixed::BLOCK` threads.
            #[cuda_std::kernel]
            #[allow(clippy::too_many_arguments, reason = "a kernel has no other way to take them")]
            pub unsafe fn [<$name _fixed_columns>](
                input: *const $value,
                rows: usize,
                columns: usize,
                stride: usize,
                matrices: u32,
                distance: usize,
                width: u32,
                states: *mut <$operator as $crate::operator::Operator<$value>>::State,
                counters: *mut u32,
                results: *mut <$operator as $crate::operator::Operator<$value>>::Output,
                $($parameter: u64,)?
            ) {
                let scratch = $crate::shared_array!(scratch: [
                    <$operator as $crate::operator::Operator<$value>>::State;
                    $crate::fixed::BLOCK
                ]);
                let matrix = $crate::rows::Rows { input, rows, columns, stride };
                let strips = $crate::fixed::Strips { width };
                // SAFETY: the caller's promise.
                unsafe { $crate::fixed::columns($make, matrix, (matrices, distance), strips, (states, counters), results, scratch) }
            }

            $(#[$doc])*
            /// Of each chunk.
            ///
            /// # Safety
            /// - `input` points to `n` values, which nothing writes, and `states` to one state for each chunk, which nothing else touches.
            /// - The grid has one dimension, and a block `fixed::BLOCK` threads.
            #[cuda_std::kernel]
            pub unsafe fn [<$name _chunks>](
                input: *const $value,
                n: usize,
                first: u64,
                states: *mut <$operator as $crate::operator::Operator<$value>>::State,
                $($parameter: u64,)?
            ) {
                let scratch = $crate::shared_array!(scratch: [
                    <$operator as $crate::operator::Operator<$value>>::State;
                    $crate::fixed::BLOCK
                ]);
                // SAFETY: the caller's promise.
                unsafe { $crate::fixed::states_of_chunks($make, input, n, first, states, scratch) }
            }

            $(#[$doc])*
            /// From the states of chunks.
            ///
            /// # Safety
            /// - `states` points to `chunks` states, which nothing writes, and `result` to one result, which nothing else touches.
            /// - The grid is one block of `fixed::BLOCK` threads.
            #[cuda_std::kernel]
            pub unsafe fn [<$name _of_chunks>](
                states: *const <$operator as $crate::operator::Operator<$value>>::State,
                chunks: usize,
                n: usize,
                result: *mut <$operator as $crate::operator::Operator<$value>>::Output,
                $($parameter: u64,)?
            ) {
                let scratch = $crate::shared_array!(scratch: [
                    <$operator as $crate::operator::Operator<$value>>::State;
                    $crate::fixed::BLOCK
                ]);
                // SAFETY: the caller's promise.
                unsafe { $crate::fixed::of_chunks::<$value, $operator>($make, states, chunks, n, result, scratch) }
            }

            $(#[$doc])*
            /// Of each segment, in the fixed order.
            ///
            /// # Safety
            /// - `counted` is null, or points to the number of segments, and `segments` is the most that are reduced.
            /// - `offsets` points to one more place of `input` than segments are reduced, which do not decrease, `u64` or, if `are_wide` is
            ///   0, `u32`; `input` has values from the first to the last of them. Nothing writes these or the number. `results` points to one
            ///   result per segment, which nothing else touches.
            /// - `states` points to two states, and `counters` to a word that is 0, for each `fixed::CHUNK` of those values; nothing else
            ///   touches them.
            /// - The grid has one dimension, and a block a multiple of 32 threads.
            #[cuda_std::kernel]
            #[allow(clippy::too_many_arguments, reason = "a kernel has no other way to take them")]
            pub unsafe fn [<$name _fixed_segments>](
                input: *const $value,
                offsets: *const u64,
                are_wide: u32,
                segments: usize,
                counted: *const u64,
                states: *mut <$operator as $crate::operator::Operator<$value>>::State,
                counters: *mut u32,
                results: *mut <$operator as $crate::operator::Operator<$value>>::Output,
                $($parameter: u64,)?
            ) {
                let offsets = $crate::segments::Offsets { places: offsets, are_wide: are_wide != 0 };
                // SAFETY: the caller's promise.
                let segments = unsafe { $crate::segments::count(segments, counted) };
                let workspace = $crate::fixed::Workspace { states, counters };
                // SAFETY: the caller's promise.
                unsafe { $crate::fixed::segments($make, input, offsets, segments, workspace, results) }
            }
        }
    )*};
}

/// Makes the kernels of reductions of columns, with lines like those of [`reductions!`](crate::reductions!), where that says what else the
/// crate needs.
///
/// A line `name: Type = value, T;` gives
/// - `name_columns(input: *const T, rows: usize, columns: usize, stride: usize, blocks: u32, distance: usize, width: u32, fold: u32, slices: u32,
///   states: *mut State, counters: *mut u32, results: *mut Output)`: the reduction of each column of a matrix whose rows are `stride` elements apart,
///   or of several that are `distance` elements apart, each by as many `blocks` of the grid. [`Layout`](crate::columns::Layout) gives these, the last
///   three numbers, and how many states there have to be for each matrix; `counters` has a word per strip, which is 0 before and after. With one slice neither is used. A block
///   has at least `width` threads, and [`most_threads`](crate::columns::most_threads) at most, and no more rows than
///   [`Limits`](crate::columns::Limits) has.
#[macro_export]
macro_rules! column_reductions {
    ($($(#[$doc:meta])* $name:ident $(($parameter:ident))?: $operator:ty = $make:expr, $value:ty;)*) => {$(
        $crate::pastey::paste! {
            $(#[$doc])*
            /// Of each column.
            ///
            /// # Safety
            /// - Row r of matrix m is `columns` values from `input + m · distance + r · stride` on, which nothing writes. What lies between the rows of a
            ///   matrix may be read. There is at least one matrix.
            /// - `results` points to one result for each column of each matrix, which nothing else touches.
            /// - `width`, `fold` and `slices` are those of a `Layout` for a matrix and the operator's `Limits`, and a block has the threads that the
            ///   layout is for. `blocks` is the grid of the layout, and the grid, which has one dimension, that many for each matrix.
            /// - With more than one slice, `states` points to as many states as the layout says, for each matrix, and `counters` to a word that is 0
            ///   for each strip of each; nothing else touches them.
            #[cuda_std::kernel]
            #[allow(clippy::too_many_arguments, reason = "a kernel has no other way to take them")]
            pub unsafe fn [<$name _columns>](
                input: *const $value,
                rows: usize,
                columns: usize,
                stride: usize,
                blocks: u32,
                distance: usize,
                width: u32,
                fold: u32,
                slices: u32,
                states: *mut <$operator as $crate::operator::Operator<$value>>::State,
                counters: *mut u32,
                results: *mut <$operator as $crate::operator::Operator<$value>>::Output,
                $($parameter: u64,)?
            ) {
                $crate::launch_bounds!(
                    $crate::columns::most_threads::<$value, $operator>(),
                    $crate::columns::resident::<$value, $operator>()
                );
                let stage = $crate::shared_array!(stage: [
                    <$operator as $crate::operator::Operator<$value>>::State;
                    $crate::columns::stage_length::<$value, $operator>()
                ]);
                let matrix = $crate::rows::Rows { input, rows, columns, stride };
                let batch = $crate::rows::Batch { blocks, distance };
                let layout = $crate::columns::Layout { width, fold, slices };
                // SAFETY: the caller's promise.
                unsafe { $crate::columns::columns($make, matrix, batch, layout, (states, counters), results, stage) }
            }
        }
    )*};
}

/// Makes the kernels of reductions of segments, with lines like those of [`reductions!`](crate::reductions!), where that says what else the
/// crate needs.
///
/// A line `name: Type = value, T;` gives
/// - `name_segments(input: *const T, offsets: *const u64, are_wide: u32, segments: usize, counted: *const u64, states: *mut State,
///   ends: *mut u64, counter: *mut u32, results: *mut Output)`: the reduction of each segment, in one launch of any grid; segment k is the
///   values from `offsets[k]` to `offsets[k + 1]`, which do not decrease. If `are_wide` is 0, the offsets are `u32`. There are `segments`
///   of them; or, if `counted` is not null, as many as it points to, and `segments` at most. `states` has room for two states
///   per warp, and `ends` for a word; the counter is 0 before and after. The size of a block is a multiple of 32 up to
///   [`threads`](crate::segments::threads), and it has as much dynamic shared memory as [`bytes`](crate::segments::bytes) says.
#[macro_export]
macro_rules! segment_reductions {
    ($($(#[$doc:meta])* $name:ident $(($parameter:ident))?: $operator:ty = $make:expr, $value:ty;)*) => {$(
        $crate::pastey::paste! {
            $(#[$doc])*
            /// Of each segment.
            ///
            /// # Safety
            /// - `counted` is null, or points to the number of segments, and `segments` is the most that are reduced.
            /// - `offsets` points to one more place of `input` than segments are reduced, which do not decrease, `u64` or, if `are_wide` is
            ///   0, `u32`; `input` has values from the first to the last of them. Nothing writes these or the number. `results` points to one
            ///   result per segment, which nothing else touches.
            /// - `states` points to two states per warp, `ends` to a word per warp, and `counter` to a word that is 0; nothing else touches
            ///   them.
            /// - The grid has one dimension, and a block a multiple of 32 threads up to `segments::threads`, with as much dynamic shared memory
            ///   as `segments::bytes` says.
            #[cuda_std::kernel]
            #[allow(clippy::too_many_arguments, reason = "a kernel has no other way to take them")]
            pub unsafe fn [<$name _segments>](
                input: *const $value,
                offsets: *const u64,
                are_wide: u32,
                segments: usize,
                counted: *const u64,
                states: *mut <$operator as $crate::operator::Operator<$value>>::State,
                ends: *mut u64,
                counter: *mut u32,
                results: *mut <$operator as $crate::operator::Operator<$value>>::Output,
                $($parameter: u64,)?
            ) {
                $crate::launch_bounds!($crate::segments::threads::<$value, $operator>(), 1);
                let memory = $crate::segments::Memory(cuda_std::shared::dynamic_shared_mem::<$crate::vector::Quad>());
                let offsets = $crate::segments::Offsets { places: offsets, are_wide: are_wide != 0 };
                // SAFETY: the caller's promise.
                let segments = unsafe { $crate::segments::count(segments, counted) };
                let workspace = $crate::segments::Workspace { states, ends, counter };
                // SAFETY: the caller's promise.
                unsafe { $crate::segments::segments($make, input, offsets, segments, workspace, results, memory) }
            }
        }
    )*};
}

/// Makes the kernels of reductions of the pairs of two arrays, with lines like those of [`reductions!`](crate::reductions!), where that says
/// what else the crate needs. The operator is one of `(T, T)`, and the line names `T`.
///
/// A line `name: Type = value, T;` gives
/// - `name_pairs(left: *const T, right: *const T, n: usize, slots: *mut u64, counter: *mut u32, result: *mut Output)`: the reduction
///   in one launch of any grid. `slots` has [`most_words`](crate::slots::most_words) words for a state per block, which are 0 before and
///   after, as the counter is.
/// - `name_large_pairs(left, right, n, kept: u32, slots, counter, result)`: of arrays that the L2 cache does not hold together; `kept` sixteenths of
///   them stay there, as [`Kept`](crate::vector::Kept) says.
/// - `name_fixed_pairs(left, right, n, states: *mut State, counter, result)`: in the fixed order, by blocks of
///   [`BLOCK`](crate::fixed::BLOCK) threads; `states` has room for one state per chunk.
#[macro_export]
macro_rules! pair_reductions {
    ($($(#[$doc:meta])* $name:ident: $operator:ty = $make:expr, $value:ty;)*) => {$(
        $crate::pastey::paste! {
            $(#[$doc])*
            ///
            /// # Safety
            /// - `left` and `right` point to `n` values each that nothing writes, `slots` to empty ones of a state per block, `counter` to a word
            ///   that is 0, and `result` to one result; nothing else touches the last three.
            /// - The grid has one dimension, and a block 1 to 1024 threads.
            #[cuda_std::kernel]
            pub unsafe fn [<$name _pairs>](
                left: *const $value,
                right: *const $value,
                n: usize,
                slots: *mut u64,
                counter: *mut u32,
                result: *mut <$operator as $crate::operator::Operator<($value, $value)>>::Output,
            ) {
                $crate::launch_bounds!(1024, 1);
                let scratch = $crate::raking_scratch!(
                    scratch: <$operator as $crate::operator::Operator<($value, $value)>>::State, 1024
                );
                // SAFETY: the caller's promise.
                unsafe { $crate::reduce::pairs($make, [left, right], n, slots, counter, result, scratch) }
            }

            $(#[$doc])*
            /// Of arrays that the L2 cache does not hold together.
            ///
            /// # Safety
            /// As above; `kept` is 1 to 16.
            #[cuda_std::kernel]
            pub unsafe fn [<$name _large_pairs>](
                left: *const $value,
                right: *const $value,
                n: usize,
                kept: u32,
                slots: *mut u64,
                counter: *mut u32,
                result: *mut <$operator as $crate::operator::Operator<($value, $value)>>::Output,
            ) {
                $crate::launch_bounds!(1024, 1);
                let scratch = $crate::raking_scratch!(
                    scratch: <$operator as $crate::operator::Operator<($value, $value)>>::State, 1024
                );
                let (inputs, kept) = ([left, right], $crate::vector::Kept(kept));
                // SAFETY: the caller's promise.
                unsafe { $crate::reduce::large_pairs($make, inputs, n, kept, slots, counter, result, scratch) }
            }

            $(#[$doc])*
            /// In the fixed order.
            ///
            /// # Safety
            /// - As above, but `states` points to one state for each chunk; with one chunk neither they nor the counter are used.
            /// - The grid has one dimension, and a block `fixed::BLOCK` threads.
            #[cuda_std::kernel]
            pub unsafe fn [<$name _fixed_pairs>](
                left: *const $value,
                right: *const $value,
                n: usize,
                states: *mut <$operator as $crate::operator::Operator<($value, $value)>>::State,
                counter: *mut u32,
                result: *mut <$operator as $crate::operator::Operator<($value, $value)>>::Output,
            ) {
                let scratch = $crate::shared_array!(scratch: [
                    <$operator as $crate::operator::Operator<($value, $value)>>::State;
                    $crate::fixed::BLOCK
                ]);
                // SAFETY: the caller's promise.
                unsafe { $crate::fixed::pairs($make, [left, right], n, states, counter, result, scratch) }
            }
        }
    )*};
}

/// Makes the kernels of scans, with lines like those of [`reductions!`](crate::reductions!), where that says what else the crate needs.
///
/// A line `name: Type = value, T;` gives
/// - `name_scan(input: *const T, rows: usize, columns: usize, stride: usize, is_exclusive: u32, workspace: *mut u64,
///   results: *mut Output)`: the scan of each row of a matrix, whose results lie side by side.
/// - `name_segment_scan(input: *const T, offsets: *const u64, are_wide: u32, segments: usize, counted: *const u64, is_exclusive: u32,
///   workspace, results)`: that of each segment, as [`segment_reductions!`](crate::segment_reductions!) has them. The first result is that
///   of the value at the first offset.
///
/// Blocks have [`BLOCK`](crate::scan::BLOCK) threads; any number of them takes the tiles of [`tile`](crate::scan::tile) values in turn.
/// The workspace has as many words as [`workspace_words`](crate::look_back::workspace_words) says, which are 0 before and after.
#[macro_export]
macro_rules! scans {
    ($($(#[$doc:meta])* $name:ident: $operator:ty = $make:expr, $value:ty;)*) => {$(
        $crate::pastey::paste! {
            $(#[$doc])*
            /// The scan of each row.
            ///
            /// # Safety
            /// - Row r is `columns` values, at least one, from `input + r · stride` on, which nothing writes, and `results` points to one
            ///   result per value, which nothing else touches.
            /// - `workspace` points to as many words as `look_back::workspace_words` says, which are 0 and which nothing else touches.
            /// - The grid has one dimension, and a block `scan::BLOCK` threads.
            #[cuda_std::kernel]
            #[allow(clippy::too_many_arguments, reason = "a kernel has no other way to take them")]
            pub unsafe fn [<$name _scan>](
                input: *const $value,
                rows: usize,
                columns: usize,
                stride: usize,
                is_exclusive: u32,
                workspace: *mut u64,
                results: *mut <$operator as $crate::operator::Operator<$value>>::Output,
            ) {
                let memory = $crate::scan_memory!($value, $operator);
                let matrix = $crate::rows::Rows { input, rows, columns, stride };
                let (n, is_exclusive) = (rows * columns, is_exclusive != 0);
                // SAFETY: the caller's promise.
                unsafe {
                    $crate::scan::scan($make, matrix, n, is_exclusive, workspace, results, memory)
                }
            }

            $(#[$doc])*
            /// The scan of each segment.
            ///
            /// # Safety
            /// - `counted` is null, or points to the number of segments, and `segments` is the most that are scanned.
            /// - `offsets` points to one more place of `input` than segments are scanned, which do not decrease, `u64` or, if `are_wide` is
            ///   0, `u32`; `input` has values from the first to the last of them. Nothing writes these or the number. `results` points to one
            ///   result for each of these values, which nothing else touches.
            /// - As above of the workspace and the launch.
            #[cuda_std::kernel]
            #[allow(clippy::too_many_arguments, reason = "a kernel has no other way to take them")]
            pub unsafe fn [<$name _segment_scan>](
                input: *const $value,
                offsets: *const u64,
                are_wide: u32,
                segments: usize,
                counted: *const u64,
                is_exclusive: u32,
                workspace: *mut u64,
                results: *mut <$operator as $crate::operator::Operator<$value>>::Output,
            ) {
                let memory = $crate::scan_memory!($value, $operator);
                let marks = $crate::shared_array!(marks: [u8; $crate::scan::tile::<$value, $operator>()]);
                let offsets = $crate::segments::Offsets { places: offsets, are_wide: are_wide != 0 };
                // SAFETY: the caller's promise.
                let segments = unsafe { $crate::segments::count(segments, counted) };
                let is_exclusive = is_exclusive != 0;
                // SAFETY: the caller's promise.
                unsafe {
                    let source = $crate::scan::Segments { input, offsets, count: segments, marks };
                    let n = source.values();
                    $crate::scan::scan($make, source, n, is_exclusive, workspace, results, memory)
                }
            }
        }
    )*};
}

/// Makes the kernel that finds runs of equal keys: a line `name: K;` gives `name(keys: *const K, n: usize, starts: *mut u64, are_wide: u32,
/// found: *mut K, room: usize, count: *mut u64, workspace: *mut u64)`.
///
/// Blocks have [`BLOCK`](crate::scan::BLOCK) threads; any number of them takes the tiles of [`tile`](crate::runs::tile) keys in turn.
/// `starts` has `room + 1` places, `u64` or, if `are_wide` is 0, `u32`, and `found` has `room`; the workspace is that of [`scans!`](crate::scans!).
#[macro_export]
macro_rules! runs {
    ($($(#[$doc:meta])* $name:ident: $key:ty;)*) => {$(
        $(#[$doc])*
        ///
        /// # Safety
        /// - `keys` points to `n` keys, which nothing writes; `starts` to `room + 1` places, which are `u64` or, if `are_wide`
        ///   is 0, `u32` that `n` fits into; `found` to `room` keys and `count` to a word. Nothing else touches the last three.
        /// - `workspace` points to as many words as `look_back::workspace_words` says, which are 0 and which nothing else touches.
        /// - The grid has one dimension, and a block `scan::BLOCK` threads.
        #[cuda_std::kernel]
        #[allow(clippy::too_many_arguments, reason = "a kernel has no other way to take them")]
        pub unsafe fn $name(
            keys: *const $key,
            n: usize,
            starts: *mut u64,
            are_wide: u32,
            found: *mut $key,
            room: usize,
            count: *mut u64,
            workspace: *mut u64,
        ) {
            let memory = $crate::runs::Memory {
                starts: $crate::shared_array!(gathered: [u16; $crate::runs::tile::<$key>()]),
                scratch: $crate::scratch!(scratch: u32, $crate::scan::BLOCK),
                before: $crate::shared_array!(before: [$crate::look_back::SinceHead<u64>; $crate::look_back::PARTS]),
                number: $crate::shared_array!(number: [u32; 1]),
            };
            let found = $crate::runs::Found { starts, are_wide: are_wide != 0, keys: found, room, count };
            // SAFETY: the caller's promise.
            unsafe {
                $crate::runs::runs(keys, n, found, workspace, memory)
            }
        }
    )*};
}
