//! How LuaJIT lays out its objects in memory (`lj_obj.h`, 64 bits), as far as looking ahead needs.

use std::ffi::c_void;
use std::ops::Range;
use std::ptr;

/// The header of a userdata, bytes; what `lua_touserdata` returns follows.
pub(crate) const USERDATA_HEADER_BYTES: usize = 48;
/// The header of an FFI object, bytes; what `lua_topointer` returns follows.
pub(crate) const FFI_HEADER_BYTES: usize = 16;
/// Of an address in a [`TaggedValue`]; the type is above.
const ADDRESS_BITS: u32 = 47;

/// A value in a table or on a stack.
#[derive(Debug, Clone, Copy)]
#[repr(transparent)]
pub(crate) struct TaggedValue(u64);

impl TaggedValue {
    /// The table's address, if it is one.
    #[inline]
    pub(crate) fn table(self) -> Option<usize> {
        self.is(Self::TABLE).then(|| self.address())
    }

    /// The object's address, if it is a userdata or an FFI object.
    #[inline]
    pub(crate) fn object(self) -> Option<usize> {
        (self.is(Self::USERDATA) || self.is(Self::FFI)).then(|| self.address())
    }

    /// The function's address, if it is one.
    #[inline]
    pub(crate) fn function(self) -> Option<usize> {
        self.is(Self::FUNCTION).then(|| self.address())
    }

    /// The text's address, if it is one.
    #[inline]
    pub(crate) fn text(self) -> Option<usize> {
        self.is(Self::TEXT).then(|| self.address())
    }

    const TEXT: u64 = !4;
    const FUNCTION: u64 = !8;
    const FFI: u64 = !10;
    const TABLE: u64 = !11;
    const USERDATA: u64 = !12;

    fn is(self, kind: u64) -> bool {
        self.0 >> ADDRESS_BITS == kind & (u64::MAX >> ADDRESS_BITS)
    }

    fn address(self) -> usize {
        (self.0 & ((1 << ADDRESS_BITS) - 1)) as usize
    }
}

/// `lua_State`.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Thread {
    header: [usize; 4],
    pub(crate) base: *const c_void,
    pub(crate) top: *const c_void,
    pub(crate) stack_end: *const c_void,
    pub(crate) stack: *const c_void,
    open_upvalue: usize,
    pub(crate) globals: *const Table,
    tail: [usize; 2],
}

/// `GCtab`.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Table {
    header: [usize; 2],
    pub(crate) array: *const TaggedValue,
    list: usize,
    metatable: usize,
    pub(crate) nodes: *const Node,
    pub(crate) array_size: u32,
    pub(crate) last_node: u32,
    free_top: usize,
}

/// `Node`: a name and its value in a table.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Node {
    pub(crate) value: TaggedValue,
    pub(crate) key: TaggedValue,
    next: usize,
}

impl Table {
    /// Length of its names and their values, bytes.
    #[inline]
    pub(crate) fn nodes_bytes(&self) -> usize {
        (self.last_node as usize + 1) * size_of::<Node>()
    }

    /// Where its names and their values are.
    pub(crate) fn nodes(&self) -> impl Iterator<Item = *const Node> + use<> {
        let nodes = self.nodes;
        (0..=self.last_node as usize).map(move |at| nodes.wrapping_add(at))
    }

    /// Where its values are, those of its array first.
    pub(crate) fn values(&self) -> impl Iterator<Item = *const TaggedValue> + use<> {
        let array = self.array;
        let in_array = (0..self.array_size as usize).map(move |at| array.wrapping_add(at));
        // A node begins with its value.
        in_array.chain(self.nodes().map(<*const Node>::cast))
    }
}

/// `GCfunc`; what follows the header is that of a function written in Lua.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Function {
    header: [u8; 10],
    /// 0: written in Lua.
    builtin: u8,
    upvalue_count: u8,
    pub(crate) globals: *const Table,
    list: usize,
    /// Its bytecode, which follows its prototype.
    code: *const Prototype,
}

impl Function {
    pub(crate) fn is_lua(&self) -> bool {
        self.builtin == 0
    }

    /// Its memory, if it is written in Lua.
    pub(crate) fn memory(&self) -> Range<usize> {
        let start = ptr::from_ref(self).addr();
        start..start + size_of::<Self>() + self.upvalue_count as usize * size_of::<usize>()
    }

    /// Its upvalues.
    ///
    /// # Safety
    /// A live function, written in Lua.
    pub(crate) unsafe fn upvalues(&self) -> impl Iterator<Item = *const Upvalue> + use<> {
        let first = ptr::from_ref(self).wrapping_add(1).cast::<*const Upvalue>();
        // SAFETY: upheld by the caller.
        (0..self.upvalue_count as usize).map(move |at| unsafe { *first.wrapping_add(at) })
    }

    /// Addresses of the objects in its text: among others, the names that it uses.
    ///
    /// # Safety
    /// As for [`Self::upvalues`].
    pub(crate) unsafe fn constants(&self) -> impl Iterator<Item = usize> + use<> {
        let prototype = self.code.wrapping_sub(1);
        // SAFETY: upheld by the caller.
        let (middle, count) = unsafe { ((*prototype).constants, (*prototype).object_count) };
        // SAFETY: upheld by the caller.
        (1..=count as usize).map(move |at| unsafe { *middle.wrapping_sub(at) })
    }
}

/// `GCupval`.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Upvalue {
    header: [usize; 4],
    pub(crate) value: *const TaggedValue,
    hash: usize,
}

/// `GCproto`.
#[derive(Debug)]
#[repr(C)]
struct Prototype {
    header: [usize; 4],
    /// Objects lie before this, numbers from here on.
    constants: *const usize,
    upvalues: usize,
    object_count: u32,
    sizes: [u32; 3],
    source: [usize; 5],
}

/// `GCstr`; its bytes follow.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Text {
    header: [usize; 2],
    hash: u32,
    len: u32,
}

impl Text {
    /// # Safety
    /// A live text.
    pub(crate) unsafe fn bytes<'a>(text: *const Self) -> &'a [u8] {
        // SAFETY: upheld by the caller.
        unsafe { std::slice::from_raw_parts(text.add(1).cast(), (*text).len as usize) }
    }
}

#[cfg(test)]
mod tests {
    use mlua_sys as ffi;

    use super::{
        FFI_HEADER_BYTES, Function, Table, TaggedValue, Text, Thread, USERDATA_HEADER_BYTES,
    };
    use crate::arena::Lua;
    use crate::lua;

    #[test]
    fn a_stack_is_where_it_is_looked_for() {
        let lua = Lua::new().unwrap();
        // SAFETY: a state of our own that runs nothing.
        unsafe {
            let thread = ffi::lua_newthread(lua.state);
            let seen = thread.cast_const().cast::<Thread>();
            let top = (*seen).top as usize;
            ffi::lua_pushnumber(thread, 0.5);
            assert_eq!((*seen).top as usize, top + 8);
            assert_eq!((top as *const f64).read(), 0.5);
            let order = [(*seen).stack, (*seen).base, (*seen).top, (*seen).stack_end];
            assert!(order.is_sorted_by_key(|place| *place as usize), "{order:?}");

            ffi::lua_createtable(lua.state, 0, 0);
            let globals = ffi::lua_topointer(lua.state, -1);
            ffi::lua_setfenv(lua.state, 1);
            assert_eq!((*seen).globals.cast(), globals);
        }
    }

    #[test]
    fn the_values_of_a_table_are_where_they_are_looked_for() {
        let lua = Lua::new().unwrap();
        let state = lua.state;
        // SAFETY: a state of our own; what is looked at stays on its stack.
        unsafe {
            ffi::luaL_openlibs(state);
            let source =
                b"local made = require('ffi').new('int64_t[2]') return made, {}, newproxy()";
            lua::load(state, source, c"test").unwrap();
            ffi::lua_call(state, 0, 3);
            let address = |at| ffi::lua_topointer(state, at) as usize;
            let wanted = [
                (Some(address(1) - FFI_HEADER_BYTES), None),
                (None, Some(address(2))),
                (Some(address(3) - USERDATA_HEADER_BYTES), None),
            ];

            ffi::lua_createtable(state, 3, 8);
            for at in 1..=3 {
                ffi::lua_pushvalue(state, at);
                ffi::lua_rawseti_(state, 4, at);
            }
            ffi::lua_pushvalue(state, 2);
            ffi::lua_setfield(state, 4, c"name".as_ptr());
            let table = ffi::lua_topointer(state, 4).cast::<Table>();

            assert_eq!(((*table).array_size, (*table).last_node), (4, 7), "with element 0");
            let seen: Vec<_> =
                (*table).values().map(|at| ((*at).object(), (*at).table())).collect();
            assert_eq!(seen.len(), 12);
            assert_eq!(seen[1..4], wanted);
            let named: Vec<_> = seen[4..].iter().filter_map(|(_, table)| *table).collect();
            assert_eq!(named, [address(2)]);
            let others: [TaggedValue; 3] = [0, 1.5_f64.to_bits(), u64::MAX].map(TaggedValue);
            assert!(others.iter().all(|one| one.object().or(one.table()).is_none()));
        }
    }

    #[test]
    fn the_parts_of_a_function_are_where_they_are_looked_for() {
        let lua = Lua::new().unwrap();
        let state = lua.state;
        // SAFETY: a state of our own; what is looked at stays on its stack.
        unsafe {
            let source = b"local first, second = 0.5, {}
                first = first + 1
                return function() return name.other, first, second end, second";
            lua::load(state, source, c"test").unwrap();
            ffi::lua_call(state, 0, 2);
            ffi::lua_pushvalue(state, 1);
            let value = (*ffi::lua_topointer(state, 1).cast::<Function>()).globals;
            assert_eq!(value.cast(), ffi::lua_topointer(state, ffi::LUA_GLOBALSINDEX));
            let function = &*ffi::lua_topointer(state, 1).cast::<Function>();
            assert!(function.is_lua());
            assert_eq!(function.memory().len(), 40 + 2 * 8);
            let upvalues: Vec<_> = function.upvalues().map(|one| *(*one).value).collect();
            assert_eq!(upvalues[0].0, 1.5_f64.to_bits());
            assert_eq!(upvalues[1].table(), Some(ffi::lua_topointer(state, 2).addr()));
            let names = function.constants().map(|at| Text::bytes(at as *const Text));
            assert_eq!(names.collect::<Vec<_>>(), [&b"name"[..], b"other"]);

            ffi::lua_createtable(state, 0, 1);
            ffi::lua_pushvalue(state, 1);
            ffi::lua_setfield(state, -2, c"name".as_ptr());
            let table = &*ffi::lua_topointer(state, -1).cast::<Table>();
            let node = table.nodes().find(|node| (**node).key.text().is_some()).unwrap();
            let address = ffi::lua_topointer(state, 1).addr();
            assert_eq!((*node).value.function(), Some(address));
            let name = (*node).key.text().unwrap() as *const Text;
            assert_eq!(Text::bytes(name), b"name");
        }
    }
}
