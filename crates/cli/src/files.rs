//! Reads files that the user names.

use std::fs::File;
use std::io::{Error, Read, Result};
use std::path::Path;

/// Limit for a file named by mistake (a device, a pipe that never ends), bytes.
const LARGEST: u64 = 256 << 20;

/// The text of a file of at most 256 MiB, which may be a pipe.
pub fn read_text(path: &Path) -> Result<String> {
    let mut text = String::new();
    File::open(path)?.take(LARGEST + 1).read_to_string(&mut text)?;
    if text.len() as u64 > LARGEST {
        return Err(Error::other("it is larger than 256 MiB"));
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_never_ends_is_refused_and_what_is_no_file_is_told() {
        let told = read_text(Path::new("/dev/zero")).unwrap_err().to_string();
        assert_eq!(told, "it is larger than 256 MiB");
        assert!(read_text(Path::new("/")).unwrap_err().to_string().contains("directory"));
        assert!(read_text(Path::new("/proc/self/status")).unwrap().starts_with("Name:"));
    }
}
