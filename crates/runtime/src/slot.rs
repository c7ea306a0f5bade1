//! One connection of a client.

use std::mem::offset_of;
use std::sync::Arc;

use driver::{Channel, Reply, RowCursor, Session};
use reactor::Token;
use record::Target;

use crate::batch::Pipeline;
use crate::bulk::{Bulk, SessionState};
use crate::outcome::{Failed, Purpose};

/// A larger input buffer is freed between statements, bytes.
const INPUT_KEEP: usize = 16 * 1024;

/// Fields that every statement uses come first, so that they can be preloaded ([`HOT_BYTES`]).
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Slot {
    pub(crate) session: Session,
    /// `None`: in process, or the connection is lost.
    pub(crate) token: Option<Token>,
    pub(crate) client: u32,
    pub(crate) purpose: Purpose,
    /// When the last request was ready to be sent; in process, when it began.
    pub(crate) ready_ns: u64,
    /// The request was sent or, in process, begun. What the session itself answers takes no time.
    pub(crate) sent: bool,
    /// A large request is still being sent: its buffer must not be touched.
    pub(crate) sending: bool,
    /// More of the request has been sent: `ready_ns` is when the kernel got its first part.
    pub(crate) continued: bool,
    /// The connection is lost.
    pub(crate) broken: bool,
    /// The last reply and where its rows are.
    pub(crate) reply: Reply,
    pub(crate) cursor: RowCursor,
    /// Rows of the last reply; lent while the client runs, then moved to `input` if needed.
    pub(crate) rows: RowBytes,
    /// Received and not consumed: a reply in progress, or rows kept after the client has run.
    pub(crate) input: Vec<u8>,
    /// The TLS channel between session and socket.
    pub(crate) channel: Option<Box<Channel>>,
    /// The client's pipeline.
    pub(crate) pipeline: Option<Box<Pipeline>>,
    /// Number of the connection within the run; chooses the endpoint.
    pub(crate) ordinal: u64,
    /// Where it is connected; `None`: where its client's group connects.
    pub(crate) elsewhere: Option<Arc<Target>>,
    /// Bytes received while nothing was expected.
    pub(crate) early: Vec<u8>,
    /// What was wrong with bytes that came unasked: the connection was dropped.
    pub(crate) unasked: Option<String>,
    /// When the connection was lost.
    pub(crate) lost_ns: u64,
    /// Reconnect attempts since.
    pub(crate) attempts: u32,
    pub(crate) failed: Option<Failed>,
    /// The multi-row INSERT being collected.
    pub(crate) bulk: Bulk,
    /// Session state that connections carrying its rows must share.
    pub(crate) session_state: SessionState,
}

/// Length of the fields that every statement uses, bytes.
pub(crate) const HOT_BYTES: usize = offset_of!(Slot, ordinal);

/// Where the bytes of the last reply are.
#[derive(Debug, Clone, Copy)]
pub(crate) enum RowBytes {
    /// Nowhere: there are none, or the client has freed them.
    None,
    /// In the first bytes of `input`.
    Kept(usize),
    /// In the first bytes of the memory that the runtime lends to the running client.
    Lent(usize),
}

impl Slot {
    /// What is wrong with bytes that came while nothing was expected. Notices may come at any time,
    /// and a last message before the server closes; a reply that nobody asked for would be taken
    /// for the next statement's.
    #[cold]
    pub(crate) fn objection(&mut self) -> Option<String> {
        let error = self.session.feed(&self.early).err()?;
        Some(format!("the server sent a reply that nobody asked for: {error}"))
    }

    /// Whether a pipeline has statements in flight.
    #[inline]
    pub(crate) fn is_pipelining(&self) -> bool {
        self.pipeline.as_ref().is_some_and(|pipeline| !pipeline.is_empty())
    }

    /// Moves rows out of memory that is about to be returned.
    pub(crate) fn keep_rows(&mut self, lent: &[u8]) {
        if let RowBytes::Lent(len) = self.rows {
            self.input.clear();
            self.input.extend_from_slice(&lent[..len]);
            self.rows = RowBytes::Kept(len);
        }
    }

    /// Frees the last result before the next request.
    #[inline]
    pub(crate) fn release_rows(&mut self) {
        self.rows = RowBytes::None;
        if !self.input.is_empty() {
            self.input.clear();
            self.input.shrink_to(INPUT_KEEP);
        }
    }
}
