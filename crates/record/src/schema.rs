//! The schema version of specs and records.

/// Version of both the spec and the record stream. A reader refuses any other.
pub const SCHEMA: u32 = 2;
