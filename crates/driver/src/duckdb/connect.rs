//! Connects to a target's file.

use record::DuckdbTarget;

use super::instance::join;
use super::library::library;
use super::raw::Connection;
use super::session::DuckdbSession;
use super::words::text_of;
use crate::connect_error::ConnectError;
use crate::transport::{Opened, Transport};

/// Loads the library, opens the file with the settings unless this process has it open, and
/// connects.
pub(crate) fn connect(target: &DuckdbTarget) -> Result<Opened<DuckdbSession>, ConnectError> {
    let address = target.path.display().to_string();
    let library = library(&target.library).map_err(|found| {
        let what = format!(
            "{} is no library with DuckDB's C interface (1.2 or newer): {found}",
            target.library.display()
        );
        ConnectError::Unsupported { address: address.clone(), what }
    })?;
    let refused = |error| ConnectError::Refused { address: address.clone(), error };
    let (handle, lease, settings) = join(library, target).map_err(refused)?;
    let mut session = DuckdbSession::new(Connection::new(library, handle, lease));
    for (name, value) in settings {
        let quoted = value.replace('\'', "''");
        let reply = session.query(format!("SET SESSION {name} = '{quoted}'").as_bytes());
        if let Some(error) = reply.error {
            return Err(refused(*error));
        }
    }
    // SAFETY: the version is a constant of the library.
    let version = unsafe { text_of((library.library_version)()) }.unwrap_or_default();
    let server_version = version.trim_start_matches('v').into();
    Ok(Opened { session, transport: Transport::None, server_version })
}
