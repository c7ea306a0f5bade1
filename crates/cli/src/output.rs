//! Writes records to the real standard output, which nothing else can write to.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::os::fd::{AsFd, AsRawFd};

use record::{EnginePlan, Record};

/// The stream of records. Lines are flushed one by one, so that a crash loses nothing recorded.
pub struct Output {
    stream: BufWriter<File>,
    /// The reader has closed the stream; the run ends as if interrupted.
    pub broken: bool,
}

impl Output {
    /// Takes over standard output. Whatever a script or library prints there from now on goes to
    /// standard error instead.
    ///
    /// # Errors
    /// If standard output is closed.
    pub fn take() -> io::Result<Self> {
        let stream = File::from(io::stdout().as_fd().try_clone_to_owned()?);
        // SAFETY: both descriptors are open.
        if unsafe { libc::dup2(io::stderr().as_raw_fd(), io::stdout().as_raw_fd()) } < 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(Self { stream: BufWriter::new(stream), broken: false })
    }

    /// Writes a record.
    pub fn write(&mut self, record: &Record) {
        self.write_line(|stream| serde_json::to_writer(stream, record));
    }

    /// Writes the output of the verb `plan`.
    pub fn answer(&mut self, plan: &EnginePlan) {
        self.write_line(|stream| serde_json::to_writer(stream, plan));
    }

    fn write_line(&mut self, write: impl FnOnce(&mut BufWriter<File>) -> serde_json::Result<()>) {
        if self.broken {
            return;
        }
        let written = write(&mut self.stream)
            .map_err(io::Error::from)
            .and_then(|()| self.stream.write_all(b"\n"))
            .and_then(|()| self.stream.flush());
        if let Err(error) = written {
            self.broken = true;
            eprintln!("error: records can't be written: {error}");
        }
    }
}
