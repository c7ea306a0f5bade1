//! The server's commands by name. Like a statement, a command counts as what it does: it returns
//! documents, changes them, or neither.

use wire_mongodb::bson;

use crate::reply::Class;

/// They return documents, values or counts of them.
const READS: &[&[u8]] = &[
    b"aggregate",
    b"count",
    b"distinct",
    b"find",
    b"getMore",
    b"listCollections",
    b"listIndexes",
    b"mapReduce",
];

/// They change documents.
const WRITES: &[&[u8]] =
    &[b"bulkWrite", b"delete", b"findAndModify", b"findandmodify", b"insert", b"update"];

/// The class that a command counts as, by its name.
#[inline]
pub(super) fn class_of(name: &[u8]) -> Class {
    match name {
        b"find" | b"getMore" => Class::Read,
        b"insert" | b"update" => Class::Write,
        _ if READS.contains(&name) => Class::Read,
        _ if WRITES.contains(&name) => Class::Write,
        _ => Class::Other,
    }
}

/// The same by the document, whose first name is the command's. `None`: it has none.
#[inline]
pub fn class_of_document(document: &[u8]) -> Option<Class> {
    let first = bson::elements(document).ok()?.next()?.ok()?;
    Some(class_of(first.name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_known_by_name() {
        for name in READS {
            assert_eq!(class_of(name), Class::Read);
        }
        for name in WRITES {
            assert_eq!(class_of(name), Class::Write);
        }
        for name in [&b""[..], b"ping", b"FIND", b"createIndexes"] {
            assert_eq!(class_of(name), Class::Other);
        }
    }

    #[test]
    fn a_document_s_first_name_is_the_command() {
        assert_eq!(class_of_document(b"\x0f\0\0\0\x10find\0\x01\0\0\0\0"), Some(Class::Read));
        assert_eq!(class_of_document(b"\x05\0\0\0\0"), None);
        assert_eq!(class_of_document(b"find"), None);
    }
}
