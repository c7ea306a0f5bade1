//! Option values: from text to typed value and back.

use std::collections::BTreeMap;

use crate::options::Kind;

/// A typed value.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// On or off.
    Bool(bool),
    /// A whole number.
    Int(i64),
    /// Bytes or another size.
    Size(u64),
    /// Any number.
    Double(f64),
    /// Text.
    Text(String),
    /// A list of words.
    List(Vec<String>),
}

/// Values by option name, with underscores.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Values(pub BTreeMap<String, Value>);

/// Parses a value; `None` if it is not of this kind.
pub fn read(kind: Kind, text: &str) -> Option<Value> {
    match kind {
        Kind::Bool => match text {
            "" | "on" | "true" | "1" => Some(Value::Bool(true)),
            "off" | "false" | "0" => Some(Value::Bool(false)),
            _ => None,
        },
        Kind::Int => text.parse::<i32>().ok().map(|number| Value::Int(number.into())),
        Kind::Size => size(text).map(Value::Size),
        Kind::Double => {
            text.parse::<f64>().ok().filter(|number| number.is_finite()).map(Value::Double)
        }
        Kind::Text | Kind::File => Some(Value::Text(text.to_owned())),
        Kind::List => Some(Value::List(
            text.split(',')
                .map(str::trim)
                .filter(|word| !word.is_empty())
                .map(str::to_owned)
                .collect(),
        )),
    }
}

/// A number with an optional suffix K, M, G or T: powers of 1024.
fn size(text: &str) -> Option<u64> {
    let (digits, shift) = match text.chars().last()?.to_ascii_uppercase() {
        'K' => (&text[..text.len() - 1], 10),
        'M' => (&text[..text.len() - 1], 20),
        'G' => (&text[..text.len() - 1], 30),
        'T' => (&text[..text.len() - 1], 40),
        _ => (text, 0),
    };
    digits.parse::<u64>().ok()?.checked_mul(1 << shift)
}

impl Values {
    /// A switch; off if absent.
    pub fn on(&self, name: &str) -> bool {
        matches!(self.0.get(name), Some(Value::Bool(true)))
    }

    /// A whole number or size; 0 if absent.
    pub fn number(&self, name: &str) -> i64 {
        match self.0.get(name) {
            Some(Value::Int(number)) => *number,
            Some(Value::Size(number)) => i64::try_from(*number).unwrap_or(i64::MAX),
            _ => 0,
        }
    }

    /// A number; 0 if absent.
    pub fn double(&self, name: &str) -> f64 {
        match self.0.get(name) {
            Some(Value::Double(number)) => *number,
            _ => self.number(name) as f64,
        }
    }

    /// Text; empty if absent.
    pub fn text(&self, name: &str) -> &str {
        match self.0.get(name) {
            Some(Value::Text(text)) => text,
            _ => "",
        }
    }

    /// A list; empty if absent.
    pub fn list(&self, name: &str) -> &[String] {
        match self.0.get(name) {
            Some(Value::List(words)) => words,
            _ => &[],
        }
    }
}

impl Value {
    /// The value as a script's option.
    pub fn json(&self) -> serde_json::Value {
        match self {
            Self::Bool(on) => (*on).into(),
            Self::Int(number) => (*number).into(),
            Self::Size(number) => (*number).into(),
            Self::Double(number) => (*number).into(),
            Self::Text(text) => text.clone().into(),
            Self::List(words) => words.clone().into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_reads_what_the_field_writes_and_nothing_else() {
        assert_eq!(read(Kind::Bool, ""), Some(Value::Bool(true)));
        assert_eq!(read(Kind::Bool, "off"), Some(Value::Bool(false)));
        assert_eq!(read(Kind::Bool, "maybe"), None);
        assert_eq!(read(Kind::Int, "-3"), Some(Value::Int(-3)));
        assert_eq!(read(Kind::Int, "3000000000"), None);
        assert_eq!(read(Kind::Int, "1.5"), None);
        assert_eq!(read(Kind::Size, "64K"), Some(Value::Size(65_536)));
        assert_eq!(read(Kind::Size, "2g"), Some(Value::Size(2 << 30)));
        assert_eq!(read(Kind::Size, "K"), None);
        assert_eq!(read(Kind::Double, "0.2"), Some(Value::Double(0.2)));
        assert_eq!(read(Kind::List, ""), Some(Value::List(vec![])));
        assert_eq!(read(Kind::List, "a, b"), Some(Value::List(vec!["a".into(), "b".into()])));
    }
}
