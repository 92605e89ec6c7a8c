//! A socket that is read and written for as long as its server goes on.

use crate::device::server::Shared;
use crate::device::socket::Socket;
use std::io::{self, ErrorKind, Read, Write};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Longest time without a byte of an answer read by its client.
const UNREAD: Duration = Duration::from_secs(60);

/// Time in which a thread polls for the next request before it sleeps. Measured with polling and
/// without: 31 and 57 us a read at depth 1 (`tools/nbd_speed.py`).
const POLLED_FOR: Duration = Duration::from_micros(50);

/// A socket that is read and written as long as its server goes on.
pub(super) struct Patient {
    socket: Socket,
    shared: Arc<Shared>,
    /// Power cuts of the server before the client connected.
    cuts: u64,
    /// End of the time for what the client must send, and the problem where it does not come;
    /// `None` after the handshake.
    deadline: Option<(Instant, &'static str)>,
    /// Tells whether the reason for the connection is gone; `None` where nothing does.
    gone: Option<Box<dyn Fn() -> bool + Send>>,
    /// Whether reads poll before they sleep: only where no other thread uses the socket.
    polls: bool,
    /// Reads wait for data. Otherwise they take the bytes that are there, like a non-blocking
    /// socket.
    pub(super) waits: bool,
}

impl Patient {
    /// Clones the socket for one thread. `deadline` is the end of the handshake's time. Without a
    /// clock no other thread uses the clone.
    pub(super) fn new(
        socket: &Socket,
        shared: &Arc<Shared>,
        cuts: u64,
        deadline: Option<Instant>,
    ) -> io::Result<Self> {
        let polls = deadline.is_none() && !shared.is_paced();
        let deadline = deadline.map(|deadline| (deadline, "no agreement after 10 s"));
        let (socket, shared) = (socket.twin()?, shared.clone());
        Ok(Self { socket, shared, cuts, deadline, gone: None, polls, waits: true })
    }

    /// Sets the end of the time for what the client must send, and the problem where it does not.
    pub(super) fn limit(&mut self, deadline: Option<(Instant, &'static str)>) {
        self.deadline = deadline;
    }

    /// Gives up waiting once `gone` says that the reason for the connection is gone.
    pub(super) fn watch(&mut self, gone: Box<dyn Fn() -> bool + Send>) {
        self.gone = Some(gone);
    }

    /// Whether `watch` was called.
    pub(super) fn is_watched(&self) -> bool {
        self.gone.is_some()
    }

    fn gives_up(&self, since: Instant) -> Option<io::Error> {
        let problem = if self.shared.is_over(self.cuts) {
            "the server ends"
        } else if let Some((deadline, problem)) = self.deadline
            && Instant::now() >= deadline
        {
            problem
        } else if self.gone.as_ref().is_some_and(|gone| gone()) {
            "its controller is gone"
        } else if self.deadline.is_none() && since.elapsed() >= UNREAD {
            "its answers stay unread for 60 s"
        } else {
            return None;
        };
        Some(io::Error::new(ErrorKind::TimedOut, problem))
    }

    /// Polls for data: `None` if none comes within `time`.
    fn read_soon(&mut self, bytes: &mut [u8], time: Duration) -> io::Result<Option<usize>> {
        let begin = Instant::now();
        self.socket.set_nonblocking(true)?;
        let read = loop {
            match self.socket.read(bytes) {
                Err(error) if has_waited(&error) && begin.elapsed() < time => {
                    std::hint::spin_loop();
                }
                Err(error) if has_waited(&error) => break Ok(None),
                other => break other.map(Some),
            }
        };
        self.socket.set_nonblocking(false)?;
        read
    }
}

fn has_waited(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted)
}

impl Read for Patient {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        if !self.waits {
            let read = self.read_soon(bytes, Duration::ZERO)?;
            return read.ok_or_else(|| ErrorKind::WouldBlock.into());
        }
        if self.polls
            && let Some(count) = self.read_soon(bytes, POLLED_FOR)?
        {
            return Ok(count);
        }
        loop {
            match self.socket.read(bytes) {
                // A client may be silent for as long as it likes.
                Err(error) if has_waited(&error) => match self.gives_up(Instant::now()) {
                    Some(error) => return Err(error),
                    None => continue,
                },
                other => return other,
            }
        }
    }
}

impl Write for Patient {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let since = Instant::now();
        loop {
            match self.socket.write(bytes) {
                Err(error) if has_waited(&error) => match self.gives_up(since) {
                    Some(error) => return Err(error),
                    None => continue,
                },
                other => return other,
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
