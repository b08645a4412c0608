//! The repository as the rules see it: crates with their manifests and files, read once; or made up, for a sample.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use toml::Table;

/// Folders that hold nothing of ours.
const SKIPPED: &[&str] = &[".git", "target", "node_modules", "corpus", "artifacts"];

pub(crate) struct Repo {
    pub(crate) crates: Vec<Crate>,
    /// Every text file, by its path from the root.
    pub(crate) files: Vec<File>,
    /// `Cargo.lock`.
    pub(crate) lock: Table,
}

pub(crate) struct Crate {
    /// The folder's name.
    pub(crate) name: String,
    pub(crate) manifest: Table,
}

pub(crate) struct File {
    pub(crate) path: String,
    pub(crate) text: String,
}

impl Repo {
    /// Reads this repository.
    pub(crate) fn read() -> Self {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap();
        let mut files = Vec::new();
        collect(&root, &root, &mut files);
        Self::of(files)
    }

    /// A made-up repository.
    pub(crate) fn sample(files: &[(&str, &str)]) -> Self {
        Self::of(
            files.iter().map(|(path, text)| File { path: (*path).into(), text: (*text).into() }).collect(),
        )
    }

    fn of(mut files: Vec<File>) -> Self {
        files.sort_by(|a, b| a.path.cmp(&b.path));
        let parse =
            |file: &File| -> Table { file.text.parse().unwrap_or_else(|e| panic!("{}: {e}", file.path)) };
        let lock = files.iter().find(|f| f.path == "Cargo.lock").map(parse).unwrap_or_default();
        let mut crates: Vec<Crate> = Vec::new();
        let mut named = BTreeSet::new();
        for file in &files {
            let Some(name) = file.crate_name() else { continue };
            if file.path == format!("crates/{name}/Cargo.toml") {
                crates.push(Crate { name: name.into(), manifest: parse(file) });
            }
            named.insert(name.to_owned());
        }
        named.retain(|name| crates.iter().all(|c| c.name != *name));
        // A sample that is about sources needs no manifest.
        crates.extend(named.into_iter().map(|name| Crate { name, manifest: Table::new() }));
        Self { crates, files, lock }
    }

    /// Every Rust file of a crate, tests and benches included.
    pub(crate) fn rust_files(&self) -> impl Iterator<Item = (&str, &File)> {
        self.files
            .iter()
            .filter(|f| f.path.ends_with(".rs"))
            .filter_map(|f| f.crate_name().map(|name| (name, f)))
    }

    /// Every Rust file under a crate's `src`.
    pub(crate) fn sources(&self) -> impl Iterator<Item = (&str, &File)> {
        self.rust_files().filter(|(name, f)| f.path.starts_with(&format!("crates/{name}/src/")))
    }
}

impl File {
    /// The crate it is in, if it is in a folder of one.
    fn crate_name(&self) -> Option<&str> {
        self.path.strip_prefix("crates/")?.split_once('/').map(|(name, _)| name)
    }
}

fn collect(root: &Path, folder: &Path, files: &mut Vec<File>) {
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let path = entry.path();
        let kind = entry.file_type().unwrap();
        if kind.is_dir() && !SKIPPED.iter().any(|name| path.ends_with(name)) {
            collect(root, &path, files);
        } else if kind.is_file() {
            // What is not text is nobody's source.
            let Ok(text) = fs::read_to_string(&path) else { continue };
            let path = path.strip_prefix(root).unwrap().to_str().unwrap().to_owned();
            files.push(File { path, text });
        }
    }
}
