//! Parameters of prepared statements.

/// One bound parameter. Borrowed: encoding copies it into the request at once.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Value<'a> {
    /// SQL NULL.
    Null,
    /// Any integer type.
    Int(i64),
    /// An integer beyond the largest of 64 bits with a sign.
    Unsigned(u64),
    /// FLOAT and DOUBLE.
    Double(f64),
    /// CHAR, VARCHAR and the time types, as text.
    Bytes(&'a [u8]),
}
