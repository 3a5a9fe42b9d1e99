//! How rank 0 and the others find each other.

use super::error::RankError;
use super::message::{HEADER, Header, Kind, Reason};
use super::place::Place;
use super::transfer::{Pause, Transfer};
use std::io::{self, ErrorKind, Read, Write};
use std::net::{
    IpAddr, Ipv4Addr, Ipv6Addr, Shutdown, SocketAddr, TcpListener, TcpStream, ToSocketAddrs,
};
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
    /// Rank 0 cannot listen at its port.
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
        // Whatever sends anything else is not one of our ranks: a browser, or a scanner of ports.
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

/// Closes a connection in a way that lets the other side still read what has been sent.
pub(super) fn part(connection: &TcpStream) {
    let _ = connection.shutdown(Shutdown::Write);
    let _ = connection.set_nonblocking(true);
    let mut bytes = [0; 4096];
    let mut connection = connection;
    // If any bytes were left unread, the system would drop what is on its way to the other side.
    let mut reads = 0;
    while reads < MOST_UNREAD && connection.read(&mut bytes).is_ok_and(|read| read > 0) {
        reads += 1;
    }
}

/// Listens at rank 0's address if it is given as one, or on the loopback for `localhost`. Any other name is for the others to look up: on
/// its own host it often stands for the loopback, which they cannot reach. So for a name, and for an address that this host does not have
/// itself, it listens at all addresses of this host.
fn listen(place: &Place) -> Result<TcpListener, RankError> {
    let (host, port) = place.address()?;
    let wrong = |error: io::Error| RankError::CannotListen {
        address: format!("{host}:{port}"),
        reason: error.to_string(),
    };
    let own: Vec<SocketAddr> = match (host.parse::<IpAddr>(), host) {
        (Ok(address), _) => vec![(address, port).into()],
        (Err(_), "localhost") => (host, port).to_socket_addrs().map_err(wrong)?.collect(),
        (Err(_), _) => Vec::new(),
    };
    let everywhere: [SocketAddr; 2] = [
        (Ipv6Addr::UNSPECIFIED, port).into(),
        (Ipv4Addr::UNSPECIFIED, port).into(),
    ];
    let mut first = None;
    for address in own.into_iter().chain(everywhere) {
        match TcpListener::bind(address) {
            Ok(listener) => {
                listener.set_nonblocking(true).map_err(wrong)?;
                return Ok(listener);
            }
            // Anything else, such as a port in use, is no better elsewhere.
            Err(error) if is_not_of_this_host(&error) => drop(first.get_or_insert(error)),
            Err(error) => return Err(wrong(error)),
        }
    }
    Err(wrong(first.unwrap_or(ErrorKind::AddrNotAvailable.into())))
}

/// Whether this host has no such address, or no addresses of its kind at all.
fn is_not_of_this_host(error: &io::Error) -> bool {
    const EAFNOSUPPORT: i32 = 97;
    let is_of_linux = cfg!(target_os = "linux") && error.raw_os_error() == Some(EAFNOSUPPORT);
    is_of_linux
        || matches!(
            error.kind(),
            ErrorKind::AddrNotAvailable | ErrorKind::Unsupported
        )
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
                        // Where nobody listens at the port, the system may pick the same one for this end, and connect it to itself.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_listened_for_at_all_addresses_and_the_loopback_at_its_own() {
        let free = TcpListener::bind("127.0.0.1:0").expect("there is a free port");
        let port = free.local_addr().expect("it has one").port();
        let at = |host: &str| Place::new(0, 2).expect("it is one").at(host, port);
        let in_use = listen(&at("127.0.0.1"))
            .expect_err("it is in use")
            .to_string();
        assert!(in_use.contains("Address already in use"), "{in_use}");
        drop(free);
        // The last is an address for documentation, which no host has.
        for (host, is_loopback) in [
            ("127.0.0.1", true),
            ("localhost", true),
            ("node1", false),
            ("203.0.113.77", false),
        ] {
            let listener = listen(&at(host)).expect("it is free");
            let address = listener.local_addr().expect("it has one");
            assert_eq!(address.ip().is_loopback(), is_loopback, "{host}: {address}");
            assert_eq!(
                address.ip().is_unspecified(),
                !is_loopback,
                "{host}: {address}"
            );
        }
    }
}
