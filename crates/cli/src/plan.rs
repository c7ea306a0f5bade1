//! The verb `plan`: what `run` would do with specs on this machine. It connects to no server, and
//! reads scripts only if asked to.

use std::io::stdin;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use engine::Failure;
use record::{EnginePlan, RunSpec};
use runtime::Machine;
use script::{CommandContext, Config};

use crate::exit;
use crate::output::Output;
use crate::process;
use crate::run::{checked, config_failure, read_spec, refuse, usage};

/// What is asked besides the plan itself.
#[derive(Clone, Copy)]
pub struct Asked {
    /// Engine processes that share the run; `None`: as few as may open all their files.
    pub processes: Option<u32>,
    /// What the scripts say of their data.
    pub scripts: bool,
}

/// Prints the plan of a spec, or why there is none; with `-` that of each spec on standard input.
/// Returns the code of the first that is refused.
pub fn plan(path: &Path, asked: Asked) -> ExitCode {
    let mut output = match Output::take() {
        Ok(output) => output,
        Err(failure) => return exit::without_output(&failure),
    };
    let mut first_refusal = None;
    let mut answer_to = |spec: Result<RunSpec, Failure>| match spec.and_then(|s| answer(&s, asked))
    {
        Ok(plan) => output.answer(&plan),
        Err(failure) => {
            let code = refuse(&mut output, failure);
            first_refusal.get_or_insert(code);
        }
    };
    if path == Path::new("-") {
        let mut specs = serde_json::Deserializer::from_reader(stdin()).into_iter().peekable();
        if specs.peek().is_none() {
            answer_to(Err(usage("standard input holds no run spec".to_owned(), None)));
        }
        specs.for_each(|spec| answer_to(checked(spec)));
    } else {
        answer_to(read_spec(path));
    }
    first_refusal.unwrap_or(ExitCode::SUCCESS)
}

fn answer(spec: &RunSpec, asked: Asked) -> Result<EnginePlan, Failure> {
    if let Some(count) = asked.processes {
        let clients = spec.clients();
        if spec.part.is_some() {
            return Err(usage("the spec's `part` says how many processes there are".into(), None));
        }
        if count > clients {
            let message = format!("{clients} clients can't be divided among {count} processes");
            return Err(usage(message, None));
        }
    }
    let machine =
        Machine { cores: runtime::cores(), open_files_limit: process::open_files_limit() };
    let reactor = runtime::reactor_name(spec, machine, asked.processes)?;
    let mut plan = runtime::plan(spec, machine, reactor, asked.processes);
    if asked.scripts {
        let config = Config::new(spec, CommandContext::default()).map_err(config_failure)?;
        plan.volumes = script::volumes(Arc::new(config))?;
    }
    Ok(plan)
}
