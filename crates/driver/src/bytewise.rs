//! What tests of sessions share.

use crate::error::ProtocolError;
use crate::reply::{Progress, Reply};

/// The reply in these bytes, of a session that gets them one by one: it is complete with the last.
pub(crate) fn fed_bytewise(
    mut feed: impl FnMut(&[u8]) -> Result<Progress, ProtocolError>,
    bytes: &[u8],
) -> Reply {
    for end in 0..bytes.len() {
        let progress = feed(&bytes[..end]);
        assert!(matches!(progress, Ok(Progress::More)), "{progress:?} at {end}");
    }
    match feed(bytes) {
        Ok(Progress::Done { reply, consumed }) if consumed == bytes.len() => reply,
        other => panic!("{other:?}"),
    }
}
