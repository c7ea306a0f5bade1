//! One connection of a client, as the host keeps it.

use std::ffi::c_int;
use std::sync::Arc;

use driver::{Channel, Reply, RowCursor, Session, StatementId};
use reactor::Token;

use crate::fleet::{Fleet, Surroundings};
use crate::loaders::{Looked, Place};
use crate::pipeline::Pipeline;
use crate::policy::Decision;

/// What a reply on a slot means to the host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// Nothing is outstanding.
    Idle,
    /// A statement of the script's.
    Statement,
    /// A prepare of the script's; the statement's object waits on the client's stack.
    Prepare(StatementId),
    /// A close of the script's.
    Close,
    /// Rows of a bulk insert, by the server's own way of loading.
    Load,
    /// Rows of a bulk insert, by INSERT.
    Insert,
    /// The host's own ROLLBACK after an error; the failure goes to the script behind it.
    RollBack,
    /// Statements prepared again after a reconnect; the failure goes to the script behind it.
    Adopt,
}

/// A failed statement, until the script hears of it.
#[derive(Debug, Clone)]
pub(crate) struct Failed {
    pub(crate) decision: Decision,
    pub(crate) purpose: Purpose,
    pub(crate) sqlstate: String,
    pub(crate) number: i64,
    pub(crate) message: String,
}

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
    pub(crate) started_ns: u64,
    /// Received and not consumed: a reply under way, or rows kept beyond their moment.
    pub(crate) input: Vec<u8>,
    /// A large request is still going out: its buffer may not be touched.
    pub(crate) sending: bool,
    /// Bytes that came when nothing was asked.
    pub(crate) early: Vec<u8>,
    /// The last reply and where its rows are.
    pub(crate) reply: Reply,
    pub(crate) cursor: RowCursor,
    /// Rows of the last reply; valid while the client runs, then kept in `input` if need be.
    pub(crate) rows: RowBytes,
    /// The Lua object handed out for results, made with the slot.
    pub(crate) result: c_int,
    /// The connection is gone.
    pub(crate) broken: bool,
    /// When it was lost.
    pub(crate) lost_ns: u64,
    /// Attempts since to make it anew.
    pub(crate) attempts: u32,
    pub(crate) failed: Option<Failed>,
    /// Rows of a multi-row INSERT being put together.
    pub(crate) bulk: Bulk,
    /// What the script has under way at once.
    pub(crate) pipeline: Option<Box<Pipeline>>,
    /// What connections that carry its rows have to know.
    pub(crate) surroundings: Surroundings,
}

/// Where the bytes of the last reply are.
#[derive(Debug, Clone, Copy)]
pub(crate) enum RowBytes {
    /// Nowhere: there are none, or the script let go of them.
    None,
    /// In the first bytes of `input`.
    Kept(usize),
    /// In the reactor's memory, for as long as the client runs.
    Lent(*const u8, usize),
}

/// A multi-row INSERT.
#[derive(Debug, Default)]
pub(crate) struct Bulk {
    /// What was sent last, or grows to be sent next.
    pub(crate) text: Vec<u8>,
    /// The table's name, as the script wrote it; `None`: the INSERT isn't plain.
    pub(crate) into: Option<Arc<str>>,
    /// Bytes of it before the rows.
    pub(crate) prefix: usize,
    /// Rows in it that are not sent.
    pub(crate) rows: u64,
    /// Rows in it that are sent and not answered for.
    pub(crate) sent: u64,
    /// The server refused to load it in its own way.
    pub(crate) refused: bool,
    /// Of this bulk insert, among all of the shard.
    pub(crate) ticket: u64,
    /// Where its batches may be carried.
    pub(crate) place: Option<Arc<Place>>,
    /// Its table, until the first row has come.
    pub(crate) looked: Option<Looked>,
    /// Its batches travel over other connections.
    pub(crate) fleet: Option<Fleet>,
}

impl Slot {
    pub(crate) fn row_bytes(&self) -> &[u8] {
        match self.rows {
            RowBytes::None => &[],
            RowBytes::Kept(len) => &self.input[..len],
            // SAFETY: the host replaces `Lent` before the chunk it points into is given back.
            RowBytes::Lent(start, len) => unsafe { std::slice::from_raw_parts(start, len) },
        }
    }
}
