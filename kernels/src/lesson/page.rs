//! The pages of the course: its source files in reading order.

/// One source file of the course. Its number, its title and its place are stated here and nowhere else: the lessons of the file take
/// them from here, and a test compares its heading and its name with them.
#[derive(Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Page {
    /// Its number within the part, as shown: `1`, `4`, `5b`.
    pub step: &'static str,
    /// What its heading says after the number.
    pub title: &'static str,
    /// The source file, relative to the repository root.
    pub file: &'static str,
}

/// The pages of a part in reading order: a constant for each and `PAGES` with all of them.
macro_rules! pages {
    ($folder:literal: $($page:ident $step:literal $title:literal $file:literal;)*) => {
        $(
            const $page: $crate::lesson::Page = $crate::lesson::Page {
                step: $step,
                title: $title,
                file: concat!("kernels/src/", $folder, "/", $file, ".rs"),
            };
        )*

        /// The pages of this part in reading order.
        pub(crate) const PAGES: &[$crate::lesson::Page] = &[$($page),*];
    };
}

pub(crate) use pages;
