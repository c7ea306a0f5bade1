//! wire-postgres
