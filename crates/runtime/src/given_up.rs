//! Statements in process that nobody waits for any more.

use std::sync::Arc;

use driver::Over;
use engine::ShardView;

/// Whether the clients' statements are given up.
pub(crate) fn over(view: &ShardView) -> Over {
    let control = Arc::clone(view.control());
    Box::new(move || control.abandoned())
}
