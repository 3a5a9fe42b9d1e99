//! The connections of all ranks with rank 0: who has come, and what they hand each other.

use super::error::RankError;
use super::hello::{self, Comers};
use super::message::{HEADER, Header, Kind, Reason, WELCOME, cut};
use super::place::Place;
use super::transfer::{Transfer, Trouble, finish};
use std::io::{ErrorKind, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

/// How much longer than rank 0 the others wait, so that they hear from it who is missing.
pub(super) const GRACE: Duration = Duration::from_secs(2);

/// How long a message about a failure may take.
const FAREWELL: Duration = Duration::from_secs(1);

/// The most bytes of all ranks together.
const MOST_BYTES: u64 = 1 << 31;

/// How the ranks meet, as rank 0 says when all have come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Verdict {
    /// By NCCL, or through these connections.
    pub(super) is_by_nccl: bool,
    /// The `ncclUniqueId`.
    pub(super) id: [u8; WELCOME],
}

impl Verdict {
    pub(super) const BY_SOCKETS: Self = Self {
        is_by_nccl: false,
        id: [0; WELCOME],
    };
}

/// The connections of a rank.
pub(super) struct Meeting {
    rank: u32,
    size: u32,
    job: u64,
    patience: Duration,
    /// Of rank 0 those with ranks 1, 2 and so on; of another the one with rank 0. They do not block.
    connections: Vec<TcpStream>,
    is_broken: bool,
}

impl Meeting {
    /// Waits until all ranks have come. Each tells the number of its GPU, which is not 0 if it can use NCCL; rank 0 decides from them.
    ///
    /// # Errors
    /// A rank does not come in time, or something that is no rank comes; or what `decide` says, which all then hear of.
    pub(super) fn open(
        place: &Place,
        patience: Duration,
        gpu: u64,
        decide: impl FnOnce(&[u64]) -> Result<Verdict, RankError>,
    ) -> Result<(Self, Verdict), RankError> {
        let mut meeting = Self {
            rank: place.rank,
            size: place.size,
            job: place.job,
            patience,
            connections: Vec::new(),
            is_broken: false,
        };
        let verdict = if place.rank == 0 {
            meeting.receive_all(place, gpu, decide)
        } else {
            meeting.come(place, gpu)
        };
        Ok((meeting, verdict?))
    }

    /// Rank 0's part.
    fn receive_all(
        &mut self,
        place: &Place,
        gpu: u64,
        decide: impl FnOnce(&[u64]) -> Result<Verdict, RankError>,
    ) -> Result<Verdict, RankError> {
        let mut gpus = vec![gpu];
        if self.size > 1 {
            let comers = Comers::wait(place, self.patience)?;
            match comers.result {
                Ok(()) => {
                    for (connection, gpu) in comers.connections.into_iter().flatten() {
                        self.connections.push(connection);
                        gpus.push(gpu);
                    }
                }
                Err((error, reason, about, of)) => {
                    let there = comers.connections.into_iter().flatten();
                    self.connections = there.map(|(connection, _)| connection).collect();
                    let size = of.unwrap_or(self.size);
                    self.announce(Header {
                        size,
                        ..self.header(Kind::Failure, hello::OPERATION, reason as u64, about)
                    });
                    return Err(error);
                }
            }
        }
        let verdict = decide(&gpus).inspect_err(|error| {
            let (reason, about) = match error {
                RankError::NotByNccl { missing } => (Reason::NotByNccl, *missing),
                _ => (Reason::Failed, 0),
            };
            self.announce(self.header(Kind::Failure, hello::OPERATION, reason as u64, about));
        })?;
        let header = self.header(
            Kind::Welcome,
            hello::OPERATION,
            verdict.is_by_nccl.into(),
            0,
        );
        let welcome = [&header.bytes()[..], &verdict.id].concat();
        let connections = self.connections.iter().zip(1..);
        let mut transfers: Vec<Transfer<'_>> = connections
            .map(|(connection, rank)| Transfer::send(rank, connection, &welcome))
            .collect();
        match finish(&mut transfers, Instant::now() + self.patience) {
            Ok(()) => Ok(verdict),
            Err(trouble) => Err(self.fail(hello::OPERATION, trouble)),
        }
    }

    /// The part of another rank.
    fn come(&mut self, place: &Place, gpu: u64) -> Result<Verdict, RankError> {
        let connection = hello::connect(place, self.patience)?;
        self.connections.push(connection);
        let header = self.header(Kind::Hello, hello::OPERATION, gpu, 0).bytes();
        let answer = self.ask(hello::OPERATION, &[&header])?;
        if answer.kind != Kind::Welcome || answer.size != self.size || answer.number > 1 {
            return Err(self.stranger(0, hello::OPERATION));
        }
        let mut id = [0; WELCOME];
        self.take_from_first(hello::OPERATION, &mut id)?;
        Ok(Verdict {
            is_by_nccl: answer.number == 1,
            id,
        })
    }

    /// The bytes of all ranks, one after another. All know how many each rank gives.
    ///
    /// # Errors
    /// A rank does not come in time, has ended, or does something else.
    pub(super) fn gather(
        &mut self,
        operation: &str,
        mine: &[u8],
        lengths: &[usize],
    ) -> Result<Vec<u8>, RankError> {
        if self.is_broken {
            return Err(RankError::Broken);
        }
        let bytes = lengths.iter().map(|&length| length as u64).sum::<u64>();
        if bytes > MOST_BYTES {
            return Err(RankError::TooMuch {
                operation: operation.to_owned(),
                bytes,
                most: MOST_BYTES,
            });
        }
        let mut all = vec![0; bytes as usize];
        let header = self
            .header(Kind::Data, operation, mine.len() as u64, 0)
            .bytes();
        if self.rank > 0 {
            let answer = self.ask(operation, &[&header, mine])?;
            if answer.kind != Kind::Data || answer.number != bytes {
                return Err(self.stranger(0, operation));
            }
            self.take_from_first(operation, &mut all)?;
            return Ok(all);
        }
        let deadline = Instant::now() + self.patience;
        let received = self
            .headers(deadline)
            .map_err(|trouble| self.fail(operation, trouble))?;
        for (header, rank) in received.iter().zip(1_u32..) {
            let fits = Header::of(header).filter(|it| it.rank == rank && it.job == self.job);
            let Some(header) = fits else {
                return Err(self.stranger(rank, operation));
            };
            if let Some(error) = self.told(&header, operation) {
                // It has failed by itself, and the others have to hear of it.
                self.announce(self.header(Kind::Failure, operation, Reason::Failed as u64, rank));
                return Err(error);
            }
            let is_same = header.kind == Kind::Data
                && header.operation == cut(operation)
                && Some(header.number) == lengths.get(rank as usize).map(|&length| length as u64);
            if !is_same {
                self.announce(self.header(
                    Kind::Failure,
                    operation,
                    Reason::Different as u64,
                    rank,
                ));
                return Err(self.different(operation, rank));
            }
        }
        let received = {
            let (first, mut rest) = all.split_at_mut(mine.len());
            first.copy_from_slice(mine);
            let mut transfers = Vec::new();
            for (connection, rank) in self.connections.iter().zip(1_u32..) {
                let (part, others) = rest.split_at_mut(lengths[rank as usize]);
                rest = others;
                transfers.push(Transfer::receive(rank, connection, part));
            }
            finish(&mut transfers, deadline)
        };
        received.map_err(|trouble| self.fail(operation, trouble))?;
        let header = self.header(Kind::Data, operation, bytes, 0).bytes();
        let connections = || self.connections.iter().zip(1_u32..);
        let of_headers = connections().map(|(to, rank)| Transfer::send(rank, to, &header));
        let sent = finish(&mut of_headers.collect::<Vec<_>>(), deadline).and_then(|()| {
            let of_all = connections().map(|(to, rank)| Transfer::send(rank, to, &all));
            finish(&mut of_all.collect::<Vec<_>>(), deadline)
        });
        // What is on its way cannot be taken back: a rank that waits for the rest finds the connection closed.
        sent.map_err(|trouble| {
            let error = self.error(operation, trouble);
            self.close();
            error
        })?;
        Ok(all)
    }

    /// Looks, without waiting, whether a rank has ended or failed while this one waits for something else.
    ///
    /// # Errors
    /// One has. Rank 0 tells the others.
    pub(super) fn look(&mut self, operation: &str) -> Result<(), RankError> {
        let mut bytes = [0; HEADER];
        for place in 0..self.connections.len() {
            let other = if self.rank == 0 { place as u32 + 1 } else { 0 };
            match self.connections[place].peek(&mut bytes) {
                Ok(HEADER) => {
                    // What others send before their time, such as the next operation's, stays where it is.
                    let header = Header::of(&bytes);
                    let failure = header.filter(|header| header.kind == Kind::Failure);
                    if let Some(error) = failure.and_then(|it| self.told(&it, operation)) {
                        self.announce(self.header(
                            Kind::Failure,
                            operation,
                            Reason::Failed as u64,
                            other,
                        ));
                        return Err(error);
                    }
                }
                Err(error)
                    if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {}
                Ok(1..) => {}
                Ok(0) | Err(_) => return Err(self.fail(operation, Trouble::Gone(other))),
            }
        }
        Ok(())
    }

    /// Tells the other ranks, as far as they can be reached from here, that this one has failed.
    pub(super) fn give_up(&mut self, operation: &str) {
        self.announce(self.header(Kind::Failure, operation, Reason::Failed as u64, self.rank));
    }

    /// Sends to rank 0 and waits for its answer, which is no failure.
    fn ask(&mut self, operation: &str, parts: &[&[u8]]) -> Result<Header, RankError> {
        let deadline = Instant::now() + self.patience + GRACE;
        let connection = &self.connections[0];
        let sent = parts
            .iter()
            .try_for_each(|part| finish(&mut [Transfer::send(0, connection, part)], deadline));
        let mut bytes = [0; HEADER];
        // Rank 0 may have said why it takes no more.
        let received = finish(
            &mut [Transfer::receive(0, connection, &mut bytes)],
            deadline,
        );
        received
            .or_else(|trouble| sent.and(Err(trouble)))
            .map_err(|trouble| self.fail(operation, trouble))?;
        let header = Header::of(&bytes);
        let Some(header) = header.filter(|it| it.rank == 0) else {
            return Err(self.stranger(0, operation));
        };
        if let Some(error) = self.told(&header, operation) {
            self.close();
            return Err(error);
        }
        Ok(header)
    }

    fn take_from_first(&mut self, operation: &str, bytes: &mut [u8]) -> Result<(), RankError> {
        let deadline = Instant::now() + self.patience + GRACE;
        finish(
            &mut [Transfer::receive(0, &self.connections[0], bytes)],
            deadline,
        )
        .map_err(|trouble| self.fail(operation, trouble))
    }

    /// A header from each of the others.
    fn headers(&self, deadline: Instant) -> Result<Vec<[u8; HEADER]>, Trouble> {
        let mut headers = vec![[0; HEADER]; self.connections.len()];
        let mut transfers = Vec::new();
        for ((header, connection), rank) in headers.iter_mut().zip(&self.connections).zip(1..) {
            transfers.push(Transfer::receive(rank, connection, header));
        }
        finish(&mut transfers, deadline)?;
        drop(transfers);
        Ok(headers)
    }

    fn header(&self, kind: Kind, operation: &str, number: u64, about: u32) -> Header {
        Header {
            kind,
            rank: self.rank,
            size: self.size,
            about,
            job: self.job,
            number,
            operation: operation.to_owned(),
        }
    }

    /// The error that a message tells of.
    fn told(&self, header: &Header, operation: &str) -> Option<RankError> {
        let (rank, about) = (self.rank, header.about);
        let operation = operation.to_owned();
        Some(match header.reason()? {
            // A rank that has given up waiting for this one has ended.
            Reason::Gone | Reason::Failed | Reason::Late if about == rank => RankError::Gone {
                rank,
                operation,
                missing: header.rank,
            },
            Reason::Gone | Reason::Failed => RankError::Gone {
                rank,
                operation,
                missing: about,
            },
            Reason::Late => RankError::Late {
                rank,
                operation,
                seconds: self.patience.as_secs(),
                missing: vec![about],
            },
            Reason::Different => self.different(&operation, if about == rank { 0 } else { about }),
            Reason::Twice => RankError::Twice {
                rank: about,
                size: self.size,
            },
            Reason::OtherSize => RankError::OtherSize {
                rank,
                size: self.size,
                other: if about == rank { 0 } else { about },
                theirs: header.size,
            },
            Reason::OtherJob => RankError::OtherJob {
                rank,
                address: self.address(0),
            },
            Reason::NotByNccl => RankError::NotByNccl { missing: about },
        })
    }

    fn different(&self, operation: &str, other: u32) -> RankError {
        RankError::Different {
            rank: self.rank,
            operation: operation.to_owned(),
            other,
        }
    }

    fn error(&self, operation: &str, trouble: Trouble) -> RankError {
        let (rank, operation) = (self.rank, operation.to_owned());
        match trouble {
            Trouble::Gone(missing) => RankError::Gone {
                rank,
                operation,
                missing,
            },
            Trouble::Late(missing) => RankError::Late {
                rank,
                operation,
                seconds: self.patience.as_secs(),
                missing,
            },
        }
    }

    /// The error, of which the other ranks hear.
    fn fail(&mut self, operation: &str, trouble: Trouble) -> RankError {
        let (reason, about) = match &trouble {
            Trouble::Gone(rank) => (Reason::Gone, *rank),
            Trouble::Late(ranks) => (Reason::Late, ranks.first().copied().unwrap_or_default()),
        };
        self.announce(self.header(Kind::Failure, operation, reason as u64, about));
        self.error(operation, trouble)
    }

    fn stranger(&mut self, rank: u32, operation: &str) -> RankError {
        let address = self.address(rank);
        self.announce(self.header(Kind::Failure, operation, Reason::Failed as u64, rank));
        RankError::Stranger {
            rank: self.rank,
            address,
            operation: operation.to_owned(),
        }
    }

    /// Where a rank's connection leads.
    fn address(&self, rank: u32) -> String {
        let connection = self.connections.get(rank.saturating_sub(1) as usize);
        let address = connection.and_then(|connection| connection.peer_addr().ok());
        address.map_or_else(|| format!("rank {rank}"), |address| address.to_string())
    }

    /// Sends the last message to all that can be reached, and closes the connections.
    fn announce(&mut self, header: Header) {
        let bytes = header.bytes();
        for connection in &mut self.connections {
            let _ = connection.set_nonblocking(false);
            let _ = connection.set_write_timeout(Some(FAREWELL));
            // A rank that cannot be told finds the connection closed.
            let _ = connection.write_all(&bytes);
        }
        self.close();
    }

    fn close(&mut self) {
        for connection in &self.connections {
            hello::part(connection);
        }
        self.connections.clear();
        self.is_broken = true;
    }
}
