//! One connection of a client, as the runtime keeps it.

use driver::{Channel, Reply, RowCursor, Session};
use reactor::Token;

use crate::batch::Pipeline;
use crate::bulk::{Bulk, Surroundings};
use crate::outcome::{Failed, Purpose};

/// An input buffer larger than this is given back between statements.
const INPUT_KEEP: usize = 16 * 1024;

#[derive(Debug)]
pub(crate) struct Slot {
    pub(crate) session: Session,
    /// `None`: in process, or the connection is gone.
    pub(crate) token: Option<Token>,
    /// What lies between the session's bytes and the socket's.
    pub(crate) channel: Option<Box<Channel>>,
    pub(crate) client: u32,
    /// Number of the connection within the run: chooses the endpoint.
    pub(crate) ordinal: u64,
    pub(crate) purpose: Purpose,
    /// When the last request was ready to be sent; in process, when it began.
    pub(crate) ready_ns: u64,
    /// It was sent; in process, begun. What the session itself answers takes no time.
    pub(crate) sent: bool,
    /// Received and not consumed: a reply under way, or rows kept beyond their moment.
    pub(crate) input: Vec<u8>,
    /// A large request is still going out: its buffer may not be touched.
    pub(crate) sending: bool,
    /// Bytes that came when nothing was asked.
    pub(crate) early: Vec<u8>,
    /// The last reply and where its rows are.
    pub(crate) reply: Reply,
    pub(crate) cursor: RowCursor,
    /// Rows of the last reply; lent while the client runs, then kept in `input` if need be.
    pub(crate) rows: RowBytes,
    /// The connection is gone.
    pub(crate) broken: bool,
    /// When it was lost.
    pub(crate) lost_ns: u64,
    /// Attempts since to make it anew.
    pub(crate) attempts: u32,
    pub(crate) failed: Option<Failed>,
    /// Rows of a multi-row INSERT being put together.
    pub(crate) bulk: Bulk,
    /// What the client has under way at once.
    pub(crate) pipeline: Option<Box<Pipeline>>,
    /// What connections that carry its rows have to know.
    pub(crate) surroundings: Surroundings,
}

/// Where the bytes of the last reply are.
#[derive(Debug, Clone, Copy)]
pub(crate) enum RowBytes {
    /// Nowhere: there are none, or the client let go of them.
    None,
    /// In the first bytes of `input`.
    Kept(usize),
    /// In the first bytes of what the runtime holds for the client that runs.
    Lent(usize),
}

impl Slot {
    /// Statements are under way in a pipeline.
    #[inline]
    pub(crate) fn is_pipelining(&self) -> bool {
        self.pipeline.as_ref().is_some_and(|pipeline| !pipeline.is_empty())
    }

    /// Moves rows out of memory that is about to be given back.
    pub(crate) fn keep_rows(&mut self, lent: &[u8]) {
        if let RowBytes::Lent(len) = self.rows {
            self.input.clear();
            self.input.extend_from_slice(&lent[..len]);
            self.rows = RowBytes::Kept(len);
        }
    }

    /// The next request frees the last result.
    #[inline]
    pub(crate) fn release_rows(&mut self) {
        self.rows = RowBytes::None;
        if !self.input.is_empty() {
            self.input.clear();
            self.input.shrink_to(INPUT_KEEP);
        }
    }
}
