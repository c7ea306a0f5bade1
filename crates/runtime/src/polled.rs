//! How long what is read now may have waited to be read.

/// When the kernel was asked for events.
pub(crate) struct Polled {
    /// The last time; [`u64::MAX`]: never.
    last_ns: u64,
    unread_since_ns: u64,
}

impl Polled {
    pub(crate) fn never() -> Self {
        Self { last_ns: u64::MAX, unread_since_ns: 0 }
    }

    /// Notes a wait that began at `asked_ns` and ended `now`; sending took `sending_ns` since the
    /// one before. What arrived did so after the loop was last asked: while clients ran and their
    /// statements were sent, or during this wait, which makes it younger.
    #[inline]
    pub(crate) fn note(&mut self, asked_ns: u64, sending_ns: u64, now: u64) {
        let ran_ns = asked_ns.saturating_sub(self.last_ns) + sending_ns;
        self.unread_since_ns = now.saturating_sub(ran_ns);
        self.last_ns = now;
    }

    /// What is read now has lain unread no longer than since this time.
    #[inline]
    pub(crate) fn unread_since_ns(&self) -> u64 {
        self.unread_since_ns
    }
}
