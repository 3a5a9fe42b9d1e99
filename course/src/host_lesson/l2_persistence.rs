//! **L2 persistence**: a window that is read again and again, between reads of much more.
//!
//! Before: whatever was read last is in the L2 cache; what was read before has been evicted.
//!
//! Idea: a stream can say how its kernels' accesses to one window of memory are cached. Persisting accesses have a part of the cache for
//! themselves; streaming ones are the first to go. With a hit ratio below 1 this holds for a part of the window only, which the hardware
//! picks at random: a window that is larger than the part set aside then keeps some of its lines, which would otherwise evict one another.

use super::stopwatch::{Stopwatch, gigabytes_per_second, speed_up};
use super::sum::{Input, LadderKernel};
use super::{Cell, HostLesson, HostLessonError, Report, Setting};
use crate::oracle::{cpu_parallel, cpu_sequential};
use warpfold::device::{AccessPolicy, AccessProperty};

pub(super) const LESSON: HostLesson = HostLesson {
    id: "l2_persistence",
    alias: Some("l2"),
    title: "a window that stays in the cache",
    change: "a part of the L2 cache can be kept for data that is read again, however much else passes through",
    needs: &["events", "shuffle"],
    file: "course/src/host_lesson/l2_persistence.rs",
    // Three quarters of what can be set aside: the cache's hash does not fill every set alike.
    usual_n: |device| {
        device.l2_cache().map_or(0, |cache| {
            cache.most_persisting_bytes / 4 * 3 / size_of::<i32>()
        })
    },
    see: "What to see: data of several times the cache passes through between two reads of the window, which normal accesses then find \
          evicted; persisting ones find it where it was, and come closer to the time of a window that nothing has disturbed. With a hit ratio of 0.6 only that share of the \
          window persists, which pays if the window (-n) is larger than what is set aside, since its lines would then evict one another.",
    not_shown: "Not shown here: times, since the emulator has no cache; the sums are the same under every policy, as they are on a GPU.",
    has_picture: false,
    needs_group: false,
    run,
};

/// A hit ratio below 1.
const PART: f32 = 0.6;
/// How many times the cache is what passes through it between two reads of the window.
const FLOOD: usize = 4;
/// Reads of a window that is not disturbed before the one that is timed: so that it has as much queued before it as the others, and no
/// launch in its time.
const READS_BEFORE: usize = 8;

fn run(setting: &Setting<'_>) -> Result<Report, HostLessonError> {
    let device = setting.device;
    let cache = device.l2_cache()?;
    let n = setting.elements();
    let bytes = n * size_of::<i32>();
    if device.is_gpu() {
        let most = cache.most_window_bytes;
        if cache.most_persisting_bytes == 0 || bytes > most {
            return Err(HostLessonError::Unsuitable(format!(
                "this GPU has no access policy for a window of {n} elements; ask for at most {} with -n",
                most / size_of::<i32>()
            )));
        }
    }
    let values = setting.values()?;
    let expected = cpu_parallel(&values);
    let kernel = LadderKernel::fast(setting)?;
    let stream = device.stream()?;
    let stopwatch = Stopwatch::new(setting)?;
    let window = device.upload(&values)?;
    let flood = device.upload(&vec![1; (FLOOD * cache.bytes / size_of::<i32>()).max(n)])?;
    let flood_partials = kernel.partials(flood.len())?;
    let set_aside_bytes = device.persist_l2(cache.most_persisting_bytes)?.bytes();

    let mut report = Report::new(&[
        ("policy", "accesses to\nthe window"),
        ("hit_ratio", "hit\nratio"),
        ("elapsed_us", "window read\nagain in µs"),
        ("gigabytes_per_second", "GB/s"),
        ("ratio", "against\nnormal"),
        ("right", "sum"),
    ]);
    report.fact(kernel.describe());
    if device.is_gpu() {
        report.fact(format!(
            "window {} bytes · set aside {} of {} bytes of L2 cache · between two reads {} bytes pass through",
            bytes,
            set_aside_bytes,
            cache.bytes,
            flood.bytes()
        ));
    }
    let mut normal_ms = None;
    for (name, property, fraction, is_flooded) in [
        ("normal", AccessProperty::Normal, 1.0, true),
        ("streaming", AccessProperty::Streaming, 1.0, true),
        ("persisting", AccessProperty::Persisting, 1.0, true),
        ("persisting", AccessProperty::Persisting, PART, true),
        ("normal, undisturbed", AccessProperty::Normal, 1.0, false),
    ] {
        let partials = kernel.partials(n)?;
        // Its end empties that part of the cache: what one row has made persist cannot pass for another's.
        let _set_aside = device.persist_l2(cache.most_persisting_bytes)?;
        let policy = AccessPolicy { property, fraction };
        stream.set_access_policy(Some((&window, policy)))?;
        let elapsed_ms = stopwatch.device_ms(
            &stream,
            || {
                if is_flooded {
                    kernel.queue(&stream, &Input::of(&flood), &flood_partials)
                } else {
                    (0..READS_BEFORE)
                        .try_for_each(|_| kernel.queue(&stream, &Input::of(&window), &partials))
                }
            },
            || kernel.queue(&stream, &Input::of(&window), &partials),
        )?;
        normal_ms = normal_ms.or(elapsed_ms);
        report.row([
            name.into(),
            format!("{fraction:.1}").as_str().into(),
            Cell::Microseconds(elapsed_ms.map(|elapsed_ms| elapsed_ms * 1e3)),
            Cell::Number(gigabytes_per_second(bytes, elapsed_ms)),
            Cell::Ratio(speed_up(normal_ms, elapsed_ms)),
            Cell::Right(Some(cpu_sequential(&partials.read()?) == expected)),
        ]);
    }
    stream.set_access_policy::<i32>(None)?;
    Ok(report)
}
