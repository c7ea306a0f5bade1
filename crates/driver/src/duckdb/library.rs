//! DuckDB's C interface: its types and functions, by the names of `duckdb.h`.

use std::ffi::{c_char, c_int, c_void};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

/// `duckdb_state`: 0 is success.
pub(super) type State = c_int;
/// Any of the interface's opaque pointers.
pub(super) type Handle = *mut c_void;

/// `duckdb_result`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub(super) struct RawResult {
    deprecated: [u64; 3],
    deprecated_columns: Handle,
    deprecated_error_message: *mut c_char,
    internal_data: Handle,
}

impl RawResult {
    pub const EMPTY: Self = Self {
        deprecated: [0; 3],
        deprecated_columns: std::ptr::null_mut(),
        deprecated_error_message: std::ptr::null_mut(),
        internal_data: std::ptr::null_mut(),
    };
}

macro_rules! interface {
    ($($name:ident($($argument:ty),*) $(-> $result:ty)?;)*) => {
        /// The functions of a loaded library, which stays loaded as long as the process runs:
        /// DuckDB's threads may outlive its last connection by a moment.
        #[derive(Debug)]
        pub(super) struct Library {
            pub path: PathBuf,
            $(pub $name: unsafe extern "C" fn($($argument),*) $(-> $result)?,)*
            _loaded: libloading::Library,
        }

        impl Library {
            /// # Safety
            /// What the file's initialisers do, and its functions under these names, must be
            /// DuckDB's.
            unsafe fn open(path: &Path) -> Result<Self, libloading::Error> {
                // SAFETY: upheld by the caller; the types are those of `duckdb.h`. The pointers
                // are copied out of their guards, and the library is never unloaded.
                unsafe {
                    let loaded = libloading::Library::new(path)?;
                    $(let $name = *loaded.get(
                        concat!("duckdb_", stringify!($name)).as_bytes()
                    )?;)*
                    Ok(Self { path: path.to_owned(), $($name,)* _loaded: loaded })
                }
            }
        }
    };
}

interface! {
    library_version() -> *const c_char;
    free(Handle);
    create_config(*mut Handle) -> State;
    set_config(Handle, *const c_char, *const c_char) -> State;
    destroy_config(*mut Handle);
    open_ext(*const c_char, *mut Handle, Handle, *mut *mut c_char) -> State;
    close(*mut Handle);
    connect(Handle, *mut Handle) -> State;
    disconnect(*mut Handle);
    interrupt(Handle);
    extract_statements(Handle, *const c_char, *mut Handle) -> u64;
    extract_statements_error(Handle) -> *const c_char;
    prepare_extracted_statement(Handle, Handle, u64, *mut Handle) -> State;
    destroy_extracted(*mut Handle);
    prepare(Handle, *const c_char, *mut Handle) -> State;
    prepare_error(Handle) -> *const c_char;
    prepared_statement_type(Handle) -> c_int;
    nparams(Handle) -> u64;
    bind_null(Handle, u64) -> State;
    bind_int64(Handle, u64, i64) -> State;
    bind_uint64(Handle, u64, u64) -> State;
    bind_double(Handle, u64, f64) -> State;
    bind_varchar_length(Handle, u64, *const c_char, u64) -> State;
    bind_blob(Handle, u64, *const c_void, u64) -> State;
    execute_prepared(Handle, *mut RawResult) -> State;
    destroy_prepare(*mut Handle);
    result_error(*mut RawResult) -> *const c_char;
    result_return_type(RawResult) -> c_int;
    rows_changed(*mut RawResult) -> u64;
    column_count(*mut RawResult) -> u64;
    column_type(*mut RawResult, u64) -> c_int;
    column_logical_type(*mut RawResult, u64) -> Handle;
    destroy_logical_type(*mut Handle);
    decimal_width(Handle) -> u8;
    decimal_scale(Handle) -> u8;
    decimal_internal_type(Handle) -> c_int;
    enum_internal_type(Handle) -> c_int;
    enum_dictionary_size(Handle) -> u32;
    enum_dictionary_value(Handle, u64) -> *mut c_char;
    fetch_chunk(RawResult) -> Handle;
    destroy_result(*mut RawResult);
    data_chunk_get_size(Handle) -> u64;
    data_chunk_get_vector(Handle, u64) -> Handle;
    destroy_data_chunk(*mut Handle);
    vector_get_data(Handle) -> Handle;
    vector_get_validity(Handle) -> *mut u64;
    appender_create(Handle, *const c_char, *const c_char, *mut Handle) -> State;
    appender_column_count(Handle) -> u64;
    appender_add_column(Handle, *const c_char) -> State;
    appender_end_row(Handle) -> State;
    appender_close(Handle) -> State;
    appender_destroy(*mut Handle) -> State;
    append_null(Handle) -> State;
    append_int64(Handle, i64) -> State;
    append_varchar_length(Handle, *const c_char, u64) -> State;
}

/// A library by its path, loaded once.
///
/// # Errors
/// The loader's words, or the name of the function that the file lacks.
pub(super) fn library(path: &Path) -> Result<&'static Library, String> {
    static LOADED: Mutex<Vec<&'static Library>> = Mutex::new(Vec::new());
    let mut loaded = LOADED.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    if let Some(known) = loaded.iter().find(|library| library.path == path) {
        return Ok(known);
    }
    // SAFETY: the spec names the file as DuckDB's library; a file that has all of these names is.
    let opened = unsafe { Library::open(path) };
    let opened = opened.map_err(|error| match std::error::Error::source(&error) {
        Some(source) => source.to_string(),
        None => error.to_string(),
    })?;
    let library: &'static Library = Box::leak(Box::new(opened));
    loaded.push(library);
    Ok(library)
}
