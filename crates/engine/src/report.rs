//! Converts recorders into records.

use std::collections::BTreeMap;

use measure::{Counters, Distribution, Recorder, Times};
use record::{CpuTime, HistogramRecord, Interval, PhaseName, Subject, TimeKind};

use crate::message::ShardInterval;

const CLASSES: [&str; 3] = ["read", "write", "other"];

pub(crate) fn counters(counters: &Counters) -> record::Counters {
    record::Counters {
        begun: counters.begun,
        events: counters.events,
        uncounted: counters.uncounted,
        reads: counters.reads,
        writes: counters.writes,
        other: counters.other,
        errors: counters.errors,
        restarts: counters.restarts,
        unfinished: counters.unfinished,
        reconnects: counters.reconnects,
        redirects: counters.redirects,
        bytes_sent: counters.bytes_sent,
        bytes_received: counters.bytes_received,
    }
}

/// A distribution with its subject and label.
type Named<'a> = (Subject, &'a str, TimeKind, &'a Distribution);

/// All distributions that hold a value.
pub(crate) fn histograms(recorder: &Recorder, labels: &[String]) -> Vec<HistogramRecord> {
    let events = labels.iter().zip(&recorder.events);
    let events = events.flat_map(|(label, times)| three(Subject::Event, label, times));
    let statements = CLASSES.iter().zip(&recorder.statements);
    let statements = statements.flat_map(|(class, times)| three(Subject::Statement, class, times));
    let others = [
        (Subject::Lag, "lag", TimeKind::Wait, &recorder.lag),
        (Subject::Lag, "queued", TimeKind::Wait, &recorder.queued),
        (Subject::Lag, "unread", TimeKind::Wait, &recorder.unread),
        (Subject::Failed, "statement", TimeKind::Service, &recorder.failed_statements),
        (Subject::Failed, "event", TimeKind::Response, &recorder.failed_events),
    ];
    events.chain(statements).chain(others).filter_map(histogram).collect()
}

fn three<'a>(subject: Subject, label: &'a str, times: &'a Times) -> [Named<'a>; 3] {
    let Times { wait, service, response } = times;
    [(TimeKind::Wait, wait), (TimeKind::Service, service), (TimeKind::Response, response)]
        .map(|(time, distribution)| (subject, label, time, distribution))
}

fn histogram((subject, label, time, distribution): Named<'_>) -> Option<HistogramRecord> {
    (distribution.count() > 0).then(|| HistogramRecord {
        subject,
        label: label.to_owned(),
        time,
        count: distribution.count(),
        out_of_range: distribution.out_of_range(),
        hdr: distribution.encode().expect("counts are far below 2^63"),
    })
}

/// An interval of the whole run, merged from all shards' parts.
#[derive(Debug)]
pub(crate) struct Merged {
    pub(crate) index: u64,
    pub(crate) phase: PhaseName,
    pub(crate) turn: Option<u32>,
    pub(crate) start_ns: u64,
    pub(crate) end_ns: u64,
    pub(crate) clients: u32,
    pub(crate) busy: u32,
    pub(crate) recorder: Recorder,
}

impl Merged {
    /// No part has been added yet; `part` is one of them, and says what they share.
    pub(crate) fn new(part: &ShardInterval) -> Self {
        Self {
            index: part.index,
            phase: part.phase,
            turn: part.turn,
            start_ns: part.start_ns,
            end_ns: part.end_ns,
            clients: 0,
            busy: 0,
            recorder: Recorder::default(),
        }
    }

    /// Adds a shard's part.
    pub(crate) fn add(&mut self, part: &ShardInterval) {
        // The last shard to drain ends a turn for all.
        let start = if self.phase == PhaseName::Pause { u64::max } else { u64::min };
        self.start_ns = start(self.start_ns, part.start_ns);
        self.end_ns = self.end_ns.max(part.end_ns);
        self.clients += part.clients;
        self.busy += part.busy;
        if let Some(recorder) = &part.recorder {
            self.recorder.merge(recorder);
        }
    }

    pub(crate) fn record(&self, cpu: CpuTime, labels: &[String]) -> Interval {
        Interval {
            index: self.index,
            phase: self.phase,
            turn: self.turn,
            start_ns: self.start_ns,
            end_ns: self.end_ns,
            clients: self.clients,
            busy: self.busy,
            counters: counters(&self.recorder.counters),
            errors: self.errors(),
            backlog: self.recorder.backlog,
            cpu,
            histograms: self.histograms(labels),
        }
    }

    /// Distributions of everything that ended in it, whatever window it belongs to.
    fn histograms(&self, labels: &[String]) -> Vec<HistogramRecord> {
        if self.recorder.foreign.iter().all(|times| times.service.count() == 0) {
            return histograms(&self.recorder, labels);
        }
        let mut all = self.recorder.clone();
        all.merge_events(&self.recorder.foreign);
        histograms(&all, labels)
    }

    fn errors(&self) -> BTreeMap<String, u64> {
        self.recorder.errors.clone()
    }
}
