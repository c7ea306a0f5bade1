//! How long received bytes may have waited before they are read.

/// When the kernel was last asked for events.
pub(crate) struct Polled {
    /// When the last wait ended; [`u64::MAX`]: there was none.
    last_ns: u64,
    unread_since_ns: u64,
}

impl Polled {
    pub(crate) fn never() -> Self {
        Self { last_ns: u64::MAX, unread_since_ns: 0 }
    }

    /// Notes a wait that began at `asked_ns` and ended `now`, during which sending took
    /// `sending_ns`. What has arrived did so after the wait before: while clients ran and their
    /// statements were sent, or, more recently, during this wait.
    #[inline]
    pub(crate) fn note(&mut self, asked_ns: u64, sending_ns: u64, now: u64) {
        let ran_ns = asked_ns.saturating_sub(self.last_ns) + sending_ns;
        self.unread_since_ns = now.saturating_sub(ran_ns);
        self.last_ns = now;
    }

    /// The earliest time at which what is read now can have arrived.
    #[inline]
    pub(crate) fn unread_since_ns(&self) -> u64 {
        self.unread_since_ns
    }
}
