//! Files that an agent had changed on another worker, put into its checkout. Their contents come in one file; a little of it at a time is
//! in memory, and nothing is put before it is known that all of it may be.

use std::collections::HashMap;
use std::fs::File;
use std::io::{BufReader, Read as _, Seek as _, SeekFrom};
use std::path::Path;

use posse_protocol::KeptFile;
use posse_workspace::bundle::{Depot, DepotCheckout};
use posse_workspace::limits::DEPOT_FILES_MAX;
use posse_workspace::{Entry, Mode};

use crate::limits;

/// Where a content is in the file.
#[derive(Clone, Copy, Debug)]
struct ContentPlace {
    at: u64,
    bytes: u64,
}

/// A file to be put.
struct WantedFile {
    path: String,
    mode: Mode,
    content: ContentPlace,
}

/// What is to be done in a checkout.
#[derive(Default)]
pub(super) struct WantedFiles {
    contents: Option<File>,
    /// Files that go.
    gone: Vec<String>,
    put: Vec<WantedFile>,
}

impl WantedFiles {
    /// Looks at what the files are to hold, which is in the file of this name, if there is any content.
    pub(super) fn look(kept: &[KeptFile], contents: Option<&Path>) -> Result<Self, String> {
        if kept.len() > limits::KEPT_PATHS_MAX {
            let (files, max) = (kept.len(), limits::KEPT_PATHS_MAX);
            return Err(format!("the agent had changed {files} files, more than the {max} that are taken"));
        }
        let (mut wanted, mut places) = (Self::default(), HashMap::new());
        if let Some(path) = contents {
            let mut file = File::open(path).map_err(|error| error.to_string())?;
            places = places_in(&mut file)?;
            wanted.contents = Some(file);
        }
        let mut sum = 0_u64;
        for file in kept {
            let Some(saved) = &file.after else {
                wanted.gone.push(file.path.clone());
                continue;
            };
            let content = *places.get(&saved.blob).ok_or("a file of the agent is missing")?;
            let mode = Mode::parse(&saved.mode).ok_or("a file of the agent has no mode")?;
            // One content may be that of many files.
            sum = sum.saturating_add(content.bytes);
            wanted.put.push(WantedFile { path: file.path.clone(), mode, content });
        }
        match sum {
            sum if sum > limits::CONTENTS_BYTES_MAX => Err(too_long("the files of the agent", sum)),
            _ => Ok(wanted),
        }
    }

    /// Does it.
    pub(super) async fn put(mut self, depot: &Depot, checkout: &DepotCheckout) -> Result<(), String> {
        // What goes may be where something else is to be.
        for gone in self.gone.chunks(DEPOT_FILES_MAX) {
            let gone = gone.iter().map(|path| (path.clone(), None)).collect();
            depot.put_files(checkout, gone).await.map_err(|error| error.to_string())?;
        }
        let mut rest = std::mem::take(&mut self.put).into_iter().peekable();
        while rest.peek().is_some() {
            let (mut some, mut bytes) = (Vec::new(), 0);
            while let Some(next) = rest.next_if(|next| {
                let fits = bytes + next.content.bytes <= limits::KEPT_AT_ONCE_BYTES;
                some.is_empty() || some.len() < DEPOT_FILES_MAX && fits
            }) {
                bytes += next.content.bytes;
                some.push((next.path, Some(self.entry(next.mode, next.content)?)));
            }
            depot.put_files(checkout, some).await.map_err(|error| error.to_string())?;
        }
        Ok(())
    }

    fn entry(&mut self, mode: Mode, content: ContentPlace) -> Result<Entry, String> {
        let file = self.contents.as_mut().ok_or("a file of the agent is missing")?;
        file.seek(SeekFrom::Start(content.at)).map_err(|error| error.to_string())?;
        let mut bytes = Vec::new();
        file.take(content.bytes).read_to_end(&mut bytes).map_err(|error| error.to_string())?;
        if bytes.len() as u64 != content.bytes {
            return Err("the files of the agent are damaged".to_owned());
        }
        Ok(Entry { mode, bytes })
    }
}

/// Where the contents in such a file are, by their names of 64 digits.
fn places_in(file: &mut File) -> Result<HashMap<String, ContentPlace>, String> {
    let damaged = || "the files of the agent are damaged".to_owned();
    let whole = file.metadata().map_err(|error| error.to_string())?.len();
    if whole > limits::CONTENTS_BYTES_MAX {
        return Err(too_long("the files of the agent", whole));
    }
    let (mut reader, mut at, mut places) = (BufReader::new(file), 0_u64, HashMap::new());
    while at < whole {
        let (mut name, mut length) = ([0; 64], [0; 8]);
        let head = reader.read_exact(&mut name).and_then(|()| reader.read_exact(&mut length));
        head.map_err(|_| damaged())?;
        let bytes = u64::from_be_bytes(length);
        at += (name.len() + length.len()) as u64;
        if bytes > limits::KEPT_CONTENT_BYTES_MAX {
            return Err(too_long("a file of the agent", bytes));
        }
        if bytes > whole.saturating_sub(at) || places.len() >= limits::KEPT_PATHS_MAX {
            return Err(damaged());
        }
        let name = String::from_utf8(name.to_vec()).map_err(|_| damaged())?;
        places.insert(name, ContentPlace { at, bytes });
        reader.seek_relative(bytes.cast_signed()).map_err(|error| error.to_string())?;
        at += bytes;
    }
    Ok(places)
}

fn too_long(what: &str, bytes: u64) -> String {
    format!("{what} would take {bytes} bytes, more than are taken here")
}
