//! Parses the command line: `[options]... [testname] [command]`.

use crate::config_file;
use crate::options::{self, OPTIONS, Treatment};
use crate::value::{Value, Values, read};

/// A fatal usage error: the message for standard error. The exit code is 1.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal(pub String);

/// An option of the test or script, as given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Given {
    /// With underscores.
    pub name: String,
    /// The text after `=`; `None`: no `=`.
    pub value: Option<String>,
    /// As written, for messages.
    pub written: String,
}

/// The test to run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Test {
    /// One of the built-in tests.
    Builtin(String),
    /// A script's file or name.
    Script(String),
    /// A script on standard input.
    Standard,
}

/// The parsed arguments.
#[derive(Debug, Clone, PartialEq)]
pub struct CommandLine {
    /// All options of the command itself, with defaults filled in.
    pub values: Values,
    /// Names of the options given, in order.
    pub given: Vec<String>,
    /// Options of the test or script.
    pub others: Vec<Given>,
    /// The test.
    pub test: Test,
    /// `run`, `prepare` and so on; `None`: only the script's body runs.
    pub command: Option<String>,
    /// Lines to print first on standard output.
    pub notices: Vec<String>,
    /// Lines to print first on standard error.
    pub warnings: Vec<String>,
}

/// The built-in tests.
pub const BUILTIN: [&str; 5] = ["fileio", "cpu", "memory", "threads", "mutex"];

/// Old option names, in the order of their warnings.
const DEPRECATED: [&str; 4] = ["num_threads", "max_requests", "max_time", "tx_rate"];

struct Parser<'a> {
    line: CommandLine,
    words: Vec<String>,
    read_file: &'a dyn Fn(&str) -> std::io::Result<String>,
    depth: u32,
    /// Old names used.
    aliases: Vec<&'static str>,
}

impl CommandLine {
    /// Parses the arguments (without the program's name). `read_file` reads `--config-file`.
    ///
    /// # Errors
    /// [`Refusal`].
    pub fn parse(
        arguments: &[String],
        read_file: &dyn Fn(&str) -> std::io::Result<String>,
    ) -> Result<Self, Refusal> {
        let line = Self {
            values: Values::default(),
            given: Vec::new(),
            others: Vec::new(),
            test: Test::Standard,
            command: None,
            notices: Vec::new(),
            warnings: Vec::new(),
        };
        let (words, aliases) = (Vec::new(), Vec::new());
        let mut parser = Parser { line, words, read_file, depth: 0, aliases };
        for argument in arguments {
            parser.argument(argument)?;
        }
        parser.finish()
    }

    /// Whether an option was given.
    pub fn has(&self, name: &str) -> bool {
        self.given.iter().any(|given| given == name)
    }

    /// Whether defaults and report are those of 1.1.
    pub fn is_new(&self) -> bool {
        self.values.text("compat") == "1.1"
    }
}

impl Parser<'_> {
    fn argument(&mut self, argument: &str) -> Result<(), Refusal> {
        match argument.strip_prefix("--") {
            Some(option) if !option.is_empty() => {
                let (name, value) = match option.split_once('=') {
                    Some((name, value)) => (name, Some(value)),
                    None => (option, None),
                };
                self.option(name, value, argument)
            }
            _ => {
                if self.words.len() == 2 {
                    let message = format!("Unrecognized command line argument: {argument}");
                    return Err(Refusal(message));
                }
                self.words.push(argument.to_owned());
                Ok(())
            }
        }
    }

    fn option(&mut self, name: &str, value: Option<&str>, written: &str) -> Result<(), Refusal> {
        let name = name.replace('-', "_");
        let Some(found) = options::find(&name) else {
            let value = value.map(str::to_owned);
            self.line.others.push(Given { name, value, written: written.to_owned() });
            return Ok(());
        };
        let dashed = name.replace('_', "-");
        let text = value.unwrap_or("");
        let Some(read) = read(found.kind, text) else {
            let message = format!("Invalid value for the '{dashed}' option: '{text}'");
            return Err(Refusal(message));
        };
        let mut target = found.name;
        match found.treatment {
            Treatment::Alias(of) => {
                self.aliases.push(found.name);
                target = of;
            }
            Treatment::Refused(reason) if Some(&read) != default(found).as_ref() => {
                return Err(Refusal(format!("--{dashed} is not supported: {reason}")));
            }
            Treatment::NoEffect(reason) => {
                self.line.warnings.push(format!("WARNING: --{dashed} has no effect: {reason}"));
            }
            _ => {}
        }
        if target == "config_file" {
            self.file(text)?;
        }
        if target == "test" {
            self.line.warnings.push(
                "WARNING: the --test option is deprecated: name the script without it".to_owned(),
            );
        }
        self.line.values.0.insert(target.to_owned(), read);
        self.line.given.push(target.to_owned());
        Ok(())
    }

    fn file(&mut self, path: &str) -> Result<(), Refusal> {
        let refuse = |why: String| Refusal(format!("--config-file={path}: {why}"));
        if self.depth > 8 {
            return Err(refuse("the file includes itself".to_owned()));
        }
        let text = (self.read_file)(path).map_err(|error| refuse(error.to_string()))?;
        self.depth += 1;
        for (name, value) in config_file::parse(&text).map_err(refuse)? {
            self.option(&name, Some(&value), &format!("--{name}={value}"))?;
        }
        self.depth -= 1;
        Ok(())
    }

    fn finish(mut self) -> Result<CommandLine, Refusal> {
        for option in OPTIONS {
            if let Some(value) = default(option) {
                self.line.values.0.entry(option.name.to_owned()).or_insert(value);
            }
        }
        for name in DEPRECATED.iter().filter(|name| self.aliases.contains(name)) {
            let Some(Treatment::Alias(of)) = options::find(name).map(|found| found.treatment)
            else {
                continue;
            };
            let (name, of) = (name.replace('_', "-"), of.replace('_', "-"));
            let warning = format!("WARNING: --{name} is deprecated, use --{of} instead");
            self.line.notices.push(warning);
        }
        let limited = ["events", "time"].iter().any(|name| self.line.values.number(name) > 0);
        if !limited && words_run(&self.words) {
            let warning = "Both event and time limits are disabled, running an endless test";
            self.line.notices.push(format!("WARNING: {warning}"));
        }
        let compat = self.line.values.text("compat");
        if !["1.0", "1.1"].contains(&compat) {
            let message = format!("Invalid value for the 'compat' option: '{compat}'");
            return Err(Refusal(message));
        }
        if self.line.is_new() && !self.line.has("rand_type") {
            let uniform = Value::Text("uniform".to_owned());
            self.line.values.0.insert("rand_type".to_owned(), uniform);
        }
        let named = self.line.values.text("test").to_owned();
        let mut words = self.words.into_iter();
        let test = if named.is_empty() { words.next() } else { Some(named) };
        self.line.test = match test {
            None => Test::Standard,
            Some(name) if name == "-" => Test::Standard,
            Some(name) if BUILTIN.contains(&name.as_str()) => Test::Builtin(name),
            Some(name) => Test::Script(name),
        };
        self.line.command = words.next();
        if let Some(extra) = words.next() {
            return Err(Refusal(format!("Unrecognized command line argument: {extra}")));
        }
        Ok(self.line)
    }
}

/// Whether the words ask for a load.
fn words_run(words: &[String]) -> bool {
    words.last().is_some_and(|command| command == "run")
}

fn default(option: &options::Variable) -> Option<Value> {
    read(option.kind, option.default)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(arguments: &[&str]) -> Result<CommandLine, Refusal> {
        let owned: Vec<_> = arguments.iter().map(|word| (*word).to_owned()).collect();
        CommandLine::parse(&owned, &|_| Ok("time=3\nmy-own=7\n".to_owned()))
    }

    #[test]
    fn order_is_free_and_dashes_are_underscores() {
        let line = parse(&["run.lua", "--report_interval=2", "run", "--table-size=5"]).unwrap();
        assert_eq!(line.test, Test::Script("run.lua".into()));
        assert_eq!(line.command.as_deref(), Some("run"));
        assert_eq!(line.values.number("report_interval"), 2);
        assert_eq!(line.others[0].name, "table_size");
    }

    #[test]
    fn a_third_word_and_a_wrong_value_are_refused() {
        let refused = |arguments: &[&str]| parse(arguments).unwrap_err().0;
        assert_eq!(refused(&["cpu", "run", "x"]), "Unrecognized command line argument: x");
        let message = "Invalid value for the 'threads' option: 'abc'";
        assert_eq!(refused(&["--threads=abc"]), message);
        assert!(refused(&["--mysql-debug"]).contains("not supported"));
    }

    #[test]
    fn old_names_mean_the_new_ones_and_say_so() {
        let line = parse(&["--num-threads=4", "--test=cpu", "run"]).unwrap();
        assert_eq!(line.values.number("threads"), 4);
        assert_eq!(line.test, Test::Builtin("cpu".into()));
        assert_eq!(line.command.as_deref(), Some("run"));
        assert_eq!(line.notices, ["WARNING: --num-threads is deprecated, use --threads instead"]);
        assert_eq!(line.warnings.len(), 1);
    }

    #[test]
    fn a_file_of_options_counts_from_where_it_stands() {
        let line = parse(&["--time=9", "--config-file=f", "--threads=2"]).unwrap();
        assert_eq!((line.values.number("time"), line.values.number("threads")), (3, 2));
        assert_eq!(line.others[0].name, "my_own");
    }

    /// Over the options of both versions: each takes effect or says why not.
    #[test]
    fn no_option_is_silently_ignored() {
        for option in OPTIONS {
            let value = match option.name {
                "compat" => "1.1",
                "config_file" => "f",
                _ => match option.kind {
                    crate::Kind::Bool => "on",
                    crate::Kind::Int | crate::Kind::Size => "7",
                    crate::Kind::Double => "0.7",
                    _ => "word",
                },
            };
            let outcome = parse(&[&format!("--{}={value}", option.name.replace('_', "-"))]);
            match option.treatment {
                Treatment::Refused(reason) => {
                    assert!(outcome.unwrap_err().0.contains(reason), "{}", option.name);
                }
                Treatment::NoEffect(reason) => {
                    assert!(outcome.unwrap().warnings[0].contains(reason), "{}", option.name);
                }
                Treatment::Alias(of) => assert_eq!(outcome.unwrap().values.number(of), 7),
                Treatment::Honoured => {
                    let line = outcome.unwrap();
                    let expected = read(option.kind, value);
                    assert_eq!(
                        line.values.0.get(option.name),
                        expected.as_ref(),
                        "{}",
                        option.name
                    );
                }
            }
        }
    }
}
