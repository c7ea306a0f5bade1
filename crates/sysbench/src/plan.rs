//! From the command line to a run spec.

use std::collections::BTreeMap;
use std::path::PathBuf;

use record::{
    Arrival, Bind, Endpoint, ErrorAction, ErrorPolicy, ErrorRule, Group, LoadBy, ReactorChoice,
    RunSpec, Scheduling, ServerTarget, SqliteTarget, Target, Tls, TlsMode,
};

use crate::command_line::{CommandLine, Refusal};
use crate::options::{Kind, OPTIONS, Treatment};
use crate::value::{Value, Values, read};

/// Errors by which MySQL's client library reports a lost connection.
const MYSQL_LOST: [&str; 4] = ["2013", "2006", "2011", "2055"];
/// Clients that a run spec takes at most.
const CLIENTS_MAX: i64 = record::CLIENTS_MAX as i64;
/// Length of a load without a time limit, seconds.
const FOREVER_S: f64 = 1e9;

/// The run that the arguments describe.
#[derive(Debug, Clone)]
pub struct Job {
    /// The spec for the engine.
    pub spec: RunSpec,
    /// General options, as scripts see them.
    pub general: BTreeMap<String, serde_json::Value>,
    /// The driver's name as scripts see it, if it differs from the target's.
    pub driver: Option<String>,
    /// Times of full reports that reset the counters, nanoseconds from the start.
    pub checkpoints_ns: Vec<u64>,
    /// Seconds after `--time` at which unfinished events are abandoned.
    pub forced_shutdown_s: Option<f64>,
}

/// Defaults found on this machine.
#[derive(Debug, Clone, Default)]
pub struct Found {
    /// Default sockets of a MySQL server that exist.
    pub mysql_sockets: Vec<PathBuf>,
    /// TLS settings from PostgreSQL's client files: trusted authorities and the client's
    /// certificate.
    pub pgsql_tls: Tls,
}

fn fatal(message: impl Into<String>) -> Refusal {
    Refusal(format!("FATAL: {}", message.into()))
}

/// The run that the arguments ask for. `random` is the seed if none is given.
///
/// # Errors
/// A value is invalid.
pub fn job(
    line: &CommandLine,
    script: &str,
    command: &str,
    random: u64,
    found: &Found,
) -> Result<Job, Refusal> {
    check(line)?;
    let values = &line.values;
    let threads = values.number("threads");
    let forced_shutdown_s = forced_shutdown(values)?;
    let time = values.number("time").max(0);
    let seed = match (values.number("seed"), values.number("rand_seed")) {
        (0, 0) if command == "run" => random,
        (0, given) if command == "run" => given as u64,
        (0, _) => 0,
        (given, _) => given as u64,
    };
    let (target, driver) = target(line, found)?;
    let rate = values.number("rate");
    let arrival = match rate {
        1.. => Arrival::Poisson { rate_per_s: rate as f64 },
        _ => Arrival::Closed,
    };
    let group = Group {
        name: "main".to_owned(),
        script: script.to_owned(),
        script_path: Vec::new(),
        options: script_options(line),
        clients: threads as u32,
        arrival,
        idle: false,
        think_time_s: 0.0,
        reconnect_every: 0,
        reconnect_every_turns: 0,
        target: None,
    };
    let loaders = u32::try_from(values.number("loaders")).ok();
    let spec = RunSpec {
        schema: record::SCHEMA,
        command: command.to_owned(),
        target,
        groups: vec![group],
        warm_up_s: values.number("warmup_time").max(0) as f64,
        measure_s: (time > 0).then_some(time as f64),
        events: u64::try_from(values.number("events")).ok().filter(|events| *events > 0),
        interval_s: 1.0,
        drain_s: Some(forced_shutdown_s.unwrap_or(FOREVER_S)),
        seed,
        shards: u32::try_from(values.number("shards")).ok().filter(|shards| *shards > 0),
        reactor: ReactorChoice::Auto,
        scheduling: Scheduling::Batch,
        bind: Bind::Auto,
        connect_timeout_s: (values.number("thread_init_timeout").max(1)) as f64,
        errors: errors(values),
        part: None,
        // Without loaders the server gets the INSERTs that sysbench would send.
        load: if loaders == Some(0) { LoadBy::Insert } else { LoadBy::Auto },
        loaders,
        wait_for_begin: false,
        turns: false,
    };
    spec.check().map_err(|error| fatal(error.to_string()))?;
    let checkpoints_ns = checkpoints(values)?;
    Ok(Job { spec, general: general(values), driver, checkpoints_ns, forced_shutdown_s })
}

/// Checks the general options, whatever the test.
///
/// # Errors
/// A value is invalid.
pub fn check(line: &CommandLine) -> Result<(), Refusal> {
    let values = &line.values;
    let verbosity = values.number("verbosity");
    if !(0..=5).contains(&verbosity) {
        return Err(Refusal(format!("Invalid value for verbosity: {verbosity}")));
    }
    distributions(values).map_err(fatal)?;
    let threads = values.number("threads");
    if threads <= 0 {
        return Err(fatal(format!("Invalid value for --threads: {threads}.")));
    }
    if threads > CLIENTS_MAX {
        let most = format!("; expected {CLIENTS_MAX} at most");
        return Err(fatal(format!("Invalid value for --threads: {threads}{most}")));
    }
    for name in ["rate", "report_interval", "warmup_time", "rate_queue", "shards"] {
        let number = values.number(name);
        if number < 0 {
            let dashed = name.replace('_', "-");
            return Err(fatal(format!("Invalid value for --{dashed}: {number}.")));
        }
    }
    let percentiles = percentiles(values)?;
    if percentiles.is_empty() && values.on("histogram") {
        return Err(fatal("--histogram cannot be used with --percentile=0"));
    }
    forced_shutdown(values)?;
    checkpoints(values).map(|_| ())
}

/// The distribution of random numbers that the options select.
pub(crate) fn distributions(values: &Values) -> Result<script::Distributions, String> {
    let chosen = values.0.iter().filter(|(name, _)| name.starts_with("rand_"));
    let mut options = chosen.map(|(name, value)| (name.clone(), value.json())).collect();
    script::distributions(&mut options).map_err(|error| match error {
        script::ConfigError::Option { name, found, .. } if name == "rand_type" => {
            format!("Invalid random numbers distribution: {found}.")
        }
        script::ConfigError::Option { name, found, expected } => {
            format!("Invalid value for --{}: {found}; expected {expected}", name.replace('_', "-"))
        }
        _ => "Invalid random numbers distribution.".to_owned(),
    })
}

/// The percentiles requested; none for `--percentile=0`.
pub(crate) fn percentiles(values: &Values) -> Result<Vec<f64>, Refusal> {
    let text = values.text("percentile");
    if text == "0" {
        return Ok(Vec::new());
    }
    text.split(',')
        .map(|word| match word.trim().parse::<f64>() {
            Ok(rank) if rank > 0.0 && rank <= 100.0 => Ok(rank),
            Ok(_) => Err(fatal(format!("Invalid value for --percentile: {text}"))),
            Err(_) => Err(Refusal(format!("Invalid value for the 'percentile' option: '{text}'"))),
        })
        .collect()
}

fn forced_shutdown(values: &Values) -> Result<Option<f64>, Refusal> {
    let text = values.text("forced_shutdown");
    let time = values.number("time").max(0) as f64;
    let seconds = match text {
        "off" => return Ok(None),
        "" => time * 0.05,
        text => match text.strip_suffix('%') {
            Some(percent) => percent.parse().unwrap_or(f64::NAN) * time / 100.0,
            None => text.parse().unwrap_or(f64::NAN),
        },
    };
    if !(0.0..=FOREVER_S).contains(&seconds) {
        return Err(fatal(format!("Invalid value for --forced-shutdown: '{text}'")));
    }
    Ok(Some(seconds))
}

fn checkpoints(values: &Values) -> Result<Vec<u64>, Refusal> {
    let words = values.list("report_checkpoints").iter();
    words
        .map(|word| match word.parse::<u32>() {
            Ok(seconds) if seconds > 0 => Ok(u64::from(seconds) * 1_000_000_000),
            _ => Err(fatal(format!("Invalid value for --report-checkpoints: '{word}'"))),
        })
        .collect()
}

/// The general options as scripts see them: with sysbench's types where the value allows it, and
/// under their old names as well.
fn general(values: &Values) -> BTreeMap<String, serde_json::Value> {
    let mut seen: BTreeMap<_, _> =
        values.0.iter().map(|(name, value)| (name.clone(), value.json())).collect();
    for option in OPTIONS {
        if let Treatment::Alias(of) = option.treatment {
            seen.insert(option.name.to_owned(), values.number(of).into());
        }
    }
    if let Ok(percentile) = values.text("percentile").parse::<f64>() {
        seen.insert("percentile".to_owned(), percentile.into());
    }
    if let Some(Value::Bool(on)) = read(Kind::Bool, values.text("mysql_ssl")) {
        seen.insert("mysql_ssl".to_owned(), on.into());
    }
    if let [host] = values.list("pgsql_host") {
        seen.insert("pgsql_host".to_owned(), host.clone().into());
    }
    if let [port] = values.list("pgsql_port")
        && let Ok(port) = port.parse::<u16>()
    {
        seen.insert("pgsql_port".to_owned(), port.into());
    }
    seen
}

/// The script's own options and the random number options.
fn script_options(line: &CommandLine) -> BTreeMap<String, serde_json::Value> {
    let own = line.others.iter();
    let mut options: BTreeMap<String, serde_json::Value> = own
        .map(|given| (given.name.clone(), given.value.clone().unwrap_or_default().into()))
        .collect();
    let names = line.values.0.iter().filter(|(name, _)| {
        name.starts_with("rand_") && *name != "rand_seed" && !options.contains_key(*name)
    });
    let chosen: Vec<_> = names.map(|(name, value)| (name.clone(), value.json())).collect();
    options.extend(chosen);
    options
}

fn target(line: &CommandLine, found: &Found) -> Result<(Target, Option<String>), Refusal> {
    let values = &line.values;
    match values.text("db_driver") {
        "mysql" if values.on("mysql_dry_run") => Ok((Target::Null, Some("mysql".to_owned()))),
        "mysql" => Ok((Target::Mysql(mysql(line, &found.mysql_sockets)?), None)),
        "pgsql" => Ok((Target::Postgresql(pgsql(values, &found.pgsql_tls)?), None)),
        "null" => Ok((Target::Null, None)),
        "sqlite" => {
            let path = PathBuf::from(values.text("sqlite_path"));
            if path.as_os_str().is_empty() {
                return Err(fatal("--db-driver=sqlite needs --sqlite-path=FILE"));
            }
            let sqlite = SqliteTarget { path, pragmas: Vec::new(), busy_timeout_ms: 5_000 };
            Ok((Target::Sqlite(sqlite), None))
        }
        // A script that names no driver runs; one that names another fails with a message.
        other => Ok((Target::Null, Some(other.to_owned()))),
    }
}

/// Sockets take precedence; otherwise each host with each port, ports in the inner loop.
fn mysql(line: &CommandLine, sockets: &[PathBuf]) -> Result<ServerTarget, Refusal> {
    let values = &line.values;
    let ports = ports(values, "mysql_port")?;
    let mut endpoints: Vec<_> =
        values.list("mysql_socket").iter().map(|path| Endpoint::Unix(path.into())).collect();
    if endpoints.is_empty() {
        for host in values.list("mysql_host") {
            // MySQL's own clients take "localhost" for the default socket.
            let socket = sockets.first().filter(|_| host == "localhost" && !line.has("mysql_port"));
            match socket {
                Some(path) => endpoints.push(Endpoint::Unix(path.clone())),
                None => endpoints.extend(ports.iter().map(|port| tcp(host, *port))),
            }
        }
    }
    let compression = match values.text("mysql_compression_algorithms") {
        "uncompressed" => None,
        algorithm => Some(algorithm.to_owned()),
    };
    Ok(ServerTarget {
        endpoints,
        user: values.text("mysql_user").to_owned(),
        password: password(values.text("mysql_password")),
        database: values.text("mysql_db").to_owned(),
        prepared_statements: prepared(values)?,
        tls: mysql_tls(line)?,
        compression: compression.filter(|_| values.on("mysql_compression")),
        asks_for_public_key: false,
        session: Vec::new(),
    })
}

fn tcp(host: &str, port: u16) -> Endpoint {
    let host = if host == "localhost" { "127.0.0.1" } else { host };
    Endpoint::Tcp { host: host.to_owned(), port }
}

fn ports(values: &Values, name: &str) -> Result<Vec<u16>, Refusal> {
    let words = values.list(name).iter();
    words
        .map(|word| {
            word.parse::<u16>().map_err(|_| {
                let dashed = name.replace('_', "-");
                Refusal(format!("Invalid value for the '{dashed}' option: '{word}'"))
            })
        })
        .collect()
}

fn password(text: &str) -> Option<String> {
    (!text.is_empty()).then(|| text.to_owned())
}

fn prepared(values: &Values) -> Result<bool, Refusal> {
    match values.text("db_ps_mode") {
        "auto" => Ok(true),
        "disable" => Ok(false),
        other => Err(fatal(format!("Invalid value for db-ps-mode: {other}"))),
    }
}

fn pem(values: &Values, name: &str) -> Option<PathBuf> {
    Some(values.text(name)).filter(|path| !path.is_empty()).map(PathBuf::from)
}

/// 1.0 has a switch, with PEM files in the working directory; 1.1 has modes and file names.
fn mysql_tls(line: &CommandLine) -> Result<Tls, Refusal> {
    let values = &line.values;
    let given = values.text("mysql_ssl").to_ascii_lowercase();
    let mode = match given.as_str() {
        "off" | "false" | "0" | "disabled" => TlsMode::Disable,
        "preferred" => TlsMode::Prefer,
        "" | "on" | "true" | "1" | "required" => TlsMode::Require,
        "verify_ca" => TlsMode::VerifyCa,
        "verify_identity" => TlsMode::VerifyFull,
        other => return Err(fatal(format!("Invalid value for --mysql-ssl: '{other}'"))),
    };
    let switched = ["", "on", "true", "1"].contains(&given.as_str());
    let beside = |name: &str| Some(PathBuf::from(name)).filter(|path| switched && path.is_file());
    Ok(Tls {
        mode,
        ca: pem(values, "mysql_ssl_ca").or_else(|| beside("cacert.pem")),
        certificate: pem(values, "mysql_ssl_cert").or_else(|| beside("client-cert.pem")),
        key: pem(values, "mysql_ssl_key").or_else(|| beside("client-key.pem")),
        ciphers: values
            .text("mysql_ssl_cipher")
            .split(':')
            .filter(|name| !name.is_empty())
            .map(str::to_owned)
            .collect(),
    })
}

fn pgsql(values: &Values, tls: &Tls) -> Result<ServerTarget, Refusal> {
    let ports = ports(values, "pgsql_port")?;
    let mut endpoints = Vec::new();
    for host in values.list("pgsql_host") {
        let each = ports.iter().map(|port| match host.starts_with('/') {
            true => Endpoint::Unix(PathBuf::from(host).join(format!(".s.PGSQL.{port}"))),
            false => Endpoint::Tcp { host: host.clone(), port: *port },
        });
        endpoints.extend(each);
    }
    let given = values.text("pgsql_sslmode");
    let mode = match given {
        "disable" | "allow" => TlsMode::Disable,
        "prefer" => TlsMode::Prefer,
        // With an authorities file, the certificate is verified.
        "require" if tls.ca.is_some() => TlsMode::VerifyCa,
        "require" => TlsMode::Require,
        "verify-ca" => TlsMode::VerifyCa,
        "verify-full" => TlsMode::VerifyFull,
        other => return Err(fatal(format!("Invalid value for --pgsql-sslmode: '{other}'"))),
    };
    if matches!(mode, TlsMode::VerifyCa | TlsMode::VerifyFull) && tls.ca.is_none() {
        return Err(fatal(format!(
            "--pgsql-sslmode={given} needs a file of trusted authorities: put it at \
             ~/.postgresql/root.crt, or set PGSSLROOTCERT"
        )));
    }
    Ok(ServerTarget {
        endpoints,
        user: values.text("pgsql_user").to_owned(),
        password: password(values.text("pgsql_password")),
        database: values.text("pgsql_db").to_owned(),
        prepared_statements: prepared(values)?,
        tls: Tls { mode, ..tls.clone() },
        compression: None,
        asks_for_public_key: false,
        session: Vec::new(),
    })
}

fn errors(values: &Values) -> ErrorPolicy {
    let mysql = values.text("db_driver") == "mysql";
    let name = if mysql { "mysql_ignore_errors" } else { "pgsql_ignore_errors" };
    let codes = values.list(name);
    let all = codes.iter().any(|code| code == "all");
    let lost = |code: &String| MYSQL_LOST.contains(&code.as_str()) || code == "connection";
    let rule = |codes: Vec<String>, action| ErrorRule { codes, action, limit: u32::MAX };
    let on_loss = match all || codes.iter().any(lost) {
        true => ErrorAction::Reconnect,
        false => ErrorAction::Stop,
    };
    let others: Vec<_> = codes.iter().filter(|code| !lost(code)).cloned().collect();
    let mut rules = vec![rule(vec!["connection".to_owned()], on_loss)];
    if !others.is_empty() {
        rules.push(rule(others, ErrorAction::RestartEvent));
    }
    rules.push(rule(vec!["all".to_owned()], ErrorAction::Stop));
    ErrorPolicy { rules, reconnect_s: FOREVER_S, back_off_ms: 1 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(arguments: &[&str]) -> Result<Job, Refusal> {
        let owned: Vec<_> = arguments.iter().map(|word| (*word).to_owned()).collect();
        let line = CommandLine::parse(&owned, &|_| Ok(String::new()))?;
        job(&line, "s.lua", "run", 42, &Found::default())
    }

    #[test]
    fn hosts_and_ports_multiply_and_sockets_win() {
        let spec = made(&["--mysql-host=a,b", "--mysql-port=1,2"]).unwrap().spec;
        let Target::Mysql(server) = spec.target else { panic!("not MySQL") };
        let expected = [("a", 1), ("a", 2), ("b", 1), ("b", 2)];
        assert_eq!(server.endpoints, expected.map(|(host, port)| tcp(host, port)));
        let spec = made(&["--mysql-host=a", "--mysql-socket=/s"]).unwrap().spec;
        let Target::Mysql(server) = spec.target else { panic!("not MySQL") };
        assert_eq!(server.endpoints, [Endpoint::Unix("/s".into())]);
    }

    #[test]
    fn a_lost_connection_is_fatal_unless_its_code_is_listed() {
        let first = |arguments: &[&str]| made(arguments).unwrap().spec.errors.rules[0].action;
        assert_eq!(first(&[]), ErrorAction::Stop);
        assert_eq!(first(&["--mysql-ignore-errors=1213,2013"]), ErrorAction::Reconnect);
        assert_eq!(first(&["--mysql-ignore-errors=all"]), ErrorAction::Reconnect);
    }

    #[test]
    fn limits_mean_what_they_say() {
        let spec = made(&["--time=0", "--events=5", "--rand-seed=9"]).unwrap().spec;
        assert_eq!((spec.measure_s, spec.events, spec.seed), (None, Some(5), 9));
        assert!(made(&["--threads=0"]).unwrap_err().0.contains("--threads: 0."));
        assert!(made(&["--rate=-1"]).unwrap_err().0.contains("--rate: -1."));
        assert!(made(&["--percentile=0", "--histogram"]).is_err());
        let forced = |text| made(&["--time=60", text]).unwrap().forced_shutdown_s;
        assert_eq!(forced("--forced-shutdown"), Some(3.0));
        assert_eq!(forced("--forced-shutdown=50%"), Some(30.0));
        assert_eq!(forced("--forced-shutdown=off"), None);
    }
}
