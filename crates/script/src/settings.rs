//! What scripts learn about the run: the prelude's second argument, and the user's options.

use std::ffi::c_int;

use mlua_sys as ffi;
use serde_json::Value;

use crate::config::{Config, Figures, plain};
use crate::lua::{self, State};

/// The version of sysbench whose API this is, as scripts see it.
const API_VERSION: &str = "1.0.20";

/// Drivers, by the names scripts use.
const DRIVERS: [&str; 6] = ["mysql", "pgsql", "sqlite", "duckdb", "clickhouse", "null"];

/// Pushes the prelude's second argument: what it can't find out itself.
pub(crate) unsafe fn push_settings(state: *mut State, config: &Config) {
    let first = &config.groups[0];
    // SAFETY: upheld by the caller.
    unsafe {
        ffi::lua_createtable(state, 0, 6);
        if !config.command.is_empty() {
            set_text(state, "command", &config.command);
        }
        if let Some(order) = &config.context.compiler {
            set_text(state, "compiler", order);
        }
        set_text(state, "version", API_VERSION);
        set_text(state, "version_string", &format!("sysbench {API_VERSION}"));
        set_text(state, "script_path", &first.path.display().to_string());
        set_text(state, "not_text", NOT_TEXT);
        if config.context.telling.is_some() {
            set_text(state, "drop_in", "sysbench");
        }
        if let Some(driver) = &config.context.driver
            && !DRIVERS.contains(&driver.as_str())
        {
            set_text(state, "unknown_driver", driver);
        }
        ffi::lua_createtable(state, 1, 0);
        let own = [first.path.display().to_string()];
        let given = &config.context.arguments;
        let arguments = if given.is_empty() { &own[..] } else { given };
        for (index, argument) in arguments.iter().enumerate() {
            lua::push_bytes(state, argument.as_bytes());
            ffi::lua_rawseti_(state, -2, index as c_int);
        }
        ffi::lua_setfield(state, -2, c"argv".as_ptr());
        ffi::lua_createtable(state, 0, 24);
        push_general(state, config);
        for (name, value) in &config.context.general {
            lua::push_bytes(state, name.as_bytes());
            push_json(state, value);
            ffi::lua_rawset(state, -3);
        }
        ffi::lua_setfield(state, -2, c"general".as_ptr());
    }
}

/// Message for an error value without a text.
pub const NOT_TEXT: &str =
    "error() was called with a value that is not a string; expected an error message";

/// Options that every script sees besides its own.
unsafe fn push_general(state: *mut State, config: &Config) {
    use record::Endpoint;
    let target = &config.connections.target;
    let (driver, server) = (target.name(), target.server());
    // SAFETY: upheld by the caller: the table is on top of the stack.
    unsafe {
        set_number(state, "threads", f64::from(config.connections.part.clients));
        set_number(state, "events", config.events as f64);
        set_number(state, "time", config.measure_s);
        set_number(state, "warmup_time", config.warm_up_s);
        set_number(state, "report_interval", 1.0);
        set_number(state, "percentile", 95.0);
        set_number(state, "rand_seed", config.seed as f64);
        set_number(state, "rate", 0.0);
        set_text(state, "db_driver", driver);
        set_text(state, "db_ps_mode", "auto");
        let Some(server) = server else { return };
        set_text(state, &format!("{driver}_user"), &server.user);
        set_text(state, &format!("{driver}_db"), &server.database);
        if let Some(Endpoint::Tcp { host, port }) = server.endpoints.first() {
            set_text(state, &format!("{driver}_host"), host);
            set_number(state, &format!("{driver}_port"), f64::from(*port));
        }
    }
}

unsafe fn set_text(state: *mut State, name: &str, value: &str) {
    // SAFETY: upheld by the caller: a table is on top of the stack.
    unsafe {
        lua::push_bytes(state, name.as_bytes());
        lua::push_bytes(state, value.as_bytes());
        ffi::lua_rawset(state, -3);
    }
}

unsafe fn set_number(state: *mut State, name: &str, value: f64) {
    // SAFETY: upheld by the caller: a table is on top of the stack.
    unsafe {
        lua::push_bytes(state, name.as_bytes());
        ffi::lua_pushnumber(state, value);
        ffi::lua_rawset(state, -3);
    }
}

/// Pushes a table of the user's options.
pub(crate) unsafe fn push_options<'a>(
    state: *mut State,
    options: impl Iterator<Item = (&'a String, &'a Value)>,
) {
    // SAFETY: upheld by the caller.
    unsafe {
        ffi::lua_createtable(state, 0, 8);
        for (name, value) in options {
            lua::push_bytes(state, name.as_bytes());
            match value {
                Value::Number(number) => lua::push_bytes(state, number.to_string().as_bytes()),
                other => push_json(state, other),
            }
            ffi::lua_rawset(state, -3);
        }
    }
}

/// Pushes a JSON value as Lua's; list elements become strings.
unsafe fn push_json(state: *mut State, value: &Value) {
    // SAFETY: upheld by the caller.
    unsafe {
        match value {
            Value::Bool(on) => ffi::lua_pushboolean(state, c_int::from(*on)),
            Value::Number(number) => ffi::lua_pushnumber(state, number.as_f64().unwrap_or(0.0)),
            Value::Array(words) => {
                ffi::lua_createtable(state, words.len() as c_int, 0);
                for (index, word) in words.iter().enumerate() {
                    lua::push_bytes(state, plain(word).as_bytes());
                    ffi::lua_rawseti_(state, -2, index as c_int + 1);
                }
            }
            other => lua::push_bytes(state, plain(other).as_bytes()),
        }
    }
}

/// Pushes a table of figures, or nil.
pub(crate) unsafe fn push_figures(state: *mut State, figures: Option<&Figures>) {
    // SAFETY: upheld by the caller.
    unsafe {
        let Some(figures) = figures else { return ffi::lua_pushnil(state) };
        ffi::lua_createtable(state, 0, figures.len() as c_int);
        for (name, value) in figures {
            set_number(state, name, *value);
        }
    }
}
