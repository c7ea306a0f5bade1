//! arrival
