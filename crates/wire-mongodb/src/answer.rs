//! What a server's document says of the command it answers (`ok`, `n`, `nModified`, `writeErrors`,
//! `cursor`, …: "Command Response" and the commands' own pages of MongoDB's manual).

use crate::WireError;
use crate::bson::{Element, Value, elements};

/// Why a command, or part of it, failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Refusal<'a> {
    /// Its number; 0: none.
    pub code: i64,
    /// The number's name, where the server says it; write errors have none.
    pub name: &'a [u8],
    /// In words.
    pub message: &'a [u8],
}

/// Documents of a cursor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Cursor<'a> {
    /// 0: there are no more.
    pub id: i64,
    /// An array of documents; empty bytes: the answer has none.
    pub batch: &'a [u8],
}

/// An answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Answer<'a> {
    /// The command as a whole succeeded.
    pub ok: bool,
    /// What the server says of a failure: of the whole command, of the first write that failed, or
    /// of the write concern.
    pub refusal: Option<Refusal<'a>>,
    /// The server says that the same may succeed when it is sent again (`errorLabels`).
    pub transient: bool,
    /// `n`: documents inserted, matched or deleted.
    pub count: i64,
    /// `nModified`: documents changed by an update.
    pub modified: Option<i64>,
    /// Documents that an update inserted.
    pub upserted: u64,
    /// The cursor's documents.
    pub cursor: Option<Cursor<'a>>,
    /// `values`: an array.
    pub values: Option<&'a [u8]>,
}

/// Reads an answer.
///
/// # Errors
/// [`WireError`] if the document is malformed.
pub fn answer(document: &[u8]) -> Result<Answer<'_>, WireError> {
    let (mut answer, mut whole) = (Answer::default(), Refusal::default());
    let (mut write, mut concern) = (None, None);
    for element in elements(document)? {
        let Element { name, value } = element?;
        match (name, value) {
            (b"ok", value) => answer.ok = is_true(value),
            (b"n", value) => answer.count = integer(value),
            (b"nModified", value) => answer.modified = Some(integer(value)),
            (b"cursor", Value::Document(inside)) => answer.cursor = Some(cursor(inside)?),
            (b"values", Value::Array(values)) => answer.values = Some(values),
            (b"upserted", Value::Array(inside)) => answer.upserted = length(inside)?,
            (b"writeErrors", Value::Array(inside)) => write = first(inside)?,
            (b"writeConcernError", Value::Document(inside)) => concern = Some(refusal(inside)?),
            (b"errorLabels", Value::Array(inside)) => answer.transient = may_succeed(inside)?,
            (name, value) => note(&mut whole, name, value),
        }
    }
    answer.refusal = if answer.ok { write.or(concern) } else { Some(whole) };
    Ok(answer)
}

/// How many elements an array or document has.
///
/// # Errors
/// [`WireError`] if it is malformed.
pub fn length(document: &[u8]) -> Result<u64, WireError> {
    elements(document)?.try_fold(0, |count, element| element.map(|_| count + 1))
}

fn integer(value: Value<'_>) -> i64 {
    match value {
        Value::Integer(value) => value,
        Value::Double(value) => value as i64,
        _ => 0,
    }
}

fn is_true(value: Value<'_>) -> bool {
    value == Value::Boolean(true) || integer(value) == 1
}

fn cursor(document: &[u8]) -> Result<Cursor<'_>, WireError> {
    let mut cursor = Cursor::default();
    for element in elements(document)? {
        match element? {
            Element { name: b"id", value } => cursor.id = integer(value),
            Element { name: b"firstBatch" | b"nextBatch", value: Value::Array(batch) } => {
                cursor.batch = batch;
            }
            _ => {}
        }
    }
    Ok(cursor)
}

fn note<'a>(refusal: &mut Refusal<'a>, name: &[u8], value: Value<'a>) {
    match (name, value) {
        (b"code", value) => refusal.code = integer(value),
        (b"codeName", Value::Text(name)) => refusal.name = name,
        (b"errmsg", Value::Text(message)) => refusal.message = message,
        _ => {}
    }
}

fn refusal(document: &[u8]) -> Result<Refusal<'_>, WireError> {
    let mut found = Refusal::default();
    for element in elements(document)? {
        let Element { name, value } = element?;
        note(&mut found, name, value);
    }
    Ok(found)
}

/// The first of several failures.
fn first(array: &[u8]) -> Result<Option<Refusal<'_>>, WireError> {
    match elements(array)?.next().transpose()? {
        Some(Element { value: Value::Document(inside), .. }) => refusal(inside).map(Some),
        _ => Ok(None),
    }
}

/// Labels of what drivers may send again.
fn may_succeed(labels: &[u8]) -> Result<bool, WireError> {
    const LABELS: [&[u8]; 2] = [b"TransientTransactionError", b"RetryableWriteError"];
    for element in elements(labels)? {
        if matches!(element?.value, Value::Text(label) if LABELS.contains(&label)) {
            return Ok(true);
        }
    }
    Ok(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Answers of FerretDB 1.24 as it sent them, and one that pymongo 4.20 wrote of the shape of
    /// MongoDB's, without `code` in the whole: `{"ok": 1, "n": 1, "writeConcernError": {"code": 64,
    /// "codeName": "WriteConcernFailed", "errmsg": "waiting"}}`.
    macro_rules! sent {
        ($name:literal) => {
            include_bytes!(concat!("../tests/answers/", $name, ".bson"))
        };
    }

    #[test]
    fn writes_are_counted() {
        let inserted = answer(sent!("insert")).unwrap();
        assert!(inserted.ok && inserted.refusal.is_none());
        assert_eq!((inserted.count, inserted.modified), (1, None));
        let updated = answer(sent!("update")).unwrap();
        assert_eq!((updated.count, updated.modified, updated.upserted), (1, Some(1), 0));
        let upserted = answer(sent!("upsert")).unwrap();
        assert_eq!((upserted.count, upserted.modified, upserted.upserted), (1, Some(0), 1));
    }

    #[test]
    fn cursors_have_documents_and_an_end() {
        let found = answer(sent!("find")).unwrap().cursor.unwrap();
        assert_eq!((found.id, length(found.batch)), (0, Ok(1)));
        let more = answer(sent!("find_more")).unwrap().cursor.unwrap();
        assert!(more.id != 0);
        assert_eq!(length(answer(sent!("distinct")).unwrap().values.unwrap()), Ok(1));
    }

    #[test]
    fn failures_have_a_number_and_words() {
        let unknown = answer(sent!("unknown")).unwrap();
        let refusal = unknown.refusal.unwrap();
        assert!(!unknown.ok);
        assert_eq!((refusal.code, refusal.name), (59, &b"CommandNotFound"[..]));
        assert_eq!(refusal.message, b"no such command: 'nonsense'");
        let twice = answer(sent!("duplicate")).unwrap();
        assert!(twice.ok);
        assert_eq!(twice.refusal.unwrap().code, 11000);
        assert!(twice.refusal.unwrap().message.starts_with(b"E11000 duplicate key"));
        let concern = answer(sent!("concern")).unwrap();
        assert_eq!((concern.count, concern.refusal.unwrap().name), (1, &b"WriteConcernFailed"[..]));
        let labelled = answer(sent!("labels")).unwrap();
        assert!(labelled.transient);
        assert_eq!(labelled.refusal.unwrap().code, 112);
        let nothing = answer(b"\x05\0\0\0\0").unwrap();
        assert_eq!(nothing.refusal, Some(Refusal::default()), "an answer says `ok`");
    }
}
