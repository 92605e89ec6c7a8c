//! Tests of the bytes that a server sends, against numbers written down from `doc/proto.md`.

use super::*;
use crate::device::message::{Answer, Command, Failure, Head, Request};
use base::error::assert_carries;
use std::io::{Cursor, Write};

/// A client that has sent everything beforehand.
struct Script {
    sent: Cursor<Vec<u8>>,
    received: Vec<u8>,
}

impl Read for Script {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.sent.read(buffer)
    }
}

impl Write for Script {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.received.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Bytes from hexadecimal digits; text stands in quotes.
fn bytes(text: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (i, part) in text.split('"').enumerate() {
        if i % 2 == 1 {
            bytes.extend_from_slice(part.as_bytes());
            continue;
        }
        let digits: Vec<u8> = part.bytes().filter(|byte| !byte.is_ascii_whitespace()).collect();
        for pair in digits.chunks(2) {
            let pair = std::str::from_utf8(pair).unwrap();
            bytes.push(u8::from_str_radix(pair, 16).unwrap());
        }
    }
    bytes
}

fn export() -> Export {
    Export {
        name: "ssd".to_owned(),
        description: "a drive".to_owned(),
        size_bytes: 1 << 20,
        minimum_bytes: 512,
        preferred_bytes: 4096,
        maximum_bytes: 1 << 16,
        read_only: false,
        contexts: ["base:allocation", "x-nandlab:die", "x-nandlab:age"].map(String::from).into(),
    }
}

const GREETING: &str = r#" "NBDMAGIC" "IHAVEOPT" 0003 "#;

/// Client flags with both bits: fixed newstyle, no zeros.
const BOTH: &str = "00000003";

fn haggled(export: &Export, sent: &str) -> (Result<Option<Agreed>, Broken>, Vec<u8>) {
    let mut script = Script { sent: Cursor::new(bytes(sent)), received: Vec::new() };
    let outcome = handshake(&mut script, export);
    let left = script.sent.get_ref().len() as u64 - script.sent.position();
    assert!(left == 0 || outcome.is_err(), "{left} bytes are not read");
    (outcome, script.received)
}

/// Agreement of the handshake `sent`, which is answered with `received`.
fn agrees(sent: &str, received: &str) -> Agreed {
    let (outcome, got) = haggled(&export(), sent);
    assert_eq!(got, bytes(&format!("{GREETING}{received}")));
    outcome.unwrap().expect("the export is chosen")
}

/// Checks a handshake that the client ends.
fn ends(sent: &str, received: &str) {
    let (outcome, got) = haggled(&export(), sent);
    assert_eq!(got, bytes(&format!("{GREETING}{received}")));
    assert_eq!(outcome.unwrap(), None);
}

fn breaks(sent: &str) -> String {
    haggled(&export(), sent).0.unwrap_err().to_string()
}

#[test]
fn export_name_is_answered_with_size_flags_and_zeros() {
    let zeros = "00".repeat(124);
    // Flags: has flags, flush, FUA, trim, zeros, several connections, cache, fast zeros.
    let told = "0000000000100000 0d6d";
    for (flags, padding) in [("00000001", zeros.as_str()), ("00000000", &zeros), (BOTH, "")] {
        for name in [r#"00000003 "ssd""#, "00000000"] {
            let sent = format!(r#"{flags} "IHAVEOPT" 00000001 {name}"#);
            let agreed = agrees(&sent, &format!("{told}{padding}"));
            assert_eq!(agreed, Agreed::default());
        }
    }
    let problem = breaks(&format!(r#"{BOTH} "IHAVEOPT" 00000001 00000004 "disk" "#));
    assert_carries(problem, &["protocol", "export", "\"disk\""]);
}

#[test]
fn a_read_only_export_offers_no_changes() {
    let export = Export { read_only: true, ..export() };
    let (_, got) = haggled(&export, &format!(r#"{BOTH} "IHAVEOPT" 00000001 00000000"#));
    // Flags: has flags, read-only, flush, FUA, several connections, cache.
    assert_eq!(got, bytes(&format!("{GREETING} 0000000000100000 050f")));
}

#[test]
fn abort_and_list_end_in_order() {
    let abort = r#""IHAVEOPT" 00000002 00000000"#;
    let aborted = "0003e889045565a9 00000002 00000001 00000000";
    ends(&format!("{BOTH} {abort}"), aborted);
    let list = r#""IHAVEOPT" 00000003 00000000"#;
    let listed = r#"0003e889045565a9 00000003 00000002 0000000e 00000003 "ssd" "a drive"
        0003e889045565a9 00000003 00000001 00000000"#;
    ends(&format!("{BOTH} {list}"), listed);
    ends(&format!("{BOTH} {list} {abort}"), &format!("{listed}{aborted}"));
    ends(BOTH, "");
    ends("", "");
    // A list has no data.
    ends(
        &format!(r#"{BOTH} "IHAVEOPT" 00000003 00000001 00 {abort}"#),
        &format!("0003e889045565a9 00000003 80000003 00000000 {aborted}"),
    );
}

/// A client that does not wait for the reply to its abort.
struct Gone(Cursor<Vec<u8>>, usize);

impl Read for Gone {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.read(buffer)
    }
}

impl Write for Gone {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.1 == 0 {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        self.1 -= 1;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_client_need_not_wait_for_the_reply_to_its_abort() {
    let sent = |option| Cursor::new(bytes(&format!(r#"{BOTH} "IHAVEOPT" {option} 00000000"#)));
    assert_eq!(handshake(&mut Gone(sent("00000002"), 1), &export()).unwrap(), None);
    let listing = handshake(&mut Gone(sent("00000003"), 1), &export());
    assert!(matches!(listing, Err(Broken::Connection(_))), "{listing:?}");
}

#[test]
fn go_tells_of_the_export() {
    let told = "0003e889045565a9 00000007 00000003 0000000c 0000 0000000000100000 0d6d
        0003e889045565a9 00000007 00000003 0000000e 0003 00000200 00001000 00010000";
    let name = r#"0003e889045565a9 00000007 00000003 00000005 0001 "ssd" "#;
    let description = r#"0003e889045565a9 00000007 00000003 00000009 0002 "a drive" "#;
    let ack = "0003e889045565a9 00000007 00000001 00000000";
    let go = format!(r#"{BOTH} "IHAVEOPT" 00000007"#);
    agrees(&format!("{go} 00000006 00000000 0000"), &format!("{told}{ack}"));
    agrees(
        &format!(r#"{go} 00000011 00000003 "ssd" 0004 0001 0002 0003 0077"#),
        &format!("{told}{name}{description}{ack}"),
    );
    // An `INFO` before leaves the client where it was.
    let info = r#""IHAVEOPT" 00000006 00000006 00000000 0000"#;
    let answered = format!("{told}{ack}").replace("00000007", "00000006");
    ends(&format!("{BOTH} {info}"), &answered);
    let unknown = r#""IHAVEOPT" 00000007 00000008 00000002 "xx" 0000"#;
    ends(&format!("{BOTH} {unknown}"), "0003e889045565a9 00000007 80000006 00000000");
    // Names and counts beyond the data, and data beyond the counts.
    for data in ["00000000", "00000005 00000000 00", "00000006 00000001 0000"].into_iter().chain([
        "00000006 00000000 0001",
        "00000007 00000000 0000 00",
        "00000003 000000",
    ]) {
        let sent = format!(r#"{BOTH} "IHAVEOPT" 00000007 {data}"#);
        ends(&sent, "0003e889045565a9 00000007 80000003 00000000");
    }
}

const STRUCTURED: &str = r#""IHAVEOPT" 00000008 00000000"#;
const STRUCTURED_ACK: &str = "0003e889045565a9 00000008 00000001 00000000";
const CHOOSE: &str = r#""IHAVEOPT" 00000001 00000000"#;
/// Answer to `CHOOSE` with structured replies: size, and flags with unfragmented reads.
const CHOSEN: &str = "0000000000100000 0ded";

#[test]
fn structured_replies_and_contexts_are_agreed_on() {
    let agreed =
        agrees(&format!("{BOTH}{STRUCTURED}{CHOOSE}"), &format!("{STRUCTURED_ACK}{CHOSEN}"));
    assert_eq!(agreed, Agreed { structured: true, contexts: Vec::new() });
    // Two contexts are chosen, in the order of the export; one is asked for twice, and unknown ones
    // are ignored. A namespace alone chooses nothing.
    let set = r#""IHAVEOPT" 0000000a 00000055 00000003 "ssd" 00000005
        0000000d "x-nandlab:age" 0000000f "base:allocation" 0000000f "base:allocation"
        00000009 "x-foo:bar" 00000005 "base:""#;
    let of_set = r#"0003e889045565a9 0000000a 00000004 00000013 00000000 "base:allocation"
        0003e889045565a9 0000000a 00000004 00000011 00000002 "x-nandlab:age"
        0003e889045565a9 0000000a 00000001 00000000"#;
    let set = set.replace("00000055", &format!("{:08x}", bytes(set).len() - 16));
    let agreed = agrees(
        &format!("{BOTH}{STRUCTURED}{set}{CHOOSE}"),
        &format!("{STRUCTURED_ACK}{of_set}{CHOSEN}"),
    );
    assert_eq!(agreed, Agreed { structured: true, contexts: vec![0, 2] });
    // The last choice counts, even one that is refused.
    let unknown = r#""IHAVEOPT" 0000000a 00000009 00000001 "x" 00000000"#;
    let agreed = agrees(
        &format!("{BOTH}{STRUCTURED}{set}{unknown}{CHOOSE}"),
        &format!("{STRUCTURED_ACK}{of_set} 0003e889045565a9 0000000a 80000006 00000000 {CHOSEN}"),
    );
    assert!(agreed.contexts.is_empty(), "{agreed:?}");
    // Contexts need structured replies.
    ends(&format!("{BOTH}{set}"), "0003e889045565a9 0000000a 80000003 00000000");
}

#[test]
fn contexts_are_listed() {
    let all = r#""IHAVEOPT" 00000009 00000008 00000000 00000000"#;
    let one = r#""IHAVEOPT" 00000009 00000016 00000000 00000001 0000000a "x-nandlab:" "#;
    let entry = |name: &str| {
        let length = 4 + name.len();
        format!(r#"0003e889045565a9 00000009 00000004 {length:08x} 00000000 "{name}" "#)
    };
    let ack = "0003e889045565a9 00000009 00000001 00000000";
    let own = format!("{}{}{ack}", entry("x-nandlab:die"), entry("x-nandlab:age"));
    ends(
        &format!("{BOTH}{STRUCTURED}{all}{one}"),
        &format!("{STRUCTURED_ACK}{}{own}{own}", entry("base:allocation")),
    );
    // A query longer than the data.
    let cut = r#""IHAVEOPT" 00000009 0000000c 00000000 00000001 00000001"#;
    ends(
        &format!("{BOTH}{STRUCTURED}{cut}"),
        &format!("{STRUCTURED_ACK} 0003e889045565a9 00000009 80000003 00000000"),
    );
}

#[test]
fn other_options_are_not_supported() {
    // TLS, the withdrawn options, extended headers, and an unknown option.
    for option in ["00000005", "00000000", "00000004", "0000000b", "ffffffff"] {
        ends(
            &format!(r#"{BOTH} "IHAVEOPT" {option} 00000003 "abc""#),
            &format!("0003e889045565a9 {option} 80000001 00000000"),
        );
    }
}

#[test]
fn a_client_that_breaks_the_handshake_is_told_of_in_one_line() {
    assert_carries(breaks("00000004"), &["protocol", "flags", "0x4"]);
    let problem = breaks(&format!(r#"{BOTH} "IHAVEOPS" 00000001 00000000"#));
    assert_carries(problem, &["protocol", "0x49484156454f5053", "0x49484156454f5054"]);
    let problem = breaks(&format!(r#"{BOTH} "IHAVEOPT" 00000001 00001001"#));
    assert_carries(problem, &["protocol", "option 1", "4097 bytes", "4096"]);
    let problem = breaks(&format!(r#"{BOTH} "IHAVEOPT" 00000055 ffffffff"#));
    assert_carries(problem, &["protocol", "option 85", "4294967295 bytes", "65536"]);
    let problem = breaks(&format!(r#"{BOTH} "IHAVEOPT" 00000007 00000006 00001001 0000"#));
    assert_carries(problem, &["protocol", "option 7", "string", "4097 bytes", "4096"]);
    let cut = ["connection", "closed"];
    assert_carries(breaks("000000"), &cut);
    assert_carries(breaks(&format!(r#"{BOTH} "IHAVE""#)), &cut);
    assert_carries(breaks(&format!(r#"{BOTH} "IHAVEOPT" 00000001 00000003 "ss""#)), &cut);
    assert_carries(breaks(&format!(r#"{BOTH} "IHAVEOPT" 00000063 00000003 "ss""#)), &cut);
    let lists = r#""IHAVEOPT" 00000003 00000000"#.repeat(300);
    assert_carries(breaks(&format!("{BOTH}{lists}")), &["protocol", "256 options"]);
}

fn structured() -> Agreed {
    Agreed { structured: true, contexts: vec![0, 2] }
}

/// Reads the first request of `sent`.
fn request(agreed: &Agreed, sent: &str) -> Next {
    let mut input = Cursor::new(bytes(sent));
    let next = next_request(&mut input, agreed, &export()).unwrap();
    assert_eq!(input.position(), input.get_ref().len() as u64, "all of it is read");
    next
}

fn refused(agreed: &Agreed, sent: &str) -> Failure {
    match request(agreed, sent) {
        Next::Refused { cookie, failure } => {
            assert_eq!(cookie, 0x0102_0304_0506_0708);
            failure
        }
        other => panic!("{other:?} instead of a refusal"),
    }
}

const COOKIE: &str = "0102030405060708";

fn head(command: Command, offset: u64, length: u32) -> Head {
    Head { cookie: 0x0102_0304_0506_0708, ..Head::plain(command, offset, length) }
}

#[test]
fn requests_are_read() {
    let none = Agreed::default();
    let expected = |head, data: &[u8]| Next::Request(Request { head, data: data.to_vec() });
    let read = format!("25609513 0000 0000 {COOKIE} 0000000000001000 00000200");
    assert_eq!(request(&none, &read), expected(head(Command::Read, 4096, 512), &[]));
    let data = "a5".repeat(512);
    let write = format!("25609513 0001 0001 {COOKIE} 0000000000000200 00000200 {data}");
    let fua = Head { fua: true, ..head(Command::Write, 512, 512) };
    assert_eq!(request(&none, &write), expected(fua, &[0xa5; 512]));
    let flush = format!("25609513 0000 0003 {COOKIE} 0000000000000000 00000000");
    assert_eq!(request(&none, &flush), expected(head(Command::Flush, 0, 0), &[]));
    // The whole export, larger than a payload may be.
    let trim = format!("25609513 0000 0004 {COOKIE} 0000000000000000 00100000");
    assert_eq!(request(&none, &trim), expected(head(Command::Trim, 0, 1 << 20), &[]));
    let cache = format!("25609513 0000 0005 {COOKIE} 0000000000000000 00100000");
    assert_eq!(request(&none, &cache), expected(head(Command::Cache, 0, 1 << 20), &[]));
    let zeros = format!("25609513 0013 0006 {COOKIE} 0000000000000000 00100000");
    let zeroed = Head {
        fua: true,
        no_hole: true,
        fast_zero: true,
        ..head(Command::WriteZeroes, 0, 1 << 20)
    };
    assert_eq!(request(&none, &zeros), expected(zeroed, &[]));
    let status = format!("25609513 0008 0007 {COOKIE} 0000000000000000 00100000");
    let one = Head { one_extent: true, ..head(Command::BlockStatus, 0, 1 << 20) };
    assert_eq!(request(&structured(), &status), expected(one, &[]));
    let whole = format!("25609513 0004 0000 {COOKIE} 0000000000000000 00010000");
    let unbroken = Head { whole: true, ..head(Command::Read, 0, 1 << 16) };
    assert_eq!(request(&structured(), &whole), expected(unbroken, &[]));
    let disconnect = format!("25609513 0000 0002 {COOKIE} 0000000000000000 00000000");
    assert_eq!(request(&none, &disconnect), Next::Disconnect);
    assert_eq!(request(&none, ""), Next::Disconnect);
}

#[test]
fn requests_that_do_not_fit_are_refused() {
    let none = Agreed::default();
    let cases = [
        // Flags: DF without structured replies, NO_HOLE on a write, an unknown one.
        ("0004 0000", "0000000000000000 00000200", Failure::Invalid),
        ("0002 0004", "0000000000000000 00000200", Failure::Invalid),
        ("0020 0000", "0000000000000000 00000200", Failure::Invalid),
        // Commands: RESIZE, an unknown one, a status that nothing was agreed on for.
        ("0000 0008", "0000000000000000 00000200", Failure::Invalid),
        ("0000 ffff", "0000000000000000 00000200", Failure::Invalid),
        ("0000 0007", "0000000000000000 00000200", Failure::Invalid),
        // Offsets and lengths.
        ("0000 0000", "0000000000000001 00000200", Failure::Invalid),
        ("0000 0000", "0000000000000000 00000201", Failure::Invalid),
        ("0000 0000", "0000000000000000 00000000", Failure::Invalid),
        ("0000 0000", "0000000000100000 00000200", Failure::Invalid),
        ("0000 0000", "fffffffffffffe00 00000200", Failure::Invalid),
        ("0000 0004", "00000000000ffe00 00000400", Failure::Invalid),
        ("0000 0006", "00000000000ffe00 00000400", Failure::NoSpace),
        ("0000 0003", "0000000000000200 00000000", Failure::Invalid),
        ("0000 0003", "0000000000000000 00000200", Failure::Invalid),
        // A read of more than an answer may carry.
        ("0000 0000", "0000000000000000 00010200", Failure::Invalid),
    ];
    for (command, place, failure) in cases {
        let sent = format!("25609513 {command} {COOKIE} {place}");
        assert_eq!(refused(&none, &sent), failure, "{sent}");
    }
    let whole = format!("25609513 0004 0000 {COOKIE} 0000000000000000 00010200");
    assert_eq!(refused(&structured(), &whole), Failure::Overflow);
}

#[test]
fn data_of_refused_writes_are_dropped() {
    let none = Agreed::default();
    let write = |place: &str, length: usize| {
        let data = "11".repeat(length);
        format!("25609513 0000 0001 {COOKIE} {place} {length:08x} {data}")
    };
    assert_eq!(refused(&none, &write("0000000000000000", 513)), Failure::Invalid);
    assert_eq!(refused(&none, &write("00000000000ffe00", 1024)), Failure::NoSpace);
    assert_eq!(refused(&none, &write("0000000000000000", (1 << 16) + 512)), Failure::Invalid);
    let export = Export { read_only: true, ..export() };
    for sent in [
        write("0000000000000000", 512),
        format!("25609513 0000 0004 {COOKIE} 0000000000000000 00000200"),
        format!("25609513 0000 0006 {COOKIE} 0000000000000000 00000200"),
    ] {
        let next = next_request(&mut Cursor::new(bytes(&sent)), &none, &export).unwrap();
        let Next::Refused { failure, .. } = next else { panic!("{next:?}") };
        assert_eq!(failure, Failure::NotPermitted);
    }
}

#[test]
fn a_client_that_breaks_a_request_is_told_of_in_one_line() {
    let broken = |sent: &str| {
        let none = Agreed::default();
        next_request(&mut Cursor::new(bytes(sent)), &none, &export()).unwrap_err().to_string()
    };
    let magic = format!("25609514 0000 0000 {COOKIE} 0000000000000000 00000200");
    assert_carries(broken(&magic), &["protocol", "request", "0x25609514", "0x25609513"]);
    let huge = format!("25609513 0000 0001 {COOKIE} 0000000000000000 00040001");
    assert_carries(broken(&huge), &["protocol", "write", "262145 bytes", "262144"]);
    let cut = ["connection", "closed"];
    assert_carries(broken("256095"), &cut);
    let write = format!("25609513 0000 0001 {COOKIE} 0000000000000000 00000200 11");
    assert_carries(broken(&write), &cut);
    let refused = format!("25609513 0000 0001 {COOKIE} 0000000000000001 00000200 11");
    assert_carries(broken(&refused), &cut);
}

fn answered(agreed: &Agreed, head: &Head, answer: &Answer) -> Vec<u8> {
    let mut out = b"before".to_vec();
    write_answer(&mut out, agreed, head, answer);
    assert_eq!(&out[..6], b"before");
    out.split_off(6)
}

fn ranges(pairs: &[(u32, u32)]) -> Vec<std::ops::Range<u32>> {
    pairs.iter().map(|&(start, end)| start..end).collect()
}

#[test]
fn simple_replies() {
    let none = Agreed::default();
    let read = head(Command::Read, 4096, 512);
    let data = |lost: &[(u32, u32)]| Answer::Data { bytes: vec![0xee; 512], lost: ranges(lost) };
    let whole = format!("67446698 00000000 {COOKIE} {}", "ee".repeat(512));
    assert_eq!(answered(&none, &read, &data(&[])), bytes(&whole));
    let lost = bytes(&format!("67446698 00000005 {COOKIE}"));
    assert_eq!(answered(&none, &read, &data(&[(0, 1)])), lost);
    let done = bytes(&format!("67446698 00000000 {COOKIE}"));
    assert_eq!(answered(&none, &head(Command::Write, 0, 512), &Answer::Done), done);
    let numbers = [
        (Failure::NotPermitted, "00000001"),
        (Failure::InputOutput, "00000005"),
        (Failure::Invalid, "00000016"),
        (Failure::NoSpace, "0000001c"),
        (Failure::Overflow, "0000004b"),
        (Failure::NotSupported, "0000005f"),
        (Failure::Shutdown, "0000006c"),
    ];
    for (failure, number) in numbers {
        let simple = bytes(&format!("67446698 {number} {COOKIE}"));
        assert_eq!(answered(&none, &read, &Answer::Failed(failure)), simple);
        let chunk = bytes(&format!("668e33ef 0001 8001 {COOKIE} 00000006 {number} 0000"));
        assert_eq!(answered(&structured(), &read, &Answer::Failed(failure)), chunk);
    }
}

#[test]
fn good_and_lost_parts_are_told_apart() {
    let read = head(Command::Read, 4096, 4096);
    let content: Vec<u8> = (0..4096_u32).map(|i| (i / 512) as u8).collect();
    let told = |lost: &[(u32, u32)]| {
        let answer = Answer::Data { bytes: content.clone(), lost: ranges(lost) };
        answered(&structured(), &read, &answer)
    };
    let good = |flags: &str, from: usize, end: usize| {
        let (length, offset) = (8 + end - from, 4096 + from);
        let mut chunk =
            bytes(&format!("668e33ef {flags} 0001 {COOKIE} {length:08x} {offset:016x}"));
        chunk.extend_from_slice(&content[from..end]);
        chunk
    };
    let bad = |flags: &str, from: usize| {
        let offset = 4096 + from;
        bytes(&format!("668e33ef {flags} 8002 {COOKIE} 0000000e 00000005 0000 {offset:016x}"))
    };
    assert_eq!(told(&[]), good("0001", 0, 4096));
    assert_eq!(told(&[(0, 4096)]), bad("0001", 0));
    assert_eq!(
        told(&[(1024, 1536)]),
        [good("0000", 0, 1024), bad("0000", 1024), good("0001", 1536, 4096)].concat()
    );
    // Lost sectors are whole, and joined where they meet; the last chunk may be an error.
    assert_eq!(
        told(&[(100, 101), (600, 700), (2048, 2048), (3000, 4000)]),
        [bad("0000", 0), good("0000", 1024, 2560), bad("0001", 2560)].concat()
    );
    // Unfragmented: one piece, or none.
    let whole = Head { whole: true, ..read };
    let answer = |lost: &[(u32, u32)]| Answer::Data { bytes: content.clone(), lost: ranges(lost) };
    assert_eq!(answered(&structured(), &whole, &answer(&[])), good("0001", 0, 4096));
    assert_eq!(
        answered(&structured(), &whole, &answer(&[(512, 700), (2048, 3000)])),
        bad("0001", 512)
    );
}

#[test]
fn sectors_are_those_of_the_export() {
    // An export with bytes for blocks: the read begins and ends within sectors.
    let read = head(Command::Read, 300, 1000);
    let answer = Answer::Data { bytes: vec![7; 1000], lost: ranges(&[(250, 251)]) };
    let mut expected = bytes(&format!("668e33ef 0000 0001 {COOKIE} 000000dc 000000000000012c"));
    expected.extend([7; 212]);
    expected.extend(bytes(&format!(
        "668e33ef 0000 8002 {COOKIE} 0000000e 00000005 0000 0000000000000200"
    )));
    expected.extend(bytes(&format!("668e33ef 0001 0001 {COOKIE} 0000011c 0000000000000400")));
    expected.extend([7; 276]);
    assert_eq!(answered(&structured(), &read, &answer), expected);
}

#[test]
fn statuses() {
    let status = head(Command::BlockStatus, 0, 8192);
    let answer = Answer::Status(vec![(0, vec![(4096, 3), (4096, 0)]), (2, vec![(8192, 17)])]);
    let first = format!("{COOKIE} 00000014 00000000 00001000 00000003 00001000 00000000");
    let second = format!("{COOKIE} 0000000c 00000002 00002000 00000011");
    let expected = bytes(&format!("668e33ef 0000 0005 {first} 668e33ef 0001 0005 {second}"));
    assert_eq!(answered(&structured(), &status, &answer), expected);
    let one = Head { one_extent: true, ..status };
    let first = format!("{COOKIE} 0000000c 00000000 00001000 00000003");
    let expected = bytes(&format!("668e33ef 0000 0005 {first} 668e33ef 0001 0005 {second}"));
    assert_eq!(answered(&structured(), &one, &answer), expected);
    // A status must have one extent: this one has status 0.
    let empty = Answer::Status(vec![(1, vec![])]);
    let expected = format!("668e33ef 0001 0005 {COOKIE} 0000000c 00000001 00002000 00000000");
    assert_eq!(answered(&structured(), &status, &empty), bytes(&expected));
    let done = bytes(&format!("668e33ef 0001 0000 {COOKIE} 00000000"));
    assert_eq!(answered(&structured(), &head(Command::Flush, 0, 0), &Answer::Done), done);
}
