//! The last reply of a connection, and its rows.

use driver::{Item, ProtocolError, Reply, Session, StatementId};

use crate::runtime::Runtime;
use crate::slot::{RowBytes, Slot};

/// Where a slot's rows are, in its own buffer or a lent one.
fn row_bytes<'a>(slot: &'a Slot, lent: &'a [u8]) -> &'a [u8] {
    match slot.rows {
        RowBytes::None => &[],
        RowBytes::Kept(len) => &slot.input[..len],
        RowBytes::Lent(len) => &lent[..len],
    }
}

impl Runtime {
    /// The last reply on a connection; `None`: the connection is closed.
    pub fn reply(&self, index: u32) -> Option<&Reply> {
        self.slots.get(index).map(|slot| &slot.reply)
    }

    /// The connection's session; `None`: the connection is closed.
    pub fn session(&self, index: u32) -> Option<&Session> {
        self.slots.get(index).map(|slot| &slot.session)
    }

    /// Reads the next row of the last reply: calls `column` for each column, with `None` for NULL.
    /// Returns `false` when there are no more rows, or the connection is closed.
    ///
    /// # Errors
    /// [`ProtocolError`] if the rows are gone.
    pub fn row(
        &mut self,
        index: u32,
        column: impl FnMut(Option<&[u8]>),
    ) -> Result<bool, ProtocolError> {
        let lent = self.lending.bytes();
        let Some(slot) = self.slots.get_mut(index) else {
            return Ok(false);
        };
        let mut cursor = slot.cursor;
        let found = slot.session.row(row_bytes(slot, lent), &mut cursor, column);
        slot.cursor = cursor;
        found
    }

    /// Reads the next value of the last command's reply: calls `read` with it. `None`: there are no
    /// more, or the connection is closed.
    ///
    /// # Errors
    /// [`ProtocolError`] if the values are gone.
    pub fn item<R>(
        &mut self,
        index: u32,
        read: impl FnOnce(Item<'_>) -> R,
    ) -> Result<Option<R>, ProtocolError> {
        let lent = self.lending.bytes();
        let Some(slot) = self.slots.get_mut(index) else { return Ok(None) };
        let mut cursor = slot.cursor;
        let found = slot.session.item(row_bytes(slot, lent), &mut cursor)?.map(read);
        slot.cursor = cursor;
        Ok(found)
    }

    /// Reads the document that answered the last command: calls `read` with it. `None`: there is
    /// none, or the connection is closed.
    ///
    /// # Errors
    /// [`ProtocolError`] if the bytes are no answer.
    pub fn answer<R>(
        &self,
        index: u32,
        read: impl FnOnce(&[u8]) -> R,
    ) -> Result<Option<R>, ProtocolError> {
        let Some(slot) = self.slots.get(index) else { return Ok(None) };
        let bytes = row_bytes(slot, self.lending.bytes());
        Ok(slot.session.answer(bytes)?.map(read))
    }

    /// Moves to the next result set of the same reply; `false`: there is none.
    ///
    /// # Errors
    /// [`ProtocolError`] if the rows are gone.
    pub fn next_result(&mut self, index: u32) -> Result<bool, ProtocolError> {
        let lent = self.lending.bytes();
        let Some(slot) = self.slots.get_mut(index) else {
            return Ok(false);
        };
        let mut cursor = slot.cursor;
        let bytes = match slot.rows {
            RowBytes::None => &[],
            RowBytes::Kept(len) => &slot.input[..len],
            RowBytes::Lent(len) => &lent[..len],
        };
        let Some(reply) = slot.session.next_result(bytes, &mut cursor)? else { return Ok(false) };
        slot.cursor = cursor;
        slot.reply = reply;
        Ok(true)
    }

    /// Frees the last reply's rows, which the client no longer needs; `false`: they were freed
    /// before. Only a result without columns counts as none.
    pub fn free_rows(&mut self, index: u32) -> bool {
        let Some(slot) = self.slot(index) else { return false };
        slot.rows = RowBytes::None;
        std::mem::take(&mut slot.reply.columns) > 0
    }

    /// The text a statement was prepared from, if known.
    pub fn statement_text(&self, index: u32, statement: StatementId) -> Option<&[u8]> {
        self.session(index)?.statement_text(statement)
    }

    /// Returns the memory in which the client that ran could read its rows.
    #[inline]
    pub(crate) fn give_back(&mut self) {
        let Some((index, lent)) = self.lending.take_back() else { return };
        if let Some(slot) = self.slots.get_mut(index) {
            slot.keep_rows(lent.bytes(&self.lending.opened));
        }
    }
}
