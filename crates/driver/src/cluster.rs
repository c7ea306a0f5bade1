//! Sessions with a node of a cluster: each node has a part of the keys, by their slots, and sends
//! commands for others on with an error.

use crate::error::ServerError;
use crate::session::Session;

pub use wire_resp::{SLOTS, slot_of};

impl Session {
    /// Whether the server is a node of a cluster, so that a command may be for another one.
    pub fn is_clustered(&self) -> bool {
        match self {
            Self::Redis(session) => session.is_clustered(),
            _ => false,
        }
    }

    /// Whether an error says that another node of the cluster has to be asked: nothing has failed.
    pub fn is_redirected(&self, error: &ServerError) -> bool {
        match self {
            Self::Redis(session) => session.is_redirected(error),
            _ => false,
        }
    }
}
