//! Requests a client can make on its connections.

use std::sync::Arc;

use driver::{ProtocolError, Sent, Session, StatementId, Value};
use engine::ShardView;
use record::{Endpoint, Target};

use crate::bulk::{Row, Wait};
use crate::client::Waiting;
use crate::given_up::over;
use crate::outcome::{Conclusion, Failed, Purpose};
use crate::reconnect::{connect_failure, fresh};
use crate::runtime::Runtime;

impl Runtime {
    /// Opens a connection. `Some`: the result is known at once; otherwise
    /// [`Wake::Connected`](crate::Wake) or `NotConnected` reports it.
    pub fn connect(&mut self, view: &mut ShardView, client: u32) -> Option<Result<u32, ()>> {
        self.connect_to(view, client, None)
    }

    /// [`Self::connect`] to the server's own kind at another address.
    pub fn connect_elsewhere(
        &mut self,
        view: &mut ShardView,
        client: u32,
        endpoint: Endpoint,
    ) -> Option<Result<u32, ()>> {
        let group = self.clients[client as usize].group;
        let target = self.settings.target_of(group).at(endpoint).map(Arc::new);
        self.connect_to(view, client, target)
    }

    fn connect_to(
        &mut self,
        view: &mut ShardView,
        client: u32,
        elsewhere: Option<Arc<Target>>,
    ) -> Option<Result<u32, ()>> {
        let (shard, shards) = self.shard();
        let ordinal = self.attempts.connections * u64::from(shards) + u64::from(shard);
        self.attempts.connections += 1;
        if let Some(connector) = &self.attempts.connector {
            let group = self.clients[client as usize].group;
            connector.connect(fresh(client), group, ordinal, false, elsewhere.clone());
            self.clients[client as usize].elsewhere = elsewhere;
            self.clients[client as usize].waiting = Waiting::Connection;
            return None;
        }
        let settings = &self.settings;
        let outcome = driver::connect(&settings.target, ordinal, settings.connect_timeout)
            .map_err(|error| {
                self.tell_connection(view, &error);
                connect_failure(&self.settings.target, &error)
            })
            .and_then(|mut connected| {
                connected.session.end_statements_when(over(view));
                self.adopt_connection(client, ordinal, connected)
            });
        Some(outcome.map_err(|failure| self.failures.cause = Some(failure)))
    }

    /// Sends statement text, which may hold several statements.
    ///
    /// # Errors
    /// The session rejects the request; nothing was sent.
    pub fn query(
        &mut self,
        view: &mut ShardView,
        index: u32,
        sql: &[u8],
    ) -> Result<Conclusion, ProtocolError> {
        self.note_effect(index, sql);
        self.ask(view, index, Purpose::Statement, |session, out| session.query(sql, out))
    }

    /// Sends a command to a server of keys: its name, then its arguments.
    ///
    /// # Errors
    /// The session rejects the request; nothing was sent.
    #[inline]
    pub fn command<'a>(
        &mut self,
        view: &mut ShardView,
        index: u32,
        words: impl ExactSizeIterator<Item = Value<'a>>,
    ) -> Result<Conclusion, ProtocolError> {
        self.ask(view, index, Purpose::Statement, |session, out| session.command(words, out))
    }

    /// Sends a command to a server of documents: a document of BSON, for a database or the
    /// target's.
    ///
    /// # Errors
    /// The session rejects the request; nothing was sent.
    #[inline]
    pub fn document(
        &mut self,
        view: &mut ShardView,
        index: u32,
        command: &[u8],
        database: Option<&[u8]>,
    ) -> Result<Conclusion, ProtocolError> {
        self.ask(view, index, Purpose::Statement, |session, out| {
            session.document(command, database, out)
        })
    }

    /// Executes a prepared statement.
    ///
    /// # Errors
    /// The session rejects the request; nothing was sent.
    #[inline]
    pub fn execute<'a>(
        &mut self,
        view: &mut ShardView,
        index: u32,
        statement: StatementId,
        values: impl ExactSizeIterator<Item = Value<'a>>,
    ) -> Result<Conclusion, ProtocolError> {
        self.ask(view, index, Purpose::Statement, |session, out| {
            session.execute(statement, values, out)
        })
    }

    /// Closes a prepared statement.
    ///
    /// # Errors
    /// The session rejects the request; nothing was sent.
    pub fn close_statement(
        &mut self,
        view: &mut ShardView,
        index: u32,
        statement: StatementId,
    ) -> Result<Conclusion, ProtocolError> {
        self.ask(view, index, Purpose::Close, |session, out| {
            session.close_statement(statement, out)
        })
    }

    /// Prepares a statement with `?` placeholders.
    pub fn prepare(&mut self, view: &mut ShardView, index: u32, sql: &[u8]) -> Conclusion {
        self.note_effect(index, sql);
        if let Some(slot) = self.slot(index).filter(|slot| slot.broken) {
            let why = slot.unasked.take();
            return self.lost(view, index, why.as_deref().unwrap_or("the server closed it"));
        }
        let mut id = StatementId(0);
        let sent = self.send(view, index, Purpose::Close, |session, out| {
            let (prepared, sent) = session.prepare(sql, out)?;
            id = prepared;
            Ok(sent)
        });
        // The statement's id is known only once the request is encoded, and reading the reply needs
        // it.
        if let Some(slot) = self.slot(index) {
            slot.purpose = Purpose::Prepare(id);
        }
        let conclusion = self.concluded(view, index, sent);
        self.awaited(index, conclusion)
    }

    /// Drops the connection and reconnects, preparing its statements again; no error is counted.
    pub fn reconnect(&mut self, view: &mut ShardView, index: u32) -> Conclusion {
        self.drop_socket(index);
        if let Some(slot) = self.slot(index) {
            slot.failed = None;
        }
        self.begin_reconnect(view, index);
        self.awaited(index, Conclusion::Later)
    }

    /// What failed, if the last conclusion for this client was [`Conclusion::Failed`].
    pub fn failure(&mut self, client: u32) -> Option<Failed> {
        let failed = self.failures.failed.take()?;
        let client = &mut self.clients[client as usize];
        client.limit = failed.decision.limit;
        client.back_off = failed.decision.action == record::ErrorAction::Retry;
        if client.attempts >= client.limit {
            client.last = failed.told();
        }
        Some(failed)
    }

    /// Starts a bulk insert; `prefix` is the text before its rows.
    pub fn begin_rows(&mut self, index: u32, prefix: &[u8]) -> Conclusion {
        if let Some(slot) = self.slot(index) {
            slot.bulk.begin(prefix);
        }
        let conclusion = self.look(index);
        self.awaited(index, conclusion)
    }

    /// Adds a row, with its parentheses, to the bulk insert.
    #[inline]
    pub fn append_row(&mut self, index: u32, values: &[u8]) -> Row {
        self.slot(index).map_or(Row::Taken, |slot| slot.bulk.append(values))
    }

    /// Sends the rows collected so far.
    ///
    /// # Errors
    /// The session rejects the request; nothing was sent.
    pub fn flush_rows(
        &mut self,
        view: &mut ShardView,
        index: u32,
    ) -> Result<Conclusion, ProtocolError> {
        let Some(slot) = self.slot(index) else { return Ok(Conclusion::Nothing) };
        if slot.bulk.rows == 0 {
            return Ok(Conclusion::Nothing);
        }
        if slot.bulk.fleet.is_some() {
            self.dispatch(index);
            let conclusion = self.await_fleet(view, index, Wait::Room);
            return Ok(self.awaited(index, conclusion));
        }
        slot.bulk.sent = std::mem::take(&mut slot.bulk.rows);
        let text = std::mem::take(&mut slot.bulk.text);
        // A database in process has no loaders: its session loads by itself, if it can.
        let loads = self.settings.loads && !self.settings.networked();
        let concluded = self.ask(view, index, Purpose::Insert, |session, out| {
            let loaded = if loads { session.load(&text, &[], out)? } else { None };
            loaded.map_or_else(|| session.query(&text, out), Ok)
        });
        // The text stays until the next row, which waits for the reply.
        if let Some(slot) = self.slot(index)
            && slot.bulk.text.is_empty()
        {
            slot.bulk.text = text;
        }
        concluded
    }

    /// Waits until all rows are stored and ends the bulk insert.
    pub fn end_rows(&mut self, view: &mut ShardView, index: u32) -> Conclusion {
        let Some(slot) = self.slot(index) else { return Conclusion::Nothing };
        if slot.bulk.fleet.is_some() {
            let conclusion = self.await_fleet(view, index, Wait::All);
            return self.awaited(index, conclusion);
        }
        slot.bulk = crate::bulk::Bulk::default();
        Conclusion::Nothing
    }

    /// A connection of the client that has a bulk insert not yet waited for.
    pub fn open_rows(&self, client: u32) -> Option<u32> {
        let own = &self.clients[client as usize].slots;
        let open = |index: &&u32| {
            let slot = self.slots.get(**index);
            slot.is_some_and(|slot| slot.bulk.fleet.is_some())
        };
        own.iter().find(open).copied()
    }

    /// Notes what the statement changes in the session: connections that carry its rows must know.
    #[inline]
    fn note_effect(&mut self, index: u32, sql: &[u8]) {
        if self.settings.loads
            && let Some(slot) = self.slot(index)
        {
            slot.session_state.note(sql);
        }
    }

    /// Sends a request, or appends it to the connection's pipeline.
    #[inline]
    fn ask(
        &mut self,
        view: &mut ShardView,
        index: u32,
        purpose: Purpose,
        encode: impl FnOnce(&mut Session, &mut Vec<u8>) -> Result<Sent, ProtocolError>,
    ) -> Result<Conclusion, ProtocolError> {
        let Some(slot) = self.slot(index) else { return Ok(Conclusion::Nothing) };
        if slot.broken {
            let why = slot.unasked.take();
            let why = why.as_deref().unwrap_or("the server closed it between two statements");
            let conclusion = self.lost(view, index, why);
            return Ok(self.awaited(index, conclusion));
        }
        if slot.pipeline.is_some() {
            return self.join(view, index, purpose, encode);
        }
        let sent = self.send(view, index, purpose, encode)?;
        let conclusion = self.concluded(view, index, Ok(sent));
        Ok(self.awaited(index, conclusion))
    }

    /// Marks the client as waiting if the conclusion is still to come.
    #[inline]
    pub(crate) fn awaited(&mut self, index: u32, conclusion: Conclusion) -> Conclusion {
        if conclusion == Conclusion::Later {
            self.wait_for_reply(index);
        }
        conclusion
    }
}
