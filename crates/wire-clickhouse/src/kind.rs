//! Types of columns by their names, such as `Nullable(Decimal(9, 2))`.

/// What a column's values are, and how many bytes each takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// An integer with a sign, of so many bytes.
    Int(u8),
    /// An integer without a sign, of so many bytes.
    UInt(u8),
    /// 32 bits.
    Float32,
    /// 64 bits.
    Float64,
    /// A byte, 0 or 1.
    Bool,
    /// Days since 1970, two bytes.
    Date,
    /// The same with a sign, four bytes.
    Date32,
    /// Seconds since 1970, four bytes.
    DateTime,
    /// Units of 10^-scale seconds since 1970, eight bytes.
    DateTime64(u8),
    /// An integer of `size` bytes, in units of 10^-scale.
    Decimal {
        /// Bytes.
        size: u8,
        /// Digits of the fraction.
        scale: u8,
    },
    /// Two halves, each with its least byte first.
    Uuid,
    /// Bytes of one length.
    Fixed(u32),
    /// Bytes behind their length.
    Text,
    /// A number of one or two bytes, with names.
    Enum(u8),
    /// So many bytes that are only skipped.
    Opaque(u8),
    /// For each row where its elements end, eight bytes; then all elements.
    Array,
    /// The same with pairs of keys and values.
    Map,
    /// A column for each element.
    Tuple,
}

impl Kind {
    /// Bytes of a value; `None`: values differ in size.
    pub fn size(self) -> Option<u64> {
        Some(match self {
            Self::Bool => 1,
            Self::Date => 2,
            Self::Float32 | Self::Date32 | Self::DateTime => 4,
            Self::Float64 | Self::DateTime64(_) => 8,
            Self::Uuid => 16,
            Self::Int(size) | Self::UInt(size) | Self::Enum(size) | Self::Opaque(size) => {
                u64::from(size)
            }
            Self::Decimal { size, .. } => u64::from(size),
            Self::Fixed(size) => u64::from(size),
            Self::Text | Self::Array | Self::Map | Self::Tuple => return None,
        })
    }
}

/// A type, taken apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Typed<'a> {
    /// What its values are.
    pub kind: Kind,
    /// A byte for each row says whether it is NULL, before the values.
    pub nullable: bool,
    /// What stands in the parentheses of the type's name.
    pub arguments: &'a [u8],
}

/// The type of this name; `None`: there is no such type, or the size of its values is not known.
pub fn typed(name: &[u8]) -> Option<Typed<'_>> {
    let (base, arguments) = apart(name)?;
    if base == b"Nullable" {
        let inner = typed(arguments)?;
        let nests = matches!(inner.kind, Kind::Array | Kind::Map | Kind::Tuple);
        return (!inner.nullable && !nests).then_some(Typed { nullable: true, ..inner });
    }
    let kind = match base {
        b"UInt8" => Kind::UInt(1),
        b"UInt16" => Kind::UInt(2),
        b"UInt32" => Kind::UInt(4),
        b"UInt64" => Kind::UInt(8),
        b"UInt128" => Kind::UInt(16),
        b"Int8" => Kind::Int(1),
        b"Int16" => Kind::Int(2),
        b"Int32" => Kind::Int(4),
        b"Int64" => Kind::Int(8),
        b"Int128" => Kind::Int(16),
        b"Float32" => Kind::Float32,
        b"Float64" => Kind::Float64,
        b"Bool" => Kind::Bool,
        b"Date" => Kind::Date,
        b"Date32" => Kind::Date32,
        b"DateTime" => Kind::DateTime,
        b"DateTime64" => Kind::DateTime64(small(arguments)?),
        b"Decimal" => decimal(arguments)?,
        b"UUID" => Kind::Uuid,
        b"String" => Kind::Text,
        b"FixedString" => Kind::Fixed(digits(arguments)?),
        b"Enum8" => Kind::Enum(1),
        b"Enum16" => Kind::Enum(2),
        b"Nothing" => Kind::Opaque(1),
        b"IPv4" => Kind::Opaque(4),
        b"IPv6" => Kind::Opaque(16),
        b"Int256" | b"UInt256" => Kind::Opaque(32),
        b"Array" => Kind::Array,
        b"Map" => Kind::Map,
        b"Tuple" => Kind::Tuple,
        _ if base.starts_with(b"Interval") => Kind::Int(8),
        _ => return None,
    };
    Some(Typed { kind, nullable: false, arguments })
}

/// A name, and what stands in its parentheses.
fn apart(name: &[u8]) -> Option<(&[u8], &[u8])> {
    let Some(open) = name.iter().position(|byte| *byte == b'(') else { return Some((name, b"")) };
    let inner = name[open + 1..].strip_suffix(b")")?;
    Some((&name[..open], inner))
}

fn digits(text: &[u8]) -> Option<u32> {
    str::from_utf8(text.trim_ascii()).ok()?.parse().ok()
}

/// A number of digits, which stands first.
fn small(arguments: &[u8]) -> Option<u8> {
    let first = arguments.split(|byte| *byte == b',').next()?;
    digits(first).and_then(|found| u8::try_from(found).ok()).filter(|scale| *scale <= 9)
}

/// By the number of digits in all, and of those in the fraction.
fn decimal(arguments: &[u8]) -> Option<Kind> {
    let mut parts = arguments.split(|byte| *byte == b',');
    let (precision, scale) = (digits(parts.next()?)?, digits(parts.next()?)?);
    let size = match precision {
        0..=9 => 4,
        10..=18 => 8,
        19..=38 => 16,
        39..=76 => return Some(Kind::Opaque(32)),
        _ => return None,
    };
    let scale = u8::try_from(scale).ok().filter(|scale| *scale <= 38)?;
    Some(Kind::Decimal { size, scale })
}

/// The elements between commas that stand in no parentheses or quotes.
pub(crate) fn elements(arguments: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = Some(arguments).filter(|arguments| !arguments.is_empty());
    std::iter::from_fn(move || {
        let text = rest.take()?;
        let (mut depth, mut quoted, mut escaped) = (0_usize, false, false);
        for (at, byte) in text.iter().enumerate() {
            match byte {
                _ if escaped => escaped = false,
                b'\\' if quoted => escaped = true,
                b'\'' => quoted = !quoted,
                _ if quoted => {}
                b'(' => depth += 1,
                b')' => depth = depth.saturating_sub(1),
                b',' if depth == 0 => {
                    rest = Some(&text[at + 1..]);
                    return Some(text[..at].trim_ascii());
                }
                _ => {}
            }
        }
        Some(text.trim_ascii())
    })
}

/// The type of a tuple's element, which may have a name before it.
pub(crate) fn element_type(element: &[u8]) -> &[u8] {
    let space = element.iter().position(|byte| *byte == b' ');
    let named = typed(element).is_none();
    space.filter(|_| named).map_or(element, |space| element[space..].trim_ascii())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_are_known_by_their_names() {
        let check = |name: &str, kind, nullable| {
            let found = typed(name.as_bytes()).unwrap();
            assert_eq!((found.kind, found.nullable), (kind, nullable), "{name}");
        };
        check("UInt64", Kind::UInt(8), false);
        check("Nullable(String)", Kind::Text, true);
        check("FixedString(16)", Kind::Fixed(16), false);
        check("Decimal(9, 2)", Kind::Decimal { size: 4, scale: 2 }, false);
        check("Nullable(Decimal(38,10))", Kind::Decimal { size: 16, scale: 10 }, true);
        check("DateTime('Europe/Berlin')", Kind::DateTime, false);
        check("DateTime64(3, 'UTC')", Kind::DateTime64(3), false);
        check("Enum8('a,)' = 1, 'b' = -2)", Kind::Enum(1), false);
        check("Array(Nullable(Tuple(UInt8, String)))", Kind::Array, false);
        check("IntervalSecond", Kind::Int(8), false);
        for unknown in ["", "AggregateFunction(sum, UInt64)", "String(", "Nullable(Nullable(Date))"]
        {
            assert_eq!(typed(unknown.as_bytes()), None, "{unknown}");
        }
    }

    #[test]
    fn elements_end_at_commas_of_their_own() {
        let found: Vec<_> = elements(b"UInt8, Tuple(a, b), 'x,\\',y' = 1").collect();
        assert_eq!(found, [&b"UInt8"[..], b"Tuple(a, b)", b"'x,\\',y' = 1"]);
        assert_eq!(elements(b"").count(), 0);
        assert_eq!(element_type(b"name Nullable(String)"), b"Nullable(String)");
        assert_eq!(element_type(b"Decimal(9, 2)"), b"Decimal(9, 2)");
    }
}
