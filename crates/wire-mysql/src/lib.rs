//! wire-mysql
