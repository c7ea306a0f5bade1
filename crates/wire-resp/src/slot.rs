//! Hash slots of a cluster ("Cluster specification" of the servers' documentation).

/// Slots of a cluster, which its nodes share.
pub const SLOTS: u16 = 16384;

/// The slot of a key, below [`SLOTS`]: CRC-16 (XMODEM) of what stands between its first `{` and the
/// next `}`, if that is anything, otherwise of all of it.
pub fn slot_of(key: &[u8]) -> u16 {
    crc16(tag_of(key).unwrap_or(key)) % SLOTS
}

fn tag_of(key: &[u8]) -> Option<&[u8]> {
    let start = key.iter().position(|byte| *byte == b'{')? + 1;
    let size = key[start..].iter().position(|byte| *byte == b'}')?;
    (size > 0).then(|| &key[start..start + size])
}

/// Polynomial 0x1021, initial value 0, nothing reflected.
fn crc16(bytes: &[u8]) -> u16 {
    bytes.iter().fold(0, |crc, byte| (crc << 8) ^ TABLE[usize::from((crc >> 8) as u8 ^ byte)])
}

const TABLE: [u16; 256] = table();

const fn table() -> [u16; 256] {
    let (mut table, mut at) = ([0; 256], 0);
    while at < 256 {
        let (mut crc, mut bit) = ((at as u16) << 8, 0);
        while bit < 8 {
            crc = if crc & 0x8000 == 0 { crc << 1 } else { crc << 1 ^ 0x1021 };
            bit += 1;
        }
        table[at] = crc;
        at += 1;
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Values of the specification, and of `CLUSTER KEYSLOT` of Redis 7.0.
    #[test]
    fn slots_are_the_servers_own() {
        assert_eq!(crc16(b"123456789"), 0x31c3);
        for (key, slot) in [
            ("foo", 12182),
            ("bar", 5061),
            ("", 0),
            ("{user1000}.following", 3443),
            ("{user1000}.followers", 3443),
            ("user1000", 3443),
            ("foo{}{bar}", 8363),
            ("foo{{bar}}zap", 4015),
            ("{bar", 4015),
            ("foo{bar}{zap}", 5061),
            ("key:000000000000", 13053),
        ] {
            assert_eq!(slot_of(key.as_bytes()), slot, "{key}");
        }
    }
}
