//! From received bytes to conclusions.

use driver::{Progress, ProtocolError, Tally};
use engine::{Failure, ShardView};
use reactor::{Chunk, Event, EventKind, SILENT_SEND_MAX, Token};

use crate::drive::Woken;
use crate::lending::Lent;
use crate::outcome::{Conclusion, Purpose};
use crate::runtime::Runtime;
use crate::slot::{RowBytes, Slot};

/// A reply's rows are kept whole up to this size; of a larger one only the last part is readable.
const KEEP_MAX: usize = 64 * 1024 * 1024;

/// Otherwise only loaders' connections send rows.
const UNASKED: &str = "the server asked for rows that nobody offered";

impl Runtime {
    /// Handles what happened to a socket; returns the client that continues, if one does.
    #[inline]
    pub(crate) fn take_event(
        &mut self,
        view: &mut ShardView,
        event: Event,
    ) -> Result<Option<Woken>, Failure> {
        let slot = self.slots.of(event.token);
        let conclusion = match event.kind {
            EventKind::Received(chunk) => self.received(view, slot, chunk),
            EventKind::Sent => self.sent(view, slot, event.token),
            EventKind::Closed(error) => return self.closed(view, slot, event.token, error),
        };
        Ok(self.hand_over(slot, conclusion))
    }

    #[inline]
    fn received(&mut self, view: &mut ShardView, index: u32, chunk: Chunk) -> Conclusion {
        self.recorder(view, index).counters.bytes_received += chunk.bytes().len() as u64;
        let Some(slot) = self.slot(index) else { return Conclusion::Later };
        if slot.channel.is_some() {
            return self.received_sealed(view, index, &chunk);
        }
        let conclusion = self.take(view, index, chunk.bytes());
        self.lend(index, Lent::Chunk(chunk));
        conclusion
    }

    /// Rows that were read outside the slot's own buffer stay there while the client runs.
    #[inline]
    fn lend(&mut self, index: u32, lent: Lent) {
        if self.slot(index).is_some_and(|slot| matches!(slot.rows, RowBytes::Lent(_))) {
            self.lending.lend(index, lent);
        }
    }

    /// Handles bytes received through a TLS channel.
    fn received_sealed(&mut self, view: &mut ShardView, index: u32, chunk: &Chunk) -> Conclusion {
        let mut plain = std::mem::take(&mut self.lending.opened);
        plain.clear();
        let Some(slot) = self.slot(index) else { return Conclusion::Later };
        let Some(channel) = &mut slot.channel else { return Conclusion::Later };
        let conclusion = match channel.open(chunk.bytes(), &mut plain) {
            Ok(()) if plain.is_empty() => Conclusion::Later,
            Ok(()) => self.take(view, index, &plain),
            Err(_) if slot.purpose == Purpose::Idle => {
                self.drop_socket(index);
                Conclusion::Later
            }
            Err(error) => self.lost(view, index, &error.to_string()),
        };
        self.lending.opened = plain;
        self.lend(index, Lent::Opened);
        conclusion
    }

    /// A large request has been sent: its buffer is free again, and bytes received meanwhile are
    /// read.
    fn sent(&mut self, view: &mut ShardView, index: u32, token: Token) -> Conclusion {
        if let Some(reactor) = &mut self.reactor {
            reactor.output(token).shrink_to(SILENT_SEND_MAX);
        }
        let Some(slot) = self.slot(index).filter(|slot| slot.token == Some(token)) else {
            return Conclusion::Later;
        };
        slot.sending = false;
        if slot.purpose == Purpose::Idle || slot.input.is_empty() {
            return Conclusion::Later;
        }
        self.take(view, index, &[])
    }

    /// Handles bytes received on a slot's connection.
    #[inline]
    fn take(&mut self, view: &mut ShardView, index: u32, bytes: &[u8]) -> Conclusion {
        let Some(slot) = self.slot(index) else { return Conclusion::Later };
        if slot.purpose == Purpose::Idle {
            // Notices, or a last message before the server closes: the next reply begins with them.
            slot.early.extend_from_slice(bytes);
            self.drop_if_unasked(index);
            return Conclusion::Later;
        }
        if slot.is_pipelining() {
            return self.take_pipelined(view, index, bytes);
        }
        let direct = slot.input.is_empty() && slot.early.is_empty() && !slot.sending;
        let progress = if direct {
            slot.session.feed(bytes)
        } else {
            slot.input.append(&mut slot.early);
            slot.input.extend_from_slice(bytes);
            if slot.sending {
                // The next request would overwrite what is still being sent.
                return Conclusion::Later;
            }
            slot.session.feed(&slot.input)
        };
        match progress {
            Err(error) => self.lost(view, index, &error.to_string()),
            Ok(Progress::More) => {
                keep_incomplete(slot, bytes, direct);
                Conclusion::Later
            }
            Ok(Progress::Done { reply, consumed }) => {
                let rest = if direct { &bytes[consumed..] } else { &slot.input[consumed..] };
                if !rest.is_empty() {
                    slot.early.extend_from_slice(rest);
                    if let Some(why) = slot.objection() {
                        return self.lost(view, index, &why);
                    }
                }
                slot.rows = match (reply.columns, direct) {
                    (0, _) => RowBytes::None,
                    (_, true) => RowBytes::Lent(consumed),
                    (_, false) => RowBytes::Kept(consumed),
                };
                let now = view.now();
                self.conclude(view, index, reply, now)
            }
            Ok(Progress::Wanted { consumed }) if slot.session.continues_requests() => {
                let rest = if direct { &bytes[consumed..] } else { &slot.input[consumed..] };
                slot.early.extend_from_slice(rest);
                slot.input.clear();
                match self.send_wanted(view, index) {
                    Ok(()) => Conclusion::Later,
                    Err(error) => self.lost(view, index, &error.to_string()),
                }
            }
            Ok(Progress::Wanted { .. }) => self.lost(view, index, UNASKED),
        }
    }

    /// Sends what a request still needs, such as the rows of an INSERT. Its time goes on from when
    /// the request itself was given to the kernel.
    fn send_wanted(&mut self, view: &mut ShardView, index: u32) -> Result<(), ProtocolError> {
        let given_ns = self.given_ns(index);
        let Some(slot) = self.slots.get_mut(index) else { return Ok(()) };
        let (Some(token), Some(reactor)) = (slot.token, self.reactor.as_mut()) else {
            return Ok(());
        };
        if let Some(given_ns) = given_ns {
            (slot.ready_ns, slot.continued) = (given_ns, true);
        }
        let out = reactor.output(token);
        out.clear();
        match &mut slot.channel {
            None => slot.session.send_rows(out),
            Some(channel) => {
                slot.session.send_rows(channel.request());
                channel.seal(out)?;
            }
        }
        let len = out.len() as u64;
        slot.sending = out.len() > SILENT_SEND_MAX;
        reactor.submit(token, view.now());
        let stopped = self.clients[slot.client as usize].stopped;
        view.recorder_of(stopped).counters.bytes_sent += len;
        Ok(())
    }

    /// Handles bytes that may end several replies. A pipeline's rows are not read, so only an
    /// incomplete reply is kept.
    fn take_pipelined(&mut self, view: &mut ShardView, index: u32, bytes: &[u8]) -> Conclusion {
        let Some(slot) = self.slot(index) else { return Conclusion::Later };
        let mut input = std::mem::take(&mut slot.input);
        input.append(&mut slot.early);
        if !input.is_empty() {
            input.extend_from_slice(bytes);
        }
        let whole = if input.is_empty() { bytes } else { &input };
        let mut at = 0;
        // All that is read at once is answered at the same time.
        let now = view.now();
        let conclusion = loop {
            let Some(slot) = self.slot(index).filter(|slot| !slot.sending) else { break None };
            let mut plain = Tally::default();
            at += slot.session.pass_plain(&whole[at..], &mut plain);
            if plain.sum() > 0 {
                self.land_plain(view, index, plain, now);
            }
            let Some(slot) = self.slot(index) else { break None };
            match slot.session.feed(&whole[at..]) {
                Ok(Progress::Done { reply, consumed }) => {
                    at += consumed;
                    if let Some(conclusion) = self.land(view, index, reply, now) {
                        break Some(conclusion);
                    }
                }
                Ok(Progress::More) => {
                    at += slot.session.discard_scanned(whole.len() - at);
                    break None;
                }
                Ok(Progress::Wanted { .. }) => {
                    break Some(self.lost(view, index, UNASKED));
                }
                Err(error) => break Some(self.lost(view, index, &error.to_string())),
            }
        };
        if input.is_empty() {
            input.extend_from_slice(&bytes[at..]);
        } else {
            input.drain(..at);
        }
        if let Some(slot) = self.slot(index) {
            if conclusion.is_some() {
                slot.early.append(&mut input);
            }
            slot.input = input;
            let over = conclusion.is_some() && slot.purpose == Purpose::Idle && !slot.broken;
            if over && !slot.early.is_empty() {
                self.drop_if_unasked(index);
            }
        }
        conclusion.unwrap_or(Conclusion::Later)
    }

    /// Drops a connection on which a reply came while none was expected.
    #[cold]
    fn drop_if_unasked(&mut self, index: u32) {
        let Some(slot) = self.slot(index) else { return };
        slot.unasked = slot.objection();
        if slot.unasked.is_some() {
            self.drop_socket(index);
        }
    }

    /// Delivers a reply that was due at a known time.
    pub(crate) fn planned(&mut self, view: &mut ShardView, index: u32) -> Option<Woken> {
        let now = view.now();
        let slot = self.slot(index)?;
        let pipelining = slot.is_pipelining();
        let Ok(Progress::Done { reply, .. }) = slot.session.feed(&[]) else { return None };
        let conclusion = if pipelining {
            self.land(view, index, reply, now)?
        } else {
            self.conclude(view, index, reply, now)
        };
        self.hand_over(index, conclusion)
    }

    fn closed(
        &mut self,
        view: &mut ShardView,
        index: u32,
        token: Token,
        error: Option<std::io::Error>,
    ) -> Result<Option<Woken>, Failure> {
        let why =
            error.map_or_else(|| "the server closed it".to_owned(), |error| error.to_string());
        let Some(slot) = self.slot(index).filter(|slot| slot.token == Some(token)) else {
            return Ok(None);
        };
        match slot.purpose {
            // Nobody waits: the next statement will report it.
            Purpose::Idle => {
                self.drop_socket(index);
                Ok(None)
            }
            Purpose::Adopt => {
                self.drop_socket(index);
                self.retry_later(view, index, &why)
            }
            _ => {
                let conclusion = self.lost(view, index, &why);
                Ok(self.hand_over(index, conclusion))
            }
        }
    }
}

/// Keeps an incomplete reply until the rest has arrived.
fn keep_incomplete(slot: &mut Slot, bytes: &[u8], direct: bool) {
    if direct {
        slot.input.extend_from_slice(bytes);
    } else if slot.input.len() > KEEP_MAX {
        let dropped = slot.session.discard_scanned(slot.input.len());
        slot.input.drain(..dropped);
    }
}
