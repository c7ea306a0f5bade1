//! Makes a built-in test of its name and options.

use std::sync::Arc;

use super::client::Client;
use super::cpu::Cpu;
use super::figures::Figures;
use super::fileio::{FileClient, FileIo, Settings};
use super::locks::{Mutexes, Threads};
use super::memory::Memory;
use super::options::options;
use crate::command_line::{CommandLine, Refusal};
use crate::help::test_help;
use crate::value::{Values, read};

/// Makes a client from its number and the number of clients.
pub type MakeClient = Arc<dyn Fn(u32, u32) -> Result<Box<dyn Client>, String> + Send + Sync>;

/// A built-in test, ready to run.
pub struct BuiltinTest {
    /// Its clients.
    pub make: MakeClient,
    /// Its part of the report.
    pub figures: Arc<dyn Figures>,
}

/// The test's options, added to the command's.
///
/// # Errors
/// An option that the test does not have, or an invalid value.
pub fn values(line: &CommandLine, name: &str) -> Result<Values, Refusal> {
    let mut values = line.values.clone();
    for given in &line.others {
        let known = options(name).iter().find(|option| option.name == given.name);
        let Some(option) = known else {
            return Err(Refusal(format!("invalid option: {}", given.written)));
        };
        let text = given.value.as_deref().unwrap_or_default();
        let Some(value) = read(option.kind, text) else {
            let dashed = option.name.replace('_', "-");
            return Err(Refusal(format!("Invalid value for the '{dashed}' option: '{text}'")));
        };
        values.0.insert(option.name.to_owned(), value);
    }
    for option in options(name) {
        if let Some(value) = read(option.kind, option.default) {
            values.0.entry(option.name.to_owned()).or_insert(value);
        }
    }
    Ok(values)
}

/// Makes the test of this name; `seed` applies if none is given.
///
/// # Errors
/// A value is invalid.
pub fn test(name: &str, values: &Values, seed: u64) -> Result<BuiltinTest, Refusal> {
    let fatal = |message: String| Refusal(format!("FATAL: {message}"));
    match name {
        "cpu" => {
            let cpu = Arc::new(Cpu::new(values).map_err(fatal)?);
            let make = Arc::clone(&cpu);
            Ok(BuiltinTest {
                make: Arc::new(move |_, _| Ok(Box::new((*make).clone()))),
                figures: cpu,
            })
        }
        "memory" => {
            let memory = Arc::new(Memory::new(values).map_err(fatal)?);
            let make = Arc::clone(&memory);
            Ok(BuiltinTest {
                make: Arc::new(move |number, clients| Ok(Box::new(make.client(number, clients)?))),
                figures: memory,
            })
        }
        "threads" => {
            let threads = Arc::new(Threads::new(values).map_err(fatal)?);
            let make = Arc::clone(&threads);
            Ok(BuiltinTest {
                make: Arc::new(move |number, _| Ok(Box::new(make.client(number)))),
                figures: threads,
            })
        }
        "mutex" => {
            let mutexes = Arc::new(Mutexes::new(values).map_err(fatal)?);
            let make = Arc::clone(&mutexes);
            Ok(BuiltinTest {
                make: Arc::new(move |number, _| Ok(Box::new(make.client(number)))),
                figures: mutexes,
            })
        }
        "fileio" => {
            let settings = Settings::new(values, seed).map_err(fatal)?;
            if settings.mode.is_none() {
                let help = test_help(name);
                let message = "FATAL: Missing required argument: --file-test-mode";
                return Err(Refusal(format!("{message}\n\n{help}")));
            }
            let test = Arc::new(FileIo::new(settings));
            let make = Arc::clone(&test);
            Ok(BuiltinTest {
                make: Arc::new(move |number, _| Ok(Box::new(FileClient::new(&make, number)?))),
                figures: test,
            })
        }
        other => Err(fatal(format!("no built-in test is called '{other}'"))),
    }
}
