//! Sockets for clients: of the file system, which Unix alone has, or of this machine's network.

use base::{Error, Result};
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::path::PathBuf;
use std::time::Duration;

#[cfg(unix)]
use {
    std::fs::{self, DirBuilder, Permissions},
    std::os::unix::fs::{DirBuilderExt, FileTypeExt, PermissionsExt},
    std::os::unix::net::{UnixListener, UnixStream},
    std::path::Path,
    std::sync::atomic::{AtomicU64, Ordering},
};

/// Address on which a server listens.
#[derive(Debug, Clone)]
pub enum Address {
    /// Unix socket at this path, for the user who runs the server.
    Path(PathBuf),
    /// TCP port; 0 = any free one.
    Port {
        /// Number of the port.
        port: u16,
        /// Whether other machines may connect.
        is_open: bool,
    },
}

enum Kind {
    #[cfg(unix)]
    Path(UnixListener, PathBuf),
    Port(TcpListener),
}

/// A listening socket. The path of a Unix socket is removed with it.
pub struct Listener {
    kind: Kind,
}

impl Listener {
    /// Listens at an address. Replaces a socket that a server has left behind.
    pub fn new(address: &Address) -> Result<Self> {
        let kind = match address {
            #[cfg(not(unix))]
            Address::Path(path) => {
                let place = format!("--socket {}", path.display());
                return Err(Error::unsupported(place, "sockets of the file system on Windows")
                    .hint("use --port"));
            }
            #[cfg(unix)]
            Address::Path(path) => {
                let place = || format!("--socket {}", path.display());
                check_free(path)?;
                let listener =
                    bind(path).map_err(|error| Error::new(place(), error.to_string()))?;
                Kind::Path(listener, path.clone())
            }
            Address::Port { port, is_open } => {
                let host = if *is_open { Ipv4Addr::UNSPECIFIED } else { Ipv4Addr::LOCALHOST };
                let listener = TcpListener::bind((host, *port))
                    .map_err(|error| Error::new(format!("--port {port}"), error.to_string()))?;
                Kind::Port(listener)
            }
        };
        let listener = Self { kind };
        let has_patience = match &listener.kind {
            #[cfg(unix)]
            Kind::Path(listener, _) => listener.set_nonblocking(true),
            Kind::Port(listener) => listener.set_nonblocking(true),
        };
        has_patience.map_err(|error| Error::new("socket", error.to_string()))?;
        Ok(listener)
    }

    /// Address as clients name it.
    pub fn uri(&self) -> String {
        match &self.kind {
            #[cfg(unix)]
            Kind::Path(_, path) => format!("nbd+unix:///?socket={}", path.display()),
            Kind::Port(_) => format!("nbd://127.0.0.1:{}", self.port()),
        }
    }

    /// Address as NVMe hosts name it, with the name of the subsystem.
    pub fn nvme_uri(&self, nqn: &str) -> String {
        format!("nvme+tcp://127.0.0.1:{}/{nqn}", self.port())
    }

    /// Number of the TCP port; 0 for a Unix socket.
    pub fn port(&self) -> u16 {
        match &self.kind {
            #[cfg(unix)]
            Kind::Path(..) => 0,
            Kind::Port(listener) => listener.local_addr().map_or(0, |address| address.port()),
        }
    }

    /// Accepts the next client; `None` if none waits.
    pub fn accept(&self) -> io::Result<Option<Socket>> {
        let accepted = match &self.kind {
            #[cfg(unix)]
            Kind::Path(listener, _) => listener.accept().map(|(socket, _)| Socket::Path(socket)),
            Kind::Port(listener) => listener.accept().and_then(|(socket, _)| {
                socket.set_nodelay(true)?;
                Ok(Socket::Port(socket))
            }),
        };
        match accepted {
            Ok(socket) => {
                socket.set_nonblocking(false)?;
                Ok(Some(socket))
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
            Err(error) => Err(error),
        }
    }
}

#[cfg(unix)]
impl Drop for Listener {
    fn drop(&mut self) {
        if let Kind::Path(_, path) = &self.kind {
            // The path may be gone already.
            let _ = fs::remove_file(path);
        }
    }
}

/// Refuses a path that holds anything but a socket left behind by a server.
#[cfg(unix)]
fn check_free(path: &Path) -> Result<()> {
    let place = || format!("--socket {}", path.display());
    let Ok(meta) = fs::symlink_metadata(path) else { return Ok(()) };
    if !meta.file_type().is_socket() {
        return Err(Error::new(place(), "an existing file is not a socket")
            .hint("name a path that does not exist"));
    }
    match UnixStream::connect(path) {
        Ok(_) => Err(Error::new(place(), "a server listens there")
            .hint("name another path, or end that server")),
        Err(_) => Ok(()),
    }
}

/// Binds a socket that no other user can connect to at any time: it is made in a folder of its own,
/// and moved.
#[cfg(unix)]
fn bind(path: &Path) -> io::Result<UnixListener> {
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    let parent = parent.unwrap_or(Path::new("."));
    let number = FOLDERS.fetch_add(1, Ordering::Relaxed);
    let folder = parent.join(format!(".nandlab-{}-{number}", std::process::id()));
    DirBuilder::new().mode(0o700).create(&folder)?;
    let inside = folder.join("s");
    let bound = UnixListener::bind(&inside).and_then(|listener| {
        fs::set_permissions(&inside, Permissions::from_mode(0o600))?;
        fs::rename(&inside, path)?;
        Ok(listener)
    });
    // Remains of a failure.
    let _ = fs::remove_file(&inside);
    let removed = fs::remove_dir(&folder);
    let listener = bound?;
    removed?;
    Ok(listener)
}

/// Folders made so far by this process for its sockets.
#[cfg(unix)]
static FOLDERS: AtomicU64 = AtomicU64::new(0);

/// Socket of one client.
pub enum Socket {
    /// Unix socket of the file system.
    #[cfg(unix)]
    Path(UnixStream),
    /// TCP socket of the network.
    Port(TcpStream),
}

impl Socket {
    /// Clones the handle of the socket.
    pub fn twin(&self) -> io::Result<Self> {
        Ok(match self {
            #[cfg(unix)]
            Self::Path(socket) => Self::Path(socket.try_clone()?),
            Self::Port(socket) => Self::Port(socket.try_clone()?),
        })
    }

    /// Sets the time after which reads and writes return, done or not.
    pub fn set_patience(&self, patience: Duration) -> io::Result<()> {
        match self {
            #[cfg(unix)]
            Self::Path(socket) => {
                socket.set_read_timeout(Some(patience))?;
                socket.set_write_timeout(Some(patience))
            }
            Self::Port(socket) => {
                socket.set_read_timeout(Some(patience))?;
                socket.set_write_timeout(Some(patience))
            }
        }
    }

    /// Ends the connection for all handles.
    pub fn close(&self) {
        // The connection may have ended already.
        let _ = match self {
            #[cfg(unix)]
            Self::Path(socket) => socket.shutdown(Shutdown::Both),
            Self::Port(socket) => socket.shutdown(Shutdown::Both),
        };
    }

    /// Sets whether reads and writes return at once, on all handles of the socket.
    pub fn set_nonblocking(&self, is_it: bool) -> io::Result<()> {
        match self {
            #[cfg(unix)]
            Self::Path(socket) => socket.set_nonblocking(is_it),
            Self::Port(socket) => socket.set_nonblocking(is_it),
        }
    }
}

impl Read for Socket {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        match self {
            #[cfg(unix)]
            Self::Path(socket) => socket.read(bytes),
            Self::Port(socket) => socket.read(bytes),
        }
    }
}

impl Write for Socket {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            #[cfg(unix)]
            Self::Path(socket) => socket.write(bytes),
            Self::Port(socket) => socket.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
