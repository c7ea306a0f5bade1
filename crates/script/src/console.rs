//! A script outside of the load: what it defines, and its hooks for intermediate reports.
//!
//! The script's body runs in a state of its own, on the caller's thread; its output is discarded
//! unless it fails.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};

use engine::{Control, Failure, Group, Message, Plan, ShardView, System};
use mlua_sys as ffi;
use record::FatalKind;
use runtime::fault;

use crate::api::output::flush_line;
use crate::config::{Config, Figures};
use crate::host::{prepare_coroutine, with};
use crate::lua;
use crate::settings::push_options;
use crate::workload::{ScriptWorkload, globals_of};

/// What a script defines.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Facts {
    /// It has an options table: any other option is unknown.
    pub has_options: bool,
    /// The options.
    pub options: Vec<OptionFacts>,
    /// Commands, and whether all clients run them in parallel.
    pub commands: Vec<(String, bool)>,
    /// Functions the host calls that the script defines.
    pub functions: Vec<String>,
    /// Report hooks that the script sets.
    pub hooks: Vec<String>,
}

/// An option of a script.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OptionFacts {
    /// Its name as written.
    pub name: String,
    /// `bool`, `int`, `size`, `double`, `text`, `list` or `file`.
    pub kind: String,
    /// The script's description.
    pub help: String,
    /// The default as text.
    pub default: Option<String>,
}

/// A script and the load its hooks run with.
pub struct Console {
    workload: ScriptWorkload,
    view: ShardView,
    inbox: Receiver<Message>,
    facts: Facts,
}

/// A plan for a load that never begins.
pub(crate) fn no_load() -> Plan {
    let group =
        Group { name: "console".to_owned(), clients: 1, arrivals: None, idle: false, think_ns: 0 };
    Plan {
        warm_up_ns: 0,
        measure_ns: None,
        interval_ns: u64::MAX,
        drain_ns: 0,
        patience_ns: u64::MAX,
        hurried_drain_ns: 0,
        events: None,
        seed: 0,
        groups: vec![group],
        part: (0, 1),
        wait_for_begin: false,
        turns: false,
        client_totals_at: None,
    }
}

impl Console {
    /// Runs the body of the first script.
    ///
    /// # Errors
    /// The script does not compile, or its body fails: what it wrote before, and why.
    pub fn open(config: Arc<Config>) -> Result<Self, (Vec<String>, Failure)> {
        let (sender, inbox) = channel();
        let (_, spare) = channel();
        let plan = no_load();
        let control = Arc::new(Control::new(&plan, System::default()));
        let view = ShardView::new(&plan, control, 0, 1, sender, spare);
        let workload =
            ScriptWorkload::new(config, 0, 1).map_err(|failure| (Vec::new(), failure))?;
        let mut console = Self { workload, view, inbox, facts: Facts::default() };
        let described = console.describe();
        console.flush();
        let written = console.written();
        match described {
            Ok(()) => Ok(console),
            Err(failure) => Err((written, failure)),
        }
    }

    /// What the script defines.
    pub fn facts(&self) -> &Facts {
        &self.facts
    }

    fn describe(&mut self) -> Result<(), Failure> {
        let _entered = self.workload.enter(&mut self.view);
        let (config, main, entry) = with(|host| {
            host.looking = true;
            host.current = 0;
            // Report hooks run as a client numbered after all others.
            host.coroutines[0].number = host.config.connections.part.clients;
            (Arc::clone(&host.config), host.main, host.prelude.describe)
        });
        // SAFETY: the host is not running; the coroutine is kept until the end.
        let text = unsafe {
            let thread = prepare_coroutine(0, entry);
            let globals = globals_of(main, thread);
            with(|host| host.globals = globals);
            push_options(thread, config.groups[0].options.iter());
            match ffi::lua_resume_(thread, 2) {
                ffi::LUA_OK => lua::describe(thread, -1),
                // The body waits for a database; the load will report it.
                ffi::LUA_YIELD => String::new(),
                _ => return Err(fault(FatalKind::Script, lua::describe(thread, -1), None)),
            }
        };
        with(|host| host.looking = false);
        self.facts = Facts::read(&text);
        Ok(())
    }

    /// Calls one of the script's report hooks; returns what it wrote, and the error that it raised.
    pub fn report(&mut self, hook: &str, figures: &Figures) -> (Vec<String>, Result<(), Failure>) {
        let outcome = self.workload.run_hook(&mut self.view, hook, Some(figures));
        if outcome.is_err() {
            self.flush();
        }
        (self.written(), outcome)
    }

    /// Closes what report hooks have left open; returns what that wrote.
    ///
    /// # Errors
    /// Currently none.
    pub fn close(&mut self) -> Result<Vec<String>, Failure> {
        self.workload.run_hook(&mut self.view, "", None)?;
        self.flush();
        Ok(self.written())
    }

    fn flush(&mut self) {
        let _entered = self.workload.enter(&mut self.view);
        flush_line();
    }

    fn written(&mut self) -> Vec<String> {
        let lines = self.inbox.try_iter().filter_map(|message| match message {
            Message::Output(text) => Some(text),
            _ => None,
        });
        lines.collect()
    }
}

impl Facts {
    /// Parses the output of the prelude's `describe`.
    fn read(text: &str) -> Self {
        let mut facts = Self::default();
        for line in text.lines() {
            let parts: Vec<&str> = line.split('\t').collect();
            match parts.as_slice() {
                ["options"] => facts.has_options = true,
                ["option", name, kind, help, default @ ..] => facts.options.push(OptionFacts {
                    name: (*name).to_owned(),
                    kind: (*kind).to_owned(),
                    help: (*help).to_owned(),
                    default: default.first().map(|default| (*default).to_owned()),
                }),
                ["command", name, how] => {
                    facts.commands.push(((*name).to_owned(), *how == "parallel"));
                }
                ["function", name] => facts.functions.push((*name).to_owned()),
                ["hook", name] => facts.hooks.push((*name).to_owned()),
                _ => {}
            }
        }
        facts
    }
}
