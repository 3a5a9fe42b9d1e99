//! Bytes over several connections at once, until a deadline.

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

/// Bytes to or from a rank, over a connection that does not block.
pub(super) struct Transfer<'a> {
    rank: u32,
    connection: &'a TcpStream,
    what: What<'a>,
    done: usize,
}

enum What<'a> {
    Send(&'a [u8]),
    Receive(&'a mut [u8]),
}

/// Why transfers have not ended.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Trouble {
    /// A rank has closed its connection.
    Gone(u32),
    /// Ranks have sent or taken too little.
    Late(Vec<u32>),
}

impl<'a> Transfer<'a> {
    pub(super) fn send(rank: u32, connection: &'a TcpStream, bytes: &'a [u8]) -> Self {
        let what = What::Send(bytes);
        Self {
            rank,
            connection,
            what,
            done: 0,
        }
    }

    pub(super) fn receive(rank: u32, connection: &'a TcpStream, bytes: &'a mut [u8]) -> Self {
        let what = What::Receive(bytes);
        Self {
            rank,
            connection,
            what,
            done: 0,
        }
    }

    pub(super) fn is_done(&self) -> bool {
        self.done
            == match &self.what {
                What::Send(bytes) => bytes.len(),
                What::Receive(bytes) => bytes.len(),
            }
    }

    /// Bytes that have been moved.
    pub(super) fn done(&self) -> usize {
        self.done
    }

    /// Goes on as far as it can without waiting. Returns whether it got further.
    pub(super) fn go_on(&mut self) -> Result<bool, Trouble> {
        let before = self.done;
        while !self.is_done() {
            let moved = match &mut self.what {
                What::Send(bytes) => self.connection.write(&bytes[self.done..]),
                What::Receive(bytes) => self.connection.read(&mut bytes[self.done..]),
            };
            match moved {
                Ok(0) => return Err(Trouble::Gone(self.rank)),
                Ok(bytes) => self.done += bytes,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(_) => return Err(Trouble::Gone(self.rank)),
            }
        }
        Ok(self.done > before)
    }
}

/// Brings all transfers to their end.
pub(super) fn finish(transfers: &mut [Transfer<'_>], deadline: Instant) -> Result<(), Trouble> {
    let mut pause = Pause::default();
    loop {
        let mut is_further = false;
        let mut is_done = true;
        for transfer in &mut *transfers {
            is_further |= transfer.go_on()?;
            is_done &= transfer.is_done();
        }
        if is_done {
            return Ok(());
        }
        if Instant::now() >= deadline {
            let late = transfers.iter().filter(|transfer| !transfer.is_done());
            return Err(Trouble::Late(late.map(|transfer| transfer.rank).collect()));
        }
        if is_further {
            pause = Pause::default();
        } else {
            pause.make();
        }
    }
}

/// Pauses that begin short, for what comes soon, and get longer.
#[derive(Default)]
pub(super) struct Pause {
    made: u32,
}

impl Pause {
    /// The pauses that only let other threads run.
    const YIELDS: u32 = 64;

    pub(super) fn make(&mut self) {
        self.made = self.made.saturating_add(1);
        if self.made <= Self::YIELDS {
            std::thread::yield_now();
        } else {
            let microseconds = u64::from(self.made - Self::YIELDS) * 10;
            std::thread::sleep(Duration::from_micros(microseconds.min(1000)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    fn pair() -> [TcpStream; 2] {
        let listener = TcpListener::bind("127.0.0.1:0").expect("there is a free port");
        let address = listener.local_addr().expect("it has one");
        let one = TcpStream::connect(address).expect("it listens");
        let (other, _) = listener.accept().expect("one has come");
        for end in [&one, &other] {
            end.set_nonblocking(true).expect("it can be set");
        }
        [one, other]
    }

    fn soon() -> Instant {
        Instant::now() + Duration::from_millis(100)
    }

    #[test]
    fn more_than_a_connection_holds_goes_both_ways_at_once() {
        let [one, other] = pair();
        let sent: Vec<u8> = (0..20_000_000_u32)
            .map(|place| (place % 251) as u8)
            .collect();
        let (mut here, mut there) = (vec![0; sent.len()], vec![0; sent.len()]);
        let mut transfers = [
            Transfer::send(0, &one, &sent),
            Transfer::send(1, &other, &sent),
            Transfer::receive(0, &one, &mut here),
            Transfer::receive(1, &other, &mut there),
        ];
        let deadline = Instant::now() + Duration::from_secs(60);
        assert_eq!(finish(&mut transfers, deadline), Ok(()));
        assert!(here == sent && there == sent);
    }

    #[test]
    fn who_is_late_or_gone_is_told() {
        let ([one, other], [another, closed]) = (pair(), pair());
        let (mut first, mut second) = ([0; 4], [0; 4]);
        let mut transfers = [
            Transfer::send(2, &other, &[1, 2, 3, 4]),
            Transfer::receive(3, &one, &mut first),
            Transfer::receive(5, &another, &mut second),
        ];
        assert_eq!(finish(&mut transfers, soon()), Err(Trouble::Late(vec![5])));
        assert_eq!(first, [1, 2, 3, 4]);
        drop(closed);
        let mut transfers = [Transfer::receive(5, &another, &mut second)];
        assert_eq!(finish(&mut transfers, soon()), Err(Trouble::Gone(5)));
    }
}
