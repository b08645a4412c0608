//! A certificate that vouches for itself (X.509, P-256), written by hand: its form is always the same, and a library for all
//! certificates would bring two dozen packages.

use std::net::IpAddr;

use jiff::{Timestamp, ToSpan as _, tz::TimeZone};
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair, KeyPair as _};

const SEQUENCE: u8 = 0x30;
const SET: u8 = 0x31;
const INTEGER: u8 = 0x02;
const BIT_STRING: u8 = 0x03;
const OCTET_STRING: u8 = 0x04;
const UTF8_STRING: u8 = 0x0c;
const GENERALIZED_TIME: u8 = 0x18;
const BOOLEAN: u8 = 0x01;

/// Object identifiers, encoded.
const ECDSA_WITH_SHA256: &[u8] = &[0x06, 0x08, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03, 0x02];
const EC_PUBLIC_KEY: &[u8] = &[0x06, 0x07, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01];
const P256: &[u8] = &[0x06, 0x08, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x03, 0x01, 0x07];
const COMMON_NAME: &[u8] = &[0x06, 0x03, 0x55, 0x04, 0x03];
const SUBJECT_ALT_NAME: &[u8] = &[0x06, 0x03, 0x55, 0x1d, 0x11];
const KEY_USAGE: &[u8] = &[0x06, 0x03, 0x55, 0x1d, 0x0f];
const EXTENDED_KEY_USAGE: &[u8] = &[0x06, 0x03, 0x55, 0x1d, 0x25];
const SERVER_AUTH: &[u8] = &[0x06, 0x08, 0x2b, 0x06, 0x01, 0x05, 0x05, 0x07, 0x03, 0x01];

/// How long it is valid. Some devices refuse certificates that are valid for longer than 398 days.
const DAYS_VALID: i64 = 397;

/// A certificate and its key, both in DER.
pub(crate) struct SelfSigned {
    pub(crate) certificate: Vec<u8>,
    /// In PKCS #8.
    pub(crate) key: Vec<u8>,
}

/// Makes a certificate for these names, which are host names or addresses. None if no random numbers are to be had.
pub(crate) fn self_signed(names: &[String], now: Timestamp) -> Option<SelfSigned> {
    let random = SystemRandom::new();
    let algorithm = &ECDSA_P256_SHA256_ASN1_SIGNING;
    let key = EcdsaKeyPair::generate_pkcs8(algorithm, &random).ok()?;
    let pair = EcdsaKeyPair::from_pkcs8(algorithm, key.as_ref(), &random).ok()?;
    let serial: [u8; 16] = ring::rand::generate(&random).ok()?.expose();
    let signed = to_be_signed(names, now, serial, pair.public_key().as_ref())?;
    let signature = pair.sign(&random, &signed).ok()?;
    let certificate = der(
        SEQUENCE,
        &[&signed, &der(SEQUENCE, &[ECDSA_WITH_SHA256]), &der(BIT_STRING, &[&[0], signature.as_ref()])],
    );
    Some(SelfSigned { certificate, key: key.as_ref().to_vec() })
}

fn to_be_signed(names: &[String], now: Timestamp, mut serial: [u8; 16], public: &[u8]) -> Option<Vec<u8>> {
    // Positive, and without a leading zero.
    serial[0] = (serial[0] & 0x7f) | 0x40;
    let name = der(UTF8_STRING, &["Posse on this machine".as_bytes()]);
    let name = der(SEQUENCE, &[&der(SET, &[&der(SEQUENCE, &[COMMON_NAME, &name])])]);
    let day = |days: i64| {
        let at = now.to_zoned(TimeZone::UTC).checked_add(days.days()).ok()?;
        Some(der(GENERALIZED_TIME, &[at.strftime("%Y%m%d%H%M%SZ").to_string().as_bytes()]))
    };
    let validity = der(SEQUENCE, &[&day(-1)?, &day(DAYS_VALID - 1)?]);
    let algorithm = der(SEQUENCE, &[EC_PUBLIC_KEY, P256]);
    let key = der(SEQUENCE, &[&algorithm, &der(BIT_STRING, &[&[0], public])]);
    let version = der(0xa0, &[&der(INTEGER, &[&[2]])]);
    let signature = der(SEQUENCE, &[ECDSA_WITH_SHA256]);
    let serial = der(INTEGER, &[&serial]);
    let parts = [&version, &serial, &signature, &name, &validity, &name, &key, &extensions(names)];
    Some(der(SEQUENCE, &parts.map(Vec::as_slice)))
}

fn extensions(names: &[String]) -> Vec<u8> {
    let alternative = |name: &String| match name.parse::<IpAddr>() {
        Ok(IpAddr::V4(address)) => der(0x87, &[&address.octets()]),
        Ok(IpAddr::V6(address)) => der(0x87, &[&address.octets()]),
        Err(_) => der(0x82, &[name.as_bytes()]),
    };
    let names = der(SEQUENCE, &[&names.iter().flat_map(alternative).collect::<Vec<u8>>()]);
    // Digital signature, the first bit.
    let usage = der(BIT_STRING, &[&[7, 0x80]]);
    let purpose = der(SEQUENCE, &[SERVER_AUTH]);
    let critical = der(BOOLEAN, &[&[0xff]]);
    let all = [
        der(SEQUENCE, &[SUBJECT_ALT_NAME, &der(OCTET_STRING, &[&names])]),
        der(SEQUENCE, &[KEY_USAGE, &critical, &der(OCTET_STRING, &[&usage])]),
        der(SEQUENCE, &[EXTENDED_KEY_USAGE, &der(OCTET_STRING, &[&purpose])]),
    ];
    der(0xa3, &[&der(SEQUENCE, &[&all.concat()])])
}

/// A tag, a length and what is in it.
fn der(tag: u8, parts: &[&[u8]]) -> Vec<u8> {
    let length: usize = parts.iter().map(|part| part.len()).sum();
    let mut bytes = vec![tag];
    let digits: Vec<u8> = length.to_be_bytes().into_iter().skip_while(|byte| *byte == 0).collect();
    match (length, u8::try_from(digits.len())) {
        (0..128, _) => bytes.extend(u8::try_from(length)),
        (_, Ok(count)) => {
            bytes.push(0x80 | count);
            bytes.extend(digits);
        }
        (_, Err(_)) => {}
    }
    parts.iter().for_each(|part| bytes.extend_from_slice(part));
    bytes
}

/// Bytes as PEM.
pub(crate) fn pem(label: &str, bytes: &[u8]) -> String {
    use base64::Engine as _;
    let text = base64::prelude::BASE64_STANDARD.encode(bytes);
    let mut lines = String::new();
    for (nth, character) in text.chars().enumerate() {
        if nth > 0 && nth % 64 == 0 {
            lines.push('\n');
        }
        lines.push(character);
    }
    format!("-----BEGIN {label}-----\n{lines}\n-----END {label}-----\n")
}
