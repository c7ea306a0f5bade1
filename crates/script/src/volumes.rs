//! What scripts say of their data before anything is run: `dbdyno.volume`.

use std::sync::Arc;
use std::sync::mpsc::channel;

use engine::{Control, Failure, ShardView, System};
use record::Volume;

use crate::config::Config;
use crate::console::no_load;
use crate::workload::ScriptWorkload;

/// Reads the script of each group, as `run` does before it connects, and asks each for its data;
/// `None`: it says nothing of them.
///
/// # Errors
/// As a run: a script that can't be read, an unknown option, a command that it lacks.
pub fn volumes(config: Arc<Config>) -> Result<Vec<Option<Volume>>, Failure> {
    let (sender, _inbox) = channel();
    let (_, spare) = channel();
    let plan = no_load();
    let control = Arc::new(Control::new(&plan, System::default()));
    let mut view = ShardView::new(&plan, control, 0, 1, sender, spare);
    let workload = ScriptWorkload::new(config, 0, 1)?;
    let mut volumes = Vec::new();
    workload.look_at_scripts(&mut view, Some(&mut volumes))?;
    Ok(volumes)
}
