//! Text for people on standard output and error. On a terminal, what servers and scripts have
//! written is made harmless: control characters would be obeyed. Elsewhere it stays as it is.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::io::{self, IsTerminal, Write};

/// Prints on standard output. A closed output doesn't end the run; the exit code still shows the
/// outcome.
pub fn say(text: &str) {
    let mut output = io::stdout().lock();
    let shown = shown(text, output.is_terminal());
    let _ = output.write_all(shown.as_bytes()).and_then(|()| output.flush());
}

/// Prints on standard error.
pub fn complain(text: &str) {
    let mut output = io::stderr().lock();
    let shown = shown(text, output.is_terminal());
    let _ = output.write_all(shown.as_bytes());
}

fn shown(text: &str, on_terminal: bool) -> Cow<'_, str> {
    if on_terminal { harmless(text) } else { Cow::Borrowed(text) }
}

/// The text with what a terminal would obey written out, as the lab does it.
fn harmless(text: &str) -> Cow<'_, str> {
    if !text.chars().any(is_harmful) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for found in text.chars() {
        let number = u32::from(found);
        // Writing to a text never fails.
        let _ = match number {
            _ if !is_harmful(found) => out.write_char(found),
            0..=0xff => write!(out, "\\x{number:02x}"),
            0x100..=0xffff => write!(out, "\\u{number:04x}"),
            _ => write!(out, "\\U{number:08x}"),
        };
    }
    Cow::Owned(out)
}

fn is_harmful(found: char) -> bool {
    matches!(found,
        '\u{0}'..='\u{8}' | '\u{b}'..='\u{1f}' | '\u{7f}'..='\u{9f}'
        // The direction of writing, and what can't be seen.
        | '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}'
        | '\u{e0000}'..='\u{e0fff}')
}

#[cfg(test)]
mod tests {
    use super::{harmless, shown};

    #[test]
    fn what_a_terminal_would_obey_is_written_out() {
        for (text, expected) in [
            ("plain × µ 日本\n\ttext", "plain × µ 日本\n\ttext"),
            ("\x1b]0;pwn\x07", "\\x1b]0;pwn\\x07"),
            ("a\rb\x08\x7f\u{9b}31m", "a\\x0db\\x08\\x7f\\x9b31m"),
            ("\u{202e}txt\u{2066}\u{e0041}", "\\u202etxt\\u2066\\U000e0041"),
        ] {
            assert_eq!(harmless(text), expected);
            assert_eq!(shown(text, false), text);
        }
    }
}
