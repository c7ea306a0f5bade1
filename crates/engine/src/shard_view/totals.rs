//! Totals of each client, where they are reported.

use record::ClientTotal;

use super::ShardView;

impl ShardView {
    /// Adds an event to its client's totals.
    #[inline]
    pub(super) fn client_event(&mut self, place: u32, start_ns: u64, end_ns: u64) {
        if self.account.totals_at.is_some() {
            self.add_to_client(place as usize, start_ns, end_ns);
        }
    }

    fn add_to_client(&mut self, index: usize, start_ns: u64, end_ns: u64) {
        if self.account.totals.len() <= index {
            self.extend_totals(index + 1);
        }
        let total = &mut self.account.totals[index];
        let took = end_ns.saturating_sub(start_ns);
        total.min_ns = if total.events == 0 { took } else { total.min_ns.min(took) };
        total.max_ns = total.max_ns.max(took);
        total.events += 1;
        total.busy_ns += took;
        total.last_ns = end_ns;
    }

    pub(super) fn extend_totals(&mut self, count: usize) {
        for index in self.account.totals.len()..count {
            let number = index as u32 * self.place.stride + self.place.offset;
            self.account.totals.push(ClientTotal::new(number));
        }
    }

    /// Takes the clients' totals, if they are to be reported at this time.
    pub(super) fn take_totals(&mut self, end: u64) -> Option<Vec<ClientTotal>> {
        let marks = self.account.totals_at.as_ref()?;
        let measured = end.checked_sub(self.course.timeline.measure_start());
        let told = self.course.closing || measured.is_some_and(|at| marks.contains(&at));
        if !told && measured != Some(0) {
            return None;
        }
        let fresh =
            self.account.totals.iter().map(|total| ClientTotal::new(total.number)).collect();
        let totals = std::mem::replace(&mut self.account.totals, fresh);
        told.then_some(totals)
    }
}
