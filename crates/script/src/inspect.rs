//! Inspects a script before anything is connected: options, commands, faults.

use std::ffi::c_int;
use std::path::Path;
use std::sync::Arc;

use engine::{Failure, ShardView};
use mlua_sys as ffi;
use record::{FatalKind, Volume};
use runtime::fault;

use crate::host::{forget_coroutine, prepare_coroutine, take_stuck, with};
use crate::lua::{self, State};
use crate::settings::push_options;
use crate::workload::ScriptWorkload;

impl ScriptWorkload {
    /// Inspects the scripts, in this shard's state.
    pub(crate) fn inspect(&mut self, view: &mut ShardView) -> Result<(), Failure> {
        self.parallel = self.look_at_scripts(view, None)?;
        Ok(())
    }

    /// Inspects the scripts and adds what each says of its data to `volumes`, if given.
    pub(crate) fn look_at_scripts(
        &self,
        view: &mut ShardView,
        mut volumes: Option<&mut Vec<Option<Volume>>>,
    ) -> Result<bool, Failure> {
        let mut parallel = self.parallel;
        let _entered = self.enter(view);
        let (config, entry) = with(|host| (Arc::clone(&host.config), host.prelude.inspect));
        for (index, group) in config.groups.iter().enumerate() {
            let client = with(|host| {
                (host.muted, host.looking) = (true, true);
                host.current = host.new_client(index as u16, 0, 0);
                host.current
            });
            // SAFETY: the host is not running; the coroutine is thrown away after one call.
            let verdict = unsafe {
                let thread = prepare_coroutine(client, entry);
                push_options(thread, group.options.iter());
                ffi::lua_pushboolean(thread, c_int::from(volumes.is_some()));
                match ffi::lua_resume_(thread, 3) {
                    ffi::LUA_OK => {
                        let found = verdict(thread, &group.path);
                        if let Some(volumes) = volumes.as_mut() {
                            volumes.push(volume(thread));
                        }
                        found
                    }
                    ffi::LUA_YIELD => {
                        let message =
                            "the script's body must not query or sleep: move it to a function";
                        Err(fault(FatalKind::Script, message.into(), None))
                    }
                    _ => Err(script_error(with(|host| host.main), thread)),
                }
            };
            forget_coroutine(client);
            with(|host| {
                host.coroutines.pop();
                host.runtime.remove_newest_client();
                (host.muted, host.looking) = (false, false);
            });
            parallel = verdict?;
        }
        Ok(parallel)
    }
}

/// Reads what the prelude's `inspect` returned.
unsafe fn verdict(thread: *mut State, path: &Path) -> Result<bool, Failure> {
    // SAFETY: upheld by the caller: the results are on the stack from 1.
    unsafe {
        if ffi::lua_type(thread, 1) != ffi::LUA_TNIL {
            return Ok(ffi::lua_toboolean(thread, 1) != 0);
        }
        let what = lua::describe(thread, 2);
        let name = lua::describe(thread, 3);
        let script = path.display();
        Err(match what.as_str() {
            "unknown" => {
                let message = format!("{script} has no option `{name}`");
                let hint = nearest(&name, &keys(thread, 4));
                Failure { hint, ..fault(FatalKind::Usage, message, None) }
            }
            "value" => {
                let (found, expected) = (lua::describe(thread, 4), lua::describe(thread, 5));
                let message = format!("option `{name}` is `{found}`; expected {expected}");
                fault(FatalKind::Usage, message, None)
            }
            "command" => no_command(&script.to_string(), &name, &keys(thread, 4)),
            _ => fault(FatalKind::Script, format!("{script}: {name}"), None),
        })
    }
}

/// What the script says of its data, behind the verdict.
unsafe fn volume(thread: *mut State) -> Option<Volume> {
    // SAFETY: upheld by the caller; what is above the top counts as nil.
    unsafe {
        let number = |index| {
            let is_there = ffi::lua_type(thread, index) == ffi::LUA_TNUMBER;
            is_there.then(|| ffi::lua_tonumber(thread, index))
        };
        let whole = |index| number(index).map(|value| value as u64);
        (ffi::lua_type(thread, 2) == ffi::LUA_TBOOLEAN).then(|| Volume {
            rows: whole(3),
            bytes: whole(4),
            event_bytes: number(5).unwrap_or(0.0),
            event_s: number(6),
            statements: whole(7).unwrap_or(0),
        })
    }
}

/// The script lacks the command; `names` are those it has.
fn no_command(script: &str, name: &str, names: &[String]) -> Failure {
    let message = format!("{script} has no `{name}`");
    let define = match name {
        "prepare" => {
            "define `function prepare() … end` there: it creates what events need, and is called \
             before a load; leave it empty if they need nothing"
        }
        "cleanup" => "define `function cleanup() … end` there: it removes what `prepare` created",
        _ => "functions named in `sysbench.cmdline.commands` are commands",
    };
    let has = match names {
        [] => String::new(),
        names => format!("; the script has: {}", names.join(", ")),
    };
    let hint = Some(format!("{define}{has}"));
    Failure { hint, ..fault(FatalKind::Usage, message, None) }
}

/// Names in a table, sorted.
unsafe fn keys(state: *mut State, index: c_int) -> Vec<String> {
    let mut names = Vec::new();
    // SAFETY: upheld by the caller; only keys that are strings are read.
    unsafe {
        if ffi::lua_type(state, index) != ffi::LUA_TTABLE {
            return names;
        }
        ffi::lua_pushnil(state);
        while ffi::lua_next(state, index) != 0 {
            ffi::lua_settop(state, -2);
            if ffi::lua_type(state, -1) == ffi::LUA_TSTRING {
                names.extend(lua::text(state, -1));
            }
        }
    }
    names.sort();
    names
}

/// A suggestion for a misspelt name, or all known names.
fn nearest(name: &str, known: &[String]) -> Option<String> {
    let best = known
        .iter()
        .map(|candidate| (strsim::damerau_levenshtein(name, candidate), candidate))
        .min()
        .filter(|(distance, _)| *distance <= name.len() / 2);
    match best {
        Some((_, candidate)) => Some(format!("did you mean `{candidate}`?")),
        None if known.is_empty() => Some("the script defines no options".into()),
        None => Some(format!("the script has: {}", known.join(", "))),
    }
}

/// An error in the script's body.
unsafe fn script_error(main: *mut State, thread: *mut State) -> Failure {
    if let Some(stuck) = take_stuck() {
        return stuck;
    }
    // SAFETY: upheld by the caller: the error value is on top of the stack.
    unsafe {
        let message = lua::describe(thread, -1);
        let traceback = Some(lua::traceback(main, thread).trim().to_owned());
        Failure { traceback, ..fault(FatalKind::Script, message, None) }
    }
}
