//! Rounds: everybody is launched in turn, again and again, as long as nothing is wrong with them.

use crate::arena::Arena;
use crate::contender::Contender;
use crate::element::{self, Element};
use crate::error::PeersError;
use crate::record::{Finds, LeftOut, Measurement, Place, Record};
use warpfold::device::Times;

/// Those who take part on one input.
pub struct Field<'f, T: Element> {
    entrants: Vec<Entrant<'f, T>>,
}

struct Entrant<'f, T: Element> {
    contender: Box<dyn Contender<T> + 'f>,
    elapsed_ms: Vec<f64>,
}

impl<'f, T: Element> Field<'f, T> {
    /// Those whose first launch is right.
    ///
    /// # Errors
    /// One of them fails without whom the others are not measured either ([`PeersError::concerns_only`]).
    pub fn new(
        contenders: Vec<Box<dyn Contender<T> + 'f>>,
        arena: &mut Arena<'_, T>,
        record: &mut Record,
    ) -> Result<Self, PeersError> {
        let entrants = contenders.into_iter().map(|contender| Entrant {
            contender,
            elapsed_ms: Vec::new(),
        });
        let mut field = Self {
            entrants: entrants.collect(),
        };
        field.each(&place(arena, None), record, |one| {
            one.verify(arena, Finds::Warm)
        })?;
        Ok(field)
    }

    /// How many they are.
    pub fn len(&self) -> usize {
        self.entrants.len()
    }

    /// Times this many launches of each, and records the times. A contender that fails takes part no longer.
    ///
    /// # Errors
    /// As [`Self::new`].
    pub fn measure(
        &mut self,
        arena: &mut Arena<'_, T>,
        finds: Finds,
        launches: usize,
        record: &mut Record,
    ) -> Result<(), PeersError> {
        let place = place(arena, Some(finds));
        self.each(&place, record, |one| one.verify(arena, finds))?;
        for _ in 0..launches {
            self.each(&place, record, |one| {
                let elapsed_ms = one.contender.time_ms(arena, finds)?;
                one.elapsed_ms.push(elapsed_ms);
                Ok(())
            })?;
        }
        self.each(&place, record, |one| one.check(arena))?;
        for Entrant {
            contender,
            elapsed_ms,
        } in &mut self.entrants
        {
            let times = Times {
                elapsed_ms: std::mem::take(elapsed_ms),
            };
            record.measurements.push(Measurement {
                maker: contender.maker(),
                name: contender.name().to_owned(),
                element_type: element::name::<T>().to_owned(),
                n: arena.n(),
                finds,
                launches,
                median_ms: times.median_ms(),
                fastest_ms: times.fastest_ms(),
            });
        }
        Ok(())
    }

    /// Has everybody do something. Who fails at it goes, which is put on record, and the others stay.
    fn each(
        &mut self,
        place: &Place,
        record: &mut Record,
        mut act: impl FnMut(&mut Entrant<'f, T>) -> Result<(), PeersError>,
    ) -> Result<(), PeersError> {
        let mut failed = Ok(());
        self.entrants.retain_mut(|one| {
            if failed.is_err() {
                return true;
            }
            match act(one) {
                Ok(()) => true,
                Err(error) if error.concerns_only(one.contender.maker()) => {
                    let name = one.contender.name();
                    leave_out(record, name, Some(place), &error.reason());
                    false
                }
                Err(error) => {
                    failed = Err(error);
                    true
                }
            }
        });
        failed
    }
}

impl<T: Element> Entrant<'_, T> {
    /// Whether one launch leaves the right answer.
    fn verify(&mut self, arena: &mut Arena<'_, T>, finds: Finds) -> Result<(), PeersError> {
        self.contender.spoil()?;
        self.contender.time_ms(arena, finds)?;
        self.check(arena)
    }

    /// Whether the last launch has left the right answer.
    fn check(&self, arena: &Arena<'_, T>) -> Result<(), PeersError> {
        arena.check(self.contender.name(), self.contender.answer()?)
    }
}

/// Puts it on record that somebody does not take part, once.
pub fn leave_out(record: &mut Record, name: &str, at: Option<&Place>, reason: &str) {
    let left_out = LeftOut {
        name: name.to_owned(),
        at: at.cloned(),
        reason: reason.to_owned(),
    };
    if !record.left_out.contains(&left_out) {
        record.left_out.push(left_out);
    }
}

/// Where somebody fails.
pub fn place<T: Element>(arena: &Arena<'_, T>, from: Option<Finds>) -> Place {
    Place {
        element_type: element::name::<T>().to_owned(),
        n: arena.n(),
        from,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::answer::Answer;
    use crate::record::Maker;
    use warpfold::device::{Device, DeviceChoice};

    const VALUES: [i32; 4] = [1, 2, 3, 4];
    const LAUNCHES: usize = 3;

    /// Somebody whose launches fail, or are wrong, from one of them on.
    struct Fake {
        maker: Maker,
        name: &'static str,
        launches: usize,
        fails_at: usize,
        wrong_at: usize,
    }

    impl Fake {
        fn new(maker: Maker, name: &'static str) -> Self {
            Self {
                maker,
                name,
                launches: 0,
                fails_at: usize::MAX,
                wrong_at: usize::MAX,
            }
        }
    }

    impl Contender<i32> for Fake {
        fn maker(&self) -> Maker {
            self.maker
        }

        fn name(&self) -> &str {
            self.name
        }

        fn time_ms(&mut self, arena: &mut Arena<'_, i32>, _: Finds) -> Result<f64, PeersError> {
            self.launches += 1;
            if self.launches >= self.fails_at {
                return Err(PeersError::Contender {
                    name: self.name.to_owned(),
                    n: arena.n(),
                    message: "it has run out of luck".to_owned(),
                });
            }
            Ok(self.launches as f64)
        }

        fn spoil(&mut self) -> Result<(), PeersError> {
            Ok(())
        }

        fn answer(&self) -> Result<Answer<i32>, PeersError> {
            let is_wrong = self.launches >= self.wrong_at;
            Ok(Answer::Sum(if is_wrong { 11 } else { 10 }))
        }
    }

    /// The run of these, which finds a warm cache first and then a cold one.
    fn run(fakes: Vec<Fake>) -> (Result<(), PeersError>, Record) {
        let device = Device::open(&DeviceChoice::Emulator).expect("there is always an emulator");
        let mut arena = Arena::new(&device, VALUES.to_vec()).expect("it fits");
        let mut record = Record {
            date: String::new(),
            device: device.describe(),
            driver: String::new(),
            datasheet_gigabytes_per_second: None,
            compilers: Vec::new(),
            block: 512,
            measurements: Vec::new(),
            notes: Vec::new(),
            left_out: Vec::new(),
        };
        let contenders = fakes.into_iter().map(|fake| Box::new(fake) as _).collect();
        let run = Field::new(contenders, &mut arena, &mut record).and_then(|mut field| {
            field.measure(&mut arena, Finds::Warm, LAUNCHES, &mut record)?;
            field.measure(&mut arena, Finds::Cold, LAUNCHES, &mut record)
        });
        (run, record)
    }

    fn measured(record: &Record) -> Vec<(&str, Finds, f64)> {
        let all = record.measurements.iter();
        all.map(|one| (one.name.as_str(), one.finds, one.median_ms))
            .collect()
    }

    fn left_out(name: &str, from: Option<Finds>, reason: &str) -> LeftOut {
        LeftOut {
            name: name.to_owned(),
            at: Some(Place {
                element_type: "i32".to_owned(),
                n: VALUES.len(),
                from,
            }),
            reason: reason.to_owned(),
        }
    }

    /// One launch verifies, and for each of the caches one verifies and three are timed.
    #[test]
    fn who_fails_is_dropped_with_the_reason_and_the_others_go_on() {
        let fails_at = |name, fails_at| Fake {
            fails_at,
            ..Fake::new(Maker::Python, name)
        };
        let (run, record) = run(vec![
            fails_at("at once", 1),
            fails_at("when it is verified", 2),
            Fake::new(Maker::Warpfold, "ours"),
            fails_at("when it is timed", 8),
            Fake::new(Maker::Library, "theirs"),
        ]);
        run.expect("the others go on");
        let luck = "it has run out of luck";
        assert_eq!(
            record.left_out,
            [
                left_out("at once", None, luck),
                left_out("when it is verified", Some(Finds::Warm), luck),
                left_out("when it is timed", Some(Finds::Cold), luck),
            ]
        );
        assert_eq!(
            measured(&record),
            [
                ("ours", Finds::Warm, 4.0),
                ("when it is timed", Finds::Warm, 4.0),
                ("theirs", Finds::Warm, 4.0),
                ("ours", Finds::Cold, 8.0),
                ("theirs", Finds::Cold, 8.0),
            ]
        );
    }

    #[test]
    fn a_peer_that_becomes_wrong_is_dropped_and_one_of_ours_ends_the_run() {
        let wrong_at_the_end = |maker| Fake {
            wrong_at: 5,
            ..Fake::new(maker, "unsound")
        };
        let other = || Fake::new(Maker::Rust, "sound");
        let (peers, record) = run(vec![wrong_at_the_end(Maker::Library), other()]);
        peers.expect("the other goes on");
        let reason = "its sum is wrong: it gave 11, and the CPU 10";
        let unsound = left_out("unsound", Some(Finds::Warm), reason);
        assert_eq!(record.left_out, [unsound]);
        assert_eq!(
            measured(&record),
            [("sound", Finds::Warm, 4.0), ("sound", Finds::Cold, 8.0)]
        );
        let (ours, _) = run(vec![wrong_at_the_end(Maker::Warpfold), other()]);
        assert!(matches!(ours, Err(PeersError::Wrong { .. })), "{ours:?}");
    }
}
