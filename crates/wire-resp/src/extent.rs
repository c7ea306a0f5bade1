//! Where a reply ends, however its elements nest.

use crate::WireError;
use crate::backend::{Element, element};

/// The elements of a reply that are still to come. One number is enough for any nesting: each
/// element takes one away and adds those within it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Extent {
    left: u64,
}

impl Default for Extent {
    /// A reply that has not begun.
    fn default() -> Self {
        Self { left: 1 }
    }
}

impl Extent {
    /// Elements still to come.
    #[inline]
    pub fn left(self) -> u64 {
        self.left
    }

    /// Passes the next element; `true`: the reply has ended.
    ///
    /// # Errors
    /// [`WireError`] for more elements than can be counted.
    #[inline]
    pub fn pass(&mut self, element: &Element<'_>) -> Result<bool, WireError> {
        let own = u64::from(!element.is_aside());
        let more = (self.left - own).checked_add(element.children());
        self.left = more.ok_or(WireError::Malformed("count of elements"))?;
        Ok(self.left == 0)
    }
}

/// The size in bytes of the reply at the front of `bytes`; `None`: it is incomplete.
///
/// # Errors
/// [`WireError`] if no reply begins like that.
pub fn reply_size(bytes: &[u8]) -> Result<Option<usize>, WireError> {
    let (mut extent, mut at) = (Extent::default(), 0);
    while let Some(rest) = bytes.get(at..) {
        let Some((element, head)) = element(rest)? else { return Ok(None) };
        at += head + element.body_size();
        if extent.pass(&element)? {
            return Ok((at <= bytes.len()).then_some(at));
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::backend::{ARRAY, BULK_STRING, MAP};

    #[test]
    fn a_reply_ends_with_the_last_element_of_its_first() {
        for reply in [
            &b"+OK\r\n"[..],
            b"$3\r\n\r\n+\r\n",
            b"*0\r\n",
            b"*2\r\n*1\r\n:1\r\n$1\r\na\r\n",
            b"%2\r\n+a\r\n*2\r\n_\r\n_\r\n+b\r\n#t\r\n",
            b"|1\r\n+ttl\r\n:5\r\n$1\r\na\r\n",
            b">2\r\n+invalidate\r\n*1\r\n+k\r\n+OK\r\n",
            b"*1\r\n|1\r\n+a\r\n+b\r\n:1\r\n",
        ] {
            assert_eq!(reply_size(reply), Ok(Some(reply.len())), "{reply:?}");
            let more = [reply, b"+NEXT\r\n"].concat();
            assert_eq!(reply_size(&more), Ok(Some(reply.len())), "{reply:?}");
            for end in 0..reply.len() {
                assert_eq!(reply_size(&reply[..end]), Ok(None), "{reply:?} to {end}");
            }
        }
    }

    #[test]
    fn endless_claims_end() {
        let mut extent = Extent { left: u64::MAX - 1 };
        let claim = Element::Aggregate { kind: MAP, count: u64::from(u32::MAX) };
        assert!(extent.pass(&claim).is_err());
    }

    fn nested() -> impl Strategy<Value = Vec<u8>> {
        let leaf = prop_oneof![
            any::<i64>().prop_map(|value| format!(":{value}\r\n").into_bytes()),
            "[a-z ]{0,20}".prop_map(|text| format!("+{text}\r\n").into_bytes()),
            prop::collection::vec(any::<u8>(), 0..40).prop_map(|text| {
                let head = [&[BULK_STRING][..], text.len().to_string().as_bytes()].concat();
                [&head[..], b"\r\n", &text, b"\r\n"].concat()
            }),
            Just(b"_\r\n".to_vec()),
        ];
        leaf.prop_recursive(4, 64, 8, |inner| {
            let many = prop::collection::vec(inner, 0..8);
            (many, prop::bool::ANY).prop_map(|(mut elements, map)| {
                if map && elements.len() % 2 == 1 {
                    elements.pop();
                }
                let count = if map { elements.len() / 2 } else { elements.len() };
                let kind = if map { MAP } else { ARRAY };
                let head = [&[kind][..], count.to_string().as_bytes(), b"\r\n"].concat();
                [head, elements.concat()].concat()
            })
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig {
            failure_persistence: None,
            cases: if cfg!(miri) { 8 } else { 256 },
            ..ProptestConfig::default()
        })]

        /// However a reply nests, its end is found, and nothing before it is taken for the end.
        #[test]
        fn any_nesting_has_its_end(
            reply in nested(),
            behind in any::<[u8; 4]>(),
            cut in any::<u16>(),
        ) {
            let whole = [&reply[..], &behind].concat();
            prop_assert_eq!(reply_size(&whole), Ok(Some(reply.len())));
            let cut = usize::from(cut) % reply.len();
            prop_assert_eq!(reply_size(&reply[..cut]), Ok(None));
        }

        /// Whatever bytes come, they are read, awaited or refused.
        #[test]
        fn no_bytes_are_too_much(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = reply_size(&bytes);
        }
    }
}
