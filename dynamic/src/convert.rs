//! From the types that memory holds to those that operators compute in.

use crate::names::{Named, TypeName};
use crate::states::{self, Accumulator, Held, States};
use bytemuck::Pod;
use std::any::TypeId;
use warpfold::cpu::{Task, widest};
use warpfold_device::element::Element;
use warpfold_device::for_each_element;
use warpfold_device::half::{Bf16, Bool, F16};

/// Puts the converted values into memory of its own, side by side, and gives their bytes.
type Convert = for<'m> fn(Rows<'_>, &'m mut Vec<u64>) -> &'m [u8];

/// Rows of a block, as the bytes of their values from the first of them to the last.
#[derive(Clone, Copy)]
pub(crate) struct Rows<'m> {
    /// The bytes.
    pub bytes: &'m [u8],
    /// Values in a row.
    pub width: usize,
    /// How many values apart they begin.
    pub stride: usize,
}

/// What is known of a type at run time.
pub(crate) struct Conversions {
    /// The size of a value.
    pub bytes: usize,
    /// To the wide type; none where that is the type itself.
    wide: Option<Convert>,
    /// To the float; none where that is the wide type.
    real: Option<Convert>,
    /// An operator without a state, and what it computes in.
    pub start: fn(Named) -> (Form, Box<dyn States>),
}

/// What an operator computes in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// The type that memory holds.
    Own,
    /// The wide type.
    Wide,
    /// The float, where that is another type.
    Real,
}

/// How many forms there are.
pub(crate) const FORMS: usize = 3;

impl Conversions {
    fn new<T, R>() -> Self
    where
        T: Held + Element<Wide: Accumulator, Real = R>,
        R: Accumulator + Element<Real = R>,
    {
        let [own, wide, real] = [
            TypeId::of::<T>(),
            TypeId::of::<T::Wide>(),
            TypeId::of::<T::Real>(),
        ];
        Self {
            bytes: size_of::<T>(),
            wide: (own != wide).then_some(|rows, memory| convert(rows, memory, T::widen)),
            real: (wide != real).then_some(|rows, memory| convert(rows, memory, T::real)),
            start: |operator| {
                if let Some(states) = states::own::<T>(operator) {
                    return (Form::Own, states);
                }
                if let Some(states) = states::wide::<T::Wide>(operator) {
                    return (Form::Wide, states);
                }
                let real =
                    states::real::<R>(operator).expect("an operator is of one of the groups");
                let is_wide = TypeId::of::<T::Wide>() == TypeId::of::<T::Real>();
                (if is_wide { Form::Wide } else { Form::Real }, real)
            },
        }
    }

    /// The rows of a block in the forms that are asked for. In another form they are not to be looked at.
    pub(crate) fn forms<'m>(
        &self,
        rows: Rows<'m>,
        asked: [bool; FORMS],
        memory: &'m mut [Vec<u64>; FORMS - 1],
    ) -> [Rows<'m>; FORMS] {
        let [wide, real] = memory;
        let convert = |form: Form, convert: Option<Convert>, memory| match convert {
            Some(convert) if asked[form as usize] => Rows {
                bytes: convert(rows, memory),
                stride: rows.width,
                ..rows
            },
            _ => rows,
        };
        [
            rows,
            convert(Form::Wide, self.wide, wide),
            convert(Form::Real, self.real, real),
        ]
    }
}

fn convert<'m, T: Pod, A: Pod>(
    rows: Rows<'_>,
    memory: &'m mut Vec<u64>,
    convert: impl Fn(T) -> A,
) -> &'m [u8] {
    let values: &[T] = bytemuck::cast_slice(rows.bytes);
    // Rows side by side are one.
    let (width, stride) = match rows.stride == rows.width {
        true => (values.len().max(1), values.len().max(1)),
        false => (rows.width, rows.stride),
    };
    let count = values.len().div_ceil(stride) * width;
    memory.resize((count * size_of::<A>()).div_ceil(size_of::<u64>()), 0);
    let converted: &mut [A] = &mut bytemuck::cast_slice_mut(memory)[..count];
    for (converted, values) in converted.chunks_mut(width).zip(values.chunks(stride)) {
        widest(Conversion {
            values,
            converted,
            convert: &convert,
        });
    }
    bytemuck::cast_slice(converted)
}

struct Conversion<'a, T, A, F> {
    values: &'a [T],
    converted: &'a mut [A],
    convert: F,
}

impl<T: Copy, A, F: Fn(T) -> A> Task for Conversion<'_, T, A, F> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        for (converted, &value) in self.converted.iter_mut().zip(self.values) {
            *converted = (self.convert)(value);
        }
    }
}

macro_rules! of_types {
    ($($name:ident: $value:ty;)*) => {
        impl Conversions {
            /// What is known of a type.
            pub(crate) fn of(element: TypeName) -> Self {
                match element.name() {
                    $(stringify!($name) => Self::new::<$value, _>(),)*
                    _ => unreachable!("a name is one of the list"),
                }
            }
        }
    };
}

for_each_element!(of_types);
