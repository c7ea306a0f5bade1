//! The options of the test, checked.

use crate::plan::distributions;
use crate::value::Values;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    SequentialWrite,
    SequentialRewrite,
    SequentialRead,
    RandomRead,
    RandomWrite,
    RandomBoth,
}

impl Mode {
    pub(crate) fn writes(self) -> bool {
        !matches!(self, Self::SequentialRead | Self::RandomRead)
    }

    pub(crate) fn sequential(self) -> bool {
        matches!(self, Self::SequentialWrite | Self::SequentialRewrite | Self::SequentialRead)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    Sync,
    Async,
    Mapped,
}

/// The options of the file I/O test, checked. Sizes in bytes.
#[derive(Debug, Clone)]
pub(crate) struct Settings {
    pub(crate) mode: Option<Mode>,
    pub(crate) way: Way,
    pub(crate) files: u64,
    /// Bytes of each file that operations reach: whole blocks.
    pub(crate) file_size: u64,
    /// Requested size of each file, bytes.
    pub(crate) share: u64,
    pub(crate) block_size: u64,
    pub(crate) backlog: u32,
    pub(crate) fsync_every: u64,
    pub(crate) fsync_all: bool,
    pub(crate) fsync_end: bool,
    pub(crate) data_only: bool,
    pub(crate) merged: u64,
    pub(crate) ratio: f64,
    pub(crate) validate: bool,
    pub(crate) open_flags: i32,
    events: i64,
    flag_names: Vec<String>,
    pub(crate) random: script::Distributions,
    pub(crate) seed: u64,
}

impl Settings {
    /// `seed` applies if none is given.
    pub(crate) fn new(values: &Values, seed: u64) -> Result<Self, String> {
        let mode = match values.text("file_test_mode") {
            "" => None,
            "seqwr" => Some(Mode::SequentialWrite),
            "seqrewr" => Some(Mode::SequentialRewrite),
            "seqrd" => Some(Mode::SequentialRead),
            "rndrd" => Some(Mode::RandomRead),
            "rndwr" => Some(Mode::RandomWrite),
            "rndrw" => Some(Mode::RandomBoth),
            other => return Err(format!("Invalid IO operations mode: {other}.")),
        };
        let way = match values.text("file_io_mode") {
            "sync" => Way::Sync,
            "async" => Way::Async,
            "mmap" => Way::Mapped,
            other => return Err(format!("Invalid value for file-io-mode: {other}.")),
        };
        let data_only = match values.text("file_fsync_mode") {
            "fsync" => false,
            "fdatasync" => true,
            other => return Err(format!("Invalid fsync mode: {other}.")),
        };
        let at_least = |name: &str, least: i64| match values.number(name) {
            number if number >= least => Ok(number as u64),
            number => Err(format!("Invalid value for {}: {number}.", name.replace('_', "-"))),
        };
        let (files, block_size) = (at_least("file_num", 1)?, at_least("file_block_size", 1)?);
        let share = at_least("file_total_size", 1)? / files;
        let file_size = share / block_size * block_size;
        if file_size == 0 {
            return Err("file-total-size is less than a block for each file".to_owned());
        }
        let ratio = values.double("file_rw_ratio");
        if ratio.is_nan() || ratio < 0.0 {
            return Err(format!("Invalid value file-rw-ratio: {ratio}."));
        }
        let (open_flags, flag_names) = flags(values.list("file_extra_flags"))?;
        if open_flags & libc::O_DIRECT != 0 && block_size % 512 != 0 {
            return Err("file-block-size must be a multiple of 512 with direct".to_owned());
        }
        Ok(Self {
            mode,
            way,
            files,
            file_size,
            share,
            block_size,
            backlog: at_least("file_async_backlog", 1)?.min(4096) as u32,
            fsync_every: at_least("file_fsync_freq", 0)?,
            fsync_all: values.on("file_fsync_all"),
            fsync_end: values.on("file_fsync_end"),
            data_only,
            merged: at_least("file_merged_requests", 0)?,
            ratio,
            validate: values.on("validate"),
            open_flags,
            events: values.number("events").max(0),
            flag_names,
            random: distributions(values)?,
            seed: match (values.number("seed"), values.number("rand_seed")) {
                (0, 0) => seed,
                (0, given) | (given, _) => given as u64,
            },
        })
    }

    pub(crate) fn blocks(&self) -> u64 {
        self.files * (self.file_size / self.block_size)
    }

    /// Bytes of one operation: several blocks where sequential ones are merged, up to the end of a
    /// file.
    pub(crate) fn operation_size(&self) -> u64 {
        let sequential = self.mode.is_some_and(Mode::sequential);
        let blocks = if sequential { self.merged.max(1) } else { 1 };
        (blocks * self.block_size).min(self.file_size)
    }

    pub(crate) fn describe(&self) -> String {
        let mut text = self.flags_line();
        text += &format!(
            "{} files, {} each\n{} total file size\nBlock size {}\n",
            self.files,
            size(self.share),
            size(self.share * self.files),
            size(self.block_size)
        );
        if self.merged > 0 {
            let merged = size(self.merged * self.block_size);
            text.push_str(&format!("Merging requests up to {merged} for sequential IO.\n"));
        }
        let random = self.mode.is_some_and(|mode| !mode.sequential());
        if random {
            text.push_str(&format!("Number of IO requests: {}\n", self.events));
            text.push_str(&format!(
                "Read/Write ratio for combined random IO test: {:2.2}\n",
                self.ratio
            ));
        }
        if self.fsync_every > 0 && !self.fsync_all {
            text.push_str(&format!(
                "Periodic FSYNC enabled, calling fsync() each {} requests.\n",
                self.fsync_every
            ));
        }
        if self.fsync_end && !self.fsync_all {
            text.push_str("Calling fsync() at the end of test, Enabled.\n");
        }
        if self.fsync_all {
            text.push_str("Calling fsync() after each write operation.\n");
        }
        text.push_str(match self.way {
            Way::Sync => "Using synchronous I/O mode\n",
            Way::Async => "Using asynchronous I/O mode\n",
            Way::Mapped => "Using fast mmaped I/O mode\n",
        });
        if self.validate {
            text.push_str("Using checksums validation.\n");
        }
        text.push_str(match self.mode {
            Some(Mode::SequentialWrite) => "Doing sequential write (creation) test\n",
            Some(Mode::SequentialRewrite) => "Doing sequential rewrite test\n",
            Some(Mode::SequentialRead) => "Doing sequential read test\n",
            Some(Mode::RandomRead) => "Doing random read test\n",
            Some(Mode::RandomWrite) => "Doing random write test\n",
            Some(Mode::RandomBoth) => "Doing random r/w test\n",
            None => "",
        });
        text
    }

    pub(crate) fn flags_line(&self) -> String {
        let names = self.flag_names.concat();
        format!("Extra file open flags: {}\n", if names.is_empty() { "(none)" } else { &names })
    }
}

fn flags(words: &[String]) -> Result<(i32, Vec<String>), String> {
    let mut flags = (0, Vec::new());
    for word in words {
        let (flag, name) = match word.as_str() {
            "sync" => (libc::O_SYNC, "sync "),
            "dsync" => (libc::O_DSYNC, "dsync "),
            "direct" => (libc::O_DIRECT, "directio"),
            other => return Err(format!("Invalid value for file-extra-flags: {other}")),
        };
        flags.0 |= flag;
        flags.1.push(name.to_owned());
    }
    Ok(flags)
}

/// A size in the largest unit that shows it as a whole number, or nearly.
pub(crate) fn size(bytes: u64) -> String {
    let units = [(40, "TiB"), (30, "GiB"), (20, "MiB"), (10, "KiB")];
    let fitting = units.into_iter().find(|(shift, _)| bytes >> shift > 0);
    let Some((shift, unit)) = fitting else { return format!("{bytes}B") };
    let value = bytes as f64 / (1u64 << shift) as f64;
    let digits = format!("{value:.5}");
    let digits = digits.trim_end_matches('0').trim_end_matches('.');
    format!("{}{unit}", digits.get(..digits.len().min(6)).unwrap_or(digits).trim_end_matches('.'))
}

#[cfg(test)]
mod tests {
    use super::size;

    #[test]
    fn sizes_have_the_unit_that_fits() {
        assert_eq!(size(16_384), "16KiB");
        assert_eq!(size(2 << 20), "2MiB");
        assert_eq!(size(2 << 30), "2GiB");
        assert_eq!(size(1536), "1.5KiB");
        assert_eq!(size(100), "100B");
    }
}
