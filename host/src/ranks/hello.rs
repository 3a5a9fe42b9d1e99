//! How rank 0 and the others find each other.

use super::error::RankError;
use super::message::{HEADER, Header, Kind, Reason};
use super::place::Place;
use super::transfer::{Pause, Transfer};
use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream, ToSocketAddrs};
use std::time::{Duration, Instant};

/// What the ranks are in until all have come.
pub(super) const OPERATION: &str = "the start";

/// How long somebody who has connected may take to say who it is.
const TO_SAY_HELLO: Duration = Duration::from_secs(10);

/// The most connections that have not said who they are.
const MOST_UNKNOWN: usize = 1024;

/// How often unread bytes are looked for where a connection ends.
const MOST_UNREAD: usize = 1024;

/// How long one attempt to reach rank 0 may take.
const ATTEMPT: Duration = Duration::from_secs(5);

/// How long between two attempts.
const BETWEEN: Duration = Duration::from_millis(50);

/// Who has come to rank 0.
pub(super) struct Comers {
    /// Of ranks 1, 2 and so on: the connection, and the number of the GPU.
    pub(super) connections: Vec<Option<(TcpStream, u64)>>,
    /// Whether all have come; else the error, and what the others are told: the reason, whom it is about, and how many ranks that one counts.
    pub(super) result: Result<(), (RankError, Reason, u32, Option<u32>)>,
}

/// Somebody who has connected and not yet said who it is.
struct Unknown {
    connection: TcpStream,
    bytes: [u8; HEADER],
    done: usize,
    since: Instant,
}

impl Comers {
    /// Waits for all other ranks.
    ///
    /// # Errors
    /// The port cannot be had.
    pub(super) fn wait(place: &Place, patience: Duration) -> Result<Self, RankError> {
        let listener = listen(place)?;
        let deadline = Instant::now() + patience;
        let mut comers = Self {
            connections: (1..place.size).map(|_| None).collect(),
            result: Ok(()),
        };
        let mut unknown: Vec<Unknown> = Vec::new();
        let mut pause = Pause::default();
        while comers.result.is_ok() && comers.connections.iter().any(Option::is_none) {
            if Instant::now() >= deadline {
                comers.result = Err(comers.nobody_came(place, patience));
                break;
            }
            let before = unknown.len();
            while unknown.len() < MOST_UNKNOWN
                && let Ok((connection, _)) = listener.accept()
            {
                if connection.set_nonblocking(true).is_ok() && connection.set_nodelay(true).is_ok()
                {
                    unknown.push(Unknown {
                        connection,
                        bytes: [0; HEADER],
                        done: 0,
                        since: Instant::now(),
                    });
                }
            }
            let is_new = unknown.len() > before;
            let mut still_unknown = Vec::new();
            for mut one in unknown.drain(..) {
                match one.go_on() {
                    // It has gone.
                    Err(()) => {}
                    Ok(false) if one.since.elapsed() < TO_SAY_HELLO => still_unknown.push(one),
                    Ok(false) => {}
                    Ok(true) => comers.take(place, one),
                }
            }
            unknown = still_unknown;
            if is_new {
                pause = Pause::default();
            } else {
                pause.make();
            }
        }
        Ok(comers)
    }

    fn nobody_came(
        &self,
        place: &Place,
        patience: Duration,
    ) -> (RankError, Reason, u32, Option<u32>) {
        let there = self.connections.iter().zip(1_u32..);
        let missing: Vec<u32> = there
            .filter(|(connection, _)| connection.is_none())
            .map(|(_, rank)| rank)
            .collect();
        let about = missing[0];
        let (host, port) = place.address().unwrap_or_default();
        let error = RankError::NeverCame {
            address: format!("{host}:{port}"),
            seconds: patience.as_secs(),
            missing,
        };
        (error, Reason::Late, about, None)
    }

    /// Takes somebody who has sent a header.
    fn take(&mut self, place: &Place, one: Unknown) {
        let header = Header::of(&one.bytes);
        // Who speaks otherwise is none of ours: a browser, or somebody who looks for open ports.
        let Some(header) = header.filter(|header| header.kind == Kind::Hello) else {
            return;
        };
        let refuse = |reason: Reason| {
            let header = Header {
                kind: Kind::Failure,
                rank: 0,
                size: place.size,
                about: header.rank,
                job: header.job,
                number: reason as u64,
                operation: OPERATION.to_owned(),
            };
            let mut connection = &one.connection;
            let _ = connection.set_nonblocking(false);
            let _ = connection.set_write_timeout(Some(Duration::from_secs(1)));
            let _ = connection.write_all(&header.bytes());
            part(connection);
        };
        if header.job != place.job {
            return refuse(Reason::OtherJob);
        }
        let (rank, size) = (header.rank, header.size);
        if size != place.size {
            refuse(Reason::OtherSize);
            let error = RankError::OtherSize {
                rank: 0,
                size: place.size,
                other: rank,
                theirs: size,
            };
            self.result = Err((error, Reason::OtherSize, rank, Some(size)));
            return;
        }
        let places = &mut self.connections;
        match (rank as usize)
            .checked_sub(1)
            .and_then(|place| places.get_mut(place))
        {
            Some(free @ None) => *free = Some((one.connection, header.number)),
            _ => {
                refuse(Reason::Twice);
                let error = RankError::Twice { rank, size };
                self.result = Err((error, Reason::Twice, rank, None));
            }
        }
    }
}

impl Unknown {
    /// Whether the header is there.
    fn go_on(&mut self) -> Result<bool, ()> {
        let mut transfer = Transfer::receive(0, &self.connection, &mut self.bytes[self.done..]);
        let further = transfer.go_on();
        self.done += transfer.done();
        further.map_err(drop)?;
        Ok(self.done == HEADER)
    }
}

/// Ends a connection, after what has been sent: whoever has unread bytes closes it otherwise without that.
pub(super) fn part(connection: &TcpStream) {
    let _ = connection.shutdown(Shutdown::Write);
    let _ = connection.set_nonblocking(true);
    let mut bytes = [0; 4096];
    let mut connection = connection;
    // What is unread would have the system drop what is on its way to the other side.
    let mut reads = 0;
    while reads < MOST_UNREAD && connection.read(&mut bytes).is_ok_and(|read| read > 0) {
        reads += 1;
    }
}

/// Listens at rank 0's address. Where it is not this host's, as that of a host behind another, at all of this host's.
fn listen(place: &Place) -> Result<TcpListener, RankError> {
    let (host, port) = place.address()?;
    let wrong = |reason: &dyn std::fmt::Display| RankError::CannotListen {
        address: format!("{host}:{port}"),
        reason: reason.to_string(),
    };
    let addresses = (host, port)
        .to_socket_addrs()
        .map_err(|error| wrong(&error))?;
    let mut last = None;
    let everywhere = [
        SocketAddr::from(([0; 8], port)),
        SocketAddr::from(([0; 4], port)),
    ];
    for address in addresses.chain(everywhere) {
        match TcpListener::bind(address) {
            Ok(listener) => {
                listener
                    .set_nonblocking(true)
                    .map_err(|error| wrong(&error))?;
                return Ok(listener);
            }
            Err(error)
                if error.kind() == ErrorKind::AddrNotAvailable
                    || error.kind() == ErrorKind::Unsupported =>
            {
                last.get_or_insert(error);
            }
            Err(error) => return Err(wrong(&error)),
        }
    }
    Err(match last {
        Some(error) => wrong(&error),
        None => wrong(&"the host has no address"),
    })
}

/// Connects to rank 0, which may start later.
pub(super) fn connect(place: &Place, patience: Duration) -> Result<TcpStream, RankError> {
    let (host, port) = place.address()?;
    let deadline = Instant::now() + patience;
    let mut reason;
    loop {
        match (host, port).to_socket_addrs() {
            Err(error) => reason = error.to_string(),
            Ok(addresses) => {
                reason = "the host has no address".to_owned();
                for address in addresses {
                    let left = deadline.saturating_duration_since(Instant::now());
                    let attempt = left.clamp(Duration::from_millis(1), ATTEMPT);
                    let connected = TcpStream::connect_timeout(&address, attempt);
                    match connected.and_then(|connection| {
                        // A port that the system picks for its own end may be the very one that nobody listens at.
                        if connection.local_addr()? == connection.peer_addr()? {
                            return Err(ErrorKind::ConnectionRefused.into());
                        }
                        connection.set_nodelay(true)?;
                        connection.set_nonblocking(true)?;
                        Ok(connection)
                    }) {
                        Ok(connection) => return Ok(connection),
                        Err(error) => reason = error.to_string(),
                    }
                }
            }
        }
        if Instant::now() + BETWEEN >= deadline {
            return Err(RankError::Unreachable {
                rank: place.rank,
                address: format!("{host}:{port}"),
                seconds: patience.as_secs(),
                reason,
            });
        }
        std::thread::sleep(BETWEEN);
    }
}
