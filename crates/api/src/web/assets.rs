//! The files of the page, as they are in the folder `web`, inside the program.

use std::io::Write as _;
use std::sync::OnceLock;

use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::Response;
use flate2::Compression;
use flate2::write::GzEncoder;
use sha2::{Digest as _, Sha256};

use crate::token::hex;

/// One file of the page.
pub(crate) struct Asset {
    /// Its name in the folder.
    pub(crate) name: &'static str,
    bytes: &'static [u8],
    /// The same, compressed when it is first asked for.
    packed: OnceLock<Vec<u8>>,
}

macro_rules! assets {
    [$($name:literal,)*] => {
        /// All of them. A test compares this list with the folder.
        pub(crate) static ASSETS: [Asset; [$($name),*].len()] = [$(Asset {
            name: $name,
            bytes: include_bytes!(concat!("../../../../web/", $name)),
            packed: OnceLock::new(),
        },)*];
    };
}

assets![
    "agent-words.js",
    "app.css",
    "app.js",
    "commands.js",
    "composer.js",
    "diff-view.js",
    "diff.js",
    "figures.js",
    "fold-course.js",
    "fold-tree.js",
    "fold.js",
    "folder.js",
    "icon.svg",
    "index.html",
    "inline.js",
    "items.js",
    "look.css",
    "look.js",
    "markdown-view.js",
    "markdown.js",
    "net.js",
    "plots.js",
    "prompt-field.js",
    "questions.js",
    "report.js",
    "review-state.js",
    "review.css",
    "review.js",
    "route.js",
    "server-prompts.js",
    "servers.js",
    "session-groups.js",
    "session-store.js",
    "session.css",
    "session.js",
    "sessions.js",
    "sse.js",
    "stats.js",
    "stream.js",
    "text.js",
    "thread.js",
    "title.js",
    "tree-rows.js",
    "tree.js",
    "typed-word.js",
    "ui.js",
    "undo.js",
    "vendor/preact.js",
    "wishes.js",
    "words.js",
];

/// The file that is the page.
const PAGE: &str = "index.html";

/// The file of a path, and whether it is the page itself.
pub(crate) fn find(path: &str) -> Option<(&'static Asset, bool)> {
    let name = if path == "/" { PAGE } else { path.strip_prefix('/')? };
    let is_page = name == PAGE;
    ASSETS.iter().find(|asset| asset.name == name).map(|asset| (asset, is_page))
}

impl Asset {
    fn media_type(&self) -> &'static str {
        match self.name.rsplit('.').next() {
            Some("html") => "text/html; charset=utf-8",
            Some("js") => "text/javascript; charset=utf-8",
            Some("css") => "text/css; charset=utf-8",
            Some("svg") => "image/svg+xml",
            _ => "application/octet-stream",
        }
    }

    /// The file, compressed.
    fn packed(&'static self) -> &'static [u8] {
        self.packed.get_or_init(|| {
            let mut packer = GzEncoder::new(Vec::new(), Compression::best());
            // Writing to memory does not fail.
            let _ = packer.write_all(self.bytes);
            packer.finish().unwrap_or_default()
        })
    }

    /// The file as a response; nothing but a status where the browser has it already.
    pub(crate) fn response(&'static self, headers: &HeaderMap) -> Response {
        let tag = format!("\"{}\"", hex(&Sha256::digest(self.bytes)[..16]));
        let said = |name| headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
        let known = said(header::IF_NONE_MATCH) == tag;
        let packs = said(header::ACCEPT_ENCODING).split(',').any(|way| way.trim() == "gzip");
        let mut response = Response::new(match (known, packs) {
            (true, _) => "".into(),
            (false, true) => self.packed().into(),
            (false, false) => self.bytes.into(),
        });
        if known {
            *response.status_mut() = StatusCode::NOT_MODIFIED;
        }
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(self.media_type()));
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
        headers.insert(header::VARY, HeaderValue::from_static("accept-encoding"));
        if packs && !known {
            headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
        }
        if let Ok(tag) = HeaderValue::from_str(&tag) {
            headers.insert(header::ETAG, tag);
        }
        response
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::Path;

    use super::*;

    /// Files in a folder below `web` that are served.
    fn served(folder: &Path, below: &str) -> BTreeSet<String> {
        let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        let files = entries.filter(|path| path.is_file());
        let names = files.map(|path| format!("{below}{}", path.file_name().unwrap().to_string_lossy()));
        let is_served = |name: &String| {
            ["html", "js", "css", "svg"].contains(&name.rsplit('.').next().unwrap_or_default())
        };
        names.filter(is_served).collect()
    }

    #[test]
    fn every_file_of_the_page_is_served_and_together_they_are_small() {
        let web = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../web");
        let mut wanted = served(&web, "");
        wanted.append(&mut served(&web.join("vendor"), "vendor/"));
        let listed: BTreeSet<String> = ASSETS.iter().map(|asset| asset.name.to_owned()).collect();
        assert_eq!(listed, wanted);
        assert_eq!(listed.len(), ASSETS.len(), "each once");
        let bytes: usize = ASSETS.iter().map(|asset| asset.packed().len()).sum();
        assert!(bytes < 150_000, "the page takes {bytes} bytes on the wire");
    }

    #[test]
    fn the_page_asks_for_all_of_its_modules_at_once() {
        let page = ASSETS.iter().find(|asset| asset.name == PAGE).unwrap();
        let text = std::str::from_utf8(page.bytes).unwrap();
        for asset in ASSETS.iter().filter(|asset| asset.name.ends_with(".js") || asset.name.ends_with(".css"))
        {
            assert!(text.contains(&format!("\"{}\"", asset.name)), "index.html does not name {}", asset.name);
        }
    }
}
