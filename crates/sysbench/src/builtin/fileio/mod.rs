//! `fileio`: reads, writes and fsyncs of files.

mod block;
mod client;
mod files;
mod ring;
mod settings;
mod shared;
mod state;

pub(crate) use client::FileClient;
pub use files::{cleanup, prepare};
pub(crate) use settings::Settings;
pub(crate) use state::FileIo;
