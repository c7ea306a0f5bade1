//! Bulk inserts: `con:bulk_insert_init`, `_next`, `_done`.

use std::ffi::c_int;
use std::slice;
use std::sync::atomic::Ordering;

use mlua_sys as ffi;
use record::Target;

use super::connection::{finish, transmit};
use super::slot_argument;
use crate::conclude::Conclusion;
use crate::fleet::{Fleet, Wait};
use crate::host::current;
use crate::lua::{self, State, set_function};
use crate::random::{Random, name_number};
use crate::slot::{Bulk, Purpose};

/// A batch is sent when its text has grown to so many bytes.
const BULK_BYTES: usize = 512 * 1024;

pub(crate) unsafe fn register(state: *mut State) {
    // SAFETY: the caller's: the table is on top of the stack.
    unsafe {
        set_function(state, c"bulk_begin", bulk_begin);
        set_function(state, c"bulk_flush", bulk_flush);
        set_function(state, c"bulk_end", bulk_end);
        set_function(state, c"bulk_open", bulk_open);
    }
}

/// `host.bulk_begin(slot, prefix)`. The client's random numbers start anew from the seed and the
/// prefix, so that a table's rows don't depend on how many clients load.
unsafe extern "C-unwind" fn bulk_begin(state: *mut State) -> c_int {
    // SAFETY: called by the prelude.
    unsafe {
        let index = slot_argument(state, 1);
        let Some(prefix) = lua::bytes(state, 2) else {
            lua::raise(state, "con:bulk_insert_init() needs the text before the rows")
        };
        let host = current();
        let seed = host.config.seed;
        let id = host.current;
        host.clients[id].random = Random::new(seed, name_number(prefix));
        if let Some(slot) = host.slot(index) {
            let bulk = &mut slot.bulk;
            let text = std::mem::take(&mut bulk.text);
            *bulk = Bulk { text, into: driver::table_of(prefix), ..Bulk::default() };
            bulk.text.clear();
            bulk.text.extend_from_slice(prefix);
            bulk.text.push(b' ');
            bulk.prefix = bulk.text.len();
        }
        let conclusion = host.look(index);
        finish(state, index, conclusion)
    }
}

/// Takes a row of a bulk insert; called by compiled scripts (`native.lua`).
///
/// 0: taken; 1: taken, and it is time to flush; 2: none has begun; 3: it isn't one row.
pub(super) unsafe extern "C" fn append_row(index: u32, values: *const u8, len: usize) -> c_int {
    let Some(slot) = current().slot(index) else { return 0 };
    // SAFETY: a string of Lua's, that lives through the call.
    let values = unsafe { slice::from_raw_parts(values, len) };
    let bulk = &mut slot.bulk;
    if bulk.prefix == 0 {
        return 2;
    }
    bulk.choose_route(values);
    if bulk.rows > 0 {
        bulk.text.push(b',');
    } else {
        bulk.text.truncate(bulk.prefix);
    }
    if !append(bulk, values) {
        return 3;
    }
    bulk.rows += 1;
    c_int::from(bulk.text.len() >= BULK_BYTES)
}

/// Appends a row, with its number if that is ours to give; `false`: it isn't one row.
fn append(bulk: &mut Bulk, values: &[u8]) -> bool {
    match &bulk.fleet {
        Some(Fleet { numbers, numbered: true, .. }) => {
            if !driver::is_one_row(values) {
                return false;
            }
            let number = numbers.next.fetch_add(1, Ordering::Relaxed);
            bulk.text.push(b'(');
            bulk.text.extend_from_slice(itoa::Buffer::new().format(number).as_bytes());
            bulk.text.push(b',');
            bulk.text.extend_from_slice(&values.trim_ascii_start()[1..]);
        }
        _ => bulk.text.extend_from_slice(values),
    }
    true
}

/// Sends what is there: nil, or false if it failed.
unsafe extern "C-unwind" fn bulk_flush(state: *mut State) -> c_int {
    // SAFETY: called by the prelude.
    unsafe {
        let index = slot_argument(state, 1);
        let host = current();
        // LOAD DATA takes numbers of an AUTO_INCREMENT column by the power of two: the same rows
        // would get other numbers than by INSERT. Loaders give them themselves.
        let loads = host.config.loads && !matches!(host.config.target, Target::Mysql(_));
        let Some(slot) = host.slot(index) else { return 0 };
        let bulk = &mut slot.bulk;
        if bulk.rows == 0 {
            return 0;
        }
        if bulk.fleet.is_some() {
            host.dispatch(index);
            let conclusion = host.await_fleet(index, Wait::Room);
            return finish(state, index, conclusion);
        }
        bulk.sent = std::mem::take(&mut bulk.rows);
        let text: *const [u8] = bulk.text.as_slice();
        let loads = loads && !bulk.refused;
        let purpose = if loads { Purpose::Load } else { Purpose::Insert };
        // The text stays as it is until the next row, which waits for the reply.
        transmit(state, index, purpose, |session, out| {
            let loaded = if loads { session.load(&*text, &[], out)? } else { None };
            loaded.map_or_else(|| session.query(&*text, out), Ok)
        })
    }
}

/// Waits until all rows are stored: nil, or false if some are not.
unsafe extern "C-unwind" fn bulk_end(state: *mut State) -> c_int {
    // SAFETY: called by the prelude.
    unsafe {
        let index = slot_argument(state, 1);
        let host = current();
        let mut conclusion = Conclusion::Nothing;
        if let Some(slot) = host.slot(index) {
            if slot.bulk.fleet.is_some() {
                conclusion = host.await_fleet(index, Wait::All);
            } else {
                slot.bulk = Bulk::default();
            }
        }
        finish(state, index, conclusion)
    }
}

/// A slot of the client's with a bulk insert whose end was not waited for, or nil.
unsafe extern "C-unwind" fn bulk_open(state: *mut State) -> c_int {
    let host = current();
    let own = host.clients[host.current].slots.clone();
    let open = own
        .into_iter()
        .find(|index| host.slot(*index).is_some_and(|slot| slot.bulk.fleet.is_some()));
    // SAFETY: a live state.
    unsafe {
        match open {
            Some(index) => ffi::lua_pushinteger(state, index as ffi::lua_Integer),
            None => ffi::lua_pushnil(state),
        }
    }
    1
}
