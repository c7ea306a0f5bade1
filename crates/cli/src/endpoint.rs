//! The endpoint that Prometheus scrapes while the load runs.

use std::sync::{Arc, Mutex, PoisonError};

use sysbench::Refusal;
use tiny_http::{Header, Response, Server};

/// Serves the text published last, until the process ends.
#[derive(Clone, Default)]
pub struct Endpoint {
    text: Arc<Mutex<String>>,
}

impl Endpoint {
    /// Listens at `[host:]port`; without a host on loopback only.
    ///
    /// # Errors
    /// The address is invalid or in use.
    pub fn open(address: &str) -> Result<Self, Refusal> {
        let full = match address.parse::<u16>() {
            Ok(port) => format!("127.0.0.1:{port}"),
            Err(_) => address.to_owned(),
        };
        let server = Server::http(&full)
            .map_err(|error| Refusal(format!("FATAL: --prometheus={address}: {error}")))?;
        let endpoint = Self::default();
        let text = Arc::clone(&endpoint.text);
        let kind = "text/plain; version=0.0.4; charset=utf-8";
        let header = Header::from_bytes("Content-Type", kind)
            .map_err(|()| Refusal("FATAL: a constant header is valid".to_owned()))?;
        let serve = move || {
            for asked in server.incoming_requests() {
                let body = text.lock().unwrap_or_else(PoisonError::into_inner).clone();
                // A client that has disconnected does not matter.
                let _ = asked.respond(Response::from_string(body).with_header(header.clone()));
            }
        };
        let spawned = std::thread::Builder::new().name("prometheus".to_owned()).spawn(serve);
        spawned.map_err(|error| Refusal(format!("FATAL: --prometheus={address}: {error}")))?;
        Ok(endpoint)
    }

    /// Replaces the text that is served.
    pub fn publish(&self, text: String) {
        *self.text.lock().unwrap_or_else(PoisonError::into_inner) = text;
    }
}
