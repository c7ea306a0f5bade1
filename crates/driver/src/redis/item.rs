//! A reply's values, read one after the other from its bytes, on demand.

use wire_resp::backend::{self, BULK_ERROR, Element, MAP, VERBATIM_STRING, element};

use crate::error::ProtocolError;
use crate::reply::{Item, RowCursor};

const ENDS: ProtocolError = ProtocolError::Malformed("reply: it ends within a value");

/// See [`crate::Session::item`]. Pushes and attributes are skipped.
pub(super) fn item<'a>(
    reply: &'a [u8],
    cursor: &mut RowCursor,
) -> Result<Option<Item<'a>>, ProtocolError> {
    // Elements still to be skipped.
    let mut aside = 0;
    loop {
        let rest = reply.get(cursor.offset..).ok_or(ENDS)?;
        if rest.is_empty() {
            return Ok(None);
        }
        let (element, head) = element(rest)?.ok_or(ENDS)?;
        let body = rest.get(head..head + element.body_size()).ok_or(ENDS)?;
        cursor.offset += head + body.len();
        if element.is_aside() {
            aside += element.children();
        } else if aside > 0 {
            aside = aside - 1 + element.children();
        } else {
            return Ok(Some(value(element, body)));
        }
    }
}

fn value<'a>(element: Element<'a>, body: &'a [u8]) -> Item<'a> {
    match element {
        Element::Line(text) | Element::BigNumber(text) => Item::Text(text),
        Element::Error(text) => Item::Error(text),
        Element::Integer(value) => Item::Integer(value),
        Element::Double(value) => Item::Number(value),
        Element::Boolean(value) => Item::Boolean(value),
        Element::Null => Item::Null,
        Element::Text { kind, size } => match kind {
            BULK_ERROR => Item::Error(&body[..size]),
            VERBATIM_STRING => Item::Text(backend::verbatim(&body[..size])),
            _ => Item::Text(&body[..size]),
        },
        Element::Aggregate { kind: MAP, count } => Item::Map(count),
        Element::Aggregate { count, .. } => Item::Array(count),
    }
}
