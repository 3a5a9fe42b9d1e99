//! Loops of a constant length that are written out, so that what is indexed by their counters stays in registers.

/// Calls a function with 0 to `count` − 1, which is a constant up to 16.
#[inline(always)]
pub(crate) fn each(count: usize, mut function: impl FnMut(usize)) {
    // Without optimisation no call is left out, and all would be compiled as many times, for every operator of every type.
    if cfg!(all(debug_assertions, not(target_arch = "nvptx64"))) {
        return (0..count).for_each(function);
    }
    macro_rules! calls {
        ($($place:literal)*) => {$(
            if $place < count {
                function($place);
            }
        )*};
    }
    calls! { 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 }
}

/// What a function makes of 0 to N − 1, at least one and up to 16. `core::array::from_fn` is a loop, which compilers undo only if it is short.
#[inline(always)]
pub(crate) fn array<V: Copy, const N: usize>(mut function: impl FnMut(usize) -> V) -> [V; N] {
    const { assert!(N > 0 && N <= 16) };
    let mut values = [function(0); N];
    each(
        N - 1,
        #[inline(always)]
        |place| values[place + 1] = function(place + 1),
    );
    values
}

/// Calls a function with each value of up to 16 vectors of up to 16, and the number of its place among all.
#[inline(always)]
pub(crate) fn each_of<V: Copy, const VECTORS: usize, const N: usize>(
    vectors: [[V; N]; VECTORS],
    mut function: impl FnMut(usize, V),
) {
    each(
        VECTORS,
        #[inline(always)]
        |vector| {
            each(
                N,
                #[inline(always)]
                |place| function(vector * N + place, vectors[vector][place]),
            );
        },
    );
}

/// What a function makes of each value of as many vectors.
#[inline(always)]
pub(crate) fn map_all<T: Copy, V: Copy, const VECTORS: usize, const N: usize>(
    vectors: [[T; N]; VECTORS],
    mut function: impl FnMut(T) -> V,
) -> [[V; N]; VECTORS] {
    array::<_, VECTORS>(
        #[inline(always)]
        |vector| {
            array::<_, N>(
                #[inline(always)]
                |place| function(vectors[vector][place]),
            )
        },
    )
}
