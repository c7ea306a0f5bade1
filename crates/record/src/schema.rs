//! The version of what crosses the border.

/// Version of both the spec and the record stream. A reader refuses any other.
pub const SCHEMA: u32 = 2;
