//! The built-in tests: their names, options and reports.

mod client;
mod cpu;
mod figures;
mod fileio;
mod locks;
mod make;
mod memory;
mod options;

pub use client::{BuiltinWorkload, Client};
pub use figures::Figures;
pub use fileio::{cleanup, prepare};
pub use make::{BuiltinTest, MakeClient, test, values};
pub use options::{TESTS, TestOption, options};
