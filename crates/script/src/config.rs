//! What all shards know of the run: the spec, read and checked once.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use record::RunSpec;
use runtime::Telling;
use serde_json::Value;

use crate::random::{Distributions, Kind};
use crate::source;

/// A run as the script host sees it.
#[derive(Debug, Clone)]
pub struct Config {
    pub(crate) command: String,
    pub(crate) connections: Arc<runtime::Settings>,
    pub(crate) groups: Vec<GroupConfig>,
    pub(crate) seed: u64,
    pub(crate) warm_up_s: f64,
    pub(crate) measure_s: f64,
    pub(crate) events: u64,
    pub(crate) context: CommandContext,
}

/// Figures by name, for a script's report hooks.
pub type Figures = Vec<(&'static str, f64)>;

/// What the command that runs a script adds to the spec: it stands on its command line, or is the
/// command's own.
#[derive(Debug, Clone, Default)]
pub struct CommandContext {
    /// The only group's script, if it does not come from a file.
    pub source: Option<Vec<u8>>,
    /// Options that scripts see besides their own definitions.
    pub general: BTreeMap<String, Value>,
    /// The command line, starting with the program's name.
    pub arguments: Vec<String>,
    /// The driver's name as scripts see it; `None`: the target's.
    pub driver: Option<String>,
    /// LuaJIT's compiler setting before scripts run, in the syntax of its `-j`.
    pub compiler: Option<String>,
    /// Figures for the final report hook; set before the end of the clients is announced.
    pub final_report: Option<Arc<Mutex<Option<Figures>>>>,
    /// The words for failures that end the run, which are printed at once unless the script catches
    /// them: a script that retries for ever still says why. `None`: they are not printed.
    pub telling: Option<Arc<dyn Telling>>,
}

/// One group's script and options.
#[derive(Debug, Clone)]
pub struct GroupConfig {
    pub(crate) path: PathBuf,
    pub(crate) source: Vec<u8>,
    /// Where its modules are searched, as in `package.path`.
    pub(crate) module_path: String,
    pub(crate) options: BTreeMap<String, Value>,
    pub(crate) clients: u32,
    pub(crate) reconnect_every: u64,
    pub(crate) reconnect_every_turns: u32,
    pub(crate) distributions: Distributions,
}

/// Why a spec can't be turned into a workload. The user can fix each of them.
#[derive(Debug, Clone, PartialEq)]
pub enum ConfigError {
    /// No such script.
    NoScript {
        /// Its name as given.
        name: String,
        /// Every path tried.
        tried: Vec<PathBuf>,
    },
    /// The script exists but can't be read.
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The reason.
        error: String,
    },
    /// An option of the `rand_` family is invalid.
    Option {
        /// Its name.
        name: String,
        /// Its value.
        found: String,
        /// The values it takes.
        expected: &'static str,
    },
}

impl Config {
    /// Reads the scripts a spec names.
    ///
    /// # Errors
    /// [`ConfigError`], before any connection is made.
    pub fn new(spec: &RunSpec, context: CommandContext) -> Result<Self, ConfigError> {
        let groups = spec
            .groups
            .iter()
            .map(|group| {
                let (path, source) = match &context.source {
                    Some(source) => (PathBuf::from(&group.script), source.clone()),
                    None => read_script(group)?,
                };
                let mut options: BTreeMap<_, _> = group
                    .options
                    .iter()
                    .map(|(name, value)| (name.replace('-', "_"), value.clone()))
                    .collect();
                Ok(GroupConfig {
                    module_path: source::module_path(&path, &group.script_path),
                    path,
                    source,
                    distributions: distributions(&mut options)?,
                    options,
                    clients: group.clients,
                    reconnect_every: group.reconnect_every,
                    reconnect_every_turns: group.reconnect_every_turns,
                })
            })
            .collect::<Result<_, _>>()?;
        let connections = runtime::Settings::new(spec, context.telling.clone());
        Ok(Self {
            command: spec.command.clone(),
            connections: Arc::new(connections),
            groups,
            seed: spec.seed,
            warm_up_s: spec.warm_up_s,
            measure_s: spec.measure_s.unwrap_or(0.0),
            events: spec.events.unwrap_or(0),
            context,
        })
    }

    /// In-process databases block the caller, so each client needs a thread of its own.
    pub fn one_client_a_shard(&self) -> bool {
        self.connections.one_client_a_shard()
    }

    /// The first group's script file.
    pub fn script_path(&self) -> &std::path::Path {
        &self.groups[0].path
    }

    /// Whether sessions have sockets.
    pub fn networked(&self) -> bool {
        self.connections.networked()
    }

    /// Clients of this process, over all groups.
    pub fn clients(&self) -> u32 {
        self.groups.iter().map(|group| group.clients).sum()
    }

    /// Group and number within the run of each client of a shard: clients are dealt to the shards
    /// in turn.
    pub(crate) fn clients_of(&self, shard: u32, shards: u32) -> Vec<(usize, u32)> {
        let part = self.connections.part;
        let groups = self.groups.iter().enumerate();
        groups
            .flat_map(|(index, group)| (0..group.clients).map(move |_| index))
            .enumerate()
            .filter(|(number, _)| *number as u32 % shards == shard)
            .map(|(number, group)| (group, number as u32 * part.count + part.index))
            .collect()
    }
}

fn read_script(group: &record::Group) -> Result<(PathBuf, Vec<u8>), ConfigError> {
    let path = source::find(&group.script, &group.script_path)
        .map_err(|tried| ConfigError::NoScript { name: group.script.clone(), tried })?;
    match std::fs::read(&path) {
        Ok(source) => Ok((path, source)),
        Err(error) => Err(ConfigError::Unreadable { path, error: error.to_string() }),
    }
}

/// Removes the `rand_` options and returns the distributions they define.
///
/// # Errors
/// [`ConfigError::Option`].
pub fn distributions(options: &mut BTreeMap<String, Value>) -> Result<Distributions, ConfigError> {
    let mut chosen = Distributions::default();
    if let Some(value) = options.remove("rand_type") {
        let word = plain(&value);
        chosen.kind = match word.as_str() {
            "uniform" => Kind::Uniform,
            "gaussian" => Kind::Gaussian,
            "pareto" => Kind::Pareto,
            "zipfian" => Kind::Zipfian,
            "special" => Kind::Special,
            _ => {
                return Err(ConfigError::Option {
                    name: "rand_type".into(),
                    found: word,
                    expected: "uniform, gaussian, pareto, zipfian or special",
                });
            }
        };
    }
    let mut number = |name: &str, low: f64, high: f64, expected| match options.remove(name) {
        None => Ok(None),
        Some(value) => {
            let word = plain(&value);
            match word.parse::<f64>() {
                Ok(number) if (low..=high).contains(&number) => Ok(Some(number)),
                _ => Err(ConfigError::Option { name: name.into(), found: word, expected }),
            }
        }
    };
    let between = "a number between 0 and 1, both excluded";
    if let Some(h) = number("rand_pareto_h", 1e-9, 1.0 - 1e-9, between)? {
        chosen.pareto_h = h;
    }
    if let Some(exponent) = number("rand_zipfian_exp", 0.0, 100.0, "a number from 0 to 100")? {
        chosen.zipfian_exponent = exponent;
    }
    if let Some(count) = number("rand_spec_iter", 1.0, 1e6, "a whole number from 1")? {
        chosen.iterations = count as u32;
    }
    if let Some(percent) = number("rand_spec_pct", 0.0, 100.0, "a percentage")? {
        chosen.special_width = percent;
    }
    if let Some(percent) = number("rand_spec_res", 0.0, 100.0, "a percentage")? {
        chosen.special_percent = percent;
    }
    Ok(chosen)
}

/// A string without its quotes, anything else as JSON.
pub(crate) fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}
