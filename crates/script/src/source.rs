//! Finds scripts, and compiles them so that many clients share the code.

use std::ffi::{CStr, CString};
use std::path::{Path, PathBuf};

use crate::lua::{self, State};

/// Where sysbench's packages put their scripts.
const USUAL_PLACES: [&str; 2] = ["/usr/share/sysbench", "/usr/local/share/sysbench"];

/// A script's file, or every path tried.
pub(crate) fn find(name: &str, folders: &[PathBuf]) -> Result<PathBuf, Vec<PathBuf>> {
    let given = PathBuf::from(name);
    let mut tried = Vec::new();
    let mut candidates = vec![given.clone(), given.with_added_extension("lua")];
    if !given.is_absolute() {
        let places = folders.iter().map(PathBuf::as_path).chain(USUAL_PLACES.iter().map(Path::new));
        for folder in places {
            candidates.push(folder.join(&given).with_added_extension("lua"));
            candidates.push(folder.join(&given));
        }
    }
    for candidate in candidates {
        if candidate.is_file() {
            return Ok(candidate);
        }
        tried.push(candidate);
    }
    Err(tried)
}

/// Where modules are searched, as in `package.path`: beside the script, in the folders, then in the
/// usual places.
pub(crate) fn module_path(script: &Path, folders: &[PathBuf]) -> String {
    let here = Path::new(".");
    let beside = script.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(here);
    let mut places = vec![beside];
    places.extend(folders.iter().map(PathBuf::as_path));
    places.push(here);
    places.extend(USUAL_PLACES.iter().map(Path::new));
    let mut known = std::collections::BTreeSet::new();
    places.retain(|place| known.insert(*place));
    let templates = places.iter().map(|place| place.display());
    templates.map(|place| format!("{place}/?.lua;{place}/?/init.lua")).collect::<Vec<_>>().join(";")
}

/// Compiles a script into a function that makes a new instance on each call; leaves it on the
/// stack.
///
/// An instance is a closure over shared code, so a client costs its variables, not a copy of the
/// program. Line numbers are those of the file.
///
/// # Errors
/// The compiler's message, with file and line.
pub(crate) unsafe fn compile(state: *mut State, source: &[u8], path: &str) -> Result<(), String> {
    let name =
        CString::new(format!("@{path}")).map_err(|_| "a path with a zero byte".to_owned())?;
    let mut body = source.to_vec();
    if body.starts_with(b"#") {
        // A `#!` line is not Lua; turned into a comment, it keeps the line numbers.
        body.splice(0..0, *b"--");
    }
    // SAFETY: upheld by the caller; both chunks are checked before they are used.
    unsafe {
        // Compiled alone first, so that a missing `end` isn't reported in terms of our wrapper.
        check(state, &body, &name)?;
        let mut wrapped = b"return function(...) ".to_vec();
        wrapped.extend_from_slice(&body);
        wrapped.extend_from_slice(b"\nend");
        lua::load(state, &wrapped, &name)
    }
}

unsafe fn check(state: *mut State, body: &[u8], name: &CStr) -> Result<(), String> {
    // SAFETY: upheld by the caller; the chunk is popped again.
    unsafe {
        lua::load(state, body, name)?;
        mlua_sys::lua_settop(state, -2);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modules_are_looked_for_beside_the_script_first() {
        let path = module_path(Path::new("s.lua"), &[PathBuf::from("/more"), PathBuf::from(".")]);
        let start = "./?.lua;./?/init.lua;/more/?.lua;/more/?/init.lua;/usr/share/sysbench/?.lua;";
        assert!(path.starts_with(start), "{path}");
        assert!(module_path(Path::new("/a/s.lua"), &[]).starts_with("/a/?.lua;"));
    }

    #[test]
    fn a_missing_script_names_every_place_tried() {
        let tried = find("no_such_script", &[PathBuf::from("/somewhere")]).unwrap_err();
        assert!(tried.contains(&PathBuf::from("no_such_script.lua")));
        assert!(tried.contains(&PathBuf::from("/somewhere/no_such_script.lua")));
    }
}
