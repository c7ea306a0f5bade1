//! A multi-row INSERT that is put together row by row, and the batches of it under way.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use driver::{CarrierError, Effect, Form};

use crate::loaders::{Looked, Numbers, Place};

/// A batch is sent when its text has grown to so many bytes.
const BULK_BYTES: usize = 512 * 1024;

/// What a session has been told that another one would have to know.
#[derive(Debug, Default)]
pub(crate) struct Surroundings {
    pub(crate) private: bool,
    pub(crate) settings: Vec<Vec<u8>>,
}

impl Surroundings {
    /// A statement was sent on it.
    pub(crate) fn note(&mut self, sql: &[u8]) {
        match driver::effect(sql) {
            Effect::None => {}
            Effect::Setting => self.settings.push(sql.to_vec()),
            Effect::Private => self.private = true,
        }
    }
}

/// What the client waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wait {
    Nothing,
    /// Until not too many batches are under way.
    Room,
    /// Until none is.
    All,
}

/// Batches that travel over other connections.
#[derive(Debug)]
pub(crate) struct Fleet {
    pub(crate) numbers: Arc<Numbers>,
    /// Rows get their number from us.
    pub(crate) numbered: bool,
    pub(crate) forms: Arc<[Form]>,
    pub(crate) outstanding: u32,
    pub(crate) wait: Wait,
    pub(crate) failed: Option<CarrierError>,
    /// Memory of batches that have arrived.
    pub(crate) spare: Vec<Vec<u8>>,
}

/// A multi-row INSERT.
#[derive(Debug, Default)]
pub(crate) struct Bulk {
    /// What was sent last, or grows to be sent next.
    pub(crate) text: Vec<u8>,
    /// The table's name, as the script wrote it; `None`: the INSERT isn't plain.
    pub(crate) into: Option<Arc<str>>,
    /// Bytes of it before the rows.
    pub(crate) prefix: usize,
    /// Rows in it that are not sent.
    pub(crate) rows: u64,
    /// Rows in it that are sent and not answered for.
    pub(crate) sent: u64,
    /// The server refused to load it in its own way.
    pub(crate) refused: bool,
    /// Of this bulk insert, among all of the shard.
    pub(crate) ticket: u64,
    /// Where its batches may be carried.
    pub(crate) place: Option<Arc<Place>>,
    /// Its table, until the first row has come.
    pub(crate) looked: Option<Looked>,
    /// Its batches travel over other connections.
    pub(crate) fleet: Option<Fleet>,
}

/// What became of a row of a bulk insert.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Row {
    /// It is part of the batch.
    Taken,
    /// The batch is large enough to be sent.
    Full,
    /// No bulk insert has begun.
    NoInsert,
    /// It isn't one row.
    NotOne,
}

impl Bulk {
    /// Begins a bulk insert with the text before its rows.
    pub(crate) fn begin(&mut self, prefix: &[u8]) {
        let text = std::mem::take(&mut self.text);
        *self = Self { text, into: driver::table_of(prefix), ..Self::default() };
        self.text.clear();
        self.text.extend_from_slice(prefix);
        self.text.push(b' ');
        self.prefix = self.text.len();
    }

    /// Takes a row, with its parentheses.
    pub(crate) fn append(&mut self, values: &[u8]) -> Row {
        if self.prefix == 0 {
            return Row::NoInsert;
        }
        self.choose_route(values);
        if self.rows > 0 {
            self.text.push(b',');
        } else {
            self.text.truncate(self.prefix);
        }
        if !self.append_values(values) {
            return Row::NotOne;
        }
        self.rows += 1;
        if self.text.len() >= BULK_BYTES { Row::Full } else { Row::Taken }
    }

    /// Appends a row, with its number if that is ours to give; `false`: it isn't one row.
    fn append_values(&mut self, values: &[u8]) -> bool {
        match &self.fleet {
            Some(Fleet { numbers, numbered: true, .. }) => {
                if !driver::is_one_row(values) {
                    return false;
                }
                let number = numbers.next.fetch_add(1, Ordering::Relaxed);
                self.text.push(b'(');
                self.text.extend_from_slice(itoa::Buffer::new().format(number).as_bytes());
                self.text.push(b',');
                self.text.extend_from_slice(&values.trim_ascii_start()[1..]);
            }
            _ => self.text.extend_from_slice(values),
        }
        true
    }

    /// The first row decides on the way that all of them take.
    #[inline]
    fn choose_route(&mut self, values: &[u8]) {
        if let Some(looked) = self.looked.take() {
            self.take_route(looked, values);
        }
    }

    fn take_route(&mut self, Looked { table, numbers }: Looked, values: &[u8]) {
        let Some(route) = table.route(&self.text[..self.prefix], values) else { return };
        self.text = route.prefix;
        self.prefix = self.text.len();
        self.fleet = Some(Fleet {
            numbers,
            numbered: route.numbered,
            forms: route.forms.into(),
            outstanding: 0,
            wait: Wait::Nothing,
            failed: None,
            spare: Vec::new(),
        });
    }
}
