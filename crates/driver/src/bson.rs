//! Documents of BSON, for those who make commands and read answers.

pub use wire_mongodb::answer::{Answer, Cursor, answer, length};
pub use wire_mongodb::bson::{Element, Elements, Value, elements, kind};
pub use wire_mongodb::writer::{
    begin, binary, boolean, check_size, date, double, end, head, int64, integer, number, regex,
    text,
};
pub use wire_mongodb::{DEPTH_MAX, DOCUMENT_SIZE_MAX, WireError};
