//! How large a run is: loaders, connections, files and memory, each rule once (that of shards is in
//! `shard_count.rs`). `run` goes by them, and `plan` says what they come to.

use driver::Traits as _;
use record::{EnginePlan, LoadBy, RunSpec, Target};

use crate::policy::back_off;
use crate::shard_count::{bound_of, shards_of};
use crate::share::Share;

/// Upper limit on loaders: this many carry what a few scripts produce.
const LOADERS_MAX: u32 = 16;
/// Of a shard. Handshakes mostly wait; this many keep a server busy.
const CONNECTORS_MAX: u32 = 16;
/// Open files of a process besides its connections and event loops: scripts, libraries, and room.
const OWN_FILES: u64 = 500;
/// Resident memory of a process besides its shards and clients, bytes.
const OWN_MEMORY: u64 = 12 << 20;
/// Open files of an event loop, with room.
const FILES_A_SHARD: u64 = 4;

/// What a machine has, as far as the engine's choices depend on it.
#[derive(Debug, Clone, Copy)]
pub struct Machine {
    /// Processors that the engine may use.
    pub cores: u32,
    /// Files that a process may open; `None`: any number.
    pub open_files_limit: Option<u64>,
}

/// Processors that this process may use, by its affinity and its control group.
pub fn cores() -> u32 {
    std::thread::available_parallelism().map_or(1, |cores| cores.get() as u32)
}

/// Whether statements block the thread that asks for them, until they are done or interrupted.
pub fn blocks(target: &Target) -> bool {
    target.blocks()
}

/// Whether bulk inserts go in the server's own way of loading rows.
pub(crate) fn loads(spec: &RunSpec) -> bool {
    spec.load == LoadBy::Auto && spec.command != "run"
}

/// Connections of this process that carry rows besides the script's own, at most: two a core, since
/// one waits for the log's flush while the other stores; of several processes a share of all.
pub(crate) fn loaders(spec: &RunSpec, cores: u32) -> u32 {
    loaders_of(spec, Share::of(spec), cores)
}

fn loaders_of(spec: &RunSpec, share: Share, cores: u32) -> u32 {
    if !loads(spec) || spec.target.server().is_none() {
        return 0;
    }
    let all = spec.loaders.unwrap_or(LOADERS_MAX).div_ceil(share.processes);
    if spec.loaders.is_none() { all.min(2 * cores) } else { all }
}

/// Threads that make the connections of a shard's clients.
pub(crate) fn connectors(clients: u32) -> u32 {
    clients.clamp(1, CONNECTORS_MAX)
}

/// What a run of a spec takes. `reactor` is the event loop that shards have; without `processes`,
/// and without a `part` in the spec, it is as few as may open all files, or one if no number would.
pub fn plan(spec: &RunSpec, machine: Machine, reactor: &str, processes: Option<u32>) -> EnginePlan {
    let share = share_of(spec, machine, processes);
    let is_networked = spec.target.server().is_some();
    let shards = shards_of(spec, share, machine.cores);
    let loaders = share.processes * loaders_of(spec, share, machine.cores);
    let connectors = if is_networked { connectors(share.own.div_ceil(shards)) } else { 0 };
    let own_files = open_files(spec, share, machine.cores);
    let empty = own_files - files_for(spec, share.own);
    let memory = spec.target.memory();
    let processes = u64::from(share.processes);
    EnginePlan {
        schema: record::SCHEMA,
        engine_version: env!("CARGO_PKG_VERSION").to_owned(),
        clients: share.clients,
        processes: share.processes,
        shards,
        shards_bound: bound_of(spec, share, machine.cores),
        reactor: reactor.to_owned(),
        loaders,
        connectors,
        connecting: (connectors.saturating_mul(shards).saturating_mul(share.processes))
            .min(share.clients + loaders),
        connections: share.clients + loaders,
        open_files: own_files,
        open_files_limit: machine.open_files_limit,
        open_files_of_all: processes * empty + files_for(spec, share.clients),
        memory_bytes_per_client: memory.a_client,
        memory_bytes: processes * (OWN_MEMORY + u64::from(shards) * memory.a_shard)
            + u64::from(share.clients) * memory.a_client,
        is_local: spec.target.is_local(),
        back_off: back_off(&spec.errors),
        volumes: Vec::new(),
    }
}

/// How a run of a spec is divided; `processes` as for `plan`.
pub(crate) fn share_of(spec: &RunSpec, machine: Machine, processes: Option<u32>) -> Share {
    match (spec.part, processes) {
        (Some(_), _) => Share::of(spec),
        (None, Some(processes)) => Share::first_of(processes, spec.clients()),
        (None, None) => fewest(spec, machine),
    }
}

/// As few processes as may open all the files of a run.
fn fewest(spec: &RunSpec, machine: Machine) -> Share {
    let clients = spec.clients();
    let alone = Share::first_of(1, clients);
    let Some(limit) = machine.open_files_limit.filter(|_| spec.target.server().is_some()) else {
        return alone;
    };
    (1..=clients)
        .map(|processes| Share::first_of(processes, clients))
        .find(|share| open_files(spec, *share, machine.cores) <= limit)
        .unwrap_or(alone)
}

/// Files of the process with most clients.
fn open_files(spec: &RunSpec, share: Share, cores: u32) -> u64 {
    let shards = match spec.target.server() {
        Some(_) => u64::from(shards_of(spec, share, cores)),
        None => 0,
    };
    let loaders = u64::from(loaders_of(spec, share, cores));
    files_for(spec, share.own) + loaders + shards * FILES_A_SHARD + OWN_FILES
}

/// Files of so many clients' connections.
fn files_for(spec: &RunSpec, clients: u32) -> u64 {
    u64::from(clients) * spec.target.files_of_a_client()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shard_count::shards;

    const LOCAL: &str = r#"{"unix": "/s"}"#;
    const FAR: &str = r#"{"tcp": {"host": "db.example", "port": 1}}"#;
    const ANY: Machine = Machine { cores: 8, open_files_limit: None };

    fn server(endpoint: &str) -> String {
        format!(r#"{{"driver": "mysql", "user": "u", "database": "d", "endpoints": [{endpoint}]}}"#)
    }

    fn postgresql(endpoint: &str) -> String {
        server(endpoint).replace("mysql", "postgresql")
    }

    fn sqlite(mode: &str) -> String {
        format!(r#"{{"driver": "sqlite", "path": "f", "pragmas": [["journal_mode", "{mode}"]]}}"#)
    }

    fn spec(target: &str, clients: u32, more: &str) -> RunSpec {
        RunSpec::from_json(&format!(
            r#"{{"schema": 2, "target": {target}, {more}
                "groups": [{{"script": "s", "clients": {clients}}}]}}"#
        ))
        .unwrap()
    }

    fn planned(target: &str, clients: u32, more: &str) -> EnginePlan {
        plan(&spec(target, clients, more), ANY, "epoll", None)
    }

    #[test]
    fn shards_are_as_many_as_clients_keep_busy_on_the_cores_there_are() {
        let shards = |endpoint, clients| planned(&server(endpoint), clients, "").shards;
        assert_eq!([1, 8, 9, 16, 17, 1000].map(|n| shards(FAR, n)), [1, 1, 2, 2, 3, 8]);
        let asked = |clients| planned(&server(FAR), clients, r#""shards": 20,"#).shards;
        assert_eq!([1, 16, 1000].map(asked), [1, 16, 20]);
        let in_process = |clients| planned(&sqlite("wal"), clients, "").shards;
        assert_eq!([1, 16, 1000].map(in_process), [1, 16, 1000]);
        let one_core = Machine { cores: 1, ..ANY };
        assert_eq!(plan(&spec(&server(LOCAL), 99, ""), one_core, "epoll", None).shards, 1);
    }

    #[test]
    fn beside_the_server_shards_have_all_cores_or_half_of_them_by_what_was_measured() {
        let on = |cores, target: &str, clients: [u32; 8]| {
            let machine = Machine { cores, ..ANY };
            clients.map(|n| {
                let found = plan(&spec(target, n, ""), machine, "epoll", None);
                (found.shards, found.shards_bound)
            })
        };
        let (free, bound) = (|shards| (shards, false), |shards| (shards, true));
        let clients = [1, 2, 4, 5, 64, 512, 1024, 1025];
        let backends =
            [free(1), bound(2), free(4), bound(2), bound(2), bound(2), bound(2), free(1)];
        assert_eq!(on(2, &postgresql(LOCAL), clients), backends);
        let threads = [1, 2, 1, 1, 1, 1, 1, 1].map(free);
        assert_eq!(on(2, &server(LOCAL), clients), threads);
        assert_eq!(on(1, &postgresql(LOCAL), clients), [free(1); 8]);
        let clients = [1, 8, 9, 16, 17, 1024, 4096, 4097];
        let backends =
            [free(1), bound(8), free(9), free(16), bound(8), bound(8), bound(8), free(4)];
        assert_eq!(on(8, &postgresql(LOCAL), clients), backends);
        assert_eq!(on(8, &server(LOCAL), clients), [1, 8, 4, 4, 4, 4, 4, 4].map(free));
        assert_eq!(on(8, &postgresql(FAR), clients), [1, 1, 2, 2, 3, 8, 8, 8].map(free));
    }

    #[test]
    fn processes_of_one_run_are_bound_as_one_would_be() {
        let of = |processes, more| {
            let found = plan(&spec(&postgresql(LOCAL), 64, more), ANY, "epoll", Some(processes));
            (found.shards, found.shards_bound)
        };
        assert_eq!([of(2, ""), of(8, "")], [(4, true), (1, true)]);
        assert_eq!([of(3, ""), of(16, "")], [(2, false), (1, false)], "some would share a core");
        assert_eq!([of(1, r#""shards": 8,"#), of(1, r#""shards": 3,"#)], [(8, true), (3, false)]);
    }

    #[test]
    fn what_is_asked_for_goes_before_the_rule_while_a_load_runs() {
        let bound = |more: &str| planned(&postgresql(LOCAL), 64, more).shards_bound;
        assert!(bound("") && !bound(r#""bind": "none","#));
        let mysql = |more| planned(&server(LOCAL), 16, more).shards_bound;
        assert!(mysql(r#""bind": "each","#) && !mysql(""));
        for bind in ["auto", "each"] {
            let prepare = format!(r#""bind": "{bind}", "command": "prepare","#);
            assert!(!bound(&prepare), "loaders want all processors");
        }
    }

    #[test]
    fn processes_share_the_cores_and_each_has_the_shards_that_the_plan_of_the_whole_says() {
        for (clients, count, more) in
            [(1000, 2, ""), (9, 2, r#""shards": 5,"#), (100, 3, ""), (1000, 16, "")]
        {
            let whole = plan(&spec(&server(FAR), clients, more), ANY, "epoll", Some(count));
            for index in 0..count {
                let own = (clients + count - 1 - index) / count;
                let place = format!(r#""index": {index}, "count": {count}"#);
                let part = format!(r#"{more} "part": {{{place}, "clients": {clients}}},"#);
                let part = spec(&server(FAR), own, &part);
                assert_eq!(shards(&part, ANY.cores), whole.shards, "{clients} in {count}");
            }
        }
        let shards_of = |count| plan(&spec(&server(FAR), 1000, ""), ANY, "epoll", Some(count));
        assert_eq!([1, 2, 3, 16].map(|count| shards_of(count).shards), [8, 4, 2, 1]);
    }

    #[test]
    fn there_are_two_loaders_a_core_where_rows_can_be_loaded_besides() {
        let loaders = |more| planned(&server(FAR), 4, more).loaders;
        assert_eq!(loaders(""), 0);
        assert_eq!(loaders(r#""command": "prepare","#), 16);
        assert_eq!(loaders(r#""command": "prepare", "loaders": 3,"#), 3);
        assert_eq!(loaders(r#""command": "prepare", "load": "insert","#), 0);
        assert_eq!(planned(&sqlite("wal"), 4, r#""command": "prepare","#).loaders, 0);
        let prepare = spec(&server(FAR), 4, r#""command": "prepare","#);
        let on = |cores| plan(&prepare, Machine { cores, ..ANY }, "epoll", None).loaders;
        assert_eq!([1, 2, 64].map(on), [2, 4, 16]);
        assert_eq!(plan(&prepare, ANY, "epoll", None).connections, 4 + 16);
    }

    #[test]
    fn processes_share_the_loaders() {
        let of = |count, more: &str| {
            let whole = spec(&server(FAR), 4, &format!(r#"{more} "command": "prepare","#));
            let (whole, part) = (plan(&whole, ANY, "epoll", Some(count)), {
                let place = format!(r#""index": 0, "count": {count}, "clients": 4"#);
                let more = format!(r#"{more} "command": "prepare", "part": {{{place}}},"#);
                spec(&server(FAR), 4_u32.div_ceil(count), &more)
            });
            assert_eq!(whole.loaders, count * loaders(&part, ANY.cores));
            assert_eq!(whole.connections, 4 + whole.loaders);
            whole.loaders
        };
        assert_eq!([1, 2, 3, 4].map(|count| of(count, "")), [16, 16, 18, 16]);
        assert_eq!([1, 2, 3, 4].map(|count| of(count, r#""loaders": 3,"#)), [3, 4, 3, 4]);
        assert_eq!(of(2, r#""loaders": 0,"#), 0);
    }

    #[test]
    fn as_few_processes_as_may_open_all_the_files() {
        let with = |limit, clients| {
            let machine = Machine { cores: 1, open_files_limit: Some(limit) };
            plan(&spec(&server(FAR), clients, ""), machine, "epoll", None)
        };
        let edge = with(604, 100);
        assert_eq!((edge.processes, edge.open_files, edge.open_files_of_all), (1, 604, 604));
        let beyond = with(604, 101);
        assert_eq!((beyond.processes, beyond.open_files), (2, 51 + 504));
        assert_eq!(beyond.open_files_of_all, 101 + 2 * 504);
        let hopeless = with(100, 1000);
        assert_eq!((hopeless.processes, hopeless.open_files_limit), (1, Some(100)));
        assert_eq!(with(604, 1000).connecting, 10 * 16);
    }

    #[test]
    fn a_database_in_process_has_a_file_and_perhaps_a_log_for_each_client() {
        let files = |target: &str| planned(target, 100, "").open_files;
        assert_eq!(files(&sqlite("wal")), 200 + 500);
        assert_eq!(files(&sqlite("delete")), 100 + 500);
        assert_eq!(files(r#"{"driver": "null"}"#), 500);
        let limited = Machine { open_files_limit: Some(600), ..ANY };
        assert_eq!(plan(&spec(&sqlite("wal"), 100, ""), limited, "none", None).processes, 1);
    }

    #[test]
    fn connections_are_made_so_many_at_a_time() {
        let of = |clients| {
            let found = planned(&server(FAR), clients, r#""shards": 2,"#);
            (found.connectors, found.connecting)
        };
        assert_eq!([1, 3, 20, 1000].map(of), [(1, 1), (2, 3), (10, 20), (16, 32)]);
        let in_process = planned(&sqlite("wal"), 1000, "");
        assert_eq!((in_process.connectors, in_process.connecting), (0, 0));
    }
}
