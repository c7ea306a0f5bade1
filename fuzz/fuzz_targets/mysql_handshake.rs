//! Fuzzes MySQL's handshake.
#![no_main]

#[path = "../targets.rs"]
#[allow(dead_code)] // Each target is a program of its own.
mod targets;

libfuzzer_sys::fuzz_target!(|data: &[u8]| targets::mysql_handshake(data));
