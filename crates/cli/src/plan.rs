//! The verb `plan`: what `run` would do with a spec on this machine. It connects to no server and
//! reads no script.

use std::path::Path;
use std::process::ExitCode;

use engine::Failure;
use record::EnginePlan;
use runtime::Machine;

use crate::exit;
use crate::output::Output;
use crate::process;
use crate::run::{read_spec, refuse, usage};

/// Prints the plan of a spec, over `processes` processes if given.
pub fn plan(path: &Path, processes: Option<u32>) -> ExitCode {
    let mut output = match Output::take() {
        Ok(output) => output,
        Err(failure) => return exit::without_output(&failure),
    };
    match answer(path, processes) {
        Ok(plan) => {
            output.answer(&plan);
            ExitCode::SUCCESS
        }
        Err(failure) => refuse(&mut output, failure),
    }
}

fn answer(path: &Path, processes: Option<u32>) -> Result<EnginePlan, Failure> {
    let spec = read_spec(path)?;
    if let Some(count) = processes {
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
    let reactor = runtime::reactor_name(&spec, machine, processes)?;
    Ok(runtime::plan(&spec, machine, reactor, processes))
}
