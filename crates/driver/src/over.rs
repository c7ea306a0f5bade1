//! Whether statements that run in process are still waited for.

/// Whether nobody waits for statements any more. It is asked by the thread that runs one.
pub type Over = Box<dyn Fn() -> bool + Send>;
