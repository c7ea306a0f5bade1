//! Fuzzes MongoDB's compressed messages.
#![no_main]

#[path = "../targets.rs"]
#[allow(dead_code, reason = "each program that has this uses its own part of it")]
mod targets;

libfuzzer_sys::fuzz_target!(|data: &[u8]| targets::mongodb_compression(data));
