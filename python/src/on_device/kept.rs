//! The launches on a device, by the kernels that are kept with it.

use super::chosen::{Chosen, Conversion, wide};
use crate::failed::Failed;
use crate::on_host::{Split, Work};
use crate::operation::{Kind, Operation, kind};
use crate::plan::{COPIED_AXES, Plan};
use crate::view::{Axis, Rows, View, count};
use std::collections::HashMap;
use warpfold::device::{Argument, Event, Kernel, Shape, Slice, Stream};
use warpfold::operator::{As, Product, Sum};
use warpfold::ptx::only;
use warpfold::queue_dot as queue_dot_of;
use warpfold::reduce::{Form, Reducible, Untyped};
use warpfold::scan::{self, ScanKind};
use warpfold::sum::Mode;
use warpfold::{Along, Batch, Bf16, Bool, Buffer, Device, Error, F16, Matrix};
use warpfold_device::element::Element;
use warpfold_device::{for_each_accumulator, for_each_element};
use warpfold_dynamic::{TypeName, kernels};
use warpfold_python_kernels::text;

/// The kernels of a reduction, by the operator's and the type's name, the divisor, and whether they are those in 64 bits.
type Key = (&'static str, &'static str, Option<u64>, bool);

/// What a thread keeps with its device: kernels and memory.
pub(super) struct Kept {
    reductions: HashMap<Key, (Untyped, Form)>,
    own: HashMap<&'static str, Kernel>,
    /// The copy of an array, and results that are to be converted.
    copy: Buffer<u8>,
    raw: Buffer<u8>,
    /// After the last work that was queued, whose memory the next uses too.
    pub(super) last: Event,
}

/// Elements in a device's memory: bytes, and how many of them come before the element that has index 0 along every axis.
#[derive(Clone, Copy)]
pub(super) struct Values<'a> {
    pub(super) bytes: Slice<'a, u8>,
    pub(super) origin: isize,
}

/// What a device works on.
#[derive(Clone, Copy)]
pub struct Task<'a> {
    /// The array.
    pub view: &'a View,
    /// Its axes.
    pub split: &'a Split,
    /// What is computed.
    pub work: &'a Work,
}

impl Task<'_> {
    /// How many bytes the results have.
    pub fn result_bytes(&self) -> usize {
        count(&self.split.kept) * self.work.results_of_place() * self.work.result.bytes()
    }
}

impl Kept {
    /// Nothing yet.
    pub(super) fn new(device: &Device) -> Result<Self, Error> {
        Ok(Self {
            reductions: HashMap::new(),
            own: HashMap::new(),
            copy: device.allocate(0)?,
            raw: device.allocate(0)?,
            last: device.event()?,
        })
    }

    /// Queues the reduction on a stream.
    ///
    /// # Safety
    /// The elements of the task's view are at their places from the origin of the values on, at addresses for them. Nothing else reads or
    /// writes the results until the work has ended.
    pub(super) unsafe fn launch(
        &mut self,
        device: &Device,
        stream: &Stream,
        values: Values<'_>,
        Task { view, split, work }: Task<'_>,
        results: Slice<'_, u8>,
    ) -> Result<(), Failed> {
        let operation = work.operation.for_length(count(&split.reduced));
        let chosen = Chosen::of(&Work { operation, ..*work }, view.element)?;
        let bytes = view.element.bytes();
        let plan = Plan::of(&split.kept, &split.reduced, work.is_free());
        let (along, batch, start, is_copied) = match plan {
            Plan::None => return Err(Failed::Strides),
            Plan::InPlace {
                along,
                batch,
                start,
            } => (along, batch, start, false),
            Plan::Copied {
                axes,
                start,
                matrix,
            } => {
                let room = count(&axes) * bytes;
                if self.copy.len() < room {
                    self.copy = device.allocate(room)?;
                }
                let first = values.origin + start * bytes as isize;
                let input =
                    Argument::Address(values.bytes.address().wrapping_add_signed(first as i64));
                // SAFETY: the axes go through the view's elements, the copy has room for them, and the caller promises the rest.
                unsafe { self.pack(device, stream, bytes, input, self.copy.argument(), &axes)? };
                (Along::Rows, matrix.into(), 0, true)
            }
        };
        self.choose(device, &chosen, view.element)?;
        let places = count(&split.kept);
        let key = key(&chosen, view.element);
        let raw_bytes = self.reductions[&key].1.result_bytes;
        if chosen.conversion != Conversion::None && self.raw.len() < places * raw_bytes {
            self.raw = device.allocate(places * raw_bytes)?;
        }
        let (values, origin) = match is_copied {
            true => (Slice::from(&self.copy), 0),
            false => (values.bytes, values.origin),
        };
        let made = match chosen.conversion {
            Conversion::None => results,
            _ => self.raw.slice(..places * raw_bytes),
        };
        let span = batch.span().unwrap_or(usize::MAX).saturating_mul(bytes);
        let (reduction, _) = self.reductions.get_mut(&key).expect("it was put there");
        let first = (origin + start * bytes as isize) as usize;
        let values = values.slice(first..first + span);
        let what = (along, batch);
        // SAFETY: the batch is of the view's elements, the form that of the kernels, and the caller promises the rest.
        unsafe { reduction.queue(device, Some(stream), chosen.mode, values, what, made)? };
        // SAFETY: there are as many raw results, and as many results.
        unsafe {
            self.convert(
                device,
                stream,
                chosen.conversion,
                raw_bytes,
                places,
                results,
                work.result,
            )
        }
    }

    /// Queues the conversion of raw results, if there is one.
    ///
    /// # Safety
    /// There are as many raw results of these bytes, and room for as many of this type, which nothing else reads or writes.
    #[allow(clippy::too_many_arguments, reason = "each is a number or a name")]
    pub(super) unsafe fn convert(
        &mut self,
        device: &Device,
        stream: &Stream,
        conversion: Conversion,
        raw_bytes: usize,
        places: usize,
        results: Slice<'_, u8>,
        of: TypeName,
    ) -> Result<(), Failed> {
        let (from, to) = (self.raw.argument(), results.argument());
        match conversion {
            Conversion::None => Ok(()),
            Conversion::By(kernel) => {
                let arguments = [from, to, places.into()];
                // SAFETY: the caller's promise.
                unsafe { self.run(device, stream, kernel, places, &arguments) }
            }
            Conversion::LowBytes => {
                let axis = Axis {
                    length: places,
                    stride: (raw_bytes / of.bytes()) as isize,
                };
                // SAFETY: the low bytes of a raw result come first, one result after the other, and the caller promises the rest.
                unsafe { self.pack(device, stream, of.bytes(), from, to, &[axis]) }
            }
        }
    }

    /// Queues a running reduction of rows on a stream.
    ///
    /// # Safety
    /// As for [`Self::launch`].
    pub(super) unsafe fn launch_scan(
        &mut self,
        device: &Device,
        stream: &Stream,
        values: Values<'_>,
        Task { view, split, work }: Task<'_>,
        results: Slice<'_, u8>,
    ) -> Result<(), Failed> {
        let (bytes, n) = (view.element.bytes(), view.count());
        let in_place = match Plan::of(&split.kept, &split.reduced, false) {
            Plan::InPlace {
                along: Along::Rows,
                batch:
                    Batch {
                        matrix,
                        matrices: 1,
                        ..
                    },
                start,
            } => Some((matrix, values.origin + start * bytes as isize)),
            _ => None,
        };
        let (values, matrix) = match in_place {
            Some((matrix, origin)) => {
                let span = matrix.span().unwrap_or(usize::MAX).saturating_mul(bytes);
                (
                    values.bytes.slice(origin as usize..origin as usize + span),
                    matrix,
                )
            }
            None => {
                let rows = Rows::new(&split.kept, &split.reduced);
                let axes = rows.axes();
                if axes.len() > COPIED_AXES {
                    return Err(Failed::Strides);
                }
                if self.copy.len() < n * bytes {
                    self.copy = device.allocate(n * bytes)?;
                }
                let input = values
                    .bytes
                    .address()
                    .wrapping_add_signed(values.origin as i64);
                let (input, output) = (Argument::Address(input), self.copy.argument());
                // SAFETY: the axes go through the view's elements, the copy has room for them, and the caller promises the rest.
                unsafe { self.pack(device, stream, bytes, input, output, &axes)? };
                (
                    self.copy.slice(..n * bytes),
                    Matrix::contiguous(rows.count(), rows.length()),
                )
            }
        };
        let (conversion, raw_bytes) = match (view.element.name(), work.result.name()) {
            ("f16", "f16") => (Conversion::By("narrow_f16"), 4),
            ("bf16", "bf16") => (Conversion::By("narrow_bf16"), 4),
            ("f16" | "bf16", "f32") => (Conversion::None, 4),
            ("f32", "f32") => (Conversion::None, 4),
            (_, "f64") if kind(view.element) == Kind::Float => (Conversion::None, 8),
            (_, result) if kind(view.element) != Kind::Float && !result.starts_with('f') => {
                let conversion = match work.result.bytes() {
                    8 => Conversion::None,
                    _ => Conversion::LowBytes,
                };
                (conversion, 8)
            }
            _ => {
                return Err(Failed::NoKernel {
                    values: view.element,
                    result: work.result,
                });
            }
        };
        if conversion != Conversion::None && self.raw.len() < n * raw_bytes {
            self.raw = device.allocate(n * raw_bytes)?;
        }
        let made = match conversion {
            Conversion::None => results,
            _ => self.raw.slice(..n * raw_bytes),
        };
        let is_product = work.operation == Operation::Product;
        macro_rules! queue {
            ($value:ty, $operator:expr) => {
                // SAFETY: the memory is that of as many values and results at addresses for them, and the event of the last work orders this
                // and what other streams do.
                unsafe {
                    let values = Slice::<$value>::from_raw(device, values.address(), values.len() / bytes)?;
                    let made = Slice::from_raw(device, made.address(), n)?;
                    scan::queue_scan::<$value, _>(
                        device,
                        stream,
                        ($operator, ScanKind::Inclusive),
                        (values, matrix),
                        made,
                    )?;
                }
            };
        }
        macro_rules! scans {
            ($($kind:ident { $($text:literal $name:ident: $value:ident in $wide:ident;)* })*) => {
                match (view.element.name(), raw_bytes) {
                    $($((values, 8) if values == <$value as Reducible>::NAME => {
                        if is_product {
                            queue!($value, As::<$wide, _>::new(Product));
                        } else {
                            queue!($value, As::<$wide, _>::new(Sum));
                        }
                    })*)*
                    ("f16", _) => scans!(@own F16),
                    ("bf16", _) => scans!(@own Bf16),
                    ("f32", _) => scans!(@own f32),
                    ("i64", _) => scans!(@own i64),
                    ("u64", _) => scans!(@own u64),
                    ("f64", _) => scans!(@own f64),
                    _ => unreachable!("a name is one of the list"),
                }
            };
            (@own $value:ident) => {
                if is_product {
                    queue!($value, Product);
                } else {
                    queue!($value, Sum);
                }
            };
        }
        for_each_accumulator!(scans);
        // SAFETY: there are as many raw results, and as many results.
        unsafe {
            self.convert(
                device,
                stream,
                conversion,
                raw_bytes,
                n,
                results,
                work.result,
            )
        }
    }

    /// Queues a dot product on a stream.
    ///
    /// # Safety
    /// As for [`Self::launch`], for both arrays.
    pub(super) unsafe fn launch_dot(
        &mut self,
        device: &Device,
        stream: &Stream,
        values: [Values<'_>; 2],
        views: [&View; 2],
        is_deterministic: bool,
        result: Slice<'_, u8>,
    ) -> Result<(), Failed> {
        let (element, n) = (views[0].element, views[0].count());
        let (bytes, room) = (element.bytes(), n.next_multiple_of(8) * element.bytes());
        let strides = views.map(|view| view.axes[0].stride);
        if n > 1 && strides != [1, 1] && self.copy.len() < 2 * room {
            self.copy = device.allocate(2 * room)?;
        }
        let mut addresses = [0; 2];
        for side in [0, 1] {
            let given = values[side]
                .bytes
                .address()
                .wrapping_add_signed(values[side].origin as i64);
            addresses[side] = given;
            if n > 1 && strides[side] != 1 {
                addresses[side] = self.copy.address() + (side * room) as u64;
                let (input, output) =
                    (Argument::Address(given), Argument::Address(addresses[side]));
                // SAFETY: the axis goes through the view's elements, the copy has room for them, and the caller promises the rest.
                unsafe { self.pack(device, stream, bytes, input, output, &views[side].axes)? };
            }
        }
        // The product is made in a wider type and brought to that of the arrays.
        const RAW: usize = 8;
        if self.raw.len() < RAW {
            self.raw = device.allocate(RAW)?;
        }
        let mode = match is_deterministic {
            true => Mode::Deterministic,
            false => Mode::Fast,
        };
        let (raw, raw_bytes): (_, usize);
        raw = &self.raw;
        macro_rules! dots {
            ($($name:ident: $value:ty;)*) => {
                match element.name() {
                    // SAFETY: the memory is that of as many values and of one result, at addresses for them, and the event of the last work orders
                    // this and what other streams do.
                    $(stringify!($name) => unsafe {
                        let left = Slice::<$value>::from_raw(device, addresses[0], n)?;
                        let right = Slice::<$value>::from_raw(device, addresses[1], n)?;
                        let made = Slice::from_raw(device, raw.address(), 1)?;
                        queue_dot_of::<$value>(device, stream, mode, (left, right), made)?;
                        raw_bytes = size_of::<<$value as Element>::Wide>();
                    },)*
                    _ => unreachable!("a name is one of the list"),
                }
            };
        }
        for_each_element!(dots);
        let conversion = match element.name() {
            "f16" => Conversion::By("narrow_f16"),
            "bf16" => Conversion::By("narrow_bf16"),
            "bool" => Conversion::By("nonzero_u32"),
            _ => Conversion::LowBytes,
        };
        // SAFETY: there is one raw result, and one result.
        unsafe { self.convert(device, stream, conversion, raw_bytes, 1, result, element) }
    }

    /// Sees to it that the kernels are kept.
    pub(super) fn choose(
        &mut self,
        device: &Device,
        chosen: &Chosen,
        values: TypeName,
    ) -> Result<(), Failed> {
        let key = key(chosen, values);
        if self.reductions.contains_key(&key) {
            return Ok(());
        }
        let (named, ddof) = chosen.operation.named();
        let made = if chosen.is_wide {
            let (text, form) = wide(chosen.operation, values);
            let operator = named.name().trim_start_matches("sample_");
            // SAFETY: the form is that of the operator and the type with its accumulator.
            let untyped = unsafe { Untyped::of_library(device, operator, text, ddof, form) };
            (untyped?, form)
        } else {
            kernels(device, values, named, ddof)?
        };
        self.reductions.insert(key, made);
        Ok(())
    }

    /// Queues a copy of elements from the places that the axes go through to places side by side.
    ///
    /// # Safety
    /// From the address of the input on there are elements of `bytes` bytes at these places, at multiples of that, and from that of the
    /// output on there is room for them.
    pub(super) unsafe fn pack(
        &mut self,
        device: &Device,
        stream: &Stream,
        bytes: usize,
        input: Argument,
        output: Argument,
        axes: &[Axis],
    ) -> Result<(), Failed> {
        let name = match bytes {
            1 => "pack_1",
            2 => "pack_2",
            4 => "pack_4",
            _ => "pack_8",
        };
        let mut all = [Axis {
            length: 1,
            stride: 0,
        }; COPIED_AXES];
        all[COPIED_AXES - axes.len()..].copy_from_slice(axes);
        let mut arguments = vec![input, output, count(axes).into()];
        arguments.extend(all[1..].iter().map(|axis| Argument::from(axis.length)));
        arguments.extend(all.iter().map(|axis| Argument::from(axis.stride as usize)));
        // SAFETY: the caller's promise.
        unsafe { self.run(device, stream, name, count(axes), &arguments) }
    }

    /// Queues a kernel of the package's own, with a thread for each place.
    ///
    /// # Safety
    /// As the kernel says.
    pub(super) unsafe fn run(
        &mut self,
        device: &Device,
        stream: &Stream,
        name: &'static str,
        places: usize,
        arguments: &[Argument],
    ) -> Result<(), Failed> {
        const BLOCK: u32 = 256;
        const MOST_BLOCKS: usize = 1 << 16;
        if !self.own.contains_key(name) {
            let text = only(text(), name).ok_or_else(|| Error::NoKernel(name.to_owned()))?;
            let kernel = device.load(&text)?.kernel(name)?;
            self.own.insert(name, kernel);
        }
        let blocks = places.div_ceil(BLOCK as usize).clamp(1, MOST_BLOCKS) as u32;
        // SAFETY: the caller's promise.
        unsafe { stream.launch(&self.own[name], &Shape::linear(blocks, BLOCK), arguments)? };
        Ok(())
    }
}

fn key(chosen: &Chosen, values: TypeName) -> Key {
    let (named, ddof) = chosen.operation.named();
    (named.name(), values.name(), ddof, chosen.is_wide)
}
