//! A failure in sysbench's words: by the function of the script's that failed.

use record::{Fatal, FatalKind};

/// How far the command has come.
pub(crate) struct Course<'a> {
    /// `None`: only the script's body runs.
    pub(crate) command: Option<&'a str>,
    /// The script defines it in `sysbench.cmdline.commands`.
    pub(crate) own_command: bool,
    /// The command is `run`.
    pub(crate) load: bool,
    /// Clients are being made.
    pub(crate) headed: bool,
    /// The load has begun.
    pub(crate) begun: bool,
}

/// The function that failed.
pub(crate) fn function<'a>(fatal: &'a Fatal, course: &Course<'a>) -> &'a str {
    match (fatal.callback.as_deref(), course.command) {
        (Some(callback), _) => callback,
        (None, Some(command)) if !course.load && !course.own_command => command,
        (None, _) if !course.load => "sysbench.cmdline.call_command",
        (None, _) if course.begun => "thread_run",
        (None, _) if course.headed => "thread_init",
        (None, _) => "init",
    }
}

/// The line that reports it.
pub(crate) fn line(fatal: &Fatal, function: &str, course: &Course<'_>) -> String {
    let plain = fatal.message.strip_prefix("syntax error: ");
    let message = match plain.unwrap_or(&fatal.message) {
        script::NOT_TEXT => "(not a string)",
        message => message,
    };
    let in_script = match fatal.kind {
        FatalKind::Statement | FatalKind::Connection => fatal.traceback.is_some(),
        FatalKind::Script => course.command.is_some(),
        _ => false,
    };
    match in_script {
        true => format!("FATAL: `{function}' function failed: {message}\n"),
        false => format!("FATAL: {message}\n"),
    }
}
