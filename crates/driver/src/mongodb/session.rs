//! Commands of a session with MongoDB, and their answers.

use wire_mongodb::answer::{Answer, answer, length};
use wire_mongodb::message;

use super::command::class_of_document;
use super::error::server_error;
use crate::error::ProtocolError;
use crate::reply::{Class, Progress, Reply, Sent};

const NO_NAME: ProtocolError = ProtocolError::Misuse("a command's document begins with its name");
const OUTSTANDING: ProtocolError = ProtocolError::Misuse("a reply is still outstanding");
const NO_ANSWER: ProtocolError =
    ProtocolError::Malformed("message: it answers another command than the last");

/// A session with a server that speaks MongoDB's protocol.
#[derive(Debug)]
pub struct MongodbSession {
    /// The database of commands that name none.
    database: Box<str>,
    /// Number of the last command.
    request: i32,
    /// The class of the command whose answer is outstanding.
    expect: Option<Class>,
}

impl MongodbSession {
    /// A session in the state after the handshake.
    pub(crate) fn new(database: &str, request: i32) -> Self {
        Self { database: database.into(), request, expect: None }
    }

    /// See [`crate::Session::document`].
    pub fn document(
        &mut self,
        command: &[u8],
        database: Option<&[u8]>,
        out: &mut Vec<u8>,
    ) -> Result<Sent, ProtocolError> {
        if self.expect.is_some() {
            return Err(OUTSTANDING);
        }
        let class = class_of_document(command).ok_or(NO_NAME)?;
        let request = self.request.wrapping_add(1);
        let database = database.unwrap_or(self.database.as_bytes());
        message::command(request, command, database, out)?;
        (self.request, self.expect) = (request, Some(class));
        Ok(Sent::Waiting)
    }

    /// See [`crate::Session::feed`].
    pub fn feed(&mut self, buffer: &[u8]) -> Result<Progress, ProtocolError> {
        let Some(message) = message::message(buffer)? else { return Ok(Progress::More) };
        let class = self.expect.take().filter(|_| message.answers == self.request);
        let reply = reply(class.ok_or(NO_ANSWER)?, &answer(message.document)?)?;
        Ok(Progress::Done { reply, consumed: message.size })
    }

    /// See [`crate::Session::answer`].
    pub fn answer<'a>(&self, reply: &'a [u8]) -> Result<Option<&'a [u8]>, ProtocolError> {
        Ok(message::message(reply)?.map(|message| message.document))
    }
}

/// What an answer comes to.
fn reply(class: Class, answer: &Answer<'_>) -> Result<Reply, ProtocolError> {
    let mut reply = Reply::default();
    if let Some(refusal) = &answer.refusal {
        reply.error = Some(Box::new(server_error(answer, refusal)));
        return Ok(reply);
    }
    reply.tally.count(class);
    reply.class = Some(class);
    // There is something to read: the answer itself.
    reply.columns = 1;
    let documents = answer.cursor.map(|cursor| cursor.batch).or(answer.values);
    reply.rows = match documents {
        Some(array) if !array.is_empty() => length(array)?,
        _ => 0,
    };
    if class == Class::Write {
        let changed = answer.modified.unwrap_or(answer.count);
        reply.affected = u64::try_from(changed).unwrap_or(0) + answer.upserted;
    }
    Ok(reply)
}

#[cfg(test)]
mod tests;
