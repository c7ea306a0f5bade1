//! Where a block ends: by its columns' types and numbers of rows, without looking into values.

use crate::backend::{Block, column};
use crate::kind::{element_type, elements};
use crate::reader::{Reader, complete};
use crate::{Kind, TEXT_SIZE_MAX, WireError, typed};

/// Bytes of a column's values: no block is as large.
const COLUMN_SIZE_MAX: u64 = 1 << 40;
/// The longest name of a type that nests, bytes.
const NESTED_SIZE_MAX: usize = 64 * 1024;
/// Bytes of an array's end.
const OFFSET: u64 = 8;

/// What of a block is still to be passed. Empty at first: a block without columns.
#[derive(Debug, Default)]
pub struct Extent {
    rows: u64,
    columns: u64,
    /// Of the column that is being passed, the next step last.
    steps: Vec<Step>,
}

#[derive(Debug)]
enum Step {
    /// So many bytes.
    Skip(u64),
    /// So many strings.
    Texts(u64),
    /// The ends of so many arrays, then their elements, of the named type.
    Arrays(u64, Box<[u8]>),
    /// So many values of the named type.
    Column(u64, Box<[u8]>),
}

impl Extent {
    /// Begins a block.
    pub fn begin(&mut self, block: Block) {
        (self.rows, self.columns) = (block.rows, block.columns);
        self.steps.clear();
    }

    /// Begins the values of a single column, whose head has passed.
    ///
    /// # Errors
    /// [`WireError::UnknownType`], or for more values than there can be.
    pub fn begin_column(&mut self, rows: u64, type_name: &[u8]) -> Result<(), WireError> {
        (self.rows, self.columns) = (rows, 0);
        self.steps.clear();
        self.push(rows, type_name)
    }

    /// Passes what `bytes` hold of the block; they begin where the last call ended. Returns how
    /// many have passed, which may be more than there are, and whether the block ends there.
    ///
    /// # Errors
    /// [`WireError`] if no block continues like that.
    pub fn advance(&mut self, bytes: &[u8]) -> Result<(usize, bool), WireError> {
        let mut at = 0;
        loop {
            let Some(step) = self.steps.last_mut() else {
                if self.columns == 0 {
                    return Ok((at, true));
                }
                let Some(rest) = bytes.get(at..) else { return Ok((at, false)) };
                let Some((_, type_name, size)) = column(rest)? else { return Ok((at, false)) };
                self.columns -= 1;
                at += size;
                self.push(self.rows, type_name)?;
                continue;
            };
            match step {
                Step::Skip(size) => at = further(at, *size)?,
                Step::Texts(left) => {
                    while *left > 0 {
                        let Some(rest) = bytes.get(at..) else { return Ok((at, false)) };
                        let mut reader = Reader::new(rest);
                        let size = complete(reader.text_size(TEXT_SIZE_MAX))?;
                        let Some(size) = size else { return Ok((at, false)) };
                        at += reader.at + size;
                        *left -= 1;
                    }
                }
                Step::Arrays(rows, inner) => {
                    let size = (*rows * OFFSET) as usize;
                    let ends = bytes.get(at..).and_then(|rest| rest.get(..size));
                    let Some(ends) = ends else { return Ok((at, false)) };
                    let last = ends.last_chunk().map_or(0, |last| u64::from_le_bytes(*last));
                    at += size;
                    *step = Step::Column(last, std::mem::take(inner));
                    continue;
                }
                Step::Column(rows, type_name) => {
                    let (rows, type_name) = (*rows, std::mem::take(type_name));
                    self.steps.pop();
                    self.push(rows, &type_name)?;
                    continue;
                }
            }
            self.steps.pop();
        }
    }

    fn push(&mut self, rows: u64, type_name: &[u8]) -> Result<(), WireError> {
        let typed = typed(type_name).ok_or(WireError::UnknownType)?;
        let size = rows.saturating_mul(typed.kind.size().unwrap_or(OFFSET));
        if size > COLUMN_SIZE_MAX {
            return Err(WireError::TooLong { found: size, limit: COLUMN_SIZE_MAX });
        }
        let nests = typed.kind.size().is_none() && typed.kind != Kind::Text;
        if nests && type_name.len() > NESTED_SIZE_MAX {
            return Err(WireError::UnknownType);
        }
        match typed.kind {
            Kind::Text => self.steps.push(Step::Texts(rows)),
            Kind::Array => self.steps.push(Step::Arrays(rows, typed.arguments.into())),
            Kind::Map => {
                let pair = [b"Tuple(", typed.arguments, b")"].concat();
                self.steps.push(Step::Arrays(rows, pair.into()));
            }
            Kind::Tuple => {
                let start = self.steps.len();
                let columns = elements(typed.arguments).map(element_type);
                self.steps.extend(columns.map(|name| Step::Column(rows, name.into())));
                self.steps[start..].reverse();
            }
            _ => self.steps.push(Step::Skip(size)),
        }
        if typed.nullable {
            self.steps.push(Step::Skip(rows));
        }
        Ok(())
    }
}

fn further(at: usize, size: u64) -> Result<usize, WireError> {
    let size = usize::try_from(size).ok();
    size.and_then(|size| at.checked_add(size)).ok_or(WireError::Malformed("size of a block"))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::frontend;

    fn passed(block: Block, columns: &[u8]) -> Result<(usize, bool), WireError> {
        let mut extent = Extent::default();
        extent.begin(block);
        extent.advance(columns)
    }

    fn one(type_name: &str, rows: u64, values: &[u8]) {
        let mut bytes = Vec::new();
        frontend::column(b"c", type_name.as_bytes(), &mut bytes);
        bytes.extend_from_slice(values);
        let block = Block { columns: 1, rows };
        assert_eq!(passed(block, &bytes), Ok((bytes.len(), true)), "{type_name}");
        // However the bytes are cut.
        for cut in 0..bytes.len() {
            let mut extent = Extent::default();
            extent.begin(block);
            let (first, done) = extent.advance(&bytes[..cut]).unwrap();
            let rest = bytes.get(first..).unwrap_or_default();
            let (second, ended) = if done { (0, true) } else { extent.advance(rest).unwrap() };
            assert_eq!((first + second, ended), (bytes.len(), true), "{type_name} cut at {cut}");
        }
    }

    #[test]
    fn a_block_ends_with_its_last_column() {
        one("UInt32", 2, &[0; 8]);
        one("String", 3, b"\0\x01a\x03abc");
        one("Nullable(UInt16)", 2, &[0, 1, 7, 0, 0, 0]);
        one("Array(String)", 2, b"\x01\0\0\0\0\0\0\0\x03\0\0\0\0\0\0\0\x01a\0\x01b");
        one("Array(UInt8)", 0, b"");
        one(
            "Array(Array(UInt8))",
            1,
            &[&[1, 0, 0, 0, 0, 0, 0, 0], &[2, 0, 0, 0, 0, 0, 0, 0, 5, 6][..]].concat(),
        );
        one("Tuple(a UInt8, b String)", 2, b"\x01\x02\x01a\x01b");
        one("Map(String, UInt8)", 1, b"\x01\0\0\0\0\0\0\0\x01k\x09");
        assert_eq!(passed(Block { columns: 0, rows: 0 }, b"x"), Ok((0, true)));
    }

    #[test]
    fn claims_have_limits() {
        let column = |type_name: &str| {
            let mut bytes = Vec::new();
            frontend::column(b"", type_name.as_bytes(), &mut bytes);
            bytes
        };
        let rows = u64::MAX;
        assert!(passed(Block { columns: 1, rows }, &column("UInt8")).is_err());
        let unknown = column("AggregateFunction(uniq, UInt8)");
        let block = Block { columns: 1, rows: 1 };
        assert_eq!(passed(block, &unknown), Err(WireError::UnknownType));
        let deep = format!("{}UInt8{}", "Array(".repeat(20_000), ")".repeat(20_000));
        assert_eq!(passed(block, &column(&deep)), Err(WireError::UnknownType));
    }

    proptest! {
        #![proptest_config(ProptestConfig {
            failure_persistence: None,
            cases: if cfg!(miri) { 32 } else { 4096 },
            ..ProptestConfig::default()
        })]

        /// Whatever follows a column's head, it is passed, awaited or refused.
        #[test]
        fn no_bytes_are_too_much(
            rows in any::<u16>(),
            type_name in "(Array|Map|Tuple|Nullable)\\((String|UInt8|Date, String)\\)|String|[A-Z]",
            bytes in prop::collection::vec(any::<u8>(), 0..200),
        ) {
            let mut input = Vec::new();
            frontend::column(b"c", type_name.as_bytes(), &mut input);
            input.extend_from_slice(&bytes);
            let _ = passed(Block { columns: 2, rows: u64::from(rows) }, &input);
        }
    }
}
