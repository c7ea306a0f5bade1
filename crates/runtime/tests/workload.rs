//! A workload in Rust on the connection runtime, without a script.
#![expect(clippy::unwrap_used, reason = "a test's helper fails the test")]

use std::sync::Arc;
use std::sync::mpsc::channel;
use std::time::Duration;

use engine::{
    Control, Failure, Outcome, Plan, Probe, ShardView, System, Workload, coordinate, run_shard,
};
use record::{Order, OrderError, Record, RunSpec, Summary};
use runtime::{Conclusion, Runtime, Settings, Step, Waiting, Wake, Woken};

/// Clients that send one statement per event.
struct Pings {
    runtime: Runtime,
    clients: u32,
}

impl Pings {
    /// Runs a client until it waits for something.
    fn go_on(&mut self, view: &mut ShardView, client: u32, mut step: Step) {
        while step == Step::Start {
            let slot = self.runtime.connections_of(client)[0];
            match self.runtime.query(view, slot, b"SELECT 1") {
                Ok(Conclusion::Later) => return,
                _ => step = self.runtime.next_event(view, client),
            }
        }
        if step == Step::Stop {
            self.runtime.end_client(view, client);
        }
    }

    fn woken(&mut self, view: &mut ShardView, Woken { client, why }: Woken) {
        self.runtime.runs(client);
        let step = match why {
            Wake::Event(true) => Step::Start,
            Wake::Concluded(..) => self.runtime.next_event(view, client),
            _ => Step::Stop,
        };
        self.go_on(view, client, step);
    }
}

impl Workload for Pings {
    fn initialise(&mut self, _load: &mut ShardView) -> Result<(), Failure> {
        Ok(())
    }

    fn launch(&mut self, view: &mut ShardView) -> Result<(), Failure> {
        view.clients = self.clients;
        // Client 0 runs no load.
        self.runtime.add_client(0, 0);
        for place in 0..self.clients {
            let client = self.runtime.add_client(0, place);
            self.runtime.connect(view, client).unwrap().unwrap();
            self.runtime.ready(view, client);
        }
        Ok(())
    }

    fn ready(&self) -> bool {
        true
    }

    fn begin(&mut self, view: &mut ShardView) -> Result<(), Failure> {
        for client in 1..=self.clients {
            assert_eq!(self.runtime.waiting(client), Waiting::Begin);
            let step = self.runtime.next_event(view, client);
            self.go_on(view, client, step);
        }
        Ok(())
    }

    fn poll(&mut self, view: &mut ShardView, timeout: Duration) -> Result<(), Failure> {
        self.runtime.wait(view, timeout)?;
        while let Some(woken) = self.runtime.next(view)? {
            self.woken(view, woken);
        }
        for _ in 0..self.runtime.runnable() {
            if let Some(woken) = self.runtime.next_runnable(view) {
                self.woken(view, woken);
            }
        }
        Ok(())
    }

    fn wake(&mut self, view: &mut ShardView, client: u32) -> Result<(), Failure> {
        if let Some(woken) = self.runtime.wake(view, client)? {
            self.woken(view, woken);
        }
        Ok(())
    }

    fn give_up(&mut self, view: &mut ShardView) {
        (1..=self.clients).for_each(|client| self.runtime.end_client(view, client));
    }

    fn finish(&mut self, _load: &mut ShardView) -> Result<(), Failure> {
        Ok(())
    }
}

/// A probe that measures nothing.
struct Nobody;

impl Probe for Nobody {
    fn settle(&self) {}
    fn rss_kb(&self) -> (u64, u64) {
        (0, 0)
    }
    fn interrupted(&self) -> bool {
        false
    }
    fn order(&self) -> Option<Result<Order, OrderError>> {
        None
    }
    fn unix_ns(&self) -> u64 {
        0
    }
    fn impatient(&self) -> bool {
        false
    }
}

/// Runs `events` events on `clients` clients against a target.
fn run(target: &str, clients: u32, events: u64) -> (Outcome, Summary) {
    let group = format!(r#"{{"name":"ping","script":"-","clients":{clients}}}"#);
    let schema = record::SCHEMA;
    let text = format!(r#"{{"schema":{schema},"target":{target},"groups":[{group}]}}"#);
    let settings = Arc::new(Settings::new(&RunSpec::from_json(&text).unwrap(), None));
    let plan = Plan {
        warm_up_ns: 0,
        measure_ns: None,
        interval_ns: 1_000_000_000,
        drain_ns: 60_000_000_000,
        patience_ns: 60_000_000_000,
        hurried_drain_ns: 0,
        events: Some(events),
        seed: 1,
        part: (0, 1),
        wait_for_begin: false,
        turns: false,
        groups: vec![engine::Group {
            name: "ping".to_owned(),
            clients,
            arrivals: None,
            idle: false,
            think_ns: 0,
        }],
        client_totals_at: None,
    };
    let control = Arc::new(Control::new(&plan, System::default()));
    let (messages, inbox) = channel();
    let (spare, back) = channel();
    let (shard_plan, shard_control) = (plan.clone(), Arc::clone(&control));
    let shard = std::thread::spawn(move || {
        let mut view = ShardView::new(&shard_plan, shard_control, 0, 1, messages, back);
        let runtime = Runtime::new(settings, 0, 1, clients).unwrap();
        run_shard(&mut view, &mut Pings { runtime, clients });
    });
    let mut summary = None;
    let mut emit = |record: Record| {
        if let Record::Summary(whole) = record {
            summary = Some(*whole);
        }
    };
    let outcome = coordinate(&plan, &control, &inbox, vec![spare], &Nobody, &mut emit);
    shard.join().unwrap();
    (outcome, summary.unwrap())
}

#[test]
#[cfg_attr(miri, ignore = "the summary walks through dozens of whole histograms")]
fn clients_of_a_database_in_process_share_the_thread() {
    for clients in [1, 3] {
        let (outcome, summary) = run(r#"{"driver":"null"}"#, clients, 5_000);

        assert!(matches!(outcome, Outcome::Done), "{outcome:?}");
        assert_eq!(summary.measured.events, 5_000);
        assert_eq!(summary.measured.other + summary.measured.reads, 5_000);
    }
}

#[test]
#[cfg_attr(miri, ignore = "the summary walks through dozens of whole histograms")]
fn a_client_that_waits_is_woken_by_its_reply() {
    let target = r#"{"driver":"scripted","plan":{"service_us":100}}"#;
    let (outcome, summary) = run(target, 8, 400);

    assert!(matches!(outcome, Outcome::Done), "{outcome:?}");
    assert_eq!(summary.measured.events, 400);
    assert_eq!(summary.measured.errors, 0);
}
