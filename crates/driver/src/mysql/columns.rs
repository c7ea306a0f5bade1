//! Column definitions of prepared statements, cached because the server may leave them out of later
//! replies (`Agreed::caches_metadata`); rows of the binary protocol can't be read without them.

use wire_mysql::WireError;
use wire_mysql::backend::{self, Column};

use super::statement::Statement;
use crate::reply::StatementId;
use crate::statements::Statements;

/// Definitions from the last reply, and the statement they belong to.
#[derive(Debug, Default)]
pub(super) struct Columns {
    /// The statement that was executed or prepared.
    pub statement: Option<StatementId>,
    /// Columns of the current set still to be defined.
    wanted: u16,
    /// Columns of the current set; those of the statement itself if it has been closed since.
    found: Vec<Column>,
}

impl Columns {
    /// Starts another reply.
    pub fn begin(&mut self, statement: Option<StatementId>) {
        self.statement = statement;
        self.expect(0);
    }

    /// Starts a set with this many column definitions.
    pub fn expect(&mut self, columns: u16) {
        self.wanted = columns;
        self.found.clear();
    }

    /// Whether the current packet defines a column: `left` packets precede the rows, and the last
    /// `ends` of them are end markers.
    pub fn wants(&self, left: u32, ends: u32) -> bool {
        self.wanted > 0 && left <= u32::from(self.wanted) + ends
    }

    /// Reads a definition.
    pub fn take(&mut self, payload: &[u8]) -> Result<(), WireError> {
        self.found.push(backend::column(payload)?);
        self.wanted -= 1;
        Ok(())
    }

    /// The last set was the statement's own, so its definitions hold until the server says
    /// otherwise. (Sets that a procedure selects are defined each time; the one of its OUT
    /// parameters, which a server may leave out, comes last.)
    pub fn keep(&mut self, statements: &mut Statements<Statement>) {
        if self.wanted > 0 || self.found.is_empty() {
            return;
        }
        let statement = self.statement.and_then(|id| statements.get_mut(id).ok());
        if let Some(statement) = statement {
            statement.columns = std::mem::take(&mut self.found).into();
        }
    }

    /// The reply ended early. What a procedure had selected by then was not its statement's own
    /// set.
    pub fn broke_off(&mut self, statements: &Statements<Statement>) {
        let statement = self.statement.and_then(|id| statements.get(id).ok());
        if statement.is_some_and(|statement| !statement.selects) {
            self.expect(0);
        }
    }

    /// Keeps a closed statement's columns: its last reply may still be read.
    pub fn closed(&mut self, id: StatementId, columns: Box<[Column]>) {
        if self.statement == Some(id) {
            self.found = columns.into();
        }
    }

    /// The columns of a set that did not define them.
    pub fn known<'a>(&'a self, statements: &'a Statements<Statement>) -> &'a [Column] {
        let statement = self.statement.and_then(|id| statements.get(id).ok());
        statement.map_or(&self.found, |statement| &statement.columns)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::session::MysqlSession;
    use super::super::session::tests::{agreed_session, done, end, packet};
    use super::*;
    use crate::reply::RowCursor;

    /// TINY, LONGLONG and VAR_STRING.
    const KINDS: [u8; 3] = [1, 8, 0xfd];

    fn definitions(kinds: &[u8], deprecates_eof: bool) -> Vec<u8> {
        let mut bytes = Vec::new();
        for kind in kinds {
            let mut definition = *b"\x03def\0\x01t\x01t\x01a\x01a\x0c\x3f\0\x0b\0\0\0k\0\0\0\0\0";
            definition[20] = *kind;
            bytes.extend(packet(&definition));
        }
        bytes.extend((!deprecates_eof).then(|| end(false, 2)).into_iter().flatten());
        bytes
    }

    /// A set of one row in which each value is 7. `defined`: the server's flag whether columns are
    /// defined; `None`: it sends no flag and defines them.
    fn set(kinds: &[u8], defined: Option<bool>, deprecates_eof: bool, status: u8) -> Vec<u8> {
        let mut head = vec![kinds.len() as u8];
        head.extend(defined.map(u8::from));
        let kinds_defined = if defined == Some(false) { &[][..] } else { kinds };
        let mut row = vec![0; 1 + (kinds.len() + 2).div_ceil(8)];
        for kind in kinds {
            row.extend_from_slice(match kind {
                1 => &[7][..],
                8 => &[7, 0, 0, 0, 0, 0, 0, 0],
                _ => b"\x017",
            });
        }
        let parts = [packet(&head), definitions(kinds_defined, deprecates_eof), packet(&row)];
        [&parts.concat()[..], &end(deprecates_eof, status)].concat()
    }

    /// A session that has prepared a statement without values, and its id.
    fn prepared(kinds: &[u8], deprecates_eof: bool, caches: bool) -> (MysqlSession, StatementId) {
        let mut session = agreed_session(deprecates_eof, caches);
        let (id, _) = session.prepare(b"SELECT", &mut Vec::new()).unwrap();
        let mut bytes = packet(&[0, 9, 0, 0, 0, kinds.len() as u8, 0, 0, 0, 0, 0, 0]);
        if !kinds.is_empty() {
            bytes.extend(definitions(kinds, deprecates_eof));
        }
        assert_eq!(done(&mut session, &bytes).1, bytes.len());
        (session, id)
    }

    fn execute(session: &mut MysqlSession, id: StatementId) {
        session.execute(id, [].into_iter(), &mut Vec::new()).unwrap();
    }

    /// The values of the row after the cursor; `None`: it can't be read.
    fn row(session: &MysqlSession, reply: &[u8], cursor: &mut RowCursor) -> Option<Vec<String>> {
        let mut values = Vec::new();
        let text = |value: Option<&[u8]>| String::from_utf8(value.unwrap().to_vec()).unwrap();
        session.row(reply, cursor, |value| values.push(text(value))).ok()?;
        Some(values)
    }

    #[test]
    fn columns_defined_when_it_was_prepared_need_not_be_defined_again() {
        for deprecates_eof in [true, false] {
            let (mut session, id) = prepared(&[8, 0xfd], deprecates_eof, true);
            execute(&mut session, id);
            let bytes = set(&[8, 0xfd], Some(false), deprecates_eof, 2);
            let (reply, consumed) = done(&mut session, &bytes);
            assert_eq!((reply.rows, reply.columns, consumed), (1, 2, bytes.len()));
            let read = |session: &_| row(session, &bytes, &mut RowCursor::default()).unwrap();
            assert_eq!(read(&session), ["7", "7"]);
            session.close_statement(id).unwrap();
            assert_eq!(read(&session), ["7", "7"], "its last reply can still be read");
        }
    }

    #[test]
    fn columns_of_another_number_are_not_guessed() {
        let (mut session, id) = prepared(&[8], true, true);
        execute(&mut session, id);
        let bytes = set(&[8, 8], Some(false), true, 2);
        assert_eq!(done(&mut session, &bytes).0.rows, 1);
        assert_eq!(row(&session, &bytes, &mut RowCursor::default()), None);
    }

    #[test]
    fn what_was_defined_before_an_error_holds() {
        let (mut session, id) = prepared(&[1], true, true);
        execute(&mut session, id);
        let mut bytes = set(&[0xfd], Some(true), true, 2);
        bytes.truncate(bytes.len() - end(true, 2).len());
        bytes.extend(packet(b"\xff\xbd\x04#40001Deadlock found"));
        assert!(done(&mut session, &bytes).0.error.is_some());
        execute(&mut session, id);
        let bytes = set(&[0xfd], Some(false), true, 2);
        done(&mut session, &bytes);
        assert_eq!(row(&session, &bytes, &mut RowCursor::default()).unwrap(), ["7"]);
    }

    /// A procedure selects something (always defined) and has OUT parameters (left out).
    #[test]
    fn what_a_procedure_selects_is_not_taken_for_its_parameters() {
        let (mut session, id) = prepared(&[], true, true);
        let ok = packet(b"\0\0\0\x02\0\0\0");
        for (defined, breaks_off) in [(true, false), (false, true), (false, false)] {
            execute(&mut session, id);
            let mut bytes = set(&[0xfd, 1], Some(true), true, 2 | 8);
            if breaks_off {
                bytes.extend(packet(b"\xff\xbd\x04#40001Deadlock found"));
                assert!(done(&mut session, &bytes).0.error.is_some());
                continue;
            }
            bytes.extend([set(&[1, 8], Some(defined), true, 2 | 8), ok.clone()].concat());
            done(&mut session, &bytes);
            let mut cursor = RowCursor::default();
            assert_eq!(row(&session, &bytes, &mut cursor).unwrap(), ["7", "7"]);
            assert!(session.next_result(&bytes, &mut cursor).unwrap().is_some());
            assert_eq!(row(&session, &bytes, &mut cursor).unwrap(), ["7", "7"]);
        }
    }

    proptest! {
        /// However columns change and whichever definitions the server leaves out, rows are the
        /// same.
        #[test]
        fn leaving_out_what_is_known_changes_nothing(
            runs in prop::collection::vec(prop::collection::vec(
                prop::sample::select(&KINDS[..]), 1..4), 1..8),
            deprecates_eof in any::<bool>(),
            discards in any::<bool>(),
            cut in 1..40usize,
        ) {
            let (mut caching, id) = prepared(&runs[0], deprecates_eof, true);
            let (mut plain, _) = prepared(&runs[0], deprecates_eof, false);
            let mut last = &runs[0];
            for kinds in &runs {
                let bytes = set(kinds, Some(kinds != last), deprecates_eof, 2);
                let full = set(kinds, None, deprecates_eof, 2);
                last = kinds;
                execute(&mut plain, id);
                let (reply, _) = done(&mut plain, &full);
                execute(&mut caching, id);
                let (mut dropped, mut size) = (0, cut.min(bytes.len()));
                let same = loop {
                    match caching.feed(&bytes[dropped..size]).unwrap() {
                        crate::Progress::Done { reply, .. } => break reply,
                        _ => prop_assert!(size < bytes.len()),
                    }
                    if discards {
                        dropped += caching.discard_scanned(size - dropped);
                    }
                    size = (size + cut).min(bytes.len());
                };
                prop_assert_eq!(same, reply);
                if dropped == 0 {
                    let expected = row(&plain, &full, &mut RowCursor::default());
                    prop_assert_eq!(row(&caching, &bytes, &mut RowCursor::default()), expected);
                }
            }
        }
    }
}
