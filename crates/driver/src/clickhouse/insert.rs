//! The rows of an INSERT, which the server wants as a block once it has named its columns.

use wire_clickhouse::{Builder, WireError, backend, frontend};

use super::error::not_plain;
use crate::error::ServerError;
use crate::load::{Insert, Literal};

/// Characters of a literal in a message.
const SHOWN_MAX: usize = 80;

/// An INSERT that was sent without its rows.
#[derive(Debug)]
pub(super) struct Pending {
    /// The statement; `None`: what is to be inserted is not plain.
    text: Option<Box<[u8]>>,
    /// The rows, as a block and the end of data.
    block: Vec<u8>,
    /// Rows in the block.
    pub rows: u64,
    /// Why the rows were not sent.
    pub error: Option<Box<ServerError>>,
}

impl Pending {
    /// Of a statement that inserts; `None`: it does not.
    pub fn of(sql: &[u8]) -> Option<Self> {
        let word = sql.trim_ascii_start();
        let begins = word.get(..6).is_some_and(|word| word.eq_ignore_ascii_case(b"INSERT"));
        begins.then(|| Self {
            text: parsed(sql).map(|_| sql.into()),
            block: Vec::new(),
            rows: 0,
            error: None,
        })
    }

    /// Appends the statement as it is sent: without its rows if they are plain.
    pub fn write(&self, sql: &[u8], out: &mut Vec<u8>) {
        let rows = parsed(sql).map_or(0, |insert| insert.rows.len());
        out.extend_from_slice(&sql[..sql.len() - rows]);
    }

    /// Makes the block for the columns at the front of `columns`; `None`: their heads are
    /// incomplete.
    pub fn answer(
        &mut self,
        mut columns: &[u8],
        count: u64,
        utc: bool,
    ) -> Result<Option<()>, WireError> {
        let mut made = Vec::new();
        for _ in 0..count {
            let Some((name, type_name, size)) = backend::column(columns)? else { return Ok(None) };
            made.push((name, Builder::new(type_name, utc)));
            columns = &columns[size..];
        }
        self.block.clear();
        let filled = self.fill(&mut made);
        if filled.is_err() {
            self.rows = 0;
        }
        self.error = filled.err().map(Box::new);
        // Both are as large as the rows, and of no use any more.
        self.text = None;
        if self.rows > 0 {
            frontend::block(count, self.rows, &mut self.block);
            for (name, builder) in made {
                frontend::column(name, builder.type_name(), &mut self.block);
                builder.finish(&mut self.block);
            }
        }
        frontend::end_of_data(&mut self.block);
        Ok(Some(()))
    }

    fn fill(&mut self, columns: &mut [(&[u8], Builder)]) -> Result<(), ServerError> {
        let Some(insert) = self.text.as_deref().and_then(parsed) else {
            return Err(not_plain(
                "the rows of an INSERT have to be literals here, since the server takes them as \
                 columns of values (INSERT … SELECT has expressions)",
            ));
        };
        let mut wrong = None;
        let rows = insert.rows(true, |column, literal, _| {
            let literal = match literal {
                Literal::Null => wire_clickhouse::Literal::Null,
                Literal::Integer(digits) | Literal::Decimal(digits) => {
                    wire_clickhouse::Literal::Number(digits)
                }
                Literal::Text(quoted) => wire_clickhouse::Literal::Quoted(quoted),
            };
            let (name, builder) = columns.get_mut(column)?;
            let pushed = builder.push(literal);
            if pushed.is_none() {
                let [name, type_name] = [name, builder.type_name()].map(String::from_utf8_lossy);
                let shown = shown(literal);
                wrong = Some(format!("column {name} ({type_name}): {shown} is no value of it"));
            }
            pushed
        });
        match (rows, wrong) {
            (Some(rows), _) if !columns.is_empty() => {
                self.rows = rows;
                Ok(())
            }
            (_, Some(wrong)) => Err(not_plain(&wrong)),
            _ => Err(not_plain("the rows have other columns than the table, or no literals")),
        }
    }

    /// Takes the block, to send it.
    pub fn take_block(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.block)
    }
}

/// A literal for a message, cut if it is long.
fn shown(literal: wire_clickhouse::Literal<'_>) -> String {
    let (text, quote) = match literal {
        wire_clickhouse::Literal::Null => (&b"NULL"[..], ""),
        wire_clickhouse::Literal::Number(digits) => (digits, ""),
        wire_clickhouse::Literal::Quoted(quoted) => (quoted, "'"),
    };
    let text: String = String::from_utf8_lossy(text).chars().take(SHOWN_MAX).collect();
    format!("{quote}{text}{quote}")
}

/// Either quote may stand around names.
fn parsed(sql: &[u8]) -> Option<Insert<'_>> {
    Insert::parse(sql, b'`').or_else(|| Insert::parse(sql, b'"'))
}
