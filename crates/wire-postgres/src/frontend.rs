//! Encodes requests, one function per message, straight into the caller's buffer.
//!
//! A request that can't be sent (longer than [`MESSAGE_SIZE_MAX`], too many values) leaves the
//! buffer unchanged.

use crate::{MESSAGE_SIZE_MAX, WireError};

/// Version 3.0.
const PROTOCOL_VERSION: i32 = 3 << 16;
/// Bind counts its values in 16 bits.
const VALUES_MAX: usize = u16::MAX as usize;

/// StartupMessage: who connects, and settings for the session.
///
/// # Errors
/// [`WireError::TooLong`].
pub fn startup(parameters: &[(&str, &str)], out: &mut Vec<u8>) -> Result<(), WireError> {
    body(out, |out| {
        out.extend_from_slice(&PROTOCOL_VERSION.to_be_bytes());
        for (name, value) in parameters {
            text(name.as_bytes(), out);
            text(value.as_bytes(), out);
        }
        out.push(0);
        Ok(())
    })
}

/// SSLRequest: before the startup message; the server answers with a single `S` or `N`.
pub fn ssl_request(out: &mut Vec<u8>) {
    out.extend_from_slice(&8i32.to_be_bytes());
    out.extend_from_slice(&80_877_103i32.to_be_bytes());
}

/// PasswordMessage: a password in clear, or its MD5 answer.
///
/// # Errors
/// [`WireError::TooLong`].
pub fn password(password: &[u8], out: &mut Vec<u8>) -> Result<(), WireError> {
    message(b'p', out, |out| {
        text(password, out);
        Ok(())
    })
}

/// SASLInitialResponse: the chosen mechanism and its first data.
///
/// # Errors
/// [`WireError::TooLong`].
pub fn sasl_initial(mechanism: &str, data: &[u8], out: &mut Vec<u8>) -> Result<(), WireError> {
    message(b'p', out, |out| {
        text(mechanism.as_bytes(), out);
        counted(out, |out| out.extend_from_slice(data))
    })
}

/// SASLResponse: the data of a later step.
///
/// # Errors
/// [`WireError::TooLong`].
pub fn sasl(data: &[u8], out: &mut Vec<u8>) -> Result<(), WireError> {
    message(b'p', out, |out| {
        out.extend_from_slice(data);
        Ok(())
    })
}

/// Query: statement text by the simple protocol. Its reply ends with a ReadyForQuery.
///
/// # Errors
/// [`WireError::TooLong`].
pub fn query(sql: &[u8], out: &mut Vec<u8>) -> Result<(), WireError> {
    message(b'Q', out, |out| {
        text(sql, out);
        Ok(())
    })
}

/// Query, with its text written in place by the caller.
///
/// # Errors
/// [`WireError::TooLong`].
pub fn query_with(write: impl FnOnce(&mut Vec<u8>), out: &mut Vec<u8>) -> Result<(), WireError> {
    message(b'Q', out, |out| {
        write(out);
        out.push(0);
        Ok(())
    })
}

/// Parse: prepares statement `s<number>`; the server infers the types of its parameters.
///
/// # Errors
/// [`WireError::TooLong`].
pub fn parse(statement: u32, sql: &[u8], out: &mut Vec<u8>) -> Result<(), WireError> {
    message(b'P', out, |out| {
        statement_name(statement, out);
        text(sql, out);
        out.extend_from_slice(&0u16.to_be_bytes());
        Ok(())
    })
}

/// Describe of statement `s<number>`: says whether it returns rows, and how many columns.
///
/// # Errors
/// [`WireError::TooLong`].
pub fn describe(statement: u32, out: &mut Vec<u8>) -> Result<(), WireError> {
    message(b'D', out, |out| {
        out.push(b'S');
        statement_name(statement, out);
        Ok(())
    })
}

/// Bind of statement `s<number>` to the unnamed portal: all values and results as text.
///
/// `write` appends one value; `false`: it is NULL, and nothing was appended.
///
/// # Errors
/// [`WireError::TooLong`], also for more values than the protocol can count.
pub fn bind<V>(
    statement: u32,
    values: impl ExactSizeIterator<Item = V>,
    mut write: impl FnMut(V, &mut Vec<u8>) -> bool,
    out: &mut Vec<u8>,
) -> Result<(), WireError> {
    let count = values.len();
    if count > VALUES_MAX {
        return Err(WireError::TooLong { found: count as u64, limit: VALUES_MAX as u64 });
    }
    message(b'B', out, |out| {
        out.push(0);
        statement_name(statement, out);
        out.extend_from_slice(&0u16.to_be_bytes());
        out.extend_from_slice(&(count as u16).to_be_bytes());
        for value in values {
            let start = out.len();
            out.extend_from_slice(&(-1i32).to_be_bytes());
            if write(value, out) {
                let size = checked(out.len() - start - 4)?;
                out[start..start + 4].copy_from_slice(&size);
            }
        }
        out.extend_from_slice(&0u16.to_be_bytes());
        Ok(())
    })
}

/// Execute of the unnamed portal: all its rows.
pub fn execute(out: &mut Vec<u8>) {
    out.extend_from_slice(b"E\0\0\0\x09\0\0\0\0\0");
}

/// Close of statement `s<number>`.
///
/// # Errors
/// [`WireError::TooLong`].
pub fn close(statement: u32, out: &mut Vec<u8>) -> Result<(), WireError> {
    message(b'C', out, |out| {
        out.push(b'S');
        statement_name(statement, out);
        Ok(())
    })
}

/// Sync: ends a request of the extended protocol; ReadyForQuery answers it.
pub fn sync(out: &mut Vec<u8>) {
    out.extend_from_slice(b"S\0\0\0\x04");
}

/// Terminate: ends the session.
pub fn terminate(out: &mut Vec<u8>) {
    out.extend_from_slice(b"X\0\0\0\x04");
}

/// CopyData: a piece of a COPY, split anywhere.
///
/// # Errors
/// [`WireError::TooLong`].
pub fn copy_data(data: &[u8], out: &mut Vec<u8>) -> Result<(), WireError> {
    copy_data_with(|out| out.extend_from_slice(data), out)
}

/// CopyData, written in place by the caller.
///
/// # Errors
/// [`WireError::TooLong`].
pub fn copy_data_with(
    write: impl FnOnce(&mut Vec<u8>),
    out: &mut Vec<u8>,
) -> Result<(), WireError> {
    message(b'd', out, |out| {
        write(out);
        Ok(())
    })
}

/// CopyDone: the COPY is complete.
pub fn copy_done(out: &mut Vec<u8>) {
    out.extend_from_slice(b"c\0\0\0\x04");
}

/// CopyFail: cancels the COPY; the server answers with an error that contains `reason`.
///
/// # Errors
/// [`WireError::TooLong`].
pub fn copy_fail(reason: &str, out: &mut Vec<u8>) -> Result<(), WireError> {
    message(b'f', out, |out| {
        text(reason.as_bytes(), out);
        Ok(())
    })
}

fn message(
    tag: u8,
    out: &mut Vec<u8>,
    write: impl FnOnce(&mut Vec<u8>) -> Result<(), WireError>,
) -> Result<(), WireError> {
    let start = out.len();
    out.push(tag);
    let result = body(out, write);
    if result.is_err() {
        out.truncate(start);
    }
    result
}

/// A length that includes itself, then what `write` appends.
fn body(
    out: &mut Vec<u8>,
    write: impl FnOnce(&mut Vec<u8>) -> Result<(), WireError>,
) -> Result<(), WireError> {
    let start = out.len();
    out.extend_from_slice(&[0; 4]);
    let result = write(out).and_then(|()| checked(out.len() - start));
    match result {
        Ok(size) => {
            out[start..start + 4].copy_from_slice(&size);
            Ok(())
        }
        Err(error) => {
            out.truncate(start);
            Err(error)
        }
    }
}

/// A length that excludes itself, then what `write` appends.
fn counted(out: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>)) -> Result<(), WireError> {
    let start = out.len();
    out.extend_from_slice(&[0; 4]);
    write(out);
    let size = checked(out.len() - start - 4)?;
    out[start..start + 4].copy_from_slice(&size);
    Ok(())
}

fn checked(size: usize) -> Result<[u8; 4], WireError> {
    if size > MESSAGE_SIZE_MAX {
        return Err(WireError::TooLong { found: size as u64, limit: MESSAGE_SIZE_MAX as u64 });
    }
    Ok((size as u32).to_be_bytes())
}

fn text(value: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(value);
    out.push(0);
}

fn statement_name(statement: u32, out: &mut Vec<u8>) {
    out.push(b's');
    out.extend_from_slice(itoa::Buffer::new().format(statement).as_bytes());
    out.push(0);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::backend;

    fn written(write: impl FnOnce(&mut Vec<u8>) -> Result<(), WireError>) -> Vec<u8> {
        let mut out = Vec::new();
        write(&mut out).unwrap();
        out
    }

    #[test]
    fn messages_are_as_the_manual_says() {
        assert_eq!(written(|out| query(b"SELECT 1", out)), b"Q\0\0\0\x0dSELECT 1\0");
        assert_eq!(written(|out| parse(7, b"SELECT 1", out)), b"P\0\0\0\x12s7\0SELECT 1\0\0\0");
        assert_eq!(written(|out| describe(7, out)), b"D\0\0\0\x08Ss7\0");
        assert_eq!(written(|out| close(10, out)), b"C\0\0\0\x09Ss10\0");
        assert_eq!(written(|out| copy_data(b"1\t2\n", out)), b"d\0\0\0\x081\t2\n");
        assert_eq!(written(|out| copy_fail("no", out)), b"f\0\0\0\x07no\0");
        assert_eq!(
            written(|out| startup(&[("user", "u")], out)),
            b"\0\0\0\x10\0\x03\0\0user\0u\0\0"
        );
        assert_eq!(
            written(|out| sasl_initial("SCRAM-SHA-256", b"n,,", out)),
            b"p\0\0\0\x19SCRAM-SHA-256\0\0\0\0\x03n,,"
        );
    }

    #[test]
    fn bind_counts_its_values_and_marks_nulls() {
        let values = [Some(&b"42"[..]), None, Some(b"")];
        let bytes = written(|out| {
            bind(
                3,
                values.into_iter(),
                |value, out| {
                    out.extend_from_slice(value.unwrap_or_default());
                    value.is_some()
                },
                out,
            )
        });
        let expected = b"B\0\0\0\x1c\0s3\0\0\0\0\x03\0\0\0\x0242\xff\xff\xff\xff\0\0\0\0\0\0";
        assert_eq!(bytes, expected);
    }

    #[test]
    fn what_cannot_be_sent_leaves_no_trace() {
        let mut out = b"before".to_vec();
        let values = vec![(); VALUES_MAX + 1];
        let error = bind(1, values.into_iter(), |(), _| false, &mut out).unwrap_err();
        assert_eq!(error, WireError::TooLong { found: 65_536, limit: 65_535 });
        assert_eq!(out, b"before");
        let limit = MESSAGE_SIZE_MAX as u64;
        let too_long = WireError::TooLong { found: limit + 1, limit };
        assert_eq!(checked(MESSAGE_SIZE_MAX + 1), Err(too_long));
        let failed = message(b'B', &mut out, |out| {
            out.extend_from_slice(b"half");
            Err(too_long)
        });
        assert_eq!((failed, out.as_slice()), (Err(too_long), &b"before"[..]));
    }

    /// A Bind's statement and its values.
    type Bound<'a> = (&'a [u8], Vec<Option<Vec<u8>>>);

    /// A Bind of ours, read as a server reads it.
    fn bound_values(mut body: &[u8]) -> Option<Bound<'_>> {
        let (portal, rest) = backend::split_text(body)?;
        let (statement, rest) = backend::split_text(rest)?;
        let (formats, rest) = rest.split_first_chunk::<2>()?;
        body = rest;
        assert_eq!((portal, formats), (&b""[..], &[0; 2]));
        let mut values = Vec::new();
        let count = backend::column_count(body).ok()?;
        let all_but_formats = &body[..body.len() - 2];
        backend::data_row(all_but_formats, |value| values.push(value.map(<[u8]>::to_vec))).ok()?;
        assert_eq!((values.len(), &body[body.len() - 2..]), (usize::from(count), &[0; 2][..]));
        Some((statement, values))
    }

    proptest! {
        #[test]
        fn what_is_bound_can_be_read_back(
            statement in any::<u32>(),
            values in prop::collection::vec(
                prop::option::of(prop::collection::vec(any::<u8>(), 0..40)), 0..12),
        ) {
            let write = |value: &Option<Vec<u8>>, out: &mut Vec<u8>| {
                out.extend_from_slice(value.as_deref().unwrap_or_default());
                value.is_some()
            };
            let mut out = b"before".to_vec();
            bind(statement, values.iter(), write, &mut out).unwrap();
            let (tag, body) = backend::message(&out[6..]).unwrap().unwrap();
            prop_assert_eq!(tag, b'B');
            prop_assert_eq!(6 + backend::HEADER_SIZE + body.len(), out.len());
            let (name, found) = bound_values(body).unwrap();
            prop_assert_eq!(String::from_utf8_lossy(name), format!("s{statement}"));
            prop_assert_eq!(found, values);
        }

        #[test]
        fn requests_are_framed_whatever_they_hold(
            text in prop::collection::vec(1..=255u8, 0..80),
            statement in any::<u32>(),
        ) {
            let mut out = Vec::new();
            query(&text, &mut out).unwrap();
            parse(statement, &text, &mut out).unwrap();
            describe(statement, &mut out).unwrap();
            execute(&mut out);
            sync(&mut out);
            close(statement, &mut out).unwrap();
            copy_data(&text, &mut out).unwrap();
            copy_done(&mut out);
            terminate(&mut out);
            let (mut rest, mut tags) = (&out[..], Vec::new());
            while let Some((tag, body)) = backend::message(rest).unwrap() {
                tags.push(tag);
                rest = &rest[backend::HEADER_SIZE + body.len()..];
            }
            prop_assert_eq!((tags.as_slice(), rest.len()), (&b"QPDESCdcX"[..], 0));
        }
    }
}
