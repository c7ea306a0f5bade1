//! The state machine, fed by hand.

use super::*;

const CREDENTIALS: Credentials<'_> =
    Credentials { user: "u", password: Some("secret"), database: "d" };

const WITH_TLS: Wishes = Wishes { tls: true, compression: None, public_key: false };

/// Of a server without TLS.
fn greeting(plugin: &str) -> Vec<u8> {
    let mut greeting = tls_greeting(plugin);
    greeting[21] &= !0x08;
    greeting
}

fn tls_greeting(plugin: &str) -> Vec<u8> {
    let mut out = b"\x0a8.0.1\0\x01\0\0\0abcdefgh\0\xff\xff\x2d\x02\0\xff\xff\x15".to_vec();
    out.extend_from_slice(&[0; 10]);
    out.extend_from_slice(b"ijklmnopqrst\0");
    text(plugin.as_bytes(), &mut out);
    out
}

/// A handshake that has been greeted, and its response's payload.
fn greeted(plugin: &str, is_local: bool) -> (Handshake<'static>, Vec<u8>) {
    let mut handshake = Handshake::new(CREDENTIALS, is_local, Wishes::default());
    let mut out = Vec::new();
    assert_eq!(handshake.step(0, &greeting(plugin), &mut out).unwrap(), Step::Continue);
    assert_eq!(backend::header(&out).unwrap().sequence, 1);
    (handshake, out.split_off(4))
}

#[test]
fn the_response_answers_the_plugin_of_the_greeting() {
    let (handshake, response) = greeted("mysql_native_password", false);
    assert_eq!(handshake.server_version(), "8.0.1");
    assert!(handshake.agreed().deprecates_eof);
    assert_eq!(&response[32..35], b"u\0\x14");
    assert!(response.ends_with(b"d\0mysql_native_password\0"));
    let (_, response) = greeted("caching_sha2_password", false);
    assert_eq!(response[34], 32);
    let (_, response) = greeted("unheard_of", false);
    assert!(response.ends_with(b"mysql_native_password\0"));
}

#[test]
fn what_only_mariadb_has_is_asked_of_mariadb_alone() {
    for (is_mysql, offered, expected) in
        [(false, 0x1f, 0x14), (false, 0x0f, 4), (true, 0x1f, 0), (false, 0, 0)]
    {
        let mut greeting = tls_greeting("mysql_native_password");
        greeting[20] = 0xfe | u8::from(is_mysql);
        greeting[34] = offered;
        for tls in [false, true] {
            let wishes = Wishes { tls, ..Wishes::default() };
            let mut handshake = Handshake::new(CREDENTIALS, false, wishes);
            let mut out = Vec::new();
            handshake.step(0, &greeting, &mut out).unwrap();
            assert_eq!(handshake.agreed().caches_metadata, expected & 0x10 > 0);
            assert_eq!(handshake.agreed().bulk_executes, expected & 4 > 0);
            assert_eq!(out[4] & 1, u8::from(is_mysql));
            assert_eq!(out[32..36], [expected, 0, 0, 0]);
        }
    }
}

#[test]
fn compression_is_agreed_on_by_name() {
    for (algorithm, expected) in
        [(Algorithm::Zlib, &b"password\0"[..]), (Algorithm::Zstd, b"password\0\x03")]
    {
        let wishes = Wishes { compression: Some(algorithm), ..Wishes::default() };
        let mut handshake = Handshake::new(CREDENTIALS, false, wishes);
        let mut out = Vec::new();
        handshake.step(0, &greeting("mysql_native_password"), &mut out).unwrap();
        assert_eq!(handshake.agreed().compression, Some(algorithm));
        assert!(out.ends_with(expected), "zstd's level is the last byte");
        let flags = u32::from_le_bytes([out[4], out[5], out[6], out[7]]);
        let bits = [5, 26].map(|bit| flags >> bit & 1);
        assert_eq!(bits, if algorithm == Algorithm::Zlib { [1, 0] } else { [0, 1] });
        let mut without = greeting("mysql_native_password");
        without[20] &= !0x20;
        without[26] &= !0x04;
        let mut handshake = Handshake::new(CREDENTIALS, false, wishes);
        handshake.step(0, &without, &mut Vec::new()).unwrap();
        assert_eq!(handshake.agreed().compression, None);
    }
}

#[test]
fn full_authentication_is_in_clear_only_where_nobody_listens() {
    let asking = Wishes { public_key: true, ..Wishes::default() };
    for (is_local, wishes, expected) in
        [(true, Wishes::default(), &b"secret\0"[..]), (false, asking, b"\x02")]
    {
        let mut handshake = Handshake::new(CREDENTIALS, is_local, wishes);
        let mut out = Vec::new();
        handshake.step(0, &greeting("caching_sha2_password"), &mut out).unwrap();
        out.clear();
        assert_eq!(handshake.step(2, b"\x01\x04", &mut out).unwrap(), Step::Continue);
        assert_eq!((out[3], &out[4..]), (3, expected));
    }
}

#[test]
fn a_key_that_anybody_may_have_sent_gets_no_password() {
    let key = b"\x01-----BEGIN PUBLIC KEY-----\n";
    for (plugin, data) in [
        ("caching_sha2_password", &b"\x01\x04"[..]),
        ("caching_sha2_password", key),
        ("sha256_password", key),
        ("sha256_password", b"\x01"),
    ] {
        let (mut handshake, _) = greeted(plugin, false);
        let mut out = Vec::new();
        let error = handshake.step(2, data, &mut out).unwrap_err();
        assert!(matches!(error, HandshakeError::Exposed(ref name) if name == plugin), "{error}");
        assert!(out.is_empty());
    }
    // An empty password is no secret.
    let credentials = Credentials { password: None, ..CREDENTIALS };
    let mut handshake = Handshake::new(credentials, false, Wishes::default());
    let mut out = Vec::new();
    handshake.step(0, &greeting("sha256_password"), &mut out).unwrap();
    assert_eq!(handshake.step(2, b"\0\0\0\x02\0\0\0", &mut out).unwrap(), Step::Ready);
}

#[test]
fn fast_answers_are_those_of_other_clients() {
    // The nonce, passwords and answers are those in the tests of Go's client.
    let nonce = [10, 47, 74, 111, 75, 73, 34, 48, 88, 76, 114, 74, 37, 13, 3, 80, 82, 2, 23, 21];
    for (password, expected) in [
        ("secret", "f490e76f66d9d86665ce54d98c78d0acfe2fb0b08b423da807144873d30b312c"),
        ("secret2", "abc3934a012cf342e876071c8ee202de51785b430258a7a0138bc79c4d800bc6"),
    ] {
        let credentials = Credentials { password: Some(password), ..CREDENTIALS };
        let mut handshake = Handshake::new(credentials, false, Wishes::default());
        let mut out = Vec::new();
        handshake.step(0, &greeting("mysql_native_password"), &mut out).unwrap();
        out.clear();
        let switch = [&b"\xfecaching_sha2_password\0"[..], &nonce, b"\0"].concat();
        assert_eq!(handshake.step(2, &switch, &mut out).unwrap(), Step::Continue);
        assert_eq!(out[..4], [32, 0, 0, 3]);
        let found: String = out[4..].iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(found, expected);
    }
}

#[test]
fn within_tls_the_response_follows_its_own_beginning() {
    for (plugin, expected) in
        [("caching_sha2_password", None), ("sha256_password", Some(&b"u\0\x07secret\0"[..]))]
    {
        let mut handshake = Handshake::new(CREDENTIALS, false, WITH_TLS);
        let mut out = Vec::new();
        let step = handshake.step(0, &tls_greeting(plugin), &mut out).unwrap();
        assert_eq!((step, out.len()), (Step::Encrypt, 36));
        assert_eq!(out[..4], [32, 0, 0, 1]);
        let beginning = out.split_off(4);
        out.clear();
        handshake.encrypted(&mut out).unwrap();
        assert_eq!(out[3], 2);
        assert_eq!(out[4..36], beginning);
        assert!(expected.is_none_or(|expected| out[36..].starts_with(expected)));
        out.clear();
        if plugin == "caching_sha2_password" {
            handshake.step(3, b"\x01\x04", &mut out).unwrap();
            assert_eq!(out, b"\x07\0\0\x04secret\0");
        }
    }
    // A server without TLS is answered as if none had been wished for.
    let mut handshake = Handshake::new(CREDENTIALS, false, WITH_TLS);
    let plain = greeting("caching_sha2_password");
    assert_eq!(handshake.step(0, &plain, &mut Vec::new()).unwrap(), Step::Continue);
}

#[test]
fn a_password_in_clear_needs_privacy_and_sha256_asks_for_a_key() {
    let switch = b"\xfemysql_clear_password\0";
    let (mut open, _) = greeted("mysql_native_password", false);
    assert!(open.step(2, switch, &mut Vec::new()).is_err());
    let (mut local, _) = greeted("mysql_native_password", true);
    let mut out = Vec::new();
    local.step(2, switch, &mut out).unwrap();
    assert_eq!(&out[4..], b"secret\0");
    let (_, response) = greeted("sha256_password", false);
    assert_eq!(&response[32..36], b"u\0\x01\x01");
}

#[test]
fn cached_passwords_need_no_further_answer() {
    let (mut handshake, _) = greeted("caching_sha2_password", false);
    let mut out = Vec::new();
    assert_eq!(handshake.step(2, b"\x01\x03", &mut out).unwrap(), Step::Continue);
    assert!(out.is_empty());
    assert_eq!(handshake.step(3, b"\0\0\0\x02\0\0\0", &mut out).unwrap(), Step::Ready);
}

#[test]
fn what_is_asked_for_and_not_supported_has_a_name() {
    let (mut handshake, _) = greeted("mysql_native_password", false);
    let mut out = Vec::new();
    let error = handshake.step(2, b"\xfemysql_clear_password\0", &mut out).unwrap_err();
    let said = "the server asks for authentication by mysql_clear_password, which is not supported";
    assert_eq!(error.to_string(), said);
    let error = handshake.step(2, b"\xfe", &mut out).unwrap_err();
    assert!(error.to_string().contains("mysql_old_password"));
    assert!(matches!(handshake.step(2, b"", &mut out), Err(HandshakeError::Wire(_))));
    assert!(matches!(handshake.step(2, b"\x0a", &mut out), Err(HandshakeError::Unexpected(10))));
    let mut fresh = Handshake::new(CREDENTIALS, true, Wishes::default());
    assert!(matches!(fresh.step(0, b"\0", &mut out), Err(HandshakeError::Unexpected(0))));
    let too_many = b"\xff\x10\x04Too many connections";
    assert!(matches!(fresh.step(0, too_many, &mut out), Err(HandshakeError::Refused(_))));
    assert!(out.is_empty());
}

#[test]
fn a_challenge_of_a_size_that_no_server_has_is_no_greeting() {
    for size in 0x80..=0xff {
        let mut greeting = greeting("mysql_native_password");
        greeting[27] = size;
        let mut handshake = Handshake::new(CREDENTIALS, true, Wishes::default());
        let error = handshake.step(0, &greeting, &mut Vec::new()).unwrap_err();
        assert!(matches!(error, HandshakeError::Wire(WireError::Malformed("greeting"))));
    }
}
