//! From bytes to resumed clients: what came over the sockets, handed to whoever waits for it.

use driver::Progress;
use engine::Failure;
use reactor::{Chunk, EventKind, SILENT_SEND_MAX, Token};

use crate::conclude::{Conclusion, push_conclusion};
use crate::host::{HostPointer, resume};
use crate::reconnect::retry_later;
use crate::slot::{Purpose, RowBytes, Slot};

/// A reply's rows are kept whole up to so many bytes; behind that only the last part can be read.
const KEEP_MAX: usize = 64 * 1024 * 1024;
/// An input buffer larger than this is given back between statements.
const INPUT_KEEP: usize = 16 * 1024;

/// Hands out all that happened on the sockets.
pub(crate) fn drain(pointer: HostPointer) -> Result<(), Failure> {
    while let Some(event) = pointer.get().reactor.as_mut().and_then(reactor::Reactor::next) {
        let slot = pointer.get().slot_of.get(event.token as usize).copied().unwrap_or(u32::MAX);
        match event.kind {
            EventKind::Received(chunk) => received(pointer, slot, &chunk)?,
            EventKind::Sent => sent(pointer, slot, event.token)?,
            EventKind::Closed(error) => closed(pointer, slot, event.token, error)?,
        }
    }
    Ok(())
}

fn received(pointer: HostPointer, index: u32, chunk: &Chunk) -> Result<(), Failure> {
    let host = pointer.get();
    host.load().recorder().counters.bytes_received += chunk.bytes().len() as u64;
    let Some(slot) = host.slots.get_mut(index as usize).and_then(Option::as_deref_mut) else {
        return Ok(());
    };
    let Some(channel) = &mut slot.channel else { return take(pointer, index, chunk.bytes()) };
    let mut plain = std::mem::take(&mut host.opened);
    plain.clear();
    let outcome = match channel.open(chunk.bytes(), &mut plain) {
        Ok(()) if plain.is_empty() => Ok(()),
        Ok(()) => take(pointer, index, &plain),
        Err(_) if slot.purpose == Purpose::Idle => {
            host.disconnect(index);
            Ok(())
        }
        Err(error) => {
            let conclusion = host.lost(index, &error.to_string());
            hand_over(pointer, index, conclusion)
        }
    };
    pointer.get().opened = plain;
    outcome
}

/// A large request is out: its buffer is free again, and what came meanwhile is looked at.
fn sent(pointer: HostPointer, index: u32, token: Token) -> Result<(), Failure> {
    let host = pointer.get();
    if let Some(reactor) = &mut host.reactor {
        reactor.output(token).shrink_to(SILENT_SEND_MAX);
    }
    let Some(slot) = host.slot(index).filter(|slot| slot.token == Some(token)) else {
        return Ok(());
    };
    slot.sending = false;
    if slot.purpose == Purpose::Idle || slot.input.is_empty() {
        return Ok(());
    }
    take(pointer, index, &[])
}

/// Takes bytes of a slot's connection; they are lent for the length of the call.
fn take(pointer: HostPointer, index: u32, bytes: &[u8]) -> Result<(), Failure> {
    let host = pointer.get();
    let load = host.load();
    let Some(slot) = host.slots.get_mut(index as usize).and_then(Option::as_deref_mut) else {
        return Ok(());
    };
    if slot.purpose == Purpose::Idle {
        // Notices, or a last word before the server closes: for the next reply to begin with.
        slot.keep_rows();
        slot.early.extend_from_slice(bytes);
        return Ok(());
    }
    if slot.is_pipelining() {
        return take_pipelined(pointer, index, bytes);
    }
    let direct = slot.input.is_empty() && slot.early.is_empty() && !slot.sending;
    let progress = if direct {
        slot.session.feed(bytes)
    } else {
        if !slot.early.is_empty() {
            slot.input.append(&mut slot.early);
        }
        slot.input.extend_from_slice(bytes);
        if slot.sending {
            // The next request would be written over what is still going out.
            return Ok(());
        }
        slot.session.feed(&slot.input)
    };
    match progress {
        Err(error) => {
            let conclusion = host.lost(index, &error.to_string());
            hand_over(pointer, index, conclusion)
        }
        Ok(Progress::More) => {
            if direct {
                slot.input.extend_from_slice(bytes);
            } else if slot.input.len() > KEEP_MAX {
                let dropped = slot.session.discard_scanned(slot.input.len());
                slot.input.drain(..dropped);
            }
            Ok(())
        }
        Ok(Progress::Done { reply, consumed }) => {
            let rest = if direct { &bytes[consumed..] } else { &slot.input[consumed..] };
            slot.early.extend_from_slice(rest);
            slot.rows = match (reply.columns, direct) {
                (0, _) => RowBytes::None,
                (_, true) => RowBytes::Lent(bytes.as_ptr(), consumed),
                (_, false) => RowBytes::Kept(consumed),
            };
            let now = load.now();
            let conclusion = host.conclude(index, reply, now);
            let outcome = hand_over(pointer, index, conclusion);
            if direct && let Some(slot) = pointer.get().slot(index) {
                slot.keep_rows();
            }
            outcome
        }
        Ok(Progress::Wanted { consumed }) => {
            let rest = if direct { &bytes[consumed..] } else { &slot.input[consumed..] };
            slot.early.extend_from_slice(rest);
            slot.input.clear();
            let conclusion = host.send_rows(index);
            hand_over(pointer, index, conclusion)
        }
    }
}

/// Takes bytes that may end several replies. Nobody reads the rows of a pipeline: nothing is kept
/// but what is incomplete.
fn take_pipelined(pointer: HostPointer, index: u32, bytes: &[u8]) -> Result<(), Failure> {
    let host = pointer.get();
    let Some(slot) = host.slot(index) else { return Ok(()) };
    let mut input = std::mem::take(&mut slot.input);
    input.append(&mut slot.early);
    if !input.is_empty() {
        input.extend_from_slice(bytes);
    }
    let whole = if input.is_empty() { bytes } else { &input };
    let mut at = 0;
    let conclusion = loop {
        let Some(slot) = host.slot(index).filter(|slot| !slot.sending) else { break None };
        match slot.session.feed(&whole[at..]) {
            Ok(Progress::Done { reply, consumed }) => {
                at += consumed;
                let now = host.load().now();
                if let Some(conclusion) = host.land(index, reply, now) {
                    break Some(conclusion);
                }
            }
            Ok(Progress::More) => {
                at += slot.session.discard_scanned(whole.len() - at);
                break None;
            }
            Ok(Progress::Wanted { .. }) => break Some(host.lost(index, "it asks for rows")),
            Err(error) => break Some(host.lost(index, &error.to_string())),
        }
    };
    if input.is_empty() {
        input.extend_from_slice(&bytes[at..]);
    } else {
        input.drain(..at);
    }
    if let Some(slot) = host.slot(index) {
        if conclusion.is_some() {
            slot.early.append(&mut input);
        }
        slot.input = input;
    }
    conclusion.map_or(Ok(()), |conclusion| hand_over(pointer, index, conclusion))
}

/// A reply that was due at a known time.
pub(crate) fn planned(pointer: HostPointer, index: u32) -> Result<(), Failure> {
    let host = pointer.get();
    let now = host.load().now();
    let Some(slot) = host.slot(index) else { return Ok(()) };
    let pipelining = slot.is_pipelining();
    let Ok(Progress::Done { reply, .. }) = slot.session.feed(&[]) else { return Ok(()) };
    let conclusion = if pipelining {
        host.land(index, reply, now)
    } else {
        Some(host.conclude(index, reply, now))
    };
    conclusion.map_or(Ok(()), |conclusion| hand_over(pointer, index, conclusion))
}

impl Slot {
    /// Moves rows out of memory that is about to be given back.
    #[inline]
    pub(crate) fn keep_rows(&mut self) {
        if let RowBytes::Lent(_, len) = self.rows {
            let mut input = std::mem::take(&mut self.input);
            input.clear();
            input.extend_from_slice(self.row_bytes());
            self.input = input;
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

/// Gives a conclusion to the client that waits for it.
pub(crate) fn hand_over(
    pointer: HostPointer,
    index: u32,
    conclusion: Conclusion,
) -> Result<(), Failure> {
    if conclusion == Conclusion::Later {
        return Ok(());
    }
    let host = pointer.get();
    let Some(slot) = host.slot(index) else { return Ok(()) };
    let client = slot.client;
    let state = host.clients[client as usize].thread;
    if state.is_null() {
        return Ok(());
    }
    // SAFETY: the client is suspended in a call that returns one value.
    unsafe { push_conclusion(host, state, index, conclusion) };
    resume(pointer, client, 1)
}

fn closed(
    pointer: HostPointer,
    index: u32,
    token: Token,
    error: Option<std::io::Error>,
) -> Result<(), Failure> {
    let host = pointer.get();
    let why = error.map_or_else(|| "the server closed it".to_owned(), |error| error.to_string());
    let Some(slot) = host.slot(index).filter(|slot| slot.token == Some(token)) else {
        return Ok(());
    };
    if slot.purpose == Purpose::Idle {
        // Nobody waits: the next statement will find out.
        host.disconnect(index);
        return Ok(());
    }
    let adopting = slot.purpose == Purpose::Adopt;
    if adopting {
        host.disconnect(index);
        return retry_later(pointer, index, &why);
    }
    let conclusion = host.lost(index, &why);
    hand_over(pointer, index, conclusion)
}
