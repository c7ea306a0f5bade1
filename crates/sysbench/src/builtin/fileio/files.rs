//! The test's files: creates, opens and removes them.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::time::Instant;

use super::block::{self, Buffer};
use super::settings::{Mode, Settings, Way, size};
use crate::command_line::Refusal;
use crate::value::Values;

pub(super) fn name(number: u64) -> String {
    format!("test_file.{number}")
}

/// The system's error message without its number.
fn reason(error: &std::io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error").next().unwrap_or_default().to_owned()
}

fn fatal(message: impl std::fmt::Display) -> Refusal {
    Refusal(format!("FATAL: {message}"))
}

/// Opens all files with the flags the test needs.
pub(super) fn open(settings: &Settings) -> Result<Vec<File>, String> {
    let creates = settings.mode == Some(Mode::SequentialWrite);
    (0..settings.files)
        .map(|number| {
            let name = name(number);
            let file = OpenOptions::new()
                .read(true)
                .write(true)
                .create(creates)
                .truncate(false)
                .custom_flags(settings.open_flags)
                .open(&name);
            let file = file.map_err(|error| {
                let code = error.raw_os_error().unwrap_or(0);
                format!(
                    "Cannot open file '{name}' errno = {code} ({})\n\
                     WARNING: Did you forget to run the prepare step?",
                    reason(&error)
                )
            })?;
            let length = file.metadata().map_err(|error| format!("{name}: {error}"))?.len();
            if creates && settings.way == Way::Mapped {
                let grown = file.set_len(settings.file_size);
                grown.map_err(|error| format!("{name}: {error}"))?;
            } else if !creates && length < settings.file_size {
                return Err(format!(
                    "Size of file '{name}' is {}, but at least {} is expected.\nWARNING: Did you \
                     run 'prepare' with different --file-total-size or --file-num values?",
                    size(length),
                    size(settings.file_size)
                ));
            }
            Ok(file)
        })
        .collect()
}

/// Writes the files; calls `say` with each line of output.
///
/// # Errors
/// A value is invalid, or a file can't be written.
pub fn prepare(values: &Values, say: &dyn Fn(&str)) -> Result<(), Refusal> {
    let settings = Settings::new(values, 0).map_err(fatal)?;
    let (each, all) = (settings.share, settings.share * settings.files);
    let count = settings.files;
    say(&format!("{count} files, {}Kb each, {}Mb total\n", each >> 10, all >> 20));
    say("Creating files for the test...\n");
    say(&settings.flags_line());
    let begin = Instant::now();
    let mut written = 0;
    for number in 0..settings.files {
        written += write(&settings, number, say)
            .map_err(|error| fatal(format!("Failed to write file '{}': {error}", name(number))))?;
    }
    let seconds = begin.elapsed().as_secs_f64().max(1e-9);
    if written > 0 {
        let rate = written as f64 / 1_048_576.0 / seconds;
        say(&format!("{written} bytes written in {seconds:.2} seconds ({rate:.2} MiB/sec).\n"));
    } else {
        say("No bytes written.\n");
    }
    Ok(())
}

/// Writes the missing part of a file; returns the bytes written.
fn write(settings: &Settings, number: u64, say: &dyn Fn(&str)) -> std::io::Result<u64> {
    let name = name(number);
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    let file = options.custom_flags(settings.open_flags).open(&name)?;
    let found = file.metadata()?.len();
    // With validation all blocks are rewritten: their present content is unknown.
    let mut at =
        if settings.validate { 0 } else { found / settings.block_size * settings.block_size };
    if found == 0 {
        say(&format!("Creating file {name}\n"));
    } else if at < settings.share {
        say(&format!("Extending existing file {name}\n"));
    } else {
        say(&format!("Reusing existing file {name}\n"));
    }
    let mut buffer = Buffer::new(settings.block_size as usize);
    let begin = at;
    while at < settings.share {
        let position = number * settings.file_size + at;
        if settings.validate || at == begin {
            block::fill(buffer.bytes(), settings.block_size as usize, position);
        }
        file.write_all_at(buffer.bytes(), at)?;
        at += settings.block_size;
    }
    file.sync_all()?;
    Ok(at.saturating_sub(begin))
}

/// Removes the files.
///
/// # Errors
/// A value is invalid, or an existing file can't be removed.
pub fn cleanup(values: &Values, say: &dyn Fn(&str)) -> Result<(), Refusal> {
    let settings = Settings::new(values, 0).map_err(fatal)?;
    say("Removing test files...\n");
    for number in 0..settings.files {
        match std::fs::remove_file(name(number)) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(fatal(format!("Cannot remove '{}': {error}", name(number))));
            }
            _ => {}
        }
    }
    Ok(())
}
