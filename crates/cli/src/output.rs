//! Writes records to the real standard output, which nothing else can write to.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::os::fd::{AsFd, AsRawFd};
use std::time::{Duration, Instant};

use record::{EnginePlan, Record};

/// Bytes: the records of several turns, so that a full buffer does not wake the reader.
const BUFFER: usize = 1 << 17;
/// How long records of a turn may wait in the buffer; if the process is killed, they are lost.
const HELD: Duration = Duration::from_secs(1);

/// The stream of records. Lines are flushed one by one, so that a crash loses nothing recorded; in
/// turns, what is recorded during a turn is flushed with its end, or after a second, so that the
/// reader sleeps while the load is on.
pub struct Output {
    stream: BufWriter<File>,
    in_turns: bool,
    flushed: Instant,
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
        Ok(Self::over(stream))
    }

    fn over(stream: File) -> Self {
        Self {
            stream: BufWriter::with_capacity(BUFFER, stream),
            in_turns: false,
            flushed: Instant::now(),
            broken: false,
        }
    }

    /// The records that follow are of a load in turns.
    pub fn begin_turns(&mut self) {
        self.in_turns = true;
    }

    /// Writes a record.
    pub fn write(&mut self, record: &Record) {
        let may_wait = self.in_turns && matches!(record, Record::Phase(_) | Record::Interval(_));
        self.write_line(|stream| serde_json::to_writer(stream, record));
        if !may_wait || self.flushed.elapsed() >= HELD {
            self.flush();
        }
    }

    /// Writes the output of the verb `plan`.
    pub fn answer(&mut self, plan: &EnginePlan) {
        self.write_line(|stream| serde_json::to_writer(stream, plan));
        self.flush();
    }

    fn write_line(&mut self, write: impl FnOnce(&mut BufWriter<File>) -> serde_json::Result<()>) {
        if self.broken {
            return;
        }
        let written = write(&mut self.stream)
            .map_err(io::Error::from)
            .and_then(|()| self.stream.write_all(b"\n"));
        self.check(written);
    }

    fn flush(&mut self) {
        if self.broken {
            return;
        }
        let flushed = self.stream.flush();
        self.check(flushed);
        self.flushed = Instant::now();
    }

    fn check(&mut self, written: io::Result<()>) {
        if let Err(error) = written {
            self.broken = true;
            eprintln!("error: records can't be written: {error}");
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::{PipeReader, pipe};
    use std::os::fd::OwnedFd;

    use record::{Phase, PhaseName, Warning};

    use super::*;

    fn output() -> (Output, PipeReader) {
        let (reader, writer) = pipe().unwrap();
        (Output::over(File::from(OwnedFd::from(writer))), reader)
    }

    fn phase() -> Record {
        Record::Phase(Phase { phase: PhaseName::Measure, at_ns: 1 })
    }

    fn warning() -> Record {
        let (code, message) = ("some".to_owned(), "text".to_owned());
        Record::Warning(Warning { code, message, hint: None })
    }

    /// Lines that the reader finds now.
    fn lines(reader: &PipeReader) -> usize {
        let mut waiting: libc::c_int = 0;
        // SAFETY: the number outlives the call.
        unsafe { libc::ioctl(reader.as_raw_fd(), libc::FIONREAD, &raw mut waiting) };
        let mut found = vec![0; waiting as usize];
        let mut reader = reader;
        std::io::Read::read_exact(&mut reader, &mut found).unwrap();
        found.iter().filter(|byte| **byte == b'\n').count()
    }

    #[test]
    fn a_line_is_flushed_at_once() {
        let (mut output, reader) = output();
        output.write(&phase());
        assert_eq!(lines(&reader), 1);
    }

    #[test]
    fn in_turns_lines_wait_for_one_that_may_not() {
        let (mut output, reader) = output();
        output.begin_turns();
        output.write(&phase());
        output.write(&phase());
        assert_eq!(lines(&reader), 0);
        output.write(&warning());
        assert_eq!(lines(&reader), 3);
    }

    #[test]
    fn in_turns_a_line_waits_for_the_next_that_is_a_second_later() {
        let (mut output, reader) = output();
        output.begin_turns();
        output.write(&phase());
        output.flushed -= HELD;
        output.write(&phase());
        assert_eq!(lines(&reader), 2);
    }

    #[test]
    fn a_reader_that_is_gone_is_noticed() {
        let (mut output, reader) = output();
        drop(reader);
        output.write(&phase());
        assert!(output.broken);
    }
}
