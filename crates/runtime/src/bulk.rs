//! A multi-row INSERT collected row by row, and its batches in flight.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use driver::{BATCH_BYTES, CarrierError, Effect, Form};

use crate::loaders::{Looked, Numbers, Place};

/// Session settings and effects that a loader's connection has to share.
#[derive(Debug, Default)]
pub(crate) struct SessionState {
    pub(crate) private: bool,
    pub(crate) settings: Vec<Vec<u8>>,
}

impl SessionState {
    /// Notes a statement sent on the session.
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
    /// Until fewer batches are in flight.
    Room,
    /// Until no batch is in flight.
    All,
}

/// Batches sent over loader connections.
#[derive(Debug)]
pub(crate) struct Fleet {
    pub(crate) numbers: Arc<Numbers>,
    /// The engine numbers the rows.
    pub(crate) numbered: bool,
    pub(crate) forms: Arc<[Form]>,
    /// The text before the rows as the script wrote it.
    pub(crate) prefix: Arc<[u8]>,
    /// Where the rows of the batch begin, if the engine numbers them.
    pub(crate) starts: Vec<u32>,
    /// Sets back the table's counter after a batch that was refused.
    pub(crate) reset: Option<Arc<str>>,
    /// The server's native load means the same as the INSERT, and no batch of it was refused.
    pub(crate) loads: bool,
    pub(crate) outstanding: u32,
    pub(crate) wait: Wait,
    pub(crate) failed: Option<CarrierError>,
    /// Buffers of finished batches, for reuse.
    pub(crate) spare: Vec<Vec<u8>>,
}

/// A multi-row INSERT.
#[derive(Debug, Default)]
pub(crate) struct Bulk {
    /// The batch sent last, or being collected.
    pub(crate) text: Vec<u8>,
    /// The table name as the script wrote it; `None`: not a plain INSERT.
    pub(crate) into: Option<Arc<str>>,
    /// Length of the text before the rows, bytes.
    pub(crate) prefix: usize,
    /// Rows collected and not sent.
    pub(crate) rows: u64,
    /// Rows sent and not yet acknowledged.
    pub(crate) sent: u64,
    /// Identifies this bulk insert within the shard.
    pub(crate) ticket: u64,
    /// Where loaders must connect to carry its batches.
    pub(crate) place: Option<Arc<Place>>,
    /// Its table from the catalog, until the first row decides the route.
    pub(crate) looked: Option<Looked>,
    /// Set if its batches travel over loader connections.
    pub(crate) fleet: Option<Fleet>,
    /// A batch is sent once its text has reached this size, bytes.
    pub(crate) batch_bytes: usize,
}

/// What happened to a row of a bulk insert.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Row {
    /// It was added to the batch.
    Taken,
    /// It was added, and the batch is large enough to send.
    Full,
    /// No bulk insert was started.
    NoInsert,
    /// The text isn't exactly one row.
    NotOne,
}

impl Bulk {
    /// Starts a bulk insert with the text before its rows.
    pub(crate) fn begin(&mut self, prefix: &[u8]) {
        let text = std::mem::take(&mut self.text);
        let (into, batch_bytes) = (driver::table_of(prefix), BATCH_BYTES);
        *self = Self { text, into, batch_bytes, ..Self::default() };
        self.text.clear();
        self.text.extend_from_slice(prefix);
        self.text.push(b' ');
        self.prefix = self.text.len();
    }

    /// Adds a row, with its parentheses.
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
        if self.text.len() >= self.batch_bytes { Row::Full } else { Row::Taken }
    }

    /// Appends a row, with its number if the engine numbers the rows; `false`: it isn't one row.
    fn append_values(&mut self, values: &[u8]) -> bool {
        match &mut self.fleet {
            Some(Fleet { numbers, numbered: true, starts, .. }) => {
                if !driver::is_one_row(values) {
                    return false;
                }
                let number = numbers.next.fetch_add(1, Ordering::Relaxed);
                starts.push(self.text.len() as u32);
                self.text.push(b'(');
                self.text.extend_from_slice(itoa::Buffer::new().format(number).as_bytes());
                self.text.push(b',');
                self.text.extend_from_slice(&values.trim_ascii_start()[1..]);
            }
            _ => self.text.extend_from_slice(values),
        }
        true
    }

    /// The first row decides which route all rows take.
    #[inline]
    fn choose_route(&mut self, values: &[u8]) {
        if let Some(looked) = self.looked.take() {
            self.take_route(looked, values);
        }
    }

    fn take_route(&mut self, looked: Looked, values: &[u8]) {
        let Looked { table, may_number, numbers } = looked;
        let route = table.route(&self.text[..self.prefix], values);
        let Some(route) = route.filter(|route| may_number || !route.numbered) else { return };
        let own = std::mem::replace(&mut self.text, route.prefix);
        self.fleet = Some(Fleet {
            prefix: own[..self.prefix].into(),
            starts: Vec::new(),
            reset: route.reset.map(Arc::from),
            numbers,
            numbered: route.numbered,
            forms: route.forms.into(),
            loads: route.loads,
            outstanding: 0,
            wait: Wait::Nothing,
            failed: None,
            spare: Vec::new(),
        });
        self.prefix = self.text.len();
        self.batch_bytes = route.batch_bytes;
    }
}
