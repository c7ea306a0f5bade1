//! The verb `sysbench`: sysbench's command line in, sysbench's text out.

use std::io::{IsTerminal, Read};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::{Arc, Mutex};
use std::time::{SystemTime, UNIX_EPOCH};

use engine::{Control, Failure, Outcome, Workload};
use record::{FatalKind, Record};
use script::{CommandContext, Config, ConfigError, Console, Facts, Figures, ScriptWorkload};
use sysbench::builtin::{self, BuiltinWorkload};
use sysbench::{
    CommandLine, Extras, Found, Hooks, Job, Kind, Refusal, Report, Said, ScriptOption, Test,
    VERSION, Value, Words, global_help, script_help, test_help,
};

use crate::binding::Binding;
use crate::endpoint::Endpoint;
use crate::exit::{FAILED, FORCED, INTERRUPTED};
use crate::files::read_text;
use crate::libpq;
use crate::process::{self, Process};
use crate::run;
use crate::scheduling::{schedule, shard_scheduling};
use crate::shards::{Make, drive};
use crate::terminal::{complain, say};
use crate::watch::Watch;

/// Default sockets of MySQL and MariaDB servers.
const MYSQL_SOCKETS: [&str; 3] =
    ["/run/mysqld/mysqld.sock", "/var/lib/mysql/mysql.sock", "/tmp/mysql.sock"];

/// Does what sysbench does with these arguments.
pub fn run(arguments: &[String]) -> ExitCode {
    match carry_out(arguments) {
        Ok(code) => ExitCode::from(code),
        Err(Refusal(message)) => {
            // Log messages go where reports go; usage errors don't.
            match message.starts_with("FATAL: ") {
                true => say(&format!("{message}\n")),
                false => complain(&format!("{message}\n")),
            }
            ExitCode::from(FAILED)
        }
    }
}

fn carry_out(arguments: &[String]) -> Result<u8, Refusal> {
    let line = CommandLine::parse(arguments, &|path| read_text(Path::new(path)))?;
    for warning in &line.warnings {
        complain(&format!("{warning}\n"));
    }
    if line.values.on("version") {
        say(&format!("sysbench {VERSION}\n"));
        return Ok(0);
    }
    if line.values.on("help") {
        say(&global_help());
        return Ok(0);
    }
    sysbench::check(&line)?;
    if line.values.number("verbosity") >= 3 {
        line.notices.iter().for_each(|notice| say(&format!("{notice}\n")));
        let luajit = ::script::luajit_version();
        say(&format!("sysbench {VERSION} (using bundled {luajit})\n\n"));
    }
    match &line.test {
        Test::Builtin(name) => builtin_test(&line, name),
        Test::Script(name) => script(&line, name, None, arguments),
        Test::Standard => {
            let mut input = std::io::stdin();
            if input.is_terminal() {
                say("Reading the script from the standard input:\n\n");
            }
            let mut source = Vec::new();
            input.read_to_end(&mut source).map_err(|error| Refusal(error.to_string()))?;
            script(&line, "-", Some(source), arguments)
        }
    }
}

fn builtin_test(line: &CommandLine, name: &str) -> Result<u8, Refusal> {
    match line.command.as_deref() {
        None => {
            let hint = format!("See 'sysbench {name} help'");
            Err(Refusal(format!("The '{name}' test requires a command argument. {hint}")))
        }
        Some("help") => {
            say(&test_help(name));
            Ok(0)
        }
        Some("run") => {
            let values = builtin::values(line, name)?;
            let seed = random_seed();
            let test = builtin::test(name, &values, seed)?;
            let mut plan_line = line.clone();
            plan_line.values.0.insert("db_driver".to_owned(), Value::Text("null".to_owned()));
            let job = sysbench::job(&plan_line, name, "run", seed, &Found::default())?;
            let shards = job.spec.clients();
            let make = test.make;
            let make: Make<BuiltinWorkload> = Arc::new(move |shard, shards| {
                let made = make(shard, shards);
                let client = made.map_err(|message| Failure {
                    kind: FatalKind::Environment,
                    message,
                    hint: None,
                    traceback: None,
                })?;
                Ok(BuiltinWorkload::new(client))
            });
            let figures = Some(test.figures);
            let report = Report::new(line, job.forced_shutdown_s, figures, Hooks::default())?;
            let run = Run {
                line,
                job,
                console: None,
                final_report: Arc::default(),
                report,
                failed_hooks: Vec::new(),
            };
            run.carry_out(shards, &make)
        }
        Some("prepare") if name == "fileio" => {
            builtin::prepare(&builtin::values(line, name)?, &say).map(|()| 0)
        }
        Some("cleanup") if name == "fileio" => {
            builtin::cleanup(&builtin::values(line, name)?, &say).map(|()| 0)
        }
        Some("prepare" | "cleanup") if name != "fileio" => {
            let command = line.command.as_deref().unwrap_or_default();
            Err(Refusal(format!("'{name}' test does not implement the '{command}' command.")))
        }
        Some(command) => Err(Refusal(format!("Unknown command: {command}"))),
    }
}

/// The seed if none is given.
fn random_seed() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    now.as_nanos() as u64 ^ u64::from(std::process::id())
}

fn script(
    line: &CommandLine,
    name: &str,
    source: Option<Vec<u8>>,
    arguments: &[String],
) -> Result<u8, Refusal> {
    let command = line.command.as_deref().unwrap_or("");
    let mut line = line.clone();
    libpq::fill_in(&mut line);
    let found = Found {
        mysql_sockets: MYSQL_SOCKETS
            .iter()
            .map(PathBuf::from)
            .filter(|path| path.exists())
            .collect(),
        pgsql_tls: libpq::tls(),
    };
    let job = sysbench::job(&line, name, command, random_seed(), &found)?;
    let final_report = Arc::new(Mutex::new(None));
    let mut words = vec!["sysbench".to_owned()];
    words.extend_from_slice(arguments);
    let context = CommandContext {
        source,
        general: job.general.clone(),
        arguments: words,
        driver: job.driver.clone(),
        compiler: Some(line.values.text("luajit_cmd").to_owned()).filter(|word| !word.is_empty()),
        final_report: Some(Arc::clone(&final_report)),
        telling: Some(Arc::new(Words)),
    };
    let config = Config::new(&job.spec, context).map_err(|error| match error {
        ConfigError::NoScript { name, .. } => Refusal(format!(
            "FATAL: Cannot find benchmark '{name}': no such built-in test, file or module"
        )),
        other => Refusal(format!("FATAL: {}", run::config_failure(other).message)),
    })?;
    let config = Arc::new(config);
    let console = if command.is_empty() { None } else { Some(open(&config)?) };
    let facts = console.as_ref().map(|console| console.facts().clone()).unwrap_or_default();
    if facts.has_options {
        let unknown = line.others.iter().find(|given| {
            !facts.options.iter().any(|option| option.name.replace('-', "_") == given.name)
        });
        if let Some(given) = unknown {
            return Err(Refusal(format!("invalid option: {}", given.written)));
        }
    }
    if !command.is_empty() && !offers(&facts, command) {
        return no_command(config.script_path(), &facts, command);
    }
    if is_parallel(&facts, command) && job.spec.clients() > 1 {
        say("Initializing worker threads...\n\n");
    }
    let shards = runtime::shards(&job.spec, runtime::cores());
    let report = Report::new(&line, job.forced_shutdown_s, None, hooks(&facts, command))?;
    let scheduling = shard_scheduling(&config, job.spec.scheduling);
    let binding = Binding::of(&job.spec, shards);
    let make: Make<ScriptWorkload> = Arc::new(move |shard, shards| {
        schedule(scheduling);
        let made = ScriptWorkload::new(Arc::clone(&config), shard, shards);
        if let Some(binding) = &binding {
            binding.bind(shard);
        }
        made
    });
    let failed_hooks = Vec::new();
    Run { line: &line, job, console, final_report, report, failed_hooks }.carry_out(shards, &make)
}

fn open(config: &Arc<Config>) -> Result<Console, Refusal> {
    Console::open(Arc::clone(config)).map_err(|(written, failure)| {
        written.iter().for_each(|line| say(&format!("{line}\n")));
        let traceback = failure.traceback.map(|text| format!("\n{text}")).unwrap_or_default();
        let message = failure.message.trim_start_matches("syntax error: ");
        Refusal(format!("FATAL: {message}{traceback}"))
    })
}

fn offers(facts: &Facts, command: &str) -> bool {
    let has = |name: &str| facts.functions.iter().any(|function| function == name);
    let defined = facts.commands.iter().any(|(name, _)| name == command);
    defined || (command == "run" && (has("event") || has("thread_run"))) || has(command)
}

fn is_parallel(facts: &Facts, command: &str) -> bool {
    facts.commands.iter().any(|(name, parallel)| name == command && *parallel)
}

/// The message for a command that the script does not define.
fn no_command(script: &Path, facts: &Facts, command: &str) -> Result<u8, Refusal> {
    let name = script.file_stem().map(|stem| stem.to_string_lossy().into_owned());
    let shown = match script.extension() {
        Some(_) if script.is_relative() => script.display().to_string(),
        _ => name.unwrap_or_default(),
    };
    match command {
        "help" if facts.has_options => {
            let options: Vec<_> = facts.options.iter().map(script_option).collect();
            say(&script_help(&shown, &options));
            Ok(0)
        }
        "run" => {
            let path = script.display();
            Err(Refusal(format!("FATAL: cannot find the event() function in {path}")))
        }
        "help" | "prepare" | "cleanup" => {
            Err(Refusal(format!("'{shown}' test does not implement the '{command}' command.")))
        }
        other => {
            let mut names: Vec<_> = facts.commands.iter().map(|(name, _)| name.as_str()).collect();
            names.extend(
                facts
                    .functions
                    .iter()
                    .map(String::as_str)
                    .filter(|name| !["event", "thread_run"].contains(name)),
            );
            let hint = format!("the script has: {}", names.join(", "));
            let hint = if names.is_empty() { String::new() } else { format!("\n{hint}") };
            Err(Refusal(format!("Unknown command: {other}{hint}")))
        }
    }
}

fn hooks(facts: &Facts, command: &str) -> Hooks {
    let has = |name: &str| facts.hooks.iter().any(|hook| hook == name);
    Hooks {
        command: facts.commands.iter().any(|(name, _)| name == command),
        intermediate: has("report_intermediate"),
        cumulative: has("report_cumulative"),
    }
}

fn script_option(facts: &::script::OptionFacts) -> ScriptOption {
    let kind = match facts.kind.as_str() {
        "bool" => Kind::Bool,
        "int" => Kind::Int,
        "size" => Kind::Size,
        "double" => Kind::Double,
        "list" => Kind::List,
        "file" => Kind::File,
        _ => Kind::Text,
    };
    let (name, help) = (facts.name.clone(), facts.help.clone());
    ScriptOption { name, kind, default: facts.default.clone(), help }
}

struct Run<'a> {
    line: &'a CommandLine,
    job: Job,
    console: Option<Console>,
    final_report: Arc<Mutex<Option<Figures>>>,
    report: Report,
    /// Report hooks that failed.
    failed_hooks: Vec<&'static str>,
}

impl Run<'_> {
    fn carry_out<W: Workload + 'static>(
        mut self,
        shards: u32,
        make: &Make<W>,
    ) -> Result<u8, Refusal> {
        process::raise_open_files();
        let failed = |failure: Failure| Refusal(format!("FATAL: {}", failure.message));
        let mut plan = run::plan(&self.job.spec).map_err(failed)?;
        plan.client_totals_at = Some(self.job.checkpoints_ns.clone());
        let process = Process::watch().map_err(|error| Refusal(error.to_string()))?;
        let control = Arc::new(Control::new(&plan, process::system()));
        let watch = Watch::new(process, &self.line.values, self.line.command.as_deref());
        let values = &self.line.values;
        let start_unix_ns = process::unix_ns() - control.now_ns();
        let mut extras = Extras::new(self.line, self.job.spec.seed, start_unix_ns);
        let endpoint = match values.text("prometheus") {
            "" => None,
            address => Some(Endpoint::open(address)?),
        };
        let wanted = ["json", "hlog", "prometheus"].iter().any(|name| self.line.has(name));
        let mut emit = |record: Record| {
            if wanted {
                extras.record(&record);
            }
            if let (Some(endpoint), Record::Interval(_)) = (&endpoint, &record) {
                endpoint.publish(extras.prometheus());
            }
            watch.see(&record);
            for said in self.report.record(&record) {
                self.tell(said);
            }
        };
        let outcome = drive(&plan, shards, &control, make, &watch, &mut emit);
        self.leftover_report();
        self.write("json", || extras.json())?;
        self.write("hlog", || extras.hlog())?;
        if let Some((message, code)) = watch.verdict() {
            say(&format!("FATAL: {message}\n"));
            return Ok(code);
        }
        Ok(match outcome {
            Outcome::Failed(_) => FAILED,
            Outcome::Interrupted => INTERRUPTED,
            Outcome::Done if self.report.forced() => FORCED,
            Outcome::Done if !self.failed_hooks.is_empty() => FAILED,
            Outcome::Done => 0,
        })
    }

    /// Writes the file that an option names.
    fn write(&self, option: &str, text: impl FnOnce() -> String) -> Result<(), Refusal> {
        match self.line.values.text(option) {
            "" => Ok(()),
            path => std::fs::write(path, text())
                .map_err(|error| Refusal(format!("FATAL: --{option}={path}: {error}"))),
        }
    }

    fn tell(&mut self, said: Said) {
        match said {
            Said::Text(text) => say(&text),
            Said::Error(text) => complain(&text),
            Said::Intermediate(stat, usual) => {
                self.call("report_intermediate", &stat.fields, &usual);
            }
            Said::Checkpoint(stat, usual) => {
                self.call("report_cumulative", &stat.fields, &usual);
            }
            Said::Cumulative(stat) => {
                self.close_console();
                if let Ok(mut slot) = self.final_report.lock() {
                    *slot = Some(stat.fields);
                }
            }
        }
    }

    /// Calls a report hook; if it fails, says so once and prints the usual text.
    fn call(&mut self, hook: &'static str, figures: &Figures, usual: &str) {
        let Some(console) = &mut self.console else { return };
        let (lines, outcome) = console.report(hook, figures);
        lines.iter().for_each(|line| say(&format!("{line}\n")));
        if let Err(failure) = outcome {
            if !self.failed_hooks.contains(&hook) {
                self.failed_hooks.push(hook);
                say(&format!("FATAL: `{hook}' function failed: {}\n", failure.message));
            }
            say(usual);
        }
    }

    fn close_console(&mut self) {
        if let Some(Ok(lines)) = self.console.as_mut().map(Console::close) {
            lines.iter().for_each(|line| say(&format!("{line}\n")));
        }
    }

    /// Prints the report when a failed load could not do so itself.
    fn leftover_report(&mut self) {
        let left = self.final_report.lock().ok().and_then(|mut slot| slot.take());
        if let Some(figures) = left {
            let usual = self.report.take_instead();
            self.call("report_cumulative", &figures, &usual);
        }
        self.close_console();
    }
}
