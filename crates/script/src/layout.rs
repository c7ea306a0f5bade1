//! How LuaJIT lays out its objects in memory (`lj_obj.h`, 64 bits), as far as looking ahead needs.

use std::ffi::c_void;

/// A name and its value in a table, bytes.
pub(crate) const NODE_BYTES: usize = 24;
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
    tail: [usize; 4],
}

/// `GCtab`.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Table {
    header: [usize; 2],
    pub(crate) array: *const TaggedValue,
    list: usize,
    metatable: usize,
    pub(crate) nodes: *const TaggedValue,
    pub(crate) array_size: u32,
    pub(crate) last_node: u32,
    free_top: usize,
}

impl Table {
    /// Length of its names and their values, bytes.
    #[inline]
    pub(crate) fn nodes_bytes(&self) -> usize {
        (self.last_node as usize + 1) * NODE_BYTES
    }

    /// Where its values are, those of its array first.
    pub(crate) fn values(&self) -> impl Iterator<Item = *const TaggedValue> + use<> {
        let (array, nodes) = (self.array, self.nodes);
        let in_array = (0..self.array_size as usize).map(move |at| array.wrapping_add(at));
        let words = NODE_BYTES / size_of::<TaggedValue>();
        let named = (0..=self.last_node as usize).map(move |at| nodes.wrapping_add(at * words));
        in_array.chain(named)
    }
}

#[cfg(test)]
mod tests {
    use mlua_sys as ffi;

    use super::{FFI_HEADER_BYTES, Table, TaggedValue, Thread, USERDATA_HEADER_BYTES};
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
}
