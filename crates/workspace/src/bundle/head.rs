//! What a bundle says of itself before its objects begin. Pure but for reading: it asks no git and believes nothing.

use std::{
    fs::File,
    io::{Read as _, Seek as _, SeekFrom},
};

use crate::{BundleFault, WorkspaceError, git::GitError, limits, shadow::checked};

/// The head of a bundle.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct BundleHead {
    /// How objects are named: `sha1` or `sha256`.
    pub(super) format: &'static str,
    /// The commits that whoever takes it must have.
    pub(super) before: Vec<String>,
    /// Where its objects begin.
    pub(super) pack_at: u64,
    /// How many there are, as it says.
    pub(super) objects: u64,
}

impl BundleHead {
    pub(super) fn read(file: &mut File) -> Result<Self, WorkspaceError> {
        let mut bytes = Vec::new();
        let read = file
            .seek(SeekFrom::Start(0))
            .and_then(|_| file.take(limits::BUNDLE_HEAD_BYTES_MAX).read_to_end(&mut bytes));
        read.map_err(crate::shadow::failed)?;
        Self::parse(&bytes).ok_or_else(|| GitError::Bundle(BundleFault::NotABundle).into())
    }

    fn parse(bytes: &[u8]) -> Option<Self> {
        let mut at = 0;
        let mut line = || {
            let end = at + memchr::memchr(b'\n', bytes.get(at..)?)?;
            let line = &bytes[at..end];
            at = end + 1;
            Some((line, at))
        };
        let third = match line()?.0 {
            b"# v2 git bundle" => false,
            b"# v3 git bundle" => true,
            _ => return None,
        };
        let (mut format, mut before) = ("sha1", Vec::new());
        let pack_at = loop {
            match line()? {
                (b"", at) => break at,
                (b"@object-format=sha1", _) if third => {}
                (b"@object-format=sha256", _) if third => format = "sha256",
                // Above all one that leaves out some of the objects.
                ([b'@', ..], _) => return None,
                ([b'-', commit @ ..], _) => before.push(id_of(commit)?),
                // The references are of no interest, whatever they are called.
                (reference, _) => drop(id_of(reference)?),
            }
        };
        let pack = bytes.get(pack_at..pack_at + 12)?;
        let number = |from: usize| Some(u32::from_be_bytes(pack.get(from..from + 4)?.try_into().ok()?));
        let known = pack.starts_with(b"PACK") && matches!(number(4)?, 2 | 3);
        let fits = before.iter().all(|commit| commit.len() == id_chars(format));
        (known && fits).then_some(Self {
            format,
            before,
            pack_at: pack_at as u64,
            objects: number(8)?.into(),
        })
    }

    /// The text of a head.
    pub(super) fn text(format: &str, before: &[String], tip: &str) -> String {
        let first = match format {
            "sha256" => "# v3 git bundle\n@object-format=sha256\n",
            _ => "# v2 git bundle\n",
        };
        let before: String = before.iter().map(|commit| format!("-{commit} \n")).collect();
        format!("{first}{before}{tip} refs/posse/sent\n\n")
    }
}

/// How long the names of objects are.
pub(super) fn id_chars(format: &str) -> usize {
    if format == "sha256" { 64 } else { 40 }
}

fn id_of(line: &[u8]) -> Option<String> {
    let id = line.split(|byte| *byte == b' ').next()?;
    checked(std::str::from_utf8(id).ok()?).ok().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads_are_read_as_they_are_written() {
        let (a, b) = ("a".repeat(40), "b".repeat(64));
        let pack = b"PACK\0\0\0\x02\0\0\0\x07";
        let cases = [
            ("sha1", vec![], a.clone()),
            ("sha1", vec![a.clone(), a.clone()], a.clone()),
            ("sha256", vec![b.clone()], b),
        ];
        for (format, before, tip) in cases {
            let text = BundleHead::text(format, &before, &tip);
            let expected = BundleHead { format, before, pack_at: text.len() as u64, objects: 7 };
            assert_eq!(BundleHead::parse(&[text.as_bytes(), pack].concat()), Some(expected));
        }
        let bad = [
            String::new(),
            "# v2 git bundle\n".to_owned(),
            "# v4 git bundle\n\nPACK\0\0\0\x02\0\0\0\x07".to_owned(),
            "# v2 git bundle\n\nKCAP\0\0\0\x02\0\0\0\x07".to_owned(),
            "# v2 git bundle\n\nPACK\0\0\0\x09\0\0\0\x07".to_owned(),
            "# v2 git bundle\n\nPACK\0\0\0".to_owned(),
            "# v2 git bundle\n-xyz\n\nPACK\0\0\0\x02\0\0\0\x07".to_owned(),
            "# v2 git bundle\n@object-format=sha256\n\nPACK\0\0\0\x02\0\0\0\x07".to_owned(),
            "# v3 git bundle\n@filter=blob:none\n\nPACK\0\0\0\x02\0\0\0\x07".to_owned(),
            format!("# v3 git bundle\n@object-format=sha256\n-{a}\n\nPACK\0\0\0\x02\0\0\0\x07"),
        ];
        assert_eq!(bad.iter().filter(|bad| BundleHead::parse(bad.as_bytes()).is_none()).count(), 10);
    }
}
